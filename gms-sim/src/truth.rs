//! What really happened: who was up, who heard whom, what was lost when. No member knows it; invariants are judged by it.

use std::collections::BTreeMap;
use std::time::Duration;

use gms_core::Timestamp;
use gms_core::member::{ClusterId, MemberId, ShortId};
use gms_core::message::{DatagramBody, FrameBody};
use gms_core::runtime::StepKind;
use gms_core::view::ViewId;

use crate::process::Process;

/// Largest cluster in which who heard whom is followed pair by pair.
pub const PAIRS_MEMBERS_MAX: usize = 128;

/// How a member was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossKind {
    /// Its process died; its host refuses.
    Crashed,
    /// Its process stands still.
    Stopped,
    /// Its host is silent.
    HostLost,
}

/// A member that was lost while it was in a view.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Which process.
    pub process: usize,
    /// When.
    pub at: Timestamp,
    /// How.
    pub kind: LossKind,
    /// Since when all was calm then, if it was.
    pub calm_since: Option<Timestamp>,
    /// The cluster and view that it was in.
    pub view: (ClusterId, ViewId),
}

/// What one process has heard of another: datagrams and frames that are contact.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// Newest number of a datagram, and of a frame.
    newest: [u64; 2],
    /// The last contact; none while all that was read was flagged.
    contact: Option<HeardAt>,
}

/// A contact, and how steadily there had been some.
#[derive(Clone, Copy, Debug)]
struct HeardAt {
    last: Timestamp,
    /// The same on the hearing process's own clock.
    last_local: Timestamp,
    /// Since when no gap was longer than nine tenths of R.
    steady_since: Timestamp,
    /// How long the gap before that was.
    silent_before: Duration,
}

/// The truth about a run.
#[derive(Debug)]
pub struct Truth {
    by_id: BTreeMap<MemberId, usize>,
    by_short: BTreeMap<ShortId, usize>,
    calm_since: Option<Timestamp>,
    losses: Vec<Loss>,
    /// Per hearing process, per heard one; empty in large clusters.
    heard: Vec<Vec<Option<Box<Heard>>>>,
    follows_pairs: bool,
    gap_max: Duration,
}

impl Truth {
    pub(crate) fn new(now: Timestamp, members: usize, member_timeout: Duration) -> Self {
        Self {
            by_id: BTreeMap::new(),
            by_short: BTreeMap::new(),
            calm_since: Some(now),
            losses: Vec::new(),
            heard: Vec::new(),
            follows_pairs: members <= PAIRS_MEMBERS_MAX,
            gap_max: member_timeout.mul_f64(1.25 * 0.9),
        }
    }

    pub(crate) fn process_started(&mut self, index: usize, process: &Process) {
        self.by_id.insert(process.member.id, index);
        self.by_short.insert(process.member.id.short(), index);
        self.heard.push(Vec::new());
    }

    /// The process with this member id.
    pub fn process_of(&self, id: &MemberId) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The process with this short id.
    pub fn process_of_short(&self, id: ShortId) -> Option<usize> {
        self.by_short.get(&id).copied()
    }

    /// Since when nothing has been wrong but that processes are gone or hosts are off; `None` while something is.
    pub const fn calm_since(&self) -> Option<Timestamp> {
        self.calm_since
    }

    /// The members that were lost, in order.
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// When process `to` last read a contact of process `from`, where pairs are followed.
    pub fn last_heard(&self, to: usize, from: usize) -> Option<Timestamp> {
        self.heard_of(to, from)?.contact.map(|heard| heard.last)
    }

    /// The same on the clock of process `to`.
    pub fn last_heard_local(&self, to: usize, from: usize) -> Option<Timestamp> {
        self.heard_of(to, from)?.contact.map(|heard| heard.last_local)
    }

    fn heard_of(&self, to: usize, from: usize) -> Option<&Heard> {
        self.heard.get(to)?.get(from)?.as_deref()
    }

    /// Since when process `to` has heard process `from` without a gap of nine tenths of R, up to `now`.
    pub fn heard_steadily_since(&self, to: usize, from: usize, now: Timestamp) -> Option<Timestamp> {
        let heard = self.heard_of(to, from)?.contact?;
        (now.since(heard.last) <= self.gap_max).then_some(heard.steady_since)
    }

    /// Whether process `to` has heard nothing of process `from` for `span`, or had not until at most `ago`. Where pairs are
    /// not followed it may be so.
    pub fn was_silent_for(
        &self,
        to: usize,
        from: usize,
        span: Duration,
        ago: Duration,
        now: Timestamp,
    ) -> bool {
        let Some(contact) = self.heard_of(to, from).and_then(|heard| heard.contact) else { return true };
        now.since(contact.last) >= span
            || (contact.silent_before >= span && now.since(contact.steady_since) <= ago)
    }

    /// Whether pairs are followed.
    pub const fn follows_pairs(&self) -> bool {
        self.follows_pairs
    }

    pub(crate) fn note_calm(&mut self, now: Timestamp, calm: bool) {
        if !calm {
            self.calm_since = None;
        } else if self.calm_since.is_none() {
            self.calm_since = Some(now);
        }
    }

