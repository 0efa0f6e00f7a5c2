use proptest::prelude::*;

use super::*;
use crate::evidence::{Evidence, Reason, Verdict};
use crate::testing::{CLUSTER, addr, id, member, timing, view_of};

fn crashed(n: MemberId) -> Crashed {
    let evidence = Evidence {
        checker: n,
        reason: Reason::Silent,
        accusations: Vec::new(),
        more_accusations: 0,
        silent_for: std::time::Duration::ZERO,
        check_took: std::time::Duration::ZERO,
        requests_sent: 0,
        probe: None,
        verifiers: Vec::new(),
        verdict: Verdict::Gone,
        fenced_by: Vec::new(),
    };
    Crashed { member: n, evidence: Arc::new(evidence) }
}

fn expelled(member: MemberId) -> Expelled {
    Expelled { member, reason: "test".into(), by: "m0".into() }
}

fn joining(view: &View, joiner: Member) -> Change {
    Change { joined: vec![joiner.into()], ..Change::empty(view) }
}

#[test]
fn a_change_of_another_base_does_not_apply() {
    let view = view_of(3);
    let later = view.apply(&Change::empty(&view)).unwrap();
    let error = ChangeError::OtherBase { change: view.id(), view: later.id() };
    assert_eq!(later.apply(&Change::empty(&view)), Err(error));
    let mut other = Change::empty(&view);
    other.base_digest = later.digest();
    let error = ChangeError::OtherBase { change: view.id(), view: view.id() };
    assert_eq!(view.apply(&other), Err(error), "its number alone links nothing");
}

#[test]
fn nobody_is_removed_twice_or_without_being_there() {
    let view = view_of(3);
    let stranger = Change { left: vec![id(9)], ..Change::empty(&view) };
    assert_eq!(view.apply(&stranger), Err(ChangeError::Leavers));
    let twice = Change { left: vec![id(1)], crashed: vec![crashed(id(1))], ..Change::empty(&view) };
    assert_eq!(view.apply(&twice), Err(ChangeError::Leavers));
    let everybody = Change { left: vec![id(0), id(1), id(2)], ..Change::empty(&view) };
    assert_eq!(view.apply(&everybody), Err(ChangeError::Empty));
}

#[test]
fn a_joiner_clashes_by_short_id_by_name_and_by_address() {
    let view = view_of(3);
    assert!(view.apply(&joining(&view, member(5))).is_ok());
    let mut same_short = member(5);
    let mut bytes = *id(1).as_bytes();
    bytes[15] ^= 1;
    same_short.id = MemberId::from_bytes(bytes);
    let mut same_name = member(5);
    same_name.name = "m1".into();
    let mut same_address = member(5);
    same_address.endpoint.addr = addr(1);
    for joiner in [member(1), same_short, same_name, same_address] {
        let error = ChangeError::Joiner(joiner.name.clone());
        assert_eq!(view.apply(&joining(&view, joiner)), Err(error));
    }
}

#[test]
//= docs/protocol.md#vw-12
fn a_restart_takes_the_address_and_the_name_of_whom_it_replaces() {
    let view = view_of(3);
    let mut again = member(1);
    again.id = id(7);
    let change = Change { crashed: vec![crashed(id(1))], ..joining(&view, again) };
    let next = view.apply(&change).unwrap();
    let ids: Vec<_> = next.members().iter().map(|m| m.member.id).collect();
    assert_eq!(ids, [id(0), id(2), id(7)]);
    assert_eq!(next.members()[2].joined_in, next.id());
}

#[test]
fn the_digest_tells_bases_ids_and_kinds_apart() {
    let view = view_of(3);
    let other_cluster = View::founding(ClusterId::from_bytes([1; 16]), "test".into(), timing(), member(0));
    let this_cluster = View::founding(CLUSTER, "test".into(), timing(), member(0));
    let digests = [
        other_cluster.digest(),
        this_cluster.digest(),
        view.digest(),
        Change::empty(&view).digest(),
        Change { left: vec![id(1)], ..Change::empty(&view) }.digest(),
        Change { left: vec![id(2)], ..Change::empty(&view) }.digest(),
        Change { left: vec![id(1), id(2)], ..Change::empty(&view) }.digest(),
        Change { crashed: vec![crashed(id(1))], ..Change::empty(&view) }.digest(),
        Change { expelled: vec![expelled(id(1))], ..Change::empty(&view) }.digest(),
        joining(&view, member(1)).digest(),
    ];
    for (n, digest) in digests.iter().enumerate() {
        assert!(!digests[..n].contains(digest), "{n}");
    }
}

#[test]
fn the_ineligible_are_behind_all_others_in_office() {
    let mut observer = member(0);
    observer.coordinator_eligible = false;
    let view = View::founding(CLUSTER, "test".into(), timing(), observer);
    assert_eq!(view.coordinator().id, id(0), "where nobody else is left");
    let view = view.apply(&joining(&view, member(1))).unwrap();
    assert_eq!(view.coordinator().id, id(1));
    assert_eq!(view.lead_member().id, id(0));
    assert_eq!(view.office_place(&id(0)), Some(1));
}

