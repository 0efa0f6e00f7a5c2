//! Many seeds on all cores. They count in their order, whichever core is done first: the same seeds, the same sum.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use gms_sim::run::{self, Spectator};
use gms_sim::{Report, Violation, World};
use serde_json::{Value, json};

use crate::event_json::millis;
use crate::exit::Failure;

use super::interrupt::Interrupt;
use super::plan::Plan;
use super::progress::Progress;

/// How often an interruption is looked for while nothing else happens.
const LOOK: Duration = Duration::from_millis(100);

/// What one seed brought.
#[derive(Debug)]
struct Brief {
    report: Report,
    simulated: Duration,
    healed_after: Option<Duration>,
    violation: Option<Violation>,
    checks: Vec<String>,
}

/// What all seeds brought, up to the first that is broken.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) done: u64,
    /// The first seed that breaks an invariant, and how.
    pub(super) broken: Option<(u64, Violation)>,
    /// The first seed of which something else did not hold, and what.
    pub(super) failed: Option<(u64, String)>,
    simulated: Duration,
    events: u64,
    losses: u64,
    views: u64,
    removals: u64,
    removals_of_running: u64,
    isolations: u64,
    exclusions: u64,
    joins_failed: u64,
    leaves_timed_out: u64,
    slowest_heal: Option<(Duration, u64)>,
}

impl Sum {
    const fn is_over(&self) -> bool {
        self.broken.is_some() || self.failed.is_some()
    }

    fn add(&mut self, seed: u64, brief: Result<Brief, String>) {
        let brief = match brief {
            Ok(brief) => brief,
            Err(text) => {
                self.failed = Some((seed, text));
                return;
            }
        };
        self.done += 1;
        let Brief { report, simulated, healed_after, violation, checks } = brief;
        self.simulated += simulated;
        self.events += report.events;
        self.losses += report.losses as u64;
        self.views += report.views as u64;
        self.removals += report.removals;
        self.removals_of_running += report.removals_of_running as u64;
        self.isolations += report.isolations;
        self.exclusions += report.exclusions;
        self.joins_failed += report.joins_failed;
        self.leaves_timed_out += report.leaves_timed_out;
        self.slowest_heal = self.slowest_heal.max(healed_after.map(|after| (after, seed)));
        if let Some(violation) = violation {
            self.broken = Some((seed, violation));
        } else if !checks.is_empty() {
            self.failed = Some((seed, checks.join("; ")));
        }
    }

    /// For people.
    pub(super) fn text(&self, plan: &Plan, took: Duration) -> String {
        let seconds = took.as_secs_f64();
        let speed = self.simulated.as_secs_f64() / seconds.max(1e-9);
        let mut text = format!(
            "{}, {} of {} seeds from {}\nsimulated    {:.0} s in {} events; took {seconds:.1} s, {speed:.0} x real time\n",
            plan.workload,
            self.done,
            plan.seeds.unwrap_or(1),
            plan.seed,
            self.simulated.as_secs_f64(),
            self.events,
        );
        text.push_str(&format!("losses       {}\nviews        {}\n", self.losses, self.views));
        text.push_str(&format!(
            "removals     {}, of them of running {}\nisolations   {}; exclusions {}\n",
            self.removals, self.removals_of_running, self.isolations, self.exclusions
        ));
        text.push_str(&format!(
            "gave up      joins {}; leaves {}\n",
            self.joins_failed, self.leaves_timed_out
        ));
        if let Some((after, seed)) = self.slowest_heal {
            text.push_str(&format!(
                "healed       after {:.1} s at most (seed {seed})\n",
                after.as_secs_f64()
            ));
        }
        text.push_str(if self.broken.is_none() { "no invariant broke" } else { "an invariant broke" });
        text
    }

    /// For programs.
    pub(super) fn json(&self, plan: &Plan) -> Value {
        let heal = self.slowest_heal.map(|(after, seed)| json!({ "seed": seed, "after_ms": millis(after) }));
        json!({
            "first_seed": plan.seed,
            "seeds": plan.seeds,
            "done": self.done,
            "simulated_ms": millis(self.simulated),
            "events": self.events,
            "losses": self.losses,
            "views": self.views,
            "removals": self.removals,
            "removals_of_running": self.removals_of_running,
            "isolations": self.isolations,
            "exclusions": self.exclusions,
            "joins_failed": self.joins_failed,
            "leaves_timed_out": self.leaves_timed_out,
            "slowest_heal": heal,
        })
    }
}

/// Runs all seeds of a plan, until one is broken.
pub(super) fn run(plan: &Plan, interrupt: &Interrupt, progress: &Progress) -> Sum {
    let seeds = plan.seed..plan.seed + plan.seeds.unwrap_or(1);
    let next = AtomicU64::new(seeds.start);
    let is_over = AtomicBool::new(false);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut sum = Sum::default();
    std::thread::scope(|scope| {
        let (sender, briefs) = mpsc::channel();
        for _ in 0..threads {
            let sender = sender.clone();
            scope.spawn(|| work(plan, &next, seeds.end, &is_over, sender));
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut counted = seeds.start;
        while !sum.is_over() && !interrupt.is_set() {
            match briefs.recv_timeout(LOOK) {
                Ok((seed, brief)) => drop(waiting.insert(seed, brief)),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Some(brief) = waiting.remove(&counted).filter(|_| !sum.is_over()) {
                sum.add(counted, brief);
                counted += 1;
            }
            progress.seeds(sum.done, seeds.end - seeds.start, sum.simulated, sum.events);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    progress.end();
    sum
}

/// Takes one seed after the other.
fn work(
    plan: &Plan,
    next: &AtomicU64,
    end: u64,
    is_over: &AtomicBool,
    briefs: Sender<(u64, Result<Brief, String>)>,
) {
    while !is_over.load(Ordering::Relaxed) {
        // Never beyond the end: the number after the last may be none.
        let taken =
            next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |seed| (seed < end).then(|| seed + 1));
        let Ok(seed) = taken else { return };
        if briefs.send((seed, brief(plan, seed, is_over))).is_err() {
            return;
        }
    }
}

struct UntilOver<'a>(&'a AtomicBool);

impl Spectator for UntilOver<'_> {
    fn passes(&mut self, _: &World) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn brief(plan: &Plan, seed: u64, is_over: &AtomicBool) -> Result<Brief, String> {
    let scenario = plan.scenario(seed).map_err(|Failure { sentence, .. }| sentence)?;
    let outcome = run::run_watched(scenario, &mut UntilOver(is_over)).map_err(|error| error.to_string())?;
    let checks = plan.checks(seed);
    let failed =
        checks.iter().filter_map(|check| Some(format!("{}: {}", check.says(), check.look(&outcome).err()?)));
    Ok(Brief {
        report: Report::new(&outcome),
        simulated: outcome.elapsed,
        healed_after: outcome.healed_after,
        violation: outcome.violation.clone(),
        checks: failed.collect(),
    })
}
