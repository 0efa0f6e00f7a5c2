//! An id that is out of a cluster's view never returns, and an id belongs to one process (p-4, glossary: incarnation).

use std::collections::BTreeMap;

use gms_core::member::ClusterId;
use gms_core::runtime::StepKind;
use gms_core::view::ViewId;
use gms_core::{Event, MemberId, View};

use crate::world::{Look, Observer};

use super::views::Views;

/// Remembers who is out, and since which view at the latest.
#[derive(Debug, Default)]
pub(crate) struct NoGhosts {
    views: Views,
    out: BTreeMap<(ClusterId, MemberId), ViewId>,
}

impl NoGhosts {
    fn first_installed(&mut self, look: Look<'_>, view: &View) -> Result<(), String> {
        let cluster = view.cluster();
        for m in view.members() {
            let (id, name) = (&m.member.id, &m.member.name);
            let process = look.process_of(id).map(|index| look.processes[index].member());
            if process != Some(&*m.member) {
                return Err(format!("view {} has {name} under an id that is another's", view.id()));
            }
            if let Some(since) = self.out.get(&(cluster, *id)).filter(|since| **since < view.id()) {
                return Err(format!("{name} is in view {} and was out of view {since}", view.id()));
            }
        }
        let before = self.views.before(view).cloned();
        if let Some(before) = &before {
            self.drop_out(before, view);
            let is_new = |id: &MemberId| !before.contains(id);
            let ghost = view.members().iter().find(|m| is_new(&m.member.id) && m.joined_in <= before.id());
            if let Some(ghost) = ghost {
                let (name, joined) = (&ghost.member.name, ghost.joined_in);
                return Err(format!(
                    "view {} says that {name} joined in view {joined}: it was not there",
                    view.id()
                ));
            }
        }
        if let Some(after) = self.views.after(view).cloned() {
            self.drop_out(view, &after);
        }
        Ok(())
    }

    fn drop_out(&mut self, old: &View, new: &View) {
        for m in old.members().iter().filter(|m| !new.contains(&m.member.id)) {
            let since = self.out.entry((new.cluster(), m.member.id)).or_insert_with(|| new.id());
            *since = new.id().min(*since);
        }
    }
}

impl Observer for NoGhosts {
    fn name(&self) -> &'static str {
        "who is out never returns under the same id"
    }

    fn step(&mut self, look: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::ViewInstalled(change)) = kind else { return Ok(()) };
        if self.views.note(&change.view) { self.first_installed(look, &change.view) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use gms_core::evidence::Verdict;
    use gms_core::view::Change;

    use super::super::testing::{evidence, first, formed, installed, removal, view};
    use super::*;

    #[test]
    fn a_member_that_comes_back_under_its_id_is_seen() {
        let world = formed(3);
        let (look, base) = (world.look(), view(&world));
        let without = removal(&world, evidence(&world, Verdict::Silent));
        let next = base.apply(&without).unwrap();
        let ghost = world.processes()[2].member().clone();
        let again = Change { joined: vec![ghost.into()], ..Change::empty(&next) };
        let mut observer = NoGhosts::default();
        observer.step(look, 0, &StepKind::Event(&first(&base))).unwrap();
        observer.step(look, 0, &StepKind::Event(&installed(&base, &without))).unwrap();
        let error = observer.step(look, 0, &StepKind::Event(&installed(&next, &again))).unwrap_err();
        assert!(error.contains("and was out of view"), "{error}");
    }
}
