//! What a change lets in weighs less than what lets it in, so that newcomers that die at once don't take the majority
//! along (vw-13).

use gms_core::event::ViewChange;
use gms_core::runtime::StepKind;
use gms_core::{Event, quorum};

use crate::world::{Look, Observer};

use super::views::Views;

/// Remembers the bases.
#[derive(Debug, Default)]
pub(crate) struct NewcomersAreFew {
    views: Views,
}

impl NewcomersAreFew {
    fn installed(&self, change: &ViewChange) -> Result<(), String> {
        let view = &change.view;
        let Some(base) = self.views.base_of(view) else { return Ok(()) };
        let is_new = |id: &gms_core::MemberId| !base.contains(id);
        let newcomers = view.members().iter().filter(|m| is_new(&m.member.id)).count();
        let (joined, whole) = (quorum::weight_of(view, is_new), base.weight());
        if joined < whole || (base.len() == 1 && newcomers == 1) {
            return Ok(());
        }
        Err(format!("{newcomers} newcomers weighing {joined} came into view {}, made by {whole}", view.id()))
    }
}

impl Observer for NewcomersAreFew {
    fn name(&self) -> &'static str {
        "newcomers weigh less than who lets them in"
    }

    fn step(&mut self, _: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::ViewInstalled(change)) = kind else { return Ok(()) };
        if self.views.note(&change.view) { self.installed(change) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use gms_core::View;
    use gms_core::view::Change;

    use super::super::testing::{first, formed, installed, view};
    use super::*;

    #[test]
    fn as_many_newcomers_as_there_are_members_are_seen() {
        let world = formed(6);
        let whole = view(&world);
        let members: Vec<_> = whole.members().iter().map(|m| m.member.clone()).collect();
        let founding = View::founding(
            whole.cluster(),
            whole.cluster_name().to_owned(),
            whole.timing().clone(),
            gms_core::Member::clone(&members[0]),
        );
        let judged = |joined: &[std::sync::Arc<gms_core::Member>]| {
            let mut observer = NewcomersAreFew::default();
            observer.step(world.look(), 0, &StepKind::Event(&first(&founding.clone().into()))).unwrap();
            let change = Change { joined: joined.to_vec(), ..Change::empty(&founding) };
            observer.step(world.look(), 0, &StepKind::Event(&installed(&founding, &change)))
        };
        assert_eq!(judged(&members[1..2]), Ok(()));
        assert!(judged(&members[1..4]).unwrap_err().contains("3 newcomers weighing 30"));
    }
}