    pub(crate) fn lost(&mut self, now: Timestamp, processes: &[Process], process: usize, kind: LossKind) {
        let Some(view) = processes[process].view() else { return };
        let view = (view.cluster(), view.id());
        self.losses.push(Loss { process, at: now, kind, calm_since: self.calm_since, view });
    }

    /// Notes who heard whom: a contact in the sense of the protocol, judged from outside.
    pub(crate) fn note(&mut self, now: Timestamp, processes: &[Process], by: usize, kind: &StepKind<'_>) {
        if !self.follows_pairs {
            return;
        }
        let (head, channel) = match kind {
            StepKind::ReceivedDatagram { datagram, .. } if !is_discovery(&datagram.body) => {
                (&datagram.head, 0)
            }
            StepKind::ReceivedFrame { frame, .. } if !is_joining(&frame.body) => (&frame.head, 1),
            _ => return,
        };
        let hearer = &processes[by];
        let Some(from) = self.by_short.get(&head.sender).copied() else { return };
        // What a stranger numbers is not remembered: it may become a member and have been overtaken by its own datagrams.
        let is_member = hearer.view().is_some_and(|view| {
            view.cluster().tag() == head.cluster && view.contains(&processes[from].member.id)
        });
        if head.number == 0 || head.recipient != hearer.member.id.short() || !is_member {
            return;
        }
        let heard = &mut self.heard[by];
        if heard.len() <= from {
            heard.resize_with(from + 1, || None);
        }
        let heard = heard[from].get_or_insert_default();
        let is_fresh = head.number > heard.newest[channel];
        heard.newest[channel] = heard.newest[channel].max(head.number);
        if !is_fresh || head.flags.isolated || head.flags.sick {
            return;
        }
        let steady = heard.contact.filter(|contact| now.since(contact.last) <= self.gap_max);
        heard.contact = Some(HeardAt {
            last: now,
            last_local: hearer.clock.local(now),
            steady_since: steady.map_or(now, |contact| contact.steady_since),
            silent_before: steady.map_or_else(
                || heard.contact.map_or(Duration::MAX, |contact| now.since(contact.last)),
                |contact| contact.silent_before,
            ),
        });
    }
}

/// Whether a datagram passes between strangers: it is no contact.
const fn is_discovery(body: &DatagramBody) -> bool {
    matches!(body, DatagramBody::FindCoordinator { .. } | DatagramBody::Coordinator(_))
}

/// The same of frames.
const fn is_joining(body: &FrameBody) -> bool {
    matches!(
        body,
        FrameBody::FindCoordinator { .. }
            | FrameBody::Coordinator(_)
            | FrameBody::FoundPromise { .. }
            | FrameBody::FoundPromised { .. }
            | FrameBody::FoundAccept { .. }
            | FrameBody::FoundAccepted { .. }
            | FrameBody::FoundRefused { .. }
            | FrameBody::Join { .. }
            | FrameBody::Admitted { .. }
            | FrameBody::JoinRefused { .. }
    )
}

#[cfg(test)]
mod tests {
    use gms_core::message::{Answers, Datagram, Flags, Head};

    use super::*;
    use crate::scenario::{Fault, Scenario};
    use crate::world::World;

    /// Process 0 reads a heartbeat of process 2.
    fn read(truth: &mut Truth, world: &World, number: u64) {
        let [to, _, from] = [0, 1, 2].map(|process| &world.processes()[process]);
        let view = to.view().unwrap();
        let head = Head {
            cluster: view.cluster().tag(),
            sender: from.member().id.short(),
            recipient: to.member().id.short(),
            view: view.id(),
            accepted: None,
            flags: Flags::default(),
            number,
            echo: None,
            quorate_for_ms: None,
        };
        let datagram = Datagram { head, body: DatagramBody::Heartbeat { answers: Answers::Nothing } };
        let from = from.member().endpoint.addr;
        let kind = StepKind::ReceivedDatagram { from, datagram: &datagram };
        truth.note(world.now(), world.processes(), 0, &kind);
    }

    #[test]
    fn numbers_that_were_read_of_a_stranger_are_not_held_against_the_member() {
        let mut world =
            World::new(Scenario { members: 2, seeds: 2, ..Scenario::default() }, Vec::new()).unwrap();
        world.inflict(Fault::Start { host: 2 });
        let mut truth = Truth::new(world.now(), 3, world.scenario().member_timeout);
        world
            .processes()
            .iter()
            .enumerate()
            .for_each(|(index, process)| truth.process_started(index, process));
        read(&mut truth, &world, 9);
        assert_eq!(truth.last_heard(0, 2), None);
        world.run_for(Duration::from_secs(10));
        read(&mut truth, &world, 3);
        assert_eq!(truth.last_heard(0, 2), Some(world.now()));
        let heard = world.now();
        world.run_for(Duration::from_secs(1));
        read(&mut truth, &world, 3);
        assert_eq!(truth.last_heard(0, 2), Some(heard));
    }
}
