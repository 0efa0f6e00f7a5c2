//! What goes into a [`Node`](crate::Node): arrivals, results of what it asked for, and commands.

use std::net::SocketAddr;

use crate::evidence::ProbeOutcome;
use crate::member::MemberId;
use crate::message::{CheckRequest, Datagram, Frame};
use crate::output::{FrameToken, ProbeId, WatchId};
use crate::time::Timestamp;

/// Names an incoming connection on which a frame arrived, so that the answer goes back on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReplyHandle(pub u64);

/// Names an incoming check that waits for its answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CheckHandle(pub u64);

/// Names a command whose result is awaited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommandToken(pub u64);

/// Why a frame was not delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendFailure {
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// The connection broke.
    #[error("connection broken")]
    Broken,
    /// The deadline passed.
    #[error("timed out")]
    TimedOut,
    /// There is no way to that address.
    #[error("unreachable")]
    Unreachable,
    /// The queue towards that address is full, or the transport is closed.
    #[error("not queued")]
    NotQueued,
    /// Somebody is there who can't be talked to.
    #[error("{0}")]
    Misfit(Misfit),
    /// It failed on this side: no file descriptor, no local address, forbidden.
    #[error("failed locally")]
    Local,
}

/// Why somebody who is there can't be talked to, whatever is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// It speaks another transport.
    #[error("speaks another transport: give all members of a cluster the same")]
    Transport,
    /// It belongs to a cluster of another name.
    #[error("belongs to a cluster of another name")]
    Cluster,
    /// One of the two refuses the other's certificate, or lacks one.
    #[error("certificates do not fit: one is refused or missing, the log says which and why")]
    Certificate,
}

/// How a watch connection ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WatchEnd {
    /// The other end said goodbye: it closes in order, nobody died.
    Goodbye,
    /// It closed or was reset without a goodbye.
    Broken,
    /// It could not be opened: ECONNREFUSED, and nothing else.
    Refused,
    /// It could not be opened for another reason: no answer, no way, no descriptor.
    Failed,
}

/// Why a member does not look at what a message says, although it was understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DropCause {
    /// It carries another cluster's id, or none where one is needed.
    OtherCluster,
    /// It is meant for another member, or for an earlier run of this process, or speaks in this member's own name.
    OtherRecipient,
    /// A datagram that was overtaken by a newer one of its sender, or came twice.
    OldNumber,
}

impl DropCause {
    /// Its name in counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OtherCluster => "other_cluster",
            Self::OtherRecipient => "other_recipient",
            Self::OldNumber => "old_number",
        }
    }
}

/// One thing that happened outside.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "handed over one at a time and never kept: a box would cost memory for each"
)]
pub enum Input {
    /// A datagram was read.
    Datagram {
        /// The packet's source.
        from: SocketAddr,
        /// When it was read from the socket; not later than the `now` passed beside.
        received_at: Timestamp,
        /// What it says.
        datagram: Datagram,
    },
    /// A frame was read.
    Frame {
        /// The connection's remote address.
        from: SocketAddr,
        /// Where to answer.
        reply: ReplyHandle,
        /// When it was read from the connection.
        received_at: Timestamp,
        /// What it says.
        frame: Frame,
    },
    /// A frame was handed to the network.
    FrameSent {
        /// Which.
        token: FrameToken,
    },
    /// A frame could not be delivered.
    FrameFailed {
        /// Which.
        token: FrameToken,
        /// Why.
        failure: SendFailure,
    },
    /// A probe ended.
    ProbeDone {
        /// Which.
        probe: ProbeId,
        /// How.
        outcome: ProbeOutcome,
    },
    /// A watch connection ended, or could not be opened.
    WatchEnded {
        /// Which.
        watch: WatchId,
        /// How.
        end: WatchEnd,
    },
    /// The network says that a datagram sent to this address found nobody. A hint: its rate is limited, and anybody
    /// can forge it.
    Unreachable {
        /// Where the datagram went.
        to: SocketAddr,
    },
    /// A checker asks on a fresh connection.
    CheckAsked {
        /// Where to answer.
        handle: CheckHandle,
        /// The question.
        request: CheckRequest,
    },
    /// The application or the driver wants something.
    Command(Command),
}

/// What the application or the driver wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// The seeds' addresses, as they resolve at the moment. Comes again when they change.
    Seeds(Vec<SocketAddr>),
    /// Leave gracefully; ends with [`Event::Stopped`](crate::Event::Stopped).
    Leave,
    /// Stop at once, without a word to anybody.
    Abort,
    /// Accuse a member: a final check follows.
    Suspect {
        /// Whom.
        member: MemberId,
        /// Why, in the user's words.
        reason: String,
    },
    /// Check a member; the result comes as [`Output::CommandDone`](crate::Output::CommandDone).
    Check {
        /// Names the result.
        token: CommandToken,
        /// Whom.
        member: MemberId,
    },
    /// Have a member removed.
    Remove {
        /// Whom.
        member: MemberId,
        /// Why, in the user's words; cut off after 512 bytes.
        reason: String,
    },
    /// The application's watchdog: sick, or well again.
    SetSick(bool),
}
