use std::time::Duration;

use super::*;
use crate::input::{CheckHandle, ReplyHandle};
use crate::message::{Answers, Ballot, CheckRequest, Datagram, Echo, Frame, JoinRefusal, UnfinishedReason};
use crate::output::Destination;
use crate::testing::{addr, head, member, view_of};
use crate::view::{Change, Expelled, ViewId};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Member `me` of a view of three, installed at 1 s; T is 1 s. What it did on arrival is drained.
fn member_of_three(me: u8) -> (Node, View) {
    configured_member_of_three(me, Config::new("test"))
}

fn configured_member_of_three(me: u8, mut config: Config) -> (Node, View) {
    config.timing.member_timeout = Some(Duration::from_secs(1));
    config.has_seeds = true;
    let mut node = Node::new(config, member(me), 1, at(1_000)).expect("a valid configuration");
    let view = view_of(3);
    let whole = FrameBody::Install(Installation::Whole(Box::new(view.clone())));
    node.handle_input(at(1_000), frame(1, me, &view, 1, whole));
    assert_eq!(node.view().map(|v| v.id()), Some(view.id()));
    (node, view)
}

fn frame(from: u8, to: u8, view: &View, number: u64, body: FrameBody) -> Input {
    let frame = Frame { head: head(from, to, view, number), body };
    Input::Frame { from: addr(from), reply: ReplyHandle(number), received_at: at(1_000), frame }
}

fn heartbeat(from: u8, to: u8, view: &View, number: u64) -> Input {
    datagram(from, to, view, number, DatagramBody::Heartbeat { answers: Answers::Nothing })
}

fn datagram(from: u8, to: u8, view: &View, number: u64, body: DatagramBody) -> Input {
    let datagram = Datagram { head: head(from, to, view, number), body };
    Input::Datagram { from: addr(from), received_at: at(1_000), datagram }
}

fn drain(node: &mut Node) -> Vec<Output> {
    std::iter::from_fn(|| node.poll_output()).collect()
}

/// Runs the node's own timers up to `end`: all that it does, with the time.
fn run(node: &mut Node, end: u64) -> Vec<(Timestamp, Output)> {
    let mut done: Vec<_> = drain(node).into_iter().map(|output| (node.now, output)).collect();
    while let Some((due, _)) = node.poll_timeout().filter(|(due, _)| *due <= at(end)) {
        node.handle_timeout(due);
        done.extend(drain(node).into_iter().map(|output| (due, output)));
    }
    done
}

/// The frames among `outputs`: when, to whom, what.
fn frames(outputs: Vec<(Timestamp, Output)>) -> Vec<(Timestamp, SocketAddr, FrameBody)> {
    let frame = |(when, output)| match output {
        Output::SendStream { to: Destination::Address(to), frame, .. } => Some((when, to, frame.body)),
        _ => None,
    };
    outputs.into_iter().filter_map(frame).collect()
}

/// When `node`, member `me`, sends its heartbeats up to `end`, to whom, and their numbers.
fn heartbeats(node: &mut Node, end: u64) -> Vec<(Timestamp, SocketAddr, u64)> {
    let heartbeat = |(when, output)| match output {
        Output::Send { to, datagram } => {
            assert_eq!(datagram.body, DatagramBody::Heartbeat { answers: Answers::Nothing });
            Some((when, to, datagram.head.number))
        }
        _ => None,
    };
    run(node, end).into_iter().filter_map(heartbeat).collect()
}

#[test]
//= docs/protocol.md#fd-4
fn each_interval_every_other_member_gets_one_heartbeat() {
    let (mut node, _) = member_of_three(2);
    let expected = [(1_000, 1), (1_200, 2), (1_400, 3), (1_600, 4)]
        .into_iter()
        .flat_map(|(when, number)| [0, 1].map(|to| (at(when), addr(to), number)));
    assert!(expected.eq(heartbeats(&mut node, 1_600)));
}

#[test]
//= docs/protocol.md#fd-4
fn after_a_view_members_take_turns_with_heartbeats() {
    let interval = Duration::from_millis(200);
    let turns = [interval / 3, interval * 2 / 3, interval];
    for (me, turn) in (0..).zip(turns) {
        let (mut node, _) = member_of_three(me);
        let mut sent: Vec<_> = heartbeats(&mut node, 1_500).into_iter().map(|(when, ..)| when).collect();
        sent.dedup();
        let shown = at(1_000);
        assert_eq!(sent[..3], [shown, shown + turn, shown + turn + interval], "member {me}");
    }
}

