//! A member that ran much later than it meant to notices that it paused (fd-26).

use std::collections::{BTreeMap, BTreeSet};

use gms_core::runtime::StepKind;
use gms_core::{Event, Timestamp};

use crate::world::{Look, Observer};

/// Remembers when each member in a view meant to run next.
#[derive(Debug, Default)]
pub(crate) struct PausesAreNoticed {
    planned: BTreeMap<usize, Timestamp>,
    noticed: BTreeSet<usize>,
}

impl Observer for PausesAreNoticed {
    fn name(&self) -> &'static str {
        "pauses are noticed"
    }

    fn step(&mut self, _: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        match kind {
            StepKind::Event(Event::Paused { .. }) => {
                self.noticed.insert(by);
            }
            // The end of a life, or of the time before the first view.
            StepKind::Event(Event::Joined { .. } | Event::Stopped { .. }) => {
                self.planned.remove(&by);
            }
            _ => {}
        }
        Ok(())
    }

    fn handled(&mut self, look: Look<'_>, by: usize, _: usize) -> Result<(), String> {
        let process = &look.processes[by];
        let local = process.clock.local(look.now);
        let was_noticed = self.noticed.remove(&by);
        let next = process.view().and_then(|_| process.node().poll_timeout()).map(|(at, _)| at);
        let planned = match next {
            Some(next) => self.planned.insert(by, next.max(local)),
            None => self.planned.remove(&by),
        };
        let Some(view) = process.view() else { return Ok(()) };
        let late = planned.map_or_else(Default::default, |planned| local.since(planned));
        if was_noticed || late <= view.timing().heartbeat_interval {
            return Ok(());
        }
        Err(format!("{} ran {late:?} late and took no notice", process.member().name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{T, formed};
    use super::*;

    #[test]
    fn lateness_without_notice_is_seen() {
        let mut world = formed(2);
        let mut observer = PausesAreNoticed::default();
        observer.handled(world.look(), 0, 0).unwrap();
        assert_eq!(observer.handled(world.look(), 0, 0), Ok(()));
        world.run_for(T * 2);
        let error = observer.handled(world.look(), 0, 0).unwrap_err();
        assert!(error.contains("late and took no notice"), "{error}");
        let paused = Event::Paused { lasted: T };
        world.run_for(T * 2);
        observer.step(world.look(), 0, &StepKind::Event(&paused)).unwrap();
        assert_eq!(observer.handled(world.look(), 0, 0), Ok(()));
    }
}
