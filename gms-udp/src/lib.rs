//! Transport for [`gms_core`] over plain UDP and TCP, on mio.
//!
//! One port number serves both: datagrams go over UDP, frames and checks over TCP, where the first byte of a
//! connection tells what it is for (`F` frames, `C` one check, `W` a watch). Frames and checks are length-framed: four
//! bytes, big-endian, then that many bytes. On a watch nothing follows but `G`, the goodbye of a transport that is
//! closed in order: a process that dies says none. The transport moves bytes and holds no rule of the protocol; a check is
//! handed to the reader and answered by nobody else.
//!
//! A thread named `gms-udp` reads everything, stamps it, and hands it over in batches; datagrams are sent from the
//! caller's thread. Nothing waits for a peer, and what a peer can take is bounded by [`Limits`].
//!
//! Nothing here is encrypted or authenticated: whoever reaches the port is heard.
//!
//! ```
//! use gms_core::transport::{Outgoing, Transport};
//! use gms_udp::UdpTransport;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (one, two) = (UdpTransport::bind("127.0.0.1:0").await?, UdpTransport::bind("127.0.0.1:0").await?);
//! let to = two.endpoint().addr;
//! one.send(&mut vec![Outgoing { to, bytes: "hello".into() }]).await?;
//! let mut arrived = Vec::new();
//! two.receive(&mut arrived).await?;
//! assert_eq!(arrived.len(), 1);
//! # Ok(()) }
//! ```

mod connection;
mod datagrams;
mod end;
mod error;
mod event_loop;
mod limits;
mod outbox;
#[cfg(target_os = "linux")]
mod overflow;
mod role;
mod shared;
mod socket;
mod streams;
mod transport;

#[cfg(target_os = "linux")]
use gms_net::error_queue;
use gms_net::{admission, counters, fault, frames, inbox};

pub use error::{BindError, Protocol};
pub use limits::{CHECK_BYTES_MAX, Limits};
pub use transport::{UdpBuilder, UdpTransport};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
