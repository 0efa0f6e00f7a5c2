//! The fields of each message in a trace: small facts, never whole views.

use gms_core::evidence::Verdict;
use gms_core::member::MemberId;
use gms_core::message::{
    Answers, Ballot, ClusterInfo, DatagramBody, Decided, FoundBallot, FrameBody, Installation, Refusal,
    SuspectRequest, UnfinishedReason,
};
use gms_core::view::Change;
use serde_json::{Value, json};

use crate::event_json::{Object, millis, reason_name};
use crate::names::Names;

/// Puts the fields of a datagram.
pub(super) fn datagram_fields(object: &mut Object, body: &DatagramBody, names: &Names) {
    let fields = match body {
        DatagramBody::Heartbeat { answers } => match answers {
            Answers::Nothing => json!({ "answers": "nothing" }),
            Answers::Request(id) => json!({ "answers": "request", "request": hex(id.0) }),
            Answers::Accusation(id) => json!({ "answers": "accusation", "accusation": hex(id.0) }),
        },
        DatagramBody::HeartbeatRequest { target, request, reason } => {
            json!({ "member": names.of(target), "request": hex(request.0), "reason": reason_name(*reason) })
        }
        DatagramBody::SuspectMembers { accusation, requests } => suspects(accusation.0, requests, names),
        DatagramBody::FinalCheckPassed { member } => json!({ "member": names.of(member) }),
        DatagramBody::VerifyRequest { check, suspect } => {
            json!({ "member": names.of(suspect), "check": hex(check.0) })
        }
        DatagramBody::VerifyReply { check, suspect, finding } => {
            json!({ "member": names.of(suspect), "check": hex(check.0), "finding": finding.to_string() })
        }
        DatagramBody::FindCoordinator { cluster_name, .. } => json!({ "cluster": cluster_name }),
        DatagramBody::Coordinator(info) => cluster(info, names),
        DatagramBody::NotAMember { view } => json!({ "held": view.0 }),
    };
    extend(object, fields);
}

/// Puts the fields of a frame.
pub(super) fn frame_fields(object: &mut Object, body: &FrameBody, names: &Names) {
    let fields = match body {
        FrameBody::SuspectMembers { accusation, requests } => suspects(accusation.0, requests, names),
        FrameBody::Fence { base, members, .. } => {
            let list: Vec<_> = members.iter().map(|m| names.of(&m.member)).collect();
            json!({ "base": base.0, "members": list })
        }
        FrameBody::Fenced { base, member, check } | FrameBody::Heard { base, member, check } => {
            json!({ "base": base.0, "member": names.of(member), "check": hex(check.0) })
        }
        FrameBody::NotYet { base, member, check, left } => json!({
            "base": base.0, "member": names.of(member), "check": hex(check.0), "left_ms": millis(*left),
        }),
        FrameBody::FindCoordinator { cluster_name, .. } => json!({ "cluster": cluster_name }),
        FrameBody::Coordinator(info) => cluster(info, names),
        FrameBody::Join { cluster_name, member, .. } => {
            json!({ "cluster": cluster_name, "member": member.name })
        }
        FrameBody::Admitted { view, holder, .. } => json!({ "view": view.0, "holder": names.of(holder) }),
        FrameBody::JoinRefused { reason } => json!({ "why": reason.to_string() }),
        FrameBody::Leave { member } => json!({ "member": names.of(member) }),
        FrameBody::Remove { member, reason, by } => {
            json!({ "member": names.of(member), "reason": reason, "by": by })
        }
        FrameBody::Unfinished { base, why } => json!({
            "base": base.0,
            "why": match why {
                UnfinishedReason::Accepted => "accepted",
                UnfinishedReason::Fenced => "fenced",
                UnfinishedReason::Isolated => "isolated",
            },
        }),
        FrameBody::Installed { view } => json!({ "installed": view.0 }),
        FrameBody::Install(installation) => install(installation, names),
        FrameBody::ViewRequest { held } => json!({ "held": held.0 }),
        other => ballots(other, names),
    };
    extend(object, fields);
}

