use super::*;
use crate::outbox::Action;
use crate::testing::{Stand, addr, frames, id, view_of, view_with_hubs};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn desk() -> (Stand, CatchUp, Outbox) {
    (Stand::new(view_of(4), 1), CatchUp::default(), Outbox::default())
}

fn request(stand: &Stand) -> FrameBody {
    FrameBody::ViewRequest { held: stand.view.id() }
}

#[test]
//= docs/protocol.md#vw-4
fn a_higher_number_in_a_head_makes_a_member_ask_who_showed_it_and_then_others_in_turn() {
    let (mut stand, mut catch_up, mut out) = desk();
    catch_up.note(stand.at(100), ViewId(3), Some(id(2)));
    assert_eq!(catch_up.poll_timeout(), Some(at(120)), "the view itself may be on its way");
    catch_up.handle_timeout(stand.at(119), &mut out);
    assert_eq!(frames(&mut out), []);
    assert!(!catch_up.is_asked());
    for (now, to) in [(120, 2), (320, 0), (520, 2), (720, 3), (920, 0)] {
        catch_up.handle_timeout(stand.at(now), &mut out);
        assert_eq!(frames(&mut out), [(id(to), request(&stand))], "at {now}");
    }
    assert!(catch_up.is_asked());
}

#[test]
//= docs/protocol.md#vw-4
fn a_gap_in_what_arrived_is_asked_for_at_once_and_only_once() {
    let (mut stand, mut catch_up, mut out) = desk();
    catch_up.ask_now(stand.at(100), ViewId(4), id(3), &mut out);
    assert_eq!(frames(&mut out), [(id(3), request(&stand))]);
    catch_up.ask_now(stand.at(110), ViewId(5), id(3), &mut out);
    assert_eq!(frames(&mut out), []);
    assert_eq!(catch_up.poll_timeout(), Some(at(300)));
}

#[test]
//= docs/protocol.md#vw-18
fn a_stranger_that_showed_a_higher_number_is_asked_too() {
    let (mut stand, mut catch_up, mut out) = desk();
    catch_up.note_stranger(stand.at(100), ViewId(9), addr(7), id(7).short());
    assert!(!catch_up.is_asked_of(id(7).short()));
    catch_up.handle_timeout(stand.at(120), &mut out);
    let actions = out.drain();
    let [Action::Frame { to, body, .. }, Action::FrameTo { to: stranger, recipient, body: asked, .. }] =
        actions.as_slice()
    else {
        panic!("{actions:?}")
    };
    assert_eq!((*to, body), (id(0), &request(&stand)));
    assert_eq!(*stranger, crate::output::Destination::Address(addr(7)));
    assert_eq!((*recipient, asked), (id(7).short(), &request(&stand)));
    assert!(catch_up.is_asked_of(id(7).short()));
    assert!(!catch_up.is_asked_of(id(8).short()));
}

#[test]
fn a_view_that_is_high_enough_ends_it() {
    let (mut stand, mut catch_up, mut out) = desk();
    catch_up.note(stand.at(100), ViewId(4), Some(id(2)));
    catch_up.note(stand.at(101), ViewId(3), Some(id(3)));
    catch_up.handle_view_installed(ViewId(3));
    assert_eq!(catch_up.poll_timeout(), Some(at(120)));
    catch_up.handle_view_installed(ViewId(4));
    assert_eq!(catch_up.poll_timeout(), None);
    catch_up.handle_timeout(stand.at(500), &mut out);
    assert_eq!(frames(&mut out), []);
}

#[test]
//= docs/protocol.md#lv-5
fn whoever_lacks_a_large_view_asks_those_next_to_it_first() {
    let (mut stand, mut catch_up, mut out) =
        (Stand::new(view_with_hubs(9, 1), 5), CatchUp::default(), Outbox::default());
    let far = ViewId(stand.view.id().0 + CHANGES_PER_ANSWER as u64 + 1);
    catch_up.note(stand.at(100), far, Some(id(0)));
    for (now, to) in [(120, 6), (320, 0), (520, 7), (720, 8), (920, 0), (1_120, 1)] {
        catch_up.handle_timeout(stand.at(now), &mut out);
        assert_eq!(frames(&mut out), [(id(to), request(&stand))], "at {now}");
    }
    let mut catch_up = CatchUp::default();
    let next = stand.view.id().next();
    catch_up.note(stand.at(2_000), next, Some(id(0)));
    catch_up.handle_timeout(stand.at(2_020), &mut out);
    assert_eq!(frames(&mut out), [(id(0), request(&stand))], "a change is small");
}
