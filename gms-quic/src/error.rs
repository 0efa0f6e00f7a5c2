//! Why a transport could not be opened, and what is wrong with a certificate.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use rustls::CertificateError;
use thiserror::Error;

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

/// What is wrong with certificates or keys. Those used before stay in use.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file can't be read, or holds nothing of the kind.
    #[error("{file} can't be used: {reason}: name a PEM file that this process may read", file = .file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The certificate's time is over.
    #[error("{whose} certificate has expired: make a new one, and look at this machine's clock")]
    Expired {
        /// Whose it is.
        whose: Whose,
    },
    /// The certificate's time has not begun.
    #[error("{whose} certificate is not valid yet: wait, or look at this machine's clock")]
    NotYetValid {
        /// Whose it is.
        whose: Whose,
    },
    /// Another authority signed it.
    #[error(
        "{whose} certificate is not signed by the CA that this member trusts: use certificates of one CA"
    )]
    OtherAuthority {
        /// Whose it is.
        whose: Whose,
    },
    /// It is for another cluster.
    #[error("{whose} certificate is not for this cluster: it must bear the name {name}")]
    OtherName {
        /// Whose it is.
        whose: Whose,
        /// What it should bear.
        name: String,
    },
    /// The private key is not that of the certificate.
    #[error("the private key does not belong to the certificate: name two files that were made together")]
    KeyMismatch,
    /// Anything else.
    #[error("{whose} certificate can't be used: {reason}")]
    Unusable {
        /// Whose it is.
        whose: Whose,
        /// The library's words.
        reason: String,
    },
}

/// Whose certificate an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// This member's.
    Own,
    /// That of whoever connects, or is connected to.
    Peer,
}

impl std::fmt::Display for Whose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Own => "this member's",
            Self::Peer => "the peer's",
        })
    }
}

impl TlsError {
    /// What a failed look at a certificate means.
    pub(crate) fn of(error: &rustls::Error, whose: Whose, name: &str) -> Self {
        let rustls::Error::InvalidCertificate(fault) = error else {
            return match error {
                rustls::Error::InconsistentKeys(_) => Self::KeyMismatch,
                other => Self::Unusable { whose, reason: other.to_string() },
            };
        };
        match fault {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired { whose },
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                Self::NotYetValid { whose }
            }
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                Self::OtherAuthority { whose }
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::OtherName { whose, name: name.to_owned() }
            }
            other => Self::Unusable { whose, reason: format!("{other:?}") },
        }
    }
}
