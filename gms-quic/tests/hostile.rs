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

/// Handshakes that are begun and never finished, each a new one, from another address.
//= docs/protocol.md#wr-4
#[tokio::test]
async fn a_thousand_half_done_handshakes_leave_room_for_one_that_is_finished() {
    let (transport, one) = (open().await, open().await);
    let config = raw_client(None, &authority().cert);
    for i in 0..1000_u16 {
        stranger(i).send_to(&initial(addr(&transport), &config), addr(&transport)).unwrap();
    }
    works_with(&one, &transport).await;
    let stats = transport.stats();
    assert!(stats.connections_accepted <= 4, "{stats:?}");
}
