//! A heartbeat request put to one member several times, evenly spread, under one id.

use std::time::Duration;

use fastrand::Rng;

use crate::evidence::Reason;
use crate::health::contacts::Contact;
use crate::member::MemberId;
use crate::message::{Answers, DatagramBody, RequestId};
use crate::outbox::Outbox;
use crate::time::Timestamp;

/// How often a request goes out within the time that a check has: three of them may be lost.
pub(super) const TIMES: u8 = 4;

/// One question and when to put it again.
#[derive(Debug)]
pub(super) struct Asking {
    target: MemberId,
    reason: Reason,
    request: RequestId,
    step: Duration,
    next_at: Timestamp,
    sent: u8,
}

impl Asking {
    /// A question that goes out at once and then [`TIMES`] times in all over `span`; asking on afterwards keeps that
    /// pace.
    pub(super) fn new(
        rng: &mut Rng,
        now: Timestamp,
        span: Duration,
        target: MemberId,
        reason: Reason,
    ) -> Self {
        let request = RequestId(rng.u64(..));
        Self { target, reason, request, step: span / u32::from(TIMES), next_at: now, sent: 0 }
    }

    /// Begins the count anew, under the same id.
    pub(super) const fn restart(&mut self, now: Timestamp) {
        self.sent = 0;
        self.next_at = now;
    }

    /// Whether it is time to ask again.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        now >= self.next_at
    }

    /// Asks, and plans the next time.
    //= docs/protocol.md#fd-8
    pub(super) fn ask(&mut self, now: Timestamp, out: &mut Outbox) {
        let body = DatagramBody::HeartbeatRequest {
            target: self.target,
            request: self.request,
            reason: self.reason,
        };
        out.datagram(self.target, body);
        self.skip(now);
        self.sent = self.sent.saturating_add(1);
    }

    /// Lets this time pass without asking.
    pub(super) fn skip(&mut self, now: Timestamp) {
        self.next_at = now + self.step;
    }

    /// When to ask next.
    pub(super) const fn next_at(&self) -> Timestamp {
        self.next_at
    }

    /// The time between two requests.
    pub(super) const fn step(&self) -> Duration {
        self.step
    }

    /// How often it was asked.
    pub(super) const fn sent(&self) -> u8 {
        self.sent
    }

    /// The question's id.
    pub(super) const fn request(&self) -> RequestId {
        self.request
    }

    /// Moves the plan by a pause of this process.
    pub(super) fn move_by(&mut self, pause: Duration) {
        self.next_at = self.next_at + pause;
    }
}

/// Whether a message shows that its sender lived after `began`: it answers `request`, or echoes something sent since.
///
/// Both count also from an isolated member, for it heard this one: else a verdict on a member that is isolated because
/// of the verdict's own fence would stand for ever. Never from a sick one.
//= docs/protocol.md#fd-20
pub(super) fn is_proof_of_life(contact: &Contact, began: Timestamp, request: RequestId) -> bool {
    let answered = contact.answers == Answers::Request(request);
    let heard_since = contact.sent_after.is_some_and(|sent| sent >= began);
    contact.fresh && !contact.flags.sick && (answered || heard_since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Flags;
    use crate::testing::id;

    #[test]
    fn what_proves_life_table() {
        let began = Timestamp::from_millis(50);
        let asked = RequestId(3);
        let sick = Flags { sick: true, ..Flags::default() };
        let isolated = Flags { isolated: true, ..Flags::default() };
        let other = Answers::Request(RequestId(4));
        // answers, fresh, flags, sent after (ms), proof?
        let table = [
            (Answers::Request(asked), true, Flags::default(), None, true),
            (Answers::Request(asked), true, isolated, None, true),
            (Answers::Request(asked), true, sick, None, false),
            (Answers::Request(asked), false, Flags::default(), None, false),
            (other, true, Flags::default(), None, false),
            (Answers::Nothing, true, Flags::default(), Some(50), true),
            (Answers::Nothing, true, Flags::default(), Some(49), false),
            (Answers::Nothing, true, isolated, Some(60), true),
            (Answers::Nothing, true, isolated, Some(49), false),
            (Answers::Nothing, true, sick, Some(60), false),
            (Answers::Nothing, false, Flags::default(), Some(60), false),
        ];
        for (answers, fresh, flags, sent_after, expected) in table {
            let contact = Contact {
                from: id(1),
                place: 1,
                at: Timestamp::from_millis(70),
                counts: fresh && !flags.sick && !flags.isolated,
                fresh,
                flags,
                answers,
                sent_after: sent_after.map(Timestamp::from_millis),
            };
            assert_eq!(is_proof_of_life(&contact, began, asked), expected, "{contact:?}");
        }
    }
}
