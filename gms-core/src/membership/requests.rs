//! What members ask of the coordinator: to leave, to remove somebody, to finish a half-decided view. On the asking side
//! each is repeated until a view answers it; on the coordinator's side it is queued for one.

use crate::member::{MemberId, NAME_BYTES_MAX};
use crate::message::{FrameBody, UnfinishedReason};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::Expelled;

/// Most removals that one member has under way, and that a coordinator queues.
const REMOVALS_MAX: usize = 256;
/// Longest reason of a removal, in bytes; the rest is cut off. All removals of one change have to fit its frame.
const REASON_BYTES_MAX: usize = 512;

/// What this member asks for.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    leave_since: Option<Timestamp>,
    removals: Vec<(Expelled, Timestamp)>,
    unfinished: Option<(UnfinishedReason, Timestamp)>,
    retry_at: Option<Timestamp>,
}

impl Requests {
    /// Begins to ask for the view without this member.
    //= docs/protocol.md#vw-14
    pub(crate) fn leave(&mut self, now: Timestamp) {
        self.leave_since.get_or_insert(now);
        self.retry_at = Some(now);
    }

    /// Begins to ask for the view without `expelled.member`.
    //= docs/protocol.md#vw-15
    pub(crate) fn remove(&mut self, now: Timestamp, expelled: Expelled) {
        let known = self.removals.iter().any(|(e, _)| e.member == expelled.member);
        if !known && self.removals.len() < REMOVALS_MAX {
            self.removals.push((within_bounds(expelled), now));
        }
        self.retry_at = Some(now);
    }

    /// Says that the installed view is half-decided, or that it is not any more.
    //= docs/protocol.md#vw-23
    pub(crate) fn set_unfinished(&mut self, now: Timestamp, why: Option<UnfinishedReason>) {
        match (why.filter(|_| !planted::is(Planted::UnfinishedUnsaid)), &mut self.unfinished) {
            (Some(why), None) => {
                self.unfinished = Some((why, now));
                self.retry_at = Some(now);
            }
            (Some(why), Some((known, _))) => *known = why,
            (None, _) => self.unfinished = None,
        }
    }

    /// Repeats everything to the first in office that is not suspect.
    pub(crate) fn handle_timeout(&mut self, scene: Scene<'_>, coordinator: MemberId, out: &mut Outbox) {
        if self.retry_at.is_none_or(|at| at > scene.now) {
            return;
        }
        self.retry_at = (!self.is_empty()).then(|| scene.now + scene.timing().retry_interval());
        if self.leave_since.is_some() {
            out.frame(coordinator, FrameBody::Leave { member: scene.me.id });
        }
        for (expelled, _) in &self.removals {
            let Expelled { member, reason, by } = expelled.clone();
            out.frame(coordinator, FrameBody::Remove { member, reason, by });
        }
        if let Some((why, _)) = self.unfinished {
            out.frame(coordinator, FrameBody::Unfinished { base: scene.view.id(), why });
        }
    }

    /// When to repeat.
    pub(crate) const fn poll_timeout(&self) -> Option<Timestamp> {
        self.retry_at
    }

    /// Since when this member asks to leave.
    pub(crate) const fn leaving_since(&self) -> Option<Timestamp> {
        self.leave_since
    }

    /// Since when the oldest request is unanswered.
    pub(crate) fn unanswered_since(&self) -> Option<Timestamp> {
        let removals = self.removals.iter().map(|(_, since)| *since);
        let unfinished = self.unfinished.map(|(_, since)| since);
        removals.chain(self.leave_since).chain(unfinished).min()
    }

    /// A view answers what it can: removals of members that are out, and what was unfinished before it.
    pub(crate) fn handle_view_installed(&mut self, scene: Scene<'_>) {
        self.removals.retain(|(e, _)| scene.view.contains(&e.member));
        self.unfinished = None;
        self.retry_at = (!self.is_empty()).then_some(scene.now);
    }

    const fn is_empty(&self) -> bool {
        self.leave_since.is_none() && self.removals.is_empty() && self.unfinished.is_none()
    }
}

/// What this member has been asked for as coordinator.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    leavers: Vec<MemberId>,
    removals: Vec<Expelled>,
    finish: bool,
}

impl Queue {
    /// A member asked to leave.
    pub(crate) fn leave(&mut self, member: MemberId) {
        if !self.leavers.contains(&member) {
            self.leavers.push(member);
        }
    }

    /// An operator asked for a removal.
    pub(crate) fn remove(&mut self, expelled: Expelled) {
        let known = self.removals.iter().any(|e| e.member == expelled.member);
        if !known && self.removals.len() < REMOVALS_MAX {
            self.removals.push(within_bounds(expelled));
        }
    }

    /// A member says that the view is half-decided: a change is due, if only an empty one.
    pub(crate) const fn finish(&mut self) {
        self.finish = true;
    }

    /// Who wants to leave.
    pub(crate) fn leavers(&self) -> &[MemberId] {
        &self.leavers
    }

    /// Who is to be expelled.
    pub(crate) fn removals(&self) -> &[Expelled] {
        &self.removals
    }

    /// Whether a change is due in any case.
    pub(crate) const fn is_finish_due(&self) -> bool {
        self.finish
    }

    /// Whether nothing waits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.leavers.is_empty() && self.removals.is_empty() && !self.finish
    }

    /// Forgets what the view has answered.
    pub(crate) fn handle_view_installed(&mut self, scene: Scene<'_>) {
        self.leavers.retain(|id| scene.view.contains(id));
        self.removals.retain(|e| scene.view.contains(&e.member));
        self.finish = false;
    }
}

/// A removal whose texts are no longer than a change can carry.
fn within_bounds(mut expelled: Expelled) -> Expelled {
    for (text, max) in [(&mut expelled.reason, REASON_BYTES_MAX), (&mut expelled.by, NAME_BYTES_MAX)] {
        text.truncate(text.floor_char_boundary(max));
        text.shrink_to_fit();
    }
    expelled
}

#[cfg(test)]
mod tests;
