//! Watchdogs: the application's promise to show signs of life, and the loop's watch over them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::runtime::clock;
use crate::runtime::handle::Request;
use crate::time::Timestamp;

/// Ties the member's health to the application's: feed it more often than its timeout.
///
/// While it is not fed the member tells others that it is sick, and answers final checks so; the others remove it as
/// if it were silent. Feeding makes it well again. Dropping the watchdog ends the watch.
#[derive(Debug)]
pub struct Watchdog {
    feeding: Arc<Feeding>,
    requests: UnboundedSender<Request>,
}

/// What the watchdog and the loop share.
#[derive(Debug)]
pub(super) struct Feeding {
    timeout: Duration,
    fed_at: AtomicU64,
    hungry: AtomicBool,
    detached: AtomicBool,
}

impl Watchdog {
    /// A watchdog that was just fed; the loop learns of it through `requests`.
    pub(super) fn new(timeout: Duration, requests: UnboundedSender<Request>) -> Self {
        let feeding = Arc::new(Feeding {
            timeout,
            fed_at: AtomicU64::new(clock::now().as_nanos()),
            hungry: AtomicBool::new(false),
            detached: AtomicBool::new(false),
        });
        // An error says that the member has stopped: then there is nothing to watch for.
        let _ = requests.send(Request::Watch(Arc::clone(&feeding)));
        Self { feeding, requests }
    }

    /// Shows that the application works.
    pub fn feed(&self) {
        self.feeding.fed_at.store(clock::now().as_nanos(), Ordering::Release);
        if self.feeding.hungry.load(Ordering::Acquire) {
            let _ = self.requests.send(Request::Wake);
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.feeding.detached.store(true, Ordering::Release);
        let _ = self.requests.send(Request::Wake);
    }
}

/// The loop's watch over all watchdogs.
#[derive(Debug, Default)]
pub(super) struct Watch {
    dogs: Vec<Arc<Feeding>>,
    sick: bool,
}

impl Watch {
    pub(super) fn add(&mut self, feeding: Arc<Feeding>) {
        self.dogs.push(feeding);
    }

    /// Whether the application is sick.
    pub(super) const fn is_sick(&self) -> bool {
        self.sick
    }

    /// When to look next.
    pub(super) fn deadline(&self) -> Timestamp {
        let waiting = self.dogs.iter().filter(|dog| !dog.hungry.load(Ordering::Acquire));
        waiting.map(|dog| dog.deadline()).min().unwrap_or(Timestamp::FAR_FUTURE)
    }

    /// Looks at all; the new state, if it changed.
    pub(super) fn look(&mut self, now: Timestamp) -> Option<bool> {
        self.dogs.retain(|dog| !dog.detached.load(Ordering::Acquire));
        let mut sick = false;
        for dog in &self.dogs {
            // Set before the feeding is read again: a feed in between sees it and wakes the loop.
            dog.hungry.store(true, Ordering::SeqCst);
            let hungry = now >= dog.deadline();
            dog.hungry.store(hungry, Ordering::SeqCst);
            sick |= hungry;
        }
        let changed = sick != self.sick;
        self.sick = sick;
        changed.then_some(sick)
    }

    /// The process stood still for this long: no watchdog could be fed.
    pub(super) fn forgive(&self, pause: Duration) {
        let nanos = u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX);
        for dog in &self.dogs {
            dog.fed_at.fetch_add(nanos, Ordering::AcqRel);
        }
    }
}

impl Feeding {
    fn deadline(&self) -> Timestamp {
        Timestamp::from_nanos(self.fed_at.load(Ordering::Acquire)) + self.timeout
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    fn watched() -> (Watchdog, Watch, tokio::sync::mpsc::UnboundedReceiver<Request>) {
        let (requests, mut receiver) = unbounded_channel();
        let dog = Watchdog::new(TIMEOUT, requests);
        let mut watch = Watch::default();
        match receiver.try_recv() {
            Ok(Request::Watch(feeding)) => watch.add(feeding),
            other => panic!("{other:?}"),
        }
        (dog, watch, receiver)
    }

    //= docs/protocol.md#fd-28
    #[test]
    fn a_watchdog_that_is_not_fed_makes_sick_and_feeding_makes_well() {
        let (dog, mut watch, mut receiver) = watched();
        assert_eq!(watch.look(clock::now()), None);
        assert_eq!(watch.look(watch.deadline()), Some(true));
        assert_eq!(watch.deadline(), Timestamp::FAR_FUTURE, "nothing to wait for until it is fed");
        assert!(receiver.try_recv().is_err());
        dog.feed();
        assert!(matches!(receiver.try_recv(), Ok(Request::Wake)));
        assert_eq!(watch.look(clock::now()), Some(false));
    }

    #[test]
    fn a_dropped_watchdog_is_watched_no_more() {
        let (dog, mut watch, mut receiver) = watched();
        assert_eq!(watch.look(clock::now() + TIMEOUT * 2), Some(true));
        drop(dog);
        assert!(matches!(receiver.try_recv(), Ok(Request::Wake)));
        assert_eq!(watch.look(clock::now() + TIMEOUT * 2), Some(false));
        assert_eq!(watch.deadline(), Timestamp::FAR_FUTURE);
    }

    #[test]
    fn a_pause_of_the_process_is_not_held_against_the_application() {
        let (_dog, mut watch, _receiver) = watched();
        let late = watch.deadline();
        watch.forgive(TIMEOUT);
        assert_eq!(watch.look(late), None);
    }
}
