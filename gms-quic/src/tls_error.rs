//! What is wrong with a file of certificates or keys: which file, what, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use rustls::CertificateError;
use rustls::pki_types::pem;
use thiserror::Error;

use crate::dates;

/// What is wrong with certificates or keys. Those used before stay in use.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is the culprit.
    #[error("{part} {file}: {fault}", file = .file.display())]
    File {
        /// What it was named as.
        part: TlsPart,
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        fault: TlsFault,
    },
    /// The library refuses what is right as far as can be told, in its words.
    #[error("certificates can't be used: {0}")]
    Library(String),
}

/// What a file of [`TlsFiles`](crate::TlsFiles) was named as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsPart {
    /// The member's certificate.
    Cert,
    /// Its private key.
    Key,
    /// The CAs' certificates.
    Ca,
}

impl std::fmt::Display for TlsPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cert => "certificate file",
            Self::Key => "key file",
            Self::Ca => "CA file",
        })
    }
}

/// What is wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TlsFault {
    /// It can't be read.
    #[error("can't be read ({0}): name a PEM file that this process may read")]
    Unreadable(String),
    /// It is a FIFO, a socket or a device.
    #[error("is no plain file: name a PEM file")]
    NotPlain,
    /// It is larger than any such file.
    #[error("is larger than 1 MiB: name a PEM file")]
    TooLarge,
    /// It holds no certificate.
    #[error("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----): name the file that does")]
    NoCertificate,
    /// It begins as DER does, the binary form of certificates and keys.
    #[error(
        "is not in PEM form, and looks like DER: convert it with `openssl {0} -inform der -in FILE -out NEW`, and name the new file"
    )]
    Der(&'static str),
    /// It holds certificates, none of which is a CA's.
    #[error("holds no certificate of a CA: name the file with the one that signed the members'")]
    NoAuthority,
    /// It holds no private key.
    #[error(
        "holds no private key in PEM form, or one that needs a pass phrase: name the file that was made together with the \
         certificate, without a pass phrase"
    )]
    NoKey,
    /// It begins as PEM and does not go on so, or holds what is no certificate.
    #[error("is damaged ({0}): write it anew")]
    Damaged(String),
    /// The certificate's time is over.
    #[error("its certificate expired at {at}: make a new one, or look at this machine's clock")]
    Expired {
        /// When, as RFC 3339.
        at: String,
    },
    /// The certificate's time has not begun.
    #[error("its certificate is not valid before {at}: wait, or look at this machine's clock")]
    NotYetValid {
        /// When it will be, as RFC 3339.
        at: String,
    },
    /// None of the CAs' certificates has signed it.
    #[error(
        "its certificate is not signed by a CA in {ca}: name the CA that did sign it, or a certificate of that CA; certificates \
         between the two belong into this file, after the member's",
        ca = .ca.display()
    )]
    OtherAuthority {
        /// Where the CAs are.
        ca: PathBuf,
    },
    /// It is for another cluster.
    #[error("its certificate is not for this cluster: it must bear the DNS name {name}")]
    OtherName {
        /// What it should bear.
        name: String,
    },
    /// It may not be used for what members do.
    #[error(
        "its certificate lacks the extended key usage {0}: members are servers and clients by turns, so make one with both"
    )]
    MissingUse(&'static str),
    /// It is the certificate of a CA.
    #[error("its first certificate is a CA's: put the member's there, which the CA has signed")]
    IsAuthority,
    /// The private key is not that of the certificate.
    #[error("its key is not that of the certificate in {cert}: name two files that were made together", cert = .cert.display())]
    KeyMismatch {
        /// Where the certificate is.
        cert: PathBuf,
    },
    /// Anything else, in the library's words.
    #[error("can't be used ({0}): make it anew, as `gms certs` does")]
    Unusable(String),
}

impl TlsFault {
    /// With the file that it is about.
    pub(crate) fn of(self, part: TlsPart, file: &Path) -> TlsError {
        TlsError::File { part, file: file.to_owned(), fault: self }
    }

    /// What it means that a file can't be read.
    pub(crate) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable(match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".into(),
            io::ErrorKind::IsADirectory => "it is a folder".into(),
            io::ErrorKind::PermissionDenied => "permission denied".into(),
            _ => error.to_string(),
        })
    }

    /// What it means that a file is no sound PEM.
    pub(crate) fn damaged(error: &pem::Error) -> Self {
        Self::Damaged(match error {
            pem::Error::MissingSectionEnd { .. } => "a section has no end".into(),
            pem::Error::IllegalSectionStart { .. } => "a section has no proper beginning".into(),
            other => other.to_string(),
        })
    }

    /// Why a peer that trusts the CAs in `ca` would refuse a certificate that should bear `name`.
    pub(crate) fn refused(error: &rustls::Error, ca: &Path, name: &str) -> Self {
        use CertificateError as E;
        let rustls::Error::InvalidCertificate(fault) = error else {
            return Self::Unusable(error.to_string());
        };
        match fault {
            E::ExpiredContext { not_after, .. } => Self::Expired { at: dates::stamp(not_after.as_secs()) },
            E::NotValidYetContext { not_before, .. } => {
                Self::NotYetValid { at: dates::stamp(not_before.as_secs()) }
            }
            _ if is_foreign(error) => Self::OtherAuthority { ca: ca.to_owned() },
            E::NotValidForName | E::NotValidForNameContext { .. } => {
                Self::OtherName { name: name.to_owned() }
            }
            other => Self::Unusable(other.to_string()),
        }
    }
}

/// Whether a certificate was refused because none of the CAs has signed it.
pub(crate) const fn is_foreign(error: &rustls::Error) -> bool {
    use CertificateError as E;
    // Two CAs of one name differ in their keys: the signature does not fit.
    matches!(error, rustls::Error::InvalidCertificate(E::UnknownIssuer | E::BadSignature))
}

/// Whether a certificate was refused because of its extended key usages.
pub(crate) const fn is_for_another_use(error: &rustls::Error) -> bool {
    use CertificateError as E;
    matches!(error, rustls::Error::InvalidCertificate(E::InvalidPurpose | E::InvalidPurposeContext { .. }))
}
