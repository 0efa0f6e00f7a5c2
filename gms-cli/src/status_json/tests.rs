//! The documented shape of `GET /v1/view`.

use std::sync::Arc;
use std::time::Duration;

use gms_core::event::QuorumReport;
use gms_core::member::{ClusterId, Endpoint, Member, MemberId};

use super::*;

/// A member alone in its first view.
pub(crate) fn alone() -> Status {
    let addr = ([127, 0, 0, 1], 7790).into();
    let mut me = Member::new(MemberId::from_bytes([0xab; 16]), "m1", Endpoint::single(addr));
    me.tags = vec![("zone".into(), "a".into())];
    let view =
        View::founding(ClusterId::from_bytes([0xcc; 16]), "test".into(), Timing::default(), me.clone());
    let row = MemberRow {
        member: me.clone(),
        joined_in: view.id(),
        status: MemberStatus::Alive,
        silent_for: Duration::ZERO,
        watched_by: None,
        rtt: None,
        loss_in: 0.0,
        loss_out: 0.0,
    };
    Status {
        me,
        state: State::Member,
        view: Some(Arc::new(view)),
        quorum: QuorumReport {
            weight_reachable: 15,
            weight_needed: 8,
            weight_total: 15,
            unreachable: Vec::new(),
        },
        connected_until: Timestamp::FAR_FUTURE,
        connected_for: Timestamp::FAR_FUTURE.since(Timestamp::from_millis(1)),
        timing: Timing::default(),
        members: vec![row],
    }
}

#[test]
fn the_status_has_the_documented_fields() {
    let status = alone();
    let digest = status.view.as_ref().unwrap().digest().to_string();
    let expected = json!({
        "cluster": "test",
        "cluster_id": "cc".repeat(16),
        "me": "m1",
        "id": "ab".repeat(16),
        "state": "member",
        "view": 1,
        "digest": digest,
        "coordinator": "m1",
        "quorum": { "weight": 15, "needed": 8, "reachable": 15, "unreachable": [] },
        "connected_for_ms": null,
        "timing": {
            "member_timeout_ms": 5000, "heartbeat_interval_ms": 1000, "check_timeout_ms": 1250,
            "final_check_timeout_ms": 1250, "refused_grace_ms": 10, "batch_window_ms": 5,
            "heartbeat_recipients": "auto", "suspect_recipients": 10, "verifiers": 2,
            "crash_detection": "fast",
        },
        "members": [{
            "name": "m1", "id": "ab".repeat(16), "addr": "127.0.0.1:7790", "check_addr": "127.0.0.1:7790",
            "weight": 10, "role": "coordinator", "tags": { "zone": "a" }, "joined_in_view": 1, "status": "alive",
            "silent_for_ms": 0, "watched_by": null, "rtt_us": null, "loss_in": 0.0, "loss_out": 0.0,
        }],
    });
    assert_eq!(status_json("test", &status), expected);
}

#[test]
fn a_joiner_has_no_view_yet() {
    let status = Status { state: State::Joining, view: None, members: Vec::new(), ..alone() };
    let json = status_json("test", &status);
    assert_eq!(
        (&json["view"], &json["digest"], &json["state"]),
        (&json!(0), &Value::Null, &json!("joining"))
    );
}

#[test]
fn contact_that_something_limits_is_a_number() {
    let status = Status {
        connected_until: Timestamp::from_millis(10_000),
        connected_for: Duration::from_secs(9),
        ..alone()
    };
    assert_eq!(status_json("test", &status)["connected_for_ms"], 9000);
}
