//! A member in a view: the state of all machines, and the order in which they are asked. No rule of its own.

mod agree;
mod commands;
mod datagrams;
mod frames;
mod install;
mod reach;
mod status;
mod timers;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, QuorumLoss};
use crate::event::{ExclusionCause, StopReason};
use crate::health::Health;
use crate::health::contacts::Contacts;
use crate::health::isolation::{self, Isolation, IsolationChange, Pending};
use crate::health::pause::PauseDetector;
use crate::health::quorum_watch::QuorumWatch;
use crate::input::Input;
use crate::member::{Member, canonical};
use crate::membership::acceptor::Acceptor;
use crate::membership::admission::Admission;
use crate::membership::announce::Announcer;
use crate::membership::catch_up::CatchUp;
use crate::membership::departures::Departures;
use crate::membership::fence::Fences;
use crate::membership::fencing::Fencing;
use crate::membership::history::History;
use crate::membership::proposer::Proposer;
use crate::membership::requests::{Queue, Requests};
use crate::membership::strays::Strays;
use crate::membership::succession::PromiseDesk;
use crate::membership::unfinished::Unfinished;
use crate::message::Flags;
use crate::outbox::Outbox;
use crate::time::Timestamp;
use crate::view::{View, ViewId};

/// The facts at `$now`, borrowed field by field so that one machine can be changed while it looks at the others.
macro_rules! scene {
    ($member:expr, $now:expr) => {
        $crate::scene::Scene {
            now: $now,
            me: &$member.me,
            view: &$member.view,
            contacts: &$member.contacts,
            isolated: !$member.isolation.is_connected($now),
            hears_majority: $member.hears_majority,
            sick: $member.sick,
            leaving: $member.requests.leaving_since().is_some(),
            coordinator_is_idle: $member.coordinator_is_idle,
        }
    };
}
use scene;

use reach::Reach;

/// Strangers remembered so that each is told at most once an interval that it is no member.
const STRANGERS_MAX: usize = 64;

/// How a member's time in views ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// It stops for this reason.
    Stop(StopReason),
    /// It is out of this view.
    Excluded(ViewId, ExclusionCause),
}

/// A member in a view.
#[derive(Debug)]
pub(super) struct InView {
    me: Member,
    view: Arc<View>,
    installed_at: Timestamp,
    contacts: Contacts,
    health: Health,
    isolation: Isolation,
    pauses: PauseDetector,
    quorum: QuorumWatch,
    acceptor: Acceptor,
    proposer: Proposer,
    fences: Fences,
    fencing: Fencing,
    history: History,
    desk: PromiseDesk,
    catch_up: CatchUp,
    requests: Requests,
    queue: Queue,
    departures: Option<Departures>,
    /// Set once this member has decided the view without itself: it only lets others and itself go.
    leaves_by: Option<Timestamp>,
    admission: Admission,
    announcer: Announcer,
    strays: Strays,
    strangers: VecDeque<(SocketAddr, Timestamp)>,
    sick: bool,
    heartbeat_at: Timestamp,
    takes_turns: bool,
    /// The next heartbeats show the installed view, everybody sends them at once, and turns begin after them.
    turns_begin: bool,
    hears_majority: bool,
    unfinished: Unfinished,
    /// Looked at once a heartbeat interval.
    coordinator_is_idle: bool,
    reach: Reach,
    /// Whom the next joiner is told to ask for the view, if it is large: a place in it.
    holder_turn: usize,
    /// What is left of the contact in a view in which this member counted by others.
    carried: Timestamp,
    leave_deadline: Option<Timestamp>,
    leave_timeout: Option<Duration>,
    quorum_loss: QuorumLoss,
    quorum_loss_timeout: Option<Duration>,
    rng: fastrand::Rng,
    end: Option<End>,
}

/// What a member brings along from its time as a joiner.
#[derive(Debug)]
pub(super) struct Arrival<'a> {
    pub(super) config: &'a Config,
    pub(super) me: Member,
    pub(super) view: View,
    pub(super) started_at: Timestamp,
    pub(super) seeds: Vec<SocketAddr>,
    pub(super) seed: u64,
}

impl InView {
    /// A member whose first view is `arrival.view`.
    pub(super) fn new(now: Timestamp, arrival: Arrival<'_>) -> Self {
        let Arrival { config, me, view, started_at, seeds, seed } = arrival;
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut contacts = Contacts::default();
        contacts.install(&view, now);
        let founded = view.len() == 1;
        let mut member = Self {
            installed_at: now,
            contacts,
            health: Health::new(rng.u64(..)),
            isolation: Isolation::new(now + view.timing().member_timeout),
            pauses: PauseDetector::default(),
            quorum: QuorumWatch::default(),
            acceptor: Acceptor::default(),
            proposer: Proposer::new(),
            fences: Fences::default(),
            fencing: Fencing::default(),
            history: History::new(now),
            desk: PromiseDesk::default(),
            catch_up: CatchUp::default(),
            requests: Requests::default(),
            queue: Queue::default(),
            departures: None,
            leaves_by: None,
            admission: Admission::new(rng.u64(..)),
            strays: Strays::default(),
            announcer: Announcer::new(started_at, now, founded && config.has_seeds),
            strangers: VecDeque::new(),
            sick: false,
            heartbeat_at: now,
            takes_turns: config.take_turns,
            turns_begin: config.take_turns,
            hears_majority: false,
            unfinished: Unfinished::default(),
            coordinator_is_idle: false,
            reach: Reach::default(),
            holder_turn: 0,
            carried: Timestamp::ZERO,
            leave_deadline: None,
            leave_timeout: config.leave_timeout,
            quorum_loss: config.quorum_loss,
            quorum_loss_timeout: config.quorum_loss_timeout,
            rng,
            end: None,
            view: Arc::new(view),
            me,
        };
        if founded && config.has_seeds {
            member.admission.handle_founded_with_seeds(scene!(member, now));
        }
        member.announcer.handle_seeds(now, &seeds);
        member.settle_reach(now);
        member
    }

