//! Who is let in: everybody, or those with a certificate for this cluster.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use crate::tls_error::{self, TlsFault};

/// What this member shows, and what it demands of others.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Its certificate, and those between it and the CA's.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// Who may sign certificates of peers.
    pub(crate) roots: Arc<RootCertStore>,
    /// The name that certificates bear.
    pub(crate) name: String,
}

/// Why a certificate is refused: as a server's, as a client's, or as both.
#[derive(Debug)]
pub(crate) struct Refusal {
    as_server: Option<Error>,
    as_client: Option<Error>,
}

impl Shown {
    /// Why a peer that has the same CAs would refuse what this member shows; `None` where it would not.
    pub(crate) fn refusal(&self, provider: &Arc<CryptoProvider>) -> Option<Refusal> {
        self.refusal_by(&self.roots, provider)
    }

    /// The same for a peer that has these CAs.
    fn refusal_by(&self, roots: &Arc<RootCertStore>, provider: &Arc<CryptoProvider>) -> Option<Refusal> {
        let as_server = self.as_server(Arc::clone(roots), Arc::clone(provider)).err();
        let as_client = self.as_client(Arc::clone(roots), Arc::clone(provider)).err();
        (as_server.is_some() || as_client.is_some()).then_some(Refusal { as_server, as_client })
    }

    fn as_server(&self, roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>) -> Result<(), Error> {
        let (own, between) = self.split()?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(roots, provider).build().map_err(general)?;
        verifier.verify_server_cert(own, between, &self.server_name()?, &[], UnixTime::now()).map(drop)
    }

    fn as_client(&self, roots: Arc<RootCertStore>, provider: Arc<CryptoProvider>) -> Result<(), Error> {
        let (own, between) = self.split()?;
        let verifier = MembersOnly::new(roots, provider, self.server_name()?)?;
        verifier.verify_client_cert(own, between, UnixTime::now()).map(drop)
    }

    fn split(&self) -> Result<(&CertificateDer<'static>, &[CertificateDer<'static>]), Error> {
        self.chain.split_first().ok_or(Error::NoCertificatesPresented)
    }

    pub(crate) fn server_name(&self) -> Result<ServerName<'static>, Error> {
        ServerName::try_from(self.name.clone()).map_err(general)
    }

    /// What it means for the members that this member's certificates were replaced by `next`, if it means trouble. Its own
    /// stand for theirs: those of one cluster are signed by the same CAs.
    pub(crate) fn replaced_by(&self, next: &Self, provider: &Arc<CryptoProvider>) -> Option<String> {
        let is_foreign = |shown: &Self, to: &Self| {
            let refusal = shown.refusal_by(&to.roots, provider);
            refusal.is_some_and(|refusal| refusal.any(tls_error::is_foreign))
        };
        let why = match (is_foreign(self, next), is_foreign(next, self)) {
            (false, false) => return None,
            (true, true) => {
                "members refuse this one on new connections, and are refused, until they have the new CA too"
            }
            (true, false) => {
                "members whose certificates are of the CA used before are refused on new connections until they have new ones"
            }
            (false, true) => "members that have only the CA used before refuse this one on new connections",
        };
        Some(format!(
            "the certificates are of another CA than before: {why}; to change the CA without that, first give every member \
             a CA file with the certificates of both"
        ))
    }
}

impl Refusal {
    fn any(&self, is: impl Fn(&Error) -> bool) -> bool {
        [&self.as_server, &self.as_client].into_iter().flatten().any(is)
    }

    /// What is wrong with the certificate, for a peer that trusts the CAs in `ca`.
    pub(crate) fn fault(&self, ca: &Path, name: &str) -> TlsFault {
        let is_unfit = |error: &Option<Error>| error.as_ref().is_some_and(tls_error::is_for_another_use);
        match (is_unfit(&self.as_server), is_unfit(&self.as_client)) {
            (true, true) => TlsFault::MissingUse("serverAuth and clientAuth"),
            (true, false) => TlsFault::MissingUse("serverAuth"),
            (false, true) => TlsFault::MissingUse("clientAuth"),
            (false, false) => {
                let error = self.as_server.as_ref().or(self.as_client.as_ref());
                let other = || TlsFault::Unusable("it is refused".into());
                error.map_or_else(other, |error| TlsFault::refused(error, ca, name))
            }
        }
    }
}

fn general(error: impl std::fmt::Display) -> Error {
    Error::General(error.to_string())
}

/// Takes any certificate. That the other side holds its key is still seen, so that nobody can come between later.
#[derive(Debug)]
pub(crate) struct Anyone(pub(crate) Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Takes certificates of the CA that bear the cluster's name. A CA may serve several clusters, and TLS alone looks at
/// the name of servers only.
//= docs/protocol.md#wr-6
#[derive(Debug)]
pub(crate) struct MembersOnly {
    chain: Arc<dyn ClientCertVerifier>,
    name: ServerName<'static>,
}

impl MembersOnly {
    pub(crate) fn new(
        roots: Arc<RootCertStore>,
        provider: Arc<CryptoProvider>,
        name: ServerName<'static>,
    ) -> Result<Self, Error> {
        let chain = WebPkiClientVerifier::builder_with_provider(roots, provider).build().map_err(general)?;
        Ok(Self { chain, name })
    }
}

impl ClientCertVerifier for MembersOnly {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.chain.verify_client_cert(end_entity, intermediates, now)?;
        let parsed = ParsedCertificate::try_from(end_entity)?;
        rustls::client::verify_server_name(&parsed, &self.name)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
