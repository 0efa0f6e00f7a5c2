//! The record of one member: every clock about it, and what it last showed.

use std::time::Duration;

use crate::member::MemberId;
use crate::message::{Answers, Echo, Flags, Head};
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::{DigestTag, ViewId};

use super::links::Link;

/// Send times remembered per member. A heartbeat interval is at least T/5 apart from the next, answers and requests
/// add some: 32 reach back further than T in any configuration that keeps the default ratio.
const SENT_MEMORY: usize = 32;
/// What a datagram may take beyond two smoothed round trips before it counts as lost: scheduling on a loaded machine.
const TRANSIT_MARGIN: Duration = Duration::from_millis(20);
/// Kinds of heads whose newest echo is kept: older view, base with nothing accepted, base with a change accepted, next
/// view. One more than ever counts at a time.
const ECHO_MEMORY: usize = 5;

/// The state that a head shows: a view, and the change accepted for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) view: ViewId,
    pub(crate) accepted: Option<DigestTag>,
}

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

/// Everything known first-hand about one member.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    id: MemberId,
    /// When it came into the installed view here.
    since: Timestamp,
    /// Last contact, moved by own pauses; begins at `since`.
    last_contact: Timestamp,
    /// Last contact as it was, if there was any.
    contact_unmoved: Option<Timestamp>,
    /// Number and arrival of the newest datagram, flagged or not.
    newest: Option<(u64, Timestamp)>,
    newest_frame: u64,
    /// Arrival of the newest datagram that was ever echoed to it.
    newest_echoed: Option<Timestamp>,
    /// While true, nothing sent to it carries an echo.
    echo_withheld: bool,
    last_number: u64,
    last_frame_number: u64,
    sent: [Timestamp; SENT_MEMORY],
    /// Newest send time echoed, per state that the echoing head showed, newest state last.
    echoes: Vec<(Shown, Timestamp)>,
    newest_echo_number: u64,
    /// Newest send time echoed by a contact that counts.
    proved: Option<Timestamp>,
    shown: Shown,
    newest_view: ViewId,
    flags: Flags,
    link: Link,
}

