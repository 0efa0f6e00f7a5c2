//! One queued joiner: what it was asked, what it answered, and whose restart it is.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use crate::evidence::{Evidence, ProbeOutcome, Reason, Verdict};
use crate::input::ReplyHandle;
use crate::member::{Member, MemberId, canonical};
use crate::message::{CheckRequest, DatagramBody, JoinRefusal, RequestId};
use crate::outbox::Outbox;
use crate::output::{CheckTarget, ProbeId};
use crate::scene::Scene;
use crate::time::Timestamp;

use super::refusal;

/// Shortest time between two tries to reach a joiner.
const TRY_AGAIN_MIN: Duration = Duration::from_millis(10);

/// What a step means for the queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// It stays.
    Waits,
    /// Another incarnation sits at its address: nobody waits for an answer any more.
    Vanished,
    /// It is refused.
    Refused(JoinRefusal),
}

/// A fresh connection: begun when, asking for whom.
#[derive(Clone, Copy, Debug)]
struct Probe {
    id: ProbeId,
    started: Timestamp,
    target: MemberId,
}

/// A fresh connection on which the joiner answered.
#[derive(Clone, Copy, Debug)]
struct Connected {
    started: Timestamp,
    at: Timestamp,
    /// Who was asked for: the joiner, or the member whose restart it is.
    target: MemberId,
}

#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) member: Arc<Member>,
    /// The connection of its newest join.
    pub(super) reply: ReplyHandle,
    pub(super) arrived: Timestamp,
    /// Since when it has been asked to show itself; T later it is given up.
    asked_since: Timestamp,
    request: RequestId,
    heard_at: Option<Timestamp>,
    connected: Option<Connected>,
    probe: Option<Probe>,
    /// The member of the view whose address it has.
    old: Option<MemberId>,
    due: Timestamp,
    /// When to look again whether a member has its name.
    name_due: Timestamp,
}

impl Candidate {
    pub(super) fn new(now: Timestamp, member: Member, reply: ReplyHandle) -> Self {
        Self {
            member: Arc::new(with_canonical_addresses(member)),
            reply,
            arrived: now,
            asked_since: now,
            request: RequestId::default(),
            heard_at: None,
            connected: None,
            probe: None,
            old: None,
            due: now,
            name_due: Timestamp::FAR_FUTURE,
        }
    }

    /// Whether a further join says the same as the first.
    pub(super) fn is_same_record(&self, member: &Member) -> bool {
        *self.member == with_canonical_addresses(member.clone())
    }

    pub(super) fn due(&self) -> Timestamp {
        self.due.min(self.name_due)
    }

    /// Refuses it where the member that has its name turns out to live, or not to answer for the moment.
    //= docs/protocol.md#vw-11
    pub(super) fn look_at_name(&mut self, scene: Scene<'_>) -> Progress {
        if scene.now < self.name_due {
            return Progress::Waits;
        }
        self.plan_look_at_name(scene);
        refusal::of_name(scene, &self.member, self.arrived).map_or(Progress::Waits, Progress::Refused)
    }

    fn plan_look_at_name(&mut self, scene: Scene<'_>) {
        let is_held = refusal::namesake(scene, &self.member).is_some();
        self.name_due = if is_held { try_again(scene) } else { Timestamp::FAR_FUTURE };
    }

    pub(super) fn is_probed_by(&self, probe: ProbeId) -> bool {
        self.probe.is_some_and(|p| p.id == probe)
    }

    /// Whether it answered a datagram and a fresh connection, and the member whose restart it is has been quiet since
    /// that connection was begun.
    //= docs/protocol.md#vw-12
    //= docs/protocol.md#vw-13
    pub(super) fn is_proved(&self, scene: Scene<'_>) -> bool {
        self.heard_at.is_some() && self.is_connected(scene)
    }

    fn is_connected(&self, scene: Scene<'_>) -> bool {
        let Some(connected) = self.connected else { return false };
        let Some(old) = self.old.filter(|old| scene.view.contains(old)) else { return true };
        let contact = scene.contacts.get(&old).and_then(|record| record.contact_unmoved());
        connected.target == old && contact.is_none_or(|at| at < connected.started)
    }

    /// Whether a member that stays has its name, address or short id.
    pub(super) fn is_blocked(&self, scene: Scene<'_>) -> bool {
        let staying = scene.view.members().iter().map(|m| &*m.member).filter(|m| self.old != Some(m.id));
        refusal::clashes(staying, &self.member)
    }

    /// The member whose restart it is, with the proof that its process is gone.
    //= docs/protocol.md#vw-12
    pub(super) fn replaced(&self, scene: Scene<'_>) -> Option<(MemberId, Arc<Evidence>)> {
        let old = self.old.filter(|old| scene.view.contains(old))?;
        let connected = self.connected?;
        let silent_for = scene.contacts.get(&old).map(|record| record.silence(scene.now)).unwrap_or_default();
        let evidence = Evidence {
            checker: scene.me.id,
            reason: Reason::Replaced,
            accusations: Vec::new(),
            more_accusations: 0,
            silent_for,
            check_took: connected.at.since(connected.started),
            requests_sent: 0,
            probe: Some(ProbeOutcome::Other(self.member.id)),
            verifiers: Vec::new(),
            verdict: Verdict::Gone,
            fenced_by: Vec::new(),
        };
        Some((old, Arc::new(evidence)))
    }

