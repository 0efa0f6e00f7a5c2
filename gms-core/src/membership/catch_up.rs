//! Asking for views that one has missed: numbers in heads are reasons to ask, never truth.
//!
//! Members of the own view are asked first. Where none of them is left to answer, because all have gone on to views that
//! this member missed, whoever showed the higher number is asked too; its answer is linked to what this member holds.

use crate::hubs;
use crate::member::{MemberId, ShortId};
use crate::message::FrameBody;
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::ViewId;

use super::history::CHANGES_PER_ANSWER;

use std::net::SocketAddr;
use std::time::Duration;

/// How long a higher number is watched before anyone is asked: the installation itself is usually on its way.
const PATIENCE: Duration = Duration::from_millis(20);

/// What this member knows to be missing.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    wanted: Option<Wanted>,
    turn: usize,
    /// Who is not in the own view and showed a higher number: where it is reached, and who it is.
    stranger: Option<(SocketAddr, ShortId)>,
}

#[derive(Debug)]
struct Wanted {
    /// A number above the one installed, or the same where somebody says that this member is out.
    shown: ViewId,
    /// The member that showed it.
    by: Option<MemberId>,
    ask_at: Timestamp,
    asked: bool,
}

impl CatchUp {
    /// Somebody showed a higher number, or said that this member is out.
    //= docs/protocol.md#vw-4
    pub(crate) fn note(&mut self, scene: Scene<'_>, shown: ViewId, by: Option<MemberId>) {
        if planted::is(Planted::BehindForEver) {
            return;
        }
        let ask_at = scene.now + PATIENCE.min(scene.timing().heartbeat_interval / 4);
        match &mut self.wanted {
            Some(wanted) => {
                wanted.by = by.or(wanted.by);
                wanted.shown = wanted.shown.max(shown);
            }
            None => self.wanted = Some(Wanted { shown, by, ask_at, asked: false }),
        }
    }

    /// Somebody outside of the own view showed a higher number.
    pub(crate) fn note_stranger(
        &mut self,
        scene: Scene<'_>,
        shown: ViewId,
        address: SocketAddr,
        id: ShortId,
    ) {
        self.stranger = Some((address, id));
        self.note(scene, shown, None);
    }

    /// Asks without waiting: a gap was found in what arrived.
    pub(crate) fn ask_now(&mut self, scene: Scene<'_>, shown: ViewId, by: MemberId, out: &mut Outbox) {
        self.note(scene, shown, Some(by));
        if let Some(wanted) = &mut self.wanted
            && !wanted.asked
        {
            wanted.ask_at = scene.now;
        }
        self.handle_timeout(scene, out);
    }

    /// Asks the member that showed the number, then others in turn, until a view comes.
    //= docs/protocol.md#vw-18
    pub(crate) fn handle_timeout(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        let Some(wanted) = &mut self.wanted else { return };
        if wanted.ask_at > scene.now {
            return;
        }
        wanted.ask_at = scene.now + scene.timing().retry_interval();
        let held = scene.view.id();
        // Whoever is so far behind is given a whole view: where that is large, by those around it and not by a hub.
        let is_far = wanted.shown.0.saturating_sub(held.0) > CHANGES_PER_ANSWER as u64;
        let begins_near = hubs::spreads_views(scene.view) && is_far && !wanted.asked;
        let shown_by = wanted.by.filter(|by| !begins_near && scene.view.contains(by) && !scene.is_me(by));
        let to = match shown_by {
            Some(by) => {
                wanted.by = None;
                Some(by)
            }
            None => {
                self.turn += 1;
                in_turn(scene, self.turn - 1)
            }
        };
        wanted.asked = true;
        if let Some(to) = to {
            out.frame(to, FrameBody::ViewRequest { held });
        }
        if let Some((address, id)) = self.stranger {
            out.frame_to(address, id, FrameBody::ViewRequest { held });
        }
    }

    /// When to ask.
    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        self.wanted.as_ref().map(|w| w.ask_at)
    }

    /// Whether an answer is awaited, so that a whole view may be taken.
    pub(crate) fn is_asked(&self) -> bool {
        self.wanted.as_ref().is_some_and(|w| w.asked)
    }

    /// Whether this stranger was asked, so that its answer may be looked at.
    pub(crate) fn is_asked_of(&self, stranger: ShortId) -> bool {
        self.is_asked() && self.stranger.is_some_and(|(_, id)| id == stranger)
    }

    /// A view is installed: what is not above it is no longer missing.
    pub(crate) fn handle_view_installed(&mut self, installed: ViewId) {
        if self.wanted.as_ref().is_some_and(|w| w.shown <= installed) {
            self.wanted = None;
            self.stranger = None;
        }
    }
}

/// The other members in turn, from the first in view order on; in large views from the next in the ring on.
fn in_turn(scene: Scene<'_>, turn: usize) -> Option<MemberId> {
    let members = scene.view.members();
    let me = scene.view.place(&scene.me.id)?;
    let others = members.len() - 1;
    if others == 0 {
        return None;
    }
    let first = if hubs::spreads_views(scene.view) { me } else { members.len() - 1 };
    let mut ring =
        (1..=members.len()).map(|step| (first + step) % members.len()).filter(|place| *place != me);
    ring.nth(turn % others).map(|place| members[place].member.id)
}

#[cfg(test)]
mod tests;
