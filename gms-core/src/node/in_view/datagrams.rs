//! Datagrams that reach a member: who speaks, whether it is contact, and which machine it is for.

use std::net::SocketAddr;

use crate::health::contacts::Contact;
use crate::input::DropCause;
use crate::member::ClusterTag;
use crate::membership::announce;
use crate::message::{Answers, Datagram, DatagramBody, Head};
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::time::Timestamp;

use super::{InView, STRANGERS_MAX, scene};

impl InView {
    /// Takes one datagram.
    pub(in crate::node) fn handle_datagram(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        received_at: Timestamp,
        datagram: &Datagram,
        out: &mut Outbox,
    ) {
        let Datagram { head, body } = datagram;
        match body {
            DatagramBody::FindCoordinator { asker, padding, .. } => {
                if announce::is_padded(padding) {
                    self.handle_find_coordinator(now, from, None, *asker, out);
                }
                return;
            }
            DatagramBody::Coordinator(info) => {
                let is_firsthand = info.membership.as_ref().is_some_and(|m| m.endpoint.addr == from);
                return self.handle_cluster_info(now, from, info, is_firsthand, out);
            }
            _ => {}
        }
        if head.cluster != self.view.cluster().tag() && head.cluster != ClusterTag::NONE {
            let patience = self.view.timing().heartbeat_interval / 2;
            let me = (self.view.cluster_name(), self.me.id);
            out.drop_message(DropCause::OtherCluster);
            return self.strays.ask(now, patience, from, me, out);
        }
        if let Some(cause) = self.reason_to_drop(head) {
            return out.drop_message(cause);
        }
        if self.leaves_by.is_some() {
            return;
        }
        let Some(place) = self.contacts.place_of(head.sender) else {
            return self.handle_stranger(now, from, head, body, out);
        };
        let answers = match body {
            DatagramBody::Heartbeat { answers } => *answers,
            _ => Answers::Nothing,
        };
        let contact = self.contacts.handle_datagram(place, head, answers, received_at);
        self.handle_contact(now, &contact, head, out);
        if contact.fresh || is_heard_late(body) {
            self.handle_body(now, &contact, body, out);
        } else {
            out.drop_message(DropCause::OldNumber);
        }
    }

    /// Whether a message of this head is none for this member.
    pub(super) fn reason_to_drop(&self, head: &Head) -> Option<DropCause> {
        let me = self.me.id.short();
        if head.cluster != self.view.cluster().tag() {
            Some(DropCause::OtherCluster)
        } else if head.recipient != me || head.sender == me {
            Some(DropCause::OtherRecipient)
        } else {
            None
        }
    }

    fn handle_body(&mut self, now: Timestamp, contact: &Contact, body: &DatagramBody, out: &mut Outbox) {
        let from = contact.from;
        if planted::is(Planted::HearsayIsContact)
            && let DatagramBody::FinalCheckPassed { member } = body
            && let Some(record) = self.contacts.get_mut(member)
        {
            record.move_by(now, std::time::Duration::MAX);
        }
        let scene = scene!(self, now);
        match body {
            DatagramBody::Heartbeat { .. }
            | DatagramBody::FindCoordinator { .. }
            | DatagramBody::Coordinator(_) => {}
            DatagramBody::HeartbeatRequest { target, request, .. } => {
                self.health.handle_heartbeat_request(scene, from, *target, *request, out);
            }
            DatagramBody::SuspectMembers { accusation, requests } => {
                let flags = contact.flags;
                self.health.handle_suspect_members(scene, from, flags, *accusation, requests, out);
            }
            DatagramBody::FinalCheckPassed { member } => {
                self.health.handle_final_check_passed(scene, from, *member, out);
            }
            DatagramBody::VerifyRequest { check, suspect } => {
                self.health.handle_verify_request(scene, contact, *check, *suspect, out);
            }
            DatagramBody::VerifyReply { check, suspect, finding } => {
                self.health.handle_verify_reply(scene, from, *check, *suspect, *finding, out);
            }
            DatagramBody::NotAMember { view } => {
                if *view >= self.view.id() {
                    self.catch_up.note(scene, *view, Some(from));
                }
            }
        }
    }

    /// What every message of a member of the view means, whatever its body.
    pub(super) fn handle_contact(
        &mut self,
        now: Timestamp,
        contact: &Contact,
        head: &Head,
        out: &mut Outbox,
    ) {
        self.health.handle_contact(scene!(self, now), *contact, out);
        if !self.fences.is_empty() {
            self.fences.handle_contact(&self.view, &mut self.contacts, contact, out);
        }
        if !contact.fresh {
            return;
        }
        //= docs/protocol.md#vw-4
        if head.view > self.view.id() {
            self.catch_up.note(scene!(self, now), head.view, Some(contact.from));
        }
        if self.contacts.at(contact.place).awaits_first_echo() {
            out.datagram(contact.from, DatagramBody::Heartbeat { answers: Answers::Nothing });
        }
        if contact.sent_after.is_some() && !self.isolation.is_connected(now) {
            self.update_isolation(now, out);
        }
    }

    /// A datagram of somebody who is not in the view: a joiner that answers, a member that is ahead, or one that is out.
    //= docs/protocol.md#fd-16
    fn handle_stranger(
        &mut self,
        now: Timestamp,
        from: SocketAddr,
        head: &Head,
        body: &DatagramBody,
        out: &mut Outbox,
    ) {
        if let DatagramBody::Heartbeat { answers: Answers::Request(request) } = body {
            self.admission.handle_heartbeat_answer(scene!(self, now), head.sender, *request);
        }
        if head.view > self.view.id() {
            return self.catch_up.note_stranger(scene!(self, now), head.view, from, head.sender);
        }
        let interval = self.view.timing().heartbeat_interval;
        while self.strangers.front().is_some_and(|(_, at)| now.since(*at) >= interval) {
            self.strangers.pop_front();
        }
        let told = self.strangers.iter().any(|(address, _)| *address == from);
        if told || self.strangers.len() == STRANGERS_MAX || head.view.0 == 0 {
            return;
        }
        self.strangers.push_back((from, now));
        out.datagram_to(from, head.sender, DatagramBody::NotAMember { view: self.view.id() });
    }
}

/// What counts although something newer of its sender came before: what came late or twice is no news, and everything
/// that matters is repeated. But who takes this member for a stranger does not number what it says; and what passes
/// between a checker and its verifier names its check, is sent for several suspects at one instant, and a removal waits
/// for it.
//= docs/protocol.md#fd-3
const fn is_heard_late(body: &DatagramBody) -> bool {
    matches!(
        body,
        DatagramBody::NotAMember { .. }
            | DatagramBody::VerifyRequest { .. }
            | DatagramBody::VerifyReply { .. }
    )
}
