//! What a member says about its cluster: to joiners that ask, and unasked to seeds that are outside of its view; and
//! what it does when it hears of another cluster of its name.

use std::net::SocketAddr;
use std::time::Duration;

use crate::event::Event;
use crate::member::{ClusterId, Member, canonical};
use crate::message::{ClusterInfo, DatagramBody, FrameBody, Membership};
use crate::outbox::Outbox;
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::timer::WakeReason;

/// Shortest time between two reports of a conflict with the same cluster.
const CONFLICT_AGAIN: Duration = Duration::from_secs(60);
/// Conflicting clusters remembered.
const CONFLICTS_MAX: usize = 16;
/// Difference of ages below which two lone founders decide by their clusters' ids: ages are compared over a network
/// that delays them, and both must come to the same result.
const SAME_AGE: Duration = Duration::from_secs(1);

/// Zeros that a question carries. With them it is at least as large as the largest answer: name, ids, two IPv6
/// endpoints and the rest of [`ClusterInfo`] come to less than 200 bytes beside the name, which both carry.
//= docs/protocol.md#wr-4
pub(crate) const QUESTION_PADDING: usize = 400;
/// Padding below which a question by datagram is not answered.
const PADDING_ANSWERED: usize = 200;

/// Whether a question that came as a datagram may be answered with one: the answer is not larger.
//= docs/protocol.md#wr-4
pub(crate) const fn is_padded(padding: &[u8]) -> bool {
    padding.len() >= PADDING_ANSWERED
}

/// A lone founder is to dissolve its cluster and join an older or larger one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GiveWay {
    pub(crate) to: ClusterId,
    /// Where its coordinator is.
    pub(crate) coordinator: SocketAddr,
}

/// Speaks for the cluster towards seeds and joiners.
#[derive(Debug)]
pub(crate) struct Announcer {
    /// When this process started.
    started: Timestamp,
    /// When it came into its cluster.
    member_since: Timestamp,
    /// Whether it founded the cluster and has seeds: then an older one may be around that it could not see.
    may_give_way: bool,
    seeds: Vec<SocketAddr>,
    /// The next announcement; `None` while every seed is a member or somebody else is coordinator.
    due: Option<Timestamp>,
    conflicts: Vec<(ClusterId, Timestamp)>,
}

impl Announcer {
    /// For a process that started at `started` and is in a cluster since `now`.
    pub(crate) const fn new(started: Timestamp, now: Timestamp, founded_with_seeds: bool) -> Self {
        Self {
            started,
            member_since: now,
            may_give_way: founded_with_seeds,
            seeds: Vec::new(),
            due: None,
            conflicts: Vec::new(),
        }
    }

    /// The seeds' addresses as they resolve at the moment.
    pub(crate) fn handle_seeds(&mut self, now: Timestamp, seeds: &[SocketAddr]) {
        self.seeds = seeds.iter().copied().map(canonical).collect();
        self.seeds.sort_unstable();
        self.seeds.dedup();
        self.due = Some(now);
    }

    /// A view is in place: seeds may have come to be outside of it, or this member into office.
    pub(crate) const fn handle_view_installed(&mut self, now: Timestamp) {
        self.due = Some(now);
    }

    /// Announces the cluster to the seeds outside of the view, if this member coordinates it.
    //= docs/protocol.md#vw-10
    pub(crate) fn handle_timeout(&mut self, scene: Scene<'_>, is_coordinator: bool, out: &mut Outbox) {
        if self.due.is_none_or(|due| scene.now < due) {
            return;
        }
        self.due = None;
        if !is_coordinator {
            return;
        }
        let info = self.cluster_info(scene, scene.me);
        for seed in self.seeds.iter().filter(|seed| is_outside(scene, **seed)) {
            out.datagram_to(*seed, Default::default(), DatagramBody::Coordinator(Box::new(info.clone())));
            self.due = Some(scene.now + scene.timing().heartbeat_interval);
        }
    }

