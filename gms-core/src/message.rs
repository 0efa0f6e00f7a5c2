//! The catalogue of messages: who sends each, on which channel, and who answers with what.
//!
//! Datagrams are best effort and fit [`DATAGRAM_BYTES_MAX`]; whatever can grow with the view goes by stream, in
//! frames of at most [`FRAME_BYTES_MAX`]. `codec.rs` turns these into bytes and back; nothing else does.

mod agreement;
mod check;
mod datagram;
mod frame;
mod head;
mod ids;
mod refusal;

pub use agreement::{
    Ballot, Decided, FenceTarget, FoundBallot, Founder, Installation, Refusal, UnfinishedReason,
};
pub use check::{CheckAnswer, CheckRequest};
pub use datagram::{Answers, ClusterInfo, Datagram, DatagramBody, Membership, SuspectRequest};
pub use frame::{Frame, FrameBody};
pub use head::{Echo, Flags, Head};
pub use ids::{AccusationId, CheckId, RequestId};
pub use refusal::JoinRefusal;

/// Largest datagram: fits any path without fragments.
//= docs/protocol.md#wr-1
pub const DATAGRAM_BYTES_MAX: usize = 1200;
/// Largest frame on a stream.
//= docs/protocol.md#wr-1
pub const FRAME_BYTES_MAX: usize = 4 << 20;
/// Most suspect requests that one datagram carries; the stream carries all.
pub const SUSPECT_REQUESTS_PER_DATAGRAM: usize = 16;
