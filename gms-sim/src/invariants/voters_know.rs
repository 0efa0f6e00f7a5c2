//! Who accepts its own removal by a verdict is isolated before it says so (vw-17).

use std::collections::BTreeMap;

use gms_core::member::ClusterTag;
use gms_core::message::{Ballot, FrameBody};
use gms_core::runtime::StepKind;
use gms_core::view::{Change, ViewId};

use crate::world::{Look, Observer};

/// Proposals remembered.
const BALLOTS_MAX: usize = 1_024;

/// Remembers proposals that remove somebody.
#[derive(Debug, Default)]
pub(crate) struct VotersKnow {
    proposals: BTreeMap<(ClusterTag, ViewId, Ballot), Change>,
}

impl VotersKnow {
    fn accepted(&self, look: Look<'_>, by: usize, vote: (ClusterTag, ViewId, Ballot)) -> Result<(), String> {
        let process = &look.processes[by];
        let me = process.member();
        let change = self.proposals.get(&vote).filter(|change| change.removes_crashed(&me.id));
        let left = process.node().connected_until().since(process.clock.local(look.now));
        if change.is_none() || left.is_zero() {
            return Ok(());
        }
        Err(format!("{} votes for its own removal from view {} and counts itself connected", me.name, vote.1))
    }
}

impl Observer for VotersKnow {
    fn name(&self) -> &'static str {
        "who votes itself out is isolated"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::SentFrame { frame, .. } = kind else { return Ok(()) };
        let cluster = frame.head.cluster;
        match &frame.body {
            FrameBody::Prepare { ballot, change } if !change.crashed.is_empty() => {
                self.proposals.insert((cluster, change.base, *ballot), change.clone());
                if self.proposals.len() > BALLOTS_MAX {
                    self.proposals.pop_first();
                }
                Ok(())
            }
            FrameBody::Accepted { ballot, base } => self.accepted(look, by, (cluster, *base, *ballot)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use gms_core::evidence::Verdict;

    use super::super::testing::{T, evidence, formed, removal, view};
    use super::*;
    use crate::scenario::Fault;

    #[test]
    fn a_vote_for_the_own_removal_by_one_that_is_connected_is_seen() {
        let mut world = formed(3);
        let base = view(&world);
        let vote = (base.cluster().tag(), base.id(), Ballot { round: 0, place: 0 });
        let mut observer = VotersKnow::default();
        observer.proposals.insert(vote, removal(&world, evidence(&world, Verdict::Gone)));
        assert_eq!(observer.accepted(world.look(), 1, vote), Ok(()));
        let error = observer.accepted(world.look(), 2, vote).unwrap_err();
        assert!(error.starts_with("m2 votes for its own removal"), "{error}");
        world.inflict(Fault::Down { host: 2 });
        world.run_for(T * 5 / 4);
        assert_eq!(observer.accepted(world.look(), 2, vote), Ok(()));
    }
}
