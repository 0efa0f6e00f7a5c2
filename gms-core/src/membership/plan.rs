//! What the next change is made of: joins, leaves, removals and verdicts, collected into one.

use std::sync::Arc;
use std::time::Duration;

use crate::evidence::{Evidence, FENCES_MAX};
use crate::member::{Member, MemberId};
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::{Change, Crashed};

use super::fencing::{FenceState, Fencing, last_contact};
use super::history::History;
use super::proposer::Plan;
use super::requests::Queue;

/// A verdict that stands: the member is to be removed.
#[derive(Clone, Debug)]
pub(crate) struct Condemned {
    pub(crate) member: MemberId,
    pub(crate) evidence: Arc<Evidence>,
    /// Whether there is proof that its process is gone, so that no fence is needed.
    pub(crate) gone: bool,
}

/// Everything that wants to be in the next change.
#[derive(Clone, Copy)]
pub(crate) struct Agenda<'a> {
    pub(crate) queue: &'a Queue,
    pub(crate) condemned: &'a [Condemned],
    pub(crate) joiners: &'a [Arc<Member>],
    pub(crate) fencing: &'a Fencing,
    pub(crate) history: &'a History,
    /// Until when other running final checks are likely to prove that their members are gone.
    pub(crate) proof_expected_until: Option<Timestamp>,
    /// The end of the last running final check that can still end before a given moment.
    pub(crate) check_ends_before: &'a dyn Fn(Timestamp) -> Option<Timestamp>,
}

/// The change to propose now, or what to wait for.
//= docs/protocol.md#vw-1
pub(crate) fn build(scene: Scene<'_>, agenda: Agenda<'_>) -> Plan {
    let mut change = Change::empty(scene.view);
    let leaves = agenda.queue.leavers().iter().filter(|id| scene.view.contains(id));
    change.left = leaves.copied().collect();
    for expelled in agenda.queue.removals() {
        if scene.view.contains(&expelled.member) && !change.removes(&expelled.member) {
            change.expelled.push(expelled.clone());
        }
    }
    let mut silent = Vec::new();
    for condemned in agenda.condemned {
        if !scene.view.contains(&condemned.member) || change.removes(&condemned.member) {
            continue;
        }
        if condemned.gone {
            change.crashed.push(crashed(condemned, &[]));
        } else {
            silent.push(condemned);
        }
    }
    let only_gone = !change.crashed.is_empty() && change.left.is_empty() && change.expelled.is_empty();
    let another = agenda.proof_expected_until.filter(|until| only_gone && *until > scene.now);
    if let Some(until) = another {
        // Processes killed together are proved gone within moments of each other, and leave in one view.
        return Plan::Wait(Some(until));
    }
    // A change in which two have one name or address applies to no view, and a ballot's value is never replaced.
    let fits = |joiner: &&Arc<Member>| !clashes(scene, &change, joiner);
    change.joined = agenda.joiners.iter().filter(fits).cloned().collect();
    let prompt = !change.is_empty() || agenda.queue.is_finish_due() || agenda.fencing.is_lift_due();
    let silences = add_silent(scene, agenda, &silent, &mut change, prompt);
    keep_somebody(scene, &mut change);
    match silences {
        _ if prompt => Plan::Ready(change),
        Silences::None => Plan::Nothing,
        Silences::Ready => Plan::Ready(change),
        Silences::Wait(until) => Plan::Wait(until),
    }
}

/// Whether somebody who stays after `change` has the name or the address of `joiner`.
fn clashes(scene: Scene<'_>, change: &Change, joiner: &Member) -> bool {
    let mut members = scene.view.members().iter().map(|m| &m.member);
    members.any(|m| {
        let is_same = m.name == joiner.name || m.endpoint.addr == joiner.endpoint.addr;
        is_same && !change.removes(&m.id)
    })
}

enum Silences {
    None,
    Ready,
    Wait(Option<Timestamp>),
}

/// Adds what is fenced. Without anything prompt in the change it waits for answers to fences that are on their way, and
/// for checks that can end before the first silence reaches 1.5 T, so that members lost together leave together.
fn add_silent(
    scene: Scene<'_>,
    agenda: Agenda<'_>,
    silent: &[&Condemned],
    change: &mut Change,
    prompt: bool,
) -> Silences {
    if silent.is_empty() {
        return Silences::None;
    }
    let mut limit = Timestamp::FAR_FUTURE;
    let mut settling = None;
    let mut pending = None;
    for condemned in silent {
        match agenda.fencing.state(scene, agenda.history, &condemned.member) {
            FenceState::Ready => {
                let since = last_contact(scene.contacts, &condemned.member);
                limit = limit.min(since + patience(scene));
                change.crashed.push(crashed(condemned, agenda.fencing.granted_by(&condemned.member)));
            }
            FenceState::Settling(until) => {
                settling = Some(settling.map_or(until, |at: Timestamp| at.min(until)));
            }
            FenceState::Pending(until) => pending = Some(until),
            FenceState::Open => {}
        }
    }
    if limit == Timestamp::FAR_FUTURE {
        return Silences::Wait(settling);
    }
    if prompt {
        return Silences::Ready;
    }
    if let Some(until) = pending {
        return Silences::Wait(Some(until));
    }
    match (agenda.check_ends_before)(limit) {
        Some(ends) if ends > scene.now => Silences::Wait(Some(ends)),
        Some(_) | None => Silences::Ready,
    }
}

fn patience(scene: Scene<'_>) -> Duration {
    scene.timing().member_timeout * 3 / 2
}

fn crashed(condemned: &Condemned, granted: &[MemberId]) -> Crashed {
    let mut evidence = Evidence::clone(&condemned.evidence);
    evidence.fenced_by = granted.iter().take(FENCES_MAX).copied().collect();
    Crashed { member: condemned.member, evidence: Arc::new(evidence) }
}

/// A view has somebody in it: where everyone leaves at once, this member stays for one view more.
fn keep_somebody(scene: Scene<'_>, change: &mut Change) {
    let everyone_goes = scene.view.members().iter().all(|m| change.removes(&m.member.id));
    if everyone_goes && change.joined.is_empty() {
        change.left.retain(|id| !scene.is_me(id));
        change.expelled.retain(|e| !scene.is_me(&e.member));
    }
}

#[cfg(test)]
mod tests;
