//! The HTTP interface over real connections, with a member that is none.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gms_core::event::{State, Status, StopReason};
use gms_core::evidence::Verdict;
use gms_core::member::MemberId;
use serde_json::json;

use super::*;
use crate::status_json::tests::alone;

/// A member in some state, with a second one beside it.
struct Fake {
    state: State,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }
}

#[async_trait]
impl Control for Fake {
    async fn status(&self) -> Result<Status, Refused> {
        let mut status = Status { state: self.state, ..alone() };
        let mut other = status.members[0].clone();
        other.member.name = "m 2".into();
        other.member.id = MemberId::from_bytes([2; 16]);
        status.members.push(other);
        Ok(status)
    }

    async fn suspect(&self, _: MemberId, reason: String) -> Result<(), Refused> {
        self.note(format!("suspect: {reason}"));
        Ok(())
    }

    async fn check(&self, _: MemberId) -> Result<Verdict, Refused> {
        Ok(Verdict::Silent)
    }

    async fn remove(&self, _: MemberId, reason: String) -> Result<(), Refused> {
        self.note(format!("remove: {reason}"));
        Err(Refused::NotNow)
    }

    async fn leave(&self) -> StopReason {
        self.note("leave".into());
        StopReason::Left
    }
}

struct Running {
    server: Option<Server>,
    addr: SocketAddr,
    history: History,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
    }
}

fn serve(state: State, writes: Writes) -> Running {
    serve_within(Limits::default(), state, writes)
}

fn serve_within(limits: Limits, state: State, writes: Writes) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let history = History::new(4);
    let asked = Arc::default();
    let app = App {
        control: Box::new(Fake { state, asked: Arc::clone(&asked) }),
        cluster: "test".into(),
        config: json!({ "cluster": "test" }),
        history: history.clone(),
        writes,
    };
    Running { server: Some(Server::start_within(limits, listener, app).unwrap()), addr, history, asked }
}

impl Running {
    /// The status and the body of the answer.
    fn ask(&self, request: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream =
            self.open(request, &format!("{headers}connection: close\r\ncontent-length: {}\r\n", body.len()));
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn open(&self, request: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.addr).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(stream, "{request} HTTP/1.1\r\nhost: x\r\n{headers}\r\n").unwrap();
        stream
    }

    fn detail(&self, request: &str, headers: &str, body: &str) -> (u16, String) {
        let (status, body) = self.ask(request, headers, body);
        let problem: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(problem["status"], status);
        (status, problem["detail"].as_str().unwrap().to_owned())
    }
}

const JSON: &str = "content-type: application/json\r\n";

#[test]
fn reads_are_answered() {
    let running = serve(State::Member, Writes::Nobody);
    let (status, view) = running.ask("GET /v1/view", "", "");
    let view: Value = serde_json::from_str(&view).unwrap();
    assert_eq!((status, &view["me"], &view["members"][1]["name"]), (200, &json!("m1"), &json!("m 2")));
    let (status, member) = running.ask("GET /v1/members/m%202", "", "");
    assert_eq!((status, member.contains("\"name\":\"m 2\"")), (200, true));
    let (status, config) = running.ask("GET /v1/config", "", "");
    assert_eq!((status, config.contains("\"member_timeout_ms\":5000")), (200, true));
    assert_eq!(running.ask("GET /healthz", "", "").0, 200);
    assert_eq!(running.ask("GET /readyz", "", "").0, 200);
}

#[test]
fn an_isolated_member_is_healthy_but_not_ready_and_says_why() {
    let running = serve(State::Isolated, Writes::Anyone);
    assert_eq!(running.ask("GET /healthz", "", "").0, 200);
    let (status, why) = running.detail("GET /readyz", "", "");
    assert_eq!(status, 503);
    assert!(why.starts_with("not ready (isolated): "), "{why}");
}

#[test]
fn an_unknown_member_is_answered_with_the_known_ones() {
    let running = serve(State::Member, Writes::Anyone);
    let (status, detail) = running.detail("GET /v1/members/m3", "", "");
    assert_eq!((status, detail.as_str()), (404, "there is no member \"m3\"; members are: m1, m 2"));
    assert_eq!(running.detail("GET /nothing", "", "").0, 404);
    let (status, detail) = running.detail("GET /v1/members/%ff", "", "");
    assert_eq!((status, detail.contains("percent-encoded")), (400, true), "{detail}");
    assert_eq!(running.detail("POST /v1/view", "", "").0, 405);
}

