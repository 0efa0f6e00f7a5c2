use super::*;
use crate::testing::{Stand, frames, id, view_of, view_with_hubs};
use crate::view::{Change, View};
use std::sync::Arc;
use std::time::Duration;

const CHECK: CheckId = CheckId(7);
const SUSPECT: u8 = 4;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn silent(n: u8) -> Silent {
    Silent { member: id(n), check: CHECK, began: at(2_000) }
}

/// m0 of five, 1250 ms after the final checks of `suspects` began, has asked for their fences.
fn asking(suspects: &[u8]) -> (Stand, Fencing, History, Outbox) {
    let mut stand = Stand::new(view_of(5), 0);
    let mut fencing = Fencing::default();
    let mut out = Outbox::default();
    let silents: Vec<Silent> = suspects.iter().map(|n| silent(*n)).collect();
    fencing.sync(stand.at(3_250), &silents, &mut out);
    (stand, fencing, History::new(at(0)), out)
}

fn fence(view: &View, suspects: &[u8], age: u64) -> FrameBody {
    let target = |n: &u8| FenceTarget { member: id(*n), check: CHECK, age: Duration::from_millis(age) };
    let members = suspects.iter().map(target).collect();
    FrameBody::Fence { base: view.id(), base_digest: view.digest(), members }
}

fn state(fencing: &Fencing, stand: &Stand, history: &History) -> FenceState {
    fencing.state(stand.scene(), history, &id(SUSPECT))
}

#[test]
fn everybody_but_the_silent_is_asked_for_all_fences_at_once() {
    let (stand, _, _, mut out) = asking(&[3, 4]);
    let asked = fence(&stand.view, &[3, 4], 1_250);
    assert_eq!(frames(&mut out), crate::testing::to_each(&[0, 1, 2], &asked));
}

/// m0 of five, where m4 is dead, m3 sick and both to be removed, and the others of `heard` were heard.
fn asking_beside_a_sick_one(heard: &[u8]) -> (Stand, Fencing, Outbox) {
    let mut stand = Stand::new(view_of(5), 0);
    for other in heard {
        stand.hears(3_200, *other, 1);
    }
    let mut sick = crate::testing::head(3, 0, &stand.view, 1);
    sick.flags.sick = true;
    stand.contacts.handle_datagram(3, &sick, crate::message::Answers::Nothing, at(3_200));
    let (mut fencing, mut out) = (Fencing::default(), Outbox::default());
    fencing.sync(stand.at(3_250), &[silent(3), silent(SUSPECT)], &mut out);
    (stand, fencing, out)
}

#[test]
//= docs/protocol.md#vw-6
fn a_sick_member_that_is_to_be_removed_votes_on_the_others() {
    // 15, 10 and the sick one's 10 of 55.
    let (stand, mut fencing, mut out) = asking_beside_a_sick_one(&[1]);
    let asked = fence(&stand.view, &[SUSPECT], 1_250);
    let both = fence(&stand.view, &[3, SUSPECT], 1_250);
    let mut expected = crate::testing::to_each(&[0, 1, 2], &both);
    expected.extend(crate::testing::to_each(&[3], &asked));
    assert_eq!(frames(&mut out), expected);
    let history = History::new(at(0));
    assert_eq!(state(&fencing, &stand, &history), FenceState::Pending(at(3_300)));
    for granter in [0, 1, 3] {
        fencing.handle_fenced(id(granter), &id(SUSPECT), CHECK);
    }
    assert_eq!(state(&fencing, &stand, &history), FenceState::Ready);
}

#[test]
//= docs/protocol.md#vw-6
fn it_makes_no_sense_to_ask_for_a_fence_that_too_few_could_grant() {
    // Against m3, m0 and m1 have 25 of 55; against m4 the sick m3 makes it 35.
    let sensible = |stand: &mut Stand, now| {
        let scene = stand.at(now);
        [3, SUSPECT].map(|n| Fencing::default().can_suffice(scene, &id(n)))
    };
    let (mut stand, fencing, _) = asking_beside_a_sick_one(&[1]);
    assert_eq!(sensible(&mut stand, 1_249), [true, true], "nobody is known to be silent yet");
    assert_eq!(sensible(&mut stand, 3_250), [false, true]);
    assert!(fencing.can_suffice(stand.scene(), &id(3)), "what was asked for is not given up");
    stand.hears(3_260, 2, 1);
    assert_eq!(sensible(&mut stand, 3_270), [true, true]);
    assert_eq!(sensible(&mut stand, 4_460), [false, false], "m1 and m3 are silent by then");
}

