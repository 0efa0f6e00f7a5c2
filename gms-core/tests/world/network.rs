//! The network of the test world: delay, loss, cuts, hosts that vanish, and streams that fail as TCP does.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use gms_core::codec;
use gms_core::evidence::ProbeOutcome;
use gms_core::input::{CheckHandle, Input, ReplyHandle, SendFailure};
use gms_core::message::{CheckAnswer, Datagram, Frame};
use gms_core::output::{Destination, ProbeId};
use gms_core::{Output, Timestamp};

use super::{Process, address};

/// Something on its way to a process.
pub(super) enum Arrival {
    Input(Input),
    /// A datagram: its time of arrival is when it is read.
    Datagram {
        from: SocketAddr,
        datagram: Datagram,
    },
    Frame {
        from: SocketAddr,
        reply: ReplyHandle,
        frame: Frame,
    },
}

impl Arrival {
    pub(super) fn into_input(self, now: Timestamp) -> Option<Input> {
        Some(match self {
            Self::Input(input) => input,
            Self::Datagram { from, datagram } => Input::Datagram { from, received_at: now, datagram },
            Self::Frame { from, reply, frame } => Input::Frame { from, reply, received_at: now, frame },
        })
    }
}

/// An arrival in the queue: earliest first, then in the order of sending.
pub(super) struct Scheduled {
    pub(super) at: Timestamp,
    pub(super) sequence: u64,
    pub(super) to: usize,
    pub(super) arrival: Arrival,
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        Reverse((self.at, self.sequence)).cmp(&Reverse((other.at, other.sequence)))
    }
}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Scheduled {}

/// Links between hosts.
pub(crate) struct Network {
    rng: fastrand::Rng,
    /// Ordered pairs of hosts between which nothing passes.
    cuts: BTreeSet<(usize, usize)>,
    /// Hosts that are off the network.
    down: BTreeSet<usize>,
    /// Hosts whose streams fail while datagrams pass.
    pub(crate) no_streams: BTreeSet<usize>,
    /// Share of datagrams lost everywhere, per cent.
    pub(crate) loss_percent: u32,
    /// Share lost on the way to a host, per cent.
    pub(crate) loss_in: BTreeMap<usize, u32>,
    /// Smallest one-way delay.
    pub(crate) delay: Duration,
    /// What may come on top.
    pub(crate) jitter: Duration,
    handles: u64,
    replies: BTreeMap<u64, usize>,
    checks: BTreeMap<u64, (usize, ProbeId)>,
    probes: BTreeMap<(usize, u64), bool>,
}

type Carried = Vec<(Timestamp, usize, Arrival)>;

