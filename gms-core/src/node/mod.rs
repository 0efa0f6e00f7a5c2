//! The node: one dispatcher over the health monitor and the membership machines; it owns no rule of its own.

mod in_view;
mod outgoing;
mod seeds;
mod sharing;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::config::{Config, ConfigError, Timing};
use crate::event::{Event, QuorumReport, State, Status, StopReason};
use crate::input::{Command, DropCause, Input};
use crate::member::{ClusterTag, Member, canonical};
use crate::membership::announce;
use crate::membership::joining::{JoinOutcome, Joining};
use crate::message::{CheckAnswer, DatagramBody, FrameBody, Installation};
use crate::outbox::Outbox;
use crate::output::Output;
use crate::time::Timestamp;
use crate::timer::WakeReason;
use crate::view::View;

use in_view::{Arrival, End, InView};

/// One member's whole protocol, from asking its seeds to its last word. Pure: time and chance are arguments, and the
/// same inputs give the same outputs.
///
/// Methods come in families: `handle_*` take what happened, `poll_*` give what follows, the rest only look. After each
/// `handle_*` call, drain [`Node::poll_output`] to the end, then ask [`Node::poll_timeout`] when to call
/// [`Node::handle_timeout`]. `docs/driving.md` shows a whole loop.
#[derive(Debug)]
pub struct Node {
    config: Config,
    me: Member,
    started_at: Timestamp,
    now: Timestamp,
    rng: fastrand::Rng,
    seeds: Vec<SocketAddr>,
    phase: Phase,
    out: Outbox,
    outputs: VecDeque<Output>,
    /// How many outputs waited after the newest round of heartbeats.
    outputs_of_a_round: usize,
    next: Option<(Timestamp, WakeReason)>,
}

#[derive(Debug)]
enum Phase {
    Joining(Box<Joining>),
    InView(Box<InView>),
    Stopped(State),
}

impl Node {
    /// A node that begins to join; without seeds it founds a cluster at once.
    ///
    /// `me.id` must be drawn from the system's randomness, once per node; `seed` feeds back-offs and request ids.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for the first knob that is out of bounds.
    ///
    /// # Panics
    ///
    /// If `me` is malformed ([`Member::fault`]); check it before.
    pub fn new(config: Config, me: Member, seed: u64, now: Timestamp) -> Result<Self, ConfigError> {
        config.validate()?;
        assert!(me.fault().is_none(), "the caller checks its own record: {:?}", me.fault());
        let mut rng = fastrand::Rng::with_seed(seed);
        let joining = Joining::new(&config, &me, rng.u64(..), now);
        let mut node = Self {
            config,
            me,
            started_at: now,
            now,
            rng,
            seeds: Vec::new(),
            phase: Phase::Joining(Box::new(joining)),
            out: Outbox::default(),
            outputs: VecDeque::new(),
            outputs_of_a_round: 0,
            next: None,
        };
        node.settle(now);
        Ok(node)
    }

    /// This incarnation's record.
    pub const fn me(&self) -> &Member {
        &self.me
    }

    /// The installed view; `None` before joining and after the end.
    pub fn view(&self) -> Option<&Arc<View>> {
        match &self.phase {
            Phase::InView(member) => Some(member.view()),
            Phase::Joining(_) | Phase::Stopped(_) => None,
        }
    }

    /// Where the member stands, as of the last call.
    pub fn state(&self) -> State {
        match &self.phase {
            Phase::Joining(_) => State::Joining,
            Phase::InView(member) => member.state(self.now),
            Phase::Stopped(state) => *state,
        }
    }

    /// Until when two-way contact to a majority is certain: compare with the clock before acting for the cluster.
    /// [`Timestamp::ZERO`] where there is none, [`Timestamp::FAR_FUTURE`] where the member alone is the majority.
    pub fn connected_until(&self) -> Timestamp {
        match &self.phase {
            Phase::InView(member) => member.connected_until(),
            Phase::Joining(_) | Phase::Stopped(_) => Timestamp::ZERO,
        }
    }

    /// Why the message that the last call took was dropped without looking at what it says; `None` if it was not.
    pub const fn dropped(&self) -> Option<DropCause> {
        self.out.dropped()
    }

