//! `Health`: watching, suspicions, final checks and verifications put together. It owns no clock about others:
//! those stand in [`Contacts`](crate::health::contacts::Contacts), which the node keeps.

mod commands;
mod ending;
mod office;
mod signs;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;

use crate::event::{Event, MemberStatus};
use crate::evidence::{Finding, ProbeOutcome, Reason};
use crate::health::accusations::Accusations;
use crate::health::clearing::Clearings;
use crate::health::contacts::Contact;
use crate::health::final_check::{FinalChecks, Standing};
use crate::health::link_watch::LinkWatch;
use crate::health::signs::Signs;
use crate::health::suspicion::Suspicions;
use crate::health::verification::Verifications;
use crate::health::watch::{Knowledge, Watch};
use crate::member::MemberId;
use crate::message::{AccusationId, Answers, CheckId, DatagramBody, Flags, RequestId, SuspectRequest};
use crate::outbox::Outbox;
use crate::output::{CommandResult, ProbeId};
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::timer::WakeReason;

use ending::link_report;

/// What this member knows and does about the health of the others.
///
/// `handle_*` take what arrives and what becomes due; `poll_timeout` says when to call `handle_timeout`; the rest are
/// questions. The contacts of the scene already contain the message that is being handled.
#[derive(Debug)]
pub(crate) struct Health {
    rng: Rng,
    watch: Watch,
    suspicions: Suspicions,
    accusations: Accusations,
    clearings: Clearings,
    finals: FinalChecks,
    verifications: Verifications,
    signs: Signs,
    /// From when on the others may be sounded out again.
    sound_out_from: Timestamp,
    /// Members of which the application was told that they are suspected, and not yet that they are cleared.
    announced: BTreeSet<MemberId>,
    /// Not later than the next moment at which somebody may have been silent for R.
    sweep_at: Timestamp,
    /// When a member was last accused because another incarnation was met at its address.
    replaced_at: BTreeMap<MemberId, Timestamp>,
    /// When a member was last looked at because a joiner wants its name.
    name_wanted_at: BTreeMap<MemberId, Timestamp>,
    links: LinkWatch,
}

