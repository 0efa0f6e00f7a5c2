//! Frames that wait to be written on one connection.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::SendFailure;
use tokio::sync::oneshot;

use crate::frames::{self, HEAD_BYTES};
use crate::limits::Limits;

/// A frame on its way out. Whoever waits for it hears of its fate exactly once.
#[derive(Debug)]
pub(crate) struct Queued {
    head: [u8; HEAD_BYTES],
    bytes: Bytes,
    deadline: Timestamp,
    done: Option<oneshot::Sender<Result<(), SendFailure>>>,
    /// It was on a connection that broke before its first byte.
    pub(crate) retried: bool,
}

impl Queued {
    /// A frame whose fate `done` hears; `None` if it is empty or longer than `max`.
    pub(crate) fn new(
        bytes: Bytes,
        max: usize,
        deadline: Timestamp,
        done: Option<oneshot::Sender<Result<(), SendFailure>>>,
    ) -> Option<Self> {
        let head = frames::head(&bytes, max)?;
        Some(Self { head, bytes, deadline, done, retried: false })
    }

    /// Bytes of the frame, without the length.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Reports its fate.
    pub(crate) fn settle(self, result: Result<(), SendFailure>) {
        if let Some(done) = self.done {
            // Whoever asked may have stopped waiting.
            let _ = done.send(result);
        }
    }

    fn is_unwanted(&self) -> bool {
        self.done.as_ref().is_some_and(oneshot::Sender::is_closed)
    }
}

/// What [`Outbox::write`] came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// Nothing is left.
    All,
    /// The kernel takes no more for the moment.
    Blocked,
    /// The turn's budget is spent.
    BudgetSpent,
}

/// The frames of one connection, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// The byte that says what the connection is for, until it is written.
    lead: Option<u8>,
    /// The lead goes out alone, no frame will follow.
    alone: bool,
    queue: VecDeque<Queued>,
    /// Bytes of the first frame, its length included, that the kernel has.
    begun: usize,
    bytes: usize,
}

impl Outbox {
    /// An outbox whose connection begins with `lead`.
    pub(crate) fn with_lead(lead: u8) -> Self {
        Self { lead: Some(lead), ..Self::default() }
    }