#[test]
fn writes_reach_the_member_with_their_reason() {
    let running = serve(State::Member, Writes::Anyone);
    let (status, _) = running.ask("POST /v1/members/m%202/suspect", JSON, r#"{"reason":"slow"}"#);
    assert_eq!(status, 202);
    let (status, checked) = running.ask("POST /v1/members/m%202/check", "", "");
    assert_eq!((status, checked.as_str()), (200, r#"{"member":"m 2","verdict":"silent"}"#));
    let (status, why) = running.detail("POST /v1/members/m%202/remove", JSON, r#"{"reason":"scrapped"}"#);
    assert_eq!((status, why.contains("ask another member")), (409, true));
    assert_eq!(running.ask("POST /v1/leave", "", ""), (200, r#"{"stopped":"left"}"#.to_owned()));
    assert_eq!(*running.asked.lock().unwrap(), ["suspect: slow", "remove: scrapped", "leave"]);
}

#[test]
fn bad_writes_are_refused_with_what_to_send() {
    let running = serve(State::Member, Writes::Anyone);
    let suspect = "POST /v1/members/m%202/suspect";
    assert_eq!(running.detail(suspect, "", r#"{"reason":"slow"}"#).0, 415);
    assert_eq!(running.detail(suspect, JSON, "{").0, 400);
    assert_eq!(running.detail(suspect, JSON, "{}").0, 422);
    assert_eq!(running.detail(suspect, JSON, &format!("{{\"reason\":\"{}\"}}", "x".repeat(600))).0, 422);
    assert_eq!(running.detail(suspect, JSON, &"x".repeat(BODY_BYTES_MAX + 1)).0, 413);
    assert_eq!(running.detail("POST /v1/members/m1/remove", JSON, r#"{"reason":"r"}"#).0, 409);
    assert_eq!(running.detail(suspect, "origin: http://evil.example\r\n", "").0, 403);
    assert!(running.asked.lock().unwrap().is_empty());
}

#[test]
fn a_token_guards_writes_but_not_reads() {
    let running = serve(State::Member, Writes::Bearer("secret".into()));
    assert_eq!(running.ask("GET /v1/view", "", "").0, 200);
    assert_eq!(running.detail("POST /v1/leave", "", "").0, 401);
    assert_eq!(running.detail("POST /v1/leave", "authorization: Bearer secreT\r\n", "").0, 401);
    assert_eq!(running.ask("POST /v1/leave", "authorization: Bearer secret\r\n", "").0, 200);
}

#[test]
fn beyond_loopback_nobody_writes_without_a_token() {
    assert_eq!(writes(([127, 0, 0, 1], 1).into(), None), Writes::Anyone);
    assert_eq!(writes(([10, 0, 0, 1], 1).into(), None), Writes::Nobody);
    assert_eq!(writes(([0, 0, 0, 0], 1).into(), Some("t".into())), Writes::Bearer("t".into()));
    let running = serve(State::Member, Writes::Nobody);
    let (status, detail) = running.detail("POST /v1/leave", "", "");
    assert_eq!((status, detail.contains("--http-token")), (403, true));
}

#[test]
fn events_resume_after_the_last_one_seen_and_end_with_the_member() {
    let running = serve(State::Member, Writes::Anyone);
    let push = |n: u64| {
        let json = format!("{{\"n\":{n}}}").into();
        running.history.push(Entry { sequence: n, name: "paused".into(), json });
    };
    (1..=3).for_each(push);
    let mut stream = running.open("GET /v1/events", "last-event-id: 1\r\nconnection: close\r\n");
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("id: 3") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    push(4);
    running.history.close();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    let all = String::from_utf8_lossy(&seen).into_owned() + &rest;
    let ids: Vec<&str> = all.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert_eq!(ids, ["2", "3", "4"]);
    assert!(all.contains("event: paused"), "{all}");
    assert!(all.contains(r#"data: {"n":2}"#), "{all}");
}

/// Reads until the text is there.
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "it ended after {}", String::from_utf8_lossy(&seen));
        seen.extend(byte);
    }
    String::from_utf8_lossy(&seen).into_owned()
}

#[test]
fn whoever_holds_connections_without_asking_keeps_nobody_out_and_no_follower_gives_way() {
    // No timeout helps here.
    let limits = Limits { connections: 16, event_readers: 8, request_takes: Duration::from_secs(600) };
    let running = serve_within(limits, State::Member, Writes::Anyone);
    let mut followers: Vec<_> = (0..8).map(|_| running.open("GET /v1/events", "")).collect();
    for follower in &mut followers {
        read_until(follower, "text/event-stream");
    }
    let mut held = Vec::new();
    for _ in 0..40 {
        let mut stream = TcpStream::connect(running.addr).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost").unwrap();
        held.push(stream);
    }
    for _ in 0..20 {
        assert_eq!(running.ask("GET /healthz", "", "").0, 200);
        assert_eq!(running.ask("GET /v1/view", "", "").0, 200);
    }
    running.history.push(Entry { sequence: 1, name: "paused".into(), json: "{}".into() });
    for follower in &mut followers {
        read_until(follower, "id: 1");
    }
}

#[test]
fn one_follower_too_many_is_told_so_and_room_comes_back() {
    let limits = Limits { event_readers: 1, ..Limits::default() };
    let running = serve_within(limits, State::Member, Writes::Anyone);
    let mut follower = running.open("GET /v1/events", "");
    read_until(&mut follower, "text/event-stream");
    let (status, why) = running.detail("GET /v1/events", "", "");
    assert_eq!((status, why.starts_with("too many follow")), (503, true));
    drop(follower);
    // The server sees the end of a connection in its own time: asking again is the only way to learn of it.
    for _ in 0..10_000 {
        let mut stream = running.open("GET /v1/events", "");
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        if head == *b"HTTP/1.1 200" {
            return;
        }
    }
    panic!("the room did not come back");
}

#[test]
fn a_head_a_body_and_a_next_request_must_come_in_time() {
    let limits = Limits { request_takes: Duration::from_millis(50), ..Limits::default() };
    let running = serve_within(limits, State::Member, Writes::Anyone);
    let mut half = TcpStream::connect(running.addr).unwrap();
    half.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    half.write_all(b"GET /healthz HTTP/1.1\r\nhost").unwrap();
    let mut rest = Vec::new();
    half.read_to_end(&mut rest).unwrap();
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
    let mut idle = running.open("GET /healthz", "");
    rest.clear();
    idle.read_to_end(&mut rest).unwrap();
    assert!(rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
    let mut bodiless =
        running.open("POST /v1/members/m%202/suspect", &format!("{JSON}content-length: 9\r\n"));
    rest.clear();
    bodiless.read_to_end(&mut rest).unwrap();
    assert!(rest.starts_with(b"HTTP/1.1 408"), "{rest:?}");
}
