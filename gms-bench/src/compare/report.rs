//! All runs, as they are kept in `report.json`, and what they amount to.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::plan::Plan;
use crate::failure::Failure;
use crate::outcome::{Idle, Outcome, Run, Watched};
use crate::scenario::Scenario;
use crate::stats::Spread;
use crate::system::{System, Tuning};
use crate::transport::Carrier;

/// Largest report read: that of ten thousand runs fits.
const REPORT_BYTES_MAX: u64 = 64 << 20;

/// The version of the form of `report.json`. It grows when a field changes its meaning or goes away.
pub(super) const FORMAT: u32 = 1;

/// How the runs were made: the options that were in force.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Settings {
    /// T of GMS in milliseconds.
    pub(super) member_timeout_ms: u64,
    /// Victims of the scenarios with several.
    pub(super) victims: usize,
    /// Whether each member had a network namespace of its own.
    pub(super) namespaces: bool,
    /// How long clusters stood before anything was done to them, in milliseconds, and up to a second by chance.
    pub(super) settle_ms: u64,
    /// How long idle ones were watched, in milliseconds.
    pub(super) idle_for_ms: u64,
    /// Percent of packets lost in the scenarios with loss.
    pub(super) loss_percent: u8,
    /// How long, in milliseconds.
    pub(super) loss_for_ms: u64,
    /// Where the moments of faults and the choice of victims came from.
    pub(super) seed: u64,
}

/// Everything that was measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Report {
    /// [`FORMAT`].
    pub(super) format: u32,
    /// On what.
    pub(super) machine: Machine,
    /// How.
    pub(super) settings: Settings,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
    /// Each run.
    pub(super) runs: Vec<Run>,
}

impl Report {
    /// An empty report of this plan.
    pub(super) fn new(plan: &Plan) -> Self {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            format: FORMAT,
            machine: Machine::here(),
            settings: Settings {
                member_timeout_ms: millis(plan.member_timeout),
                victims: plan.manner.victims,
                namespaces: plan.manner.in_lab,
                settle_ms: millis(plan.manner.settle),
                idle_for_ms: millis(plan.manner.idle_for),
                loss_percent: plan.manner.loss_percent,
                loss_for_ms: millis(plan.manner.loss_for),
                seed: plan.seed,
            },
            notes: plan.notes.clone(),
            runs: Vec::new(),
        }
    }

    /// The report in a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let bad = |why: String| Failure::Usage(format!("{} is no report: {why}", path.display()));
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|error| bad(error.to_string()))?;
        file.take(REPORT_BYTES_MAX).read_to_string(&mut text).map_err(|error| bad(error.to_string()))?;
        let report: Self = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if report.format != FORMAT {
            return Err(bad(format!("its form {} is not the {FORMAT} of this version", report.format)));
        }
        Ok(report)
    }

    /// The text of `report.json`.
    pub(super) fn json(&self) -> Result<String, Failure> {
        let failed = |error| Failure::fault(format!("the report can't be written as JSON: {error}"));
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(failed)
    }

    /// Takes in the runs of another report; what differs in its settings is noted.
    pub(super) fn absorb(&mut self, other: Self) {
        if other.machine.processor != self.machine.processor {
            self.notes.push(format!("some runs were made on {}", other.machine.processor));
        }
        let load = format!("some runs were made from a load of {} on", other.machine.load);
        for note in std::iter::once(load).chain(other.notes) {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.runs.extend(other.runs);
    }

    /// The sizes of clusters that were run, smallest first.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.runs.iter().map(|run| run.members).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The systems that were run in clusters of this size, in these scenarios: GMS first, then by name.
    pub(super) fn systems(&self, members: usize, scenarios: &[Scenario]) -> Vec<System> {
        let runs = self.runs.iter().filter(|run| run.members == members && scenarios.contains(&run.scenario));
        let mut systems: Vec<System> = Vec::new();
        for run in runs {
            if !systems.contains(&run.system) {
                systems.push(run.system.clone());
            }
        }
        systems.sort_by_key(|system| match system {
            System::Gms(tuning) => {
                let default = Tuning::at(Duration::from_millis(self.settings.member_timeout_ms));
                let differs = *tuning != default.over(tuning.carrier);
                let set = (differs, tuning.recipients, tuning.member_timeout_ms);
                (None, tuning.carrier, set)
            }
            System::Peer(peer) => (Some(peer.name()), Carrier::default(), (false, None, 0)),
        });
        systems
    }

    /// What came of the runs of one cell of a table.
    pub(super) fn cell(&self, members: usize, scenario: Scenario, system: &System) -> Cell {
        let mut cell = Cell::default();
        let runs = self.runs.iter();
        for run in
            runs.filter(|run| run.members == members && run.scenario == scenario && run.system == *system)
        {
            cell.add(&run.outcome);
        }
        cell
    }
}

/// The runs of one scenario and one system.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Cell {
    /// Seconds to the last survivor, of the runs in which all noticed.
    pub(super) last_s: Vec<f64>,
    /// Runs in which some survivor did not.
    pub(super) unnoticed: usize,
    /// Runs that failed.
    pub(super) failed: usize,
    /// Most views of a run.
    pub(super) views: Option<u64>,
    /// Healthy members wrongly not seen, in all runs.
    pub(super) false_reports: usize,
    /// Runs under loss.
    pub(super) watched: Vec<Watched>,
    /// Costs.
    pub(super) idle: Vec<Idle>,
}

impl Cell {
    fn add(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Noticed(noticed) | Outcome::Curve { noticed, .. } => {
                match noticed.last_s {
                    Some(seconds) => self.last_s.push(seconds),
                    None => self.unnoticed += 1,
                }
                self.views = self.views.max(noticed.views);
                self.false_reports += noticed.false_reports;
            }
            Outcome::Watched(watched) => self.watched.push(watched.clone()),
            Outcome::Idle(_) => {}
            Outcome::Failed(_) => self.failed += 1,
        }
        if let Outcome::Idle(idle) | Outcome::Curve { idle, .. } = outcome {
            self.idle.push(*idle);
        }
    }

    /// The spread of the times.
    pub(super) fn times(&self) -> Option<Spread> {
        Spread::of(self.last_s.iter().copied())
    }

    /// The median of one cost.
    pub(super) fn cost(&self, of: impl Fn(&Idle) -> Option<f64>) -> Option<f64> {
        Spread::of(self.idle.iter().filter_map(of)).map(|spread| spread.median)
    }

    /// Whether nothing was run.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
