use super::*;
use crate::testing::{CLUSTER, id, member, timing, view_with_hubs};
use crate::view::Change;

/// A view of eight with hubs, of whom `late` are not eligible.
fn with_ineligible(late: &[u8]) -> View {
    let mut timing = timing();
    timing.heartbeat_recipients = HeartbeatRecipients::Predecessors(1);
    let record = |n: u8| {
        let mut record = member(n);
        record.coordinator_eligible = !late.contains(&n);
        record
    };
    let view = View::founding(CLUSTER, "test".into(), timing, record(0));
    let mut change = Change::empty(&view);
    change.joined = (1..8).map(|n| record(n).into()).collect();
    view.apply(&change).unwrap()
}

fn without(base: &View, gone: &[u8]) -> View {
    let mut change = Change::empty(base);
    change.left = gone.iter().map(|n| id(*n)).collect();
    base.apply(&change).unwrap()
}

#[test]
//= docs/protocol.md#lv-1
fn who_sends_to_whom_table() {
    let view = view_with_hubs(9, 2);
    // member, recipients, senders
    type Places = Option<Vec<usize>>;
    let table: [(usize, Places, Places); 4] = [
        (0, None, None),
        (3, None, None),
        (4, Some(vec![0, 1, 2, 3]), Some(vec![0, 1, 2, 3, 5, 6])),
        (8, Some(vec![0, 1, 2, 3, 6, 7]), Some(vec![0, 1, 2, 3])),
    ];
    for (me, expected_recipients, expected_senders) in table {
        assert_eq!(recipients(&view, me), expected_recipients, "recipients of {me}");
        assert_eq!(senders(&view, me), expected_senders, "senders to {me}");
    }
}

#[test]
//= docs/protocol.md#lv-1
fn whoever_gets_heartbeats_expects_them() {
    for n in 1..14 {
        let view = view_with_hubs(n, 2);
        let places = 0..usize::from(n);
        let sends = |from: usize, to: usize| recipients(&view, from).is_none_or(|all| all.contains(&to));
        let expects = |me: usize, from: usize| senders(&view, me).is_none_or(|all| all.contains(&from));
        for (a, b) in places.clone().flat_map(|a| places.clone().map(move |b| (a, b))).filter(|(a, b)| a != b)
        {
            assert_eq!(sends(a, b), expects(b, a), "{n} members, {a} to {b}");
        }
    }
}

#[test]
//= docs/protocol.md#lv-1
fn hubs_are_the_first_four_in_office() {
    let view = with_ineligible(&[0, 2]);
    let hubs: Vec<_> = first_in_office(&view).map(|m| m.id).collect();
    assert_eq!(hubs, [id(1), id(3), id(4), id(5)]);
    assert!(is_hub(&view, &id(5)) && !borrows(&view, &id(5)));
    assert!(!is_hub(&view, &id(0)) && borrows(&view, &id(0)));
}

#[test]
//= docs/protocol.md#lv-1
fn up_to_128_members_have_no_hubs_unless_a_number_is_given() {
    let large = |n: u16| {
        let record = |n: u16| {
            let mut record = member(0);
            let mut bytes = [7; 16];
            bytes[..2].copy_from_slice(&n.to_be_bytes());
            record.id = MemberId::from_bytes(bytes);
            record.name = format!("m{n}");
            let [high, low] = n.to_be_bytes();
            record.endpoint = crate::member::Endpoint::single(([10, 1, high, low], 7790).into());
            record
        };
        let view = View::founding(CLUSTER, "test".into(), timing(), record(0));
        let mut change = Change::empty(&view);
        change.joined = (1..n).map(|n| record(n).into()).collect();
        view.apply(&change).unwrap()
    };
    assert_eq!(predecessors(&large(128)), None);
    assert_eq!(predecessors(&large(129)), Some(3));
    assert_eq!(recipients(&large(129), 128), Some(vec![0, 1, 2, 3, 125, 126, 127]));
    assert_eq!(predecessors(&view_with_hubs(2, 5)), Some(5));
}

#[test]
//= docs/protocol.md#lv-2
fn members_count_alike_by_majorities_or_by_a_common_hub() {
    let nine = view_with_hubs(9, 1);
    assert!(counts_alike(&nine, &without(&nine, &[0, 1, 2]), &id(8)), "m3 is a hub of both");
    assert!(!counts_alike(&nine, &without(&nine, &[0, 1, 2, 3]), &id(8)), "no hub of both");
    assert!(!counts_alike(&nine, &without(&nine, &[0]), &id(4)), "it becomes a hub");
    assert!(counts_alike(&nine, &without(&nine, &[0]), &id(3)), "it stays one");
}

#[test]
//= docs/protocol.md#lv-3
fn all_hubs_cover_a_member_and_a_majority_covers_a_hub() {
    let nine = view_with_hubs(9, 1);
    assert!(covers(&nine, &id(6), &[id(0), id(1), id(2), id(3)]));
    assert!(!covers(&nine, &id(6), &[id(0), id(1), id(2), id(4), id(5), id(7), id(8)]));
    assert!(!covers(&nine, &id(3), &[id(0), id(1), id(2)]));
    // 95 in all: the lead member's 15 and 10 each.
    assert!(!covers(&nine, &id(3), &[id(0), id(1), id(2), id(4)]));
    assert!(covers(&nine, &id(3), &[id(0), id(1), id(2), id(4), id(5)]));
}
