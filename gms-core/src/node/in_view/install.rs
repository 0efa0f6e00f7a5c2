//! Installing views, learning to be out, and answering those who are behind.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::event::{Event, ExclusionCause, ExpelledMember, Removed, StopReason, Subject, ViewChange};
use crate::health::isolation;
use crate::input::ReplyHandle;
use crate::member::MemberId;
use crate::membership::acceptor::Acceptor;
use crate::membership::admission::{Admitted, Join};
use crate::membership::announce::GiveWay;
use crate::membership::proposer::Proposer;
use crate::message::{ClusterInfo, Decided, FrameBody, Head, Installation};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::quorum;
use crate::time::Timestamp;
use crate::view::{Change, View, ViewId};

use super::{End, InView, scene};

impl InView {
    /// Takes a decided view, as changes or whole, from a member of the installed one or from a stranger that was asked.
    //= docs/protocol.md#vw-5
    pub(super) fn handle_install(
        &mut self,
        now: Timestamp,
        from: Option<MemberId>,
        installation: Installation,
        out: &mut Outbox,
    ) {
        let before = self.view.id();
        match installation {
            Installation::Changes(changes) => {
                for decided in changes {
                    if decided.change.base > self.view.id() {
                        let (shown, scene) = (decided.change.makes(), scene!(self, now));
                        return from.map_or((), |from| self.catch_up.ask_now(scene, shown, from, out));
                    }
                    if decided.change.base < self.view.id() {
                        continue;
                    }
                    self.install_change(now, from, decided, out);
                    if self.end.is_some() {
                        return;
                    }
                }
            }
            Installation::Whole(view) => self.install_whole(now, *view, out),
        }
        debug_assert!(self.view.id() >= before);
    }

    fn install_change(&mut self, now: Timestamp, from: Option<MemberId>, decided: Decided, out: &mut Outbox) {
        let Decided { change, digest } = &decided;
        if change.base_digest != self.view.digest() || change.digest() != *digest {
            return;
        }
        //= docs/protocol.md#vw-18
        if change.left.contains(&self.me.id) {
            self.end = Some(End::Stop(StopReason::Left));
            return;
        }
        if change.removes(&self.me.id) {
            if planted::is(Planted::ExcludedGoesOn) {
                let (view, cause) = (change.makes(), cause_of(change, &self.me.id));
                return out.event(Event::Excluded { view, cause });
            }
            self.end = Some(End::Excluded(change.makes(), cause_of(change, &self.me.id)));
            return;
        }
        let Ok(next) = self.view.apply(change) else { return };
        let lets_go = !change.left.is_empty();
        let makes = change.makes();
        // Whoever decided may be among the leavers, so that the new view has no record of it.
        let teller =
            from.and_then(|from| self.view.member(&from)).map(|m| (m.endpoint.check_addr, m.id.short()));
        self.install(now, Arc::new(next), Some(decided), out);
        if let Some((address, short)) = teller.filter(|_| lets_go) {
            out.frame_to(address, short, FrameBody::Installed { view: makes });
        }
    }

    /// A whole view is taken only where one was asked for: it is not linked to what this member holds.
    fn install_whole(&mut self, now: Timestamp, view: View, out: &mut Outbox) {
        let acceptable = self.catch_up.is_asked()
            && view.id() > self.view.id()
            && view.cluster() == self.view.cluster()
            && view.is_plausible();
        if !acceptable || self.history.contradicts(view.id(), view.digest()) {
            return;
        }
        if !view.contains(&self.me.id) {
            self.end = Some(End::Excluded(view.id(), ExclusionCause::Unknown));
            return;
        }
        self.install(now, Arc::new(view), None, out);
    }

