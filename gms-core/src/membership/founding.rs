//! Founding a cluster: Paxos, both phases, among the processes behind the seed addresses (L. Lamport, "Paxos Made
//! Simple", 2001). The value agreed on is who founds which cluster.
//!
//! State is in memory only, so a restarted process has forgotten what it promised. Three rules make up for it:
//!
//! - A process accepts only in a ballot that it promised itself. So a ballot whose quorum lost a member to a restart
//!   can't be completed by the successor of that member.
//! - A process that started a moment ago promises nobody: by the time it does, a cluster founded with its
//!   predecessor's help has announced itself to it.
//! - If all are that young, a founder may go ahead, but then phase 1 needs **all** of them, not a majority: whoever
//!   accepted something and still lives is among them and says so.
//!
//! An accepted founder that is proven gone is no value any more. That is safe because the value names an incarnation,
//! and an id that left never comes back: nobody but that incarnation would ever act on it. If it did found before it
//! died, whoever joined it answers as a cluster, and any such answer ends founding.

mod ground;

use std::net::SocketAddr;
use std::time::Duration;

use fastrand::Rng;

use crate::input::ReplyHandle;
use crate::member::{ClusterId, Endpoint, MemberId, ShortId, canonical};
use crate::message::{FoundBallot, Founder, FrameBody};
use crate::time::Timestamp;

use super::seeds::Process;
use ground::Acceptor;

pub(super) use ground::{Ground, Step};

/// Founders remembered as gone. More than one or two never matter: each needs a majority's acceptance first.
const GONE_MAX: usize = 16;

#[derive(Clone, Debug)]
enum Phase {
    Promising { promised: Vec<MemberId>, newest: Option<(FoundBallot, Founder)> },
    Accepting { founder: Founder, accepted: Vec<MemberId> },
}

#[derive(Clone, Debug)]
struct Proposal {
    ballot: FoundBallot,
    all_young: bool,
    seats: usize,
    /// Whom it asks; fixed at the start, so that answers of others count for nothing.
    asked: Vec<Process>,
    phase: Phase,
}

/// Refused connections to the accepted founder since it last answered.
#[derive(Clone, Copy, Debug)]
struct Refusals {
    founder: MemberId,
    first: Timestamp,
}

/// One process's part in founding: acceptor always, founder if it is a seed itself.
#[derive(Clone, Debug)]
pub(super) struct Founding {
    me: MemberId,
    endpoint: Endpoint,
    cluster_name: String,
    acceptor: Acceptor,
    proposal: Option<Proposal>,
    /// Highest round seen anywhere.
    round: u32,
    /// When to begin an attempt, or to give up the running one.
    due: Option<Timestamp>,
    gone: Vec<MemberId>,
    refusals: Option<Refusals>,
    founded: Option<ClusterId>,
}

impl Founding {
    pub(super) fn new(me: MemberId, endpoint: Endpoint, cluster_name: String) -> Self {
        Self {
            me,
            endpoint,
            cluster_name,
            acceptor: Acceptor::default(),
            proposal: None,
            round: 0,
            due: None,
            gone: Vec::new(),
            refusals: None,
            founded: None,
        }
    }

    /// The cluster that this process is to found, once that is agreed.
    pub(super) const fn founded(&self) -> Option<ClusterId> {
        self.founded
    }

    /// The founder accepted here, unless it is this process or proven gone.
    pub(super) fn awaited_founder(&self) -> Option<&Founder> {
        let (_, founder) = self.acceptor.accepted.as_ref()?;
        (founder.member != self.me && !self.gone.contains(&founder.member)).then_some(founder)
    }

    /// When [`Founding::handle_timeout`] has something to do.
    pub(super) const fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    /// Begins an attempt, or gives one up, when it is time. To be called after everything that changes the ground.
    //= docs/protocol.md#vw-10
    pub(super) fn handle_timeout(&mut self, step: &mut Step<'_>) {
        let may = step.ground.is_seed
            && !step.ground.knows_cluster
            && self.founded.is_none()
            && self.awaited_founder().is_none()
            && step.ground.has_quorum();
        if !may {
            self.proposal = None;
            self.due = None;
            return;
        }
        let first_in_order = step.ground.rank(self.me) == 0;
        let due =
            *self.due.get_or_insert_with(|| if first_in_order { step.now } else { step.back_off(self.me) });
        if step.now < due {
            return;
        }
        if self.proposal.take().is_some() {
            self.due = Some(step.back_off(self.me));
        } else {
            self.begin(step);
        }
    }

