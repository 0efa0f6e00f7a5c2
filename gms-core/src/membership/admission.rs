//! The coordinator's side of joining: who is refused and why, who waits, and who has shown that it lives.
//!
//! A joiner goes through three stages: its join is refused or queued; it answers a datagram and a fresh connection;
//! it is admissible and stays queued until a view contains it. Every member has this machine; only the acting
//! coordinator queues, the others tell a joiner whom to ask.

mod candidate;
mod refusal;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;

use crate::config::TimingOverrides;
use crate::evidence::{Evidence, ProbeOutcome};
use crate::input::ReplyHandle;
use crate::member::{Member, MemberId, ShortId};
use crate::message::{ClusterInfo, FrameBody, JoinRefusal, RequestId};
use crate::outbox::Outbox;
use crate::output::ProbeId;
use crate::planted::{self, Planted};
use crate::quorum;
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::timer::WakeReason;

use candidate::{Candidate, Progress};

/// Joiners queued at once. Ten times the largest start of a cluster that is planned for would still fit.
const QUEUE_MAX: usize = 4096;
/// Joiners remembered by a member that is not the coordinator.
const WAITING_MAX: usize = 64;
/// Longest time for which a lone founder with seeds admits nobody.
const LONE_FOUNDER_WAIT_MAX: Duration = Duration::from_secs(2);

/// A join that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join<'a> {
    pub(crate) reply: ReplyHandle,
    pub(crate) cluster_name: &'a str,
    pub(crate) member: &'a Member,
    pub(crate) timing: &'a TimingOverrides,
}

/// What the node does about a join beyond what was put into the outbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admitted {
    /// Nothing: it is queued, refused or sent elsewhere.
    Handled,
    /// It is in the view already: send it the whole view again.
    ResendView,
    /// This member has its name: look whether it lives.
    NameHeldBy(MemberId),
}

/// Whom the next change may take in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Admissible {
    /// In the order of arrival.
    pub(crate) joiners: Vec<Arc<Member>>,
    /// Members whose restart is among the joiners: they leave in the same change.
    pub(crate) replaced: Vec<(MemberId, Arc<Evidence>)>,
}

/// A joiner that asked a member that can't admit it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    joiner: MemberId,
    since: Timestamp,
    last: Timestamp,
}

/// The admission machine.
#[derive(Debug)]
pub(crate) struct Admission {
    rng: Rng,
    queue: Vec<Candidate>,
    waiting: Vec<Waiting>,
    /// Until when this process, a lone founder with seeds, admits nobody.
    alone_until: Option<Timestamp>,
}

