//! Diagrams, to the character.

use super::*;
use crate::trace::{Line, parse};

const MS: u64 = 1_000_000;

/// Builds the trace of one member.
struct Tracer {
    name: &'static str,
    lines: Vec<Line>,
}

impl Tracer {
    fn new(name: &'static str) -> Self {
        let addr = format!("127.0.0.1:{}", 7000 + name.len());
        let mut tracer = Self { name, lines: Vec::new() };
        tracer
            .put(0, &format!(r#""step":"incarnation","addr":"{addr}-{name}","check_addr":"{addr}-{name}""#));
        tracer
    }

    fn put(&mut self, at_ms: u64, fields: &str) {
        let (at, name) = (at_ms * MS, self.name);
        let line = format!(r#"{{"at_ns":{at},"me":"{name}","id":"id-{name}",{fields}}}"#);
        self.lines.push(parse(&line).unwrap());
    }

    fn message(&mut self, at_ms: u64, step: &str, message: &str, peer: &str, number: u64, more: &str) {
        self.put(at_ms, &format!(
            r#""step":"{step}","channel":"datagram","message":"{message}","peer":"{peer}","peer_id":"id-{peer}","number":{number}{more}"#
        ));
    }

    fn event(&mut self, at_ms: u64, event: &str, more: &str) {
        self.put(at_ms, &format!(r#""step":"event","event":"{event}"{more}"#));
    }
}

/// `c` is killed at 100 ms; `b` asks it and accuses it, `a` checks it and removes it.
fn death() -> Sequence {
    let (mut a, mut b, mut c) = (Tracer::new("a"), Tracer::new("b"), Tracer::new("c"));
    for (at, number) in [(90, 1), (110, 2)] {
        a.message(at, "sent", "Heartbeat", "b", number, r#","answers":"nothing""#);
        b.message(at + 1, "received", "Heartbeat", "a", number, r#","answers":"nothing""#);
    }
    c.message(95, "sent", "Heartbeat", "a", 1, r#","answers":"nothing""#);
    b.message(200, "sent", "HeartbeatRequest", "c", 1, r#","member":"c""#);
    b.event(250, "member_suspected", r#","member":"c","by":"b""#);
    b.message(250, "sent", "SuspectMembers", "a", 1, r#","members":["c"]"#);
    b.message(250, "sent", "SuspectMembers", "c", 2, r#","members":["c"]"#);
    a.message(251, "received", "SuspectMembers", "b", 1, r#","members":["c"]"#);
    a.event(251, "final_check_started", r#","member":"c""#);
    a.message(252, "sent", "Heartbeat", "b", 3, r#","answers":"accusation""#);
    b.message(253, "received", "Heartbeat", "a", 3, r#","answers":"accusation""#);
    a.event(300, "view_installed", r#","view":3,"members":["a","b"],"crashed":["c"]"#);
    b.event(302, "view_installed", r#","view":3,"members":["a","b"],"crashed":["c"]"#);
    let window = Window { from_ns: 100 * MS, to_ns: 400 * MS, zero_ns: 100 * MS };
    let mark = Mark { at_ns: 100 * MS, lane: "c".into(), text: "killed".into() };
    let lanes = ["a", "b", "c"].map(String::from);
    Sequence::build(&lanes, &[a.lines, b.lines, c.lines], window, &[mark])
}

#[test]
fn a_death_is_drawn_as_text() {
    let expected = "          ms    a      b      c
      +0.000    |      |      #    killed
    +100.000    |      o------x    HeartbeatRequest(c)
    +150.000    |      *      |    suspects c
    +150.000    <------o------x    SuspectMembers(c)
    +151.000    *      |      |    final check of c begins
    +152.000    o------>      |    Heartbeat (answers accusation)
    +200.000    *      *      |    installs view 3, crashed c
";
    assert_eq!(text(&death()), expected);
}

#[test]
fn a_death_is_drawn_as_mermaid() {
    let expected = "\
sequenceDiagram
    participant L0 as a
    participant L1 as b
    participant L2 as c
    Note over L2: +0.000 ms killed
    L1--xL2: +100.000 ms HeartbeatRequest(c)
    Note over L1: +150.000 ms suspects c
    L1->>L0: +150.000 ms SuspectMembers(c)
    L1--xL2: +150.000 ms SuspectMembers(c)
    Note over L0: +151.000 ms final check of c begins
    L0->>L1: +152.000 ms Heartbeat (answers accusation)
    Note over L0: +200.000 ms installs view 3, crashed c
    Note over L1: +200.000 ms installs view 3, crashed c
";
    assert_eq!(Format::Mermaid.render(&death()), expected);
}

#[test]
fn a_death_is_drawn_as_plantuml() {
    let expected = "\
@startuml
hide footbox
participant \"a\" as L0
participant \"b\" as L1
participant \"c\" as L2
note over L2 : +0.000 ms killed
L1 -->x L2 : +100.000 ms HeartbeatRequest(c)
note over L1 : +150.000 ms suspects c
L1 -> L0 : +150.000 ms SuspectMembers(c)
L1 -->x L2 : +150.000 ms SuspectMembers(c)
note over L0 : +151.000 ms final check of c begins
L0 -> L1 : +152.000 ms Heartbeat (answers accusation)
note over L0 : +200.000 ms installs view 3, crashed c
note over L1 : +200.000 ms installs view 3, crashed c
@enduml
";
    assert_eq!(Format::PlantUml.render(&death()), expected);
}

#[test]
fn a_picture_shows_each_row_once_and_escapes_names() {
    let mut sequence = death();
    sequence.lanes[0] = "<a&b>".into();
    let svg = Format::Svg.render(&sequence);
    assert_eq!(svg.matches("class=\"time\"").count(), 7);
    assert_eq!(svg.matches("class=\"arrow\"").count(), 2);
    assert_eq!(svg.matches("class=\"lost\"").count(), 2);
    assert_eq!(svg.matches("class=\"note\"").count(), 4);
    assert!(svg.contains("&lt;a&amp;b&gt;"), "{svg}");
    assert!(svg.ends_with("</svg>\n"));
}

#[test]
fn answers_of_many_to_one_share_a_row_and_an_answer_never_stands_above_its_question() {
    let (mut a, mut b, mut c) = (Tracer::new("a"), Tracer::new("b"), Tracer::new("c"));
    let fence = r#","members":["d"]"#;
    let fenced = r#","member":"d""#;
    a.message(1, "sent", "Fence", "b", 1, fence);
    a.message(1, "sent", "Fence", "c", 1, fence);
    b.message(1, "received", "Fence", "a", 1, fence);
    c.message(2, "received", "Fence", "a", 1, fence);
    b.message(2, "sent", "Fenced", "a", 1, fenced);
    c.message(3, "sent", "Fenced", "a", 1, fenced);
    a.message(4, "received", "Fenced", "b", 1, fenced);
    a.message(5, "received", "Fenced", "c", 1, fenced);
    let window = Window { from_ns: 0, to_ns: 10 * MS, zero_ns: 0 };
    let lanes = ["a", "b", "c"].map(String::from);
    let sequence = Sequence::build(&lanes, &[a.lines, b.lines, c.lines], window, &[]);
    let expected = "          ms    a      b      c
      +1.000    o------>------>    Fence(d)
      +2.000    <------o------o    Fenced(d)
";
    assert_eq!(text(&sequence), expected);
}

#[test]
fn a_cause_stands_before_its_effect_even_where_clocks_disagree() {
    let (mut a, mut b) = (Tracer::new("a"), Tracer::new("b"));
    a.message(500, "sent", "HeartbeatRequest", "b", 1, r#","member":"b""#);
    b.message(20, "received", "HeartbeatRequest", "a", 1, r#","member":"b""#);
    b.message(21, "sent", "Heartbeat", "a", 1, r#","answers":"request""#);
    a.message(501, "received", "Heartbeat", "b", 1, r#","answers":"request""#);
    let window = Window { from_ns: 0, to_ns: 1000 * MS, zero_ns: 0 };
    let sequence = Sequence::build(&["a", "b"].map(String::from), &[a.lines, b.lines], window, &[]);
    let expected = "          ms    a      b
    +500.000    o------>    HeartbeatRequest(b)
     +21.000    <------o    Heartbeat (answers request)
";
    assert_eq!(text(&sequence), expected);
}

#[test]
fn a_message_whose_sender_was_killed_before_its_trace_was_written_is_shown() {
    let (mut a, b) = (Tracer::new("a"), Tracer::new("b"));
    a.message(5, "received", "Leave", "b", 1, r#","member":"b""#);
    let window = Window { from_ns: 0, to_ns: 10 * MS, zero_ns: 0 };
    let sequence = Sequence::build(&["a", "b"].map(String::from), &[a.lines, b.lines], window, &[]);
    assert_eq!(text(&sequence).lines().last(), Some("      +5.000    <------o    Leave(b)"));
}

#[test]
fn the_extension_names_the_format() {
    assert_eq!(Format::of(Path::new("x.svg")), Ok(Format::Svg));
    assert_eq!(Format::of(Path::new("x.mmd")), Ok(Format::Mermaid));
    assert_eq!(Format::of(Path::new("x.puml")), Ok(Format::PlantUml));
    let refused = Format::of(Path::new("x.png")).unwrap_err();
    assert_eq!(refused.code, crate::exit::Code::Usage);
}
