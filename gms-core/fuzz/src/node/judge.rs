//! What must hold after every call, whatever came in.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;

use gms_core::event::{Event, State};
use gms_core::input::{CheckHandle, Command, CommandToken};
use gms_core::member::canonical;
use gms_core::message::{Answers, Ballot, CheckAnswer, CheckRequest, DatagramBody, FrameBody};
use gms_core::output::{FrameToken, ProbeId, WatchId};
use gms_core::view::ViewId;
use gms_core::{Input, Node, Output, Timestamp, codec};

/// Most outputs of one call, at most eight members in a view: nothing is asked of everybody more than a few times over.
const OUTPUTS_MAX: usize = 256;

/// What was seen so far, as far as later calls must agree with it.
#[derive(Debug)]
pub struct Judge {
    outputs: u64,
    views: u64,
    trace: DefaultHasher,
    newest_view: ViewId,
    has_joined: bool,
    is_isolated: bool,
    is_sick: bool,
    asked_to_leave: bool,
    has_stopped: bool,
    tokens: BTreeSet<FrameToken>,
    /// Probes under way.
    probes: BTreeSet<ProbeId>,
    last_probe: Option<ProbeId>,
    /// Watch connections that the node holds or opens.
    watches: BTreeSet<WatchId>,
    last_watch: Option<WatchId>,
    /// The check that the last input asked, until it is answered.
    check: Option<(CheckHandle, CheckRequest)>,
    commands: BTreeSet<CommandToken>,
    /// When each address was last sent a periodic heartbeat.
    beats: BTreeMap<SocketAddr, Timestamp>,
    /// The highest ballot that was promised or accepted for a base.
    votes: BTreeMap<ViewId, Ballot>,
    /// Bytes of the datagram that came last.
    spent: Option<usize>,
    seeds: Vec<SocketAddr>,
}

impl Judge {
    pub fn new() -> Self {
        Self {
            outputs: 0,
            views: 0,
            trace: DefaultHasher::new(),
            newest_view: ViewId::NONE,
            has_joined: false,
            is_isolated: false,
            is_sick: false,
            asked_to_leave: false,
            has_stopped: false,
            tokens: BTreeSet::new(),
            probes: BTreeSet::new(),
            last_probe: None,
            watches: BTreeSet::new(),
            last_watch: None,
            check: None,
            commands: BTreeSet::new(),
            beats: BTreeMap::new(),
            votes: BTreeMap::new(),
            spent: None,
            seeds: Vec::new(),
        }
    }

    /// Outputs seen.
    pub const fn outputs(&self) -> u64 {
        self.outputs
    }

    /// Views seen.
    pub const fn views(&self) -> u64 {
        self.views
    }

    /// A hash over all outputs.
    pub fn trace(&self) -> u64 {
        self.trace.finish()
    }

    /// An input is about to be handed in.
    pub fn handle_input(&mut self, node: &Node, input: &Input) {
        self.spent = None;
        match input {
            Input::Datagram { datagram, .. } => {
                let mut bytes = Vec::new();
                codec::encode_datagram(datagram, &mut bytes).expect("what arrives was encoded");
                self.spent = Some(bytes.len());
            }
            Input::CheckAsked { handle, request } if !node.is_stopped() => {
                self.check = Some((*handle, request.clone()));
            }
            Input::ProbeDone { probe, .. } => {
                self.probes.remove(probe);
            }
            Input::WatchEnded { watch, .. } => {
                self.watches.remove(watch);
            }
            Input::Command(Command::Check { token, .. }) if !node.is_stopped() => {
                self.commands.insert(*token);
            }
            Input::Command(Command::SetSick(sick)) if node.view().is_some() => self.is_sick = *sick,
            Input::Command(Command::Leave) => self.asked_to_leave = true,
            Input::Command(Command::Seeds(seeds)) => self.seeds.clone_from(seeds),
            _ => {}
        }
    }

    /// The node is about to be woken.
    pub fn handle_timeout(&mut self) {
        self.spent = None;
    }

