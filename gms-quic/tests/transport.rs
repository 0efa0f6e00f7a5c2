//! Datagrams, frames and checks over QUIC.

mod support;

use std::sync::Arc;

use gms_core::input::{CheckHandle, SendFailure};
use gms_core::message::{DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX};
use gms_core::output::Destination;
use gms_core::transport::{Incoming, ProbeReply, Transport, TransportError};
use gms_quic::{BindError, QuicTransport};
use support::*;

//= docs/protocol.md#fd-1
//= docs/protocol.md#wr-6
#[tokio::test]
async fn datagrams_go_both_ways_over_one_connection() {
    let (one, two) = (open().await, open().await);
    one.send(&mut vec![datagram(addr(&two), "ping")]).await.unwrap();
    let Incoming::Datagram { from, bytes: said, .. } = receive_one(&two).await else { panic!() };
    assert_eq!((from, &said[..]), (addr(&one), &b"ping"[..]));
    two.send(&mut vec![datagram(from, "pong")]).await.unwrap();
    assert_eq!(bytes(&receive_one(&one).await), "pong");
    in_time(two.send_frame(to(&one), "frame".into(), LONG)).await.unwrap();
    assert_eq!(bytes(&receive_one(&one).await), "frame");
    let accepted = [&one, &two].map(|t| t.stats().connections_accepted);
    assert_eq!(accepted, [0, 1], "the one that was made serves both");
}

//= docs/protocol.md#wr-1
#[tokio::test]
async fn a_datagram_that_fits_no_packet_arrives_all_the_same() {
    let (one, two) = (open().await, open().await);
    let largest = vec![7; DATAGRAM_BYTES_MAX];
    let too_large = vec![7; DATAGRAM_BYTES_MAX + 1];
    one.send(&mut vec![datagram(addr(&two), too_large), datagram(addr(&two), largest.clone())])
        .await
        .unwrap();
    assert_eq!(bytes(&receive_one(&two).await), &largest);
    assert_eq!((one.stats().datagrams_sent, one.stats().datagrams_unsent), (1, 1));
}

#[tokio::test]
async fn both_families_are_spoken() {
    let dual = QuicTransport::bind(CLUSTER, "[::]:0").await.unwrap();
    let v4 = open().await;
    let v6 = QuicTransport::bind(CLUSTER, "[::1]:0").await.unwrap();
    for other in [&v4, &v6] {
        dual.send(&mut vec![datagram(addr(other), "ping")]).await.unwrap();
        let Incoming::Datagram { from, .. } = receive_one(other).await else { panic!() };
        assert_eq!((from.ip(), from.port()), (addr(other).ip(), addr(&dual).port()));
        other.send(&mut vec![datagram(from, "pong")]).await.unwrap();
        let Incoming::Datagram { from, .. } = receive_one(&dual).await else { panic!() };
        assert_eq!(from, addr(other));
    }
}

#[tokio::test]
async fn frames_to_one_destination_arrive_in_order() {
    let (one, two) = (Arc::new(open().await), open().await);
    let tasks: Vec<_> = (0..500_u32)
        .map(|i| {
            let (one, to) = (Arc::clone(&one), to(&two));
            tokio::spawn(async move { one.send_frame(to, i.to_be_bytes().to_vec().into(), LONG).await })
        })
        .collect();
    let arrived = receive(&two, 500).await;
    let numbers: Vec<u32> =
        arrived.iter().map(|i| u32::from_be_bytes(bytes(i)[..].try_into().unwrap())).collect();
    assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    for task in tasks {
        assert_eq!(task.await.unwrap(), Ok(()));
    }
}

//= docs/protocol.md#wr-1
#[tokio::test]
async fn the_largest_frame_arrives_and_a_larger_one_is_not_taken() {
    let (one, two) = (open().await, open().await);
    let largest: bytes::Bytes = (0..FRAME_BYTES_MAX).map(|i| i as u8).collect();
    let (sent, arrived) =
        in_time(async { tokio::join!(one.send_frame(to(&two), largest.clone(), LONG), receive_one(&two)) })
            .await;
    assert_eq!(sent, Ok(()));
    assert!(*bytes(&arrived) == largest, "the frame's bytes differ");
    let failure = one.send_frame(to(&two), vec![0; FRAME_BYTES_MAX + 1].into(), LONG).await;
    assert_eq!(failure, Err(SendFailure::NotQueued));
}

