//! Why a transport could not be opened.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::tls_error::TlsError;

/// Why a transport could not be opened. Nothing stays open after any of these.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum BindError {
    /// The text is no address.
    #[error(
        "{0:?} is no address: write IP:PORT, such as 0.0.0.0:7790, [::]:7790, or 127.0.0.1:0 for any port"
    )]
    Syntax(String),
    /// Somebody else has the port.
    #[error("address {addr} is in use: choose another port, or 0 for any")]
    InUse {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// No interface of this machine has the address.
    #[error(
        "address {addr} belongs to no interface of this machine: use one that does, or 0.0.0.0 or [::] for all"
    )]
    NotHere {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The system forbids it, or refuses for another reason.
    #[error("address {addr} can't be opened: {reason}")]
    System {
        /// The address asked for.
        addr: SocketAddr,
        /// The system's words.
        reason: String,
    },
    /// The thread, or what it waits with, could not be made.
    #[error(
        "the transport's thread can't start: {0}: raise the limits of threads and descriptors (ulimit -n)"
    )]
    Thread(String),
    /// The certificates can't be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl BindError {
    pub(crate) fn from_io(addr: SocketAddr, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse { addr },
            io::ErrorKind::AddrNotAvailable => Self::NotHere { addr },
            _ => Self::System { addr, reason: error.to_string() },
        }
    }
}
