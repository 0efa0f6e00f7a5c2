//! A small world for tests: several nodes in one thread, virtual time, a seeded network, and faults.
//!
//! Messages always pass through the codec. Invariants are checked at every step: no number names two views, no node goes
//! back or installs a view without itself, and whoever is removed for silence was isolated before.

#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(clippy::print_stdout, reason = "a trace for whoever looks for the cause of a failure")]

mod network;

use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gms_core::config::{Config, HeartbeatRecipients, TimingOverrides};
use gms_core::event::{Event, Removed, ViewChange};
use gms_core::evidence::Verdict;
use gms_core::hubs;
use gms_core::input::{Command, Input};
use gms_core::member::{ClusterId, Endpoint, Member, MemberId};
use gms_core::message::{FrameBody, Installation};
use gms_core::view::{Digest, View};
use gms_core::{Node, Output, Timestamp};

pub(crate) use network::Network;
use network::{Arrival, Scheduled};

/// One process: a node, and what became of it.
pub(crate) struct Process {
    pub(crate) node: Node,
    pub(crate) member: Member,
    pub(crate) host: usize,
    pub(crate) is_alive: bool,
    pub(crate) is_paused: bool,
    pub(crate) events: Vec<(Timestamp, Event)>,
    held: Vec<Arrival>,
    wake_at: Option<Timestamp>,
    newest_view: u64,
}

/// Everything: processes, hosts, network, time.
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) processes: Vec<Process>,
    pub(crate) net: Network,
    pub(crate) seeds: Vec<SocketAddr>,
    pub(crate) member_timeout: Duration,
    /// What founders are told about `heartbeat_recipients`; joiners adopt it.
    pub(crate) recipients: Option<HeartbeatRecipients>,
    /// Every view that somebody installed, by number and cluster, to look at the base of a change.
    views: BTreeMap<(u64, ClusterId), Arc<View>>,
    queue: BinaryHeap<Scheduled>,
    sequence: u64,
    digests: BTreeMap<u64, Digest>,
    ids: u64,
    pub(crate) sent_datagrams: u64,
    /// When a process last got anything that is contact from a host.
    heard: BTreeMap<(usize, usize), Timestamp>,
    /// The process, for each whole view that one sent.
    pub(crate) whole_views_by: Vec<usize>,
    steps_at_now: u32,
    /// Virtual time, in milliseconds, from which on every output is printed: `GMS_WORLD_TRACE=4000` beside a test.
    trace_from: Option<u64>,
}

/// The address of host `n`.
pub(crate) fn address(n: usize) -> SocketAddr {
    let [high, low] = u16::try_from(n + 1).expect("few hosts").to_be_bytes();
    SocketAddr::from(([10, 1, high, low], 7790))
}