#[test]
fn the_first_joiner_that_does_not_fit_is_named() {
    let view = view_of(2);
    let named = |n: u8, name: &str| Member { name: name.into(), ..member(n) };
    let change = Change {
        joined: [named(5, "a"), named(6, "b"), named(7, "a"), named(8, "m1")].map(Into::into).into(),
        ..Change::empty(&view)
    };
    assert_eq!(view.apply(&change), Err(ChangeError::Joiner("a".into())));
    let ahead = Change { joined: [named(8, "m1"), named(5, "a")].map(Into::into).into(), ..change.clone() };
    assert_eq!(view.apply(&ahead), Err(ChangeError::Joiner("m1".into())));
    let fits = Change { joined: change.joined[..2].to_vec(), ..change };
    assert_eq!(view.apply(&fits).map(|next| next.len()), Ok(4));
}

#[test]
fn views_share_the_records_of_members_that_stay() {
    let view = view_of(3);
    let change = Change { left: vec![id(1)], ..joining(&view, member(5)) };
    let next = view.apply(&change).unwrap();
    assert!(Arc::ptr_eq(&next.members()[0].member, &view.members()[0].member));
    assert!(Arc::ptr_eq(&next.members()[2].member, &change.joined[0]));
}

/// For each member of a view what becomes of it (0 stays, 1 left, 2 crashed, 3 expelled), and how many join.
fn fates() -> impl Strategy<Value = (Vec<u8>, u8)> {
    (proptest::collection::vec(prop_oneof![3 => Just(0_u8), 1 => 1..=3_u8], 40), 0..4_u8)
}

/// Every third joiner stands behind the others in office.
fn joiner(n: u8) -> Member {
    Member { coordinator_eligible: !n.is_multiple_of(3), ..member(n) }
}

/// Else the view after it would have the same number.
#[test]
fn a_view_from_outside_with_a_number_that_nobody_counts_up_to_is_not_plausible() {
    let view = view_of(2);
    for (number, plausible) in [(0, false), (1, false), (2, true), (u64::MAX / 2, true), (u64::MAX, false)] {
        let forged = View { id: ViewId(number), ..view.clone() };
        assert_eq!(forged.is_plausible(), plausible, "{number}");
    }
}

proptest! {
    #[test]
    //= docs/protocol.md#vw-5
    fn views_keep_their_order_never_repeat_a_member_and_are_numbered_in_turn(
        n in 1_usize..6,
        changes in proptest::collection::vec(fates(), 1..8),
    ) {
        let mut view = view_of(n);
        let mut drawn = 10;
        for (fates, joiners) in changes {
            let of = |kind: u8| {
                let members = view.members().iter().zip(&fates).filter(move |(_, fate)| **fate == kind);
                members.map(|(m, _)| m.member.id)
            };
            let change = Change {
                left: of(1).collect(),
                crashed: of(2).map(crashed).collect(),
                expelled: of(3).map(expelled).collect(),
                joined: (0..joiners).map(|j| joiner(drawn + j).into()).collect(),
                ..Change::empty(&view)
            };
            drawn += joiners;
            let stays = of(0).collect::<Vec<_>>();
            let expected: Vec<_> = stays.into_iter().chain(change.joined.iter().map(|m| m.id)).collect();
            let next = match view.apply(&change) {
                Err(error) => {
                    prop_assert_eq!(error, ChangeError::Empty);
                    prop_assert!(expected.is_empty());
                    continue;
                }
                Ok(next) => next,
            };
            let ids: Vec<_> = next.members().iter().map(|m| m.member.id).collect();
            prop_assert_eq!(&ids, &expected);
            prop_assert_eq!(next.id(), view.id().next());
            prop_assert_eq!(next.digest(), change.digest());
            prop_assert_ne!(next.digest(), view.digest());
            prop_assert!(next.is_plausible());
            let (eligible, others): (Vec<_>, Vec<_>) =
                next.members().iter().map(|m| &*m.member).partition(|m| m.coordinator_eligible);
            let office: Vec<_> = eligible.into_iter().chain(others).collect();
            prop_assert_eq!(next.office().collect::<Vec<_>>(), &office[..]);
            prop_assert_eq!(next.coordinator(), office[0]);
            for (place, m) in office.iter().enumerate() {
                prop_assert_eq!(next.office_place(&m.id), Some(place));
            }
            prop_assert_eq!(next.weight(), quorum::weight_of(&next, |_| true));
            for gone in view.members().iter().filter(|m| change.removes(&m.member.id)) {
                prop_assert_eq!(next.place(&gone.member.id), None);
                prop_assert_eq!(next.by_short(gone.member.id.short()), None);
                prop_assert_eq!(next.office_place(&gone.member.id), None);
            }
            for (place, m) in next.members().iter().enumerate() {
                prop_assert_eq!(next.place(&m.member.id), Some(place));
                prop_assert_eq!(next.by_short(m.member.id.short()), Some(&*m.member));
                prop_assert!(next.members()[..place].iter().all(|o| o.member.id != m.member.id));
                prop_assert_eq!(m.joined_in == next.id(), !view.contains(&m.member.id));
            }
            view = next;
        }
    }
}
