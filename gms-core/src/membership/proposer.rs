//! The proposer of single-decree Paxos for the successor of one view: rounds, votes, and back-off.
//!
//! The first in office proposes in round 0 without asking; anybody else, and a coordinator that was overtaken, first
//! asks for promises. One value per ballot, never replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::evidence::Verdict;
use crate::member::MemberId;
use crate::message::{Ballot, FrameBody, Refusal};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::quorum;
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::{Change, View};

/// Why this member may propose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Acting {
    /// It may not.
    No,
    /// It is the first in office.
    Coordinator,
    /// Everyone before it in office is out of the way; these are its verdicts.
    Successor(Vec<(MemberId, Verdict)>),
}

/// What there is to propose at this moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Plan {
    /// Nothing.
    Nothing,
    /// Something that has to wait, until then if it is known.
    Wait(Option<Timestamp>),
    /// This.
    Ready(Change),
}

#[derive(Clone, Debug)]
enum Stage {
    Idle,
    Promising { ballot: Ballot, promised: BTreeMap<MemberId, Option<(Ballot, Change)>> },
    Promised { ballot: Ballot, value: Option<Change> },
    Preparing { ballot: Ballot, change: Arc<Change>, accepted: BTreeSet<MemberId> },
}

/// Drives one view's successor to a decision.
#[derive(Clone, Debug)]
pub(crate) struct Proposer {
    stage: Stage,
    /// The highest ballot that was used here or that somebody named as promised: the next one is above it, so that one
    /// ballot never carries two values.
    highest: Option<Ballot>,
    /// End of the batch window.
    collect_until: Option<Timestamp>,
    /// When a plan that has to wait is looked at again.
    wait_until: Option<Timestamp>,
    retry_at: Option<Timestamp>,
    back_off_until: Timestamp,
    busy_since: Option<Timestamp>,
}

/// What the proposer needs to know about this member's own votes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Votes {
    /// The highest ballot promised here.
    pub(crate) promised: Option<Ballot>,
    /// Whether a change is accepted here.
    pub(crate) has_accepted: bool,
}

/// The ballot that the first in office uses without phase 1.
pub(crate) const ROUND_ZERO: Ballot = Ballot { round: 0, place: 0 };

impl Proposer {
    /// A proposer for a fresh base.
    pub(crate) const fn new() -> Self {
        Self {
            stage: Stage::Idle,
            highest: None,
            collect_until: None,
            wait_until: None,
            retry_at: None,
            back_off_until: Timestamp::ZERO,
            busy_since: None,
        }
    }

    /// Goes on as far as it can. Returns the change if one is decided.
    pub(crate) fn advance(
        &mut self,
        scene: Scene<'_>,
        acting: &Acting,
        votes: Votes,
        plan: &dyn Fn() -> Plan,
        out: &mut Outbox,
    ) -> Option<Arc<Change>> {
        match &self.stage {
            Stage::Idle => self.advance_idle(scene, acting, votes, plan, out),
            Stage::Promising { .. } if *acting == Acting::No => self.stand_down(),
            Stage::Promising { ballot, promised } => {
                let weight = quorum::weight_of(scene.view, |m| promised.contains_key(m));
                if quorum::is_majority(weight, scene.view.weight()) {
                    //= docs/protocol.md#vw-8
                    let ballot = *ballot;
                    // Nobody can have accepted what does not apply to the base; whoever says so is not believed.
                    let is_sound = |found: &&(Ballot, Change)| scene.view.apply(&found.1).is_ok();
                    let found = promised.values().flatten().filter(is_sound).max_by_key(|(b, _)| *b);
                    let found = found.filter(|_| !planted::is(Planted::AcceptedIgnored));
                    let value = found.map(|(_, change)| change.clone());
                    self.retry_at = None;
                    self.stage = Stage::Promised { ballot, value };
                    return self.advance(scene, acting, votes, plan, out);
                }
                self.resend(scene, acting, out);
            }
            // What was found is as old as the ballot in which it was accepted, and gains nothing by waiting.
            //= docs/protocol.md#vw-1
            Stage::Promised { value: None, .. }
                if self.collect_until.is_some_and(|until| until > scene.now) => {}
            Stage::Promised { ballot, value } => {
                let ballot = *ballot;
                let found = value.clone().map_or_else(plan, Plan::Ready);
                match found {
                    Plan::Ready(change) => self.prepare(scene, ballot, change, out),
                    Plan::Wait(until) => self.wait_until = until,
                    Plan::Nothing => self.stand_down(),
                }
            }
            Stage::Preparing { ballot, change, accepted } => {
                let weight = quorum::weight_of(scene.view, |m| accepted.contains(m));
                //= docs/protocol.md#vw-3
                let is_one_enough = planted::is(Planted::OneVoteDecides) && !accepted.is_empty();
                if is_one_enough || quorum::is_majority(weight, scene.view.weight()) {
                    return Some(Arc::clone(change));
                }
                if planted::is(Planted::ValueChanges)
                    && let Plan::Ready(other) = plan()
                {
                    let (ballot, accepted) = (*ballot, accepted.clone());
                    self.stage = Stage::Preparing { ballot, change: Arc::new(other), accepted };
                }
                self.resend(scene, acting, out);
            }
        }
        None
    }

