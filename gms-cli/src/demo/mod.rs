//! `gms demo`: a cluster of child processes loses members, and everybody can watch.

mod children;
mod cluster;
mod death;
mod figures;
mod plan;
mod story;

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Sender};

use serde_json::json;

use crate::args::DemoArgs;
use crate::diagram::{self, Format};
use crate::event_json::millis;
use crate::exit::{Code, Failure};
use crate::{output, signals};

use cluster::{Cluster, Message};
use death::Death;
use figures::Distribution;
use plan::Plan;

/// `gms demo`
pub(crate) fn command(args: &DemoArgs) -> Result<Code, Failure> {
    let plan = Plan::of(args)?;
    let format = args.diagram.as_deref().map(Format::of).transpose()?;
    if let Some(file) = &args.diagram {
        can_write(file).map_err(|error| {
            Failure::usage(format!(
                "--diagram {} can't be written ({error}): name a file in a writable place",
                file.display()
            ))
        })?;
    }
    let (messages, inbox) = mpsc::channel();
    // Kept to the end: it watches for signals.
    let told = messages.clone();
    let _signals = signals::watch(move || drop(told.send(Message::Interrupted)))?;
    let mut deaths: Vec<Death> = Vec::new();
    let mut inbox = inbox;
    let mut problem = None;
    for turn in 1..=args.repeat {
        let is_told = !args.json && args.repeat == 1;
        let (result, back) = one(&plan, &messages, inbox, is_told);
        inbox = back;
        match result {
            Ok(death) => {
                if !args.json && args.repeat > 1 {
                    output::line(&format!("{turn:>4}  {}", death.line()))?;
                }
                problem = death.problem.clone();
                deaths.push(death);
            }
            Err(failure) if failure.sentence.is_empty() => return Err(failure),
            Err(failure) => problem = Some(failure.sentence),
        }
        if problem.is_some() {
            break;
        }
    }
    show(args, &plan, &deaths, problem.as_deref())?;
    if let (Some(file), Some(format), Some(death)) = (&args.diagram, format, deaths.last()) {
        std::fs::write(file, format.render(&death.sequence)).map_err(|error| {
            Failure::fault(format!(
                "--diagram {} can't be written ({error}): name another file",
                file.display()
            ))
        })?;
    }
    match problem {
        None => Ok(Code::Success),
        Some(problem) => Err(Failure::fault(problem)),
    }
}

/// Whether the file can be written later; changes nothing.
fn can_write(file: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    match options.clone().create_new(true).open(file) {
        Ok(_) => std::fs::remove_file(file),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(file).map(drop),
        Err(error) => Err(error),
    }
}

/// One cluster from start to end; its processes are gone when this returns.
fn one(
    plan: &Plan,
    messages: &Sender<Message>,
    inbox: mpsc::Receiver<Message>,
    is_told: bool,
) -> (Result<Death, Failure>, mpsc::Receiver<Message>) {
    let mut cluster = Cluster::new(messages.clone(), inbox, is_told);
    let result = death::play(plan, &mut cluster);
    (result, cluster.end())
}

fn show(args: &DemoArgs, plan: &Plan, deaths: &[Death], problem: Option<&str>) -> Result<(), Failure> {
    let times = Distribution::of(deaths.iter().filter_map(Death::last).collect());
    if args.json {
        let report = json!({
            "members": plan.members,
            "member_timeout_ms": millis(plan.member_timeout),
            "transport": plan.transport.name(),
            "fault": plan.fault.name(),
            "victims": plan.victims,
            "coordinator": plan.coordinator,
            "ok": problem.is_none(),
            "problem": problem,
            "runs": deaths.iter().map(Death::json).collect::<Vec<_>>(),
            "last_ms": times.as_ref().map(Distribution::json),
        });
        return output::line(&report.to_string());
    }
    if let (1, Some(death)) = (args.repeat, deaths.first()) {
        output::line(
            "\nWhat was said (ms since the fault; o says to > or <, x is lost, + passes by, * happens here, # is done to it)\n",
        )?;
        output::line(&diagram::text(&death.sequence))?;
        output::line(&death.figures())?;
    }
    if let (true, Some(times)) = (args.repeat > 1, &times) {
        output::line(&format!(
            "\nfrom the fault to the last survivor's view, {} runs: {}",
            deaths.len(),
            times.text()
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
