//! What the tests of the transport share: generous deadlines, and waiting for arrivals.
// Each test binary uses a part, and clippy knows this file for no test.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses a part of this")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

pub use gms_conformance::tools::{
    LONG, SHORT, addr, bytes, datagram, in_time, receive, receive_one, to, until,
};
use gms_core::transport::{Incoming, ProbeReply, Transport};
use gms_quic::certs::{self, Pem, Validity};
use gms_quic::{BindError, Identity, Limits, QuicTransport, TlsError, TlsFiles};

/// The cluster of all tests.
pub const CLUSTER: &str = "orders";

pub async fn open() -> QuicTransport {
    QuicTransport::bind(CLUSTER, "127.0.0.1:0").await.unwrap()
}

pub async fn open_with(change: impl FnOnce(&mut Limits)) -> QuicTransport {
    let mut limits = Limits::default();
    change(&mut limits);
    QuicTransport::builder(CLUSTER).limits(limits).bind("127.0.0.1:0").await.unwrap()
}

/// A transport that leaves dialling to those with lower addresses for as long as a test may take.
pub async fn open_patient() -> QuicTransport {
    const LONG_ENOUGH: Duration = Duration::from_secs(100 * 24 * 3600);
    let mut limits = Limits::default();
    limits.dial_wait = LONG_ENOUGH;
    let builder = QuicTransport::builder(CLUSTER).member_timeout(LONG_ENOUGH).limits(limits);
    builder.bind("127.0.0.1:0").await.unwrap()
}

/// An address where nobody listens.
pub async fn nobody() -> SocketAddr {
    let transport = open().await;
    let addr = addr(&transport);
    in_time(transport.close()).await;
    addr
}

/// Shows that `two` does everything with `one`: datagrams, frames, checks.
pub async fn works_with(one: &impl Transport, two: &impl Transport) {
    in_time(one.send_frame(to(two), "f".into(), LONG)).await.unwrap();
    until(two, |i| matches!(i, Incoming::Frame { bytes, .. } if *bytes == "f")).await;
    one.send(&mut vec![datagram(addr(two), "d")]).await.unwrap();
    until(two, |i| matches!(i, Incoming::Datagram { from, .. } if *from == addr(one))).await;
    assert_eq!(ask(one, two, "c").await, ProbeReply::Answer("a".into()));
}

/// Asks `two`, which answers `a`.
pub async fn ask(one: &impl Transport, two: &impl Transport, question: &'static str) -> ProbeReply {
    let answering = async {
        let asked = until(two, |i| matches!(i, Incoming::Check { bytes, .. } if bytes == question)).await;
        let Incoming::Check { handle, .. } = asked else { unreachable!() };
        two.answer_check(handle, "a".into()).await;
    };
    let probe = one.probe(two.endpoint().check_addr, question.into(), LONG);
    in_time(async {
        tokio::select! {
            reply = probe => reply,
            () = async { answering.await; std::future::pending().await } => unreachable!(),
        }
    })
    .await
}

/// Shows that a transport still does everything.
pub async fn works(transport: &impl Transport) {
    works_with(&open().await, transport).await;
}

/// Valid for a day.
pub fn valid() -> Validity {
    Validity::for_next(Duration::from_secs(86_400))
}

/// A CA.
pub fn authority() -> Pem {
    certs::authority("CA of a test", valid()).unwrap()
}

/// Writes a member's certificate and key, and a CA's certificate.
pub fn write(dir: &Path, member: &Pem, ca: &Pem) -> TlsFiles {
    let files = TlsFiles { cert: dir.join("m.pem"), key: dir.join("m.key"), ca: dir.join("ca.pem") };
    std::fs::write(&files.cert, &member.cert).unwrap();
    std::fs::write(&files.key, &member.key).unwrap();
    std::fs::write(&files.ca, &ca.cert).unwrap();
    files
}

/// A transport of `cluster` with a certificate for `named`, signed by `ca`, which trusts `ca`.
pub async fn open_certified(dir: &Path, ca: &Pem, cluster: &str, named: &str) -> QuicTransport {
    let member = certs::member(ca, named, "m", valid()).unwrap();
    let identity = Identity::Files(write(dir, &member, ca));
    QuicTransport::builder(cluster).identity(identity).bind("127.0.0.1:0").await.unwrap()
}

/// A transport of the tests' cluster with these files, or what is wrong with them.
pub async fn bind(files: TlsFiles) -> Result<QuicTransport, TlsError> {
    let builder = QuicTransport::builder(CLUSTER).identity(Identity::Files(files));
    match builder.bind("127.0.0.1:0").await {
        Ok(transport) => Ok(transport),
        Err(BindError::Tls(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

/// A server of QUIC that says it speaks `protocol`, with a certificate of its own making.
pub fn server(protocol: &[u8]) -> (quinn::Endpoint, SocketAddr) {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let own = certs::member(&authority(), CLUSTER, "a stranger", valid()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(own.cert.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    let config = quinn::crypto::rustls::QuicServerConfig::try_from(config).unwrap();
    let config = quinn::ServerConfig::with_crypto(std::sync::Arc::new(config));
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = endpoint.local_addr().unwrap();
    (endpoint, addr)
}

/// A client of the cluster that shows whatever certificate it is given, or none.
pub fn raw_client(files: Option<&TlsFiles>, ca: &str) -> quinn::ClientConfig {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match files {
        Some(files) => builder
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_file(&files.cert).unwrap()],
                PrivateKeyDer::from_pem_file(&files.key).unwrap(),
            )
            .unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![format!("gms1/{CLUSTER}").into_bytes()];
    let config = quinn::crypto::rustls::QuicClientConfig::try_from(config).unwrap();
    quinn::ClientConfig::new(std::sync::Arc::new(config))
}

/// The first packet of a handshake that nobody has seen before.
#[allow(clippy::disallowed_methods, reason = "what quinn is asked with, and nothing of the protocol")]
pub fn initial(to: SocketAddr, config: &quinn::ClientConfig) -> Vec<u8> {
    let (now, endpoint) = (std::time::Instant::now(), quinn::EndpointConfig::default());
    let mut endpoint = quinn_proto::Endpoint::new(endpoint.into(), None, false, None);
    let server = gms_quic::certificate_name(CLUSTER);
    let (_, mut connection) = endpoint.connect(now, config.clone(), to, &server).unwrap();
    let mut packet = Vec::new();
    let transmit = connection.poll_transmit(now, 1, &mut packet).unwrap();
    packet.truncate(transmit.size);
    packet
}

/// A socket of one of many strangers, each with an address of its own where the system has as many.
pub fn stranger(number: u16) -> std::net::UdpSocket {
    let [high, low] = number.to_be_bytes();
    let own = std::net::UdpSocket::bind(SocketAddr::from(([127, 77, high, low], 0)));
    own.or_else(|_| std::net::UdpSocket::bind("127.0.0.1:0")).unwrap()
}
