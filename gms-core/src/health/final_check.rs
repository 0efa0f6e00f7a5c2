//! Final checks, the only road to removal as crashed: those that run, and the verdicts that stand.

mod check;
mod verifiers;

pub(super) use check::check_target;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use crate::evidence::{Evidence, Finding, ProbeOutcome, Reason, Verdict, VerifierReport};
use crate::health::accusations::Accusation;
use crate::health::asking::is_proof_of_life;
use crate::health::contacts::Contact;
use crate::input::CommandToken;
use crate::member::MemberId;
use crate::message::{CheckId, RequestId};
use crate::outbox::Outbox;
use crate::output::ProbeId;
use crate::planted::{self, Planted};
use crate::scene::Scene;
use crate::time::Timestamp;

use check::FinalCheck;

/// A verdict that stands: `gone` or `silent`, until a sign of life, somebody's clearing, or a view without the member.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// `gone` or `silent`.
    pub(crate) verdict: Verdict,
    /// The chain that led to it; fences are the proposer's to add.
    pub(crate) evidence: Arc<Evidence>,
    /// The final check.
    pub(crate) check: CheckId,
    /// When that began.
    pub(crate) began: Timestamp,
    /// When the silence reaches 1.5 T: until then a silent verdict waits for other checks.
    pub(crate) silence_limit: Timestamp,
    request: RequestId,
    /// It was refused to this member alone: proof where there is no third.
    rests_on_one_refusal: bool,
    /// From when on any contact is one that was sent after the check began.
    late_from: Timestamp,
}

impl Standing {
    /// Whether a message takes the verdict back. Silence ends by any contact that can't be an old one; proof that the
    /// process is gone does not end by what its kernel may still deliver.
    fn is_refuted_by(&self, contact: &Contact) -> bool {
        let is_late = contact.counts && contact.at >= self.late_from;
        is_proof_of_life(contact, self.began, self.request) || is_late && self.verdict == Verdict::Silent
    }
}

/// How to begin a final check.
pub(super) struct Order<'a> {
    pub(super) suspect: MemberId,
    pub(super) reason: Reason,
    /// Whether the verdict is to stand: not where a user merely asks.
    pub(super) is_official: bool,
    pub(super) accusations: Vec<Accusation>,
    /// Members that can't be verifiers.
    pub(super) is_suspect: &'a dyn Fn(&MemberId) -> bool,
}

/// A final check that is over.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) suspect: MemberId,
    pub(super) verdict: Verdict,
    pub(super) evidence: Arc<Evidence>,
    pub(super) is_official: bool,
    /// Whether it was accused of something.
    pub(super) is_accused: bool,
    /// Users that wait for the verdict.
    pub(super) tokens: Vec<CommandToken>,
    standing: Option<Standing>,
}

/// All final checks of this member.
#[derive(Debug, Default)]
pub(super) struct FinalChecks {
    running: BTreeMap<MemberId, FinalCheck>,
    standings: BTreeMap<MemberId, Standing>,
    /// When an accusation last began one.
    accused_at: BTreeMap<MemberId, Timestamp>,
    /// Not later than the next thing to do.
    due: Option<Timestamp>,
}

impl FinalChecks {
    /// The verdict that stands against `id`.
    pub(super) fn standing(&self, id: &MemberId) -> Option<&Standing> {
        self.standings.get(id)
    }

    /// All verdicts that stand.
    pub(super) fn standings(&self) -> impl Iterator<Item = (&MemberId, &Standing)> {
        self.standings.iter()
    }

    /// Whether a final check of `id` runs.
    pub(super) fn is_running(&self, id: &MemberId) -> bool {
        self.running.contains_key(id)
    }

    /// Everybody of whom a final check runs.
    pub(super) fn running(&self) -> impl Iterator<Item = &MemberId> {
        self.running.keys()
    }

    /// Whether one runs whose verdict is to stand.
    pub(super) fn is_any_official(&self) -> bool {
        self.running.values().any(FinalCheck::is_official)
    }

    /// The latest moment, not after `limit`, at which a running check may end as silent.
    pub(super) fn latest_end_before(&self, scene: Scene<'_>, limit: Timestamp) -> Option<Timestamp> {
        let official = self.running.values().filter(|check| check.is_official());
        official.map(|check| check.silent_at(scene)).filter(|end| *end <= limit).max()
    }

