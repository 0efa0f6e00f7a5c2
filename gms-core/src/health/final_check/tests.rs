use std::time::Duration;

use crate::evidence::{Evidence, Finding, ProbeOutcome, Reason, Verdict};
use crate::health::testing::{Desk, request};
use crate::input::CommandToken;
use crate::message::{AccusationId, Answers, Flags};
use crate::testing::{id, view_of_weights};

/// The coordinator of five, 3 silent since 0, the others heard; 2 has just accused it at 1200.
fn checking() -> Desk {
    let mut desk = Desk::new(5, 0);
    desk.pass(1200, &[1, 2, 4]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    desk.lines();
    desk
}

fn verdict(desk: &Desk, n: u8) -> Option<Verdict> {
    desk.health.standing(&id(n)).map(|standing| standing.verdict)
}

const PASSED: [&str; 6] = [
    "1200 passed m3 to m1",
    "1200 passed m3 to m2",
    "1200 passed m3 to m3",
    "1200 passed m3 to m4",
    "1200 ! m3 passed",
    "1200 ! m3 cleared by m0",
];

#[test]
//= docs/protocol.md#fd-19
fn suspect_connection_and_verifiers_are_asked_at_once_and_again() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1200, &[1, 2, 4]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    desk.lines();
    desk.pass(249, &[1, 2, 4]);
    let asked =
        |ms: u64| [format!("{ms} ask m3"), format!("{ms} verify m3 to m1"), format!("{ms} verify m3 to m4")];
    let expected: Vec<String> = [1262, 1325, 1387].into_iter().flat_map(asked).collect();
    assert_eq!(desk.lines(), expected);
}

#[test]
//= docs/protocol.md#fd-19
fn a_verifier_that_becomes_a_suspect_before_it_answered_is_replaced_by_another() {
    let mut desk = Desk::new(7, 0);
    desk.pass(1200, &[1, 2, 4, 5, 6]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    assert_eq!(desk.lines_with("verify"), ["1200 verify m3 to m6", "1200 verify m3 to m1"]);
    desk.hears_finding(6, 3, Finding::Silent);
    let mut asked_after = |accused: u8| {
        desk.hears_accusation(2, u64::from(accused), &[accused], Flags::default());
        desk.lines_with("verify m3")
    };
    let asked = [6, 1, 4, 5].map(&mut asked_after);
    // 6 has answered, 4 was never asked; the accuser verifies for want of others.
    let one = |n: u8| vec![format!("1200 verify m3 to m{n}")];
    assert_eq!(asked, [Vec::new(), one(5), Vec::new(), one(2)]);
}

#[test]
fn the_accuser_verifies_too_where_there_are_too_few_others() {
    let mut desk = Desk::new(3, 0);
    desk.pass(1200, &[1]);
    desk.hears_accusation(1, 1, &[2], Flags::default());
    assert_eq!(desk.lines_with("verify"), ["1200 verify m2 to m1"]);
    let mut of_two = Desk::new(2, 0);
    of_two.pass(1300, &[]);
    assert!(of_two.lines_with("verify").is_empty());
}

#[test]
fn many_checks_ask_different_verifiers() {
    let heard: Vec<u8> = (1..30).collect();
    let mut desk = Desk::new(40, 0);
    desk.pass(1250, &heard);
    let mut asked: Vec<String> = desk.lines_with("verify");
    assert_eq!(asked.len(), 20);
    asked.iter_mut().for_each(|line| *line = line.rsplit(' ').next().unwrap().to_owned());
    asked.sort();
    asked.dedup();
    assert!(asked.len() > 8, "{asked:?}");
}

#[test]
//= docs/protocol.md#fd-20
fn an_answer_to_its_request_a_proved_contact_a_connection_or_a_verifier_make_it_alive() {
    let mut answered = checking();
    let request = Answers::Request(answered.request_to(3));
    answered.hears_with(3, request, Flags::default(), None);
    let lines = answered.lines();
    assert_eq!(lines[1..6], PASSED[..5], "the connection is stopped, then all are told");
    assert_eq!(lines[6..], ["1200 ! m3 cleared by m3"]);

    let mut answered_isolated = checking();
    let flags = Flags { isolated: true, ..Flags::default() };
    let request = Answers::Request(answered_isolated.request_to(3));
    answered_isolated.hears_with(3, request, flags, None);
    assert!(answered_isolated.lines().contains(&String::from("1200 ! m3 passed")));

    let mut echoed = checking();
    let number = echoed.sends(3);
    echoed.hears_with(3, Answers::Nothing, Flags::default(), Some(number));
    assert!(echoed.lines().contains(&String::from("1200 ! m3 passed")));

    let mut connected = checking();
    connected.probe_brings(ProbeOutcome::Ok);
    assert_eq!(connected.lines(), PASSED);

    let mut verified = checking();
    verified.hears_finding(4, 3, Finding::Alive);
    let lines = verified.lines();
    assert_eq!(lines[1..6], PASSED[..5]);
    assert_eq!(lines[6..], ["1200 ! link to m3 bad", "1200 ! m3 cleared by m0"], "only others reach it");
}

#[test]
fn old_contact_and_the_answer_of_a_sick_one_are_no_proof_of_life() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1100, &[1, 2, 4]);
    let before = desk.sends(3);
    desk.pass(100, &[1, 2, 4]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    desk.lines();
    desk.hears_with(3, Answers::Nothing, Flags::default(), Some(before));
    desk.hears(3);
    let sick = Flags { sick: true, ..Flags::default() };
    let answer = Answers::Request(desk.request_to(3));
    desk.hears_with(3, answer, sick, None);
    desk.hears_finding(1, 4, Finding::Alive);
    desk.hears_finding(2, 3, Finding::Alive);
    assert_eq!(desk.lines(), ["1200 ! m3 cleared by m3"], "the suspicion ends, the final check does not");
}

