//! Who dies is out of every survivor's view within 1.5 T, a batch window and three round trips, while a majority can
//! talk to each other (p-2).

use gms_core::Event;
use gms_core::runtime::StepKind;

use crate::scenario::Fault;
use crate::world::{Look, Observer};

use super::losses::{Group, Losses};
use super::views::Views;

/// Waits for each loss's deadline.
#[derive(Debug, Default)]
pub(crate) struct DeadLeaveInTime {
    views: Views,
    losses: Losses,
}

impl DeadLeaveInTime {
    fn judge(&self, look: Look<'_>, group: &Group) -> Result<(), String> {
        let Some(view) = self.views.get(group.cluster.tag(), group.view) else { return Ok(()) };
        if !group.has_majority(look, view) {
            return Ok(());
        }
        for survivor in &group.survivors {
            let process = &look.processes[*survivor];
            let held = process.view().filter(|view| view.cluster() == group.cluster);
            let late = group
                .lost
                .iter()
                .find(|lost| held.is_some_and(|view| view.contains(&look.processes[**lost].member().id)));
            if let Some(late) = late {
                let (name, lost) = (&process.member().name, &look.processes[*late].member().name);
                let after = look.now.since(group.at);
                return Err(format!(
                    "{name} still has {lost} in its view, lost {after:?} ago with {}",
                    group.names(look)
                ));
            }
        }
        Ok(())
    }
}

impl Observer for DeadLeaveInTime {
    fn name(&self) -> &'static str {
        "who dies is out in time"
    }

    fn inflicted(&mut self, look: Look<'_>, fault: &Fault) {
        self.losses.inflicted(look, fault);
    }

    fn step(&mut self, _: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        if let StepKind::Event(Event::ViewInstalled(change)) = kind {
            self.views.note(&change.view);
        }
        Ok(())
    }

    fn handled(&mut self, look: Look<'_>, _: usize, _: usize) -> Result<(), String> {
        self.losses.follow(look).iter().try_for_each(|group| self.judge(look, group))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::testing::{T, first, formed, view};
    use super::*;

    #[test]
    fn a_dead_member_in_a_view_is_seen_when_its_time_is_up() {
        let mut world = formed(4);
        let base = view(&world);
        world.inflict(Fault::Crash { host: 3 });
        let mut observer = DeadLeaveInTime::default();
        observer.step(world.look(), 0, &StepKind::Event(&first(&base))).unwrap();
        let group = Group {
            at: world.now(),
            deadline: world.now() + T,
            cluster: base.cluster(),
            view: base.id(),
            lost: BTreeSet::from([3]),
            survivors: vec![0, 1, 2],
            is_alone: true,
        };
        let error = observer.judge(world.look(), &group).unwrap_err();
        assert!(error.contains("still has m3 in its view"), "{error}");
        world.run_for(T * 2);
        assert_eq!(observer.judge(world.look(), &group), Ok(()));
    }

    #[test]
    fn a_loss_in_a_calm_world_is_judged_after_its_bound() {
        let mut world = formed(4);
        world.inflict(Fault::Crash { host: 3 });
        let mut losses = Losses::default();
        world.run_for(T / 5000);
        assert!(losses.follow(world.look()).is_empty());
        world.run_for(T * 8 / 5);
        let due = losses.follow(world.look());
        assert_eq!(due.iter().map(|group| group.lost.clone()).collect::<Vec<_>>(), [BTreeSet::from([3])]);
    }
}
