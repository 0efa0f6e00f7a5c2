//! What a joiner asks: its seeds for the cluster, and the coordinator to be let in.

use std::net::SocketAddr;
use std::time::Duration;

use crate::member::{MemberId, ShortId};
use crate::message::{DatagramBody, FrameBody, Membership};
use crate::outbox::Outbox;
use crate::output::FrameToken;
use crate::time::Timestamp;

use super::sent::Purpose;
use super::{
    ASK_AFTER_MAX, ASK_AFTER_MIN, Asked, JOIN_AGAIN_MIN, Joining, QUESTION_PADDING, REDIRECT_MIN, SETTLE,
};

impl Joining {
    /// Asks every seed by datagram, and in every second round on a stream too: a seed may be reachable by one of them
    /// only, and a refused connection tells at once that nobody is there.
    pub(super) fn ask(&mut self, now: Timestamp, out: &mut Outbox) {
        let (cluster_name, asker) = (&self.cluster_name, self.me.id);
        let on_streams = self.rounds % 2 == 1;
        let mut sent = Vec::new();
        for addr in self.seeds.to_ask() {
            let (cluster_name, padding) = (cluster_name.clone(), vec![0; QUESTION_PADDING]);
            let body = DatagramBody::FindCoordinator { cluster_name, asker, padding };
            out.datagram_to(addr, ShortId::default(), body);
            if on_streams {
                let body = FrameBody::FindCoordinator { cluster_name: self.cluster_name.clone(), asker };
                sent.push((out.frame_to(addr, ShortId::default(), body), Purpose::Seed(addr)));
            }
        }
        if let Some(founder) = self.founding.awaited_founder() {
            let body = FrameBody::FindCoordinator { cluster_name: cluster_name.clone(), asker };
            let token = out.frame_to(founder.endpoint.check_addr, ShortId::default(), body);
            sent.push((token, Purpose::Founder(founder.member)));
        }
        self.sent.remember(sent);
        let wait = ASK_AFTER_MIN.saturating_mul(1 << self.rounds.min(8)).min(ASK_AFTER_MAX);
        let jitter = u64::try_from((wait / 2).as_nanos()).unwrap_or(u64::MAX);
        self.ask_at = now + wait * 3 / 4 + Duration::from_nanos(self.rng.u64(0..=jitter));
        self.rounds = self.rounds.saturating_add(1);
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
                asked.at + if asked.is_urgent { REDIRECT_MIN } else { again }
            }
            Some(asked) => asked.at + REDIRECT_MIN,
        };
        if now < due {
            self.join_at = Some(due);
            return;
        }
        let mut sent = vec![(self.send_join(best.endpoint.check_addr, best.coordinator, out), Purpose::Join)];
        let last_word = *self.last_word.get_or_insert(now);
        if now.since(last_word) >= self.timing.removal_silence() {
            // The coordinator does not say a word. The other members must know, so that it can be succeeded (vw-7).
            for (addr, member) in self.seeds.members_besides(now, best.coordinator) {
                sent.push((self.send_join(addr, member, out), Purpose::Seed(addr)));
            }
        }
        self.sent.remember(sent);
        let Membership { cluster, coordinator, .. } = best;
        self.asked = Some(Asked { cluster, coordinator, at: now, holder: None, is_urgent: false });
        self.join_at = Some(now + again);
    }

    pub(super) fn send_join(&self, to: SocketAddr, recipient: MemberId, out: &mut Outbox) -> FrameToken {
        let (cluster_name, member) = (self.cluster_name.clone(), self.me.clone());
        let body = FrameBody::Join { cluster_name, member, timing: self.overrides.clone() };
        out.frame_to(to, recipient.short(), body)
    }
}