#[test]
//= docs/protocol.md#fd-22
fn silence_takes_the_whole_time_and_r() {
    let mut desk = checking();
    desk.pass(249, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), None, "silent for more than R, but the check's time is not up");
    desk.pass(1, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Silent));
    assert_eq!(desk.lines_with("1450"), ["1450 stop connect", "1450 ! m3 silent"]);

    // A check that begins early waits for R.
    let mut early = Desk::new(5, 0);
    early.pass(800, &[1, 2, 4]);
    early.hears_accusation(2, 1, &[3], Flags::default());
    early.pass(449, &[1, 2, 4]);
    assert_eq!(verdict(&early, 3), None);
    early.pass(1, &[1, 2, 4]);
    assert_eq!(verdict(&early, 3), Some(Verdict::Silent));
}

#[test]
fn a_connection_that_is_not_answered_is_silence() {
    let outcomes = [
        ProbeOutcome::Reset,
        ProbeOutcome::TimedOut,
        ProbeOutcome::Unreachable,
        ProbeOutcome::Garbage,
        ProbeOutcome::LocalFault,
        ProbeOutcome::Other(id(0)),
    ];
    for outcome in outcomes {
        let mut desk = checking();
        desk.probe_brings(outcome);
        desk.pass(200, &[1, 2, 4]);
        assert_eq!(verdict(&desk, 3), None);
        assert_eq!(
            desk.lines_with("connect").first().map(String::as_str),
            Some("1262 connect m3"),
            "tried again"
        );
        desk.pass(50, &[1, 2, 4]);
        assert_eq!(verdict(&desk, 3), Some(Verdict::Silent), "{outcome:?}");
    }
}

#[test]
//= docs/protocol.md#fd-31
fn a_stopped_process_whose_kernel_accepts_is_silent_not_gone() {
    let mut desk = checking();
    desk.hears_finding(1, 3, Finding::Silent);
    desk.probe_brings(ProbeOutcome::TimedOut);
    desk.pass(249, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), None);
    desk.pass(1, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Silent));
}

#[test]
//= docs/protocol.md#fd-21
fn one_that_answers_from_another_cluster_is_gone_from_this_one() {
    let mut desk = checking();
    desk.probe_brings(ProbeOutcome::Elsewhere);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone));
}

#[test]
//= docs/protocol.md#fd-21
fn refused_to_two_and_no_sign_of_life_for_the_grace_is_gone() {
    let mut desk = checking();
    desk.probe_brings(ProbeOutcome::Refused);
    desk.pass(50, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), None, "refused to one");
    desk.hears_finding(4, 3, Finding::Refused);
    desk.pass(9, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), None, "grace");
    desk.pass(1, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone));
    assert_eq!(desk.lines(), ["1260 ! m3 gone"]);
}

