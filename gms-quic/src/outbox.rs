//! Frames that wait to be written on one connection.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::SendFailure;
use gms_core::message::FRAME_BYTES_MAX;
use gms_net::frames::{self, HEAD_BYTES};
use tokio::sync::{Notify, oneshot};

use crate::limits::Limits;

/// A frame on its way out. Whoever waits for it hears of its fate exactly once.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) head: [u8; HEAD_BYTES],
    pub(crate) bytes: Bytes,
    pub(crate) deadline: Timestamp,
    done: oneshot::Sender<Result<(), SendFailure>>,
    /// Whether it may be sent on another connection, if none of it was written when its own broke: it goes to an address,
    /// and that did not happen to it before.
    pub(crate) may_move: bool,
}

impl Queued {
    /// A frame whose fate `done` hears; `None` if it is empty or too long.
    pub(crate) fn new(
        bytes: Bytes,
        deadline: Timestamp,
        may_move: bool,
        done: oneshot::Sender<Result<(), SendFailure>>,
    ) -> Option<Self> {
        let head = frames::head(&bytes, FRAME_BYTES_MAX)?;
        Some(Self { head, bytes, deadline, done, may_move })
    }

    /// Reports its fate.
    pub(crate) fn settle(self, result: Result<(), SendFailure>) {
        // Whoever asked may have stopped waiting.
        let _ = self.done.send(result);
    }

    /// Whether nobody waits for it any more.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.done.is_closed()
    }
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<Queued>,
    bytes: usize,
    closed: bool,
    has_writer: bool,
}

/// The frames of one connection, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    filled: Notify,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a frame; says whether there is nobody yet who writes. Gives the frame back when the connection is over, and
    /// settles it when the queue is full. One frame always fits an empty queue.
    pub(crate) fn push(&self, frame: Queued, limits: &Limits) -> Result<bool, Queued> {
        let mut queue = self.lock();
        if queue.closed {
            return Err(frame);
        }
        let bytes = frame.bytes.len();
        let fits = queue.frames.len() < limits.queue_frames && queue.bytes + bytes <= limits.queue_bytes;
        if !fits && !queue.frames.is_empty() {
            drop(queue);
            frame.settle(Err(SendFailure::NotQueued));
            return Ok(false);
        }
        queue.bytes += bytes;
        queue.frames.push_back(frame);
        let needs_writer = !std::mem::replace(&mut queue.has_writer, true);
        drop(queue);
        self.filled.notify_one();
        Ok(needs_writer)
    }

    /// Waits for the oldest frame that somebody waits for.
    pub(crate) async fn next(&self) -> Queued {
        loop {
            {
                let mut queue = self.lock();
                while let Some(frame) = queue.frames.pop_front() {
                    queue.bytes -= frame.bytes.len();
                    if !frame.is_unwanted() {
                        return frame;
                    }
                }
            }
            self.filled.notified().await;
        }
    }

    /// Takes no more; returns what was not begun.
    pub(crate) fn close(&self) -> Vec<Queued> {
        let mut queue = self.lock();
        queue.closed = true;
        queue.bytes = 0;
        queue.frames.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: usize) -> (Queued, oneshot::Receiver<Result<(), SendFailure>>) {
        let (done, fate) = oneshot::channel();
        (Queued::new(vec![1; bytes].into(), Timestamp::FAR_FUTURE, true, done).unwrap(), fate)
    }

    #[tokio::test]
    async fn the_oldest_wanted_frame_comes_first_and_a_closed_outbox_takes_none() {
        let outbox = Outbox::default();
        let limits = Limits::default();
        let ((one, _), (two, _two), (three, _three)) = (frame(1), frame(2), frame(3));
        assert!(outbox.push(one, &limits).unwrap(), "nobody writes yet");
        assert!(!outbox.push(two, &limits).unwrap());
        assert_eq!(outbox.next().await.bytes.len(), 2, "nobody waits for the first");
        assert!(!outbox.push(three, &limits).unwrap());
        assert_eq!(outbox.close().len(), 1);
        assert!(outbox.push(frame(4).0, &limits).is_err());
    }

    #[test]
    fn the_queue_is_bounded_in_frames_and_bytes_but_one_frame_always_fits() {
        let limits = Limits { queue_frames: 2, queue_bytes: 4, ..Limits::default() };
        let outbox = Outbox::default();
        outbox.push(frame(9).0, &limits).unwrap();
        let (second, mut fate) = frame(1);
        outbox.push(second, &limits).unwrap();
        assert_eq!(fate.try_recv(), Ok(Err(SendFailure::NotQueued)), "no bytes left");
        assert!(Queued::new(Bytes::new(), Timestamp::ZERO, true, oneshot::channel().0).is_none());
    }
}
