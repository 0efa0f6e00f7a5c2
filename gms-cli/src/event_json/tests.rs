//! The documented shape of events.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gms_core::config::Timing;
use gms_core::evidence::{Accusation, Finding, ProbeOutcome, VerifierReport};
use gms_core::member::{ClusterId, Endpoint, Member, MemberId};
use gms_core::view::{Change, Crashed, View};

use super::*;

fn id(n: u8) -> MemberId {
    MemberId::from_bytes([n; 16])
}

fn member(n: u8) -> Member {
    Member::new(id(n), format!("m{n}"), Endpoint::single(([127, 0, 0, 1], 7000 + u16::from(n)).into()))
}

fn views() -> (View, View, Arc<Evidence>) {
    let founding =
        View::founding(ClusterId::from_bytes([9; 16]), "test".into(), Timing::default(), member(1));
    let mut joins = Change::empty(&founding);
    joins.joined = vec![member(2).into(), member(3).into()];
    let before = founding.apply(&joins).unwrap();
    let evidence = Arc::new(Evidence {
        checker: id(1),
        reason: Reason::Silent,
        accusations: vec![Accusation {
            by: id(2),
            reason: Reason::Silent,
            silent_for: Duration::from_millis(1250),
            age: Duration::from_millis(251),
        }],
        more_accusations: 0,
        silent_for: Duration::from_millis(1500),
        check_took: Duration::from_millis(250),
        requests_sent: 4,
        probe: Some(ProbeOutcome::TimedOut),
        verifiers: vec![VerifierReport { by: id(2), finding: Some(Finding::Silent) }],
        verdict: Verdict::Silent,
        fenced_by: vec![id(1), id(2)],
    });
    let mut crash = Change::empty(&before);
    crash.crashed = vec![Crashed { member: id(3), evidence: Arc::clone(&evidence) }];
    let after = before.apply(&crash).unwrap();
    (before, after, evidence)
}

#[test]
fn a_view_names_who_left_it_and_why() {
    let (before, after, evidence) = views();
    let mut names = Names::default();
    names.learn_event(&Event::Joined { view: Arc::new(before) });
    let digest = after.digest().to_string();
    let change = ViewChange {
        view: Arc::new(after),
        joined: Vec::new(),
        left: Vec::new(),
        crashed: vec![Removed { member: Subject { id: id(3), name: "m3".into() }, evidence }],
        expelled: Vec::new(),
        gone: Vec::new(),
    };
    let at = UNIX_EPOCH + Duration::from_micros(1_767_323_045_123_456);
    let object = event_json(at, "m1", &Event::ViewInstalled(Arc::new(change)), &names);
    let expected = json!({
        "at": "2026-01-02T03:04:05.123456Z",
        "event": "view_installed",
        "me": "m1",
        "view": 3,
        "coordinator": "m1",
        "members": ["m1", "m2"],
        "joined": [],
        "left": [],
        "crashed": ["m3"],
        "expelled": [],
        "digest": digest,
        "removals": [{ "member": "m3", "evidence": {
            "sentence": "accused by m2 (silent, 1250 ms); checked by m1 for 250 ms: 4 requests, connection timed out; \
                         m2 looked: silent; verdict silent after 1500 ms of silence; fenced by m1, m2",
            "checker": "m1",
            "reason": "silent",
            "accusations": [{ "by": "m2", "reason": "silent", "silent_for_ms": 1250, "age_ms": 251 }],
            "more_accusations": 0,
            "silent_for_ms": 1500,
            "check_took_ms": 250,
            "requests_sent": 4,
            "connection": "timed out",
            "verifiers": [{ "by": "m2", "finding": "silent" }],
            "verdict": "silent",
            "fenced_by": ["m1", "m2"],
        } }],
    });
    // As text: the order of fields is part of what people read.
    assert_eq!(serde_json::to_string(&object).unwrap(), expected.to_string());
}

#[test]
fn every_event_has_the_documented_name_and_fields() {
    let subject = || Subject { id: id(3), name: "m3".into() };
    let names = Names::default();
    let fields = |event: &Event| {
        let object = event_json(SystemTime::UNIX_EPOCH, "m1", event, &names);
        object.keys().skip(1).cloned().collect::<Vec<_>>().join(" ")
    };
    let (before, _, evidence) = views();
    let view = Arc::new(before);
    let quorum =
        QuorumReport { weight_reachable: 1, weight_needed: 2, weight_total: 3, unreachable: Vec::new() };
    let contact = ContactReport { heard_from: Vec::new(), heard_by: Vec::new() };
    for (event, expected) in [
        (Event::Joined { view: view.clone() }, "event me view coordinator members digest"),
        (Event::Rejoined { view }, "event me view coordinator members digest"),
        (
            Event::MemberSuspected {
                member: subject(),
                by: subject(),
                reason: Reason::Silent,
                silent_for: Duration::ZERO,
            },
            "event me member by reason silent_for_ms",
        ),
        (Event::FinalCheckStarted { member: subject(), reason: Reason::InOffice }, "event me member reason"),
        (
            Event::FinalCheckPassed { member: subject(), evidence: evidence.clone() },
            "event me member verdict evidence",
        ),
        (
            Event::FinalCheckFailed { member: subject(), verdict: Verdict::Gone, evidence: evidence.clone() },
            "event me member verdict evidence",
        ),
        (Event::MemberCleared { member: subject(), by: subject() }, "event me member by"),
        (Event::QuorumLost(quorum), "event me weight_reachable weight_needed weight_total unreachable"),
        (Event::Isolated(contact), "event me heard_from heard_by"),
        (
            Event::Excluded { view: gms_core::view::ViewId(7), cause: ExclusionCause::Crashed(evidence) },
            "event me view cause evidence",
        ),
        (Event::Paused { lasted: Duration::from_secs(1) }, "event me for_ms"),
        (Event::CoordinatorChanged { from: subject(), to: subject() }, "event me from to"),
        (Event::Stopped { reason: StopReason::Left }, "event me reason"),
        (Event::Lagged(3), "event me missed"),
    ] {
        assert_eq!(fields(&event), expected, "{event:?}");
    }
}

#[test]
fn durations_are_whole_milliseconds_where_they_are_whole() {
    assert_eq!(millis(Duration::from_millis(250)), json!(250));
    assert_eq!(millis(Duration::from_micros(62_500)), json!(62.5));
}
