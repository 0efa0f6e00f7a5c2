//! What the cases share, and a transport's own tests may use: generous deadlines, and waiting for arrivals.
//!
//! All of these fail the test, by a panic, where what they wait for does not come.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use gms_core::output::Destination;
use gms_core::transport::{Incoming, Outgoing, ProbeReply, Transport};

use crate::Kind;

/// Longer than anything takes; only a failing case waits for it.
pub const LONG: Duration = Duration::from_secs(30);
/// Time that a case wants to see pass.
pub const SHORT: Duration = Duration::from_millis(300);

/// Runs `future`, fails the case if it does not end.
pub async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("must end in time")
}

/// Receives until `count` items are there.
pub async fn receive(transport: &impl Transport, count: usize) -> Vec<Incoming> {
    let mut arrived = Vec::new();
    in_time(async {
        while arrived.len() < count {
            transport.receive(&mut arrived).await.unwrap();
        }
    })
    .await;
    assert_eq!(arrived.len(), count, "{arrived:?}");
    arrived
}

/// Receives one item, and no more.
pub async fn receive_one(transport: &impl Transport) -> Incoming {
    receive(transport, 1).await.remove(0)
}

/// Receives and throws away until something fits.
pub async fn until(transport: &impl Transport, fits: impl Fn(&Incoming) -> bool) -> Incoming {
    in_time(async {
        loop {
            let mut arrived = Vec::new();
            transport.receive(&mut arrived).await.unwrap();
            if let Some(found) = arrived.into_iter().find(&fits) {
                return found;
            }
        }
    })
    .await
}

/// A datagram of these bytes.
pub fn datagram(to: SocketAddr, bytes: impl Into<Bytes>) -> Outgoing {
    Outgoing { to, bytes: bytes.into() }
}

/// Where datagrams to it go.
pub fn addr(transport: &impl Transport) -> SocketAddr {
    transport.endpoint().addr
}

/// Where frames and checks to it go.
pub fn check_addr(transport: &impl Transport) -> SocketAddr {
    transport.endpoint().check_addr
}

/// The destination of frames to it.
pub fn to(transport: &impl Transport) -> Destination {
    Destination::Address(check_addr(transport))
}

/// The bytes of whatever arrived.
pub fn bytes(incoming: &Incoming) -> &Bytes {
    match incoming {
        Incoming::Unreachable { to } => panic!("no bytes came, {to} is unreachable"),
        Incoming::Datagram { bytes, .. } | Incoming::Frame { bytes, .. } | Incoming::Check { bytes, .. } => {
            bytes
        }
    }
}

/// Whether it is a datagram of these bytes.
pub(crate) fn is_datagram(incoming: &Incoming, expected: &[u8]) -> bool {
    matches!(incoming, Incoming::Datagram { bytes, .. } if bytes == expected)
}

/// An address where nobody is any more.
pub(crate) async fn nobody(kind: &impl Kind) -> SocketAddr {
    closed(kind.open().await).await
}

/// The same at this IP address.
pub(crate) async fn nobody_at(kind: &impl Kind, ip: IpAddr) -> SocketAddr {
    closed(kind.open_at(Some(SocketAddr::new(ip, 0))).await).await
}

async fn closed(transport: impl Transport) -> SocketAddr {
    let at = check_addr(&transport);
    in_time(transport.close()).await;
    at
}

/// Asks `two`, which answers with `answer`.
pub(crate) async fn ask(one: &impl Transport, two: &impl Transport, answer: &'static str) -> ProbeReply {
    ask_at(one, check_addr(two), two, answer).await
}

/// The same, by an address under which `two` is known.
pub(crate) async fn ask_at(
    one: &impl Transport,
    at: SocketAddr,
    two: &impl Transport,
    answer: &'static str,
) -> ProbeReply {
    let answering = async {
        let asked = until(two, |i| matches!(i, Incoming::Check { bytes, .. } if bytes == "who?")).await;
        let Incoming::Check { handle, .. } = asked else { unreachable!() };
        two.answer_check(handle, answer.into()).await;
    };
    let probe = one.probe(at, "who?".into(), LONG);
    in_time(async {
        let (reply, ()) = tokio::join!(probe, answering);
        reply
    })
    .await
}

/// Shows that `two` still does everything, with `one`.
pub(crate) async fn works(one: &impl Transport, two: &impl Transport) {
    in_time(one.send_frame(to(two), "works".into(), LONG)).await.unwrap();
    until(two, |i| matches!(i, Incoming::Frame { bytes, .. } if bytes == "works")).await;
    one.send(&mut vec![datagram(addr(two), "works")]).await.unwrap();
    until(two, |i| is_datagram(i, b"works")).await;
    assert_eq!(ask(one, two, "works").await, ProbeReply::Answer("works".into()));
}
