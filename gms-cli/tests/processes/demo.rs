//! The demo, as a stranger starts it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Guard, gms, outcome, run};

fn report(args: &[&str]) -> Value {
    let output = run(&[&["demo", "--json", "--member-timeout", "500ms"], args].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_killed_member_is_out_of_every_survivors_view() {
    let report = report(&[]);
    assert_eq!(report["ok"], true);
    let run = &report["runs"][0];
    assert_eq!(run["survivors"].as_array().unwrap().len(), 4, "{report}");
    assert!(report["last_ms"]["max"].as_f64().unwrap() > 0.0);
}

#[test]
fn so_it_is_over_quic_and_a_coordinator_too() {
    for more in [&[][..], &["--coordinator", "--quic-watch", "tcp"]] {
        let report = report(&[&["--transport", "quic"], more].concat());
        assert_eq!((&report["ok"], &report["transport"]), (&true.into(), &"quic".into()), "{report}");
    }
}

#[test]
fn a_stopped_coordinator_is_out_and_comes_back() {
    let report = report(&["--members", "3", "--fault", "stop", "--coordinator"]);
    let run = &report["runs"][0];
    assert_eq!(run["victims"][0], run["coordinator"]);
    assert!(run["continued"][0]["rejoined_ms"].as_f64().unwrap() > 0.0, "{report}");
}

#[test]
fn a_leaver_is_out_without_suspicion_and_the_story_shows_it() {
    let dir = tempfile::tempdir().unwrap();
    let picture = dir.path().join("leave.svg").display().to_string();
    let output = run(&[
        "demo",
        "--members",
        "3",
        "--member-timeout",
        "500ms",
        "--fault",
        "leave",
        "--diagram",
        &picture,
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("is told to leave (SIGTERM)") && text.contains("last survivor after"), "{text}");
    assert!(!text.contains("suspects"), "{text}");
    assert!(std::fs::read_to_string(&picture).unwrap().starts_with("<svg"));
}

#[test]
fn nonsense_ends_with_two() {
    for (args, hint) in [
        (&["--members", "1"][..], "2..=100"),
        (&["--members", "3", "--victims", "2"], "leaves no majority"),
        (&["--member-timeout", "1ms"], "--member-timeout is 1ms"),
        (&["--diagram", "death.gif"], ".svg, .mmd (Mermaid) or .puml"),
    ] {
        let (code, said) = outcome(&[&["demo"], args].concat());
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(hint), "{said}");
    }
}

/// Pids of the processes that `parent` started.
fn children(parent: u32) -> Vec<i32> {
    let listed =
        std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn interrupted_by(signal: Signal) {
    // A killed demo can't remove its temporary files: here they go with the test.
    let dir = tempfile::tempdir().unwrap();
    let child = gms(&["demo", "--members", "3", "--member-timeout", "5s"])
        .env("TMPDIR", dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut demo = Guard(child);
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let members = children(demo.0.id());
    assert_eq!(members.len(), 3, "{first}");
    kill_process(Pid::from_child(&demo.0), signal).unwrap();
    demo.ended();
    let deadline = std::time::Instant::now() + crate::support::DEADLINE;
    let runs = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while members.iter().any(runs) {
        assert!(std::time::Instant::now() < deadline, "members outlive their demo");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn an_interrupted_demo_leaves_nothing_running() {
    interrupted_by(Signal::INT);
}

#[test]
fn a_killed_demo_leaves_nothing_running() {
    interrupted_by(Signal::KILL);
}
