//! Effects over the network in memory.

use super::*;
use crate::codec::{decode_check_request, decode_datagram, decode_frame, encode_check_answer};
use crate::member::ClusterTag;
use crate::message::{Answers, DatagramBody, Flags, FrameBody, Head, RequestId};
use crate::runtime::memory::{MemoryNetwork, MemoryTransport};
use crate::testing::{CLUSTER, addr, id};
use crate::transport::Incoming;
use crate::view::ViewId;

const LONG: Duration = Duration::from_secs(60);

fn pair() -> (MemoryNetwork, Effects, MemoryTransport) {
    let network = MemoryNetwork::new();
    let effects = Effects::new(Arc::new(network.bind(addr(0))));
    let peer = network.bind(addr(1));
    (network, effects, peer)
}

fn head() -> Head {
    Head {
        cluster: ClusterTag::NONE,
        sender: id(0).short(),
        recipient: id(1).short(),
        view: ViewId(1),
        accepted: None,
        flags: Flags::default(),
        number: 1,
        echo: None,
        quorate_for_ms: None,
    }
}

fn datagram(n: u64) -> Datagram {
    Datagram { head: head(), body: DatagramBody::Heartbeat { answers: Answers::Request(RequestId(n)) } }
}

fn frame(n: u64) -> Frame {
    Frame { head: head(), body: FrameBody::ViewRequest { held: ViewId(n) } }
}

fn target() -> CheckTarget {
    CheckTarget {
        address: addr(1),
        request: CheckRequest { cluster: CLUSTER, target: id(1), view: ViewId(1) },
    }
}

async fn received(transport: &MemoryTransport, count: usize) -> Vec<Incoming> {
    let mut incoming = Vec::new();
    while incoming.len() < count {
        timeout(LONG, transport.receive(&mut incoming)).await.expect("it comes").unwrap();
    }
    incoming
}

async fn report(effects: &mut Effects) -> Report {
    loop {
        if let Some(report) = timeout(LONG, effects.wait()).await.expect("a task ends") {
            return report;
        }
    }
}

#[tokio::test]
async fn datagrams_of_a_turn_leave_in_their_order() {
    let (_network, mut effects, peer) = pair();
    for n in 0..10 {
        effects.send(addr(1), &datagram(n)).unwrap();
    }
    effects.flush().await.unwrap();
    effects.send(addr(1), &datagram(10)).unwrap();
    effects.flush().await.unwrap();
    for (n, incoming) in (0..).zip(received(&peer, 11).await) {
        let Incoming::Datagram { from, bytes, .. } = incoming else { panic!("{incoming:?}") };
        assert_eq!((from, decode_datagram(&bytes)), (addr(0), Ok(datagram(n))));
    }
}

#[tokio::test]
async fn frames_to_one_destination_arrive_in_order_and_are_reported() {
    let (_network, mut effects, peer) = pair();
    for n in 0..50 {
        effects.send_frame(FrameToken(n), Destination::Address(addr(1)), &frame(n), LONG);
    }
    for n in 0..50 {
        assert!(matches!(report(&mut effects).await, Report::FrameSent { token } if token == FrameToken(n)));
    }
    for (n, incoming) in (0..).zip(received(&peer, 50).await) {
        let Incoming::Frame { bytes, .. } = incoming else { panic!("{incoming:?}") };
        assert_eq!(decode_frame(&bytes), Ok(frame(n)));
    }
}