    /// Puts `next` in place: all that belonged to the old base begins anew.
    pub(super) fn install(
        &mut self,
        now: Timestamp,
        next: Arc<View>,
        decided: Option<Decided>,
        out: &mut Outbox,
    ) {
        assert!(next.contains(&self.me.id), "a member installs only views that contain it");
        assert!(next.id() > self.view.id(), "views never go back");
        self.carried =
            self.carried.max(isolation::carried_over(&self.view, &next, &self.me.id, &self.contacts));
        let changes_nobody = decided.as_ref().is_some_and(|d| d.change.is_empty());
        self.unfinished.handle_view_installed(self.signs_of_unfinished(now), changes_nobody);
        let old = std::mem::replace(&mut self.view, next);
        let settle = old.timing().removal_silence();
        self.history.push(now, &old, decided.clone(), settle);
        self.fences.lift_all(&mut self.contacts);
        self.contacts.install(&self.view, now);
        let new_senders = self.settle_reach(now);
        self.acceptor = Acceptor::default();
        self.proposer = Proposer::new();
        if !planted::is(Planted::FencesOutliveBase) {
            self.fencing.reset();
        }
        self.desk.reset(out);
        self.catch_up.handle_view_installed(self.view.id());
        self.installed_at = now;
        self.coordinator_is_idle = false;
        out.event(Event::ViewInstalled(Arc::new(describe(&old, &self.view, decided.as_ref()))));
        if old.coordinator().id != self.view.coordinator().id {
            let (from, to) = (Subject::from(old.coordinator()), Subject::from(self.view.coordinator()));
            out.event(Event::CoordinatorChanged { from, to });
        }
        self.update_isolation(now, out);
        let scene = scene!(self, now);
        self.health.handle_view_installed(scene, out);
        // After views that this member missed, its joiners have to ask again: they may have been in and out.
        let redirect = (!self.is_in_office() || decided.is_none()).then(|| self.cluster_info(now));
        self.admission.handle_view_installed(scene, redirect.as_ref(), out);
        self.announcer.handle_view_installed(now);
        self.requests.handle_view_installed(scene);
        self.queue.handle_view_installed(scene);
        if self.view.len() == 1 && self.requests.leaving_since().is_some() {
            self.end = Some(End::Stop(StopReason::Left));
        }
        self.ask_new_senders(now, &new_senders, out);
        //= docs/protocol.md#fd-4
        let shows_at = now + self.show_after(decided.as_ref().map(|d| &d.change));
        self.turns_begin = self.takes_turns;
        self.heartbeat_at = if shows_at > now { self.heartbeat_at.min(shows_at) } else { now };
    }

    /// When this member shows others the view that it has just installed. Joiners and leavers wait for that; where some
    /// are only lost, nobody does, and n² heartbeats would hold up those who have yet to install it.
    fn show_after(&self, decided: Option<&Change>) -> Duration {
        let only_losses = decided
            .is_some_and(|change| change.joined.is_empty() && change.left.is_empty() && !change.is_empty());
        if only_losses { self.view.timing().heartbeat_interval / 10 } else { Duration::ZERO }
    }

    /// Frames that concern discovery and joining, from anybody. Returns whether this was one.
    pub(super) fn handle_discovery_frame(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        reply: ReplyHandle,
        head: &Head,
        body: &FrameBody,
        out: &mut Outbox,
    ) -> bool {
        match body {
            FrameBody::FindCoordinator { asker, .. } => {
                self.handle_find_coordinator(now, from, Some(reply), *asker, out);
            }
            FrameBody::FoundPromise { .. } | FrameBody::FoundAccept { .. } => {
                out.reply(reply, head.sender, FrameBody::Coordinator(self.cluster_info(now)));
            }
            FrameBody::Coordinator(info) => self.handle_cluster_info(now, from, info, true, out),
            FrameBody::Join { cluster_name, member, timing, asked_in } => {
                self.handle_join(now, Join { reply, cluster_name, member, timing }, *asked_in, out);
            }
            FrameBody::FoundPromised { .. }
            | FrameBody::FoundAccepted { .. }
            | FrameBody::FoundRefused { .. }
            | FrameBody::JoinRefused { .. }
            | FrameBody::Admitted { .. } => {}
            _ => return false,
        }
        true
    }