    /// Takes one arrival, result or command.
    pub(super) fn handle_input(&mut self, now: Timestamp, input: Input, out: &mut Outbox) {
        match input {
            Input::Datagram { from, received_at, datagram } => {
                self.handle_datagram(now, canonical(from), received_at.min(now), &datagram, out);
            }
            Input::Frame { from, reply, received_at, frame } => {
                self.handle_frame(now, canonical(from), reply, received_at.min(now), frame, out);
            }
            Input::ProbeDone { probe, outcome } => self.handle_probe_done(now, probe, outcome, out),
            Input::Command(command) => self.handle_command(now, command, out),
            // Requests on streams are repeated until they are answered: what became of one frame changes nothing.
            Input::WatchEnded { watch, end } => self.handle_watch_ended(now, watch, end, out),
            Input::Unreachable { to } => self.handle_unreachable(now, canonical(to), out),
            Input::FrameSent { .. } | Input::FrameFailed { .. } | Input::CheckAsked { .. } => {}
        }
    }

    /// How the time in views ended, once it has.
    pub(super) fn take_end(&mut self) -> Option<End> {
        self.end.take()
    }

    /// The installed view.
    pub(super) const fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Takes an equal copy of the installed view in its place. Returns whether it was equal.
    pub(super) fn share_view(&mut self, view: &Arc<View>) -> bool {
        let is_equal = self.view == *view;
        if is_equal {
            self.view = Arc::clone(view);
            self.contacts.share_index(view);
            self.history.share_records(view);
        }
        is_equal
    }

    /// The state that every head tells.
    //= docs/protocol.md#fd-28
    pub(super) fn flags(&self, now: Timestamp) -> Flags {
        Flags {
            isolated: !self.isolation.is_connected(now),
            sick: self.sick,
            paused: self.is_in_office() && self.pauses.is_paused(now, self.view.timing()),
            leaving: self.requests.leaving_since().is_some(),
        }
    }

    /// The change accepted here, as heads show it.
    pub(super) fn accepted_tag(&self) -> Option<crate::view::DigestTag> {
        self.acceptor.accepted().map(|a| a.digest.tag())
    }

    /// The contact records, for numbering and echoing what is sent.
    pub(super) const fn contacts_mut(&mut self) -> &mut Contacts {
        &mut self.contacts
    }

    /// Until when two-way contact to a majority is certain.
    pub(super) const fn connected_until(&self) -> Timestamp {
        self.isolation.until()
    }

    fn is_in_office(&self) -> bool {
        self.view.coordinator().id == self.me.id
    }

    /// Computes two-way contact anew and reports a change of state.
    fn update_isolation(&mut self, now: Timestamp, out: &mut Outbox) {
        let pending = self.acceptor.accepted().map(|a| Pending {
            tag: a.digest.tag(),
            makes: &a.makes,
            removes_me: a.change.evicts(&self.me.id),
        });
        let (view, contacts, carried) = (&self.view, &self.contacts, self.carried);
        let until = isolation::connected_until(view, &self.me.id, contacts, pending, carried);
        let Some(change) = self.isolation.update(now, until) else { return };
        let span = self.view.timing().member_timeout;
        let (heard_from, heard_by) = isolation::heard(&self.view, &self.me.id, &self.contacts, now, span);
        let report = crate::event::ContactReport { heard_from, heard_by };
        out.event(match change {
            IsolationChange::Isolated => crate::Event::Isolated(report),
            IsolationChange::Connected => crate::Event::Connected(report),
        });
        if self.reach.borrows {
            self.handle_hubs_lost_or_back(now);
        }
    }

    /// Notes a pause of this process before anything is believed about the silence of others.
    //= docs/protocol.md#fd-26
    pub(super) fn observe(&mut self, now: Timestamp, out: &mut Outbox) {
        let interval = self.view.timing().heartbeat_interval;
        let Some(lasted) = self.pauses.observe(now, interval) else { return };
        self.contacts.handle_pause(now, lasted);
        self.health.handle_pause(scene!(self, now), lasted);
        out.event(crate::Event::Paused { lasted });
        self.update_isolation(now, out);
    }

    /// Notes when this node is to run next, to notice a pause.
    pub(super) const fn plan_next(&mut self, next: Option<Timestamp>) {
        self.pauses.plan(next);
    }
}
