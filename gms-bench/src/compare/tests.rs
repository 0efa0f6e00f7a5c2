//! The report as a whole: what is measured in, the text out.

use super::machine::Machine;
use super::report::{FORMAT, Report, Settings};
use super::{charts, markdown};
use crate::outcome::{Idle, Noticed, Outcome, Run, Watched};
use crate::scenario::Scenario;
use crate::system::{Peer, System, Tuning};

fn gms() -> System {
    System::Gms(Tuning::at(std::time::Duration::from_secs(5)))
}

fn noticed(last_s: Option<f64>, views: Option<u64>) -> Noticed {
    Noticed { victims: 1, survivors_s: vec![last_s, Some(0.001)], last_s, views, false_reports: 0 }
}

fn idle(cpu_ms: f64, bytes: f64) -> Idle {
    Idle { cpu_ms, packets: Some(9.04), bytes: Some(bytes), rss_mib: 5.62, false_reports: 0 }
}

fn report() -> Report {
    let serf = System::Peer(Peer::Serf);
    let like_serf = System::Gms(Tuning::lean(std::time::Duration::from_millis(3330)));
    let run = |scenario, system: &System, repeat, outcome| Run {
        scenario,
        system: system.clone(),
        members: 10,
        repeat,
        outcome,
    };
    Report {
        format: FORMAT,
        machine: Machine {
            processor: "Some CPU".into(),
            processors: 2,
            kernel: "6.18".into(),
            load: "0.10".into(),
            gms: "0.1.0".into(),
        },
        settings: Settings {
            member_timeout_ms: 5000,
            victims: 3,
            namespaces: true,
            settle_ms: 10_000,
            idle_for_ms: 30_000,
            loss_percent: 20,
            loss_for_ms: 120_000,
            seed: 1,
        },
        notes: vec!["left out: serf: no".into()],
        runs: vec![
            run(Scenario::Crash, &gms(), 1, Outcome::Noticed(noticed(Some(0.010), Some(1)))),
            run(Scenario::Crash, &gms(), 2, Outcome::Noticed(noticed(Some(0.0302), Some(2)))),
            run(Scenario::Crash, &serf, 1, Outcome::Noticed(noticed(Some(5.5), None))),
            run(Scenario::Crash, &serf, 2, Outcome::Noticed(noticed(None, None))),
            run(Scenario::HostLoss, &gms(), 1, Outcome::Noticed(noticed(Some(6.8), Some(1)))),
            run(Scenario::HostLoss, &serf, 1, Outcome::Noticed(noticed(Some(5.5), None))),
            run(Scenario::Idle, &gms(), 1, Outcome::Idle(idle(0.5, 711.0))),
            run(Scenario::Idle, &serf, 1, Outcome::Idle(idle(1.9, 314.0))),
            run(Scenario::Idle, &like_serf, 1, Outcome::Idle(idle(0.4, 310.0))),
            run(
                Scenario::LossAll,
                &gms(),
                1,
                Outcome::Watched(Watched { false_reports: 0, members_reported: 0 }),
            ),
            run(Scenario::LossAll, &serf, 1, Outcome::Failed("no".into())),
        ],
    }
}

