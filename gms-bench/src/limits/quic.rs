//! Heartbeats through gms-quic, beside datagrams of the same size through quinn alone.
//!
//! As heartbeats go: in rounds, one to each of several peers, and each in a packet of its own. Every end has a thread and a
//! runtime, either way. Only so many datagrams are under way that no buffer drops any: a flood would measure how
//! fast they are thrown away.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use gms_core::codec::{decode_datagram, encode_datagram};
use gms_core::transport::{Incoming, Outgoing, Transport as _};
use gms_quic::QuicTransport;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::codec::sample;
use super::receive::process_cpu;
use super::report::Rate;
use crate::cluster::nanos;
use crate::failure::Failure;
use crate::line::now;

/// Peers: more would measure how a machine switches between threads.
pub(super) const PEERS: usize = 8;
/// Datagrams under way at most, to each peer.
const DEPTH: u64 = 4;
/// Silence after which what is under way is taken for lost.
const LOST_AFTER: Duration = Duration::from_millis(50);
/// How long datagrams flow before the count begins.
const WARM_UP: Duration = Duration::from_millis(300);
/// How long the peers may take until each has had a datagram: handshakes are before that.
const FIRST_WITHIN: Duration = Duration::from_secs(10);
/// The name in the certificate of the endpoints that only quinn makes.
const NAME: &str = "limits";

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::fault(format!("QUIC on loopback failed: {error}"))
}

fn runtime() -> Result<Runtime, Failure> {
    Builder::new_current_thread().enable_all().build().map_err(failed)
}

/// What both sides know of the datagrams under way.
#[derive(Debug, Default)]
struct Window {
    taken: AtomicU64,
    moved: Notify,
    is_over: AtomicBool,
    over: Notify,
}

impl Window {
    fn take(&self, count: u64) {
        self.taken.fetch_add(count, Ordering::Relaxed);
        self.moved.notify_one();
    }

    fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Sends rounds with `round` until `end`.
    async fn pump<E>(&self, end: u64, mut round: impl AsyncFnMut() -> Result<(), E>) -> Result<(), E> {
        let mut sent = self.taken();
        while now() < end {
            if sent.saturating_sub(self.taken()) > PEERS as u64 * (DEPTH - 1) {
                if timeout(LOST_AFTER, self.moved.notified()).await.is_err() {
                    sent = self.taken();
                }
                continue;
            }
            round().await?;
            sent += PEERS as u64;
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// The rate at which rounds arrive, once they do.
    async fn rate<E: std::fmt::Display>(
        &self,
        time: Duration,
        mut round: impl AsyncFnMut() -> Result<(), E>,
    ) -> Result<Rate, Failure> {
        let late_at = now() + nanos(FIRST_WITHIN);
        while self.taken() < PEERS as u64 {
            if now() > late_at {
                return Err(failed("nothing arrives within 10 s"));
            }
            self.pump(now() + nanos(LOST_AFTER), &mut round).await.map_err(failed)?;
        }
        self.pump(now() + nanos(WARM_UP), &mut round).await.map_err(failed)?;
        let (begun, cpu, before) = (now(), process_cpu(), self.taken());
        self.pump(begun + nanos(time), &mut round).await.map_err(failed)?;
        let (ended, cpu_ended, after) = (now(), process_cpu(), self.taken());
        Ok(Rate {
            datagrams: after - before,
            seconds: (ended - begun) as f64 / 1e9,
            cpu_seconds: (cpu_ended - cpu) as f64 / 1e9,
        })
    }
}

/// The peers: a thread each, until dropped.
struct Peers {
    window: Arc<Window>,
    addresses: Vec<SocketAddr>,
    threads: Vec<JoinHandle<()>>,
}

impl Peers {
    /// `peer` tells where it is, and takes what comes until it is over.
    fn start<F, P>(peer: F) -> Result<Self, Failure>
    where
        F: Fn(Arc<Window>, mpsc::Sender<SocketAddr>) -> P + Clone + Send + 'static,
        P: Future<Output = Result<(), Failure>>,
    {
        let (told, addresses) = mpsc::channel();
        let mut peers = Self { window: Arc::default(), addresses: Vec::new(), threads: Vec::new() };
        for _ in 0..PEERS {
            let (window, peer, told) = (Arc::clone(&peers.window), peer.clone(), told.clone());
            let run = move || {
                // What goes wrong is seen by the other end, to which nothing comes.
                let _ = runtime().and_then(|runtime| runtime.block_on(peer(window, told)));
            };
            let thread = std::thread::Builder::new().name("peer".into()).spawn(run).map_err(failed)?;
            peers.threads.push(thread);
        }
        drop(told);
        peers.addresses = addresses.iter().take(PEERS).collect();
        if peers.addresses.len() < PEERS { Err(failed("a peer did not start")) } else { Ok(peers) }
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.window.is_over.store(true, Ordering::Relaxed);
        self.window.over.notify_waiters();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

/// Takes with `take` until it is over.
async fn take_all(
    window: &Window,
    mut take: impl AsyncFnMut() -> Result<u64, Failure>,
) -> Result<(), Failure> {
    while !window.is_over.load(Ordering::Relaxed) {
        // Whoever misses the word is asked again a moment later.
        tokio::select! {
            taken = timeout(LOST_AFTER, take()) => match taken {
                Ok(taken) => window.take(taken?),
                Err(_) => continue,
            },
            () = window.over.notified() => {}
        }
    }
    Ok(())
}

/// Datagrams of a heartbeat's size through quinn alone, with its own defaults.
///
/// # Errors
///
/// Sockets or handshakes fail.
pub(super) fn bare(time: Duration) -> Result<Rate, Failure> {
    let key = rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(failed)?;
    let cert = CertificateDer::from(key.cert);
    let server_key = PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
    let server = quinn::ServerConfig::with_single_cert(vec![cert.clone()], server_key.into());
    let server = server.map_err(failed)?;
    let config = client(cert)?;
    let peers = Peers::start(move |window, told| take_bare(window, told, server.clone()))?;
    let mut heartbeat = Vec::new();
    encode_datagram(&sample(), &mut heartbeat).map_err(failed)?;
    runtime()?.block_on(async {
        let endpoint = quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).map_err(failed)?;
        let mut connections = Vec::new();
        for to in &peers.addresses {
            let connecting = endpoint.connect_with(config.clone(), *to, NAME).map_err(failed)?;
            connections.push(connecting.await.map_err(failed)?);
        }
        let send =
            |connection: &quinn::Connection| connection.send_datagram(Bytes::copy_from_slice(&heartbeat));
        peers.window.rate(time, async || connections.iter().try_for_each(send)).await
    })
}

fn client(cert: CertificateDer<'static>) -> Result<quinn::ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(cert).map_err(failed)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).map_err(failed)?)))
}

async fn take_bare(
    window: Arc<Window>,
    told: mpsc::Sender<SocketAddr>,
    server: quinn::ServerConfig,
) -> Result<(), Failure> {
    let endpoint = quinn::Endpoint::server(server, ([127, 0, 0, 1], 0).into()).map_err(failed)?;
    told.send(endpoint.local_addr().map_err(failed)?).map_err(failed)?;
    let incoming = timeout(FIRST_WITHIN, endpoint.accept()).await.map_err(failed)?;
    let connection = incoming.ok_or_else(|| failed("the endpoint is closed"))?.await.map_err(failed)?;
    take_all(&window, async || connection.read_datagram().await.map(|_| 1).map_err(failed)).await
}

/// Heartbeats encoded, sent by one transport, received by others, and decoded.
///
/// # Errors
///
/// Sockets or handshakes fail.
pub(super) fn through_transports(time: Duration) -> Result<Rate, Failure> {
    let peers = Peers::start(take_heartbeats)?;
    let heartbeat = sample();
    runtime()?.block_on(async {
        let transport = QuicTransport::builder(NAME).bind("127.0.0.1:0").await.map_err(failed)?;
        let mut batch = Vec::new();
        let mut bytes = Vec::new();
        let round = async || {
            for to in &peers.addresses {
                bytes.clear();
                encode_datagram(&heartbeat, &mut bytes).expect("a heartbeat fits");
                batch.push(Outgoing { to: *to, bytes: Bytes::copy_from_slice(&bytes) });
            }
            transport.send(&mut batch).await
        };
        let rate = peers.window.rate(time, round).await;
        transport.close().await;
        rate
    })
}

async fn take_heartbeats(window: Arc<Window>, told: mpsc::Sender<SocketAddr>) -> Result<(), Failure> {
    let transport = QuicTransport::builder(NAME).bind("127.0.0.1:0").await.map_err(failed)?;
    told.send(transport.endpoint().addr).map_err(failed)?;
    let mut arrived = Vec::new();
    let take = async || {
        transport.receive(&mut arrived).await.map_err(failed)?;
        let mut count = 0;
        for arrival in arrived.drain(..) {
            let Incoming::Datagram { bytes, .. } = arrival else { continue };
            decode_datagram(&bytes).map_err(failed)?;
            count += 1;
        }
        Ok(count)
    };
    let taken = take_all(&window, take).await;
    transport.close().await;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_carry_datagrams() {
        for measure in [bare, through_transports] {
            let rate = measure(Duration::from_millis(50)).unwrap();
            assert!(rate.datagrams > 0 && rate.cpu_seconds > 0.0, "{rate:?}");
        }
    }
}
