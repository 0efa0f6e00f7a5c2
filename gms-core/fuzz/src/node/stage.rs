//! The node under test, its time, and what it has said: what the operations refer to.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use gms_core::config::{Config, HeartbeatRecipients, QuorumLoss, Timing, TimingOverrides};
use gms_core::input::{Command, ReplyHandle};
use gms_core::member::{ClusterId, MemberId, Weight};
use gms_core::message::{
    AccusationId, Ballot, CheckId, Datagram, DatagramBody, FoundBallot, Frame, FrameBody, Installation,
    RequestId,
};
use gms_core::output::{Destination, FrameToken, ProbeId, WatchId};
use gms_core::view::{Change, View};
use gms_core::{Input, Node, Output, Timestamp};

use super::super::draw::Draw;
use super::super::memory;
use super::Account;
use super::cast;
use super::heads;
use super::judge::Judge;

/// Most values of a kind that are remembered.
const RECENT_MAX: usize = 8;
/// Most wakes at one moment: what is due wakes the node once, and what follows from it a few times more.
const WAKES_MAX: u32 = 16;
/// Time for which nothing comes any more at the end of an input: whatever ends by time has ended then.
const QUIET_TIMEOUTS: u32 = 12;

/// What a node with a view of at most eight may hold at the end. The history keeps the last 64 changes, and texts from
/// outside that are in them.
const HELD_BYTES_MAX: usize = 16 << 20;
/// What one call may take beside: a message of up to 4 MiB, and a change of the same size to each of eight.
const CALL_BYTES_MAX: usize = 16 << 20;

/// The newest values of a kind, newest first.
#[derive(Debug)]
pub struct Recent<T>(Vec<T>);

impl<T: Clone> Recent<T> {
    const fn new() -> Self {
        Self(Vec::new())
    }

    fn push(&mut self, value: T) {
        self.0.insert(0, value);
        self.0.truncate(RECENT_MAX);
    }

    /// One of them; the newest for the first choice.
    pub fn pick(&self, draw: &mut Draw<'_>) -> Option<T> {
        if self.0.is_empty() { None } else { Some(draw.of(&self.0)) }
    }
}

/// What the node has said, so that answers and repetitions hit.
#[derive(Debug)]
pub struct Said {
    pub requests: Recent<RequestId>,
    pub accusations: Recent<AccusationId>,
    pub checks: Recent<CheckId>,
    pub ballots: Recent<Ballot>,
    pub found_ballots: Recent<FoundBallot>,
    pub changes: Recent<Change>,
    pub probes: Recent<ProbeId>,
    pub watches: Recent<WatchId>,
    pub tokens: Recent<FrameToken>,
    /// What waits for an answer, and whom it was put to.
    pub questions: Vec<(usize, Question)>,
}

/// Something that was put to a peer.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "few wait at a time")]
pub enum Question {
    Datagram(DatagramBody),
    Frame(FrameBody),
}

/// What one peer has said to the node and heard of it.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    pub number: u64,
    pub frame_number: u64,
    pub heard: Option<u64>,
}

pub struct Stage<'a> {
    pub draw: Draw<'a>,
    pub node: Node,
    pub now: Timestamp,
    pub said: Said,
    pub peers: Vec<Peer>,
    pub kinds: BTreeSet<String>,
    judge: Judge,
    last_handle: u64,
}

impl<'a> Stage<'a> {
    /// A node that has founded, joins, or is in a view: the first bytes say which.
    pub fn new(mut draw: Draw<'a>) -> Self {
        let [how, place, options] = [draw.byte(), draw.byte(), draw.byte()];
        let now = draw.of(&[Timestamp::from_millis(1_000), Timestamp::ZERO, Timestamp::from_millis(1 << 40)]);
        let t = Duration::from_millis(if options & 1 == 0 { 1_000 } else { 100 });
        let mut config = Config::new(cast::CLUSTER_NAME);
        config.timing = TimingOverrides { member_timeout: Some(t), ..TimingOverrides::default() };
        config.has_seeds = how % 4 != 0;
        config.expected_seeds = (options & 64 != 0).then_some(1);
        if options & 2 != 0 {
            config.quorum_loss = QuorumLoss::Leave;
        }
        let mut me = cast::member(0);
        if options & 4 != 0 {
            me.weight = Weight::new(0).expect("within bounds");
        }
        me.coordinator_eligible = options & 8 == 0;
        let node = Node::new(config, me, u64::from(how), now).expect("a valid configuration");
        let said = Said {
            requests: Recent::new(),
            accusations: Recent::new(),
            checks: Recent::new(),
            ballots: Recent::new(),
            found_ballots: Recent::new(),
            changes: Recent::new(),
            probes: Recent::new(),
            watches: Recent::new(),
            tokens: Recent::new(),
            questions: Vec::new(),
        };
        let judge = Judge::new();
        let peers = vec![Peer::default(); cast::ALL];
        let mut stage = Self { draw, node, now, said, peers, kinds: BTreeSet::new(), judge, last_handle: 0 };
        stage.drain(None);
        match how % 4 {
            0 => {}
            1 => {
                // Odd ones are in a cluster, even ones are not.
                let others = if place % 2 == 0 { [2, 4] } else { [1, 2] };
                let seeds = [0, others[0], others[1]].map(cast::address_of).to_vec();
                stage.feed(Input::Command(Command::Seeds(seeds)));
            }
            _ => stage.enter(usize::from(place), t, options),
        }
        stage
    }

