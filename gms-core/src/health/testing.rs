//! One member with a virtual clock, for tests of the health machines: what others send it, and what it does, in lines.

use std::time::Duration;

use crate::event::Event;
use crate::evidence::{Finding, ProbeOutcome, Reason};
use crate::health::Health;
use crate::health::contacts::{Contact, Contacts};
use crate::hubs;
use crate::input::WatchEnd;
use crate::member::{ClusterTag, MemberId, ShortId};
use crate::message::{
    AccusationId, Answers, CheckId, DatagramBody, Echo, Flags, FrameBody, Head, RequestId, SuspectRequest,
};
use crate::outbox::{Action, Outbox};
use crate::output::ProbeId;
use crate::scene::Scene;
use crate::testing::{addr, id, member, view_of_weights};
use crate::time::Timestamp;
use crate::view::{Change, View};

/// Origin of every test's clock.
const START: Timestamp = Timestamp::from_millis(100_000);

/// A member at its desk. T is 1 s: a heartbeat each 200 ms, checks of 250 ms, R = 1250 ms.
pub(crate) struct Desk {
    pub(crate) health: Health,
    pub(crate) contacts: Contacts,
    pub(crate) view: View,
    pub(crate) me: u8,
    pub(crate) now: Timestamp,
    pub(crate) isolated: bool,
    pub(crate) sick: bool,
    pub(crate) out: Outbox,
    /// Every action so far, in order.
    pub(crate) actions: Vec<Action>,
    lines: Vec<String>,
    watches: Vec<String>,
    /// The probe that was begun last, until it brings something.
    connecting: Option<ProbeId>,
    numbers: [u64; 64],
}

/// A desk that only passes its scene on.
macro_rules! scene {
    ($desk:expr, $me:expr) => {
        Scene {
            now: $desk.now,
            me: &$me,
            view: &$desk.view,
            contacts: &$desk.contacts,
            isolated: $desk.isolated,
            hears_majority: false,
            sick: $desk.sick,
            leaving: false,
            coordinator_is_idle: false,
        }
    };
}

impl Desk {
    /// Member `me` in a view of `len` members of weight 10.
    pub(crate) fn new(len: usize, me: u8) -> Self {
        Self::in_view(view_of_weights(&vec![10; len]), me)
    }

    /// Member `me` in this view, just installed.
    pub(crate) fn in_view(view: View, me: u8) -> Self {
        let mut contacts = Contacts::default();
        contacts.install(&view, START);
        contacts.expect(hubs::senders(&view, view.place(&id(me)).expect("a member")), START);
        let mut desk = Self {
            health: Health::new(7),
            contacts,
            view,
            me,
            now: START,
            isolated: false,
            sick: false,
            out: Outbox::default(),
            actions: Vec::new(),
            lines: Vec::new(),
            watches: Vec::new(),
            connecting: None,
            numbers: [0; 64],
        };
        desk.with(|health, scene, out| health.handle_view_installed(scene, out));
        desk
    }

