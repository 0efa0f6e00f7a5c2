use super::*;
use crate::evidence::{Reason, Verdict};
use crate::health::contacts::Contacts;
use crate::member::{Endpoint, Weight};
use crate::message::{Answers, CheckRequest, DatagramBody, Flags, Head};
use crate::outbox::Action;
use crate::output::{CheckTarget, Destination, FrameToken};
use crate::testing::{addr, id, member, view_of, view_of_weights};
use crate::view::{Change, View};
use std::net::SocketAddr;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A coordinator, member 0, with its admission; T is one second.
struct World {
    view: View,
    contacts: Contacts,
    admission: Admission,
    isolated: bool,
    out: Outbox,
}

/// Every member of `view` speaks once.
fn hear_all(contacts: &mut Contacts, view: &View) {
    for (place, m) in view.members().iter().enumerate() {
        let head = Head {
            cluster: view.cluster().tag(),
            sender: m.member.id.short(),
            recipient: id(0).short(),
            view: view.id(),
            accepted: None,
            flags: Flags::default(),
            number: 1,
            echo: None,
            quorate_for_ms: None,
        };
        contacts.handle_frame(place, &head, at(0));
    }
}

impl World {
    fn new(view: View) -> Self {
        let mut contacts = Contacts::default();
        contacts.install(&view, at(0));
        hear_all(&mut contacts, &view);
        Self { view, contacts, admission: Admission::new(3), isolated: false, out: Outbox::default() }
    }

