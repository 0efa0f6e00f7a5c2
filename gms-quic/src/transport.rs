//! What the application holds: the transport, and how it is opened.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gms_core::input::{CheckHandle, SendFailure, WatchEnd};
use gms_core::member::{Endpoint, canonical};
use gms_core::output::Destination;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Outgoing, ProbeReply, Transport, TransportError, TransportStats};
use gms_net::socket::{RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES, bind_udp, patiently};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::error::BindError;
use crate::event_loop::{self, Opening};
use crate::identity::Identity;
use crate::limits::{CHECK_BYTES_MAX, Limits};
use crate::outbox::Queued;
use crate::probe;
use crate::shared::Shared;
use crate::tls;
use crate::tls_error::TlsError;
use crate::watch;

/// How long a connection may carry nothing, in member timeouts, and at least: so long that the protocol has decided
/// before QUIC gives up, whichever timeout a joiner adopts. Where it is too short all the same, nothing is lost but a handshake.
const IDLE_TIMEOUTS: u32 = 4;
const IDLE_MIN: Duration = Duration::from_secs(10);

/// See [`Limits::dial_wait`]: little against a heartbeat interval, much against a handshake.
const DIAL_WAIT_SHARE: u32 = 50;

/// A [`Transport`] over QUIC, on one UDP port.
///
/// It has a thread of its own, so a busy or blocked runtime delays neither reading nor the time stamps of what is
/// read. Dropping it closes it.
#[derive(Debug)]
pub struct QuicTransport {
    shared: Arc<Shared>,
    endpoint: Endpoint,
    certificates: Certificates,
}

/// How to open a [`QuicTransport`]. Everything has a default.
#[derive(Clone, Debug)]
pub struct QuicBuilder {
    cluster: String,
    identity: Identity,
    member_timeout: Duration,
    receive_buffer: usize,
    send_buffer: usize,
    advertise: Option<Endpoint>,
    tcp_watch: bool,
    limits: Limits,
}

impl QuicBuilder {
    /// Who this member is. Default: nobody in particular, which lets in everybody.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// The member timeout, as far as it is known. Default 5 s. Connections that carry nothing for four times as long are
    /// closed, and made again when they are needed. Too small: handshakes between heartbeats.
    #[must_use]
    pub fn member_timeout(mut self, timeout: Duration) -> Self {
        self.member_timeout = timeout;
        self
    }

    /// Bytes to ask for the receive buffer of the socket. Default 4 MiB; the kernel cuts it to its own bound.
    #[must_use]
    pub fn receive_buffer(mut self, bytes: usize) -> Self {
        self.receive_buffer = bytes;
        self
    }

    /// Bytes to ask for the send buffer of the socket. Default 4 MiB; the kernel cuts it to its own bound.
    #[must_use]
    pub fn send_buffer(mut self, bytes: usize) -> Self {
        self.send_buffer = bytes;
        self
    }

    /// Where peers reach this transport, if that is not the address it is bound to (translation, containers).
    #[must_use]
    pub fn advertise(mut self, endpoint: Endpoint) -> Self {
        self.advertise = Some(endpoint);
        self
    }

    /// Also listens on the TCP port of the same number, and watches other members by TCP connections that carry nothing:
    /// a killed process's kernel closes them at once, while QUIC shows a death with the next packet. Default: no.
    #[must_use]
    pub fn tcp_watch(mut self, on: bool) -> Self {
        self.tcp_watch = on;
        self
    }

    /// Bounds on connections and queues.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens the transport at `addr` (`IP:PORT`). Port 0 takes a free one; `[::]` takes IPv4 too. An address in use is
    /// tried again for a quarter of a second, for which tokio's timer must be enabled.
    ///
    /// # Errors
    ///
    /// [`BindError`]; nothing stays open.
    pub async fn bind(self, addr: &str) -> Result<QuicTransport, BindError> {
        let addr: SocketAddr = addr.parse().map_err(|_| BindError::Syntax(addr.to_owned()))?;
        let idle = (self.member_timeout.saturating_mul(IDLE_TIMEOUTS)).max(IDLE_MIN);
        let (tls, keys) = tls::prepare(&self.identity, &self.cluster, idle)?;
        let is_in_use = |error: &BindError| matches!(error, BindError::InUse { .. });
        let (socket, listener, bound) = patiently(|| self.bind_both(addr), is_in_use).await?;
        if tls.shown.is_none() {
            tracing::warn!(
                target: "gms::quic",
                addr = %bound,
                "no certificates: what is sent is encrypted, but ANYONE WHO REACHES THIS PORT MAY JOIN the cluster; `gms certs` \
                 makes certificates"
            );
        }
        let mapped = gms_net::socket::is_mapped(&socket, bound);
        let mut limits = self.limits;
        limits.dial_wait = limits.dial_wait.min(self.member_timeout / DIAL_WAIT_SHARE);
        let endpoint = self.advertise.unwrap_or_else(|| Endpoint::single(bound));
        let own = Some(endpoint.addr).filter(|addr| !addr.ip().is_unspecified());
        let opening = Opening { socket: socket.into(), listener, mapped, own, keys, tls, limits };
        let shared = event_loop::start(opening).map_err(|error| BindError::Thread(error.to_string()))?;
        let certificates = Certificates {
            shared: Arc::clone(&shared),
            identity: self.identity,
            cluster: self.cluster,
            idle,
        };
        Ok(QuicTransport { shared, endpoint, certificates })
    }

