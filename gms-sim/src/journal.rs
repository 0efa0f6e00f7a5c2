//! A run's steps as lines for people: the last ones before an invariant broke, and a digest of all to compare runs by.

use std::collections::VecDeque;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use gms_core::Event;
use gms_core::message::{DatagramBody, FrameBody, Head};
use gms_core::runtime::{StepKind, TraceSink, TraceStep};

use crate::run::Spectator;
use crate::world::World;

/// What is kept of a run's steps.
#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    most: usize,
    hasher: Option<blake3::Hasher>,
    text: String,
}

/// Takes the steps of a run; clones share what is kept.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Kept>>);

impl Journal {
    /// A journal of the last `most` steps.
    pub fn of_last(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Kept { most, ..Kept::default() })))
    }

    /// A journal of the last `most` steps, with a digest of the whole text of all.
    pub fn with_digest(most: usize) -> Self {
        let hasher = Some(blake3::Hasher::new());
        Self(Arc::new(Mutex::new(Kept { most, hasher, ..Kept::default() })))
    }

    /// The last lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lines.iter().cloned().collect()
    }

    /// The digest of all steps so far, in hexadecimal; empty if none is made.
    pub fn digest(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.hasher.as_ref().map(|hasher| hasher.finalize().to_hex().to_string()).unwrap_or_default()
    }
}

impl Spectator for Journal {
    fn begins(&mut self, world: &mut World) {
        world.set_trace(Box::new(self.clone()));
    }

    fn passes(&mut self, _: &World) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl TraceSink for Journal {
    fn record(&mut self, step: TraceStep<'_>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { lines, most, hasher, text } = &mut *kept;
        if let Some(hasher) = hasher {
            text.clear();
            let _ = write!(text, "{step:?}");
            hasher.update(text.as_bytes());
        }
        if *most > 0 {
            if lines.len() == *most {
                lines.pop_front();
            }
            lines.push_back(line(&step));
        }
    }
}

/// One step as a line: the member's own clock, its name and id, and what happened.
pub fn line(step: &TraceStep<'_>) -> String {
    let TraceStep { at, me, kind, .. } = step;
    let id = &me.id.to_string()[..4];
    let what = match kind {
        StepKind::SentDatagram { to, datagram } => {
            format!("→ {to} {}{}", datagram_text(&datagram.body), head_text(&datagram.head))
        }
        StepKind::ReceivedDatagram { from, datagram } => {
            format!("← {from} {}{}", datagram_text(&datagram.body), head_text(&datagram.head))
        }
        StepKind::SentFrame { to, frame } => {
            format!("⇒ {to:?} {}{}", frame_text(&frame.body), head_text(&frame.head))
        }
        StepKind::ReceivedFrame { from, frame } => {
            format!("⇐ {from} {}{}", frame_text(&frame.body), head_text(&frame.head))
        }
        StepKind::Event(event) => event_text(event),
        other => format!("{other:?}"),
    };
    format!("{at:?} {}#{id} {what}", me.name)
}

fn datagram_text(body: &DatagramBody) -> String {
    match body {
        DatagramBody::FindCoordinator { .. } | DatagramBody::Coordinator(_) => String::from(body.name()),
        body => format!("{body:?}"),
    }
}

fn frame_text(body: &FrameBody) -> String {
    match body {
        FrameBody::Prepare { ballot, change } => {
            let (round, place, makes) = (ballot.round, ballot.place, change.makes());
            format!("Prepare round {round} place {place} makes {makes}: {}", change_text(change))
        }
        FrameBody::Install(gms_core::message::Installation::Changes(changes)) => {
            let each = changes.iter().map(|d| format!("{}: {}", d.change.makes(), change_text(&d.change)));
            format!("Install {}", each.collect::<Vec<_>>().join(" | "))
        }
        FrameBody::Install(gms_core::message::Installation::Whole(view)) => {
            format!("Install whole view {} of {}", view.id(), view.len())
        }
        FrameBody::FindCoordinator { .. } | FrameBody::Coordinator(_) | FrameBody::Join { .. } => {
            String::from(body.name())
        }
        body => format!("{body:?}"),
    }
}

fn change_text(change: &gms_core::view::Change) -> String {
    let joined: Vec<&str> = change.joined.iter().map(|m| m.name.as_str()).collect();
    let crashed: Vec<_> = change.crashed.iter().map(|c| (c.member, c.evidence.verdict)).collect();
    format!("joined {joined:?} left {:?} crashed {crashed:?} expelled {:?}", change.left, change.expelled)
}

fn event_text(event: &Event) -> String {
    match event {
        Event::ViewInstalled(change) => {
            let view = &change.view;
            let names: Vec<&str> = view.members().iter().map(|m| m.member.name.as_str()).collect();
            format!("* view {} digest {:?}: {}", view.id(), view.digest(), names.join(" "))
        }
        Event::Joined { view } | Event::Rejoined { view } => format!("* is in, by view {}", view.id()),
        event => format!("* {event:?}"),
    }
}

/// What of the head explains behaviour: view, accepted change, flags, number and echo.
fn head_text(head: &Head) -> String {
    let mut text = format!(" [v{} n{}", head.view, head.number);
    if let Some(echo) = head.echo {
        let _ = write!(text, " e{}-{}us", echo.number, echo.age_us);
    }
    if let Some(accepted) = head.accepted {
        let _ = write!(text, " accepted {:02x}{:02x}", accepted.0[0], accepted.0[1]);
    }
    let flags = head.flags;
    let names = [
        (flags.isolated, " isolated"),
        (flags.sick, " sick"),
        (flags.paused, " paused"),
        (flags.leaving, " leaving"),
    ];
    names.iter().filter(|(set, _)| *set).for_each(|(_, name)| text.push_str(name));
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::run_watched;
    use crate::scenario::{Fault, Scenario, Step};
    use std::time::Duration;

    fn scenario(seed: u64) -> Scenario {
        let crash = Step { at: Duration::from_secs(1), fault: Fault::Crash { host: 2 } };
        let (member_timeout, run_for) = (Duration::from_secs(1), Duration::from_secs(4));
        Scenario { members: 3, seed, member_timeout, run_for, faults: vec![crash], ..Scenario::default() }
    }

    #[test]
    fn the_last_lines_are_kept_and_the_digest_tells_runs_apart() {
        let digest = |seed| {
            let mut journal = Journal::with_digest(10);
            run_watched(scenario(seed), &mut journal).unwrap();
            assert_eq!(journal.lines().len(), 10);
            journal.digest()
        };
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }

    #[test]
    fn lines_say_who_did_what() {
        let mut journal = Journal::of_last(usize::MAX);
        run_watched(scenario(1), &mut journal).unwrap();
        let lines = journal.lines();
        let has = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(has("Prepare round 0 place 0"), "{lines:?}");
        assert!(has("* view 4 "), "{lines:?}");
        assert!(has("verdict: Gone"), "{lines:?}");
    }
}
