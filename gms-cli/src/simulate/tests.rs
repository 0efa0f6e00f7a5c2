//! Whole runs, as the command makes them.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser as _;
use gms_sim::run::{self, Spectator};
use gms_sim::scenario::{Fault, Scenario, Step};
use gms_sim::{ScenarioError, World};

use super::trace::{Shared, WorldTrace};
use super::*;
use crate::args::{Cli, Command};
use crate::diagram::{self, Sequence, Window};
use crate::trace::{Line, parse};

fn args(flags: &[&str]) -> SimulateArgs {
    let cli = Cli::try_parse_from([&["gms", "simulate"], flags].concat()).unwrap();
    let Command::Simulate(args) = cli.command else { panic!("simulate was asked for") };
    *args
}

fn plan(flags: &[&str]) -> Plan {
    Plan::of(&args(flags)).unwrap()
}

fn refused(flags: &[&str]) -> String {
    let failure = Plan::of(&args(flags)).unwrap_err();
    assert_eq!(failure.code, Code::Usage, "{failure}");
    failure.sentence
}

fn faults(scenario: &Scenario) -> Vec<(u64, &Fault)> {
    scenario.faults.iter().map(|step| (step.at.as_secs(), &step.fault)).collect()
}

#[test]
fn without_flags_one_of_twenty_members_dies() {
    let scenario = plan(&[]).scenario(0).unwrap();
    assert_eq!((scenario.members, scenario.seed), (20, 0));
    assert!(matches!(faults(&scenario)[..], [(10, Fault::Crash { .. })]), "{scenario:?}");
}

#[test]
fn one_member_makes_a_cluster() {
    let scenario = plan(&["--members", "1", "--for", "1s"]).scenario(0).unwrap();
    assert_eq!(run::run(scenario).unwrap().violation, None);
}

#[test]
fn what_can_not_be_written_or_read_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small.toml");
    assert!(check_writable(&file.join("x")).unwrap_err().sentence.contains("name another file"));
    assert!(check_writable(&file).is_ok() && !file.exists(), "nothing is left behind");
    let endless = refused(&["--scenario", "/dev/zero"]);
    assert!(endless.contains("larger than 16 MiB"), "{endless}");
    std::fs::write(&file, format!("members = {}", "[".repeat(100_000))).unwrap();
    assert!(refused(&["--scenario", file.to_str().unwrap()]).len() < 1_500);
}

#[test]
fn flags_make_the_world_and_nobody_is_hit_twice() {
    let flags =
        ["--members", "9", "--member-timeout", "1s", "--loss", "2%", "--delay", "10ms", "--for", "30s"];
    let hits =
        ["--crash", "3", "--stop", "2", "--host-loss", "2", "--leave", "2", "--join", "2", "--at", "7s"];
    let scenario = plan(
        &[
            &flags[..],
            &hits,
            &["--heartbeat-recipients", "all", "--crash-detection", "strict"],
            &["--transport", "quic"],
        ]
        .concat(),
    )
    .scenario(7)
    .unwrap();
    assert_eq!(scenario.transport, gms_sim::Transport::Quic);
    assert_eq!(scenario.network.loss, 0.02);
    assert_eq!(scenario.network.delay_mean, Duration::from_millis(10));
    assert_eq!(scenario.network.delay_min, Duration::from_millis(4));
    assert_eq!(scenario.heartbeat_recipients, Some(gms_core::config::HeartbeatRecipients::All));
    assert_eq!(scenario.crash_detection, Some(gms_core::config::CrashDetection::Strict));
    let mut hit: Vec<usize> = Vec::new();
    let mut joined: Vec<usize> = Vec::new();
    for (at, fault) in faults(&scenario) {
        assert_eq!(at, 7);
        match fault {
            Fault::Crash { host } | Fault::Stop { host } | Fault::Down { host } | Fault::Leave { host } => {
                hit.push(*host);
            }
            Fault::Start { host } => joined.push(*host),
            other => panic!("{other:?}"),
        }
    }
    hit.sort_unstable();
    assert_eq!(hit, (0..9).collect::<Vec<_>>());
    assert_eq!(joined, [9, 10]);
}

