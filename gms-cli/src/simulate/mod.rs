//! `gms simulate`: clusters in the simulated world, one run or many seeds, and whether the promises held.

mod broken;
mod interrupt;
mod many;
mod one;
mod plan;
mod progress;
mod trace;

use std::path::{Path, PathBuf};

use gms_sim::Violation;
use serde_json::{Value, json};

use crate::args::SimulateArgs;
use crate::exit::{Code, Failure};
use crate::output;

use broken::Broken;
use interrupt::Interrupt;
use many::Sum;
use one::Done;
use plan::Plan;
use progress::Progress;
use trace::TraceFile;

/// `gms simulate`
pub(crate) fn command(args: &SimulateArgs) -> Result<Code, Failure> {
    if args.ready.published.as_deref() == Some("list") {
        let names = plan::names();
        if args.output.json {
            let list = names.iter().map(|(name, asks)| json!({ "name": name, "asks": asks }));
            return output::line(&Value::from_iter(list).to_string()).map(|()| Code::Success);
        }
        let lines: Vec<String> = names.iter().map(|(name, asks)| format!("{name:<28} {asks}")).collect();
        return output::line(&lines.join("\n")).map(|()| Code::Success);
    }
    let plan = Plan::of(args)?;
    check_distinct(args)?;
    if args.output.print_scenario {
        let scenario = plan.scenario(plan.seed)?;
        return output::stdout(scenario.to_toml().as_bytes()).map(|()| Code::Success);
    }
    if let Some(file) = &args.output.save {
        check_writable(file)?;
    }
    // Opening a pipe waits for its reader; whoever interrupts that must not be asked to wait for the end of a run.
    let trace = args.output.trace.as_deref().map(TraceFile::create).transpose()?;
    let interrupt = Interrupt::watch()?;
    match plan.seeds {
        None => single(args, &plan, trace.as_ref(), &interrupt),
        Some(seeds) => several(args, &plan, seeds, &interrupt),
    }
}

fn single(
    args: &SimulateArgs,
    plan: &Plan,
    trace: Option<&TraceFile>,
    interrupt: &Interrupt,
) -> Result<Code, Failure> {
    let scenario = plan.scenario(plan.seed)?;
    let checks = plan.checks(plan.seed);
    let whole = scenario.run_for.saturating_add(scenario.heal_for);
    let steps = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
    let progress = Progress::new(steps, shows_progress(args));
    let done = match one::run(scenario, &checks, trace, interrupt, &progress) {
        Err(failure) if args.output.json => {
            let problem = format!("seed {}: {}", plan.seed, failure.sentence);
            let report = frame(plan, Verdict { is_ok: false, is_interrupted: false }, None, Some(&problem));
            output::line(&report.to_string())?;
            return Err(failure);
        }
        result => result?,
    };
    let took = progress.took();
    let violation = done.violation.as_ref().map(|violation| (plan.seed, violation));
    let broken = study(args, plan, violation, interrupt)?;
    let is_interrupted = done.is_interrupted() || broken.as_ref().is_some_and(Broken::is_cut);
    let failed = done.checks.iter().find_map(|(says, found)| Some((says, found.as_ref()?)));
    let problem = failed.map(|(says, found)| format!("seed {}: {says}: {found}", plan.seed));
    if args.output.json {
        let verdict = Verdict { is_ok: done.is_ok(), is_interrupted };
        let mut report = frame(plan, verdict, broken.as_ref(), problem.as_deref());
        join(&mut report, done.json()?);
        output::line(&report.to_string())?;
    } else {
        output::line(&single_text(&done, took))?;
    }
    end(args, broken.as_ref(), problem, done.is_interrupted())
}

fn single_text(done: &Done, took: std::time::Duration) -> String {
    let seconds = took.as_secs_f64();
    let speed = done.report.simulated_ms / 1_000.0 / seconds.max(1e-9);
    format!("{}\ntook         {seconds:.2} s, {speed:.0} x real time", done.text())
}

fn several(args: &SimulateArgs, plan: &Plan, seeds: u64, interrupt: &Interrupt) -> Result<Code, Failure> {
    let progress = Progress::new(seeds, shows_progress(args));
    let sum: Sum = many::run(plan, interrupt, &progress);
    let took = progress.took();
    let violation = sum.broken.as_ref().map(|(seed, violation)| (*seed, violation));
    let broken = study(args, plan, violation, interrupt)?;
    let is_ok = sum.broken.is_none() && sum.failed.is_none();
    let is_interrupted = is_ok && sum.done < seeds;
    let problem = sum.failed.as_ref().map(|(seed, text)| format!("seed {seed}: {text}"));
    if args.output.json {
        let is_cut = broken.as_ref().is_some_and(Broken::is_cut);
        let verdict = Verdict { is_ok, is_interrupted: is_interrupted || is_cut };
        let mut report = frame(plan, verdict, broken.as_ref(), problem.as_deref());
        join(&mut report, sum.json(plan));
        output::line(&report.to_string())?;
    } else {
        let text = sum.text(plan, took);
        let cut = format!("interrupted after {} of {seeds} seeds\n{text}", sum.done);
        output::line(if is_interrupted { &cut } else { &text })?;
    }
    end(args, broken.as_ref(), problem, is_interrupted)
}

