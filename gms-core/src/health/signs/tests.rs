use std::time::Duration;

use crate::config::CrashDetection;
use crate::evidence::{Finding, ProbeOutcome, Reason, Verdict};
use crate::health::testing::{Desk, request};
use crate::input::WatchEnd;
use crate::message::{AccusationId, Answers, CheckId, Flags};
use crate::testing::{id, view_with};

/// Member `me` of `len`, at rest after a heartbeat of everybody.
fn resting(len: u8, me: u8) -> Desk {
    let mut desk = Desk::new(usize::from(len), me);
    let others: Vec<u8> = (0..len).filter(|n| *n != me).collect();
    desk.pass(100, &others);
    desk
}

fn strict(len: u8, me: u8) -> Desk {
    let mut desk = Desk::in_view(view_with(len, |t| t.crash_detection = CrashDetection::Strict), me);
    let others: Vec<u8> = (0..len).filter(|n| *n != me).collect();
    desk.pass(100, &others);
    desk
}

#[test]
//= docs/protocol.md#fd-29
fn the_watch_connection_leads_to_the_watched_member_and_moves_on_with_the_watch() {
    let mut desk = resting(5, 1);
    assert_eq!(desk.watches(), ["0 watch m2"]);
    desk.with(|h, s, out| h.handle_command_suspect(s, id(2), out));
    desk.settle();
    assert_eq!(desk.watches(), ["100 stop watch", "100 watch m3"]);
    desk.installs_without(&[2, 3]);
    desk.settle();
    assert_eq!(desk.watches(), ["100 stop watch", "100 watch m4"]);
    desk.installs_without(&[4, 0]);
    desk.settle();
    assert_eq!(desk.watches(), ["100 stop watch"], "alone, it watches nobody");
}

#[test]
//= docs/protocol.md#fd-29
fn a_broken_watch_makes_it_look_and_an_answer_puts_things_back_in_silence() {
    let mut desk = resting(5, 2);
    desk.watches();
    desk.watch_ends(WatchEnd::Broken);
    desk.settle();
    assert_eq!(desk.lines(), ["100 connect m3"]);
    assert!(desk.watches().is_empty(), "it is opened again after a heartbeat interval, or after an answer");
    desk.probe_brings(ProbeOutcome::Ok);
    desk.settle();
    assert!(desk.lines().is_empty());
    assert_eq!(desk.watches(), ["100 watch m3"]);
}

#[test]
fn a_watch_that_breaks_again_and_again_costs_one_look_in_each_heartbeat_interval() {
    let mut desk = resting(5, 2);
    for _ in 0..5 {
        desk.watch_ends(WatchEnd::Broken);
        desk.settle();
        desk.pass(60, &[0, 1, 3, 4]);
        if desk.lines_with("connect").len() == 1 {
            desk.probe_brings(ProbeOutcome::Ok);
        }
        desk.settle();
    }
    let connected: Vec<_> = desk.lines_with("connect");
    assert!(connected.is_empty(), "{connected:?}");
    assert_eq!(desk.ms(), 400);
    assert_eq!(desk.watches(), ["0 watch m3", "160 watch m3", "360 watch m3"]);
}

#[test]
//= docs/protocol.md#fd-29
fn who_is_refused_then_accuses_at_once() {
    let mut desk = resting(5, 2);
    desk.watch_ends(WatchEnd::Broken);
    desk.lines();
    desk.probe_brings(ProbeOutcome::Refused);
    desk.settle();
    let mut expected = vec![String::from("100 ! m3 suspected by m2: its address refused a connection")];
    expected.push(String::from("100 accuse m3 to m3"));
    for n in [0, 1, 4] {
        expected.extend([format!("100 accuse m3 to m{n}"), format!("100 frame m3 to m{n}")]);
    }
    assert_eq!(desk.lines(), expected);
}

