//! A verifier's part in somebody else's final check: to ask the suspect itself, on both channels, and to say what
//! that brought.

use std::time::Duration;

use fastrand::Rng;

use crate::evidence::{Finding, ProbeOutcome, Reason};
use crate::health::asking::{Asking, TIMES, is_proof_of_life};
use crate::health::contacts::Contact;
use crate::health::final_check::check_target;
use crate::member::MemberId;
use crate::message::{CheckId, DatagramBody};
use crate::outbox::Outbox;
use crate::output::ProbeId;
use crate::planted::{self, Planted};
use crate::scene::Scene;
use crate::time::Timestamp;

/// Most verifications at once: more than a checker asks of one member where losses are not of half the cluster.
const VERIFICATIONS_MAX: usize = 64;

#[derive(Debug)]
struct Verification {
    checker: MemberId,
    check: CheckId,
    suspect: MemberId,
    began: Timestamp,
    ends: Timestamp,
    asking: Asking,
    probe: Option<ProbeId>,
    finding: Option<Finding>,
    /// The suspect said that it is sick: nothing more is asked.
    is_sick: bool,
}

/// The verifications that run.
#[derive(Debug, Default)]
pub(super) struct Verifications {
    running: Vec<Verification>,
    /// Not later than the next thing to do.
    due: Option<Timestamp>,
}

impl Verifications {
    /// Begins to look; a repeated request is answered with what is known. One that a newer datagram of the checker
    /// overtook may be of a check that is over, and does not end what runs.
    //= docs/protocol.md#fd-19
    pub(super) fn handle_request(
        &mut self,
        scene: Scene<'_>,
        contact: &Contact,
        (check, suspect): (CheckId, MemberId),
        rng: &mut Rng,
        out: &mut Outbox,
    ) {
        let checker = contact.from;
        let is_another = !scene.is_me(&suspect) && suspect != checker;
        if !is_another || scene.contacts.get(&suspect).is_none() {
            return;
        }
        if let Some(known) = self.running.iter().find(|v| v.checker == checker && v.check == check) {
            known.reply(out);
            return;
        }
        let is_same = |v: &Verification| v.checker == checker && v.suspect == suspect;
        if !contact.fresh && self.running.iter().any(is_same) {
            return;
        }
        self.end(is_same, out);
        if self.running.len() == VERIFICATIONS_MAX {
            return;
        }
        let span = scene.timing().final_check_timeout;
        let mut verification = Verification {
            checker,
            check,
            suspect,
            began: scene.now,
            ends: scene.now + span,
            asking: Asking::new(rng, scene.now, span, suspect, Reason::Silent),
            probe: None,
            finding: None,
            is_sick: false,
        };
        verification.ask(scene, out);
        self.arm(verification.due());
        self.running.push(verification);
    }

    /// Whether this member looks at `id` for a checker.
    pub(super) fn is_running(&self, id: &MemberId) -> bool {
        self.running.iter().any(|v| v.suspect == *id)
    }

    /// Contact with a suspect that was sent since the request came.
    pub(super) fn handle_contact(&mut self, contact: &Contact, out: &mut Outbox) {
        for v in self.running.iter_mut().filter(|v| v.suspect == contact.from) {
            if is_proof_of_life(contact, v.began, v.asking.request()) {
                v.find(Finding::Alive, out);
            }
        }
    }

    /// Returns whether the probe was one of these.
    pub(super) fn handle_probe_done(
        &mut self,
        scene: Scene<'_>,
        probe: ProbeId,
        outcome: ProbeOutcome,
        out: &mut Outbox,
    ) -> bool {
        let Some(v) = self.running.iter_mut().find(|v| v.probe == Some(probe)) else { return false };
        v.probe = None;
        match outcome {
            ProbeOutcome::Reset if planted::is(Planted::ResetIsRefusal) => v.find(Finding::Refused, out),
            ProbeOutcome::Ok => v.find(Finding::Alive, out),
            ProbeOutcome::Refused => v.find(Finding::Refused, out),
            ProbeOutcome::Other(other) if !scene.is_me(&other) => v.find(Finding::Other(other), out),
            ProbeOutcome::Sick => v.is_sick = true,
            ProbeOutcome::Other(_)
            | ProbeOutcome::Reset
            | ProbeOutcome::TimedOut
            | ProbeOutcome::Unreachable
            | ProbeOutcome::LocalFault
            | ProbeOutcome::Garbage
            | ProbeOutcome::Elsewhere => {}
        }
        true
    }

    /// When to ask again or to end.
    pub(super) const fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    /// Asks again; says that there was nothing when the time is up.
    pub(super) fn handle_timeout(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if self.due.is_none_or(|due| scene.now < due) {
            return;
        }
        for v in &mut self.running {
            if scene.now >= v.ends && v.finding.is_none() {
                v.find(Finding::Silent, out);
            } else if scene.now < v.ends && v.asking.is_due(scene.now) {
                v.ask(scene, out);
            }
        }
        self.end(|v| scene.now >= v.ends, out);
        self.due = self.running.iter().map(Verification::due).min();
    }

    /// Extends what runs by a pause of this process.
    //= docs/protocol.md#fd-26
    pub(super) fn handle_pause(&mut self, pause: Duration) {
        for v in &mut self.running {
            v.asking.move_by(pause);
            v.ends = v.ends + pause;
        }
        self.due = self.due.map(|due| due + pause);
    }

    /// Forgets checkers and suspects that are out.
    pub(super) fn handle_view_installed(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        self.end(|v| !scene.view.contains(&v.checker) || !scene.view.contains(&v.suspect), out);
    }

    fn arm(&mut self, at: Timestamp) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn end(&mut self, which: impl Fn(&Verification) -> bool, out: &mut Outbox) {
        self.running.retain(|v| {
            let ends = which(v);
            if let Some(probe) = v.probe.filter(|_| ends) {
                out.stop_probe(probe);
            }
            !ends
        });
    }
}

impl Verification {
    /// Asks on both channels, unless the answer is final.
    fn ask(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if self.is_sick || self.finding == Some(Finding::Alive) || self.asking.sent() == TIMES {
            self.asking.skip(scene.now);
            return;
        }
        self.asking.ask(scene.now, out);
        if self.probe.is_none()
            && self.finding.is_none()
            && let Some(target) = check_target(scene, &self.suspect)
        {
            self.probe = Some(out.start_probe(target, self.ends.since(scene.now)));
        }
    }

    /// Says what was found, if it is news.
    fn find(&mut self, finding: Finding, out: &mut Outbox) {
        if self.finding == Some(finding) {
            return;
        }
        self.finding = Some(finding);
        if let Some(probe) = self.probe.take() {
            out.stop_probe(probe);
        }
        self.reply(out);
    }

    fn reply(&self, out: &mut Outbox) {
        if let Some(finding) = self.finding {
            let body = DatagramBody::VerifyReply { check: self.check, suspect: self.suspect, finding };
            out.datagram(self.checker, body);
        }
    }

    fn due(&self) -> Timestamp {
        self.ends.min(self.asking.next_at())
    }
}

#[cfg(test)]
mod tests;
