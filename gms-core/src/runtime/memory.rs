//! A network in memory: transports with addresses, one-way cuts and crashes, for tests over whole members.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use crate::input::{CheckHandle, ReplyHandle, SendFailure};
use crate::member::Endpoint;
use crate::output::Destination;
use crate::runtime::clock;
use crate::transport::{Incoming, Outgoing, ProbeReply, Transport, TransportError, TransportStats};

/// Most datagrams, and most other arrivals, that wait for one transport's reader; later datagrams are dropped, later frames
/// refused. Counted apart, so that a flood of datagrams keeps no frame and no check from its reader.
const INBOX_MAX: usize = 10_000;

/// Most handles that are kept; the oldest are forgotten, as connections are that nobody uses.
const HANDLES_MAX: usize = 100_000;

/// A network; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct MemoryNetwork {
    hub: Arc<Mutex<Hub>>,
}

#[derive(Debug, Default)]
struct Hub {
    inboxes: BTreeMap<SocketAddr, Arc<Inbox>>,
    /// Pairs of from and to between which nothing passes.
    cuts: BTreeSet<(SocketAddr, SocketAddr)>,
    /// Where the sender of a frame is, so that answers find it.
    replies: BTreeMap<ReplyHandle, SocketAddr>,
    checks: BTreeMap<CheckHandle, oneshot::Sender<Bytes>>,
    handles: u64,
}

#[derive(Debug, Default)]
struct Inbox {
    state: Mutex<InboxState>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct InboxState {
    waiting: VecDeque<Incoming>,
    /// How many of them are datagrams.
    datagrams: usize,
    closed: bool,
    stats: TransportStats,
}

/// One process's transport on a [`MemoryNetwork`].
#[derive(Debug)]
pub struct MemoryTransport {
    network: MemoryNetwork,
    addr: SocketAddr,
    inbox: Arc<Inbox>,
}

impl MemoryNetwork {
    /// A network with nobody on it.
    pub fn new() -> Self {
        Self::default()
    }

    /// A transport at `addr`; one that is there already is cut off.
    pub fn bind(&self, addr: SocketAddr) -> MemoryTransport {
        let inbox = Arc::new(Inbox::default());
        self.hub().inboxes.insert(addr, Arc::clone(&inbox));
        MemoryTransport { network: self.clone(), addr, inbox }
    }

    /// Whether a transport is open at `addr`.
    pub fn is_bound(&self, addr: SocketAddr) -> bool {
        self.hub().inboxes.contains_key(&addr)
    }

    /// From here on nothing sent at `from` reaches `to`; connections between them need both ways.
    pub fn cut(&self, from: SocketAddr, to: SocketAddr) {
        self.hub().cuts.insert((from, to));
    }

    /// Ends all cuts.
    pub fn heal(&self) {
        self.hub().cuts.clear();
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.hub.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    fn handle(&mut self) -> u64 {
        self.handles += 1;
        self.handles
    }

    fn passes(&self, from: SocketAddr, to: SocketAddr) -> bool {
        !self.cuts.contains(&(from, to))
    }

    fn connects(&self, from: SocketAddr, to: SocketAddr) -> bool {
        self.passes(from, to) && self.passes(to, from)
    }
}

impl Inbox {
    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, incoming: Incoming) -> Result<(), SendFailure> {
        let mut state = self.state();
        if state.closed {
            return Err(SendFailure::Refused);
        }
        let is_datagram = matches!(incoming, Incoming::Datagram { .. });
        let waiting = if is_datagram { state.datagrams } else { state.waiting.len() - state.datagrams };
        if waiting >= INBOX_MAX {
            return Err(SendFailure::NotQueued);
        }
        state.datagrams += usize::from(is_datagram);
        state.waiting.push_back(incoming);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }
}

impl MemoryTransport {
    /// Whom a frame or a probe reaches, or why nobody.
    fn connect(&self, to: SocketAddr) -> Result<Arc<Inbox>, SendFailure> {
        let hub = self.network.hub();
        if !hub.connects(self.addr, to) {
            return Err(SendFailure::TimedOut);
        }
        hub.inboxes.get(&to).cloned().ok_or(SendFailure::Refused)
    }
}

#[async_trait]
impl Transport for MemoryTransport {
    fn endpoint(&self) -> Endpoint {
        Endpoint::single(self.addr)
    }

