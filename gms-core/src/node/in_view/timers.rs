//! What a member does by time alone, and when it is due next.

use std::time::Duration;

use crate::config::QuorumLoss;
use crate::event::{Event, StopReason};
use crate::health::quorum_watch::{self, QuorumChange};
use crate::member::MemberId;
use crate::membership::unfinished::Signs;
use crate::outbox::Outbox;
use crate::time::Timestamp;
use crate::timer::{Earliest, WakeReason};

use super::{End, InView, scene};

impl InView {
    /// Does what is due. Returns whether heartbeats are to be sent now.
    pub(in crate::node) fn handle_timeout(&mut self, now: Timestamp, out: &mut Outbox) -> bool {
        if self.leave_deadline.is_some_and(|at| at <= now) {
            let decided = self.leaves_by.is_some();
            let reason = if decided { StopReason::Left } else { StopReason::LeaveTimedOut };
            if let Some(departures) = &mut self.departures {
                departures.let_go(out);
            }
            self.end = Some(End::Stop(reason));
            return false;
        }
        if self.leaves_by.is_some() {
            return false;
        }
        let beats = self.heartbeat_at <= now;
        if beats {
            self.heartbeat_at = now + self.next_heartbeat_after();
            self.tick(now, out);
        }
        if self.isolation.poll_timeout().is_some_and(|at| at <= now) {
            self.update_isolation(now, out);
        }
        self.health.handle_timeout(scene!(self, now), out);
        self.fences.handle_timeout(now, &self.view, &mut self.contacts, out);
        self.catch_up.handle_timeout(scene!(self, now), out);
        let coordinator = self.first_in_office();
        self.requests.handle_timeout(scene!(self, now), coordinator, out);
        let is_acting = self.is_in_office();
        self.admission.handle_timeout(scene!(self, now), out);
        self.announcer.handle_timeout(scene!(self, now), is_acting, out);
        beats
    }

    /// Time from these heartbeats to the next. Where members take turns, those after the ones that all send together because of a
    /// new view are spread evenly: so the first datagram that finds nobody at a dead member's address is sent soon.
    //= docs/protocol.md#fd-4
    fn next_heartbeat_after(&mut self) -> Duration {
        let interval = self.view.timing().heartbeat_interval;
        if !std::mem::take(&mut self.turns_begin) {
            return interval;
        }
        let place = self.view.place(&self.me.id).expect("a member installs only views that contain it");
        let [turn, turns] =
            [place + 1, self.view.len()].map(|n| u32::try_from(n).expect("views have fewer members"));
        interval * turn / turns
    }

    /// What is looked at once a heartbeat interval, because nothing else would notice it.
    fn tick(&mut self, now: Timestamp, out: &mut Outbox) {
        self.update_isolation(now, out);
        // Half of T: a member that is cut off stops hearing well before it becomes isolated. Who counts by the hubs gets few
        // heartbeats while these are there.
        let may_hear = !(self.reach.borrows && self.isolation.is_connected(now));
        self.hears_majority = may_hear
            && quorum_watch::hears_majority(scene!(self, now), self.view.timing().member_timeout / 2);
        self.update_quorum(now, out);
        self.update_unfinished(now);
        self.coordinator_is_idle = self.is_coordinator_idle(now);
        self.health.watch_links(scene!(self, now), out);
        if self.quorum.is_lost() {
            self.announcer.ask_seeds(scene!(self, now), out);
        }
    }

    //= docs/protocol.md#vw-16
    fn update_quorum(&mut self, now: Timestamp, out: &mut Outbox) {
        let patience = self.view.timing().removal_silence();
        let is_stuck = self.proposer.busy_since().is_some_and(|since| now.since(since) >= patience);
        let missing = is_stuck.then(|| self.proposer.silent_voters(&self.view));
        match self.quorum.update(scene!(self, now), missing.as_deref()) {
            Some(QuorumChange::Lost(report)) => out.event(Event::QuorumLost(report)),
            Some(QuorumChange::Regained(report)) => out.event(Event::QuorumRegained(report)),
            None => {}
        }
        let timeout = self.quorum_loss_timeout.unwrap_or_else(|| self.view.timing().member_timeout * 4);
        if self.quorum_loss == QuorumLoss::Leave && self.quorum.is_lost_for(now, timeout) {
            self.end = Some(End::Stop(StopReason::QuorumLost));
        }
    }

    /// Whether the view is half-decided as far as this member can tell.
    //= docs/protocol.md#vw-23
    fn update_unfinished(&mut self, now: Timestamp) {
        let signs = self.signs_of_unfinished(now);
        let why = self.unfinished.update(now, self.view.timing(), signs);
        self.requests.set_unfinished(now, why);
    }

    pub(super) fn signs_of_unfinished(&self, now: Timestamp) -> Signs {
        Signs {
            accepted: self.acceptor.accepted().map(|a| a.since),
            fenced: self.fences.oldest_grant(),
            isolated_among_many: !self.isolation.is_connected(now) && self.hears_majority,
        }
    }

    /// The first in office that is not suspect here: whom requests go to.
    pub(super) fn first_in_office(&self) -> MemberId {
        let first = self.view.office().find(|m| !self.health.is_suspect(&m.id));
        first.map_or(self.me.id, |m| m.id)
    }

    /// When something is due next, and what.
    pub(in crate::node) fn poll_timeout(&self, now: Timestamp) -> Option<(Timestamp, WakeReason)> {
        let mut next = Earliest::new();
        next.note(self.leave_deadline, WakeReason::Leaving);
        if self.leaves_by.is_some() {
            return next.get();
        }
        next.note(Some(self.heartbeat_at), WakeReason::Heartbeat);
        next.note(self.isolation.poll_timeout(), WakeReason::Isolation);
        next.note_pair(self.health.poll_timeout());
        next.note(self.fences.poll_timeout(&self.view, &self.contacts), WakeReason::Fence);
        next.note(self.fencing.poll_timeout(), WakeReason::Proposal);
        next.note(self.proposer.poll_timeout(now), WakeReason::Proposal);
        next.note(self.catch_up.poll_timeout(), WakeReason::CatchUp);
        next.note(self.requests.poll_timeout(), WakeReason::Leaving);
        next.note_pair(self.admission.poll_timeout());
        next.note_pair(self.announcer.poll_timeout());
        next.get()
    }

    /// A watch connection ended.
    pub(in crate::node) fn handle_watch_ended(
        &mut self,
        now: Timestamp,
        watch: crate::output::WatchId,
        end: crate::input::WatchEnd,
        out: &mut Outbox,
    ) {
        let scene = scene!(self, now);
        self.health.handle_watch_ended(scene, watch, end, out);
    }

    /// A datagram found nobody.
    pub(in crate::node) fn handle_unreachable(
        &mut self,
        now: Timestamp,
        to: std::net::SocketAddr,
        out: &mut Outbox,
    ) {
        let scene = scene!(self, now);
        self.health.handle_unreachable(scene, to, out);
    }

    /// Whether a probe's result was for one of the machines.
    pub(in crate::node) fn handle_probe_done(
        &mut self,
        now: Timestamp,
        probe: crate::output::ProbeId,
        outcome: crate::evidence::ProbeOutcome,
        out: &mut Outbox,
    ) {
        let scene = scene!(self, now);
        let _ = self.health.handle_probe_done(scene, probe, outcome, out)
            || self.desk.handle_probe_done(scene, &mut self.acceptor, probe, outcome, out)
            || self.admission.handle_probe_done(scene, probe, outcome, out);
    }
}
