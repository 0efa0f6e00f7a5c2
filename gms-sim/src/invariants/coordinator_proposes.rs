//! In round 0 only the coordinator proposes, everybody proposes in its own place, and a ballot has one value (vw-1, vw-7).

use std::collections::BTreeMap;

use gms_core::Event;
use gms_core::member::ClusterTag;
use gms_core::message::{Ballot, FrameBody};
use gms_core::runtime::StepKind;
use gms_core::view::{Change, Digest, ViewId};

use crate::world::{Look, Observer};

use super::views::Views;

/// Ballots remembered.
const BALLOTS_MAX: usize = 4_096;

/// Remembers what was proposed under each ballot.
#[derive(Debug, Default)]
pub(crate) struct CoordinatorProposes {
    views: Views,
    values: BTreeMap<(ClusterTag, ViewId, Ballot), Digest>,
}

impl CoordinatorProposes {
    fn proposed(
        &mut self,
        look: Look<'_>,
        by: usize,
        cluster: ClusterTag,
        what: (Ballot, &Change),
    ) -> Result<(), String> {
        let (ballot, change) = what;
        let me = look.processes[by].member();
        let digest = change.digest();
        let known = *self.values.entry((cluster, change.base, ballot)).or_insert(digest);
        if self.values.len() > BALLOTS_MAX {
            self.values.pop_first();
        }
        if known != digest {
            return Err(format!(
                "{} proposed a second value under {ballot:?} in view {}",
                me.name, change.base
            ));
        }
        let base = self.views.get(cluster, change.base).filter(|base| base.digest() == change.base_digest);
        let Some(base) = base else { return Ok(()) };
        let place = base.office_place(&me.id);
        if place.and_then(|place| u32::try_from(place).ok()) != Some(ballot.place) {
            return Err(format!(
                "{} proposed in another's place in view {}: {ballot:?}",
                me.name, change.base
            ));
        }
        if ballot.round == 0 && place != Some(0) {
            return Err(format!(
                "{} proposed in round 0 of view {} without being its coordinator",
                me.name,
                base.id()
            ));
        }
        Ok(())
    }
}

impl Observer for CoordinatorProposes {
    fn name(&self) -> &'static str {
        "only the coordinator proposes unasked, and a ballot has one value"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::SentFrame { frame, .. } => match &frame.body {
                FrameBody::Prepare { ballot, change } => {
                    self.proposed(look, by, frame.head.cluster, (*ballot, change))
                }
                FrameBody::Promise { ballot, .. } if ballot.round == 0 => {
                    Err(format!("{} asked for promises in round 0", look.processes[by].member().name))
                }
                _ => Ok(()),
            },
            StepKind::Event(Event::ViewInstalled(change)) => {
                self.views.note(&change.view);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use gms_core::evidence::Verdict;

    use super::super::testing::{evidence, first, formed, id, removal, view};
    use super::*;

    #[test]
    fn only_the_coordinator_may_propose_in_round_0_and_only_once() {
        let world = formed(3);
        let (look, base) = (world.look(), view(&world));
        let cluster = base.cluster().tag();
        let ballot = Ballot { round: 0, place: 0 };
        let coordinator = look.process_of(&base.coordinator().id).unwrap();
        let change = removal(&world, evidence(&world, Verdict::Silent));
        let other = Change { left: vec![id(&world, 2)], ..Change::empty(&base) };
        let mut observer = CoordinatorProposes::default();
        observer.step(look, 0, &StepKind::Event(&first(&base))).unwrap();
        assert_eq!(observer.proposed(look, coordinator, cluster, (ballot, &change)), Ok(()));
        let error = observer.proposed(look, coordinator, cluster, (ballot, &other)).unwrap_err();
        assert!(error.contains("a second value"), "{error}");
        let next = (coordinator + 1) % 3;
        let error = observer.proposed(look, next, cluster, (ballot, &change)).unwrap_err();
        assert!(error.contains("another's place"), "{error}");
        let own =
            Ballot { round: 0, place: u32::try_from(base.office_place(&id(&world, next)).unwrap()).unwrap() };
        let error = observer.proposed(look, next, cluster, (own, &change)).unwrap_err();
        assert!(error.contains("without being its coordinator"), "{error}");
    }
}
