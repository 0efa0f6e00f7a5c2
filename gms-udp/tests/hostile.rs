//! What strangers can do: change counters.

mod support;

use std::net::UdpSocket;

use gms_core::transport::Transport;
use support::*;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

//= docs/protocol.md#wr-4
#[tokio::test]
async fn two_thousand_connections_that_say_nothing_leave_room_for_one_that_does() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
    }
    const PER_SOURCE: u64 = 100;
    let transport = open_with(|limits| limits.incoming_per_source = PER_SOURCE as usize).await;
    let mut talker = TcpStream::connect(addr(&transport)).await.unwrap();
    talker.write_all(b"F").await.unwrap();
    talker.write_all(&framed(b"before")).await.unwrap();
    assert_eq!(bytes(&receive_one(&transport).await), "before");
    let mut silent = Vec::new();
    for _ in 0..2000 {
        silent.push(in_time(TcpStream::connect(addr(&transport))).await.unwrap());
    }
    works(&transport).await;
    let stats = transport.stats();
    assert!(stats.connections_accepted >= 2000, "{stats:?}");
    let left = stats.connections_accepted - stats.connections_cut;
    assert!(left <= PER_SOURCE + 2, "{left} connections are open");
    // One that had carried a frame was not pushed out.
    talker.write_all(&framed(b"after")).await.unwrap();
    until(&transport, |i| bytes(i) == "after").await;
    // The first in is the first out.
    assert_eq!(read_to_end(&mut silent[0]).await, b"");
}

//= docs/protocol.md#wr-4
#[tokio::test]
async fn a_connection_that_says_nothing_is_closed_in_its_time() {
    let transport = open_with(|limits| limits.first_words = SHORT).await;
    for words in [&b""[..], b"C", b"C\0\0\0\x09part"] {
        let mut raw = TcpStream::connect(addr(&transport)).await.unwrap();
        raw.write_all(words).await.unwrap();
        assert_eq!(read_to_end(&mut raw).await, b"");
    }
    assert_eq!(transport.stats().connections_cut, 3);
}

#[tokio::test]
async fn a_connection_of_no_known_kind_is_cut_at_its_first_byte() {
    let transport = open().await;
    for first in [b'w', b'G', 0, 0xff, 0x16] {
        let mut raw = TcpStream::connect(addr(&transport)).await.unwrap();
        raw.write_all(&[first]).await.unwrap();
        assert_eq!(read_to_end(&mut raw).await, b"");
    }
    let stats = transport.stats();
    assert_eq!((stats.connections_cut, stats.frames_dropped, stats.frames_received), (5, 5, 0));
}

#[tokio::test]
async fn random_bytes_change_counters_only() {
    const SEED: u64 = 7;
    let mut chance = fastrand::Rng::with_seed(SEED);
    let transport = open().await;
    let raw = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut connections = Vec::new();
    for i in 0..300 {
        let datagram: Vec<u8> = (0..chance.usize(0..1400)).map(|_| chance.u8(..)).collect();
        raw.send_to(&datagram, addr(&transport)).unwrap();
        let mut stream = TcpStream::connect(addr(&transport)).await.unwrap();
        let mut bytes: Vec<u8> = (0..chance.usize(1..3000)).map(|_| chance.u8(..)).collect();
        match i % 3 {
            0 => bytes[0] = b'F',
            1 => bytes[0] = b'C',
            _ => {}
        }
        // The other side may have cut it in the middle.
        let _ = stream.write_all(&bytes).await;
        connections.push(stream);
    }
    works(&transport).await;
    drop(connections);
    works(&transport).await;
    let stats = transport.stats();
    assert!(stats.datagrams_received >= 300 && stats.connections_accepted >= 300, "{stats:?}");
    assert!(stats.frames_dropped > 100, "{stats:?}");
}
