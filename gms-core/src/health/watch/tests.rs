use std::time::Duration;

use crate::health::testing::Desk;
use crate::message::{Answers, Flags, RequestId};
use crate::testing::{id, view_of_weights, view_with_hubs};

/// Heartbeats of everybody but the watched one arrive; the exact actions are compared.
#[test]
//= docs/protocol.md#fd-7
fn the_watched_member_is_the_next_and_the_last_one_watches_the_first() {
    let mut middle = Desk::new(4, 1);
    middle.pass(1100, &[0, 3]);
    assert_eq!(middle.lines(), ["1000 ask m2", "1062 ask m2"]);

    let mut last = Desk::new(4, 3);
    last.pass(1050, &[1, 2]);
    assert_eq!(last.lines(), ["1000 ask m0"]);

    let mut alone = Desk::new(1, 0);
    alone.pass(10_000, &[]);
    assert!(alone.lines().is_empty());
    assert_eq!(alone.health.poll_timeout(), None);
}

#[test]
//= docs/protocol.md#fd-8
fn a_silent_successor_is_asked_four_times_and_any_contact_ends_it() {
    let mut desk = Desk::new(5, 2);
    desk.pass(999, &[0, 1, 4]);
    assert!(desk.lines().is_empty(), "nothing happens before T of silence");
    desk.pass(241, &[0, 1, 4]);
    assert_eq!(desk.lines(), ["1000 ask m3", "1062 ask m3", "1125 ask m3", "1187 ask m3"]);
    desk.hears(3);
    desk.pass(900, &[0, 1, 4]);
    assert!(desk.lines().is_empty(), "the last moment is soon enough");
    desk.pass(200, &[0, 1, 4]);
    assert_eq!(desk.lines(), ["2240 ask m3", "2302 ask m3"], "and the same member is watched again");
    desk.hears(3);
    desk.pass(500, &[0, 1, 4]);
    assert!(desk.lines().is_empty(), "nothing is asked after an answer");
}

#[test]
fn a_member_answers_requests_meant_for_it_unless_it_is_sick() {
    let mut desk = Desk::new(3, 1);
    let request = RequestId(5);
    desk.isolated = true;
    desk.with(|h, s, out| h.handle_heartbeat_request(s, id(0), id(1), request, out));
    assert_eq!(desk.lines(), ["0 answer to m0"]);
    desk.with(|h, s, out| h.handle_heartbeat_request(s, id(0), id(2), request, out));
    desk.sick = true;
    desk.with(|h, s, out| h.handle_heartbeat_request(s, id(0), id(1), request, out));
    assert!(desk.lines().is_empty());
}

#[test]
//= docs/protocol.md#fd-9
fn adjacent_silent_members_are_checked_together_up_to_the_first_that_is_heard() {
    let mut desk = Desk::new(7, 1);
    desk.pass(300, &[2, 3, 0, 5, 6]);
    desk.pass(900, &[0, 5, 6]);
    // 2 and 3 were last heard at 200, 4 never; 5 is heard, so 4 ends the run.
    assert_eq!(desk.lines(), ["1200 ask m2", "1200 ask m3", "1200 ask m4"]);
    desk.pass(249, &[0, 5, 6]);
    assert!(desk.lines_with("accuse").is_empty());
    desk.pass(1, &[0, 5, 6]);
    let accused = desk.lines_with("accuse m2+m3+m4");
    assert_eq!(accused.len(), 3, "all three in one accusation to each of the others: {accused:?}");
}

#[test]
fn suspects_are_passed_over_and_not_asked_again() {
    let mut desk = Desk::new(6, 1);
    desk.pass(500, &[0, 5]);
    desk.with(|h, s, out| h.handle_command_suspect(s, id(3), out));
    desk.lines();
    desk.pass(510, &[0, 5]);
    assert_eq!(desk.lines_with("ask"), ["1000 ask m2", "1000 ask m4"]);
}

#[test]
//= docs/protocol.md#fd-10
fn a_failed_check_makes_a_suspect_and_the_watcher_moves_on_at_once() {
    let mut desk = Desk::new(5, 2);
    desk.pass(1249, &[0, 1, 4]);
    assert!(!desk.health.is_suspect(&id(3)));
    desk.pass(1, &[0, 1, 4]);
    assert!(desk.health.is_suspect(&id(3)));
    desk.lines();
    desk.pass(1300, &[0, 1]);
    // 4 was last heard at 1249.
    assert_eq!(desk.lines_with("ask m4").first().map(String::as_str), Some("2249 ask m4"));
}

#[test]
fn a_member_that_passed_and_later_falls_silent_is_suspected_like_any_other() {
    let mut desk = Desk::new(5, 2);
    desk.pass(1100, &[0, 1, 4]);
    desk.hears(3);
    desk.pass(1300, &[0, 1, 4]);
    assert!(desk.health.is_suspect(&id(3)));
}

#[test]
fn a_member_that_died_before_its_first_heartbeat_is_suspected() {
    let mut desk = Desk::new(5, 2);
    desk.pass(1300, &[0, 1, 4]);
    assert!(desk.health.is_suspect(&id(3)));
}

#[test]
//= docs/protocol.md#fd-27
fn who_hears_nobody_else_accuses_nobody_and_asks_on() {
    let mut deaf = Desk::new(5, 1);
    deaf.pass(400, &[0]);
    deaf.pass(1000, &[]);
    assert!(deaf.lines_with("accuse").is_empty());
    assert!(!deaf.health.is_suspect(&id(2)));
    deaf.pass(150, &[]);
    let asked: Vec<_> = deaf.lines_with("ask");
    assert_eq!(
        asked,
        ["1437 ask m2", "1500 ask m2"],
        "the successor's check is repeated, the others' are not"
    );

    let mut hears_one = Desk::new(5, 1);
    hears_one.pass(600, &[]);
    hears_one.hears(4);
    hears_one.pass(700, &[]);
    assert!(hears_one.health.is_suspect(&id(2)), "4 was heard more than T/2 after 2 fell silent");

    let mut heard_early = Desk::new(5, 1);
    heard_early.pass(500, &[]);
    heard_early.hears(4);
    heard_early.pass(800, &[]);
    assert!(!heard_early.health.is_suspect(&id(2)));
}

