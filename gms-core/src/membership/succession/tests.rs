use super::*;
use crate::message::{Answers, Flags, Head};
use crate::outbox::Action;
use crate::testing::{Stand, head, id, member, view_of};

const BALLOT: Ballot = Ballot { round: 1, place: 1 };

struct Voter {
    stand: Stand,
    acceptor: Acceptor,
    desk: PromiseDesk,
    out: Outbox,
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// m2 votes, m1 asks, m0 is in office. T is 1 s, R 1.25 s.
fn voter() -> Voter {
    let (acceptor, desk) = (Acceptor::default(), PromiseDesk::default());
    Voter { stand: Stand::new(view_of(4), 2), acceptor, desk, out: Outbox::default() }
}

impl Voter {
    fn hear_coordinator(&mut self, now: u64, flags: Flags) {
        let head = Head { flags, ..head(0, 2, &self.stand.view, now) };
        self.stand.contacts.handle_datagram(0, &head, Answers::Nothing, at(now));
    }

    fn ask(&mut self, now: u64, verdict: Verdict) -> Vec<Action> {
        let verdicts = [(id(0), verdict)];
        let question =
            PromiseQuestion { asker: id(1), ballot: BALLOT, verdicts: &verdicts, i_am_paused: false };
        self.desk.handle_promise(self.stand.at(now), &mut self.acceptor, question, &mut self.out);
        self.out.drain()
    }

    fn probe_done(&mut self, now: u64, outcome: ProbeOutcome) -> Vec<Action> {
        let scene = self.stand.at(now);
        assert!(self.desk.handle_probe_done(scene, &mut self.acceptor, ProbeId(1), outcome, &mut self.out));
        self.out.drain()
    }
}

fn answer(actions: &[Action]) -> &FrameBody {
    match actions {
        [Action::Frame { to, body, .. }] if *to == id(1) => body,
        other => panic!("not one frame to the asker: {other:?}"),
    }
}

fn promised(voter: &Voter) -> FrameBody {
    FrameBody::Promised { ballot: BALLOT, base: voter.stand.view.id(), accepted: None }
}

fn refused(voter: &Voter, why: Refusal) -> FrameBody {
    FrameBody::Refused { ballot: BALLOT, base: voter.stand.view.id(), why }
}

#[test]
//= docs/protocol.md#vw-7
fn a_coordinator_in_contact_is_protected_until_r_after_it_was_heard() {
    let mut voter = voter();
    voter.hear_coordinator(1_000, Flags::default());
    let left = std::time::Duration::from_millis(250);
    let actions = voter.ask(2_000, Verdict::Silent);
    assert_eq!(*answer(&actions), refused(&voter, Refusal::Protected(left)));
    let actions = voter.ask(2_250, Verdict::Silent);
    assert_eq!(*answer(&actions), promised(&voter));
}

#[test]
//= docs/protocol.md#vw-7
fn an_isolated_or_paused_coordinator_is_not_protected() {
    for flags in [Flags { isolated: true, ..Flags::default() }, Flags { paused: true, ..Flags::default() }] {
        let mut voter = voter();
        voter.hear_coordinator(1_000, flags);
        let actions = voter.ask(1_100, Verdict::Silent);
        assert_eq!(*answer(&actions), promised(&voter));
    }
}

#[test]
//= docs/protocol.md#vw-7
fn a_coordinator_that_leaves_its_work_undone_is_not_protected() {
    let mut voter = voter();
    voter.hear_coordinator(1_000, Flags::default());
    voter.stand.coordinator_is_idle = true;
    let actions = voter.ask(1_100, Verdict::Silent);
    assert_eq!(*answer(&actions), promised(&voter));
}

#[test]
//= docs/protocol.md#vw-7
fn a_claim_that_the_coordinator_is_gone_is_probed_once_and_decided_by_what_is_seen() {
    for (outcome, grants) in
        [(ProbeOutcome::Refused, true), (ProbeOutcome::Ok, false), (ProbeOutcome::TimedOut, false)]
    {
        let mut voter = voter();
        voter.hear_coordinator(1_000, Flags::default());
        let actions = voter.ask(1_100, Verdict::Gone);
        assert!(matches!(actions[..], [Action::StartProbe { probe: ProbeId(1), .. }]), "{actions:?}");
        assert_eq!(voter.ask(1_101, Verdict::Gone), [], "asked again, probed once");
        let actions = voter.probe_done(1_110, outcome);
        let refusal = Refusal::Protected(voter.stand.view.timing().retry_interval());
        let expected = if grants { promised(&voter) } else { refused(&voter, refusal) };
        assert_eq!(*answer(&actions), expected, "{outcome}");
    }
}

#[test]
//= docs/protocol.md#vw-7
fn who_was_heard_while_another_was_probed_is_protected() {
    let mut voter = Voter { stand: Stand::new(view_of(4), 3), ..voter() };
    voter.hear_coordinator(1_000, Flags::default());
    let verdicts = [(id(0), Verdict::Gone), (id(1), Verdict::Silent)];
    let question = PromiseQuestion { asker: id(2), ballot: BALLOT, verdicts: &verdicts, i_am_paused: false };
    voter.desk.handle_promise(voter.stand.at(1_100), &mut voter.acceptor, question, &mut voter.out);
    assert!(matches!(voter.out.drain()[..], [Action::StartProbe { .. }]));
    let heard = head(1, 3, &voter.stand.view, 1_105);
    voter.stand.contacts.handle_datagram(1, &heard, Answers::Nothing, at(1_105));
    let actions = voter.probe_done(1_110, ProbeOutcome::Refused);
    let refusal = Refusal::Protected(voter.stand.view.timing().retry_interval());
    assert!(
        matches!(&actions[..], [Action::Frame { to, body, .. }] if *to == id(2) && *body == refused(&voter, refusal)),
        "{actions:?}"
    );
}

#[test]
//= docs/protocol.md#vw-7
fn i_do_not_promise_to_somebody_later_in_office_than_me() {
    let mut voter = voter();
    voter.stand.me = member(0);
    let actions = voter.ask(5_000, Verdict::Gone);
    let left = voter.stand.view.timing().removal_silence();
    assert_eq!(*answer(&actions), refused(&voter, Refusal::Protected(left)));
}

#[test]
//= docs/protocol.md#vw-8
fn a_promise_tells_the_change_accepted_before() {
    let mut voter = voter();
    let change = std::sync::Arc::new(crate::view::Change::empty(&voter.stand.view));
    let makes = std::sync::Arc::new(voter.stand.view.apply(&change).unwrap());
    let first = Ballot { round: 0, place: 0 };
    voter.acceptor.accept(at(1), first, &change, &makes).unwrap();
    let actions = voter.ask(5_000, Verdict::Silent);
    let accepted = Some((first, (*change).clone()));
    let expected = FrameBody::Promised { ballot: BALLOT, base: voter.stand.view.id(), accepted };
    assert_eq!(*answer(&actions), expected);
}

#[test]
fn a_higher_promise_is_named_in_the_refusal() {
    let mut voter = voter();
    let higher = Ballot { round: 3, place: 3 };
    voter.acceptor.promise(higher).unwrap();
    let actions = voter.ask(5_000, Verdict::Silent);
    assert_eq!(*answer(&actions), refused(&voter, Refusal::Promised(higher)));
}
