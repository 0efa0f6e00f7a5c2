//! The last events, so that a reader whose connection broke resumes where it broke.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// A bounded history of events that any number of readers follow.
#[derive(Clone, Debug)]
pub(crate) struct History {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    ring: Mutex<Ring>,
    /// Counts pushes; readers wait on it.
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct Ring {
    entries: VecDeque<Entry>,
    capacity: usize,
    newest: u64,
    closed: bool,
}

/// An event with its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// Its number in the member's stream.
    pub(crate) sequence: u64,
    /// The event's name.
    pub(crate) name: String,
    /// The event as JSON.
    pub(crate) json: Arc<str>,
}

/// What follows a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// This event; `missed` ones before it are forgotten.
    Entry {
        /// The event.
        entry: Entry,
        /// How many between are not in the history any more.
        missed: u64,
    },
    /// Nothing yet.
    Wait,
    /// Nothing any more.
    Closed,
}

impl History {
    /// An empty history that keeps `capacity` events.
    pub(crate) fn new(capacity: usize) -> Self {
        let ring = Ring { entries: VecDeque::new(), capacity, newest: 0, closed: false };
        Self { shared: Arc::new(Shared { ring: Mutex::new(ring), changed: watch::Sender::new(0) }) }
    }

    /// Adds an event; numbers grow.
    pub(crate) fn push(&self, entry: Entry) {
        self.with(|ring| {
            if ring.entries.len() == ring.capacity {
                ring.entries.pop_front();
            }
            ring.newest = entry.sequence;
            ring.entries.push_back(entry);
        });
        self.shared.changed.send_modify(|n| *n += 1);
    }

    /// Ends all readers once they have read everything.
    pub(crate) fn close(&self) {
        self.with(|ring| ring.closed = true);
        self.shared.changed.send_modify(|n| *n += 1);
    }

    /// The newest number, 0 before the first event.
    pub(crate) fn newest(&self) -> u64 {
        self.with(|ring| ring.newest)
    }

    /// The event after number `last`. A number that is not reached yet stems from a former run of the member: its
    /// reader gets everything.
    pub(crate) fn after(&self, last: u64) -> Next {
        self.with(|ring| {
            let last = if last > ring.newest { 0 } else { last };
            match ring.entries.iter().find(|e| e.sequence > last) {
                Some(entry) => Next::Entry { entry: entry.clone(), missed: entry.sequence - last - 1 },
                None if ring.closed => Next::Closed,
                None => Next::Wait,
            }
        })
    }

    /// A watch that changes with every push.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changed.subscribe()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Ring) -> T) -> T {
        act(&mut self.shared.ring.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sequence: u64) -> Entry {
        Entry { sequence, name: "paused".into(), json: format!("{{\"n\":{sequence}}}").into() }
    }

    #[test]
    fn a_reader_resumes_after_the_last_event_it_saw() {
        let history = History::new(4);
        (1..=3).for_each(|n| history.push(entry(n)));
        assert_eq!(history.after(1), Next::Entry { entry: entry(2), missed: 0 });
        assert_eq!(history.after(3), Next::Wait);
        history.close();
        assert_eq!(history.after(3), Next::Closed);
        assert_eq!(history.after(2), Next::Entry { entry: entry(3), missed: 0 });
    }

    #[test]
    fn events_beyond_the_bound_are_counted_as_missed() {
        let history = History::new(2);
        (1..=10).for_each(|n| history.push(entry(n)));
        assert_eq!(history.after(1), Next::Entry { entry: entry(9), missed: 7 });
    }

    #[test]
    fn a_number_of_a_former_run_gets_everything() {
        let history = History::new(4);
        history.push(entry(1));
        assert_eq!(history.after(500), Next::Entry { entry: entry(1), missed: 0 });
    }
}