#[test]
//= docs/protocol.md#fd-4
fn where_watches_show_crashes_all_send_at_the_same_time() {
    for me in 0..3 {
        let mut config = Config::new("test");
        config.take_turns = false;
        let (mut node, _) = configured_member_of_three(me, config);
        let mut sent: Vec<_> = heartbeats(&mut node, 1_400).into_iter().map(|(when, ..)| when).collect();
        sent.dedup();
        assert_eq!(sent, [at(1_000), at(1_200), at(1_400)], "member {me}");
    }
}

#[test]
//= docs/protocol.md#fd-4
fn a_heartbeat_is_answered_by_nothing_but_the_first_echo() {
    let (mut node, view) = member_of_three(1);
    run(&mut node, 1_000);
    node.handle_input(at(1_010), heartbeat(0, 1, &view, 1));
    let first = drain(&mut node);
    let [Output::Send { to, datagram }] = first.as_slice() else { panic!("{first:?}") };
    assert_eq!((*to, datagram.head.echo.map(|echo| echo.number)), (addr(0), Some(1)));
    node.handle_input(at(1_020), heartbeat(0, 1, &view, 2));
    assert_eq!(drain(&mut node), []);
}

#[test]
//= docs/protocol.md#vw-4
fn a_head_with_a_higher_number_makes_a_member_ask_its_sender() {
    let (mut node, view) = member_of_three(1);
    run(&mut node, 1_000);
    let later = view.apply(&Change::empty(&view)).unwrap();
    node.handle_input(at(1_010), heartbeat(0, 1, &later, 1));
    let asked = frames(run(&mut node, 1_100));
    assert_eq!(asked, [(at(1_030), addr(0), FrameBody::ViewRequest { held: view.id() })]);
}

#[test]
//= docs/protocol.md#vw-4
fn whoever_lacks_the_base_of_an_install_asks_for_a_view() {
    let (mut node, view) = member_of_three(1);
    run(&mut node, 1_000);
    let next = view.apply(&Change::empty(&view)).unwrap();
    let change = Change::empty(&next);
    let decided = crate::message::Decided { digest: change.digest(), change };
    let install = FrameBody::Install(Installation::Changes(vec![decided]));
    node.handle_input(at(1_010), frame(0, 1, &view, 1, install));
    let asked = frames(run(&mut node, 1_010));
    assert_eq!(asked, [(at(1_010), addr(0), FrameBody::ViewRequest { held: view.id() })]);
    assert_eq!(node.view().map(|v| v.id()), Some(view.id()));
}

#[test]
//= docs/protocol.md#vw-23
fn a_change_accepted_and_never_installed_is_reported_as_unfinished() {
    let (mut node, view) = member_of_three(2);
    run(&mut node, 1_000);
    let ballot = Ballot { round: 0, place: 0 };
    let prepare = FrameBody::Prepare { ballot, change: Change::empty(&view) };
    node.handle_input(at(1_010), frame(0, 2, &view, 1, prepare));
    let base = view.id();
    let said = frames(run(&mut node, 1_500));
    let accepted = (at(1_010), addr(0), FrameBody::Accepted { ballot, base });
    // Looked at with each heartbeat, a check_timeout of 250 ms after it was accepted at the earliest.
    let why = UnfinishedReason::Accepted;
    let unfinished = (at(1_400), addr(0), FrameBody::Unfinished { base, why });
    assert_eq!(said, [accepted, unfinished]);
}

#[test]
//= docs/protocol.md#vw-17
fn a_member_that_accepts_its_own_expulsion_is_isolated_before_it_says_so() {
    let (mut node, view) = member_of_three(2);
    run(&mut node, 1_000);
    let mut echoing = heartbeat(0, 2, &view, 1);
    let Input::Datagram { datagram, .. } = &mut echoing else { panic!("a heartbeat is a datagram") };
    datagram.head.echo = Some(Echo { number: 1, age_us: 0 });
    node.handle_input(at(1_010), echoing);
    drain(&mut node);
    let mut change = Change::empty(&view);
    change.expelled = vec![Expelled { member: member(2).id, reason: "test".into(), by: "m0".into() }];
    let prepare = FrameBody::Prepare { ballot: Ballot { round: 0, place: 0 }, change };
    node.handle_input(at(1_020), frame(0, 2, &view, 1, prepare));
    let said = drain(&mut node);
    let [Output::Event(Event::Isolated(_)), Output::SendStream { frame, .. }] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert!(matches!(frame.body, FrameBody::Accepted { .. }) && frame.head.flags.isolated, "{frame:?}");
}

