//! Who was cleared, and how patient this member is with those that are cleared again and again although it does not
//! hear them itself.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Timing;
use crate::health::contacts::{Contact, Record};
use crate::member::MemberId;
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::View;

/// Doublings after which patience grows no further: 8 T.
const DOUBLINGS_MAX: u32 = 3;

#[derive(Debug)]
struct Clearing {
    at: Timestamp,
    /// How often this member's suspicion was cleared by what others saw, since its own contact last lasted.
    times: u32,
    /// Begin and end of the own contact that runs.
    contact: Option<(Timestamp, Timestamp)>,
    /// Whether it was told that the link is bad.
    is_degraded: bool,
}

/// One entry for each member that was cleared and was not heard for long enough since.
#[derive(Debug, Default)]
pub(super) struct Clearings {
    entries: BTreeMap<MemberId, Clearing>,
}

impl Clearings {
    /// The moment from which watching counts silence: last contact, or when it was last cleared.
    //= docs/protocol.md#fd-12
    pub(super) fn watched_since(&self, record: &Record) -> Timestamp {
        let cleared = self.entries.get(&record.id()).map_or(Timestamp::ZERO, |c| c.at);
        record.last_contact().max(cleared)
    }

    /// The silence after which the member is checked: T, doubled with each suspicion that others cleared, up to 8 T.
    //= docs/protocol.md#fd-12
    pub(super) fn patience(&self, id: &MemberId, timing: &Timing) -> Duration {
        let times = self.entries.get(id).map_or(0, |c| c.times);
        if planted::is(Planted::ClearedIsForgotten) && self.entries.contains_key(id) {
            return Duration::MAX;
        }
        timing.member_timeout * (1 << times.saturating_sub(1).min(DOUBLINGS_MAX))
    }

    /// When the member will have been silent for so long that a final check is due without an accuser.
    pub(super) fn final_check_due(&self, record: &Record, timing: &Timing) -> Timestamp {
        self.watched_since(record) + self.patience(&record.id(), timing) + timing.check_timeout
    }

    /// Whether others cleared it and this member has not heard it for long since.
    pub(super) fn is_doubtful(&self, id: &MemberId) -> bool {
        self.entries.get(id).is_some_and(|c| c.times > 0)
    }

    /// Marks a member as cleared. This is no contact.
    //= docs/protocol.md#fd-2
    pub(super) fn clear(&mut self, id: MemberId, now: Timestamp) {
        let entry = self.entries.entry(id).or_insert(Clearing {
            at: now,
            times: 0,
            contact: None,
            is_degraded: false,
        });
        entry.at = now;
    }

    /// Marks a member as cleared although this member, which suspected it, still does not hear it.
    pub(super) fn clear_unheard(&mut self, id: MemberId, now: Timestamp) {
        self.clear(id, now);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.times = entry.times.saturating_add(1);
            entry.contact = None;
        }
    }

    /// Marks the link to a member that was cleared as bad. Returns whether it was not so marked before.
    pub(super) fn degrade(&mut self, id: &MemberId) -> bool {
        self.entries.get_mut(id).is_some_and(|entry| !std::mem::replace(&mut entry.is_degraded, true))
    }

    /// Whether the link to a member that was cleared is marked as bad.
    pub(super) fn is_degraded(&self, id: &MemberId) -> bool {
        self.entries.get(id).is_some_and(|entry| entry.is_degraded)
    }

    /// Takes a contact into account: when it has lasted for T, patience is back to T. Returns `None` while nothing
    /// changes, else whether a bad link works again.
    pub(super) fn handle_contact(&mut self, contact: &Contact, timing: &Timing) -> Option<bool> {
        let entry = self.entries.get_mut(&contact.from)?;
        let begin = match entry.contact {
            Some((begin, end)) if contact.at.since(end) <= timing.short_silence() => begin,
            _ => contact.at,
        };
        entry.contact = Some((begin, contact.at));
        if entry.times > 0 && contact.at.since(begin) < timing.member_timeout {
            return None;
        }
        self.entries.remove(&contact.from).map(|entry| entry.is_degraded)
    }

    /// Moves the clocks by a pause of this process, at most to `now`.
    pub(super) fn handle_pause(&mut self, now: Timestamp, pause: Duration) {
        for entry in self.entries.values_mut() {
            entry.at = now.min(entry.at + pause);
        }
    }

    /// Forgets members that are out.
    pub(super) fn handle_view_installed(&mut self, view: &View) {
        self.entries.retain(|id, _| view.contains(id));
    }
}
