//! The documented lines of a trace.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use gms_core::event::Event;
use gms_core::evidence::{ProbeOutcome, Reason};
use gms_core::member::{ClusterId, ClusterTag, Endpoint, Member, MemberId, ShortId};
use gms_core::message::{
    Answers, CheckAnswer, CheckRequest, Datagram, DatagramBody, Echo, Flags, Frame, FrameBody, Head,
    RequestId,
};
use gms_core::output::{CheckTarget, Destination};
use gms_core::runtime::{StepKind, TraceSink as _, TraceStep};
use gms_core::time::Timestamp;
use gms_core::view::ViewId;

use super::*;
use crate::names::Names;
use crate::sink::LineSink;

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn id(n: u8) -> MemberId {
    MemberId::from_bytes([n; 16])
}

fn head(sender: u8, recipient: ShortId) -> Head {
    Head {
        cluster: ClusterTag::NONE,
        sender: id(sender).short(),
        recipient,
        view: ViewId(4),
        accepted: None,
        flags: Flags { isolated: true, ..Flags::default() },
        number: 17,
        echo: Some(Echo { number: 12, age_us: 5 }),
        quorate_for_ms: None,
    }
}

/// The lines that these steps of member 1 make, without the fields that all have.
fn lines(steps: &[StepKind<'_>]) -> Vec<String> {
    let page = Page::default();
    let sink = LineSink::spawn("test", 100, page.clone(), |_| String::new()).unwrap();
    let mut trace = JsonTrace::new(sink.clone(), Names::default());
    let me = Member::new(id(1), "m1", Endpoint::single(([127, 0, 0, 1], 7001).into()));
    for kind in steps {
        trace.record(TraceStep {
            at: Timestamp::from_millis(5),
            wall: UNIX_EPOCH,
            me: &me,
            kind: kind.clone(),
        });
    }
    sink.flush(Duration::from_secs(30));
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    let common =
        r#"{"at_ns":5000000,"wall":"1970-01-01T00:00:00.000000Z","me":"m1","id":"0101010101010101","step":"#;
    text.lines()
        .map(|line| line.strip_prefix(common).unwrap_or_else(|| panic!("{line}")).to_owned())
        .collect()
}

#[test]
fn steps_are_written_as_documented() {
    let peer = ([127, 0, 0, 1], 7002).into();
    let request = Datagram {
        head: head(1, id(2).short()),
        body: DatagramBody::HeartbeatRequest {
            target: id(2),
            request: RequestId(255),
            reason: Reason::Silent,
        },
    };
    let answer = Datagram {
        head: head(2, id(1).short()),
        body: DatagramBody::Heartbeat { answers: Answers::Request(RequestId(255)) },
    };
    let frame = Frame { head: head(1, ShortId::default()), body: FrameBody::ViewRequest { held: ViewId(3) } };
    let check = CheckRequest { cluster: ClusterId::from_bytes([9; 16]), target: id(2), view: ViewId(4) };
    let target = CheckTarget { address: peer, request: check.clone() };
    let m2 = Member::new(id(2), "m2", Endpoint::single(peer));
    let join = Frame {
        head: head(2, ShortId::default()),
        body: FrameBody::Join {
            cluster_name: "c".into(),
            member: m2,
            timing: Default::default(),
            asked_in: ViewId(0),
        },
    };
    let written = lines(&[
        StepKind::SentDatagram { to: peer, datagram: &request },
        StepKind::ReceivedFrame { from: peer, frame: &join },
        StepKind::ReceivedDatagram { from: peer, datagram: &answer },
        StepKind::SentFrame { to: Destination::Address(peer), frame: &frame },
        StepKind::ProbeStarted { target: &target },
        StepKind::ProbeDone { target: &target, outcome: ProbeOutcome::TimedOut },
        StepKind::CheckAsked { from: peer, request: &check },
        StepKind::CheckAnswered { answer: CheckAnswer::Sick },
        StepKind::Event(&Event::Lagged(3)),
    ]);
    let expected = [
        r#""incarnation","addr":"127.0.0.1:7001","check_addr":"127.0.0.1:7001"}"#,
        concat!(
            r#""sent","channel":"datagram","message":"HeartbeatRequest","peer":"127.0.0.1:7002","#,
            r#""peer_id":"0202020202020202","peer_addr":"127.0.0.1:7002","view":4,"number":17,"echo":12,"#,
            r#""flags":["isolated"],"member":"02020202","request":"00000000000000ff","reason":"silent"}"#
        ),
        concat!(
            r#""received","channel":"stream","message":"Join","peer":"m2","peer_id":"0202020202020202","#,
            r#""peer_addr":"127.0.0.1:7002","view":4,"number":17,"echo":12,"flags":["isolated"],"cluster":"c","member":"m2"}"#
        ),
        concat!(
            r#""received","channel":"datagram","message":"Heartbeat","peer":"m2","peer_id":"0202020202020202","#,
            r#""peer_addr":"127.0.0.1:7002","view":4,"number":17,"echo":12,"flags":["isolated"],"answers":"request","#,
            r#""request":"00000000000000ff"}"#
        ),
        concat!(
            r#""sent","channel":"stream","message":"ViewRequest","peer":"127.0.0.1:7002","peer_addr":"127.0.0.1:7002","#,
            r#""view":4,"number":17,"echo":12,"flags":["isolated"],"held":3}"#
        ),
        r#""probe","peer":"m2","peer_id":"0202020202020202","peer_addr":"127.0.0.1:7002","view":4}"#,
        r#""probe_done","peer":"m2","peer_id":"0202020202020202","peer_addr":"127.0.0.1:7002","view":4,"outcome":"timed_out"}"#,
        r#""check_asked","peer_addr":"127.0.0.1:7002","member":"m2","target":"0202020202020202","view":4}"#,
        r#""check_answered","answer":"sick"}"#,
        r#""event","event":"lagged","missed":3}"#,
    ];
    assert_eq!(written, expected);
}

#[test]
fn half_a_line_is_no_line() {
    assert_eq!(parse(r#"{"at_ns":5,"me":"m1","step":"se"#), None);
    let line = parse(r#"{"at_ns":5,"me":"m1","step":"sent","peer":null,"held":3,"new":[]}"#).unwrap();
    assert_eq!((line.at_ns, line.peer.as_deref(), line.count("held")), (5, None, Some(3)));
}