#[test]
fn other_seeds_hit_other_members() {
    let plan = plan(&["--crash", "2", "--seeds", "30"]);
    let victims: std::collections::BTreeSet<String> =
        (0..30).map(|seed| format!("{:?}", plan.scenario(seed).unwrap().faults)).collect();
    assert!(victims.len() > 10, "{victims:?}");
}

#[test]
fn many_seeds_alone_are_of_the_mixed_workload() {
    assert_eq!(plan(&["--seeds", "20"]).workload, "mixed");
    assert_eq!(plan(&["--mixed"]).workload, "mixed");
    assert_eq!(plan(&["--seeds", "20", "--members", "5"]).workload, "flags");
    assert_eq!(plan(&["--seeds", "20", "--crash", "1"]).workload, "flags");
}

#[test]
fn the_last_seeds_that_there_are_end() {
    let plan = plan(&["--members", "3", "--for", "1s", "--seeds", "3", "--seed", "18446744073709551612"]);
    let sum = many::run(&plan, &Interrupt::watch().unwrap(), &Progress::new(3, false));
    assert_eq!(sum.done, 3);
}

#[test]
fn delays_longer_than_any_run_are_refused() {
    let sentence = refused(&["--delay", "580000000000years"]);
    assert!(sentence.ends_with(": at most 1000h"), "{sentence}");
}

#[test]
fn loss_alone_kills_nobody_and_a_short_run_has_its_fault_in_the_middle() {
    assert_eq!(plan(&["--loss", "1%"]).scenario(0).unwrap().faults, []);
    assert_eq!(plan(&["--crash", "0"]).scenario(0).unwrap().faults, []);
    assert_eq!(plan(&["--for", "4s"]).scenario(0).unwrap().faults[0].at, Duration::from_secs(2));
}

#[test]
fn a_published_scenario_is_found_by_the_beginning_of_its_name() {
    let plan = plan(&["--published", "R2-crashes", "--seed", "3"]);
    assert_eq!(plan.workload, "published r2-crashes-1000");
    assert_eq!(plan.scenario(3).unwrap().seed, 3);
    assert!(!plan.checks(3).is_empty());
    let several = refused(&["--published", "r1"]);
    assert!(several.contains("means several") && several.contains("r1-bootstrap-100"), "{several}");
    let none = refused(&["--published", "x9"]);
    assert!(none.contains("there is none of this name") && none.contains("r5-cut-link"), "{none}");
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    for (flags, hint) in [
        (&["--members", "3", "--crash", "4"][..], "would hit 4 of 3 members"),
        (&["--members", "0"], "members is 0"),
        (&["--members", "1000000000000"], "members is 1000000000000"),
        (&["--join", "1000000000000"], "a world has at most 65536 hosts"),
        (&["--member-timeout", "1ms"], "member-timeout is 1ms"),
        (&["--at", "2m"], "--at 120s: the run ends at 60s"),
        (&["--at", "5s", "--loss", "1%"], "--at says when --crash"),
        (&["--seed", "18446744073709551615", "--seeds", "2"], "begin lower"),
        (&["--scenario", "/nonexistent/world.toml"], "--scenario /nonexistent/world.toml can't be read"),
    ] {
        let said = refused(flags);
        assert!(said.contains(hint), "{flags:?}: {said}");
    }
}

#[test]
fn fewer_members_than_a_file_hits_are_refused_as_they_are_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.toml");
    let fault = "[[fault]]\nat = \"1s\"\ndo = ";
    for (rest, host) in [("\"crash\"\nhosts = [1, 7]", 7), ("\"partition\"\ngroups = [[0, 1], [2, 8]]", 2)] {
        std::fs::write(&file, format!("members = 9\n{fault}{rest}\n")).unwrap();
        let file = file.to_str().unwrap();
        assert!(!plan(&["--scenario", file]).scenario(0).unwrap().faults.is_empty());
        let said = refused(&["--scenario", file, "--members", "2"]);
        let expected = format!("host {host} has no process: members start on hosts 0 to 1");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn a_time_without_a_fault_is_refused_beside_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.toml");
    std::fs::write(&file, "members = 3\n").unwrap();
    let file = file.to_str().unwrap();
    assert!(refused(&["--scenario", file, "--at", "5s"]).contains("--at says when --crash"));
    assert_eq!(
        plan(&["--scenario", file, "--at", "5s", "--crash", "1"]).scenario(0).unwrap().faults.len(),
        1
    );
}