    /// An outbox of which nothing but `lead` ever goes out.
    pub(crate) fn with_lead_alone(lead: u8) -> Self {
        Self { lead: Some(lead), alone: true, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a frame, or gives it back when the queue is full. One frame always fits an empty queue.
    pub(crate) fn push(&mut self, frame: Queued, limits: &Limits) -> Result<(), Queued> {
        let fits = self.queue.len() < limits.queue_frames && self.bytes + frame.len() <= limits.queue_bytes;
        if !fits && !self.queue.is_empty() {
            return Err(frame);
        }
        self.bytes += frame.len();
        self.queue.push_back(frame);
        Ok(())
    }

    /// The earliest deadline of the queued frames.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.queue.iter().map(|f| f.deadline).min().unwrap_or(Timestamp::FAR_FUTURE)
    }

    /// Whether the first frame's bytes are partly with the kernel and its time is up.
    pub(crate) fn is_stuck(&self, now: Timestamp) -> bool {
        self.begun > 0 && self.queue.front().is_some_and(|f| f.deadline <= now)
    }

    /// Takes out the frames whose time is up; one that has begun stays, half a frame can't be taken back.
    pub(crate) fn withdraw_late(&mut self, now: Timestamp) {
        let mut kept = VecDeque::with_capacity(self.queue.len());
        for (i, frame) in self.queue.drain(..).enumerate() {
            if frame.deadline > now || (i == 0 && self.begun > 0) {
                kept.push_back(frame);
            } else {
                self.bytes -= frame.len();
                frame.settle(Err(SendFailure::TimedOut));
            }
        }
        self.queue = kept;
    }

    /// Writes until all is out, the kernel takes no more, or `budget` is spent. `on_sent` is called for each frame
    /// that is out, before its owner hears of it.
    pub(crate) fn write(
        &mut self,
        mut to: impl Write,
        budget: &mut usize,
        mut on_sent: impl FnMut(),
    ) -> io::Result<Written> {
        loop {
            while self.begun == 0 && self.queue.front().is_some_and(Queued::is_unwanted) {
                self.pop();
            }
            let front = self.queue.front();
            if front.is_none() && !(self.alone && self.lead.is_some()) {
                return Ok(Written::All);
            }
            if *budget == 0 {
                return Ok(Written::BudgetSpent);
            }
            let lead = self.lead.as_slice();
            let head = front.map_or(&[][..], |front| &front.head[self.begun.min(HEAD_BYTES)..]);
            let body = front.map_or(&[][..], |front| &front.bytes[self.begun.saturating_sub(HEAD_BYTES)..]);
            let whole = front.map(|front| HEAD_BYTES + front.bytes.len());
            match to.write_vectored(&[IoSlice::new(lead), IoSlice::new(head), IoSlice::new(body)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    *budget = budget.saturating_sub(n);
                    self.begun += n - lead.len();
                    self.lead = None;
                    if whole == Some(self.begun) {
                        self.begun = 0;
                        on_sent();
                        if let Some(frame) = self.pop() {
                            frame.settle(Ok(()));
                        }
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Written::Blocked),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Takes out everything: the frame that had begun, if any, and those that had not.
    pub(crate) fn take_apart(&mut self) -> (Option<Queued>, Vec<Queued>) {
        let begun = if self.begun > 0 { self.pop() } else { None };
        self.begun = 0;
        self.bytes = 0;
        (begun, self.queue.drain(..).collect())
    }

    fn pop(&mut self) -> Option<Queued> {
        let frame = self.queue.pop_front()?;
        self.bytes -= frame.len();
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `step` bytes at a time, and blocks after `room`.
    struct Sink {
        bytes: Vec<u8>,
        step: usize,
        room: usize,
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.bytes.len() >= self.room {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let n = bytes.len().min(self.step).min(self.room - self.bytes.len());
            self.bytes.extend_from_slice(&bytes[..n]);
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn frame(bytes: &'static [u8], deadline_ms: u64) -> (Queued, oneshot::Receiver<Result<(), SendFailure>>) {
        let (done, fate) = oneshot::channel();
        let deadline = Timestamp::from_millis(deadline_ms);
        (Queued::new(Bytes::from_static(bytes), 100, deadline, Some(done)).unwrap(), fate)
    }

    #[test]
    fn frames_go_out_whole_behind_the_lead_however_little_is_taken_at_a_time() {
        for step in 1..12 {
            let mut outbox = Outbox::with_lead(b'F');
            let (one, mut fate) = frame(b"one", 9);
            outbox.push(one, &Limits::default()).unwrap();
            outbox.push(frame(b"two", 9).0, &Limits::default()).unwrap();
            let mut sink = Sink { bytes: Vec::new(), step, room: 100 };
            let (mut budget, mut sent) = (100, 0);
            // The second frame's owner is gone: it is left out.
            assert_eq!(outbox.write(&mut sink, &mut budget, || sent += 1).unwrap(), Written::All);
            assert_eq!(sink.bytes, b"F\0\0\0\x03one");
            assert_eq!((budget, sent), (100 - 8, 1));
            assert_eq!(fate.try_recv(), Ok(Ok(())));
        }
    }

    #[test]
    fn a_late_frame_is_taken_back_unless_it_has_begun() {
        let mut outbox = Outbox::default();
        let (one, _one) = frame(b"one", 5);
        let (two, mut two_fate) = frame(b"two", 5);
        let (three, mut three_fate) = frame(b"three", 50);
        for f in [one, two, three] {
            outbox.push(f, &Limits::default()).unwrap();
        }
        let mut sink = Sink { bytes: Vec::new(), step: 100, room: 5 };
        assert_eq!(outbox.write(&mut sink, &mut 100, || {}).unwrap(), Written::Blocked);
        assert_eq!(outbox.deadline(), Timestamp::from_millis(5));
        let now = Timestamp::from_millis(5);
        outbox.withdraw_late(now);
        assert!(outbox.is_stuck(now));
        assert_eq!(two_fate.try_recv(), Ok(Err(SendFailure::TimedOut)));
        assert!(three_fate.try_recv().is_err(), "still queued");
        let (begun, rest) = outbox.take_apart();
        assert_eq!(begun.unwrap().len(), 3);
        assert_eq!(rest.len(), 1);
    }

    #[test]
    fn the_queue_is_bounded_in_frames_and_bytes_but_one_frame_always_fits() {
        let limits = Limits { queue_frames: 2, queue_bytes: 4, ..Limits::default() };
        let mut outbox = Outbox::default();
        outbox.push(frame(b"more than four", 9).0, &limits).unwrap();
        assert!(outbox.push(frame(b"x", 9).0, &limits).is_err(), "no bytes left");
        let mut outbox = Outbox::default();
        outbox.push(frame(b"x", 9).0, &limits).unwrap();
        outbox.push(frame(b"x", 9).0, &limits).unwrap();
        assert!(outbox.push(frame(b"x", 9).0, &limits).is_err(), "no frames left");
    }
}
