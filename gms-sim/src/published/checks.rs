//! What must have come of a run.

use std::collections::BTreeSet;

use crate::network::Host;
use crate::report::Report;
use crate::run::Outcome;
use crate::scenario::Fault;

/// Something that must hold when a run is over.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    says: &'static str,
    look: fn(&Outcome) -> Result<(), String>,
}

impl Check {
    pub(super) const fn new(says: &'static str, look: fn(&Outcome) -> Result<(), String>) -> Self {
        Self { says, look }
    }

    /// What must hold, as a sentence.
    pub const fn says(&self) -> &'static str {
        self.says
    }

    /// Looks whether it does.
    ///
    /// # Errors
    ///
    /// What was found instead.
    pub fn look(&self, outcome: &Outcome) -> Result<(), String> {
        (self.look)(outcome)
    }
}

/// All live processes end in one view.
pub(super) const TOGETHER: Check = Check::new("all that live end in one view", |outcome| {
    let up = outcome.world.up().count();
    let views: BTreeSet<_> = outcome.world.up().map(|p| p.view().map(|view| view.number())).collect();
    if outcome.world.is_in_one_view(up) { Ok(()) } else { Err(format!("{up} are in views {views:?}")) }
});

/// As many processes live at the end as at the beginning, all in one view.
pub(super) const COMPLETE: Check = Check::new("all members end in one view", |outcome| {
    let members = outcome.world.scenario().members;
    if outcome.world.is_in_one_view(members) {
        return Ok(());
    }
    let sizes: BTreeSet<_> = outcome.world.up().map(|p| p.view().map(|view| view.len())).collect();
    Err(format!("{} of {members} are up, in views of {sizes:?}", outcome.world.up().count()))
});

/// All processes that start at the beginning come into a view, save those that are killed or leave.
pub const CAME_IN: Check = Check::new("all that start together come into a view", |outcome| {
    let members = outcome.world.scenario().members;
    let processes = outcome.world.processes();
    let came: BTreeSet<Host> = outcome.metrics.joined.keys().map(|index| processes[*index].host()).collect();
    let out = processes
        .iter()
        .take(members)
        .filter(|process| process.is_alive && !process.is_leaving && !came.contains(&process.host()));
    match out.count() {
        0 => Ok(()),
        out => Err(format!("{out} of {members} were never in one")),
    }
});

/// Whom no fault names stays.
pub(super) const HEALTHY_STAY: Check = Check::new("no healthy member is removed", |outcome| {
    let faulty = faulty(outcome);
    let look = outcome.world.look();
    let hosts = outcome.metrics.removals_of_running.iter().filter_map(|id| look.process_of(id));
    let healthy: Vec<Host> =
        hosts.map(|index| look.processes[index].host()).filter(|host| !faulty.contains(host)).collect();
    if healthy.is_empty() { Ok(()) } else { Err(format!("those on hosts {healthy:?} were")) }
});

/// Nothing happens to the views.
pub(super) const NO_VIEW: Check = Check::new("no view changes", |outcome| {
    let report = Report::new(outcome);
    if report.views == 0 { Ok(()) } else { Err(format!("views {:?} were decided", report.view_numbers)) }
});

/// One view takes all lost members out.
pub(super) const ONE_VIEW: Check = Check::new("one view change", |outcome| {
    let report = Report::new(outcome);
    if report.views == 1 {
        Ok(())
    } else {
        Err(format!("there were {}: {:?}", report.views, report.view_numbers))
    }
});

/// All survivors see all losses within 1.5 T and a little for the network and the batch window.
pub(super) const IN_TIME: Check =
    Check::new("every survivor is without every lost member within 1.5 T", |outcome| {
        let report = Report::new(outcome);
        let losses = outcome.world.look().truth.losses();
        let is_lost = |index: &usize| losses.iter().any(|loss| loss.process == *index);
        let processes = outcome.world.processes();
        let survivors =
            (0..processes.len()).filter(|index| processes[*index].is_up() && !is_lost(index)).count();
        let expected = survivors * report.losses;
        if report.detection.count != expected {
            return Err(format!("{} views of {expected} lack a lost member", report.detection.count));
        }
        let bound = report.member_timeout_ms * 1.5 + 100.0;
        let longest = report.detection.max_ms.unwrap_or_default();
        if longest <= bound { Ok(()) } else { Err(format!("it took {longest} ms")) }
    });

/// The hosts that the scenario's faults name.
pub(super) fn faulty(outcome: &Outcome) -> BTreeSet<Host> {
    outcome.world.scenario().faults.iter().filter_map(|step| faulty_host(&step.fault)).collect()
}

/// The host at which a fault strikes, where it is one.
const fn faulty_host(fault: &Fault) -> Option<Host> {
    match fault {
        Fault::Crash { host }
        | Fault::Restart { host, .. }
        | Fault::Stop { host }
        | Fault::Starve { host, .. }
        | Fault::Suspend { host, .. }
        | Fault::Down { host }
        | Fault::HostLoss { host, .. }
        | Fault::FlipFlop { host, .. } => Some(*host),
        _ => None,
    }
}
