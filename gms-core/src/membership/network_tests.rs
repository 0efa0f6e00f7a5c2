//! Several joining processes over a network that delays and loses, on a virtual clock: who founds, who joins whom.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use fastrand::Rng;

use crate::config::Config;
use crate::input::{ReplyHandle, SendFailure};
use crate::member::{ClusterId, Endpoint, Member, MemberId, ShortId};
use crate::message::{ClusterInfo, DatagramBody, FrameBody, Membership};
use crate::outbox::{Action, Outbox};
use crate::output::{Destination, FrameToken};
use crate::time::Timestamp;
use crate::view::ViewId;

use super::joining::{JoinOutcome, Joining};

const SEEDS: u64 = 200;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn addr(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, u8::try_from(host + 1).unwrap()], 7790))
}

/// One incarnation at a host.
struct Process {
    id: MemberId,
    host: usize,
    started: Timestamp,
    joining: Joining,
    out: Outbox,
    founded: Option<(ClusterId, Timestamp)>,
    failed: bool,
}

enum Event {
    Start { host: usize },
    Kill { host: usize },
    Datagram { from: usize, to: usize, body: DatagramBody },
    Frame { from: (usize, MemberId), to: usize, recipient: ShortId, token: FrameToken, body: FrameBody },
    Answer { to: (usize, MemberId), from: usize, sender: ShortId, body: FrameBody },
    Failed { to: (usize, MemberId), token: FrameToken, failure: SendFailure },
}

struct Net {
    now: Timestamp,
    rng: Rng,
    config: Config,
    seeds: Vec<SocketAddr>,
    loss: f64,
    frame_loss: f64,
    delay_max: Duration,
    cut: BTreeSet<(usize, usize)>,
    events: BTreeMap<(Timestamp, u64), Event>,
    counter: u64,
    hosts: Vec<Option<Process>>,
    /// Who asked on which connection, and which host was asked.
    connections: Vec<((usize, MemberId), usize)>,
    incarnations: u8,
    kill_founders: usize,
    most_founders: usize,
    all_founded: usize,
}

impl Net {
    fn new(seed: u64, hosts: usize, seeds: &[usize]) -> Self {
        let mut config = Config::new("test");
        config.has_seeds = true;
        Self {
            now: Timestamp::ZERO,
            rng: Rng::with_seed(seed),
            config,
            seeds: seeds.iter().map(|h| addr(*h)).collect(),
            loss: 0.1,
            frame_loss: 0.0,
            delay_max: ms(10),
            cut: BTreeSet::new(),
            events: BTreeMap::new(),
            counter: 0,
            hosts: (0..hosts).map(|_| None).collect(),
            connections: Vec::new(),
            incarnations: 0,
            kill_founders: 0,
            most_founders: 0,
            all_founded: 0,
        }
    }

    fn schedule(&mut self, at: Timestamp, event: Event) {
        self.counter += 1;
        self.events.insert((at, self.counter), event);
    }

    fn start_within(&mut self, hosts: impl IntoIterator<Item = usize>, from: u64, span: u64) {
        for host in hosts {
            let when = at(from) + ms(self.rng.u64(0..=span));
            self.schedule(when, Event::Start { host });
        }
    }

    fn later(&mut self) -> Timestamp {
        let max = u64::try_from(self.delay_max.as_nanos()).unwrap();
        self.now + Duration::from_nanos(self.rng.u64(50_000..=max))
    }

    fn is_cut(&self, a: usize, b: usize) -> bool {
        self.cut.contains(&(a.min(b), a.max(b)))
    }

    fn founders(&self) -> impl Iterator<Item = &Process> {
        self.hosts.iter().flatten().filter(|p| p.founded.is_some())
    }

    /// Runs until every living process has founded or asked the one founder's cluster to be let in.
    fn run_until_agreed(&mut self, end: u64) -> bool {
        while self.now < at(end) {
            if !self.step() {
                return false;
            }
            let pending = self.events.values().any(|e| matches!(e, Event::Start { .. } | Event::Kill { .. }));
            if !pending && self.is_agreed() {
                return true;
            }
        }
        false
    }

