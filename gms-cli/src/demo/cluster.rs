//! The demo's cluster as its members' event streams show it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use gms_core::runtime::clock;
use gms_core::time::Timestamp;
use serde_json::Value;

use super::children::{Member, free_ports};
use super::plan::Plan;
use super::story::Story;
use crate::event_json::Object;
use crate::exit::Failure;

/// How often traces are read while waiting.
const TICK: Duration = Duration::from_millis(20);
/// How long processes may take to start.
const START_TAKES_MAX: Duration = Duration::from_secs(60);
/// Seeds of the demo's cluster.
const SEEDS: usize = 3;
/// How often a start is tried, since a free port may be taken by somebody else before its member binds it.
const START_TRIES: usize = 3;

/// What reaches the demo.
#[derive(Debug)]
pub(super) enum Message {
    /// A member's event.
    Event {
        /// Which member, by place.
        member: usize,
        /// The event.
        object: Object,
    },
    /// A member's process closed its stdout.
    Ended {
        /// Which member, by place.
        member: usize,
    },
    /// The user has seen enough.
    Interrupted,
}

/// A view as a member reported it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SeenView {
    /// Its number.
    pub(super) number: u64,
    /// Its digest.
    pub(super) digest: String,
    /// Its members.
    pub(super) members: Vec<String>,
}

/// What a member reported.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Whether its process runs.
    pub(super) started: bool,
    /// Whether its stdout is closed.
    pub(super) ended: bool,
    /// The newest view.
    pub(super) view: Option<SeenView>,
    /// Who left any view for whatever reason.
    pub(super) removed: BTreeSet<String>,
    /// How many views it installed.
    pub(super) views: usize,
    /// Whether it was excluded.
    pub(super) excluded: bool,
    /// Whether it was in again after that.
    pub(super) rejoined: bool,
}

/// The cluster, its processes, and its story.
pub(super) struct Cluster {
    /// By name.
    pub(super) seen: BTreeMap<String, Seen>,
    /// Told while it happens.
    pub(super) story: Story,
    members: Vec<Member>,
    messages: Sender<Message>,
    inbox: Receiver<Message>,
    dir: Option<tempfile::TempDir>,
}

impl Cluster {
    pub(super) fn new(messages: Sender<Message>, inbox: Receiver<Message>, is_told: bool) -> Self {
        Self {
            seen: BTreeMap::new(),
            story: Story::new(is_told, clock::now()),
            members: Vec::new(),
            messages,
            inbox,
            dir: None,
        }
    }

    /// Starts all members and waits until each says where it listens.
    pub(super) fn start(&mut self, plan: &Plan) -> Result<(), Failure> {
        for tries_left in (0..START_TRIES).rev() {
            let dir = tempfile::Builder::new().prefix("gms-demo-").tempdir().map_err(|error| {
                Failure::fault(format!(
                    "no temporary directory can be made ({error}): set TMPDIR to a writable place"
                ))
            })?;
            let seeds = free_ports(SEEDS.min(plan.members))?;
            self.seen.clear();
            for n in 0..plan.members {
                self.members.push(Member::start(plan, n, &seeds, dir.path(), self.messages.clone())?);
                self.seen.insert(self.members[n].name.clone(), Seen::default());
            }
            self.dir = Some(dir);
            self.wait("all members to start", START_TAKES_MAX, |seen| {
                seen.values().all(|s| s.started) || seen.values().any(|s| s.ended)
            })?;
            let failed = self.members.iter().find(|m| self.seen[&m.name].ended);
            let Some(failed) = failed else { break };
            let why = format!("{} ended at its start: {}", failed.name, failed.last_words());
            if tries_left == 0 {
                return Err(Failure::fault(why));
            }
            self.forget();
        }
        let traces = self.members.iter().map(|m| (m.name.clone(), m.trace.clone())).collect();
        self.story.follow(traces);
        Ok(())
    }

