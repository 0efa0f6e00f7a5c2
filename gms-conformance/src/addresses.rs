//! Addresses: IPv6, and one transport for both families.

#![allow(clippy::print_stderr, reason = "whoever reads the tests' output must see what did not run")]

use std::net::{Ipv6Addr, SocketAddr, UdpSocket};

use gms_core::transport::{Incoming, ProbeReply, Transport as _};

use crate::Kind;
use crate::tools::*;

/// Says so on stderr where there is no IPv6.
fn has_ipv6() -> bool {
    let has = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    if !has {
        eprintln!("did not run: no IPv6 here");
    }
    has
}

async fn open_at<K: Kind>(kind: &K, at: &str) -> K::Transport {
    kind.open_at(Some(at.parse().expect("an address"))).await
}

/// Everything goes over IPv6; a check of nobody is refused.
pub async fn ipv6(kind: &impl Kind) {
    if !has_ipv6() {
        return;
    }
    let (one, two) = (open_at(kind, "[::1]:0").await, open_at(kind, "[::1]:0").await);
    works(&one, &two).await;
    works(&two, &one).await;
    let gone = check_addr(&two);
    in_time(two.close()).await;
    assert_eq!(in_time(one.probe(gone, "who?".into(), LONG)).await, ProbeReply::Refused);
}

/// One that is open for both families talks with those of either; IPv4 addresses are what they are to everybody else.
pub async fn both_families(kind: &impl Kind) {
    if !has_ipv6() {
        return;
    }
    let both = open_at(kind, "[::]:0").await;
    let (v4, v6) = (open_at(kind, "127.0.0.1:0").await, open_at(kind, "[::1]:0").await);
    for other in [&v4, &v6] {
        both.send(&mut vec![datagram(addr(other), "ping")]).await.unwrap();
        let Incoming::Datagram { from, .. } = receive_one(other).await else { panic!() };
        assert_eq!(from, SocketAddr::new(addr(other).ip(), addr(&both).port()));
        other.send(&mut vec![datagram(from, "pong")]).await.unwrap();
        let Incoming::Datagram { from: back, .. } = receive_one(&both).await else { panic!() };
        assert_eq!(back, addr(other));
        works(&both, other).await;
        assert_eq!(ask_at(other, from, &both, "both").await, ProbeReply::Answer("both".into()));
        let gone = nobody_at(kind, addr(other).ip()).await;
        assert_eq!(in_time(both.probe(gone, "who?".into(), LONG)).await, ProbeReply::Refused);
    }
}