    fn is_agreed(&self) -> bool {
        let mut founders = self.founders();
        let Some((cluster, _)) = founders.next().and_then(|p| p.founded) else { return false };
        let joins = |p: &Process| p.founded.is_some() || p.joining.cluster_to_expect() == Some(cluster);
        founders.next().is_none() && self.hosts.iter().flatten().all(joins)
    }

    fn step(&mut self) -> bool {
        let event = self.events.keys().next().map(|(at, _)| *at);
        let timers = self.hosts.iter().flatten().filter(|p| p.founded.is_none());
        let timer = timers.filter_map(|p| Some((p.joining.poll_timeout()?.0, p.host))).min();
        match (event, timer) {
            (Some(event), timer) if timer.is_none_or(|(at, _)| event <= at) => {
                let ((at, _), event) = self.events.pop_first().unwrap();
                self.now = self.now.max(at);
                self.handle(event);
            }
            (_, Some((at, host))) => {
                self.now = self.now.max(at);
                self.with(host, |joining, now, out| joining.handle_timeout(now, out));
            }
            _ => return false,
        }
        self.most_founders = self.most_founders.max(self.founders().count());
        true
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Start { host } => self.start(host),
            Event::Kill { host } => self.hosts[host] = None,
            Event::Datagram { from, to, body } => self.handle_datagram(from, to, body),
            Event::Frame { from, to, recipient, token, body } => {
                self.handle_frame(from, to, recipient, token, body)
            }
            Event::Answer { to, from, sender, body } => {
                if !self.is_incarnation(to) {
                    return;
                }
                self.with(to.0, |joining, now, out| match &body {
                    FrameBody::Coordinator(info) => joining.handle_cluster_info(now, addr(from), info, out),
                    body => joining.handle_found_message(now, sender, ReplyHandle(0), body, out),
                });
            }
            Event::Failed { to, token, failure } => {
                if self.is_incarnation(to) {
                    self.with(to.0, |joining, now, out| {
                        joining.handle_frame_failed(now, token, failure, out)
                    });
                }
            }
        }
    }

    fn start(&mut self, host: usize) {
        self.incarnations += 1;
        let mut bytes = [self.incarnations; 16];
        bytes[15] = 0xff;
        let id = MemberId::from_bytes(bytes);
        let member = Member::new(id, format!("m{host}-{}", self.incarnations), Endpoint::single(addr(host)));
        let joining = Joining::new(&self.config, &member, self.rng.u64(..), self.now);
        let (started, out) = (self.now, Outbox::default());
        self.hosts[host] = Some(Process { id, host, started, joining, out, founded: None, failed: false });
        let seeds = self.seeds.clone();
        self.with(host, |joining, now, out| joining.handle_seeds(now, &seeds, out));
    }

    fn is_incarnation(&self, (host, id): (usize, MemberId)) -> bool {
        self.hosts[host].as_ref().is_some_and(|p| p.id == id && p.founded.is_none())
    }

    fn handle_datagram(&mut self, from: usize, to: usize, body: DatagramBody) {
        let Some(info) = self.hosts[to].as_ref().map(|p| self.info_of(p)) else { return };
        match body {
            DatagramBody::FindCoordinator { asker, .. } if info.membership.is_none() => {
                self.with(to, |j, now, out| j.handle_find_coordinator(now, addr(from), None, asker, out));
            }
            DatagramBody::FindCoordinator { .. } => {
                self.send_datagram(to, from, DatagramBody::Coordinator(Box::new(info)));
            }
            DatagramBody::Coordinator(said) if info.membership.is_none() => {
                self.with(to, |j, now, out| j.handle_cluster_info(now, addr(from), &said, out));
            }
            _ => {}
        }
    }

    fn handle_frame(
        &mut self,
        from: (usize, MemberId),
        to: usize,
        recipient: ShortId,
        token: FrameToken,
        body: FrameBody,
    ) {
        let Some(process) = self.hosts[to].as_ref() else {
            let when = self.later();
            self.schedule(when, Event::Failed { to: from, token, failure: SendFailure::Refused });
            return;
        };
        if recipient != ShortId::default() && recipient != process.id.short() {
            return;
        }
        self.connections.push((from, to));
        let reply = ReplyHandle(self.connections.len() as u64 - 1);
        if process.founded.is_some() {
            let info = FrameBody::Coordinator(self.info_of(process));
            self.answer(reply, info);
            return;
        }
        self.with(to, |joining, now, out| match &body {
            FrameBody::FindCoordinator { asker, .. } => {
                joining.handle_find_coordinator(now, addr(from.0), Some(reply), *asker, out);
            }
            FrameBody::Join { .. } => {}
            body => joining.handle_found_message(now, from.1.short(), reply, body, out),
        });
    }

    fn info_of(&self, process: &Process) -> ClusterInfo {
        let membership = process.founded.map(|(cluster, since)| Membership {
            cluster,
            coordinator: process.id,
            endpoint: Endpoint::single(addr(process.host)),
            view: ViewId(1),
            size: 1,
            isolated: false,
            age: self.now.since(since),
        });
        ClusterInfo {
            cluster_name: "test".into(),
            sender: process.id,
            age: self.now.since(process.started),
            membership,
        }
    }

    /// Calls one process and sends what it wants sent.
    fn with(&mut self, host: usize, act: impl FnOnce(&mut Joining, Timestamp, &mut Outbox)) {
        let now = self.now;
        let Some(process) = self.hosts[host].as_mut().filter(|p| p.founded.is_none()) else { return };
        act(&mut process.joining, now, &mut process.out);
        let id = process.id;
        match process.joining.outcome() {
            Some(JoinOutcome::Found(cluster)) => {
                process.founded = Some((cluster, now));
                self.all_founded += 1;
            }
            Some(JoinOutcome::Failed(_)) => process.failed = true,
            None => {}
        }
        let dies = process.founded.is_some() && self.all_founded <= self.kill_founders;
        for action in process.out.drain() {
            self.perform((host, id), action);
        }
        if dies {
            self.hosts[host] = None;
        }
    }

    fn perform(&mut self, from: (usize, MemberId), action: Action) {
        match action {
            Action::DatagramTo { to, body, .. } => {
                if let Some(to) = self.host_at(to) {
                    self.send_datagram(from.0, to, body);
                }
            }
            Action::FrameTo { to: Destination::Address(to), recipient, body, token } => {
                let Some(to) = self.host_at(to) else { return };
                let when = self.later();
                if self.is_cut(from.0, to) || self.rng.f64() < self.frame_loss {
                    self.schedule(
                        when + ms(1000),
                        Event::Failed { to: from, token, failure: SendFailure::TimedOut },
                    );
                } else {
                    self.schedule(when, Event::Frame { from, to, recipient, token, body });
                }
            }
            Action::FrameTo { to: Destination::Reply(reply), body, .. } => self.answer(reply, body),
            other => panic!("a joiner sends no {other:?}"),
        }
    }

    fn host_at(&self, wanted: SocketAddr) -> Option<usize> {
        (0..self.hosts.len()).find(|host| addr(*host) == wanted)
    }

    fn send_datagram(&mut self, from: usize, to: usize, body: DatagramBody) {
        let when = self.later();
        if self.rng.f64() >= self.loss && !self.is_cut(from, to) {
            self.schedule(when, Event::Datagram { from, to, body });
        }
    }

    fn answer(&mut self, reply: ReplyHandle, body: FrameBody) {
        let (to, from) = self.connections[usize::try_from(reply.0).unwrap()];
        let sender = self.hosts[from].as_ref().expect("it answers").id.short();
        let when = self.later();
        self.schedule(when, Event::Answer { to, from, sender, body });
    }
}

