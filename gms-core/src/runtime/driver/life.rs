//! Incarnations: how one is made, what follows when it ends, and when the member has stopped for good.

use std::net::SocketAddr;
use std::time::Duration;

use crate::comeback::Comeback;
use crate::config::Timing;
use crate::event::{State, StopReason};
use crate::member::Member;
use crate::node::Node;
use crate::runtime::builder::StartError;
use crate::runtime::setup::{Setup, random};
use crate::time::Timestamp;
use crate::view::View;

/// Time for the last steps beyond the leave timeout, after which a leaving member stops without the node's word.
const LEAVE_SLACK: Duration = Duration::from_secs(1);
/// Largest value of `expected_seeds`.
const SEEDS_MAX: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Running,
    /// The last incarnation ended; the next begins then.
    Waiting(Timestamp),
}

/// Where the member is in its incarnations.
#[derive(Debug)]
pub(super) struct Life {
    setup: Setup,
    random: fastrand::Rng,
    phase: Phase,
    leave_by: Option<Timestamp>,
    comeback: Comeback,
    /// Members of the last view, beside the seeds the way back.
    neighbours: Vec<SocketAddr>,
    /// That of the last view, else as configured.
    timing: Timing,
}

impl Life {
    pub(super) fn new(setup: Setup) -> Result<Self, StartError> {
        let timing = setup.config.timing.resolve()?;
        Ok(Self {
            setup,
            random: fastrand::Rng::with_seed(u64::from_le_bytes(random()?)),
            phase: Phase::Running,
            leave_by: None,
            comeback: Comeback::new(),
            neighbours: Vec::new(),
            timing,
        })
    }

    /// The first node.
    pub(super) fn first(&mut self, me: Member, now: Timestamp) -> Result<Node, StartError> {
        Ok(Node::new(self.setup.config.clone(), me, self.random.u64(..), now)?)
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Where the member stands between two incarnations.
    pub(super) const fn state_between(&self) -> State {
        if self.comeback.is_out() { State::Excluded } else { State::Joining }
    }

    pub(super) const fn is_leaving(&self) -> bool {
        self.leave_by.is_some()
    }

    /// When this has something to do.
    pub(super) fn deadline(&self) -> Timestamp {
        let again = match self.phase {
            Phase::Running => Timestamp::FAR_FUTURE,
            Phase::Waiting(until) => until,
        };
        again.min(self.leave_by.unwrap_or(Timestamp::FAR_FUTURE))
    }

    /// Remembers the way back and the cluster's timing.
    pub(super) fn remember(&mut self, view: &View, me: &Member) {
        self.timing.clone_from(view.timing());
        let others = view.members().iter().map(|m| &*m.member).filter(|m| m.id != me.id);
        self.neighbours = others.map(|m| m.endpoint.addr).filter(|a| *a != me.endpoint.addr).collect();
    }

    /// The node gives way to an older cluster: remembers one more address on the way back.
    pub(super) fn gives_way(&mut self, at: SocketAddr) {
        self.comeback.gives_way();
        if !self.neighbours.contains(&at) {
            self.neighbours.push(at);
        }
    }

    /// The node is in a view. Says whether it is one after an exclusion.
    pub(super) const fn joined(&mut self, now: Timestamp) -> bool {
        self.comeback.joined(now)
    }

    /// The user wants to leave. Says whether the node has to be told: it runs, and was not told before.
    pub(super) fn leave(&mut self, now: Timestamp) -> bool {
        if self.is_leaving() {
            return false;
        }
        let timeout = self.setup.config.leave_timeout.unwrap_or(self.timing.member_timeout);
        self.leave_by = Some(now + timeout + LEAVE_SLACK);
        self.is_running()
    }

    /// Whether leaving took longer than the node may take.
    pub(super) fn is_overdue(&self, now: Timestamp) -> bool {
        self.leave_by.is_some_and(|by| now >= by)
    }

    /// The node has ended: for good with the reason returned, or another one follows.
    //= docs/protocol.md#vw-18
    pub(super) fn ended(&mut self, now: Timestamp, reason: StopReason) -> Option<StopReason> {
        if self.is_leaving() {
            return Some(reason);
        }
        let rejoin = self.setup.rejoin;
        let Some(wait) = self.comeback.after(now, &reason, rejoin, &self.timing, &mut self.random) else {
            return Some(reason);
        };
        self.phase = Phase::Waiting(now + wait);
        None
    }

    /// Whether it is time for a new incarnation.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        matches!(self.phase, Phase::Waiting(until) if now >= until)
    }

