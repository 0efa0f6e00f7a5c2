use super::*;
use crate::network::{Link, Squatter, StreamMode};
use crate::scenario::{Start, Transport};

fn refused(text: &str) -> String {
    Scenario::from_toml(text).unwrap_err().to_string()
}

#[test]
fn what_a_file_does_not_name_has_its_default() {
    assert_eq!(Scenario::from_toml("").unwrap(), Scenario::default());
    let text = "members = 3\nfor = \"10m\"\nheartbeat_recipients = \"all\"\n[network]\nloss = \"2%\"\n";
    let scenario = Scenario::from_toml(text).unwrap();
    assert_eq!(scenario.members, 3);
    assert_eq!(scenario.run_for, Duration::from_secs(600));
    assert_eq!(scenario.network, Link { loss: 0.02, ..Link::default() });
}

#[test]
fn shares_hosts_and_groups_may_be_written_in_several_ways() {
    let text = r#"
        members = 10
        [[fault]]
        at = "1s"
        do = "crash"
        hosts = [3, "5-6"]
        [[fault]]
        at = "2s"
        do = "host-loss"
        hosts = "1, 8-9"
        inward = "12.5%"
        outward = 1
        [[fault]]
        at = "3s"
        do = "partition"
        groups = ["0-4", [5, 6]]
    "#;
    let at = Duration::from_secs;
    let step = |seconds, fault| Step { at: at(seconds), fault };
    let lossy = |host| step(2, Fault::HostLoss { host, inward: 0.125, outward: 1.0 });
    let expected = vec![
        step(1, Fault::Crash { host: 3 }),
        step(1, Fault::Crash { host: 5 }),
        step(1, Fault::Crash { host: 6 }),
        lossy(1),
        lossy(8),
        lossy(9),
        step(3, Fault::Partition { groups: vec![vec![0, 1, 2, 3, 4], vec![5, 6]] }),
    ];
    assert_eq!(Scenario::from_toml(text).unwrap().faults, expected);
}

/// One of each kind.
fn everything() -> Vec<Fault> {
    let period = Duration::from_millis(20);
    let span = Duration::from_secs(90);
    let link = Link { loss: 0.02, mtu: Some(1_200), ..Link::default() };
    vec![
        Fault::Start { host: 7 },
        Fault::Crash { host: 1 },
        Fault::Restart { host: 1, elsewhere: true },
        Fault::Stop { host: 1 },
        Fault::Continue { host: 1 },
        Fault::Starve { host: 1, share: 0.25, period },
        Fault::Suspend { host: 1, span },
        Fault::Drift { host: 1, ppm: -200 },
        Fault::JumpWallClock { host: 1, seconds: -86_400 },
        Fault::Leave { host: 1 },
        Fault::Expel { host: 1, by: 2 },
        Fault::Sick { host: 1, sick: true },
        Fault::Cut { from: 1, to: 2 },
        Fault::Partition { groups: vec![vec![0, 1], vec![2]] },
        Fault::Down { host: 1 },
        Fault::Up { host: 1 },
        Fault::Loss { share: 0.5 },
        Fault::HostLoss { host: 1, inward: 1.0, outward: 0.0 },
        Fault::FlipFlop { host: 1, period, span, outward: true },
        Fault::Link { from: 1, to: 2, link: link.clone() },
        Fault::Links { link },
        Fault::Streams { host: 1, mode: StreamMode::Hang },
        Fault::Reject { host: 1, on: true },
        Fault::Forget { host: 1 },
        Fault::Squat { host: 1, squatter: Squatter::Garbage },
        Fault::Heal,
    ]
}

#[test]
fn every_scenario_that_is_written_reads_back_the_same() {
    let faults = everything().into_iter().map(|fault| Step { at: Duration::from_millis(1_500), fault });
    let scenario = Scenario {
        seed: u64::MAX,
        heartbeat_recipients: Some(gms_core::config::HeartbeatRecipients::Auto),
        crash_detection: Some(gms_core::config::CrashDetection::Fast),
        transport: Transport::Quic,
        start: Start::Together,
        heal_for: Duration::from_secs(60),
        rejoin: false,
        not_eligible: [2].into(),
        weights: [(1, 0), (4, 50)].into(),
        faults: faults.collect(),
        ..Scenario::default()
    };
    let text = scenario.to_toml();
    assert_eq!(Scenario::from_toml(&text).unwrap(), scenario, "{text}");
    assert_eq!(Scenario::from_toml(&Scenario::default().to_toml()).unwrap(), Scenario::default());
}

#[test]
fn steps_that_differ_in_their_host_only_are_written_as_one() {
    let crash = |host| Step { at: Duration::from_secs(10), fault: Fault::Crash { host } };
    let scenario = Scenario { members: 20, faults: (5..15).map(crash).collect(), ..Scenario::default() };
    let text = scenario.to_toml();
    let tail = "\n[[fault]]\nat = \"10s\"\ndo = \"crash\"\nhosts = \"5-14\"\n";
    assert!(text.ends_with(tail), "{text}");
    assert_eq!(Scenario::from_toml(&text).unwrap(), scenario);
}