    /// The latest moment until which another check is likely to prove that its member is gone.
    pub(super) fn proof_expected_until(&self, scene: Scene<'_>) -> Option<Timestamp> {
        let official = self.running.values().filter(|check| check.is_official());
        official.filter_map(|check| check.proof_expected_until(scene)).max()
    }

    /// Whether an accusation may begin a final check of `id`: one per member and `check_timeout`, however many accuse.
    //= docs/protocol.md#fd-16
    pub(super) fn may_begin_for_accusation(&self, scene: Scene<'_>, id: &MemberId) -> bool {
        let last = self.accused_at.get(id);
        last.is_none_or(|at| scene.now.since(*at) >= scene.timing().check_timeout)
    }

    /// Begins one. There must be none of that member. Where it has yet to answer as a verifier, another one is asked.
    //= docs/protocol.md#fd-24
    pub(super) fn begin(&mut self, scene: Scene<'_>, order: Order<'_>, rng: &mut Rng, out: &mut Outbox) {
        debug_assert!(!self.is_running(&order.suspect) || planted::is(Planted::ChecksReplaceEachOther));
        if !order.accusations.is_empty() {
            self.accused_at.insert(order.suspect, scene.now);
        }
        let suspect = order.suspect;
        for check in self.running.values_mut() {
            check.replace_verifier(scene, &suspect, order.is_suspect, rng, out);
        }
        let mut check = FinalCheck::new(scene, order, rng);
        check.ask(scene, out);
        self.arm(check.due(scene));
        self.running.insert(suspect, check);
    }

    /// A further accusation joins the check that runs; its verdict is to stand.
    //= docs/protocol.md#fd-24
    pub(super) fn join(&mut self, scene: Scene<'_>, suspect: &MemberId, accusation: &Accusation) {
        if let Some(check) = self.running.get_mut(suspect) {
            check.join(scene, accusation.clone());
            self.arm_check(scene, *suspect);
        }
    }

    /// A user waits for the verdict too. Returns whether there is a check to wait for and room to.
    pub(super) fn join_user(&mut self, suspect: &MemberId, token: CommandToken) -> bool {
        self.running.get_mut(suspect).is_some_and(|check| check.join_user(token))
    }

    /// A message of a member: it may show that it lives.
    pub(super) fn handle_contact(
        &mut self,
        scene: Scene<'_>,
        contact: &Contact,
        out: &mut Outbox,
    ) -> Option<Ended> {
        if let Some(check) = self.running.get(&contact.from) {
            if !check.is_alive_by(contact) {
                return None;
            }
            return self.end(scene, &contact.from, Verdict::Alive, out);
        }
        if self.standings.get(&contact.from)?.is_refuted_by(contact) {
            self.revoke(scene, &contact.from, None)
        } else {
            None
        }
    }

    /// Another member was asked for a fence and has heard the suspect since the final check began.
    pub(super) fn handle_heard(
        &mut self,
        scene: Scene<'_>,
        member: &MemberId,
        by: MemberId,
        out: &mut Outbox,
    ) -> Option<Ended> {
        if let Some(check) = self.running.get_mut(member) {
            check.note_finding(by, Finding::Alive);
            return self.end(scene, member, Verdict::Alive, out);
        }
        let is_silent = self.standings.get(member).is_some_and(|s| s.verdict == Verdict::Silent);
        if is_silent { self.revoke(scene, member, Some(by)) } else { None }
    }

    /// Another member's final check passed: the verdict stands no more. A check that runs here sees for itself.
    pub(super) fn handle_passed_elsewhere(&mut self, member: &MemberId) {
        self.standings.remove(member);
    }

    /// What a verifier found.
    pub(super) fn handle_verify_reply(
        &mut self,
        scene: Scene<'_>,
        (from, id): (MemberId, CheckId),
        suspect: &MemberId,
        finding: Finding,
        out: &mut Outbox,
    ) -> Option<Ended> {
        let check = self.running.get_mut(suspect).filter(|check| check.id() == id)?;
        if !check.handle_finding(scene, from, finding, out) {
            return None;
        }
        self.arm_check(scene, *suspect);
        if finding == Finding::Alive { self.end(scene, suspect, Verdict::Alive, out) } else { None }
    }

    /// A datagram to `suspect` found nobody.
    pub(super) fn handle_unreachable(&mut self, scene: Scene<'_>, suspect: &MemberId) {
        if let Some(check) = self.running.get_mut(suspect) {
            check.note_unreachable(scene.now);
            self.arm_check(scene, *suspect);
        }
    }

