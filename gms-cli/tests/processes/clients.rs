//! HTTP and the client commands against running members.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{DEADLINE, Guard, Member, cluster, gms, outcome, run};

fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn members_and_view_show_the_cluster() {
    let members = cluster(3);
    let at = &members[1].http;
    let table = stdout(&["members", "--at", at]);
    assert_eq!(table.lines().count(), 4, "{table}");
    let list: Value =
        serde_json::from_str(&stdout(&["members", "--at", at, "--json", "--name", "m[12]"])).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2);
    let suspects = stdout(&["members", "--at", at, "--json", "--status", "suspect"]);
    assert_eq!(suspects, "[]\n");
    let view: Value = serde_json::from_str(&stdout(&["view", "--at", at, "--json"])).unwrap();
    assert_eq!(
        (&view["me"], &view["state"], &view["coordinator"]),
        (&"m2".into(), &"member".into(), &"m1".into())
    );
    assert!(stdout(&["view", "--at", at]).contains("coordinator  m1"));
}

#[test]
fn commands_reach_the_cluster() {
    let mut members = cluster(3);
    let at = members[0].http.clone();
    assert_eq!(stdout(&["check", "m2", "--at", &at]), "m2: alive\n");
    let (code, said) = outcome(&["check", "m9", "--at", &at]);
    assert_eq!((code, said.as_str()), (1, "gms: there is no member \"m9\"; members are: m1, m2, m3\n"));
    stdout(&["suspect", "m2", "--reason", "test", "--at", &at]);
    members[0].wait_event("final_check_passed");
    stdout(&["remove", "m3", "--reason", "scrapped", "--at", &at]);
    let view = members[0].wait_gone("expelled", "m3");
    assert_eq!(view["expulsions"][0]["reason"], "scrapped");
    assert_eq!(members[2].wait_event("excluded")["reason"], "scrapped");
    let at = members[1].http.clone();
    assert_eq!(stdout(&["leave", "--at", &at]), "left\n");
    members[0].wait_gone("left", "m2");
    assert_eq!(members[1].ended(), Some(0));
}

#[test]
fn a_member_without_its_majority_makes_clients_end_with_six() {
    let mut members = cluster(3);
    members[1].signal(Signal::STOP);
    members[2].signal(Signal::STOP);
    members[0].wait_event("isolated");
    let (code, _) = outcome(&["view", "--at", &members[0].http]);
    assert_eq!(code, 6);
    let (status, why) = members[0].http("GET /readyz", "");
    assert_eq!(status, 503, "{why}");
    assert_eq!(members[0].http("GET /healthz", "").0, 200);
}

#[test]
fn events_are_followed_until_the_member_stops() {
    let mut members = cluster(2);
    let mut follower =
        Guard(gms(&["events", "--json", "--at", &members[1].http]).stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(follower.0.stdout.take().unwrap()).lines();
    // A first event proves that the follower listens: until it comes, members join and leave.
    let seed = members[0].addr.clone();
    let mut extra = Member::start("m3", &[&seed]);
    extra.wait_event("joined");
    extra.signal(Signal::TERM);
    members[1].wait_gone("left", "m3");
    members[1].signal(Signal::TERM);
    let events: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert_eq!(events.last().unwrap()["event"], "stopped", "{events:?}");
    assert!(follower.ended().success());
}

#[test]
fn a_reader_of_events_resumes_where_it_broke() {
    let mut members = cluster(2);
    let read = |last: u64| {
        let mut stream = TcpStream::connect(&members[0].http).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        write!(stream, "GET /v1/events HTTP/1.1\r\nhost: x\r\nlast-event-id: {last}\r\n\r\n").unwrap();
        let ids = BufReader::new(stream).lines().map_while(Result::ok);
        ids.filter_map(|line| line.strip_prefix("id: ").and_then(|id| id.parse::<u64>().ok()))
    };
    let first: Vec<u64> = read(0).take(2).collect();
    let again: Vec<u64> = read(first[0]).take(1).collect();
    assert_eq!(again, first[1..]);
    assert!(members[0].is_running());
}

#[test]
fn the_program_of_on_event_gets_each_event_and_a_hung_one_holds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let script = |name: &str, body: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let log = dir.path().join("log");
    let noting = script(
        "noting",
        &format!("cat >> {log}; echo \"$GMS_EVENT\" | head -c 1 >> {log}", log = log.display()),
    );
    let hung = script("hung", "exec sleep 1000");
    let mut first = Member::start_at("m1", "127.0.0.1:0", &[], &["--on-event", &noting]);
    first.wait_event("joined");
    let seed = first.addr.clone();
    let mut second = Member::start_at("m2", "127.0.0.1:0", &[&seed], &["--on-event", &hung]);
    second.wait_event("joined");
    second.signal(Signal::TERM);
    assert_eq!(second.ended(), Some(0));
    first.wait_gone("left", "m2");
    first.signal(Signal::TERM);
    assert_eq!(first.ended(), Some(0));
    let noted = std::fs::read_to_string(&log).unwrap();
    assert!(noted.contains("\"event\":\"started\"") && noted.contains("\"event\":\"joined\""), "{noted}");
}

#[test]
fn a_reader_that_never_reads_holds_neither_the_member_nor_its_end() {
    let mut member = Guard(
        gms(&[
            "run",
            "--bind",
            "127.0.0.1:0",
            "--http",
            "off",
            "--log",
            "trace",
            "--member-timeout",
            "500ms",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(member.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("started"), "{line}");
    rustix::process::kill_process(rustix::process::Pid::from_child(&member.0), Signal::TERM).unwrap();
    assert!(member.ended().success());
}
