use crate::evidence::Reason;
use crate::health::testing::{Desk, request};
use crate::member::{Member, MemberId, Weight};
use crate::message::{AccusationId, Answers, DatagramBody, Flags, FrameBody};
use crate::outbox::Action;
use crate::testing::{id, member, view_of};
use crate::view::View;

#[test]
//= docs/protocol.md#fd-13
fn in_a_small_view_everybody_is_told_and_the_suspect_too() {
    let mut desk = Desk::new(4, 2);
    desk.pass(1249, &[0, 1]);
    desk.lines();
    desk.pass(1, &[0, 1]);
    assert_eq!(
        desk.lines(),
        [
            "1250 ! m3 suspected by m2: silent",
            "1250 accuse m3 to m3",
            "1250 accuse m3 to m0",
            "1250 frame m3 to m0",
            "1250 accuse m3 to m1",
            "1250 frame m3 to m1",
        ]
    );
}

#[test]
fn an_accusation_is_repeated_while_it_lasts_and_the_frame_only_without_an_answer() {
    let mut desk = Desk::new(4, 2);
    desk.pass(1300, &[0, 1]);
    desk.lines();
    let accusation = desk.accusation();
    desk.hears_with(0, Answers::Accusation(accusation), Flags::default(), None);
    desk.pass(200, &[0, 1]);
    assert_eq!(desk.lines(), ["1500 accuse m3 to m3", "1500 accuse m3 to m0", "1500 accuse m3 to m1"]);
    desk.pass(250, &[0, 1]);
    assert_eq!(desk.lines_with("frame"), ["1750 frame m3 to m0", "1750 frame m3 to m1"]);
    desk.hears(3);
    assert_eq!(desk.lines(), ["1750 ! m3 cleared by m3"]);
    desk.pass(600, &[0, 1]);
    assert!(desk.lines().is_empty());
}

#[test]
fn in_a_large_view_the_first_in_office_are_told_and_more_when_none_answers() {
    let everybody_but_the_suspect: Vec<u8> = (0..30).filter(|n| *n != 21).collect();
    let mut desk = Desk::new(30, 20);
    desk.pass(1250, &everybody_but_the_suspect);
    assert_eq!(desk.lines_with("frame").len(), 10);
    desk.pass(250, &everybody_but_the_suspect);
    assert_eq!(desk.lines_with("frame").len(), 20);
    let accusation = desk.accusation();
    desk.hears_with(0, Answers::Accusation(accusation), Flags::default(), None);
    desk.pass(250, &everybody_but_the_suspect);
    assert_eq!(desk.lines_with("accuse").len(), 21, "twenty and the suspect, by datagram alone");
}

#[test]
fn a_datagram_carries_sixteen_accused_and_the_frame_all() {
    let heard: Vec<u8> = (0..5).chain(26..40).collect();
    let mut desk = Desk::new(40, 4);
    desk.pass(1250, &heard);
    let datagram = desk.actions.iter().rev().find_map(|action| match action {
        Action::Datagram { to, body: DatagramBody::SuspectMembers { requests, .. } } if *to == id(0) => {
            Some(requests.len())
        }
        _ => None,
    });
    let frame = desk.actions.iter().rev().find_map(|action| match action {
        Action::Frame { body: FrameBody::SuspectMembers { requests, .. }, .. } => Some(requests.len()),
        _ => None,
    });
    assert_eq!((datagram, frame), (Some(16), Some(21)));
    let told_itself = |action: &&Action| {
        matches!(action, Action::Datagram { to, body: DatagramBody::SuspectMembers { requests, .. } }
            if requests.len() == 1 && requests[0].member == *to)
    };
    assert_eq!(desk.actions.iter().filter(told_itself).count(), 21, "each suspect hears of itself");
}

