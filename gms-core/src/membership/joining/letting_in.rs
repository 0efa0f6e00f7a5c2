//! The part of joining between knowing a cluster and holding its view: asking the coordinator, and whom it names.

use std::net::SocketAddr;

use crate::member::{ClusterId, Endpoint, MemberId};
use crate::message::{ClusterInfo, FrameBody, Membership};
use crate::outbox::Outbox;
use crate::output::FrameToken;
use crate::time::Timestamp;
use crate::view::ViewId;

use super::sent::Purpose;
use super::{JOIN_AGAIN_MIN, Joining, REDIRECT_MIN, SETTLE};

/// Clusters of which it is remembered when they were first asked. Of any more it counts as unknown.
const CLUSTERS_ASKED_MAX: usize = 16;

/// The newest join sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) cluster: ClusterId,
    pub(super) coordinator: MemberId,
    pub(super) at: Timestamp,
    /// Who was asked for the view, once the coordinator said that this process is in it.
    pub(super) holder: Option<MemberId>,
    /// Whether the holder could not help: the coordinator is asked for another one soon.
    pub(super) is_urgent: bool,
    /// The view in which the one asked named itself as coordinator instead of letting this process in: it may be about to
    /// come into office.
    pub(super) put_off_in: Option<ViewId>,
}

impl Asked {
    /// Takes what somebody says of the cluster.
    pub(super) fn handle_cluster_info(&mut self, info: &ClusterInfo) {
        self.is_urgent |= self.holder == Some(info.sender);
        let is_its_own = |m: &&Membership| m.cluster == self.cluster && m.coordinator == self.coordinator;
        let said = info.membership.as_ref().filter(|_| info.sender == self.coordinator).filter(is_its_own);
        self.put_off_in = self.put_off_in.or_else(|| said.map(|membership| membership.view));
    }
}

impl Joining {
    /// Takes the news that a view contains this process, and asks `holder` for it. Where that can't give it, the coordinator
    /// is asked again and names another one.
    //= docs/protocol.md#lv-5
    pub(crate) fn handle_admitted(
        &mut self,
        now: Timestamp,
        holder: MemberId,
        endpoint: Endpoint,
        out: &mut Outbox,
    ) {
        let Some(asked) = self.asked.as_mut().filter(|_| !self.is_over) else { return };
        asked.holder = Some(holder);
        self.last_word = Some(now);
        let token = self.send_join(endpoint.check_addr, holder, out);
        self.sent.remember([(token, Purpose::Holder)]);
    }

    /// Asks the coordinator of the best cluster to be let in, if it is time.
    pub(super) fn join(&mut self, now: Timestamp, out: &mut Outbox) {
        self.join_at = None;
        let best = self.seeds.best_cluster(now, self.cluster_to_expect());
        let Some(best) = best.map(|known| known.membership.clone()) else { return };
        let first = *self.first_cluster_at.get_or_insert(now);
        let again = self.timing.retry_interval().max(JOIN_AGAIN_MIN);
        let due = match self.asked {
            None if self.seeds.all_answered() => now,
            None => first + SETTLE,
            Some(asked) if (asked.cluster, asked.coordinator) == (best.cluster, best.coordinator) => {
                let took_office = asked.put_off_in.is_some_and(|view| best.view > view);
                asked.at + if asked.is_urgent || took_office { REDIRECT_MIN } else { again }
            }
            Some(asked) => asked.at + REDIRECT_MIN,
        };
        if now < due {
            self.join_at = Some(due);
            return;
        }
        self.note_first_asked(now, best.cluster);
        let Membership { cluster, coordinator, .. } = best;
        self.asked =
            Some(Asked { cluster, coordinator, at: now, holder: None, is_urgent: false, put_off_in: None });
        let mut sent = vec![(self.send_join(best.endpoint.check_addr, best.coordinator, out), Purpose::Join)];
        let last_word = *self.last_word.get_or_insert(now);
        if now.since(last_word) >= self.timing.removal_silence() {
            // The coordinator does not say a word. The other members must know, so that it can be succeeded (vw-7).
            for (addr, member) in self.seeds.members_besides(now, best.coordinator) {
                sent.push((self.send_join(addr, member, out), Purpose::Seed(addr)));
            }
        }
        self.sent.remember(sent);
        self.join_at = Some(now + again);
    }

    /// Views that followed the newest one known of before the first question may have had this process in them, although it
    /// saw none of these, and let it go again: whoever admits it must know them all.
    //= docs/protocol.md#vw-11
    fn note_first_asked(&mut self, now: Timestamp, cluster: ClusterId) {
        let is_known = self.asked_in.iter().any(|(asked, _)| *asked == cluster);
        if !is_known && self.asked_in.len() < CLUSTERS_ASKED_MAX {
            self.asked_in.push((cluster, self.seeds.newest_view(now, cluster)));
        }
    }

    fn send_join(&self, to: SocketAddr, recipient: MemberId, out: &mut Outbox) -> FrameToken {
        let (cluster_name, member) = (self.cluster_name.clone(), self.me.clone());
        let asked = self.asked.map(|asked| asked.cluster);
        let asked_in = self.asked_in.iter().find(|(cluster, _)| Some(*cluster) == asked);
        let asked_in = asked_in.map_or(ViewId::NONE, |(_, view)| *view);
        let body = FrameBody::Join { cluster_name, member, timing: self.overrides.clone(), asked_in };
        out.frame_to(to, recipient.short(), body)
    }
}
