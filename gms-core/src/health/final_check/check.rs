//! One final check: everything is asked at once, and what comes back decides.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use crate::config::CrashDetection;
use crate::evidence::{ACCUSATIONS_MAX, Evidence, Finding, ProbeOutcome, Reason, Verdict};
use crate::health::accusations::Accusation;
use crate::health::asking::{Asking, TIMES, is_proof_of_life};
use crate::health::contacts::Contact;
use crate::input::CommandToken;
use crate::member::MemberId;
use crate::message::{CheckId, CheckRequest};
use crate::outbox::Outbox;
use crate::output::{CheckTarget, ProbeId};
use crate::planted::{self, Planted};
use crate::scene::Scene;
use crate::time::Timestamp;

use super::verifiers::{self, Verifiers, Wanted};
use super::{Ended, Order, Standing};

/// Graces for which a removal waits for the proof of another death: a grace each for the other member's refusal to
/// arrive, for the grace itself, and for a loaded machine.
const PROOF_GRACES: u32 = 5;
/// Most users that wait for one verdict.
const USERS_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct FinalCheck {
    id: CheckId,
    suspect: MemberId,
    reason: Reason,
    is_official: bool,
    accusations: Vec<Accusation>,
    more_accusations: u32,
    tokens: Vec<CommandToken>,
    began: Timestamp,
    ends: Timestamp,
    /// From when on any contact is one that was sent after the check began.
    late_from: Timestamp,
    asking: Asking,
    probe: Option<ProbeId>,
    outcome: Option<ProbeOutcome>,
    /// When this member was last refused.
    refused_at: Option<Timestamp>,
    verifiers: Verifiers,
    /// A datagram to it found nobody since the check began.
    is_unreachable: bool,
    /// Two members were refused: when it counts.
    grace_ends: Option<Timestamp>,
}

impl FinalCheck {
    pub(super) fn new(scene: Scene<'_>, order: Order<'_>, rng: &mut Rng) -> Self {
        let span = scene.timing().final_check_timeout;
        let suspect = order.suspect;
        let wanted = Wanted { suspect, accusations: &order.accusations, is_barred: order.is_suspect };
        let chosen = verifiers::choose(scene, &wanted, usize::from(scene.timing().verifiers), rng);
        let id = CheckId(rng.u64(..));
        let mut check = Self {
            id,
            suspect,
            reason: order.reason,
            is_official: order.is_official,
            accusations: Vec::new(),
            more_accusations: 0,
            tokens: Vec::new(),
            began: scene.now,
            ends: scene.now + span,
            late_from: scene.now + scene.timing().removal_silence(),
            asking: Asking::new(rng, scene.now, span, order.suspect, order.reason),
            probe: None,
            outcome: None,
            refused_at: None,
            verifiers: Verifiers::new(id, suspect, chosen),
            is_unreachable: false,
            grace_ends: None,
        };
        for accusation in order.accusations {
            check.add(accusation);
        }
        check
    }

    pub(super) const fn id(&self) -> CheckId {
        self.id
    }

    pub(super) const fn suspect(&self) -> MemberId {
        self.suspect
    }

    pub(super) const fn is_official(&self) -> bool {
        self.is_official
    }

    pub(super) fn is_probed_by(&self, probe: ProbeId) -> bool {
        self.probe == Some(probe)
    }

    /// A further accusation, for which the verdict is to stand.
    pub(super) fn join(&mut self, scene: Scene<'_>, accusation: Accusation) {
        self.is_official = true;
        self.add(accusation);
        self.consider_grace(scene);
    }

    /// Adds to the record. An accuser that is known already says nothing new.
    fn add(&mut self, accusation: Accusation) {
        if self.accusations.iter().any(|a| a.by == accusation.by) {
            return;
        }
        if self.accusations.len() == ACCUSATIONS_MAX {
            self.more_accusations = self.more_accusations.saturating_add(1);
        } else {
            self.accusations.push(accusation);
        }
    }