    /// All outputs of one call.
    pub fn drained(&mut self, now: Timestamp, node: &Node, from: Option<SocketAddr>, outputs: &[Output]) {
        assert!(outputs.len() <= OUTPUTS_MAX, "{} outputs of one call", outputs.len());
        self.outputs += outputs.len() as u64;
        for output in outputs {
            assert!(!self.has_stopped, "{output:?} after the end");
            std::mem::discriminant(output).hash(&mut self.trace);
            self.judge_output(now, output);
        }
        assert_eq!(self.has_stopped, node.is_stopped(), "the end is told, and nothing else ends");
        if let Some((handle, request)) = self.check.take() {
            panic!("check {handle:?} ({request:?}) was not answered at once");
        }
        if let (Some(from), Some(spent)) = (from, self.spent.take()) {
            self.judge_spending(node, canonical(from), spent, outputs);
        }
        if let Some(view) = node.view() {
            assert!(view.contains(&node.me().id), "a view without the node itself");
            assert_eq!(view.id(), self.newest_view, "a view that was not told of");
        }
    }

    fn judge_output(&mut self, now: Timestamp, output: &Output) {
        match output {
            Output::Send { to, datagram } => {
                let mut bytes = Vec::new();
                codec::encode_datagram(datagram, &mut bytes).expect("what is sent fits its channel");
                bytes.hash(&mut self.trace);
                if datagram.body == (DatagramBody::Heartbeat { answers: Answers::Nothing }) {
                    self.beats.insert(*to, now);
                }
            }
            Output::SendStream { frame, token, .. } => {
                let mut bytes = Vec::new();
                codec::encode_frame(frame, &mut bytes).expect("what is sent fits its channel");
                bytes.hash(&mut self.trace);
                assert!(self.tokens.insert(*token), "{token:?} names two frames");
                self.judge_vote(&frame.body);
            }
            Output::StartProbe { probe, .. } => {
                assert!(self.last_probe < Some(*probe), "{probe:?} names two probes");
                self.last_probe = Some(*probe);
                self.probes.insert(*probe);
            }
            Output::StopProbe { probe } => {
                assert!(self.probes.remove(probe), "{probe:?} is stopped, but does not run");
            }
            Output::StartWatch { watch, .. } => {
                assert!(self.last_watch < Some(*watch), "{watch:?} names two watch connections");
                self.last_watch = Some(*watch);
                self.watches.insert(*watch);
                assert!(self.watches.len() <= 1, "more than one watch connection: {:?}", self.watches);
            }
            Output::StopWatch { watch } => {
                assert!(self.watches.remove(watch), "{watch:?} is stopped, but is not open");
            }
            Output::AnswerCheck { handle, answer } => {
                let asked = self.check.take();
                let (known, request) = asked.expect("an answer to a check that nobody asked");
                assert_eq!(known, *handle, "an answer to another check");
                self.judge_answer(&request, *answer);
            }
            Output::Event(event) => self.judge_event(event),
            Output::CommandDone { token, .. } => {
                assert!(self.commands.remove(token), "{token:?} is done twice, or was never given");
            }
        }
    }

    fn judge_answer(&self, request: &CheckRequest, answer: CheckAnswer) {
        let me = super::cast::id_of(0);
        let right = match answer {
            CheckAnswer::Ok => request.target == me && !self.is_sick,
            CheckAnswer::Sick => request.target == me && self.is_sick,
            CheckAnswer::Elsewhere => request.target == me && request.cluster != super::cast::CLUSTER,
            CheckAnswer::Other(other) => request.target != me && other == me,
        };
        assert!(right, "{answer:?} to {request:?}, sick: {}", self.is_sick);
    }

