//! The event stream: a bounded ring that slow readers fall out of and that never slows the loop.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::event::Event;
use crate::runtime::clock;

/// Events that a reader may be behind by, unless the builder is told otherwise.
pub(super) const CAPACITY_DEFAULT: usize = 1024;
/// Most events that a ring holds.
const CAPACITY_MAX: usize = 1 << 20;

/// An event with the moment at which it was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StampedEvent {
    /// Wall clock of the member.
    pub at: SystemTime,
    /// The member's name.
    pub me: String,
    /// Count of the member's events from 1; for [`Event::Lagged`] that of the first missing one.
    pub sequence: u64,
    /// What happened.
    pub event: Event,
}

/// A reader's end of a member's events.
///
/// It ends after [`Event::Stopped`]. A reader that is slower than the events come gets [`Event::Lagged`] with the
/// number of those that it missed, and goes on with the oldest one that is left.
#[derive(Debug)]
pub struct EventStream {
    name: Arc<str>,
    next_sequence: u64,
    receiver: Option<broadcast::Receiver<Arc<StampedEvent>>>,
}

impl EventStream {
    /// The next event, or `None` after the last. May be cancelled without losing anything.
    pub async fn next(&mut self) -> Option<Event> {
        self.next_stamped().await.map(|stamped| stamped.event)
    }

    /// The next event with its stamp, or `None` after the last. May be cancelled without losing anything.
    pub async fn next_stamped(&mut self) -> Option<StampedEvent> {
        match self.receiver.as_mut()?.recv().await {
            Ok(stamped) => {
                self.next_sequence = stamped.sequence + 1;
                Some(Arc::unwrap_or_clone(stamped))
            }
            Err(RecvError::Lagged(missed)) => {
                let sequence = self.next_sequence;
                self.next_sequence += missed;
                let event = Event::Lagged(missed);
                Some(StampedEvent { at: clock::wall(), me: self.name.to_string(), sequence, event })
            }
            Err(RecvError::Closed) => {
                self.receiver = None;
                None
            }
        }
    }
}

/// Where further streams begin; ends with the loop.
#[derive(Debug)]
pub(super) struct Subscriptions {
    name: Arc<str>,
    /// Held for a moment by subscribers, and by the loop once, at its end.
    sender: Mutex<Option<broadcast::Sender<Arc<StampedEvent>>>>,
}

impl Subscriptions {
    pub(super) fn subscribe(&self) -> EventStream {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = sender.as_ref().map(broadcast::Sender::subscribe);
        EventStream { name: Arc::clone(&self.name), next_sequence: 1, receiver }
    }
}

/// The loop's end of the events.
#[derive(Debug)]
pub(super) struct EventSink {
    sender: broadcast::Sender<Arc<StampedEvent>>,
    subscriptions: Arc<Subscriptions>,
    sequence: u64,
}

impl EventSink {
    /// A sink of the member `name`; readers may be `capacity` events behind.
    pub(super) fn new(name: &str, capacity: usize) -> Self {
        let (sender, _) = broadcast::channel(capacity.clamp(1, CAPACITY_MAX));
        let subscriptions = Subscriptions { name: name.into(), sender: Mutex::new(Some(sender.clone())) };
        Self { sender, subscriptions: Arc::new(subscriptions), sequence: 0 }
    }

    pub(super) fn subscriptions(&self) -> Arc<Subscriptions> {
        Arc::clone(&self.subscriptions)
    }

    pub(super) fn publish(&mut self, event: Event) {
        self.sequence += 1;
        let me = self.subscriptions.name.to_string();
        let stamped = StampedEvent { at: clock::wall(), me, sequence: self.sequence, event };
        // An error says that nobody listens.
        let _ = self.sender.send(Arc::new(stamped));
    }
}

impl Drop for EventSink {
    fn drop(&mut self) {
        self.subscriptions.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn paused(n: u64) -> Event {
        Event::Paused { lasted: Duration::from_millis(n) }
    }

    #[tokio::test]
    async fn a_reader_gets_every_event_in_order_and_then_the_end() {
        let mut sink = EventSink::new("m0", 8);
        let mut stream = sink.subscriptions().subscribe();
        sink.publish(paused(1));
        sink.publish(paused(2));
        let first = stream.next_stamped().await.unwrap();
        assert_eq!((first.me.as_str(), first.sequence, first.event), ("m0", 1, paused(1)));
        drop(sink);
        assert_eq!(stream.next().await, Some(paused(2)));
        assert_eq!(stream.next().await, None);
        assert_eq!(stream.next().await, None);
    }

    #[tokio::test]
    async fn a_slow_reader_is_told_how_many_it_missed() {
        let mut sink = EventSink::new("m0", 4);
        let mut stream = sink.subscriptions().subscribe();
        (1..=10).for_each(|n| sink.publish(paused(n)));
        let lagged = stream.next_stamped().await.unwrap();
        assert_eq!((lagged.sequence, lagged.event), (1, Event::Lagged(6)));
        let next = stream.next_stamped().await.unwrap();
        assert_eq!((next.sequence, next.event), (7, paused(7)));
    }

    #[tokio::test]
    async fn a_stream_begun_after_the_end_has_ended() {
        let sink = EventSink::new("m0", 4);
        let subscriptions = sink.subscriptions();
        drop(sink);
        assert_eq!(subscriptions.subscribe().next().await, None);
    }
}