#[test]
//= docs/protocol.md#vw-23
fn the_first_in_office_finishes_a_view_with_an_empty_change() {
    let (mut node, view) = member_of_three(0);
    run(&mut node, 1_000);
    let unfinished = FrameBody::Unfinished { base: view.id(), why: UnfinishedReason::Fenced };
    node.handle_input(at(1_010), frame(2, 0, &view, 1, unfinished));
    let said = frames(run(&mut node, 1_100));
    let prepare = FrameBody::Prepare { ballot: Ballot { round: 0, place: 0 }, change: Change::empty(&view) };
    assert_eq!(said, [1, 2].map(|n| (at(1_015), addr(n), prepare.clone())));
}

#[test]
//= docs/protocol.md#fd-3
fn of_what_was_overtaken_a_verifier_hears_its_checker_and_nothing_else() {
    let (mut node, view) = member_of_three(1);
    run(&mut node, 1_000);
    node.handle_input(at(1_010), heartbeat(0, 1, &view, 7));
    drain(&mut node);
    let asked = DatagramBody::HeartbeatRequest {
        target: node.me().id,
        request: crate::message::RequestId(1),
        reason: crate::evidence::Reason::Silent,
    };
    node.handle_input(at(1_020), datagram(0, 1, &view, 6, asked));
    assert_eq!(drain(&mut node), []);
    let verify = DatagramBody::VerifyRequest { check: crate::message::CheckId(1), suspect: member(2).id };
    node.handle_input(at(1_020), datagram(0, 1, &view, 5, verify));
    let outputs = drain(&mut node);
    assert!(outputs.iter().any(|output| matches!(output, Output::StartProbe { .. })), "{outputs:?}");
}

#[test]
//= docs/protocol.md#wr-4
fn a_stranger_gets_no_more_bytes_than_it_spent() {
    let (mut node, view) = member_of_three(1);
    run(&mut node, 1_000);
    // With a change accepted, heads are longer than the stranger's.
    let prepare = FrameBody::Prepare { ballot: Ballot { round: 0, place: 0 }, change: Change::empty(&view) };
    node.handle_input(at(1_010), frame(0, 1, &view, 1, prepare));
    drain(&mut node);
    let stranger = heartbeat(9, 1, &view, 1);
    let Input::Datagram { datagram: question, .. } = &stranger else { unreachable!("a datagram") };
    let size = |datagram: &Datagram| {
        let mut bytes = Vec::new();
        crate::codec::encode_datagram(datagram, &mut bytes).expect("a small datagram");
        bytes.len()
    };
    let spent = size(question);
    node.handle_input(at(1_020), stranger);
    let said = drain(&mut node);
    let [Output::Send { to, datagram }] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!((*to, &datagram.body), (addr(9), &DatagramBody::NotAMember { view: view.id() }));
    assert!(size(datagram) <= spent, "{} bytes for {spent}", size(datagram));
}

#[test]
//= docs/protocol.md#vw-5
fn a_joiner_does_not_take_a_view_after_which_no_number_is_left() {
    let mut config = Config::new("test");
    config.has_seeds = true;
    let mut node = Node::new(config, member(1), 1, at(1_000)).expect("a valid configuration");
    // Numbers can't be set here: the frame is forged, as a stranger would.
    let view = view_of(3);
    let head = head(0, 1, &view, 1);
    let encoded = |body| {
        let mut bytes = Vec::new();
        let frame = Frame { head: head.clone(), body };
        crate::codec::encode_frame(&frame, &mut bytes).expect("a small frame");
        bytes
    };
    let mut bytes = encoded(FrameBody::Install(Installation::Whole(Box::new(view))));
    // The kind of the frame, the variant of the installation, the number.
    let place = encoded(FrameBody::ViewRequest { held: ViewId::NONE }).len() - 2 + 2;
    bytes.splice(place..=place, [253, 255, 255, 255, 255, 255, 255, 255, 255]);
    let frame = crate::codec::decode_frame(&bytes).expect("a frame in its only form");
    let FrameBody::Install(Installation::Whole(forged)) = &frame.body else { panic!("{frame:?}") };
    assert_eq!(forged.number(), u64::MAX);
    let (from, reply, received_at) = (addr(0), ReplyHandle(1), at(1_000));
    node.handle_input(at(1_000), Input::Frame { from, reply, received_at, frame });
    assert_eq!(node.view(), None);
}

