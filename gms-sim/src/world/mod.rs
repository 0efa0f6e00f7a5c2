//! The world: processes, network and time, and the loop that moves them from one event to the next.

mod arrive;
mod faults;
mod form;
mod observe;
mod send;
mod watches;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use gms_core::comeback::Comeback;
use gms_core::input::{CheckHandle, Input};
use gms_core::message::CheckRequest;
use gms_core::output::{FrameToken, WatchId};
use gms_core::runtime::{StepKind, TraceSink, TraceStep};
use gms_core::{Output, Timestamp, View};

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::network::streams::Streams;
use crate::network::{Host, Network, address};
use crate::process::{Birth, Process, Running};
use crate::queue::Queue;
use crate::scenario::{Fault, Scenario};
use crate::truth::Truth;

use watches::Watches;

pub use observe::{Look, Observer, Violation};

/// When every world begins: not zero, so that "T ago" always exists.
const GENESIS: Timestamp = Timestamp::from_millis(3_600_000);
/// Events at one instant after which time is taken to stand still.
const EVENTS_PER_INSTANT_MAX: u64 = 2_000_000;

/// Something on its way to a process, or kept for it by its kernel.
#[derive(Debug)]
pub(crate) enum Arrival {
    Datagram { from: SocketAddr, bytes: Vec<u8> },
    Frame { from: usize, bytes: Vec<u8> },
    Check { from: usize, handle: CheckHandle, request: CheckRequest },
    Result(Box<Input>),
}

/// A frame on its way.
#[derive(Debug)]
struct Parcel {
    from: usize,
    to: Route,
    token: FrameToken,
    bytes: Vec<u8>,
    give_up_at: Timestamp,
    tries: u32,
}

/// Where a frame goes: to whoever listens at an address when it arrives, or back on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Route {
    Listener(Host, u16),
    Process(usize),
}

/// What happens next.
#[derive(Debug)]
enum Item {
    Datagram {
        host: Host,
        port: u16,
        from: SocketAddr,
        bytes: Vec<u8>,
    },
    Parcel(Box<Parcel>),
    Arrival {
        process: usize,
        arrival: Arrival,
    },
    Wake {
        process: usize,
        plan: u64,
    },
    /// A starved process gets its share again.
    Resume {
        process: usize,
        since: Timestamp,
    },
    Begin {
        host: Host,
        slot: u16,
        after: usize,
    },
    Fault(Box<Fault>),
    /// A watch connection reaches the other end's kernel.
    WatchOpens {
        process: usize,
        watch: WatchId,
        host: Host,
        port: u16,
        address: SocketAddr,
    },
    /// A machine that slept wakes.
    Awake {
        host: Host,
    },
    FlipFlop {
        host: Host,
        outward: bool,
        lossy: bool,
        period: Duration,
        until: Timestamp,
    },
}

/// Everything: processes, network, time.
#[derive(Debug)]
pub struct World {
    scenario: Scenario,
    now: Timestamp,
    began: Timestamp,
    rng: Rng,
    processes: Vec<Process>,
    /// For each host: its processes that may listen, by port.
    listeners: Vec<Vec<(u16, usize)>>,
    net: Network,
    streams: Streams,
    watches: Watches,
    queue: Queue<Item>,
    plans: u64,
    truth: Truth,
    metrics: Metrics,
    observers: Vec<Box<dyn Observer>>,
    sink: Option<Sink>,
    violation: Option<Violation>,
    spare: Vec<Vec<u8>>,
    /// The newest view that anybody installed: others that install its equal share it.
    newest: Option<Arc<View>>,
    events: u64,
    events_at_now: u64,
}

struct Sink(Box<dyn TraceSink>);

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}

impl World {
    /// Records every step from now on.
    pub fn set_trace(&mut self, sink: Box<dyn TraceSink>) {
        self.sink = Some(Sink(sink));
    }

