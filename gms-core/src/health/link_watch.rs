//! Links that lose much while the member lives: reported once when they degrade, once when they recover.

use crate::event::{Event, LinkReport, Subject};
use crate::member::MemberId;
use crate::outbox::Outbox;
use crate::scene::Scene;

/// Share of loss from which a link is reported: one in five heartbeats missing leaves a margin of four to a check.
const DEGRADED: f32 = 0.2;
/// Share of loss below which it counts as recovered; well below, so that it does not flap.
const RECOVERED: f32 = 0.05;

/// Which links are reported as degraded.
#[derive(Debug, Default)]
pub(crate) struct LinkWatch {
    degraded: Vec<MemberId>,
}

impl LinkWatch {
    /// Whether the link to `id` loses much.
    pub(super) fn is_degraded(&self, id: &MemberId) -> bool {
        self.degraded.contains(id)
    }

    /// Looks at every link over which heartbeats come; called once a heartbeat interval. Nothing is told of a link that
    /// `is_told_of` for another reason: its trouble begins once and ends once.
    pub(super) fn update(
        &mut self,
        scene: Scene<'_>,
        is_told_of: &dyn Fn(&MemberId) -> bool,
        out: &mut Outbox,
    ) {
        self.degraded.retain(|id| scene.view.contains(id));
        for (place, record) in scene.contacts.expected().filter(|(_, r)| !scene.is_me(&r.id())) {
            let (id, link) = (record.id(), record.link());
            let reported = self.degraded.contains(&id);
            let report = || LinkReport {
                member: Subject::from(&*scene.view.members()[place].member),
                loss_in: link.loss_in(),
                loss_out: link.loss_out(),
                rtt: link.rtt(),
            };
            if !reported && link.loss_in() >= DEGRADED {
                self.degraded.push(id);
                if !is_told_of(&id) {
                    out.event(Event::LinkDegraded(report()));
                }
            } else if reported && link.loss_in() < RECOVERED {
                self.degraded.retain(|other| *other != id);
                if !is_told_of(&id) {
                    out.event(Event::LinkRecovered(report()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