#[test]
//= docs/protocol.md#fd-21
fn a_member_tells_checkers_of_another_cluster_that_it_is_none_of_theirs() {
    let (mut node, view) = member_of_three(1);
    run(&mut node, 1_000);
    let mut asked = |cluster| {
        let request = CheckRequest { cluster, target: member(1).id, view: view.id() };
        node.handle_input(at(1_000), Input::CheckAsked { handle: CheckHandle(1), request });
        drain(&mut node)
    };
    let answer = |answer| vec![Output::AnswerCheck { handle: CheckHandle(1), answer }];
    assert_eq!(asked(view.cluster()), answer(CheckAnswer::Ok));
    let other = crate::member::ClusterId::from_bytes([9; 16]);
    assert_eq!(asked(other), answer(CheckAnswer::Elsewhere));
}

#[test]
fn what_is_dropped_unread_has_a_cause() {
    let (mut node, view) = member_of_three(1);
    let mut dropped = |input| {
        node.handle_input(at(1_010), input);
        node.dropped().map(DropCause::name)
    };
    assert_eq!(dropped(heartbeat(0, 1, &view, 5)), None);
    assert_eq!(dropped(heartbeat(0, 1, &view, 5)), Some("old_number"));
    assert_eq!(dropped(heartbeat(0, 1, &view, 6)), None);
    assert_eq!(dropped(heartbeat(0, 2, &view, 7)), Some("other_recipient"));
    assert_eq!(dropped(heartbeat(1, 1, &view, 7)), Some("other_recipient"));
    let Input::Datagram { from, received_at, mut datagram } = heartbeat(0, 1, &view, 7) else {
        unreachable!()
    };
    datagram.head.cluster = crate::member::ClusterId::from_bytes([9; 16]).tag();
    assert_eq!(dropped(Input::Datagram { from, received_at, datagram }), Some("other_cluster"));
    let request = || FrameBody::ViewRequest { held: view.id() };
    assert_eq!(dropped(frame(0, 1, &view, 1, request())), None);
    assert_eq!(dropped(frame(0, 2, &view, 2, request())), Some("other_recipient"));
}

#[test]
//= docs/protocol.md#vw-3
fn a_leaver_that_asks_is_let_go_only_where_a_majority_is_known_to_hold_the_view_without_it() {
    let (mut node, view) = member_of_three(1);
    let change = Change { left: vec![member(2).id], ..Change::empty(&view) };
    let next = view.apply(&change).unwrap();
    let decided = crate::message::Decided { digest: next.digest(), change };
    let install = [FrameBody::Install(Installation::Changes(vec![decided]))];
    // Somebody who has not shown yet that it holds the view itself hands it on.
    node.handle_input(at(1_010), frame(0, 1, &view, 2, install[0].clone()));
    assert_eq!(node.view().map(|v| v.id()), Some(next.id()));
    drain(&mut node);
    let answers = |node: &mut Node, number, leaving| {
        let mut asked = frame(2, 1, &view, number, FrameBody::ViewRequest { held: view.id() });
        if let Input::Frame { frame, .. } = &mut asked {
            frame.head.flags.leaving = leaving;
        }
        node.handle_input(at(1_030), asked);
        let reply = |output| match output {
            Output::SendStream { to: Destination::Reply(_), frame, .. } => Some(frame.body),
            _ => None,
        };
        drain(node).into_iter().filter_map(reply).collect::<Vec<_>>()
    };
    // 10 of 25 are known to hold it.
    assert_eq!(answers(&mut node, 3, true), []);
    assert_eq!(answers(&mut node, 4, false), [], "sent before it wished to leave");
    node.handle_input(at(1_030), heartbeat(0, 1, &next, 9));
    drain(&mut node);
    assert_eq!(answers(&mut node, 5, true), install);
}

#[test]
//= docs/protocol.md#vw-11
fn a_coordinator_turns_away_whom_it_may_have_missed_the_removal_of() {
    let refusals = |asked_in: u64| {
        let (mut node, view) = member_of_three(0);
        drain(&mut node);
        let timing = crate::config::TimingOverrides::default();
        let asked_in = ViewId(view.id().0 - asked_in);
        let join = FrameBody::Join { cluster_name: "test".into(), member: member(9), timing, asked_in };
        node.handle_input(at(1_010), frame(9, 0, &view, 1, join));
        let replies = drain(&mut node).into_iter().filter_map(|output| match output {
            Output::SendStream { to: Destination::Reply(_), frame, .. } => Some(frame.body),
            _ => None,
        });
        replies.collect::<Vec<_>>()
    };
    let refused = |reason| [FrameBody::JoinRefused { reason }];
    // It took its view whole: what let the joiner in may have made that view, and what removed it would be known.
    assert_eq!(refusals(1), refused(JoinRefusal::Isolated), "it has heard nobody yet");
    assert_eq!(refusals(2), refused(JoinRefusal::IdInUse));
}