#[test]
//= docs/protocol.md#fd-29
fn a_refused_watch_is_no_evidence_until_a_fresh_connection_is_refused_too() {
    let mut desk = resting(5, 2);
    desk.watch_ends(WatchEnd::Refused);
    desk.settle();
    assert_eq!(desk.lines(), ["100 connect m3"]);
    assert!(!desk.health.is_suspect(&id(3)));
}

#[test]
//= docs/protocol.md#fd-29
fn goodbyes_and_failures_are_no_signs_and_the_watch_is_opened_again() {
    for end in [WatchEnd::Goodbye, WatchEnd::Failed] {
        let mut desk = resting(5, 2);
        desk.watches();
        desk.watch_ends(end);
        desk.pass(199, &[0, 1, 3, 4]);
        assert!(desk.lines().is_empty(), "{end:?}");
        assert!(desk.watches().is_empty(), "{end:?}");
        desk.pass(1, &[0, 1, 3, 4]);
        assert_eq!(desk.watches(), ["300 watch m3"], "{end:?}");
    }
}

#[test]
//= docs/protocol.md#fd-29
fn another_incarnation_found_by_a_look_is_accused_with_its_name() {
    let mut desk = resting(5, 2);
    desk.watch_ends(WatchEnd::Broken);
    desk.probe_brings(ProbeOutcome::Other(id(9)));
    assert!(
        desk.lines()
            .contains(&String::from("100 ! m3 suspected by m2: another incarnation answered at its address"))
    );
}

#[test]
//= docs/protocol.md#fd-29
fn a_look_that_says_nothing_begins_the_ordinary_check_at_once() {
    for outcome in [ProbeOutcome::Reset, ProbeOutcome::TimedOut, ProbeOutcome::Sick, ProbeOutcome::LocalFault]
    {
        let mut desk = resting(5, 2);
        desk.watch_ends(WatchEnd::Broken);
        desk.lines();
        desk.probe_brings(outcome);
        desk.settle();
        assert_eq!(desk.lines(), ["100 ask m3"], "{outcome:?}");
        desk.hears(3);
        desk.pass(300, &[0, 1, 3, 4]);
        assert!(!desk.health.is_suspect(&id(3)), "{outcome:?}: any contact ends it");
    }
}

/// A kernel closes the connections of a killed process before its listener.
#[test]
//= docs/protocol.md#fd-29
fn a_look_that_is_reset_is_repeated_ever_later_and_six_times_at_most() {
    let mut desk = resting(5, 2);
    desk.watch_ends(WatchEnd::Broken);
    let mut looked = Vec::new();
    for _ in 0..200 {
        looked.extend(desk.lines_with("connect"));
        if desk.is_connecting() {
            desk.probe_brings(ProbeOutcome::Reset);
        }
        desk.pass(1, &[0, 1, 4]);
    }
    assert_eq!(looked, [100, 101, 103, 107, 115, 131, 163].map(|ms| format!("{ms} connect m3")));

    let mut refused = resting(5, 2);
    refused.watch_ends(WatchEnd::Broken);
    refused.probe_brings(ProbeOutcome::Reset);
    refused.pass(1, &[0, 1, 4]);
    refused.probe_brings(ProbeOutcome::Refused);
    assert!(refused.health.is_suspect(&id(3)));
}

#[test]
//= docs/protocol.md#fd-30
fn an_unreachable_datagram_makes_whoever_sent_it_look_once() {
    let mut desk = resting(6, 2);
    desk.finds_nobody_at(5);
    desk.finds_nobody_at(5);
    desk.finds_nobody_at(2);
    desk.finds_nobody_at(40);
    assert_eq!(desk.lines(), ["100 connect m5"], "itself and strangers are nobody to look at");
    desk.probe_brings(ProbeOutcome::Ok);
    desk.finds_nobody_at(5);
    assert!(desk.lines().is_empty(), "what was looked at a moment ago is not looked at again");
    desk.pass(200, &[0, 1, 3, 4, 5]);
    desk.finds_nobody_at(5);
    assert_eq!(desk.lines(), ["300 connect m5"]);
    desk.probe_brings(ProbeOutcome::Refused);
    assert!(desk.health.is_suspect(&id(5)));
}

