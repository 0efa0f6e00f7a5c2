//! What quinn is told: certificates, protocols, keys, timers and bounds.

use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use quinn_proto::HashedConnectionIdGenerator;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::version::TLS13;

use crate::expiry::Lifetime;
use crate::identity::{Identity, Material};
use crate::limits::{
    BIDI_STREAMS_MAX, CHECK_RTT, CONNECTION_WINDOW, DATAGRAM_BUFFER, LINK_RTT, SEND_WINDOW, STREAM_WINDOW,
    UNI_STREAMS_MAX,
};
use crate::naming;
use crate::tls_error::TlsError;
use crate::verify::{Anyone, MembersOnly, Shown};

/// Connections that a stranger can have waiting before they are looked at, and bytes kept for each and for all.
const WAITING_MAX: usize = 1024;
const WAITING_BYTES: u64 = 8 << 10;
const WAITING_BYTES_ALL: u64 = 1 << 20;

/// What both kinds of connections are made with.
#[derive(Debug)]
pub(crate) struct Tls {
    /// For connections that are kept.
    pub(crate) link: ClientConfig,
    /// For connections that ask one question.
    pub(crate) check: ClientConfig,
    /// For connections that come in.
    pub(crate) server: ServerConfig,
    /// The name that certificates of this cluster bear.
    pub(crate) name: String,
    /// What peers look at; `None` where nobody is asked for certificates.
    pub(crate) shown: Option<Shown>,
    /// The certificates whose end is watched.
    pub(crate) lifetimes: Vec<Lifetime>,
}

impl Tls {
    /// What it means for other members that `next` takes its place, where that is trouble.
    pub(crate) fn replaced_by(&self, next: &Self) -> Option<String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        self.shown.as_ref()?.replaced_by(next.shown.as_ref()?, &provider)
    }
}

/// Keys that a process started again at the same address has, too: by them it knows the connections of the one before,
/// and tells the other side at once that they are over.
#[derive(Debug)]
pub(crate) struct Keys {
    reset: [u8; 32],
    ids: u64,
}

impl Keys {
    fn of(material: &Material) -> Self {
        let reset = blake3::derive_key("gms-quic 1 stateless reset", &material.secret);
        let ids = blake3::derive_key("gms-quic 1 connection ids", &material.secret);
        let mut first = [0; 8];
        first.copy_from_slice(&ids[..8]);
        Self { reset, ids: u64::from_le_bytes(first) }
    }

    pub(crate) fn endpoint_config(&self) -> EndpointConfig {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &self.reset);
        let ids = self.ids;
        let mut config = EndpointConfig::new(Arc::new(key));
        // The bit by which packets differ from the datagrams of members over UDP.
        config.grease_quic_bit(false);
        config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(ids)));
        config
    }
}

/// Reads and looks at `identity`, says in the log what is questionable, and makes of it what quinn needs. `idle` is how long a connection may carry nothing.
pub(crate) fn prepare(identity: &Identity, cluster: &str, idle: Duration) -> Result<(Tls, Keys), TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let material = identity.load(cluster, &provider)?;
    for note in &material.notes {
        tracing::warn!(target: "gms::quic", "{note}");
    }
    let keys = Keys::of(&material);
    let name = naming::certificate_name(cluster);
    let server = library(server_config(&material, cluster, &provider))?;
    let client = |protocol: Vec<u8>| library(client_config(&material, protocol, &provider));
    let link = client(naming::link_protocol(cluster))?;
    let check = client(naming::check_protocol(cluster))?;
    let mut server = ServerConfig::with_crypto(Arc::new(library(QuicServerConfig::try_from(server))?));
    server
        .transport_config(Arc::new(transport(idle, LINK_RTT)))
        .migration(false)
        .max_incoming(WAITING_MAX)
        .incoming_buffer_size(WAITING_BYTES)
        .incoming_buffer_size_total(WAITING_BYTES_ALL);
    let mut link = ClientConfig::new(Arc::new(library(QuicClientConfig::try_from(link))?));
    link.transport_config(Arc::new(transport(idle, LINK_RTT)));
    let mut check = ClientConfig::new(Arc::new(library(QuicClientConfig::try_from(check))?));
    check.transport_config(Arc::new(transport(idle, CHECK_RTT)));
    Ok((Tls { link, check, server, name, shown: material.shown, lifetimes: material.lifetimes }, keys))
}

fn library<T, E: std::fmt::Display>(made: Result<T, E>) -> Result<T, TlsError> {
    made.map_err(|error| TlsError::Library(error.to_string()))
}

//= docs/protocol.md#wr-6
fn server_config(
    material: &Material,
    cluster: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<rustls::ServerConfig, rustls::Error> {
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])?;
    let builder = match &material.shown {
        Some(shown) => {
            let members =
                MembersOnly::new(Arc::clone(&shown.roots), Arc::clone(provider), shown.server_name()?)?;
            builder.with_client_cert_verifier(Arc::new(members))
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(material.chain.clone(), material.key.clone_key())?;
    config.alpn_protocols = vec![naming::link_protocol(cluster), naming::check_protocol(cluster)];
    // Certificates are looked at on every connection, so nothing is resumed, and nothing is said before the handshake.
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    Ok(config)
}

fn client_config(
    material: &Material,
    protocol: Vec<u8>,
    provider: &Arc<CryptoProvider>,
) -> Result<rustls::ClientConfig, rustls::Error> {
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_protocol_versions(&[&TLS13])?;
    let mut config = match &material.shown {
        Some(shown) => builder
            .with_root_certificates(Arc::clone(&shown.roots))
            .with_client_auth_cert(material.chain.clone(), material.key.clone_key())?,
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(Arc::clone(provider))))
            .with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    Ok(config)
}

/// No keep-alives: heartbeats are that. The path's packet size is not searched for: every path carries 1200 bytes, and
/// the search costs packets for ever.
fn transport(idle: Duration, rtt: Duration) -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(IdleTimeout::try_from(idle).ok())
        .keep_alive_interval(None)
        .initial_rtt(rtt)
        .mtu_discovery_config(None)
        .max_concurrent_uni_streams(VarInt::from_u32(UNI_STREAMS_MAX))
        .max_concurrent_bidi_streams(VarInt::from_u32(BIDI_STREAMS_MAX))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(Some(DATAGRAM_BUFFER))
        .datagram_send_buffer_size(DATAGRAM_BUFFER)
        .allow_spin(false);
    config
}
