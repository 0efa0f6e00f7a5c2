use std::sync::Arc;

use super::*;
use crate::message::{Answers, Echo, Flags, Head};
use crate::testing::{CLUSTER, id, member, view_of, view_of_weights, view_with_hubs};
use crate::view::{Change, ViewId};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Member `from` shows `view` and `accepted`, and echoes what was sent to it at `sent`.
fn echo(contacts: &mut Contacts, from: u8, sent: u64, view: ViewId, accepted: Option<DigestTag>) {
    let place = contacts.place_of(id(from).short()).unwrap();
    let number = contacts.at_mut(place).next_number(at(sent));
    let head = Head {
        cluster: CLUSTER.tag(),
        sender: id(from).short(),
        recipient: id(0).short(),
        view,
        accepted,
        flags: Flags::default(),
        number,
        echo: Some(Echo { number, age_us: 0 }),
        quorate_for_ms: None,
    };
    contacts.handle_datagram(place, &head, Answers::Nothing, at(sent + 1));
}

fn contacts(view: &View) -> Contacts {
    let mut contacts = Contacts::default();
    contacts.install(view, at(0));
    contacts
}

fn without(base: &View, gone: &[u8]) -> (Change, Arc<View>) {
    let mut change = Change::empty(base);
    change.left = gone.iter().map(|n| id(*n)).collect();
    let makes = Arc::new(base.apply(&change).unwrap());
    (change, makes)
}

fn pending<'a>(change: &Change, makes: &'a View, me: u8) -> Pending<'a> {
    Pending { tag: change.digest().tag(), makes, removes_me: change.removes_crashed(&id(me)) }
}

#[test]
//= docs/protocol.md#vw-17
fn alone_a_member_is_connected_for_ever() {
    let view = view_of(1);
    assert_eq!(
        connected_until(&view, &id(0), &contacts(&view), None, Timestamp::ZERO),
        Timestamp::FAR_FUTURE
    );
}

#[test]
//= docs/protocol.md#vw-17
fn contact_lasts_until_t_after_what_completes_a_majority_was_sent() {
    let view = view_of(5);
    let mut contacts = contacts(&view);
    assert_eq!(connected_until(&view, &id(4), &contacts, None, Timestamp::ZERO), Timestamp::ZERO);
    // 55 in all; own 10 and m0's 15 are no majority, with m1's 10 they are.
    echo(&mut contacts, 0, 500, view.id(), None);
    assert_eq!(connected_until(&view, &id(4), &contacts, None, Timestamp::ZERO), Timestamp::ZERO);
    echo(&mut contacts, 1, 300, view.id(), None);
    assert_eq!(connected_until(&view, &id(4), &contacts, None, Timestamp::ZERO), at(1_300));
    echo(&mut contacts, 2, 400, view.id(), None);
    assert_eq!(connected_until(&view, &id(4), &contacts, None, Timestamp::ZERO), at(1_400));
}

#[test]
//= docs/protocol.md#vw-17
fn an_echo_under_a_newer_view_does_not_count() {
    let view = view_of(3);
    let mut contacts = contacts(&view);
    echo(&mut contacts, 0, 500, view.id().next(), None);
    assert_eq!(connected_until(&view, &id(2), &contacts, None, Timestamp::ZERO), Timestamp::ZERO);
}

#[test]
//= docs/protocol.md#vw-17
fn an_echo_under_a_change_that_is_not_accepted_here_does_not_count() {
    let view = view_of(3);
    let (change, makes) = without(&view, &[1]);
    let mut contacts = contacts(&view);
    echo(&mut contacts, 0, 500, view.id(), Some(change.digest().tag()));
    assert_eq!(connected_until(&view, &id(2), &contacts, None, Timestamp::ZERO), Timestamp::ZERO);
    let pending = Some(pending(&change, &makes, 2));
    assert_eq!(connected_until(&view, &id(2), &contacts, pending, Timestamp::ZERO), at(1_500));
}

#[test]
//= docs/protocol.md#vw-17
fn accepting_a_change_that_removes_me_isolates_at_once() {
    let view = view_of(3);
    let mut contacts = contacts(&view);
    echo(&mut contacts, 0, 500, view.id(), None);
    echo(&mut contacts, 1, 500, view.id(), None);
    let (change, makes) = without(&view, &[2]);
    let removed = Pending { removes_me: true, ..pending(&change, &makes, 2) };
    assert_eq!(connected_until(&view, &id(2), &contacts, Some(removed), Timestamp::ZERO), Timestamp::ZERO);
}

#[test]
//= docs/protocol.md#vw-17
fn accepting_a_change_needs_a_majority_of_the_view_that_it_makes_too() {
    // m3 hears m0 and m1, who leave: a majority of the five, none of the three.
    let view = view_of(5);
    let mut contacts = contacts(&view);
    echo(&mut contacts, 0, 500, view.id(), None);
    echo(&mut contacts, 1, 500, view.id(), None);
    assert_eq!(connected_until(&view, &id(3), &contacts, None, Timestamp::ZERO), at(1_500));
    let (change, makes) = without(&view, &[0, 1]);
    let pending = Some(pending(&change, &makes, 3));
    assert_eq!(connected_until(&view, &id(3), &contacts, pending, Timestamp::ZERO), Timestamp::ZERO);
}

#[test]
//= docs/protocol.md#vw-17
fn an_echo_under_an_older_view_still_counts_in_the_next_one() {
    let view = view_of(4);
    let (_, makes) = without(&view, &[1]);
    let mut contacts = contacts(&view);
    echo(&mut contacts, 0, 500, view.id(), None);
    contacts.install(&makes, at(600));
    assert_eq!(connected_until(&makes, &id(2), &contacts, None, Timestamp::ZERO), at(1_500));
}

