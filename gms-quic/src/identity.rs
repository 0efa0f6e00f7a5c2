//! Who this member is to others: nobody in particular, or the holder of a certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

use crate::error::{TlsError, Whose};
use crate::naming;

/// Where a member's certificates come from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Identity {
    /// A certificate of no meaning, made at the start. Encrypted, but **anyone who reaches the port may join**.
    #[default]
    SelfSigned,
    /// Certificates in PEM files: both sides of every connection must show one of the CA, for this cluster.
    Files(TlsFiles),
}

/// PEM files of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The member's certificate, and those between it and the CA's.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The certificates of the CAs whose members are let in.
    pub ca: PathBuf,
}

/// What an [`Identity`] stands for, read and looked at.
#[derive(Debug)]
pub(crate) struct Material {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// Who may sign certificates of peers; `None` where anybody may.
    pub(crate) roots: Option<Arc<RootCertStore>>,
    /// What others can't know, as far as there is such a thing.
    pub(crate) secret: Vec<u8>,
}

impl Identity {
    /// Reads the files, or makes a certificate, and sees whether peers of `cluster` would accept it.
    pub(crate) fn load(&self, cluster: &str, provider: &Arc<CryptoProvider>) -> Result<Material, TlsError> {
        match self {
            Self::SelfSigned => self_signed(cluster),
            Self::Files(files) => files.load(cluster, provider),
        }
    }
}

fn self_signed(cluster: &str) -> Result<Material, TlsError> {
    let failed = |error: rcgen::Error| TlsError::Unusable { whose: Whose::Own, reason: error.to_string() };
    let name = naming::certificate_name(cluster);
    let made = rcgen::generate_simple_self_signed(vec![name]).map_err(failed)?;
    Ok(Material {
        chain: vec![made.cert.der().clone()],
        key: PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into(),
        roots: None,
        // Nothing is secret here, but the next process at this address must know the connections of this one again.
        secret: cluster.as_bytes().to_vec(),
    })
}

impl TlsFiles {
    fn load(&self, cluster: &str, provider: &Arc<CryptoProvider>) -> Result<Material, TlsError> {
        let chain = certificates(&self.cert)?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, &error))?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.ca)? {
            roots.add(certificate).map_err(|error| unusable(&self.ca, &error))?;
        }
        let roots = Arc::new(roots);
        look_at(&chain, &roots, cluster, provider)?;
        let secret = key.secret_der().to_vec();
        Ok(Material { chain, key, roots: Some(roots), secret })
    }
}

/// Sees whether a peer that trusts the same CA would accept this certificate.
fn look_at(
    chain: &[CertificateDer<'static>],
    roots: &Arc<RootCertStore>,
    cluster: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<(), TlsError> {
    let name = naming::certificate_name(cluster);
    let other = |reason: String| TlsError::Unusable { whose: Whose::Own, reason };
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider))
        .build()
        .map_err(|error| other(error.to_string()))?;
    let server = ServerName::try_from(name.as_str()).map_err(|error| other(error.to_string()))?;
    let [own, between @ ..] = chain else { return Err(other("there is none".into())) };
    verifier
        .verify_server_cert(own, between, &server, &[], UnixTime::now())
        .map(drop)
        .map_err(|error| TlsError::of(&error, Whose::Own, &name))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(file, &error))?;
    if read.is_empty() {
        return Err(TlsError::File { file: file.to_owned(), reason: "it holds no certificate".into() });
    }
    Ok(read)
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::File { file: file.to_owned(), reason: error.to_string() }
}
