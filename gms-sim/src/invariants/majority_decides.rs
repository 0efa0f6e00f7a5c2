//! A view comes to be only when more than half of its base's weight has accepted it under one ballot (p-4, vw-3).

use std::collections::{BTreeMap, BTreeSet};

use gms_core::member::ClusterTag;
use gms_core::message::{Ballot, FrameBody};
use gms_core::runtime::StepKind;
use gms_core::view::{Digest, ViewId};
use gms_core::{Event, MemberId, View, quorum};

use crate::world::{Look, Observer};

use super::views::Views;

/// Ballots remembered: those of bases long past are forgotten.
const BALLOTS_MAX: usize = 4_096;

type Key = (ClusterTag, ViewId, Ballot);

/// Follows proposals and acceptances as members send them. What a proposer says to itself is not seen and is supposed.
#[derive(Debug, Default)]
pub(crate) struct MajorityDecides {
    views: Views,
    proposals: BTreeMap<Key, (Digest, MemberId)>,
    accepted: BTreeMap<Key, BTreeSet<MemberId>>,
}

impl MajorityDecides {
    fn decided(&self, look: Look<'_>, by: usize, view: &View) -> Result<(), String> {
        let Some(base) = self.views.base_of(view) else { return Ok(()) };
        let is_enough = |holds: &dyn Fn(&MemberId) -> bool| {
            quorum::is_majority(quorum::weight_of(base, holds), base.weight())
        };
        let me = look.processes[by].member();
        if is_enough(&|id| *id == me.id) {
            return Ok(());
        }
        let ballots = self.proposals.iter().filter(|((cluster, id, _), (digest, _))| {
            *cluster == view.cluster().tag() && *id == base.id() && *digest == view.digest()
        });
        let mut most = 0;
        for (key, (_, proposer)) in ballots {
            let accepted = self.accepted.get(key);
            let counts = |id: &MemberId| id == proposer || accepted.is_some_and(|by| by.contains(id));
            if is_enough(&counts) {
                return Ok(());
            }
            most = most.max(quorum::weight_of(base, counts));
        }
        let (name, number, whole) = (&me.name, view.id(), base.weight());
        Err(format!("{name} installed view {number}, which {most} of {whole} had accepted"))
    }
}

impl Observer for MajorityDecides {
    fn name(&self) -> &'static str {
        "only a majority of the base decides"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::SentFrame { frame, .. } => {
                let (cluster, me) = (frame.head.cluster, look.processes[by].member().id);
                match &frame.body {
                    FrameBody::Prepare { ballot, change } => {
                        let key = (cluster, change.base, *ballot);
                        self.proposals.entry(key).or_insert_with(|| (change.digest(), me));
                        if self.proposals.len() > BALLOTS_MAX {
                            self.proposals.pop_first();
                        }
                    }
                    FrameBody::Accepted { ballot, base } => {
                        self.accepted.entry((cluster, *base, *ballot)).or_default().insert(me);
                        if self.accepted.len() > BALLOTS_MAX {
                            self.accepted.pop_first();
                        }
                    }
                    _ => {}
                }
            }
            StepKind::Event(Event::ViewInstalled(change)) if self.views.note(&change.view) => {
                return self.decided(look, by, &change.view);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gms_core::evidence::Verdict;

    use super::super::testing::{evidence, first, formed, installed, removal, view};
    use super::*;

    #[test]
    fn a_view_that_nobody_accepted_is_seen() {
        let world = formed(3);
        let (look, base) = (world.look(), view(&world));
        let next = installed(&base, &removal(&world, evidence(&world, Verdict::Silent)));
        let mut observer = MajorityDecides::default();
        observer.step(look, 0, &StepKind::Event(&first(&base))).unwrap();
        let error = observer.step(look, 0, &StepKind::Event(&next)).unwrap_err();
        assert!(error.ends_with("which 0 of 35 had accepted"), "{error}");
    }
}