#[test]
fn the_report_names_medians_spread_failures_and_where_others_are_better() {
    let expected = "\
# GMS beside other membership systems

Made by `gms-bench compare` of GMS 0.1.0 on 2 processors (Some CPU), Linux 6.18, load 0.10 at the start. \
Each member is a process with a network namespace of its own; clusters stood for 10 s before a fault. \
Other systems have the defaults that they document for local networks; `gms` means T = 5 s.

`gms (T 3.33 s, interval 1.665 s, recipients 1)` is set to send as many bytes as serf.

Note: left out: serf: no.

## Fault to the last survivor that sees it, 10 members: median / largest (runs)

| system | crash | host-loss |
| --- | --- | --- |
| gms | 20.1 ms / 30.2 ms (2), up to 2 views | 6.80 s / 6.80 s (1) |
| serf | 5.50 s / 5.50 s (1), 1 not noticed | 5.50 s / 5.50 s (1) |

## 20 % loss for 120 s, 10 members: how often a member stopped seeing a healthy one, in all runs (runs)

| system | loss-all |
| --- | --- |
| gms | 0 (1) |
| serf | 1 failed |

## Idle, 10 members, per member: medians

| system | CPU ms/s | packets/s | bytes/s | RSS MiB |
| --- | --- | --- | --- | --- |
| gms | 0.50 | 9.0 | 711 | 5.6 |
| gms (T 3.33 s, interval 1.665 s, recipients 1) | 0.40 | 9.0 | 310 | 5.6 |
| serf | 1.90 | 9.0 | 314 | 5.6 |

## Figures to hold

| what | demanded | measured | held |
| --- | --- | --- | --- |
| one of 10 killed, median | at most 20.0 ms | 20.1 ms | **no** |
| one of 10 killed, 99th percentile | at most 60.0 ms | 30.2 ms | yes |
| host-loss, 10 members, median | 6.25 s to 7.60 s | 6.80 s | yes |
| idle, 10 members, CPU | at most 1.90 ms/s (serf) | 0.50 ms/s | yes |
| idle, 10 members, RSS | less than 10 MiB | 5.6 MiB | yes |
| healthy members not seen under loss, in 1 runs at all settings | 0 | 0 | yes |
| healthy members not seen without loss, in 5 runs at all settings | 0 | 0 | yes |

## Where others do better than `gms`

- idle, 10 members, bytes/s: serf 314, gms 711
- host-loss, 10 members, time: serf 5.50 s, gms 6.80 s

![a chart](a-chart.svg)
";
    assert_eq!(markdown::render(&report(), &["a-chart.svg"]), expected);
}

#[test]
fn the_curve_is_judged_by_its_best_points() {
    let mut report = report();
    let point = |system: System, bytes: f64, seconds: f64| Run {
        scenario: Scenario::Curve,
        system,
        members: 10,
        repeat: 1,
        outcome: Outcome::Curve { idle: idle(1.0, bytes), noticed: noticed(Some(seconds), None) },
    };
    let lean = |seconds| System::Gms(Tuning::lean(std::time::Duration::from_secs(seconds)));
    report.runs = vec![
        point(gms(), 800.0, 7.0),
        point(lean(4), 500.0, 5.0),
        point(lean(2), 1000.0, 2.4),
        point(lean(1), 2000.0, 1.2),
        point(System::Peer(Peer::Serf), 300.0, 5.5),
    ];
    let text = markdown::render(&report, &[]);
    assert!(
        text.contains(
            "| bytes at serf's own time to notice a lost host | at most 3 × serf's | \
         1.67 × (gms (T 4 s, interval 2 s, recipients 1)) | yes |\n\
         | time to notice a lost host at 4 × serf's bytes | at most 0.5 × serf's | \
         0.44 × (gms (T 2 s, interval 1 s, recipients 1)) | yes |\n"
        ),
        "{text}"
    );
}

#[test]
fn a_report_is_the_same_after_it_was_written_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    std::fs::write(&path, report().json().unwrap()).unwrap();
    assert_eq!(Report::read(&path).unwrap(), report());
    std::fs::write(&path, report().json().unwrap().replace("\"format\": 1", "\"format\": 9")).unwrap();
    let refusal = Report::read(&path).unwrap_err().to_string();
    assert!(refusal.ends_with("is no report: its form 9 is not the 1 of this version"), "{refusal}");
}

#[test]
fn charts_show_every_scenario_that_was_run() {
    let charts = charts::draw(&report()).unwrap();
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["time-to-notice-10.svg"]);
    for label in ["crash", "host-loss", "gms", "serf", "seconds"] {
        assert!(charts[0].1.contains(label), "{label}");
    }
}
