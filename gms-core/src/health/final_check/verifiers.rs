//! Who is asked to look for itself during a final check.

use fastrand::Rng;

use crate::hubs;
use crate::member::MemberId;
use crate::scene::Scene;

use super::Order;

/// Able members that get the suspect's heartbeats, in view order, where not everybody does and they are enough.
//= docs/protocol.md#lv-4
fn listeners(
    scene: Scene<'_>,
    suspect: &MemberId,
    wanted: usize,
    is_able: &dyn Fn(&MemberId) -> bool,
) -> Option<Vec<MemberId>> {
    let places = hubs::recipients(scene.view, scene.view.place(suspect)?)?;
    let ids = places.iter().map(|place| scene.view.members()[*place].member.id);
    let able: Vec<MemberId> = ids.filter(|id| !scene.is_me(id) && is_able(id)).collect();
    (able.len() >= wanted).then_some(able)
}

/// Members in contact that are neither suspect nor accuser; where they are too few, as in a view of three, accusers
/// too. In view order, taken from a random place on, so that many checks at once ask many.
//= docs/protocol.md#fd-19
pub(super) fn choose(scene: Scene<'_>, order: &Order<'_>, rng: &mut Rng) -> Vec<MemberId> {
    let wanted = usize::from(scene.timing().verifiers);
    let is_accuser = |id: &MemberId| order.accusations.iter().any(|a| a.by == *id);
    let is_able = |id: &MemberId| {
        let recent =
            |r: &crate::health::contacts::Record| r.silence(scene.now) <= scene.timing().short_silence();
        *id != order.suspect && !(order.is_suspect)(id) && scene.contacts.get(id).is_some_and(recent)
    };
    let able: Vec<MemberId> = listeners(scene, &order.suspect, wanted, &is_able)
        .unwrap_or_else(|| scene.others().map(|m| m.id).filter(is_able).collect());
    let (accusers, mut others): (Vec<_>, Vec<_>) = able.into_iter().partition(is_accuser);
    if others.len() > wanted {
        let first = rng.usize(..others.len());
        others.rotate_left(first);
        others.truncate(wanted);
    }
    let missing = wanted - others.len();
    others.extend(accusers.into_iter().take(missing));
    others
}