    /// Whether the node has come to its end: once the outputs are drained, nothing follows.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.phase, Phase::Stopped(_))
    }

    /// The node's account of itself at `now`.
    pub fn status(&self, now: Timestamp) -> Status {
        if let Phase::InView(member) = &self.phase {
            return member.status(now);
        }
        let nobody =
            QuorumReport { weight_reachable: 0, weight_needed: 0, weight_total: 0, unreachable: Vec::new() };
        Status {
            me: self.me.clone(),
            state: self.state(),
            view: None,
            quorum: nobody,
            connected_until: Timestamp::ZERO,
            connected_for: std::time::Duration::ZERO,
            timing: self.timing(),
            members: Vec::new(),
        }
    }

    /// Takes one arrival, result or command. `now` must not be before that of an earlier call.
    pub fn handle_input(&mut self, now: Timestamp, input: Input) {
        let now = self.begin(now);
        match input {
            Input::Command(Command::Seeds(seeds)) => self.handle_seeds(now, seeds),
            Input::CheckAsked { handle, request } => match &self.phase {
                Phase::InView(member) => {
                    let answer = member.check_answer(&request);
                    self.out.answer_check(handle, answer);
                }
                Phase::Joining(_) => {
                    let me = self.me.id;
                    let answer = if request.target == me { CheckAnswer::Ok } else { CheckAnswer::Other(me) };
                    self.out.answer_check(handle, answer);
                }
                Phase::Stopped(_) => {}
            },
            input => match &mut self.phase {
                Phase::InView(member) => member.handle_input(now, input, &mut self.out),
                Phase::Joining(_) => self.handle_joining(now, input),
                Phase::Stopped(_) => {}
            },
        }
        self.settle(now);
    }

    /// Does what is due at `now`: the clock's reading, not the deadline's.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let now = self.begin(now);
        match &mut self.phase {
            Phase::InView(member) => {
                if member.handle_timeout(now, &mut self.out) {
                    self.drain_actions(now);
                    self.send_heartbeats(now);
                }
            }
            Phase::Joining(joining) => joining.handle_timeout(now, &mut self.out),
            Phase::Stopped(_) => {}
        }
        self.settle(now);
    }

    /// When to call [`Node::handle_timeout`], and why; at once while output is not drained. `None` after the end.
    pub fn poll_timeout(&self) -> Option<(Timestamp, WakeReason)> {
        if !self.outputs.is_empty() {
            return Some((self.now, WakeReason::Drain));
        }
        self.next
    }

    fn begin(&mut self, now: Timestamp) -> Timestamp {
        debug_assert!(now >= self.now, "time goes back: {now:?} after {:?}", self.now);
        self.now = now.max(self.now);
        self.out.forget_dropped();
        if let Phase::InView(member) = &mut self.phase {
            member.observe(self.now, &mut self.out);
        }
        self.now
    }

    fn handle_seeds(&mut self, now: Timestamp, seeds: Vec<SocketAddr>) {
        self.seeds = seeds.into_iter().map(canonical).collect();
        match &mut self.phase {
            Phase::Joining(joining) => joining.handle_seeds(now, &self.seeds, &mut self.out),
            Phase::InView(member) => {
                member.handle_command(now, Command::Seeds(self.seeds.clone()), &mut self.out);
            }
            Phase::Stopped(_) => {}
        }
    }

    /// Carries everything through that follows from the last call, and plans the next.
    fn settle(&mut self, now: Timestamp) {
        loop {
            if let Phase::InView(member) = &mut self.phase {
                member.advance(now, &mut self.out);
            }
            let looped = self.drain_actions(now);
            let changed = self.follow_phase(now);
            if !looped && !changed {
                break;
            }
        }
        self.next = match &mut self.phase {
            Phase::Joining(joining) => joining.poll_timeout(),
            Phase::InView(member) => {
                let next = member.poll_timeout(now);
                // What is overdue already is planned for now: only lateness from here on is a pause.
                member.plan_next(next.map(|(at, _)| at.max(now)));
                next
            }
            Phase::Stopped(_) => None,
        };
    }

    /// Moves from joining to a view, and from a view to the end. Returns whether the phase changed.
    fn follow_phase(&mut self, now: Timestamp) -> bool {
        match &mut self.phase {
            Phase::Joining(joining) => match joining.outcome() {
                None => false,
                Some(JoinOutcome::Found(cluster)) => {
                    let name = self.config.cluster_name.clone();
                    let view = View::founding(cluster, name, self.timing(), self.me.clone());
                    self.enter(now, view);
                    true
                }
                Some(JoinOutcome::Failed(failure)) => {
                    self.stop(StopReason::JoinFailed(failure), State::Joining);
                    true
                }
            },
            Phase::InView(member) => match member.take_end() {
                None => false,
                Some(End::Stop(reason)) => {
                    self.stop(reason, State::Leaving);
                    true
                }
                Some(End::Excluded(view, cause)) => {
                    self.outputs.push_back(Output::Event(Event::Excluded { view, cause }));
                    self.stop(StopReason::Excluded, State::Excluded);
                    true
                }
            },
            Phase::Stopped(_) => false,
        }
    }

    fn stop(&mut self, reason: StopReason, state: State) {
        self.phase = Phase::Stopped(state);
        self.outputs.push_back(Output::Event(Event::Stopped { reason }));
    }

    fn enter(&mut self, now: Timestamp, view: View) {
        let arrival = Arrival {
            config: &self.config,
            me: self.me.clone(),
            view,
            started_at: self.started_at,
            seeds: self.seeds.clone(),
            seed: self.rng.u64(..),
        };
        let member = InView::new(now, arrival);
        let view = Arc::clone(member.view());
        self.phase = Phase::InView(Box::new(member));
        self.out.event(Event::Joined { view: Arc::clone(&view) });
        let joined = view.members().iter().map(|m| (&*m.member).into()).collect();
        let change = crate::event::ViewChange {
            view,
            joined,
            left: Vec::new(),
            crashed: Vec::new(),
            expelled: Vec::new(),
            gone: Vec::new(),
        };
        self.out.event(Event::ViewInstalled(Arc::new(change)));
        self.drain_actions(now);
        if let Phase::InView(member) = &mut self.phase
            && member.handle_timeout(now, &mut self.out)
        {
            self.drain_actions(now);
            self.send_heartbeats(now);
        }
    }

    fn timing(&self) -> Timing {
        self.config.timing.resolve().expect("validated when the node was made")
    }

    /// What reaches a process that is in no view yet.
    fn handle_joining(&mut self, now: Timestamp, input: Input) {
        let Phase::Joining(joining) = &mut self.phase else { return };
        match input {
            Input::Datagram { from, datagram, .. } => {
                let from = canonical(from);
                match datagram.body {
                    DatagramBody::FindCoordinator { asker, padding, .. } if announce::is_padded(&padding) => {
                        joining.handle_find_coordinator(now, from, None, asker, &mut self.out);
                    }
                    DatagramBody::Coordinator(info) => {
                        joining.handle_cluster_info(now, from, &info, &mut self.out);
                    }
                    //= docs/protocol.md#fd-5
                    DatagramBody::HeartbeatRequest { target, request, .. } if target == self.me.id => {
                        self.answer_as_joiner(now, from, &datagram.head, request);
                    }
                    _ if datagram.head.cluster != ClusterTag::NONE
                        && datagram.head.recipient != self.me.id.short() =>
                    {
                        self.out.drop_message(DropCause::OtherRecipient);
                        joining.handle_stray(now, from, &mut self.out);
                    }
                    _ => {}
                }
            }
            Input::Frame { from, reply, frame, .. } => {
                let from = canonical(from);
                match frame.body {
                    FrameBody::FindCoordinator { asker, .. } => {
                        joining.handle_find_coordinator(now, from, Some(reply), asker, &mut self.out);
                    }
                    FrameBody::Coordinator(info) => {
                        joining.handle_cluster_info(now, from, &info, &mut self.out);
                    }
                    FrameBody::JoinRefused { reason } => {
                        joining.handle_join_refused(now, &reason, &mut self.out);
                    }
                    FrameBody::Admitted { holder, endpoint, .. } => {
                        joining.handle_admitted(now, holder, endpoint, &mut self.out);
                    }
                    FrameBody::Install(Installation::Whole(view)) => self.handle_first_view(now, *view),
                    body => joining.handle_found_message(now, frame.head.sender, reply, &body, &mut self.out),
                }
            }
            Input::FrameFailed { token, failure } => {
                joining.handle_frame_failed(now, token, failure, &mut self.out);
            }
            Input::Command(Command::Leave) => self.stop(StopReason::Left, State::Leaving),
            Input::Command(Command::Abort) => self.stop(StopReason::Aborted, State::Leaving),
            Input::Command(Command::Check { token, .. }) => {
                self.out.command_done(token, crate::output::CommandResult::NotNow);
            }
            Input::Command(_)
            | Input::FrameSent { .. }
            | Input::ProbeDone { .. }
            | Input::WatchEnded { .. }
            | Input::Unreachable { .. }
            | Input::CheckAsked { .. } => {}
        }
    }

    /// The whole view that answers this joiner's request.
    fn handle_first_view(&mut self, now: Timestamp, view: View) {
        let Phase::Joining(joining) = &self.phase else { return };
        let awaited = joining.cluster_to_expect().is_none_or(|cluster| cluster == view.cluster());
        let acceptable = awaited
            && view.cluster_name() == self.config.cluster_name
            && view.member(&self.me.id) == Some(&self.me)
            && view.is_plausible();
        if acceptable {
            self.enter(now, view);
        }
    }
}

#[cfg(test)]
mod tests;