    /// Ends all processes, and throws away what they still say.
    fn forget(&mut self) {
        let readers = self.members.len() - self.seen.values().filter(|s| s.ended).count();
        self.members.clear();
        let (mut ended, mut interrupted) = (0, false);
        while ended < readers {
            match self.inbox.recv() {
                Ok(Message::Ended { .. }) => ended += 1,
                Ok(Message::Interrupted) => interrupted = true,
                Ok(Message::Event { .. }) => {}
                Err(_) => break,
            }
        }
        if interrupted {
            // Meant for the whole demo, not for the cluster that just ended.
            drop(self.messages.send(Message::Interrupted));
        }
        self.dir = None;
    }

    /// Ends the cluster; the inbox serves the next one.
    pub(super) fn end(mut self) -> Receiver<Message> {
        self.forget();
        self.inbox
    }

    /// The process of the member with this name.
    pub(super) fn member(&self, name: &str) -> Result<&Member, Failure> {
        let member = self.members.iter().find(|m| m.name == name);
        member.ok_or_else(|| Failure::fault(format!("{name} is no member of the demo: please report this")))
    }

    /// Waits until `done`, and tells the story meanwhile.
    pub(super) fn wait(
        &mut self,
        what: &str,
        longest: Duration,
        done: impl Fn(&BTreeMap<String, Seen>) -> bool,
    ) -> Result<(), Failure> {
        let deadline = clock::now() + longest;
        while !done(&self.seen) {
            if clock::now() >= deadline {
                let longest = humantime::format_duration(longest);
                return Err(Failure::fault(format!(
                    "waited {longest} in vain for {what}{}",
                    self.what_is_seen()
                )));
            }
            self.turn(deadline)?;
        }
        Ok(())
    }

    /// Lets time pass.
    pub(super) fn watch(&mut self, time: Duration) -> Result<(), Failure> {
        let deadline = clock::now() + time;
        while clock::now() < deadline {
            self.turn(deadline)?;
        }
        Ok(())
    }

    fn turn(&mut self, deadline: Timestamp) -> Result<(), Failure> {
        match self.inbox.recv_timeout(deadline.since(clock::now()).min(TICK)) {
            Ok(Message::Event { member, object }) => self.note(member, &object),
            Ok(Message::Ended { member }) => {
                if let Some(seen) = self.members.get(member).and_then(|m| self.seen.get_mut(&m.name)) {
                    seen.ended = true;
                }
            }
            Ok(Message::Interrupted) => return Err(Failure::fault("interrupted: all members are ended")),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::fault("all members are gone: look at their limits"));
            }
        }
        self.story.tell()
    }

    fn note(&mut self, member: usize, event: &Object) {
        let Some(seen) = self.members.get(member).and_then(|m| self.seen.get_mut(&m.name)) else { return };
        let names = |key: &str| {
            let list = event.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let name = event.get("event").and_then(Value::as_str).unwrap_or_default();
        match name {
            "started" => seen.started = true,
            "excluded" => seen.excluded = true,
            "joined" | "rejoined" | "view_installed" => {
                seen.view = Some(SeenView {
                    number: event.get("view").and_then(Value::as_u64).unwrap_or(0),
                    digest: event.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned(),
                    members: names("members"),
                });
            }
            _ => {}
        }
        if name == "rejoined" {
            seen.rejoined = true;
        }
        if name == "view_installed" {
            seen.views += 1;
            for kind in ["left", "crashed", "expelled", "gone"] {
                seen.removed.extend(names(kind));
            }
        }
    }

    fn what_is_seen(&self) -> String {
        let mut text = String::new();
        for (name, seen) in &self.seen {
            match &seen.view {
                Some(view) => text.push_str(&format!(
                    "; {name} has view {} of {}",
                    view.number,
                    view.members.join(", ")
                )),
                None => text.push_str(&format!("; {name} has no view")),
            }
        }
        text
    }
}
