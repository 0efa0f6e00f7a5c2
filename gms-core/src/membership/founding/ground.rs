//! What a founder and an acceptor stand on: who answers, what was promised, and the tools of one step.

use std::net::SocketAddr;
use std::time::Duration;

use fastrand::Rng;

use crate::member::MemberId;
use crate::message::{FoundBallot, Founder, FrameBody};
use crate::outbox::Outbox;
use crate::output::FrameToken;
use crate::time::Timestamp;

use super::super::seeds::Process;

/// What the joiner knows while founding is considered.
#[derive(Clone, Debug)]
pub(in crate::membership) struct Ground {
    /// Seeds' processes that answer, this one among them if it is a seed.
    pub(in crate::membership) processes: Vec<Process>,
    /// How many there may be at most.
    pub(in crate::membership) seats: usize,
    /// Whether this process is a seed itself.
    pub(in crate::membership) is_seed: bool,
    /// Whether some cluster answered: then nothing is founded.
    pub(in crate::membership) knows_cluster: bool,
    /// How long this process runs.
    pub(in crate::membership) age: Duration,
    /// Below this age a process promises nothing.
    pub(in crate::membership) founding_age: Duration,
    /// How long one attempt waits for its answers.
    pub(in crate::membership) pace: Duration,
}

impl Ground {
    pub(super) const fn is_young(&self) -> bool {
        self.age.as_nanos() < self.founding_age.as_nanos()
    }

    /// Whether every seat is taken by a process too young to have forgotten a cluster.
    pub(super) fn all_young(&self) -> bool {
        self.processes.len() >= self.seats && self.processes.iter().all(|p| p.age < self.founding_age)
    }

    /// Whether enough processes that may promise are there.
    pub(super) fn has_quorum(&self) -> bool {
        let old = self.processes.iter().filter(|p| p.age >= self.founding_age).count();
        self.all_young() || (!self.is_young() && self.is_majority(old))
    }

    const fn is_majority(&self, count: usize) -> bool {
        count * 2 > self.seats
    }

    /// Places of answering processes with a lower address.
    pub(super) fn rank(&self, me: MemberId) -> u32 {
        let before = self.processes.iter().take_while(|p| p.id != me).count();
        u32::try_from(before).unwrap_or(u32::MAX)
    }
}

/// What a seed's process remembers of founders' questions.
#[derive(Clone, Debug, Default)]
pub(super) struct Acceptor {
    pub(super) promised: Option<FoundBallot>,
    pub(super) accepted: Option<(FoundBallot, Founder)>,
}

impl Acceptor {
    pub(super) fn promise(&mut self, ballot: FoundBallot) -> bool {
        let granted = self.promised.is_none_or(|promised| ballot >= promised);
        if granted {
            self.promised = Some(ballot);
        }
        granted
    }

    pub(super) fn accept(&mut self, ballot: FoundBallot, founder: &Founder) -> bool {
        let granted = self.promised == Some(ballot);
        if granted {
            self.accepted = Some((ballot, founder.clone()));
        }
        granted
    }
}

/// Frames sent, and to which address: the joiner learns from them whose connection failed.
pub(in crate::membership) type Sent = Vec<(FrameToken, SocketAddr)>;

/// What every step gets: the time, what is known, chance, and where to put what is to be sent.
#[derive(Debug)]
pub(in crate::membership) struct Step<'a> {
    pub(in crate::membership) now: Timestamp,
    pub(in crate::membership) ground: &'a Ground,
    pub(in crate::membership) rng: &'a mut Rng,
    pub(in crate::membership) out: &'a mut Outbox,
    pub(in crate::membership) sent: Sent,
}

impl Step<'_> {
    pub(super) fn ask(&mut self, process: &Process, body: FrameBody) {
        let token = self.out.frame_to(process.addr, process.id.short(), body);
        self.sent.push((token, process.addr));
    }

    /// A wait that grows with the places before this process, so that the lowest address is rarely disturbed.
    pub(super) fn back_off(&mut self, me: MemberId) -> Timestamp {
        let slot = self.ground.pace / 4;
        let jitter = u64::try_from(slot.as_nanos()).unwrap_or(u64::MAX);
        self.now + slot * self.ground.rank(me) + slot / 2 + Duration::from_nanos(self.rng.u64(0..=jitter))
    }
}