fn ballots(body: &FrameBody, names: &Names) -> Value {
    match body {
        FrameBody::FoundPromise { ballot, .. } | FrameBody::FoundAccept { ballot, .. } => {
            found(*ballot, names)
        }
        FrameBody::FoundPromised { ballot, accepted } => {
            let mut fields = found(*ballot, names);
            fields["accepted"] = accepted.is_some().into();
            fields
        }
        FrameBody::FoundAccepted { ballot } | FrameBody::FoundRefused { ballot, .. } => found(*ballot, names),
        FrameBody::Promise { ballot: b, base, verdicts, .. } => {
            let verdicts: Object = verdicts.iter().map(|(id, v)| verdict(id, *v, names)).collect();
            json!({ "ballot": ballot(*b), "base": base.0, "verdicts": verdicts })
        }
        FrameBody::Promised { ballot: b, base, accepted } => {
            json!({ "ballot": ballot(*b), "base": base.0, "accepted": accepted.as_ref().map(|(b, _)| ballot(*b)) })
        }
        FrameBody::Prepare { ballot: b, change: c } => {
            let mut fields = change(c, names);
            fields["ballot"] = ballot(*b);
            fields
        }
        FrameBody::Accepted { ballot: b, base } => json!({ "ballot": ballot(*b), "base": base.0 }),
        FrameBody::Refused { ballot: b, base, why } => json!({
            "ballot": ballot(*b),
            "base": base.0,
            "why": match why {
                Refusal::Promised(_) => "promised",
                Refusal::OtherView(_) => "other_view",
                Refusal::Protected(_) => "protected",
            },
        }),
        _ => json!({}),
    }
}

fn verdict(id: &MemberId, verdict: Verdict, names: &Names) -> (String, Value) {
    (names.of(id), verdict.to_string().into())
}

fn found(ballot: FoundBallot, names: &Names) -> Value {
    json!({ "round": ballot.round, "proposer": names.of(&ballot.proposer) })
}

fn ballot(ballot: Ballot) -> Value {
    json!([ballot.round, ballot.place])
}

fn suspects(accusation: u64, requests: &[SuspectRequest], names: &Names) -> Value {
    let members: Vec<_> = requests.iter().map(|r| names.of(&r.member)).collect();
    json!({ "accusation": hex(accusation), "members": members })
}

fn cluster(info: &ClusterInfo, names: &Names) -> Value {
    let membership = info.membership.as_ref();
    json!({
        "cluster": info.cluster_name,
        "coordinator": membership.map(|m| names.of(&m.coordinator)),
        "size": membership.map_or(0, |m| m.size),
    })
}

fn change(change: &Change, names: &Names) -> Value {
    let of = |ids: &mut dyn Iterator<Item = &MemberId>| ids.map(|id| names.of(id)).collect::<Vec<_>>();
    json!({
        "base": change.base.0,
        "makes": change.makes().0,
        "joined": change.joined.iter().map(|m| m.name.clone()).collect::<Vec<_>>(),
        "left": of(&mut change.left.iter()),
        "crashed": of(&mut change.crashed.iter().map(|c| &c.member)),
        "expelled": of(&mut change.expelled.iter().map(|e| &e.member)),
    })
}

fn install(installation: &Installation, names: &Names) -> Value {
    match installation {
        Installation::Changes(changes) => match changes.as_slice() {
            [.., Decided { change: last, .. }] => {
                let mut fields = change(last, names);
                fields["changes"] = changes.len().into();
                fields
            }
            [] => json!({ "changes": 0 }),
        },
        Installation::Whole(view) => {
            let members: Vec<_> = view.members().iter().map(|m| m.member.name.clone()).collect();
            json!({ "makes": view.number(), "whole": true, "members": members })
        }
    }
}

fn hex(number: u64) -> String {
    format!("{number:016x}")
}

fn extend(object: &mut Object, fields: Value) {
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
}
