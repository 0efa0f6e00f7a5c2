//! Scenarios that others published about membership, each with the run's question and what must come of it.
//!
//! Sources: L. Suresh, D. Malkhi, P. Gopalan, I. Porto Carreiro, Z. Lokhandwala, "Stable and Consistent Membership at
//! Scale with Rapid", USENIX ATC 2018 (R1 to R5); A. Dadgar, J. Phillips, J. Currey, "Lifeguard: Local Health Awareness
//! for More Accurate Failure Detection", 2017, arXiv:1707.00788 (L1). The others have been asked of many systems.

mod checks;
mod network;
mod processes;

use crate::run::{self, Outcome};
use crate::scenario::{Scenario, ScenarioError};

pub use checks::{CAME_IN, Check};
pub use network::{bootstrap, cut_link, flip_flop, half_lost, joins_under_loss, lossy, split};
pub use processes::{Role, crashes, lost_hosts, rolling_restart, starved, stopped};

/// A published scenario at one size.
#[derive(Clone, Debug)]
pub struct Published {
    /// Its name: `r1-bootstrap-1000`.
    pub name: String,
    /// What the run is to show.
    pub question: &'static str,
    /// What is run.
    pub scenario: Scenario,
    /// What must hold when it is over, beside all invariants.
    pub checks: Vec<Check>,
}

/// A published scenario's run.
#[derive(Debug)]
pub struct Judged {
    /// What it brought.
    pub outcome: Outcome,
    /// What did not hold, invariants included, as sentences.
    pub broken: Vec<String>,
}

impl Published {
    /// Runs it with all invariants and judges it.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] where the members form no cluster.
    pub fn run(&self) -> Result<Judged, ScenarioError> {
        Ok(self.judge(run::run(self.scenario.clone())?))
    }

    /// Judges a finished run of its scenario.
    pub fn judge(&self, outcome: Outcome) -> Judged {
        let mut broken: Vec<String> = outcome.violation.iter().map(ToString::to_string).collect();
        for check in &self.checks {
            if let Err(text) = check.look(&outcome) {
                broken.push(format!("{}: {text}", check.says()));
            }
        }
        Judged { outcome, broken }
    }
}

/// All of them at the sizes of their sources, smallest first.
pub fn all(seed: u64) -> Vec<Published> {
    let mut all = Vec::new();
    all.extend([100, 500, 1_000, 2_000].map(|members| bootstrap(members, seed)));
    all.extend([crashes(1_000, seed), lost_hosts(1_000, seed)]);
    all.push(flip_flop(1_000, seed));
    all.extend([lossy(1_000, false, seed), lossy(1_000, true, seed)]);
    all.push(cut_link(100, [0, 50], seed));
    all.push(joins_under_loss(seed));
    all.extend([1, 2, 4, 8, 16, 32].map(|starving| starved(100, starving, seed)));
    for role in [Role::Watcher, Role::Victim, Role::Coordinator] {
        all.extend([1, 5, 10, 30, 60].map(|seconds| stopped(role, seconds, seed)));
    }
    all.extend([split(100, 60, seed), split(100, 50, seed)]);
    all.push(rolling_restart(10, seed));
    all.push(half_lost(20, seed));
    all
}

/// The one with this name.
pub fn named(name: &str, seed: u64) -> Option<Published> {
    all(seed).into_iter().find(|published| published.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_scenario_is_valid_and_has_a_name_of_its_own() {
        let all = all(7);
        let names: BTreeSet<&str> = all.iter().map(|published| published.name.as_str()).collect();
        assert_eq!(names.len(), all.len());
        for published in &all {
            assert_eq!(published.scenario.validate(), Ok(()), "{}", published.name);
            assert_eq!(published.scenario.seed, 7);
            assert!(!published.checks.is_empty(), "{}", published.name);
        }
    }

    #[test]
    fn a_scenario_is_found_by_its_name() {
        assert_eq!(named("r2-crashes-1000", 0).unwrap().scenario.members, 1_000);
        assert!(named("r9", 0).is_none());
    }
}