const fn shows_progress(args: &SimulateArgs) -> bool {
    !args.output.json && !args.output.no_progress
}

/// Looks into a seed that breaks an invariant.
fn study(
    args: &SimulateArgs,
    plan: &Plan,
    broken: Option<(u64, &Violation)>,
    interrupt: &Interrupt,
) -> Result<Option<Broken>, Failure> {
    let Some((seed, violation)) = broken else { return Ok(None) };
    let progress = Progress::new(1, shows_progress(args));
    progress.say("an invariant broke: looking for a smaller scenario that breaks it");
    let scenario = plan.scenario(seed)?;
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let arguments = arguments.skip_while(|argument| argument != "simulate").skip(1);
    let command = broken::command(arguments, plan.workload == "mixed", seed);
    let broken = Broken::study(&scenario, violation, command, interrupt);
    progress.end();
    Ok(Some(broken))
}

/// How it went.
struct Verdict {
    is_ok: bool,
    is_interrupted: bool,
}

/// What every report begins with.
fn frame(plan: &Plan, verdict: Verdict, broken: Option<&Broken>, problem: Option<&str>) -> Value {
    let Verdict { is_ok, is_interrupted } = verdict;
    // What held until an interruption says nothing of the rest.
    let is_known = !is_ok || !is_interrupted;
    json!({
        "ok": is_known.then_some(is_ok),
        "interrupted": is_interrupted,
        "workload": plan.workload,
        "violation": broken.map(Broken::json),
        "problem": problem,
    })
}

fn join(report: &mut Value, more: Value) {
    if let (Some(report), Value::Object(more)) = (report.as_object_mut(), more) {
        report.extend(more);
    }
}

/// Tells what broke, and with what the program ends.
fn end(
    args: &SimulateArgs,
    broken: Option<&Broken>,
    problem: Option<String>,
    is_interrupted: bool,
) -> Result<Code, Failure> {
    if let Some(broken) = broken {
        if !args.output.json {
            output::line(&broken.text())?;
        }
        if let Some(file) = &args.output.save {
            save(file, &broken.scenario())?;
        }
        return Err(Failure::fault(broken.sentence()));
    }
    match problem {
        Some(problem) => Err(Failure::fault(problem)),
        None if is_interrupted => Ok(Code::Interrupted),
        None => Ok(Code::Success),
    }
}

/// Whether nothing that is written overwrites what another flag names. Devices and pipes may be named twice.
fn check_distinct(args: &SimulateArgs) -> Result<(), Failure> {
    let named = [
        ("--scenario", args.ready.scenario.as_deref()),
        ("--trace", args.output.trace.as_deref()),
        ("--save", args.output.save.as_deref()),
    ];
    for (place, (flag, file)) in named.iter().enumerate() {
        let Some(file) = file.filter(|file| !file.exists() || file.is_file()) else { continue };
        let Some(place_of_it) = where_is(file) else { continue };
        for (other, twin) in &named[place + 1..] {
            if twin.and_then(where_is).is_some_and(|twin| twin == place_of_it) {
                let file = file.display();
                return Err(Failure::usage(format!(
                    "{flag} and {other} are the same file, {file}: name two"
                )));
            }
        }
    }
    Ok(())
}

/// Where a file is, or would be made, whatever way leads there.
fn where_is(file: &Path) -> Option<PathBuf> {
    if let Ok(whole) = file.canonicalize() {
        return Some(whole);
    }
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    Some(folder.canonicalize().ok()?.join(file.file_name()?))
}

/// Whether something could be written there, should it come to that after hours. Leaves no file behind.
fn check_writable(file: &Path) -> Result<(), Failure> {
    let is_there = file.exists();
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
    opened.map_err(|error| Failure::usage(unwritable(file, &error)))?;
    if !is_there {
        // It was made a moment ago; where it can't be taken away, it is written over or stays empty.
        let _ = std::fs::remove_file(file);
    }
    Ok(())
}

fn save(file: &Path, scenario: &str) -> Result<(), Failure> {
    std::fs::write(file, scenario).map_err(|error| Failure::fault(unwritable(file, &error)))
}

fn unwritable(file: &Path, error: &std::io::Error) -> String {
    format!("--save {} can't be written ({error}): name another file", file.display())
}

#[cfg(test)]
mod tests;