#[test]
fn those_whom_the_accuser_suspects_are_not_asked() {
    let mut desk = Desk::new(12, 10);
    let heard: Vec<u8> = (1..10).collect();
    desk.pass(1300, &heard);
    // 11 and 0 fell silent together: neither is told of the other.
    assert!(desk.actions.iter().all(|a| !matches!(a, Action::Frame { to, .. } if *to == id(0))));
    assert_eq!(desk.lines_with("frame m0+m11").len(), 9);
}

#[test]
//= docs/protocol.md#fd-14
fn a_suspect_defends_itself_to_the_accuser_and_to_whoever_is_in_office() {
    let mut desk = Desk::new(5, 3);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    assert_eq!(desk.lines(), ["0 heartbeat to m2", "0 heartbeat to m0"]);
    desk.hears_accusation(0, 1, &[3], Flags::default());
    assert_eq!(desk.lines(), ["0 heartbeat to m0"]);
    desk.sick = true;
    desk.hears_accusation(0, 2, &[3], Flags::default());
    assert!(desk.lines().is_empty());
}

#[test]
//= docs/protocol.md#fd-15
fn who_is_in_office_says_that_the_accusation_arrived_and_checks_at_once() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1200, &[1, 2, 4]);
    desk.lines();
    desk.hears_accusation(2, 77, &[3], Flags::default());
    assert_eq!(
        desk.lines(),
        [
            "1200 ! m3 suspected by m2: silent",
            "1200 got 77 to m2",
            "1200 ! m3 checked: silent",
            "1200 ask m3",
            "1200 connect m3",
            "1200 verify m3 to m1",
            "1200 verify m3 to m4",
        ]
    );
}

#[test]
fn who_is_not_in_office_notes_the_accusation() {
    let mut desk = Desk::new(5, 1);
    desk.pass(300, &[0, 2, 3, 4]);
    desk.hears_accusation(2, 77, &[3], Flags::default());
    assert_eq!(desk.lines(), ["300 ! m3 suspected by m2: silent"]);
    desk.hears_accusation(2, 77, &[3], Flags::default());
    assert!(desk.lines().is_empty(), "a repetition is no news");
    desk.hears(3);
    assert_eq!(desk.lines(), ["300 ! m3 cleared by m3"]);
    desk.hears_accusation(2, 77, &[3], Flags::default());
    desk.hears(3);
    assert!(desk.lines().is_empty(), "nor is it when the accused was heard in between");
    desk.hears_accusation(2, 78, &[3], Flags::default());
    assert_eq!(desk.lines().len(), 1);
}

#[test]
//= docs/protocol.md#fd-17
fn who_would_be_in_office_without_the_accused_checks_them() {
    let mut desk = Desk::new(5, 1);
    desk.pass(1200, &[2, 3, 4]);
    desk.hears_accusation(4, 9, &[0], Flags::default());
    assert_eq!(desk.lines_with("connect"), ["1200 connect m0"]);

    let mut third = Desk::new(5, 2);
    third.pass(1200, &[1, 3, 4]);
    third.hears_accusation(4, 9, &[0], Flags::default());
    assert!(third.lines_with("connect").is_empty(), "the second is still in office");
    let leaving = Flags { leaving: true, ..Flags::default() };
    third.hears_with(1, Answers::Nothing, leaving, None);
    third.hears_accusation(4, 9, &[0], Flags::default());
    assert_eq!(third.lines_with("connect"), ["1200 connect m0"], "and not when it leaves");
}

#[test]
//= docs/protocol.md#fd-11
fn who_is_in_office_needs_no_accuser() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1249, &[1, 2, 3]);
    assert!(desk.lines().is_empty());
    desk.pass(1, &[1, 2, 3]);
    assert_eq!(desk.lines_with("!"), ["1250 ! m4 checked: silent"]);
}

#[test]
fn who_finds_those_before_it_silent_for_long_looks_for_itself() {
    let mut desk = Desk::new(5, 2);
    desk.pass(1250, &[3, 4]);
    assert_eq!(
        desk.lines_with("!"),
        ["1250 ! m0 checked: silent in office", "1250 ! m1 checked: silent in office"]
    );
    let mut third = Desk::new(5, 2);
    third.pass(2500, &[1, 3, 4]);
    assert!(third.lines_with("!").is_empty());
}

