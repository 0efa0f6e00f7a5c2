//! Every bound that keeps a peer, known or not, from taking more than its share.

use std::time::Duration;

pub use gms_net::CHECK_BYTES_MAX;
use gms_net::inbox::Room;

/// Datagrams kept for an address while a connection to it is being made. A heartbeat and what a joiner says first are
/// one or two; older ones say less than newer ones.
pub(crate) const WAITING_DATAGRAMS_MAX: usize = 16;

/// Datagrams on their way over a stream of their own at once, because they are too large for a packet.
pub(crate) const LARGE_DATAGRAMS_MAX: usize = 256;

/// Streams for one direction that a peer may have open: its frames, those of a broken-off predecessor, and large
/// datagrams. Each that is allowed takes memory, used or not.
pub(crate) const UNI_STREAMS_MAX: u32 = 8;
/// Streams for both directions: a connection that asks has one.
pub(crate) const BIDI_STREAMS_MAX: u32 = 1;

/// Bytes that a peer may have under way on one stream, and on all of a connection, before the reader has taken them.
pub(crate) const STREAM_WINDOW: u32 = 1 << 20;
/// See [`STREAM_WINDOW`].
pub(crate) const CONNECTION_WINDOW: u32 = 2 << 20;
/// Bytes of frames that were written and not acknowledged.
pub(crate) const SEND_WINDOW: u64 = 2 << 20;
/// Bytes of datagrams that wait in a connection, for its reader and for its writer.
pub(crate) const DATAGRAM_BUFFER: usize = 256 << 10;
/// Packets that one connection hands to the kernel at once. Each connection keeps a buffer of so many for ever. With quinn's 10
/// frames of 4 MiB are a tenth faster over loopback, heartbeats are not.
pub(crate) const SEGMENTS_MAX: usize = 4;

/// Handshakes under way above which strangers must show that they receive what is sent to them.
pub(crate) const RETRY_ABOVE: usize = 32;
/// Handshakes under way above which further ones are not answered.
pub(crate) const HANDSHAKES_MAX: usize = 256;
/// The same for those from one address: whoever shows that it receives there still leaves room for others.
pub(crate) const HANDSHAKES_PER_SOURCE_MAX: usize = 192;

/// Addresses that are remembered because nobody answered there.
pub(crate) const RESTING_MAX: usize = 4096;

/// How long a connection that another one has replaced is still read from: what was under way on it has arrived by then.
pub(crate) const RETIRED_FOR: Duration = Duration::from_secs(2);

/// Rest after a connection could not be made, at first and at most. Short against a heartbeat interval of the default
/// timeout, so that a healed network is noticed with the next heartbeat.
pub(crate) const REST_MIN: Duration = Duration::from_millis(50);
/// See [`REST_MIN`].
pub(crate) const REST_MAX: Duration = Duration::from_millis(800);

/// How long closing may take. Goodbyes go out within a millisecond; only their acknowledgement would take longer.
pub(crate) const CLOSE_MAX: Duration = Duration::from_millis(50);

/// Round trip presumed before one was measured: a lost first packet is repeated after twice that, and then ever later.
pub(crate) const LINK_RTT: Duration = Duration::from_millis(100);
/// The same for checks, which have less time: about 60, 180, 420 and 900 ms after the first.
pub(crate) const CHECK_RTT: Duration = Duration::from_millis(30);

/// Bounds on connections and queues. The defaults are right for almost everybody.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Incoming connections at once. Default 1024. At the bound the oldest that has brought nothing makes room; where
    /// there is none, the new one is refused. Too small: members of large views are turned away.
    pub incoming: usize,
    /// Incoming connections at once from one IP address, same rule. Default 512. Too large: one host can take half of
    /// [`incoming`](Self::incoming).
    pub incoming_per_source: usize,
    /// Time for a handshake. Default 3 s.
    pub connect: Duration,
    /// How long a connection for which only datagrams wait is left to the other side to make, at most, where that side has the
    /// lower address; a fiftieth of the member timeout if that is less. Default 100 ms. Too small: in a new view both sides of
    /// each pair dial, and each keeps two connections' memory for a while.
    pub dial_wait: Duration,
    /// Time from the first byte of a frame to its last. Default 10 s.
    pub half_frame: Duration,
    /// Time for a check's question to arrive, and for its answer to be taken. Default 5 s.
    pub first_words: Duration,
    /// Time for a check's question to be answered by the reader. Default 30 s.
    pub unanswered_check: Duration,
    /// Frames queued on one connection. Default 1024.
    pub queue_frames: usize,
    /// Bytes queued on one connection. Default 16 MiB: four of the largest frames. One frame always fits.
    pub queue_bytes: usize,
    /// Datagrams that wait for the reader. Default 16 384. Beyond, the newest are dropped.
    pub inbox_datagrams: usize,
    /// Checks that wait for the reader. Default 1024.
    pub inbox_checks: usize,
    /// Frames that wait for the reader. Default 4096. Beyond, streams are not read from.
    pub inbox_frames: usize,
    /// Bytes of frames that wait for the reader. Default 32 MiB. Beyond, streams are not read from.
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
            incoming_per_source: 512,
            connect: Duration::from_secs(3),
            dial_wait: Duration::from_millis(100),
            half_frame: Duration::from_secs(10),
            first_words: Duration::from_secs(5),
            unanswered_check: Duration::from_secs(30),
            queue_frames: 1024,
            queue_bytes: 16 << 20,
            inbox_datagrams: 16_384,
            inbox_checks: 1024,
            inbox_frames: 4096,
            inbox_bytes: 32 << 20,
        }
    }
}