#[test]
fn looks_are_bounded_however_many_errors_are_forged() {
    let mut desk = resting(64, 0);
    (1..64).for_each(|n| desk.finds_nobody_at(n));
    (1..64).for_each(|n| desk.finds_nobody_at(n));
    assert_eq!(desk.lines_with("connect").len(), 63);
    let mut signs = super::Signs::default();
    let view = view_with(200, |_| {});
    let mut other = Desk::in_view(view.clone(), 0);
    other.with(|_, scene, out| {
        for member in view.members().iter().skip(1) {
            signs.look(scene, member.member.id, out);
        }
    });
    assert_eq!(other.lines_with("connect").len(), super::LOOKS_MAX);
}

#[test]
fn the_isolated_and_the_sick_do_not_look() {
    for (isolated, sick) in [(true, false), (false, true)] {
        let mut desk = resting(5, 2);
        (desk.isolated, desk.sick) = (isolated, sick);
        desk.watch_ends(WatchEnd::Broken);
        desk.finds_nobody_at(4);
        assert!(desk.lines_with("connect").is_empty());
    }
}

#[test]
fn a_suspect_is_not_looked_at_again() {
    let mut desk = resting(5, 2);
    desk.with(|h, s, out| h.handle_command_suspect(s, id(4), out));
    desk.lines();
    desk.finds_nobody_at(4);
    assert!(desk.lines_with("connect").is_empty());
}

#[test]
fn whom_somebody_else_has_just_accused_is_looked_at_by_nobody_further() {
    let mut desk = resting(5, 2);
    desk.hears_accusation(1, 1, &[4], Flags::default());
    desk.lines();
    desk.finds_nobody_at(4);
    assert!(desk.lines_with("connect").is_empty());
    desk.pass(201, &[0, 1, 3]);
    desk.finds_nobody_at(4);
    assert_eq!(desk.lines_with("connect"), ["301 connect m4"], "the word has led to nothing for an interval");
}

#[test]
fn whoever_verifies_does_not_look_besides() {
    let mut desk = resting(5, 2);
    let contact = desk.hears(0);
    desk.with(|h, s, out| h.handle_verify_request(s, &contact, CheckId(7), id(4), out));
    assert_eq!(desk.lines_with("connect"), ["100 connect m4"]);
    desk.finds_nobody_at(4);
    assert!(desk.lines_with("connect").is_empty());
}

#[test]
fn a_view_without_the_member_ends_its_look() {
    let mut desk = resting(5, 2);
    desk.finds_nobody_at(4);
    desk.lines();
    desk.installs_without(&[4]);
    assert_eq!(desk.lines(), ["100 stop connect"]);
}

/// The coordinator of six, told at 100 by member 2 that the address of 3 refused it.
fn told_of_a_refusal() -> Desk {
    let mut desk = resting(6, 0);
    tells_of_a_refusal(&mut desk);
    desk
}

fn tells_of_a_refusal(desk: &mut Desk) {
    desk.hears(2);
    let requests = [request(3, Reason::Refused, None)];
    desk.with(|h, s, out| {
        h.handle_suspect_members(s, id(2), Flags::default(), AccusationId(1), &requests, out);
    });
}

#[test]
//= docs/protocol.md#fd-33
fn a_checker_told_of_a_refusal_sounds_out_everybody_else_once() {
    let mut desk = told_of_a_refusal();
    let heartbeats: Vec<String> = [1, 2, 3, 4, 5].map(|n| format!("100 heartbeat to m{n}")).to_vec();
    let lines = desk.lines();
    let sent: Vec<_> = lines.iter().filter(|line| line.contains("heartbeat to")).cloned().collect();
    assert_eq!(sent, heartbeats, "{lines:?}");
    let requests = [request(4, Reason::Refused, None)];
    desk.with(|h, s, out| {
        h.handle_suspect_members(s, id(2), Flags::default(), AccusationId(2), &requests, out);
    });
    assert!(desk.lines_with("heartbeat to").is_empty(), "they were sounded out a moment ago");
}

