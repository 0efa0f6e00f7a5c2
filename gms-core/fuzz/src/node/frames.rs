//! Frames of every kind, whole in form and of any content.

use gms_core::config::TimingOverrides;
use gms_core::evidence::Verdict;
use gms_core::input::ReplyHandle;
use gms_core::member::{Endpoint, MemberId};
use gms_core::message::{
    Ballot, FenceTarget, FoundBallot, Founder, Frame, FrameBody, JoinRefusal, Refusal, UnfinishedReason,
};
use gms_core::view::{Digest, ViewId};
use gms_core::{Input, codec};

use super::stage::Stage;
use super::{cast, changes, datagrams, heads};

/// Gives the node a frame of anybody's.
pub fn deliver(stage: &mut Stage<'_>) {
    let n = stage.draw.below(cast::ALL);
    let from = datagrams::source(stage, n);
    let head = heads::any(stage, n, heads::Channel::Stream);
    let body = any_body(stage, n);
    let received_at = datagrams::moment(stage);
    let reply = ReplyHandle(stage.fresh());
    let frame = Frame { head, body };
    let mut bytes = Vec::new();
    if codec::encode_frame(&frame, &mut bytes).is_err() {
        return;
    }
    assert_eq!(codec::decode_frame(&bytes).as_ref(), Ok(&frame), "a frame survives the wire");
    datagrams::damage(stage, &mut bytes);
    if let Ok(frame) = codec::decode_frame(&bytes) {
        stage.kinds.insert(format!("frame {}", frame.body.name()));
        stage.feed(Input::Frame { from, reply, received_at, frame });
    }
}

fn any_body(stage: &mut Stage<'_>, n: usize) -> FrameBody {
    match stage.draw.below(26) {
        kind @ 0..=4 => about_fences(stage, kind),
        kind @ 5..=11 => about_founding(stage, kind),
        kind @ 12..=15 => about_membership(stage, kind, n),
        kind @ 16..=20 => about_agreement(stage, kind, n),
        21 => FrameBody::Installed { view: base(stage).0 },
        22 => {
            let why = [UnfinishedReason::Accepted, UnfinishedReason::Fenced, UnfinishedReason::Isolated];
            FrameBody::Unfinished { base: base(stage).0, why: stage.draw.of(&why) }
        }
        23 => FrameBody::Install(changes::installation(stage)),
        24 => FrameBody::ViewRequest { held: base(stage).0 },
        _ => {
            let (view, holder) = (base(stage).0, stage.id());
            FrameBody::Admitted { view, holder, endpoint: cast::member(n).endpoint }
        }
    }
}

fn about_fences(stage: &mut Stage<'_>, kind: usize) -> FrameBody {
    if kind == 0 {
        let accusation = datagrams::accusation(stage);
        return FrameBody::SuspectMembers { accusation, requests: datagrams::accused(stage) };
    }
    let ((base, base_digest), member, check) = (base(stage), stage.id(), datagrams::check(stage));
    match kind {
        1 => {
            let count = stage.draw.of(&[1, 1, 2, 3, 0, 20]);
            let mut members = vec![FenceTarget { member, check, age: datagrams::any_span(stage) }];
            for _ in 1..count {
                members.push(FenceTarget { member: stage.id(), check, age: datagrams::any_span(stage) });
            }
            FrameBody::Fence { base, base_digest, members }
        }
        2 => FrameBody::Fenced { base, member, check },
        3 => FrameBody::NotYet { base, member, check, left: datagrams::any_span(stage) },
        _ => FrameBody::Heard { base, member, check },
    }
}

fn about_founding(stage: &mut Stage<'_>, kind: usize) -> FrameBody {
    let cluster_name = cast::text(&mut stage.draw);
    match kind {
        5 => FrameBody::FindCoordinator { cluster_name, asker: stage.id() },
        6 => FrameBody::Coordinator(datagrams::cluster_info(stage)),
        7 => {
            let ballot = found_ballot(stage);
            FrameBody::FoundPromise { cluster_name, ballot, all_young: stage.draw.one_in(2) }
        }
        8 => {
            let ballot = found_ballot(stage);
            let accepted =
                if stage.draw.one_in(2) { Some((found_ballot(stage), founder(stage))) } else { None };
            FrameBody::FoundPromised { ballot, accepted }
        }
        9 => FrameBody::FoundAccept { cluster_name, ballot: found_ballot(stage), founder: founder(stage) },
        10 => FrameBody::FoundAccepted { ballot: found_ballot(stage) },
        _ => {
            let ballot = found_ballot(stage);
            let promised = if stage.draw.one_in(2) { Some(found_ballot(stage)) } else { None };
            FrameBody::FoundRefused { ballot, promised }
        }
    }
}

