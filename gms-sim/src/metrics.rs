//! What a run is measured by: detection, views, false alarms, traffic.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gms_core::event::{Event, StopReason, ViewChange};
use gms_core::evidence::Verdict;
use gms_core::member::ClusterId;
use gms_core::runtime::StepKind;
use gms_core::{MemberId, Timestamp};

use crate::network::HEADS_BYTES;
use crate::world::Look;

/// One survivor's view without a lost member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detection {
    /// The lost process.
    pub lost: usize,
    /// The survivor.
    pub by: usize,
    /// Time from the loss to the survivor's view.
    pub after: Duration,
}

/// A view that somebody installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenView {
    /// How many members it has.
    pub members: usize,
    /// When the first of them installed it.
    pub at: Timestamp,
}

/// Counters of one run, from its first phase on.
#[derive(Clone, Debug)]
pub struct Metrics {
    since: Timestamp,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Their bytes, with the heads of IPv4 and UDP.
    pub datagram_bytes: u64,
    /// Frames sent.
    pub frames: u64,
    /// Their bytes, without TCP's.
    pub frame_bytes: u64,
    /// Survivors' views without lost members.
    pub detections: Vec<Detection>,
    /// The views that anybody installed, by cluster and number.
    pub views: BTreeMap<(ClusterId, u64), SeenView>,
    /// Sizes of all views that anybody ever installed.
    pub sizes: BTreeSet<usize>,
    /// Suspicions raised by members themselves.
    pub suspicions: u64,
    /// Of these: of a process that ran and whose host was on the network.
    pub false_suspicions: u64,
    /// Members removed by a verdict, once each.
    pub removals: u64,
    /// Of these: processes that ran, whose host was on the network.
    pub removals_of_running: Vec<MemberId>,
    /// Suspicions that ended without a removal, as members saw them.
    pub cleared: u64,
    /// Times a member was isolated.
    pub isolations: u64,
    /// Times a member learned that it is out.
    pub exclusions: u64,
    /// Times a process gave up joining.
    pub joins_failed: u64,
    /// Times a member asked to leave and was not let go in time.
    pub leaves_timed_out: u64,
    /// Times a member had another coordinator.
    pub coordinator_changes: u64,
    /// Processes that came to be in a view for the first time, and when.
    pub joined: BTreeMap<usize, Timestamp>,
    removed: BTreeSet<MemberId>,
}

impl Metrics {
    pub(crate) const fn new(since: Timestamp) -> Self {
        Self {
            since,
            datagrams: 0,
            datagram_bytes: 0,
            frames: 0,
            frame_bytes: 0,
            detections: Vec::new(),
            views: BTreeMap::new(),
            sizes: BTreeSet::new(),
            suspicions: 0,
            false_suspicions: 0,
            removals: 0,
            removals_of_running: Vec::new(),
            cleared: 0,
            isolations: 0,
            exclusions: 0,
            joins_failed: 0,
            leaves_timed_out: 0,
            coordinator_changes: 0,
            joined: BTreeMap::new(),
            removed: BTreeSet::new(),
        }
    }

    /// Since when is counted.
    pub const fn since(&self) -> Timestamp {
        self.since
    }

    pub(crate) const fn count_datagram(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.datagram_bytes += (bytes + HEADS_BYTES) as u64;
    }

    pub(crate) const fn count_frame(&mut self, bytes: usize) {
        self.frames += 1;
        self.frame_bytes += bytes as u64;
    }

    pub(crate) fn note(&mut self, look: Look<'_>, by: usize, kind: &StepKind<'_>) {
        let StepKind::Event(event) = kind else { return };
        match event {
            Event::ViewInstalled(change) => self.note_view(look, by, change),
            Event::Joined { .. } => {
                self.joined.entry(by).or_insert(look.now);
            }
            Event::MemberSuspected { member, by: accuser, .. }
                if accuser.id == look.processes[by].member().id =>
            {
                self.suspicions += 1;
                self.false_suspicions += u64::from(runs(look, &member.id));
            }
            Event::MemberCleared { .. } => self.cleared += 1,
            Event::Isolated(_) => self.isolations += 1,
            Event::Excluded { .. } => self.exclusions += 1,
            Event::Stopped { reason: StopReason::JoinFailed(_) } => self.joins_failed += 1,
            Event::Stopped { reason: StopReason::LeaveTimedOut } => self.leaves_timed_out += 1,
            Event::CoordinatorChanged { .. } => self.coordinator_changes += 1,
            _ => {}
        }
    }

    fn note_view(&mut self, look: Look<'_>, by: usize, change: &ViewChange) {
        let view = &change.view;
        let seen = SeenView { members: view.len(), at: look.now };
        self.views.entry((view.cluster(), view.number())).or_insert(seen);
        self.sizes.insert(view.len());
        for removed in &change.crashed {
            let id = removed.member.id;
            if self.removed.insert(id) {
                self.removals += 1;
                let is_false = removed.evidence.verdict == Verdict::Silent && runs(look, &id);
                if is_false {
                    self.removals_of_running.push(id);
                }
            }
        }
        let gone = change.crashed.iter().map(|removed| &removed.member).chain(&change.gone);
        for subject in gone {
            let Some(lost) = look.process_of(&subject.id) else { continue };
            let losses = look.truth.losses();
            if let Some(loss) = losses.iter().rev().find(|loss| loss.process == lost) {
                let after = look.now.since(loss.at);
                self.detections.push(Detection { lost, by, after });
            }
        }
    }
}

/// Whether a member's process runs and its host is on the network.
fn runs(look: Look<'_>, id: &MemberId) -> bool {
    look.process_of(id).is_some_and(|index| {
        let process = &look.processes[index];
        process.is_running() && look.network.host(process.host()).is_some_and(|host| !host.is_down)
    })
}
