//! Probes: each outcome as it is documented, and the check at the other end.

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use gms_core::input::CheckHandle;
use gms_core::transport::{Incoming, ProbeReply, Transport};
use gms_udp::CHECK_BYTES_MAX;
use support::*;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Probes a raw listener that reads the question and then does what `serve` does.
async fn probe_raw<F: Future<Output = TcpStream>>(serve: impl FnOnce(TcpStream) -> F) -> ProbeReply {
    let transport = open().await;
    let (listener, raw_addr) = raw_listener().await;
    let served = async {
        let mut stream = accept(&listener).await;
        assert_eq!(read_exact(&mut stream, 9).await, b"C\0\0\0\x04who?");
        serve(stream).await
    };
    let (reply, _open) =
        in_time(async { tokio::join!(transport.probe(raw_addr, "who?".into(), LONG), served) }).await;
    reply
}

//= docs/protocol.md#fd-22
#[tokio::test]
async fn a_check_is_answered_by_the_reader_and_by_nobody_else() {
    let (one, two) = (open().await, open().await);
    let first = one.probe(addr(&two), "who?".into(), LONG);
    let asked = tokio::select! {
        asked = receive_one(&two) => asked,
        reply = first => panic!("{reply:?} without the reader"),
    };
    // The first asker has gone; a handle that nobody waits for is ignored.
    let Incoming::Check { handle: gone, .. } = asked else { panic!("{asked:?}") };
    let answering = async {
        let Incoming::Check { from, handle, bytes } = receive_one(&two).await else { panic!() };
        assert_eq!((from.ip(), &bytes[..]), (addr(&one).ip(), &b"who?"[..]));
        two.answer_check(gone, "late".into()).await;
        two.answer_check(CheckHandle(1 << 40), "unknown".into()).await;
        two.answer_check(handle, "me".into()).await;
        two.answer_check(handle, "twice".into()).await;
    };
    let (reply, ()) =
        in_time(async { tokio::join!(one.probe(addr(&two), "who?".into(), LONG), answering) }).await;
    assert_eq!(reply, ProbeReply::Answer("me".into()));
}

//= docs/protocol.md#fd-21
#[tokio::test]
async fn a_probe_of_nobody_is_refused() {
    let (transport, nobody) = (open().await, nobody().await);
    assert_eq!(in_time(transport.probe(nobody, "who?".into(), LONG)).await, ProbeReply::Refused);
    let v6 = SocketAddr::new("::1".parse().unwrap(), nobody.port());
    assert_eq!(in_time(transport.probe(v6, "who?".into(), LONG)).await, ProbeReply::Refused);
}

#[tokio::test]
async fn a_connection_that_is_accepted_and_closed_is_a_reset_and_no_refusal() {
    let closed = probe_raw(|mut stream| async {
        stream.shutdown().await.unwrap();
        stream
    });
    assert_eq!(closed.await, ProbeReply::Reset);
    let closed_midway = probe_raw(|mut stream| async {
        stream.write_all(&framed(b"answer")[..6]).await.unwrap();
        stream.shutdown().await.unwrap();
        stream
    });
    assert_eq!(closed_midway.await, ProbeReply::Reset);
}

#[tokio::test]
async fn a_connection_that_is_reset_is_a_reset() {
    let transport = open().await;
    let (listener, raw_addr) = raw_listener().await;
    let served = async {
        let mut stream = accept(&listener).await;
        read_exact(&mut stream, 9).await;
        socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    };
    let (reply, ()) =
        in_time(async { tokio::join!(transport.probe(raw_addr, "who?".into(), LONG), served) }).await;
    assert_eq!(reply, ProbeReply::Reset);
}

//= docs/protocol.md#fd-22
#[tokio::test]
async fn a_connection_that_is_accepted_and_not_answered_times_out_and_is_closed() {
    let transport = open().await;
    let (listener, raw_addr) = raw_listener().await;
    let reply = in_time(transport.probe(raw_addr, "who?".into(), SHORT)).await;
    assert_eq!(reply, ProbeReply::TimedOut);
    let mut stream = accept(&listener).await;
    let question = read_to_end(&mut stream).await;
    assert!(b"C\0\0\0\x04who?".starts_with(&question), "{question:?}");
}

#[tokio::test]
async fn an_answer_may_come_one_byte_at_a_time() {
    let reply = probe_raw(|mut stream| async {
        stream.set_nodelay(true).unwrap();
        for byte in framed(b"answer") {
            stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        stream
    });
    assert_eq!(reply.await, ProbeReply::Answer("answer".into()));
}

#[tokio::test]
async fn anything_but_one_framed_answer_is_garbage() {
    let mut two = framed(b"answer");
    two.extend(framed(b"another"));
    let too_long = framed(&vec![1; CHECK_BYTES_MAX + 1]);
    for answer in [&b"\0\0\0\0"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n", &two, &too_long] {
        let reply = probe_raw(|mut stream| async {
            stream.write_all(answer).await.unwrap();
            stream
        });
        assert_eq!(reply.await, ProbeReply::Garbage, "{answer:?}");
    }
    let longest = vec![1; CHECK_BYTES_MAX];
    let reply = probe_raw(|mut stream| async {
        stream.write_all(&framed(&longest)).await.unwrap();
        stream
    });
    assert_eq!(reply.await, ProbeReply::Answer(longest.clone().into()));
}

#[tokio::test]
async fn giving_up_on_a_probe_closes_its_connection() {
    let transport = open().await;
    let (listener, raw_addr) = raw_listener().await;
    let mut probe = transport.probe(raw_addr, "who?".into(), LONG);
    let mut stream = tokio::select! {
        stream = accept(&listener) => stream,
        reply = &mut probe => panic!("{reply:?}"),
    };
    read_exact(&mut stream, 9).await;
    drop(probe);
    assert_eq!(read_to_end(&mut stream).await, b"");
}

#[tokio::test]
async fn a_question_out_of_bounds_is_a_local_fault() {
    let (one, two) = (open().await, open().await);
    for question in [vec![], vec![1; CHECK_BYTES_MAX + 1]] {
        assert_eq!(one.probe(addr(&two), question.into(), LONG).await, ProbeReply::LocalFault);
    }
}

//= docs/protocol.md#wr-4
#[tokio::test]
async fn a_check_that_nobody_answers_is_closed_in_its_time() {
    let two = open_with(|limits| limits.unanswered_check = SHORT).await;
    let one = open().await;
    assert_eq!(in_time(one.probe(addr(&two), "who?".into(), LONG)).await, ProbeReply::Reset);
    assert_eq!(two.stats().connections_cut, 1);
}

#[tokio::test]
async fn a_malformed_check_is_cut_and_not_delivered() {
    let transport = open().await;
    let mut trailing = framed(b"who?");
    trailing.push(0);
    for question in [&framed(&[1; CHECK_BYTES_MAX + 1])[..], &[0; 4], &trailing] {
        let mut raw = TcpStream::connect(addr(&transport)).await.unwrap();
        raw.write_all(&[b"C", question].concat()).await.unwrap();
        assert_eq!(read_to_end(&mut raw).await, b"");
    }
    assert_eq!(transport.stats().frames_dropped, 3);
    // Nothing arrived before this.
    let other = open().await;
    other.send(&mut vec![datagram(addr(&transport), "next")]).await.unwrap();
    assert_eq!(bytes(&receive_one(&transport).await), "next");
}