    /// One call with the scene of the moment.
    pub(crate) fn with<R>(&mut self, call: impl FnOnce(&mut Health, Scene<'_>, &mut Outbox) -> R) -> R {
        let me = member(self.me);
        let scene = scene!(self, me);
        let result = call(&mut self.health, scene, &mut self.out);
        self.collect();
        result
    }

    /// Lets `ms` pass while `alive` send heartbeats, as the node's loop would.
    pub(crate) fn pass(&mut self, ms: u64, alive: &[u8]) {
        let end = self.now + Duration::from_millis(ms);
        let mut heartbeat_at = self.now;
        loop {
            self.settle();
            let due = self.health.poll_timeout().map_or(Timestamp::FAR_FUTURE, |(at, _)| at);
            self.now = due.min(heartbeat_at).min(end).max(self.now);
            if self.now >= heartbeat_at {
                for n in alive {
                    self.hears(*n);
                }
                heartbeat_at = heartbeat_at + Duration::from_millis(200);
            }
            if self.now >= end {
                self.settle();
                return;
            }
        }
    }

    /// Does all that is due at this moment, and fails where the machines never come to rest.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10 {
            match self.health.poll_timeout() {
                Some((at, _)) if at <= self.now => self.with(|h, scene, out| h.handle_timeout(scene, out)),
                _ => return,
            }
        }
        panic!("a deadline stays due: {:?}", self.health.poll_timeout());
    }

    /// A plain heartbeat of member `n`.
    pub(crate) fn hears(&mut self, n: u8) -> Contact {
        self.hears_with(n, Answers::Nothing, Flags::default(), None)
    }

    /// A heartbeat of member `n` gets lost.
    pub(crate) fn loses(&mut self, n: u8) {
        self.numbers[usize::from(n)] += 1;
    }

    /// A heartbeat of member `n` that shows that it got datagram `echo`.
    pub(crate) fn hears_with(&mut self, n: u8, answers: Answers, flags: Flags, echo: Option<u64>) -> Contact {
        self.numbers[usize::from(n)] += 1;
        let head = Head {
            cluster: ClusterTag::NONE,
            sender: id(n).short(),
            recipient: ShortId::default(),
            view: self.view.id(),
            accepted: None,
            flags,
            number: self.numbers[usize::from(n)],
            echo: echo.map(|number| Echo { number, age_us: 0 }),
            quorate_for_ms: None,
        };
        let place = self.view.place(&id(n)).expect("a member");
        let contact = self.contacts.handle_datagram(place, &head, answers, self.now);
        self.with(|health, scene, out| health.handle_contact(scene, contact, out));
        contact
    }

    /// Something sent to member `n` at this moment; its number can be echoed.
    pub(crate) fn sends(&mut self, n: u8) -> u64 {
        let place = self.view.place(&id(n)).expect("a member");
        self.contacts.at_mut(place).next_number(self.now)
    }

    /// Member `by` accuses `accused` of silence.
    pub(crate) fn hears_accusation(&mut self, by: u8, accusation: u64, accused: &[u8], flags: Flags) {
        self.hears_with(by, Answers::Nothing, flags, None);
        let requests: Vec<_> = accused.iter().map(|n| request(*n, Reason::Silent, None)).collect();
        self.with(|h, s, out| {
            h.handle_suspect_members(s, id(by), flags, AccusationId(accusation), &requests, out);
        });
    }

    /// The newest probe brings `outcome`.
    pub(crate) fn probe_brings(&mut self, outcome: ProbeOutcome) {
        let probe = self.probe();
        self.connecting = None;
        assert!(self.with(|h, scene, out| h.handle_probe_done(scene, probe, outcome, out)));
    }

    /// Whether a probe runs.
    pub(crate) fn is_connecting(&self) -> bool {
        self.connecting.is_some()
    }

    /// The newest watch connection ends.
    pub(crate) fn watch_ends(&mut self, end: WatchEnd) {
        let found = self.actions.iter().rev().find_map(|action| match action {
            Action::StartWatch { watch, .. } => Some(*watch),
            _ => None,
        });
        let watch = found.expect("a watch connection was opened");
        self.with(|h, scene, out| h.handle_watch_ended(scene, watch, end, out));
    }

    /// A datagram to member `n` finds nobody.
    pub(crate) fn finds_nobody_at(&mut self, n: u8) {
        self.with(|h, scene, out| h.handle_unreachable(scene, addr(n), out));
    }

    /// Verifier `by` reports on `suspect`.
    pub(crate) fn hears_finding(&mut self, by: u8, suspect: u8, finding: Finding) {
        let check = self.check();
        self.with(|h, scene, out| h.handle_verify_reply(scene, id(by), check, id(suspect), finding, out));
    }

    /// Installs the view that is left when `gone` leave.
    pub(crate) fn installs_without(&mut self, gone: &[u8]) {
        let mut change = Change::empty(&self.view);
        change.left = gone.iter().map(|n| id(*n)).collect();
        self.view = self.view.apply(&change).expect("members");
        self.contacts.install(&self.view, self.now);
        self.with(|health, scene, out| health.handle_view_installed(scene, out));
    }

    /// Installs the view in which `joiner` is in, too.
    pub(crate) fn installs_with(&mut self, joiner: u8) {
        let mut change = Change::empty(&self.view);
        change.joined = vec![member(joiner).into()];
        self.view = self.view.apply(&change).expect("a new member");
        self.contacts.install(&self.view, self.now);
        let me = self.view.place(&id(self.me)).expect("a member");
        self.contacts.expect(hubs::senders(&self.view, me), self.now);
        self.with(|health, scene, out| health.handle_view_installed(scene, out));
    }

    /// The lines since the last call: `ms since START, what`.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Watch connections opened and closed since the last call: `ms since START, what`. They stand apart from the other
    /// lines, for they follow the watched member and say nothing of what is done about it.
    pub(crate) fn watches(&mut self) -> Vec<String> {
        std::mem::take(&mut self.watches)
    }

    /// The lines since the last call that contain `word`.
    pub(crate) fn lines_with(&mut self, word: &str) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.contains(word)).collect()
    }

    /// Milliseconds since the test began.
    pub(crate) fn ms(&self) -> u128 {
        self.now.since(START).as_millis()
    }

    /// Id of the newest request sent to member `n`.
    pub(crate) fn request_to(&self, n: u8) -> RequestId {
        let found = self.actions.iter().rev().find_map(|action| match action {
            Action::Datagram { to, body: DatagramBody::HeartbeatRequest { request, .. } } => {
                (*to == id(n)).then_some(*request)
            }
            _ => None,
        });
        found.expect("it was asked")
    }

    /// Id of the newest accusation made.
    pub(crate) fn accusation(&self) -> AccusationId {
        let found = self.actions.iter().rev().find_map(|action| match action {
            Action::Datagram { body: DatagramBody::SuspectMembers { accusation, .. }, .. } => {
                Some(*accusation)
            }
            _ => None,
        });
        found.expect("somebody was accused")
    }

    fn check(&self) -> CheckId {
        let found = self.actions.iter().rev().find_map(|action| match action {
            Action::Datagram { body: DatagramBody::VerifyRequest { check, .. }, .. } => Some(*check),
            _ => None,
        });
        found.expect("a verifier was asked")
    }

    fn probe(&self) -> ProbeId {
        let found = self.actions.iter().rev().find_map(|action| match action {
            Action::StartProbe { probe, .. } => Some(*probe),
            _ => None,
        });
        found.expect("a connection was made")
    }

    fn collect(&mut self) {
        for action in self.out.drain() {
            let is_watch = matches!(action, Action::StartWatch { .. } | Action::StopWatch { .. });
            let lines = if is_watch { &mut self.watches } else { &mut self.lines };
            lines.push(format!("{} {}", self.now.since(START).as_millis(), line(&action)));
            if let Action::StartProbe { probe, .. } = action {
                self.connecting = Some(probe);
            }
            self.actions.push(action);
        }
    }
}

