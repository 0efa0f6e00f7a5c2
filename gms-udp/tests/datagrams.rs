//! Datagrams: both ways, in batches, over both families, bounded.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use gms_core::message::DATAGRAM_BYTES_MAX;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Transport};
use gms_udp::UdpTransport;
use support::*;

async fn exchange(one: &impl Transport, two: &impl Transport, one_addr: SocketAddr, two_addr: SocketAddr) {
    let before = clock::now();
    one.send(&mut vec![datagram(two_addr, "ping")]).await.unwrap();
    let Incoming::Datagram { from, received_at, bytes } = receive_one(two).await else { panic!() };
    assert_eq!((from, &bytes[..]), (one_addr, &b"ping"[..]));
    assert!(before <= received_at && received_at <= clock::now());
    two.send(&mut vec![datagram(from, "pong")]).await.unwrap();
    let Incoming::Datagram { from, bytes, .. } = receive_one(one).await else { panic!() };
    assert_eq!((from, &bytes[..]), (two_addr, &b"pong"[..]));
}

//= docs/protocol.md#fd-1
#[tokio::test]
async fn a_datagram_arrives_with_its_source_and_the_time_it_was_read() {
    let (one, two) = (open().await, open().await);
    exchange(&one, &two, addr(&one), addr(&two)).await;
    let stats = one.stats();
    assert_eq!((stats.datagrams_sent, stats.datagram_bytes_sent), (1, 4));
    assert_eq!((stats.datagrams_received, stats.datagram_bytes_received), (1, 4));
}

#[tokio::test]
async fn datagrams_travel_over_ipv6() {
    let one = UdpTransport::bind("[::1]:0").await.unwrap();
    let two = UdpTransport::bind("[::1]:0").await.unwrap();
    exchange(&one, &two, addr(&one), addr(&two)).await;
}

//= docs/protocol.md#wr-5
#[tokio::test]
async fn a_dual_stack_transport_speaks_with_both_families_and_shows_ipv4_as_ipv4() {
    let dual = UdpTransport::bind("[::]:0").await.unwrap();
    let v4 = open().await;
    let v6 = UdpTransport::bind("[::1]:0").await.unwrap();
    let port = addr(&dual).port();
    exchange(&dual, &v4, SocketAddr::new([127, 0, 0, 1].into(), port), addr(&v4)).await;
    let loopback: std::net::IpAddr = "::1".parse().unwrap();
    exchange(&dual, &v6, SocketAddr::new(loopback, port), addr(&v6)).await;
    in_time(v4.send_frame(
        gms_core::output::Destination::Address(([127, 0, 0, 1], port).into()),
        "frame".into(),
        LONG,
    ))
    .await
    .unwrap();
    let Incoming::Frame { from, .. } = receive_one(&dual).await else { panic!() };
    assert_eq!(from.ip(), addr(&v4).ip());
}

#[tokio::test]
async fn a_batch_arrives_whole_and_in_order() {
    let (one, two) = (open().await, open().await);
    let mut batch: Vec<_> = (0..500_u32).map(|i| datagram(addr(&two), i.to_be_bytes().to_vec())).collect();
    one.send(&mut batch).await.unwrap();
    assert!(batch.is_empty());
    let numbers: Vec<u32> = receive(&two, 500)
        .await
        .iter()
        .map(|i| u32::from_be_bytes(bytes(i)[..].try_into().unwrap()))
        .collect();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
}