#[test]
fn losing_contact_is_reported_once_and_a_newcomer_has_time_to_make_it() {
    let mut isolation = Isolation::new(at(500));
    assert_eq!(isolation.update(at(10), Timestamp::ZERO), None);
    assert_eq!(isolation.poll_timeout(), None);
    assert_eq!(isolation.update(at(20), at(1_000)), None);
    assert_eq!(isolation.poll_timeout(), Some(at(1_000)));
    assert_eq!(isolation.update(at(1_000), at(1_000)), Some(IsolationChange::Isolated));
    assert_eq!(isolation.update(at(1_001), at(1_000)), None);
    assert_eq!(isolation.update(at(1_100), at(1_900)), Some(IsolationChange::Connected));
    let mut cut_off = Isolation::new(at(500));
    assert_eq!(cut_off.update(at(499), Timestamp::ZERO), None);
    assert_eq!(cut_off.update(at(500), Timestamp::ZERO), Some(IsolationChange::Isolated));
}

#[test]
fn heard_names_both_directions() {
    let view = view_of(3);
    let mut contacts = contacts(&view);
    echo(&mut contacts, 1, 500, view.id(), None);
    let span = Duration::from_secs(1);
    let both = heard(&view, &id(0), &contacts, at(600), span);
    assert_eq!(both, (vec![member(1).name], vec![member(1).name]));
    assert_eq!(heard(&view, &id(0), &contacts, at(1_600), span), (Vec::new(), Vec::new()));
}

/// Hub `from` shows `view` and `accepted`, echoes what was sent to it at `sent`, and is quorate for `lent` more.
fn lend(
    contacts: &mut Contacts,
    from: u8,
    sent: u64,
    lent: u32,
    (view, accepted): (ViewId, Option<DigestTag>),
) {
    let place = contacts.place_of(id(from).short()).unwrap();
    let number = contacts.at_mut(place).next_number(at(sent));
    let mut head = crate::testing::head(from, 0, &view_of(2), number);
    head.view = view;
    head.accepted = accepted;
    head.echo = Some(Echo { number, age_us: 50_000 });
    head.quorate_for_ms = Some(lent);
    contacts.handle_datagram(place, &head, Answers::Nothing, at(sent + 51));
}

#[test]
//= docs/protocol.md#lv-2
fn any_hub_keeps_a_member_connected_for_as_long_as_it_is_quorate_and_at_most_for_t() {
    let view = view_with_hubs(9, 1);
    let mut contacts = contacts(&view);
    let until = |contacts: &Contacts| connected_until(&view, &id(6), contacts, None, Timestamp::ZERO);
    for other in [4, 5, 7, 8] {
        echo(&mut contacts, other, 500, view.id(), None);
    }
    assert_eq!(until(&contacts), Timestamp::ZERO, "the others do not count");
    lend(&mut contacts, 1, 500, 700, (view.id(), None));
    assert_eq!(until(&contacts), at(1_250), "it was sent 50 ms before the hub spoke, or more");
    lend(&mut contacts, 2, 400, 990, (view.id(), None));
    assert_eq!(until(&contacts), at(1_400));
    lend(&mut contacts, 2, 600, 0, (view.id(), None));
    assert_eq!(until(&contacts), at(1_250), "m2 is quorate no more");
    lend(&mut contacts, 1, 700, 900, (view.id().next(), None));
    assert_eq!(until(&contacts), at(1_250), "m1 is in a newer view");
}

#[test]
//= docs/protocol.md#lv-2
fn a_hub_counts_a_majority_itself() {
    let view = view_with_hubs(9, 1);
    let mut contacts = contacts(&view);
    for hub in [0, 1, 2] {
        lend(&mut contacts, hub, 500, 1_000, (view.id(), None));
    }
    let until = |contacts: &Contacts| connected_until(&view, &id(3), contacts, None, Timestamp::ZERO);
    assert_eq!(until(&contacts), Timestamp::ZERO, "45 of 95");
    echo(&mut contacts, 8, 400, view.id(), None);
    assert_eq!(until(&contacts), at(1_400));
}

#[test]
//= docs/protocol.md#lv-2
fn who_counts_by_others_in_the_next_view_keeps_what_it_has_by_heads_without_an_accepted_change() {
    // m4 becomes a hub when m0 has left.
    let view = view_with_hubs(9, 1);
    let (change, makes) = without(&view, &[0]);
    let mut contacts = contacts(&view);
    lend(&mut contacts, 1, 500, 900, (view.id(), None));
    lend(&mut contacts, 2, 600, 900, (view.id(), Some(change.digest().tag())));
    assert_eq!(carried_over(&view, &makes, &id(4), &contacts), at(1_450));
    assert_eq!(carried_over(&view, &makes, &id(8), &contacts), Timestamp::ZERO, "m8 counts alike in both");
    let pending = Some(pending(&change, &makes, 4));
    assert_eq!(connected_until(&view, &id(4), &contacts, pending, Timestamp::ZERO), at(1_450));
    assert_eq!(connected_until(&makes, &id(4), &contacts, None, at(1_450)), at(1_450));
    let alone = view_of_weights(&[10, 100]);
    let (_, makes) = without(&alone, &[0]);
    assert_eq!(carried_over(&alone, &makes, &id(1), &contacts), Timestamp::ZERO);
}
