//! Members that are lost at one instant and in one way leave by one view (p-2). Dead processes whose hosts refuse are
//! proven gone sooner than silent hosts are, and nothing waits for those.

use std::collections::{BTreeMap, BTreeSet};

use gms_core::member::ClusterId;
use gms_core::runtime::StepKind;
use gms_core::view::ViewId;
use gms_core::{Event, MemberId};

use crate::scenario::Fault;
use crate::world::{Look, Observer};

use super::losses::{Group, Losses};
use super::views::Views;

/// Remembers by which view each member left.
#[derive(Debug, Default)]
pub(crate) struct LostTogether {
    views: Views,
    losses: Losses,
    left_by: BTreeMap<(ClusterId, MemberId), ViewId>,
}

impl LostTogether {
    fn judge(&self, look: Look<'_>, group: &Group) -> Result<(), String> {
        let Some(view) = self.views.get(group.cluster.tag(), group.view) else { return Ok(()) };
        if !group.is_alone || group.is_replaced(look) || !group.has_majority(look, view) {
            return Ok(());
        }
        let out = |index: &usize| self.left_by.get(&(group.cluster, look.processes[*index].member().id));
        let by: BTreeSet<ViewId> = group.lost.iter().filter_map(out).copied().collect();
        if by.len() <= 1 {
            return Ok(());
        }
        Err(format!("{} were lost at one instant and left by the views {by:?}", group.names(look)))
    }
}

impl Observer for LostTogether {
    fn name(&self) -> &'static str {
        "what is lost at once leaves by one view"
    }

    fn inflicted(&mut self, look: Look<'_>, fault: &Fault) {
        self.losses.inflicted(look, fault);
    }

    fn step(&mut self, _: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        if let StepKind::Event(Event::ViewInstalled(change)) = kind {
            self.views.note(&change.view);
            for removed in &change.crashed {
                let key = (change.view.cluster(), removed.member.id);
                self.left_by.entry(key).or_insert_with(|| change.view.id());
            }
        }
        Ok(())
    }

    fn handled(&mut self, look: Look<'_>, _: usize, _: usize) -> Result<(), String> {
        self.losses.follow(look).iter().try_for_each(|group| self.judge(look, group))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{first, formed, id, view};
    use super::*;

    #[test]
    fn two_views_for_one_loss_are_seen() {
        let world = formed(7);
        let base = view(&world);
        let mut observer = LostTogether::default();
        observer.step(world.look(), 0, &StepKind::Event(&first(&base))).unwrap();
        let group = Group {
            at: world.now(),
            deadline: world.now(),
            cluster: base.cluster(),
            view: base.id(),
            lost: BTreeSet::from([5, 6]),
            survivors: vec![0, 1, 2, 3, 4],
            is_alone: true,
        };
        observer.left_by.insert((base.cluster(), id(&world, 5)), base.id().next());
        assert_eq!(observer.judge(world.look(), &group), Ok(()));
        observer.left_by.insert((base.cluster(), id(&world, 6)), base.id().next().next());
        let error = observer.judge(world.look(), &group).unwrap_err();
        assert!(error.starts_with("m5, m6 were lost at one instant"), "{error}");
    }
}
