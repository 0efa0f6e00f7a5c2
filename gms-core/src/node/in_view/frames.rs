//! Frames that reach a member, and frames that it sends to itself as one of those who vote.

use std::net::SocketAddr;

use crate::hubs;
use crate::input::ReplyHandle;
use crate::member::MemberId;
use crate::membership::fence::FenceQuestion;
use crate::message::{Frame, FrameBody, Installation, Refusal};
use crate::outbox::Outbox;
use crate::time::Timestamp;
use crate::view::{Digest, Expelled, ViewId};

use super::{InView, scene};

impl InView {
    /// Takes one frame.
    pub(in crate::node) fn handle_frame(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        reply: ReplyHandle,
        received_at: Timestamp,
        frame: Frame,
        out: &mut Outbox,
    ) {
        let Frame { head, body } = frame;
        if self.handle_discovery_frame(now, from, reply, &head, &body, out) {
            return;
        }
        if let Some(cause) = self.reason_to_drop(&head) {
            return out.drop_message(cause);
        }
        if self.leaves_by.is_some() {
            return self.handle_while_departing(&head, &body, out);
        }
        let Some(place) = self.contacts.place_of(head.sender) else {
            return self.handle_stranger_frame(now, reply, head, body, out);
        };
        let contact = self.contacts.handle_frame(place, &head, received_at);
        self.handle_contact(now, &contact, &head, out);
        self.handle_member_frame(now, contact.from, Some(reply), body, out);
    }

    /// A frame that this member sent to itself: it votes like everybody else.
    pub(in crate::node) fn handle_own_frame(&mut self, now: Timestamp, body: FrameBody, out: &mut Outbox) {
        let me = self.me.id;
        self.handle_member_frame(now, me, None, body, out);
    }

    /// A frame of a member: each kind is taken by those who know it.
    fn handle_member_frame(
        &mut self,
        now: Timestamp,
        from: MemberId,
        reply: Option<ReplyHandle>,
        body: FrameBody,
        out: &mut Outbox,
    ) {
        match body {
            FrameBody::SuspectMembers { accusation, requests } => {
                let flags = self.contacts.get(&from).map_or_else(Default::default, |r| r.flags());
                self.health.handle_suspect_members(
                    scene!(self, now),
                    from,
                    flags,
                    accusation,
                    &requests,
                    out,
                );
            }
            FrameBody::Fence { .. }
            | FrameBody::Fenced { .. }
            | FrameBody::NotYet { .. }
            | FrameBody::Heard { .. } => self.handle_fence_frame(now, from, body, out),
            FrameBody::Promise { .. }
            | FrameBody::Promised { .. }
            | FrameBody::Prepare { .. }
            | FrameBody::Accepted { .. }
            | FrameBody::Refused { .. } => self.handle_ballot_frame(now, from, body, out),
            FrameBody::Leave { .. } | FrameBody::Remove { .. } | FrameBody::Unfinished { .. } => {
                self.handle_request_frame(from, body, out);
            }
            FrameBody::Install(installation) => self.handle_install(now, Some(from), installation, out),
            FrameBody::Installed { view } => self.handle_installed(from, view, out),
            FrameBody::ViewRequest { held } => self.handle_view_request(from, reply, held, out),
            // These are answered before members are told from strangers.
            FrameBody::FindCoordinator { .. }
            | FrameBody::Coordinator(_)
            | FrameBody::FoundPromise { .. }
            | FrameBody::FoundPromised { .. }
            | FrameBody::FoundAccept { .. }
            | FrameBody::FoundAccepted { .. }
            | FrameBody::FoundRefused { .. }
            | FrameBody::Join { .. }
            | FrameBody::JoinRefused { .. }
            | FrameBody::Admitted { .. } => {}
        }
    }

