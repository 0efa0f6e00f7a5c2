//! The transport as a whole: floods, many peers, closing.

use std::sync::Arc;
use std::time::Duration;

use gms_core::input::SendFailure;
use gms_core::output::Destination;
use gms_core::transport::{Incoming, ProbeReply, Transport as _, TransportError};

use crate::Kind;
use crate::tools::*;

/// Datagrams that nobody can read as fast as they come keep no check and no frame from its reader.
pub async fn flood(kind: &impl Kind) {
    let (one, two, three) = (Arc::new(kind.open().await), kind.open().await, kind.open().await);
    works(&*one, &two).await;
    let flooding = {
        let (one, to) = (Arc::clone(&one), addr(&two));
        tokio::spawn(async move {
            for _ in 0..200 {
                let mut batch: Vec<_> = (0..100).map(|_| datagram(to, vec![7; 100])).collect();
                one.send(&mut batch).await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    works(&three, &two).await;
    in_time(flooding).await.unwrap();
    works(&three, &two).await;
}

/// Closing ends every pending call, and every later one fails; the address is free again.
pub async fn close_while_busy(kind: &impl Kind) {
    let (one, two) = (Arc::new(kind.open().await), kind.open().await);
    let (at, silent) = (check_addr(&*one), check_addr(&two));
    let (r, p) = (Arc::clone(&one), Arc::clone(&one));
    let receiving = tokio::spawn(async move { r.receive(&mut Vec::new()).await });
    let probing = tokio::spawn(async move { p.probe(silent, "who?".into(), LONG / 10).await });
    until(&two, |i| matches!(i, Incoming::Check { .. })).await;
    in_time(one.close()).await;
    assert_eq!(in_time(receiving).await.unwrap(), Err(TransportError::Closed));
    let reply = in_time(probing).await.unwrap();
    assert!(matches!(reply, ProbeReply::LocalFault | ProbeReply::TimedOut), "{reply:?}");
    assert_eq!(one.send(&mut vec![datagram(silent, "x")]).await, Err(TransportError::Closed));
    assert_eq!(one.receive(&mut Vec::new()).await, Err(TransportError::Closed));
    in_time(one.close()).await;
    drop(one);
    let again = kind.open_at(Some(at)).await;
    works(&two, &again).await;
}

/// One transport talks with many.
pub async fn many_peers(kind: &impl Kind) {
    let one = Arc::new(kind.open().await);
    let mut peers = Vec::new();
    for _ in 0..kind.peers() {
        peers.push(kind.open().await);
    }
    let mut batch: Vec<_> = peers.iter().map(|peer| datagram(addr(peer), "to each")).collect();
    one.send(&mut batch).await.unwrap();
    for peer in &peers {
        // A datagram may be lost where so many connections are made at once: not twice.
        let first = tokio::time::timeout(LONG / 6, until(peer, |i| is_datagram(i, b"to each"))).await;
        if first.is_err() {
            one.send(&mut vec![datagram(addr(peer), "to each")]).await.unwrap();
            until(peer, |i| is_datagram(i, b"to each")).await;
        }
        peer.send(&mut vec![datagram(addr(&*one), "from each")]).await.unwrap();
    }
    let mut heard = 0;
    in_time(async {
        while heard < peers.len() {
            let mut arrived = Vec::new();
            one.receive(&mut arrived).await.unwrap();
            heard += arrived.iter().filter(|i| is_datagram(i, b"from each")).count();
        }
    })
    .await;
}

/// Giving up on receiving or sending loses nothing that had arrived, and sends nothing twice.
pub async fn giving_up_loses_nothing(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    works(&one, &two).await;
    let mut arrived = Vec::new();
    for i in 0..20_u8 {
        let early = tokio::time::timeout(Duration::ZERO, two.receive(&mut arrived)).await;
        assert!(early.is_err() || !arrived.is_empty());
        one.send(&mut vec![datagram(addr(&two), vec![i])]).await.unwrap();
    }
    while arrived.len() < 20 {
        in_time(two.receive(&mut arrived)).await.unwrap();
    }
    let mut numbers: Vec<u8> = arrived.iter().map(|i| bytes(i)[0]).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    in_time(two.close()).await;
    let gone = in_time(one.send_frame(Destination::Address(check_addr(&two)), "x".into(), LONG)).await;
    assert!(matches!(gone, Ok(()) | Err(SendFailure::Refused | SendFailure::Broken)), "{gone:?}");
}
