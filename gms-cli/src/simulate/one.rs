//! One run, with its trace, its progress and its end.

use std::ops::ControlFlow;

use gms_core::event::State;
use gms_sim::published::Check;
use gms_sim::run::{self, Outcome, Spectator};
use gms_sim::{Report, Scenario, Violation, World};
use serde_json::{Value, json};

use crate::exit::Failure;

use super::interrupt::Interrupt;
use super::progress::Progress;
use super::trace::TraceFile;

/// What a run brought.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) report: Report,
    pub(super) violation: Option<Violation>,
    /// What had to hold at the end, and what was found instead where it did not.
    pub(super) checks: Vec<(&'static str, Option<String>)>,
    /// How far it came, where it was interrupted.
    interrupted: Option<String>,
    end: End,
}

/// How the world is when the run is over.
#[derive(Debug)]
struct End {
    live: usize,
    /// The number of the view, where all that live are in one.
    view: Option<u64>,
    /// Of those that live: isolated, or with the majority lost.
    without_majority: usize,
}

struct Watcher<'a> {
    interrupt: &'a Interrupt,
    progress: &'a Progress,
    trace: Option<&'a TraceFile>,
    has_begun: bool,
    is_cut: bool,
}

impl Spectator for Watcher<'_> {
    fn begins(&mut self, world: &mut World) {
        self.has_begun = true;
        if let Some(trace) = self.trace {
            trace.follow(world);
        }
    }

    fn passes(&mut self, world: &World) -> ControlFlow<()> {
        if self.has_begun {
            self.progress.run(world.elapsed(), world.events());
        } else {
            self.progress.forming(world.events());
        }
        self.is_cut = self.interrupt.is_set();
        if self.is_cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Runs a scenario and judges it.
///
/// # Errors
///
/// The members form no cluster, or the trace can't be written.
pub(super) fn run(
    scenario: Scenario,
    checks: &[Check],
    trace: Option<&TraceFile>,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Done, Failure> {
    let mut watcher = Watcher { interrupt, progress, trace, has_begun: false, is_cut: false };
    let result = run::run_watched(scenario, &mut watcher);
    progress.end();
    if let Some(trace) = trace {
        trace.finish()?;
    }
    let outcome = result.map_err(|error| Failure::fault(error.to_string()))?;
    let interrupted = watcher.is_cut.then(|| cut_short(&outcome, watcher.has_begun, !checks.is_empty()));
    Ok(Done::of(&outcome, checks, interrupted))
}

/// How far a run came that was interrupted.
fn cut_short(outcome: &Outcome, has_begun: bool, has_checks: bool) -> String {
    let scenario = outcome.world.scenario();
    let whole = scenario.run_for.saturating_add(scenario.heal_for).as_secs_f64();
    let mut text = if has_begun {
        format!("interrupted after {:.0} s of {whole:.0} s", outcome.elapsed.as_secs_f64())
    } else {
        String::from("interrupted while the members formed")
    };
    if has_checks {
        text.push_str("; checks not looked at");
    }
    text
}

impl Done {
    fn of(outcome: &Outcome, checks: &[Check], interrupted: Option<String>) -> Self {
        // A run that was cut short has not come to where its checks must hold.
        let checks = if interrupted.is_some() { &[] } else { checks };
        let live = outcome.world.up().count();
        let mut views = outcome.world.up().map(|process| process.view().map(|v| (v.cluster(), v.number())));
        let first = views.next().flatten();
        let lack = |state| matches!(state, State::Isolated | State::NoQuorum);
        let without_majority = outcome.world.up().filter(|process| lack(process.node().state())).count();
        let is_one = views.all(|view| view.is_some() && view == first);
        Self {
            report: Report::new(outcome),
            violation: outcome.violation.clone(),
            checks: checks.iter().map(|check| (check.says(), check.look(outcome).err())).collect(),
            interrupted,
            end: End { live, view: first.filter(|_| is_one).map(|(_, number)| number), without_majority },
        }
    }

    /// Whether it was cut short.
    pub(super) const fn is_interrupted(&self) -> bool {
        self.interrupted.is_some()
    }

    /// Whether everything held.
    pub(super) fn is_ok(&self) -> bool {
        self.violation.is_none() && self.checks.iter().all(|(_, found)| found.is_none())
    }

    /// For people; what broke is told elsewhere.
    pub(super) fn text(&self) -> String {
        let report = Report { violation: None, ..self.report.clone() };
        let mut text = match &self.interrupted {
            Some(interrupted) => format!("{interrupted}\n{report}"),
            None => report.to_string(),
        };
        if self.violation.is_some() {
            text = text.replace("no invariant broke\n", "");
        }
        text.push_str(&match (self.end.live, self.end.view) {
            (0, _) => String::from("at the end   nobody lives"),
            (live, Some(view)) => format!("at the end   {live} live, all in view {view}"),
            (live, None) => format!("at the end   {live} live, not in one view"),
        });
        if self.end.without_majority > 0 {
            text.push_str(&format!(", {} of them isolated, without a majority", self.end.without_majority));
        }
        for (says, found) in &self.checks {
            let found = found.as_ref().map_or_else(|| String::from("yes"), |found| format!("NO: {found}"));
            text.push_str(&format!("\nchecked      {says}: {found}"));
        }
        text
    }

    /// For programs. Times of the machine are left out: the same seed gives the same bytes.
    pub(super) fn json(&self) -> Result<Value, Failure> {
        let mut value = serde_json::to_value(&self.report)
            .map_err(|error| Failure::fault(format!("the report has no form in JSON ({error})")))?;
        if let Some(object) = value.as_object_mut() {
            object.shift_remove("cpu_ms");
            object.shift_remove("violation");
            object.insert("live".into(), self.end.live.into());
            object.insert("view".into(), self.end.view.into());
            object.insert("without_majority".into(), self.end.without_majority.into());
            let checks = self
                .checks
                .iter()
                .map(|(says, found)| json!({ "says": says, "ok": found.is_none(), "found": found }));
            object.insert("checks".into(), checks.collect());
        }
        Ok(value)
    }
}
