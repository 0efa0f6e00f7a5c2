//! One connection that is kept: reading from it, writing frames to it.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use gms_core::Timestamp;
use gms_core::input::{ReplyHandle, SendFailure};
use gms_core::message::{DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX};
use gms_core::runtime::clock;
use gms_core::transport::Incoming;
use gms_net::frames::Assembler;
use quinn::{Connection, ConnectionError, ReadError, RecvStream, SendStream, VarInt, WriteError};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::end::{CloseCode, LinkEnd};
use crate::outbox::{Outbox, Queued};
use crate::shared::Shared;

/// First byte of a stream that carries frames.
const LEAD_FRAMES: u8 = b'F';
/// The one byte of the first stream of whoever let the other side in.
const LEAD_WELCOME: u8 = b'H';
/// First byte of a stream that carries one datagram, which is too large for a packet.
const LEAD_DATAGRAM: u8 = b'D';
/// Datagrams taken from a connection before it looks at anything else.
const DATAGRAMS_PER_TURN: usize = 64;
/// Bytes asked from a stream at a time.
const READ_BYTES: usize = 64 << 10;

/// A connection that is kept.
#[derive(Debug)]
pub(crate) struct Link {
    /// Never used twice.
    pub(crate) serial: u64,
    pub(crate) connection: Connection,
    /// The other side, canonical.
    pub(crate) peer: std::net::SocketAddr,
    /// Whether this side made it.
    pub(crate) dialled: bool,
    pub(crate) since: Timestamp,
    /// Which of two connections stays: both sides know the same number, and nobody else does.
    pub(crate) rank: [u8; 16],
    pub(crate) outbox: Outbox,
    /// It brought something whole.
    proven: AtomicBool,
    /// It has been replaced; wakes the task that closes it after a while.
    pub(crate) retired: Notify,
    /// It makes room for another.
    pub(crate) cut: Arc<Notify>,
    end: watch::Sender<Option<LinkEnd>>,
}

impl Link {
    pub(crate) fn new(serial: u64, connection: Connection, dialled: bool, cut: Arc<Notify>) -> Self {
        let mut rank = [0; 16];
        if connection.export_keying_material(&mut rank, b"gms link", b"").is_err() {
            tracing::debug!("a connection has no rank");
        }
        Self {
            serial,
            peer: gms_core::member::canonical(connection.remote_address()),
            connection,
            dialled,
            since: clock::now(),
            rank,
            outbox: Outbox::default(),
            proven: AtomicBool::new(dialled),
            retired: Notify::new(),
            cut,
            end: watch::Sender::new(None),
        }
    }

    /// Says how it ended to those who watch; the first word stays.
    pub(crate) fn set_end(&self, end: LinkEnd) {
        self.end.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(end);
            is_first
        });
    }

    /// Waits until it ends.
    pub(crate) async fn ended(&self) -> LinkEnd {
        let mut end = self.end.subscribe();
        match end.wait_for(Option::is_some).await {
            Ok(end) => end.unwrap_or(LinkEnd::Broken),
            Err(_) => LinkEnd::Broken,
        }
    }

    /// Notes that it brought something whole.
    fn prove(&self, shared: &Shared) {
        if !self.proven.swap(true, Ordering::Relaxed) {
            shared.prove(self.peer.ip(), self.serial);
        }
    }
}

/// Says that the other side is let in.
pub(crate) async fn say_welcome(connection: &Connection) {
    // Where it fails the connection is over, and whoever reads from it hears why.
    if let Ok(mut stream) = connection.open_uni().await {
        let _ = stream.write_all(&[LEAD_WELCOME]).await;
        let _ = stream.finish();
    }
}

/// Waits until the other side has let this one in. In TLS 1.3 the client is done before the server has looked at its
/// certificate: what is sent before might never be read.
pub(crate) async fn hear_welcome(connection: &Connection) -> Result<(), ConnectionError> {
    let mut stream = connection.accept_uni().await?;
    let mut said = [0];
    let is_welcome = stream.read_exact(&mut said).await.is_ok() && said[0] == LEAD_WELCOME;
    if is_welcome {
        return Ok(());
    }
    connection.close(CloseCode::Cut.code(), b"no welcome");
    Err(connection.close_reason().unwrap_or(ConnectionError::Reset))
}

