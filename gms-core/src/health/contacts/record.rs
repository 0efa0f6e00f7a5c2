//! The record of one member: every clock about it, and what it last showed.

use std::time::Duration;

use crate::member::MemberId;
use crate::message::{Answers, Echo, Flags, Head};
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::ViewId;

use super::exchange::{Exchange, Shown};
use super::links::Link;

/// What one message from a member of the view means for the machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Contact {
    /// Who.
    pub(crate) from: MemberId,
    /// Its place in the view.
    pub(crate) place: usize,
    /// When it was read from the socket.
    pub(crate) at: Timestamp,
    /// Whether it is a contact: newer than all before, and neither isolated nor sick.
    pub(crate) counts: bool,
    /// Whether it is newer than all before, flagged or not.
    pub(crate) fresh: bool,
    /// The sender's state.
    pub(crate) flags: Flags,
    /// What a heartbeat answers.
    pub(crate) answers: Answers,
    /// When this member sent the newest datagram that the sender shows to have received: the message was sent after.
    pub(crate) sent_after: Option<Timestamp>,
}

/// What is known of a member with which nothing was exchanged.
static NOTHING: Exchange = Exchange::new();

/// Everything known first-hand about one member. Small until something is exchanged with it: in a large view that
/// happens with few.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    id: MemberId,
    /// When it came into the installed view here, or began to send heartbeats here.
    since: Timestamp,
    /// Whether it sends its heartbeats here: else nothing follows from its silence.
    expected: bool,
    /// Last contact, moved by own pauses; begins at `since`.
    last_contact: Timestamp,
    exchange: Option<Box<Exchange>>,
}

impl Record {
    /// A record that begins at `now`.
    pub(crate) const fn new(id: MemberId, now: Timestamp) -> Self {
        Self { id, since: now, expected: true, last_contact: now, exchange: None }
    }

    /// Takes the record out and leaves one of which nothing is known.
    pub(super) const fn take(&mut self) -> Self {
        let mut rest = Self::new(self.id, self.since);
        rest.expected = self.expected;
        std::mem::replace(self, rest)
    }

    fn exchange(&self) -> &Exchange {
        self.exchange.as_deref().unwrap_or(&NOTHING)
    }

    fn exchange_mut(&mut self) -> &mut Exchange {
        self.exchange.get_or_insert_with(|| Box::new(Exchange::new()))
    }

    /// Whose record this is.
    pub(crate) const fn id(&self) -> MemberId {
        self.id
    }

    /// Last contact, moved by own pauses; the moment at which it joined if there was none.
    pub(crate) const fn last_contact(&self) -> Timestamp {
        self.last_contact
    }

    /// Last contact, not moved by anything.
    pub(crate) fn contact_unmoved(&self) -> Option<Timestamp> {
        self.exchange().contact_unmoved
    }

    /// Time since the last contact. One that sends no heartbeats here is never silent.
    pub(crate) fn silence(&self, now: Timestamp) -> Duration {
        if self.expected { now.since(self.last_contact) } else { Duration::ZERO }
    }

    /// From when a checker that has asked it since `asked` counts its silence: it owes an answer, if no heartbeats.
    pub(crate) fn silent_since(&self, asked: Timestamp) -> Timestamp {
        if self.expected { self.last_contact } else { self.last_contact.max(asked) }
    }

    /// Whether it sends its heartbeats here.
    pub(crate) const fn is_expected(&self) -> bool {
        self.expected
    }

    /// Notes whether it sends its heartbeats here. Silence counts from when it begins to; returns whether it does.
    //= docs/protocol.md#fd-5
    //= docs/protocol.md#lv-4
    pub(crate) fn expect(&mut self, expected: bool, now: Timestamp) -> bool {
        let begins = expected && !self.expected;
        if begins {
            self.since = now;
            self.last_contact = now;
        }
        self.expected = expected;
        begins
    }

    /// Whether there was contact within `span`, not moved by anything; counts one that just joined as in contact.
    pub(crate) fn is_in_contact(&self, now: Timestamp, span: Duration) -> bool {
        let last = self.contact_unmoved().map_or(self.since, |at| at.max(self.since));
        now.since(last) <= span
    }

    /// Whether anything was read from it within `span`, flagged or not.
    pub(crate) fn is_heard(&self, now: Timestamp, span: Duration) -> bool {
        self.exchange().newest.is_some_and(|(_, at)| now.since(at) <= span)
    }