impl Record {
    /// A record that begins at `now`.
    pub(crate) fn new(id: MemberId, now: Timestamp) -> Self {
        Self {
            id,
            since: now,
            last_contact: now,
            contact_unmoved: None,
            newest: None,
            newest_frame: 0,
            newest_echoed: None,
            echo_withheld: false,
            last_number: 0,
            last_frame_number: 0,
            sent: [Timestamp::ZERO; SENT_MEMORY],
            echoes: Vec::with_capacity(ECHO_MEMORY),
            newest_echo_number: 0,
            proved: None,
            shown: Shown::default(),
            newest_view: ViewId::NONE,
            flags: Flags::default(),
            link: Link::default(),
        }
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
    pub(crate) const fn contact_unmoved(&self) -> Option<Timestamp> {
        self.contact_unmoved
    }

    /// Time since the last contact.
    pub(crate) fn silence(&self, now: Timestamp) -> Duration {
        now.since(self.last_contact)
    }

    /// Whether there was contact within `span`, not moved by anything; counts one that just joined as in contact.
    pub(crate) fn is_in_contact(&self, now: Timestamp, span: Duration) -> bool {
        let last = self.contact_unmoved.map_or(self.since, |at| at.max(self.since));
        now.since(last) <= span
    }

    /// Whether anything was read from it within `span`, flagged or not.
    pub(crate) fn is_heard(&self, now: Timestamp, span: Duration) -> bool {
        self.newest.is_some_and(|(_, at)| now.since(at) <= span)
    }

    /// Whether a contact is known to have been sent after `moment`: it echoes what this member sent later than that.
    pub(crate) fn is_proved_after(&self, moment: Timestamp) -> bool {
        self.proved.is_some_and(|at| at > moment)
    }

    /// The flags of its newest message.
    pub(crate) const fn flags(&self) -> Flags {
        self.flags
    }

    /// The newest view that it was ever seen to show.
    pub(crate) const fn newest_view(&self) -> ViewId {
        self.newest_view
    }

    /// Loss and round trip.
    pub(crate) const fn link(&self) -> &Link {
        &self.link
    }

    /// Newest send time that it echoed under a head for which `counts` holds.
    pub(crate) fn echoed(&self, mut counts: impl FnMut(Shown) -> bool) -> Option<Timestamp> {
        self.echoes.iter().filter(|(shown, _)| counts(*shown)).map(|(_, sent)| *sent).max()
    }

    /// Arrival of the newest datagram of it that was ever echoed.
    pub(crate) const fn newest_echoed(&self) -> Option<Timestamp> {
        self.newest_echoed
    }

    /// Whether it was never given an echo although there is something to echo.
    pub(crate) const fn awaits_first_echo(&self) -> bool {
        self.newest.is_some() && self.newest_echoed.is_none() && !self.echo_withheld
    }

    /// Stops or resumes giving it echoes.
    pub(crate) const fn withhold_echo(&mut self, withheld: bool) {
        self.echo_withheld = withheld;
    }

    /// Takes the number of the next datagram to it and remembers when it was sent.
    pub(crate) fn next_number(&mut self, now: Timestamp) -> u64 {
        self.last_number += 1;
        self.sent[slot(self.last_number)] = now;
        self.last_number
    }

    /// Takes the number of the next frame to it.
    pub(crate) const fn next_frame_number(&mut self) -> u64 {
        self.last_frame_number += 1;
        self.last_frame_number
    }

    /// The echo to put into a message to it, noted as given.
    //= docs/protocol.md#vw-21
    pub(crate) fn take_echo(&mut self, now: Timestamp) -> Option<Echo> {
        if self.echo_withheld && !planted::is(Planted::EchoAfterGrant) {
            return None;
        }
        let (number, received) = self.newest?;
        self.newest_echoed = Some(received);
        let age = u32::try_from(now.since(received).as_micros()).unwrap_or(u32::MAX);
        Some(Echo { number, age_us: age })
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
        let newest = self.newest.map_or(0, |(number, _)| number);
        let fresh = head.number > newest;
        if fresh {
            if newest > 0 {
                self.link.count_received(head.number - newest);
            }
            self.newest = Some((head.number, received_at));
        }
        self.handle_head(place, head, answers, fresh || planted::is(Planted::StaleIsContact), received_at)
    }

    /// Takes a frame from it into account. Streams have numbers of their own.
    pub(crate) fn handle_frame(&mut self, place: usize, head: &Head, received_at: Timestamp) -> Contact {
        let fresh = head.number > self.newest_frame;
        if fresh {
            self.newest_frame = head.number;
        }
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
        let sent_after = if fresh { self.handle_echo(head, at) } else { None };
        if fresh {
            self.flags = head.flags;
            self.shown = Shown { view: head.view, accepted: head.accepted };
            self.newest_view = self.newest_view.max(head.view);
        }
        if counts {
            self.last_contact = self.last_contact.max(at);
            self.contact_unmoved = Some(self.contact_unmoved.map_or(at, |old| old.max(at)));
            self.proved = self.proved.max(sent_after);
        }
        Contact { from: self.id, place, at, counts, fresh, flags: head.flags, answers, sent_after }
    }

    /// When the echoed datagram was sent, remembered under the state that the head shows.
    fn handle_echo(&mut self, head: &Head, at: Timestamp) -> Option<Timestamp> {
        let echo = head.echo?;
        let known = echo.number > 0
            && echo.number <= self.last_number
            && self.last_number - echo.number < SENT_MEMORY as u64;
        if !known {
            return None;
        }
        let sent = self.sent[slot(echo.number)];
        if echo.number > self.newest_echo_number {
            self.newest_echo_number = echo.number;
            let held = Duration::from_micros(u64::from(echo.age_us));
            self.link.measure_rtt(at.since(sent).saturating_sub(held));
        }
        self.judge_way_out(echo.number, at);
        let counted_from = if planted::is(Planted::EchoCountsFromArrival) { at } else { sent };
        self.remember_echo(Shown { view: head.view, accepted: head.accepted }, counted_from);
        Some(sent)
    }

    /// Whether the newest datagram that should have arrived there before it spoke had done so.
    fn judge_way_out(&mut self, echoed: u64, at: Timestamp) {
        let Some(rtt) = self.link.rtt() else { return };
        let before = at - rtt * 2 - TRANSIT_MARGIN;
        let oldest = self.last_number.saturating_sub(SENT_MEMORY as u64 - 1).max(1);
        let due = (oldest..=self.last_number).rev().find(|n| self.sent[slot(*n)] <= before);
        if let Some(number) = due {
            self.link.count_echo(number, echoed >= number);
        }
    }

    fn remember_echo(&mut self, shown: Shown, sent: Timestamp) {
        if let Some((_, newest)) = self.echoes.iter_mut().find(|(s, _)| *s == shown) {
            *newest = sent.max(*newest);
            return;
        }
        if self.echoes.len() == ECHO_MEMORY {
            self.echoes.remove(0);
        }
        self.echoes.push((shown, sent));
    }
}

const fn slot(number: u64) -> usize {
    (number % SENT_MEMORY as u64) as usize
}