/// Reads until the connection is over; returns why.
pub(crate) async fn read(shared: &Arc<Shared>, link: &Arc<Link>) -> ConnectionError {
    let mut is_retired = false;
    loop {
        tokio::select! {
            datagram = link.connection.read_datagram() => match datagram {
                Ok(first) => {
                    link.prove(shared);
                    let mut datagrams = vec![first];
                    let lost = more_datagrams(link, &mut datagrams).await;
                    deliver_datagrams(shared, link, datagrams);
                    if let Some(error) = lost {
                        return error;
                    }
                }
                Err(error) => return error,
            },
            stream = link.connection.accept_uni() => match stream {
                Ok(stream) => {
                    tokio::spawn(read_stream(Arc::clone(shared), Arc::clone(link), stream));
                }
                Err(error) => return error,
            },
            () = link.retired.notified(), if !is_retired => {
                is_retired = true;
                let (shared, link) = (Arc::clone(shared), Arc::clone(link));
                tokio::spawn(async move { close_retired(&shared, &link).await });
            }
            () = link.cut.notified() => {
                link.connection.close(CloseCode::Cut.code(), b"");
            }
        }
    }
}

/// Takes what is there without waiting: a wake-up of the reader for each costs more than the datagram.
async fn more_datagrams(link: &Link, into: &mut Vec<Bytes>) -> Option<ConnectionError> {
    while into.len() < DATAGRAMS_PER_TURN {
        let mut next = pin!(link.connection.read_datagram());
        match poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx))).await {
            Poll::Ready(Ok(bytes)) => into.push(bytes),
            Poll::Ready(Err(error)) => return Some(error),
            Poll::Pending => break,
        }
    }
    None
}

/// The side that made a connection closes it once it is replaced and nothing is under way.
async fn close_retired(shared: &Shared, link: &Link) {
    tokio::time::sleep(crate::limits::RETIRED_FOR).await;
    if !shared.is_in_use(link) {
        link.connection.close(CloseCode::Replaced.code(), b"");
    }
}

//= docs/protocol.md#fd-1
fn deliver_datagrams(shared: &Shared, link: &Link, datagrams: Vec<Bytes>) {
    let received_at = clock::now();
    shared.counters.datagrams_received.add(datagrams.len());
    shared.counters.datagram_bytes_received.add(datagrams.iter().map(Bytes::len).sum());
    let room = shared.inbox.room().datagrams;
    let arrived = datagrams.len();
    let fitting = datagrams.into_iter().filter(|bytes| bytes.len() <= DATAGRAM_BYTES_MAX).take(room);
    let mut fitting: Vec<Incoming> = fitting
        // Copied: what comes from quinn keeps the whole packet alive, and with offload many packets.
        .map(|bytes| Bytes::copy_from_slice(&bytes))
        .map(|bytes| Incoming::Datagram { from: link.peer, received_at, bytes })
        .collect();
    shared.counters.datagrams_dropped.add(arrived - fitting.len());
    shared.inbox.deliver(&mut fitting, false);
}

async fn read_stream(shared: Arc<Shared>, link: Arc<Link>, mut stream: RecvStream) {
    let mut lead = [0];
    let first = timeout(shared.limits.half_frame, stream.read_exact(&mut lead)).await;
    match (first, lead[0]) {
        (Ok(Ok(())), LEAD_FRAMES) => read_frames(&shared, &link, stream).await,
        (Ok(Ok(())), LEAD_DATAGRAM) => {
            let whole = timeout(shared.limits.half_frame, stream.read_to_end(DATAGRAM_BYTES_MAX)).await;
            match whole {
                Ok(Ok(bytes)) => deliver_datagrams(&shared, &link, vec![bytes.into()]),
                _ => shared.counters.datagrams_dropped.add(1),
            }
        }
        (Ok(Ok(())), _) => cut(&shared, &link),
        // Given up before it said what it was for.
        _ => {}
    }
}

