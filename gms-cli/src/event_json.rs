//! Events as JSON: one object, with the fields that the documentation of the interface fixes.

use std::time::{Duration, SystemTime};

use gms_core::event::{
    ContactReport, Event, ExclusionCause, JoinFailure, LinkReport, QuorumReport, Removed, StopReason,
    Subject, ViewChange,
};
use gms_core::evidence::{Evidence, Reason, Verdict};
use gms_core::view::View;
use serde_json::{Map, Value, json};

use crate::names::Names;

/// An object whose fields stand in the order in which they were put.
pub(crate) type Object = Map<String, Value>;

/// A moment of the wall clock in RFC 3339 with microseconds, UTC.
pub(crate) fn stamp(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at)
        .map_or_else(|_| String::from("1970-01-01T00:00:00.000000Z"), |t| format!("{t:.6}"))
}

/// A duration in milliseconds, whole where it is whole.
pub(crate) fn millis(duration: Duration) -> Value {
    if duration.subsec_nanos().is_multiple_of(1_000_000) {
        json!(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    } else {
        json!((duration.as_secs_f64() * 1e6).round() / 1e3)
    }
}

/// Whole milliseconds of a measured duration.
pub(crate) fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The event `event` of member `me` as one object.
pub(crate) fn event_json(at: SystemTime, me: &str, event: &Event, names: &Names) -> Object {
    let (name, fields) = name_and_fields(event, names);
    let mut object = Object::new();
    object.insert("at".into(), stamp(at).into());
    object.insert("event".into(), name.into());
    object.insert("me".into(), me.into());
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    object
}

/// The event's name and its own fields.
pub(crate) fn name_and_fields(event: &Event, names: &Names) -> (&'static str, Value) {
    match event {
        Event::Joined { view } => ("joined", in_view(view)),
        Event::Rejoined { view } => ("rejoined", in_view(view)),
        Event::ViewInstalled(change) => ("view_installed", view_installed(change, names)),
        Event::Excluded { view, cause } => ("excluded", excluded(view.0, cause, names)),
        Event::QuorumLost(report) => ("quorum_lost", quorum(report)),
        Event::QuorumRegained(report) => ("quorum_regained", quorum(report)),
        Event::Isolated(report) => ("isolated", contact(report)),
        Event::Connected(report) => ("connected", contact(report)),
        Event::Paused { lasted } => ("paused", json!({ "for_ms": whole_millis(*lasted) })),
        Event::LinkDegraded(report) => ("link_degraded", link(report)),
        Event::LinkRecovered(report) => ("link_recovered", link(report)),
        Event::CoordinatorChanged { from, to } => {
            ("coordinator_changed", json!({ "from": from.name, "to": to.name }))
        }
        Event::ClusterConflict { other_cluster, other_coordinator, other_size } => (
            "cluster_conflict",
            json!({
                "other_cluster_id": other_cluster.to_string(),
                "other_coordinator": other_coordinator.to_string(),
                "other_size": other_size,
            }),
        ),
        Event::Stopped { reason } => ("stopped", stopped(reason)),
        Event::Lagged(missed) => ("lagged", json!({ "missed": missed })),
        other => about_a_suspect(other, names),
    }
}

fn about_a_suspect(event: &Event, names: &Names) -> (&'static str, Value) {
    match event {
        Event::MemberSuspected { member, by, reason, silent_for } => (
            "member_suspected",
            json!({
                "member": member.name,
                "by": by.name,
                "reason": reason_name(*reason),
                "silent_for_ms": whole_millis(*silent_for),
            }),
        ),
        Event::FinalCheckStarted { member, reason } => {
            ("final_check_started", json!({ "member": member.name, "reason": reason_name(*reason) }))
        }
        Event::FinalCheckPassed { member, evidence } => {
            ("final_check_passed", checked(member, Verdict::Alive, evidence, names))
        }
        Event::FinalCheckFailed { member, verdict, evidence } => {
            ("final_check_failed", checked(member, *verdict, evidence, names))
        }
        Event::MemberCleared { member, by } => {
            ("member_cleared", json!({ "member": member.name, "by": by.name }))
        }
        other => ("unknown", json!({ "debug": format!("{other:?}") })),
    }
}

fn checked(member: &Subject, verdict: Verdict, evidence: &Evidence, names: &Names) -> Value {
    json!({ "member": member.name, "verdict": verdict.to_string(), "evidence": evidence_json(evidence, names) })
}

fn in_view(view: &View) -> Value {
    json!({
        "view": view.number(),
        "coordinator": view.coordinator().name,
        "members": member_names(view),
        "digest": view.digest().to_string(),
    })
}

fn member_names(view: &View) -> Vec<&str> {
    view.members().iter().map(|m| m.member.name.as_str()).collect()
}

fn view_installed(change: &ViewChange, names: &Names) -> Value {
    let subjects = |list: &[Subject]| list.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let mut value = json!({
        "view": change.view.number(),
        "coordinator": change.view.coordinator().name,
        "members": member_names(&change.view),
        "joined": subjects(&change.joined),
        "left": subjects(&change.left),
        "crashed": change.crashed.iter().map(|c| c.member.name.clone()).collect::<Vec<_>>(),
        "expelled": change.expelled.iter().map(|e| e.member.name.clone()).collect::<Vec<_>>(),
        "digest": change.view.digest().to_string(),
    });
    let Some(object) = value.as_object_mut() else { return value };
    if !change.gone.is_empty() {
        object.insert("gone".into(), subjects(&change.gone).into());
    }
    let removal =
        |r: &Removed| json!({ "member": r.member.name, "evidence": evidence_json(&r.evidence, names) });
    if !change.crashed.is_empty() {
        object.insert("removals".into(), change.crashed.iter().map(removal).collect());
    }
    if !change.expelled.is_empty() {
        let expulsions = change
            .expelled
            .iter()
            .map(|e| json!({ "member": e.member.name, "reason": e.reason, "by": e.by }))
            .collect();
        object.insert("expulsions".into(), expulsions);
    }
    value
}

fn excluded(view: u64, cause: &ExclusionCause, names: &Names) -> Value {
    match cause {
        ExclusionCause::Crashed(evidence) => {
            json!({ "view": view, "cause": "crashed", "evidence": evidence_json(evidence, names) })
        }
        ExclusionCause::Expelled { reason, by } => {
            json!({ "view": view, "cause": "expelled", "evidence": null, "reason": reason, "by": by })
        }
        ExclusionCause::Unknown => json!({ "view": view, "cause": "unknown", "evidence": null }),
        ExclusionCause::GaveWay { to, at } => json!({
            "view": view, "cause": "gave_way", "evidence": null,
            "to": to.to_string(), "coordinator": at.to_string(),
        }),
    }
}

fn quorum(report: &QuorumReport) -> Value {
    json!({
        "weight_reachable": report.weight_reachable,
        "weight_needed": report.weight_needed,
        "weight_total": report.weight_total,
        "unreachable": report.unreachable,
    })
}

fn contact(report: &ContactReport) -> Value {
    json!({ "heard_from": report.heard_from, "heard_by": report.heard_by })
}

fn link(report: &LinkReport) -> Value {
    json!({
        "member": report.member.name,
        "loss_in": report.loss_in,
        "loss_out": report.loss_out,
        "rtt_us": report.rtt.map(|rtt| u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX)),
    })
}

