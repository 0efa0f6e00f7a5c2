//! What was ever exchanged with one member: numbers, send times, echoes. Most members of a large view have none.

use std::time::Duration;

use crate::message::{Echo, Flags, Head};
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

/// The newest datagram to the member that it echoed under heads of one state.
#[derive(Clone, Copy, Debug)]
struct Echoed {
    shown: Shown,
    /// When it was sent.
    sent: Timestamp,
    /// How long after that the echoing hub's own contact with a majority lasts at least; zero if it is no hub.
    lent_for: Duration,
}

/// What was exchanged with one member. Its lists grow with use, so that a few words cost little.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// Last contact as it was, if there was any.
    pub(super) contact_unmoved: Option<Timestamp>,
    /// Number and arrival of the newest datagram, flagged or not.
    pub(super) newest: Option<(u64, Timestamp)>,
    newest_frame: u64,
    /// Arrival of the newest datagram that was ever echoed to it.
    pub(super) newest_echoed: Option<Timestamp>,
    /// While true, nothing sent to it carries an echo.
    pub(super) echo_withheld: bool,
    last_number: u64,
    last_frame_number: u64,
    /// When the newest datagrams to it were sent, each at the place that [`slot`] gives its number.
    sent: Vec<Timestamp>,
    /// What was echoed, per state that the echoing head showed, newest state last.
    echoes: Vec<Echoed>,
    newest_echo_number: u64,
    /// Newest send time echoed by a contact that counts.
    pub(super) proved: Option<Timestamp>,
    pub(super) newest_view: ViewId,
    pub(super) flags: Flags,
    pub(super) link: Link,
}

impl Exchange {
    /// That of a member with which nothing was exchanged.
    pub(super) const fn new() -> Self {
        Self {
            contact_unmoved: None,
            newest: None,
            newest_frame: 0,
            newest_echoed: None,
            echo_withheld: false,
            last_number: 0,
            last_frame_number: 0,
            sent: Vec::new(),
            echoes: Vec::new(),
            newest_echo_number: 0,
            proved: None,
            newest_view: ViewId::NONE,
            flags: Flags { isolated: false, sick: false, paused: false, leaving: false },
            link: Link::new(),
        }
    }

    /// Newest send time that was echoed under a head for which `counts` holds.
    pub(super) fn echoed(&self, mut counts: impl FnMut(Shown) -> bool) -> Option<Timestamp> {
        self.echoes.iter().filter(|e| counts(e.shown)).map(|e| e.sent).max()
    }

    /// Until when contact is lent by echoes under heads for which `counts` holds, at most `valid` each.
    pub(super) fn lent_until(
        &self,
        valid: Duration,
        mut counts: impl FnMut(Shown) -> bool,
    ) -> Option<Timestamp> {
        let lent =
            |e: &Echoed| if planted::is(Planted::QuorateForIgnored) { valid } else { e.lent_for.min(valid) };
        let counted = self.echoes.iter().filter(|e| counts(e.shown) && !lent(e).is_zero());
        counted.map(|e| e.sent + lent(e)).max()
    }

    /// Takes the number of the next datagram and remembers when it was sent.
    pub(super) fn next_number(&mut self, now: Timestamp) -> u64 {
        self.last_number += 1;
        let slot = slot(self.last_number);
        match self.sent.get_mut(slot) {
            Some(sent) => *sent = now,
            None => self.sent.push(now),
        }
        self.last_number
    }

    /// Takes the number of the next frame.
    pub(super) const fn next_frame_number(&mut self) -> u64 {
        self.last_frame_number += 1;
        self.last_frame_number
    }

    /// The echo of the newest datagram, noted as given.
    pub(super) fn take_echo(&mut self, now: Timestamp) -> Option<Echo> {
        if self.echo_withheld && !planted::is(Planted::EchoAfterGrant) {
            return None;
        }
        let (number, received) = self.newest?;
        self.newest_echoed = Some(received);
        let age = u32::try_from(now.since(received).as_micros()).unwrap_or(u32::MAX);
        Some(Echo { number, age_us: age })
    }

    /// Takes a datagram's number. Returns whether it is newer than all before.
    pub(super) fn take_number(&mut self, number: u64, at: Timestamp) -> bool {
        let newest = self.newest.map_or(0, |(number, _)| number);
        let fresh = number > newest;
        if fresh {
            if newest > 0 {
                self.link.count_received(number - newest);
            }
            self.newest = Some((number, at));
        }
        fresh
    }

    /// Takes a frame's number. Returns whether it is newer than all before.
    pub(super) const fn take_frame_number(&mut self, number: u64) -> bool {
        let fresh = number > self.newest_frame;
        if fresh {
            self.newest_frame = number;
        }
        fresh
    }

    /// When the datagram was sent that `head` echoes, remembered under the state that the head shows.
    pub(super) fn handle_echo(&mut self, head: &Head, at: Timestamp) -> Option<Timestamp> {
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
        // It received what it echoes after that was sent, so its own contact lasts for longer from then by the echo's age.
        let lent = |ms| Duration::from_millis(u64::from(ms)) + Duration::from_micros(u64::from(echo.age_us));
        self.remember_echo(Echoed {
            shown: Shown { view: head.view, accepted: head.accepted },
            sent: if planted::is(Planted::EchoCountsFromArrival) { at } else { sent },
            lent_for: head.quorate_for_ms.filter(|ms| *ms > 0).map_or(Duration::ZERO, lent),
        });
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

    fn remember_echo(&mut self, echoed: Echoed) {
        if let Some(newest) = self.echoes.iter_mut().find(|e| e.shown == echoed.shown) {
            if echoed.sent >= newest.sent {
                *newest = echoed;
            }
            return;
        }
        if self.echoes.len() == ECHO_MEMORY {
            self.echoes.remove(0);
        }
        // Most members show one state or two.
        self.echoes.reserve_exact(1);
        self.echoes.push(echoed);
    }
}

/// Where the send time of datagram `number`, which counts from 1, is remembered.
const fn slot(number: u64) -> usize {
    ((number - 1) % SENT_MEMORY as u64) as usize
}
