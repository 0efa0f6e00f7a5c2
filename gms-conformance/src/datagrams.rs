//! Datagrams: with source and time, whole, in batches, and harmless where nobody is.

use gms_core::message::DATAGRAM_BYTES_MAX;
use gms_core::runtime::clock;
use gms_core::transport::{Incoming, Transport as _};

use crate::Kind;
use crate::tools::*;

/// A datagram arrives with its source, to which the answer goes, and the time at which it was read.
pub async fn delivery(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    let before = clock::now();
    one.send(&mut vec![datagram(addr(&two), "ping")]).await.unwrap();
    let Incoming::Datagram { from, received_at, bytes: said } = receive_one(&two).await else { panic!() };
    assert_eq!((from, &said[..]), (addr(&one), &b"ping"[..]));
    assert!(before <= received_at && received_at <= clock::now());
    two.send(&mut vec![datagram(from, "pong")]).await.unwrap();
    assert!(is_datagram(&receive_one(&one).await, b"pong"));
}

/// The largest datagram arrives whole.
pub async fn size_limit(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    let largest: Vec<u8> = (0..DATAGRAM_BYTES_MAX).map(|i| i as u8).collect();
    one.send(&mut vec![datagram(addr(&two), largest.clone())]).await.unwrap();
    assert_eq!(bytes(&receive_one(&two).await), &largest);
}

/// A batch is emptied and arrives, each to whom it goes.
pub async fn batches(kind: &impl Kind) {
    let (one, two, three) = (kind.open().await, kind.open().await, kind.open().await);
    for _ in 0..2 {
        // A first word each, so that whoever makes connections has them.
        works(&one, &two).await;
        works(&one, &three).await;
    }
    let mut batch: Vec<_> =
        (0..200_u8).map(|i| datagram(if i % 2 == 0 { addr(&two) } else { addr(&three) }, vec![i])).collect();
    one.send(&mut batch).await.unwrap();
    assert!(batch.is_empty());
    for (transport, rest) in [(&two, 0), (&three, 1)] {
        let mut numbers: Vec<u8> = receive(transport, 100).await.iter().map(|i| bytes(i)[0]).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..200).filter(|i| i % 2 == rest).collect::<Vec<_>>());
    }
}

/// Datagrams to where nobody is harm nothing, and cost others nothing.
pub async fn nobody_there(kind: &impl Kind) {
    let (one, two, nobody) = (kind.open().await, kind.open().await, nobody(kind).await);
    works(&one, &two).await;
    for i in 0..20_u8 {
        one.send(&mut vec![datagram(nobody, "lost"), datagram(addr(&two), vec![i])]).await.unwrap();
        assert!(is_datagram(&receive_one(&two).await, &[i]));
    }
    works(&two, &one).await;
}