    fn bind_both(
        &self,
        addr: SocketAddr,
    ) -> Result<(socket2::Socket, Option<std::net::TcpListener>, SocketAddr), BindError> {
        let failed = |error: std::io::Error| BindError::from_io(addr, &error);
        let socket = bind_udp(addr, self.receive_buffer, self.send_buffer).map_err(failed)?;
        let bound = gms_net::socket::local_addr(&socket).map_err(failed)?;
        let listener = self.tcp_watch.then(|| watch::listen(bound)).transpose().map_err(failed)?;
        Ok((socket, listener, bound))
    }
}

impl QuicTransport {
    /// Opens a transport of the named cluster with all defaults; see [`QuicBuilder::bind`].
    ///
    /// # Errors
    ///
    /// [`BindError`]; nothing stays open.
    pub async fn bind(cluster: &str, addr: &str) -> Result<Self, BindError> {
        Self::builder(cluster).bind(addr).await
    }

    /// The way to anything but the defaults.
    pub fn builder(cluster: &str) -> QuicBuilder {
        QuicBuilder {
            cluster: cluster.to_owned(),
            identity: Identity::default(),
            member_timeout: Duration::from_secs(5),
            receive_buffer: RECEIVE_BUFFER_BYTES,
            send_buffer: SEND_BUFFER_BYTES,
            advertise: None,
            tcp_watch: false,
            limits: Limits::default(),
        }
    }

    /// The way to replace certificates later, when the transport is no longer at hand.
    pub fn certificates(&self) -> Certificates {
        self.certificates.clone()
    }

    /// Runs a task on the transport's thread; it ends when nobody waits for it.
    fn run<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Running<T> {
        Running(self.shared.runtime.spawn(task))
    }
}

/// Replaces a running transport's certificates. Clones are for the same transport.
#[derive(Clone, Debug)]
pub struct Certificates {
    shared: Arc<Shared>,
    identity: Identity,
    cluster: String,
    idle: Duration,
}

impl Certificates {
    /// Reads the files again; connections made from here on use what they hold. Those that are there go on. Certificates of
    /// another CA than before are taken with a warning in the log.
    ///
    /// # Errors
    ///
    /// [`TlsError`]; the certificates in use stay.
    pub fn reload(&self) -> Result<(), TlsError> {
        let (tls, _) = tls::prepare(&self.identity, &self.cluster, self.idle)?;
        if let Some(trouble) = self.shared.tls().replaced_by(&tls) {
            tracing::warn!(target: "gms::quic", "{trouble}");
        }
        self.shared.replace_tls(tls);
        Ok(())
    }
}

/// A task that is ended when nobody waits for it.
struct Running<T>(JoinHandle<T>);

impl<T> Running<T> {
    /// Its result, or nothing where the transport closed before.
    async fn result(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[async_trait]
impl Transport for QuicTransport {
    fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    fn watch_shows_crashes(&self) -> bool {
        self.shared.tcp_watch
    }

    fn name(&self) -> &'static str {
        "quic"
    }

    async fn receive(&self, into: &mut Vec<Incoming>) -> Result<(), TransportError> {
        if self.shared.inbox.receive(into).await? {
            self.shared.room_is_there();
        }
        Ok(())
    }

    async fn send(&self, batch: &mut Vec<Outgoing>) -> Result<(), TransportError> {
        self.shared.send(batch).ok_or_else(|| self.shared.inbox.why_ended())
    }

    /// See [`Transport::send_frame`]. Dropping the future takes the frame back if none of it was written yet.
    async fn send_frame(&self, to: Destination, frame: Bytes, deadline: Duration) -> Result<(), SendFailure> {
        let (done, fate) = oneshot::channel();
        let may_move = matches!(to, Destination::Address(_));
        let frame =
            Queued::new(frame, clock::now() + deadline, may_move, done).ok_or(SendFailure::NotQueued)?;
        match to {
            Destination::Address(addr) => self.shared.queue_frame(canonical(addr), frame),
            Destination::Reply(handle) => self.shared.queue_reply(handle.0, frame),
        }
        match timeout(deadline, fate).await {
            Ok(fate) => fate.unwrap_or(Err(SendFailure::NotQueued)),
            Err(_) => Err(SendFailure::TimedOut),
        }
    }

    async fn probe(&self, address: SocketAddr, question: Bytes, deadline: Duration) -> ProbeReply {
        if question.is_empty() || question.len() > CHECK_BYTES_MAX || self.shared.life.is_closing() {
            return ProbeReply::LocalFault;
        }
        let probe = probe::probe(Arc::clone(&self.shared), canonical(address), question, deadline);
        self.run(probe).result().await.unwrap_or(ProbeReply::LocalFault)
    }

    /// See [`Transport::watch`]. What tells is the end of the connection that carries everything else, or, where both
    /// sides have it switched on, of a TCP connection that carries nothing.
    async fn watch(&self, address: SocketAddr) -> WatchEnd {
        let watch = watch::watch(Arc::clone(&self.shared), canonical(address));
        self.run(watch).result().await.unwrap_or(WatchEnd::Failed)
    }

    async fn answer_check(&self, handle: CheckHandle, answer: Bytes) {
        let Some(asker) = self.shared.take_check(handle) else { return };
        if answer.is_empty() || answer.len() > CHECK_BYTES_MAX {
            self.shared.counters.frames_dropped.add(1);
            return;
        }
        // It may have gone.
        let _ = asker.send(answer);
    }

    fn stats(&self) -> TransportStats {
        self.shared.counters.stats()
    }

    async fn close(&self) {
        self.shared.life.ask_to_close();
        self.shared.life.ended.wait().await;
    }
}

impl Drop for QuicTransport {
    fn drop(&mut self) {
        self.shared.life.ask_to_close();
        // So that the port is free when the drop is over.
        self.shared.life.ended.block();
    }
}
