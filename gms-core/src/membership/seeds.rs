//! The seeds of a joiner: what each last answered, and which processes sit behind them.

use std::net::SocketAddr;
use std::time::Duration;

use crate::event::SeedAnswer;
use crate::input::SendFailure;
use crate::member::{ClusterId, MemberId, canonical};
use crate::message::{ClusterInfo, Membership};
use crate::time::Timestamp;
use crate::view::ViewId;

/// How long an answer is believed. Seeds are asked at least once a second: five answers in a row must be lost before
/// a living seed counts as silent, and a cluster that died is forgotten soon.
pub(super) const ANSWER_VALID_FOR: Duration = Duration::from_secs(5);
/// Answers of processes that are no seeds (announcers, coordinators that redirect) kept at once.
const OTHERS_MAX: usize = 16;

/// What a process said about itself, and when.
#[derive(Clone, Debug)]
struct Heard {
    at: Timestamp,
    info: ClusterInfo,
}

impl Heard {
    fn is_fresh(&self, now: Timestamp) -> bool {
        now.since(self.at) <= ANSWER_VALID_FOR
    }
}

#[derive(Debug)]
struct Seed {
    addr: SocketAddr,
    /// Whether this process itself answers there.
    is_me: bool,
    answer: SeedAnswer,
    heard: Option<Heard>,
}

/// A process that sits behind one or more seed addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Process {
    pub(super) id: MemberId,
    /// The lowest seed address at which it answers.
    pub(super) addr: SocketAddr,
    /// How long it runs by now.
    pub(super) age: Duration,
}

/// A cluster that somebody answered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known<'a> {
    pub(super) membership: &'a Membership,
    at: Timestamp,
}

/// All seeds, lowest address first, and the answers of others.
#[derive(Debug)]
pub(super) struct Seeds {
    me: MemberId,
    my_addr: SocketAddr,
    cluster_name: String,
    started: Timestamp,
    list: Vec<Seed>,
    others: Vec<Heard>,
    expected: Option<usize>,
    /// Length of the longest list seen: a name that resolves to fewer addresses for a moment must not make a
    /// majority out of a minority.
    longest: usize,
}

impl Seeds {
    pub(super) fn new(
        me: MemberId,
        my_addr: SocketAddr,
        cluster_name: String,
        expected: Option<usize>,
        started: Timestamp,
    ) -> Self {
        let my_addr = canonical(my_addr);
        Self {
            me,
            my_addr,
            cluster_name,
            started,
            list: Vec::new(),
            others: Vec::new(),
            expected,
            longest: 0,
        }
    }

    /// Takes over a list of addresses; tells whether one of them is new.
    //= docs/protocol.md#wr-5
    pub(super) fn replace(&mut self, addrs: &[SocketAddr]) -> bool {
        let mut wanted: Vec<SocketAddr> = addrs.iter().copied().map(canonical).collect();
        wanted.sort_unstable();
        wanted.dedup();
        self.list.retain(|s| wanted.binary_search(&s.addr).is_ok());
        let kept = self.list.len();
        for addr in wanted {
            if !self.list.iter().any(|s| s.addr == addr) {
                let is_me = addr == self.my_addr;
                let answer = if is_me { SeedAnswer::NotInCluster } else { SeedAnswer::NoAnswer };
                self.list.push(Seed { addr, is_me, answer, heard: None });
            }
        }
        let grown = self.list.len() > kept;
        self.list.sort_by_key(|s| s.addr);
        self.longest = self.longest.max(self.list.len());
        grown
    }

    /// Addresses to ask: all but those known to be this process.
    pub(super) fn to_ask(&self) -> impl Iterator<Item = SocketAddr> {
        self.list.iter().filter(|s| !s.is_me).map(|s| s.addr)
    }

    /// Notes what the process at `from` says.
    pub(super) fn record(&mut self, now: Timestamp, from: SocketAddr, info: &ClusterInfo) {
        let ours = info.cluster_name == self.cluster_name;
        let heard = ours.then(|| Heard { at: now, info: info.clone() });
        if let Some(seed) = self.list.iter_mut().find(|s| s.addr == canonical(from)) {
            seed.is_me = info.sender == self.me;
            seed.answer = match &info.membership {
                _ if !ours => SeedAnswer::OtherCluster(info.cluster_name.clone()),
                Some(membership) => SeedAnswer::Coordinator(membership.endpoint.addr),
                None => SeedAnswer::NotInCluster,
            };
            seed.heard = heard;
            return;
        }
        // Somebody who is no seed and in no cluster has nothing to say to a joiner.
        let Some(heard) = heard.filter(|h| h.info.membership.is_some()) else { return };
        self.others.retain(|h| h.info.sender != heard.info.sender && h.is_fresh(now));
        if self.others.len() < OTHERS_MAX {
            self.others.push(heard);
        }
    }

