//! Every bound that keeps a peer, known or not, from taking more than its share.

use std::time::Duration;

pub use gms_net::CHECK_BYTES_MAX;
use gms_net::inbox::Room;

/// Datagrams read in one turn of the loop before it looks at anything else.
///
/// At 0.3 µs each a turn then spends about 0.1 ms on them; more would delay checks, fewer would wake the reader for
/// less than a view's worth of heartbeats.
pub(crate) const DATAGRAMS_PER_TURN: usize = 256;

/// Errors read in one turn: a whole view of 128 that is gone takes two.
pub(crate) const ERRORS_PER_TURN: usize = 64;

/// Bytes moved over all connections in one turn: about 0.3 ms of copying, so that heartbeats are stamped on time
/// while whole views go by.
pub(crate) const STREAM_BYTES_PER_TURN: usize = 1 << 20;

/// Bytes asked from one connection at a time, the size of the scratch buffer. Larger reads gain nothing measurable.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// Connections accepted in one turn: about 10 µs each.
pub(crate) const ACCEPTS_PER_TURN: usize = 64;

/// Events taken from the kernel at a time.
pub(crate) const EVENTS_PER_TURN: usize = 256;

/// How long accepting rests when the system has no descriptor or memory for another connection. Long enough not to
/// spin, short against any check.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Calls that wait for the loop's next turn, and the bytes that they carry. Turns take about a millisecond, so only
/// a loop that stands still lets them fill; each belongs to a caller that waits for it.
pub(crate) const COMMANDS_MAX: usize = 8192;
/// See [`COMMANDS_MAX`]; a whole view of 4 MiB to each of 16 members.
pub(crate) const COMMAND_BYTES_MAX: usize = 64 << 20;

/// Connections made by this process that are open at once: frames to and checks of every member of the largest
/// views, twice.
pub(crate) const OUTGOING_MAX: usize = 4096;

/// Addresses kept at once that answered in another transport's words: more than there are seeds.
pub(crate) const STRANGERS_MAX: usize = 64;

/// Bounds on connections and queues. The defaults are right for almost everybody.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Incoming connections at once. Default 1024, but never more than half of the descriptors that the process may
    /// open. At the bound the oldest connection that has not yet brought a whole frame makes room; where there is
    /// none, the new one is closed. Too small: members of large views are turned away.
    pub incoming: usize,
    /// Incoming connections at once from one address, same rule. Default 256: a view of 128 members that all live
    /// on one host, each with a connection for frames and one for a check. Too large: one host can take all of
    /// [`incoming`](Self::incoming).
    pub incoming_per_source: usize,
    /// Time for a new connection to say what it is and, for a check, to put its whole question. Default 5 s, the
    /// default member timeout: a peer slower than that is as good as silent.
    pub first_words: Duration,
    /// Time from the first byte of a frame to its last. Default 10 s: the largest frame at 0.4 MB/s.
    pub half_frame: Duration,
    /// Time for a check's question to be answered by the reader. Default 30 s: longer than the final check of
    /// every profile; an answer after that is of no use to anyone.
    pub unanswered_check: Duration,
    /// Time for a connection for frames to be established. Default 3 s: two lost packets are made up for, and
    /// after that a fresh attempt comes sooner than the kernel's next repetition.
    pub connect: Duration,
    /// Time after which a connection for frames that carries nothing is closed. Default 60 s. Whoever accepted it
    /// waits half as long again, so that the side that might write closes it and no frame is lost in between.
    pub idle: Duration,
    /// Frames queued on one connection. Default 1024.
    pub queue_frames: usize,
    /// Bytes queued on one connection. Default 16 MiB: four of the largest frames. One frame always fits.
    pub queue_bytes: usize,
    /// Datagrams that wait for the reader. Default 16 384, at most 20 MB: what a second of a view of a thousand
    /// brings. Beyond, the newest are dropped: the oldest tell more about who lives and cost less to keep.
    pub inbox_datagrams: usize,
    /// Checks that wait for the reader. Default 1024, as many as there are incoming connections. Beyond,
    /// connections that might bring one are not read from.
    pub inbox_checks: usize,
    /// Frames that wait for the reader. Default 4096. Beyond, connections for frames are not read from.
    pub inbox_frames: usize,
    /// Bytes of frames that wait for the reader. Default 32 MiB. Beyond, connections for frames are not read
    /// from.
    pub inbox_bytes: usize,
}

impl Limits {
    /// What may wait for the reader.
    pub(crate) fn room(&self) -> Room {
        Room {
            datagrams: self.inbox_datagrams,
            checks: self.inbox_checks,
            frames: self.inbox_frames,
            frame_bytes: self.inbox_bytes,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            incoming: 1024,
            incoming_per_source: 256,
            first_words: Duration::from_secs(5),
            half_frame: Duration::from_secs(10),
            unanswered_check: Duration::from_secs(30),
            connect: Duration::from_secs(3),
            idle: Duration::from_secs(60),
            queue_frames: 1024,
            queue_bytes: 16 << 20,
            inbox_datagrams: 16_384,
            inbox_checks: 1024,
            inbox_frames: 4096,
            inbox_bytes: 32 << 20,
        }
    }
}