#[test]
//= docs/protocol.md#fd-16
fn the_word_of_one_that_cannot_judge_makes_the_checker_look_for_itself() {
    let unable = [
        Flags { isolated: true, ..Flags::default() },
        Flags { leaving: true, ..Flags::default() },
        Flags { paused: true, ..Flags::default() },
    ];
    for flags in unable {
        let mut desk = Desk::new(5, 0);
        desk.pass(400, &[1, 2, 3, 4]);
        desk.hears_accusation(2, 1, &[3], flags);
        assert!(desk.lines_with("connect").is_empty(), "3 was just heard");
        desk.pass(500, &[1, 4]);
        desk.hears_accusation(2, 1, &[3], flags);
        assert_eq!(desk.lines_with("connect m3").len(), 1, "3 is silent here too");
    }
}

#[test]
fn ten_accusers_within_a_millisecond_make_one_final_check() {
    let mut desk = Desk::new(12, 0);
    desk.pass(1200, &(1..11).collect::<Vec<_>>());
    desk.lines();
    for by in 1..11 {
        desk.hears_accusation(by, u64::from(by), &[11], Flags::default());
    }
    assert_eq!(desk.lines_with("connect").len(), 1);
    desk.pass(250, &(1..11).collect::<Vec<_>>());
    let standing = desk.health.standing(&id(11)).expect("silent");
    assert_eq!(standing.evidence.accusations.len(), 8);
    assert_eq!(standing.evidence.more_accusations, 2);
}

#[test]
fn accusations_of_strangers_and_of_the_accuser_itself_start_nothing() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1200, &[1, 2, 3]);
    desk.lines();
    let requests = [request(9, Reason::Silent, None), request(2, Reason::Silent, None)];
    let flags = Flags::default();
    desk.with(|h, s, out| h.handle_suspect_members(s, id(2), flags, AccusationId(1), &requests, out));
    assert!(desk.lines().is_empty());
}

#[test]
fn one_accusation_begins_one_check_each_check_timeout() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1200, &[1, 2, 4]);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    assert_eq!(desk.lines_with("connect").len(), 1);
    desk.probe_brings(crate::evidence::ProbeOutcome::Ok);
    desk.hears_accusation(2, 1, &[3], Flags::default());
    desk.hears_accusation(1, 1, &[3], Flags::default());
    assert!(desk.lines_with("connect").is_empty());
    desk.pass(240, &[1, 2, 4]);
    assert!(desk.lines_with("connect").is_empty());
    desk.pass(170, &[1, 2, 4]);
    assert_eq!(desk.lines_with("connect").len(), 1);
}

#[test]
//= docs/protocol.md#fd-12
fn an_accuser_whose_suspect_is_cleared_by_others_backs_off_up_to_eight_timeouts() {
    let mut desk = Desk::new(5, 2);
    let mut accused_after = Vec::new();
    for _ in 0..6 {
        let begin = desk.ms();
        while !desk.health.is_suspect(&id(3)) {
            desk.pass(50, &[0, 1, 4]);
        }
        accused_after.push(desk.ms() - begin);
        desk.with(|h, s, out| h.handle_final_check_passed(s, id(0), id(3), out));
        assert!(!desk.health.is_suspect(&id(3)));
    }
    assert_eq!(accused_after, [1250, 1250, 2250, 4250, 8250, 8250]);
    assert_eq!(desk.lines_with("link"), ["1250 ! link to m3 bad"], "the bad link is told once");
    desk.pass(1300, &[0, 1, 3, 4]);
    assert_eq!(desk.lines_with("link").len(), 1, "and that it works, when contact has lasted for T");
    let begin = desk.ms();
    while !desk.health.is_suspect(&id(3)) {
        desk.pass(50, &[0, 1, 4]);
    }
    assert_eq!(desk.ms() - begin, 1150, "T after the last heartbeat, and a check: patience is back");
}