    /// A member promised, and says what it accepted before.
    pub(crate) fn handle_promised(
        &mut self,
        from: MemberId,
        ballot: Ballot,
        accepted: Option<(Ballot, Change)>,
    ) {
        if let Stage::Promising { ballot: mine, promised } = &mut self.stage
            && *mine == ballot
        {
            promised.insert(from, accepted);
        }
    }

    /// A member accepted.
    pub(crate) fn handle_accepted(&mut self, from: MemberId, ballot: Ballot) {
        if let Stage::Preparing { ballot: mine, accepted, .. } = &mut self.stage
            && *mine == ballot
        {
            accepted.insert(from);
        }
    }

    /// A member refused. Overtaken by a higher ballot, the proposer backs off and starts over.
    pub(crate) fn handle_refused(
        &mut self,
        scene: Scene<'_>,
        ballot: Ballot,
        why: &Refusal,
        rng: &mut fastrand::Rng,
    ) {
        if self.ballot() != Some(ballot) {
            return;
        }
        match why {
            Refusal::Promised(higher) => {
                self.highest = self.highest.max(Some(*higher));
                if *higher > ballot {
                    self.stage = Stage::Idle;
                    self.retry_at = None;
                    self.collect_until = None;
                    let step = scene.timing().retry_interval();
                    let longest = step.as_nanos().min(u128::from(u64::MAX)) as u64;
                    // The one earlier in office comes back sooner, so that two of them do not chase each other.
                    let wait =
                        Duration::from_nanos(rng.u64(0..=longest / 8)) + step / 8 * ballot.place.min(8);
                    self.back_off_until = scene.now + wait;
                }
            }
            // Where a majority has promised meanwhile, nobody is asked again.
            Refusal::Protected(left) if matches!(self.stage, Stage::Promising { .. }) => {
                let again = scene.now + *left;
                self.retry_at = Some(self.retry_at.map_or(again, |at| at.min(again)));
            }
            Refusal::Protected(_) | Refusal::OtherView(_) => {}
        }
    }

    /// When to go on.
    pub(crate) fn poll_timeout(&self, now: Timestamp) -> Option<Timestamp> {
        let back_off = (self.back_off_until > now).then_some(self.back_off_until);
        // While promises are missing the end of the window changes nothing.
        let collects = !matches!(self.stage, Stage::Promising { .. });
        let window = self.collect_until.filter(|until| collects && *until > now);
        let wait = self.wait_until.filter(|until| *until > now);
        [window, wait, self.retry_at, back_off].into_iter().flatten().min()
    }

