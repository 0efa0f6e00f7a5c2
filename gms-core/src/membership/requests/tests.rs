use super::*;
use crate::testing::{Stand, frames, id, view_of};
use crate::view::Change;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn expelled(n: u8) -> Expelled {
    Expelled { member: id(n), reason: "test".into(), by: "m1".into() }
}

fn remove(n: u8) -> FrameBody {
    FrameBody::Remove { member: id(n), reason: "test".into(), by: "m1".into() }
}

/// `stand` in the view that these members left.
fn without(stand: &Stand, who: &[u8], me: u8) -> Stand {
    let change = Change { left: who.iter().map(|n| id(*n)).collect(), ..Change::empty(&stand.view) };
    Stand::new(stand.view.apply(&change).unwrap(), me)
}

#[test]
//= docs/protocol.md#vw-14
//= docs/protocol.md#vw-15
fn everything_is_asked_at_once_and_again_until_a_view_answers_it() {
    let mut stand = Stand::new(view_of(4), 1);
    let (mut requests, mut out) = (Requests::default(), Outbox::default());
    requests.leave(at(100));
    requests.remove(at(110), expelled(3));
    requests.remove(at(120), expelled(3));
    assert_eq!(requests.unanswered_since(), Some(at(100)));
    let all = [(id(0), FrameBody::Leave { member: id(1) }), (id(0), remove(3))];
    requests.handle_timeout(stand.at(120), id(0), &mut out);
    assert_eq!(frames(&mut out), all);
    requests.handle_timeout(stand.at(319), id(0), &mut out);
    assert_eq!(frames(&mut out), []);
    requests.handle_timeout(stand.at(320), id(2), &mut out);
    assert_eq!(frames(&mut out), all.map(|(_, body)| (id(2), body)), "to whoever is in office then");
    let mut next = without(&stand, &[3], 1);
    requests.handle_view_installed(next.at(330));
    requests.handle_timeout(next.at(330), id(0), &mut out);
    assert_eq!(frames(&mut out), [(id(0), FrameBody::Leave { member: id(1) })]);
    assert_eq!(requests.leaving_since(), Some(at(100)));
}

#[test]
//= docs/protocol.md#vw-23
fn a_half_decided_view_is_reported_with_the_newest_reason_until_it_is_finished() {
    let mut stand = Stand::new(view_of(4), 1);
    let (mut requests, mut out) = (Requests::default(), Outbox::default());
    let base = stand.view.id();
    let unfinished = |why| [(id(0), FrameBody::Unfinished { base, why })];
    requests.set_unfinished(at(100), Some(UnfinishedReason::Isolated));
    requests.handle_timeout(stand.at(100), id(0), &mut out);
    assert_eq!(frames(&mut out), unfinished(UnfinishedReason::Isolated));
    requests.set_unfinished(at(200), Some(UnfinishedReason::Accepted));
    requests.handle_timeout(stand.at(300), id(0), &mut out);
    assert_eq!(frames(&mut out), unfinished(UnfinishedReason::Accepted));
    assert_eq!(requests.unanswered_since(), Some(at(100)));
    requests.set_unfinished(at(400), None);
    requests.handle_timeout(stand.at(500), id(0), &mut out);
    assert_eq!(frames(&mut out), []);
    assert_eq!((requests.poll_timeout(), requests.unanswered_since()), (None, None));
}

#[test]
fn the_coordinator_queues_each_wish_once_and_forgets_what_a_view_answered() {
    let stand = Stand::new(view_of(4), 0);
    let mut queue = Queue::default();
    for _ in 0..2 {
        queue.leave(id(1));
        queue.leave(id(2));
        queue.remove(expelled(3));
        queue.finish();
    }
    assert_eq!(queue.leavers(), [id(1), id(2)]);
    assert_eq!(queue.removals(), [expelled(3)]);
    assert!(queue.is_finish_due());
    queue.handle_view_installed(without(&stand, &[1, 3], 0).scene());
    assert_eq!(queue.leavers(), [id(2)]);
    assert_eq!(queue.removals(), []);
    assert!(!queue.is_finish_due() && !queue.is_empty());
}

#[test]
//= docs/protocol.md#wr-1
fn all_removals_of_a_change_fit_one_frame_however_long_their_reasons() {
    let mut queue = Queue::default();
    for n in 0..=u8::MAX {
        queue.remove(Expelled { member: id(n), reason: "ü".repeat(1 << 16), by: "m".repeat(1 << 16) });
    }
    let removals = queue.removals();
    assert_eq!(removals.len(), REMOVALS_MAX);
    assert!(
        removals.iter().all(|e| e.reason == "ü".repeat(256) && e.by == "m".repeat(64)),
        "cut at a letter"
    );
    let change = Change { expelled: removals.to_vec(), ..Change::empty(&view_of(2)) };
    let ballot = crate::message::Ballot { round: 0, place: 0 };
    let head = crate::testing::head(0, 1, &view_of(2), 1);
    let frame = crate::message::Frame { head, body: FrameBody::Prepare { ballot, change } };
    assert_eq!(crate::codec::encode_frame(&frame, &mut Vec::new()), Ok(()));
}

#[test]
//= docs/protocol.md#vw-15
fn a_long_reason_is_cut_before_it_is_sent() {
    let mut stand = Stand::new(view_of(4), 1);
    let (mut requests, mut out) = (Requests::default(), Outbox::default());
    requests.remove(at(100), Expelled { reason: "x".repeat(513), ..expelled(3) });
    requests.handle_timeout(stand.at(100), id(0), &mut out);
    let body = FrameBody::Remove { member: id(3), reason: "x".repeat(512), by: "m1".into() };
    assert_eq!(frames(&mut out), [(id(0), body)]);
}
