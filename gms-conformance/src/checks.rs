//! Checks: what each outcome looks like.

use gms_core::input::CheckHandle;
use gms_core::transport::{Incoming, ProbeReply, Transport as _};

use crate::Kind;
use crate::tools::*;

/// A check is answered by the reader and by nobody else; handles that nobody waits for are ignored.
pub async fn answered(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    two.answer_check(CheckHandle(1 << 40), "unknown".into()).await;
    assert_eq!(ask(&one, &two, "me").await, ProbeReply::Answer("me".into()));
}

/// Whoever is at the address now answers, though one was there before with whom there are connections.
pub async fn other_incarnation(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    works(&one, &two).await;
    let at = check_addr(&two);
    in_time(two.close()).await;
    drop(two);
    let again = kind.open_at(Some(at)).await;
    assert_eq!(check_addr(&again), at);
    assert_eq!(ask(&one, &again, "another").await, ProbeReply::Answer("another".into()));
    works(&one, &again).await;
}

/// Where nobody listens a check is refused, though somebody was there a moment ago with whom there are connections.
pub async fn refused(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    works(&one, &two).await;
    let at = check_addr(&two);
    in_time(two.close()).await;
    for _ in 0..3 {
        assert_eq!(in_time(one.probe(at, "who?".into(), LONG)).await, ProbeReply::Refused);
    }
}

/// A reader that does not answer is silence, whatever its transport or kernel accepts for it.
pub async fn accepted_but_silent(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    assert_eq!(in_time(one.probe(check_addr(&two), "who?".into(), SHORT)).await, ProbeReply::TimedOut);
}

/// Whoever answers what no member answers is no answer, and no sign that nobody is there; afterwards checks are as before.
pub async fn garbage(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    for babbler in kind.babblers().await {
        let reply = in_time(one.probe(babbler.addr, "who?".into(), LONG)).await;
        assert_eq!(reply, ProbeReply::Garbage, "{babbler:?}");
    }
    assert_eq!(ask(&one, &two, "me").await, ProbeReply::Answer("me".into()));
}

/// A check that is given up leaves nothing behind that takes the answer of the next.
pub async fn given_up(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    let asked = tokio::select! {
        asked = receive_one(&two) => asked,
        reply = one.probe(check_addr(&two), "first".into(), LONG) => panic!("{reply:?} without the reader"),
    };
    let Incoming::Check { handle, bytes, .. } = asked else { panic!("{asked:?}") };
    assert_eq!(bytes, "first");
    two.answer_check(handle, "late".into()).await;
    assert_eq!(ask(&one, &two, "second").await, ProbeReply::Answer("second".into()));
}
