//! The network: links between hosts, cuts, hosts that are off, and what the hosts' kernels do for processes.

mod link;
pub(crate) mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use fastrand::Rng;
use gms_core::Timestamp;
use serde::{Deserialize, Serialize};

pub(crate) use link::HEADS_BYTES;
pub use link::Link;

/// A machine on the network. Its address is made of its number.
pub type Host = usize;

/// Most hosts a world can have: enough for any view, and a list of them stays small.
pub const HOSTS_MAX: usize = 1 << 16;
/// The port of the first process of each host.
pub const PORT: u16 = 7790;

/// The address of a process on `host`; `slot` counts its ports.
pub fn address(host: Host, slot: u16) -> SocketAddr {
    let [_, a, b, c] = u32::try_from(host).expect("a world has at most HOSTS_MAX hosts").to_be_bytes();
    SocketAddr::from((Ipv4Addr::new(10, a, b, c), PORT + slot))
}

/// The host and port of an address of this world.
pub(crate) fn host_of(address: SocketAddr) -> Option<(Host, u16)> {
    let SocketAddr::V4(v4) = address else { return None };
    let [ten, a, b, c] = v4.ip().octets();
    let host = u32::from_be_bytes([0, a, b, c]);
    (ten == 10).then_some((usize::try_from(host).expect("24 bits"), v4.port()))
}

/// What connections to and from a host do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamMode {
    /// They work.
    #[default]
    Work,
    /// They are made and nothing arrives; datagrams pass.
    Hang,
    /// They break as soon as something is written.
    Break,
}

/// Another program that took a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Squatter {
    /// Accepts and says nothing.
    Silent,
    /// Accepts and resets.
    Resets,
    /// Answers what is no answer.
    Garbage,
}

/// One host's state.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostState {
    /// Off the network.
    pub(crate) is_down: bool,
    /// A firewall answers connections in its name with a refusal.
    pub(crate) rejects: bool,
    pub(crate) streams: StreamMode,
    pub(crate) squatter: Option<Squatter>,
    pub(crate) loss_in: f64,
    pub(crate) loss_out: f64,
    group: u32,
    /// ICMP errors that it may still send, and when that was counted.
    errors_left: f64,
    errors_at: Timestamp,
    /// When its interface has sent what was given to it, where bandwidth is limited.
    egress_free_at: Timestamp,
}

/// Links between hosts.
#[derive(Debug)]
pub struct Network {
    rng: Rng,
    hosts: Vec<HostState>,
    default: Link,
    links: BTreeMap<(Host, Host), Link>,
    cuts: BTreeSet<(Host, Host)>,
    is_partitioned: bool,
}

impl Network {
    pub(crate) fn new(seed: u64, default: Link) -> Self {
        let (hosts, links, cuts) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        Self { rng: Rng::with_seed(seed), hosts, default, links, cuts, is_partitioned: false }
    }

    /// The state of a host, made if there was none.
    pub(crate) fn host_mut(&mut self, host: Host) -> &mut HostState {
        if self.hosts.len() <= host {
            self.hosts.resize_with(host + 1, HostState::default);
        }
        &mut self.hosts[host]
    }

    pub(crate) fn host(&self, host: Host) -> Option<&HostState> {
        self.hosts.get(host)
    }

    /// Sets what all links do that have nothing of their own.
    pub(crate) fn set_default(&mut self, link: Link) {
        self.default = link;
    }

    /// Sets what one direction between two hosts does.
    pub(crate) fn set_link(&mut self, from: Host, to: Host, link: Link) {
        self.links.insert((from, to), link);
    }

    pub(crate) const fn default_link(&self) -> &Link {
        &self.default
    }

    /// Nothing passes from `from` to `to`.
    pub(crate) fn cut(&mut self, from: Host, to: Host) {
        self.cuts.insert((from, to));
    }

    /// Nothing passes between hosts of different groups; hosts in none are in the first.
    pub(crate) fn partition(&mut self, groups: &[Vec<Host>]) {
        self.hosts.iter_mut().for_each(|host| host.group = 0);
        for (number, group) in groups.iter().enumerate() {
            for host in group {
                self.host_mut(*host).group = u32::try_from(number).expect("few groups");
            }
        }
        self.is_partitioned = true;
    }

    /// All links work again as `default` says.
    pub(crate) fn heal(&mut self, default: Link) {
        self.default = default;
        self.links.clear();
        self.cuts.clear();
        self.is_partitioned = false;
        for host in &mut self.hosts {
            *host = HostState { egress_free_at: host.egress_free_at, ..HostState::default() };
        }
    }

    /// Whether packets pass from `from` to `to`, loss by chance aside.
    pub fn passes(&self, from: Host, to: Host) -> bool {
        let is_up = |host| self.host(host).is_some_and(|state| !state.is_down);
        if !is_up(from) || !is_up(to) {
            return false;
        }
        if from == to {
            return true;
        }
        let is_cut = !self.cuts.is_empty() && self.cuts.contains(&(from, to));
        let is_apart = self.is_partitioned && self.hosts[from].group != self.hosts[to].group;
        !is_cut && !is_apart && self.hosts[from].loss_out < 1.0 && self.hosts[to].loss_in < 1.0
    }