/// The peer sent what no peer sends.
fn cut(shared: &Shared, link: &Link) {
    shared.counters.frames_dropped.add(1);
    shared.counters.connections_cut.add(1);
    link.connection.close(CloseCode::Cut.code(), b"malformed");
}

/// Reads frames until the stream ends; a part of one is never delivered.
//= docs/protocol.md#wr-1
async fn read_frames(shared: &Shared, link: &Link, mut stream: RecvStream) {
    let mut reader = Assembler::new(FRAME_BYTES_MAX);
    let mut begun_at: Option<Timestamp> = None;
    loop {
        loop {
            match reader.next_frame() {
                Ok(Some(bytes)) => {
                    begun_at = None;
                    link.prove(shared);
                    shared.counters.frames_received.add(1);
                    let (from, reply) = (link.peer, ReplyHandle(link.serial));
                    shared.room_for_frame().await;
                    let received_at = clock::now();
                    let frame = Incoming::Frame { from, reply, received_at, bytes };
                    shared.inbox.deliver(&mut vec![frame], false);
                }
                Ok(None) => break,
                Err(_) => return cut(shared, link),
            }
        }
        let waits_for = match reader.is_empty() {
            true => Duration::MAX,
            false => {
                let begun = *begun_at.get_or_insert_with(clock::now);
                (begun + shared.limits.half_frame).since(clock::now())
            }
        };
        let chunk = match timeout(waits_for, stream.read_chunk(READ_BYTES, true)).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None) | Err(ReadError::Reset(_) | ReadError::ConnectionLost(_))) => {
                if !reader.is_empty() {
                    shared.counters.frames_dropped.add(1);
                }
                return;
            }
            _ => return cut(shared, link),
        };
        reader.extend(&chunk.bytes);
    }
}

/// Writes frames until the connection is over. The frame that was begun then is lost.
pub(crate) async fn write(shared: Arc<Shared>, link: Arc<Link>) {
    let mut stream = None;
    loop {
        let frame = tokio::select! {
            frame = link.outbox.next() => frame,
            _ = link.connection.closed() => return,
        };
        let time_left = frame.deadline.since(clock::now());
        let written = timeout(time_left, write_frame(&link, &mut stream, &frame)).await;
        match written {
            Ok(Ok(())) => {
                shared.counters.frames_sent.add(1);
                frame.settle(Ok(()));
            }
            Ok(Err(_)) if link.connection.close_reason().is_none() => {
                // The other side wants no more of this stream.
                stream = None;
                frame.settle(Err(SendFailure::Broken));
            }
            Ok(Err(_)) => return frame.settle(Err(SendFailure::Broken)),
            Err(_) => {
                // Half a frame can't be taken back, but its stream can.
                if let Some(mut begun) = stream.take() {
                    shared.counters.connections_cut.add(1);
                    let _ = begun.reset(VarInt::from_u32(0));
                }
                frame.settle(Err(SendFailure::TimedOut));
            }
        }
    }
}

async fn write_frame(link: &Link, stream: &mut Option<SendStream>, frame: &Queued) -> Result<(), WriteError> {
    if stream.is_none() {
        let mut fresh = link.connection.open_uni().await?;
        // Behind what is urgent: datagrams do not wait for it in any case.
        fresh.write_all(&[LEAD_FRAMES]).await?;
        *stream = Some(fresh);
    }
    let Some(stream) = stream else { return Ok(()) };
    stream.write_all(&frame.head).await?;
    stream.write_chunk(frame.bytes.clone()).await
}

/// Sends a datagram that is too large for a packet over a stream of its own.
pub(crate) async fn write_datagram(link: Arc<Link>, bytes: Bytes) {
    let written = async {
        let mut stream = link.connection.open_uni().await?;
        stream.write_all(&[LEAD_DATAGRAM]).await?;
        stream.write_chunk(bytes).await?;
        Ok::<_, WriteError>(stream.finish())
    };
    if let Err(error) = written.await {
        tracing::trace!(%error, "a large datagram was lost");
    }
}
