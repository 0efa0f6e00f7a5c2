//! The transport: what a deployment plugs in. Everything protocol stays on the other side of this trait.
//!
//! A transport moves bytes and knows addresses. It never interprets a datagram, a frame, a check's question or its
//! answer, and it holds no rule. Times are stamped with [`clock::now`](crate::runtime::clock::now) where bytes are
//! read.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::input::{CheckHandle, ReplyHandle, SendFailure, WatchEnd};
use crate::member::Endpoint;
use crate::output::Destination;
use crate::time::Timestamp;

/// Something that arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    /// A datagram.
    Datagram {
        /// The packet's source, IPv4-mapped addresses turned into IPv4.
        from: SocketAddr,
        /// When it was read from the socket.
        received_at: Timestamp,
        /// Its bytes.
        bytes: Bytes,
    },
    /// A whole frame.
    Frame {
        /// The connection's remote address.
        from: SocketAddr,
        /// Where an answer goes.
        reply: ReplyHandle,
        /// When its last byte was read.
        received_at: Timestamp,
        /// Its bytes, without the length.
        bytes: Bytes,
    },
    /// A question on a fresh connection, to be answered with [`Transport::answer_check`].
    Check {
        /// The connection's remote address.
        from: SocketAddr,
        /// Where the answer goes.
        handle: CheckHandle,
        /// The question's bytes, without the length.
        bytes: Bytes,
    },
    /// The network says that a datagram sent to this address found nobody (ICMP port unreachable, read from the
    /// socket's error queue). Transports that can't see it never say it.
    Unreachable {
        /// Where the datagram went.
        to: SocketAddr,
    },
}

/// A datagram to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Where to.
    pub to: SocketAddr,
    /// Its bytes, at most [`DATAGRAM_BYTES_MAX`](crate::message::DATAGRAM_BYTES_MAX).
    pub bytes: Bytes,
}

/// What a fresh connection brought, before anyone looks at the answer's bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProbeReply {
    /// These bytes came back, without the length.
    Answer(Bytes),
    /// ECONNREFUSED, and nothing else.
    Refused,
    /// Accepted, then closed or reset without an answer.
    Reset,
    /// Time ran out.
    TimedOut,
    /// The network says that there is no way (EHOSTUNREACH, ENETUNREACH).
    Unreachable,
    /// It failed on this side (EMFILE, ENFILE, EADDRNOTAVAIL, EPERM, EACCES, ENOBUFS, or a connection to itself).
    LocalFault,
    /// More or other bytes than a framed answer.
    Garbage,
}

/// Why a transport can't go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// [`Transport::close`] was called; nothing more will come.
    #[error("the transport is closed")]
    Closed,
    /// The transport's own thread or socket failed; the transport is closed.
    #[error("the transport failed: {0}")]
    Failed(String),
}

/// Counters of a transport, all since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TransportStats {
    /// Datagrams handed to the kernel.
    pub datagrams_sent: u64,
    /// Datagrams read.
    pub datagrams_received: u64,
    /// Bytes of datagrams handed to the kernel.
    pub datagram_bytes_sent: u64,
    /// Bytes of datagrams read.
    pub datagram_bytes_received: u64,
    /// Datagrams that the kernel did not take.
    pub datagrams_unsent: u64,
    /// Datagrams read and thrown away because the reader was behind, or too large.
    pub datagrams_dropped: u64,
    /// Datagrams lost in the socket's receive buffer, where the system tells.
    pub receive_overflows: u64,
    /// Frames written.
    pub frames_sent: u64,
    /// Frames read.
    pub frames_received: u64,
    /// Connections accepted.
    pub connections_accepted: u64,
    /// Connections closed because a bound was reached or the peer was idle or too slow.
    pub connections_cut: u64,
    /// Frames and checks thrown away because they were malformed or the reader was behind.
    pub frames_dropped: u64,
}

/// Moves datagrams, frames and checks between processes.
///
/// All methods take `&self` and may be called at the same time; one task receives.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Where peers reach this transport.
    fn endpoint(&self) -> Endpoint;

    /// A short name, such as `udp`.
    fn name(&self) -> &'static str;

    /// Waits until something arrived and appends all that is there, up to an implementation's bound. May be
    /// cancelled without losing anything.
    ///
    /// # Errors
    ///
    /// [`TransportError`] once the transport is closed or broken; every later call fails the same way.
    async fn receive(&self, into: &mut Vec<Incoming>) -> Result<(), TransportError>;

    /// Sends all of `batch` and empties it. Best effort: never waits for a peer; what the kernel does not take is
    /// counted and dropped.
    ///
    /// # Errors
    ///
    /// [`TransportError`] once the transport is closed or broken.
    async fn send(&self, batch: &mut Vec<Outgoing>) -> Result<(), TransportError>;

    /// Sends one frame and returns when it was handed to the network.
    ///
    /// Frames to one destination arrive in order where they arrive.
    ///
    /// # Errors
    ///
    /// [`SendFailure`]; the frame may still arrive after `Broken` or `TimedOut`.
    async fn send_frame(&self, to: Destination, frame: Bytes, deadline: Duration) -> Result<(), SendFailure>;

    /// Makes a fresh connection to `address`, sends `question` and waits for the answer. Dropping the future closes
    /// the connection.
    async fn probe(&self, address: SocketAddr, question: Bytes, deadline: Duration) -> ProbeReply;

    /// Answers a question that arrived as [`Incoming::Check`]. Unknown handles are ignored.
    async fn answer_check(&self, handle: CheckHandle, answer: Bytes);

    /// Opens a connection to `address` and keeps it open; returns when it ends or can't be opened. Dropping the future
    /// closes it. The other end's transport says goodbye on it when it is closed in order.
    ///
    /// A transport that has no such connection never returns: nothing is lost but speed.
    async fn watch(&self, address: SocketAddr) -> WatchEnd {
        let _ = address;
        std::future::pending().await
    }

    /// Whether [`watch`](Self::watch) ends when the process at the other end dies. Where it does not, members take turns with
    /// heartbeats, so that somebody's next one soon finds nobody.
    fn watch_shows_crashes(&self) -> bool {
        false
    }

    /// Counters.
    fn stats(&self) -> TransportStats;

    /// Closes sockets and ends threads; returns when they are closed. Pending calls end with errors.
    async fn close(&self);
}
