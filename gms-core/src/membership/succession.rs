//! The member's answer to a new coordinator: a promise, unless somebody earlier in office is in contact here.
//!
//! So a coordinator falls only when a majority cannot reach it, or when it leaves its work undone.

use crate::evidence::{ProbeOutcome, Verdict};
use crate::health::contacts::Contacts;
use crate::member::{Member, MemberId};
use crate::message::{Ballot, CheckRequest, FrameBody, Refusal};
use crate::outbox::Outbox;
use crate::output::{CheckTarget, ProbeId};
use crate::planted::{self, Planted};
use crate::scene::Scene;
use crate::time::Timestamp;

use super::acceptor::Acceptor;

/// Most requests that wait for probes at a time; one per place in office that could ask is plenty.
const WAITING_MAX: usize = 8;

#[derive(Clone, Debug)]
struct Waiting {
    asker: MemberId,
    ballot: Ballot,
    i_am_paused: bool,
    /// Whom the asker claims to be gone, and the probe that looks for itself.
    probes: Vec<(MemberId, ProbeId, Option<bool>)>,
}

/// Requests for promises that this member has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromiseDesk {
    waiting: Vec<Waiting>,
}

/// A request for a promise in the installed view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromiseQuestion<'a> {
    pub(crate) asker: MemberId,
    pub(crate) ballot: Ballot,
    pub(crate) verdicts: &'a [(MemberId, Verdict)],
    /// Whether this member itself says `paused`.
    pub(crate) i_am_paused: bool,
}

impl PromiseDesk {
    /// Answers at once, or probes first those whom the asker claims to be gone.
    //= docs/protocol.md#vw-7
    pub(crate) fn handle_promise(
        &mut self,
        scene: Scene<'_>,
        acceptor: &mut Acceptor,
        question: PromiseQuestion<'_>,
        out: &mut Outbox,
    ) {
        let PromiseQuestion { asker, ballot, verdicts, i_am_paused } = question;
        if let Some(higher) =
            acceptor.promised().filter(|p| *p > ballot && !planted::is(Planted::PromiseForgotten))
        {
            return refuse(scene, asker, ballot, Refusal::Promised(higher), out);
        }
        let protected = protected_by(scene, question);
        if protected.is_empty() {
            return promise(scene, acceptor, asker, ballot, out);
        }
        let all_claimed_gone =
            protected.iter().all(|(m, _)| verdicts.contains(&(m.id, Verdict::Gone)) && !scene.is_me(&m.id));
        if !all_claimed_gone {
            let left = protected.iter().map(|(_, until)| until.since(scene.now)).max();
            let why = Refusal::Protected(left.unwrap_or_default());
            return refuse(scene, asker, ballot, why, out);
        }
        let repeated = self.waiting.iter().any(|w| w.asker == asker && w.ballot == ballot);
        if repeated || self.waiting.len() == WAITING_MAX {
            return;
        }
        let deadline = scene.timing().check_timeout;
        let probes = protected
            .iter()
            .map(|(m, _)| {
                let request =
                    CheckRequest { cluster: scene.view.cluster(), target: m.id, view: scene.view.id() };
                let target = CheckTarget { address: m.endpoint.check_addr, request };
                (m.id, out.start_probe(target, deadline), None)
            })
            .collect();
        self.waiting.push(Waiting { asker, ballot, i_am_paused, probes });
    }

    /// Takes a probe's result; answers when all of a request's are in, by who is in contact then. Returns whether the probe was one of these.
    pub(crate) fn handle_probe_done(
        &mut self,
        scene: Scene<'_>,
        acceptor: &mut Acceptor,
        probe: ProbeId,
        outcome: ProbeOutcome,
        out: &mut Outbox,
    ) -> bool {
        let is_gone =
            matches!(outcome, ProbeOutcome::Refused | ProbeOutcome::Other(_) | ProbeOutcome::Elsewhere);
        let mut slots = self.waiting.iter_mut().flat_map(|w| w.probes.iter_mut());
        let Some(slot) = slots.find(|(_, id, _)| *id == probe) else { return false };
        slot.2 = Some(is_gone);
        let Some(done) =
            self.waiting.iter().position(|w| w.probes.iter().all(|(_, _, result)| result.is_some()))
        else {
            return true;
        };
        let Waiting { asker, ballot, i_am_paused, probes } = self.waiting.swap_remove(done);
        let question = PromiseQuestion { asker, ballot, verdicts: &[], i_am_paused };
        let is_seen_gone = |id: &MemberId| probes.iter().any(|(of, _, gone)| of == id && *gone == Some(true));
        // Others may have been heard, or have stopped to call themselves isolated, since the question came.
        let nobody_else = protected_by(scene, question).iter().all(|(m, _)| is_seen_gone(&m.id));
        if nobody_else && probes.iter().all(|(_, _, gone)| *gone == Some(true)) {
            promise(scene, acceptor, asker, ballot, out);
        } else {
            let why = Refusal::Protected(scene.timing().retry_interval());
            refuse(scene, asker, ballot, why, out);
        }
        true
    }

    /// Forgets what was asked in an older view.
    pub(crate) fn reset(&mut self, out: &mut Outbox) {
        for waiting in std::mem::take(&mut self.waiting) {
            for (_, probe, result) in waiting.probes {
                if result.is_none() {
                    out.stop_probe(probe);
                }
            }
        }
    }
}

/// Who earlier in office than the asker is in contact here, and until when that protects it.
fn protected_by<'a>(scene: Scene<'a>, question: PromiseQuestion<'_>) -> Vec<(&'a Member, Timestamp)> {
    let span = scene.timing().removal_silence();
    let earlier = scene.view.office().enumerate().take_while(|(_, m)| m.id != question.asker);
    earlier
        .filter(|_| !planted::is(Planted::NoProtection))
        .filter(|(place, _)| *place > 0 || !scene.coordinator_is_idle)
        .filter_map(|(_, m)| {
            if scene.is_me(&m.id) {
                let in_office = !scene.isolated && !question.i_am_paused && !scene.leaving;
                return in_office.then(|| (m, scene.now + span));
            }
            contact_until(scene.contacts, m, span).filter(|until| *until > scene.now).map(|until| (m, until))
        })
        .collect()
}

/// Until when a contact, not moved by own pauses, keeps `m` in office.
fn contact_until(contacts: &Contacts, m: &Member, span: std::time::Duration) -> Option<Timestamp> {
    let record = contacts.get(&m.id)?;
    let flags = record.flags();
    if flags.isolated || flags.paused {
        return None;
    }
    record.contact_unmoved().map(|at| at + span)
}

fn promise(scene: Scene<'_>, acceptor: &mut Acceptor, asker: MemberId, ballot: Ballot, out: &mut Outbox) {
    match acceptor.promise(ballot) {
        Ok(()) => {
            let accepted = acceptor.accepted().map(|a| (a.ballot, (*a.change).clone()));
            out.frame(asker, FrameBody::Promised { ballot, base: scene.view.id(), accepted });
        }
        Err(higher) => refuse(scene, asker, ballot, Refusal::Promised(higher), out),
    }
}

fn refuse(scene: Scene<'_>, asker: MemberId, ballot: Ballot, why: Refusal, out: &mut Outbox) {
    out.frame(asker, FrameBody::Refused { ballot, base: scene.view.id(), why });
}

#[cfg(test)]
mod tests;
