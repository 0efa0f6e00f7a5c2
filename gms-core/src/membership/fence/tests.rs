use super::*;
use crate::message::{Answers, Echo, Flags, Head};
use crate::outbox::Action;
use crate::testing::{CLUSTER, id, view_of};

const CHECK: CheckId = CheckId(7);
const ASKER: u8 = 0;
const ME: u8 = 1;
const SUSPECT: u8 = 2;

struct Desk {
    view: View,
    contacts: Contacts,
    fences: Fences,
    out: Outbox,
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// T is 1 s in these tests, R 1.25 s.
fn desk() -> Desk {
    let view = view_of(4);
    let mut contacts = Contacts::default();
    contacts.install(&view, at(0));
    Desk { view, contacts, fences: Fences::default(), out: Outbox::default() }
}

impl Desk {
    fn ask(&mut self, now: u64, age: u64) -> Vec<Action> {
        let target = FenceTarget { member: id(SUSPECT), check: CHECK, age: Duration::from_millis(age) };
        let question = FenceQuestion { asker: id(ASKER), me: id(ME), targets: &[target] };
        self.fences.handle_fence(at(now), &self.view, &mut self.contacts, question, &mut self.out);
        self.out.drain()
    }

    /// The suspect is heard at `now`; `echoes` is when this member sent what it echoes.
    fn hear(&mut self, now: u64, echoes: Option<u64>, flags: Flags) -> Vec<Action> {
        let place = self.contacts.place_of(id(SUSPECT).short()).unwrap();
        let echo =
            echoes.map(|sent| Echo { number: self.contacts.at_mut(place).next_number(at(sent)), age_us: 0 });
        let head = Head {
            cluster: CLUSTER.tag(),
            sender: id(SUSPECT).short(),
            recipient: id(ME).short(),
            view: self.view.id(),
            accepted: None,
            flags,
            number: now,
            echo,
            quorate_for_ms: None,
        };
        let contact = self.contacts.handle_datagram(place, &head, Answers::Nothing, at(now));
        self.fences.handle_contact(&self.view, &mut self.contacts, &contact, &mut self.out);
        self.out.drain()
    }

    fn timeout(&mut self, now: u64) -> Vec<Action> {
        self.fences.handle_timeout(at(now), &self.view, &mut self.contacts, &mut self.out);
        self.out.drain()
    }