    /// Puts the node into a view of two or more, at any place.
    fn enter(&mut self, place: usize, t: Duration, options: u8) {
        let size = 2 + place % (cast::MEMBERS - 1);
        let mine = place / (cast::MEMBERS - 1) % size;
        let order: Vec<usize> = (1..size).collect();
        let mut order = order;
        order.insert(mine, 0);
        let record = |n: usize| if n == 0 { self.node.me().clone() } else { cast::member(n) };
        let mut timing = Timing::from_member_timeout(t);
        if options & 16 != 0 {
            timing.heartbeat_recipients = HeartbeatRecipients::All;
        }
        if options & 32 != 0 {
            timing.verifiers = 0;
        }
        let name = String::from(cast::CLUSTER_NAME);
        let first = View::founding(cast::CLUSTER, name, timing, record(order[0]));
        let mut change = Change::empty(&first);
        change.joined = order[1..].iter().map(|n| record(*n).into()).collect();
        let view = first.apply(&change).expect("distinct members");
        let head = heads::proper(self, order[usize::from(mine == 0)]);
        let body = FrameBody::Install(Installation::Whole(Box::new(view)));
        let reply = ReplyHandle(self.fresh());
        let from = cast::address_of(1);
        self.feed(Input::Frame { from, reply, received_at: self.now, frame: Frame { head, body } });
        assert!(self.node.view().is_some(), "a joiner takes the view that it is sent");
    }

    /// A number that was not used yet.
    pub const fn fresh(&mut self) -> u64 {
        self.last_handle += 1;
        self.last_handle
    }

    /// Anybody's id.
    pub fn id(&mut self) -> MemberId {
        cast::id_of(self.draw.below(cast::ALL))
    }

    /// The node's cluster, or the one that all others are in.
    pub fn cluster(&self) -> ClusterId {
        self.node.view().map_or(cast::CLUSTER, |view| view.cluster())
    }

    /// Number of the node's view, 0 without one.
    pub fn view_number(&self) -> u64 {
        self.node.view().map_or(0, |view| view.number())
    }

    /// The timing in force.
    pub fn timing(&self) -> Timing {
        self.node.status(self.now).timing
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Duration) {
        // Half of the range is 292 years; sums beyond the end saturate, and then nothing is due any more.
        self.now = (self.now + span).min(Timestamp::from_nanos(u64::MAX / 2));
    }

    /// Hands the node one input.
    pub fn feed(&mut self, input: Input) {
        self.judge.handle_input(&self.node, &input);
        let from = match &input {
            Input::Datagram { from, .. } => Some(*from),
            _ => None,
        };
        let (node, now) = (&mut self.node, self.now);
        let ((), peak) = memory::measured(|| node.handle_input(now, input));
        assert!(peak <= CALL_BYTES_MAX, "one input took {peak} bytes, more than {CALL_BYTES_MAX}");
        self.drain(from);
    }

    /// Wakes the node at the time that it asked for, or at once if that is past.
    pub fn wake(&mut self) {
        let Some((at, _)) = self.node.poll_timeout() else { return };
        if at < Timestamp::from_nanos(u64::MAX / 2) {
            self.now = self.now.max(at);
            self.settle();
        }
    }