//= docs/protocol.md#vw-10
#[test]
fn twelve_that_start_together_agree_on_one_founder() {
    for seed in 0..SEEDS {
        let mut net = Net::new(seed, 12, &[0, 1, 2]);
        net.start_within(0..12, 0, 50);
        assert!(net.run_until_agreed(5_000), "seed {seed}: not agreed");
        assert_eq!(net.all_founded, 1, "seed {seed}");
        assert!(net.now < at(2_000), "seed {seed}: all are young, so nobody waits to grow up: {:?}", net.now);
    }
}

#[test]
fn one_seed_down_delays_founding_until_the_others_are_old_enough() {
    for seed in 0..SEEDS {
        let mut net = Net::new(seed, 12, &[0, 1, 2]);
        let down = (seed % 3) as usize;
        net.start_within((0..12).filter(|h| *h != down), 0, 50);
        assert!(net.run_until_agreed(8_000), "seed {seed}: not agreed");
        assert_eq!(net.all_founded, 1, "seed {seed}");
        assert!(net.founders().all(|p| p.founded.unwrap().1 >= at(2_000)), "seed {seed}");
    }
}

#[test]
fn seeds_that_start_last_found_and_all_others_join_them() {
    for seed in 0..SEEDS {
        let mut net = Net::new(seed, 8, &[0, 1, 2]);
        net.start_within(3..8, 0, 50);
        net.start_within(0..3, 5_000, 300);
        assert!(net.run_until_agreed(12_000), "seed {seed}: not agreed");
        assert_eq!(net.all_founded, 1, "seed {seed}");
        assert!(net.founders().all(|p| p.host < 3), "seed {seed}");
    }
}

