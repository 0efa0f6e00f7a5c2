//! Large views: which members are hubs, who sends heartbeats to whom, and by whom a member counts itself connected.
//!
//! Pure functions of a view. In views where everybody sends to everybody there are no hubs.

use std::collections::BTreeSet;

use crate::config::{AUTO_PREDECESSORS, AUTO_RECIPIENTS_VIEW_MAX, HeartbeatRecipients};
use crate::member::{Member, MemberId};
use crate::quorum;
use crate::ring;
use crate::view::View;

/// The first so many in office are hubs. Any one keeps the others connected, so three may be lost at a time.
pub const HUBS: usize = 4;

/// How many members before it in the ring get a member's heartbeats, in views with hubs; `None` in those without.
//= docs/protocol.md#lv-1
pub fn predecessors(view: &View) -> Option<usize> {
    match view.timing().heartbeat_recipients {
        HeartbeatRecipients::All => None,
        HeartbeatRecipients::Auto => {
            (view.len() > AUTO_RECIPIENTS_VIEW_MAX).then_some(usize::from(AUTO_PREDECESSORS))
        }
        HeartbeatRecipients::Predecessors(n) => Some(usize::from(n)),
    }
}

/// Whether whole views are too large to be sent unasked: from hubs to all, or by the coordinator to each joiner.
//= docs/protocol.md#lv-5
pub fn spreads_views(view: &View) -> bool {
    predecessors(view).is_some() || view.len() > AUTO_RECIPIENTS_VIEW_MAX
}

/// The first [`HUBS`] in office, whether or not the view's size makes hubs of them.
pub fn first_in_office(view: &View) -> impl Iterator<Item = &Member> {
    view.office().take(HUBS)
}

/// Whether `id` is a hub of `view`.
pub fn is_hub(view: &View, id: &MemberId) -> bool {
    predecessors(view).is_some() && first_in_office(view).any(|m| m.id == *id)
}

/// Whether `id` counts itself connected by the hubs, and not by a majority's echoes.
//= docs/protocol.md#lv-2
pub fn borrows(view: &View, id: &MemberId) -> bool {
    predecessors(view).is_some() && !first_in_office(view).any(|m| m.id == *id)
}

/// Places of the members that get the heartbeats of the one at `me`; `None` for all.
//= docs/protocol.md#lv-1
pub fn recipients(view: &View, me: usize) -> Option<Vec<usize>> {
    near(view, me, ring::before(view.len(), me))
}

/// Places of the members whose heartbeats the one at `me` gets; `None` for all.
//= docs/protocol.md#lv-1
pub fn senders(view: &View, me: usize) -> Option<Vec<usize>> {
    near(view, me, ring::after(view.len(), me))
}

fn near(view: &View, me: usize, neighbours: impl Iterator<Item = usize>) -> Option<Vec<usize>> {
    let reach = predecessors(view)?;
    let mut places: Vec<usize> = first_in_office(view).filter_map(|m| view.place(&m.id)).collect();
    if places.contains(&me) {
        return None;
    }
    places.extend(neighbours.take(reach));
    places.sort_unstable();
    places.dedup();
    Some(places)
}

/// Whether `id` counts itself connected in both views by the same members: in both by a majority, or in both by hubs
/// of which at least one is the same.
//= docs/protocol.md#lv-2
pub fn counts_alike(a: &View, b: &View, id: &MemberId) -> bool {
    match (borrows(a, id), borrows(b, id)) {
        (false, false) => true,
        (true, true) => first_in_office(a).any(|hub| is_hub(b, &hub.id)),
        (true, false) | (false, true) => false,
    }
}

/// Whether those who `granted` a fence of `suspect` are all by whom it may count itself connected in `view`, or so many
/// that the rest is none.
//= docs/protocol.md#lv-3
pub fn covers(view: &View, suspect: &MemberId, granted: &[MemberId]) -> bool {
    if borrows(view, suspect) {
        return first_in_office(view).all(|hub| granted.contains(&hub.id));
    }
    let granted: BTreeSet<&MemberId> = granted.iter().collect();
    let weight = quorum::weight_of(view, |m| m != suspect && granted.contains(m));
    quorum::is_majority(weight, view.weight())
}

#[cfg(test)]
mod tests;
