//! One process of the world: its node, what its kernel holds for it, and what comes after its node's end.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use gms_core::comeback::Comeback;
use gms_core::config::{Config, Timing, TimingOverrides};
use gms_core::event::StopReason;
use gms_core::member::{Endpoint, Member, MemberId, Weight};
use gms_core::{Node, Timestamp, View};

use crate::clock::Clock;
use crate::network::{Host, address};
use crate::scenario::Scenario;
use crate::world::Arrival;

/// Datagrams that a kernel keeps for a process that does not read: Linux's default receive buffer of 212 992 bytes
/// holds 256 small ones, each charged with 832 bytes.
pub(crate) const DATAGRAMS_HELD_MAX: usize = 256;
/// Everything else that is kept for it: connections and their bytes.
const HELD_MAX: usize = 16_384;

/// Whether a process's loop runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Running {
    /// It does.
    Yes,
    /// It is stopped, by a signal or with its machine.
    Stopped,
    /// It runs for a share of each period, counted from then.
    Starved { since: Timestamp, share: f64, period: Duration },
}

/// One process.
#[derive(Debug)]
pub struct Process {
    pub(crate) node: Node,
    pub(crate) member: Member,
    pub(crate) host: Host,
    pub(crate) slot: u16,
    pub(crate) clock: Clock,
    pub(crate) started_at: Timestamp,
    pub(crate) is_alive: bool,
    pub(crate) running: Running,
    /// Since when its loop has run without being held.
    pub(crate) runs_since: Timestamp,
    /// Arrivals that wait for it to read them.
    pub(crate) held: VecDeque<Arrival>,
    held_datagrams: usize,
    /// Datagrams that found its buffer full.
    pub(crate) overrun: u64,
    /// When it wakes, in the world's time, and the number of the plan that says so.
    pub(crate) wake: Option<(Timestamp, u64)>,
    /// Exclusions and returns of the incarnations up to this one.
    pub(crate) comeback: Comeback,
    pub(crate) way_back: Vec<SocketAddr>,
    pub(crate) is_leaving: bool,
}

/// The timing that a scenario asks for.
///
/// # Errors
///
/// What is out of bounds, as a sentence.
pub(crate) fn timing(scenario: &Scenario) -> Result<TimingOverrides, String> {
    let overrides = TimingOverrides {
        member_timeout: Some(scenario.member_timeout),
        heartbeat_recipients: scenario.heartbeat_recipients,
        crash_detection: scenario.crash_detection,
        ..TimingOverrides::default()
    };
    overrides.resolve().map_err(|error| error.to_string())?;
    Ok(overrides)
}

/// What a process is started with.
#[derive(Debug)]
pub(crate) struct Birth {
    pub(crate) host: Host,
    pub(crate) slot: u16,
    pub(crate) now: Timestamp,
    pub(crate) clock: Clock,
    pub(crate) comeback: Comeback,
    pub(crate) way_back: Vec<SocketAddr>,
}

impl Process {
    /// A process that begins to join.
    pub(crate) fn start(scenario: &Scenario, birth: Birth, rng: &mut Rng) -> Self {
        let Birth { host, slot, now, clock, comeback, way_back } = birth;
        let mut config = Config::new("simulated");
        config.timing = timing(scenario).expect("the scenario was validated");
        config.has_seeds = true;
        config.take_turns = !scenario.transport.watch_shows_crashes();
        if comeback.is_out() {
            // As the runtime does: who was in a cluster founds another only where all that it knows of are in none.
            let known = u16::try_from(scenario.seeds + way_back.len()).unwrap_or(u16::MAX);
            config.expected_seeds = Some(known.clamp(1, 1_000));
        }
        let id = MemberId::from_bytes(rng.u128(..).to_be_bytes());
        let endpoint = Endpoint::single(address(host, slot));
        let mut member = Member::new(id, format!("m{host}"), endpoint);
        if let Some(weight) = scenario.weights.get(&host) {
            member.weight = Weight::new(*weight).expect("the scenario was validated");
        }
        member.coordinator_eligible = !scenario.not_eligible.contains(&host);
        let node = Node::new(config, member.clone(), rng.u64(..), clock.local(now))
            .expect("the scenario was validated");
        Self {
            node,
            member,
            host,
            slot,
            clock,
            started_at: now,
            is_alive: true,
            running: Running::Yes,
            runs_since: now,
            held: VecDeque::new(),
            held_datagrams: 0,
            overrun: 0,
            wake: None,
            comeback,
            way_back,
            is_leaving: false,
        }
    }

    /// Its record.
    pub const fn member(&self) -> &Member {
        &self.member
    }

    /// Its node, to look at.
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Where it runs.
    pub const fn host(&self) -> Host {
        self.host
    }

    /// When it started, in the world's time.
    pub const fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Whether the process exists and its node has not come to its end.
    pub fn is_up(&self) -> bool {
        self.is_alive && !self.node.is_stopped()
    }

    /// Whether it exists and its loop runs all the time.
    pub fn is_running(&self) -> bool {
        self.is_up() && self.running == Running::Yes
    }

    /// The view that it has installed.
    pub fn view(&self) -> Option<&Arc<View>> {
        self.node.view()
    }

    /// The cluster's timing as it knows it.
    pub fn timing(&self, scenario: &Scenario) -> Timing {
        self.view().map_or_else(
            || timing(scenario).and_then(|t| t.resolve().map_err(|e| e.to_string())).unwrap_or_default(),
            |view| view.timing().clone(),
        )
    }

    /// Whether its loop is held at `now`.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        match self.running {
            Running::Yes => false,
            Running::Stopped => true,
            Running::Starved { since, share, period } => {
                let into = now.since(since).as_nanos() % period.as_nanos();
                into >= period.mul_f64(share).as_nanos()
            }
        }
    }

    /// Keeps an arrival until the process reads it, if there is room.
    pub(crate) fn hold(&mut self, arrival: Arrival) {
        let is_datagram = matches!(arrival, Arrival::Datagram { .. });
        let full = self.held.len() >= HELD_MAX || (is_datagram && self.held_datagrams >= DATAGRAMS_HELD_MAX);
        if full {
            self.overrun += 1;
            return;
        }
        self.held_datagrams += usize::from(is_datagram);
        self.held.push_back(arrival);
    }

    /// Everything that was kept.
    pub(crate) fn take_held(&mut self) -> VecDeque<Arrival> {
        self.held_datagrams = 0;
        std::mem::take(&mut self.held)
    }

    /// How long after its end the next incarnation begins, if there is one: as the runtime decides it.
    pub(crate) fn comes_back_after(
        &mut self,
        now: Timestamp,
        scenario: &Scenario,
        reason: &StopReason,
        rng: &mut Rng,
    ) -> Option<Duration> {
        if self.is_leaving {
            return None;
        }
        let timing = self.timing(scenario);
        self.comeback.after(now, reason, scenario.rejoin, &timing, rng)
    }
}