    /// The new incarnation.
    ///
    /// # Errors
    ///
    /// The system gives no randomness.
    pub(super) fn again(
        &mut self,
        now: Timestamp,
        seeds: &[SocketAddr],
    ) -> Result<(Member, Node), StartError> {
        self.phase = Phase::Running;
        let me = self.setup.incarnation()?;
        let mut config = self.setup.config.clone();
        if self.comeback.is_out() {
            // Whoever was in a cluster founds another only where all that it knows of are in none.
            config.has_seeds = true;
            let known = u16::try_from(seeds.len().clamp(1, SEEDS_MAX)).expect("clamped");
            config.expected_seeds = Some(config.expected_seeds.unwrap_or(1).max(known));
        }
        let node = Node::new(config, me.clone(), self.random.u64(..), now)?;
        Ok((me, node))
    }

    /// Seeds of this incarnation: those given, and the way back after an exclusion.
    pub(super) fn with_way_back(&self, mut seeds: Vec<SocketAddr>) -> Vec<SocketAddr> {
        if self.comeback.is_out() {
            for neighbour in &self.neighbours {
                if !seeds.contains(neighbour) {
                    seeds.push(*neighbour);
                }
            }
        }
        seeds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::event::JoinFailure;
    use crate::member::Endpoint;
    use crate::message::JoinRefusal;
    use crate::testing::{addr, member, view_of};

    fn life(rejoin: bool) -> Life {
        let mut config = Config::new("test");
        config.timing.member_timeout = Some(Duration::from_secs(1));
        Life::new(Setup { rejoin, ..Setup::new(config, Endpoint::single(addr(0))) }).unwrap()
    }

    fn failed(refusal: Option<JoinRefusal>) -> StopReason {
        StopReason::JoinFailed(JoinFailure {
            refusal,
            seeds: Vec::new(),
            unresolved: Vec::new(),
            tried_for: Duration::from_secs(1),
        })
    }

    //= docs/protocol.md#vw-18
    #[test]
    fn after_an_exclusion_the_next_incarnation_waits_between_a_heartbeat_interval_and_t() {
        let mut life = life(true);
        let now = Timestamp::from_millis(1000);
        for round in 0..20 {
            let reason = if round == 0 { StopReason::Excluded } else { failed(None) };
            assert_eq!(life.ended(now, reason), None);
            let wait = life.deadline().since(now);
            let most = Duration::from_millis(if round == 0 { 400 } else { 1000 });
            assert!(wait >= Duration::from_millis(200) && wait <= most, "{wait:?} in round {round}");
            assert!(!life.is_running());
        }
        assert!(life.joined(now), "it was excluded before");
        assert!(!life.joined(now));
    }

    //= docs/protocol.md#vw-24
    #[test]
    fn after_a_return_that_did_not_last_the_next_incarnation_waits_six_timeouts_or_more() {
        let mut life = life(true);
        let now = Timestamp::from_millis(1000);
        life.ended(now, StopReason::Excluded);
        life.joined(now);
        let soon = now + Duration::from_secs(5);
        life.ended(soon, StopReason::Excluded);
        let wait = life.deadline().since(soon);
        assert!(wait >= Duration::from_secs(6) && wait <= Duration::from_secs(12), "{wait:?}");
    }

    #[test]
    fn without_rejoin_an_exclusion_is_the_end() {
        assert_eq!(life(false).ended(Timestamp::ZERO, StopReason::Excluded), Some(StopReason::Excluded));
    }

    #[test]
    fn a_failed_join_is_the_end_at_first_and_tried_again_after_an_exclusion() {
        let mut life = life(true);
        assert_eq!(life.ended(Timestamp::ZERO, failed(None)), Some(failed(None)));
        assert_eq!(life.ended(Timestamp::ZERO, StopReason::Excluded), None);
        assert_eq!(life.ended(Timestamp::ZERO, failed(None)), None);
    }

    #[test]
    fn an_id_in_use_is_drawn_anew_but_not_for_ever() {
        let mut life = life(true);
        let in_use = failed(Some(JoinRefusal::IdInUse));
        assert_eq!(life.ended(Timestamp::ZERO, in_use.clone()), None);
        assert_eq!(life.deadline(), Timestamp::ZERO, "at once");
        let ended = (0..100).find_map(|_| life.ended(Timestamp::ZERO, in_use.clone()));
        assert_eq!(ended, Some(in_use));
    }

    #[test]
    fn a_leaving_member_does_not_come_back() {
        let mut life = life(true);
        assert!(life.leave(Timestamp::ZERO));
        assert!(!life.leave(Timestamp::ZERO), "told once");
        assert_eq!(life.ended(Timestamp::ZERO, StopReason::Excluded), Some(StopReason::Excluded));
        assert!(!life.is_overdue(Timestamp::from_millis(1999)));
        assert!(life.is_overdue(Timestamp::from_millis(2000)));
    }

    #[test]
    fn the_way_back_leads_over_the_members_of_the_last_view() {
        let mut life = life(true);
        life.remember(&view_of(3), &member(0));
        assert_eq!(life.with_way_back(vec![addr(2)]), [addr(2)], "a first join asks its seeds only");
        life.ended(Timestamp::ZERO, StopReason::Excluded);
        assert_eq!(life.with_way_back(vec![addr(2)]), [addr(2), addr(1)]);
    }
}
