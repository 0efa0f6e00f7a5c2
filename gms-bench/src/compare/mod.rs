//! `gms-bench compare`: the same faults on the same machine, interleaved, for GMS and for other systems.

mod charts;
mod drivers;
mod machine;
mod markdown;
mod matching;
mod plan;
mod report;
mod targets;

use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{CompareArgs, RenderArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::measure;
use crate::outcome::{Outcome, Run};
use crate::print;
use crate::scenario::Scenario;
use crate::system::{System, Tools};

use plan::Plan;
use report::Report;

/// `gms-bench compare`
pub(crate) fn command(args: &CompareArgs) -> Result<(), Failure> {
    let plan = Plan::of(args)?;
    create(&args.out)?;
    for note in &plan.notes {
        tell(note);
    }
    let bench = std::env::current_exe()
        .map_err(|error| Failure::fault(format!("this program does not know where it is: {error}")))?;
    let drivers = drivers::build(&plan.peers)?;
    let interrupt = Interrupt::on_signals()?;
    let mut report = Report::new(&plan);
    let ran = run_all(&plan, &Tools { bench, drivers }, &interrupt, &mut report);
    // What was measured up to an interruption is worth keeping.
    if !report.runs.is_empty() {
        write_out(&report, &args.out)?;
    }
    ran
}

/// `gms-bench render`
pub(crate) fn render(args: &RenderArgs) -> Result<(), Failure> {
    let mut reports = args.reports.iter().map(|path| Report::read(path));
    let first = reports.next().ok_or_else(|| Failure::Usage("name a report".into()))??;
    let report = reports.try_fold(first, |mut all, more| {
        all.absorb(more?);
        Ok::<_, Failure>(all)
    })?;
    create(&args.out)?;
    write_out(&report, &args.out)
}

/// All runs of the plan: repetition by repetition and scenario by scenario, so that what the machine does meanwhile
/// falls on all systems alike.
fn run_all(plan: &Plan, tools: &Tools, interrupt: &Interrupt, report: &mut Report) -> Result<(), Failure> {
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
                for system in systems {
                    bar.set_message(format!("{} · {}", scenario.name(), system.name()));
                    let ran = measure::run(*scenario, &system, &plan.manner, tools, interrupt, &mut chance);
                    let outcome = match ran {
                        Ok(outcome) => outcome,
                        Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                        Err(failure) => Outcome::Failed(failure.to_string()),
                    };
                    bar.suspend(|| tell(&line(*scenario, &system, repeat, &outcome)));
                    let (scenario, members) = (*scenario, plan.manner.members);
                    report.runs.push(Run { scenario, system, members, repeat, outcome });
                    bar.inc(1);
                }
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
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

/// Says something to who watches; what can't be written nobody reads.
fn tell(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn create(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|error| {
        Failure::Usage(format!("--out {} can't be made ({error}): name a writable folder", dir.display()))
    })
}

fn write_out(report: &Report, dir: &Path) -> Result<(), Failure> {
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text)
            .map_err(|error| Failure::fault(format!("{} can't be written: {error}", path.display())))
    };
    write("report.json", &report.json()?)?;
    let charts = charts::draw(report)?;
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    let text = markdown::render(report, &names);
    write("report.md", &text)?;
    for (name, svg) in &charts {
        write(name, svg)?;
    }
    print(&text)?;
    tell(&format!("written to {}: report.json, report.md {}", dir.display(), names.join(" ")));
    Ok(())
}

#[cfg(test)]
mod tests;
