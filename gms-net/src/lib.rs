//! What the transports over sockets share, and nothing that only one of them needs.
//!
//! `gms-udp` and `gms-quic` do not know each other. Both hand arrivals to one reader ([`inbox`]), count ([`counters`]), say when they have ended ([`ended`]),
//! bound what strangers may take ([`admission`]), cut streams into frames ([`frames`]), open datagram sockets
//! ([`socket`]), read what errors say about a peer ([`fault`], and on Linux [`error_queue`]), and recognise each other's
//! members ([`strangers`]). Not meant for others:
//! it changes as these two need it.

pub mod admission;
pub mod counters;
pub mod ended;
#[cfg(target_os = "linux")]
pub mod error_queue;
pub mod fault;
pub mod frames;
pub mod inbox;
pub mod socket;
pub mod strangers;

/// Bytes of a check's question and of its answer, without the length.
///
/// A question is ids and a view number, about 60 bytes; this leaves room and is too little to be worth sending.
pub const CHECK_BYTES_MAX: usize = 256;
