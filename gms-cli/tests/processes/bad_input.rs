//! Bad input: one sentence that says what and what to do, the documented exit code, nothing left running.

use std::net::{TcpListener, UdpSocket};

use crate::support::{Member, cluster, outcome, run};

/// Flags that every member of these tests has.
const QUIET: [&str; 8] = ["run", "--log", "off", "--bind", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json"];

fn refused(more: &[&str]) -> (i32, String) {
    outcome(&[&QUIET, more].concat())
}

#[test]
fn an_address_in_use_ends_with_one() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let (code, said) = outcome(&["run", "--log", "off", "--http", "off", "--bind", &addr]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("--bind") && said.contains(&addr) && said.contains("choose another port"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_busy_http_port_ends_with_one() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let (code, said) = outcome(&["run", "--log", "off", "--bind", "127.0.0.1:0", "--http", &addr]);
    assert_eq!(code, 1, "{said}");
    assert_eq!(
        said,
        format!(
            "gms: --http {addr} is in use: choose another port, 0 to pick one, or off for no HTTP interface\n"
        )
    );
}

#[test]
fn bad_flags_and_values_end_with_two() {
    for (flags, hint) in [
        (&["--no-such-flag"][..], "--no-such-flag"),
        (&["--member-timeout", "50ms"], "--member-timeout is 50ms, which is not between 100ms and 600s"),
        (&["--heartbeat-interval", "4s"], "--heartbeat-interval is 4s"),
        (&["--refused-grace", "5s"], "--refused-grace is 5s"),
        (&["--join-timeout", "1ms"], "--join-timeout is 1ms"),
        (&["--weight", "101"], "--weight"),
        (&["--cluster", ""], "--cluster"),
        (&["--name", ""], "--name must have 1 to 64 bytes and no control characters, unlike \"\""),
        (&["--tag", &format!("{}=v", "k".repeat(65))], "--tag: at most 16 tags"),
        (&["--member-timeout", "0s"], "--member-timeout is 0s, which"),
        (&["--weight", "0"], "--weight 0 without --join"),
        (
            &["--tls-cert", "nope.pem", "--tls-key", "nope.key", "--tls-ca", "ca.pem"],
            "--tls-cert needs --transport quic",
        ),
        (&["--quic-watch", "tcp"], "--quic-watch tcp needs --transport quic"),
        (&["--on-event", "/dev/null"], "--on-event /dev/null can't be run"),
        (&["--on-event", "no-such-program-anywhere"], "--on-event"),
        (&["--on-event", "/nonexistent/program"], "--on-event"),
        (&["--http-token", "/nonexistent/token"], "--http-token"),
    ] {
        let (code, said) = refused(flags);
        assert_eq!(code, 2, "{flags:?}: {said}");
        assert!(said.contains(hint), "{flags:?}: {said}");
    }
}

#[test]
fn a_dead_seed_ends_with_three_and_is_listed_with_its_answer() {
    let dead = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let (code, said) = refused(&["--join", &dead, "--join-timeout", "1s", "--member-timeout", "500ms"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains(&format!("seed {dead}:")), "{said}");
    assert!(said.contains("--join"), "{said}");
}

#[test]
fn too_few_seeds_to_found_with_are_counted_and_one_that_does_not_resolve_is_listed() {
    let [own, dead] = free_addrs();
    let seeds = format!("{own},{dead},no-such-host.invalid:7790");
    let (code, said) = outcome(&[
        "run",
        "--log",
        "off",
        "--http",
        "off",
        "--bind",
        &own,
        "--join",
        &seeds,
        "--join-timeout",
        "2s",
        "--member-timeout",
        "500ms",
    ]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("1 of 3 seeds answers, and 2 are needed to found a cluster"), "{said}");
    assert!(said.contains("seed no-such-host.invalid:7790: does not resolve"), "{said}");
}

#[test]
fn a_seed_given_several_times_is_one_seed() {
    let [own] = free_addrs();
    let by_name = own.replace("127.0.0.1", "localhost");
    let mut member = Member::start_at("m1", &own, &[&own, &own, &by_name], &[]);
    member.wait_event("joined");
}

/// Addresses at which nobody listens.
fn free_addrs<const N: usize>() -> [String; N] {
    let taken = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    taken.map(|listener| listener.local_addr().unwrap().to_string())
}

#[test]
fn a_second_member_of_the_same_name_ends_with_three() {
    let members = cluster(1);
    let (code, said) = refused(&["--name", "m1", "--join", &members[0].addr, "--member-timeout", "500ms"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("the name \"m1\" is in use by a live member: choose another"), "{said}");
}

#[test]
fn a_joiner_of_another_cluster_or_timing_is_told_both_values() {
    let members = cluster(1);
    let seed = &members[0].addr;
    let (code, said) = refused(&["--name", "x", "--join", seed, "--member-timeout", "2s"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("member-timeout is 500ms in this cluster, not 2s"), "{said}");
    let (code, said) = refused(&[
        "--name",
        "x",
        "--cluster",
        "other",
        "--join",
        seed,
        "--join-timeout",
        "1s",
        "--member-timeout",
        "500ms",
    ]);
    assert_eq!(code, 3, "{said}");
    let (first, _) = said.split_once('\n').unwrap();
    let advice =
        "belongs to cluster \"default\": start this member with --cluster \"default\", or correct --join";
    assert!(first.contains(&format!("seed {seed}: {advice}")), "{said}");
}

#[test]
fn a_seed_that_does_not_fit_is_told_of_long_before_the_join_timeout() {
    let members = cluster(1);
    let seed = &members[0].addr;
    let flags = ["--cluster", "other", "--join-timeout", "10m"];
    let mut joiner = Member::start_at("x", "127.0.0.1:0", &[seed], &flags);
    let said = joiner.wait_log("seed_does_not_fit");
    let expected =
        format!("seed {seed}: belongs to cluster \"default\"; it is asked again until the join timeout");
    assert!(said.contains("WARN") && said.contains(&expected), "{said}");
    assert!(joiner.is_running());
}

#[test]
fn random_bytes_to_every_port_change_nothing() {
    use std::io::Write as _;
    let mut members = cluster(3);
    let (_, before) = members[0].http("GET /v1/view", "");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    // A fixed sequence: a failure comes again.
    let mut state = 0x9e37_79b9_u32;
    let mut random = |length: usize| -> Vec<u8> {
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        };
        (0..length).map(|_| next()).collect()
    };
    for length in (0..1200).step_by(13) {
        for member in &members {
            udp.send_to(&random(length), &member.addr).unwrap();
            for port in [&member.addr, &member.http] {
                if let Ok(mut stream) = std::net::TcpStream::connect(port) {
                    drop(stream.write_all(&random(length)));
                }
            }
        }
    }
    let (_, after) = members[0].http("GET /v1/view", "");
    assert_eq!((&before["view"], &before["digest"]), (&after["view"], &after["digest"]));
    assert!(members.iter_mut().all(Member::is_running));
}

#[test]
fn a_client_without_a_member_is_told_what_to_do() {
    let dead = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    for command in [&["members"][..], &["view"], &["events"], &["leave"], &["check", "m1"]] {
        let (code, said) = outcome(&[command, &["--at", &dead]].concat());
        assert_eq!(code, 1, "{said}");
        let expected = format!(
            "gms: no member answers at {dead} (connection refused): start one with gms run, or name the address of a \
             running one with --at\n"
        );
        assert_eq!(said, expected);
    }
}

#[test]
fn completions_are_written_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("member-timeout"), "{shell}");
    }
}