impl Health {
    /// A monitor that knows of nobody; `seed` is its chance, for ids that can't be guessed.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            watch: Watch::default(),
            suspicions: Suspicions::default(),
            accusations: Accusations::default(),
            clearings: Clearings::default(),
            finals: FinalChecks::default(),
            verifications: Verifications::default(),
            signs: Signs::default(),
            sound_out_from: Timestamp::ZERO,
            announced: BTreeSet::new(),
            sweep_at: Timestamp::ZERO,
            replaced_at: BTreeMap::new(),
            name_wanted_at: BTreeMap::new(),
            links: LinkWatch::default(),
        }
    }

    /// Any message from a member of the view.
    pub(crate) fn handle_contact(&mut self, scene: Scene<'_>, contact: Contact, out: &mut Outbox) {
        if let Answers::Accusation(id) = contact.answers
            && contact.fresh
        {
            self.suspicions.handle_answer(id);
        }
        if let Some(ended) = self.finals.handle_contact(scene, &contact, out) {
            self.conclude(scene, ended, contact.from, out);
        }
        self.verifications.handle_contact(&contact, out);
        if !contact.counts {
            return;
        }
        self.watch.handle_contact(&contact.from);
        if let Some(is_recovered) = self.clearings.handle_contact(&contact, scene.timing()) {
            if is_recovered && !self.links.is_degraded(&contact.from) {
                out.event(Event::LinkRecovered(link_report(scene, &contact.from)));
            }
            // Patience shrinks: deadlines planned with more of it would come too late.
            self.watch.reconsider();
            self.sweep_at = scene.now;
        }
        self.end_suspicion(scene, contact.from, contact.from, out);
    }

    /// Somebody asks whether `target` lives.
    //= docs/protocol.md#fd-8
    pub(crate) fn handle_heartbeat_request(
        &self,
        scene: Scene<'_>,
        from: MemberId,
        target: MemberId,
        request: RequestId,
        out: &mut Outbox,
    ) {
        if scene.is_me(&target) && !scene.sick {
            out.datagram(from, DatagramBody::Heartbeat { answers: Answers::Request(request) });
        }
    }

    /// A member accuses others, or this one.
    //= docs/protocol.md#fd-16
    pub(crate) fn handle_suspect_members(
        &mut self,
        scene: Scene<'_>,
        from: MemberId,
        flags: Flags,
        accusation: AccusationId,
        requests: &[SuspectRequest],
        out: &mut Outbox,
    ) {
        let can_judge = !flags.isolated && !flags.paused && !flags.leaving && !flags.sick;
        let is_credible = can_judge && !self.is_suspect(&from) && !self.finals.is_running(&from);
        let mut accused = Vec::new();
        if requests.iter().any(|request| scene.is_me(&request.member)) {
            self.defend(scene, from, out);
        }
        for request in requests {
            let is_other = !scene.is_me(&request.member) && request.member != from;
            if is_other && scene.contacts.get(&request.member).is_some() {
                accused.push(request.member);
                if self.accusations.note(scene.now, (from, accusation), request, is_credible) {
                    self.announce(scene, request.member, from, request.reason, request.silent_for, out);
                }
            }
        }
        if accused.is_empty() || !self.is_acting_checker(scene) {
            return;
        }
        //= docs/protocol.md#fd-15
        out.datagram(from, DatagramBody::Heartbeat { answers: Answers::Accusation(accusation) });
        for member in accused {
            if let Some(told) = self.accusations.standing(&member).find(|a| a.by == from) {
                self.finals.join(scene, &member, told);
            }
        }
        self.sweep(scene, out);
    }

    /// A checker cleared `member`. That is no contact with it, and a check that runs here sees for itself.
    //= docs/protocol.md#fd-2
    //= docs/protocol.md#fd-12
    pub(crate) fn handle_final_check_passed(
        &mut self,
        scene: Scene<'_>,
        from: MemberId,
        member: MemberId,
        out: &mut Outbox,
    ) {
        if scene.is_me(&member) || member == from || scene.contacts.get(&member).is_none() {
            return;
        }
        self.finals.handle_passed_elsewhere(&member);
        self.sweep_at = scene.now;
        if self.suspicions.is_suspect(&member) && !self.is_heard_lately(scene, &member) {
            self.clearings.clear_unheard(member, scene.now);
            self.report_link(scene, &member, out);
        } else {
            self.clearings.clear(member, scene.now);
        }
        self.end_suspicion(scene, member, from, out);
        self.watch.reconsider();
    }

    /// A checker wants this member to look at `suspect`.
    pub(crate) fn handle_verify_request(
        &mut self,
        scene: Scene<'_>,
        contact: &Contact,
        check: CheckId,
        suspect: MemberId,
        out: &mut Outbox,
    ) {
        self.verifications.handle_request(scene, contact, (check, suspect), &mut self.rng, out);
    }

    /// What a verifier found.
    pub(crate) fn handle_verify_reply(
        &mut self,
        scene: Scene<'_>,
        from: MemberId,
        check: CheckId,
        suspect: MemberId,
        finding: Finding,
        out: &mut Outbox,
    ) {
        let ended = self.finals.handle_verify_reply(scene, (from, check), &suspect, finding, out);
        if let Some(ended) = ended {
            self.conclude(scene, ended, scene.me.id, out);
        }
    }

    /// A fresh connection brought something. Returns whether it was one of these machines'.
    pub(crate) fn handle_probe_done(
        &mut self,
        scene: Scene<'_>,
        probe: ProbeId,
        outcome: ProbeOutcome,
        out: &mut Outbox,
    ) -> bool {
        let Some(ended) = self.finals.handle_probe_done(scene, probe, outcome, out) else {
            return self.verifications.handle_probe_done(scene, probe, outcome, out)
                || self.handle_look_done(scene, probe, outcome, out);
        };
        if let Some(ended) = ended {
            self.conclude(scene, ended, scene.me.id, out);
        }
        true
    }

    /// `by`, asked for a fence, has heard `member` since the final check began.
    pub(crate) fn handle_heard(
        &mut self,
        scene: Scene<'_>,
        member: MemberId,
        by: MemberId,
        out: &mut Outbox,
    ) {
        if let Some(ended) = self.finals.handle_heard(scene, &member, by, out) {
            self.conclude(scene, ended, scene.me.id, out);
        }
    }

    /// Another incarnation was met at the address of `member`: accused at most once each `check_timeout`, however
    /// often that happens.
    //= docs/protocol.md#vw-12
    pub(crate) fn handle_replaced(
        &mut self,
        scene: Scene<'_>,
        member: MemberId,
        other: MemberId,
        out: &mut Outbox,
    ) {
        let last = self.replaced_at.get(&member);
        let is_due = last.is_none_or(|at| scene.now.since(*at) >= scene.timing().check_timeout);
        if other != member && is_due && self.may_accuse(scene, &member) {
            self.replaced_at.insert(member, scene.now);
            self.raise(scene, &[member], Reason::Replaced, Some(other), out);
        }
    }

    /// Another view is in place, and the contacts are those of its members.
    pub(crate) fn handle_view_installed(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        self.watch.handle_view_installed(scene);
        self.suspicions.handle_view_installed(scene.view);
        self.accusations.handle_view_installed(scene.view);
        self.clearings.handle_view_installed(scene.view);
        self.verifications.handle_view_installed(scene, out);
        self.signs.handle_view_installed(scene, out);
        self.announced.retain(|id| scene.view.contains(id));
        self.replaced_at.retain(|id, _| scene.view.contains(id));
        self.name_wanted_at.retain(|id, _| scene.view.contains(id));
        for token in self.finals.handle_view_installed(scene, out) {
            out.command_done(token, CommandResult::NoSuchMember);
        }
        self.sweep(scene, out);
    }

    /// This process stood still: what runs is extended, and nobody is judged by what came before.
    //= docs/protocol.md#fd-18
    //= docs/protocol.md#fd-26
    pub(crate) fn handle_pause(&mut self, scene: Scene<'_>, pause: Duration) {
        self.watch.handle_pause(pause);
        self.suspicions.handle_pause(scene.now, pause);
        self.clearings.handle_pause(scene.now, pause);
        self.finals.handle_pause(scene.now, pause);
        self.verifications.handle_pause(pause);
        self.signs.handle_pause(pause);
    }

    /// Looks at the loss of every link; called once a heartbeat interval.
    pub(crate) fn watch_links(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        let clearings = &self.clearings;
        self.links.update(scene, &|id| clearings.is_degraded(id), out);
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        for ended in self.finals.handle_timeout(scene, out) {
            self.conclude(scene, ended, scene.me.id, out);
        }
        self.verifications.handle_timeout(scene, out);
        if scene.now >= self.sweep_at {
            self.sweep(scene, out);
        }
        let failed = self.watch_with(|watch, known, _| watch.end_checks(scene, known, out));
        if !failed.is_empty() {
            self.raise(scene, &failed, Reason::Silent, None, out);
        }
        self.watch_with(|watch, known, rng| watch.begin_checks(scene, known, rng, out));
        self.follow_subject(scene, out);
        self.repeat_looks(scene, out);
        self.tell(scene, out);
    }

    /// When to call [`Health::handle_timeout`] next, and why. Costs the same whatever the view's size.
    pub(crate) fn poll_timeout(&self) -> Option<(Timestamp, WakeReason)> {
        let deadlines = [
            Some(self.watch.poll_timeout()),
            self.suspicions.poll_timeout().map(|at| (at, WakeReason::Suspicion)),
            self.finals.poll_timeout().map(|at| (at, WakeReason::FinalCheck)),
            self.verifications.poll_timeout().map(|at| (at, WakeReason::Verification)),
            self.signs.poll_timeout().map(|at| (at, WakeReason::Watch)),
            Some((self.sweep_at, WakeReason::Sweep)),
        ];
        deadlines.into_iter().flatten().filter(|(at, _)| *at < Timestamp::FAR_FUTURE).min()
    }

    /// The verdict of this member that stands against `id`.
    pub(crate) fn standing(&self, id: &MemberId) -> Option<&Standing> {
        self.finals.standing(id)
    }

    /// All verdicts of this member that stand.
    pub(crate) fn standings(&self) -> impl Iterator<Item = (&MemberId, &Standing)> {
        self.finals.standings()
    }

    /// The latest moment, not after `limit`, at which a running final check may end as silent.
    //= docs/protocol.md#vw-1
    pub(crate) fn latest_check_end_before(&self, scene: Scene<'_>, limit: Timestamp) -> Option<Timestamp> {
        self.finals.latest_end_before(scene, limit)
    }

    /// The latest moment until which a running final check is likely to prove that its member is gone.
    //= docs/protocol.md#vw-1
    pub(crate) fn proof_expected_until(&self, scene: Scene<'_>) -> Option<Timestamp> {
        self.finals.proof_expected_until(scene)
    }

    /// Whether this member suspects `id` or holds a verdict against it.
    pub(crate) fn is_suspect(&self, id: &MemberId) -> bool {
        self.suspicions.is_suspect(id) || self.finals.standing(id).is_some()
    }

    /// How `id` looks from here.
    pub(crate) fn status_of(&self, id: &MemberId) -> MemberStatus {
        if self.finals.is_running(id) {
            MemberStatus::Checking
        } else if self.is_suspect(id) || self.accusations.is_accused(id) {
            MemberStatus::Suspect
        } else if self.watch.is_checking(id) {
            MemberStatus::Checking
        } else {
            MemberStatus::Alive
        }
    }

    /// Since when the oldest suspicion stands, raised here or told here, for which whoever is in office has done nothing.
    pub(crate) fn unanswered_since(&self) -> Option<Timestamp> {
        [self.suspicions.oldest(), self.accusations.oldest()].into_iter().flatten().min()
    }

    fn watch_with<R>(&mut self, work: impl FnOnce(&mut Watch, Knowledge<'_>, &mut Rng) -> R) -> R {
        let Self { rng, watch, suspicions, clearings, finals, .. } = self;
        let is_suspect = |id: &MemberId| suspicions.is_suspect(id) || finals.standing(id).is_some();
        work(watch, Knowledge { clearings, is_suspect: &is_suspect }, rng)
    }
}
