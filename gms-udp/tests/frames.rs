//! Frames: whole, in order, bounded, and no peer holds up another.

mod support;

use std::sync::Arc;

use bytes::Bytes;
use gms_core::input::{ReplyHandle, SendFailure};
use gms_core::message::FRAME_BYTES_MAX;
use gms_core::output::Destination;
use gms_core::transport::{Incoming, Transport};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// More than the kernel's buffers of both ends hold, so that writing it to a peer that does not read must block.
fn more_than_the_kernel_takes() -> Bytes {
    Bytes::from(vec![1; FRAME_BYTES_MAX])
}

/// A pooled connection to a peer that does not read, with as many large frames under way as block it.
async fn block(
    transport: &Arc<impl Transport>,
    to: std::net::SocketAddr,
    deadline: std::time::Duration,
) -> Vec<tokio::task::JoinHandle<Result<(), SendFailure>>> {
    (0..3)
        .map(|_| {
            let transport = Arc::clone(transport);
            tokio::spawn(async move {
                transport.send_frame(Destination::Address(to), more_than_the_kernel_takes(), deadline).await
            })
        })
        .collect()
}

#[tokio::test]
async fn frames_to_one_destination_arrive_in_order() {
    let (one, two) = (Arc::new(open().await), open().await);
    let tasks: Vec<_> = (0..1000_u32)
        .map(|i| {
            let (one, to) = (Arc::clone(&one), to(&two));
            tokio::spawn(async move { one.send_frame(to, i.to_be_bytes().to_vec().into(), LONG).await })
        })
        .collect();
    let numbers: Vec<u32> = receive(&two, 1000)
        .await
        .iter()
        .map(|i| u32::from_be_bytes(bytes(i)[..].try_into().unwrap()))
        .collect();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
    assert_eq!((one.stats().frames_sent, two.stats().frames_received), (1000, 1000));
    assert_eq!(two.stats().connections_accepted, 1, "one connection carries them all");
}

//= docs/protocol.md#wr-1
#[tokio::test]
async fn the_largest_frame_arrives_and_a_larger_one_is_not_taken() {
    let (one, two) = (open().await, open().await);
    let largest: Bytes = (0..FRAME_BYTES_MAX).map(|i| i as u8).collect();
    let (sent, arrived) =
        in_time(async { tokio::join!(one.send_frame(to(&two), largest.clone(), LONG), receive_one(&two)) })
            .await;
    assert_eq!(sent, Ok(()));
    assert!(*bytes(&arrived) == largest, "the frame's bytes differ");
    for bad in [Bytes::from(vec![0; FRAME_BYTES_MAX + 1]), Bytes::new()] {
        assert_eq!(one.send_frame(to(&two), bad, LONG).await, Err(SendFailure::NotQueued));
    }
}

#[tokio::test]
async fn a_length_that_no_frame_has_cuts_the_connection() {
    let transport = open().await;
    for length in [0, u32::try_from(FRAME_BYTES_MAX).unwrap() + 1, u32::MAX] {
        let mut raw = TcpStream::connect(addr(&transport)).await.unwrap();
        raw.write_all(b"F").await.unwrap();
        raw.write_all(&length.to_be_bytes()).await.unwrap();
        assert_eq!(read_to_end(&mut raw).await, b"");
    }
    assert_eq!((transport.stats().frames_dropped, transport.stats().connections_cut), (3, 3));
    works(&transport).await;
}

#[tokio::test]
async fn an_answer_goes_back_on_the_connection_of_the_frame() {
    let (one, two) = (open().await, open().await);
    in_time(one.send_frame(to(&two), "question".into(), LONG)).await.unwrap();
    let Incoming::Frame { reply, .. } = receive_one(&two).await else { panic!() };
    in_time(two.send_frame(Destination::Reply(reply), "answer".into(), LONG)).await.unwrap();
    let Incoming::Frame { from, reply, bytes, .. } = receive_one(&one).await else { panic!() };
    assert_eq!((from, &bytes[..]), (addr(&two), &b"answer"[..]));
    in_time(one.send_frame(Destination::Reply(reply), "thanks".into(), LONG)).await.unwrap();
    assert_eq!(bytes_of(&receive_one(&two).await), "thanks");
    assert_eq!((one.stats().connections_accepted, two.stats().connections_accepted), (0, 1));
}

fn bytes_of(incoming: &Incoming) -> &Bytes {
    bytes(incoming)
}