#[test]
fn refused_to_others_alone_is_not_gone() {
    let mut desk = checking();
    desk.hears_finding(1, 3, Finding::Refused);
    desk.hears_finding(4, 3, Finding::Refused);
    desk.pass(200, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), None);
    desk.probe_brings(ProbeOutcome::Refused);
    desk.pass(10, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone));
}

#[test]
fn a_heartbeat_within_the_grace_makes_it_alive() {
    let mut desk = checking();
    desk.probe_brings(ProbeOutcome::Refused);
    desk.hears_finding(4, 3, Finding::Refused);
    desk.pass(5, &[1, 2, 4]);
    let request = Answers::Request(desk.request_to(3));
    desk.hears_with(3, request, Flags::default(), None);
    desk.pass(20, &[1, 2, 3, 4]);
    assert_eq!(verdict(&desk, 3), None);
    assert_eq!(desk.lines_with("1205 ! m3"), ["1205 ! m3 passed", "1205 ! m3 cleared by m3"]);
}

#[test]
fn the_grace_is_four_round_trips_where_those_are_longer_but_no_longer_than_the_check() {
    for (rtt, grace) in [(2, 10), (20, 80), (400, 250)] {
        let mut desk = Desk::new(5, 0);
        let number = desk.sends(3);
        desk.now = desk.now + Duration::from_millis(rtt);
        desk.hears_with(3, Answers::Nothing, Flags::default(), Some(number));
        desk.pass(1100, &[1, 2, 4]);
        desk.hears_accusation(2, 1, &[3], Flags::default());
        desk.probe_brings(ProbeOutcome::Refused);
        desk.hears_finding(4, 3, Finding::Refused);
        desk.lines();
        desk.pass(300, &[1, 2, 4]);
        assert_eq!(desk.lines_with("gone"), [format!("{} ! m3 gone", rtt + 1100 + grace)]);
    }
}

#[test]
fn in_a_view_of_two_one_refusal_is_enough() {
    let mut desk = Desk::new(2, 0);
    desk.pass(1250, &[]);
    desk.probe_brings(ProbeOutcome::Refused);
    desk.pass(10, &[]);
    assert_eq!(verdict(&desk, 1), Some(Verdict::Gone));
}

/// A third member joins while the one of two is being found gone, or was found so before its removal was decided.
#[test]
//= docs/protocol.md#fd-21
fn one_refusal_is_not_enough_any_more_once_a_third_member_has_joined() {
    for was_found in [false, true] {
        let mut desk = Desk::new(2, 0);
        desk.pass(1250, &[]);
        desk.probe_brings(ProbeOutcome::Refused);
        desk.pass(if was_found { 10 } else { 5 }, &[]);
        assert_eq!(verdict(&desk, 1).is_some(), was_found);
        desk.installs_with(2);
        desk.pass(20, &[2]);
        assert_eq!(verdict(&desk, 1), None, "found before: {was_found}");
    }
}

#[test]
fn a_finding_that_says_less_and_comes_late_takes_nothing_back() {
    let mut desk = checking();
    desk.hears_finding(4, 3, Finding::Refused);
    desk.hears_finding(4, 3, Finding::Silent);
    desk.probe_brings(ProbeOutcome::Refused);
    desk.pass(10, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone));
}

#[test]
fn another_incarnation_at_the_address_is_gone_at_once_and_at_a_verifier_a_refusal() {
    let mut desk = checking();
    desk.probe_brings(ProbeOutcome::Other(id(30)));
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone));

    let mut verified = checking();
    verified.probe_brings(ProbeOutcome::TimedOut);
    verified.hears_finding(4, 3, Finding::Other(id(30)));
    assert_eq!(verified.lines(), ["1200 connect m3"], "it looks again for itself");
    verified.pass(200, &[1, 2, 4]);
    assert_eq!(verdict(&verified, 3), None);
    verified.probe_brings(ProbeOutcome::Refused);
    verified.pass(10, &[1, 2, 4]);
    assert_eq!(verdict(&verified, 3), Some(Verdict::Gone));
}

