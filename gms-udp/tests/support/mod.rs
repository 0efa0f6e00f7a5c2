//! What the tests of the transport share: generous deadlines, raw peers, and waiting for arrivals.
// Each test binary uses a part, and clippy knows this file for no test.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses a part of this")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::net::SocketAddr;
use std::time::Duration;

pub use gms_conformance::tools::{LONG, addr, bytes, datagram, in_time, receive, receive_one, to, until};
use gms_core::transport::{Incoming, Transport};
use gms_udp::{Limits, UdpTransport};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// Time that a test wants to see pass.
pub const SHORT: Duration = Duration::from_millis(100);

pub async fn open() -> UdpTransport {
    UdpTransport::bind("127.0.0.1:0").await.unwrap()
}

pub async fn open_with(change: impl FnOnce(&mut Limits)) -> UdpTransport {
    let mut limits = Limits::default();
    change(&mut limits);
    UdpTransport::builder().limits(limits).bind("127.0.0.1:0").await.unwrap()
}

pub fn framed(frame: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(frame.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(frame);
    bytes
}

/// A listener that the test serves by hand.
pub async fn raw_listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    (listener, addr)
}

pub async fn accept(listener: &TcpListener) -> TcpStream {
    in_time(listener.accept()).await.unwrap().0
}

/// Waits until the other side has closed; what it sent before is returned. A reset counts as closed.
pub async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = in_time(stream.read_to_end(&mut bytes)).await;
    bytes
}

pub async fn read_exact(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    in_time(stream.read_exact(&mut bytes)).await.unwrap();
    bytes
}

/// An address where nobody listens.
pub async fn nobody() -> SocketAddr {
    let transport = open().await;
    let addr = addr(&transport);
    in_time(transport.close()).await;
    addr
}

/// Shows that a transport still does everything: datagrams, frames, checks.
pub async fn works(transport: &impl Transport) {
    let other = open().await;
    other.send(&mut vec![datagram(transport.endpoint().addr, "d")]).await.unwrap();
    until(transport, |i| matches!(i, Incoming::Datagram { from, .. } if *from == addr(&other))).await;
    in_time(other.send_frame(to(transport), "f".into(), LONG)).await.unwrap();
    until(transport, |i| matches!(i, Incoming::Frame { bytes, .. } if *bytes == "f")).await;
    let answered = async {
        let asked = until(transport, |i| matches!(i, Incoming::Check { bytes, .. } if *bytes == "c")).await;
        let Incoming::Check { handle, .. } = asked else { unreachable!() };
        transport.answer_check(handle, "a".into()).await;
    };
    let (reply, ()) = in_time(async {
        tokio::join!(other.probe(transport.endpoint().check_addr, "c".into(), LONG), answered)
    })
    .await;
    assert_eq!(reply, gms_core::transport::ProbeReply::Answer("a".into()));
}
