//! The loop: reads the transport, hands arrivals to the node, carries out what it wants, publishes where it stands.
//!
//! It waits for nobody. A turn is: wait for anything; read all that is queued; hand it over; let the node look at the
//! clock; publish; carry out. The clock is believed, not the alarm: the node gets a fresh reading, never the deadline.

mod life;
mod outcome;
mod requests;
mod seeds;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::codec::{self, DecodeError};
use crate::event::{Event, ExclusionCause, State, StopReason};
use crate::evidence::Verdict;
use crate::input::{Command, CommandToken, Input};
use crate::member::Member;
use crate::node::Node;
use crate::output::Output;
use crate::runtime::builder::StartError;
use crate::runtime::clock;
use crate::runtime::effects::{Effects, Report};
use crate::runtime::events::EventSink;
use crate::runtime::handle::{CommandError, Request};
use crate::runtime::resolve::Resolver;
use crate::runtime::setup::Setup;
use crate::runtime::shared::Shared;
use crate::runtime::trace::{StepKind, Tracer};
use crate::runtime::watchdog::Watch;
use crate::time::Timestamp;
use crate::transport::{Incoming, Transport, TransportError};
use life::Life;

/// Batches read in one turn before timers are looked at, so that a flood does not keep them from it.
const RECEIVES_PER_TURN: usize = 32;
/// Requests of handles taken in one turn.
const REQUESTS_PER_TURN: usize = 256;
/// Longest sleep: timers of the runtime stand still while the machine sleeps, the clock does not.
const NAP_MAX: Duration = Duration::from_secs(10);
/// A delay of the loop from which on the whole process counts as having stood still.
const STOOD_STILL: Duration = Duration::from_millis(100);
/// One member's loop, over all its incarnations.
pub(super) struct Driver {
    life: Life,
    node: Node,
    me: Member,
    transport: Arc<dyn Transport>,
    effects: Effects,
    shared: Arc<Shared>,
    events: EventSink,
    trace: Tracer,
    resolver: Resolver,
    requests: mpsc::UnboundedReceiver<Request>,
    requests_open: bool,
    watch: Watch,
    /// Who waits for which result.
    awaiting: BTreeMap<CommandToken, oneshot::Sender<Result<Verdict, CommandError>>>,
    tokens: u64,
    last_now: Timestamp,
    incoming: Vec<Incoming>,
    reports: Vec<Report>,
    asked: Vec<Request>,
    outputs: Vec<Output>,
    /// What the node was last told.
    seeds: Vec<SocketAddr>,
    seeds_changed: bool,
    /// Those of which it was said that they do not fit.
    misfits: Vec<SocketAddr>,
    /// Whether those who wait for it know that the member is in a view.
    joined: bool,
    /// Set when the member has stopped for good.
    ended: Option<StopReason>,
    finished: bool,
}

impl Driver {
    #[expect(clippy::too_many_arguments, reason = "called once, by the builder that made all of these")]
    pub(super) fn new(
        setup: Setup,
        me: Member,
        transport: Arc<dyn Transport>,
        shared: Arc<Shared>,
        events: EventSink,
        trace: Tracer,
        resolver: Resolver,
        requests: mpsc::UnboundedReceiver<Request>,
    ) -> Result<Self, StartError> {
        let now = clock::now();
        let mut life = Life::new(setup)?;
        let node = life.first(me.clone(), now)?;
        shared.counters.incarnations.add_one();
        Ok(Self {
            life,
            node,
            me,
            effects: Effects::new(Arc::clone(&transport)),
            transport,
            shared,
            events,
            trace,
            resolver,
            requests,
            requests_open: true,
            watch: Watch::default(),
            awaiting: BTreeMap::new(),
            tokens: 0,
            last_now: now,
            incoming: Vec::new(),
            reports: Vec::new(),
            asked: Vec::new(),
            outputs: Vec::new(),
            seeds: Vec::new(),
            seeds_changed: true,
            misfits: Vec::new(),
            joined: false,
            ended: None,
            finished: false,
        })
    }

    /// Runs until the member has stopped.
    pub(super) async fn run(mut self) {
        let reason = loop {
            match self.turn().await {
                Ok(()) => {}
                Err(error) => break StopReason::TransportFailed(error.to_string()),
            }
            if let Some(reason) = self.ended.take() {
                break reason;
            }
        };
        self.finish(reason).await;
    }