    fn with<R>(&mut self, now: u64, act: impl FnOnce(&mut Admission, Scene<'_>, &mut Outbox) -> R) -> R {
        let me = member(0);
        let scene = Scene {
            now: at(now),
            me: &me,
            view: &self.view,
            contacts: &self.contacts,
            isolated: self.isolated,
            hears_majority: false,
            sick: false,
            leaving: false,
            coordinator_is_idle: false,
        };
        act(&mut self.admission, scene, &mut self.out)
    }

    fn join(&mut self, now: u64, joiner: &Member) -> Vec<Action> {
        let (reply, timing) = (ReplyHandle(now), TimingOverrides::default());
        self.join_with(now, Join { reply, cluster_name: "test", member: joiner, timing: &timing })
    }

    fn join_with(&mut self, now: u64, join: Join<'_>) -> Vec<Action> {
        let admitted = self.with(now, |a, scene, out| a.handle_join(scene, join, None, out));
        assert_ne!(admitted, Admitted::ResendView);
        self.out.drain()
    }

    fn timeout(&mut self, now: u64) -> Vec<Action> {
        self.with(now, |a, scene, out| a.handle_timeout(scene, out));
        self.out.drain()
    }

    fn probe(&mut self, now: u64, probe: u64, outcome: ProbeOutcome) -> Vec<Action> {
        assert!(self.with(now, |a, scene, out| a.handle_probe_done(scene, ProbeId(probe), outcome, out)));
        self.out.drain()
    }

    fn heartbeat(&mut self, now: u64, from: u8, request: RequestId) {
        self.with(now, |a, scene, _| a.handle_heartbeat_answer(scene, id(from).short(), request));
    }

    fn admissible(&mut self, now: u64) -> Admissible {
        self.with(now, |a, scene, _| a.admissible(scene))
    }

    fn joiners(&mut self, now: u64) -> Vec<MemberId> {
        self.admissible(now).joiners.iter().map(|m| m.id).collect()
    }

    /// Lets a joiner join and answer everything that it is asked at once.
    fn proved(&mut self, now: u64, joiner: &Member, outcome: ProbeOutcome) {
        let actions = self.join(now, joiner);
        let probe = probe_in(&actions).expect("it is probed");
        self.heartbeat(now, joiner.id.as_bytes()[0], request_in(&actions));
        self.probe(now, probe, outcome);
    }

    /// A heartbeat of a member arrives.
    fn contact(&mut self, now: u64, n: u8) {
        let place = self.contacts.place_of(id(n).short()).unwrap();
        let head = Head {
            cluster: self.view.cluster().tag(),
            sender: id(n).short(),
            recipient: id(0).short(),
            view: self.view.id(),
            accepted: None,
            flags: Default::default(),
            number: now + 1,
            echo: None,
            quorate_for_ms: None,
        };
        self.contacts.handle_datagram(place, &head, Answers::Nothing, at(now));
    }

    /// A heartbeat of a member arrives that shows what was sent to it at `sent`.
    fn answer(&mut self, now: u64, n: u8, sent: u64) {
        let place = self.contacts.place_of(id(n).short()).unwrap();
        let echoed = self.contacts.at_mut(place).next_number(at(sent));
        let mut head = crate::testing::head(n, 0, &self.view, now + 1);
        head.echo = Some(crate::message::Echo { number: echoed, age_us: 0 });
        self.contacts.handle_datagram(place, &head, Answers::Nothing, at(now));
    }

    fn install(&mut self, now: u64, joined: &[Member], left: &[u8]) -> Vec<Action> {
        let mut change = Change::empty(&self.view);
        change.joined = joined.iter().cloned().map(Into::into).collect();
        change.left = left.iter().map(|n| id(*n)).collect();
        self.view = self.view.apply(&change).unwrap();
        self.contacts.install(&self.view, at(now));
        self.with(now, |a, scene, out| a.handle_view_installed(scene, None, out));
        self.out.drain()
    }
}

fn request_in(actions: &[Action]) -> RequestId {
    let request = |action: &Action| match action {
        Action::DatagramTo { body: DatagramBody::HeartbeatRequest { request, .. }, .. } => Some(*request),
        _ => None,
    };
    actions.iter().find_map(request).expect("a heartbeat is requested")
}

fn probe_in(actions: &[Action]) -> Option<u64> {
    actions.iter().find_map(|action| match action {
        Action::StartProbe { probe, .. } => Some(probe.0),
        _ => None,
    })
}

fn refusal_in(actions: &[Action]) -> Option<JoinRefusal> {
    actions.iter().find_map(|action| match action {
        Action::FrameTo { to: Destination::Reply(_), body: FrameBody::JoinRefused { reason }, .. } => {
            Some(reason.clone())
        }
        _ => None,
    })
}

/// The restart of member `old` as member `new`.
fn restart(old: u8, new: u8) -> Member {
    Member { id: id(new), ..member(old) }
}

//= docs/protocol.md#vw-13
#[test]
fn a_joiner_is_asked_by_datagram_and_on_a_fresh_connection_and_admitted_when_both_are_answered() {
    let mut world = World::new(view_of(3));
    let actions = world.join(500, &member(9));
    let request = request_in(&actions);
    let body = DatagramBody::HeartbeatRequest { target: id(9), request, reason: Reason::Requested };
    let question = CheckRequest { cluster: world.view.cluster(), target: id(9), view: world.view.id() };
    let target = CheckTarget { address: addr(9), request: question };
    let deadline = Duration::from_millis(250);
    assert_eq!(
        actions,
        [
            Action::DatagramTo { to: addr(9), recipient: id(9).short(), body },
            Action::StartProbe { probe: ProbeId(1), target, deadline },
        ]
    );
    world.heartbeat(510, 9, RequestId(request.0 ^ 1));
    world.heartbeat(510, 8, request);
    world.probe(520, 1, ProbeOutcome::Ok);
    assert_eq!(world.joiners(520), []);
    world.heartbeat(530, 9, request);
    assert_eq!(world.admissible(530), Admissible { joiners: vec![member(9).into()], replaced: vec![] });
    assert_eq!(world.install(540, &[member(9)], &[]), []);
    assert_eq!(world.joiners(540), []);
}

#[test]
fn a_joiner_that_answers_only_once_asked_again_is_admitted() {
    let mut world = World::new(view_of(3));
    world.join(0, &member(9));
    world.probe(10, 1, ProbeOutcome::TimedOut);
    let (due, reason) = world.admission.poll_timeout().unwrap();
    assert_eq!((due, reason), (Timestamp::from_nanos(62_500_000), WakeReason::Admission));
    let actions = world.timeout(63);
    world.heartbeat(70, 9, request_in(&actions));
    world.probe(70, 2, ProbeOutcome::Ok);
    assert_eq!(world.joiners(70), [id(9)]);
}

#[test]
fn a_joiner_that_never_answers_is_refused_after_the_member_timeout() {
    let mut world = World::new(view_of(3));
    let request = request_in(&world.join(0, &member(9)));
    assert_eq!(refusal_in(&world.timeout(999)), None);
    assert_eq!(refusal_in(&world.timeout(1_000)), Some(JoinRefusal::Unreachable(addr(9).to_string())));
    assert_eq!(world.admission.poll_timeout(), None);
    world.heartbeat(1_001, 9, request);
    assert_eq!(world.joiners(1_001), []);
}

#[test]
fn the_same_joiner_asking_five_times_is_one_entry_and_the_newest_connection_is_answered() {
    let mut world = World::new(view_of(3));
    world.join(0, &member(9));
    for now in 1..5 {
        assert_eq!(world.join(now, &member(9)), []);
    }
    let actions = world.timeout(1_000);
    let reason = JoinRefusal::Unreachable(addr(9).to_string());
    let refused = Action::FrameTo {
        to: Destination::Reply(ReplyHandle(4)),
        recipient: id(9).short(),
        body: FrameBody::JoinRefused { reason },
        token: FrameToken(1),
    };
    assert_eq!(actions, [Action::StopProbe { probe: ProbeId(1) }, refused]);
}

//= docs/protocol.md#vw-11
#[test]
fn what_is_refused_before_anything_is_queued() {
    let timing = TimingOverrides { member_timeout: Some(Duration::from_secs(3)), ..Default::default() };
    let none = TimingOverrides::default();
    let joiner = |change: &dyn Fn(&mut Member)| {
        let mut joiner = member(9);
        change(&mut joiner);
        joiner
    };
    let heavy = joiner(&|m| m.weight = Weight::new(100).unwrap());
    let mut twin = member(9);
    let mut bytes = *id(1).as_bytes();
    bytes[15] = 0;
    twin.id = MemberId::from_bytes(bytes);
    let conflict = timing.conflict(&crate::testing::timing()).unwrap();
    let two_addresses = joiner(&|m| m.endpoint = Endpoint { addr: addr(1), check_addr: addr(2) });
    for (name, joiner, overrides, expected) in [
        ("billing", member(9), &none, JoinRefusal::ClusterName("test".into())),
        (
            "test",
            joiner(&|m| m.name.clear()),
            &none,
            JoinRefusal::Record("name must have 1 to 64 bytes and no control characters".into()),
        ),
        ("test", member(9), &timing, JoinRefusal::Timing(conflict)),
        ("test", heavy, &none, JoinRefusal::TooHeavy { joiner: 100, cluster: 35 }),
        ("test", twin, &none, JoinRefusal::IdInUse),
        ("test", joiner(&|m| m.name = "m0".into()), &none, JoinRefusal::NameInUse("m0".into())),
        ("test", joiner(&|m| m.name = "m2".into()), &none, JoinRefusal::NameHeldBySilent("m2".into())),
        (
            "test",
            joiner(&|m| m.endpoint = member(0).endpoint),
            &none,
            JoinRefusal::AddressInUse(addr(0).to_string()),
        ),
        ("test", two_addresses, &none, JoinRefusal::AddressInUse(addr(1).to_string())),
    ] {
        let mut world = World::new(view_of(3));
        world.contact(900, 1);
        let join = Join { reply: ReplyHandle(1), cluster_name: name, member: &joiner, timing: overrides };
        let actions = world.join_with(1_000, join);
        assert_eq!(refusal_in(&actions), Some(expected));
        assert_eq!(actions.len(), 1);
        assert_eq!(world.admission.poll_timeout(), None);
    }
}

/// A process that has the name of m1 and no address of a member's.
fn namesake_of_m1() -> Member {
    Member { name: "m1".into(), ..member(9) }
}

#[test]
//= docs/protocol.md#vw-11
fn a_joiner_whose_namesake_was_heard_a_moment_ago_waits_until_that_is_looked_at() {
    let mut world = World::new(view_of(3));
    world.contact(900, 1);
    let (timing, joiner) = (TimingOverrides::default(), namesake_of_m1());
    let join = Join { reply: ReplyHandle(1), cluster_name: "test", member: &joiner, timing: &timing };
    let admitted = world.with(1_000, |a, scene, out| a.handle_join(scene, join, None, out));
    assert_eq!(admitted, Admitted::NameHeldBy(id(1)));
    let actions = world.out.drain();
    world.heartbeat(1_010, 9, request_in(&actions));
    world.probe(1_010, probe_in(&actions).unwrap(), ProbeOutcome::Ok);
    assert_eq!(world.joiners(1_020), [], "two of one name are never in a view");
    assert_eq!(refusal_in(&world.timeout(1_063)), None);
    world.install(1_100, &[], &[1]);
    assert_eq!(world.joiners(1_100), [id(9)]);
}

#[test]
//= docs/protocol.md#vw-11
fn a_name_is_refused_for_good_when_its_owner_answers_something_sent_after_the_join() {
    let mut world = World::new(view_of(3));
    world.contact(900, 1);
    world.join(1_000, &namesake_of_m1());
    world.answer(1_010, 1, 999);
    assert_eq!(refusal_in(&world.timeout(1_063)), None, "that was sent before");
    world.answer(1_070, 1, 1_000);
    assert_eq!(refusal_in(&world.timeout(1_126)), Some(JoinRefusal::NameInUse("m1".into())));
    assert!(world.admission.is_empty());
    assert_eq!(refusal_in(&world.join(1_200, &namesake_of_m1())), None, "it is looked at again");
}

#[test]
//= docs/protocol.md#vw-11
fn a_waiting_joiner_is_told_to_try_again_when_its_namesake_falls_silent() {
    let mut world = World::new(view_of(3));
    world.contact(900, 1);
    world.join(1_000, &namesake_of_m1());
    assert_eq!(refusal_in(&world.timeout(1_300)), None);
    assert_eq!(refusal_in(&world.timeout(1_363)), Some(JoinRefusal::NameHeldBySilent("m1".into())));
}

#[test]
fn an_isolated_coordinator_admits_nobody() {
    let mut world = World::new(view_of(3));
    world.proved(0, &member(9), ProbeOutcome::Ok);
    world.isolated = true;
    assert_eq!(world.joiners(1), []);
    assert_eq!(refusal_in(&world.join(2, &member(8))), Some(JoinRefusal::Isolated));
}

#[test]
fn a_member_that_is_not_coordinator_tells_whom_to_ask_and_remembers_who_came_back() {
    let mut world = World::new(view_of(3));
    let info =
        ClusterInfo { cluster_name: "test".into(), sender: id(0), age: Duration::ZERO, membership: None };
    let ask = |world: &mut World, now| {
        let timing = TimingOverrides::default();
        let joiner = member(9);
        let join = Join { reply: ReplyHandle(1), cluster_name: "test", member: &joiner, timing: &timing };
        world.with(now, |a, scene, out| a.handle_join(scene, join, Some(info.clone()), out));
        let bodies = world.out.drain();
        assert!(
            matches!(&bodies[..], [Action::FrameTo { body: FrameBody::Coordinator(said), .. }] if *said == info)
        );
    };
    ask(&mut world, 100);
    let oldest = |world: &mut World, now| world.with(now, |a, scene, _| a.oldest_unanswered(scene));
    assert_eq!(oldest(&mut world, 150), None);
    ask(&mut world, 400);
    assert_eq!(oldest(&mut world, 400), Some(at(100)));
    assert_eq!(oldest(&mut world, 1_401), None, "it found somebody else, or gave up");
}

#[test]
fn who_is_in_the_view_gets_it_again() {
    let mut world = World::new(view_of(3));
    let (timing, joiner) = (TimingOverrides::default(), member(1));
    let join = Join { reply: ReplyHandle(1), cluster_name: "test", member: &joiner, timing: &timing };
    assert_eq!(world.with(0, |a, scene, out| a.handle_join(scene, join, None, out)), Admitted::ResendView);
    assert_eq!(world.out.drain(), []);
}

//= docs/protocol.md#vw-12
#[test]
fn a_restart_on_the_same_address_replaces_the_old_incarnation_in_the_same_change() {
    let mut world = World::new(view_of(3));
    world.contact(400, 1);
    let joiner = restart(1, 9);
    let actions = world.join(500, &joiner);
    let probe_asks = |action: &Action| match action {
        Action::StartProbe { target, .. } => Some(target.request.target),
        _ => None,
    };
    assert_eq!(actions.iter().find_map(probe_asks), Some(id(1)), "the old incarnation is asked for");
    world.heartbeat(510, 9, request_in(&actions));
    world.probe(520, 1, ProbeOutcome::Other(id(9)));
    let admissible = world.admissible(530);
    assert_eq!(admissible.joiners, [joiner.clone().into()]);
    let [(old, evidence)] = &admissible.replaced[..] else { panic!("one is replaced") };
    assert_eq!(*old, id(1));
    assert_eq!(evidence.checker, id(0));
    assert_eq!((evidence.reason, evidence.verdict), (Reason::Replaced, Verdict::Gone));
    assert_eq!(evidence.probe, Some(ProbeOutcome::Other(id(9))));
    assert_eq!(evidence.silent_for, Duration::from_millis(130));
    assert_eq!(world.install(540, &[joiner], &[1]), []);
    assert_eq!(world.admissible(540), Admissible::default());
}

#[test]
fn a_sign_of_life_of_the_old_incarnation_makes_the_restart_be_checked_again() {
    let mut world = World::new(view_of(3));
    let joiner = restart(1, 9);
    world.proved(500, &joiner, ProbeOutcome::Other(id(9)));
    world.contact(505, 1);
    assert_eq!(world.admissible(510), Admissible::default());
    let actions = world.join(700, &joiner);
    assert_eq!(probe_in(&actions), Some(2));
    assert_eq!(
        refusal_in(&world.probe(710, 2, ProbeOutcome::Ok)),
        Some(JoinRefusal::AddressInUse(addr(1).to_string()))
    );
}

#[test]
fn a_restart_that_restarts_again_is_forgotten() {
    let mut world = World::new(view_of(3));
    world.proved(500, &restart(1, 9), ProbeOutcome::Other(id(9)));
    let actions = world.join(600, &restart(1, 8));
    let probes = actions.iter().filter(|a| matches!(a, Action::StartProbe { .. })).count();
    assert_eq!(probes, 2, "both have to show who sits there");
    assert_eq!(world.probe(610, 2, ProbeOutcome::Other(id(8))), []);
    world.heartbeat(
        610,
        8,
        actions
            .iter()
            .rev()
            .find_map(|a| match a {
                Action::DatagramTo {
                    body: DatagramBody::HeartbeatRequest { request, target, .. }, ..
                } if *target == id(8) => Some(*request),
                _ => None,
            })
            .unwrap(),
    );
    world.probe(620, 3, ProbeOutcome::Other(id(8)));
    assert_eq!(world.joiners(620), [id(8)]);
}

#[test]
fn the_weight_that_joins_stays_below_the_weight_that_was_heard() {
    let mut world = World::new(view_of(2));
    for n in 5..9 {
        world.proved(u64::from(n), &member(n), ProbeOutcome::Ok);
    }
    assert_eq!(world.joiners(10), [id(5), id(6)], "25 are there: two of 10 fit, in the order of arrival");
    let joined = [member(5), member(6)];
    world.install(11, &joined, &[]);
    assert_eq!(world.joiners(12), [], "those who joined were not heard yet: they may be dead already");
    let view = world.view.clone();
    hear_all(&mut world.contacts, &view);
    assert_eq!(world.joiners(12), [id(7), id(8)]);
}

#[test]
fn a_sick_member_that_is_heard_counts_for_who_joins() {
    let mut world = World::new(view_of_weights(&[10, 15]));
    let view = world.view.clone();
    world.contacts = Contacts::default();
    world.contacts.install(&view, at(0));
    world.proved(1, &member(9), ProbeOutcome::Ok);
    assert_eq!(world.joiners(2), []);
    let mut head = crate::testing::head(1, 0, &view, 1);
    head.flags.sick = true;
    world.contacts.handle_datagram(1, &head, Answers::Nothing, at(2));
    assert_eq!(world.joiners(3), [id(9)]);
    assert_eq!(world.joiners(1_253), [], "nothing was heard of it for longer than R");
}

#[test]
fn one_joiner_always_fits_into_a_view_of_one() {
    let mut world = World::new(view_of_weights(&[0]));
    let mut heavy = member(9);
    heavy.weight = Weight::new(100).unwrap();
    world.proved(0, &heavy, ProbeOutcome::Ok);
    world.proved(1, &member(8), ProbeOutcome::Ok);
    assert_eq!(world.joiners(2), [id(9)]);
}

#[test]
fn a_lone_founder_with_seeds_holds_joiners_for_a_moment() {
    let mut world = World::new(view_of(1));
    world.with(0, |a, scene, _| a.handle_founded_with_seeds(scene));
    world.proved(10, &member(9), ProbeOutcome::Ok);
    assert_eq!(world.joiners(399), []);
    assert_eq!(world.admission.poll_timeout(), Some((at(400), WakeReason::Admission)));
    world.timeout(400);
    assert_eq!(world.joiners(400), [id(9)]);
}

#[test]
fn two_joiners_of_one_name_do_not_come_in_together() {
    let mut world = World::new(view_of(3));
    let second = Member { name: "m9".into(), ..member(8) };
    world.proved(0, &member(9), ProbeOutcome::Ok);
    world.proved(1, &second, ProbeOutcome::Ok);
    assert_eq!(world.joiners(2), [id(9)]);
    assert_eq!(refusal_in(&world.install(3, &[member(9)], &[])), None, "it was not heard yet");
    world.answer(4, 9, 3);
    assert_eq!(refusal_in(&world.timeout(66)), Some(JoinRefusal::NameInUse("m9".into())));
}

#[test]
fn a_joiner_that_waited_long_has_to_show_again_that_it_lives() {
    let mut world = World::new(view_of(3));
    world.proved(0, &member(9), ProbeOutcome::Ok);
    assert_eq!(world.timeout(999), []);
    let actions = world.timeout(1_000);
    assert_eq!(probe_in(&actions), Some(2));
    assert_eq!(world.joiners(1_000), []);
}

#[test]
fn a_joiner_whose_address_answers_as_somebody_else_vanishes() {
    let mut world = World::new(view_of(3));
    world.join(0, &member(9));
    assert_eq!(world.probe(10, 1, ProbeOutcome::Other(id(7))), []);
    assert_eq!(world.admission.poll_timeout(), None);
}

#[test]
fn who_loses_the_office_sends_its_joiners_to_the_new_coordinator() {
    let mut world = World::new(view_of(3));
    world.join(0, &member(9));
    let info =
        ClusterInfo { cluster_name: "test".into(), sender: id(0), age: Duration::ZERO, membership: None };
    world.with(5, |a, scene, out| a.handle_view_installed(scene, Some(&info), out));
    let actions = world.out.drain();
    assert_eq!(actions[0], Action::StopProbe { probe: ProbeId(1) });
    assert!(
        matches!(&actions[1], Action::FrameTo { body: FrameBody::Coordinator(said), .. } if *said == info)
    );
    assert_eq!(world.admission.poll_timeout(), None);
}

#[test]
fn a_full_queue_says_busy() {
    let mut world = World::new(view_of(3));
    for n in 0..u32::try_from(QUEUE_MAX).unwrap() {
        let mut bytes = [9; 16];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        let [a, b] = u16::try_from(n).unwrap().to_be_bytes();
        let endpoint = Endpoint::single(SocketAddr::from(([10, 9, a, b], 7790)));
        world.join(0, &Member::new(MemberId::from_bytes(bytes), format!("j{n}"), endpoint));
    }
    assert_eq!(refusal_in(&world.join(0, &member(9))), Some(JoinRefusal::Busy));
}