impl World {
    /// An empty world with this seed, where hosts 0, 1, 2 are the seeds and T = 1 s.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: Timestamp::from_millis(1_000),
            processes: Vec::new(),
            net: Network::new(seed),
            seeds: (0..3).map(address).collect(),
            member_timeout: Duration::from_secs(1),
            recipients: None,
            views: BTreeMap::new(),
            queue: BinaryHeap::new(),
            sequence: 0,
            digests: BTreeMap::new(),
            ids: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            sent_datagrams: 0,
            heard: BTreeMap::new(),
            whole_views_by: Vec::new(),
            steps_at_now: 0,
            trace_from: std::env::var("GMS_WORLD_TRACE").ok().and_then(|ms| ms.parse().ok()),
        }
    }

    /// A world with `n` members in one view.
    pub(crate) fn with_members(seed: u64, n: usize) -> Self {
        Self::with_recipients(seed, n, None)
    }

    /// A world with `n` members in one view, who send their heartbeats to these.
    pub(crate) fn with_recipients(seed: u64, n: usize, recipients: Option<HeartbeatRecipients>) -> Self {
        let mut world = Self::new(seed);
        world.recipients = recipients;
        world.seeds.truncate(n);
        for host in 0..n {
            world.start(host);
        }
        let formed = world.run_until(Duration::from_secs(30), |w| w.all_in_one_view(n));
        assert!(formed, "{n} members did not form a cluster: {}", world.describe());
        world.run_for(Duration::from_secs(1));
        world
    }

    /// Starts a process on `host`, named after it. Returns its place in [`World::processes`].
    pub(crate) fn start(&mut self, host: usize) -> usize {
        self.start_with(host, |_, _| {})
    }

    /// Starts a process with a changed configuration or record.
    pub(crate) fn start_with(&mut self, host: usize, change: impl FnOnce(&mut Config, &mut Member)) -> usize {
        let mut config = Config::new("test");
        config.timing = TimingOverrides {
            member_timeout: Some(self.member_timeout),
            heartbeat_recipients: self.recipients,
            ..TimingOverrides::default()
        };
        config.has_seeds = !self.seeds.is_empty();
        self.ids = self.ids.wrapping_add(1).wrapping_mul(0xd134_2543_de82_ef95);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.ids.to_be_bytes());
        bytes[8..].copy_from_slice(&(self.processes.len() as u64).to_be_bytes());
        let endpoint = Endpoint::single(address(host));
        let mut member = Member::new(MemberId::from_bytes(bytes), format!("m{host}"), endpoint);
        change(&mut config, &mut member);
        let node = Node::new(config, member.clone(), self.ids, self.now).expect("a valid configuration");
        let index = self.processes.len();
        self.processes.push(Process {
            node,
            member,
            host,
            is_alive: true,
            is_paused: false,
            events: Vec::new(),
            held: Vec::new(),
            wake_at: None,
            newest_view: 0,
        });
        self.drain(index);
        let seeds = Command::Seeds(self.seeds.clone());
        self.command(index, seeds);
        index
    }

    /// Gives a process a command.
    pub(crate) fn command(&mut self, index: usize, command: Command) {
        self.deliver(index, Arrival::Input(Input::Command(command)));
    }

    /// SIGKILL: the process is gone, its host answers with refusals.
    pub(crate) fn kill(&mut self, index: usize) {
        self.processes[index].is_alive = false;
    }

    /// SIGSTOP.
    pub(crate) fn pause(&mut self, index: usize) {
        self.processes[index].is_paused = true;
    }

    /// SIGCONT: everything that queued up meanwhile is read first.
    pub(crate) fn resume(&mut self, index: usize) {
        self.processes[index].is_paused = false;
        for arrival in std::mem::take(&mut self.processes[index].held) {
            self.deliver(index, arrival);
        }
        let now = self.now;
        self.processes[index].node.handle_timeout(now);
        self.drain(index);
    }

    /// Runs for `span`.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step(end) {}
        self.now = end;
    }

    /// Runs until `holds`, at most for `span`. Returns whether it came to hold.
    pub(crate) fn run_until(&mut self, span: Duration, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + span;
        loop {
            if holds(self) {
                return true;
            }
            if !self.step(end) {
                self.now = end;
                return holds(self);
            }
        }
    }

    /// The processes that run.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().filter(|p| p.is_alive && !p.node.is_stopped())
    }

    /// Whether all running processes are in one view of `n` members.
    pub(crate) fn all_in_one_view(&self, n: usize) -> bool {
        let mut views = self.alive().map(|p| p.node.view());
        let Some(Some(first)) = views.next() else { return false };
        first.len() == n && views.all(|v| v.is_some_and(|v| v.id() == first.id()))
    }

    /// The names in a process's view.
    pub(crate) fn names(&self, index: usize) -> Vec<String> {
        let view = self.processes[index].node.view();
        view.map(|v| v.members().iter().map(|m| m.member.name.clone()).collect()).unwrap_or_default()
    }

    /// The installed view of a process.
    pub(crate) fn view(&self, index: usize) -> &View {
        self.processes[index].node.view().expect("in a view")
    }

    /// Events of a process since `since`.
    pub(crate) fn events_since(&self, index: usize, since: Timestamp) -> impl Iterator<Item = &Event> {
        self.processes[index].events.iter().filter(move |(at, _)| *at >= since).map(|(_, e)| e)
    }

    /// How many views a process installed since `since`.
    pub(crate) fn views_since(&self, index: usize, since: Timestamp) -> usize {
        self.events_since(index, since).filter(|e| matches!(e, Event::ViewInstalled(_))).count()
    }

    /// One line a process, for failures.
    pub(crate) fn describe(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for p in &self.processes {
            let view = p.node.view().map(|v| (v.number(), v.len()));
            let last = p.events.iter().rev().take(4).map(|(at, e)| format!("{at:?} {}", name_of(e)));
            let last: Vec<_> = last.collect();
            let _ = writeln!(
                text,
                "{} alive {} view {view:?} {:?}: {last:?}",
                p.member.name,
                p.is_alive,
                p.node.state()
            );
        }
        text
    }

    fn step(&mut self, end: Timestamp) -> bool {
        let before = self.now;
        let stepped = self.step_once(end);
        self.steps_at_now = if self.now == before { self.steps_at_now + 1 } else { 0 };
        let wakes =
            || self.processes.iter().map(|p| (&p.member.name, p.node.poll_timeout())).collect::<Vec<_>>();
        assert!(self.steps_at_now < 50_000, "time stands still at {:?}: {:?}", self.now, wakes());
        stepped
    }

    fn step_once(&mut self, end: Timestamp) -> bool {
        let wake = self
            .processes
            .iter()
            .enumerate()
            .filter(|(_, p)| p.is_alive && !p.is_paused)
            .filter_map(|(index, p)| p.wake_at.map(|at| (at, index)))
            .min();
        let next = self.queue.peek().map(|s| s.at);
        match (next, wake) {
            (Some(at), wake) if at <= end && wake.is_none_or(|(w, _)| at <= w) => {
                let Scheduled { at, to, arrival, .. } = self.queue.pop().expect("peeked");
                self.now = self.now.max(at);
                self.deliver(to, arrival);
                true
            }
            (_, Some((at, index))) if at <= end => {
                self.now = self.now.max(at);
                let now = self.now;
                self.processes[index].node.handle_timeout(now);
                self.drain(index);
                true
            }
            _ => false,
        }
    }

    fn deliver(&mut self, to: usize, arrival: Arrival) {
        let process = &mut self.processes[to];
        if !process.is_alive {
            return;
        }
        if process.is_paused {
            process.held.push(arrival);
            return;
        }
        let now = self.now;
        self.note_contact(to, &arrival);
        let process = &mut self.processes[to];
        if let Some(input) = arrival.into_input(now) {
            process.node.handle_input(now, input);
            self.drain(to);
        }
    }

    fn drain(&mut self, index: usize) {
        while let Some(output) = self.processes[index].node.poll_output() {
            if let Output::Event(event) = &output {
                self.check(index, event);
                self.processes[index].events.push((self.now, event.clone()));
            }
            if self.trace_from.is_some_and(|ms| self.now >= Timestamp::from_millis(ms)) {
                println!("{:?} m{}#{index}: {output:?}", self.now, self.processes[index].host);
            }
            match &output {
                Output::Send { .. } => self.sent_datagrams += 1,
                Output::SendStream { frame, .. }
                    if matches!(frame.body, FrameBody::Install(Installation::Whole(_))) =>
                {
                    self.whole_views_by.push(index);
                }
                _ => {}
            }
            for (at, to, arrival) in self.net.carry(self.now, index, output, &self.processes) {
                self.sequence += 1;
                self.queue.push(Scheduled { at, sequence: self.sequence, to, arrival });
            }
        }
        self.processes[index].wake_at = self.processes[index].node.poll_timeout().map(|(at, _)| at);
    }

    /// The invariants that every step must keep.
    fn check(&mut self, index: usize, event: &Event) {
        let Event::ViewInstalled(change) = event else { return };
        let view = &change.view;
        let process = &mut self.processes[index];
        assert!(view.contains(&process.member.id), "{} installed a view without itself", process.member.name);
        assert!(view.number() > process.newest_view, "{} went back", process.member.name);
        process.newest_view = view.number();
        let key = view.number() ^ u64::from_be_bytes(view.cluster().tag().0);
        let known = *self.digests.entry(key).or_insert_with(|| view.digest());
        assert_eq!(known, view.digest(), "two views are numbered {}", view.number());
        self.views.insert((view.number(), view.cluster()), Arc::clone(view));
        for removed in change.crashed.iter().filter(|r| r.evidence.verdict == Verdict::Silent) {
            if !self.was_decided_past_a_hub(removed, change) {
                self.check_isolated(removed, view);
            }
        }
    }

    /// Whether a hub that stayed in the view had no say, because whoever decided had not heard it for 2 R: the one case in
    /// which p-5 promises nothing (lv-3).
    fn was_decided_past_a_hub(&self, removed: &Removed, change: &ViewChange) -> bool {
        let base = self.views.get(&(change.view.number() - 1, change.view.cluster()));
        let Some(base) = base.filter(|base| hubs::borrows(base, &removed.member.id)) else { return false };
        let goes_too = |hub: &MemberId| {
            change.crashed.iter().any(|r| r.member.id == *hub && r.evidence.verdict == Verdict::Silent)
        };
        let checker = self.processes.iter().position(|p| p.member.id == removed.evidence.checker);
        let is_cut_off = |hub: &MemberId| {
            let host = self.processes.iter().find(|p| p.member.id == *hub).map(|p| p.host);
            let heard = host.zip(checker).and_then(|pair| self.heard.get(&pair));
            // What overtakes others on the way makes those no contact.
            heard
                .is_none_or(|at| self.now.since(*at) + self.net.jitter >= base.timing().removal_silence() * 2)
        };
        let had_no_say = |hub: &MemberId| !removed.evidence.fenced_by.contains(hub) && !goes_too(hub);
        hubs::first_in_office(base).any(|hub| had_no_say(&hub.id) && is_cut_off(&hub.id))
    }

    fn note_contact(&mut self, to: usize, arrival: &Arrival) {
        let (from, flags) = match arrival {
            Arrival::Datagram { from, datagram } => (*from, datagram.head.flags),
            Arrival::Frame { from, frame, .. } => (*from, frame.head.flags),
            Arrival::Input(_) => return,
        };
        if !flags.isolated && !flags.sick {
            let from = self.processes.iter().find(|p| p.member.endpoint.addr == from).map(|p| p.host);
            from.map(|host| self.heard.insert((host, to), self.now));
        }
    }

    /// Who is removed for silence knew before that it was isolated.
    fn check_isolated(&self, removed: &Removed, view: &View) {
        let process = self.processes.iter().find(|p| p.member.id == removed.member.id && p.is_alive);
        let Some(process) = process.filter(|p| !p.node.is_stopped()) else { return };
        let left = process.node.connected_until();
        assert!(
            left <= self.now,
            "{} is out of view {} at {:?} and connected until {left:?}",
            removed.member.name,
            view.number(),
            self.now
        );
    }
}

/// A short name for an event, for failures.
pub(crate) fn name_of(event: &Event) -> String {
    let text = format!("{event:?}");
    text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
}
