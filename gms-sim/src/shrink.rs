//! Makes a scenario that breaks an invariant small: what it does without is left out, run by run.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::network::Link;
use crate::run::{self, Spectator};
use crate::scenario::{Scenario, Transport};
use crate::world::{Violation, World};

/// Most runs that shrinking may cost.
const RUNS_MAX: usize = 400;

/// A small scenario, and how it breaks the invariant.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The scenario.
    pub scenario: Scenario,
    /// What it breaks: the invariant that the original broke.
    pub violation: Violation,
    /// Runs that finding it took.
    pub runs: usize,
    /// Whether the search was told to stop.
    pub is_cut: bool,
}

/// Looks for a smaller scenario that breaks the same invariant. `goes_on` is asked every simulated second; once it says
/// no, the smallest so far is it. Returns the scenario itself where nothing can go.
pub fn shrink(scenario: &Scenario, violation: &Violation, goes_on: &dyn Fn() -> bool) -> Shrunk {
    let best = Shrunk { scenario: scenario.clone(), violation: violation.clone(), runs: 0, is_cut: false };
    let mut search = Search { best, goes_on };
    loop {
        let before = search.best.scenario.clone();
        search.shorten();
        search.drop_faults();
        search.simplify();
        if search.best.scenario == before || search.is_over() {
            search.best.is_cut = !goes_on();
            return search.best;
        }
    }
}

struct Search<'a> {
    best: Shrunk,
    goes_on: &'a dyn Fn() -> bool,
}

impl Spectator for &dyn Fn() -> bool {
    fn passes(&mut self, _: &World) -> ControlFlow<()> {
        if self() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.best.runs >= RUNS_MAX || !(self.goes_on)()
    }

    /// Keeps the candidate where it breaks the same invariant.
    fn try_one(&mut self, candidate: Scenario) -> bool {
        if self.is_over() || candidate == self.best.scenario {
            return false;
        }
        self.best.runs += 1;
        let Ok(outcome) = run::run_watched(candidate.clone(), &mut self.goes_on) else { return false };
        match outcome.violation {
            Some(violation) if violation.invariant == self.best.violation.invariant => {
                self.best.scenario = candidate;
                self.best.violation = violation;
                true
            }
            _ => false,
        }
    }

    fn try_changed(&mut self, change: impl FnOnce(&mut Scenario)) -> bool {
        let mut candidate = self.best.scenario.clone();
        change(&mut candidate);
        self.try_one(candidate)
    }

    /// Without the time after the last fault, and without healing where that is not what breaks.
    fn shorten(&mut self) {
        self.try_changed(|scenario| scenario.heal_for = Duration::ZERO);
        let last = self.best.scenario.faults.iter().map(|step| step.at).max().unwrap_or_default();
        let timeout = self.best.scenario.member_timeout;
        for span in [last, last + timeout * 2, last + timeout * 4] {
            if span < self.best.scenario.run_for && self.try_changed(|scenario| scenario.run_for = span) {
                break;
            }
        }
    }

    /// Without halves, quarters, … and single faults.
    fn drop_faults(&mut self) {
        let mut size = self.best.scenario.faults.len();
        while size > 0 && !self.is_over() {
            // From the end: what comes late depends on what came early.
            let mut end = self.best.scenario.faults.len();
            while end > 0 {
                let begin = end.saturating_sub(size);
                self.try_changed(|scenario| drop(scenario.faults.drain(begin..end)));
                end = begin;
            }
            size /= 2;
        }
    }

    /// With fewer members and without what is unusual about them and the network.
    fn simplify(&mut self) {
        self.try_changed(|scenario| scenario.weights.clear());
        self.try_changed(|scenario| scenario.not_eligible.clear());
        self.try_changed(|scenario| scenario.network = Link::default());
        self.try_changed(|scenario| scenario.transport = Transport::Udp);
        let fewer = |scenario: &mut Scenario| {
            scenario.members -= 1;
            scenario.seeds = scenario.seeds.min(scenario.members);
        };
        while self.best.scenario.members > 1 && self.try_changed(fewer) {}
    }
}

#[cfg(test)]
mod tests {
    use gms_core::config::CrashDetection;

    use super::*;
    use crate::scenario::{Fault, Step};

    /// A crash whose removal can't be seen within the millisecond that healing is given, among much else.
    fn broken() -> Scenario {
        let step = |ms, fault| Step { at: Duration::from_millis(ms), fault };
        Scenario {
            members: 6,
            member_timeout: Duration::from_secs(1),
            run_for: Duration::from_secs(10),
            heal_for: Duration::from_millis(1),
            crash_detection: Some(CrashDetection::Strict),
            faults: vec![
                step(1_000, Fault::Loss { share: 0.01 }),
                step(2_000, Fault::Drift { host: 1, ppm: 10 }),
                step(9_900, Fault::Crash { host: 4 }),
                step(9_950, Fault::JumpWallClock { host: 2, seconds: 5 }),
            ],
            ..Scenario::default()
        }
    }

    #[test]
    fn what_does_not_matter_goes() {
        let scenario = broken();
        let violation = run::run(scenario.clone()).unwrap().violation.unwrap();
        let shrunk = shrink(&scenario, &violation, &|| true);
        assert_eq!(shrunk.violation.invariant, violation.invariant);
        assert!(!shrunk.is_cut);
        assert_eq!(shrunk.scenario.faults.len(), 1, "{:?}", shrunk.scenario);
        assert!(matches!(shrunk.scenario.faults[0].fault, Fault::Crash { host: 4 }));
        let again = run::run(shrunk.scenario).unwrap().violation;
        assert_eq!(again, Some(shrunk.violation));
    }

    #[test]
    fn seeds_become_as_few_as_the_members_are() {
        let step = Step { at: Duration::from_millis(900), fault: Fault::Crash { host: 0 } };
        let faults = vec![step];
        let scenario = Scenario { seeds: 5, run_for: Duration::from_secs(1), faults, ..broken() };
        let violation = run::run(scenario.clone()).unwrap().violation.unwrap();
        let shrunk = shrink(&scenario, &violation, &|| true).scenario;
        assert!(shrunk.members < 5 && shrunk.seeds <= shrunk.members, "{shrunk:?}");
    }

    #[test]
    fn who_is_told_to_stop_keeps_what_there_is() {
        let scenario = broken();
        let violation = run::run(scenario.clone()).unwrap().violation.unwrap();
        let shrunk = shrink(&scenario, &violation, &|| false);
        assert_eq!((shrunk.scenario, shrunk.runs, shrunk.is_cut), (scenario, 0, true));
    }
}
