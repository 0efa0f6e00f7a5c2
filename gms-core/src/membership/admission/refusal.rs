//! Why a join is refused before anything is queued, as pure functions of the join and the view.

use crate::member::{Member, canonical};
use crate::message::JoinRefusal;
use crate::scene::Scene;
use crate::time::Timestamp;

use super::Join;

use std::time::Duration;

/// What is wrong with a join whoever is asked: the cluster meant, the record, the timing.
//= docs/protocol.md#vw-11
pub(super) fn of_stranger(scene: Scene<'_>, join: &Join<'_>) -> Option<JoinRefusal> {
    if join.cluster_name != scene.view.cluster_name() {
        return Some(JoinRefusal::ClusterName(scene.view.cluster_name().to_owned()));
    }
    if let Some(fault) = join.member.fault() {
        return Some(JoinRefusal::Record(fault.to_string()));
    }
    join.timing.conflict(scene.timing()).map(JoinRefusal::Timing)
}

/// What keeps the acting coordinator from queueing a joiner, or from keeping it queued, that asked first at `since`.
//= docs/protocol.md#vw-11
pub(super) fn of_joiner(scene: Scene<'_>, joiner: &Member, since: Timestamp) -> Option<JoinRefusal> {
    if scene.isolated {
        return Some(JoinRefusal::Isolated);
    }
    let (weight, whole) = (u32::from(joiner.weight.get()), scene.view.weight());
    if scene.view.len() > 1 && weight > whole {
        return Some(JoinRefusal::TooHeavy { joiner: weight, cluster: whole });
    }
    if scene.view.by_short(joiner.id.short()).is_some() {
        return Some(JoinRefusal::IdInUse);
    }
    let mut holders = scene.view.members().iter().map(|m| &*m.member).filter(|m| share_address(m, joiner));
    let holder = holders.next();
    // One member's restart is checked; nobody restarts as two, and this process knows that it lives.
    if holders.next().is_some() || holder.is_some_and(|m| scene.is_me(&m.id)) {
        return Some(JoinRefusal::AddressInUse(joiner.endpoint.addr.to_string()));
    }
    of_name(scene, joiner, since)
}

/// The member that has the joiner's name and not its address.
pub(super) fn namesake<'a>(scene: Scene<'a>, joiner: &Member) -> Option<&'a Member> {
    scene.view.by_name(&joiner.name).filter(|m| !share_address(m, joiner))
}

/// The name is taken for good where its owner lives beside the joiner: it spoke in answer to something that was sent after
/// the joiner asked. What was heard before says nothing, for a process that died and came back was heard a moment ago.
//= docs/protocol.md#vw-11
pub(super) fn of_name(scene: Scene<'_>, joiner: &Member, since: Timestamp) -> Option<JoinRefusal> {
    let namesake = namesake(scene, joiner)?;
    let record = scene.contacts.get(&namesake.id);
    let name = || joiner.name.clone();
    let before = since - Duration::from_nanos(1);
    if scene.is_me(&namesake.id) || record.is_some_and(|r| r.is_proved_after(before)) {
        return Some(JoinRefusal::NameInUse(name()));
    }
    let is_silent = record.is_some_and(|r| r.silence(scene.now) > scene.timing().short_silence());
    is_silent.then(|| JoinRefusal::NameHeldBySilent(name()))
}

/// Whether two records name the same address for datagrams or for streams.
pub(super) fn share_address(a: &Member, b: &Member) -> bool {
    canonical(a.endpoint.addr) == canonical(b.endpoint.addr)
        || canonical(a.endpoint.check_addr) == canonical(b.endpoint.check_addr)
}

/// Whether a joiner can't be in one view with these.
pub(super) fn clashes<'a>(others: impl IntoIterator<Item = &'a Member>, joiner: &Member) -> bool {
    others
        .into_iter()
        .any(|m| m.id.short() == joiner.id.short() || m.name == joiner.name || share_address(m, joiner))
}
