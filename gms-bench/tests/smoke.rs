//! The real program measures a small cluster of real processes, and says what is wrong with bad usage.

use std::process::{Command, Output};

use serde_json::Value;

fn gms_bench(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gms-bench")).args(words).output().expect("the program runs")
}

#[test]
fn a_killed_member_is_noticed_and_the_report_says_when() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new").join("folder");
    let run = gms_bench(&[
        "compare",
        "--peers",
        "none",
        "--scenarios",
        "crash,host-loss",
        "--members",
        "3",
        "--victims",
        "1",
        "--member-timeout",
        "500ms",
        "--settle",
        "0s",
        "--repeats",
        "2",
        "--loopback",
        "--out",
        out.to_str().unwrap(),
    ]);
    let (said, complained) = (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert!(run.status.success(), "{said}\n{complained}");
    assert!(complained.contains("left out: host-loss: --loopback says so"), "{complained}");
    assert_eq!(said, std::fs::read_to_string(out.join("report.md")).unwrap());
    assert!(said.contains("| gms (T 0.5 s) | ") && said.contains("| gms (QUIC, T 0.5 s) | "), "{said}");

    let report: Value = serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4, "two repetitions over two transports");
    for run in runs {
        let noticed = &run["outcome"]["noticed"];
        assert_eq!(noticed["survivors_s"].as_array().unwrap().len(), 2);
        assert!(noticed["last_s"].as_f64().unwrap() > 0.0, "{run}");
        assert_eq!(noticed["views"], 1, "{run}");
    }
    assert!(std::fs::read_to_string(out.join("time-to-notice-3.svg")).unwrap().contains("</svg>"));

    // Reports of two runs become one.
    let report = out.join("report.json");
    let (report, both) = (report.to_str().unwrap(), dir.path().join("both"));
    let rendered = gms_bench(&["render", report, report, "--out", both.to_str().unwrap()]);
    assert!(rendered.status.success());
    assert!(String::from_utf8(rendered.stdout).unwrap().contains(" (4) |"));
}

#[test]
fn bad_usage_ends_with_2_and_says_what_to_do() {
    for (words, hint) in [
        (&["compare", "--members", "10", "--victims", "5"][..], "is not less than half of 10 members"),
        (&["compare", "--member-timeout", "1ms"], "--member-timeout 1ms is out of bounds: from 100ms to 10m"),
        (&["compare", "--loopback", "--scenarios", "host-loss"], "none of these scenarios can be run here"),
        (&["render", "/nowhere/report.json", "--out", "/tmp"], "/nowhere/report.json is no report"),
    ] {
        let run = gms_bench(words);
        let complained = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{words:?}: {complained}");
        assert!(complained.contains(hint), "{words:?}: {complained}");
    }
}