    async fn turn(&mut self) -> Result<(), TransportError> {
        let planned = self.deadline().max(clock::now());
        self.wait(planned).await?;
        self.read().await?;
        self.shared.counters.turns.add_one();
        let now = self.now();
        self.note_delay(now.since(planned));
        self.take_incoming(now);
        self.take_reports(now);
        self.take_requests(now);
        self.take_seeds(now);
        self.look_after(now);
        if self.life.is_running() {
            //= docs/protocol.md#fd-26
            self.node.handle_timeout(now);
            self.collect();
        }
        self.tell_misfits();
        self.publish();
        self.carry_out(now).await
    }

    fn deadline(&self) -> Timestamp {
        if self.effects.has_reports() || self.seeds_changed {
            return Timestamp::ZERO;
        }
        let node = if self.life.is_running() { self.node.poll_timeout() } else { None };
        let node = node.map_or(Timestamp::FAR_FUTURE, |(deadline, _)| deadline);
        node.min(self.life.deadline()).min(self.watch.deadline())
    }

    /// Waits until something arrives or `until` is there.
    async fn wait(&mut self, until: Timestamp) -> Result<(), TransportError> {
        let nap = until.since(clock::now()).min(NAP_MAX);
        if nap.is_zero() {
            return Ok(());
        }
        let Self { transport, effects, resolver, requests, incoming, reports, asked, .. } = self;
        tokio::select! {
            received = transport.receive(incoming) => received?,
            report = effects.wait(), if effects.is_busy() => reports.extend(report),
            request = requests.recv(), if self.requests_open => match request {
                Some(request) => asked.push(request),
                None => self.requests_open = false,
            },
            () = resolver.wait() => self.seeds_changed = true,
            () = sleep(nap) => {}
        }
        Ok(())
    }

    /// Reads all that is queued, before any timer is believed.
    async fn read(&mut self) -> Result<(), TransportError> {
        // Frames and probes are tasks: they get their turn here even if arrivals never end.
        tokio::task::yield_now().await;
        for _ in 0..RECEIVES_PER_TURN {
            let before = self.incoming.len();
            tokio::select! {
                biased;
                received = self.transport.receive(&mut self.incoming) => received?,
                () = std::future::ready(()) => {}
            }
            if self.incoming.len() == before {
                break;
            }
        }
        self.effects.take(&mut self.reports);
        while self.asked.len() < REQUESTS_PER_TURN {
            let Ok(request) = self.requests.try_recv() else { break };
            self.asked.push(request);
        }
        Ok(())
    }

    /// The clock, which the node never sees step back.
    fn now(&mut self) -> Timestamp {
        self.last_now = self.last_now.max(clock::now());
        self.last_now
    }

    fn note_delay(&self, delay: Duration) {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.shared.counters.loop_delay_max_nanos.raise_to(nanos);
        if delay >= STOOD_STILL {
            self.watch.forgive(delay);
        }
    }

    fn take_incoming(&mut self, now: Timestamp) {
        let mut incoming = std::mem::take(&mut self.incoming);
        for arrival in incoming.drain(..) {
            match self.understand(now, arrival) {
                Ok(input) => self.hand_over(now, input),
                Err(error) => {
                    self.shared.counters.dropped.add_one(error.cause());
                    tracing::debug!(target: "gms::malformed", %error);
                }
            }
        }
        self.incoming = incoming;
    }

    fn understand(&mut self, now: Timestamp, arrival: Incoming) -> Result<Input, DecodeError> {
        let counters = &self.shared.counters;
        Ok(match arrival {
            Incoming::Datagram { from, received_at, bytes } => {
                let datagram = codec::decode_datagram(&bytes)?;
                counters.datagrams_received.add_one(datagram.body.name());
                let step = StepKind::ReceivedDatagram { from, datagram: &datagram };
                self.trace.record(now, &self.me, step);
                Input::Datagram { from, received_at: received_at.min(now), datagram }
            }
            Incoming::Frame { from, reply, received_at, bytes } => {
                let frame = codec::decode_frame(&bytes)?;
                counters.frames_received.add_one(frame.body.name());
                self.trace.record(now, &self.me, StepKind::ReceivedFrame { from, frame: &frame });
                Input::Frame { from, reply, received_at: received_at.min(now), frame }
            }
            Incoming::Unreachable { to } => {
                self.trace.record(now, &self.me, StepKind::Unreachable { to });
                Input::Unreachable { to }
            }
            Incoming::Check { from, handle, bytes } => {
                let request = codec::decode_check_request(&bytes)?;
                self.trace.record(now, &self.me, StepKind::CheckAsked { from, request: &request });
                Input::CheckAsked { handle, request }
            }
        })
    }

