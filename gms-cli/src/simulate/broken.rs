//! An invariant that broke: the small scenario that shows it, the last steps, and how to see it again.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Duration;

use gms_core::Timestamp;
use gms_sim::run::{self, Spectator};
use gms_sim::shrink::{Shrunk, shrink};
use gms_sim::{Scenario, Violation, World};
use serde_json::{Value, json};

use crate::event_json::millis;
use crate::render::step_sentence;
use crate::trace::parse;

use super::interrupt::Interrupt;
use super::trace::{Shared, WorldTrace};

/// Steps that are told.
const STEPS: usize = 30;
/// What the line of a periodic heartbeat contains, and no other does.
const PERIODIC: &[u8] = br#""answers":"nothing""#;
/// Options that say what comes out and not what is run: whether a value follows.
const NOT_REPEATED: [(&str, bool); 6] = [
    ("--seed", true),
    ("--seeds", true),
    ("--save", true),
    ("--trace", true),
    ("--json", false),
    ("--no-progress", false),
];

/// All about it.
#[derive(Debug)]
pub(super) struct Broken {
    seed: u64,
    /// Faults that the scenario had before it was made small.
    faults_before: usize,
    small: Shrunk,
    /// When it broke in the small scenario, from the beginning of the first phase.
    at: Duration,
    /// Whether making it small, or listening to it, was interrupted.
    is_cut: bool,
    steps: Vec<String>,
    command: String,
    /// Whether the command reads the scenario from stdin.
    reads_stdin: bool,
}

impl Broken {
    /// Makes the scenario small, runs it once more and listens. An interruption ends making it small.
    pub(super) fn study(
        scenario: &Scenario,
        violation: &Violation,
        command: String,
        interrupt: &Interrupt,
    ) -> Self {
        let small = shrink(scenario, violation, &|| !interrupt.is_set());
        let mut listener = Listener { interrupt, tail: Shared::new(Tail::default()), began: Timestamp::ZERO };
        // It ran before: it forms, and breaks the same invariant.
        drop(run::run_watched(small.scenario.clone(), &mut listener));
        let is_cut = small.is_cut || interrupt.is_set();
        // The steps of half a run are none that led to it.
        let mut steps =
            if is_cut { Vec::new() } else { listener.tail.with(|tail| tail.steps(listener.began)) };
        let at = small.violation.after;
        let faults = small.scenario.faults.iter().filter(|step| step.at <= at);
        steps.extend(faults.map(|step| (step.at, format!("fault: {}", step.fault))));
        steps.sort_by_key(|(at, _)| *at);
        steps.drain(..steps.len().saturating_sub(STEPS));
        Self {
            seed: scenario.seed,
            faults_before: scenario.faults.len(),
            at,
            is_cut,
            steps: steps.iter().map(|(at, what)| format!("{:>9.3}  {what}", at.as_secs_f64())).collect(),
            reads_stdin: [" --scenario - ", " --scenario=- "].iter().any(|flag| command.contains(flag)),
            command,
            small,
        }
    }

    /// Whether it was interrupted: there may be a smaller one.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The small scenario as a file.
    pub(super) fn scenario(&self) -> String {
        self.small.scenario.to_toml()
    }

    /// One sentence.
    pub(super) fn sentence(&self) -> String {
        let Violation { invariant, text, .. } = &self.small.violation;
        format!(
            "seed {} breaks \"{invariant}\" {:.3} s after the beginning of the small scenario: {text}",
            self.seed,
            self.at.as_secs_f64()
        )
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut text = format!("BROKEN       {}\n", self.sentence());
        text.push_str(&format!(
            "\nsmallest scenario found in {} runs{} ({} of {} faults):\n\n{}",
            self.small.runs,
            if self.is_cut { ", interrupted" } else { "" },
            self.small.scenario.faults.len(),
            self.faults_before,
            self.scenario()
        ));
        text.push_str("\nits last steps (s after the beginning):\n");
        for step in &self.steps {
            text.push_str(&format!("{step}\n"));
        }
        let on_stdin = if self.reads_stdin { ", with the scenario on stdin" } else { "" };
        text.push_str(&format!("\nrepeat the whole run{on_stdin} with\n  {}", self.command));
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "seed": self.seed,
            "invariant": self.small.violation.invariant,
            "at_ms": millis(self.at),
            "text": self.small.violation.text,
            "scenario": self.scenario(),
            "steps": self.steps,
            "command": self.command,
        })
    }
}

/// The command that runs one seed again, from the arguments of this process after `simulate`.
pub(super) fn command(arguments: impl Iterator<Item = String>, is_mixed: bool, seed: u64) -> String {
    let mut words = vec![String::from("gms simulate")];
    let mut skip = false;
    for argument in arguments {
        if std::mem::take(&mut skip) {
            continue;
        }
        let name = argument.split('=').next().unwrap_or_default();
        match NOT_REPEATED.iter().find(|(option, _)| *option == name) {
            Some((_, has_value)) => skip = *has_value && !argument.contains('='),
            None => words.push(quoted(argument)),
        }
    }
    if is_mixed && !words.iter().any(|word| word == "--mixed") {
        words.push(String::from("--mixed"));
    }
    words.push(format!("--seed {seed}"));
    words.join(" ")
}

fn quoted(word: String) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./%,:".contains(c);
    if word.chars().all(is_plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

struct Listener<'a> {
    interrupt: &'a Interrupt,
    tail: Shared<Tail>,
    began: Timestamp,
}

impl Spectator for Listener<'_> {
    fn begins(&mut self, world: &mut World) {
        self.began = world.now();
        let trace = WorldTrace::new(self.tail.clone(), world);
        world.set_trace(Box::new(trace));
    }

    fn passes(&mut self, _: &World) -> ControlFlow<()> {
        if self.interrupt.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The last lines of a trace that tell something.
#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<Vec<u8>>,
}

impl Write for Tail {
    /// Takes one whole line a call.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if !line.windows(PERIODIC.len()).any(|part| part == PERIODIC) {
            // Of a message both ends have a line, and some steps are not told.
            if self.lines.len() >= 4 * STEPS {
                self.lines.pop_front();
            }
            self.lines.push_back(line.to_vec());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Tail {
    /// When what happened.
    fn steps(&self, began: Timestamp) -> Vec<(Duration, String)> {
        let told = self.lines.iter().filter_map(|line| {
            let line = parse(std::str::from_utf8(line).ok()?)?;
            let (to, what) = step_sentence(&line)?;
            let to = to.first().map_or_else(String::new, |to| format!(" → {to}"));
            Some((Timestamp::from_nanos(line.at_ns).since(began), format!("{}{to}: {what}", line.me)))
        });
        told.collect()
    }
}
