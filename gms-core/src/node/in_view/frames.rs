//! Frames that reach a member, and frames that it sends to itself as one of those who vote.

use std::net::SocketAddr;

use crate::input::ReplyHandle;
use crate::member::MemberId;
use crate::membership::fence::FenceQuestion;
use crate::message::{Frame, FrameBody, Refusal};
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
        let short = self.me.id.short();
        let meant = head.recipient == short && head.sender != short;
        if head.cluster != self.view.cluster().tag() || !meant {
            return;
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

    fn handle_member_frame(
        &mut self,
        now: Timestamp,
        from: MemberId,
        reply: Option<ReplyHandle>,
        body: FrameBody,
        out: &mut Outbox,
    ) {
        let scene = scene!(self, now);
        match body {
            FrameBody::SuspectMembers { accusation, requests } => {
                let flags = self.contacts.get(&from).map_or_else(Default::default, |r| r.flags());
                self.health.handle_suspect_members(scene, from, flags, accusation, &requests, out);
            }
            FrameBody::Fence { base, base_digest, members } => {
                if self.is_base(now, from, base, base_digest, out) {
                    let question = FenceQuestion { asker: from, me: self.me.id, targets: &members };
                    self.fences.handle_fence(now, &self.view, &mut self.contacts, question, out);
                }
            }
            FrameBody::Fenced { base, member, check } if base == self.view.id() => {
                self.fencing.handle_fenced(from, &member, check);
            }
            FrameBody::NotYet { base, member, check, .. } if base == self.view.id() => {
                self.fencing.handle_not_yet(from, &member, check);
            }
            FrameBody::Heard { base, member, .. } if base == self.view.id() => {
                self.health.handle_heard(scene, member, from, out);
            }
            FrameBody::Leave { member } if member == from => self.queue.leave(member),
            FrameBody::Remove { member, reason, by } => {
                if self.view.contains(&member) {
                    self.queue.remove(Expelled { member, reason, by });
                }
            }
            FrameBody::Promise { ballot, base, base_digest, verdicts } => {
                if self.is_base(now, from, base, base_digest, out) {
                    self.handle_promise(now, from, ballot, &verdicts, out);
                } else {
                    let why = Refusal::OtherView(self.view.id());
                    out.frame(from, FrameBody::Refused { ballot, base, why });
                }
            }
            FrameBody::Promised { ballot, base, accepted } if base == self.view.id() => {
                self.proposer.handle_promised(from, ballot, accepted);
            }
            FrameBody::Prepare { ballot, change } => {
                if self.is_base(now, from, change.base, change.base_digest, out) {
                    self.handle_prepare(now, from, ballot, change, out);
                }
            }
            FrameBody::Accepted { ballot, base } if base == self.view.id() => {
                self.proposer.handle_accepted(from, ballot);
            }
            FrameBody::Refused { ballot, base, why } if base == self.view.id() => {
                self.proposer.handle_refused(scene, ballot, &why, &mut self.rng);
            }
            FrameBody::Installed { view } => self.handle_installed(from, view, out),
            FrameBody::Unfinished { base, .. } => {
                if base == self.view.id() {
                    self.queue.finish();
                } else {
                    self.send_newer(from, base, out);
                }
            }
            FrameBody::Install(installation) => self.handle_install(now, Some(from), installation, out),
            FrameBody::ViewRequest { held } => match reply {
                Some(reply) if held < self.view.id() => {
                    let body = FrameBody::Install(self.history.since(held, &self.view));
                    out.reply(reply, from.short(), body);
                }
                Some(_) | None => {}
            },
            // What is about another base is over; the rest is answered before members are told from strangers.
            FrameBody::Fenced { .. }
            | FrameBody::Heard { .. }
            | FrameBody::NotYet { .. }
            | FrameBody::Leave { .. }
            | FrameBody::Promised { .. }
            | FrameBody::Accepted { .. }
            | FrameBody::Refused { .. }
            | FrameBody::FindCoordinator { .. }
            | FrameBody::Coordinator(_)
            | FrameBody::FoundPromise { .. }
            | FrameBody::FoundPromised { .. }
            | FrameBody::FoundAccept { .. }
            | FrameBody::FoundAccepted { .. }
            | FrameBody::FoundRefused { .. }
            | FrameBody::Join { .. }
            | FrameBody::JoinRefused { .. } => {}
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

    /// Sends what is newer than `held` to a member.
    fn send_newer(&self, to: MemberId, held: ViewId, out: &mut Outbox) {
        if held < self.view.id() && to != self.me.id {
            out.frame(to, FrameBody::Install(self.history.since(held, &self.view)));
        }
    }
}
