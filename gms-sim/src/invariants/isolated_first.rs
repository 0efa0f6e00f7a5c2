//! Who is removed for silence was isolated before, by its own clock, and never counts itself connected again (p-5); but for
//! a member that only a hub echoed of which the proposer was cut off for 2 R (lv-3).

use std::collections::{BTreeMap, BTreeSet};

use gms_core::event::{Removed, ViewChange};
use gms_core::evidence::Verdict;
use gms_core::member::ClusterId;
use gms_core::runtime::StepKind;
use gms_core::view::ViewId;
use gms_core::{Event, Timestamp, View, hubs};

use crate::world::{Look, Observer};

use super::views::Views;

/// Remembers which processes are out of which view, for silence.
#[derive(Debug, Default)]
pub(crate) struct IsolatedFirst {
    out: BTreeMap<usize, (ClusterId, ViewId)>,
    /// Processes that are out of a view by a removal for which p-5 does not hold.
    excused: BTreeSet<usize>,
    views: Views,
}

impl IsolatedFirst {
    fn installed(&mut self, look: Look<'_>, by: usize, change: &ViewChange) -> Result<(), String> {
        let view = &change.view;
        if self.views.note(view)
            && let Some(base) = self.views.base_of(view)
        {
            let excused = change.crashed.iter().filter(|r| Self::is_excused(look, by, base, change, r));
            self.excused.extend(excused.filter_map(|r| look.process_of(&r.member.id)));
        }
        for removed in change.crashed.iter().filter(|r| r.evidence.verdict == Verdict::Silent) {
            let Some(process) = look.process_of(&removed.member.id) else { continue };
            if !self.excused.contains(&process)
                && self.out.insert(process, (view.cluster(), view.id())).is_none()
            {
                self.judge(look, process)?;
            }
        }
        Ok(())
    }

    /// Whether a hub is missing among those who voted for the removal that does not go itself, and of which whoever decided
    /// it, process `by` or the checker, was cut off.
    fn is_excused(look: Look<'_>, by: usize, base: &View, change: &ViewChange, removed: &Removed) -> bool {
        let (evidence, timing) = (&removed.evidence, base.timing());
        let (patience, ago) = (timing.removal_silence() * 2, timing.member_timeout);
        let deciders = [Some(by), look.process_of(&evidence.checker)];
        let stays = |hub| change.crashed.iter().all(|other| other.member.id != hub);
        let mut missing = hubs::first_in_office(base)
            .map(|hub| hub.id)
            .filter(|hub| !evidence.fenced_by.contains(hub) && stays(*hub))
            .filter_map(|hub| look.process_of(&hub));
        let is_cut_off = |hub| {
            let mut others = deciders.into_iter().flatten().filter(|process| *process != hub);
            others.any(|process| look.truth.was_silent_for(process, hub, patience, ago, look.now))
        };
        hubs::borrows(base, &removed.member.id) && missing.any(is_cut_off)
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

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::ViewInstalled(change)) = kind else { return Ok(()) };
        self.installed(look, by, change)
    }

    fn handled(&mut self, look: Look<'_>, by: usize, _: usize) -> Result<(), String> {
        if self.out.is_empty() { Ok(()) } else { self.judge(look, by) }
    }
}

#[cfg(test)]
mod tests {
    use gms_core::config::HeartbeatRecipients;
    use gms_core::evidence::Evidence;

    use super::super::testing::{T, evidence, first, formed, id, installed, removal, view};
    use super::*;
    use crate::scenario::{Fault, Scenario};
    use crate::world::World;

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
    fn a_removal_without_the_vote_of_a_hub_is_fine_only_where_that_hub_was_cut_off_for_long() {
        let scenario = Scenario {
            members: 6,
            member_timeout: T,
            heartbeat_recipients: Some(HeartbeatRecipients::Predecessors(1)),
            not_eligible: [4, 5].into(),
            ..Scenario::default()
        };
        let mut world = World::new(scenario, Vec::new()).unwrap();
        let base = view(&world);
        let fenced_by = [0, 1, 2].map(|process| id(&world, process)).to_vec();
        let found = Evidence { fenced_by, ..evidence(&world, Verdict::Silent) };
        let next = installed(&base, &removal(&world, found));
        let judged = |world: &World| {
            let mut observer = IsolatedFirst::default();
            observer.step(world.look(), 0, &StepKind::Event(&first(&base))).unwrap();
            observer.step(world.look(), 0, &StepKind::Event(&next))
        };
        world.inflict(Fault::Cut { from: 3, to: 0 });
        world.run_for(T * 2);
        assert!(judged(&world).is_err());
        world.run_for(T);
        assert_eq!(judged(&world), Ok(()));
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
