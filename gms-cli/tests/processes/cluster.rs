//! Members come, die, stop, leave and come again.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Member, cluster};

#[test]
fn a_killed_member_is_removed_from_the_survivors_view_with_evidence() {
    let mut members = cluster(3);
    members[2].signal(Signal::KILL);
    for member in &mut members[..2] {
        let view = member.wait_gone("crashed", "m3");
        assert_eq!(view["removals"][0]["member"], "m3");
        assert!(view["removals"][0]["evidence"]["sentence"].is_string(), "{view}");
        assert_eq!(view["members"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn a_killed_coordinator_is_succeeded() {
    let mut members = cluster(3);
    members[0].signal(Signal::KILL);
    let views: Vec<_> = members[1..].iter_mut().map(|m| m.wait_gone("crashed", "m1")).collect();
    assert_eq!(views[0]["digest"], views[1]["digest"]);
    assert_eq!(views[0]["coordinator"], views[0]["members"][0]);
}

#[test]
fn a_stopped_member_is_removed_and_rejoins_as_a_new_incarnation_when_continued() {
    let mut members = cluster(3);
    members[1].signal(Signal::STOP);
    members[0].wait_gone("crashed", "m2");
    members[2].wait_gone("crashed", "m2");
    members[1].signal(Signal::CONT);
    let excluded = members[1].wait_event("excluded");
    assert_eq!(excluded["me"], "m2");
    members[1].wait_event("rejoined");
    members[0].wait_gone("joined", "m2");
}

#[test]
fn an_excluded_member_whose_name_is_taken_says_so_at_each_round_and_comes_back_when_it_is_free() {
    let mut members = cluster(3);
    members[1].signal(Signal::STOP);
    members[0].wait_gone("crashed", "m2");
    let mut usurper = Member::start("m2", &[&members[0].addr]);
    usurper.wait_event("joined");
    members[1].signal(Signal::CONT);
    members[1].wait_event("excluded");
    for _ in 0..2 {
        let line = members[1].wait_log("gms::join_tried_again");
        assert!(line.contains("the name \"m2\" is in use by a live member"), "{line}");
        assert!(line.contains("WARN"), "{line}");
    }
    usurper.signal(Signal::TERM);
    members[1].wait_event("rejoined");
}

#[test]
fn a_member_that_leaves_is_listed_as_left_and_ends_with_zero() {
    let mut members = cluster(3);
    members[2].signal(Signal::TERM);
    for member in &mut members[..2] {
        member.wait_gone("left", "m3");
    }
    assert_eq!(members[2].wait_event("stopped")["reason"], "left");
    assert_eq!(members[2].ended(), Some(0));
}

#[test]
fn a_coordinator_that_leaves_is_listed_as_left_and_succeeded() {
    let mut members = cluster(3);
    members[0].signal(Signal::INT);
    for member in &mut members[1..] {
        let view = member.wait_gone("left", "m1");
        assert_ne!(view["coordinator"], "m1");
    }
    assert_eq!(members[0].ended(), Some(0));
}

#[test]
fn a_restart_on_the_same_address_replaces_its_predecessor_in_one_view() {
    let mut members = cluster(3);
    let addr = members[2].addr.clone();
    members[2].signal(Signal::KILL);
    members[2].ended();
    let seed = members[0].addr.clone();
    let mut again = Member::start_at("m3", &addr, &[&seed], &[]);
    again.wait_view(&["m1", "m2", "m3"]);
    members[0].wait_gone("crashed", "m3");
    let (_, view) = members[0].http("GET /v1/view", "");
    let entries = view["members"].as_array().unwrap();
    assert_eq!(entries.iter().filter(|m| m["addr"] == addr.as_str()).count(), 1, "{view}");
}

#[test]
fn a_second_signal_ends_a_member_that_is_still_leaving() {
    let first = Member::start("m1", &[]);
    let mut second = Member::start_at("m2", "127.0.0.1:0", &[&first.addr], &["--leave-timeout", "50s"]);
    second.wait_view(&["m1", "m2"]);
    // Without the other half nobody can decide the view that would let it go.
    first.signal(Signal::STOP);
    let began = Instant::now();
    second.signal(Signal::TERM);
    second.signal(Signal::INT);
    assert_eq!(second.ended(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(40), "it waited for its leave timeout");
}