#[test]
fn an_accuser_that_met_another_incarnation_counts_as_refused() {
    let mut desk = Desk::new(3, 0);
    desk.pass(200, &[1, 2]);
    let requests = [request(2, Reason::Replaced, Some(30))];
    let flags = Flags::default();
    desk.with(|h, s, out| h.handle_suspect_members(s, id(1), flags, AccusationId(4), &requests, out));
    desk.probe_brings(ProbeOutcome::Refused);
    desk.pass(10, &[1]);
    assert_eq!(verdict(&desk, 2), Some(Verdict::Gone));
}

#[test]
//= docs/protocol.md#fd-28
fn after_sick_nothing_more_is_asked_and_the_verdict_waits_for_r() {
    let mut desk = Desk::new(5, 0);
    desk.pass(600, &[1, 2, 4]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    desk.probe_brings(ProbeOutcome::Sick);
    desk.lines();
    desk.pass(649, &[1, 2, 4]);
    assert!(desk.lines().is_empty());
    desk.pass(1, &[1, 2, 4]);
    assert_eq!(desk.lines(), ["1250 ! m3 silent"]);
    let standing = desk.health.standing(&id(3)).expect("silent");
    assert_eq!(standing.evidence.probe, Some(ProbeOutcome::Sick));
}

#[test]
//= docs/protocol.md#fd-23
fn while_one_is_checked_so_is_every_other_that_is_silent_for_two_heartbeats() {
    let mut desk = Desk::new(8, 0);
    desk.pass(800, &[1, 2, 4, 5, 6]);
    desk.pass(401, &[1, 2, 4, 5]);
    desk.lines();
    desk.hears_accusation(2, 1, &[3], Flags::default());
    assert_eq!(
        desk.lines_with("checked"),
        [
            "1201 ! m3 checked: silent",
            "1201 ! m6 checked: silent while another was checked",
            "1201 ! m7 checked: silent while another was checked",
        ]
    );
    desk.pass(248, &[1, 2]);
    assert!(desk.lines_with("checked").is_empty(), "4 and 5 are heard lately");
    desk.pass(1000, &[1, 2]);
    // 6 was last heard at 800: while its check runs, 4 and 5 become silent for more than 400 ms.
    assert_eq!(
        desk.lines_with("checked"),
        [
            "1600 ! m4 checked: silent while another was checked",
            "1600 ! m5 checked: silent while another was checked",
        ]
    );
}

#[test]
//= docs/protocol.md#fd-24
fn a_second_accusation_joins_the_check_that_runs() {
    let mut desk = checking();
    desk.hears_accusation(4, 2, &[3], Flags::default());
    desk.hears_accusation(2, 1, &[3], Flags::default());
    assert!(desk.lines_with("connect").is_empty());
    desk.pass(250, &[1, 2, 4]);
    let standing = desk.health.standing(&id(3)).expect("silent");
    let accusers: Vec<_> = standing.evidence.accusations.iter().map(|a| a.by).collect();
    assert_eq!(accusers, [id(2), id(4)]);
}

#[test]
fn the_evidence_tells_the_whole_chain() {
    let mut desk = checking();
    desk.hears_finding(4, 3, Finding::Silent);
    desk.pass(250, &[1, 2, 4]);
    let evidence: &Evidence = &desk.health.standing(&id(3)).expect("silent").evidence;
    assert_eq!(evidence.checker, id(0));
    assert_eq!(evidence.reason, Reason::Silent);
    assert_eq!(evidence.silent_for, Duration::from_millis(1450));
    assert_eq!(evidence.check_took, Duration::from_millis(250));
    assert_eq!(evidence.accusations[0].age, Duration::from_millis(250));
    assert_eq!(evidence.accusations[0].silent_for, Duration::from_millis(1250));
    assert_eq!(evidence.requests_sent, 4);
    assert_eq!(evidence.probe, None);
    let findings: Vec<_> = evidence.verifiers.iter().map(|v| (v.by, v.finding)).collect();
    assert_eq!(findings, [(id(1), None), (id(4), Some(Finding::Silent))]);
    assert_eq!(evidence.verdict, Verdict::Silent);
    assert!(evidence.fenced_by.is_empty());
}

#[test]
//= docs/protocol.md#fd-25
fn a_verdict_survives_a_view_with_the_member_and_falls_with_a_sign_of_life() {
    let mut desk = checking();
    let request = Answers::Request(desk.request_to(3));
    desk.pass(250, &[1, 2, 4]);
    desk.installs_without(&[1]);
    let standing = desk.health.standing(&id(3)).expect("silent");
    assert_eq!(standing.silence_limit, desk.now + Duration::from_millis(50));
    desk.hears(3);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Silent), "that may have been sent before");
    desk.lines();
    desk.hears_with(3, request, Flags::default(), None);
    assert_eq!(verdict(&desk, 3), None);
    assert_eq!(desk.lines().last().map(String::as_str), Some("1450 ! m3 passed"));

    let mut removed = checking();
    removed.pass(250, &[1, 2, 4]);
    removed.installs_without(&[3]);
    assert_eq!(removed.health.standings().count(), 0);
}

