//! What others accuse members of, as it was told here.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::evidence::{self, Reason};
use crate::member::MemberId;
use crate::message::{AccusationId, SuspectRequest};
use crate::time::Timestamp;
use crate::view::View;

/// Most accusers remembered for one accused: so many that their word can't be pushed out by a few, so few that a view
/// in which everybody accuses everybody stays small.
const ACCUSERS_MAX: usize = 16;

/// One accusation as a member heard or made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Accusation {
    pub(super) by: MemberId,
    pub(super) reason: Reason,
    pub(super) silent_for: Duration,
    /// Whether the accuser saw for itself that the process is gone: another incarnation at its address, or a refusal.
    pub(super) saw_it_gone: bool,
    pub(super) at: Timestamp,
}

impl Accusation {
    /// As it goes into the record of a final check that is closed at `now`.
    pub(super) fn record(&self, now: Timestamp) -> evidence::Accusation {
        let Self { by, reason, silent_for, saw_it_gone: _, at } = *self;
        evidence::Accusation { by, reason, silent_for, age: now.since(at) }
    }
}

#[derive(Debug)]
struct Noted {
    accusation: Accusation,
    id: AccusationId,
    /// When it was told first.
    since: Timestamp,
    /// Whether it stands: it was not followed by contact or a clearing.
    live: bool,
    /// Whether the accuser was in a state to judge.
    credible: bool,
}

/// Accusations by others.
#[derive(Debug, Default)]
pub(super) struct Accusations {
    accused: BTreeMap<MemberId, Vec<Noted>>,
}

impl Accusations {
    /// Notes one. Returns whether it is told for the first time, not repeated.
    pub(super) fn note(
        &mut self,
        now: Timestamp,
        (by, id): (MemberId, AccusationId),
        request: &SuspectRequest,
        credible: bool,
    ) -> bool {
        let accusation = Accusation {
            by,
            reason: request.reason,
            silent_for: request.silent_for,
            saw_it_gone: request.replaced_by.is_some() || request.reason == Reason::Refused,
            at: now,
        };
        let mut noted = Noted { accusation, id, since: now, live: true, credible };
        let all = self.accused.entry(request.member).or_default();
        if let Some(known) = all.iter_mut().find(|n| n.accusation.by == by) {
            let is_new = known.id != id;
            if known.live && !is_new {
                noted.since = known.since;
            }
            *known = noted;
            return is_new;
        }
        if all.len() == ACCUSERS_MAX {
            match all.iter().position(|n| !n.live) {
                Some(ended) => all.remove(ended),
                None => return false,
            };
        }
        all.push(noted);
        true
    }

    /// Accusations of `id` that stand, in the order in which the accusers first spoke.
    pub(super) fn standing<'a>(&'a self, id: &MemberId) -> impl Iterator<Item = &'a Accusation> + use<'a> {
        self.accused.get(id).into_iter().flatten().filter(|n| n.live).map(|n| &n.accusation)
    }

    /// Whether somebody accuses `id`.
    pub(super) fn is_accused(&self, id: &MemberId) -> bool {
        self.standing(id).next().is_some()
    }

    /// Whether somebody who can judge accuses `id`.
    pub(super) fn is_credibly_accused(&self, id: &MemberId) -> bool {
        self.accused.get(id).is_some_and(|all| all.iter().any(|n| n.live && n.credible))
    }

    /// Whether somebody who can judge began to accuse `id` less than `span` ago, and still does.
    pub(super) fn is_lately_accused(&self, id: &MemberId, now: Timestamp, span: Duration) -> bool {
        let is_recent = |n: &Noted| n.live && n.credible && now.since(n.since) < span;
        self.accused.get(id).is_some_and(|all| all.iter().any(is_recent))
    }

    /// Everybody whom somebody accuses.
    pub(super) fn accused(&self) -> impl Iterator<Item = &MemberId> {
        self.accused.iter().filter(|(_, all)| all.iter().any(|n| n.live)).map(|(id, _)| id)
    }

    /// Since when the oldest accusation stands that is not answered.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.accused.values().flatten().filter(|n| n.live && n.credible).map(|n| n.since).min()
    }

    /// Ends the accusations of `id`. They are remembered, so that a repetition is no news.
    pub(super) fn clear(&mut self, id: &MemberId) {
        for noted in self.accused.get_mut(id).into_iter().flatten() {
            noted.live = false;
        }
    }

    /// Forgets accused and accusers that are out.
    pub(super) fn handle_view_installed(&mut self, view: &View) {
        self.accused.retain(|id, all| {
            all.retain(|n| view.contains(&n.accusation.by));
            view.contains(id) && !all.is_empty()
        });
    }
}
