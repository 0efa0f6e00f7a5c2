//! Who is to run final checks, and which: the part of [`Health`] that looks at the order of office.

use std::collections::BTreeSet;

use crate::evidence::Reason;
use crate::health::accusations::Accusation;
use crate::health::final_check::Order;
use crate::member::MemberId;
use crate::message::{Answers, DatagramBody, RequestId};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::scene::Scene;
use crate::time::Timestamp;

use super::Health;

impl Health {
    /// Whether this member is first in office among those of whom nothing bad is known: it runs final checks.
    //= docs/protocol.md#fd-11
    //= docs/protocol.md#fd-17
    pub(crate) fn is_acting_checker(&self, scene: Scene<'_>) -> bool {
        scene
            .view
            .office()
            .map(|m| m.id)
            .take_while(|id| !scene.is_me(id))
            .all(|id| self.is_out_of_office(scene, &id))
    }

    /// Begins the final checks that are this member's to begin, and plans the next look.
    pub(super) fn sweep(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        let is_acting = self.is_acting_checker(scene);
        if is_acting {
            let found = self.candidates(scene);
            self.begin_final_checks(scene, &found, true, out);
        }
        self.sweep_at = self.next_sweep(scene, is_acting);
    }

    /// Begins final checks of members that have none.
    pub(super) fn begin_final_checks(
        &mut self,
        scene: Scene<'_>,
        found: &[(MemberId, Reason)],
        is_official: bool,
        out: &mut Outbox,
    ) {
        let mut doubtful: BTreeSet<MemberId> = found.iter().map(|(id, _)| *id).collect();
        doubtful.extend(self.suspicions.suspects().chain(self.accusations.accused()));
        doubtful.extend(self.finals.standings().map(|(id, _)| id).chain(self.finals.running()));
        for (suspect, reason) in found {
            self.report_start(scene, suspect, *reason, out);
            let order = Order {
                suspect: *suspect,
                reason: *reason,
                is_official,
                accusations: self.accusations_of(scene, suspect),
                is_suspect: &|id| doubtful.contains(id),
            };
            self.finals.begin(scene, order, &mut self.rng, out);
        }
        self.sweep_at = scene.now;
        if found.iter().any(|(_, reason)| *reason == Reason::Refused) {
            self.sound_out(scene, out);
        }
    }

    /// A joiner wants the name of `member`: it may be its successor on another port, so this member looks whether that one
    /// lives, at most once each `check_timeout`.
    //= docs/protocol.md#vw-11
    pub(crate) fn handle_name_wanted(&mut self, scene: Scene<'_>, member: MemberId, out: &mut Outbox) {
        let last = self.name_wanted_at.get(&member);
        let is_due = last.is_none_or(|at| scene.now.since(*at) >= scene.timing().check_timeout);
        let is_known = !scene.is_me(&member) && scene.contacts.get(&member).is_some();
        if is_due && is_known && !scene.isolated && self.is_open(&member) {
            self.name_wanted_at.insert(member, scene.now);
            let is_official = self.is_acting_checker(scene);
            self.begin_final_checks(scene, &[(member, Reason::Requested)], is_official, out);
        }
    }

    /// Puts one question to each of `members`.
    //= docs/protocol.md#lv-4
    pub(crate) fn ask_once(&mut self, scene: Scene<'_>, members: &[MemberId], out: &mut Outbox) {
        for id in members.iter().filter(|id| !scene.is_me(id)) {
            let request = RequestId(self.rng.u64(..));
            out.datagram(
                *id,
                DatagramBody::HeartbeatRequest { target: *id, request, reason: Reason::Silent },
            );
        }
    }

    /// This member is accused: it shows that it lives, to the accuser and to whoever is in office.
    //= docs/protocol.md#fd-14
    pub(super) fn defend(&self, scene: Scene<'_>, accuser: MemberId, out: &mut Outbox) {
        if scene.sick {
            return;
        }
        let heartbeat = || DatagramBody::Heartbeat { answers: Answers::Nothing };
        out.datagram(accuser, heartbeat());
        let acting = scene.view.office().map(|m| m.id).find(|id| scene.is_me(id) || !self.is_suspect(id));
        if let Some(acting) = acting.filter(|id| !scene.is_me(id) && *id != accuser) {
            out.datagram(acting, heartbeat());
        }
    }

    fn is_out_of_office(&self, scene: Scene<'_>, id: &MemberId) -> bool {
        let Some(record) = scene.contacts.get(id) else { return true };
        let is_idle = scene.coordinator_is_idle && scene.view.coordinator().id == *id;
        is_idle
            || self.is_suspect(id)
            || self.is_accused_here(scene, id)
            || record.flags().leaving
            || record.silence(scene.now) >= scene.timing().removal_silence()
    }

