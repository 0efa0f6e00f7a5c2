//! Suspecting: whom this member suspects, and telling those who may be in office.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;

use crate::evidence::Reason;
use crate::health::accusations::Accusation;
use crate::member::MemberId;
use crate::message::{AccusationId, DatagramBody, FrameBody, SUSPECT_REQUESTS_PER_DATAGRAM, SuspectRequest};
use crate::outbox::Outbox;
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::view::View;

/// Largest view in which everybody is told.
const EVERYONE_VIEW_MAX: usize = 9;

#[derive(Clone, Copy, Debug)]
struct Suspicion {
    since: Timestamp,
    reason: Reason,
    replaced_by: Option<MemberId>,
    round: AccusationId,
}

/// What became suspect together and is told together.
#[derive(Debug)]
struct Round {
    id: AccusationId,
    repeat_at: Timestamp,
    /// How many of those in office are told.
    width: usize,
    /// Whether anybody but the suspects was told.
    is_told: bool,
    /// Whether somebody in office answered since it was last told.
    is_answered: bool,
}

/// The own suspicions.
//= docs/protocol.md#fd-32
#[derive(Debug, Default)]
pub(super) struct Suspicions {
    suspects: BTreeMap<MemberId, Suspicion>,
    rounds: Vec<Round>,
}

impl Suspicions {
    /// Whether this member suspects `id`.
    pub(super) fn is_suspect(&self, id: &MemberId) -> bool {
        self.suspects.contains_key(id)
    }

    /// Everybody whom this member suspects.
    pub(super) fn suspects(&self) -> impl Iterator<Item = &MemberId> {
        self.suspects.keys()
    }

    /// Since when the oldest suspicion stands.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.suspects.values().map(|s| s.since).min()
    }

    /// The suspicion of `id` as an accusation.
    pub(super) fn as_accusation(&self, scene: Scene<'_>, id: &MemberId) -> Option<Accusation> {
        let suspicion = self.suspects.get(id)?;
        let silence = silence(scene, id, suspicion.since);
        Some(Accusation {
            by: scene.me.id,
            reason: suspicion.reason,
            silent_for: silence,
            saw_it_gone: suspicion.replaced_by.is_some() || suspicion.reason == Reason::Refused,
            at: suspicion.since,
        })
    }

    /// Suspects members that it did not suspect. They are told of when time is next believed.
    pub(super) fn raise(
        &mut self,
        scene: Scene<'_>,
        rng: &mut Rng,
        members: &[MemberId],
        reason: Reason,
        replaced_by: Option<MemberId>,
    ) {
        debug_assert!(members.iter().all(|id| scene.view.contains(id) && !scene.is_me(id)));
        let round = AccusationId(rng.u64(..));
        for id in members {
            self.suspects.insert(*id, Suspicion { since: scene.now, reason, replaced_by, round });
        }
        self.rounds.push(Round {
            id: round,
            repeat_at: scene.now,
            width: usize::from(scene.timing().suspect_recipients),
            is_told: false,
            is_answered: false,
        });
    }

    /// Ends the suspicion of `id`. Returns whether there was one.
    pub(super) fn end(&mut self, id: &MemberId) -> bool {
        let ended = self.suspects.remove(id).is_some();
        if ended {
            self.drop_empty_rounds();
        }
        ended
    }

    /// Somebody in office got the accusation.
    //= docs/protocol.md#fd-15
    pub(super) fn handle_answer(&mut self, accusation: AccusationId) {
        if let Some(round) = self.rounds.iter_mut().find(|r| r.id == accusation) {
            round.is_answered = true;
        }
    }

    /// When to tell again. Rounds are few: members that become suspect together share one.
    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.rounds.iter().map(|r| r.repeat_at).min()
    }

    /// Tells of the suspicions that are due. The acting checker looks for itself and tells the suspects alone, so
    /// that they defend themselves.
    //= docs/protocol.md#fd-13
    pub(super) fn handle_timeout(
        &mut self,
        scene: Scene<'_>,
        is_acting: bool,
        has_verdict: &dyn Fn(&MemberId) -> bool,
        out: &mut Outbox,
    ) {
        let suspects = &self.suspects;
        let avoid = |id: &MemberId| suspects.contains_key(id) || has_verdict(id);
        for round in self.rounds.iter_mut().filter(|r| scene.now >= r.repeat_at) {
            round.repeat_at = scene.now + scene.timing().check_timeout;
            if scene.isolated || scene.sick {
                continue;
            }
            let requests = requests(suspects, scene, round.id);
            for request in &requests {
                tell(request.member, round.id, std::slice::from_ref(request), out);
            }
            if !is_acting {
                round.tell(scene, &avoid, &requests, out);
            }
        }
    }

    /// Moves the clocks by a pause of this process.
    pub(super) fn handle_pause(&mut self, now: Timestamp, pause: Duration) {
        for round in &mut self.rounds {
            round.repeat_at = round.repeat_at + pause;
        }
        for suspicion in self.suspects.values_mut() {
            suspicion.since = now.min(suspicion.since + pause);
        }
    }

    /// Forgets members that are out.
    pub(super) fn handle_view_installed(&mut self, view: &View) {
        self.suspects.retain(|id, _| view.contains(id));
        self.drop_empty_rounds();
    }

    fn drop_empty_rounds(&mut self) {
        let suspects = &self.suspects;
        self.rounds.retain(|round| suspects.values().any(|s| s.round == round.id));
    }
}

impl Round {
    /// Tells those in office; twice as many as last time where nobody answered.
    fn tell(
        &mut self,
        scene: Scene<'_>,
        avoid: &dyn Fn(&MemberId) -> bool,
        requests: &[SuspectRequest],
        out: &mut Outbox,
    ) {
        if self.is_told && !self.is_answered {
            self.width = self.width.saturating_mul(2);
        }
        let width = if scene.view.len() <= EVERYONE_VIEW_MAX { scene.view.len() } else { self.width };
        let by_frame = !self.is_answered;
        for to in scene.view.office().map(|m| m.id).filter(|id| !scene.is_me(id) && !avoid(id)).take(width) {
            tell(to, self.id, &requests[..requests.len().min(SUSPECT_REQUESTS_PER_DATAGRAM)], out);
            if by_frame {
                out.frame(to, FrameBody::SuspectMembers { accusation: self.id, requests: requests.to_vec() });
            }
        }
        self.is_told = true;
        self.is_answered = false;
    }
}

/// How long `id` had been silent here by `at`; for one that sends no heartbeats here, how long it was asked in vain.
fn silence(scene: Scene<'_>, id: &MemberId, at: Timestamp) -> Duration {
    let check = scene.timing().check_timeout;
    scene.contacts.get(id).map_or(Duration::ZERO, |r| if r.is_expected() { r.silence(at) } else { check })
}

fn requests(
    suspects: &BTreeMap<MemberId, Suspicion>,
    scene: Scene<'_>,
    round: AccusationId,
) -> Vec<SuspectRequest> {
    let request = |(id, suspicion): (&MemberId, &Suspicion)| SuspectRequest {
        member: *id,
        reason: suspicion.reason,
        silent_for: silence(scene, id, scene.now),
        replaced_by: suspicion.replaced_by,
    };
    suspects.iter().filter(|(_, s)| s.round == round).map(request).collect()
}

fn tell(to: MemberId, accusation: AccusationId, requests: &[SuspectRequest], out: &mut Outbox) {
    out.datagram(to, DatagramBody::SuspectMembers { accusation, requests: requests.to_vec() });
}

#[cfg(test)]
mod tests;
