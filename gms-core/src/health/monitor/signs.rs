//! What follows from signs of death: the part of [`Health`] that makes deaths cost milliseconds.

use std::net::SocketAddr;

use crate::config::CrashDetection;
use crate::evidence::{ProbeOutcome, Reason};
use crate::health::signs::Seen;
use crate::input::WatchEnd;
use crate::member::MemberId;
use crate::message::{Answers, DatagramBody};
use crate::outbox::Outbox;
use crate::output::{ProbeId, WatchId};
use crate::scene::Scene;

use super::Health;

impl Health {
    /// A watch connection ended, or could not be opened.
    pub(crate) fn handle_watch_ended(
        &mut self,
        scene: Scene<'_>,
        watch: WatchId,
        end: WatchEnd,
        out: &mut Outbox,
    ) {
        if let Some(member) = self.signs.handle_watch_ended(scene, watch, end) {
            self.look(scene, member, out);
        }
    }

    /// A datagram to that address found nobody.
    //= docs/protocol.md#fd-30
    pub(crate) fn handle_unreachable(&mut self, scene: Scene<'_>, to: SocketAddr, out: &mut Outbox) {
        let at_address = scene.others().find(|m| m.endpoint.addr == to).map(|m| m.id);
        let Some(member) = at_address.filter(|_| is_fast(scene)) else { return };
        self.finals.handle_unreachable(scene, &member);
        self.look(scene, member, out);
    }

    /// Lets the watch connection follow the subject.
    pub(super) fn follow_subject(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        let subject = self.watch_with(|_, known, _| crate::health::watch::subject(scene, known));
        let subject = subject.filter(|_| is_fast(scene)).map(|place| scene.contacts.at(place).id());
        self.signs.follow(scene, subject, out);
    }

    /// Whether the probe was a look that a sign had caused; if so, draws the consequences.
    //= docs/protocol.md#fd-29
    pub(super) fn handle_look_done(
        &mut self,
        scene: Scene<'_>,
        probe: ProbeId,
        outcome: ProbeOutcome,
        out: &mut Outbox,
    ) -> bool {
        let Some((member, seen)) = self.signs.handle_probe_done(scene, probe, outcome) else { return false };
        match seen {
            Seen::Alive => self.watch.reconsider(),
            Seen::Refused if self.may_accuse(scene, &member) => {
                self.raise(scene, &[member], Reason::Refused, None, out);
            }
            Seen::Other(other) => self.handle_replaced(scene, member, other, out),
            Seen::Refused => {}
            Seen::Unclear => {
                self.watch_with(|watch, known, rng| watch.begin_at_once(scene, known, member, rng, out));
            }
        }
        true
    }

    /// Whoever died together with a member that is gone tells so at once: a datagram to each finds nobody there.
    //= docs/protocol.md#fd-33
    pub(super) fn sound_out(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if !is_fast(scene) || scene.now < self.sound_out_from {
            return;
        }
        self.sound_out_from = scene.now + scene.timing().heartbeat_interval;
        for id in scene.others().map(|m| m.id).filter(|id| !self.is_suspect(id)) {
            out.datagram(id, DatagramBody::Heartbeat { answers: Answers::Nothing });
        }
    }

    /// Repeats the looks that are due.
    pub(super) fn repeat_looks(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        for again in self.signs.take_due(scene.now) {
            if self.is_worth_a_look(scene, again.member()) {
                self.signs.connect(scene, again, out);
            }
        }
    }

    fn look(&mut self, scene: Scene<'_>, member: MemberId, out: &mut Outbox) {
        if self.is_worth_a_look(scene, member) {
            self.signs.look(scene, member, out);
        }
    }

    /// Whether this member may accuse it, and nobody sees to it already: itself, or another whose word has just come.
    fn is_worth_a_look(&self, scene: Scene<'_>, member: MemberId) -> bool {
        let is_checked = self.finals.is_running(&member) || self.verifications.is_running(&member);
        self.may_accuse(scene, &member)
            && !is_checked
            && !self.accusations.is_lately_accused(&member, scene.now, scene.timing().heartbeat_interval)
    }
}

fn is_fast(scene: Scene<'_>) -> bool {
    scene.timing().crash_detection == CrashDetection::Fast
}