    /// Asks the seeds who coordinates: a member that has lost its majority may have missed that the others went on.
    //= docs/protocol.md#vw-18
    pub(crate) fn ask_seeds(&self, scene: Scene<'_>, out: &mut Outbox) {
        for seed in &self.seeds {
            let cluster_name = scene.view.cluster_name().to_owned();
            let padding = vec![0; QUESTION_PADDING];
            let body = DatagramBody::FindCoordinator { cluster_name, asker: scene.me.id, padding };
            out.datagram_to(*seed, Default::default(), body);
        }
    }

    /// When to call [`Announcer::handle_timeout`]. Who becomes acting coordinator without a new view is to call
    /// [`Announcer::handle_view_installed`] too.
    pub(crate) fn poll_timeout(&self) -> Option<(Timestamp, WakeReason)> {
        self.due.map(|due| (due, WakeReason::Announce))
    }

    /// What this member answers to who asks for the coordinator, with `coordinator` as it sees it.
    //= docs/protocol.md#vw-9
    pub(crate) fn cluster_info(&self, scene: Scene<'_>, coordinator: &Member) -> ClusterInfo {
        ClusterInfo {
            cluster_name: scene.view.cluster_name().to_owned(),
            sender: scene.me.id,
            age: scene.now.since(self.started),
            membership: Some(Membership {
                cluster: scene.view.cluster(),
                coordinator: coordinator.id,
                endpoint: coordinator.endpoint,
                view: scene.view.id(),
                size: u32::try_from(scene.view.len()).unwrap_or(u32::MAX),
                isolated: scene.isolated,
                age: scene.now.since(self.member_since),
            }),
        }
    }

    /// Takes what another process says about its cluster.
    //= docs/protocol.md#vw-10
    pub(crate) fn handle_cluster_info(
        &mut self,
        scene: Scene<'_>,
        info: &ClusterInfo,
        out: &mut Outbox,
    ) -> Option<GiveWay> {
        let other = info.membership.as_ref()?;
        if info.cluster_name != scene.view.cluster_name() || other.cluster == scene.view.cluster() {
            return None;
        }
        if scene.view.len() > 1 {
            if other.size > 1 && self.report_conflict(scene.now, other, out) {
                // The other side hears of it too, and says so to its own users.
                let info = self.cluster_info(scene, scene.view.coordinator());
                out.frame_to(
                    other.endpoint.check_addr,
                    other.coordinator.short(),
                    FrameBody::Coordinator(info),
                );
            }
            return None;
        }
        // An isolated cluster admits nobody: giving way to it would leave this process in none.
        let gives_way = self.may_give_way && !other.isolated && self.is_before_us(scene, other);
        gives_way.then_some(GiveWay { to: other.cluster, coordinator: other.endpoint.addr })
    }

    /// Whether the other cluster goes on when this process, alone in its own, meets it.
    fn is_before_us(&self, scene: Scene<'_>, other: &Membership) -> bool {
        let own_age = scene.now.since(self.member_since);
        if other.size > 1 {
            return true;
        }
        if own_age.abs_diff(other.age) < SAME_AGE {
            return other.cluster < scene.view.cluster();
        }
        other.age > own_age
    }

    /// Returns whether this is news.
    fn report_conflict(&mut self, now: Timestamp, other: &Membership, out: &mut Outbox) -> bool {
        self.conflicts.retain(|(_, at)| now.since(*at) < CONFLICT_AGAIN);
        let known = self.conflicts.iter().any(|(cluster, _)| *cluster == other.cluster);
        if known || self.conflicts.len() == CONFLICTS_MAX {
            return false;
        }
        self.conflicts.push((other.cluster, now));
        out.event(Event::ClusterConflict {
            other_cluster: other.cluster,
            other_coordinator: other.endpoint.addr,
            other_size: other.size,
        });
        true
    }
}

/// Whether no member has this address.
fn is_outside(scene: Scene<'_>, addr: SocketAddr) -> bool {
    !scene.view.members().iter().any(|m| {
        let endpoint = &m.member.endpoint;
        canonical(endpoint.addr) == addr || canonical(endpoint.check_addr) == addr
    })
}

#[cfg(test)]
mod tests;
