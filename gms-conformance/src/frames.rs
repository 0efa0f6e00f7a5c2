//! Frames: whole, in order, with an answer on the way back, and an end to every wait.

use std::sync::Arc;

use bytes::Bytes;
use gms_core::input::SendFailure;
use gms_core::message::FRAME_BYTES_MAX;
use gms_core::output::Destination;
use gms_core::transport::{Incoming, Transport as _};

use crate::Kind;
use crate::tools::*;

/// Frames to one destination arrive in the order in which they were sent.
pub async fn order(kind: &impl Kind) {
    let (one, two) = (Arc::new(kind.open().await), kind.open().await);
    let tasks: Vec<_> = (0..300_u32)
        .map(|i| {
            let (one, to) = (Arc::clone(&one), to(&two));
            tokio::spawn(async move { one.send_frame(to, i.to_be_bytes().to_vec().into(), LONG).await })
        })
        .collect();
    let arrived = receive(&two, 300).await;
    let numbers: Vec<u32> =
        arrived.iter().map(|i| u32::from_be_bytes(bytes(i)[..].try_into().unwrap())).collect();
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
    for task in tasks {
        assert_eq!(in_time(task).await.unwrap(), Ok(()));
    }
}

/// The largest frame arrives whole.
pub async fn size(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    let largest: Bytes = (0..FRAME_BYTES_MAX).map(|i| (i / 7) as u8).collect();
    let sending = one.send_frame(to(&two), largest.clone(), LONG);
    let (sent, arrived) = in_time(async { tokio::join!(sending, receive_one(&two)) }).await;
    assert_eq!(sent, Ok(()));
    assert!(*bytes(&arrived) == largest, "the frame's bytes differ");
}

/// A reader that is slow loses nothing.
pub async fn slow_reader(kind: &impl Kind) {
    let (one, two) = (Arc::new(kind.open().await), kind.open().await);
    let tasks: Vec<_> = (0..60_u8)
        .map(|i| {
            let (one, to) = (Arc::clone(&one), to(&two));
            tokio::spawn(async move { one.send_frame(to, vec![i; 256 << 10].into(), LONG).await })
        })
        .collect();
    let mut numbers = Vec::new();
    while numbers.len() < 60 {
        let mut arrived = Vec::new();
        in_time(two.receive(&mut arrived)).await.unwrap();
        numbers.extend(arrived.iter().map(|i| bytes(i)[0]));
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(numbers, (0..60).collect::<Vec<_>>());
    for task in tasks {
        assert_eq!(in_time(task).await.unwrap(), Ok(()));
    }
}

/// An answer goes back to whoever sent the frame, also where that has no address of record.
pub async fn answers(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    in_time(one.send_frame(to(&two), "question".into(), LONG)).await.unwrap();
    let Incoming::Frame { reply, .. } = receive_one(&two).await else { panic!() };
    in_time(two.send_frame(Destination::Reply(reply), "answer".into(), LONG)).await.unwrap();
    assert_eq!(bytes(&receive_one(&one).await), "answer");
}

/// A frame to nobody is refused.
pub async fn refusal(kind: &impl Kind) {
    let (one, nobody) = (kind.open().await, nobody(kind).await);
    let failure = in_time(one.send_frame(Destination::Address(nobody), "x".into(), LONG)).await;
    assert_eq!(failure, Err(SendFailure::Refused));
}

/// Where the other side goes away in the middle, every wait ends, and everybody else is served.
pub async fn broken_midway(kind: &impl Kind) {
    let (one, two, three) = (Arc::new(kind.open().await), kind.open().await, kind.open().await);
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let (one, to) = (Arc::clone(&one), to(&two));
            tokio::spawn(async move { one.send_frame(to, vec![1; 1 << 20].into(), LONG / 3).await })
        })
        .collect();
    until(&two, |i| matches!(i, Incoming::Frame { .. })).await;
    in_time(two.close()).await;
    for task in tasks {
        // What was handed over is sent, what was not failed: either is an end.
        let _ = in_time(task).await.unwrap();
    }
    works(&*one, &three).await;
}

/// A frame that is not delivered in its time fails, and does not hold up others.
pub async fn deadline(kind: &impl Kind) {
    let (one, two) = (kind.open().await, kind.open().await);
    let nobody = nobody(kind).await;
    let failure = in_time(one.send_frame(Destination::Address(nobody), "x".into(), SHORT)).await;
    assert!(failure.is_err());
    works(&one, &two).await;
}