    /// Notes that nobody listens at a seed's address, or somebody who can't be talked to: whoever answered there before is
    /// gone. Other failures say nothing of the kind.
    pub(super) fn record_failure(&mut self, addr: SocketAddr, failure: SendFailure) {
        let answer = match failure {
            SendFailure::Refused => SeedAnswer::Refused,
            SendFailure::Misfit(misfit) => SeedAnswer::Misfit(misfit),
            _ => return,
        };
        if let Some(seed) = self.list.iter_mut().find(|s| s.addr == addr && !s.is_me) {
            seed.answer = answer;
            seed.heard = None;
        }
    }

    /// Whether this process is one of the seeds.
    pub(super) fn contains_me(&self) -> bool {
        self.list.iter().any(|s| s.is_me)
    }

    /// Whether every seed has answered something, be it that nobody listens.
    pub(super) fn all_answered(&self) -> bool {
        self.list.iter().all(|s| s.answer != SeedAnswer::NoAnswer)
    }

    /// The processes that answered lately and are of this cluster's name, lowest address first; this one included
    /// if it is a seed.
    pub(super) fn processes(&self, now: Timestamp) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        for seed in &self.list {
            let process = if seed.is_me {
                Process { id: self.me, addr: seed.addr, age: now.since(self.started) }
            } else {
                let Some(heard) = seed.heard.as_ref().filter(|h| h.is_fresh(now)) else { continue };
                let age = heard.info.age.saturating_add(now.since(heard.at));
                Process { id: heard.info.sender, addr: seed.addr, age }
            };
            if !found.iter().any(|p| p.id == process.id) {
                found.push(process);
            }
        }
        found
    }

    /// How many seed processes there may be at most: what the user says, else one an address, less the addresses
    /// behind which a process sits that is counted already.
    ///
    /// Two founders may count differently; both count at least as many as there are, so any two majorities meet.
    //= docs/protocol.md#vw-10
    pub(super) fn seats(&self, now: Timestamp) -> usize {
        let processes = self.processes(now);
        if let Some(expected) = self.expected {
            return expected.max(processes.len());
        }
        let answering =
            self.list.iter().filter(|s| s.is_me || s.heard.as_ref().is_some_and(|h| h.is_fresh(now))).count();
        self.longest - (answering - processes.len())
    }

    /// The best cluster that was answered lately: one that is not isolated before one that is, then the one asked
    /// already (so that no two clusters admit this process), then the highest view, then the latest word.
    //= docs/protocol.md#vw-9
    pub(super) fn best_cluster(&self, now: Timestamp, asked: Option<ClusterId>) -> Option<Known<'_>> {
        let heard = self.list.iter().filter_map(|s| s.heard.as_ref()).chain(&self.others);
        heard
            .filter(|h| h.is_fresh(now))
            .filter_map(|h| h.info.membership.as_ref().map(|membership| Known { membership, at: h.at }))
            .max_by_key(|k| {
                (!k.membership.isolated, asked == Some(k.membership.cluster), k.membership.view, k.at)
            })
    }

    /// The newest view of `cluster` in any fresh answer.
    pub(super) fn newest_view(&self, now: Timestamp, cluster: ClusterId) -> ViewId {
        let heard = self.list.iter().filter_map(|s| s.heard.as_ref()).chain(&self.others);
        let memberships = heard.filter(|h| h.is_fresh(now)).filter_map(|h| h.info.membership.as_ref());
        memberships.filter(|m| m.cluster == cluster).map(|m| m.view).max().unwrap_or(ViewId::NONE)
    }

    /// Seed addresses behind which a member other than `coordinator` sits.
    pub(super) fn members_besides(
        &self,
        now: Timestamp,
        coordinator: MemberId,
    ) -> Vec<(SocketAddr, MemberId)> {
        self.list
            .iter()
            .filter_map(|s| s.heard.as_ref().filter(|h| h.is_fresh(now)).map(|h| (s.addr, &h.info)))
            .filter(|(_, info)| info.membership.is_some() && info.sender != coordinator)
            .map(|(addr, info)| (addr, info.sender))
            .collect()
    }

    /// Marks a cluster as isolated in every answer about it, until somebody says otherwise.
    pub(super) fn mark_isolated(&mut self, cluster: ClusterId) {
        let heard = self.list.iter_mut().filter_map(|s| s.heard.as_mut()).chain(&mut self.others);
        for membership in heard.filter_map(|h| h.info.membership.as_mut()) {
            membership.isolated |= membership.cluster == cluster;
        }
    }

    /// Seeds whose last answer was that they do not fit this process, and that answer.
    pub(super) fn misfits(&self) -> impl Iterator<Item = (SocketAddr, &SeedAnswer)> {
        self.list.iter().filter(|s| s.answer.is_misfit()).map(|s| (s.addr, &s.answer))
    }

    /// Each seed and what it last answered.
    pub(super) fn answers(&self) -> Vec<(SocketAddr, SeedAnswer)> {
        self.list.iter().map(|s| (s.addr, s.answer.clone())).collect()
    }
}