    /// `None` if the probe was not one of these; else the end, if it ends the check.
    pub(super) fn handle_probe_done(
        &mut self,
        scene: Scene<'_>,
        probe: ProbeId,
        outcome: ProbeOutcome,
        out: &mut Outbox,
    ) -> Option<Option<Ended>> {
        let check = self.running.values_mut().find(|check| check.is_probed_by(probe))?;
        let suspect = check.suspect();
        let verdict = check.handle_probe_done(scene, outcome);
        self.arm_check(scene, suspect);
        Some(verdict.and_then(|verdict| self.end(scene, &suspect, verdict, out)))
    }

    /// When to ask again or to conclude.
    pub(super) const fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    /// Asks again and concludes what is due.
    pub(super) fn handle_timeout(&mut self, scene: Scene<'_>, out: &mut Outbox) -> Vec<Ended> {
        if self.due.is_none_or(|due| scene.now < due) {
            return Vec::new();
        }
        let mut concluded = Vec::new();
        for check in self.running.values_mut() {
            match check.verdict(scene) {
                Some(verdict) => concluded.push((check.suspect(), verdict)),
                None => check.handle_timeout(scene, out),
            }
        }
        let ended =
            concluded.into_iter().filter_map(|(id, verdict)| self.end(scene, &id, verdict, out)).collect();
        self.due = self.running.values().map(|check| check.due(scene)).min();
        ended
    }

    /// Lets the verdict of a check stand.
    //= docs/protocol.md#fd-25
    pub(super) fn let_stand(&mut self, ended: &Ended) {
        if let Some(standing) = &ended.standing {
            self.standings.insert(ended.suspect, standing.clone());
        }
    }

    /// Extends what runs by a pause of this process.
    //= docs/protocol.md#fd-26
    pub(super) fn handle_pause(&mut self, now: Timestamp, pause: Duration) {
        for check in self.running.values_mut() {
            check.move_by(pause);
        }
        for standing in self.standings.values_mut() {
            standing.silence_limit = standing.silence_limit + pause;
            standing.late_from = standing.late_from + pause;
        }
        self.due = self.due.map(|_| now);
    }

    /// Forgets members that are out; verdicts on those that are in stand. Returns the users that wait in vain.
    //= docs/protocol.md#fd-25
    pub(super) fn handle_view_installed(&mut self, scene: Scene<'_>, out: &mut Outbox) -> Vec<CommandToken> {
        let is_enough = |standing: &Standing| scene.view.len() <= 2 || !standing.rests_on_one_refusal;
        self.standings.retain(|id, standing| scene.view.contains(id) && is_enough(standing));
        self.accused_at.retain(|id, _| scene.view.contains(id));
        let out_of_view: Vec<MemberId> =
            self.running.keys().filter(|id| !scene.view.contains(id)).copied().collect();
        self.running.values_mut().for_each(|check| check.handle_view_installed(scene));
        let removed = out_of_view.iter().filter_map(|id| self.running.remove(id));
        removed.flat_map(|check| check.abandon(out)).collect()
    }

    fn end(
        &mut self,
        scene: Scene<'_>,
        suspect: &MemberId,
        verdict: Verdict,
        out: &mut Outbox,
    ) -> Option<Ended> {
        self.running.remove(suspect).map(|check| check.end(scene, verdict, out))
    }

    /// Ends a standing verdict by a sign of life.
    fn revoke(&mut self, scene: Scene<'_>, member: &MemberId, by: Option<MemberId>) -> Option<Ended> {
        let standing = self.standings.remove(member)?;
        let mut evidence = Arc::unwrap_or_clone(standing.evidence);
        evidence.verdict = Verdict::Alive;
        evidence.silent_for = scene.contacts.get(member).map_or(Duration::ZERO, |r| r.silence(scene.now));
        if let Some(by) = by {
            verifiers::note_report(
                &mut evidence.verifiers,
                VerifierReport { by, finding: Some(Finding::Alive) },
            );
        }
        Some(Ended {
            suspect: *member,
            verdict: Verdict::Alive,
            is_accused: !evidence.accusations.is_empty(),
            evidence: Arc::new(evidence),
            is_official: true,
            tokens: Vec::new(),
            standing: None,
        })
    }

    fn arm_check(&mut self, scene: Scene<'_>, suspect: MemberId) {
        if let Some(check) = self.running.get(&suspect) {
            let due = check.due(scene);
            self.arm(due);
        }
    }

    fn arm(&mut self, at: Timestamp) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }
}

#[cfg(test)]
mod tests;