#[test]
//= docs/protocol.md#fd-33
fn who_died_together_is_found_by_the_datagram_that_finds_nobody() {
    let mut desk = told_of_a_refusal();
    desk.lines();
    desk.finds_nobody_at(4);
    assert_eq!(desk.lines(), ["100 connect m4"]);
    desk.probe_brings(ProbeOutcome::Refused);
    let lines = desk.lines();
    assert!(lines.contains(&String::from("100 ! m4 checked: its address refused a connection")), "{lines:?}");
}

fn verdict(desk: &Desk, n: u8) -> Option<Verdict> {
    desk.health.standing(&id(n)).map(|standing| standing.verdict)
}

#[test]
//= docs/protocol.md#fd-21
fn two_refusals_and_an_unreachable_datagram_are_proof_without_a_grace() {
    let mut desk = told_of_a_refusal();
    desk.finds_nobody_at(3);
    assert_eq!(verdict(&desk, 3), None, "an unreachable datagram alone is none");
    desk.probe_brings(ProbeOutcome::Refused);
    desk.settle();
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone));

    let mut later = told_of_a_refusal();
    later.probe_brings(ProbeOutcome::Refused);
    later.settle();
    assert_eq!(verdict(&later, 3), None, "the grace runs");
    later.finds_nobody_at(3);
    later.settle();
    assert_eq!(verdict(&later, 3), Some(Verdict::Gone), "and ends by it");

    let mut neither = told_of_a_refusal();
    neither.probe_brings(ProbeOutcome::Refused);
    neither.pass(9, &[1, 2, 4, 5]);
    assert_eq!(verdict(&neither, 3), None);
    neither.pass(1, &[1, 2, 4, 5]);
    assert_eq!(verdict(&neither, 3), Some(Verdict::Gone));
}

#[test]
//= docs/protocol.md#fd-21
fn one_refusal_and_an_unreachable_datagram_prove_nothing() {
    let mut desk = resting(5, 0);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    desk.finds_nobody_at(3);
    desk.probe_brings(ProbeOutcome::Refused);
    desk.pass(100, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), None);
    desk.hears_finding(4, 3, Finding::Refused);
    desk.settle();
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone), "the second refusal makes it proof");
}

#[test]
fn a_sign_of_life_during_the_grace_clears_the_member() {
    let mut desk = told_of_a_refusal();
    let answers = Answers::Request(desk.request_to(3));
    desk.probe_brings(ProbeOutcome::Refused);
    desk.hears_with(3, answers, Flags::default(), None);
    desk.pass(20, &[1, 2, 4, 5]);
    assert_eq!(verdict(&desk, 3), None);
}

#[test]
//= docs/protocol.md#fd-21
//= docs/protocol.md#fd-29
//= docs/protocol.md#fd-30
fn in_a_strict_cluster_there_are_no_signs_and_refusals_prove_nothing() {
    let mut desk = strict(6, 0);
    assert!(desk.watches().is_empty());
    desk.finds_nobody_at(3);
    assert!(desk.lines().is_empty());
    tells_of_a_refusal(&mut desk);
    assert!(desk.lines_with("heartbeat to").is_empty());
    desk.probe_brings(ProbeOutcome::Refused);
    desk.hears_finding(4, 3, Finding::Refused);
    desk.pass(900, &[1, 2, 4, 5]);
    assert_eq!(verdict(&desk, 3), None);
    desk.pass(400, &[1, 2, 4, 5]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Silent), "R of silence decides");
    assert_eq!(desk.now.since(crate::time::Timestamp::from_millis(100_000)), Duration::from_millis(1400));
}