    fn take_reports(&mut self, now: Timestamp) {
        let mut reports = std::mem::take(&mut self.reports);
        for report in reports.drain(..) {
            let input = match report {
                Report::FrameSent { token } => Input::FrameSent { token },
                Report::FrameFailed { token, to, name, failure } => {
                    self.shared.counters.frames_failed.add_one();
                    self.trace.record(now, &self.me, StepKind::FrameFailed { to, name, failure });
                    Input::FrameFailed { token, failure }
                }
                Report::WatchEnded { watch, address, end } => {
                    self.trace.record(now, &self.me, StepKind::WatchEnded { address, end });
                    Input::WatchEnded { watch, end }
                }
                Report::ProbeDone { probe, target, outcome } => {
                    self.trace.record(now, &self.me, StepKind::ProbeDone { target: &target, outcome });
                    Input::ProbeDone { probe, outcome }
                }
            };
            self.hand_over(now, input);
        }
        self.reports = reports;
    }

    /// The driver's own deadlines.
    fn look_after(&mut self, now: Timestamp) {
        if let Some(sick) = self.watch.look(now) {
            self.hand_over(now, Input::Command(Command::SetSick(sick)));
        }
        if self.life.is_overdue(now) {
            self.ended = Some(StopReason::LeaveTimedOut);
        }
        if !self.life.is_due(now) {
            return;
        }
        let seeds = self.life.with_way_back(self.resolver.addresses());
        match self.life.again(now, &seeds) {
            Ok((me, node)) => self.begin_again(now, me, node, seeds),
            Err(error) => {
                tracing::error!(target: "gms::no_new_incarnation", %error);
                self.ended = Some(StopReason::Aborted);
            }
        }
    }

    fn begin_again(&mut self, now: Timestamp, me: Member, node: Node, seeds: Vec<SocketAddr>) {
        self.shared.counters.incarnations.add_one();
        self.shared.me.store(Arc::new(me.clone()));
        self.me = me;
        self.node = node;
        self.resolver.again();
        self.misfits.clear();
        if self.watch.is_sick() {
            self.hand_over(now, Input::Command(Command::SetSick(true)));
        }
        self.seeds.clone_from(&seeds);
        if !seeds.is_empty() {
            self.hand_over(now, Input::Command(Command::Seeds(seeds)));
        }
    }

    fn hand_over(&mut self, now: Timestamp, input: Input) {
        if self.life.is_running() {
            self.node.handle_input(now, input);
            if let Some(cause) = self.node.dropped() {
                self.shared.counters.dropped.add_one(cause.name());
            }
            self.collect();
        }
    }

    fn collect(&mut self) {
        while let Some(output) = self.node.poll_output() {
            if let Output::Event(Event::Excluded { cause: ExclusionCause::GaveWay { at, .. }, .. }) = &output
            {
                self.life.gives_way(*at);
            }
            self.outputs.push(output);
        }
    }

    /// Tells handles where the member stands: before anything of this turn goes out, so that it is isolated for its
    /// application before others can act on what it says.
    //= docs/protocol.md#vw-17
    fn publish(&mut self) {
        if !self.life.is_running() {
            self.shared.publish(None, self.life.state_between(), Timestamp::ZERO);
            return self.set_joined(false);
        }
        let state = self.node.state();
        let view = self.node.view().filter(|_| state != State::Excluded);
        if let Some(view) = view.filter(|view| !self.shared.has_view(view)) {
            self.life.remember(view, &self.me);
        }
        let in_view = view.is_some();
        self.shared.publish(view, state, self.node.connected_until());
        self.set_joined(in_view);
    }

    fn set_joined(&mut self, joined: bool) {
        if std::mem::replace(&mut self.joined, joined) != joined {
            self.shared.set_joined(joined);
        }
    }
}
