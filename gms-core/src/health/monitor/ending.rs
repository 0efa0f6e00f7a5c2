//! How suspicions begin and end, and final checks end: the part of [`Health`] that tells others and the application.

use std::sync::Arc;
use std::time::Duration;

use crate::event::{Event, LinkReport, Subject};
use crate::evidence::{Finding, Reason, Verdict, VerifierReport};
use crate::health::final_check::Ended;
use crate::member::MemberId;
use crate::message::DatagramBody;
use crate::outbox::Outbox;
use crate::output::CommandResult;
use crate::scene::Scene;

use super::Health;

impl Health {
    /// Whether this member may raise a suspicion of `id`: one that is cut off or sick accuses nobody.
    //= docs/protocol.md#fd-18
    pub(super) fn may_accuse(&self, scene: Scene<'_>, id: &MemberId) -> bool {
        let is_other = !scene.is_me(id) && scene.contacts.get(id).is_some();
        is_other && !scene.isolated && !scene.sick && !self.is_suspect(id)
    }

    /// Suspects `members`, tells of it, and checks them where that is this member's task.
    pub(super) fn raise(
        &mut self,
        scene: Scene<'_>,
        members: &[MemberId],
        reason: Reason,
        replaced_by: Option<MemberId>,
        out: &mut Outbox,
    ) {
        self.suspicions.raise(scene, &mut self.rng, members, reason, replaced_by);
        let is_acting = self.is_acting_checker(scene);
        for id in members {
            let Some(accusation) = self.suspicions.as_accusation(scene, id) else { continue };
            self.announce(scene, *id, scene.me.id, reason, accusation.silent_for, out);
            if is_acting {
                self.finals.join(scene, id, &accusation);
            }
        }
        self.watch.reconsider();
        self.sweep(scene, out);
        self.tell(scene, out);
    }

    /// Tells of suspicions that are due.
    pub(super) fn tell(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if self.suspicions.poll_timeout().is_none_or(|at| scene.now < at) {
            return;
        }
        let is_acting = self.is_acting_checker(scene);
        let finals = &self.finals;
        self.suspicions.handle_timeout(scene, is_acting, &|id| finals.standing(id).is_some(), out);
    }

    /// Whether the member was heard so lately that nothing is wrong with the link.
    pub(super) fn is_heard_lately(&self, scene: Scene<'_>, id: &MemberId) -> bool {
        let silence = scene.contacts.get(id).map(|record| record.silence(scene.now));
        silence.is_some_and(|silence| silence <= scene.timing().short_silence())
    }

    /// Tells the application of a suspicion.
    pub(super) fn announce(
        &mut self,
        scene: Scene<'_>,
        member: MemberId,
        by: MemberId,
        reason: Reason,
        silent_for: Duration,
        out: &mut Outbox,
    ) {
        self.announced.insert(member);
        let (member, by) = (subject(scene, member), subject(scene, by));
        out.event(Event::MemberSuspected { member, by, reason, silent_for });
    }

    /// Tells the application of a final check.
    pub(super) fn report_start(&self, scene: Scene<'_>, member: &MemberId, reason: Reason, out: &mut Outbox) {
        out.event(Event::FinalCheckStarted { member: subject(scene, *member), reason });
    }

    /// Reports the link to a member that lives and is not heard, once: not where its loss was reported.
    //= docs/protocol.md#fd-20
    pub(super) fn report_link(&mut self, scene: Scene<'_>, id: &MemberId, out: &mut Outbox) {
        if self.clearings.degrade(id) && !self.links.is_degraded(id) {
            out.event(Event::LinkDegraded(link_report(scene, id)));
        }
    }

    /// Ends whatever this member and others hold against `member`; `by` is the member itself or who cleared it.
    //= docs/protocol.md#fd-32
    pub(super) fn end_suspicion(
        &mut self,
        scene: Scene<'_>,
        member: MemberId,
        by: MemberId,
        out: &mut Outbox,
    ) {
        self.accusations.clear(&member);
        if self.suspicions.end(&member) {
            self.watch.reconsider();
        }
        if self.announced.remove(&member) {
            out.event(Event::MemberCleared { member: subject(scene, member), by: subject(scene, by) });
        }
    }

    /// Draws the consequences of a final check; `by` is the suspect itself where its own message ended it.
    pub(super) fn conclude(&mut self, scene: Scene<'_>, ended: Ended, by: MemberId, out: &mut Outbox) {
        for token in &ended.tokens {
            out.command_done(*token, CommandResult::Checked(ended.verdict));
        }
        self.watch.reconsider();
        self.sweep_at = scene.now;
        if ended.verdict == Verdict::Alive {
            self.conclude_alive(scene, &ended, by, out);
            return;
        }
        if ended.is_official || self.is_acting_checker(scene) {
            self.finals.let_stand(&ended);
        }
        let member = subject(scene, ended.suspect);
        let (verdict, evidence) = (ended.verdict, Arc::clone(&ended.evidence));
        out.event(Event::FinalCheckFailed { member, verdict, evidence });
    }

    //= docs/protocol.md#fd-20
    fn conclude_alive(&mut self, scene: Scene<'_>, ended: &Ended, by: MemberId, out: &mut Outbox) {
        let id = ended.suspect;
        let evidence = Arc::clone(&ended.evidence);
        if ended.is_official || ended.is_accused {
            for other in scene.others() {
                out.datagram(other.id, DatagramBody::FinalCheckPassed { member: id });
            }
        }
        out.event(Event::FinalCheckPassed { member: subject(scene, id), evidence });
        if self.is_heard_lately(scene, &id) {
            self.clearings.clear(id, scene.now);
        } else {
            self.clearings.clear_unheard(id, scene.now);
            let found = |report: &VerifierReport| report.finding == Some(Finding::Alive);
            if ended.evidence.verifiers.iter().any(found) {
                self.report_link(scene, &id, out);
            }
        }
        self.end_suspicion(scene, id, by, out);
    }
}

/// The link to `id` as this member measures it.
pub(super) fn link_report(scene: Scene<'_>, id: &MemberId) -> LinkReport {
    let link = scene.contacts.get(id).map(|record| record.link());
    LinkReport {
        member: subject(scene, *id),
        loss_in: link.map_or(0.0, |l| l.loss_in()),
        loss_out: link.map_or(0.0, |l| l.loss_out()),
        rtt: link.and_then(|l| l.rtt()),
    }
}

fn subject(scene: Scene<'_>, id: MemberId) -> Subject {
    Subject { id, name: scene.view.name_of(&id) }
}