#[test]
fn a_silent_verdict_ends_by_contact_that_can_be_no_old_one_and_proof_does_not() {
    let mut silent = checking();
    silent.pass(250, &[1, 2, 4]);
    let mut gone = checking();
    gone.probe_brings(ProbeOutcome::Other(id(30)));
    for desk in [&mut silent, &mut gone] {
        desk.now = crate::time::Timestamp::from_millis(100_000 + 1200 + 1249);
        desk.hears(3);
        assert!(verdict(desk, 3).is_some());
        desk.now = desk.now + Duration::from_millis(1);
        desk.hears(3);
    }
    assert_eq!(verdict(&silent, 3), None);
    assert_eq!(verdict(&gone, 3), Some(Verdict::Gone));
}

#[test]
fn a_member_that_heard_it_or_another_checker_ends_a_silent_verdict() {
    let mut heard = checking();
    heard.pass(250, &[1, 2, 4]);
    heard.lines();
    heard.with(|h, s, out| h.handle_heard(s, id(3), id(4), out));
    assert_eq!(verdict(&heard, 3), None);
    assert_eq!(heard.lines_with("passed m3").len(), 4);
    heard.pass(1200, &[1, 2, 4]);
    assert!(heard.lines_with("checked").is_empty(), "it is watched again as if newly contacted");
    heard.pass(60, &[1, 2, 4]);
    assert_eq!(heard.lines_with("checked").len(), 1);

    let mut gone = checking();
    gone.probe_brings(ProbeOutcome::Other(id(30)));
    gone.with(|h, s, out| h.handle_heard(s, id(3), id(4), out));
    assert_eq!(verdict(&gone, 3), Some(Verdict::Gone), "proof stands");
    gone.with(|h, s, out| h.handle_final_check_passed(s, id(1), id(3), out));
    assert_eq!(verdict(&gone, 3), None);
}

#[test]
fn an_exoneration_by_another_does_not_influence_the_own_final_check() {
    let mut desk = checking();
    desk.with(|h, s, out| h.handle_final_check_passed(s, id(1), id(3), out));
    desk.pass(250, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Silent));
}

#[test]
fn a_member_that_hears_nothing_of_the_checker_does_not_stay_in_a_check_for_ever() {
    let mut desk = checking();
    desk.pass(1200, &[1, 2, 3, 4]);
    assert_eq!(verdict(&desk, 3), None);
    assert!(desk.lines_with("m3 passed").is_empty(), "what was sent before may still come");
    desk.pass(200, &[1, 2, 3, 4]);
    assert_eq!(desk.lines_with("m3 passed").len(), 1);
}

#[test]
fn the_checker_that_cannot_reach_a_member_that_others_reach_backs_off() {
    let mut desk = Desk::new(5, 0);
    let mut began = Vec::new();
    for _ in 0..4 {
        while desk.lines_with("checked").is_empty() {
            desk.pass(10, &[1, 2, 4]);
        }
        began.push(desk.ms());
        desk.hears_finding(4, 3, Finding::Alive);
    }
    assert_eq!(began, [1250, 2500, 4750, 9000]);
}

#[test]
fn a_pause_of_the_checker_extends_the_check() {
    let mut desk = checking();
    let pause = Duration::from_millis(600);
    desk.now = desk.now + pause;
    let now = desk.now;
    desk.contacts.handle_pause(now, pause);
    desk.with(|h, s, _| h.handle_pause(s, pause));
    desk.pass(249, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), None);
    desk.pass(1, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Silent));
}

