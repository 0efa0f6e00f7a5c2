//! Clusters over QUIC: the same life as over UDP, certificates, and what does not fit.

use std::path::Path;

use rustix::process::Signal;

use crate::support::{Member, outcome, run};

const QUIC: [&str; 2] = ["--transport", "quic"];

/// Three members over QUIC with these flags besides.
fn cluster(more: &[&str]) -> Vec<Member> {
    let flags = [&QUIC[..], more].concat();
    let mut members = vec![Member::start_at("m1", "127.0.0.1:0", &[], &flags)];
    for name in ["m2", "m3"] {
        let seed = members[0].addr.clone();
        members.push(Member::start_at(name, "127.0.0.1:0", &[&seed], &flags));
    }
    for member in &mut members {
        member.wait_view(&["m1", "m2", "m3"]);
    }
    members
}

fn flag(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

/// Makes a member's certificate in `dir`, anew if there was one.
fn certify(dir: &Path, ca: &Path, cluster: &str) {
    for file in ["m.pem", "m.key"] {
        drop(std::fs::remove_file(dir.join(file)));
    }
    let (ca, dir) = (ca.display().to_string(), dir.display().to_string());
    let made = run(&["certs", "member", "m", "--cluster", cluster, "--ca", &ca, "--out", &dir]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn a_killed_coordinator_and_a_stopped_member_are_found_and_a_leaver_leaves() {
    let mut members = cluster(&[]);
    members[1].signal(Signal::STOP);
    members[0].wait_gone("crashed", "m2");
    members[1].signal(Signal::CONT);
    members[1].wait_event("rejoined");
    members[2].wait_gone("joined", "m2");
    members[0].signal(Signal::KILL);
    members[2].wait_gone("crashed", "m1");
    members[1].signal(Signal::TERM);
    assert_eq!(members[1].ended(), Some(0));
    members[2].wait_gone("left", "m2");
}

#[test]
fn a_restart_on_the_same_address_replaces_its_predecessor_in_one_view() {
    for watch in ["quic", "tcp"] {
        let flags = ["--quic-watch", watch];
        let mut members = cluster(&flags);
        let mut last = members.pop().unwrap();
        last.signal(Signal::KILL);
        last.ended();
        let seed = members[0].addr.clone();
        let flags = [&QUIC[..], &flags].concat();
        let mut again = Member::start_at("m3", &last.addr, &[&seed], &flags);
        again.wait_event("joined");
        members[0].wait_gone("crashed", "m3");
        again.wait_view(&["m1", "m2", "m3"]);
    }
}

#[test]
fn certificates_are_demanded_looked_at_and_read_again_at_hangup() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().display().to_string();
    assert!(run(&["certs", "ca", "--out", &out]).status.success());
    let (code, said) = outcome(&["certs", "ca", "--out", &out]);
    assert!(code == 2 && said.contains("exists: move it away first"), "{said}");
    certify(dir.path(), dir.path(), "default");
    let (cert, key, ca) = (flag(dir.path(), "m.pem"), flag(dir.path(), "m.key"), flag(dir.path(), "ca.pem"));
    let tls = ["--tls-cert", &cert, "--tls-key", &key, "--tls-ca", &ca];
    let mut members = cluster(&[&tls[..], &["--log", "info"]].concat());

    let seed = members[0].addr.clone();
    let join = ["run", "--bind", "127.0.0.1:0", "--http", "off", "--join", &seed, "--join-timeout", "2s"];
    let (code, said) = outcome(&[&join[..], &QUIC[..]].concat());
    assert!(code == 3 && said.contains("certificates do not fit"), "{said}");

    certify(dir.path(), dir.path(), "billing");
    let (code, said) = outcome(&[&join[..], &QUIC[..], &tls[..]].concat());
    assert!(code == 2 && said.contains("not for this cluster"), "{said}");
    members[1].signal(Signal::HUP);
    members[1].wait_log("the certificates in use stay");

    certify(dir.path(), dir.path(), "default");
    for member in &members {
        member.signal(Signal::HUP);
        member.wait_log("certificates were read again");
    }
    let flags = [&QUIC[..], &tls[..]].concat();
    let mut fourth = Member::start_at("m4", "127.0.0.1:0", &[&seed], &flags);
    fourth.wait_view(&["m1", "m2", "m3", "m4"]);
    // Nobody was dropped for it.
    let view = members[1].wait_view(&["m1", "m2", "m3", "m4"]);
    assert_eq!(view["crashed"].as_array().map(Vec::len), Some(0), "{view}");
}

#[test]
fn members_of_different_transports_say_so() {
    let udp = Member::start("m1", &[]);
    let quic = Member::start_at("m1", "127.0.0.1:0", &[], &QUIC);
    let join = ["run", "--bind", "127.0.0.1:0", "--http", "off", "--join-timeout", "2s", "--join"];
    for (seed, flags) in [(&udp.addr, &QUIC[..]), (&quic.addr, &[])] {
        let (code, said) = outcome(&[&join[..], &[seed], flags].concat());
        assert!(code == 3 && said.contains("speaks another transport"), "{said}");
    }
}