fn stopped(reason: &StopReason) -> Value {
    match reason {
        StopReason::JoinFailed(failure) => join_failed(failure),
        other => json!({ "reason": stop_name(other) }),
    }
}

fn join_failed(failure: &JoinFailure) -> Value {
    let asked = failure.seeds.iter().map(|(addr, answer)| (addr.to_string(), answer.to_string()));
    let unresolved = failure.unresolved.iter().map(|seed| (seed.clone(), String::from(UNRESOLVED)));
    let seeds: Vec<Value> =
        asked.chain(unresolved).map(|(seed, answer)| json!({ "seed": seed, "answer": answer })).collect();
    json!({
        "reason": "join_failed",
        "refusal": failure.refusal.as_ref().map(ToString::to_string),
        "seeds": seeds,
        "tried_for_ms": whole_millis(failure.tried_for),
    })
}

/// What stands for the answer of a seed that could not be asked.
pub(crate) const UNRESOLVED: &str = "does not resolve";

/// A stop reason's name.
pub(crate) const fn stop_name(reason: &StopReason) -> &'static str {
    match reason {
        StopReason::Left => "left",
        StopReason::LeaveTimedOut => "leave_timed_out",
        StopReason::JoinFailed(_) => "join_failed",
        StopReason::Excluded => "excluded",
        StopReason::QuorumLost => "quorum_lost",
        StopReason::Aborted => "aborted",
        StopReason::TransportFailed(_) => "transport_failed",
        _ => "unknown",
    }
}

/// A reason's name.
pub(crate) const fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::Silent => "silent",
        Reason::Replaced => "replaced",
        Reason::Requested => "requested",
        Reason::SilentBesideAnother => "silent_beside_another",
        Reason::InOffice => "in_office",
        Reason::Refused => "refused",
    }
}

/// The chain that led to a verdict, structured, with a sentence for people.
pub(crate) fn evidence_json(evidence: &Evidence, names: &Names) -> Value {
    let accusations: Vec<Value> = evidence
        .accusations
        .iter()
        .map(|a| {
            json!({
                "by": names.of(&a.by),
                "reason": reason_name(a.reason),
                "silent_for_ms": whole_millis(a.silent_for),
                "age_ms": whole_millis(a.age),
            })
        })
        .collect();
    let verifiers: Vec<Value> = evidence
        .verifiers
        .iter()
        .map(|v| json!({ "by": names.of(&v.by), "finding": v.finding.map(|f| f.to_string()) }))
        .collect();
    json!({
        "sentence": evidence.sentence(&|id| names.of(id)),
        "checker": names.of(&evidence.checker),
        "reason": reason_name(evidence.reason),
        "accusations": accusations,
        "more_accusations": evidence.more_accusations,
        "silent_for_ms": whole_millis(evidence.silent_for),
        "check_took_ms": whole_millis(evidence.check_took),
        "requests_sent": evidence.requests_sent,
        "connection": evidence.probe.map(|p| p.to_string()),
        "verifiers": verifiers,
        "verdict": evidence.verdict.to_string(),
        "fenced_by": evidence.fenced_by.iter().map(|id| names.of(id)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
