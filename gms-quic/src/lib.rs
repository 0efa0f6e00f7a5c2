//! Transport for [`gms_core`] over QUIC, on quinn: encrypted, one UDP port, and with certificates if so wished.
//!
//! Between two members there is one connection, whichever side made it. Heartbeats and requests travel in it as QUIC
//! datagrams (those that do not fit a packet, on a stream of their own), frames on one stream for each direction. A
//! check is a connection of its own, over a socket of its own, handed to the reader and answered by nobody else. The
//! transport moves bytes and holds no rule of the protocol.
//!
//! A thread named `gms-quic` runs quinn. Nothing waits for a peer, and what a peer can take is bounded by [`Limits`].
//!
//! **Who is let in.** Without certificates ([`Identity::SelfSigned`]) everybody is. With [`Identity::Files`] both sides
//! show certificates of one CA that bear the cluster's name ([`certificate_name`]).
//!
//! ```
//! use gms_core::transport::{Outgoing, Transport};
//! use gms_quic::QuicTransport;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let one = QuicTransport::bind("orders", "127.0.0.1:0").await?;
//! let two = QuicTransport::bind("orders", "127.0.0.1:0").await?;
//! one.send(&mut vec![Outgoing { to: two.endpoint().addr, bytes: "hello".into() }]).await?;
//! let mut arrived = Vec::new();
//! two.receive(&mut arrived).await?;
//! assert_eq!(arrived.len(), 1);
//! # Ok(()) }
//! ```

pub mod certs;
mod dates;
mod dial;
mod end;
mod error;
#[cfg(target_os = "linux")]
mod errors;
mod event_loop;
mod expiry;
mod files;
mod handshakes;
mod identity;
mod life;
mod limits;
mod link;
mod naming;
mod outbox;
mod peers;
mod probe;
mod report;
mod shared;
mod socket;
mod tls;
mod tls_error;
mod transport;
mod verify;
mod watch;

pub use error::BindError;
pub use identity::{Identity, TlsFiles};
pub use limits::{CHECK_BYTES_MAX, Limits};
pub use naming::certificate_name;
pub use tls_error::{TlsError, TlsFault, TlsPart};
pub use transport::{Certificates, QuicBuilder, QuicTransport};
