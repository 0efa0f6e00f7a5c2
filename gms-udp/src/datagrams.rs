//! Reading and sending datagrams: to the last one that the kernel has, without ever waiting.

use std::io;
use std::net::SocketAddr;
use std::sync::PoisonError;

use bytes::Bytes;
use gms_core::member::canonical;
use gms_core::message::DATAGRAM_BYTES_MAX;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Outgoing};
use gms_net::strangers;
use mio::net::UdpSocket;

use crate::connection::Turn;
use crate::counters::Counters;
use crate::limits::{DATAGRAMS_PER_TURN, ERRORS_PER_TURN};
use crate::shared::Shared;
use crate::socket;

/// One byte more than a datagram may have tells one that is too large from one that just fits.
const BUFFER_BYTES: usize = DATAGRAM_BYTES_MAX + 1;

/// The receiving half of the datagram socket.
#[derive(Debug)]
pub(crate) struct DatagramReader {
    buffer: Box<[u8]>,
    #[cfg(target_os = "linux")]
    overflows: crate::overflow::OverflowReader,
    #[cfg(target_os = "linux")]
    errors: crate::error_queue::ErrorReader,
}

impl DatagramReader {
    pub(crate) fn new(socket: &UdpSocket) -> Self {
        #[cfg(not(target_os = "linux"))]
        let _ = socket;
        Self {
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            #[cfg(target_os = "linux")]
            overflows: crate::overflow::OverflowReader::new(socket),
            #[cfg(target_os = "linux")]
            errors: crate::error_queue::ErrorReader::new(
                socket,
                socket.local_addr().is_ok_and(|addr| addr.is_ipv6()),
            ),
        }
    }

    /// Reads until nothing is left or the turn's share is read; says whether more may be there.
    pub(crate) fn read(&mut self, turn: &mut Turn, shared: &Shared) -> bool {
        let socket = shared.udp.read().unwrap_or_else(PoisonError::into_inner);
        let Some(socket) = socket.as_ref() else { return false };
        for read in 0..DATAGRAMS_PER_TURN {
            match self.read_one(read == 0, socket, &shared.counters) {
                Ok((length, from)) => self.take(length, from, turn, shared, socket),
                Err(e) => match e.kind() {
                    io::ErrorKind::WouldBlock => return false,
                    io::ErrorKind::Interrupted
                    // What became of an earlier datagram says nothing about the next.
                    | io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable => {}
                    // The next arrival is announced by an event of its own.
                    _ => {
                        tracing::debug!(error = %e, "reading datagrams failed");
                        return false;
                    }
                },
            }
        }
        true
    }

    /// Reads which datagrams found nobody; says whether more may be there.
    //= docs/protocol.md#fd-30
    #[cfg(target_os = "linux")]
    pub(crate) fn read_errors(&mut self, turn: &mut Turn, shared: &Shared) -> bool {
        let socket = shared.udp.read().unwrap_or_else(PoisonError::into_inner);
        let Some(socket) = socket.as_ref() else { return false };
        for _ in 0..ERRORS_PER_TURN {
            match self.errors.read(socket) {
                Ok(Some(to)) if turn.room.datagrams > 0 => {
                    turn.deliver(Incoming::Unreachable { to: canonical(to) });
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// The first of a turn also brings the kernel's count of lost ones; that costs more than a plain read.
    fn read_one(
        &mut self,
        first: bool,
        socket: &UdpSocket,
        counters: &Counters,
    ) -> io::Result<(usize, SocketAddr)> {
        #[cfg(target_os = "linux")]
        if first {
            return self.overflows.read(socket, &mut self.buffer, counters);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (first, counters);
        socket.recv_from(&mut self.buffer)
    }

    //= docs/protocol.md#fd-1
    //= docs/protocol.md#wr-5
    fn take(&self, length: usize, from: SocketAddr, turn: &mut Turn, shared: &Shared, socket: &UdpSocket) {
        let counters = &shared.counters;
        let received = &self.buffer[..length];
        if strangers::is_from_quic(received) {
            counters.datagrams_dropped.add(1);
            return shared.note_stranger(canonical(from));
        }
        if let Some(answer) = strangers::answer_to_quic(received) {
            counters.datagrams_dropped.add(1);
            // Whoever asked asks again if it does not get through.
            let _ = socket.send_to(&answer, from);
            return;
        }
        let received_at = clock::now();
        counters.datagrams_received.add(1);
        counters.datagram_bytes_received.add(length);
        if length > DATAGRAM_BYTES_MAX || turn.room.datagrams == 0 {
            counters.datagrams_dropped.add(1);
            return;
        }
        let bytes = Bytes::copy_from_slice(&self.buffer[..length]);
        turn.deliver(Incoming::Datagram { from: canonical(from), received_at, bytes });
    }
}

/// Hands `batch` to the kernel, counts what it does not take, and empties it. `None` when the socket is closed.
//= docs/protocol.md#fd-6
pub(crate) fn send(shared: &Shared, batch: &mut Vec<Outgoing>) -> Option<()> {
    let socket = shared.udp.read().unwrap_or_else(PoisonError::into_inner);
    let socket = socket.as_ref()?;
    let (mut sent, mut bytes, mut unsent) = (0, 0, 0);
    for datagram in batch.drain(..) {
        let to = socket::for_socket(datagram.to, shared.mapped);
        let send = || socket.send_to(&datagram.bytes, to);
        if datagram.bytes.len() <= DATAGRAM_BYTES_MAX && socket::send_past_errors(send).is_ok() {
            sent += 1;
            bytes += datagram.bytes.len();
        } else {
            unsent += 1;
        }
    }
    shared.counters.datagrams_sent.add(sent);
    shared.counters.datagram_bytes_sent.add(bytes);
    shared.counters.datagrams_unsent.add(unsent);
    Some(())
}