#[test]
//= docs/protocol.md#fd-2
fn an_exoneration_is_no_contact_and_ends_no_check_but_nobody_is_accused_right_after_it() {
    let mut desk = Desk::new(5, 2);
    desk.pass(1100, &[0, 1, 4]);
    desk.lines();
    desk.with(|h, s, out| h.handle_final_check_passed(s, id(0), id(3), out));
    let silence = desk.contacts.get(&id(3)).expect("a member").silence(desk.now);
    assert_eq!(silence.as_millis(), 1100);
    desk.pass(100, &[0, 1, 4]);
    assert_eq!(desk.lines(), ["1125 ask m3", "1187 ask m3"], "the check that runs goes on");
    desk.pass(1000, &[0, 1, 4]);
    assert_eq!(desk.lines(), ["2100 ask m3", "2162 ask m3"], "and a new one begins T after the exoneration");
}

#[test]
//= docs/protocol.md#fd-32
fn a_suspicion_ends_by_contact_by_a_passed_check_or_by_a_view_without_the_member() {
    let suspecting = || {
        let mut desk = Desk::new(5, 2);
        desk.pass(1300, &[0, 1, 4]);
        assert!(desk.health.is_suspect(&id(3)));
        assert!(desk.health.unanswered_since().is_some());
        desk.lines();
        desk
    };
    let mut heard = suspecting();
    heard.hears(3);
    assert_eq!(heard.lines(), ["1300 ! m3 cleared by m3"]);
    assert!(!heard.health.is_suspect(&id(3)));
    let mut passed = suspecting();
    passed.with(|h, s, out| h.handle_final_check_passed(s, id(0), id(3), out));
    assert_eq!(passed.lines_with("cleared"), ["1300 ! m3 cleared by m0"]);
    let mut removed = suspecting();
    removed.installs_without(&[3]);
    assert!(removed.lines().is_empty());
    assert_eq!(removed.health.unanswered_since(), None);
    let mut nothing = suspecting();
    nothing.pass(20_000, &[0, 1, 4]);
    assert!(nothing.health.is_suspect(&id(3)), "nothing else ends it");
}

#[test]
fn another_incarnation_at_a_members_address_is_accused_with_that_evidence_and_no_flood() {
    let mut desk = Desk::new(5, 2);
    for _ in 0..3 {
        desk.with(|h, s, out| h.handle_replaced(s, id(4), id(40), out));
        desk.hears(4);
    }
    assert_eq!(desk.lines_with("suspected").len(), 1);
    let told = desk.actions.iter().find_map(|action| match action {
        Action::Frame { body: FrameBody::SuspectMembers { requests, .. }, .. } => requests[0].replaced_by,
        _ => None,
    });
    assert_eq!(told, Some(id(40)));
}

#[test]
fn behind_the_eligible_come_all_others_in_office() {
    let mut joined: Vec<Member> = (0..4).map(member).collect();
    joined[0].coordinator_eligible = false;
    joined[2].coordinator_eligible = false;
    joined[3].weight = Weight::DEFAULT;
    let founder = joined.remove(0);
    let first = View::founding(crate::testing::CLUSTER, "test".into(), crate::testing::timing(), founder);
    let mut change = crate::view::Change::empty(&first);
    change.joined = joined.into_iter().map(Into::into).collect();
    let view = first.apply(&change).expect("joiners");
    let order: Vec<MemberId> = view.office().map(|m| m.id).collect();
    assert_eq!(order, [id(1), id(3), id(0), id(2)]);
    assert!(view_of(3).office().map(|m| m.id).eq([id(0), id(1), id(2)]));
}