    /// Takes a founder's question, or an answer to a question of this process. `sender` is the process that says it.
    pub(super) fn handle_message(
        &mut self,
        step: &mut Step<'_>,
        sender: ShortId,
        reply: ReplyHandle,
        body: &FrameBody,
    ) {
        if step.ground.knows_cluster {
            self.proposal = None;
        }
        match body {
            FrameBody::FoundPromise { cluster_name, ballot, all_young }
                if *cluster_name == self.cluster_name =>
            {
                let answer = self.answer_promise(step, *ballot, *all_young);
                step.out.reply(reply, sender, answer);
            }
            FrameBody::FoundAccept { cluster_name, ballot, founder }
                if *cluster_name == self.cluster_name =>
            {
                let answer = self.answer_accept(step, *ballot, founder);
                step.out.reply(reply, sender, answer);
            }
            FrameBody::FoundPromised { ballot, accepted } => {
                self.handle_promised(step, sender, *ballot, accepted.as_ref());
            }
            FrameBody::FoundAccepted { ballot } => self.handle_accepted(step, sender, *ballot),
            FrameBody::FoundRefused { ballot, promised } => self.handle_refused(step, *ballot, *promised),
            _ => {}
        }
    }

    /// Notes who answers at `from`: another incarnation at the accepted founder's address proves it gone.
    pub(super) fn handle_answer(&mut self, from: SocketAddr, sender: MemberId) {
        let Some(founder) = self.awaited_founder() else { return };
        let (id, endpoint) = (founder.member, founder.endpoint);
        let from = canonical(from);
        if sender == id {
            self.refusals = None;
        } else if from == canonical(endpoint.addr) || from == canonical(endpoint.check_addr) {
            self.bury(id);
        }
    }

    /// Notes that the accepted founder's address refused a connection. One refusal may be a listener that is slow to
    /// open or a full backlog; two, half a founding age apart and without an answer between them, are a process that
    /// is gone.
    pub(super) fn handle_founder_refused(
        &mut self,
        now: Timestamp,
        founder: MemberId,
        founding_age: Duration,
    ) {
        if self.awaited_founder().is_none_or(|f| f.member != founder) {
            return;
        }
        match self.refusals.filter(|r| r.founder == founder) {
            Some(r) if now.since(r.first) >= founding_age / 2 => self.bury(founder),
            Some(_) => {}
            None => self.refusals = Some(Refusals { founder, first: now }),
        }
    }

    fn bury(&mut self, founder: MemberId) {
        if self.gone.len() == GONE_MAX {
            self.gone.remove(0);
        }
        self.gone.push(founder);
        self.refusals = None;
    }

    fn is_value(&self, founder: &Founder) -> bool {
        !self.gone.contains(&founder.member)
    }

    fn begin(&mut self, step: &mut Step<'_>) {
        self.round = self.round.saturating_add(1);
        let ballot = FoundBallot { round: self.round, proposer: self.me };
        self.due = Some(step.now + step.ground.pace);
        if !self.acceptor.promise(ballot) {
            return;
        }
        let own = self.acceptor.accepted.clone().filter(|(_, founder)| self.is_value(founder));
        let proposal = Proposal {
            ballot,
            all_young: step.ground.all_young(),
            seats: step.ground.seats,
            asked: step.ground.processes.clone(),
            phase: Phase::Promising { promised: vec![self.me], newest: own },
        };
        for process in proposal.asked.iter().filter(|p| p.id != self.me) {
            let cluster_name = self.cluster_name.clone();
            step.ask(
                process,
                FrameBody::FoundPromise { cluster_name, ballot, all_young: proposal.all_young },
            );
        }
        self.proposal = Some(proposal);
        self.end_phase_one(step);
    }

    fn answer_promise(&mut self, step: &mut Step<'_>, ballot: FoundBallot, all_young: bool) -> FrameBody {
        self.round = self.round.max(ballot.round);
        let too_young = step.ground.is_young() && !all_young;
        if too_young {
            return FrameBody::FoundRefused { ballot, promised: None };
        }
        if step.ground.knows_cluster || !self.acceptor.promise(ballot) {
            return FrameBody::FoundRefused { ballot, promised: self.acceptor.promised };
        }
        self.defer(step);
        FrameBody::FoundPromised { ballot, accepted: self.acceptor.accepted.clone() }
    }

