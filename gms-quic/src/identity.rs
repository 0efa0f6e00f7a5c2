//! Who this member is to others: nobody in particular, or the holder of a certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::dates::{self, Facts};
use crate::expiry::Lifetime;
use crate::files;
use crate::naming;
use crate::tls_error::{TlsError, TlsFault, TlsPart};
use crate::verify::Shown;

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
    /// What peers look at, and who may sign what they show; `None` where nobody looks.
    pub(crate) shown: Option<Shown>,
    /// What others can't know, as far as there is such a thing.
    pub(crate) secret: Vec<u8>,
    /// What the user is to know although it is no error.
    pub(crate) notes: Vec<String>,
    /// The certificates whose end is watched.
    pub(crate) lifetimes: Vec<Lifetime>,
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
    let failed = |error: rcgen::Error| TlsError::Library(error.to_string());
    let name = naming::certificate_name(cluster);
    let made = rcgen::generate_simple_self_signed(vec![name]).map_err(failed)?;
    Ok(Material {
        chain: vec![made.cert.der().clone()],
        key: PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into(),
        shown: None,
        // Nothing is secret here, but the next process at this address must know the connections of this one again.
        secret: cluster.as_bytes().to_vec(),
        notes: Vec::new(),
        lifetimes: Vec::new(),
    })
}

impl TlsFiles {
    fn load(&self, cluster: &str, provider: &Arc<CryptoProvider>) -> Result<Material, TlsError> {
        let own = |fault: TlsFault| fault.of(TlsPart::Cert, &self.cert);
        let chain = certificates(TlsPart::Cert, &self.cert)?;
        let key = private_key(&self.key)?;
        let mut notes = Vec::from_iter(files::readable_by_others(&self.key));
        let mut lifetimes = lifetimes(TlsPart::Cert, &self.cert, &chain)?;
        if lifetimes.first().is_some_and(|own| own.facts.is_authority) {
            return Err(own(TlsFault::IsAuthority));
        }
        let (roots, of_roots) = self.authorities(dates::now(), &mut notes)?;
        let has_authority = of_roots.iter().any(|root| root.facts.is_authority);
        lifetimes.extend(of_roots);
        self.see_that_key_fits(&chain, &key, provider)?;
        let shown = Shown { chain, roots: Arc::new(roots), name: naming::certificate_name(cluster) };
        if let Some(refusal) = shown.refusal(provider) {
            return Err(match refusal.fault(&self.ca, &shown.name) {
                TlsFault::OtherAuthority { .. } if !has_authority => {
                    TlsFault::NoAuthority.of(TlsPart::Ca, &self.ca)
                }
                fault => own(fault),
            });
        }
        let secret = key.secret_der().to_vec();
        Ok(Material { chain: shown.chain.clone(), key, shown: Some(shown), secret, notes, lifetimes })
    }

    /// The CAs whose time it is. Those whose time it is not are left out, with a note; one at least must remain.
    //= docs/protocol.md#wr-6
    fn authorities(
        &self,
        now: u64,
        notes: &mut Vec<String>,
    ) -> Result<(RootCertStore, Vec<Lifetime>), TlsError> {
        let ca = |fault: TlsFault| fault.of(TlsPart::Ca, &self.ca);
        let certificates = certificates(TlsPart::Ca, &self.ca)?;
        let lifetimes = lifetimes(TlsPart::Ca, &self.ca, &certificates)?;
        let (mut roots, mut trusted, mut left_out) = (RootCertStore::empty(), Vec::new(), Vec::new());
        for (certificate, lifetime) in certificates.into_iter().zip(lifetimes) {
            match lifetime.facts.fault(now) {
                Some(fault) => left_out.push((lifetime, fault)),
                None => {
                    roots.add(certificate).map_err(|error| ca(TlsFault::Unusable(error.to_string())))?;
                    trusted.push(lifetime);
                }
            }
        }
        if trusted.is_empty() {
            // The one that lasted longest: of several, most likely the one that was meant.
            let last = left_out.into_iter().max_by_key(|(lifetime, _)| lifetime.facts.until);
            return Err(ca(last.map_or(TlsFault::NoCertificate, |(_, fault)| fault)));
        }
        notes.extend(left_out.iter().map(|(lifetime, fault)| {
            let subject = &lifetime.facts.subject;
            format!("{} {}: the CA {subject:?} is not trusted: {fault}", TlsPart::Ca, self.ca.display())
        }));
        Ok((roots, trusted))
    }

    fn see_that_key_fits(
        &self,
        chain: &[CertificateDer<'static>],
        key: &PrivateKeyDer<'static>,
        provider: &CryptoProvider,
    ) -> Result<(), TlsError> {
        let fault = match CertifiedKey::from_der(chain.to_vec(), key.clone_key(), provider) {
            Ok(_) => return Ok(()),
            Err(rustls::Error::InconsistentKeys(_)) => TlsFault::KeyMismatch { cert: self.cert.clone() },
            Err(error) => TlsFault::Unusable(error.to_string()),
        };
        Err(fault.of(TlsPart::Key, &self.key))
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let read = files::read(file).and_then(|pem| match PrivateKeyDer::from_pem_slice(&pem) {
        Ok(key) => Ok(key),
        // What a pass phrase protects is not read as base64 where it is in the older form.
        Err(pem::Error::NoItemsFound) if is_der(&pem) => Err(TlsFault::Der("pkey")),
        Err(pem::Error::NoItemsFound | pem::Error::Base64Decode(_)) => Err(TlsFault::NoKey),
        Err(error) => Err(TlsFault::damaged(&error)),
    });
    read.map_err(|fault| fault.of(TlsPart::Key, file))
}

fn certificates(part: TlsPart, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = files::read(file).and_then(|pem| {
        let found = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        match found.map_err(|error| TlsFault::damaged(&error))? {
            found if !found.is_empty() => Ok(found),
            _ if is_der(&pem) => Err(TlsFault::Der("x509")),
            _ => Err(TlsFault::NoCertificate),
        }
    });
    read.map_err(|fault| fault.of(part, file))
}

/// Whether it begins with the tag of a sequence, as certificates and keys in DER do.
fn is_der(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x30)
}

fn lifetimes(
    part: TlsPart,
    file: &Path,
    certificates: &[CertificateDer<'_>],
) -> Result<Vec<Lifetime>, TlsError> {
    let lifetime = |certificate| {
        let facts = Facts::of(certificate).map_err(|error| TlsFault::Damaged(error).of(part, file))?;
        Ok(Lifetime { part, file: file.display().to_string(), facts })
    };
    certificates.iter().map(lifetime).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn der_is_told_from_files_that_hold_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let made = rcgen::generate_simple_self_signed(vec![String::from("m")]).unwrap();
        std::fs::write(file.path(), made.cert.der()).unwrap();
        let said = certificates(TlsPart::Ca, file.path()).unwrap_err().to_string();
        assert!(said.contains("looks like DER") && said.contains("openssl x509 -inform der"), "{said}");
        std::fs::write(file.path(), made.signing_key.serialize_der()).unwrap();
        let said = private_key(file.path()).unwrap_err().to_string();
        assert!(said.contains("looks like DER") && said.contains("openssl pkey -inform der"), "{said}");
        std::fs::write(file.path(), "nothing").unwrap();
        let said = certificates(TlsPart::Ca, file.path()).unwrap_err().to_string();
        assert!(said.contains("holds no certificate in PEM form"), "{said}");
    }
}