#[test]
fn one_heavy_member_and_each_of_two_trust_themselves() {
    let mut heavy = Desk::in_view(view_of_weights(&[10, 100, 10, 10]), 1);
    heavy.pass(1300, &[]);
    assert!(heavy.health.is_suspect(&id(2)));
    let mut of_two = Desk::new(2, 1);
    of_two.pass(1300, &[]);
    assert!(of_two.health.is_suspect(&id(0)));
}

#[test]
//= docs/protocol.md#fd-18
fn who_is_isolated_or_sick_accuses_nobody() {
    for (isolated, sick) in [(true, false), (false, true)] {
        let mut desk = Desk::new(5, 2);
        desk.isolated = isolated;
        desk.sick = sick;
        desk.pass(3000, &[0, 1]);
        assert!(!desk.health.is_suspect(&id(3)));
        assert!(desk.lines().iter().all(|line| line.ends_with("ask m3")), "it asks its successor alone");
        desk.isolated = false;
        desk.sick = false;
        desk.pass(260, &[0, 1]);
        assert!(desk.health.is_suspect(&id(3)), "what failed is accused as soon as it may be");
    }
}

#[test]
//= docs/protocol.md#fd-26
fn a_pause_extends_the_check_and_nobody_is_accused_of_it() {
    let mut desk = Desk::new(5, 2);
    desk.pass(1100, &[0, 1, 4]);
    desk.lines();
    // The process stands still for 400 ms; meanwhile the check would have ended at 1250.
    let pause = Duration::from_millis(400);
    desk.now = desk.now + pause;
    let now = desk.now;
    desk.contacts.handle_pause(now, pause);
    desk.with(|h, s, _| h.handle_pause(s, pause));
    desk.pass(149, &[0, 1, 4]);
    assert!(!desk.health.is_suspect(&id(3)), "the check has 150 ms left");
    desk.pass(1, &[0, 1, 4]);
    assert!(desk.health.is_suspect(&id(3)));
}

#[test]
fn a_long_pause_is_no_silence() {
    let mut desk = Desk::new(5, 2);
    desk.pass(500, &[0, 1, 4]);
    let pause = Duration::from_secs(60);
    desk.now = desk.now + pause;
    let now = desk.now;
    desk.contacts.handle_pause(now, pause);
    desk.with(|h, s, _| h.handle_pause(s, pause));
    desk.pass(740, &[0, 1, 4]);
    assert!(!desk.health.is_suspect(&id(3)));
    desk.pass(10, &[0, 1, 4]);
    assert!(desk.health.is_suspect(&id(3)), "what was silence before it still counts");
}

#[test]
fn a_flagged_message_is_no_contact_and_ends_no_check() {
    let mut desk = Desk::new(5, 2);
    desk.pass(1100, &[0, 1, 4]);
    let flags = Flags { isolated: true, ..Flags::default() };
    desk.hears_with(3, Answers::Nothing, flags, None);
    desk.pass(200, &[0, 1, 4]);
    assert!(desk.health.is_suspect(&id(3)));
}

#[test]
//= docs/protocol.md#lv-4
fn members_that_send_nothing_are_asked_at_once_ever_more_of_them() {
    // m4 gets heartbeats of m5 alone beside the hubs; all but the hubs are lost.
    let mut desk = Desk::in_view(view_with_hubs(14, 1), 4);
    let hubs = [0, 1, 2, 3];
    desk.pass(1_240, &hubs);
    assert_eq!(desk.lines(), ["1000 ask m5", "1062 ask m5", "1125 ask m5", "1187 ask m5"]);
    desk.pass(5, &hubs);
    desk.pass(10, &hubs);
    let asked = |desk: &mut Desk| {
        let mut asked = desk.lines_with("ask ");
        asked.retain(|line| !line.contains("ask m5"));
        asked
    };
    assert_eq!(asked(&mut desk), ["1250 ask m6"], "as many as it has passed");
    desk.pass(250, &hubs);
    assert_eq!(asked(&mut desk)[3..], ["1500 ask m7", "1500 ask m8"]);
    desk.pass(250, &hubs);
    let asked = asked(&mut desk);
    assert_eq!(asked[6..], ["1750 ask m9", "1750 ask m10", "1750 ask m11", "1750 ask m12"]);
}

#[test]
//= docs/protocol.md#lv-4
fn a_member_that_sends_nothing_and_answers_is_asked_again_after_t() {
    let mut desk = Desk::in_view(view_with_hubs(9, 1), 4);
    let hubs = [0, 1, 2, 3];
    desk.pass(1_255, &hubs);
    desk.lines();
    desk.hears_with(6, Answers::Request(desk.request_to(6)), Flags::default(), None);
    desk.pass(990, &hubs);
    assert!(desk.lines_with("ask m6").is_empty());
    desk.pass(20, &hubs);
    assert_eq!(desk.lines_with("ask m6"), ["2255 ask m6"]);
}

#[test]
//= docs/protocol.md#lv-4
fn only_those_who_send_heartbeats_here_are_silent() {
    let mut desk = Desk::in_view(view_with_hubs(9, 1), 4);
    desk.pass(60_000, &[0, 1, 2, 3, 5]);
    assert!(desk.lines().is_empty());
}