    pub(super) fn join_user(&mut self, token: CommandToken) -> bool {
        let has_room = self.tokens.len() < USERS_MAX;
        if has_room {
            self.tokens.push(token);
        }
        has_room
    }

    /// Asks the suspect on both channels, and the verifiers.
    //= docs/protocol.md#fd-19
    pub(super) fn ask(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if self.outcome == Some(ProbeOutcome::Sick) {
            self.asking.skip(scene.now);
            return;
        }
        let ask_verifiers = self.asking.sent() < TIMES;
        self.asking.ask(scene.now, out);
        self.ask_connection(scene, out);
        if ask_verifiers {
            self.verifiers.ask(out);
        }
    }

    /// A verifier is a suspect itself: another one is asked, as long as its word may be of use. Those who died together would
    /// wait for each other's until the requests are repeated.
    //= docs/protocol.md#fd-19
    pub(super) fn replace_verifier(
        &mut self,
        scene: Scene<'_>,
        verifier: &MemberId,
        is_suspect: &dyn Fn(&MemberId) -> bool,
        rng: &mut Rng,
        out: &mut Outbox,
    ) {
        if self.outcome != Some(ProbeOutcome::Sick) && self.grace_ends.is_none() {
            let (suspect, accusations) = (self.suspect, &self.accusations);
            let wanted = Wanted { suspect, accusations, is_barred: is_suspect };
            self.verifiers.replace(scene, verifier, &wanted, rng, out);
        }
    }

    /// What fresh contact proves. What was read R after the check began was sent after it, for no path holds a
    /// datagram for so long: a member that hears nothing of this one, and so echoes nothing, is no subject for ever.
    pub(super) fn is_alive_by(&self, contact: &Contact) -> bool {
        is_proof_of_life(contact, self.began, self.asking.request())
            || contact.counts && contact.at >= self.late_from
    }

    /// Takes a verifier's word, `alive` included. Returns whether it was asked.
    pub(super) fn handle_finding(
        &mut self,
        scene: Scene<'_>,
        by: MemberId,
        finding: Finding,
        out: &mut Outbox,
    ) -> bool {
        if planted::is(Planted::AliveIsIgnored) && finding == Finding::Alive {
            return false;
        }
        let Some(is_news) = self.verifiers.take(by, finding) else { return false };
        if is_news && matches!(finding, Finding::Other(other) if other != scene.me.id) {
            self.ask_connection(scene, out);
        }
        self.consider_grace(scene);
        true
    }

    pub(super) fn note_finding(&mut self, by: MemberId, finding: Finding) {
        self.verifiers.note(by, finding);
    }

    /// Takes what the connection brought. Returns the verdict, if that decides.
    pub(super) fn handle_probe_done(&mut self, scene: Scene<'_>, outcome: ProbeOutcome) -> Option<Verdict> {
        self.probe = None;
        let is_refusal = planted::is(Planted::ResetIsRefusal) && outcome == ProbeOutcome::Reset;
        let outcome = if is_refusal { ProbeOutcome::Refused } else { outcome };
        match outcome {
            ProbeOutcome::TimedOut if planted::is(Planted::AcceptedIsAlive) => Some(Verdict::Alive),
            ProbeOutcome::Ok => {
                self.outcome = Some(outcome);
                Some(Verdict::Alive)
            }
            //= docs/protocol.md#fd-21
            ProbeOutcome::Other(other) if !scene.is_me(&other) && other != self.suspect => {
                self.outcome = Some(outcome);
                Some(Verdict::Gone)
            }
            ProbeOutcome::Elsewhere => {
                self.outcome = Some(outcome);
                Some(Verdict::Gone)
            }
            //= docs/protocol.md#fd-28
            ProbeOutcome::Refused | ProbeOutcome::Sick => {
                self.outcome = Some(outcome);
                self.refused_at = (outcome == ProbeOutcome::Refused).then_some(scene.now);
                self.consider_grace(scene);
                None
            }
            // Silence: a stopped process keeps its listener, and its kernel accepts.
            //= docs/protocol.md#fd-31
            ProbeOutcome::Other(_)
            | ProbeOutcome::Reset
            | ProbeOutcome::TimedOut
            | ProbeOutcome::Unreachable
            | ProbeOutcome::Garbage => {
                let is_weaker = matches!(self.outcome, Some(ProbeOutcome::Refused | ProbeOutcome::Sick));
                self.outcome = self.outcome.filter(|_| is_weaker).or(Some(outcome));
                None
            }
            ProbeOutcome::LocalFault => {
                self.outcome = self.outcome.or(Some(outcome));
                None
            }
        }
    }

