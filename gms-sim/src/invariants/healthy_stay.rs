//! No member is removed for silence that a majority has heard all the time (p-3), nor, where hubs speak for all, one that a
//! hub of the majority has heard as well (lv-3): of the others it need not be heard for R.

use std::collections::BTreeMap;

use gms_core::event::ViewChange;
use gms_core::evidence::Verdict;
use gms_core::member::ClusterTag;
use gms_core::message::FrameBody;
use gms_core::runtime::StepKind;
use gms_core::view::ViewId;
use gms_core::{Event, Member, MemberId, Timestamp, View, hubs, quorum};

use crate::world::{Look, Observer};

use super::views::Views;

/// Remembers when each removal began: with the first question for a fence in its base, or with a verdict.
#[derive(Debug, Default)]
pub(crate) struct HealthyStay {
    views: Views,
    asked: BTreeMap<(ClusterTag, ViewId, MemberId), Timestamp>,
    verdicts: BTreeMap<MemberId, Timestamp>,
}

impl HealthyStay {
    fn installed(&self, look: Look<'_>, change: &ViewChange) -> Result<(), String> {
        let Some(base) = self.views.base_of(&change.view) else { return Ok(()) };
        let silent = change.crashed.iter().filter(|r| r.evidence.verdict == Verdict::Silent);
        for removed in silent {
            let subject = removed.member.id;
            let (Some(process), Some(begun)) = (look.process_of(&subject), self.begun(base, &subject)) else {
                continue;
            };
            if !look.processes[process].is_up() {
                continue;
            }
            let steady_from = begun - base.timing().removal_silence();
            let heard = |id: &MemberId| {
                let hearer = look.process_of(id).filter(|_| *id != subject);
                let since = hearer.and_then(|by| look.truth.heard_steadily_since(by, process, look.now));
                since.is_some_and(|since| since <= steady_from)
            };
            let stays_in_hearing = |hub: &Member| change.view.contains(&hub.id) && heard(&hub.id);
            let by_hubs = !hubs::borrows(base, &subject) || hubs::first_in_office(base).any(stays_in_hearing);
            let weight = quorum::weight_of(base, heard);
            if by_hubs && quorum::is_majority(weight, base.weight()) {
                let (name, number, whole) = (&removed.member.name, change.view.id(), base.weight());
                return Err(format!(
                    "{name} is out of view {number} for silence; members weighing {weight} of {whole} have heard it \
                     without a gap since {:?}",
                    steady_from
                ));
            }
        }
        Ok(())
    }

    /// When the removal of `subject` in `base` began.
    fn begun(&self, base: &View, subject: &MemberId) -> Option<Timestamp> {
        let asked = self.asked.get(&(base.cluster().tag(), base.id(), *subject));
        asked.or_else(|| self.verdicts.get(subject)).copied()
    }
}

impl Observer for HealthyStay {
    fn name(&self) -> &'static str {
        "no healthy member is removed"
    }

    fn step(&mut self, look: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::SentFrame { frame, .. } => {
                if let FrameBody::Fence { base, members, .. } = &frame.body {
                    for target in members {
                        let key = (frame.head.cluster, *base, target.member);
                        self.asked.entry(key).or_insert(look.now);
                    }
                }
            }
            StepKind::Event(Event::FinalCheckFailed { member, .. }) => {
                self.verdicts.insert(member.id, look.now);
            }
            StepKind::Event(Event::ViewInstalled(change)) if self.views.note(&change.view) => {
                return self.installed(look, change);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gms_core::event::Subject;

    use super::super::testing::{evidence, first, formed, installed, removal, view};
    use super::*;

    #[test]
    fn the_removal_of_a_member_that_everybody_hears_is_seen() {
        let world = formed(4);
        let (look, base) = (world.look(), view(&world));
        let found = evidence(&world, Verdict::Silent);
        let failed = Event::FinalCheckFailed {
            member: Subject::from(world.processes()[3].member()),
            verdict: Verdict::Silent,
            evidence: Arc::new(found.clone()),
        };
        let mut observer = HealthyStay::default();
        observer.step(look, 0, &StepKind::Event(&first(&base))).unwrap();
        observer.step(look, 0, &StepKind::Event(&failed)).unwrap();
        let next = installed(&base, &removal(&world, found));
        let error = observer.step(look, 0, &StepKind::Event(&next)).unwrap_err();
        assert!(error.contains("members weighing 35 of 45 have heard it"), "{error}");
    }
}