    //= docs/protocol.md#vw-11
    fn handle_join(&mut self, now: Timestamp, join: Join<'_>, asked_in: ViewId, out: &mut Outbox) {
        let (reply, member) = (join.reply, join.member);
        let is_acting = self.leaves_by.is_none() && self.is_in_office();
        // A coordinator that does not know all views in which the joiner may have been can't tell whether it was removed.
        let forgot = is_acting && self.history.known_since(self.view.id()).0 > asked_in.0.saturating_add(1);
        let may_return = (forgot || self.history.knew(&member.id)) && !planted::is(Planted::IdsComeBack);
        if may_return && !self.view.contains(&member.id) {
            let reason = crate::message::JoinRefusal::IdInUse;
            return out.reply(reply, member.id.short(), FrameBody::JoinRefused { reason });
        }
        self.meet(now, member.endpoint.addr, member.id, out);
        let redirect = (!is_acting).then(|| self.cluster_info(now));
        match self.admission.handle_join(scene!(self, now), join, redirect, out) {
            Admitted::Handled => {}
            Admitted::ResendView => {
                let body = self.welcome(&member.id, |m, id| m.has_shown_view(id));
                out.reply(reply, member.id.short(), body);
            }
            Admitted::NameHeldBy(namesake) => {
                self.health.handle_name_wanted(scene!(self, now), namesake, out);
            }
        }
    }

    pub(super) fn handle_find_coordinator(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        reply: Option<ReplyHandle>,
        asker: MemberId,
        out: &mut Outbox,
    ) {
        // Whoever looks for another name is told this one, and says so to its user.
        let info = self.cluster_info(now);
        match reply {
            Some(reply) => out.reply(reply, asker.short(), FrameBody::Coordinator(info)),
            None => {
                out.datagram_to(
                    from,
                    asker.short(),
                    crate::message::DatagramBody::Coordinator(Box::new(info)),
                );
                self.meet(now, from, asker, out);
            }
        }
    }

    /// Somebody speaks from `from`: where a member of the view with another id has that address, it may be gone.
    //= docs/protocol.md#vw-12
    fn meet(&mut self, now: Timestamp, from: SocketAddr, id: MemberId, out: &mut Outbox) {
        let holder = self.view.members().iter().map(|m| &*m.member).find(|m| m.endpoint.addr == from);
        let Some(holder) = holder.filter(|m| m.id != id && m.id != self.me.id) else { return };
        let replaced = holder.id;
        self.health.handle_replaced(scene!(self, now), replaced, id, out);
    }

    /// Takes what a process says about its cluster. `is_firsthand`: it came from where it says that the coordinator is, or on
    /// a stream, so that no stray packet makes two clusters out of one.
    pub(super) fn handle_cluster_info(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        info: &ClusterInfo,
        is_firsthand: bool,
        out: &mut Outbox,
    ) {
        if let Some(other) = &info.membership
            && other.cluster == self.view.cluster()
            && other.view > self.view.id()
        {
            let scene = scene!(self, now);
            if self.view.contains(&other.coordinator) {
                // A member is asked in its turn; it may be gone, and whoever else showed the number is the one who has it.
                self.catch_up.note(scene, other.view, None);
            } else {
                let (address, id) = (other.endpoint.check_addr, other.coordinator.short());
                self.catch_up.note_stranger(scene, other.view, address, id);
            }
        }
        if !is_firsthand {
            return;
        }
        let meeting = self.announcer.handle_cluster_info(scene!(self, now), info, out);
        if let Some(GiveWay { to, coordinator }) = meeting {
            // That coordinator may be who was at this address before; then whoever spoke is the way in.
            let at = if coordinator == self.me.endpoint.addr { from } else { coordinator };
            self.end = Some(End::Excluded(ViewId::NONE, ExclusionCause::GaveWay { to, at }));
        }
    }

