//! Members as processes, one on each host of a [`Lab`], and what they report.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use gms_lab::Lab;
use serde_json::Value;

/// Longest wait for something that must happen. Far more than the protocol takes, since machines are busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// One event of one member.
pub(crate) struct Reported {
    /// The host, from 1.
    pub(crate) host: usize,
    /// The event's name.
    pub(crate) event: String,
    /// All of it.
    pub(crate) value: Value,
}

impl Reported {
    /// The strings of the list `field`; empty where there is none.
    pub(crate) fn names(&self, field: &str) -> BTreeSet<String> {
        self.list(field).into_iter().collect()
    }

    /// The same, in order.
    pub(crate) fn list(&self, field: &str) -> Vec<String> {
        let items = self.value[field].as_array().cloned().unwrap_or_default();
        items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }

    /// When it happened, by the clock that all members share here. RFC 3339 in UTC sorts as text.
    pub(crate) fn at(&self) -> &str {
        self.value["at"].as_str().unwrap_or_default()
    }

    /// The number of the view that it tells of.
    fn view(&self) -> Option<u64> {
        self.value["view"].as_u64()
    }

    fn is(&self, event: &str) -> bool {
        self.event == event
    }
}

impl fmt::Debug for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "h{} {}", self.host, self.value)
    }
}

enum Line {
    Event(Reported),
    Other { host: usize, text: String },
}

/// A cluster with one member on each host, `h1`, `h2`, …; its processes end when it is dropped.
pub(crate) struct Cluster {
    /// The network below.
    pub(crate) lab: Lab,
    members: Vec<Child>,
    lines: Receiver<Line>,
    history: Vec<Reported>,
    /// What was said besides events, for the report of a failure.
    chatter: Vec<String>,
}

impl Cluster {
    /// A cluster of `size` members with the same three seeds, all in one view.
    pub(crate) fn start(size: usize, member_timeout: &str) -> Self {
        let lab = Lab::new(size).expect("the network is made");
        let (send, lines) = channel();
        let members = lab.hosts().map(|host| spawn(&lab, host, member_timeout, &send)).collect();
        let mut cluster = Self { lab, members, lines, history: Vec::new(), chatter: Vec::new() };
        cluster.until_whole();
        cluster
    }

    /// The names of the members on these hosts.
    pub(crate) fn names(&self, hosts: impl IntoIterator<Item = usize>) -> BTreeSet<String> {
        hosts.into_iter().map(name).collect()
    }

    /// What was reported so far; a mark to look from later.
    pub(crate) fn mark(&self) -> usize {
        self.history.len()
    }

    /// What was reported since `mark`.
    pub(crate) fn since(&self, mark: usize) -> &[Reported] {
        &self.history[mark..]
    }

    /// The order of the last view whose members the one on `host` reported, as hosts.
    pub(crate) fn order(&self, host: usize) -> Vec<usize> {
        let lists = |r: &&Reported| r.host == host && !r.names("members").is_empty();
        let view = self.history.iter().rfind(lists).expect("the cluster has started");
        let number = |name: &String| name.trim_start_matches('h').parse().expect("names are h1, h2, …");
        view.list("members").iter().map(number).collect()
    }

