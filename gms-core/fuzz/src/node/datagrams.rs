//! Datagrams of every kind, whole in form and of any content.

use std::net::SocketAddr;
use std::time::Duration;

use gms_core::evidence::{Finding, Reason};
use gms_core::member::{Endpoint, MemberId};
use gms_core::message::{
    AccusationId, Answers, CheckId, ClusterInfo, Datagram, DatagramBody, Membership, RequestId,
    SuspectRequest,
};
use gms_core::view::ViewId;
use gms_core::{Input, Timestamp, codec};

use super::stage::Stage;
use super::{cast, heads};

/// Gives the node a datagram of anybody's.
pub fn deliver(stage: &mut Stage<'_>) {
    let n = stage.draw.below(cast::ALL);
    let from = source(stage, n);
    let head = heads::any(stage, n, heads::Channel::Datagram);
    let body = any_body(stage);
    let received_at = moment(stage);
    let datagram = Datagram { head, body };
    let mut bytes = Vec::new();
    if codec::encode_datagram(&datagram, &mut bytes).is_err() {
        return;
    }
    assert_eq!(codec::decode_datagram(&bytes).as_ref(), Ok(&datagram), "a datagram survives the wire");
    damage(stage, &mut bytes);
    if let Ok(datagram) = codec::decode_datagram(&bytes) {
        stage.kinds.insert(format!("datagram {}", datagram.body.name()));
        stage.feed(Input::Datagram { from, received_at, datagram });
    }
}

/// Where a message of `n` comes from: its address, or another.
pub fn source(stage: &mut Stage<'_>, n: usize) -> SocketAddr {
    match stage.draw.below(8) {
        7 => cast::address_of(stage.draw.below(cast::ALL)),
        6 => SocketAddr::from(([192, 0, 2, stage.draw.byte()], 1_000)),
        _ => cast::address_of(n),
    }
}

/// When a message was read: at once, or some time ago; a driver that errs may say later.
pub fn moment(stage: &mut Stage<'_>) -> Timestamp {
    match stage.draw.below(8) {
        5 => stage.now - super::span(stage),
        6 => stage.now + super::span(stage),
        7 => Timestamp::ZERO,
        _ => stage.now,
    }
}

/// Changes a few bytes of a message, in one of sixteen cases.
pub fn damage(stage: &mut Stage<'_>, bytes: &mut [u8]) {
    if stage.draw.below(16) != 15 || bytes.is_empty() {
        return;
    }
    for _ in 0..=stage.draw.below(3) {
        let at = stage.draw.below(256) + stage.draw.below(2) * 256;
        let place = at % bytes.len();
        bytes[place] = stage.draw.byte();
    }
}

fn any_body(stage: &mut Stage<'_>) -> DatagramBody {
    match stage.draw.below(9) {
        0 => DatagramBody::Heartbeat { answers: answers(stage) },
        1 => {
            let target = if stage.draw.one_in(3) { stage.id() } else { stage.node.me().id };
            DatagramBody::HeartbeatRequest { target, request: request(stage), reason: reason(stage) }
        }
        2 => DatagramBody::SuspectMembers { accusation: accusation(stage), requests: accused(stage) },
        3 => DatagramBody::FinalCheckPassed { member: stage.id() },
        4 => DatagramBody::VerifyRequest { check: check(stage), suspect: stage.id() },
        5 => {
            let (check, suspect) = (check(stage), stage.id());
            DatagramBody::VerifyReply { check, suspect, finding: finding(stage) }
        }
        6 => {
            let padding = vec![0; stage.draw.of(&[220, 0, 219, 221, 800])];
            let cluster_name = cast::text(&mut stage.draw);
            DatagramBody::FindCoordinator { cluster_name, asker: stage.id(), padding }
        }
        7 => DatagramBody::Coordinator(Box::new(cluster_info(stage))),
        _ => {
            let near = stage.view_number();
            DatagramBody::NotAMember { view: ViewId(stage.draw.number(near)) }
        }
    }
}

