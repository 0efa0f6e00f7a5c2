//! How a run is watched: everything that happens at a process is shown to observers, with the world beside it.

use std::fmt;
use std::time::Duration;

use gms_core::Timestamp;
use gms_core::member::ShortId;
use gms_core::runtime::StepKind;

use crate::network::Network;
use crate::process::Process;
use crate::scenario::{Fault, Scenario};
use crate::truth::Truth;

/// The world at one moment, as observers see it.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The world's time.
    pub now: Timestamp,
    /// When the first phase began: times of faults count from there.
    pub began: Timestamp,
    /// All processes that ever were, in the order of their start.
    pub processes: &'a [Process],
    /// The network.
    pub network: &'a Network,
    /// What really happened, which no member knows.
    pub truth: &'a Truth,
    /// The run's description.
    pub scenario: &'a Scenario,
    /// Everything that is on its way or planned: packets, timers, faults.
    pub queued: usize,
}

impl Look<'_> {
    /// The process with this member id.
    pub fn process_of(&self, id: &gms_core::MemberId) -> Option<usize> {
        self.truth.process_of(id)
    }

    /// The process that is the member `sender` of the view of process `by`; none where that is a stranger to it.
    pub fn member_of(&self, by: usize, sender: ShortId) -> Option<usize> {
        let from = self.truth.process_of_short(sender)?;
        let view = self.processes[by].view()?;
        view.contains(&self.processes[from].member().id).then_some(from)
    }

    /// What broke at this moment.
    pub(super) fn violation(&self, invariant: &'static str, text: String) -> Violation {
        Violation { invariant, at: self.now, after: self.now.since(self.began), text }
    }
}

/// Somebody who watches a run. An error ends it.
pub trait Observer: fmt::Debug {
    /// What the observer protects, as a sentence: `no number names two views`.
    fn name(&self) -> &'static str;

    /// Something happened at process `by`.
    ///
    /// # Errors
    ///
    /// What is broken, as a sentence with names and times.
    fn step(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        let (_, _, _) = (look, by, kind);
        Ok(())
    }

    /// A fault was applied.
    fn inflicted(&mut self, look: Look<'_>, fault: &Fault) {
        let (_, _) = (look, fault);
    }

    /// Process `by` has handled one input or timeout, with so many outputs.
    ///
    /// # Errors
    ///
    /// As [`Observer::step`].
    fn handled(&mut self, look: Look<'_>, by: usize, outputs: usize) -> Result<(), String> {
        let (_, _, _) = (look, by, outputs);
        Ok(())
    }
}

/// An invariant that a run broke.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What it protects.
    pub invariant: &'static str,
    /// When, in the world's time.
    pub at: Timestamp,
    /// When, from the beginning of the first phase; zero while the members form.
    pub after: Duration,
    /// What happened.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken at {:?}: {}: {}", self.at, self.invariant, self.text)
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Fault, Scenario};
    use crate::world::World;

    #[test]
    fn a_sender_that_is_not_in_the_view_is_no_member() {
        let mut world =
            World::new(Scenario { members: 2, seeds: 2, ..Scenario::default() }, Vec::new()).unwrap();
        world.inflict(Fault::Start { host: 2 });
        let [member, stranger] = [1, 2].map(|process| world.processes()[process].member().id.short());
        assert_eq!(world.look().member_of(0, member), Some(1));
        assert_eq!(world.look().member_of(0, stranger), None);
    }
}