#[test]
fn who_has_not_granted_is_asked_again_with_the_age_of_then() {
    let (mut stand, mut fencing, _, mut out) = asking(&[SUSPECT]);
    frames(&mut out);
    fencing.handle_fenced(id(0), &id(SUSPECT), CHECK);
    fencing.handle_fenced(id(2), &id(SUSPECT), CHECK);
    assert_eq!(fencing.poll_timeout(), Some(at(3_450)));
    fencing.handle_timeout(stand.at(3_449), &mut out);
    assert_eq!(frames(&mut out), []);
    fencing.handle_timeout(stand.at(3_450), &mut out);
    let asked = fence(&stand.view, &[SUSPECT], 1_450);
    assert_eq!(frames(&mut out), crate::testing::to_each(&[1, 3], &asked));
}

#[test]
//= docs/protocol.md#vw-6
fn a_removal_needs_fences_of_more_than_half_without_the_suspect() {
    let (stand, mut fencing, history, _) = asking(&[SUSPECT]);
    // 55 is the whole weight: 15 and 10, then 10 more. What the suspect itself grants is no help.
    for granter in [0, 1, SUSPECT] {
        fencing.handle_fenced(id(granter), &id(SUSPECT), CHECK);
        fencing.handle_fenced(id(granter), &id(SUSPECT), CHECK);
        assert_ne!(state(&fencing, &stand, &history), FenceState::Ready);
    }
    fencing.handle_fenced(id(2), &id(SUSPECT), CHECK);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Ready);
    assert_eq!(fencing.granted_by(&id(SUSPECT)), [id(0), id(1), id(SUSPECT), id(2)]);
}

#[test]
//= docs/protocol.md#vw-6
fn a_grant_for_another_check_is_none() {
    let (stand, mut fencing, history, _) = asking(&[SUSPECT]);
    for granter in 0..4 {
        fencing.handle_fenced(id(granter), &id(SUSPECT), CheckId(8));
    }
    assert_ne!(state(&fencing, &stand, &history), FenceState::Ready);
}

#[test]
//= docs/protocol.md#vw-1
fn answers_on_their_way_are_waited_for_a_quarter_of_a_heartbeat_interval_where_they_can_suffice() {
    let (mut stand, mut fencing, history, _) = asking(&[SUSPECT]);
    let mut not_yet = |fencing: &mut Fencing, from, left| {
        let left = Duration::from_millis(left);
        fencing.handle_not_yet(stand.at(3_260), id(from), (&id(SUSPECT), CHECK), left);
        state(fencing, &stand, &history)
    };
    assert_eq!(not_yet(&mut fencing, 1, 41), FenceState::Pending(at(3_300)), "45 can still come");
    assert_eq!(not_yet(&mut fencing, 0, 40), FenceState::Pending(at(3_300)), "it will grant in time");
    assert_eq!(not_yet(&mut fencing, 0, 41), FenceState::Open, "the rest has no majority");
    let (mut other, fencing, history, _) = asking(&[SUSPECT]);
    other.at(3_300);
    assert_eq!(state(&fencing, &other, &history), FenceState::Open, "that was too long");
    stand.at(3_300);
}

#[test]
//= docs/protocol.md#vw-22
fn a_suspect_that_may_live_in_an_older_view_has_to_settle() {
    let first = Arc::new(view_of(5));
    let change = Change { left: vec![id(1), id(2)], ..Change::empty(&first) };
    let base = first.apply(&change).unwrap();
    let mut history = History::new(at(0));
    let digest = base.digest();
    let decided = crate::message::Decided { change, digest };
    history.push(at(3_000), &first, Some(decided), Duration::from_millis(1_250));
    let mut stand = Stand::new(base, 0);
    let (mut fencing, mut out) = (Fencing::default(), Outbox::default());
    fencing.sync(stand.at(3_250), &[silent(SUSPECT)], &mut out);
    fencing.handle_fenced(id(0), &id(SUSPECT), CHECK);
    fencing.handle_fenced(id(3), &id(SUSPECT), CHECK);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Settling(at(4_250)));
    stand.at(4_250);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Ready);
}

#[test]
//= docs/protocol.md#vw-21
fn a_fence_that_is_not_wanted_any_more_makes_a_view_due() {
    let (mut stand, mut fencing, history, mut out) = asking(&[3, SUSPECT]);
    assert!(!fencing.is_lift_due());
    fencing.sync(stand.at(3_260), &[silent(3)], &mut out);
    assert!(fencing.is_lift_due());
    assert_eq!(state(&fencing, &stand, &history), FenceState::Open);
    fencing.reset();
    assert!(fencing.is_idle());
}

