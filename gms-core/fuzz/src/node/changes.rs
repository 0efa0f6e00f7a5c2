//! Changes, views and what belongs to them: most fit the node's view, some are bent.

use std::sync::Arc;

use gms_core::codec;
use gms_core::config::Timing;
use gms_core::evidence::{Accusation, Evidence, Finding, ProbeOutcome, Verdict, VerifierReport};
use gms_core::member::{Member, MemberId, Weight};
use gms_core::message::{Decided, Frame, FrameBody, Head, Installation};
use gms_core::view::{Change, Crashed, Expelled, View, ViewId};

use super::stage::Stage;
use super::{cast, datagrams};

/// The view that the others hold: the node's, or one that it may join.
fn base(stage: &mut Stage<'_>) -> View {
    match stage.node.view() {
        Some(view) => View::clone(view),
        None => {
            let timing = stage.timing();
            let n = 1 + stage.draw.below(cast::ALL - 1);
            View::founding(cast::CLUSTER, cast::CLUSTER_NAME.into(), timing, cast::member(n))
        }
    }
}

/// A change of the node's view: one that it proposed, or another.
pub fn any_change(stage: &mut Stage<'_>) -> Change {
    if stage.draw.one_in(4)
        && let Some(change) = stage.said.changes.pick(&mut stage.draw)
    {
        return change;
    }
    let base = base(stage);
    change_of(stage, &base)
}

fn change_of(stage: &mut Stage<'_>, base: &View) -> Change {
    let mut change = Change::empty(base);
    for _ in 0..=stage.draw.below(3) {
        match stage.draw.below(6) {
            0 => change.joined.push(record(stage).into()),
            1 => change.left.push(stage.id()),
            2 | 3 => {
                let member = member_of(stage, base);
                let evidence = Arc::new(evidence(stage));
                change.crashed.push(Crashed { member, evidence });
            }
            4 => {
                let member = member_of(stage, base);
                let reason = cast::text(&mut stage.draw);
                change.expelled.push(Expelled { member, reason, by: String::from("m1") });
            }
            _ => {}
        }
    }
    if stage.draw.one_in(8) {
        change.base = ViewId(stage.draw.number(change.base.0));
    }
    if stage.draw.one_in(12) {
        change.base_digest = cast::any_digest(&mut stage.draw);
    }
    change
}

/// A member of the view; seldom the node itself, which would end the run.
fn member_of(stage: &mut Stage<'_>, base: &View) -> MemberId {
    let place = stage.draw.below(base.len());
    let found = base.members()[place].member.id;
    let is_me = found == stage.node.me().id;
    if is_me && !stage.draw.one_in(4) { cast::id_of(1) } else { found }
}

/// Somebody's record, now and then out of bounds.
pub fn record(stage: &mut Stage<'_>) -> Member {
    let n = stage.draw.below(cast::ALL);
    let mut member = cast::member(n);
    match stage.draw.below(16) {
        12 => member.name = cast::text(&mut stage.draw),
        13 => member.weight = Weight::new(stage.draw.byte() % 101).expect("within bounds"),
        14 => member.tags = vec![(cast::text(&mut stage.draw), String::from("v")); stage.draw.below(18)],
        15 => member.endpoint.check_addr.set_port(0),
        _ => {}
    }
    member
}

fn evidence(stage: &mut Stage<'_>) -> Evidence {
    let probes = [None, Some(ProbeOutcome::Refused), Some(ProbeOutcome::TimedOut), Some(ProbeOutcome::Ok)];
    let accusation = |stage: &mut Stage<'_>| Accusation {
        by: stage.id(),
        reason: datagrams::reason(stage),
        silent_for: datagrams::any_span(stage),
        age: datagrams::any_span(stage),
    };
    let many = if stage.draw.one_in(32) { 300 } else { 1 };
    let accusations = vec![accusation(stage); many];
    Evidence {
        checker: stage.id(),
        reason: datagrams::reason(stage),
        accusations,
        more_accusations: u32::from(stage.draw.byte()),
        silent_for: datagrams::any_span(stage),
        check_took: datagrams::any_span(stage),
        requests_sent: stage.draw.byte(),
        probe: stage.draw.of(&probes),
        verifiers: vec![VerifierReport { by: stage.id(), finding: Some(Finding::Refused) }],
        verdict: stage.draw.of(&[Verdict::Gone, Verdict::Silent, Verdict::Alive]),
        fenced_by: vec![stage.id()],
    }
}

/// What an install carries: changes of the node's view and of those that follow, or a whole view.
pub fn installation(stage: &mut Stage<'_>) -> Installation {
    let mut view = base(stage);
    let mut changes = Vec::new();
    let is_whole = stage.draw.one_in(2);
    for _ in 0..=stage.draw.below(4) {
        let change = change_of(stage, &view);
        let digest = change.digest();
        if let Ok(next) = view.apply(&change) {
            view = next;
        }
        let digest = if stage.draw.one_in(12) { cast::any_digest(&mut stage.draw) } else { digest };
        changes.push(Decided { change, digest });
    }
    if is_whole { Installation::Whole(Box::new(whole(stage, view))) } else { Installation::Changes(changes) }
}

/// A view as it arrives whole: as it is, with the node in it, or forged.
fn whole(stage: &mut Stage<'_>, view: View) -> View {
    let me = stage.node.me().clone();
    let mut view = view;
    if !view.contains(&me.id) {
        let mut change = Change::empty(&view);
        change.joined.push(me.into());
        view = view.apply(&change).unwrap_or(view);
    }
    match stage.draw.below(6) {
        4 => {
            let number = stage.draw.number(view.number());
            forged(&view, number)
        }
        5 => {
            let mut timing = Timing::clone(view.timing());
            timing.member_timeout = datagrams::any_span(stage);
            View::founding(view.cluster(), cast::text(&mut stage.draw), timing, stage.node.me().clone())
        }
        _ => view,
    }
}

/// `view` with another number, as only a forger makes it: on the wire.
fn forged(view: &View, number: u64) -> View {
    let held = encoded(FrameBody::ViewRequest { held: ViewId(0) });
    let head_bytes = held.len() - 2;
    let mut bytes = encoded(FrameBody::Install(Installation::Whole(Box::new(view.clone()))));
    // After the head: the kind of the frame, the variant of the installation, the number.
    let at = head_bytes + 2;
    let form =
        |number: u64| encoded(FrameBody::ViewRequest { held: ViewId(number) })[head_bytes + 1..].to_vec();
    bytes.splice(at..at + form(view.number()).len(), form(number));
    match codec::decode_frame(&bytes).map(|frame| frame.body) {
        Ok(FrameBody::Install(Installation::Whole(forged))) => *forged,
        other => panic!("the place of the number is another: {other:?}"),
    }
}

fn encoded(body: FrameBody) -> Vec<u8> {
    let head = Head {
        cluster: cast::CLUSTER.tag(),
        sender: cast::id_of(1).short(),
        recipient: cast::id_of(0).short(),
        view: ViewId(1),
        accepted: None,
        flags: Default::default(),
        number: 0,
        echo: None,
        quorate_for_ms: None,
    };
    let mut bytes = Vec::new();
    codec::encode_frame(&Frame { head, body }, &mut bytes).expect("a small view");
    bytes
}