//= docs/protocol.md#wr-1
#[tokio::test]
async fn what_is_longer_than_a_datagram_may_be_is_neither_sent_nor_delivered() {
    let transport = open().await;
    let raw = UdpSocket::bind("127.0.0.1:0").unwrap();
    let largest = vec![7; DATAGRAM_BYTES_MAX];
    let too_large = vec![7; DATAGRAM_BYTES_MAX + 1];
    raw.send_to(&too_large, addr(&transport)).unwrap();
    raw.send_to(&largest, addr(&transport)).unwrap();
    assert_eq!(bytes(&receive_one(&transport).await).len(), DATAGRAM_BYTES_MAX);
    assert_eq!(transport.stats().datagrams_dropped, 1);

    let raw_addr = raw.local_addr().unwrap();
    transport.send(&mut vec![datagram(raw_addr, too_large), datagram(raw_addr, largest)]).await.unwrap();
    let mut buffer = [0; 2000];
    raw.set_read_timeout(Some(LONG)).unwrap();
    assert_eq!(raw.recv(&mut buffer).unwrap(), DATAGRAM_BYTES_MAX);
    assert_eq!((transport.stats().datagrams_sent, transport.stats().datagrams_unsent), (1, 1));
}

//= docs/protocol.md#fd-6
#[tokio::test]
async fn what_the_kernel_does_not_take_is_counted_and_does_not_stop_the_rest() {
    let (one, two) = (open().await, open().await);
    let v6: SocketAddr = "[::1]:9".parse().unwrap();
    one.send(&mut vec![datagram(v6, "lost"), datagram(addr(&two), "sent")]).await.unwrap();
    assert_eq!(bytes(&receive_one(&two).await), "sent");
    assert_eq!((one.stats().datagrams_sent, one.stats().datagrams_unsent), (1, 1));
}

#[tokio::test]
async fn a_datagram_to_a_closed_port_harms_nothing() {
    let (one, two, nobody) = (open().await, open().await, nobody().await);
    for _ in 0..10 {
        one.send(&mut vec![datagram(nobody, "lost"), datagram(addr(&two), "sent")]).await.unwrap();
        assert_eq!(bytes(&receive_one(&two).await), "sent");
    }
    two.send(&mut vec![datagram(addr(&one), "pong")]).await.unwrap();
    // Beside the news of those that found nobody, where the system tells.
    until(&one, |i| matches!(i, Incoming::Datagram { bytes, .. } if bytes == "pong")).await;
}

#[tokio::test]
async fn when_the_reader_is_behind_the_newest_datagrams_are_dropped_and_counted() {
    let one = open().await;
    let two = open_with(|limits| limits.inbox_datagrams = 10).await;
    let mut batch: Vec<_> = (0..50_u8).map(|i| datagram(addr(&two), vec![i])).collect();
    one.send(&mut batch).await.unwrap();
    // A check is read after the datagrams that arrived before it.
    let probe = one.probe(addr(&two), "all read?".into(), LONG);
    let asked = async {
        while two.stats().datagrams_received < 50 {
            tokio::task::yield_now().await;
        }
        let mut arrived = Vec::new();
        while !arrived.iter().any(|i| matches!(i, Incoming::Check { .. })) {
            two.receive(&mut arrived).await.unwrap();
        }
        let Some(Incoming::Check { handle, .. }) = arrived.pop() else { panic!("{arrived:?}") };
        two.answer_check(handle, "yes".into()).await;
        arrived
    };
    let (_, arrived) = in_time(async { tokio::join!(probe, asked) }).await;
    let numbers: Vec<u8> = arrived.iter().map(|i| bytes(i)[0]).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    assert_eq!(two.stats().datagrams_dropped, 40);
}

#[tokio::test]
async fn giving_up_on_receiving_loses_nothing() {
    let (one, two) = (open().await, open().await);
    let mut arrived = Vec::new();
    for i in 0..20_u8 {
        let early = tokio::time::timeout(Duration::ZERO, two.receive(&mut arrived)).await;
        assert!(early.is_err() || !arrived.is_empty());
        one.send(&mut vec![datagram(addr(&two), vec![i])]).await.unwrap();
    }
    while arrived.len() < 20 {
        in_time(two.receive(&mut arrived)).await.unwrap();
    }
    let numbers: Vec<u8> = arrived.iter().map(|i| bytes(i)[0]).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
}
