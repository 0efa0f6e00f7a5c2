//! What the transport's thread and its callers share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::{CheckHandle, SendFailure};
use gms_core::member::canonical;
use gms_core::message::DATAGRAM_BYTES_MAX;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Outgoing, TransportError};
use gms_net::admission::Admission;
use gms_net::counters::Counters;
use gms_net::inbox::Inbox;
use gms_net::socket::for_socket;
use quinn::{ClientConfig, Endpoint, SendDatagramError};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::dial;
use crate::handshakes::Handshakes;
use crate::life::Life;
use crate::limits::{LARGE_DATAGRAMS_MAX, Limits};
use crate::link::{self, Link};
use crate::outbox::Queued;
use crate::peers::{Dial, Item, Offered, Peers, Todo, Waiting};
use crate::tls::Tls;

/// The incoming connections: how many from where, and how each is told to make room.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) admission: Admission,
    pub(crate) cuts: BTreeMap<u64, Arc<Notify>>,
    pub(crate) handshakes: Handshakes,
}

/// Shared by the thread's tasks and every caller.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) counters: Counters,
    pub(crate) inbox: Inbox,
    pub(crate) limits: Limits,
    pub(crate) life: Life,
    /// The thread's runtime.
    pub(crate) runtime: Handle,
    /// Watches go over TCP where the other side takes them.
    pub(crate) tcp_watch: bool,
    /// IPv4 travels mapped over the socket.
    pub(crate) mapped: bool,
    /// The address at which peers know this transport, if it is known here.
    pub(crate) own: Option<SocketAddr>,
    pub(crate) large_datagrams: AtomicUsize,
    /// The certificates were replaced.
    pub(crate) replaced: Notify,
    endpoint: Mutex<Option<Endpoint>>,
    tls: Mutex<Arc<Tls>>,
    peers: Mutex<Peers>,
    gate: Mutex<Gate>,
    checks: Mutex<BTreeMap<u64, oneshot::Sender<Bytes>>>,
    room_again: Notify,
    serials: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under these locks is complete when a panic could strike, so the state is sound.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(
        endpoint: Endpoint,
        tcp_watch: bool,
        mapped: bool,
        own: Option<SocketAddr>,
        runtime: Handle,
        tls: Tls,
        limits: Limits,
    ) -> Self {
        let incoming = gms_net::socket::incoming_max(limits.incoming);
        let admission = Admission::new(incoming, limits.incoming_per_source);
        Self {
            counters: Counters::default(),
            inbox: Inbox::new(limits.room()),
            limits,
            runtime,
            tcp_watch,
            mapped,
            own,
            large_datagrams: AtomicUsize::new(0),
            replaced: Notify::new(),
            endpoint: Mutex::new(Some(endpoint)),
            tls: Mutex::new(Arc::new(tls)),
            peers: Mutex::default(),
            gate: Mutex::new(Gate { admission, cuts: BTreeMap::new(), handshakes: Handshakes::default() }),
            checks: Mutex::default(),
            room_again: Notify::new(),
            life: Life::new(),
            serials: AtomicU64::new(0),
        }
    }

    /// A number that no other connection or check of this transport has.
    pub(crate) fn draw_serial(&self) -> u64 {
        self.serials.fetch_add(1, Ordering::Relaxed)
    }

    /// The certificates of the moment.
    pub(crate) fn tls(&self) -> Arc<Tls> {
        Arc::clone(&lock(&self.tls))
    }

    /// Takes others from here on; connections that are there go on.
    pub(crate) fn replace_tls(&self, tls: Tls) {
        if let Some(endpoint) = &*lock(&self.endpoint) {
            endpoint.set_server_config(Some(tls.server.clone()));
        }
        *lock(&self.tls) = Arc::new(tls);
        self.replaced.notify_one();
    }

    /// Begins a connection to `to`; must be called within the runtime.
    pub(crate) fn connect(
        &self,
        to: SocketAddr,
        config: ClientConfig,
    ) -> Result<quinn::Connecting, SendFailure> {
        let endpoint = lock(&self.endpoint).clone().ok_or(SendFailure::NotQueued)?;
        endpoint
            .connect_with(config, for_socket(to, self.mapped), &self.tls().name)
            .map_err(|_| SendFailure::Local)
    }

    /// Locks the table of incoming connections.
    pub(crate) fn gate(&self) -> MutexGuard<'_, Gate> {
        lock(&self.gate)
    }

    /// An incoming connection brought something whole: it is not the first to make room.
    pub(crate) fn prove(&self, ip: std::net::IpAddr, serial: u64) {
        self.gate().admission.prove(ip, usize::try_from(serial).unwrap_or(usize::MAX));
    }

    /// Sends all of `batch`; `None` once closed.
    //= docs/protocol.md#fd-6
    pub(crate) fn send(self: &Arc<Self>, batch: &mut Vec<Outgoing>) -> Option<()> {
        if self.life.is_closing() {
            return None;
        }
        let now = clock::now();
        let mut peers = lock(&self.peers);
        let (mut sent, mut bytes, mut unsent) = (0, 0, 0);
        for datagram in batch.drain(..) {
            let length = datagram.bytes.len();
            if length <= DATAGRAM_BYTES_MAX
                && self.send_one(&mut peers, now, canonical(datagram.to), datagram.bytes)
            {
                sent += 1;
                bytes += length;
            } else {
                unsent += 1;
            }
        }
        drop(peers);
        self.counters.datagrams_sent.add(sent);
        self.counters.datagram_bytes_sent.add(bytes);
        self.counters.datagrams_unsent.add(unsent);
        Some(())
    }

    fn send_one(self: &Arc<Self>, peers: &mut Peers, now: Timestamp, to: SocketAddr, bytes: Bytes) -> bool {
        match peers.offer(now, to, Item::Datagram(bytes)) {
            Offered::Linked(link, Item::Datagram(bytes)) => self.send_over(&link, bytes),
            Offered::Waits(todo) => {
                self.dial(to, todo);
                true
            }
            Offered::Linked(..) | Offered::Dropped => false,
        }
    }

    /// Sends a datagram over a connection, in a packet or, where that is too small, on a stream.
    fn send_over(self: &Arc<Self>, link: &Arc<Link>, bytes: Bytes) -> bool {
        match link.connection.send_datagram(bytes.clone()) {
            Ok(()) => true,
            Err(SendDatagramError::ConnectionLost(_)) => false,
            Err(_) => {
                if self.large_datagrams.fetch_add(1, Ordering::Relaxed) >= LARGE_DATAGRAMS_MAX {
                    self.large_datagrams.fetch_sub(1, Ordering::Relaxed);
                    return false;
                }
                let (shared, link) = (Arc::clone(self), Arc::clone(link));
                self.runtime.spawn(async move {
                    link::write_datagram(link, bytes).await;
                    shared.large_datagrams.fetch_sub(1, Ordering::Relaxed);
                });
                true
            }
        }
    }

    /// Queues a frame to an address.
    pub(crate) fn queue_frame(self: &Arc<Self>, to: SocketAddr, frame: Queued) {
        if self.life.is_closing() {
            return frame.settle(Err(SendFailure::NotQueued));
        }
        self.queue_under(&mut lock(&self.peers), to, frame);
    }

    /// The same under the table's lock, which keeps frames to one address in order.
    fn queue_under(self: &Arc<Self>, peers: &mut Peers, to: SocketAddr, frame: Queued) {
        match peers.offer(clock::now(), to, Item::Frame(frame)) {
            Offered::Linked(link, Item::Frame(frame)) => self.queue_on(&link, frame),
            Offered::Waits(todo) => self.dial(to, todo),
            Offered::Linked(..) | Offered::Dropped => {}
        }
    }

    /// Queues a frame on the connection with this serial.
    pub(crate) fn queue_reply(self: &Arc<Self>, serial: u64, frame: Queued) {
        let link = lock(&self.peers).by_serial(serial);
        match link {
            Some(link) => self.queue_on(&link, frame),
            None => frame.settle(Err(SendFailure::Broken)),
        }
    }

    fn queue_on(self: &Arc<Self>, link: &Arc<Link>, frame: Queued) {
        match link.outbox.push(frame, &self.limits) {
            Ok(true) => drop(self.runtime.spawn(link::write(Arc::clone(self), Arc::clone(link)))),
            Ok(false) => {}
            Err(frame) => frame.settle(Err(SendFailure::Broken)),
        }
    }

    /// Waits for the connection to `to`, and makes it where there is none.
    pub(crate) async fn link_to(self: &Arc<Self>, to: SocketAddr) -> Result<Arc<Link>, SendFailure> {
        if self.life.is_closing() {
            return Err(SendFailure::NotQueued);
        }
        let (told, link) = oneshot::channel();
        let offered = lock(&self.peers).offer(clock::now(), to, Item::Watcher(told));
        match offered {
            Offered::Linked(link, _) => return Ok(link),
            Offered::Waits(todo) => self.dial(to, todo),
            Offered::Dropped => {}
        }
        link.await.unwrap_or(Err(SendFailure::NotQueued))
    }

    fn dial(self: &Arc<Self>, to: SocketAddr, todo: Todo) {
        if let Todo::Dial(attempt) = todo {
            self.runtime.spawn(dial::dial(Arc::clone(self), to, attempt));
        }
    }

    /// Whether this attempt is still needed.
    pub(crate) fn is_dialling(&self, to: SocketAddr, attempt: &Arc<Dial>) -> bool {
        lock(&self.peers).is_dialling(to, attempt)
    }

    /// Takes in a connection that is there, and sends what waited for it.
    pub(crate) fn link(self: &Arc<Self>, link: &Arc<Link>) {
        // What waited goes first: nobody may find the connection before it is queued.
        let mut peers = lock(&self.peers);
        let (waiting, used) = peers.link(clock::now(), link, self.limits.connect);
        let Waiting { datagrams, frames, watchers } = waiting;
        for bytes in datagrams {
            self.send_over(&used, bytes);
        }
        for frame in frames {
            self.queue_on(&used, frame);
        }
        drop(peers);
        for watcher in watchers {
            // It may have stopped waiting.
            let _ = watcher.send(Ok(Arc::clone(&used)));
        }
    }

    /// Forgets a connection that is over. Frames that were not begun get one other connection.
    pub(crate) fn unlink(self: &Arc<Self>, link: &Link) {
        let mut peers = lock(&self.peers);
        peers.unlink(link);
        for mut frame in link.outbox.close() {
            if frame.may_move && !self.life.is_closing() {
                frame.may_move = false;
                self.queue_under(&mut peers, link.peer, frame);
            } else {
                frame.settle(Err(SendFailure::Broken));
            }
        }
    }

    /// A connection could not be made.
    pub(crate) fn dial_failed(&self, to: SocketAddr, failure: SendFailure) {
        let lost = lock(&self.peers).dial_failed(clock::now(), to).fail(failure);
        self.counters.datagrams_unsent.add(lost);
    }

    /// The network says that a datagram to `to` found nobody.
    //= docs/protocol.md#fd-30
    pub(crate) fn unreachable(&self, to: SocketAddr) {
        lock(&self.peers).refuse(to);
        if self.inbox.room().datagrams > 0 {
            self.inbox.deliver(&mut vec![Incoming::Unreachable { to }], false);
        }
    }

    /// Whether what is sent to its address goes over it.
    pub(crate) fn is_in_use(&self, link: &Link) -> bool {
        lock(&self.peers).is_in_use(link)
    }

    /// A check waits for its answer.
    pub(crate) fn ask(&self) -> (CheckHandle, oneshot::Receiver<Bytes>) {
        let (told, answer) = oneshot::channel();
        let serial = self.draw_serial();
        lock(&self.checks).insert(serial, told);
        (CheckHandle(serial), answer)
    }

    /// The check's answer, or `None` where nobody waits for it.
    pub(crate) fn take_check(&self, handle: CheckHandle) -> Option<oneshot::Sender<Bytes>> {
        lock(&self.checks).remove(&handle.0)
    }

    /// Waits until another frame may be delivered.
    pub(crate) async fn room_for_frame(&self) {
        self.room(|| self.inbox.room().for_frame()).await;
    }

    /// Waits until another check may be delivered.
    pub(crate) async fn room_for_check(&self) {
        self.room(|| self.inbox.room().for_check()).await;
    }

    async fn room(&self, is_there: impl Fn() -> bool) {
        loop {
            let again = self.room_again.notified();
            tokio::pin!(again);
            again.as_mut().enable();
            // Said before looking again, so that the reader does not empty the queue unheard in between.
            if is_there() || self.inbox.deliver(&mut Vec::new(), true) {
                return;
            }
            again.await;
        }
    }

    /// The reader has emptied the queue while others waited for room.
    pub(crate) fn room_is_there(&self) {
        self.room_again.notify_waiters();
    }

    /// Lets go of everything; returns the endpoint.
    pub(crate) fn let_go(&self, error: TransportError) -> Option<Endpoint> {
        self.life.ask_to_close();
        self.inbox.end(error);
        let (waiting, links) = lock(&self.peers).clear();
        for waiting in waiting {
            waiting.fail(SendFailure::NotQueued);
        }
        for link in links {
            for frame in link.outbox.close() {
                frame.settle(Err(SendFailure::NotQueued));
            }
        }
        lock(&self.checks).clear();
        lock(&self.endpoint).take()
    }
}
