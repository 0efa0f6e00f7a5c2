//! Who leaves is let go, asked or unasked, only when more than half of the view without it holds that view (vw-3).

use std::collections::BTreeMap;
use std::sync::Arc;

use gms_core::message::{Frame, FrameBody, Installation};
use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId, View, quorum};

use crate::world::{Look, Observer};

use super::views::Views;

/// Remembers the newest view of each process.
#[derive(Debug, Default)]
pub(crate) struct LeaversLeaveLast {
    views: Views,
    newest: BTreeMap<usize, Arc<View>>,
}

impl LeaversLeaveLast {
    fn sent(&self, look: Look<'_>, by: usize, frame: &Frame) -> Result<(), String> {
        let FrameBody::Install(Installation::Changes(changes)) = &frame.body else { return Ok(()) };
        let Some(to) = look.truth.process_of_short(frame.head.recipient) else { return Ok(()) };
        // Who leaves itself lets the others go when its own time is up.
        if look.processes[by].is_leaving {
            return Ok(());
        }
        let leaver = look.processes[to].member();
        let lets_go = changes.iter().find(|decided| decided.change.left.contains(&leaver.id));
        let Some(next) = lets_go.and_then(|d| self.views.get(frame.head.cluster, d.change.makes())) else {
            return Ok(());
        };
        let holds = |id: &MemberId| {
            let held = look.process_of(id).and_then(|process| self.newest.get(&process));
            held.is_some_and(|held| held.cluster() == next.cluster() && held.id() >= next.id())
        };
        let weight = quorum::weight_of(next, holds);
        if quorum::is_majority(weight, next.weight()) {
            return Ok(());
        }
        let (name, number, whole) = (&leaver.name, next.id(), next.weight());
        Err(format!("{name} was let go while {weight} of {whole} held view {number}"))
    }
}

impl Observer for LeaversLeaveLast {
    fn name(&self) -> &'static str {
        "who leaves is let go by a majority"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::Event(Event::ViewInstalled(change)) => {
                self.views.note(&change.view);
                self.newest.insert(by, Arc::clone(&change.view));
            }
            StepKind::SentFrame { frame, .. } => return self.sent(look, by, frame),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gms_core::member::ShortId;
    use gms_core::message::{Decided, Flags, Head};
    use gms_core::view::Change;

    use super::super::testing::{first, formed, id, installed, view};
    use super::*;

    #[test]
    fn a_leaver_that_is_let_go_before_the_others_know_is_seen() {
        let world = formed(4);
        let (look, base) = (world.look(), view(&world));
        let change = Change { left: vec![id(&world, 3)], ..Change::empty(&base) };
        let next = installed(&base, &change);
        let digest = base.apply(&change).unwrap().digest();
        let head = Head {
            cluster: base.cluster().tag(),
            sender: ShortId::default(),
            recipient: id(&world, 3).short(),
            view: base.id(),
            accepted: None,
            flags: Flags::default(),
            number: 1,
            echo: None,
            quorate_for_ms: None,
        };
        let body = FrameBody::Install(Installation::Changes(vec![Decided { change, digest }]));
        let frame = Frame { head, body };
        let mut observer = LeaversLeaveLast::default();
        for process in 0..4 {
            observer.step(look, process, &StepKind::Event(&first(&base))).unwrap();
        }
        observer.step(look, 1, &StepKind::Event(&next)).unwrap();
        let error = observer.sent(look, 1, &frame).unwrap_err();
        assert!(error.starts_with("m3 was let go while 1"), "{error}");
        observer.step(look, 0, &StepKind::Event(&next)).unwrap();
        observer.step(look, 2, &StepKind::Event(&next)).unwrap();
        assert_eq!(observer.sent(look, 1, &frame), Ok(()));
    }
}