    /// A datagram to it found nobody: where refusals have proved the rest, nothing is waited for.
    //= docs/protocol.md#fd-21
    pub(super) fn note_unreachable(&mut self, now: Timestamp) {
        self.is_unreachable = true;
        self.grace_ends = self.grace_ends.map(|ends| ends.min(now));
    }

    /// The verdict that time alone brings.
    //= docs/protocol.md#fd-22
    pub(super) fn verdict(&self, scene: Scene<'_>) -> Option<Verdict> {
        if self.grace_ends.is_some_and(|end| scene.now >= end) {
            return Some(Verdict::Gone);
        }
        (scene.now >= self.silent_at(scene)).then_some(Verdict::Silent)
    }

    /// When it ends as silent if nothing comes: its time is up and the silence has lasted R.
    //= docs/protocol.md#fd-22
    pub(super) fn silent_at(&self, scene: Scene<'_>) -> Timestamp {
        let last = scene.contacts.get(&self.suspect).map_or(scene.now, |r| r.silent_since(self.began));
        let silence = scene.timing().removal_silence();
        self.ends.max(if planted::is(Planted::VerdictBeforeR) { last } else { last + silence })
    }

    pub(super) fn due(&self, scene: Scene<'_>) -> Timestamp {
        let grace = self.grace_ends.unwrap_or(Timestamp::FAR_FUTURE);
        self.silent_at(scene).min(self.asking.next_at()).min(grace)
    }

    pub(super) fn handle_timeout(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if self.asking.is_due(scene.now) {
            self.ask(scene, out);
        }
    }

    pub(super) fn move_by(&mut self, pause: Duration) {
        self.ends = self.ends + pause;
        self.late_from = self.late_from + pause;
        self.asking.move_by(pause);
        self.grace_ends = self.grace_ends.map(|end| end + pause);
    }

    /// Ends without a verdict; returns the users that wait.
    pub(super) fn abandon(self, out: &mut Outbox) -> Vec<CommandToken> {
        if let Some(probe) = self.probe {
            out.stop_probe(probe);
        }
        self.tokens
    }

    /// Ends with a verdict.
    pub(super) fn end(self, scene: Scene<'_>, verdict: Verdict, out: &mut Outbox) -> Ended {
        let record = scene.contacts.get(&self.suspect);
        let last = record.map_or(scene.now, |r| r.silent_since(self.began));
        let evidence = Arc::new(Evidence {
            checker: scene.me.id,
            reason: self.reason,
            accusations: self.accusations.iter().map(|a| a.record(scene.now)).collect(),
            more_accusations: self.more_accusations,
            silent_for: scene.now.since(last),
            check_took: scene.now.since(self.began),
            requests_sent: self.asking.sent(),
            probe: self.outcome,
            verifiers: self.verifiers.reports().to_vec(),
            verdict,
            fenced_by: Vec::new(),
        });
        let standing = (verdict != Verdict::Alive).then(|| Standing {
            verdict,
            evidence: Arc::clone(&evidence),
            check: self.id,
            began: self.began,
            silence_limit: last + scene.timing().member_timeout * 3 / 2,
            request: self.asking.request(),
            rests_on_one_refusal: self.rests_on_one_refusal(scene, verdict),
            late_from: self.late_from,
        });
        Ended {
            suspect: self.suspect,
            verdict,
            evidence,
            is_official: self.is_official,
            is_accused: !self.accusations.is_empty(),
            tokens: self.abandon(out),
            standing,
        }
    }

