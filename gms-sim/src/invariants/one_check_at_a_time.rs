//! Nobody is checked twice at once by the same checker (fd-24).

use std::collections::BTreeSet;

use gms_core::runtime::StepKind;
use gms_core::{Event, MemberId};

use crate::world::{Look, Observer};

/// Follows final checks from their beginning to their end.
#[derive(Debug, Default)]
pub(crate) struct OneCheckAtATime {
    running: BTreeSet<(usize, MemberId)>,
}

impl Observer for OneCheckAtATime {
    fn name(&self) -> &'static str {
        "one final check of a member at a time"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let StepKind::Event(event) = kind else { return Ok(()) };
        match event {
            Event::FinalCheckStarted { member, .. } if !self.running.insert((by, member.id)) => {
                let me = &look.processes[by].member().name;
                return Err(format!("{me} checks {} while it checks it", member.name));
            }
            Event::FinalCheckPassed { member, .. } | Event::FinalCheckFailed { member, .. } => {
                self.running.remove(&(by, member.id));
            }
            Event::ViewInstalled(change) => {
                self.running.retain(|(checker, id)| *checker != by || change.view.contains(id));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use gms_core::event::Subject;
    use gms_core::evidence::Reason;

    use super::super::testing::formed;
    use super::*;

    #[test]
    fn a_second_check_before_the_end_of_the_first_is_seen() {
        let world = formed(3);
        let member = Subject::from(world.processes()[2].member());
        let started = Event::FinalCheckStarted { member, reason: Reason::Silent };
        let mut observer = OneCheckAtATime::default();
        assert_eq!(observer.step(world.look(), 0, &StepKind::Event(&started)), Ok(()));
        assert_eq!(observer.step(world.look(), 1, &StepKind::Event(&started)), Ok(()));
        let error = observer.step(world.look(), 0, &StepKind::Event(&started)).unwrap_err();
        assert_eq!(error, "m0 checks m2 while it checks it");
    }
}