    /// Questions about fences, and answers to this member's own; answers about another base are over.
    fn handle_fence_frame(&mut self, now: Timestamp, from: MemberId, body: FrameBody, out: &mut Outbox) {
        let installed = self.view.id();
        match body {
            FrameBody::Fence { base, base_digest, members } => {
                if !self.is_base(now, from, base, base_digest, out) {
                    return;
                }
                let question = FenceQuestion { asker: from, me: self.me.id, targets: &members };
                self.fences.handle_fence(now, &self.view, &mut self.contacts, question, out);
            }
            FrameBody::Fenced { base, member, check } if base == installed => {
                self.fencing.handle_fenced(from, &member, check);
            }
            FrameBody::NotYet { base, member, check, left } if base == installed => {
                self.fencing.handle_not_yet(scene!(self, now), from, (&member, check), left);
            }
            FrameBody::Heard { base, member, .. } if base == installed => {
                self.health.handle_heard(scene!(self, now), member, from, out);
            }
            _ => {}
        }
    }

    /// Questions of proposers, and answers to this member's own; answers about another base are over.
    fn handle_ballot_frame(&mut self, now: Timestamp, from: MemberId, body: FrameBody, out: &mut Outbox) {
        let installed = self.view.id();
        match body {
            FrameBody::Promise { ballot, base, base_digest, verdicts } => {
                if self.is_base(now, from, base, base_digest, out) {
                    self.handle_promise(now, from, ballot, &verdicts, out);
                } else {
                    let why = Refusal::OtherView(installed);
                    out.frame(from, FrameBody::Refused { ballot, base, why });
                }
            }
            FrameBody::Promised { ballot, base, accepted } if base == installed => {
                self.proposer.handle_promised(from, ballot, accepted);
            }
            FrameBody::Prepare { ballot, change } => {
                if !self.is_base(now, from, change.base, change.base_digest, out) {
                    return;
                }
                self.handle_prepare(now, from, ballot, change, out);
            }
            FrameBody::Accepted { ballot, base } if base == installed => {
                self.proposer.handle_accepted(from, ballot);
            }
            FrameBody::Refused { ballot, base, why } if base == installed => {
                self.proposer.handle_refused(scene!(self, now), ballot, &why, &mut self.rng);
            }
            _ => {}
        }
    }

    /// What a member asks this one for as coordinator.
    fn handle_request_frame(&mut self, from: MemberId, body: FrameBody, out: &mut Outbox) {
        match body {
            FrameBody::Leave { member } if member == from => self.queue.leave(member),
            FrameBody::Remove { member, reason, by } if self.view.contains(&member) => {
                self.queue.remove(Expelled { member, reason, by });
            }
            //= docs/protocol.md#vw-23
            FrameBody::Unfinished { base, .. } if base == self.view.id() => self.queue.finish(),
            FrameBody::Unfinished { base, .. } => self.send_newer(from, base, out),
            _ => {}
        }
    }

    /// Sends whoever is behind what it lacks, on the connection on which it asked.
    //= docs/protocol.md#vw-4
    fn handle_view_request(
        &self,
        from: MemberId,
        reply: Option<ReplyHandle>,
        held: ViewId,
        out: &mut Outbox,
    ) {
        if let Some(reply) = reply.filter(|_| held < self.view.id()) {
            let body = FrameBody::Install(self.history.since(held, &self.view));
            out.reply(reply, from.short(), body);
        }
    }

    /// Whether a request is about the installed view. Whoever is behind is sent what is newer; where this member is
    /// behind, it asks.
    //= docs/protocol.md#vw-2
    fn is_base(
        &mut self,
        now: Timestamp,
        from: MemberId,
        base: ViewId,
        digest: Digest,
        out: &mut Outbox,
    ) -> bool {
        let installed = self.view.id();
        if base < installed {
            self.send_newer(from, base, out);
        } else if base > installed {
            self.catch_up.ask_now(scene!(self, now), base, from, out);
        }
        base == installed && digest == self.view.digest()
    }

    /// Sends what is newer than `held` to a member. A large view goes to none who has not asked for it.
    //= docs/protocol.md#lv-5
    fn send_newer(&self, to: MemberId, held: ViewId, out: &mut Outbox) {
        if held >= self.view.id() || to == self.me.id {
            return;
        }
        let installation = self.history.since(held, &self.view);
        if matches!(installation, Installation::Changes(_)) || !hubs::spreads_views(&self.view) {
            out.frame(to, FrameBody::Install(installation));
        }
    }
}
