//! Watches and the signs that a process died, and that a closing one says goodbye.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use std::time::Duration;

use gms_conformance::victim::{self, Victim};
use gms_core::input::WatchEnd;
use gms_core::transport::{Incoming, Transport};
use gms_quic::QuicTransport;
use support::*;

async fn open_tcp(at: &str) -> QuicTransport {
    QuicTransport::builder(CLUSTER).tcp_watch(true).bind(at).await.unwrap()
}

/// What the process to be killed runs: a transport that says where it is, and waits.
#[tokio::test]
async fn the_victim_of_another_test() {
    if let Some(at) = victim::word() {
        victim::serve(&open_tcp(&at).await).await;
    }
}

/// Polls the watch while the other side is waited for.
async fn held(watch: &mut (impl Future<Output = WatchEnd> + Unpin), transport: &impl Transport) {
    in_time(async {
        while transport.stats().connections_accepted == 0 {
            tokio::select! {
                end = &mut *watch => panic!("{end:?} before anything happened"),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
    })
    .await;
}

//= docs/protocol.md#fd-29
#[tokio::test]
async fn a_transport_that_is_closed_in_order_says_goodbye() {
    let (watcher, watched) = (open().await, open().await);
    let mut watch = Box::pin(watcher.watch(addr(&watched)));
    held(&mut watch, &watched).await;
    works_with(&watcher, &watched).await;
    in_time(watched.close()).await;
    assert_eq!(in_time(watch).await, WatchEnd::Goodbye);
    assert_eq!(in_time(watcher.watch(addr(&watched))).await, WatchEnd::Refused);
}

//= docs/protocol.md#fd-29
#[tokio::test]
async fn so_it_does_over_tcp_where_both_sides_have_that() {
    let (watcher, watched) = (open_tcp("127.0.0.1:0").await, open_tcp("127.0.0.1:0").await);
    let mut watch = Box::pin(watcher.watch(addr(&watched)));
    held(&mut watch, &watched).await;
    works_with(&watcher, &watched).await;
    in_time(watched.close()).await;
    assert_eq!(in_time(watch).await, WatchEnd::Goodbye);
}

//= docs/protocol.md#fd-29
#[tokio::test]
async fn a_killed_process_breaks_a_watch_over_tcp_without_a_packet_of_ours() {
    let victim = Victim::start("the_victim_of_another_test", "127.0.0.1:0");
    let watcher = open_tcp("127.0.0.1:0").await;
    let mut watch = Box::pin(watcher.watch(victim.addr));
    let early = tokio::time::timeout(SHORT, &mut watch).await;
    assert!(early.is_err(), "{early:?} while the process lives");
    let dead = victim.kill();
    assert_eq!(in_time(watch).await, WatchEnd::Broken);
    assert_eq!(in_time(watcher.watch(dead)).await, WatchEnd::Refused);
}

//= docs/protocol.md#fd-30
#[tokio::test]
async fn a_datagram_on_a_connection_to_a_killed_process_is_reported_as_unreachable() {
    let victim = Victim::start("the_victim_of_another_test", "127.0.0.1:0");
    let transport = open().await;
    let connected = gms_core::output::Destination::Address(victim.addr);
    in_time(transport.send_frame(connected, "hello".into(), LONG)).await.unwrap();
    let dead = victim.kill();
    transport.send(&mut vec![datagram(dead, "heartbeat")]).await.unwrap();
    until(&transport, |i| *i == Incoming::Unreachable { to: dead }).await;
    works(&transport).await;
}

#[tokio::test]
async fn a_dead_neighbour_costs_the_others_no_datagram() {
    let victim = Victim::start("the_victim_of_another_test", "127.0.0.1:0");
    let (one, two) = (open().await, open().await);
    let connected = gms_core::output::Destination::Address(victim.addr);
    in_time(one.send_frame(connected, "hello".into(), LONG)).await.unwrap();
    works_with(&one, &two).await;
    let dead = victim.kill();
    for i in 0..50_u8 {
        one.send(&mut vec![datagram(dead, "lost"), datagram(addr(&two), vec![i])]).await.unwrap();
        assert_eq!(bytes(&receive_one(&two).await)[..], [i]);
    }
}

/// By a stateless reset: the process at the same address has the keys of the one before.
//= docs/protocol.md#fd-29
#[tokio::test]
async fn a_process_started_again_at_the_same_address_ends_the_old_connections_at_once() {
    let victim = Victim::start("the_victim_of_another_test", "127.0.0.1:0");
    let watcher = open().await;
    let mut watch = Box::pin(watcher.watch(victim.addr));
    let early = tokio::time::timeout(SHORT, &mut watch).await;
    assert!(early.is_err(), "{early:?} while the process lives");
    let at = victim.kill();
    let again = QuicTransport::bind(CLUSTER, &at.to_string()).await.unwrap();
    watcher.send(&mut vec![datagram(at, "heartbeat")]).await.unwrap();
    assert_eq!(in_time(watch).await, WatchEnd::Broken);
    works_with(&watcher, &again).await;
}

//= docs/protocol.md#fd-29
#[tokio::test]
async fn a_watch_goes_on_when_two_connections_become_one() {
    let (one, two) = (open().await, open().await);
    let mut watch = Box::pin(one.watch(addr(&two)));
    let mut back = Box::pin(two.watch(addr(&one)));
    let later = tokio::time::timeout(SHORT * 10, async {
        tokio::select! {
            end = &mut watch => panic!("{end:?}"),
            end = &mut back => panic!("{end:?}"),
        }
    });
    assert!(later.await.is_err());
    works_with(&one, &two).await;
}
