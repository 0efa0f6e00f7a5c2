//! Each member goes through one chain of views, forwards, and is in all of them (p-4, vw-4, vw-5).

use std::collections::BTreeMap;
use std::sync::Arc;

use gms_core::event::{Subject, ViewChange};
use gms_core::evidence::Evidence;
use gms_core::message::{FrameBody, Installation};
use gms_core::runtime::StepKind;
use gms_core::view::{Change, Crashed, Digest, Expelled};
use gms_core::{Event, MemberId, View};

use crate::world::{Look, Observer};

/// Remembers the newest view of each process.
#[derive(Debug, Default)]
pub(crate) struct ViewsGoOn {
    newest: BTreeMap<usize, Arc<View>>,
}

impl ViewsGoOn {
    fn installed(&mut self, look: Look<'_>, by: usize, change: &ViewChange) -> Result<(), String> {
        let me = look.processes[by].member();
        let view = &change.view;
        if !view.contains(&me.id) {
            return Err(format!("{} installed view {} without itself", me.name, view.id()));
        }
        let Some(before) = self.newest.insert(by, Arc::clone(view)) else { return Ok(()) };
        if before.cluster() != view.cluster() || before.id() >= view.id() {
            let (old, new) = (before.id(), view.id());
            return Err(format!("{} went from view {old} to view {new}", me.name));
        }
        // Where views were skipped, or one came whole, the difference does not tell the changes.
        if before.id().next() != view.id() || !change.gone.is_empty() {
            return Ok(());
        }
        let linked = digest_of(&before, change);
        if linked == view.digest() {
            return Ok(());
        }
        let (name, number, digest) = (&me.name, view.id(), view.digest());
        Err(format!("{name} installed view {number} with digest {digest}; what changed makes it {linked}"))
    }
}

/// The digest of the view that a change reported to the application makes of `base`.
fn digest_of(base: &View, change: &ViewChange) -> Digest {
    let ids = |subjects: &[Subject]| -> Vec<MemberId> { subjects.iter().map(|subject| subject.id).collect() };
    let crashed =
        |id: &MemberId, evidence: &Arc<Evidence>| Crashed { member: *id, evidence: Arc::clone(evidence) };
    let made = Change {
        joined: ids(&change.joined)
            .iter()
            .filter_map(|id| change.view.member(id))
            .cloned()
            .map(Arc::new)
            .collect(),
        left: ids(&change.left),
        crashed: change.crashed.iter().map(|r| crashed(&r.member.id, &r.evidence)).collect(),
        expelled: change
            .expelled
            .iter()
            .map(|e| Expelled { member: e.member.id, reason: e.reason.clone(), by: e.by.clone() })
            .collect(),
        ..Change::empty(base)
    };
    made.digest()
}

impl Observer for ViewsGoOn {
    fn name(&self) -> &'static str {
        "views form one chain and nobody goes back"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::Event(Event::ViewInstalled(change)) => self.installed(look, by, change),
            StepKind::SentFrame { frame, .. } => {
                let FrameBody::Install(Installation::Changes(changes)) = &frame.body else { return Ok(()) };
                let wrong = changes.iter().find(|decided| decided.change.digest() != decided.digest);
                let links = |pair: &[_]| match pair {
                    [first, second] => links_to(first, second),
                    _ => true,
                };
                let broken = changes.windows(2).any(|pair| !links(pair));
                match wrong {
                    Some(decided) => {
                        Err(format!("view {} is sent with a wrong digest", decided.change.makes()))
                    }
                    None if broken => Err(String::from("changes are sent that don't follow from each other")),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn links_to(first: &gms_core::message::Decided, second: &gms_core::message::Decided) -> bool {
    second.change.base == first.change.makes() && second.change.base_digest == first.digest
}

#[cfg(test)]
mod tests {
    use gms_core::evidence::Verdict;

    use super::super::testing::{evidence, first, formed, id, installed, removal, view};
    use super::*;

    #[test]
    fn the_next_view_is_fine_and_the_same_again_is_not() {
        let world = formed(3);
        let (look, base) = (world.look(), view(&world));
        let next = installed(&base, &removal(&world, evidence(&world, Verdict::Silent)));
        let mut observer = ViewsGoOn::default();
        assert_eq!(observer.step(look, 0, &StepKind::Event(&first(&base))), Ok(()));
        assert_eq!(observer.step(look, 0, &StepKind::Event(&next)), Ok(()));
        let error = observer.step(look, 0, &StepKind::Event(&next)).unwrap_err();
        assert!(error.starts_with("m0 went from view"), "{error}");
    }

    #[test]
    fn a_view_without_its_installer_is_seen() {
        let world = formed(3);
        let next = installed(&view(&world), &removal(&world, evidence(&world, Verdict::Silent)));
        let error = ViewsGoOn::default().step(world.look(), 2, &StepKind::Event(&next)).unwrap_err();
        assert!(error.ends_with("without itself"), "{error}");
    }

    #[test]
    fn a_view_that_does_not_follow_from_what_changed_is_seen() {
        let world = formed(3);
        let (look, base) = (world.look(), view(&world));
        let left = Change { left: vec![id(&world, 2)], ..Change::empty(&base) };
        let Event::ViewInstalled(next) = installed(&base, &left) else { unreachable!() };
        let told = Event::ViewInstalled(Arc::new(ViewChange { left: Vec::new(), ..(*next).clone() }));
        let mut observer = ViewsGoOn::default();
        observer.step(look, 0, &StepKind::Event(&first(&base))).unwrap();
        let error = observer.step(look, 0, &StepKind::Event(&told)).unwrap_err();
        assert!(error.contains("what changed makes it"), "{error}");
    }
}
