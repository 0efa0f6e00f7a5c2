use super::*;
use crate::message::Flags;
use crate::testing::{CLUSTER, id, view_of};
use crate::view::ViewId;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn head(from: u8, number: u64) -> Head {
    Head {
        cluster: CLUSTER.tag(),
        sender: id(from).short(),
        recipient: id(0).short(),
        view: ViewId(2),
        accepted: None,
        flags: Flags::default(),
        number,
        echo: None,
        quorate_for_ms: None,
    }
}

fn contacts() -> Contacts {
    let mut contacts = Contacts::default();
    contacts.install(&view_of(3), at(0));
    contacts
}

fn receive(contacts: &mut Contacts, head: &Head, millis: u64) -> Contact {
    let place = contacts.place_of(head.sender).unwrap();
    contacts.handle_datagram(place, head, Answers::Nothing, at(millis))
}

#[test]
//= docs/protocol.md#fd-1
fn a_datagram_is_contact_at_the_time_at_which_it_was_read() {
    let mut contacts = contacts();
    let contact = receive(&mut contacts, &head(1, 1), 70);
    assert!(contact.counts);
    assert_eq!(contacts.at(1).last_contact(), at(70));
    assert_eq!(contacts.at(1).contact_unmoved(), Some(at(70)));
    assert_eq!(contacts.at(2).contact_unmoved(), None);
}

#[test]
//= docs/protocol.md#fd-3
fn an_old_number_is_no_contact() {
    let mut contacts = contacts();
    receive(&mut contacts, &head(1, 5), 10);
    for number in [5, 4, 0] {
        let contact = receive(&mut contacts, &head(1, number), 90);
        assert!(!contact.fresh, "number {number}");
        assert!(!contact.counts, "number {number}");
    }
    assert_eq!(contacts.at(1).last_contact(), at(10));
}

#[test]
fn isolated_and_sick_members_make_no_contact_but_are_echoed() {
    for flags in [Flags { isolated: true, ..Flags::default() }, Flags { sick: true, ..Flags::default() }] {
        let mut contacts = contacts();
        let mut head = head(1, 3);
        head.flags = flags;
        let contact = receive(&mut contacts, &head, 40);
        assert!(contact.fresh);
        assert!(!contact.counts);
        assert_eq!(contacts.at(1).contact_unmoved(), None);
        assert_eq!(contacts.take_echo(1, at(42)), Some(Echo { number: 3, age_us: 2_000 }));
        assert_eq!(contacts.at(1).newest_echoed(), Some(at(40)));
    }
}

#[test]
fn streams_have_numbers_of_their_own() {
    let mut contacts = contacts();
    receive(&mut contacts, &head(1, 9), 10);
    let contact = contacts.handle_frame(1, &head(1, 1), at(20));
    assert!(contact.counts);
    assert!(!contacts.handle_frame(1, &head(1, 1), at(30)).counts);
}

#[test]
fn an_echo_tells_when_what_it_echoes_was_sent_and_under_which_state() {
    let mut contacts = contacts();
    let number = contacts.at_mut(1).next_number(at(100));
    let mut head = head(1, 1);
    head.echo = Some(Echo { number, age_us: 1_000 });
    let contact = receive(&mut contacts, &head, 103);
    assert_eq!(contact.sent_after, Some(at(100)));
    assert_eq!(contacts.at(1).echoed(|shown| shown.view == ViewId(2)), Some(at(100)));
    assert_eq!(contacts.at(1).echoed(|shown| shown.view == ViewId(3)), None);
    assert!(contacts.at(1).is_proved_after(at(99)));
    assert!(!contacts.at(1).is_proved_after(at(100)));
    assert_eq!(contacts.at(1).link().rtt(), Some(Duration::from_millis(2)));
}

#[test]
fn an_echo_of_something_never_sent_is_worth_nothing() {
    let mut contacts = contacts();
    contacts.at_mut(1).next_number(at(100));
    let mut forged = head(1, 1);
    forged.echo = Some(Echo { number: 2, age_us: 0 });
    assert_eq!(receive(&mut contacts, &forged, 101).sent_after, None);
    assert_eq!(contacts.at(1).echoed(|_| true), None);
}

#[test]
//= docs/protocol.md#vw-21
fn nothing_sent_to_a_fenced_member_carries_an_echo() {
    let mut contacts = contacts();
    receive(&mut contacts, &head(1, 1), 10);
    contacts.at_mut(1).withhold_echo(true);
    assert_eq!(contacts.take_echo(1, at(20)), None);
    assert_eq!(contacts.at(1).newest_echoed(), None);
    contacts.at_mut(1).withhold_echo(false);
    assert!(contacts.take_echo(1, at(20)).is_some());
}