impl Admission {
    /// A machine without joiners.
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed), queue: Vec::new(), waiting: Vec::new(), alone_until: None }
    }

    /// This process founded the cluster although it has seeds: an older cluster has a moment to announce itself.
    //= docs/protocol.md#vw-10
    pub(crate) fn handle_founded_with_seeds(&mut self, scene: Scene<'_>) {
        let wait = (scene.timing().heartbeat_interval * 2).min(LONE_FOUNDER_WAIT_MAX);
        self.alone_until = Some(scene.now + wait);
    }

    /// Takes a join. `redirect` is what this member says about its cluster if it is not the acting coordinator.
    //= docs/protocol.md#vw-9
    //= docs/protocol.md#vw-11
    pub(crate) fn handle_join(
        &mut self,
        scene: Scene<'_>,
        join: Join<'_>,
        redirect: Option<ClusterInfo>,
        out: &mut Outbox,
    ) -> Admitted {
        let recipient = join.member.id.short();
        if let Some(refusal) = refusal::of_stranger(scene, &join) {
            refuse(join.reply, recipient, refusal, out);
            return Admitted::Handled;
        }
        if scene.view.contains(&join.member.id) {
            return Admitted::ResendView;
        }
        if let Some(info) = redirect {
            self.note_waiting(scene, join.member.id);
            out.reply(join.reply, recipient, FrameBody::Coordinator(info));
            return Admitted::Handled;
        }
        let known = self.queue.iter().position(|c| c.member.id == join.member.id);
        let since = known.map_or(scene.now, |place| self.queue[place].arrived);
        let refusal = refusal::of_joiner(scene, join.member, since);
        let looks = refusal.as_ref().is_none_or(|r| matches!(r, JoinRefusal::NameHeldBySilent(_)));
        let namesake = refusal::namesake(scene, join.member).filter(|_| looks).map(|m| m.id);
        match refusal {
            Some(refusal) => {
                if let Some(place) = known {
                    self.queue.remove(place).stop(out);
                }
                refuse(join.reply, recipient, refusal, out);
            }
            None if known.is_some_and(|place| self.queue[place].is_same_record(join.member)) => {
                let place = known.expect("the pattern's guard found it");
                self.queue[place].handle_join_again(scene, join.reply, &mut self.rng, out);
            }
            None if self.queue.len() >= QUEUE_MAX => refuse(join.reply, recipient, JoinRefusal::Busy, out),
            None => {
                if let Some(place) = known {
                    self.queue.remove(place).stop(out);
                }
                self.enqueue(scene, join, out);
            }
        }
        namesake.map_or(Admitted::Handled, Admitted::NameHeldBy)
    }

    /// Takes a heartbeat that answers a request, from a process that is not in the view.
    //= docs/protocol.md#vw-13
    pub(crate) fn handle_heartbeat_answer(&mut self, scene: Scene<'_>, sender: ShortId, request: RequestId) {
        for candidate in self.queue.iter_mut().filter(|c| c.member.id.short() == sender) {
            candidate.handle_heartbeat(scene, request);
        }
    }

    /// Takes a probe's result; tells whether the probe was one of this machine's.
    //= docs/protocol.md#vw-12
    pub(crate) fn handle_probe_done(
        &mut self,
        scene: Scene<'_>,
        probe: ProbeId,
        outcome: ProbeOutcome,
        out: &mut Outbox,
    ) -> bool {
        let Some(place) = self.queue.iter().position(|c| c.is_probed_by(probe)) else { return false };
        let progress = self.queue[place].handle_probe_done(scene, outcome);
        self.handle_progress(place, progress, out);
        true
    }

    /// Repeats questions to joiners, and refuses those that do not answer.
    pub(crate) fn handle_timeout(&mut self, scene: Scene<'_>, out: &mut Outbox) {
        for place in (0..self.queue.len()).rev() {
            let progress = match self.queue[place].look_at_name(scene) {
                Progress::Waits => self.queue[place].handle_timeout(scene, &mut self.rng, out),
                refused => refused,
            };
            self.handle_progress(place, progress, out);
        }
        self.alone_until = self.alone_until.filter(|until| scene.now < *until);
    }

    /// When to call [`Admission::handle_timeout`]; after it the node asks for whom it may admit.
    pub(crate) fn poll_timeout(&self) -> Option<(Timestamp, WakeReason)> {
        let hold = self.alone_until.filter(|_| !self.queue.is_empty());
        let at = self.queue.iter().map(Candidate::due).chain(hold).min()?;
        Some((at, WakeReason::Admission))
    }

    /// Whom the next change may take in, oldest join first. The weight joined stays below the weight that was heard since
    /// it joined, so that joiners that die at once don't take the quorum along; one always fits into a view of one.
    //= docs/protocol.md#vw-13
    pub(crate) fn admissible(&self, scene: Scene<'_>) -> Admissible {
        let mut found = Admissible::default();
        let is_held = self.alone_until.is_some_and(|until| scene.now < until) && scene.view.len() == 1;
        if scene.isolated || is_held {
            return found;
        }
        // Joiners of earlier changes that were not heard since weigh against new ones: they may be dead already. What is
        // flagged is no contact, but a sick or isolated member that sends it lives and votes.
        let total = scene.view.weight();
        let span = scene.timing().removal_silence();
        let is_heard = |id: &MemberId| {
            let record = scene.contacts.get(id);
            record.is_some_and(|r| r.contact_unmoved().is_some() || r.is_heard(scene.now, span))
        };
        let heard = quorum::weight_of(scene.view, |id| scene.is_me(id) || is_heard(id));
        let mut weight_left = heard.saturating_sub(total - heard);
        for candidate in self.queue.iter().filter(|c| c.is_proved(scene)) {
            let weight = u32::from(candidate.member.weight.get());
            let fits = weight < weight_left
                || planted::is(Planted::JoinersUnlimited)
                || (scene.view.len() == 1 && found.joiners.is_empty());
            if !fits {
                break;
            }
            if refusal::clashes(found.joiners.iter().map(|m| &**m), &candidate.member)
                || candidate.is_blocked(scene)
            {
                continue;
            }
            weight_left = weight_left.saturating_sub(weight);
            found.joiners.push(Arc::clone(&candidate.member));
            found.replaced.extend(candidate.replaced(scene));
        }
        found
    }

    /// A view is in place: those in it are done, the others are looked at once more. Without the office the queue is
    /// given up; its joiners ask the new coordinator.
    pub(crate) fn handle_view_installed(
        &mut self,
        scene: Scene<'_>,
        redirect: Option<&ClusterInfo>,
        out: &mut Outbox,
    ) {
        self.alone_until = self.alone_until.filter(|_| scene.view.len() == 1);
        self.waiting.retain(|w| !scene.view.contains(&w.joiner));
        for mut candidate in std::mem::take(&mut self.queue) {
            let (reply, recipient) = (candidate.reply, candidate.member.id.short());
            if scene.view.contains(&candidate.member.id) {
                candidate.stop(out);
            } else if let Some(info) = redirect {
                candidate.stop(out);
                out.reply(reply, recipient, FrameBody::Coordinator(info.clone()));
            } else if let Some(refusal) = refusal::of_joiner(scene, &candidate.member, candidate.arrived) {
                candidate.stop(out);
                refuse(reply, recipient, refusal, out);
            } else {
                candidate.handle_view_installed(scene, &mut self.rng, out);
                self.queue.push(candidate);
            }
        }
    }

    /// Whether nobody waits to be let in.
    pub(crate) const fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When the oldest join arrived that waits for a view: here for the acting coordinator, elsewhere for somebody who
    /// came back after it had been told whom to ask.
    //= docs/protocol.md#vw-7
    pub(crate) fn oldest_unanswered(&self, scene: Scene<'_>) -> Option<Timestamp> {
        let proved = self.queue.iter().filter(|c| c.is_proved(scene)).map(|c| c.arrived);
        let patience = scene.timing().member_timeout;
        let returned = |w: &&Waiting| w.last > w.since && scene.now.since(w.last) <= patience;
        proved.chain(self.waiting.iter().filter(returned).map(|w| w.since)).min()
    }

    fn enqueue(&mut self, scene: Scene<'_>, join: Join<'_>, out: &mut Outbox) {
        // Who sat at that address before has to show again that it is still there.
        for older in self.queue.iter_mut().filter(|c| refusal::share_address(&c.member, join.member)) {
            older.start_over(scene, &mut self.rng, out);
        }
        let mut candidate = Candidate::new(scene.now, join.member.clone(), join.reply);
        candidate.handle_view_installed(scene, &mut self.rng, out);
        self.queue.push(candidate);
    }

    fn handle_progress(&mut self, place: usize, progress: Progress, out: &mut Outbox) {
        match progress {
            Progress::Waits => {}
            Progress::Vanished => self.queue.remove(place).stop(out),
            Progress::Refused(refusal) => {
                let mut candidate = self.queue.remove(place);
                candidate.stop(out);
                refuse(candidate.reply, candidate.member.id.short(), refusal, out);
            }
        }
    }

    fn note_waiting(&mut self, scene: Scene<'_>, joiner: MemberId) {
        let patience = scene.timing().member_timeout;
        self.waiting.retain(|w| scene.now.since(w.last) <= patience);
        if let Some(waiting) = self.waiting.iter_mut().find(|w| w.joiner == joiner) {
            waiting.last = scene.now;
        } else if self.waiting.len() < WAITING_MAX {
            self.waiting.push(Waiting { joiner, since: scene.now, last: scene.now });
        }
    }
}

fn refuse(reply: ReplyHandle, recipient: ShortId, reason: JoinRefusal, out: &mut Outbox) {
    out.reply(reply, recipient, FrameBody::JoinRefused { reason });
}

#[cfg(test)]
mod tests;