    /// Whether somebody accuses it on whose word, or with whose word, this member acts: that of a member which can't
    /// judge makes it look for itself.
    //= docs/protocol.md#fd-16
    fn is_accused_here(&self, scene: Scene<'_>, id: &MemberId) -> bool {
        self.accusations.is_credibly_accused(id)
            || self.accusations.is_accused(id) && self.is_silent_for_short(scene, id)
    }

    fn is_silent_for_short(&self, scene: Scene<'_>, id: &MemberId) -> bool {
        let record = scene.contacts.get(id).filter(|r| r.is_expected());
        let since = record.map_or(scene.now, |r| self.clearings.watched_since(r));
        scene.now.since(since) > scene.timing().short_silence()
    }

    fn accusations_of(&self, scene: Scene<'_>, id: &MemberId) -> Vec<Accusation> {
        let own = self.suspicions.as_accusation(scene, id);
        own.into_iter().chain(self.accusations.standing(id).cloned()).collect()
    }

    /// Whether a final check of it can begin: none runs and no verdict stands.
    fn is_open(&self, id: &MemberId) -> bool {
        let is_running = self.finals.is_running(id) && !planted::is(Planted::ChecksReplaceEachOther);
        !is_running && self.finals.standing(id).is_none()
    }

    /// Whom to check. One that is isolated looks at those that are accused: by silence it would check everybody, for
    /// verdicts on which nobody can decide. Where it hears a majority all the same, it looks at those before it in office
    /// too, for where all are isolated by fences only a new view lifts them.
    fn candidates(&self, scene: Scene<'_>) -> Vec<(MemberId, Reason)> {
        let before_me: Vec<MemberId> =
            scene.view.office().map(|m| m.id).take_while(|id| !scene.is_me(id)).collect();
        let mut found = Vec::new();
        let mut beside = Vec::new();
        for id in scene.others().map(|m| m.id).filter(|id| self.is_open(id)) {
            if let Some(reason) = self.accused_reason(scene, &id) {
                found.push((id, reason));
            } else if scene.now >= self.silent_too_long_at(scene, &id)
                && (!scene.isolated || scene.hears_majority && before_me.contains(&id))
            {
                let in_office = before_me.contains(&id);
                found.push((id, if in_office { Reason::InOffice } else { Reason::Silent }));
            } else if self.is_silent_for_short(scene, &id)
                && !self.clearings.is_doubtful(&id)
                && !scene.isolated
            {
                beside.push((id, Reason::SilentBesideAnother));
            }
        }
        //= docs/protocol.md#fd-23
        if !found.is_empty() || self.finals.is_any_official() {
            found.append(&mut beside);
        }
        found
    }

    fn accused_reason(&self, scene: Scene<'_>, id: &MemberId) -> Option<Reason> {
        let is_accused = self.suspicions.is_suspect(id) || self.is_accused_here(scene, id);
        if !is_accused || !self.finals.may_begin_for_accusation(scene, id) {
            return None;
        }
        self.accusations_of(scene, id).first().map(|a| a.reason)
    }

    fn silent_too_long_at(&self, scene: Scene<'_>, id: &MemberId) -> Timestamp {
        let record = scene.contacts.get(id).filter(|r| r.is_expected());
        record.map_or(Timestamp::FAR_FUTURE, |r| self.clearings.final_check_due(r, scene.timing()))
    }

    /// The next moment at which somebody is silent for long enough. Where somebody is and nothing can be done about it
    /// at present, it looks again after a heartbeat: offices change without a message of their own.
    fn next_sweep(&self, scene: Scene<'_>, is_acting: bool) -> Timestamp {
        let look_beside = is_acting && !scene.isolated && self.finals.is_any_official();
        let soon = scene.now + scene.timing().heartbeat_interval;
        let short = scene.timing().short_silence();
        let mut accused = self.suspicions.suspects().chain(self.accusations.accused());
        let is_waiting = |id: &MemberId| {
            self.is_open(id) && (self.suspicions.is_suspect(id) || self.is_accused_here(scene, id))
        };
        let mut next = if accused.any(is_waiting) { soon } else { Timestamp::FAR_FUTURE };
        for (_, record) in scene.contacts.expected() {
            let id = record.id();
            if scene.is_me(&id) || !self.is_open(&id) {
                continue;
            }
            let mut at = self.clearings.final_check_due(record, scene.timing());
            if look_beside && !self.clearings.is_doubtful(&id) {
                at =
                    at.min(self.clearings.watched_since(record) + short + std::time::Duration::from_nanos(1));
            }
            next = next.min(if at <= scene.now { soon } else { at });
        }
        next
    }
}