#[test]
fn a_proposer_learns_whether_other_checks_can_end_in_time() {
    let mut desk = Desk::new(6, 0);
    desk.pass(400, &[1, 2, 4, 5]);
    desk.pass(450, &[1, 2, 4]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    let latest = |desk: &mut Desk, after_now: u64| {
        let limit = desk.now + Duration::from_millis(after_now);
        let end = desk.with(|h, s, _| h.latest_check_end_before(s, limit));
        end.map(|end| end.since(desk.now).as_millis())
    };
    // 3 has been silent for 850 of 1250, 5 for 450: their checks end as silent in 400 and in 800.
    assert_eq!(latest(&mut desk, 399), None);
    assert_eq!(latest(&mut desk, 799), Some(400));
    assert_eq!(latest(&mut desk, 800), Some(800));
}

#[test]
fn a_user_gets_the_verdict_and_its_check_removes_nobody() {
    let mut desk = Desk::new(5, 1);
    desk.pass(200, &[0, 2, 3, 4]);
    let token = CommandToken(3);
    desk.with(|h, s, out| h.handle_command_check(s, id(3), token, out));
    assert_eq!(desk.lines_with("connect").len(), 1);
    desk.probe_brings(ProbeOutcome::Ok);
    assert_eq!(desk.lines(), ["200 done Checked(Alive)", "200 ! m3 passed"]);
    desk.with(|h, s, out| h.handle_command_check(s, id(3), token, out));
    desk.pass(1260, &[0, 2, 4]);
    assert_eq!(desk.lines_with("done"), ["1450 done Checked(Silent)"]);
    assert_eq!(desk.health.standings().count(), 0);
}

#[test]
fn a_user_cannot_check_or_suspect_oneself_a_stranger_or_while_isolated() {
    let mut desk = Desk::new(5, 1);
    let token = CommandToken(3);
    for stranger in [1, 9] {
        desk.with(|h, s, out| h.handle_command_check(s, id(stranger), token, out));
        desk.with(|h, s, out| h.handle_command_suspect(s, id(stranger), out));
    }
    desk.isolated = true;
    desk.with(|h, s, out| h.handle_command_check(s, id(2), token, out));
    desk.with(|h, s, out| h.handle_command_suspect(s, id(2), out));
    assert_eq!(desk.lines(), ["0 done NoSuchMember", "0 done NoSuchMember", "0 done NotNow"]);
    desk.isolated = false;
    desk.with(|h, s, out| h.handle_command_check(s, id(2), token, out));
    desk.lines();
    desk.installs_without(&[2]);
    assert_eq!(desk.lines(), ["0 stop connect", "0 done NoSuchMember"]);
}

#[test]
fn a_users_suspicion_is_told_and_ends_by_contact() {
    let mut desk = Desk::new(3, 1);
    desk.pass(200, &[0, 2]);
    desk.with(|h, s, out| h.handle_command_suspect(s, id(2), out));
    assert_eq!(
        desk.lines(),
        [
            "200 ! m2 suspected by m1: requested",
            "200 accuse m2 to m2",
            "200 accuse m2 to m0",
            "200 frame m2 to m0"
        ]
    );
    desk.hears(2);
    assert_eq!(desk.lines(), ["200 ! m2 cleared by m2"]);
}

#[test]
fn an_isolated_checker_checks_nobody_for_silence_and_does_when_it_is_back() {
    let mut desk = Desk::new(5, 0);
    desk.isolated = true;
    desk.pass(2000, &[]);
    assert!(desk.lines_with("connect").is_empty());
    desk.isolated = false;
    desk.pass(210, &[1, 2]);
    assert_eq!(desk.lines_with("connect"), ["2050 connect m3", "2050 connect m4"]);
}

#[test]
fn a_whole_half_of_the_cluster_is_found_by_one_look() {
    let heard: Vec<u8> = (1..6).collect();
    let mut desk = Desk::in_view(view_of_weights(&[10; 11]), 0);
    desk.pass(1500, &heard);
    assert_eq!(desk.health.standings().count(), 5);
    let failed = desk.lines_with("silent").into_iter().filter(|line| line.starts_with("1500 ! m"));
    assert_eq!(failed.count(), 5, "all at 1.5 T");
}

#[test]
fn a_report_on_an_earlier_check_counts_for_nothing() {
    let mut desk = checking();
    let earlier = crate::message::CheckId(0);
    desk.with(|h, s, out| h.handle_verify_reply(s, id(4), earlier, id(3), Finding::Alive, out));
    assert!(desk.lines().is_empty());
}

#[test]
fn a_pause_moves_the_moment_until_which_a_verdict_waits_for_others() {
    let mut desk = checking();
    desk.pass(250, &[1, 2, 4]);
    let before = desk.health.standing(&id(3)).expect("silent").silence_limit;
    let pause = Duration::from_millis(300);
    desk.with(|h, s, _| h.handle_pause(s, pause));
    assert_eq!(desk.health.standing(&id(3)).expect("silent").silence_limit, before + pause);
}

#[test]
fn a_pause_extends_the_grace_and_the_time_in_which_contact_may_be_old() {
    let pause = Duration::from_millis(300);
    let stands_still = |desk: &mut Desk| {
        desk.now = desk.now + pause;
        let now = desk.now;
        desk.contacts.handle_pause(now, pause);
        desk.with(|h, s, _| h.handle_pause(s, pause));
    };
    let mut in_grace = checking();
    in_grace.probe_brings(ProbeOutcome::Refused);
    in_grace.hears_finding(4, 3, Finding::Refused);
    stands_still(&mut in_grace);
    in_grace.pass(9, &[1, 2, 4]);
    assert_eq!(verdict(&in_grace, 3), None);
    in_grace.pass(1, &[1, 2, 4]);
    assert_eq!(verdict(&in_grace, 3), Some(Verdict::Gone));

    let mut unheard = checking();
    unheard.pass(1100, &[1, 2, 3, 4]);
    stands_still(&mut unheard);
    unheard.hears(3);
    assert!(unheard.lines_with("m3 passed").is_empty(), "1400 after it began, of which 300 were a pause");
    unheard.pass(200, &[1, 2, 3, 4]);
    assert_eq!(unheard.lines_with("m3 passed").len(), 1);
}

#[test]
fn a_check_that_waits_for_r_asks_on_but_no_verifiers() {
    let mut desk = Desk::new(5, 0);
    desk.pass(600, &[1, 2, 4]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    desk.pass(260, &[1, 2, 4]);
    desk.lines();
    desk.pass(100, &[1, 2, 4]);
    assert_eq!(desk.lines(), ["912 ask m3"]);
}

#[test]
fn a_refusal_is_not_forgotten_when_a_later_connection_times_out() {
    let mut desk = checking();
    desk.probe_brings(ProbeOutcome::Refused);
    desk.pass(70, &[1, 2, 4]);
    desk.probe_brings(ProbeOutcome::TimedOut);
    desk.hears_finding(4, 3, Finding::Refused);
    desk.pass(10, &[1, 2, 4]);
    assert_eq!(verdict(&desk, 3), Some(Verdict::Gone));
}

#[test]
fn neither_suspects_nor_silent_members_verify() {
    let mut silent = Desk::new(5, 0);
    silent.pass(700, &[1, 2, 4]);
    silent.pass(500, &[2, 4]);
    silent.hears_accusation(2, 1, &[3], Flags::default());
    assert_eq!(silent.lines_with("verify m3"), ["1200 verify m3 to m4", "1200 verify m3 to m2"]);

    let mut accused = Desk::new(6, 2);
    accused.pass(300, &[0, 1, 3, 4, 5]);
    accused.hears_accusation(5, 1, &[0, 1], Flags::default());
    assert_eq!(
        accused.lines_with("verify m0"),
        ["300 verify m0 to m3", "300 verify m0 to m4"],
        "1 was heard lately, but is accused"
    );
}

#[test]
fn one_that_others_cleared_is_not_checked_beside_another() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1250, &[1, 2, 4]);
    desk.hears_finding(4, 3, Finding::Alive);
    desk.pass(500, &[1, 2, 4]);
    desk.lines();
    // 3 has been silent for 500 ms since it was cleared, which is how this member's link to it is.
    desk.hears_accusation(1, 1, &[2], Flags::default());
    assert_eq!(desk.lines_with("checked"), ["1750 ! m2 checked: silent"]);
}