#[tokio::test]
async fn an_answer_goes_back_on_the_connection_of_the_frame() {
    let (one, two) = (open().await, open().await);
    in_time(one.send_frame(to(&two), "question".into(), LONG)).await.unwrap();
    let Incoming::Frame { reply, .. } = receive_one(&two).await else { panic!() };
    in_time(two.send_frame(Destination::Reply(reply), "answer".into(), LONG)).await.unwrap();
    let Incoming::Frame { from, bytes, .. } = receive_one(&one).await else { panic!() };
    assert_eq!((from, &bytes[..]), (addr(&two), &b"answer"[..]));
    in_time(one.close()).await;
    let gone = async {
        while two.send_frame(Destination::Reply(reply), "late".into(), LONG).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    in_time(gone).await;
}

#[tokio::test]
async fn a_reader_that_is_behind_loses_no_frame() {
    const FRAME: usize = 64 << 10;
    let one = Arc::new(open().await);
    let two = open_with(|limits| limits.inbox_bytes = 4 * FRAME).await;
    let tasks: Vec<_> = (0..100_u8)
        .map(|i| {
            let (one, to) = (Arc::clone(&one), to(&two));
            tokio::spawn(async move { one.send_frame(to, vec![i; FRAME].into(), LONG).await })
        })
        .collect();
    let mut numbers = Vec::new();
    while numbers.len() < 100 {
        let mut arrived = Vec::new();
        in_time(two.receive(&mut arrived)).await.unwrap();
        let held: usize = arrived.iter().map(|i| bytes(i).len()).sum();
        assert!(held <= 4 * FRAME, "{held} bytes waited for the reader");
        numbers.extend(arrived.iter().map(|i| bytes(i)[0]));
    }
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    for task in tasks {
        assert_eq!(in_time(task).await.unwrap(), Ok(()));
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

//= docs/protocol.md#fd-22
//= docs/protocol.md#wr-6
#[tokio::test]
async fn a_check_is_answered_by_the_reader_and_by_nobody_else() {
    let (one, two) = (open().await, open().await);
    let first = one.probe(addr(&two), "who?".into(), LONG);
    let asked = tokio::select! {
        asked = receive_one(&two) => asked,
        reply = first => panic!("{reply:?} without the reader"),
    };
    let Incoming::Check { handle: gone, .. } = asked else { panic!("{asked:?}") };
    two.answer_check(gone, "late".into()).await;
    two.answer_check(CheckHandle(1 << 40), "unknown".into()).await;
    assert_eq!(ask(&one, &two, "who?").await, ProbeReply::Answer("a".into()));
    let silent = in_time(one.probe(addr(&two), "who?".into(), SHORT)).await;
    assert_eq!(silent, ProbeReply::TimedOut);
}

//= docs/protocol.md#fd-21
#[tokio::test]
async fn a_check_of_nobody_is_refused_over_both_families() {
    let (one, nobody) = (open().await, nobody().await);
    for _ in 0..3 {
        assert_eq!(in_time(one.probe(nobody, "who?".into(), LONG)).await, ProbeReply::Refused);
    }
    let v6 = std::net::SocketAddr::new("::1".parse().unwrap(), nobody.port());
    assert_eq!(in_time(one.probe(v6, "who?".into(), LONG)).await, ProbeReply::Refused);
}

//= docs/protocol.md#fd-21
//= docs/protocol.md#fd-22
#[tokio::test]
async fn a_socket_that_nobody_reads_is_silence_and_no_refusal() {
    let one = open().await;
    let stopped = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let reply = in_time(one.probe(stopped.local_addr().unwrap(), "who?".into(), SHORT)).await;
    assert_eq!(reply, ProbeReply::TimedOut);
    stopped.set_nonblocking(true).unwrap();
    let (mut packets, mut buffer) = (0, [0; 2000]);
    while stopped.recv(&mut buffer).is_ok() {
        packets += 1;
    }
    assert!(packets >= 2, "{packets}: a lost first packet would not be made up for");
}

#[tokio::test]
async fn a_question_out_of_bounds_is_a_local_fault() {
    let (one, two) = (open().await, open().await);
    for question in [vec![], vec![1; gms_quic::CHECK_BYTES_MAX + 1]] {
        assert_eq!(one.probe(addr(&two), question.into(), LONG).await, ProbeReply::LocalFault);
    }
}

#[tokio::test]
async fn simultaneous_dials_end_in_one_connection() {
    let (one, two) = (open().await, open().await);
    let (a, b) = tokio::join!(
        one.send_frame(to(&two), "from one".into(), LONG),
        two.send_frame(to(&one), "from two".into(), LONG)
    );
    assert_eq!((a, b), (Ok(()), Ok(())));
    assert_eq!(bytes(&receive_one(&two).await), "from one");
    assert_eq!(bytes(&receive_one(&one).await), "from two");
    for _ in 0..20 {
        works_with(&one, &two).await;
        works_with(&two, &one).await;
    }
}

/// Two transports, the one with the lower address first.
async fn patient_ones() -> [QuicTransport; 2] {
    let mut two = [open_patient().await, open_patient().await];
    two.sort_by_key(addr);
    two
}

#[tokio::test]
async fn of_two_with_datagrams_for_each_other_the_one_with_the_lower_address_dials() {
    let [low, high] = patient_ones().await;
    high.send(&mut vec![datagram(addr(&low), "first")]).await.unwrap();
    low.send(&mut vec![datagram(addr(&high), "second")]).await.unwrap();
    assert_eq!(bytes(&receive_one(&high).await), "second");
    assert_eq!(bytes(&receive_one(&low).await), "first");
    let accepted = [&low, &high].map(|t| t.stats().connections_accepted);
    assert_eq!(accepted, [0, 1]);
}

#[tokio::test]
async fn a_frame_waits_for_nobody_to_dial() {
    let [low, high] = patient_ones().await;
    high.send(&mut vec![datagram(addr(&low), "ping")]).await.unwrap();
    in_time(high.send_frame(to(&low), "frame".into(), LONG)).await.unwrap();
    receive(&low, 2).await;
}

#[tokio::test]
async fn closing_ends_every_pending_call_and_frees_the_port() {
    let one = Arc::new(open().await);
    let bound = addr(&*one);
    let stopped = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let nobody_reads = stopped.local_addr().unwrap();
    let (r, p, f) = (Arc::clone(&one), Arc::clone(&one), Arc::clone(&one));
    let receiving = tokio::spawn(async move { r.receive(&mut Vec::new()).await });
    let probing = tokio::spawn(async move { p.probe(nobody_reads, "who?".into(), LONG * 10).await });
    let sending =
        tokio::spawn(
            async move { f.send_frame(Destination::Address(nobody_reads), "x".into(), LONG * 10).await },
        );
    // One packet of each.
    for _ in 0..2 {
        in_time(stopped.recv(&mut [0; 2000])).await.unwrap();
    }
    in_time(one.close()).await;
    assert_eq!(in_time(receiving).await.unwrap(), Err(TransportError::Closed));
    assert_eq!(in_time(probing).await.unwrap(), ProbeReply::LocalFault);
    assert_eq!(in_time(sending).await.unwrap(), Err(SendFailure::NotQueued));
    assert_eq!(one.send(&mut vec![datagram(bound, "x")]).await, Err(TransportError::Closed));
    let again = QuicTransport::bind(CLUSTER, &bound.to_string()).await.unwrap();
    works(&again).await;
    let error = QuicTransport::bind(CLUSTER, &bound.to_string()).await.unwrap_err();
    assert_eq!(error, BindError::InUse { addr: bound });
    drop(again);
    drop(QuicTransport::bind(CLUSTER, &bound.to_string()).await.unwrap());
}

#[tokio::test]
async fn a_transport_at_the_address_of_another_that_is_gone_is_reached_at_once() {
    let one = open().await;
    for _ in 0..5 {
        let two = open().await;
        let bound = addr(&two);
        works_with(&one, &two).await;
        drop(two);
        let again = QuicTransport::bind(CLUSTER, &bound.to_string()).await.unwrap();
        let sent = async {
            loop {
                one.send(&mut vec![datagram(bound, "still there?")]).await.unwrap();
                let mut arrived = Vec::new();
                if tokio::time::timeout(SHORT, again.receive(&mut arrived)).await.is_ok() {
                    return;
                }
            }
        };
        in_time(sent).await;
        works_with(&again, &one).await;
    }
}
