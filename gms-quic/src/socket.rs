//! The sockets under quinn: the one that all connections share, and one for each check.
//!
//! quinn notices a dead peer at its idle timeout only. These sockets listen to what the network says of datagrams that
//! found nobody: the shared one through its error queue, as hints; that of a check, which is connected, as the answer.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use gms_net::fault::Fault;
use gms_net::socket::send_past_errors;
use gms_net::strangers;
use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::watch;

use crate::limits::SEGMENTS_MAX;

/// Says when a socket may be written to again; each connection has one.
struct Writable {
    socket: Arc<UdpSocket>,
    waiting: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>>,
}

impl Writable {
    fn of(socket: &Arc<UdpSocket>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Self { socket: Arc::clone(socket), waiting: None })
    }
}

impl std::fmt::Debug for Writable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writable").finish_non_exhaustive()
    }
}

impl UdpPoller for Writable {
    fn poll_writable(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let waiting = this.waiting.get_or_insert_with(|| {
            let socket = Arc::clone(&this.socket);
            Box::pin(async move { socket.writable().await })
        });
        let done = ready!(waiting.as_mut().poll(cx));
        this.waiting = None;
        Poll::Ready(done)
    }
}

/// The socket that all connections share.
#[derive(Debug)]
pub(crate) struct SharedSocket {
    io: Arc<UdpSocket>,
    state: UdpSocketState,
}

impl SharedSocket {
    /// Takes over a bound socket that does not block. Must be called within the runtime.
    pub(crate) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self { io: Arc::new(UdpSocket::from_std(socket)?), state })
    }

    /// The socket, for whoever reads its error queue.
    pub(crate) fn io(&self) -> Arc<UdpSocket> {
        Arc::clone(&self.io)
    }

    /// Tells members over UDP that this one speaks QUIC. quinn drops their datagrams.
    //= docs/protocol.md#wr-6
    fn answer_strangers(&self, bufs: &[IoSliceMut<'_>], meta: &[RecvMeta]) {
        for (buffer, meta) in bufs.iter().zip(meta) {
            if let Some(answer) = strangers::answer_to_udp(&buffer[..meta.stride.min(meta.len)]) {
                // Whoever asked asks again if it does not get through.
                let _ = self.io.try_send_to(&answer, meta.addr);
            }
        }
    }

    fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match send_past_errors(|| self.state.try_send((&*self.io).into(), transmit)) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(e),
            // What the kernel does not take is lost, as on the way: quinn would end the connection for it.
            Err(error) => {
                tracing::debug!(%error, to = %transmit.destination, "a packet was not sent");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

impl AsyncUdpSocket for SharedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Writable::of(&self.io)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.io.try_io(Interest::WRITABLE, || self.send(transmit))
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.io.poll_recv_ready(cx))?;
            let read = self.io.try_io(Interest::READABLE, || self.state.recv((&*self.io).into(), bufs, meta));
            // An error is the news of an earlier datagram, or says that nothing is there.
            if let Ok(count) = read {
                self.answer_strangers(bufs, &meta[..count]);
                return Poll::Ready(Ok(count));
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments().min(SEGMENTS_MAX)
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

/// The socket of one check: connected, so that the kernel tells it, and it alone, that nobody listens there.
#[derive(Debug)]
pub(crate) struct CheckSocket {
    io: Arc<UdpSocket>,
    fault: watch::Sender<Option<Fault>>,
}

impl CheckSocket {
    /// A socket connected to `to`. Must be called within the runtime.
    pub(crate) fn connect(to: SocketAddr) -> io::Result<Self> {
        let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = std::net::UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.connect(to)?;
        if socket.local_addr()? == to {
            // It would talk to itself, and nothing of that is about the peer.
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        socket.set_nonblocking(true)?;
        Ok(Self { io: Arc::new(UdpSocket::from_std(socket)?), fault: watch::Sender::new(None) })
    }

    /// Waits until the network has said something about the address. An error wakes neither who reads nor who writes, so
    /// that without this it would be seen with the next packet only.
    pub(crate) async fn told(self: Arc<Self>) -> Fault {
        let mut told = self.fault.subscribe();
        loop {
            let known = *told.borrow_and_update();
            if let Some(fault) = known {
                return fault;
            }
            tokio::select! {
                ready = self.io.ready(Interest::ERROR) => {
                    let error = match ready {
                        Ok(_) => self.io.try_io(Interest::ERROR, || match self.io.take_error() {
                            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
                            Ok(Some(error)) | Err(error) => Ok(error),
                        }),
                        Err(error) => Ok(error),
                    };
                    if let Ok(error) = error {
                        self.note(&error);
                    }
                }
                _ = told.changed() => {}
            }
        }
    }

    /// Keeps what an error says. Those of this side are kept, too: without a socket there is no answer.
    fn note(&self, error: &io::Error) {
        self.fault.send_if_modified(|fault| {
            let is_first = fault.is_none();
            fault.get_or_insert(Fault::of(error));
            is_first
        });
    }
}

impl AsyncUdpSocket for CheckSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Writable::of(&self.io)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match self.io.try_send(transmit.contents) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(e),
            Err(error) => {
                self.note(&error);
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let (Some(buffer), Some(meta)) = (bufs.first_mut(), meta.first_mut()) else {
            return Poll::Ready(Ok(0));
        };
        loop {
            ready!(self.io.poll_recv_ready(cx))?;
            match self.io.try_recv(buffer) {
                Ok(length) => {
                    let addr = self.io.peer_addr()?;
                    *meta = RecvMeta { addr, len: length, stride: length, ..RecvMeta::default() };
                    return Poll::Ready(Ok(1));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => self.note(&error),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }
}
