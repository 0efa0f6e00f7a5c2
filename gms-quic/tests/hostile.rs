//! What strangers can do: change counters.

mod support;

use std::net::UdpSocket;

use gms_core::transport::Transport;
use support::*;

//= docs/protocol.md#wr-4
#[tokio::test]
async fn random_bytes_change_counters_only() {
    const SEED: u64 = 7;
    let mut chance = fastrand::Rng::with_seed(SEED);
    let transport = open().await;
    let raw = UdpSocket::bind("127.0.0.1:0").unwrap();
    for i in 0..2000 {
        let mut packet: Vec<u8> = (0..chance.usize(1..1400)).map(|_| chance.u8(..)).collect();
        if i % 2 == 0 {
            // What looks like the first packet of a handshake.
            packet[0] |= 0xc0;
        }
        let _ = raw.send_to(&packet, addr(&transport));
    }
    works(&transport).await;
    assert_eq!(transport.stats().frames_received, 1, "that of the peer alone");
}

/// Handshakes that are begun and never finished, each from another port.
//= docs/protocol.md#wr-4
#[tokio::test]
async fn a_thousand_half_done_handshakes_leave_room_for_one_that_is_finished() {
    let transport = open().await;
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut one = open().await;
    // The first packet of a real handshake, said again from everywhere: the answers go to who does not read them.
    let first = tokio::spawn({
        let to = listener.local_addr().unwrap();
        async move {
            let reply = one.probe(to, "who?".into(), SHORT).await;
            one = open().await;
            (one, reply)
        }
    });
    let mut initial = vec![0; 2000];
    let length =
        tokio::task::spawn_blocking(move || listener.recv(&mut initial).map(|n| initial[..n].to_vec()));
    let initial = in_time(length).await.unwrap().unwrap();
    let (one, _) = in_time(first).await.unwrap();
    let mut strangers = Vec::new();
    for _ in 0..1000 {
        let raw = UdpSocket::bind("127.0.0.1:0").unwrap();
        raw.send_to(&initial, addr(&transport)).unwrap();
        if strangers.len() < 200 {
            strangers.push(raw);
        }
    }
    works_with(&one, &transport).await;
    let stats = transport.stats();
    assert!(stats.connections_accepted <= 4, "{stats:?}");
}
