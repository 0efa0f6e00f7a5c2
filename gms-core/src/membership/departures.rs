//! Letting leavers go: those who leave get the installation that lets them go when more than half of the new view holds
//! it, so that no decision is lost with them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::member::{Member, MemberId};
use crate::message::{Decided, FrameBody, Installation};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::quorum;
use crate::view::View;

/// The leavers of the view that this member decided last.
#[derive(Clone, Debug)]
pub(crate) struct Departures {
    view: Arc<View>,
    decided: Decided,
    leavers: Vec<Member>,
    holders: BTreeSet<MemberId>,
}

impl Departures {
    /// Waits for more than half of `view`, which `decided` makes, to hold it; `leavers` are told then.
    pub(crate) const fn new(view: Arc<View>, decided: Decided, leavers: Vec<Member>) -> Self {
        Self { view, decided, leavers, holders: BTreeSet::new() }
    }

    /// A member holds the view. Returns whether everyone was let go.
    //= docs/protocol.md#vw-3
    pub(crate) fn handle_installed(&mut self, from: MemberId, out: &mut Outbox) -> bool {
        self.holders.insert(from);
        let weight = quorum::weight_of(&self.view, |m| self.holders.contains(m));
        let held = quorum::is_majority(weight, self.view.weight()) || planted::is(Planted::LeaversLetGoEarly);
        if held {
            self.let_go(out);
        }
        held
    }

    /// Tells the leavers.
    pub(crate) fn let_go(&mut self, out: &mut Outbox) {
        for leaver in std::mem::take(&mut self.leavers) {
            let body = FrameBody::Install(Installation::Changes(vec![self.decided.clone()]));
            out.frame_to(leaver.endpoint.check_addr, leaver.id.short(), body);
        }
    }

    /// The view that lets them go.
    pub(crate) const fn view(&self) -> &Arc<View> {
        &self.view
    }
}

#[cfg(test)]
mod tests;