    fn answer_accept(&mut self, step: &mut Step<'_>, ballot: FoundBallot, founder: &Founder) -> FrameBody {
        if step.ground.knows_cluster || !self.acceptor.accept(ballot, founder) {
            return FrameBody::FoundRefused { ballot, promised: self.acceptor.promised };
        }
        self.defer(step);
        FrameBody::FoundAccepted { ballot }
    }

    /// Lets another founder have its time before this process tries itself; its own attempt is overruled.
    fn defer(&mut self, step: &mut Step<'_>) {
        self.proposal = None;
        self.due = Some(step.back_off(self.me) + step.ground.pace);
    }

    fn handle_promised(
        &mut self,
        step: &mut Step<'_>,
        sender: ShortId,
        ballot: FoundBallot,
        accepted: Option<&(FoundBallot, Founder)>,
    ) {
        let accepted = accepted.filter(|(_, founder)| self.is_value(founder)).cloned();
        let Some(proposal) = self.proposal.as_mut().filter(|p| p.ballot == ballot) else { return };
        let Some(process) = proposal.asked.iter().find(|p| p.id.short() == sender).copied() else { return };
        match &mut proposal.phase {
            Phase::Promising { promised, newest } => {
                if !promised.contains(&process.id) {
                    promised.push(process.id);
                }
                if accepted.as_ref().map(|(b, _)| *b) > newest.as_ref().map(|(b, _)| *b) {
                    *newest = accepted;
                }
                self.end_phase_one(step);
            }
            // A promise that came after a majority had promised: its acceptance is welcome all the same.
            Phase::Accepting { founder, .. } => {
                let (cluster_name, founder) = (self.cluster_name.clone(), founder.clone());
                step.ask(&process, FrameBody::FoundAccept { cluster_name, ballot, founder });
            }
        }
    }

    fn end_phase_one(&mut self, step: &mut Step<'_>) {
        let Some(proposal) = self.proposal.as_mut() else { return };
        let Phase::Promising { promised, newest } = &mut proposal.phase else { return };
        let seats = proposal.seats.max(step.ground.seats);
        let enough = if proposal.all_young { promised.len() >= seats } else { promised.len() * 2 > seats };
        if !enough {
            return;
        }
        let founder = newest.take().map_or_else(
            || Founder {
                cluster: draw_cluster_id(self.me, step.rng),
                member: self.me,
                endpoint: self.endpoint,
            },
            |(_, founder)| founder,
        );
        let ballot = proposal.ballot;
        if !self.acceptor.accept(ballot, &founder) {
            return;
        }
        for process in proposal.asked.iter().filter(|p| p.id != self.me && promised.contains(&p.id)) {
            let (cluster_name, founder) = (self.cluster_name.clone(), founder.clone());
            step.ask(process, FrameBody::FoundAccept { cluster_name, ballot, founder });
        }
        proposal.phase = Phase::Accepting { founder, accepted: vec![self.me] };
        self.end_phase_two(step);
    }

    fn handle_accepted(&mut self, step: &Step<'_>, sender: ShortId, ballot: FoundBallot) {
        let Some(proposal) = self.proposal.as_mut().filter(|p| p.ballot == ballot) else { return };
        let Some(id) = proposal.asked.iter().map(|p| p.id).find(|id| id.short() == sender) else { return };
        let Phase::Accepting { accepted, .. } = &mut proposal.phase else { return };
        if !accepted.contains(&id) {
            accepted.push(id);
        }
        self.end_phase_two(step);
    }

    fn end_phase_two(&mut self, step: &Step<'_>) {
        let Some(proposal) = &self.proposal else { return };
        let Phase::Accepting { founder, accepted } = &proposal.phase else { return };
        if accepted.len() * 2 <= proposal.seats.max(step.ground.seats) {
            return;
        }
        if founder.member == self.me {
            self.founded = Some(founder.cluster);
        }
        self.proposal = None;
        self.due = None;
    }

    fn handle_refused(&mut self, step: &mut Step<'_>, ballot: FoundBallot, promised: Option<FoundBallot>) {
        let Some(promised) = promised else { return };
        self.round = self.round.max(promised.round);
        if self.proposal.as_ref().is_some_and(|p| p.ballot == ballot && promised > ballot) {
            self.proposal = None;
            self.due = Some(step.back_off(self.me));
        }
    }
}

/// A cluster id: chance, mixed with the founder's own id so that two founders never draw the same.
pub(super) fn draw_cluster_id(me: MemberId, rng: &mut Rng) -> ClusterId {
    let mut bytes = *me.as_bytes();
    bytes.iter_mut().for_each(|byte| *byte ^= rng.u8(..));
    ClusterId::from_bytes(bytes)
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