#[test]
fn what_has_no_effect_is_not_written() {
    let crash = |host| Step { at: Duration::from_secs(10), fault: Fault::Crash { host } };
    let split = |groups| Step { at: Duration::from_secs(20), fault: Fault::Partition { groups } };
    let scenario = Scenario {
        faults: vec![crash(9), crash(1), split(vec![vec![0, 8], vec![1, 9]])],
        weights: [(9, 20)].into(),
        not_eligible: [9].into(),
        ..Scenario::default()
    };
    let expected = Scenario { faults: vec![crash(1), split(vec![vec![0], vec![1]])], ..Scenario::default() };
    assert_eq!(Scenario::from_toml(&scenario.to_toml()).unwrap(), expected);
}

#[test]
fn the_keys_are_those_of_a_scenario() {
    let scenario = Scenario {
        heartbeat_recipients: Some(gms_core::config::HeartbeatRecipients::All),
        crash_detection: Some(gms_core::config::CrashDetection::Strict),
        not_eligible: [2].into(),
        weights: [(1, 20)].into(),
        faults: vec![Step { at: Duration::ZERO, fault: Fault::Heal }],
        ..Scenario::default()
    };
    let table: Table = toml::from_str(&scenario.to_toml()).unwrap();
    let mut keys = KEYS;
    keys.sort_unstable();
    assert_eq!(table.keys().map(String::as_str).collect::<Vec<_>>(), keys);
}

#[test]
fn mistakes_are_named_with_their_line_and_what_is_possible() {
    let fault = |rest: &str| format!("members = 5\n\n[[fault]]\nat = \"1s\"\n{rest}\n");
    for (text, expected) in [
        ("members = 5\nmembrs = 4\n", &["line 2", "`membrs`", "members, seeds, seed"][..]),
        ("members = \"five\"", &["line 1", "\"five\""]),
        ("members = 5\nfor = \"soon\"", &["line 2", "for = \\\"soon\\\""]),
        ("[network]\nlos = 0.1\n", &["line 2", "`los`", "`loss`"]),
        ("[network]\nloss = \"2\"\n", &["line 2", "not between 0 and 100%"]),
        ("members = ", &["line 1"]),
        ("members = 0", &["members is 0: a cluster has 1 to"]),
        ("member_timeout = \"1ms\"", &["member-timeout"]),
        ("fault = 3", &["line 1", "[[fault]]"]),
        (&fault("do = \"crash\"\nhst = 3"), &["line 6", "hst", "available keys: host"]),
        (&fault("do = \"explode\"\nhost = 3"), &["line 5", "`explode`", "`crash`"]),
        (&fault("do = \"crash\""), &["line 3", "missing field `host`"]),
        (&fault("do = \"crash\"\nhost = \"three\""), &["line 6", "\"three\""]),
        (&fault("do = \"crash\"\nhost = 1\nhosts = [2]"), &["line 7", "both `host` and `hosts`"]),
        (&fault("do = \"crash\"\nhosts = []"), &["line 6", "names none"]),
        (&fault("do = \"crash\"\nhosts = \"5-3\""), &["line 6", "lower host first"]),
        (&fault("do = \"crash\"\nhosts = \"0-4000000000\""), &["line 6", "host 4000000000 is out of range"]),
        (&fault("do = \"crash\"\nhost = 70000"), &["line 3", "host is 70000"]),
        (&fault("do = \"crash\"\nhost = 5"), &["line 3", "host 5 has no process", "hosts 0 to 4"]),
        (&fault("do = \"loss\"\nshare = 2"), &["line 3", "share is 2: a share lies between 0 and 1"]),
        (&fault("host = 3"), &["line 3", "has no `do`"]),
        ("[[fault]]\ndo = \"heal\"", &["line 1", "has no `at`"]),
        ("[[fault]]\nat = \"2m\"\ndo = \"heal\"", &["fault at 120s: the run ends at 60s", "`for`"]),
        ("heal = \"1001h\"", &["heal is 3603600s: at most 1000h"]),
        ("weights = { 5 = 20 }", &["weights: host 5 has no process"]),
        ("not_eligible = [4, 5]", &["not_eligible: host 5 has no process"]),
        (&fault("do = \"cut\"\nfrom = 2\nto = 2"), &["line 3", "from and to are 2"]),
        (&fault("do = \"partition\"\ngroups = []"), &["line 3", "groups has none"]),
        (&fault("do = \"partition\"\ngroups = [[0, 1], [1]]"), &["line 3", "host 1 is named twice"]),
        (&fault("do = \"partition\"\ngroups = [[0], [7]]"), &["line 3", "host 7 has no process"]),
    ] {
        let said = refused(text);
        assert!(!said.contains('\n'), "{said}");
        for part in expected {
            assert!(said.contains(part), "{text}\n{said}\nlacks {part}");
        }
    }
}

#[test]
fn a_fault_is_one_line_for_people() {
    assert_eq!(Fault::Crash { host: 3 }.to_string(), "crash, host = 3");
    assert_eq!(Fault::Heal.to_string(), "heal");
    let partition = Fault::Partition { groups: vec![vec![0, 1], vec![2]] };
    assert_eq!(partition.to_string(), "partition, groups = [[0, 1], [2]]");
}

#[test]
fn a_process_that_starts_later_may_be_hit() {
    let text = "[[fault]]\nat = \"1s\"\ndo = \"start\"\nhost = 5\n[[fault]]\nat = \"9s\"\ndo = \"crash\"\nhost = 5\n";
    assert_eq!(Scenario::from_toml(text).unwrap().faults.len(), 2);
}
