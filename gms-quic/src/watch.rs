//! Watching another member: by the connection that carries everything else, or by one over TCP that carries nothing.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gms_core::input::{SendFailure, WatchEnd};
use gms_core::member::canonical;
use gms_net::fault::Fault;
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::shared::Shared;

/// First byte of a connection that is only held, so that its end tells of the other process's death.
const LEAD_WATCH: u8 = b'W';
/// What an orderly close says on it.
const GOODBYE: u8 = b'G';

/// Watches over TCP that are held for others at once. Beyond, they watch over QUIC.
const WATCHED_MAX: usize = 256;
/// Connections that the kernel may accept ahead.
const BACKLOG: i32 = 64;
/// How long a watch of this process may be silent before its kernel asks whether the other host is there.
const ASKED_AFTER: Duration = Duration::from_secs(60);
/// Rest after accepting failed: long enough not to spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Holds a connection to `to` until it ends.
//= docs/protocol.md#fd-29
pub(crate) async fn watch(shared: Arc<Shared>, to: SocketAddr) -> WatchEnd {
    if shared.tcp_watch
        && let Some(end) = watch_tcp(&shared, to).await
    {
        return end;
    }
    loop {
        let link = match shared.link_to(to).await {
            Ok(link) => link,
            Err(SendFailure::Refused) => return WatchEnd::Refused,
            Err(_) => return WatchEnd::Failed,
        };
        if let Some(end) = link.ended().await.watch_end() {
            return end;
        }
        if shared.life.is_closing() {
            return WatchEnd::Failed;
        }
        // The next connection has taken its place, or is about to.
        tokio::task::yield_now().await;
    }
}

/// The same over TCP; nothing where the other side does not take such connections.
async fn watch_tcp(shared: &Shared, to: SocketAddr) -> Option<WatchEnd> {
    let connected = timeout(shared.limits.connect, TcpStream::connect(to)).await.ok()?;
    let mut stream = connected.ok()?;
    stream.write_all(&[LEAD_WATCH]).await.ok()?;
    let mut said = [0];
    match stream.read(&mut said).await {
        Ok(1) if said[0] == GOODBYE => Some(WatchEnd::Goodbye),
        Ok(_) => Some(WatchEnd::Broken),
        Err(error) if Fault::of(&error) == Fault::Local => Some(WatchEnd::Failed),
        Err(_) => Some(WatchEnd::Broken),
    }
}

/// Opens the listener for watches of others.
pub(crate) fn listen(addr: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    gms_net::socket::prepare(&socket, addr)?;
    #[cfg(not(windows))]
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Takes in watches of others, and holds them.
//= docs/protocol.md#wr-4
pub(crate) async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    let held = Arc::new(tokio::sync::Semaphore::new(WATCHED_MAX));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        shared.counters.connections_accepted.add(1);
        let Ok(permit) = Arc::clone(&held).try_acquire_owned() else {
            shared.counters.connections_cut.add(1);
            continue;
        };
        let keepalive = TcpKeepalive::new().with_time(ASKED_AFTER);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            if hold(&shared, stream).await.is_none() {
                tracing::debug!(peer = %canonical(peer), "a watch was cut");
                shared.counters.connections_cut.add(1);
            }
            drop(permit);
        });
    }
}

/// Holds one until the other side goes; nothing where it says what no watcher says.
async fn hold(shared: &Shared, mut stream: TcpStream) -> Option<()> {
    let mut said = [0];
    let first = timeout(shared.limits.first_words, stream.read_exact(&mut said)).await;
    if !matches!(first, Ok(Ok(_))) || said[0] != LEAD_WATCH {
        return None;
    }
    // Registered first, so that a goodbye in between is not missed.
    let goodbye = shared.life.goodbye();
    tokio::select! {
        more = stream.read(&mut said) => match more {
            Ok(0) | Err(_) => Some(()),
            Ok(_) => None,
        },
        () = goodbye => {
            // Where it does not get through the other side takes a second look.
            let _ = stream.write_all(&[GOODBYE]).await;
            Some(())
        }
    }
}
