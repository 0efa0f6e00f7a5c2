//! Whether a scenario makes sense: values within bounds, and hosts that have a process.

use std::collections::BTreeSet;
use std::time::Duration;

use gms_core::member::Weight;

use super::{Fault, Scenario, ScenarioError, Step};
use crate::network::{HOSTS_MAX, Host};

/// Longest first and second phase.
const SPAN_MAX: Duration = Duration::from_secs(1_000 * 3_600);

impl Scenario {
    /// Checks all values.
    ///
    /// # Errors
    ///
    /// The first that is out of bounds, with what to do.
    pub fn validate(&self) -> Result<(), ScenarioError> {
        let wrong = |text: String| Err(ScenarioError::Value(text));
        if self.members == 0 || self.members > HOSTS_MAX {
            return wrong(format!("members is {}: a cluster has 1 to {HOSTS_MAX}", self.members));
        }
        if self.seeds == 0 || self.seeds > 1_000 {
            return wrong(format!("seeds is {}: between 1 and 1000", self.seeds));
        }
        if let Some(fault) = self.network.fault() {
            return wrong(format!("network: {fault}"));
        }
        if let Some((host, weight)) = self.weights.iter().find(|(_, weight)| Weight::new(**weight).is_none())
        {
            return wrong(format!("weight of host {host} is {weight}: at most {}", Weight::MAX));
        }
        for (name, span) in [("for", self.run_for), ("heal", self.heal_for)] {
            if span > SPAN_MAX {
                return wrong(format!("{name} is {span:?}: at most 1000h"));
            }
        }
        crate::process::timing(self).map_err(ScenarioError::Value)?;
        for step in &self.faults {
            if let Some(fault) = fault_of(&step.fault) {
                return wrong(format!("fault at {:?}: {fault}", step.at));
            }
            if step.at > self.run_for {
                let text = format!("fault at {:?}: the run ends at {:?}", step.at, self.run_for);
                return wrong(format!("{text}, let it happen earlier or lengthen it (`for`, --for)"));
            }
        }
        Ok(())
    }

    /// Checks that all hosts that are named have a process. That is apart from [`Scenario::validate`]: who takes members
    /// out of a scenario may leave the rest as it is, which then has no effect.
    ///
    /// # Errors
    ///
    /// The first that has none, and where processes start.
    pub fn check_hosts(&self) -> Result<(), ScenarioError> {
        let wrong = |text: String| Err(ScenarioError::Value(text));
        if let Some((step, host)) = self.stray() {
            return wrong(format!("fault at {:?}: {}", self.faults[step].at, self.no_process(host)));
        }
        let started = self.started();
        if let Some(host) = self.weights.keys().find(|host| !started.contains(host)) {
            return wrong(format!("weights: {}", self.no_process(*host)));
        }
        match self.not_eligible.difference(&started).next() {
            Some(host) => wrong(format!("not_eligible: {}", self.no_process(*host))),
            None => Ok(()),
        }
    }

    /// How many hosts there are on which a process is, was or will be: the next one is free.
    pub fn hosts(&self) -> usize {
        self.started().last().map_or(0, |host| host + 1)
    }

    /// The scenario without what it says about hosts on which no process ever starts.
    pub(super) fn without_strays(&self) -> Self {
        let mut scenario = self.clone();
        let started = self.started();
        for step in &mut scenario.faults {
            if let Fault::Partition { groups } = &mut step.fault {
                groups.iter_mut().for_each(|group| group.retain(|host| started.contains(host)));
            }
        }
        scenario.faults.retain(|step| hosts_of(&step.fault).iter().all(|host| started.contains(host)));
        scenario.weights.retain(|host, _| started.contains(host));
        scenario.not_eligible.retain(|host| started.contains(host));
        scenario
    }

    /// The hosts on which processes start; of more than there may be the first.
    fn started(&self) -> BTreeSet<Host> {
        let starts = |step: &&Step| matches!(step.fault, Fault::Start { .. } | Fault::Restart { .. });
        let later = self.faults.iter().filter(starts).flat_map(|step| hosts_of(&step.fault));
        later.chain(0..self.members.min(HOSTS_MAX)).collect()
    }

