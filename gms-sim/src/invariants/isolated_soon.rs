//! Who is taken for gone and is not, or is expelled, is isolated no later than T after that was decided (the fine print of
//! p-5).

use std::collections::BTreeMap;

use gms_core::event::ViewChange;
use gms_core::evidence::Verdict;
use gms_core::member::ClusterId;
use gms_core::runtime::StepKind;
use gms_core::{Event, Timestamp};

use crate::world::{Look, Observer};

/// Remembers out of which cluster each process is, and by when, on its own clock, it must be isolated there.
#[derive(Debug, Default)]
pub(crate) struct IsolatedSoon {
    limits: BTreeMap<usize, (ClusterId, Timestamp)>,
}

impl IsolatedSoon {
    fn installed(&mut self, look: Look<'_>, change: &ViewChange) -> Result<(), String> {
        let gone = change.crashed.iter().filter(|r| r.evidence.verdict == Verdict::Gone).map(|r| &r.member);
        for removed in gone.chain(change.expelled.iter().map(|e| &e.member)) {
            let Some(process) = look.process_of(&removed.id) else { continue };
            let local = look.processes[process].clock.local(look.now);
            let limit = (change.view.cluster(), local + change.view.timing().member_timeout);
            self.limits.entry(process).or_insert(limit);
            self.judge(look, process)?;
        }
        Ok(())
    }

    fn judge(&self, look: Look<'_>, process: usize) -> Result<(), String> {
        let Some((cluster, limit)) = self.limits.get(&process) else { return Ok(()) };
        let process = &look.processes[process];
        // A joiner that never saw the view with it may have found its way into a cluster founded later.
        if process.view().is_some_and(|view| view.cluster() != *cluster) {
            return Ok(());
        }
        let until = process.node().connected_until();
        if !process.is_up() || until <= *limit {
            return Ok(());
        }
        let (name, beyond) = (&process.member().name, until.since(*limit));
        Err(format!("{name} is out and counts itself connected {beyond:?} too long"))
    }
}

impl Observer for IsolatedSoon {
    fn name(&self) -> &'static str {
        "who is out by a verdict or an order is isolated soon"
    }

    fn step(&mut self, look: Look<'_>, _: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(Event::ViewInstalled(change)) = kind else { return Ok(()) };
        self.installed(look, change)
    }

    fn handled(&mut self, look: Look<'_>, by: usize, _: usize) -> Result<(), String> {
        if self.limits.is_empty() { Ok(()) } else { self.judge(look, by) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, evidence, formed, installed, removal, view};
    use super::*;

    #[test]
    fn a_member_that_is_out_and_connected_for_long_is_seen() {
        let mut world = formed(3);
        let next = installed(&view(&world), &removal(&world, evidence(&world, Verdict::Gone)));
        let mut observer = IsolatedSoon::default();
        assert_eq!(observer.step(world.look(), 0, &StepKind::Event(&next)), Ok(()));
        world.run_for(T);
        assert_eq!(observer.handled(world.look(), 1, 0), Ok(()));
        let error = observer.handled(world.look(), 2, 0).unwrap_err();
        assert!(error.contains("counts itself connected"), "{error}");
    }
}
