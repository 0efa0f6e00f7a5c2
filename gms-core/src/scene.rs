//! What every sub-machine of a member may look at while it decides: the time, itself, the view, its contacts.

use crate::config::Timing;
use crate::health::contacts::Contacts;
use crate::member::{Member, MemberId};
use crate::time::Timestamp;
use crate::view::View;

/// The facts at one moment, borrowed from the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) now: Timestamp,
    pub(crate) me: &'a Member,
    pub(crate) view: &'a View,
    pub(crate) contacts: &'a Contacts,
    /// Whether this member has no two-way contact to a majority.
    pub(crate) isolated: bool,
    /// Whether it hears a majority all the same, as of the last heartbeat: messages flagged `isolated` are heard too.
    pub(crate) hears_majority: bool,
    /// Whether this member's application is sick.
    pub(crate) sick: bool,
    /// Whether this member asked to leave.
    pub(crate) leaving: bool,
    /// Whether the first in office has left something unanswered for 2 T, as far as this member knows.
    pub(crate) coordinator_is_idle: bool,
}

impl<'a> Scene<'a> {
    /// The cluster's timing.
    pub(crate) fn timing(&self) -> &'a Timing {
        self.view.timing()
    }

    /// Whether `id` is this member.
    pub(crate) fn is_me(&self, id: &MemberId) -> bool {
        self.me.id == *id
    }

    /// All other members, in view order.
    pub(crate) fn others(&self) -> impl Iterator<Item = &'a Member> + use<'a> {
        let me = self.me.id;
        self.view.members().iter().map(|m| &*m.member).filter(move |m| m.id != me)
    }
}