    /// How many ICMP errors a host may send at once: Linux lets it have about one a second, six in a row
    /// (`icmp_ratelimit`), by whom it sends them to; other systems limit all together, as here.
    fn errors_left(state: &HostState, now: Timestamp) -> f64 {
        const BURST: f64 = 6.0;
        match state.errors_at {
            Timestamp::ZERO => BURST,
            at => (state.errors_left + now.since(at).as_secs_f64()).min(BURST),
        }
    }

    /// Whether a host has ICMP errors left to send.
    pub(crate) fn has_errors_left(&self, now: Timestamp, host: Host) -> bool {
        self.host(host).is_none_or(|state| Self::errors_left(state, now) >= 1.0)
    }

    /// Whether a host may send one more ICMP error; then that is one less.
    pub(crate) fn takes_error(&mut self, now: Timestamp, host: Host) -> bool {
        let state = self.host_mut(host);
        state.errors_left = Self::errors_left(state, now);
        state.errors_at = now;
        let may = state.errors_left >= 1.0;
        if may {
            state.errors_left -= 1.0;
        }
        may
    }

    /// Whether packets pass both ways.
    pub fn passes_both_ways(&self, a: Host, b: Host) -> bool {
        self.passes(a, b) && self.passes(b, a)
    }

    /// Whether everything works: no cut, no loss, no slow link, nothing set at a host but that some are off.
    pub fn is_calm(&self) -> bool {
        let works = |host: &HostState| {
            let no_loss = host.loss_in == 0.0 && host.loss_out == 0.0;
            no_loss && !host.rejects && host.streams == StreamMode::Work && host.squatter.is_none()
        };
        let slow = self.default.delay_mean > Duration::from_millis(5) || self.default.tail_chance > 0.0;
        !slow
            && self.default.loss == 0.0
            && self.default.bandwidth.is_none()
            && self.default.mtu.is_none()
            && self.links.is_empty()
            && self.cuts.is_empty()
            && !self.is_partitioned
            && self.hosts.iter().all(works)
    }

    /// The link, and the chance to draw from, at once.
    fn link(&mut self, from: Host, to: Host) -> (&Link, &mut Rng) {
        let own = if self.links.is_empty() { None } else { self.links.get(&(from, to)) };
        (own.unwrap_or(&self.default), &mut self.rng)
    }

    /// Share of packets lost from `from` to `to`.
    fn loss(&mut self, from: Host, to: Host) -> f64 {
        if from == to {
            return 0.0;
        }
        let at_hosts = (1.0 - self.hosts[from].loss_out) * (1.0 - self.hosts[to].loss_in);
        1.0 - at_hosts * (1.0 - self.link(from, to).0.loss)
    }

    /// Draws one packet's time on the way.
    pub(crate) fn transit(&mut self, from: Host, to: Host) -> Duration {
        let (link, rng) = self.link(from, to);
        link.transit(rng)
    }

    /// When a datagram of `bytes` sent now arrives: not at all, once, or twice.
    pub(crate) fn carry_datagram(
        &mut self,
        now: Timestamp,
        from: Host,
        to: Host,
        bytes: usize,
    ) -> [Option<Timestamp>; 2] {
        if !self.passes(from, to) {
            return [None, None];
        }
        let loss = self.loss(from, to);
        let (link, rng) = self.link(from, to);
        let is_lost = link.is_too_large(bytes) || (loss > 0.0 && rng.f64() < loss);
        let first = link.transit(rng) + link.held_back(rng);
        let second = link.duplicates(rng).then(|| first + link.transit(rng));
        let bandwidth = link.bandwidth;
        let queued = bandwidth.map_or(Duration::ZERO, |bandwidth| self.queue_up(now, from, bytes, bandwidth));
        if is_lost {
            return [None, None];
        }
        [Some(now + queued + first), second.map(|delay| now + queued + delay)]
    }

    /// Time that a packet waits in the sender's interface.
    fn queue_up(&mut self, now: Timestamp, from: Host, bytes: usize, bandwidth: u64) -> Duration {
        let host = &mut self.hosts[from];
        let nanos = (bytes + HEADS_BYTES) as u64 * 1_000_000_000 / bandwidth;
        let sent_at = host.egress_free_at.max(now) + Duration::from_nanos(nanos);
        host.egress_free_at = sent_at;
        sent_at.since(now)
    }

    /// Time that TCP takes to get something across and back, retransmissions included; `None` if it doesn't within
    /// `deadline`.
    pub(crate) fn stream_transit(&mut self, from: Host, to: Host, deadline: Duration) -> Option<Duration> {
        /// Linux's first retransmission timeout on a fresh connection of a local network (TCP_RTO_MIN).
        const RETRANSMIT_AFTER: Duration = Duration::from_millis(200);
        let arrives = (1.0 - self.loss(from, to)) * (1.0 - self.loss(to, from));
        let mut waited = Duration::ZERO;
        let mut patience = RETRANSMIT_AFTER;
        while self.rng.f64() >= arrives {
            waited += patience;
            patience *= 2;
            if waited > deadline {
                return None;
            }
        }
        Some(waited + self.transit(from, to))
    }
}

#[cfg(test)]
mod tests;
