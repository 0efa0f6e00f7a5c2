//! Two-way contact to a majority: until when it is certain, and whether it has lapsed.
//!
//! A member is connected as long as more than half of its view's weight has echoed what it sent within T. Those who
//! vote for its removal for silence have not echoed it for R > T, so both can't be majorities at once: the member
//! knows before the others decide.

use std::time::Duration;

use crate::health::contacts::{Contacts, Record, Shown};
use crate::hubs;
use crate::member::MemberId;
use crate::planted::{self, Planted};
use crate::quorum;
use crate::time::Timestamp;
use crate::view::{DigestTag, View};

/// A change that this member has accepted, as far as isolation is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending<'a> {
    /// How heads show that change.
    pub(crate) tag: DigestTag,
    /// The view that it makes.
    pub(crate) makes: &'a View,
    /// Whether it removes this member other than by its own wish.
    pub(crate) removes_me: bool,
}

/// Until when this member's two-way contact to a majority is certain; `carried` is what [`carried_over`] said of views
/// before.
//= docs/protocol.md#vw-17
pub(crate) fn connected_until(
    view: &View,
    me: &MemberId,
    contacts: &Contacts,
    pending: Option<Pending<'_>>,
    carried: Timestamp,
) -> Timestamp {
    let accepted = pending.map(|p| p.tag);
    let until = lasts_until(view, me, contacts, accepted).max(carried);
    match pending {
        None => until,
        Some(_) if planted::is(Planted::NextViewNotCounted) => until,
        Some(pending) if pending.removes_me && planted::is(Planted::VictimStaysConnected) => until,
        Some(pending) if pending.removes_me => Timestamp::ZERO,
        // A leaver has nothing to count in a view without it.
        Some(pending) if !pending.makes.contains(me) => until,
        Some(pending) => {
            let next = lasts_until(pending.makes, me, contacts, None).max(carried);
            until.min(next.max(carried_over(view, pending.makes, me, contacts)))
        }
    }
}

/// What remains of the contact in `old` where this member counts by others in `new`: until when it lasts by heads that
/// show nothing accepted. [`Timestamp::ZERO`] where it counts alike in both.
///
/// Those whom it counts in `new` have not echoed it yet, and it would be isolated for a moment without anybody being lost.
/// None of this outlasts the decision of `new` by T (docs/decisions/0012-views-beyond-128.md).
//= docs/protocol.md#lv-2
pub(crate) fn carried_over(old: &View, new: &View, me: &MemberId, contacts: &Contacts) -> Timestamp {
    if hubs::counts_alike(old, new, me) {
        return Timestamp::ZERO;
    }
    let until = lasts_until(old, me, contacts, None);
    if until == Timestamp::FAR_FUTURE { Timestamp::ZERO } else { until }
}

/// The moment at which less than a majority of `view`'s weight will still have echoed what was sent within T; or, where
/// this member counts by the hubs, at which the last of those will have lost its majority or what it echoed be T old.
///
/// An echo counts if its head shows that the sender has not gone beyond `view`: an older view, or `view` itself with
/// nothing accepted, or with the change accepted here too (docs/decisions/0004-isolation-tally.md).
fn lasts_until(view: &View, me: &MemberId, contacts: &Contacts, accepted: Option<DigestTag>) -> Timestamp {
    let valid = view.timing().member_timeout;
    let counts = |shown: Shown| {
        let is_newer = shown.view > view.id();
        let is_other = shown.view == view.id();
        shown.view < view.id()
            || planted::is(Planted::NewerEchoesCount) && is_newer
            || planted::is(Planted::OtherAcceptedCounts) && is_other
            || (shown.view == view.id() && (shown.accepted.is_none() || shown.accepted == accepted))
    };
    if hubs::borrows(view, me) {
        let lent =
            hubs::first_in_office(view).filter_map(|hub| contacts.get(&hub.id)?.lent_until(valid, counts));
        return lent.max().unwrap_or(Timestamp::ZERO);
    }
    let total = view.weight();
    let own = view.weight_of(me);
    if quorum::is_majority(own, total) {
        return Timestamp::FAR_FUTURE;
    }
    let others = view.members().iter().enumerate().filter(|(_, m)| m.member.id != *me);
    let ends = others.filter_map(|(place, m)| {
        let sent = contacts.get_near(place, &m.member.id)?.echoed(counts)?;
        Some((sent + valid, quorum::counted(place, m.member.weight)))
    });
    quorum::lasts_until(own, total, ends)
}

/// Follows the state and says when it changes.
#[derive(Debug)]
pub(crate) struct Isolation {
    until: Timestamp,
    /// Until when having no contact yet is no loss: a newcomer's first round trips.
    patient_until: Timestamp,
    ever_connected: bool,
    /// Since when it is reported as lapsed.
    reported: Option<Timestamp>,
}

/// A change of state to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IsolationChange {
    /// Contact has lapsed.
    Isolated,
    /// Contact is back.
    Connected,
}

impl Isolation {
    /// The state of a member whose first view was installed just before; `patient_until` is T later.
    pub(crate) const fn new(patient_until: Timestamp) -> Self {
        Self { until: Timestamp::ZERO, patient_until, ever_connected: false, reported: None }
    }

    /// Takes a newly computed deadline. A newcomer's lack of contact is reported only when it lasts.
    pub(crate) fn update(&mut self, now: Timestamp, until: Timestamp) -> Option<IsolationChange> {
        self.until = until;
        if self.is_connected(now) {
            self.ever_connected = true;
            return self.reported.take().map(|_| IsolationChange::Connected);
        }
        if (self.ever_connected || now >= self.patient_until) && self.reported.is_none() {
            self.reported = Some(now);
            return Some(IsolationChange::Isolated);
        }
        None
    }

    /// Until when contact is certain, as last computed: never later than the truth.
    pub(crate) const fn until(&self) -> Timestamp {
        self.until
    }

    /// Since when contact is reported as lapsed.
    pub(crate) const fn lapsed_since(&self) -> Option<Timestamp> {
        self.reported
    }

    /// Whether contact is certain at `now`.
    pub(crate) fn is_connected(&self, now: Timestamp) -> bool {
        self.until > now
    }

    /// When to compute anew.
    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        let lapses = self.ever_connected && self.reported.is_none() && self.until != Timestamp::FAR_FUTURE;
        lapses.then_some(self.until)
    }
}

/// Names of the members heard within `span`, and of those that showed within it that they heard this one.
pub(crate) fn heard(
    view: &View,
    me: &MemberId,
    contacts: &Contacts,
    now: Timestamp,
    span: Duration,
) -> (Vec<String>, Vec<String>) {
    let names = |holds: &dyn Fn(&Record) -> bool| {
        let others = view.members().iter().map(|m| &m.member).filter(|m| m.id != *me);
        others.filter(|m| contacts.get(&m.id).is_some_and(holds)).map(|m| m.name.clone()).collect()
    };
    let from = names(&|r| r.contact_unmoved().is_some_and(|at| now.since(at) <= span));
    let by = names(&|r| r.echoed(|_| true).is_some_and(|sent| now.since(sent) <= span));
    (from, by)
}

#[cfg(test)]
mod tests;