    fn echo_given(&mut self, now: u64) -> bool {
        self.contacts.take_echo(usize::from(SUSPECT), at(now)).is_some()
    }
}

fn frames(actions: &[Action]) -> Vec<&FrameBody> {
    let frame = |a| match a {
        &Action::Frame { to, ref body, .. } => {
            assert_eq!(to, id(ASKER));
            body
        }
        other => panic!("not a frame: {other:?}"),
    };
    actions.iter().map(frame).collect()
}

fn fenced(desk: &Desk) -> FrameBody {
    FrameBody::Fenced { base: desk.view.id(), member: id(SUSPECT), check: CHECK }
}

fn not_yet(desk: &Desk, left: u64) -> FrameBody {
    let left = Duration::from_millis(left);
    FrameBody::NotYet { base: desk.view.id(), member: id(SUSPECT), check: CHECK, left }
}

fn heard(desk: &Desk) -> FrameBody {
    FrameBody::Heard { base: desk.view.id(), member: id(SUSPECT), check: CHECK }
}

#[test]
//= docs/protocol.md#vw-20
fn a_really_silent_member_is_fenced_at_once() {
    let mut desk = desk();
    desk.hear(100, None, Flags::default());
    assert!(desk.echo_given(110));
    let actions = desk.ask(1_500, 250);
    assert_eq!(frames(&actions), [&fenced(&desk)]);
    assert!(!desk.echo_given(1_510));
}

#[test]
//= docs/protocol.md#vw-20
fn a_member_silent_for_less_than_r_is_fenced_when_r_is_over_unasked() {
    let mut desk = desk();
    desk.hear(800, None, Flags::default());
    let actions = desk.ask(1_500, 250);
    assert_eq!(frames(&actions), [&not_yet(&desk, 550)]);
    assert_eq!(desk.fences.poll_timeout(&desk.view, &desk.contacts), Some(at(2_050)));
    assert_eq!(desk.timeout(2_049), []);
    let actions = desk.timeout(2_050);
    assert_eq!(frames(&actions), [&fenced(&desk)]);
    assert_eq!(desk.fences.poll_timeout(&desk.view, &desk.contacts), None);
}

#[test]
//= docs/protocol.md#vw-20
fn what_was_echoed_last_must_be_r_old_even_if_it_was_no_contact() {
    let mut desk = desk();
    let isolated = Flags { isolated: true, ..Flags::default() };
    desk.hear(1_000, None, isolated);
    assert!(desk.echo_given(1_000));
    let actions = desk.ask(1_500, 250);
    assert_eq!(frames(&actions), [&not_yet(&desk, 750)]);
    // It holds: from here on nothing is echoed, so the grant comes.
    desk.hear(1_600, None, isolated);
    assert!(!desk.echo_given(1_610));
    let actions = desk.timeout(2_250);
    assert_eq!(frames(&actions), [&fenced(&desk)]);
}

#[test]
//= docs/protocol.md#vw-20
fn who_heard_the_suspect_since_the_check_began_says_so() {
    let mut desk = desk();
    desk.hear(1_400, Some(1_390), Flags::default());
    let actions = desk.ask(1_500, 250);
    assert_eq!(frames(&actions), [&heard(&desk)]);
    assert!(desk.fences.is_empty());
}

#[test]
//= docs/protocol.md#vw-20
fn contact_before_the_grant_ends_the_hold() {
    let mut desk = desk();
    let isolated = Flags { isolated: true, ..Flags::default() };
    desk.hear(1_000, None, isolated);
    assert!(desk.echo_given(1_000));
    desk.ask(1_500, 250);
    assert!(!desk.echo_given(1_510));
    let actions = desk.hear(1_700, Some(1_600), Flags::default());
    assert_eq!(frames(&actions), [&heard(&desk)]);
    assert!(desk.echo_given(1_710));
    assert_eq!(desk.timeout(9_000), []);
}

#[test]
//= docs/protocol.md#vw-20
fn a_late_datagram_from_before_the_check_does_not_make_it_heard() {
    let mut desk = desk();
    let actions = desk.hear(1_400, Some(1_000), Flags::default());
    assert_eq!(actions, []);
    let actions = desk.ask(1_500, 250);
    assert_eq!(frames(&actions), [&not_yet(&desk, 1_150)]);
}

#[test]
//= docs/protocol.md#vw-21
fn a_granted_fence_is_not_taken_back_by_contact() {
    let mut desk = desk();
    let actions = desk.ask(1_500, 250);
    assert_eq!(frames(&actions), [&fenced(&desk)]);
    let actions = desk.hear(1_700, Some(1_600), Flags::default());
    assert_eq!(frames(&actions), [&heard(&desk)]);
    assert!(!desk.echo_given(1_710), "still withheld");
    let actions = desk.ask(1_800, 550);
    assert_eq!(frames(&actions), [&fenced(&desk)]);
    assert_eq!(desk.fences.oldest_grant(), Some(at(1_500)));
}

#[test]
//= docs/protocol.md#vw-21
fn a_newer_view_lifts_all_fences() {
    let mut desk = desk();
    desk.hear(100, None, Flags::default());
    desk.ask(1_500, 250);
    desk.fences.lift_all(&mut desk.contacts);
    assert!(desk.echo_given(1_510));
    assert!(desk.fences.is_empty());
}

#[test]
fn the_accused_itself_says_that_it_is_heard() {
    let mut desk = desk();
    let target = FenceTarget { member: id(ME), check: CHECK, age: Duration::ZERO };
    let question = FenceQuestion { asker: id(ASKER), me: id(ME), targets: &[target] };
    desk.fences.handle_fence(at(9), &desk.view, &mut desk.contacts, question, &mut desk.out);
    let actions = desk.out.drain();
    let expected = FrameBody::Heard { base: desk.view.id(), member: id(ME), check: CHECK };
    assert_eq!(frames(&actions), [&expected]);
}
