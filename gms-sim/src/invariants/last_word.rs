//! Who is out, or has stopped, says nothing more under that id (vw-18).

use std::collections::BTreeMap;

use gms_core::Event;
use gms_core::runtime::StepKind;

use crate::world::{Look, Observer};

/// Remembers whose end was told, and in which word.
#[derive(Debug, Default)]
pub(crate) struct LastWord {
    ended: BTreeMap<usize, &'static str>,
}

impl Observer for LastWord {
    fn name(&self) -> &'static str {
        "nobody speaks after its end"
    }

    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let what = match kind {
            StepKind::SentDatagram { datagram, .. } => datagram.body.name(),
            StepKind::SentFrame { frame, .. } => frame.body.name(),
            StepKind::ProbeStarted { .. } => "a probe",
            StepKind::CheckAnswered { .. } => "an answer to a check",
            StepKind::Event(Event::Stopped { .. }) if self.ended.get(&by) == Some(&"stopped") => {
                "its end twice"
            }
            StepKind::Event(Event::Stopped { .. }) => {
                self.ended.insert(by, "stopped");
                return Ok(());
            }
            StepKind::Event(Event::Excluded { .. }) => {
                self.ended.entry(by).or_insert("excluded");
                return Ok(());
            }
            StepKind::Event(_) => "an event",
            _ => return Ok(()),
        };
        let Some(end) = self.ended.get(&by) else { return Ok(()) };
        Err(format!("{} is {end} and sent {what}", look.processes[by].member().name))
    }
}

#[cfg(test)]
mod tests {
    use gms_core::event::StopReason;

    use super::super::testing::formed;
    use super::*;

    #[test]
    fn a_word_after_the_end_is_seen() {
        let world = formed(1);
        let stopped = Event::Stopped { reason: StopReason::Left };
        let mut observer = LastWord::default();
        observer.step(world.look(), 0, &StepKind::Event(&stopped)).unwrap();
        let error = observer.step(world.look(), 0, &StepKind::Event(&Event::Lagged(1))).unwrap_err();
        assert_eq!(error, "m0 is stopped and sent an event");
    }
}
