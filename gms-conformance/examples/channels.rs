//! A transport of one's own in under 150 lines: members within one process talk through channels.
//!
//! Three of them form a cluster, print their views, and leave: `cargo run -p gms-conformance --example channels`.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use gms_core::input::{CheckHandle, ReplyHandle, SendFailure};
use gms_core::member::Endpoint;
use gms_core::output::Destination;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Outgoing, ProbeReply, Transport, TransportError, TransportStats};
use gms_core::{Event, Gms};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Everybody who listens, and checks that wait for their answer.
#[derive(Default)]
struct Hub {
    inboxes: BTreeMap<SocketAddr, mpsc::Sender<Incoming>>,
    checks: BTreeMap<u64, oneshot::Sender<Bytes>>,
}

/// One member's end of the channels. A reply handle is the port of whoever sent the frame.
struct Channels {
    hub: Arc<Mutex<Hub>>,
    addr: SocketAddr,
    inbox: tokio::sync::Mutex<mpsc::Receiver<Incoming>>,
    handles: AtomicU64,
}

impl Channels {
    fn bind(hub: &Arc<Mutex<Hub>>, port: u16) -> Self {
        let (sender, inbox) = mpsc::channel(1024);
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
        lock(hub).inboxes.insert(addr, sender);
        let handles = AtomicU64::new(u64::from(port) << 32);
        Self { hub: Arc::clone(hub), addr, inbox: inbox.into(), handles }
    }

    /// Hands something to whoever listens at `to`. Who does not listen refuses, and who is full takes no more.
    fn put(&self, to: SocketAddr, incoming: Incoming) -> Result<(), SendFailure> {
        let inbox = lock(&self.hub).inboxes.get(&to).cloned().ok_or(SendFailure::Refused)?;
        inbox.try_send(incoming).map_err(|_| SendFailure::NotQueued)
    }
}

fn lock(hub: &Mutex<Hub>) -> std::sync::MutexGuard<'_, Hub> {
    hub.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Transport for Channels {
    fn endpoint(&self) -> Endpoint {
        Endpoint::single(self.addr)
    }

    fn name(&self) -> &'static str {
        "channels"
    }

    async fn receive(&self, into: &mut Vec<Incoming>) -> Result<(), TransportError> {
        let mut inbox = self.inbox.lock().await;
        into.push(inbox.recv().await.ok_or(TransportError::Closed)?);
        into.extend(std::iter::from_fn(|| inbox.try_recv().ok()));
        Ok(())
    }

    async fn send(&self, batch: &mut Vec<Outgoing>) -> Result<(), TransportError> {
        for Outgoing { to, bytes } in batch.drain(..) {
            let _ = self.put(to, Incoming::Datagram { from: self.addr, received_at: clock::now(), bytes });
        }
        Ok(())
    }

    async fn send_frame(
        &self,
        to: Destination,
        bytes: Bytes,
        _deadline: Duration,
    ) -> Result<(), SendFailure> {
        let to = match to {
            Destination::Address(to) => to,
            Destination::Reply(reply) => ([127, 0, 0, 1], u16::try_from(reply.0).unwrap_or(0)).into(),
        };
        let reply = ReplyHandle(self.addr.port().into());
        self.put(to, Incoming::Frame { from: self.addr, reply, received_at: clock::now(), bytes })
    }

    async fn probe(&self, to: SocketAddr, question: Bytes, deadline: Duration) -> ProbeReply {
        let number = self.handles.fetch_add(1, Ordering::Relaxed);
        let (told, answer) = oneshot::channel();
        lock(&self.hub).checks.insert(number, told);
        let check = Incoming::Check { from: self.addr, handle: CheckHandle(number), bytes: question };
        let reply = match self.put(to, check) {
            Ok(()) => timeout(deadline, answer)
                .await
                .map_or(ProbeReply::TimedOut, |answer| answer.map_or(ProbeReply::Reset, ProbeReply::Answer)),
            Err(SendFailure::Refused) => ProbeReply::Refused,
            Err(_) => ProbeReply::TimedOut,
        };
        lock(&self.hub).checks.remove(&number);
        reply
    }

    async fn answer_check(&self, handle: CheckHandle, answer: Bytes) {
        if let Some(asker) = lock(&self.hub).checks.remove(&handle.0) {
            let _ = asker.send(answer);
        }
    }

    fn stats(&self) -> TransportStats {
        TransportStats::default()
    }

    async fn close(&self) {
        lock(&self.hub).inboxes.remove(&self.addr);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hub = Arc::new(Mutex::new(Hub::default()));
    let mut members = Vec::new();
    for port in 1..=3 {
        let seeds = (port > 1).then_some("127.0.0.1:1");
        let builder = Gms::builder("channels").name(format!("m{port}")).join(seeds);
        let (gms, events) = builder.start(Channels::bind(&hub, port)).await?;
        gms.joined().await?;
        members.push((gms, events));
    }
    for (gms, mut events) in members {
        gms.leave().await;
        while let Some(event) = events.next().await {
            if let Event::ViewInstalled(change) = event {
                println!("{}: view {} of {}", gms.me().name, change.view.number(), change.view.len());
            }
        }
    }
    Ok(())
}