    /// Takes a further join: the answer goes to the newest connection. A sign of life of the member whose restart it
    /// claims to be, since that was checked, makes it be checked again.
    pub(super) fn handle_join_again(
        &mut self,
        scene: Scene<'_>,
        reply: ReplyHandle,
        rng: &mut Rng,
        out: &mut Outbox,
    ) {
        self.reply = reply;
        if self.heard_at.is_some() && self.connected.is_some() && !self.is_proved(scene) {
            self.start_over(scene, rng, out);
        }
    }

    /// Begins to ask, or begins anew where another member than before has its address.
    pub(super) fn handle_view_installed(&mut self, scene: Scene<'_>, rng: &mut Rng, out: &mut Outbox) {
        self.plan_look_at_name(scene);
        let holder =
            scene.view.members().iter().map(|m| &*m.member).find(|m| refusal::share_address(m, &self.member));
        let old = holder.map(|m| m.id);
        let is_new = self.request == RequestId::default();
        if is_new || (old.is_some() && old != self.old) {
            self.old = old;
            self.start_over(scene, rng, out);
        }
    }

    /// Forgets what it answered and asks again.
    pub(super) fn start_over(&mut self, scene: Scene<'_>, rng: &mut Rng, out: &mut Outbox) {
        self.stop(out);
        self.request = RequestId(rng.u64(1..));
        self.heard_at = None;
        self.connected = None;
        self.asked_since = scene.now;
        self.ask(scene, out);
    }

    /// Gives up what is under way.
    pub(super) fn stop(&mut self, out: &mut Outbox) {
        if let Some(probe) = self.probe.take() {
            out.stop_probe(probe.id);
        }
    }

    pub(super) fn handle_heartbeat(&mut self, scene: Scene<'_>, request: RequestId) {
        if request == self.request && self.heard_at.is_none() {
            self.heard_at = Some(scene.now);
            self.rest_if_proved(scene);
        }
    }

    pub(super) fn handle_probe_done(&mut self, scene: Scene<'_>, outcome: ProbeOutcome) -> Progress {
        let Some(probe) = self.probe.take() else { return Progress::Waits };
        let asked_for_joiner = probe.target == self.member.id;
        match outcome {
            ProbeOutcome::Ok if !asked_for_joiner => return self.refuse_address(),
            ProbeOutcome::Sick if !asked_for_joiner => return self.refuse_address(),
            ProbeOutcome::Other(id) if id != self.member.id => return Progress::Vanished,
            // It has got into another cluster meanwhile.
            ProbeOutcome::Elsewhere => return Progress::Vanished,
            ProbeOutcome::Ok | ProbeOutcome::Other(_) => {
                let Probe { started, target, .. } = probe;
                self.connected = Some(Connected { started, at: scene.now, target });
                self.rest_if_proved(scene);
            }
            _ => {}
        }
        Progress::Waits
    }

    /// Repeats what was not answered; what was answered long ago is asked again.
    pub(super) fn handle_timeout(&mut self, scene: Scene<'_>, rng: &mut Rng, out: &mut Outbox) -> Progress {
        if scene.now < self.due {
            return Progress::Waits;
        }
        if self.is_proved(scene) {
            self.start_over(scene, rng, out);
        } else if scene.now >= self.asked_since + scene.timing().member_timeout {
            let endpoint = self.member.endpoint;
            let deaf = if self.heard_at.is_none() { endpoint.addr } else { endpoint.check_addr };
            return Progress::Refused(JoinRefusal::Unreachable(deaf.to_string()));
        } else {
            self.ask(scene, out);
        }
        Progress::Waits
    }

    //= docs/protocol.md#vw-13
    fn ask(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        let timing = scene.timing();
        let id = self.member.id;
        if self.heard_at.is_none() {
            let body = DatagramBody::HeartbeatRequest {
                target: id,
                request: self.request,
                reason: Reason::Requested,
            };
            out.datagram_to(self.member.endpoint.addr, id.short(), body);
        }
        if self.probe.is_none() && !self.is_connected(scene) {
            // Asked for the old incarnation, a restarted process names the new one: that proves both.
            let target = self.old.filter(|old| scene.view.contains(old)).unwrap_or(id);
            let request = CheckRequest { cluster: scene.view.cluster(), target, view: scene.view.id() };
            let address = self.member.endpoint.check_addr;
            let probe = out.start_probe(CheckTarget { address, request }, timing.check_timeout);
            self.probe = Some(Probe { id: probe, started: scene.now, target });
        }
        self.due = try_again(scene).min(self.asked_since + timing.member_timeout);
    }

    /// An answer is good for T: a joiner that waits longer for its turn may have died meanwhile.
    fn rest_if_proved(&mut self, scene: Scene<'_>) {
        if self.is_proved(scene) {
            self.due = scene.now + scene.timing().member_timeout;
        }
    }

    fn refuse_address(&self) -> Progress {
        Progress::Refused(JoinRefusal::AddressInUse(self.member.endpoint.addr.to_string()))
    }
}

/// When what was not answered is asked again.
fn try_again(scene: Scene<'_>) -> Timestamp {
    scene.now + (scene.timing().check_timeout / 4).max(TRY_AGAIN_MIN)
}

fn with_canonical_addresses(mut member: Member) -> Member {
    member.endpoint.addr = canonical(member.endpoint.addr);
    member.endpoint.check_addr = canonical(member.endpoint.check_addr);
    member
}