    /// Makes a fresh connection, unless one is being made or has said all.
    fn ask_connection(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        if self.probe.is_some() || self.grace_ends.is_some() || self.outcome == Some(ProbeOutcome::Sick) {
            return;
        }
        if let Some(target) = check_target(scene, &self.suspect) {
            let left = self.ends.since(scene.now).max(self.asking.step());
            self.probe = Some(out.start_probe(target, left));
        }
    }

    /// Until when proof that the process is gone is likely to follow: what refuses a connection to this member refuses
    /// the others' next.
    pub(super) fn proof_expected_until(&self, scene: Scene<'_>) -> Option<Timestamp> {
        let begins = match self.outcome {
            None => self.began,
            Some(ProbeOutcome::Refused) => self.refused_at.unwrap_or(self.began),
            Some(_) => return None,
        };
        Some((begins + self.grace(scene) * PROOF_GRACES).min(self.ends))
    }

    fn grace(&self, scene: Scene<'_>) -> Duration {
        let timing = scene.timing();
        let rtt = scene.contacts.get(&self.suspect).and_then(|r| r.link().rtt()).unwrap_or_default();
        timing.refused_grace.max(rtt * 4).min(timing.final_check_timeout)
    }

    /// Another view is in place. Where it has a third member, one refusal is no proof any more.
    //= docs/protocol.md#fd-21
    pub(super) fn handle_view_installed(&mut self, scene: Scene<'_>) {
        if self.grace_ends.is_some() && !self.is_refused_to_enough(scene) {
            self.grace_ends = None;
        }
    }

    /// Whether somebody beside this member was refused, where there is a third.
    fn is_refused_to_enough(&self, scene: Scene<'_>) -> bool {
        scene.view.len() <= 2 || self.is_refused_to_others(scene) || planted::is(Planted::OneRefusalIsProof)
    }

    fn is_refused_to_others(&self, scene: Scene<'_>) -> bool {
        self.verifiers.is_any_refused()
            || self.accusations.iter().any(|a| a.saw_it_gone && !scene.is_me(&a.by))
    }

    fn rests_on_one_refusal(&self, scene: Scene<'_>, verdict: Verdict) -> bool {
        let is_refused_here = verdict == Verdict::Gone && self.outcome == Some(ProbeOutcome::Refused);
        is_refused_here && scene.view.len() <= 2 && !self.is_refused_to_others(scene)
    }

    /// Begins the grace when this member was refused and, where there is a third member, another one was refused too
    /// or met another incarnation there.
    //= docs/protocol.md#fd-21
    fn consider_grace(&mut self, scene: Scene<'_>) {
        let is_strict = scene.timing().crash_detection == CrashDetection::Strict;
        if is_strict || self.outcome != Some(ProbeOutcome::Refused) || self.grace_ends.is_some() {
            return;
        }
        if !self.is_refused_to_enough(scene) {
            return;
        }
        let grace = if self.is_unreachable { Duration::ZERO } else { self.grace(scene) };
        self.grace_ends = Some(scene.now + grace);
    }
}

/// The fresh connection to `suspect` and the question to put there.
pub(in crate::health) fn check_target(scene: Scene<'_>, suspect: &MemberId) -> Option<CheckTarget> {
    let address = scene.view.member(suspect)?.endpoint.check_addr;
    let request = CheckRequest { cluster: scene.view.cluster(), target: *suspect, view: scene.view.id() };
    Some(CheckTarget { address, request })
}
