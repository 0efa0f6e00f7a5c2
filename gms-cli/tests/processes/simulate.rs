//! The simulation, as a stranger starts it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Guard, gms, outcome, run};

/// Flags of a small cluster.
const SMALL: [&str; 7] = ["simulate", "--members", "5", "--member-timeout", "1s", "--for", "15s"];

fn simulated(more: &[&str]) -> (i32, String, String) {
    let output = run(&[&SMALL, more].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_death_is_reported_for_people() {
    let (code, told, said) = simulated(&[]);
    assert_eq!((code, said.as_str()), (0, ""), "{told}");
    for part in [
        "5 members, T 1.00 s, seed 0",
        "losses       1",
        "removals     1",
        "4 live, all in view",
        "x real time",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn the_same_seed_is_the_same_report_and_trace() {
    let dir = tempfile::tempdir().unwrap();
    let twice = ["first.jsonl", "second.jsonl"].map(|name| {
        let file = dir.path().join(name).display().to_string();
        let (code, told, said) =
            simulated(&["--loss", "2%", "--crash", "1", "--seed", "9", "--json", "--trace", &file]);
        assert_eq!(code, 0, "{said}");
        (told, std::fs::read(file).unwrap())
    });
    assert_eq!(twice[0], twice[1]);
    let report: Value = serde_json::from_str(&twice[0].0).unwrap();
    assert_eq!(report["ok"], true);
    let trace = String::from_utf8_lossy(&twice[0].1);
    let first: Value = serde_json::from_str(trace.lines().next().unwrap()).unwrap();
    assert_eq!(first["step"], "incarnation");
}

#[test]
fn the_same_seeds_are_the_same_sum_whichever_core_is_first() {
    let [first, second] = [(); 2].map(|()| {
        let (code, told, said) = simulated(&["--loss", "1%", "--seeds", "5", "--json"]);
        assert_eq!(code, 0, "{said}");
        told
    });
    assert_eq!(first, second);
    let report: Value = serde_json::from_str(&first).unwrap();
    assert_eq!((&report["done"], &report["simulated_ms"]), (&5.into(), &75_000.into()));
}

/// The fields that docs/simulate.md names in the tables beneath a sentence.
fn documented(after: &str) -> Vec<String> {
    let text = include_str!("../../../docs/simulate.md");
    let (_, table) = text.split_once(after).unwrap();
    let rows =
        table.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split('|').nth(1).unwrap().to_owned());
    cells
        .flat_map(|cell| {
            cell.split(',').map(|field| field.trim().trim_matches('`').to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

fn keys(report: &Value) -> Vec<String> {
    let mut keys: Vec<String> = report.as_object().unwrap().keys().cloned().collect();
    keys.sort_unstable();
    keys
}

#[test]
fn the_report_has_the_documented_fields() {
    for (flags, table) in
        [(&["--json"][..], "One run has further:"), (&["--seeds", "2", "--json"], "Many seeds have instead")]
    {
        let (code, told, said) = simulated(flags);
        assert_eq!(code, 0, "{said}");
        let mut expected = [documented("## The report as JSON"), documented(table)].concat();
        expected.sort_unstable();
        assert_eq!(keys(&serde_json::from_str(&told).unwrap()), expected);
    }
}

#[test]
fn an_invariant_that_breaks_ends_with_one_and_its_scenario_breaks_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("small.toml").display().to_string();
    // Nothing heals within a millisecond.
    let hasty = ["--crash", "1", "--crash-detection", "strict", "--at", "14s", "--heal", "1ms"];
    let (code, told, said) = simulated(&[&hasty[..], &["--seeds", "3", "--json", "--save", &file]].concat());
    assert_eq!(code, 1, "{told}");
    assert!(
        said.starts_with("gms: seed 0 breaks \"after healing all live members end in one view\""),
        "{said}"
    );
    let report: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&report["ok"], &report["done"]), (&false.into(), &1.into()));
    let violation = &report["violation"];
    assert_eq!(violation["scenario"], std::fs::read_to_string(&file).unwrap());
    assert!(!violation["steps"].as_array().unwrap().is_empty());
    let command = violation["command"].as_str().unwrap();
    assert!(command.ends_with("--heal 1ms --seed 0") && !command.contains("--seeds"), "{command}");
    let (code, _, again) = {
        let output = run(&["simulate", "--scenario", &file]);
        (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!((code, again), (1, said));
}

#[test]
fn flags_become_a_file_that_is_the_same_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("world.toml").display().to_string();
    let flags = ["--crash", "1", "--leave", "1", "--loss", "1%", "--seed", "4"];
    let (code, toml, said) = simulated(&[&flags[..], &["--print-scenario"]].concat());
    assert_eq!(code, 0, "{said}");
    std::fs::write(&file, toml).unwrap();
    let (_, by_flags, _) = simulated(&[&flags[..], &["--json"]].concat());
    let output = run(&["simulate", "--scenario", &file, "--json"]);
    let by_file = String::from_utf8(output.stdout).unwrap();
    let mut child = Guard(
        gms(&["simulate", "--scenario", "-", "--json"])
            .stdin(std::fs::File::open(&file).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut by_stdin = String::new();
    child.0.stdout.take().unwrap().read_to_string(&mut by_stdin).unwrap();
    assert_eq!(by_stdin, by_file);
    assert_eq!(by_file, by_flags.replace(r#""workload":"flags""#, r#""workload":"scenario""#));
}

#[test]
fn a_program_is_told_why_nothing_was_run() {
    for more in [&[][..], &["--seeds", "2"]] {
        let (code, told, said) = simulated(&[&["--loss", "100%", "--json"], more].concat());
        assert_eq!(code, 1, "{told}");
        let report: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(report["ok"], false);
        let problem = report["problem"].as_str().unwrap();
        assert!(problem.starts_with("seed 0: ") && said.contains(&problem[8..]), "{problem} {said}");
    }
}

#[test]
fn bad_flags_end_with_two() {
    for (flags, hint) in [
        (&["--loss", "2"][..], "not between 0 and 100%"),
        (&["--crash", "6"], "would hit 6 of 5 members"),
        (&["--heal", "5"], "5s, 250ms"),
        (&["--mixed"], "cannot be used with"),
        (&["--seeds", "0"], "1..=1000000000"),
        (&["--trace", "/nonexistent/trace"], "--trace /nonexistent/trace can't be written"),
    ] {
        let (code, _, said) = simulated(flags);
        assert_eq!(code, 2, "{flags:?}: {said}");
        assert!(said.contains(hint), "{flags:?}: {said}");
    }
}

#[test]
fn bad_files_end_with_two_and_name_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bad.toml").display().to_string();
    for (text, hint) in [
        (
            "members = 5\nmembrs = 4\n",
            "bad.toml, line 2, \"membrs = 4\": unknown key `membrs`, possible are members,",
        ),
        ("members = \"five\"\n", "line 1"),
        (
            "[[fault]]\nat = \"1s\"\ndo = \"crash\"\nhost = 5\n",
            "line 1, \"[[fault]]\": host 5 has no process",
        ),
        ("members = 70000\n", "members is 70000"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (code, said) = outcome(&["simulate", "--scenario", &file]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(hint), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn published_scenarios_are_listed() {
    let output = run(&["simulate", "--published", "list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("r2-crashes-1000 "), "{text}");
}

/// What a long run prints that is interrupted once it has begun.
fn interrupted(more: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("trace.jsonl");
    let trace = file.display().to_string();
    let args = [&["simulate", "--members", "5", "--for", "900h", "--trace", &trace], more].concat();
    let mut child = Guard(gms(&args).stdout(Stdio::piped()).spawn().unwrap());
    let deadline = std::time::Instant::now() + crate::support::DEADLINE;
    // It runs, and watches for signals, once there is something in the trace.
    while std::fs::metadata(&file).map_or(0, |meta| meta.len()) == 0 {
        assert!(std::time::Instant::now() < deadline, "nothing is traced");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child.0), Signal::INT).unwrap();
    let line = BufReader::new(child.0.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert_eq!(child.ended().code(), Some(130));
    line
}

#[test]
fn an_interrupted_simulation_reports_what_it_has_and_that_it_is_not_all() {
    let report: Value = serde_json::from_str(&interrupted(&["--json"])).unwrap();
    assert_eq!((&report["interrupted"], &report["ok"]), (&true.into(), &Value::Null));
    assert!(report["simulated_ms"].as_f64().unwrap() < 900.0 * 3_600_000.0);
    let first = interrupted(&["--no-progress"]);
    assert!(first.starts_with("interrupted after ") && first.ends_with(" s of 3240000 s"), "{first}");
}