#[test]
fn files_that_would_overwrite_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.toml");
    std::fs::write(&file, "").unwrap();
    let dotted = folder.path().join(".").join("world.toml");
    let missing = folder.path().join("missing");
    let [file, dotted, missing] = [&file, &dotted, &missing].map(|path| path.to_str().unwrap());
    for flags in [["--scenario", file, "--trace", dotted], ["--trace", missing, "--save", missing]] {
        let failure = check_distinct(&args(&flags)).unwrap_err();
        assert_eq!(failure.code, Code::Usage);
        assert!(failure.sentence.contains("are the same file"), "{failure}");
    }
    assert!(check_distinct(&args(&["--scenario", file, "--trace", missing])).is_ok());
    assert!(check_distinct(&args(&["--trace", "/dev/null", "--save", "/dev/null"])).is_ok());
}

/// A run of this scenario, as the command makes it.
fn done(scenario: Scenario, checks: &[gms_sim::published::Check]) -> Done {
    let (interrupt, progress) = (Interrupt::watch().unwrap(), Progress::new(1, false));
    one::run(scenario, checks, None, &interrupt, &progress).unwrap()
}

#[test]
fn who_starts_together_and_finds_nobody_has_formed_no_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.toml");
    let text = "members = 3\nstart = \"together\"\nfor = \"5s\"\n";
    let cut = "[[fault]]\nat = \"0s\"\ndo = \"down\"\nhosts = \"0-2\"\n";
    for (text, is_ok) in [(text.to_owned(), true), (format!("{text}{cut}"), false)] {
        std::fs::write(&file, &text).unwrap();
        let plan = plan(&["--scenario", file.to_str().unwrap()]);
        let done = done(plan.scenario(0).unwrap(), &plan.checks(0));
        assert_eq!(done.is_ok(), is_ok, "{text}{}", done.text());
    }
}

#[test]
fn survivors_without_a_majority_and_what_was_not_measured_are_told() {
    let down = |host| Step { at: Duration::from_secs(1), fault: Fault::Down { host } };
    let faults = vec![down(0), down(1), down(2)];
    let scenario = Scenario { members: 5, run_for: Duration::from_secs(40), faults, ..Scenario::default() };
    let done = done(scenario, &[]);
    let json = done.json().unwrap();
    assert_eq!((&json["live"], &json["without_majority"]), (&5.into(), &5.into()));
    assert_eq!(json["detection"]["median_ms"], Value::Null);
    assert!(done.text().contains(", 5 of them isolated, without a majority"), "{}", done.text());
}

/// Five members of which one dies, as lines.
fn traced(seed: u64) -> Vec<u8> {
    struct Follow(Shared<Vec<u8>>);
    impl Spectator for Follow {
        fn begins(&mut self, world: &mut World) {
            let trace = WorldTrace::new(self.0.clone(), world);
            world.set_trace(Box::new(trace));
        }

        fn passes(&mut self, _: &World) -> std::ops::ControlFlow<()> {
            std::ops::ControlFlow::Continue(())
        }
    }
    let faults = vec![Step { at: Duration::from_secs(1), fault: Fault::Crash { host: 3 } }];
    let scenario =
        Scenario { members: 5, seed, run_for: Duration::from_secs(10), faults, ..Scenario::default() };
    let mut follow = Follow(Shared::new(Vec::new()));
    assert_eq!(run::run_watched(scenario, &mut follow).unwrap().violation, None);
    follow.0.with(std::mem::take)
}