    /// Whether a contact is known to have been sent after `moment`: it echoes what this member sent later than that.
    pub(crate) fn is_proved_after(&self, moment: Timestamp) -> bool {
        self.exchange().proved.is_some_and(|at| at > moment)
    }

    /// The flags of its newest message.
    pub(crate) fn flags(&self) -> Flags {
        self.exchange().flags
    }

    /// The newest view that it was ever seen to show.
    pub(crate) fn newest_view(&self) -> ViewId {
        self.exchange().newest_view
    }

    /// Loss and round trip.
    pub(crate) fn link(&self) -> &Link {
        &self.exchange().link
    }

    /// Newest send time that it echoed under a head for which `counts` holds.
    pub(crate) fn echoed(&self, counts: impl FnMut(Shown) -> bool) -> Option<Timestamp> {
        self.exchange().echoed(counts)
    }

    /// Until when this hub keeps this member connected, by echoes under heads for which `counts` holds: as long as its own
    /// contact with a majority lasts, and at most `valid` after what it echoes was sent.
    //= docs/protocol.md#lv-2
    pub(crate) fn lent_until(&self, valid: Duration, counts: impl FnMut(Shown) -> bool) -> Option<Timestamp> {
        self.exchange().lent_until(valid, counts)
    }

    /// Arrival of the newest datagram of it that was ever echoed.
    pub(crate) fn newest_echoed(&self) -> Option<Timestamp> {
        self.exchange().newest_echoed
    }

    /// Whether it was never given an echo although there is something to echo.
    pub(crate) fn awaits_first_echo(&self) -> bool {
        let exchange = self.exchange();
        exchange.newest.is_some() && exchange.newest_echoed.is_none() && !exchange.echo_withheld
    }

    /// Stops or resumes giving it echoes.
    pub(crate) fn withhold_echo(&mut self, withheld: bool) {
        if withheld || self.exchange.is_some() {
            self.exchange_mut().echo_withheld = withheld;
        }
    }

    /// Takes the number of the next datagram to it and remembers when it was sent.
    pub(crate) fn next_number(&mut self, now: Timestamp) -> u64 {
        self.exchange_mut().next_number(now)
    }

    /// Takes the number of the next frame to it.
    pub(crate) fn next_frame_number(&mut self) -> u64 {
        self.exchange_mut().next_frame_number()
    }

    /// The echo to put into a message to it, noted as given.
    //= docs/protocol.md#vw-21
    pub(crate) fn take_echo(&mut self, now: Timestamp) -> Option<Echo> {
        self.exchange.as_mut()?.take_echo(now)
    }

    /// Moves the last contact by a pause, at most to `now`.
    pub(crate) fn move_by(&mut self, now: Timestamp, pause: Duration) {
        self.last_contact = now.min(self.last_contact + pause);
    }

    /// Takes a datagram from it into account.
    //= docs/protocol.md#fd-1
    //= docs/protocol.md#fd-3
    pub(crate) fn handle_datagram(
        &mut self,
        place: usize,
        head: &Head,
        answers: Answers,
        received_at: Timestamp,
    ) -> Contact {
        let fresh = self.exchange_mut().take_number(head.number, received_at);
        self.handle_head(place, head, answers, fresh || planted::is(Planted::StaleIsContact), received_at)
    }

    /// Takes a frame from it into account. Streams have numbers of their own.
    pub(crate) fn handle_frame(&mut self, place: usize, head: &Head, received_at: Timestamp) -> Contact {
        let fresh = self.exchange_mut().take_frame_number(head.number);
        self.handle_head(place, head, Answers::Nothing, fresh, received_at)
    }

    fn handle_head(
        &mut self,
        place: usize,
        head: &Head,
        answers: Answers,
        fresh: bool,
        at: Timestamp,
    ) -> Contact {
        let counts = fresh && !head.flags.isolated && !head.flags.sick;
        let exchange = self.exchange_mut();
        let mut sent_after = None;
        if fresh {
            sent_after = exchange.handle_echo(head, at);
            exchange.flags = head.flags;
            exchange.newest_view = exchange.newest_view.max(head.view);
        }
        if counts {
            exchange.contact_unmoved = exchange.contact_unmoved.max(Some(at));
            exchange.proved = exchange.proved.max(sent_after);
            self.last_contact = self.last_contact.max(at);
        }
        Contact { from: self.id, place, at, counts, fresh, flags: head.flags, answers, sent_after }
    }
}
