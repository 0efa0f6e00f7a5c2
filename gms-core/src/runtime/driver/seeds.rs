//! The loop's part in seeds: which addresses the node is to ask, and which of them do not fit.

use crate::input::{Command, Input};
use crate::time::Timestamp;

use super::Driver;

impl Driver {
    /// Hands over what the seeds' names resolve to.
    pub(super) fn take_seeds(&mut self, now: Timestamp) {
        if !self.seeds_changed {
            return;
        }
        self.seeds_changed = false;
        let seeds = self.life.with_way_back(self.resolver.addresses());
        if !seeds.is_empty() && seeds != self.seeds {
            self.seeds.clone_from(&seeds);
            self.hand_over(now, Input::Command(Command::Seeds(seeds)));
        }
    }

    /// Says at once, and once of each seed, what keeps this member from joining through it: joining itself goes on until its
    /// timeout, for the seed may be started anew with other settings.
    pub(super) fn tell_misfits(&mut self) {
        for (seed, answer) in self.node.misfits() {
            if !self.misfits.contains(&seed) {
                self.misfits.push(seed);
                tracing::warn!(
                    target: "gms::seed_does_not_fit",
                    name = %self.me.name,
                    "seed {seed}: {answer}; it is asked again until the join timeout"
                );
            }
        }
    }
}
