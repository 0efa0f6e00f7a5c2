//! Clusters over QUIC: the same life as over UDP, and what does not fit.

use rustix::process::Signal;

use crate::support::{Member, outcome};

pub(crate) const QUIC: [&str; 2] = ["--transport", "quic"];

/// Three members over QUIC with these flags besides.
pub(crate) fn cluster(more: &[&str]) -> Vec<Member> {
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
fn members_of_different_transports_say_so() {
    let udp = Member::start("m1", &[]);
    let quic = Member::start_at("m1", "127.0.0.1:0", &[], &QUIC);
    let join = ["run", "--bind", "127.0.0.1:0", "--http", "off", "--join-timeout", "2s", "--join"];
    for (seed, flags) in [(&udp.addr, &QUIC[..]), (&quic.addr, &[])] {
        let (code, said) = outcome(&[&join[..], &[seed], flags].concat());
        let own = flags.last().unwrap_or(&"udp");
        let reason = format!("seed {seed} speaks another transport than this member ({own}): start it with");
        assert!(code == 3 && said.contains(&reason), "{said}");
    }
}
