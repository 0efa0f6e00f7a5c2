//! Counters of a member: written by the loop without locks, read by anybody.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::transport::TransportStats;

/// Names that one table of counters holds; more than there are messages or causes.
const NAMES_MAX: usize = 48;

/// Counters of a member since its start, over all its incarnations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Datagrams sent, by the message's name.
    pub datagrams_sent: Vec<(&'static str, u64)>,
    /// Datagrams received and understood, by the message's name.
    pub datagrams_received: Vec<(&'static str, u64)>,
    /// Frames handed to the transport, by the message's name.
    pub frames_sent: Vec<(&'static str, u64)>,
    /// Frames received and understood, by the message's name.
    pub frames_received: Vec<(&'static str, u64)>,
    /// Messages dropped, by cause: what did not decode, what was understood and not looked at
    /// ([`DropCause`](crate::input::DropCause)), and what was too large or too much to send.
    pub dropped: Vec<(&'static str, u64)>,
    /// Frames that could not be delivered.
    pub frames_failed: u64,
    /// Fresh connections made to look at other members.
    pub probes_started: u64,
    /// Checks of other members answered.
    pub checks_answered: u64,
    /// Events told.
    pub events: u64,
    /// Turns of the loop.
    pub turns: u64,
    /// Longest time by which the loop woke later than planned.
    pub loop_delay_max: Duration,
    /// Pauses of this process that the protocol noticed.
    pub pauses: u64,
    /// Incarnations of this member: 1, and one more for each rejoin.
    pub incarnations: u64,
    /// What the transport counts.
    pub transport: TransportStats,
}

/// The loop's counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) datagrams_sent: Table,
    pub(super) datagrams_received: Table,
    pub(super) frames_sent: Table,
    pub(super) frames_received: Table,
    pub(super) dropped: Table,
    pub(super) frames_failed: Counter,
    pub(super) probes_started: Counter,
    pub(super) checks_answered: Counter,
    pub(super) events: Counter,
    pub(super) turns: Counter,
    pub(super) loop_delay_max_nanos: Counter,
    pub(super) pauses: Counter,
    pub(super) incarnations: Counter,
}

impl Counters {
    pub(super) fn snapshot(&self, transport: TransportStats) -> Stats {
        let Self {
            datagrams_sent,
            datagrams_received,
            frames_sent,
            frames_received,
            dropped,
            frames_failed,
            probes_started,
            checks_answered,
            events,
            turns,
            loop_delay_max_nanos,
            pauses,
            incarnations,
        } = self;
        Stats {
            datagrams_sent: datagrams_sent.rows(),
            datagrams_received: datagrams_received.rows(),
            frames_sent: frames_sent.rows(),
            frames_received: frames_received.rows(),
            dropped: dropped.rows(),
            frames_failed: frames_failed.get(),
            probes_started: probes_started.get(),
            checks_answered: checks_answered.get(),
            events: events.get(),
            turns: turns.get(),
            loop_delay_max: Duration::from_nanos(loop_delay_max_nanos.get()),
            pauses: pauses.get(),
            incarnations: incarnations.get(),
            transport,
        }
    }
}

/// One counter.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add_one(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub(super) fn raise_to(&self, value: u64) {
        self.0.fetch_max(value, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Counters by name. Names come in as they first occur; only the loop adds.
#[derive(Debug)]
pub(super) struct Table {
    rows: [(OnceLock<&'static str>, Counter); NAMES_MAX],
}

impl Default for Table {
    fn default() -> Self {
        Self { rows: std::array::from_fn(|_| (OnceLock::new(), Counter::default())) }
    }
}

impl Table {
    pub(super) fn add_one(&self, name: &'static str) {
        let row = self.rows.iter().find(|(row_name, _)| *row_name.get_or_init(|| name) == name);
        if let Some((_, counter)) = row {
            counter.add_one();
        }
    }

    fn rows(&self) -> Vec<(&'static str, u64)> {
        self.rows.iter().map_while(|(name, counter)| Some((*name.get()?, counter.get()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_kept_by_name_in_order_of_occurrence() {
        let counters = Counters::default();
        for name in ["b", "a", "b"] {
            counters.dropped.add_one(name);
        }
        counters.loop_delay_max_nanos.raise_to(5);
        counters.loop_delay_max_nanos.raise_to(3);
        let stats = counters.snapshot(TransportStats::default());
        assert_eq!(stats.dropped, [("b", 2), ("a", 1)]);
        assert_eq!(stats.loop_delay_max, Duration::from_nanos(5));
        assert_eq!(stats.frames_sent, []);
    }
}
