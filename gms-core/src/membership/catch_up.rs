//! Asking for views that one has missed: numbers in heads are reasons to ask, never truth.

use crate::member::MemberId;
use crate::message::FrameBody;
use crate::outbox::Outbox;
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::ViewId;

use std::time::Duration;

/// How long a higher number is watched before anyone is asked: the installation itself is usually on its way.
const PATIENCE: Duration = Duration::from_millis(20);

/// What this member knows to be missing.
#[derive(Debug, Default)]
pub(crate) struct CatchUp {
    wanted: Option<Wanted>,
    turn: usize,
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
        let ask_at = scene.now + PATIENCE.min(scene.timing().heartbeat_interval / 4);
        match &mut self.wanted {
            Some(wanted) => {
                wanted.by = by.or(wanted.by);
                wanted.shown = wanted.shown.max(shown);
            }
            None => self.wanted = Some(Wanted { shown, by, ask_at, asked: false }),
        }
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
        let others: Vec<MemberId> = scene.others().map(|m| m.id).collect();
        let shown_by = wanted.by.take().filter(|by| others.contains(by));
        let in_turn = || others.get(self.turn % others.len().max(1)).copied();
        let Some(to) = shown_by.or_else(in_turn) else { return };
        if shown_by.is_none() {
            self.turn += 1;
        }
        wanted.asked = true;
        out.frame(to, FrameBody::ViewRequest { held: scene.view.id() });
    }

    /// When to ask.
    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
        self.wanted.as_ref().map(|w| w.ask_at)
    }

    /// Whether an answer is awaited, so that a whole view may be taken.
    pub(crate) fn is_asked(&self) -> bool {
        self.wanted.as_ref().is_some_and(|w| w.asked)
    }

    /// A view is installed: what is not above it is no longer missing.
    pub(crate) fn handle_view_installed(&mut self, installed: ViewId) {
        if self.wanted.as_ref().is_some_and(|w| w.shown <= installed) {
            self.wanted = None;
        }
    }
}
