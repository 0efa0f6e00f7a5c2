//! Linux: what the network says of datagrams that found nobody, from the shared socket's error queue.

use std::io;
use std::sync::Arc;

use gms_core::member::canonical;
use gms_net::error_queue::ErrorReader;
use tokio::io::Interest;
use tokio::net::UdpSocket;

use crate::shared::Shared;

/// Errors read before other tasks get their turn: a whole view of 128 that is gone takes two.
const ERRORS_PER_TURN: usize = 64;

/// Reads the queue for as long as the transport is open.
//= docs/protocol.md#fd-30
pub(crate) async fn read(shared: Arc<Shared>, io: Arc<UdpSocket>) {
    let is_v6 = io.local_addr().is_ok_and(|addr| addr.is_ipv6());
    let mut reader = ErrorReader::new(&*io, is_v6);
    while io.ready(Interest::ERROR).await.is_ok() {
        for _ in 0..ERRORS_PER_TURN {
            match io.try_io(Interest::ERROR, || reader.read(&*io)) {
                Ok(Some(to)) => shared.unreachable(canonical(to)),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        tokio::task::yield_now().await;
    }
}