#[test]
fn patience_lasts_until_own_contact_has_lasted() {
    let doubtful = || {
        let mut desk = Desk::new(5, 2);
        for _ in 0..2 {
            while !desk.health.is_suspect(&id(3)) {
                desk.pass(50, &[0, 1, 4]);
            }
            desk.with(|h, s, out| h.handle_final_check_passed(s, id(0), id(3), out));
        }
        desk
    };
    let time_to_suspect = |desk: &mut Desk| {
        let begin = desk.ms();
        while !desk.health.is_suspect(&id(3)) {
            desk.pass(50, &[0, 1, 4]);
        }
        desk.ms() - begin
    };
    let mut once = doubtful();
    once.hears(3);
    assert_eq!(time_to_suspect(&mut once), 2250, "one heartbeat is not enough");

    let mut with_gaps = doubtful();
    for _ in 0..4 {
        with_gaps.pass(500, &[0, 1, 4]);
        with_gaps.hears(3);
    }
    assert_eq!(time_to_suspect(&mut with_gaps), 2250, "nor are some that come now and then");

    let mut paused = doubtful();
    let pause = std::time::Duration::from_millis(700);
    paused.pass(1000, &[0, 1, 4]);
    paused.now = paused.now + pause;
    let now = paused.now;
    paused.contacts.handle_pause(now, pause);
    paused.with(|h, s, _| h.handle_pause(s, pause));
    assert_eq!(time_to_suspect(&mut paused), 1250, "a pause is no time in which it was watched");
}

#[test]
fn the_checker_that_accuses_tells_the_suspect_alone_and_checks() {
    let mut desk = Desk::new(4, 0);
    desk.pass(1250, &[2, 3]);
    let lines = desk.lines_with("m1");
    assert_eq!(
        lines[4..],
        [
            "1250 ! m1 checked: silent",
            "1250 ask m1",
            "1250 connect m1",
            "1250 verify m1 to m2",
            "1250 verify m1 to m3",
            "1250 ! m1 suspected by m0: silent",
            "1250 accuse m1 to m1",
        ]
    );
}

#[test]
fn one_that_becomes_isolated_repeats_no_accusation() {
    let mut desk = Desk::new(4, 2);
    desk.pass(1300, &[0, 1]);
    desk.isolated = true;
    desk.lines();
    desk.pass(1000, &[0, 1]);
    assert!(desk.lines_with("accuse").is_empty());
    desk.isolated = false;
    desk.pass(260, &[0, 1]);
    assert_eq!(desk.lines_with("accuse").len(), 3, "it goes on when it is connected again");
}

#[test]
fn the_word_of_an_accuser_that_is_out_counts_no_more() {
    let mut desk = Desk::new(6, 1);
    desk.hears_accusation(4, 9, &[0], Flags::default());
    assert_eq!(desk.lines_with("connect").len(), 1, "without 0, 1 is in office");
    let scene_is_acting = |desk: &mut Desk| desk.with(|h, s, _| h.is_acting_checker(s));
    assert!(scene_is_acting(&mut desk));
    desk.installs_without(&[4]);
    assert!(!scene_is_acting(&mut desk));
}

#[test]
fn the_word_of_one_against_whom_a_verdict_stands_starts_nothing() {
    let mut desk = Desk::new(5, 0);
    desk.pass(1500, &[1, 2, 3]);
    assert!(desk.health.standing(&id(4)).is_some());
    desk.lines();
    desk.hears_accusation(4, 1, &[3], Flags::default());
    assert!(desk.lines_with("connect").is_empty());
}

#[test]
fn clearing_one_that_is_heard_says_nothing_of_the_link() {
    let mut desk = Desk::new(5, 1);
    desk.pass(300, &[0, 2, 3, 4]);
    desk.with(|h, s, out| h.handle_command_suspect(s, id(4), out));
    desk.lines();
    desk.with(|h, s, out| h.handle_final_check_passed(s, id(0), id(4), out));
    assert_eq!(desk.lines(), ["300 ! m4 cleared by m0"]);
}