impl Network {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: fastrand::Rng::with_seed(seed),
            cuts: BTreeSet::new(),
            down: BTreeSet::new(),
            no_streams: BTreeSet::new(),
            loss_percent: 0,
            loss_in: BTreeMap::new(),
            delay: Duration::from_micros(100),
            jitter: Duration::from_micros(300),
            handles: 0,
            replies: BTreeMap::new(),
            checks: BTreeMap::new(),
            probes: BTreeMap::new(),
        }
    }

    /// Nothing passes from host `from` to host `to`.
    pub(crate) fn cut_one_way(&mut self, from: usize, to: usize) {
        self.cuts.insert((from, to));
    }

    /// Nothing passes between two hosts.
    pub(crate) fn cut(&mut self, a: usize, b: usize) {
        self.cut_one_way(a, b);
        self.cut_one_way(b, a);
    }

    /// Nothing passes between the groups.
    pub(crate) fn partition(&mut self, groups: &[&[usize]]) {
        for (n, group) in groups.iter().enumerate() {
            for other in groups.iter().skip(n + 1) {
                for a in *group {
                    other.iter().for_each(|b| self.cut(*a, *b));
                }
            }
        }
    }

    /// A host is off the network: silent, not refusing.
    pub(crate) fn take_down(&mut self, host: usize) {
        self.down.insert(host);
    }

    /// All links work again.
    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
        self.down.clear();
        self.no_streams.clear();
        self.loss_percent = 0;
        self.loss_in.clear();
    }

    fn passes(&self, from: usize, to: usize) -> bool {
        !self.cuts.contains(&(from, to)) && !self.down.contains(&from) && !self.down.contains(&to)
    }

    fn passes_both_ways(&self, a: usize, b: usize) -> bool {
        let streams = !self.no_streams.contains(&a) && !self.no_streams.contains(&b);
        self.passes(a, b) && self.passes(b, a) && (streams || a == b)
    }

    fn transit(&mut self) -> Duration {
        let jitter = u64::try_from(self.jitter.as_nanos()).expect("short");
        self.delay + Duration::from_nanos(self.rng.u64(0..=jitter))
    }

    fn is_lost(&mut self, to: usize) -> bool {
        let percent = self.loss_percent.max(self.loss_in.get(&to).copied().unwrap_or(0));
        self.rng.u32(0..100) < percent
    }

    /// What an output of process `from` brings about, when, and where.
    pub(super) fn carry(
        &mut self,
        now: Timestamp,
        from: usize,
        output: Output,
        processes: &[Process],
    ) -> Carried {
        let host = processes[from].host;
        match output {
            Output::Send { to, datagram } => {
                let Some(to_host) = host_of(to) else { return Vec::new() };
                if !self.passes(host, to_host) || self.is_lost(to_host) {
                    return Vec::new();
                }
                let Some(index) = listener(processes, to_host) else { return Vec::new() };
                let datagram = recode_datagram(&datagram);
                let arrival = Arrival::Datagram { from: address(host), datagram };
                vec![(now + self.transit(), index, arrival)]
            }
            Output::SendStream { to, frame, deadline, token } => {
                let failed = |failure| Arrival::Input(Input::FrameFailed { token, failure });
                let index = match to {
                    Destination::Address(addr) => host_of(addr).and_then(|h| listener(processes, h)),
                    Destination::Reply(handle) => self.replies.get(&handle.0).copied(),
                };
                let to_host = match to {
                    Destination::Address(addr) => host_of(addr),
                    Destination::Reply(_) => index.map(|i| processes[i].host),
                };
                let reachable = to_host.is_some_and(|h| self.passes_both_ways(host, h));
                if !reachable {
                    return vec![(now + deadline, from, failed(SendFailure::TimedOut))];
                }
                let Some(index) = index.filter(|i| processes[*i].is_alive) else {
                    return vec![(now + self.transit() * 2, from, failed(SendFailure::Refused))];
                };
                self.handles += 1;
                let reply = ReplyHandle(self.handles);
                self.replies.insert(self.handles, from);
                let frame = recode_frame(&frame);
                let arrival = Arrival::Frame { from: address(host), reply, frame };
                let sent = Arrival::Input(Input::FrameSent { token });
                vec![(now + self.transit(), index, arrival), (now + self.transit(), from, sent)]
            }
            Output::StartProbe { probe, target, deadline } => {
                let done = |outcome| Arrival::Input(Input::ProbeDone { probe, outcome });
                let to_host = host_of(target.address);
                if !to_host.is_some_and(|h| self.passes_both_ways(host, h)) {
                    return vec![(now + deadline, from, done(ProbeOutcome::TimedOut))];
                }
                let Some(index) = to_host.and_then(|h| listener(processes, h)) else {
                    return vec![(now + self.transit() * 2, from, done(ProbeOutcome::Refused))];
                };
                self.handles += 1;
                let handle = CheckHandle(self.handles);
                self.checks.insert(self.handles, (from, probe));
                self.probes.insert((from, probe.0), false);
                let asked = Arrival::Input(Input::CheckAsked { handle, request: target.request });
                if processes[index].is_paused {
                    return vec![(now + deadline, from, done(ProbeOutcome::TimedOut))];
                }
                vec![(now + self.transit(), index, asked)]
            }
            Output::AnswerCheck { handle, answer } => {
                let Some((asker, probe)) = self.checks.remove(&handle.0) else { return Vec::new() };
                let outcome = match answer {
                    CheckAnswer::Ok => ProbeOutcome::Ok,
                    CheckAnswer::Other(id) => ProbeOutcome::Other(id),
                    CheckAnswer::Sick => ProbeOutcome::Sick,
                    CheckAnswer::Elsewhere => ProbeOutcome::Elsewhere,
                };
                let done = Arrival::Input(Input::ProbeDone { probe, outcome });
                vec![(now + self.transit(), asker, done)]
            }
            Output::StopProbe { .. }
            | Output::StartWatch { .. }
            | Output::StopWatch { .. }
            | Output::Event(_)
            | Output::CommandDone { .. } => Vec::new(),
        }
    }
}

fn host_of(addr: SocketAddr) -> Option<usize> {
    (0..=usize::from(u16::MAX)).find(|host| *host < 4096 && address(*host) == addr)
}

/// The process that listens on `host`: the newest one that is alive.
fn listener(processes: &[Process], host: usize) -> Option<usize> {
    processes.iter().rposition(|p| p.host == host && p.is_alive && !p.node.is_stopped())
}

fn recode_datagram(datagram: &Datagram) -> Datagram {
    let mut bytes = Vec::new();
    codec::encode_datagram(datagram, &mut bytes).expect("what a node sends can be encoded");
    let decoded = codec::decode_datagram(&bytes).expect("what was encoded can be decoded");
    assert_eq!(decoded, *datagram);
    decoded
}

fn recode_frame(frame: &Frame) -> Frame {
    let mut bytes = Vec::new();
    codec::encode_frame(frame, &mut bytes).expect("what a node sends can be encoded");
    let decoded = codec::decode_frame(&bytes).expect("what was encoded can be decoded");
    assert_eq!(decoded, *frame);
    decoded
}
