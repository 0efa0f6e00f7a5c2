//! The proposer's side of fencing: before it proposes a removal for silence it holds the votes of a majority without
//! the suspect, and enough of them to cover the views that the suspect may still be in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::health::contacts::Contacts;
use crate::hubs;
use crate::member::MemberId;
use crate::message::{CheckId, FenceTarget, FrameBody};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::quorum;
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::ViewId;

use super::history::History;

/// A member whose final check ended as silent, and when that check began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Silent {
    pub(crate) member: MemberId,
    pub(crate) check: CheckId,
    pub(crate) began: Timestamp,
}

#[derive(Clone, Debug)]
struct Asked {
    check: CheckId,
    began: Timestamp,
    asked_at: Timestamp,
    granted: Vec<MemberId>,
    /// Who said that it can't grant while answers are waited for.
    later: Vec<MemberId>,
}

/// Whether a removal for silence may be proposed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FenceState {
    /// It may.
    Ready,
    /// Enough members granted; an older view has to settle until then.
    Settling(Timestamp),
    /// Too few members granted so far; enough have not answered yet, and are given until then.
    Pending(Timestamp),
    /// Too few members granted, and not enough can soon.
    Open,
}

impl FenceState {
    /// Which of the two holds a removal up for longer.
    const fn or_worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Open, _) | (_, Self::Ready) => self,
            (Self::Pending(_), Self::Settling(_)) => self,
            (Self::Settling(a), Self::Settling(b)) => {
                Self::Settling(if a.as_nanos() < b.as_nanos() { b } else { a })
            }
            _ => other,
        }
    }
}

impl Asked {
    /// Until when answers to one round of questions are waited for.
    fn answers_until(&self, scene: Scene<'_>) -> Timestamp {
        self.asked_at + scene.timing().heartbeat_interval / 4
    }
}

/// The fences that this member asks for, in its installed view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fencing {
    asked: BTreeMap<MemberId, Asked>,
    retry_at: Option<Timestamp>,
    /// Somebody may have granted a fence for a member that is not to be removed any more.
    lift_due: bool,
}

impl Fencing {
    /// Asks for what is new, forgets what is no longer wanted.
    pub(crate) fn sync(&mut self, scene: Scene<'_>, silent: &[Silent], out: &mut Outbox) {
        let wanted = |id: &MemberId| silent.iter().any(|s| s.member == *id);
        let before = self.asked.len();
        self.asked.retain(|id, _| wanted(id));
        self.lift_due |= self.asked.len() < before;
        let mut new = false;
        for s in silent {
            let known = self.asked.get(&s.member).is_some_and(|a| a.check == s.check);
            if !known {
                new = true;
                let (granted, later) = (Vec::new(), Vec::new());
                let asked = Asked { check: s.check, began: s.began, asked_at: scene.now, granted, later };
                self.asked.insert(s.member, asked);
            }
        }
        if new {
            self.ask(scene, out);
        }
        if self.asked.is_empty() {
            self.retry_at = None;
        }
    }

    /// Takes a vote.
    pub(crate) fn handle_fenced(&mut self, from: MemberId, member: &MemberId, check: CheckId) {
        if let Some(asked) = self.asked.get_mut(member).filter(|a| a.check == check)
            && !asked.granted.contains(&from)
        {
            asked.granted.push(from);
        }
    }

    /// A member can't grant yet, and will by itself when `left` is over: that may be soon enough to wait for.
    //= docs/protocol.md#vw-1
    pub(crate) fn handle_not_yet(
        &mut self,
        scene: Scene<'_>,
        from: MemberId,
        (member, check): (&MemberId, CheckId),
        left: Duration,
    ) {
        if let Some(asked) = self.asked.get_mut(member).filter(|a| a.check == check)
            && !asked.later.contains(&from)
            && scene.now + left > asked.answers_until(scene)
        {
            asked.later.push(from);
        }
    }

    /// Asks those again who have not granted.
    pub(crate) fn handle_timeout(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if self.retry_at.is_some_and(|at| at <= scene.now) {
            self.ask(scene, out);
        }
    }

    /// When to ask again.
    pub(crate) const fn poll_timeout(&self) -> Option<Timestamp> {
        self.retry_at
    }

    /// Whether `member` may be proposed for removal.
    //= docs/protocol.md#vw-6
    pub(crate) fn state(&self, scene: Scene<'_>, history: &History, member: &MemberId) -> FenceState {
        let Some(asked) = self.asked.get(member) else { return FenceState::Open };
        let votes = if hubs::borrows(scene.view, member) {
            self.votes_of_hubs(scene, history, asked)
        } else {
            self.votes_of_all(scene, member, asked)
        };
        if votes != FenceState::Ready {
            return votes;
        }
        let settle = scene.timing().removal_silence();
        let shown = scene.contacts.get(member).map_or(ViewId::NONE, |r| r.newest_view());
        match history.settled(scene.now, settle, scene.view, (member, shown), &asked.granted) {
            Ok(()) => FenceState::Ready,
            Err(until) => FenceState::Settling(until),
        }
    }

    fn votes_of_all(&self, scene: Scene<'_>, member: &MemberId, asked: &Asked) -> FenceState {
        let granted: BTreeSet<&MemberId> = asked.granted.iter().collect();
        let granted = |m: &MemberId| {
            if m == member { planted::is(Planted::SuspectVotes) } else { granted.contains(m) }
        };
        let is_enough =
            |weight| quorum::is_majority(weight, scene.view.weight()) || planted::is(Planted::NoFences);
        if is_enough(quorum::weight_of(scene.view, granted)) {
            return FenceState::Ready;
        }
        // Answers to one round of questions come one by one: a removal that could go first waits for the others.
        let until = asked.answers_until(scene);
        let may = |m: &MemberId| {
            granted(m) || m != member && !asked.later.contains(m) && self.is_to_be_asked(scene, m)
        };
        let soon = until > scene.now && is_enough(quorum::weight_of(scene.view, may));
        if soon { FenceState::Pending(until) } else { FenceState::Open }
    }