#[tokio::test]
async fn a_frame_to_nobody_fails_with_its_name() {
    let (_network, mut effects, _peer) = pair();
    let nobody = Destination::Address(addr(9));
    effects.send_frame(FrameToken(7), nobody, &frame(1), LONG);
    match report(&mut effects).await {
        Report::FrameFailed { token, to, name, failure } => {
            assert_eq!((token, to, name), (FrameToken(7), nobody, "ViewRequest"));
            assert_eq!(failure, SendFailure::Refused);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn frames_beyond_the_bound_fail_at_once() {
    let (network, mut effects, _peer) = pair();
    network.cut(addr(0), addr(1));
    for n in 0..=FRAMES_IN_FLIGHT_MAX as u64 {
        effects.send_frame(FrameToken(n), Destination::Address(addr(1)), &frame(n), LONG);
    }
    assert!(effects.has_reports());
    let mut reports = Vec::new();
    effects.take(&mut reports);
    let last = FrameToken(FRAMES_IN_FLIGHT_MAX as u64);
    let expected = |r: &Report| matches!(r, Report::FrameFailed { token, failure: SendFailure::NotQueued, .. } if *token == last);
    assert!(reports.len() == 1 && reports.iter().all(expected), "{reports:?}");
}

#[tokio::test]
async fn each_answer_of_a_probe_has_its_outcome() {
    let table = [
        (encode_check_answer(&CheckAnswer::Ok), ProbeOutcome::Ok),
        (encode_check_answer(&CheckAnswer::Other(id(5))), ProbeOutcome::Other(id(5))),
        (encode_check_answer(&CheckAnswer::Other(id(1))), ProbeOutcome::Garbage),
        (encode_check_answer(&CheckAnswer::Sick), ProbeOutcome::Sick),
        (vec![1, 9, 9], ProbeOutcome::Garbage),
        (Vec::new(), ProbeOutcome::Garbage),
    ];
    let (_network, mut effects, peer) = pair();
    for (n, (answer, expected)) in (0..).zip(table) {
        effects.start_probe(ProbeId(n), target(), LONG);
        let question = tokio::select! {
            question = received(&peer, 1) => question,
            report = report(&mut effects) => panic!("{report:?}"),
        };
        let [Incoming::Check { handle, bytes, .. }] = &question[..] else { panic!("{question:?}") };
        assert_eq!(decode_check_request(bytes), Ok(target().request));
        peer.answer_check(*handle, answer.into()).await;
        match report(&mut effects).await {
            Report::ProbeDone { probe, outcome, .. } => assert_eq!((probe, outcome), (ProbeId(n), expected)),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_probe_of_nobody_is_refused_and_one_into_a_cut_times_out() {
    let (network, mut effects, _peer) = pair();
    let nobody = CheckTarget { address: addr(9), ..target() };
    effects.start_probe(ProbeId(1), nobody, LONG);
    assert!(matches!(report(&mut effects).await, Report::ProbeDone { outcome: ProbeOutcome::Refused, .. }));
    network.cut(addr(1), addr(0));
    effects.start_probe(ProbeId(2), target(), Duration::from_millis(10));
    assert!(matches!(report(&mut effects).await, Report::ProbeDone { outcome: ProbeOutcome::TimedOut, .. }));
}

#[tokio::test]
async fn a_stopped_probe_reports_nothing() {
    let (_network, mut effects, peer) = pair();
    effects.start_probe(ProbeId(1), target(), LONG);
    effects.start_probe(ProbeId(2), target(), LONG);
    let questions = tokio::select! {
        questions = received(&peer, 2) => questions,
        report = report(&mut effects) => panic!("{report:?}"),
    };
    effects.stop_probe(ProbeId(1));
    for question in questions {
        let Incoming::Check { handle, .. } = question else { panic!("{question:?}") };
        peer.answer_check(handle, encode_check_answer(&CheckAnswer::Ok).into()).await;
    }
    assert!(matches!(report(&mut effects).await, Report::ProbeDone { probe: ProbeId(2), .. }));
    let mut rest = Vec::new();
    while effects.is_busy() {
        tokio::task::yield_now().await;
        effects.take(&mut rest);
    }
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn after_a_reset_nothing_of_before_is_reported() {
    let (network, mut effects, _peer) = pair();
    network.cut(addr(0), addr(1));
    effects.send_frame(FrameToken(1), Destination::Address(addr(1)), &frame(1), Duration::from_millis(1));
    effects.start_probe(ProbeId(1), target(), Duration::from_millis(1));
    effects.reset();
    assert!(!effects.is_busy());
    effects.send_frame(FrameToken(2), Destination::Address(addr(9)), &frame(1), LONG);
    assert!(matches!(report(&mut effects).await, Report::FrameFailed { token: FrameToken(2), .. }));
}
