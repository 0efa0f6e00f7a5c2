//! The runs of a plan, in their order, some of them side by side.
//!
//! Repetition by repetition and scenario by scenario, so that what the machine does meanwhile falls on all systems
//! alike. A run has the machine to itself where milliseconds decide. The others wait for most of their time: there the
//! clusters of all systems stand at once, each in namespaces of its own, and what disturbs one disturbs all. Nothing is
//! done to any of them before all stand, and none is taken down before all are through: starting and ending
//! some hundred processes and namespaces is no silence.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plan::Plan;
use super::report::Report;
use super::{markdown, tell};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure;
use crate::outcome::{Outcome, Run};
use crate::scenario::Scenario;
use crate::system::{System, Tools};

/// Makes all runs. The report has those that were made, also when it ends early.
pub(super) fn run_all(
    plan: &Plan,
    tools: &Tools,
    interrupt: &Interrupt,
    report: &mut Report,
) -> Result<(), Failure> {
    let bar = progress(plan);
    let mut chance = fastrand::Rng::with_seed(plan.seed);
    for repeat in 1..=plan.repeats {
        for scenario in &plan.scenarios {
            loop {
                // What idle members cost decides on further settings to measure, also while idle.
                let is_done = |system: &System| {
                    let is_it = |run: &Run| {
                        run.repeat == repeat && run.scenario == *scenario && run.system == *system
                    };
                    report.runs.iter().any(is_it)
                };
                let mut systems = plan.systems(*scenario, &report.runs);
                systems.retain(|system| !is_done(system));
                if systems.is_empty() {
                    break;
                }
                // Nobody is always first.
                let turn = repeat % systems.len();
                systems.rotate_left(turn);
                for group in groups(plan, *scenario, systems) {
                    let named: Vec<String> = group.iter().map(System::name).collect();
                    bar.set_message(format!("{} · {}", scenario.name(), named.join(", ")));
                    let one = Turn { scenario: *scenario, repeat, plan, tools, interrupt, bar: &bar };
                    report.runs.extend(one.run(group, &mut chance)?);
                }
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Which systems run at once: crashes of GMS, which are noticed within milliseconds, alone.
fn groups(plan: &Plan, scenario: Scenario, systems: Vec<System>) -> Vec<Vec<System>> {
    let (alone, others): (Vec<_>, Vec<_>) =
        systems.into_iter().partition(|system| plan.is_alone(scenario, system));
    let others = others.chunks(plan.clusters_at_once()).map(<[System]>::to_vec);
    alone.into_iter().map(|system| vec![system]).chain(others).collect()
}

/// One scenario for some systems.
struct Turn<'a> {
    scenario: Scenario,
    repeat: usize,
    plan: &'a Plan,
    tools: &'a Tools,
    interrupt: &'a Interrupt,
    bar: &'a ProgressBar,
}

impl Turn<'_> {
    /// Runs the scenario for each of these at once.
    fn run(&self, systems: Vec<System>, chance: &mut fastrand::Rng) -> Result<Vec<Run>, Failure> {
        let gate = Barrier::new(systems.len());
        let systems = systems.into_iter().map(|system| (system, chance.fork()));
        thread::scope(|scope| {
            let gate = &gate;
            let running: Vec<_> = systems
                // Members end with the thread that started them: it stays until they are not needed any more.
                .map(|(system, chance)| scope.spawn(move || self.run_one(system, gate, chance)))
                .collect();
            running.into_iter().map(|one| one.join().expect("a run does not panic")).collect()
        })
    }

    fn run_one(&self, system: System, gate: &Barrier, mut chance: fastrand::Rng) -> Result<Run, Failure> {
        let (scenario, manner) = (self.scenario, &self.plan.manner);
        let mut cluster = measure::set_up(&system, manner, self.tools, self.interrupt);
        // Also of a cluster that failed: the others wait for it.
        gate.wait();
        let ran = match &mut cluster {
            Ok(cluster) => measure::inflict(scenario, cluster, manner, &mut chance),
            Err(failure) => Err(failure.clone()),
        };
        gate.wait();
        drop(cluster);
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => Outcome::Failed(failure.to_string()),
        };
        self.bar.suspend(|| tell(&line(scenario, &system, self.repeat, &outcome)));
        self.bar.inc(1);
        Ok(Run { scenario, system, members: manner.members, repeat: self.repeat, outcome })
    }
}

fn progress(plan: &Plan) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(plan.count()), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {elapsed} of about {prefix}  {msg}");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_prefix(humantime::format_duration(Duration::from_secs(plan.expected().as_secs())).to_string());
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// One run as a line for who watches.
fn line(scenario: Scenario, system: &System, repeat: usize, outcome: &Outcome) -> String {
    let what = match outcome {
        Outcome::Noticed(noticed) => markdown::noticed(noticed),
        Outcome::Watched(watched) => format!("{} healthy members not seen", watched.false_reports),
        Outcome::Idle(idle) => markdown::idle(idle),
        Outcome::Curve { idle, noticed } => {
            format!("{}; {}", markdown::idle(idle), markdown::noticed(noticed))
        }
        Outcome::Failed(why) => format!("failed: {why}"),
    };
    format!("{repeat:>3}  {:<17}  {:<42}  {what}", scenario.name(), system.name())
}
