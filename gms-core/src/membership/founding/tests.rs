use super::*;
use crate::outbox::{Action, Outbox};
use crate::testing::{CLUSTER, addr, id, member};

const OLD: Duration = Duration::from_secs(10);
const YOUNG: Duration = Duration::from_millis(100);

fn ground(ages: &[Duration], seats: usize) -> Ground {
    let process = |n: usize| {
        let n = u8::try_from(n).unwrap();
        Process { id: id(n), addr: addr(n), age: ages[usize::from(n)] }
    };
    Ground {
        processes: (0..ages.len()).map(process).collect(),
        seats,
        is_seed: true,
        knows_cluster: false,
        age: ages[0],
        founding_age: Duration::from_secs(2),
        pace: Duration::from_secs(1),
    }
}

fn founding() -> Founding {
    Founding::new(id(0), member(0).endpoint, "test".into())
}

/// Calls one step of `founding` and gives what it sends.
fn step(
    ground: &Ground,
    founding: &mut Founding,
    act: impl FnOnce(&mut Founding, &mut Step<'_>),
) -> Vec<Action> {
    let mut out = Outbox::default();
    let mut rng = Rng::with_seed(7);
    let now = Timestamp::from_millis(10_000);
    act(founding, &mut Step { now, ground, rng: &mut rng, out: &mut out, sent: Vec::new() });
    out.drain()
}

fn bodies(actions: Vec<Action>) -> Vec<FrameBody> {
    let body = |action| match action {
        Action::FrameTo { body, .. } => body,
        other => panic!("no frame: {other:?}"),
    };
    actions.into_iter().map(body).collect()
}

fn say(ground: &Ground, founding: &mut Founding, from: u8, body: FrameBody) -> Vec<FrameBody> {
    bodies(step(ground, founding, |f, s| f.handle_message(s, id(from).short(), ReplyHandle(1), &body)))
}

fn ballot(round: u32, proposer: u8) -> FoundBallot {
    FoundBallot { round, proposer: id(proposer) }
}

fn founder(n: u8) -> Founder {
    Founder { cluster: CLUSTER, member: id(n), endpoint: member(n).endpoint }
}

fn promise(ballot: FoundBallot, all_young: bool) -> FrameBody {
    FrameBody::FoundPromise { cluster_name: "test".into(), ballot, all_young }
}

fn accept(ballot: FoundBallot, founder: Founder) -> FrameBody {
    FrameBody::FoundAccept { cluster_name: "test".into(), ballot, founder }
}

fn promised(ballot: FoundBallot, accepted: Option<(FoundBallot, Founder)>) -> FrameBody {
    FrameBody::FoundPromised { ballot, accepted }
}

/// The value of the acceptances asked for, all the same.
fn proposed(sent: &[FrameBody]) -> Option<Founder> {
    sent.iter().find_map(|body| match body {
        FrameBody::FoundAccept { founder, .. } => Some(founder.clone()),
        _ => None,
    })
}

#[test]
fn the_lowest_address_begins_at_once_and_founds_with_a_majority() {
    let ground = ground(&[OLD, OLD, OLD], 3);
    let mut f = founding();
    let sent = bodies(step(&ground, &mut f, |f, s| f.handle_timeout(s)));
    assert_eq!(sent, [promise(ballot(1, 0), false), promise(ballot(1, 0), false)]);
    let sent = say(&ground, &mut f, 1, promised(ballot(1, 0), None));
    let value = proposed(&sent).unwrap();
    assert_eq!(sent, [accept(ballot(1, 0), value.clone())]);
    assert_eq!(value.member, id(0));
    assert_eq!(f.founded(), None);
    assert_eq!(say(&ground, &mut f, 1, FrameBody::FoundAccepted { ballot: ballot(1, 0) }), []);
    assert_eq!(f.founded(), Some(value.cluster));
}

#[test]
fn others_wait_for_their_turn() {
    let mut ground = ground(&[OLD, OLD, OLD], 3);
    ground.processes.rotate_left(1);
    let mut f = founding();
    assert_eq!(step(&ground, &mut f, |f, s| f.handle_timeout(s)), []);
    let due = f.poll_timeout().unwrap();
    let (first, last) = (Timestamp::from_millis(10_000 + 625), Timestamp::from_millis(10_000 + 875));
    assert!(first <= due && due <= last, "{due:?}");
}

#[test]
fn exactly_half_of_the_seats_is_no_majority() {
    let mut f = founding();
    let half = ground(&[OLD, OLD], 4);
    assert_eq!(step(&half, &mut f, |f, s| f.handle_timeout(s)), []);
    assert_eq!(f.poll_timeout(), None);
    let ground = ground(&[OLD, OLD, OLD], 4);
    step(&ground, &mut f, |f, s| f.handle_timeout(s));
    assert_eq!(say(&ground, &mut f, 1, promised(ballot(1, 0), None)), []);
    assert_eq!(say(&ground, &mut f, 1, promised(ballot(1, 0), None)), [], "one process promises once");
    assert_eq!(say(&ground, &mut f, 3, promised(ballot(1, 0), None)), [], "it was not asked");
    assert_eq!(say(&ground, &mut f, 2, promised(ballot(1, 0), None)).len(), 2);
}

#[test]
fn who_is_not_a_seed_or_knows_a_cluster_does_not_found() {
    for change in [|g: &mut Ground| g.is_seed = false, |g: &mut Ground| g.knows_cluster = true] {
        let mut ground = ground(&[OLD, OLD, OLD], 3);
        change(&mut ground);
        let mut f = founding();
        assert_eq!(step(&ground, &mut f, |f, s| f.handle_timeout(s)), []);
        assert_eq!(f.poll_timeout(), None);
    }
}

#[test]
fn a_process_that_knows_a_cluster_promises_nothing() {
    let mut ground = ground(&[OLD, OLD, OLD], 3);
    ground.knows_cluster = true;
    let answer = say(&ground, &mut founding(), 1, promise(ballot(1, 1), false));
    assert_eq!(answer, [FrameBody::FoundRefused { ballot: ballot(1, 1), promised: None }]);
}

#[test]
fn a_young_process_promises_only_where_all_are_young() {
    let ground = ground(&[YOUNG, OLD, OLD], 3);
    let mut f = founding();
    let refused = FrameBody::FoundRefused { ballot: ballot(1, 1), promised: None };
    assert_eq!(say(&ground, &mut f, 1, promise(ballot(1, 1), false)), [refused]);
    assert_eq!(say(&ground, &mut f, 1, promise(ballot(1, 1), true)), [promised(ballot(1, 1), None)]);
}

#[test]
fn among_young_ones_every_seed_must_promise() {
    let ground = ground(&[YOUNG, YOUNG, YOUNG], 3);
    let mut f = founding();
    let sent = bodies(step(&ground, &mut f, |f, s| f.handle_timeout(s)));
    assert_eq!(sent, [promise(ballot(1, 0), true), promise(ballot(1, 0), true)]);
    assert_eq!(say(&ground, &mut f, 1, promised(ballot(1, 0), None)), []);
    assert_eq!(say(&ground, &mut f, 2, promised(ballot(1, 0), None)).len(), 2);
}

#[test]
fn a_higher_ballot_is_promised_and_a_lower_one_refused() {
    let ground = ground(&[OLD, OLD, OLD], 3);
    let mut f = founding();
    assert_eq!(say(&ground, &mut f, 1, promise(ballot(2, 1), false)), [promised(ballot(2, 1), None)]);
    let refused = FrameBody::FoundRefused { ballot: ballot(1, 2), promised: Some(ballot(2, 1)) };
    assert_eq!(say(&ground, &mut f, 2, promise(ballot(1, 2), false)), [refused]);
    assert_eq!(
        say(&ground, &mut f, 1, accept(ballot(2, 1), founder(1))),
        [FrameBody::FoundAccepted { ballot: ballot(2, 1) }]
    );
    let answer = say(&ground, &mut f, 2, promise(ballot(3, 2), false));
    assert_eq!(answer, [promised(ballot(3, 2), Some((ballot(2, 1), founder(1))))]);
    let refused = FrameBody::FoundRefused { ballot: ballot(2, 1), promised: Some(ballot(3, 2)) };
    assert_eq!(say(&ground, &mut f, 1, accept(ballot(2, 1), founder(1))), [refused]);
}

#[test]
fn nothing_is_accepted_that_was_not_promised_by_this_incarnation() {
    let ground = ground(&[OLD, OLD, OLD], 3);
    let mut f = founding();
    let refused = FrameBody::FoundRefused { ballot: ballot(1, 1), promised: None };
    assert_eq!(say(&ground, &mut f, 1, accept(ballot(1, 1), founder(1))), [refused]);
    assert_eq!(f.awaited_founder(), None);
}

#[test]
fn a_founder_takes_over_what_was_accepted_in_the_highest_ballot() {
    let ground = ground(&[OLD; 5], 5);
    let mut f = founding();
    step(&ground, &mut f, |f, s| f.handle_timeout(s));
    say(&ground, &mut f, 1, promised(ballot(1, 0), Some((ballot(1, 2), founder(2)))));
    let sent = say(&ground, &mut f, 2, promised(ballot(1, 0), Some((ballot(1, 1), founder(1)))));
    assert_eq!(proposed(&sent), Some(founder(2)));
    assert_eq!(f.awaited_founder(), Some(&founder(2)));
    for from in [1, 2] {
        say(&ground, &mut f, from, FrameBody::FoundAccepted { ballot: ballot(1, 0) });
    }
    assert_eq!(f.founded(), None, "somebody else founds");
}

#[test]
fn a_refusal_with_a_higher_ballot_ends_the_attempt_and_raises_the_round() {
    let ground = ground(&[OLD, OLD, OLD], 3);
    let mut f = founding();
    step(&ground, &mut f, |f, s| f.handle_timeout(s));
    let refused = FrameBody::FoundRefused { ballot: ballot(1, 0), promised: Some(ballot(4, 1)) };
    assert_eq!(say(&ground, &mut f, 1, refused), []);
    assert_eq!(say(&ground, &mut f, 2, promised(ballot(1, 0), None)), [], "the attempt is over");
    let due = f.poll_timeout().unwrap();
    let sent = bodies(step(&ground, &mut f, |f, s| {
        s.now = due;
        f.handle_timeout(s);
    }));
    assert_eq!(sent, [promise(ballot(5, 0), false), promise(ballot(5, 0), false)]);
}

#[test]
fn an_accepted_founder_is_given_up_when_its_address_refuses_twice_or_another_answers_there() {
    let ground = ground(&[OLD, OLD, OLD], 3);
    let accepted = || {
        let mut f = founding();
        say(&ground, &mut f, 1, promise(ballot(1, 1), false));
        say(&ground, &mut f, 1, accept(ballot(1, 1), founder(1)));
        f
    };
    let at = Timestamp::from_millis;
    let mut f = accepted();
    f.handle_founder_refused(at(1_000), id(1), ground.founding_age);
    f.handle_founder_refused(at(1_900), id(1), ground.founding_age);
    assert!(f.awaited_founder().is_some(), "both refusals may be one hiccup");
    f.handle_founder_refused(at(2_000), id(1), ground.founding_age);
    assert_eq!(f.awaited_founder(), None);

    let mut f = accepted();
    f.handle_founder_refused(at(1_000), id(1), ground.founding_age);
    f.handle_answer(addr(1), id(1));
    f.handle_founder_refused(at(2_000), id(1), ground.founding_age);
    assert!(f.awaited_founder().is_some(), "it answered in between");
    f.handle_answer(addr(2), id(9));
    assert!(f.awaited_founder().is_some(), "somebody else's address says nothing");
    f.handle_answer(addr(1), id(9));
    assert_eq!(f.awaited_founder(), None);

    // The next attempt proposes this process itself, whoever else still reports the dead founder.
    let due = f.poll_timeout().unwrap();
    step(&ground, &mut f, |f, s| {
        s.now = due;
        f.handle_timeout(s);
    });
    let sent = say(&ground, &mut f, 2, promised(ballot(2, 0), Some((ballot(1, 1), founder(1)))));
    assert_eq!(proposed(&sent).map(|f| f.member), Some(id(0)));
}