    fn judge_event(&mut self, event: &Event) {
        match event {
            Event::Joined { view } => {
                assert!(!self.has_joined, "joined twice");
                self.has_joined = true;
                assert!(view.id() > ViewId::NONE, "joined no view");
            }
            Event::ViewInstalled(change) => {
                let view = &change.view;
                assert!(self.has_joined, "a view before the first");
                assert!(view.id() > self.newest_view, "view {} after {}", view.id(), self.newest_view);
                assert!(view.contains(&super::cast::id_of(0)), "a view without the node itself");
                self.newest_view = view.id();
                self.views += 1;
            }
            Event::Isolated(_) => {
                assert!(!self.is_isolated, "isolated twice");
                self.is_isolated = true;
            }
            Event::Connected(_) => {
                assert!(self.is_isolated, "connected twice");
                self.is_isolated = false;
            }
            Event::Stopped { .. } => self.has_stopped = true,
            _ => {}
        }
    }

    /// Promises and acceptances for one base only go up.
    fn judge_vote(&mut self, body: &FrameBody) {
        let (base, ballot) = match body {
            FrameBody::Promised { base, ballot, .. } | FrameBody::Accepted { base, ballot } => {
                (*base, *ballot)
            }
            _ => return,
        };
        let highest = self.votes.entry(base).or_insert(ballot);
        assert!(ballot >= *highest, "{} for view {base} with {ballot:?} after {highest:?}", body.name());
        *highest = ballot;
    }

    /// A datagram of a stranger brings no datagram to anybody but him and those in the view, and as few bytes as it had.
    fn judge_spending(&self, node: &Node, from: SocketAddr, spent: usize, outputs: &[Output]) {
        let is_known = |to: &SocketAddr| {
            let is_member =
                node.view().is_some_and(|v| v.members().iter().any(|m| m.member.endpoint.addr == *to));
            is_member || self.seeds.contains(to)
        };
        let mut got = 0;
        for output in outputs {
            if let Output::Send { to, datagram } = output
                && !is_known(to)
            {
                assert_eq!(*to, from, "{} to somebody who did not speak", datagram.body.name());
                let mut bytes = Vec::new();
                codec::encode_datagram(datagram, &mut bytes).expect("what is sent fits its channel");
                got += bytes.len();
            }
        }
        // The number of the view stands in the answer twice, where the stranger may show one of a single byte.
        let number_bytes = match node.view().map_or(0, |view| view.number()) {
            0..=250 => 1,
            251..=0xffff => 3,
            0x1_0000..=0xffff_ffff => 5,
            _ => 9,
        };
        assert!(got <= spent + 2 * (number_bytes - 1), "{got} bytes for {spent} to a stranger: {outputs:?}");
    }

    /// The node was woken until nothing was due at `now`.
    pub fn settled(&self, now: Timestamp, node: &Node) {
        let Some(view) = node.view() else { return };
        if node.is_stopped() || self.asked_to_leave {
            return;
        }
        let interval = view.timing().heartbeat_interval;
        for other in view.members().iter().map(|m| &m.member).filter(|m| m.id != node.me().id) {
            let last = self.beats.get(&other.endpoint.addr);
            let due = last.is_none_or(|at| now.since(*at) >= interval);
            assert!(!due, "no heartbeat to {} since {last:?}, and it is {now:?}", other.name);
        }
    }

    /// The getters agree with each other and with what was told.
    pub fn look(&self, now: Timestamp, node: &Node) {
        let status = node.status(now);
        assert_eq!(status.view.as_ref(), node.view());
        assert_eq!(status.members.len(), node.view().map_or(0, |view| view.len()));
        let (until, timing) = (node.connected_until(), &status.timing);
        let is_alone = until == Timestamp::FAR_FUTURE;
        assert!(is_alone || until <= now + timing.member_timeout, "connected until {until:?} at {now:?}");
        match (node.state(), node.poll_timeout()) {
            (State::Joining, None) => assert!(node.is_stopped(), "a joiner that nothing wakes"),
            (State::Member | State::Isolated | State::NoQuorum, None) => {
                assert!(node.is_stopped(), "a member that nothing wakes");
            }
            _ => {}
        }
    }

    /// Time has run out for everything.
    pub fn end(&self, node: &Node) {
        let all_done = node.is_stopped() || self.commands.is_empty();
        assert!(all_done, "commands without a result: {:?}", self.commands);
    }
}