    /// The first step that is about a host on which no process ever starts, and that host.
    pub(super) fn stray(&self) -> Option<(usize, Host)> {
        let started = self.started();
        let named = self.faults.iter().enumerate();
        let mut hosts = named.flat_map(|(n, step)| hosts_of(&step.fault).into_iter().map(move |h| (n, h)));
        hosts.find(|(_, host)| !started.contains(host))
    }

    /// Says of a host that none starts there, and where they do.
    pub(super) fn no_process(&self, host: Host) -> String {
        format!(
            "host {host} has no process: members start on hosts 0 to {}, others with do = \"start\"",
            self.members - 1
        )
    }
}

/// What is wrong with a fault's values, if anything.
pub(super) fn fault_of(fault: &Fault) -> Option<String> {
    if let Some(host) = hosts_of(fault).into_iter().find(|host| *host >= HOSTS_MAX) {
        return Some(format!("host is {host}: below {HOSTS_MAX}"));
    }
    let share = |name: &str, value: f64| {
        (!(0.0..=1.0).contains(&value)).then(|| format!("{name} is {value}: a share lies between 0 and 1"))
    };
    match fault {
        Fault::Loss { share: value } => share("share", *value),
        Fault::HostLoss { inward, outward, .. } => {
            share("inward", *inward).or_else(|| share("outward", *outward))
        }
        Fault::Starve { share: value, period, .. } => {
            let none = (*value <= 0.0).then(|| format!("share is {value}: stop the process instead"));
            let short =
                (*period < Duration::from_millis(1)).then(|| format!("period is {period:?}: at least 1ms"));
            none.or(short).or_else(|| share("share", *value))
        }
        Fault::FlipFlop { period, .. } if *period < Duration::from_millis(1) => {
            Some(format!("period is {period:?}: at least 1ms"))
        }
        Fault::Drift { ppm, .. } if ppm.unsigned_abs() > 500_000 => {
            Some(format!("ppm is {ppm}: at most 500000 either way"))
        }
        Fault::Cut { from, to } if from == to => {
            Some(format!("from and to are {from}: name the two ends of a link"))
        }
        Fault::Partition { groups } => fault_of_groups(groups),
        Fault::Link { link, .. } | Fault::Links { link } => link.fault(),
        _ => None,
    }
}

/// What is wrong with the groups of a partition. One of them may be empty.
fn fault_of_groups(groups: &[Vec<Host>]) -> Option<String> {
    if groups.is_empty() {
        return Some(String::from("groups has none: name those that are parted, such as [\"0-3\", [4, 5]]"));
    }
    let mut seen = BTreeSet::new();
    let twice = groups.iter().flatten().find(|host| !seen.insert(**host))?;
    Some(format!("host {twice} is named twice in groups: it is in one of them"))
}

/// The hosts that a fault names.
fn hosts_of(fault: &Fault) -> Vec<Host> {
    match fault {
        Fault::Start { host }
        | Fault::Crash { host }
        | Fault::Restart { host, .. }
        | Fault::Stop { host }
        | Fault::Continue { host }
        | Fault::Suspend { host, .. }
        | Fault::JumpWallClock { host, .. }
        | Fault::Leave { host }
        | Fault::Sick { host, .. }
        | Fault::Down { host }
        | Fault::Up { host }
        | Fault::Streams { host, .. }
        | Fault::Reject { host, .. }
        | Fault::Forget { host }
        | Fault::Squat { host, .. }
        | Fault::Starve { host, .. }
        | Fault::Drift { host, .. }
        | Fault::HostLoss { host, .. }
        | Fault::FlipFlop { host, .. } => vec![*host],
        Fault::Expel { host, by } => vec![*host, *by],
        Fault::Cut { from, to } | Fault::Link { from, to, .. } => vec![*from, *to],
        Fault::Partition { groups } => groups.concat(),
        Fault::Loss { .. } | Fault::Links { .. } | Fault::Heal => Vec::new(),
    }
}