/// One accused.
pub(crate) fn request(n: u8, reason: Reason, replaced_by: Option<u8>) -> SuspectRequest {
    let silent_for = Duration::from_millis(1250);
    SuspectRequest { member: id(n), reason, silent_for, replaced_by: replaced_by.map(id) }
}

fn name(id: &MemberId) -> String {
    format!("m{}", id.as_bytes()[0])
}

fn names(requests: &[SuspectRequest]) -> String {
    requests.iter().map(|r| name(&r.member)).collect::<Vec<_>>().join("+")
}

/// An action in a few words, with the random ids left out.
fn line(action: &Action) -> String {
    match action {
        Action::Datagram { to, body } => match body {
            DatagramBody::Heartbeat { answers: Answers::Nothing } => format!("heartbeat to {}", name(to)),
            DatagramBody::Heartbeat { answers: Answers::Request(_) } => format!("answer to {}", name(to)),
            DatagramBody::Heartbeat { answers: Answers::Accusation(a) } => {
                format!("got {} to {}", a.0, name(to))
            }
            DatagramBody::HeartbeatRequest { target, .. } => {
                assert_eq!(target, to);
                format!("ask {}", name(to))
            }
            DatagramBody::SuspectMembers { requests, .. } => {
                format!("accuse {} to {}", names(requests), name(to))
            }
            DatagramBody::FinalCheckPassed { member } => format!("passed {} to {}", name(member), name(to)),
            DatagramBody::VerifyRequest { suspect, .. } => {
                format!("verify {} to {}", name(suspect), name(to))
            }
            DatagramBody::VerifyReply { suspect, finding, .. } => {
                format!("{} is {finding} to {}", name(suspect), name(to))
            }
            other => format!("{other:?}"),
        },
        Action::Frame { to, body: FrameBody::SuspectMembers { requests, .. }, .. } => {
            format!("frame {} to {}", names(requests), name(to))
        }
        Action::StartProbe { target, .. } => {
            let port = target.address;
            assert_eq!(port, addr(target.request.target.as_bytes()[0]));
            format!("connect {}", name(&target.request.target))
        }
        Action::StopProbe { .. } => String::from("stop connect"),
        Action::StartWatch { address, .. } => {
            let named = (0..64).find(|n| addr(*n) == *address).expect("the address of a member");
            format!("watch m{named}")
        }
        Action::StopWatch { .. } => String::from("stop watch"),
        Action::Event(event) => event_line(event),
        Action::CommandDone { result, .. } => format!("done {result:?}"),
        other => format!("{other:?}"),
    }
}

fn event_line(event: &Event) -> String {
    match event {
        Event::MemberSuspected { member, by, reason, .. } => {
            format!("! {} suspected by {}: {reason}", member.name, by.name)
        }
        Event::FinalCheckStarted { member, reason } => format!("! {} checked: {reason}", member.name),
        Event::FinalCheckPassed { member, .. } => format!("! {} passed", member.name),
        Event::FinalCheckFailed { member, verdict, .. } => format!("! {} {verdict}", member.name),
        Event::MemberCleared { member, by } => format!("! {} cleared by {}", member.name, by.name),
        Event::LinkDegraded(link) => format!("! link to {} bad", link.member.name),
        Event::LinkRecovered(link) => format!("! link to {} good", link.member.name),
        other => format!("! {other:?}"),
    }
}
