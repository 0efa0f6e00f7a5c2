//! The story while it happens: the members' traces, read as they grow and told as sentences.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use gms_core::runtime::clock;
use gms_core::time::Timestamp;

use crate::exit::Failure;
use crate::output;
use crate::render::{Paint, step_sentence};
use crate::trace::{Line, parse};

/// How long lines wait, so that those of several members are told in order.
const HOLD: Duration = Duration::from_millis(80);
/// Sentences that lie this close together and say the same are told as one.
const TOGETHER_NS: u64 = 5_000_000;
/// How far back a sentence is looked for that another joins.
const LOOK_BACK: usize = 8;

/// What the line of a periodic heartbeat contains, and no other does.
const PERIODIC: &str = r#""answers":"nothing""#;

/// The traces so far, and what of them is told.
pub(super) struct Story {
    is_told: bool,
    began: Timestamp,
    /// Messages are told from here on.
    listens_from: Timestamp,
    tails: Vec<Tail>,
    traces: BTreeMap<String, Vec<Line>>,
    waiting: Vec<Said>,
    paint: Paint,
}

struct Tail {
    name: String,
    path: PathBuf,
    file: Option<File>,
    rest: Vec<u8>,
}

/// A sentence.
struct Said {
    at_ns: u64,
    who: Vec<String>,
    to: Vec<String>,
    what: String,
    is_fault: bool,
}

impl Story {
    /// A story that begins at `began`; it only collects if it is not told.
    pub(super) fn new(is_told: bool, began: Timestamp) -> Self {
        Self {
            is_told,
            began,
            listens_from: Timestamp::FAR_FUTURE,
            tails: Vec::new(),
            traces: BTreeMap::new(),
            waiting: Vec::new(),
            paint: Paint(output::colour()),
        }
    }

    /// Follows these members' traces.
    pub(super) fn follow(&mut self, traces: Vec<(String, PathBuf)>) {
        self.tails = traces
            .into_iter()
            .map(|(name, path)| Tail { name, path, file: None, rest: Vec::new() })
            .collect();
    }

    /// Tells messages too, from `at` on.
    pub(super) fn listen(&mut self, at: Timestamp) {
        self.listens_from = at;
    }

    /// Tells what the demo itself does.
    pub(super) fn mark(&mut self, at: Timestamp, who: &str, what: &str) {
        self.waiting.push(Said {
            at_ns: at.as_nanos(),
            who: vec![who.to_owned()],
            to: Vec::new(),
            what: what.to_owned(),
            is_fault: true,
        });
    }

    /// Reads what is new, and tells what has waited long enough.
    pub(super) fn tell(&mut self) -> Result<(), Failure> {
        self.read();
        self.print(clock::now() - HOLD)
    }

    /// Tells the rest.
    pub(super) fn finish(&mut self) -> Result<(), Failure> {
        self.read();
        self.print(Timestamp::FAR_FUTURE)
    }

    /// Each member's trace so far.
    pub(super) fn traces(&self) -> &BTreeMap<String, Vec<Line>> {
        &self.traces
    }

    fn read(&mut self) {
        for tail in &mut self.tails {
            let lines = tail.read();
            for line in &lines {
                if let Some(said) = sentence(line, self.listens_from.as_nanos()) {
                    self.waiting.push(said);
                }
            }
            self.traces.entry(tail.name.clone()).or_default().extend(lines);
        }
    }

    fn print(&mut self, until: Timestamp) -> Result<(), Failure> {
        self.waiting.sort_by_key(|said| said.at_ns);
        let count = self.waiting.partition_point(|said| said.at_ns <= until.as_nanos());
        let ready = together(self.waiting.drain(..count));
        if !self.is_told {
            return Ok(());
        }
        for said in ready {
            output::line(&self.line(&said))?;
        }
        Ok(())
    }

    fn line(&self, said: &Said) -> String {
        let since = said.at_ns.saturating_sub(self.began.as_nanos());
        let at = self.paint.dim(&format!("{:>8.3} s", Duration::from_nanos(since).as_secs_f64()));
        let who = said.who.join(", ");
        let text = if said.to.is_empty() {
            format!("{who}: {}", said.what)
        } else {
            format!("{who} → {}: {}", said.to.join(", "), said.what)
        };
        let text = if said.is_fault { self.paint.bad(&text) } else { text };
        format!("{at}  {text}")
    }
}

impl Tail {
    /// The whole lines that are new.
    fn read(&mut self) -> Vec<Line> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return Vec::new() };
        // What can't be read at this turn is read at the next.
        drop(file.read_to_end(&mut self.rest));
        let Some(end) = self.rest.iter().rposition(|b| *b == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        // Periodic heartbeats are by far the most lines, and neither story nor diagram shows them.
        String::from_utf8_lossy(&whole)
            .lines()
            .filter(|line| !line.contains(PERIODIC))
            .filter_map(parse)
            .collect()
    }
}

fn sentence(line: &Line, listens_from: u64) -> Option<Said> {
    let is_told = line.step == "event" || (line.at_ns >= listens_from && !is_chatter(line));
    let (to, what) = step_sentence(line).filter(|_| is_told)?;
    Some(Said { at_ns: line.at_ns, who: vec![line.me.clone()], to, what, is_fault: false })
}

/// What goes on all the time and tells nothing about a death.
fn is_chatter(line: &Line) -> bool {
    line.is_periodic() || matches!(line.message.as_str(), "Coordinator" | "FindCoordinator")
}

/// Joins sentences: one speaker to many, many to one, many who see the same.
fn together(all: impl Iterator<Item = Said>) -> Vec<Said> {
    let mut out: Vec<Said> = Vec::new();
    for said in all {
        let first = out.len().saturating_sub(LOOK_BACK);
        let mut near = out[first..].iter_mut().rev();
        let close = |other: &Said| said.at_ns - other.at_ns <= TOGETHER_NS && other.is_fault == said.is_fault;
        match near.find(|other| other.what == said.what && close(other) && joins(other, &said)) {
            None => out.push(said),
            Some(other) if said.to.is_empty() || other.to == said.to => other.who.extend(said.who),
            Some(other) => other.to.extend(said.to),
        }
    }
    out
}

/// Whether two sentences that say the same are one: nobody is named twice in it.
fn joins(other: &Said, said: &Said) -> bool {
    let new_speaker = said.who.iter().all(|who| !other.who.contains(who));
    let new_listener = said.to.iter().all(|to| !other.to.contains(to));
    if said.to.is_empty() || other.to.is_empty() {
        return said.to.is_empty() && other.to.is_empty() && new_speaker;
    }
    (other.to == said.to && new_speaker) || (other.who == said.who && new_listener)
}
