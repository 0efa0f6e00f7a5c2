//! What the application holds: the transport, and how it is opened.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gms_core::input::{CheckHandle, SendFailure, WatchEnd};
use gms_core::member::Endpoint;
use gms_core::message::FRAME_BYTES_MAX;
use gms_core::output::Destination;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Outgoing, ProbeReply, Transport, TransportError, TransportStats};
use gms_net::socket::patiently;
use tokio::sync::oneshot;

use crate::datagrams;
use crate::error::BindError;
use crate::event_loop::EventLoop;
use crate::limits::{CHECK_BYTES_MAX, Limits};
use crate::outbox::Queued;
use crate::shared::{Command, Shared};
use crate::socket::{self, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES};

/// A [`Transport`] over one UDP port and the TCP port of the same number.
///
/// It has a thread of its own, so a busy or blocked runtime delays neither reading nor the time stamps of what is
/// read. Dropping it closes it.
#[derive(Debug)]
pub struct UdpTransport {
    shared: Arc<Shared>,
    endpoint: Endpoint,
}

/// How to open a [`UdpTransport`]. Everything has a default.
#[derive(Clone, Debug)]
pub struct UdpBuilder {
    receive_buffer: usize,
    send_buffer: usize,
    advertise: Option<Endpoint>,
    limits: Limits,
}

impl UdpBuilder {
    /// Bytes to ask for the receive buffer of datagrams. Default 4 MiB; the kernel cuts it to its own bound
    /// (`net.core.rmem_max`). Too small: a pause loses heartbeats.
    #[must_use]
    pub fn receive_buffer(mut self, bytes: usize) -> Self {
        self.receive_buffer = bytes;
        self
    }

    /// Bytes to ask for the send buffer of datagrams. Default 4 MiB; the kernel cuts it to its own bound
    /// (`net.core.wmem_max`). Too small: datagrams to a few vanished hosts hold up those to all others.
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

    /// Bounds on connections and queues.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens the transport at `addr` (`IP:PORT`). Port 0 takes one that is free over both protocols; `[::]` takes
    /// IPv4 too. An address in use is tried again for a quarter of a second, for which tokio's timer must be enabled.
    ///
    /// # Errors
    ///
    /// [`BindError`]; nothing stays open.
    pub async fn bind(self, addr: &str) -> Result<UdpTransport, BindError> {
        let addr: SocketAddr = addr.parse().map_err(|_| BindError::Syntax(addr.to_owned()))?;
        let bind = || socket::bind(addr, self.receive_buffer, self.send_buffer);
        let is_in_use = |error: &BindError| matches!(error, BindError::InUse { .. });
        let sockets = patiently(bind, is_in_use).await?;
        let endpoint = self.advertise.unwrap_or_else(|| Endpoint::single(sockets.addr));
        let event_loop = EventLoop::new(sockets, self.limits).map_err(|e| BindError::Loop(e.to_string()))?;
        let shared = event_loop.shared();
        std::thread::Builder::new()
            .name("gms-udp".into())
            .spawn(move || event_loop.run())
            .map_err(|e| BindError::Loop(e.to_string()))?;
        Ok(UdpTransport { shared, endpoint })
    }
}

impl UdpTransport {
    /// Opens a transport with all defaults; see [`UdpBuilder::bind`].
    ///
    /// # Errors
    ///
    /// [`BindError`]; nothing stays open.
    pub async fn bind(addr: &str) -> Result<Self, BindError> {
        Self::builder().bind(addr).await
    }

    /// The way to anything but the defaults.
    pub fn builder() -> UdpBuilder {
        UdpBuilder {
            receive_buffer: RECEIVE_BUFFER_BYTES,
            send_buffer: SEND_BUFFER_BYTES,
            advertise: None,
            limits: Limits::default(),
        }
    }
}

#[async_trait]
impl Transport for UdpTransport {
    fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    fn watch_shows_crashes(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "udp"
    }

    async fn receive(&self, into: &mut Vec<Incoming>) -> Result<(), TransportError> {
        if self.shared.inbox.receive(into).await? {
            self.shared.wake();
        }
        Ok(())
    }

    async fn send(&self, batch: &mut Vec<Outgoing>) -> Result<(), TransportError> {
        datagrams::send(&self.shared, batch).ok_or_else(|| self.shared.inbox.why_ended())
    }

    /// See [`Transport::send_frame`]. Dropping the future takes the frame back if none of it was written yet.
    async fn send_frame(&self, to: Destination, frame: Bytes, deadline: Duration) -> Result<(), SendFailure> {
        let (done, fate) = oneshot::channel();
        let frame = Queued::new(frame, FRAME_BYTES_MAX, clock::now() + deadline, Some(done))
            .ok_or(SendFailure::NotQueued)?;
        self.shared.push(Command::SendFrame { to, frame }).map_err(|_| SendFailure::NotQueued)?;
        fate.await.unwrap_or(Err(SendFailure::NotQueued))
    }

    async fn probe(&self, address: SocketAddr, question: Bytes, deadline: Duration) -> ProbeReply {
        if question.is_empty() || question.len() > CHECK_BYTES_MAX {
            return ProbeReply::LocalFault;
        }
        let (done, reply) = oneshot::channel();
        let id = self.shared.draw_id();
        let deadline = clock::now() + deadline;
        if self.shared.push(Command::StartProbe { id, address, question, deadline, done }).is_err() {
            return ProbeReply::LocalFault;
        }
        let mut guard = StopGuard { shared: &self.shared, running: Some(id) };
        let reply = reply.await.unwrap_or(ProbeReply::LocalFault);
        guard.running = None;
        reply
    }

    /// See [`Transport::watch`]. The connection carries nothing: what tells is its end.
    async fn watch(&self, address: SocketAddr) -> WatchEnd {
        let (done, end) = oneshot::channel();
        let id = self.shared.draw_id();
        if self.shared.push(Command::StartWatch { id, address, done }).is_err() {
            return WatchEnd::Failed;
        }
        let mut guard = StopGuard { shared: &self.shared, running: Some(id) };
        let end = end.await.unwrap_or(WatchEnd::Failed);
        guard.running = None;
        end
    }

    async fn answer_check(&self, handle: CheckHandle, answer: Bytes) {
        if self.shared.push(Command::AnswerCheck { handle, answer }).is_err() {
            self.shared.counters.frames_dropped.add(1);
        }
    }

    fn stats(&self) -> TransportStats {
        self.shared.counters.stats()
    }

    async fn close(&self) {
        self.shared.ask_to_close();
        self.shared.ended.wait().await;
    }
}

impl Drop for UdpTransport {
    fn drop(&mut self) {
        self.shared.ask_to_close();
        // So that the port is free when the drop is over.
        self.shared.ended.block();
    }
}

/// Closes the connection of a probe or watch when nobody waits for it any more.
struct StopGuard<'a> {
    shared: &'a Shared,
    running: Option<u64>,
}

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.running {
            // Refused only when the loop is over, and the connection with it.
            let _ = self.shared.push(Command::Stop { id });
        }
    }
}