    fn name(&self) -> &'static str {
        "memory"
    }

    async fn receive(&self, into: &mut Vec<Incoming>) -> Result<(), TransportError> {
        loop {
            {
                let mut state = self.inbox.state();
                if state.closed {
                    return Err(TransportError::Closed);
                }
                if !state.waiting.is_empty() {
                    state.datagrams = 0;
                    into.extend(state.waiting.drain(..));
                    return Ok(());
                }
            }
            self.inbox.arrived.notified().await;
        }
    }

    async fn send(&self, batch: &mut Vec<Outgoing>) -> Result<(), TransportError> {
        if self.inbox.state().closed {
            return Err(TransportError::Closed);
        }
        for Outgoing { to, bytes } in batch.drain(..) {
            let reached = {
                let hub = self.network.hub();
                hub.inboxes.get(&to).filter(|_| hub.passes(self.addr, to)).cloned()
            };
            self.inbox.state().stats.datagrams_sent += 1;
            let datagram = Incoming::Datagram { from: self.addr, received_at: clock::now(), bytes };
            let arrived = reached.is_some_and(|inbox| inbox.put(datagram).is_ok());
            if !arrived {
                self.inbox.state().stats.datagrams_dropped += 1;
            }
        }
        Ok(())
    }

    async fn send_frame(&self, to: Destination, frame: Bytes, deadline: Duration) -> Result<(), SendFailure> {
        let to = match to {
            Destination::Address(addr) => addr,
            Destination::Reply(handle) => {
                self.network.hub().replies.get(&handle).copied().ok_or(SendFailure::Broken)?
            }
        };
        match self.connect(to) {
            Ok(inbox) => {
                let reply = {
                    let mut hub = self.network.hub();
                    let reply = ReplyHandle(hub.handle());
                    hub.replies.insert(reply, self.addr);
                    if hub.replies.len() > HANDLES_MAX {
                        hub.replies.pop_first();
                    }
                    reply
                };
                self.inbox.state().stats.frames_sent += 1;
                inbox.put(Incoming::Frame { from: self.addr, reply, received_at: clock::now(), bytes: frame })
            }
            Err(SendFailure::TimedOut) => {
                sleep(deadline).await;
                Err(SendFailure::TimedOut)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn probe(&self, address: SocketAddr, question: Bytes, deadline: Duration) -> ProbeReply {
        let inbox = match self.connect(address) {
            Ok(inbox) => inbox,
            Err(SendFailure::TimedOut) => {
                sleep(deadline).await;
                return ProbeReply::TimedOut;
            }
            Err(_) => return ProbeReply::Refused,
        };
        let (answer, answered) = oneshot::channel();
        let handle = {
            let mut hub = self.network.hub();
            let handle = CheckHandle(hub.handle());
            hub.checks.insert(handle, answer);
            if hub.checks.len() > HANDLES_MAX {
                hub.checks.pop_first();
            }
            handle
        };
        if inbox.put(Incoming::Check { from: self.addr, handle, bytes: question }).is_err() {
            return ProbeReply::Refused;
        }
        match timeout(deadline, answered).await {
            Ok(Ok(bytes)) => ProbeReply::Answer(bytes),
            Ok(Err(_)) => ProbeReply::Reset,
            Err(_) => ProbeReply::TimedOut,
        }
    }

    async fn answer_check(&self, handle: CheckHandle, answer: Bytes) {
        let asker = self.network.hub().checks.remove(&handle);
        if let Some(asker) = asker {
            // An error says that the asker does not wait any more.
            let _ = asker.send(answer);
        }
    }

    fn stats(&self) -> TransportStats {
        self.inbox.state().stats
    }

    async fn close(&self) {
        let mut hub = self.network.hub();
        if hub.inboxes.get(&self.addr).is_some_and(|inbox| Arc::ptr_eq(inbox, &self.inbox)) {
            hub.inboxes.remove(&self.addr);
        }
        drop(hub);
        let mut state = self.inbox.state();
        state.closed = true;
        state.waiting.clear();
        drop(state);
        self.inbox.arrived.notify_one();
    }
}

impl Drop for MemoryTransport {
    fn drop(&mut self) {
        let mut hub = self.network.hub();
        if hub.inboxes.get(&self.addr).is_some_and(|inbox| Arc::ptr_eq(inbox, &self.inbox)) {
            hub.inboxes.remove(&self.addr);
        }
    }
}