#[test]
//= docs/protocol.md#fd-26
fn a_pause_moves_the_last_contact_but_not_the_unmoved_one_and_never_beyond_now() {
    let mut contacts = contacts();
    receive(&mut contacts, &head(1, 1), 100);
    contacts.handle_pause(at(1_000), Duration::from_millis(300));
    assert_eq!(contacts.at(1).last_contact(), at(400));
    assert_eq!(contacts.at(1).contact_unmoved(), Some(at(100)));
    contacts.handle_pause(at(1_000), Duration::from_secs(60));
    assert_eq!(contacts.at(1).last_contact(), at(1_000));
}

#[test]
//= docs/protocol.md#fd-5
fn records_outlive_a_view_change_and_joiners_begin_with_it() {
    let mut contacts = contacts();
    receive(&mut contacts, &head(2, 7), 50);
    let base = view_of(3);
    let mut change = crate::view::Change::empty(&base);
    change.left.push(id(1));
    change.joined.push(crate::testing::member(9).into());
    contacts.install(&base.apply(&change).unwrap(), at(80));
    assert_eq!(contacts.place_of(id(1).short()), None);
    assert_eq!(contacts.get(&id(2)).unwrap().last_contact(), at(50));
    let joiner = contacts.get(&id(9)).unwrap();
    assert_eq!(joiner.last_contact(), at(80));
    assert_eq!(joiner.silence(at(90)), Duration::from_millis(10));
    assert!(joiner.is_in_contact(at(90), Duration::from_millis(20)));
}

#[test]
fn a_record_is_small_until_something_is_exchanged() {
    assert!(size_of::<Record>() <= 48, "{}", size_of::<Record>());
    let mut contacts = contacts();
    let untouched = |contacts: &Contacts| {
        let record = contacts.at(1);
        assert_eq!(record.contact_unmoved(), None);
        assert_eq!(record.flags(), Flags::default());
        assert_eq!(record.newest_view(), ViewId::NONE);
        assert_eq!(record.link().rtt(), None);
        assert!(!record.awaits_first_echo());
        format!("{record:?}").contains("exchange: None")
    };
    contacts.handle_pause(at(5), Duration::from_millis(1));
    contacts.at_mut(1).withhold_echo(false);
    assert_eq!(contacts.take_echo(1, at(6)), None);
    assert!(untouched(&contacts));
    contacts.at_mut(1).withhold_echo(true);
    assert!(!untouched(&contacts), "what is withheld is remembered");
}

#[test]
fn send_times_are_known_for_as_many_datagrams_as_are_remembered() {
    let mut contacts = contacts();
    for n in 1..=100_u64 {
        assert_eq!(contacts.at_mut(1).next_number(at(n)), n);
    }
    let mut echoed = |number: u64, carrier: u64| {
        let mut head = head(1, carrier);
        head.echo = Some(Echo { number, age_us: 0 });
        receive(&mut contacts, &head, 200).sent_after
    };
    assert_eq!(echoed(68, 1), None, "33 numbers back");
    assert_eq!(echoed(69, 2), Some(at(69)));
    assert_eq!(echoed(96, 3), Some(at(96)));
    assert_eq!(echoed(97, 4), Some(at(97)));
    assert_eq!(echoed(100, 5), Some(at(100)));
    assert_eq!(echoed(101, 6), None);
}

#[test]
//= docs/protocol.md#lv-4
//= docs/protocol.md#fd-5
fn silence_counts_from_when_heartbeats_begin_to_come_here() {
    let view = view_of(4);
    let mut contacts = Contacts::default();
    contacts.install(&view, at(0));
    contacts.expect(Some(vec![0, 1]), at(0));
    assert_eq!(contacts.at(1).silence(at(900)), Duration::from_millis(900));
    assert_eq!(contacts.at(2).silence(at(900)), Duration::ZERO);
    assert_eq!(contacts.expected().map(|(place, _)| place).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(contacts.expect(Some(vec![1, 2]), at(1_000)), [id(2)]);
    assert_eq!(contacts.at(1).silence(at(1_100)), Duration::from_millis(1_100));
    assert_eq!(contacts.at(2).silence(at(1_100)), Duration::from_millis(100));
    assert!(contacts.at(2).is_in_contact(at(1_100), Duration::from_millis(100)));
    assert_eq!(contacts.at(3).silent_since(at(1_050)), at(1_050), "it owes answers only");
    assert_eq!(contacts.expect(None, at(2_000)), [id(0), id(3)]);
}