#[tokio::test]
async fn an_answer_on_a_connection_that_is_gone_is_broken() {
    let transport = open().await;
    let mut raw = TcpStream::connect(addr(&transport)).await.unwrap();
    raw.write_all(b"F").await.unwrap();
    raw.write_all(&framed(b"last words")).await.unwrap();
    let Incoming::Frame { reply, .. } = receive_one(&transport).await else { panic!() };
    raw.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut raw).await, b"");
    for handle in [reply, ReplyHandle(1 << 40)] {
        let failure = in_time(transport.send_frame(Destination::Reply(handle), "x".into(), LONG)).await;
        assert_eq!(failure, Err(SendFailure::Broken));
    }
}

#[tokio::test]
async fn half_a_frame_of_a_peer_that_died_is_never_delivered() {
    let transport = open().await;
    let mut raw = TcpStream::connect(addr(&transport)).await.unwrap();
    raw.write_all(b"F").await.unwrap();
    raw.write_all(&framed(&[1; 1000])[..500]).await.unwrap();
    raw.shutdown().await.unwrap();
    assert_eq!(read_to_end(&mut raw).await, b"");
    assert_eq!(transport.stats().frames_dropped, 1);
    let other = open().await;
    in_time(other.send_frame(to(&transport), "whole".into(), LONG)).await.unwrap();
    assert_eq!(bytes(&receive_one(&transport).await), "whole");
}

//= docs/protocol.md#wr-4
#[tokio::test]
async fn half_a_frame_is_not_waited_for_longer_than_its_time() {
    let transport = open_with(|limits| limits.half_frame = SHORT).await;
    for part in [&b"F"[..], b"F\0\0", b"F\0\0\0\x09part"] {
        let mut raw = TcpStream::connect(addr(&transport)).await.unwrap();
        raw.write_all(part).await.unwrap();
        assert_eq!(read_to_end(&mut raw).await, b"");
    }
    assert_eq!(transport.stats().connections_cut, 3);
}

#[tokio::test]
async fn a_connection_that_carries_nothing_is_closed_and_the_next_frame_gets_a_fresh_one() {
    let transport = open_with(|limits| limits.idle = SHORT).await;
    let (listener, raw_addr) = raw_listener().await;
    for _ in 0..2 {
        in_time(transport.send_frame(Destination::Address(raw_addr), "x".into(), LONG)).await.unwrap();
        assert_eq!(read_to_end(&mut accept(&listener).await).await, b"F\0\0\0\x01x");
    }
}

#[tokio::test]
async fn a_peer_that_does_not_read_holds_up_nobody_and_its_frames_time_out() {
    let (one, two) = (Arc::new(open().await), open().await);
    let (listener, raw_addr) = raw_listener().await;
    let stuck = block(&one, raw_addr, SHORT * 10).await;
    let _silent = accept(&listener).await;
    for _ in 0..10 {
        in_time(one.send_frame(to(&two), "through".into(), LONG)).await.unwrap();
        assert_eq!(bytes(&receive_one(&two).await), "through");
    }
    let mut fates = Vec::new();
    for task in stuck {
        fates.push(in_time(task).await.unwrap());
    }
    assert!(fates.contains(&Err(SendFailure::TimedOut)), "{fates:?}");
    assert!(fates.iter().all(|f| matches!(f, Ok(()) | Err(SendFailure::TimedOut))), "{fates:?}");
    assert!(one.stats().connections_cut >= 1, "half a frame can't be taken back: its connection is cut");
}

#[tokio::test]
async fn a_frame_that_was_queued_on_a_connection_that_broke_gets_one_fresh_connection() {
    let one = Arc::new(open().await);
    let (listener, raw_addr) = raw_listener().await;
    let stuck = block(&one, raw_addr, LONG).await;
    let first = accept(&listener).await;
    first.readable().await.unwrap();
    let last = {
        let one = Arc::clone(&one);
        tokio::spawn(async move { one.send_frame(Destination::Address(raw_addr), "last".into(), LONG).await })
    };
    // Once its own frame is back, the loop has queued those that were sent before it.
    in_time(one.send_frame(to(&*one), "round trip".into(), LONG)).await.unwrap();
    drop(first);
    let mut second = accept(&listener).await;
    let (mut read, mut tail, mut chunk) = (0, Vec::new(), vec![0; 1 << 20]);
    while !tail.ends_with(&framed(b"last")) {
        let n = in_time(second.read(&mut chunk)).await.unwrap();
        assert_ne!(n, 0, "closed before the last frame");
        read += n;
        tail.extend_from_slice(&chunk[..n]);
        tail.drain(..tail.len().saturating_sub(8));
    }
    assert_eq!(in_time(last).await.unwrap(), Ok(()));
    let mut fates = Vec::new();
    for task in stuck {
        fates.push(in_time(task).await.unwrap());
    }
    // The one that had begun is lost; those after it came whole, each once.
    let begun = fates.iter().position(|fate| *fate == Err(SendFailure::Broken)).expect("one had begun");
    assert!(fates.iter().enumerate().all(|(i, fate)| i == begun || *fate == Ok(())), "{fates:?}");
    assert_eq!(read, 1 + (2 - begun) * (4 + FRAME_BYTES_MAX) + 8);
}

