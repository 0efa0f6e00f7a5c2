//! Watch connections and unreachable datagrams: what tells of another process's death, and what does not.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod support;

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use gms_conformance::victim::{self, Victim};
use gms_core::input::WatchEnd;
use gms_core::transport::{Incoming, Transport};
use support::*;
use tokio::io::AsyncWriteExt;

/// What the process to be killed runs: a transport that says where it is, and waits.
#[tokio::test]
async fn the_victim_of_another_test() {
    if victim::word().is_some() {
        victim::serve(&open().await).await;
    }
}

/// Polls the watch until the other side has taken it: until then an end tells of nothing.
async fn held(watch: &mut (impl Future<Output = WatchEnd> + Unpin), transport: &impl Transport) {
    let before = transport.stats().connections_accepted;
    in_time(async {
        while transport.stats().connections_accepted == before {
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
async fn a_killed_process_breaks_the_watch() {
    let victim = Victim::start("the_victim_of_another_test", "serve");
    let watcher = open().await;
    let mut watch = Box::pin(watcher.watch(victim.addr));
    // An answer to a later connection shows that the watch was taken.
    let early = tokio::time::timeout(SHORT, &mut watch).await;
    assert!(early.is_err(), "{early:?} while the process lives");
    let addr = victim.kill();
    assert_eq!(in_time(watch).await, WatchEnd::Broken);
    assert_eq!(in_time(watcher.watch(addr)).await, WatchEnd::Refused);
}

//= docs/protocol.md#fd-30
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_datagram_to_a_killed_process_is_reported_as_unreachable() {
    let victim = Victim::start("the_victim_of_another_test", "serve");
    let dead = victim.kill();
    let transport = open().await;
    transport.send(&mut vec![datagram(dead, "heartbeat")]).await.unwrap();
    assert_eq!(receive_one(&transport).await, Incoming::Unreachable { to: dead });
    works(&transport).await;
}

//= docs/protocol.md#fd-29
#[tokio::test]
async fn a_transport_that_is_closed_in_order_says_goodbye() {
    let (watcher, watched) = (open().await, open().await);
    let mut watch = Box::pin(watcher.watch(addr(&watched)));
    held(&mut watch, &watched).await;
    // What comes after it on the same listener is served after it.
    works(&watched).await;
    in_time(watched.close()).await;
    assert_eq!(in_time(watch).await, WatchEnd::Goodbye);
}

#[tokio::test]
async fn a_watch_of_nobody_is_refused() {
    let (watcher, nobody) = (open().await, nobody().await);
    assert_eq!(in_time(watcher.watch(nobody)).await, WatchEnd::Refused);
}

#[tokio::test]
async fn a_watch_that_is_not_taken_in_time_fails_and_breaks_nothing() {
    let watcher = open_with(|limits| limits.connect = SHORT).await;
    // Whoever listens and never accepts, with a queue that is full: the kernel takes no more.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let full = listener.local_addr().unwrap().as_socket().unwrap();
    let mut queued = Vec::new();
    while let Ok(Ok(stream)) = tokio::time::timeout(SHORT, tokio::net::TcpStream::connect(full)).await {
        queued.push(stream);
    }
    let end = in_time(watcher.watch(full)).await;
    assert_eq!(end, WatchEnd::Failed);
}

#[tokio::test]
async fn closing_resetting_and_babble_break_a_watch_and_only_the_goodbye_is_one() {
    for (said, expected) in [
        (&b""[..], WatchEnd::Broken),
        (&b"x"[..], WatchEnd::Broken),
        (&b"G"[..], WatchEnd::Goodbye),
        (&b"Gx"[..], WatchEnd::Goodbye),
    ] {
        let watcher = open().await;
        let (listener, raw_addr) = raw_listener().await;
        let serve = async {
            let mut stream = accept(&listener).await;
            assert_eq!(read_exact(&mut stream, 1).await, b"W");
            stream.write_all(said).await.unwrap();
        };
        let (end, ()) = in_time(async { tokio::join!(watcher.watch(raw_addr), serve) }).await;
        assert_eq!(end, expected, "{said:?}");
    }
}

#[tokio::test]
async fn a_dropped_watch_is_closed() {
    let watcher = open().await;
    let (listener, raw_addr) = raw_listener().await;
    let mut watch = Box::pin(watcher.watch(raw_addr));
    let mut stream = tokio::select! {
        stream = accept(&listener) => stream,
        end = &mut watch => panic!("{end:?}"),
    };
    drop(watch);
    assert!(b"W".starts_with(&read_to_end(&mut stream).await));
}

#[tokio::test]
async fn a_held_watch_outlives_every_limit_of_idle_connections() {
    let quick = |limits: &mut gms_udp::Limits| {
        (limits.first_words, limits.idle, limits.half_frame, limits.connect) = (SHORT, SHORT, SHORT, SHORT);
    };
    let (watcher, watched) = (open_with(quick).await, open_with(quick).await);
    let mut watch = Box::pin(watcher.watch(addr(&watched)));
    held(&mut watch, &watched).await;
    let end = tokio::time::timeout(SHORT * 5, &mut watch).await;
    assert!(end.is_err(), "{end:?}");
    in_time(watched.close()).await;
    assert_eq!(in_time(watch).await, WatchEnd::Goodbye);
}

#[tokio::test]
async fn watches_make_room_for_those_who_have_something_to_say() {
    let watched = open_with(|limits| limits.incoming_per_source = 2).await;
    let watcher = open().await;
    let mut watch = Box::pin(watcher.watch(addr(&watched)));
    held(&mut watch, &watched).await;
    let others = [open().await, open().await];
    for other in &others {
        in_time(other.send_frame(to(&watched), "frame".into(), LONG)).await.unwrap();
        until(&watched, |i| matches!(i, Incoming::Frame { .. })).await;
    }
    assert_eq!(in_time(watch).await, WatchEnd::Broken);
}

#[tokio::test]
async fn whoever_watches_and_talks_is_cut_off() {
    let watched = open().await;
    let mut stream = tokio::net::TcpStream::connect(addr(&watched)).await.unwrap();
    stream.write_all(b"Wx").await.unwrap();
    assert!(read_to_end(&mut stream).await.is_empty());
    works(&watched).await;
}

#[tokio::test]
async fn a_listener_of_another_kind_breaks_the_watch_or_holds_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let watcher = open().await;
    let mut watch = Box::pin(watcher.watch(listener.local_addr().unwrap()));
    let end = tokio::time::timeout(SHORT, &mut watch).await;
    assert!(end.is_err(), "the kernel accepts for whoever listens: {end:?}");
    drop(listener);
    assert_eq!(in_time(watch).await, WatchEnd::Broken);
}