/// m0 of nine with hubs has asked for the fences of `suspects`.
fn asking_hubs(suspects: &[u8]) -> (Stand, Fencing, History, Outbox) {
    let mut stand = Stand::new(view_with_hubs(9, 1), 0);
    let (mut fencing, mut out) = (Fencing::default(), Outbox::default());
    let silents: Vec<Silent> = suspects.iter().map(|n| silent(*n)).collect();
    for hub in [1, 2, 3] {
        stand.hears(3_200, hub, 1);
    }
    fencing.sync(stand.at(3_250), &silents, &mut out);
    (stand, fencing, History::new(at(0)), out)
}

#[test]
//= docs/protocol.md#lv-3
fn hubs_alone_are_asked_for_the_fence_of_a_member_and_everybody_for_that_of_a_hub() {
    let (stand, _, _, mut out) = asking_hubs(&[6]);
    assert_eq!(frames(&mut out), crate::testing::to_each(&[0, 1, 2, 3], &fence(&stand.view, &[6], 1_250)));
    let (stand, _, _, mut out) = asking_hubs(&[2, 6]);
    // m2 is to be removed but was heard lately: it votes on m6.
    let mut expected = crate::testing::to_each(&[0, 1], &fence(&stand.view, &[2, 6], 1_250));
    expected.extend(crate::testing::to_each(&[2], &fence(&stand.view, &[6], 1_250)));
    expected.extend(crate::testing::to_each(&[3], &fence(&stand.view, &[2, 6], 1_250)));
    expected.extend(crate::testing::to_each(&[4, 5, 7, 8], &fence(&stand.view, &[2], 1_250)));
    assert_eq!(frames(&mut out), expected);
}

#[test]
//= docs/protocol.md#lv-3
fn each_hub_must_grant_or_go_too_or_be_out_of_reach_for_2_r() {
    let state =
        |fencing: &Fencing, stand: &Stand, history: &History| fencing.state(stand.scene(), history, &id(6));
    let (mut stand, mut fencing, history, _) = asking_hubs(&[6]);
    for hub in [0, 1, 2] {
        fencing.handle_fenced(id(hub), &id(6), CHECK);
    }
    assert_eq!(state(&fencing, &stand, &history), FenceState::Pending(at(3_300)));
    stand.now = at(3_300);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Open);
    stand.now = at(3_200 + 2_499);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Open);
    stand.now = at(3_200 + 2_500);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Ready, "m3 is out of reach");
    fencing.handle_fenced(id(3), &id(6), CHECK);
    stand.now = at(3_300);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Ready);

    let (mut stand, mut fencing, history, _) = asking_hubs(&[3, 6]);
    stand.now = at(3_300);
    for hub in [0, 1, 2] {
        fencing.handle_fenced(id(hub), &id(6), CHECK);
        fencing.handle_fenced(id(hub), &id(3), CHECK);
    }
    assert_eq!(state(&fencing, &stand, &history), FenceState::Open, "m3 has not enough fences: 35 of 95");
    fencing.handle_fenced(id(7), &id(3), CHECK);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Open, "45 of 95");
    fencing.handle_fenced(id(8), &id(3), CHECK);
    assert_eq!(state(&fencing, &stand, &history), FenceState::Ready, "they go together");
}

#[test]
//= docs/protocol.md#lv-3
fn a_proposer_with_whom_no_hub_agrees_needs_the_fences_of_all_hubs() {
    // m8 is no hub, and cut off from all of them.
    let mut stand = Stand::new(view_with_hubs(9, 1), 8);
    let (mut fencing, mut out) = (Fencing::default(), Outbox::default());
    let silents: Vec<Silent> = [0, 1, 2, 3, 6].map(silent).to_vec();
    fencing.sync(stand.at(8_000), &silents, &mut out);
    let history = History::new(at(0));
    stand.now = at(9_000);
    for voter in [4, 5, 7, 8] {
        for hub in [0, 1, 2] {
            fencing.handle_fenced(id(voter), &id(hub), CHECK);
        }
        fencing.handle_fenced(id(voter), &id(6), CHECK);
    }
    assert_eq!(fencing.state(stand.scene(), &history, &id(6)), FenceState::Open);
    fencing.handle_fenced(id(2), &id(6), CHECK);
    assert_eq!(fencing.state(stand.scene(), &history, &id(6)), FenceState::Ready, "a hub that speaks");
}