    /// Wakes the node until nothing is due any more at this moment.
    pub fn settle(&mut self) {
        let mut wakes = 0;
        let mut reasons = Vec::new();
        loop {
            self.judge.handle_timeout();
            let (node, now) = (&mut self.node, self.now);
            let ((), peak) = memory::measured(|| node.handle_timeout(now));
            assert!(peak <= CALL_BYTES_MAX, "one wake took {peak} bytes, more than {CALL_BYTES_MAX}");
            self.drain(None);
            wakes += 1;
            let Some((at, reason)) = self.node.poll_timeout() else { break };
            if at > self.now {
                break;
            }
            reasons.push(reason);
            assert!(wakes < WAKES_MAX, "time stands still at {:?}: {reasons:?}", self.now);
        }
        self.judge.settled(self.now, &self.node);
    }

    /// Looks at the node from outside.
    pub fn look(&self) {
        self.judge.look(self.now, &self.node);
    }

    /// Lets time run out for everything, and closes the account.
    pub fn end(mut self, operations: u32) -> Account {
        let end = self.now + self.timing().member_timeout * QUIET_TIMEOUTS;
        while !self.node.is_stopped() && self.node.poll_timeout().is_some_and(|(at, _)| at <= end) {
            self.wake();
        }
        self.judge.end(&self.node);
        let kinds = std::mem::take(&mut self.kinds);
        let held = memory::held_by(self.node);
        assert!(held <= HELD_BYTES_MAX, "the node held {held} bytes, more than {HELD_BYTES_MAX}");
        Account {
            operations,
            outputs: self.judge.outputs(),
            views: self.judge.views(),
            trace: self.judge.trace(),
            kinds,
        }
    }

    fn drain(&mut self, from: Option<SocketAddr>) {
        let mut outputs = Vec::new();
        while let Some(output) = self.node.poll_output() {
            outputs.push(output);
        }
        self.judge.drained(self.now, &self.node, from, &outputs);
        outputs.iter().for_each(|output| self.note(output));
    }

    /// Remembers what an output says, for later operations.
    fn note(&mut self, output: &Output) {
        match output {
            Output::Send { to, datagram } => {
                let peer = cast::at(*to);
                if let Some(n) = peer
                    && datagram.head.number > 0
                {
                    self.peers[n].heard = Some(datagram.head.number);
                }
                self.note_datagram(peer, datagram);
            }
            Output::SendStream { to, frame, token, .. } => {
                self.said.tokens.push(*token);
                let peer = match to {
                    Destination::Address(address) => cast::at(*address),
                    Destination::Reply(_) => {
                        (0..cast::ALL).find(|n| cast::id_of(*n).short() == frame.head.recipient)
                    }
                };
                self.note_frame(peer, frame);
            }
            Output::StartProbe { probe, .. } => self.said.probes.push(*probe),
            Output::StartWatch { watch, .. } => self.said.watches.push(*watch),
            Output::StopProbe { .. }
            | Output::StopWatch { .. }
            | Output::AnswerCheck { .. }
            | Output::Event(_)
            | Output::CommandDone { .. } => {}
        }
    }

    fn note_datagram(&mut self, peer: Option<usize>, datagram: &Datagram) {
        match &datagram.body {
            DatagramBody::HeartbeatRequest { request, .. } => self.said.requests.push(*request),
            DatagramBody::SuspectMembers { accusation, .. } => self.said.accusations.push(*accusation),
            DatagramBody::VerifyRequest { check, .. } => self.said.checks.push(*check),
            DatagramBody::FindCoordinator { .. } => {}
            DatagramBody::Heartbeat { .. }
            | DatagramBody::FinalCheckPassed { .. }
            | DatagramBody::VerifyReply { .. }
            | DatagramBody::Coordinator(_)
            | DatagramBody::NotAMember { .. } => return,
        }
        self.note_question(peer, Question::Datagram(datagram.body.clone()));
    }

    fn note_frame(&mut self, peer: Option<usize>, frame: &Frame) {
        match &frame.body {
            FrameBody::Fence { members, .. } => {
                members.iter().for_each(|target| self.said.checks.push(target.check));
            }
            FrameBody::Promise { ballot, .. } => self.said.ballots.push(*ballot),
            FrameBody::Prepare { ballot, change } => {
                self.said.ballots.push(*ballot);
                self.said.changes.push(change.clone());
            }
            FrameBody::FoundPromise { ballot, .. } | FrameBody::FoundAccept { ballot, .. } => {
                self.said.found_ballots.push(*ballot);
            }
            _ => {}
        }
        self.note_question(peer, Question::Frame(frame.body.clone()));
    }

    fn note_question(&mut self, peer: Option<usize>, question: Question) {
        let Some(peer) = peer else { return };
        if self.said.questions.len() < 64 {
            self.said.questions.push((peer, question));
        }
    }
}
