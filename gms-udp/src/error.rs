//! Why a transport could not be opened.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// Which of the two sockets failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// The socket for datagrams.
    Udp,
    /// The listener for frames and checks.
    Tcp,
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
        })
    }
}

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
    #[error("address {addr} is in use over {protocol}: choose another port, or 0 for any")]
    InUse {
        /// The address asked for.
        addr: SocketAddr,
        /// Which socket.
        protocol: Protocol,
    },
    /// No interface of this machine has the address.
    #[error(
        "address {addr} belongs to no interface of this machine: use one that does, or 0.0.0.0 or [::] for all"
    )]
    NotHere {
        /// The address asked for.
        addr: SocketAddr,
    },
    /// The system forbids it.
    #[error(
        "address {addr} is forbidden over {protocol}: choose a port above 1023, or run with the right to bind it"
    )]
    Forbidden {
        /// The address asked for.
        addr: SocketAddr,
        /// Which socket.
        protocol: Protocol,
    },
    /// No port was free over both protocols in several tries.
    #[error("no port of {addr} was free over both UDP and TCP in {tries} tries: name a free port")]
    NoCommonPort {
        /// The address asked for, with port 0.
        addr: SocketAddr,
        /// How often it was tried.
        tries: u32,
    },
    /// The system refused for another reason.
    #[error("address {addr} can't be opened over {protocol}: {reason}")]
    System {
        /// The address asked for.
        addr: SocketAddr,
        /// Which socket.
        protocol: Protocol,
        /// The system's words.
        reason: String,
    },
    /// The event loop's thread, or what it waits with, could not be made.
    #[error("the event loop can't start: {0}: raise the limits of threads and descriptors (ulimit -n)")]
    Loop(String),
}

impl BindError {
    pub(crate) fn from_io(addr: SocketAddr, protocol: Protocol, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse { addr, protocol },
            io::ErrorKind::AddrNotAvailable => Self::NotHere { addr },
            io::ErrorKind::PermissionDenied => Self::Forbidden { addr, protocol },
            _ => Self::System { addr, protocol, reason: error.to_string() },
        }
    }
}