    pub(super) fn cluster_info(&self, now: Timestamp) -> ClusterInfo {
        let first = self.first_in_office();
        let coordinator = self.view.member(&first).unwrap_or(&self.me);
        self.announcer.cluster_info(scene!(self, now), coordinator)
    }

    /// A frame of somebody who is not in the view: it may be out, and is sent what says so.
    //= docs/protocol.md#vw-18
    pub(super) fn handle_stranger_frame(
        &mut self,
        now: Timestamp,
        reply: ReplyHandle,
        head: Head,
        body: FrameBody,
        out: &mut Outbox,
    ) {
        let held = match body {
            FrameBody::Install(installation) if self.catch_up.is_asked_of(head.sender) => {
                return self.handle_install(now, None, installation, out);
            }
            FrameBody::ViewRequest { held } => held,
            _ => head.view,
        };
        if held > self.view.id() {
            return self.catch_up.note(scene!(self, now), held, None);
        }
        //= docs/protocol.md#vw-3
        let is_leaver = head.flags.leaving || self.history.has_let_go(head.sender);
        let may_know = !is_leaver || self.is_view_held() || planted::is(Planted::LeaversLetGoEarly);
        if held != ViewId::NONE && held < self.view.id() && may_know {
            out.reply(reply, head.sender, FrameBody::Install(self.history.since(held, &self.view)));
        }
    }

    /// Whether members with more than half of the installed view's weight are known to hold it, or a newer one.
    fn is_view_held(&self) -> bool {
        let has_shown = |id: &MemberId| {
            let shown = self.contacts.get(id).map_or(ViewId::NONE, |record| record.newest_view());
            *id == self.me.id || shown >= self.view.id()
        };
        quorum::is_majority(quorum::weight_of(&self.view, has_shown), self.view.weight())
    }

    /// This member has decided the view without itself and only waits for the others to hold it.
    pub(super) fn handle_while_departing(&mut self, head: &Head, body: &FrameBody, out: &mut Outbox) {
        if let (FrameBody::Installed { view }, Some(place)) = (body, self.contacts.place_of(head.sender)) {
            let from = self.contacts.at(place).id();
            self.handle_installed(from, *view, out);
        }
    }
}

/// Why `me` is out after `change`.
pub(super) fn cause_of(change: &Change, me: &MemberId) -> ExclusionCause {
    if let Some(crashed) = change.crashed.iter().find(|c| c.member == *me) {
        return ExclusionCause::Crashed(Arc::clone(&crashed.evidence));
    }
    let expelled = change.expelled.iter().find(|e| e.member == *me);
    expelled.map_or(ExclusionCause::Unknown, |e| ExclusionCause::Expelled {
        reason: e.reason.clone(),
        by: e.by.clone(),
    })
}

/// The event of a view: from the change where it is known, else from the difference.
fn describe(old: &View, new: &Arc<View>, decided: Option<&Decided>) -> ViewChange {
    let subject = |id: &MemberId| Subject { id: *id, name: old.name_of(id) };
    let joined = new
        .members()
        .iter()
        .map(|m| &*m.member)
        .filter(|m| !old.contains(&m.id))
        .map(Subject::from)
        .collect();
    let mut event = ViewChange {
        view: Arc::clone(new),
        joined,
        left: Vec::new(),
        crashed: Vec::new(),
        expelled: Vec::new(),
        gone: Vec::new(),
    };
    match decided {
        Some(Decided { change, .. }) => {
            event.left = change.left.iter().map(subject).collect();
            event.crashed = change
                .crashed
                .iter()
                .map(|c| Removed { member: subject(&c.member), evidence: Arc::clone(&c.evidence) })
                .collect();
            event.expelled = change
                .expelled
                .iter()
                .map(|e| ExpelledMember {
                    member: subject(&e.member),
                    reason: e.reason.clone(),
                    by: e.by.clone(),
                })
                .collect();
        }
        None => {
            let gone = old.members().iter().map(|m| &*m.member).filter(|m| !new.contains(&m.id));
            event.gone = gone.map(Subject::from).collect();
        }
    }
    event
}