#[test]
fn two_seeds_that_cannot_see_each_other_never_both_found() {
    for seed in 0..SEEDS {
        let mut net = Net::new(seed, 3, &[0, 1, 2]);
        net.cut = BTreeSet::from([[(0, 1), (0, 2), (1, 2)][(seed % 3) as usize]]);
        net.start_within(0..3, 0, 50);
        while net.now < at(10_000) && net.step() {}
        assert_eq!(net.all_founded, 1, "seed {seed}");
    }
}

#[test]
fn a_founder_that_dies_right_after_being_accepted_is_followed_by_another() {
    for seed in 0..SEEDS {
        let mut net = Net::new(seed, 6, &[0, 1, 2]);
        net.kill_founders = 1;
        net.start_within(0..6, 0, 50);
        assert!(net.run_until_agreed(20_000), "seed {seed}: not agreed");
        assert_eq!(net.all_founded, 2, "seed {seed}");
        assert_eq!(net.most_founders, 1, "seed {seed}");
    }
}

#[test]
fn seeds_that_restart_at_any_moment_never_make_two_living_founders() {
    for seed in 0..SEEDS {
        let mut net = Net::new(seed, 5, &[0, 1, 2]);
        net.loss = 0.3;
        net.start_within(0..5, 0, 50);
        for _ in 0..3 {
            let host = net.rng.usize(0..3);
            let when = at(net.rng.u64(1..4_000));
            let back = when + ms(net.rng.u64(1..500));
            net.schedule(when, Event::Kill { host });
            net.schedule(back, Event::Start { host });
        }
        assert!(net.run_until_agreed(20_000), "seed {seed}: not agreed");
        assert!(net.most_founders <= 1, "seed {seed}: {} founders", net.most_founders);
    }
}

#[test]
fn rivals_on_a_slow_and_lossy_network_never_both_found() {
    let mut founded = 0;
    for seed in 0..SEEDS {
        let seeds: &[usize] = if seed % 2 == 0 { &[0, 1, 2] } else { &[0, 1, 2, 3, 4] };
        let mut net = Net::new(seed, seeds.len(), seeds);
        net.loss = 0.3;
        net.frame_loss = 0.2;
        net.delay_max = ms(1_500);
        net.start_within(seeds.iter().copied(), 0, if seed % 3 == 0 { 50 } else { 3_000 });
        while net.now < at(15_000) && net.step() {}
        assert!(net.all_founded <= 1, "seed {seed}: {} founders", net.all_founded);
        founded += net.all_founded;
    }
    assert!(founded > 0);
}

#[test]
fn a_seed_alone_in_its_list_founds_at_once() {
    let mut net = Net::new(1, 1, &[0]);
    net.start_within([0], 7, 0);
    assert!(net.run_until_agreed(100));
    assert_eq!(net.now, at(7));
}

#[test]
fn one_of_three_seeds_alone_never_founds_and_says_what_each_seed_answered() {
    let mut net = Net::new(1, 3, &[0, 1, 2]);
    net.start_within([0], 0, 0);
    while net.now < at(25_000) && net.step() {}
    assert_eq!(net.all_founded, 0);
    assert!(net.hosts[0].as_ref().unwrap().failed);
}
