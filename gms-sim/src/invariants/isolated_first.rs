//! Who is removed for silence was isolated before, by its own clock, and never counts itself connected again (p-5).

use std::collections::BTreeMap;

use gms_core::event::ViewChange;
use gms_core::evidence::Verdict;
use gms_core::member::ClusterId;
use gms_core::runtime::StepKind;
use gms_core::view::ViewId;
use gms_core::{Event, Timestamp};

use crate::world::{Look, Observer};

/// Remembers which processes are out of which view, for silence.
#[derive(Debug, Default)]
pub(crate) struct IsolatedFirst {
    out: BTreeMap<usize, (ClusterId, ViewId)>,
}

impl IsolatedFirst {
    fn installed(&mut self, look: Look<'_>, change: &ViewChange) -> Result<(), String> {
        let view = &change.view;
        for removed in change.crashed.iter().filter(|r| r.evidence.verdict == Verdict::Silent) {
            let Some(process) = look.process_of(&removed.member.id) else { continue };
            if self.out.insert(process, (view.cluster(), view.id())).is_none() {
                self.judge(look, process)?;
            }
        }
        Ok(())
    }

    /// Whether a process that is out counts itself connected.
    fn judge(&self, look: Look<'_>, process: usize) -> Result<(), String> {
        let Some((cluster, number)) = self.out.get(&process) else { return Ok(()) };
        let process = &look.processes[process];
        if !process.is_up() || process.view().is_none_or(|view| view.cluster() != *cluster) {
            return Ok(());
        }
        // A stopped process can't say anything, and its clock goes on: its deadline must have passed all the same.
        let until = process.node().connected_until();
        let local = process.clock.local(look.now);
        if until <= local {
            return Ok(());
        }
        let left = if until == Timestamp::FAR_FUTURE {
            String::from("for ever")
        } else {
            format!("for {:?}", until.since(local))
        };
        Err(format!("{} is out of view {number} and counts itself connected {left}", process.member().name))
    }
}

impl Observer for IsolatedFirst {
    fn name(&self) -> &'static str {
        "isolated before removed"
    }

    fn step(&mut self, look: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::ViewInstalled(change)) = kind else { return Ok(()) };
        self.installed(look, change)
    }

    fn handled(&mut self, look: Look<'_>, by: usize, _: usize) -> Result<(), String> {
        if self.out.is_empty() { Ok(()) } else { self.judge(look, by) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, evidence, formed, installed, removal, view};
    use super::*;
    use crate::scenario::Fault;

    #[test]
    fn the_removal_of_a_connected_member_is_seen_and_that_of_an_isolated_one_is_fine() {
        let mut world = formed(3);
        let next = installed(&view(&world), &removal(&world, evidence(&world, Verdict::Silent)));
        let error = IsolatedFirst::default().step(world.look(), 0, &StepKind::Event(&next)).unwrap_err();
        assert!(error.contains("counts itself connected for"), "{error}");
        world.inflict(Fault::Down { host: 2 });
        world.run_for(T * 5 / 4);
        assert_eq!(IsolatedFirst::default().step(world.look(), 0, &StepKind::Event(&next)), Ok(()));
    }

    #[test]
    fn being_connected_again_afterwards_is_seen() {
        let world = formed(3);
        let base = view(&world);
        let mut observer = IsolatedFirst::default();
        observer.out.insert(2, (base.cluster(), base.id().next()));
        assert_eq!(observer.handled(world.look(), 1, 0), Ok(()));
        assert!(observer.handled(world.look(), 2, 0).is_err());
    }
}
