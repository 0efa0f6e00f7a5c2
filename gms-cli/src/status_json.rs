//! A member's account of itself and its cluster as JSON, as `GET /v1/view` answers.

use gms_core::config::{HeartbeatRecipients, Timing};
use gms_core::event::{MemberRow, MemberStatus, State, Status};
use gms_core::time::Timestamp;
use gms_core::view::View;
use serde_json::{Value, json};

use crate::event_json::{millis, whole_millis};

/// The whole status. `cluster` is the configured name, which a process also has before it is in a view.
pub(crate) fn status_json(cluster: &str, status: &Status) -> Value {
    let view = status.view.as_deref();
    let members: Vec<Value> = status.members.iter().map(|row| member_json(view, row)).collect();
    json!({
        "cluster": cluster,
        "cluster_id": view.map(|v| v.cluster().to_string()),
        "me": status.me.name,
        "id": status.me.id.to_string(),
        "state": state_name(status.state),
        "view": view.map_or(0, View::number),
        "digest": view.map(|v| v.digest().to_string()),
        "coordinator": view.map(|v| v.coordinator().name.clone()),
        "quorum": {
            "weight": status.quorum.weight_total,
            "needed": status.quorum.weight_needed,
            "reachable": status.quorum.weight_reachable,
            "unreachable": status.quorum.unreachable,
        },
        "connected_for_ms": (status.connected_until != Timestamp::FAR_FUTURE)
            .then(|| whole_millis(status.connected_for)),
        "timing": timing_json(&status.timing),
        "members": members,
    })
}

/// One member's row.
pub(crate) fn member_json(view: Option<&View>, row: &MemberRow) -> Value {
    let member = &row.member;
    let role = match view {
        Some(view) if view.coordinator().id == member.id => "coordinator",
        _ if member.coordinator_eligible => "member",
        _ => "ineligible",
    };
    let tags: serde_json::Map<String, Value> =
        member.tags.iter().map(|(k, v)| (k.clone(), Value::from(v.as_str()))).collect();
    json!({
        "name": member.name,
        "id": member.id.to_string(),
        "addr": member.endpoint.addr.to_string(),
        "check_addr": member.endpoint.check_addr.to_string(),
        "weight": member.weight.get(),
        "role": role,
        "tags": tags,
        "joined_in_view": row.joined_in.0,
        "status": match row.status {
            MemberStatus::Alive => "alive",
            MemberStatus::Suspect => "suspect",
            MemberStatus::Checking => "checking",
        },
        "silent_for_ms": whole_millis(row.silent_for),
        "watched_by": row.watched_by,
        "rtt_us": row.rtt.map(|rtt| u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX)),
        "loss_in": row.loss_in,
        "loss_out": row.loss_out,
    })
}

/// A state's name.
pub(crate) const fn state_name(state: State) -> &'static str {
    match state {
        State::Joining => "joining",
        State::Member => "member",
        State::Isolated => "isolated",
        State::NoQuorum => "no_quorum",
        State::Excluded => "excluded",
        State::Leaving => "leaving",
    }
}

/// The timing in force, in milliseconds.
pub(crate) fn timing_json(timing: &Timing) -> Value {
    let Timing {
        member_timeout,
        heartbeat_interval,
        check_timeout,
        final_check_timeout,
        refused_grace,
        batch_window,
        heartbeat_recipients,
        suspect_recipients,
        verifiers,
        crash_detection,
    } = timing;
    json!({
        "member_timeout_ms": millis(*member_timeout),
        "heartbeat_interval_ms": millis(*heartbeat_interval),
        "check_timeout_ms": millis(*check_timeout),
        "final_check_timeout_ms": millis(*final_check_timeout),
        "refused_grace_ms": millis(*refused_grace),
        "batch_window_ms": millis(*batch_window),
        "heartbeat_recipients": match heartbeat_recipients {
            HeartbeatRecipients::Auto | HeartbeatRecipients::All => heartbeat_recipients.to_string().into(),
            HeartbeatRecipients::Predecessors(n) => Value::from(*n),
        },
        "suspect_recipients": suspect_recipients,
        "verifiers": verifiers,
        "crash_detection": crash_detection.to_string(),
    })
}

#[cfg(test)]
pub(crate) mod tests;