fn answers(stage: &mut Stage<'_>) -> Answers {
    match stage.draw.below(3) {
        0 => Answers::Nothing,
        1 => Answers::Request(request(stage)),
        _ => Answers::Accusation(accusation(stage)),
    }
}

fn request(stage: &mut Stage<'_>) -> RequestId {
    let known = stage.said.requests.pick(&mut stage.draw);
    known.unwrap_or_else(|| RequestId(stage.draw.wide()))
}

/// Names an accusation: the node's own, or one of somebody else's, of which there are few.
pub fn accusation(stage: &mut Stage<'_>) -> AccusationId {
    let own = if stage.draw.one_in(2) { stage.said.accusations.pick(&mut stage.draw) } else { None };
    own.unwrap_or_else(|| AccusationId(u64::from(stage.draw.byte())))
}

/// Names a check of the node's or of somebody else's.
pub fn check(stage: &mut Stage<'_>) -> CheckId {
    let own = if stage.draw.one_in(2) { stage.said.checks.pick(&mut stage.draw) } else { None };
    own.unwrap_or_else(|| CheckId(u64::from(stage.draw.byte())))
}

/// Why somebody is accused.
pub fn reason(stage: &mut Stage<'_>) -> Reason {
    stage.draw.of(&[
        Reason::Silent,
        Reason::Replaced,
        Reason::Requested,
        Reason::SilentBesideAnother,
        Reason::InOffice,
    ])
}

/// A span as a message carries it: near those of the rules, or absurd.
pub fn any_span(stage: &mut Stage<'_>) -> Duration {
    match stage.draw.below(4) {
        3 => {
            stage.draw.of(&[Duration::MAX, Duration::from_secs(u64::MAX / 2), Duration::from_nanos(u64::MAX)])
        }
        _ => super::span(stage),
    }
}

/// A list of accusations.
pub fn accused(stage: &mut Stage<'_>) -> Vec<SuspectRequest> {
    let count = stage.draw.of(&[1, 1, 2, 3, 0, 16, 40]);
    let mut list = Vec::new();
    for _ in 0..count {
        let member = stage.id();
        let (reason, silent_for) = (reason(stage), any_span(stage));
        let replaced_by: Option<MemberId> = if stage.draw.one_in(3) { Some(stage.id()) } else { None };
        list.push(SuspectRequest { member, reason, silent_for, replaced_by });
    }
    list
}

fn finding(stage: &mut Stage<'_>) -> Finding {
    let other = stage.id();
    stage.draw.of(&[Finding::Alive, Finding::Refused, Finding::Silent, Finding::Other(other)])
}

/// What anybody may say about a cluster.
pub fn cluster_info(stage: &mut Stage<'_>) -> ClusterInfo {
    let cluster_name = cast::text(&mut stage.draw);
    let (sender, age) = (stage.id(), any_span(stage));
    let membership = if stage.draw.one_in(3) { None } else { Some(membership(stage)) };
    ClusterInfo { cluster_name, sender, age, membership }
}

fn membership(stage: &mut Stage<'_>) -> Membership {
    let own = stage.cluster();
    let any = cast::any_cluster(&mut stage.draw);
    let cluster = stage.draw.of(&[own, cast::CLUSTER, any]);
    let n = stage.draw.below(cast::ALL);
    let mut endpoint = Endpoint::single(cast::address_of(n));
    if stage.draw.one_in(8) {
        endpoint = Endpoint::single(SocketAddr::from(([0, 0, 0, 0], 0)));
    }
    let near = stage.view_number();
    let view = ViewId(stage.draw.number(near));
    let size = u32::try_from(stage.draw.number(3) & 0xffff_ffff).unwrap_or(u32::MAX);
    let (isolated, age) = (stage.draw.one_in(4), any_span(stage));
    Membership { cluster, coordinator: cast::id_of(n), endpoint, view, size, isolated, age }
}
