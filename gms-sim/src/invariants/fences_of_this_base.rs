//! A removal for silence names fences that were granted in its own base (vw-21).

use std::collections::BTreeSet;

use gms_core::MemberId;
use gms_core::evidence::Verdict;
use gms_core::member::ClusterTag;
use gms_core::message::FrameBody;
use gms_core::runtime::StepKind;
use gms_core::view::{Change, ViewId};

use crate::world::{Look, Observer};

/// Grants remembered: those of bases long past are forgotten.
const GRANTS_MAX: usize = 8_192;

/// Follows grants. What a proposer says to itself is not seen and is supposed.
#[derive(Debug, Default)]
pub(crate) struct FencesOfThisBase {
    granted: BTreeSet<(ClusterTag, ViewId, MemberId, MemberId)>,
}

impl FencesOfThisBase {
    fn proposed(&self, look: Look<'_>, cluster: ClusterTag, change: &Change) -> Result<(), String> {
        let name = |id: &MemberId| look.process_of(id).map(|index| &look.processes[index].member().name);
        for removed in change.crashed.iter().filter(|c| c.evidence.verdict == Verdict::Silent) {
            let subject = removed.member;
            let voters = removed.evidence.fenced_by.iter().filter(|id| **id != removed.evidence.checker);
            let mut missing =
                voters.filter(|id| !self.granted.contains(&(cluster, change.base, subject, **id)));
            if let Some(missing) = missing.next() {
                let (voter, subject, base) = (name(missing), name(&subject), change.base);
                return Err(format!("{voter:?} is said to have voted in view {base} to remove {subject:?}"));
            }
        }
        Ok(())
    }
}

impl Observer for FencesOfThisBase {
    fn name(&self) -> &'static str {
        "fences count in their base"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::SentFrame { frame, .. } = kind else { return Ok(()) };
        let cluster = frame.head.cluster;
        match &frame.body {
            FrameBody::Fenced { base, member, .. } => {
                self.granted.insert((cluster, *base, *member, look.processes[by].member().id));
                if self.granted.len() > GRANTS_MAX {
                    self.granted.pop_first();
                }
                Ok(())
            }
            FrameBody::Prepare { change, .. } => self.proposed(look, cluster, change),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{evidence, formed, id, removal, view};
    use super::*;

    #[test]
    fn a_vote_that_nobody_cast_is_seen() {
        let world = formed(4);
        let base = view(&world);
        let change = removal(&world, evidence(&world, Verdict::Silent));
        let cluster = base.cluster().tag();
        let mut observer = FencesOfThisBase::default();
        let error = observer.proposed(world.look(), cluster, &change).unwrap_err();
        assert!(error.contains("is said to have voted"), "{error}");
        for voter in 1..3 {
            observer.granted.insert((cluster, base.id(), id(&world, 3), id(&world, voter)));
        }
        assert_eq!(observer.proposed(world.look(), cluster, &change), Ok(()));
    }
}
