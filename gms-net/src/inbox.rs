//! What has arrived and waits for the reader: filled once a turn by the loop, emptied in one go.

use std::mem;
use std::sync::{Mutex, PoisonError};

use gms_core::transport::{Incoming, TransportError};
use tokio::sync::Notify;

/// How much more the reader's queue takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Datagrams, and reports of those that found nobody.
    pub datagrams: usize,
    /// Checks.
    pub checks: usize,
    /// Frames.
    pub frames: usize,
    /// Bytes of frames.
    pub frame_bytes: usize,
}

impl Room {
    /// Whether another frame may be delivered. A frame may exceed the bytes that are left, once.
    pub fn for_frame(&self) -> bool {
        self.frames > 0 && self.frame_bytes > 0
    }

    /// Whether another check may be delivered. Apart from frames, so that many of these don't hold up a check.
    pub fn for_check(&self) -> bool {
        self.checks > 0
    }

    /// Whether whoever was held back can go on, whatever it brings.
    pub fn for_both(&self) -> bool {
        self.for_frame() && self.for_check()
    }

    /// Accounts for an arrival.
    pub fn take(&mut self, incoming: &Incoming) {
        match incoming {
            Incoming::Datagram { .. } | Incoming::Unreachable { .. } => {
                self.datagrams = self.datagrams.saturating_sub(1);
            }
            Incoming::Check { .. } => self.checks = self.checks.saturating_sub(1),
            Incoming::Frame { bytes, .. } => {
                self.frames = self.frames.saturating_sub(1);
                self.frame_bytes = self.frame_bytes.saturating_sub(bytes.len());
            }
        }
    }
}

#[derive(Debug)]
struct Inner {
    items: Vec<Incoming>,
    room: Room,
    /// Connections wait until there is room.
    loop_waits: bool,
    end: Option<TransportError>,
}

/// The queue between the loop and the reader.
#[derive(Debug)]
pub struct Inbox {
    inner: Mutex<Inner>,
    arrived: Notify,
    empty: Room,
}

impl Inbox {
    /// An empty queue that takes so much.
    pub fn new(empty: Room) -> Self {
        let inner = Inner { items: Vec::new(), room: empty, loop_waits: false, end: None };
        Self { inner: Mutex::new(inner), arrived: Notify::new(), empty }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // Every change under the lock is complete when a panic could strike, so the state is sound.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The room at the moment; it only grows until the loop delivers.
    pub fn room(&self) -> Room {
        self.lock().room
    }

    /// Hands over what a turn brought. `waits` says that connections are held back; returns whether there is room for
    /// them already, else [`receive`](Self::receive) will say when there is.
    pub fn deliver(&self, arrived: &mut Vec<Incoming>, waits: bool) -> bool {
        if arrived.is_empty() && !waits {
            return false;
        }
        let mut inner = self.lock();
        for incoming in arrived.iter() {
            inner.room.take(incoming);
        }
        let notify = !arrived.is_empty();
        inner.items.append(arrived);
        let resume = waits && inner.room.for_both();
        inner.loop_waits = waits && !resume;
        drop(inner);
        if notify {
            self.arrived.notify_one();
        }
        resume
    }

    /// Waits for arrivals and appends them all; returns whether the loop wants to be woken because it waited for
    /// room.
    ///
    /// # Errors
    ///
    /// What [`end`](Self::end) was given.
    pub async fn receive(&self, into: &mut Vec<Incoming>) -> Result<bool, TransportError> {
        loop {
            // Made before looking, so that a delivery in between is not missed.
            let arrived = self.arrived.notified();
            if let Some(result) = self.take(into) {
                return result;
            }
            arrived.await;
        }
    }

    fn take(&self, into: &mut Vec<Incoming>) -> Option<Result<bool, TransportError>> {
        let mut inner = self.lock();
        if inner.items.is_empty() {
            return inner.end.clone().map(Err);
        }
        if into.is_empty() {
            mem::swap(&mut inner.items, into);
        } else {
            into.append(&mut inner.items);
        }
        inner.room = self.empty;
        Some(Ok(mem::take(&mut inner.loop_waits)))
    }

    /// Nothing more will come: what waits is thrown away, every reader gets `error`. The first error stays.
    pub fn end(&self, error: TransportError) {
        let mut inner = self.lock();
        inner.items = Vec::new();
        inner.end.get_or_insert(error);
        drop(inner);
        self.arrived.notify_waiters();
        self.arrived.notify_one();
    }

    /// Why nothing more comes.
    pub fn why_ended(&self) -> TransportError {
        self.lock().end.clone().unwrap_or(TransportError::Closed)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use gms_core::Timestamp;
    use gms_core::input::ReplyHandle;

    use super::*;

    fn frame(len: usize) -> Incoming {
        Incoming::Frame {
            from: "127.0.0.1:1".parse().unwrap(),
            reply: ReplyHandle(1),
            received_at: Timestamp::ZERO,
            bytes: Bytes::from(vec![0; len]),
        }
    }

    fn inbox(frames: usize, bytes: usize) -> Inbox {
        Inbox::new(Room { datagrams: 10, checks: 10, frames, frame_bytes: bytes })
    }

    #[tokio::test]
    async fn the_reader_gets_everything_in_one_go_and_in_order() {
        let inbox = inbox(10, 100);
        inbox.deliver(&mut vec![frame(1), frame(2)], false);
        inbox.deliver(&mut vec![frame(3)], false);
        let mut into = vec![frame(9)];
        assert_eq!(inbox.receive(&mut into).await, Ok(false));
        assert_eq!(into, [frame(9), frame(1), frame(2), frame(3)]);
    }

    #[tokio::test]
    async fn a_loop_that_waits_for_room_is_woken_by_the_reader_only_if_there_was_none() {
        let inbox = inbox(10, 5);
        assert!(inbox.deliver(&mut vec![frame(4)], true), "one byte is left");
        assert!(!inbox.deliver(&mut vec![frame(4)], true), "nothing is left");
        assert!(!inbox.room().for_frame());
        let mut into = Vec::new();
        assert_eq!(inbox.receive(&mut into).await, Ok(true));
        assert!(inbox.room().for_frame());
    }

    #[test]
    fn waiting_frames_leave_room_for_checks() {
        let inbox = inbox(1, 1);
        inbox.deliver(&mut vec![frame(1)], false);
        let room = inbox.room();
        assert!(!room.for_frame());
        assert!(room.for_check());
        assert!(!room.for_both());
    }

    #[tokio::test]
    async fn after_the_end_every_reader_gets_the_first_error() {
        let inbox = inbox(1, 1);
        inbox.deliver(&mut vec![frame(1)], false);
        inbox.end(TransportError::Closed);
        inbox.end(TransportError::Failed("late".into()));
        for _ in 0..2 {
            assert_eq!(inbox.receive(&mut Vec::new()).await, Err(TransportError::Closed));
        }
    }
}