fn found_ballot(stage: &mut Stage<'_>) -> FoundBallot {
    let own = stage.said.found_ballots.pick(&mut stage.draw).filter(|_| stage.draw.one_in(2));
    own.unwrap_or_else(|| FoundBallot { round: round(stage), proposer: stage.id() })
}

fn round(stage: &mut Stage<'_>) -> u32 {
    stage.draw.of(&[1, 0, 2, 3, 4, 10, u32::MAX - 1, u32::MAX])
}

fn founder(stage: &mut Stage<'_>) -> Founder {
    let n = stage.draw.below(cast::ALL);
    let cluster = if stage.draw.one_in(2) { cast::any_cluster(&mut stage.draw) } else { cast::CLUSTER };
    Founder { cluster, member: cast::id_of(n), endpoint: Endpoint::single(cast::address_of(n)) }
}

fn about_membership(stage: &mut Stage<'_>, kind: usize, n: usize) -> FrameBody {
    match kind {
        12 => {
            let member = changes::record(stage);
            let mut timing = TimingOverrides::default();
            if stage.draw.one_in(8) {
                timing.member_timeout = Some(datagrams::any_span(stage));
            }
            let asked_in = ViewId(stage.view_number());
            FrameBody::Join { cluster_name: cast::text(&mut stage.draw), member, timing, asked_in }
        }
        13 => FrameBody::JoinRefused { reason: join_refusal(stage) },
        14 => FrameBody::Leave { member: if stage.draw.one_in(4) { stage.id() } else { cast::id_of(n) } },
        _ => {
            let (member, reason) = (stage.id(), cast::long_text(&mut stage.draw));
            FrameBody::Remove { member, reason, by: cast::long_text(&mut stage.draw) }
        }
    }
}

fn join_refusal(stage: &mut Stage<'_>) -> JoinRefusal {
    let text = cast::text(&mut stage.draw);
    match stage.draw.below(10) {
        0 => JoinRefusal::Busy,
        1 => JoinRefusal::Isolated,
        2 => JoinRefusal::NameHeldBySilent(text),
        3 => JoinRefusal::Unreachable(text),
        4 => JoinRefusal::ClusterName(text),
        5 => JoinRefusal::NameInUse(text),
        6 => JoinRefusal::AddressInUse(text),
        7 => JoinRefusal::Record(text),
        8 => JoinRefusal::TooHeavy { joiner: u32::MAX, cluster: 0 },
        _ => JoinRefusal::IdInUse,
    }
}

fn about_agreement(stage: &mut Stage<'_>, kind: usize, n: usize) -> FrameBody {
    let (base, base_digest) = base(stage);
    let ballot = ballot(stage, n);
    match kind {
        16 => {
            let mut verdicts: Vec<(MemberId, Verdict)> = Vec::new();
            for _ in 0..stage.draw.below(5) {
                let verdict = stage.draw.of(&[Verdict::Gone, Verdict::Silent, Verdict::Alive]);
                verdicts.push((stage.id(), verdict));
            }
            FrameBody::Promise { ballot, base, base_digest, verdicts }
        }
        17 => {
            let mut accepted = None;
            if stage.draw.one_in(2) {
                accepted = Some((self::ballot(stage, n), changes::any_change(stage)));
            }
            FrameBody::Promised { ballot, base, accepted }
        }
        18 => FrameBody::Prepare { ballot, change: changes::any_change(stage) },
        19 => FrameBody::Accepted { ballot, base },
        _ => {
            let why = match stage.draw.below(3) {
                0 => Refusal::Promised(self::ballot(stage, n)),
                1 => Refusal::OtherView(base),
                _ => Refusal::Protected(datagrams::any_span(stage)),
            };
            FrameBody::Refused { ballot, base, why }
        }
    }
}

/// A ballot: one of the node's, one that `n` may use, or any.
fn ballot(stage: &mut Stage<'_>, n: usize) -> Ballot {
    let place = stage.node.view().and_then(|view| view.office_place(&cast::id_of(n))).unwrap_or(9);
    let place = u32::try_from(place).expect("a small view");
    match stage.draw.below(4) {
        0 => stage.said.ballots.pick(&mut stage.draw).unwrap_or(Ballot { round: 0, place }),
        1 if place == 0 => Ballot { round: 0, place },
        1 | 2 => Ballot { round: round(stage), place },
        _ => Ballot { round: round(stage), place: u32::from(stage.draw.byte()) },
    }
}

/// The number and digest of the node's view, or of another.
fn base(stage: &mut Stage<'_>) -> (ViewId, Digest) {
    let held =
        stage.node.view().map_or_else(|| (ViewId(0), Digest::default()), |view| (view.id(), view.digest()));
    match stage.draw.below(6) {
        4 => (ViewId(stage.draw.number(held.0.0)), held.1),
        5 => (held.0, cast::any_digest(&mut stage.draw)),
        _ => held,
    }
}