#[tokio::test]
async fn a_pooled_connection_that_the_peer_closed_costs_no_frame() {
    let one = open().await;
    let (listener, raw_addr) = raw_listener().await;
    for i in 0..50_u8 {
        in_time(one.send_frame(Destination::Address(raw_addr), vec![i].into(), LONG)).await.unwrap();
        let mut connection = accept(&listener).await;
        assert_eq!(read_exact(&mut connection, 6).await, [b'F', 0, 0, 0, 1, i]);
    }
}

#[tokio::test]
async fn a_frame_to_nobody_is_refused() {
    let (one, nobody) = (open().await, nobody().await);
    for _ in 0..3 {
        let failure = in_time(one.send_frame(Destination::Address(nobody), "x".into(), LONG)).await;
        assert_eq!(failure, Err(SendFailure::Refused));
    }
}

#[tokio::test]
async fn the_queue_of_one_connection_is_bounded() {
    let one = Arc::new(open_with(|limits| limits.queue_frames = 3).await);
    let (listener, raw_addr) = raw_listener().await;
    let stuck = block(&one, raw_addr, LONG).await;
    let _silent = accept(&listener).await;
    let more: Vec<_> = (0..3)
        .map(|_| {
            let one = Arc::clone(&one);
            tokio::spawn(
                async move { one.send_frame(Destination::Address(raw_addr), "x".into(), LONG).await },
            )
        })
        .collect();
    let last = in_time(more.into_iter().next_back().unwrap()).await.unwrap();
    assert_eq!(last, Err(SendFailure::NotQueued));
    in_time(one.close()).await;
    for task in stuck {
        assert!(in_time(task).await.unwrap() != Err(SendFailure::TimedOut));
    }
}

#[tokio::test]
async fn a_frame_whose_sender_gave_up_is_taken_back() {
    let one = Arc::new(open().await);
    let (listener, raw_addr) = raw_listener().await;
    let stuck = block(&one, raw_addr, LONG).await;
    let mut raw = accept(&listener).await;
    let given_up = one.send_frame(Destination::Address(raw_addr), "given up".into(), LONG);
    assert!(tokio::time::timeout(SHORT, given_up).await.is_err());
    let last = {
        let one = Arc::clone(&one);
        tokio::spawn(async move { one.send_frame(Destination::Address(raw_addr), "last".into(), LONG).await })
    };
    let large = read_exact(&mut raw, 1 + 3 * (4 + FRAME_BYTES_MAX)).await;
    assert_eq!(large[0], b'F');
    assert_eq!(read_exact(&mut raw, 8).await, framed(b"last"));
    assert_eq!(in_time(last).await.unwrap(), Ok(()));
    for task in stuck {
        assert_eq!(in_time(task).await.unwrap(), Ok(()));
    }
}

#[tokio::test]
async fn when_the_reader_is_behind_connections_are_not_read_and_nothing_is_lost() {
    const FRAME: usize = 64 << 10;
    const BOUND: usize = 4 * FRAME;
    let one = Arc::new(open().await);
    let two = open_with(|limits| limits.inbox_bytes = BOUND).await;
    let tasks: Vec<_> = (0..200_u8)
        .map(|i| {
            let (one, to) = (Arc::clone(&one), to(&two));
            tokio::spawn(async move { one.send_frame(to, vec![i; FRAME].into(), LONG).await })
        })
        .collect();
    let mut numbers = Vec::new();
    while numbers.len() < 200 {
        let mut arrived = Vec::new();
        in_time(two.receive(&mut arrived)).await.unwrap();
        let held: usize = arrived.iter().map(|i| bytes(i).len()).sum();
        assert!(held <= BOUND, "{held} bytes waited for the reader");
        numbers.extend(arrived.iter().map(|i| bytes(i)[0]));
        // Let the others go ahead of this reader.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(numbers, (0..200).collect::<Vec<_>>());
    for task in tasks {
        assert_eq!(in_time(task).await.unwrap(), Ok(()));
    }
}
