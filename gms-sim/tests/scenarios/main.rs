//! Situations that must end well, in the simulated world with all invariants: see docs/scenarios.md.

mod agreement;
mod machines;
mod members;
mod network;
mod published;
mod sick;
mod signs;
mod weights;

use std::time::Duration;

use gms_sim::run::{self, Outcome};
use gms_sim::{Fault, Report, Scenario, Step};

/// T of all these scenarios unless they say otherwise.
const T: Duration = Duration::from_secs(5);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn at(second: u64, fault: Fault) -> Step {
    Step { at: seconds(second), fault }
}

/// `members` for `run_for` seconds with these faults.
fn scenario(members: usize, run_for: u64, faults: Vec<Step>) -> Scenario {
    Scenario { members, run_for: seconds(run_for), faults, ..Scenario::default() }
}

/// Runs it; no invariant may break.
fn run(scenario: Scenario) -> Outcome {
    let outcome = run::run(scenario).expect("a valid scenario");
    assert_eq!(outcome.violation, None, "{}", Report::new(&outcome));
    outcome
}

/// Nobody was removed, left or joined.
fn assert_untouched(outcome: &Outcome) {
    let report = Report::new(outcome);
    assert_eq!(report.views, 0, "{report}");
    assert!(outcome.world.is_in_one_view(outcome.world.scenario().members), "{report}");
}

/// All members that live are in one view of so many, and nobody that ran was removed.
fn assert_ends_with(outcome: &Outcome, members: usize) {
    let report = Report::new(outcome);
    assert!(outcome.world.is_in_one_view(members), "{report}");
    assert_eq!(report.removals_of_running, 0, "{report}");
}