    /// Waits until `holds` is true of everything reported so far.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&[Reported]) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds(&self.history) {
            let left = deadline.saturating_duration_since(Instant::now());
            if !self.take(left) {
                self.fail(&format!("did not happen in {PATIENCE:?}: {what}"));
            }
        }
    }

    /// Lets the cluster run for `time`, taking in what it reports.
    pub(crate) fn observe(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while self.take(deadline.saturating_duration_since(Instant::now())) {}
    }

    /// Fails the test if somebody else than `allowed` was removed since `mark` in anybody's eyes.
    pub(crate) fn assert_removed_at_most(&self, mark: usize, allowed: &BTreeSet<String>) {
        let wrong: Vec<_> = self
            .since(mark)
            .iter()
            .filter(|r| !r.names("crashed").is_subset(allowed) || !r.names("expelled").is_empty())
            .chain(self.since(mark).iter().filter(|r| r.is("excluded") && !allowed.contains(&name(r.host))))
            .collect();
        if !wrong.is_empty() {
            self.fail(&format!("only {allowed:?} may be removed, but: {wrong:?}"));
        }
    }

    /// Waits until each of `hosts` has reported, after `mark`, a view without `gone`, with the rest of `hosts`.
    pub(crate) fn until_removed(&mut self, mark: usize, hosts: &[usize], gone: &BTreeSet<String>) {
        let what = format!("{hosts:?} install a view without {gone:?}");
        let hosts: Vec<usize> = hosts.to_vec();
        let stay = self.names(hosts.iter().copied());
        let gone = gone.clone();
        self.until(&what, move |history| {
            hosts.iter().all(|host| {
                let view = last_view(&history[mark..], *host);
                view.is_some_and(|view| {
                    let members = view.names("members");
                    members.is_superset(&stay) && members.is_disjoint(&gone)
                })
            })
        });
    }

    /// Waits until the last view of every member is one and the same, and lists every member.
    ///
    /// Not every event that tells of a view lists its members, but two views never share a number.
    pub(crate) fn until_whole(&mut self) {
        let all = self.names(self.lab.hosts());
        self.until("every member is in one view with all others", |history| {
            let views: Option<Vec<_>> = (1..=all.len()).map(|host| last_view(history, host)).collect();
            views.is_some_and(|views| {
                views.iter().all(|view| view.view().is_some() && view.view() == views[0].view())
                    && views.iter().any(|view| view.names("members") == all)
            })
        });
    }

    /// Waits until the member on `host` reports `event` after `mark`, and returns when that was.
    pub(crate) fn until_event(&mut self, mark: usize, host: usize, event: &str) -> String {
        let is_it = |r: &Reported| r.host == host && r.is(event);
        self.until(&format!("h{host} reports {event}"), |history| history[mark..].iter().any(is_it));
        let found = self.since(mark).iter().find(|r| is_it(r)).expect("it was just seen");
        found.at().to_owned()
    }

    /// Takes in one line, if one comes within `wait`.
    fn take(&mut self, wait: Duration) -> bool {
        match self.lines.recv_timeout(wait) {
            Ok(Line::Event(reported)) => self.history.push(reported),
            Ok(Line::Other { host, text }) => self.chatter.push(format!("h{host}: {text}")),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => self.fail("all members have ended"),
        }
        true
    }

    fn fail(&self, what: &str) -> ! {
        let tail = |lines: Vec<String>| lines[lines.len().saturating_sub(80)..].join("\n  ");
        let events = tail(self.history.iter().map(|r| format!("{r:?}")).collect());
        let chatter = tail(self.chatter.clone());
        panic!("{what}\n\nlast events:\n  {events}\n\nlast other lines:\n  {chatter}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in &mut self.members {
            // Fails only for a process that has ended already.
            drop(member.kill());
            drop(member.wait());
        }
    }
}

/// The last view that the member on `host` reported; none if it was excluded after it.
fn last_view(history: &[Reported], host: usize) -> Option<&Reported> {
    let views = ["view_installed", "joined", "rejoined", "excluded"];
    let last = history.iter().rfind(|r| r.host == host && views.contains(&r.event.as_str()))?;
    (!last.is("excluded")).then_some(last)
}

fn name(host: usize) -> String {
    format!("h{host}")
}

fn spawn(lab: &Lab, host: usize, member_timeout: &str, lines: &Sender<Line>) -> Child {
    let address = |host| format!("{}:7790", Lab::ip_of(host));
    let seeds: Vec<String> = lab.hosts().take(3).map(address).collect();
    let mut child = lab
        .command_on(host, Path::new(env!("CARGO_BIN_EXE_gms")))
        .args(["run", "--json", "--name", &name(host), "--bind", &address(host), "--join", &seeds.join(",")])
        .args(["--member-timeout", member_timeout, "--http", "127.0.0.1:7780", "--log", "info"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gms starts");
    forward(child.stdout.take().expect("a pipe"), host, lines.clone());
    forward(child.stderr.take().expect("a pipe"), host, lines.clone());
    child
}

/// Sends each line of `stream` on, until it ends.
fn forward(stream: impl Read + Send + 'static, host: usize, lines: Sender<Line>) {
    thread::spawn(move || {
        for text in BufReader::new(stream).lines().map_while(Result::ok) {
            let value = serde_json::from_str::<Value>(&text).ok();
            let event = value.as_ref().and_then(|value| value["event"].as_str()).map(str::to_owned);
            let line = match (value, event) {
                (Some(value), Some(event)) => Line::Event(Reported { host, event, value }),
                _ => Line::Other { host, text },
            };
            if lines.send(line).is_err() {
                return;
            }
        }
    });
}
