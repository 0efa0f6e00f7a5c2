use crate::evidence::{Finding, ProbeOutcome};
use crate::health::contacts::Contact;
use crate::health::testing::Desk;
use crate::message::{Answers, CheckId, Flags};
use crate::testing::id;
use crate::time::Timestamp;

/// Member 1 of five, asked by the coordinator to look at 3.
fn verifying() -> Desk {
    let mut desk = Desk::new(5, 1);
    desk.pass(300, &[0, 2, 3, 4]);
    asked(&mut desk, 0, 1, 3);
    assert_eq!(desk.lines(), ["300 ask m3", "300 connect m3"]);
    desk
}

fn asked(desk: &mut Desk, by: u8, check: u64, suspect: u8) {
    let contact = request(by, true);
    desk.with(|h, s, out| h.handle_verify_request(s, &contact, CheckId(check), id(suspect), out));
}

/// What a request of member `by` means, newer than all before or overtaken by something newer.
fn request(by: u8, fresh: bool) -> Contact {
    Contact {
        from: id(by),
        place: usize::from(by),
        at: Timestamp::ZERO,
        counts: fresh,
        fresh,
        flags: Flags::default(),
        answers: Answers::Nothing,
        sent_after: None,
    }
}

#[test]
//= docs/protocol.md#fd-3
fn an_overtaken_request_is_answered_and_does_not_end_what_runs() {
    let mut desk = verifying();
    let late = request(0, false);
    desk.with(|h, s, out| h.handle_verify_request(s, &late, CheckId(2), id(4), out));
    assert_eq!(desk.lines(), ["300 ask m4", "300 connect m4"]);
    desk.with(|h, s, out| h.handle_verify_request(s, &late, CheckId(3), id(4), out));
    assert!(desk.lines().is_empty(), "another check of m4 runs");
}

#[test]
fn a_verifier_says_alive_as_soon_as_it_sees_it_first_hand() {
    let mut connected = verifying();
    connected.probe_brings(ProbeOutcome::Ok);
    assert_eq!(connected.lines(), ["300 m3 is alive to m0"]);

    let mut answered = verifying();
    let request = answered.request_to(3);
    answered.hears_with(3, Answers::Request(request), Flags::default(), None);
    assert_eq!(answered.lines(), ["300 stop connect", "300 m3 is alive to m0"]);

    let mut echoed = verifying();
    let number = echoed.sends(3);
    echoed.hears_with(3, Answers::Nothing, Flags::default(), Some(number));
    assert_eq!(echoed.lines(), ["300 stop connect", "300 m3 is alive to m0"]);
}

#[test]
fn what_may_have_been_sent_before_the_request_proves_nothing() {
    let mut desk = verifying();
    desk.hears(3);
    assert!(desk.lines().is_empty());
}

#[test]
fn a_refusal_and_another_incarnation_are_told_at_once_and_life_later() {
    let mut refused = verifying();
    refused.probe_brings(ProbeOutcome::Refused);
    assert_eq!(refused.lines(), ["300 m3 is refused to m0"]);
    refused.pass(70, &[0, 2, 4]);
    assert_eq!(refused.lines(), ["362 ask m3"], "it asks on, without a connection");
    let request = refused.request_to(3);
    refused.hears_with(3, Answers::Request(request), Flags::default(), None);
    assert_eq!(refused.lines(), ["370 m3 is alive to m0"]);

    let mut other = verifying();
    other.probe_brings(ProbeOutcome::Other(id(30)));
    assert_eq!(other.lines(), [format!("300 m3 is {} to m0", Finding::Other(id(30)))]);
}

#[test]
fn nothing_in_time_is_silence_and_a_fault_of_its_own_is_tried_again() {
    let mut desk = verifying();
    desk.probe_brings(ProbeOutcome::LocalFault);
    desk.pass(70, &[0, 2, 4]);
    assert_eq!(desk.lines(), ["362 ask m3", "362 connect m3"]);
    desk.probe_brings(ProbeOutcome::TimedOut);
    desk.pass(179, &[0, 2, 4]);
    assert!(desk.lines_with(" is ").is_empty());
    desk.pass(1, &[0, 2, 4]);
    assert_eq!(desk.lines_with(" is "), ["550 m3 is silent to m0"]);
    desk.pass(100, &[0, 2, 4]);
    assert!(desk.lines().is_empty(), "then it is over");
}

#[test]
fn a_sick_suspect_is_asked_no_more() {
    let mut desk = verifying();
    desk.probe_brings(ProbeOutcome::Sick);
    desk.pass(300, &[0, 2, 4]);
    assert_eq!(desk.lines(), ["550 m3 is silent to m0"]);
}

#[test]
fn a_repeated_request_is_answered_with_what_is_known() {
    let mut desk = verifying();
    asked(&mut desk, 0, 1, 3);
    assert!(desk.lines().is_empty());
    desk.probe_brings(ProbeOutcome::Refused);
    desk.lines();
    asked(&mut desk, 0, 1, 3);
    assert_eq!(desk.lines(), ["300 m3 is refused to m0"]);
    asked(&mut desk, 0, 2, 3);
    assert_eq!(desk.lines(), ["300 ask m3", "300 connect m3"], "a new check begins anew");
}

#[test]
fn nobody_verifies_itself_the_checker_or_a_stranger() {
    let mut desk = Desk::new(5, 1);
    asked(&mut desk, 0, 1, 1);
    asked(&mut desk, 0, 2, 0);
    asked(&mut desk, 0, 3, 9);
    assert!(desk.lines().is_empty());
}

#[test]
fn verifications_are_bounded() {
    let mut desk = Desk::new(50, 1);
    for suspect in 2..50 {
        asked(&mut desk, 0, u64::from(suspect), suspect);
        let other = if suspect == 2 { 3 } else { 2 };
        asked(&mut desk, other, u64::from(suspect), suspect);
    }
    assert_eq!(desk.lines_with("connect").len(), 64);
}

#[test]
fn a_view_without_checker_or_suspect_ends_it() {
    for gone in [0, 3] {
        let mut desk = verifying();
        desk.installs_without(&[gone]);
        assert_eq!(desk.lines(), ["300 stop connect"]);
        desk.pass(300, &[0, 2, 4].map(|n| if n == gone { 2 } else { n }));
        assert!(desk.lines_with(" is ").is_empty());
    }
}

#[test]
fn a_pause_of_the_verifier_extends_its_look() {
    let mut desk = verifying();
    let pause = std::time::Duration::from_millis(400);
    desk.now = desk.now + pause;
    let now = desk.now;
    desk.contacts.handle_pause(now, pause);
    desk.with(|h, s, _| h.handle_pause(s, pause));
    desk.pass(249, &[0, 2, 4]);
    assert!(desk.lines_with(" is ").is_empty());
    desk.pass(1, &[0, 2, 4]);
    assert_eq!(desk.lines_with(" is "), ["950 m3 is silent to m0"]);
}