#[test]
fn a_trace_has_the_lines_of_all_members_and_is_the_same_every_time() {
    let first = traced(7);
    assert_eq!(first, traced(7));
    assert_ne!(first, traced(8));
    let text = String::from_utf8(first).unwrap();
    let lines: Vec<Line> = text.lines().map(|line| parse(line).unwrap()).collect();
    let mut by_member: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    for line in lines {
        by_member.entry(line.me.clone()).or_default().push(line);
    }
    let names: Vec<String> = by_member.keys().cloned().collect();
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4"]);
    for (name, lines) in &by_member {
        assert_eq!(lines[0].step, "incarnation", "{name}");
        let peers = lines.iter().filter_map(|line| line.peer.as_deref());
        assert!(peers.clone().count() > 0);
        peers.for_each(|peer| assert!(names.iter().any(|known| known == peer), "{name} speaks to {peer}"));
    }
}

#[test]
fn a_diagram_is_drawn_from_a_trace() {
    let text = String::from_utf8(traced(7)).unwrap();
    let lanes: Vec<String> = (0..5).map(|n| format!("m{n}")).collect();
    let of = |lane: &String| text.lines().filter_map(parse).filter(|line| line.me == *lane).collect();
    let traces: Vec<Vec<Line>> = lanes.iter().map(of).collect();
    let window = Window { from_ns: 0, to_ns: u64::MAX, zero_ns: 0 };
    let sequence = Sequence::build(&lanes, &traces, window, &[]);
    let drawn = diagram::text(&sequence);
    for part in ["HeartbeatRequest(m3)", "suspects m3", "Prepare(view", "crashed m3"] {
        assert!(drawn.contains(part), "{drawn}");
    }
}

/// A cluster that is given no time to come together again.
fn impatient() -> Scenario {
    let late = |fault| Step { at: Duration::from_secs(4), fault };
    Scenario {
        members: 5,
        seed: 3,
        run_for: Duration::from_secs(5),
        heal_for: Duration::from_millis(1),
        // A death that is found by its silence takes longer than that.
        crash_detection: Some(gms_core::config::CrashDetection::Strict),
        faults: vec![late(Fault::Drift { host: 0, ppm: 5 }), late(Fault::Crash { host: 3 })],
        ..Scenario::default()
    }
}

#[test]
fn what_breaks_is_told_with_a_small_scenario_its_last_steps_and_how_to_repeat_it() {
    let scenario = impatient();
    let violation = run::run(scenario.clone()).unwrap().violation.unwrap();
    let interrupt = Interrupt::watch().unwrap();
    let broken = Broken::study(&scenario, &violation, "gms simulate --seed 3".into(), &interrupt);
    let small = Scenario::from_toml(&broken.scenario()).unwrap();
    assert!(matches!(small.faults[..], [Step { fault: Fault::Crash { host: 3 }, .. }]), "{small:?}");
    let again = run::run(small).unwrap().violation.unwrap();
    assert_eq!(again.invariant, violation.invariant);
    let json = broken.json();
    assert_eq!(json["seed"], 3);
    assert_eq!(json["invariant"], violation.invariant);
    assert_eq!(json["command"], "gms simulate --seed 3");
    let text = broken.text();
    for part in [
        "BROKEN",
        "s after the beginning of the small scenario",
        "1 of 2 faults",
        "do = \"crash\"",
        "fault: crash, host = 3",
        "repeat the whole run with",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn the_command_repeats_one_seed_of_what_was_asked_for() {
    let command =
        |words: &[&str], is_mixed| broken::command(words.iter().map(|word| (*word).to_owned()), is_mixed, 42);
    let all = ["--seeds", "100", "--json", "--seed=3", "--save", "x.toml"];
    assert_eq!(command(&all, true), "gms simulate --mixed --seed 42");
    let flags = ["--members", "9", "--for", "1m 30s", "--no-progress", "--scenario=it's.toml"];
    let expected = r"gms simulate --members 9 --for '1m 30s' '--scenario=it'\''s.toml' --seed 42";
    assert_eq!(command(&flags, false), expected);
}

#[test]
fn the_scenarios_of_the_documents_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario =
            Scenario::from_toml(&text).map_err(|error: ScenarioError| format!("{path:?}: {error}"));
        let outcome = run::run(scenario.unwrap()).unwrap();
        assert_eq!(outcome.violation, None, "{path:?}");
        let together = outcome.world.up().all(|process| process.view().is_some());
        assert!(together, "{path:?}");
        files += 1;
    }
    assert!(files >= 4);
}