    /// Whether nothing is under way.
    pub(crate) const fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle) && self.collect_until.is_none()
    }

    /// Since when it tries to gather a majority without success.
    pub(crate) const fn busy_since(&self) -> Option<Timestamp> {
        self.busy_since
    }

    /// Who has not voted in the ballot under way.
    pub(crate) fn silent_voters(&self, view: &View) -> Vec<MemberId> {
        let ids = view.members().iter().map(|m| m.member.id);
        match &self.stage {
            Stage::Idle | Stage::Promised { .. } => Vec::new(),
            Stage::Promising { promised, .. } => ids.filter(|id| !promised.contains_key(id)).collect(),
            Stage::Preparing { accepted, .. } => ids.filter(|id| !accepted.contains(id)).collect(),
        }
    }

    const fn ballot(&self) -> Option<Ballot> {
        match &self.stage {
            Stage::Idle => None,
            Stage::Promising { ballot, .. }
            | Stage::Promised { ballot, .. }
            | Stage::Preparing { ballot, .. } => Some(*ballot),
        }
    }

    fn advance_idle(
        &mut self,
        scene: Scene<'_>,
        acting: &Acting,
        votes: Votes,
        plan: &dyn Fn() -> Plan,
        out: &mut Outbox,
    ) {
        if *acting == Acting::No || scene.now < self.back_off_until {
            self.collect_until = None;
            return;
        }
        let is_round_zero = |b: Ballot| b == ROUND_ZERO;
        let round_zero_is_free =
            votes.promised.is_none_or(is_round_zero) && self.highest.is_none_or(is_round_zero);
        if *acting == Acting::Coordinator && round_zero_is_free && !votes.has_accepted {
            return self.collect(scene, plan, out);
        }
        let must_finish = votes.has_accepted;
        if must_finish || plan() != Plan::Nothing {
            self.promise(scene, acting, votes, out);
        }
    }

    /// The first in office collects for the batch window, then proposes in round 0.
    //= docs/protocol.md#vw-1
    fn collect(&mut self, scene: Scene<'_>, plan: &dyn Fn() -> Plan, out: &mut Outbox) {
        if self.collect_until.is_some_and(|until| until > scene.now) {
            return;
        }
        match (plan(), self.collect_until) {
            (Plan::Nothing, _) => self.stand_down(),
            (_, None) => self.collect_until = Some(scene.now + scene.timing().batch_window),
            (Plan::Wait(again), Some(_)) => self.wait_until = again,
            (Plan::Ready(change), Some(_)) => self.prepare(scene, ROUND_ZERO, change, out),
        }
    }

    //= docs/protocol.md#vw-7
    fn promise(&mut self, scene: Scene<'_>, acting: &Acting, votes: Votes, out: &mut Outbox) {
        let Some(place) = scene.view.office_place(&scene.me.id) else { return };
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let seen = self.highest.max(votes.promised);
        let mut ballot = Ballot { round: seen.map_or(1, |b| b.round.max(1)), place };
        if seen.is_some_and(|b| b >= ballot) {
            // Only a false word brings the rounds to their end. A ballot used twice would be worse than none.
            let Some(round) = ballot.round.checked_add(1) else { return self.stand_down() };
            ballot.round = round;
        }
        self.highest = Some(ballot);
        // Promises may come faster than the signs of those who died at the same moment.
        self.collect_until = Some(scene.now + scene.timing().batch_window);
        self.wait_until = None;
        self.busy_since.get_or_insert(scene.now);
        self.stage = Stage::Promising { ballot, promised: BTreeMap::new() };
        self.send(scene, acting, out);
    }

    fn prepare(&mut self, scene: Scene<'_>, ballot: Ballot, change: Change, out: &mut Outbox) {
        self.collect_until = None;
        self.wait_until = None;
        self.busy_since.get_or_insert(scene.now);
        self.stage = Stage::Preparing { ballot, change: Arc::new(change), accepted: BTreeSet::new() };
        self.send(scene, &Acting::No, out);
    }

    fn resend(&mut self, scene: Scene<'_>, acting: &Acting, out: &mut Outbox) {
        if self.retry_at.is_none_or(|at| at <= scene.now) {
            self.send(scene, acting, out);
        }
    }

    /// Asks everyone who has not answered in the ballot under way.
    fn send(&mut self, scene: Scene<'_>, acting: &Acting, out: &mut Outbox) {
        self.retry_at = Some(scene.now + scene.timing().retry_interval());
        let (base, base_digest) = (scene.view.id(), scene.view.digest());
        let ids = scene.view.members().iter().map(|m| m.member.id);
        match &self.stage {
            Stage::Idle | Stage::Promised { .. } => {}
            Stage::Promising { ballot, promised } => {
                let verdicts = match acting {
                    Acting::Successor(verdicts) => verdicts.clone(),
                    Acting::Coordinator | Acting::No => Vec::new(),
                };
                for to in ids.filter(|id| !promised.contains_key(id)) {
                    let verdicts = verdicts.clone();
                    out.frame(to, FrameBody::Promise { ballot: *ballot, base, base_digest, verdicts });
                }
            }
            Stage::Preparing { ballot, change, accepted } => {
                for to in ids.filter(|id| !accepted.contains(id)) {
                    out.frame(to, FrameBody::Prepare { ballot: *ballot, change: Change::clone(change) });
                }
            }
        }
    }

    fn stand_down(&mut self) {
        self.stage = Stage::Idle;
        self.retry_at = None;
        self.collect_until = None;
        self.wait_until = None;
        self.busy_since = None;
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