    /// The world's time.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Time since the first phase began.
    pub fn elapsed(&self) -> Duration {
        self.now.since(self.began)
    }

    /// Events so far: what a run costs is proportional to them.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// All processes that ever were.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// What was measured so far.
    pub const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The run's description.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The invariant that broke, if one did.
    pub const fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The world as observers see it.
    pub fn look(&self) -> Look<'_> {
        Look {
            now: self.now,
            began: self.began,
            processes: &self.processes,
            network: &self.net,
            truth: &self.truth,
            scenario: &self.scenario,
            queued: self.queue.len(),
        }
    }

    /// The processes that are up.
    pub fn up(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(|process| process.is_up())
    }

    /// Whether all processes that are up are in one view of `members`.
    pub fn is_in_one_view(&self, members: usize) -> bool {
        let mut views = self.up().map(Process::view);
        let Some(Some(first)) = views.next() else { return false };
        first.len() == members && views.all(|view| view.is_some_and(|view| view.id() == first.id()))
    }

    /// Does something to the world at once.
    pub fn inflict(&mut self, fault: Fault) {
        self.apply(fault);
    }

    /// Runs for `span`.
    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span, |_| false);
    }

    /// Runs until `holds` or until `end`. Returns whether it came to hold. Ends early where an invariant breaks.
    pub fn run_until(&mut self, end: Timestamp, mut holds: impl FnMut(&Self) -> bool) -> bool {
        loop {
            if self.violation.is_some() {
                return false;
            }
            if holds(self) {
                return true;
            }
            if self.queue.next_at().is_none_or(|at| at > end) {
                self.now = end.max(self.now);
                return holds(self);
            }
            self.turn();
        }
    }

    fn turn(&mut self) {
        let Some((at, item)) = self.queue.pop() else { return };
        self.events += 1;
        self.events_at_now = if at > self.now { 0 } else { self.events_at_now + 1 };
        self.now = self.now.max(at);
        if self.events_at_now > EVENTS_PER_INSTANT_MAX {
            let text = format!("{} events at one instant", self.events_at_now);
            self.break_with("time goes on", text);
            return;
        }
        self.happen(item);
    }

    /// Lets a node handle one input, and everything that follows from it.
    fn handle(&mut self, index: usize, input: Input) {
        let process = &mut self.processes[index];
        let local = process.clock.local(self.now);
        process.node.handle_input(local, input);
        self.drain(index);
    }

    fn drain(&mut self, index: usize) {
        let mut outputs = 0;
        while let Some(output) = self.processes[index].node.poll_output() {
            outputs += 1;
            self.show_output(index, &output);
            self.carry(index, output);
        }
        self.observe(|observer, look| observer.handled(look, index, outputs));
        self.plan_wake(index);
    }

    fn plan_wake(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let Some((local, _)) = process.node.poll_timeout() else {
            process.wake = None;
            return;
        };
        let at = process.clock.world(local).max(self.now);
        if process.wake.is_some_and(|(planned, _)| planned == at) {
            return;
        }
        self.plans += 1;
        process.wake = Some((at, self.plans));
        self.queue.push(at, Item::Wake { process: index, plan: self.plans });
    }

    /// Starts a process; `after` is the one whose next incarnation it is.
    fn begin(&mut self, host: Host, slot: u16, after: Option<usize>) {
        self.net.host_mut(host).squatter = None;
        let (clock, comeback, way_back) = after.map_or_else(
            || (Clock::new(self.now), Comeback::new(), Vec::new()),
            |before| {
                let before = &mut self.processes[before];
                (before.clock, before.comeback, std::mem::take(&mut before.way_back))
            },
        );
        let birth = Birth { host, slot, now: self.now, clock, comeback, way_back };
        let process = Process::start(&self.scenario, birth, &mut self.rng);
        let index = self.processes.len();
        self.truth.process_started(index, &process);
        self.processes.push(process);
        if self.listeners.len() <= host {
            self.listeners.resize_with(host + 1, Vec::new);
        }
        self.listeners[host].retain(|(port, _)| *port != address(host, slot).port());
        self.listeners[host].push((address(host, slot).port(), index));
        self.drain(index);
        let mut seeds: Vec<_> = (0..self.scenario.seeds).map(|seed| address(seed, 0)).collect();
        let way_back = self.processes[index].way_back.clone();
        seeds.extend(way_back.into_iter().filter(|known| *known != address(host, slot)));
        seeds.dedup();
        self.handle(index, Input::Command(gms_core::Command::Seeds(seeds)));
        // The next incarnation lives in the same process, whose loop runs as it ran.
        let starved = after.map(|before| self.processes[before].running);
        if let Some(running @ Running::Starved { .. }) = starved {
            self.set_running(index, running);
        }
    }

    /// The process that listens at a port of a host.
    fn listener(&self, host: Host, port: u16) -> Option<usize> {
        let listeners = self.listeners.get(host)?;
        let (_, index) = listeners.iter().find(|(listening, _)| *listening == port)?;
        self.processes[*index].is_up().then_some(*index)
    }

    fn show_output(&mut self, index: usize, output: &Output) {
        let kind = match output {
            Output::Send { to, datagram } => StepKind::SentDatagram { to: *to, datagram },
            Output::SendStream { to, frame, .. } => StepKind::SentFrame { to: *to, frame },
            Output::StartProbe { target, .. } => StepKind::ProbeStarted { target },
            Output::AnswerCheck { answer, .. } => StepKind::CheckAnswered { answer: *answer },
            Output::Event(event) => StepKind::Event(event),
            Output::StartWatch { address, .. } => StepKind::WatchStarted { address: *address },
            Output::StopProbe { .. } | Output::StopWatch { .. } | Output::CommandDone { .. } => return,
        };
        self.show(index, &kind);
    }

    /// Shows a step to everybody who watches.
    fn show(&mut self, index: usize, kind: &StepKind<'_>) {
        self.truth.note(self.now, &self.processes, index, kind);
        let queued = self.queue.len();
        let Self { now, began, processes, net, truth, scenario, observers, metrics, sink, violation, .. } =
            self;
        let look = Look { now: *now, began: *began, processes, network: net, truth, scenario, queued };
        metrics.note(look, index, kind);
        if let Some(sink) = sink {
            let process = &processes[index];
            let (at, wall) = (process.clock.local(*now), process.clock.wall(*now));
            sink.0.record(TraceStep { at, wall, me: &process.member, kind: kind.clone() });
        }
        for observer in observers {
            if let Err(text) = observer.step(look, index, kind) {
                violation.get_or_insert_with(|| look.violation(observer.name(), text));
            }
        }
    }

    fn observe(&mut self, mut ask: impl FnMut(&mut dyn Observer, Look<'_>) -> Result<(), String>) {
        let queued = self.queue.len();
        let Self { now, began, processes, net, truth, scenario, observers, violation, .. } = self;
        let look = Look { now: *now, began: *began, processes, network: net, truth, scenario, queued };
        for observer in observers {
            if let Err(text) = ask(observer.as_mut(), look) {
                violation.get_or_insert_with(|| look.violation(observer.name(), text));
            }
        }
    }

    pub(crate) fn break_with(&mut self, invariant: &'static str, text: String) {
        let after = self.elapsed();
        self.violation.get_or_insert(Violation { invariant, at: self.now, after, text });
    }

    /// Holds or resumes a process's loop.
    fn set_running(&mut self, index: usize, running: Running) {
        let process = &mut self.processes[index];
        process.running = running;
        match running {
            Running::Yes => {
                process.runs_since = self.now;
                self.catch_up(index);
            }
            Running::Stopped => {}
            Running::Starved { .. } => self.catch_up(index),
        }
    }
}