    /// Every hub must have granted, but those who go in the same change, by fences of their own, and those of which this
    /// member has heard nothing for 2 R although not enough members fence them: from these it is cut off. A proposer that
    /// no hub agrees with is the one that is cut off, and needs the fences of all.
    //= docs/protocol.md#lv-3
    fn votes_of_hubs(&self, scene: Scene<'_>, history: &History, asked: &Asked) -> FenceState {
        let patience = scene.timing().removal_silence() * 2;
        let until = asked.answers_until(scene);
        let mut worst = FenceState::Ready;
        let has_a_vote = asked.granted.iter().any(|id| hubs::is_hub(scene.view, id));
        if planted::is(Planted::OneHubIsEnough) && !asked.granted.is_empty() {
            return worst;
        }
        for hub in hubs::first_in_office(scene.view).map(|m| m.id).filter(|id| !asked.granted.contains(id)) {
            let is_silent = || scene.contacts.get(&hub).is_some_and(|r| r.silence(scene.now) >= patience);
            let is_passed_over = || has_a_vote && !scene.is_me(&hub) && is_silent();
            let state = match self.asked.contains_key(&hub) {
                true => self.state(scene, history, &hub),
                false if until > scene.now && !asked.later.contains(&hub) => FenceState::Pending(until),
                false => FenceState::Open,
            };
            if state != FenceState::Ready && !is_passed_over() {
                worst = worst.or_worse(state);
            }
        }
        worst
    }

    /// Whether it makes sense to ask for the fence of `suspect`: it was asked for, or those who may answer could grant
    /// enough. These are this member, whoever was heard within R, and who is not known to be silent. A fence that comes to
    /// nothing takes a view to lift.
    //= docs/protocol.md#vw-6
    pub(crate) fn can_suffice(&self, scene: Scene<'_>, suspect: &MemberId) -> bool {
        let span = scene.timing().removal_silence();
        let may_answer = |id: &MemberId| {
            let is_silent = || scene.contacts.get(id).is_none_or(|record| record.silence(scene.now) >= span);
            id != suspect && (scene.is_me(id) || !is_silent() || is_heard(scene, id))
        };
        self.asked.contains_key(suspect)
            || hubs::borrows(scene.view, suspect)
            || planted::is(Planted::NoFences)
            || planted::is(Planted::SuspectVotes)
            || quorum::is_majority(quorum::weight_of(scene.view, may_answer), scene.view.weight())
    }

    /// Whether `id` is asked for fences of others. Of those that are to be removed themselves the dead are spared; one that
    /// is sick or cut off in one direction speaks, and votes to the end.
    //= docs/protocol.md#vw-6
    fn is_to_be_asked(&self, scene: Scene<'_>, id: &MemberId) -> bool {
        !self.asked.contains_key(id) || is_heard(scene, id)
    }

    /// Who granted the fence of `member`.
    pub(crate) fn granted_by(&self, member: &MemberId) -> &[MemberId] {
        self.asked.get(member).map_or(&[], |a| &a.granted)
    }

    /// Whether a view is due only to lift fences.
    //= docs/protocol.md#vw-21
    pub(crate) const fn is_lift_due(&self) -> bool {
        self.lift_due
    }

    /// Whether nothing is asked and nothing is due.
    pub(crate) fn is_idle(&self) -> bool {
        self.asked.is_empty() && !self.lift_due
    }

    /// Begins anew in another view: grants belong to their base.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    fn ask(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        self.retry_at = None;
        let by_hubs = |id: &MemberId| hubs::borrows(scene.view, id);
        let by_hubs: Vec<MemberId> = self.asked.keys().filter(|id| by_hubs(id)).copied().collect();
        let is_all_by_hubs = by_hubs.len() == self.asked.len();
        let everybody = scene.view.members().iter().map(|m| m.member.id);
        for to in everybody.filter(|to| !is_all_by_hubs || hubs::is_hub(scene.view, to)) {
            let concerns = |id: &MemberId| !by_hubs.contains(id) || hubs::is_hub(scene.view, &to);
            let members: Vec<FenceTarget> = self
                .asked
                .iter()
                .filter(|(id, asked)| **id != to && !asked.granted.contains(&to) && concerns(id))
                .map(|(id, asked)| FenceTarget {
                    member: *id,
                    check: asked.check,
                    age: scene.now.since(asked.began),
                })
                .collect();
            if members.is_empty() || !self.is_to_be_asked(scene, &to) {
                continue;
            }
            self.retry_at = Some(scene.now + scene.timing().retry_interval());
            let (base, base_digest) = (scene.view.id(), scene.view.digest());
            out.frame(to, FrameBody::Fence { base, base_digest, members });
        }
    }
}

/// Whether anything was read from `id` within R, whatever its flags.
fn is_heard(scene: Scene<'_>, id: &MemberId) -> bool {
    let span = scene.timing().removal_silence();
    scene.contacts.get(id).is_some_and(|record| record.is_heard(scene.now, span))
}

/// Last contact with `id`, for ordering and limits.
pub(crate) fn last_contact(contacts: &Contacts, id: &MemberId) -> Timestamp {
    contacts.get(id).map_or(Timestamp::ZERO, |r| r.last_contact())
}

#[cfg(test)]
mod tests;
