use super::*;
use crate::testing::{Stand, frames, id, to_each, view_of};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

const NO_VOTES: Votes = Votes { promised: None, has_accepted: false };

/// The change of `view` by which these members leave.
fn leave(view: &View, who: &[u8]) -> Change {
    Change { left: who.iter().map(|n| id(*n)).collect(), ..Change::empty(view) }
}

fn promise(view: &View, ballot: Ballot, verdicts: &[(MemberId, Verdict)]) -> FrameBody {
    let (base, base_digest) = (view.id(), view.digest());
    FrameBody::Promise { ballot, base, base_digest, verdicts: verdicts.to_vec() }
}

/// One member of a view of three with its proposer, and what it is asked to decide.
struct Desk {
    stand: Stand,
    proposer: Proposer,
    acting: Acting,
    votes: Votes,
    plan: Plan,
    out: Outbox,
}

impl Desk {
    /// The first in office, with a leave of m2 to propose.
    fn coordinator() -> Self {
        Self::new(0, Acting::Coordinator)
    }

    /// The second in office, which found the first one silent.
    fn successor() -> Self {
        Self::new(1, Acting::Successor(vec![(id(0), Verdict::Silent)]))
    }

    fn new(me: u8, acting: Acting) -> Self {
        let stand = Stand::new(view_of(3), me);
        let plan = Plan::Ready(leave(&stand.view, &[2]));
        Self { stand, proposer: Proposer::new(), acting, votes: NO_VOTES, plan, out: Outbox::default() }
    }

    fn advance(&mut self, millis: u64) -> Option<Arc<Change>> {
        let plan = || self.plan.clone();
        self.proposer.advance(self.stand.at(millis), &self.acting, self.votes, &plan, &mut self.out)
    }

    /// What goes out at this moment.
    fn sends(&mut self, millis: u64) -> Vec<(MemberId, FrameBody)> {
        assert_eq!(self.advance(millis), None);
        frames(&mut self.out)
    }

    fn refused(&mut self, ballot: Ballot, why: &Refusal) {
        self.proposer.handle_refused(self.stand.scene(), ballot, why, &mut fastrand::Rng::with_seed(1));
    }
}

#[test]
//= docs/protocol.md#vw-1
fn what_comes_within_one_batch_window_is_one_change_in_round_zero() {
    let mut desk = Desk::coordinator();
    assert_eq!(desk.sends(100), []);
    assert_eq!(desk.proposer.poll_timeout(at(100)), Some(at(105)));
    desk.plan = Plan::Ready(leave(&desk.stand.view, &[1, 2]));
    assert_eq!(desk.sends(104), []);
    let change = leave(&desk.stand.view, &[1, 2]);
    let prepare = FrameBody::Prepare { ballot: ROUND_ZERO, change };
    assert_eq!(desk.sends(105), to_each(&[0, 1, 2], &prepare));
}

#[test]
fn a_plan_that_vanishes_within_the_window_is_not_proposed() {
    let mut desk = Desk::coordinator();
    desk.sends(100);
    desk.plan = Plan::Nothing;
    assert_eq!(desk.sends(105), []);
    assert!(desk.proposer.is_idle());
}

#[test]
fn a_plan_that_has_to_wait_is_looked_at_when_it_says() {
    let mut desk = Desk::coordinator();
    desk.plan = Plan::Wait(Some(at(300)));
    desk.sends(100);
    assert_eq!(desk.sends(105), []);
    assert_eq!(desk.proposer.poll_timeout(at(105)), Some(at(300)));
}

#[test]
//= docs/protocol.md#vw-1
fn one_ballot_carries_one_value_and_is_repeated_to_those_who_have_not_answered() {
    let mut desk = Desk::coordinator();
    desk.sends(100);
    let sent = desk.sends(105);
    desk.plan = Plan::Ready(leave(&desk.stand.view, &[1]));
    desk.proposer.handle_accepted(id(2), ROUND_ZERO);
    assert_eq!(desk.sends(304), [], "200 ms lie between two tries");
    assert_eq!(desk.sends(305), sent[..2]);
    assert_eq!(desk.proposer.silent_voters(&desk.stand.view), [id(0), id(1)]);
    assert_eq!(desk.proposer.busy_since(), Some(at(105)));
}

#[test]
//= docs/protocol.md#vw-3
fn more_than_half_of_the_weight_decides_and_one_vote_counts_once() {
    let mut desk = Desk::coordinator();
    desk.sends(100);
    desk.sends(105);
    desk.proposer.handle_accepted(id(2), ROUND_ZERO);
    desk.proposer.handle_accepted(id(2), ROUND_ZERO);
    desk.proposer.handle_accepted(id(1), Ballot { round: 1, place: 1 });
    assert_eq!(desk.sends(106), [], "10 of 35");
    desk.proposer.handle_accepted(id(1), ROUND_ZERO);
    assert_eq!(desk.advance(107).as_deref(), Some(&leave(&desk.stand.view, &[2])), "20 of 35");
}

#[test]
//= docs/protocol.md#vw-7
fn a_successor_asks_for_promises_and_names_its_verdicts() {
    let mut desk = Desk::successor();
    let asked = promise(&desk.stand.view, Ballot { round: 1, place: 1 }, &[(id(0), Verdict::Silent)]);
    assert_eq!(desk.sends(100), to_each(&[0, 1, 2], &asked), "it collects meanwhile");
    assert_eq!(desk.proposer.poll_timeout(at(100)), Some(at(300)));
    desk.proposer.handle_promised(id(2), Ballot { round: 1, place: 1 }, None);
    assert_eq!(desk.sends(300), to_each(&[0, 1], &asked));
}

#[test]
//= docs/protocol.md#vw-8
fn the_change_accepted_in_the_highest_ballot_is_proposed_again_in_ones_own() {
    let mut desk = Desk::successor();
    let ballot = Ballot { round: 1, place: 1 };
    let [low, high] = [leave(&desk.stand.view, &[0]), leave(&desk.stand.view, &[1])];
    desk.sends(100);
    desk.proposer.handle_promised(id(2), ballot, Some((ROUND_ZERO, low)));
    assert_eq!(desk.sends(101), [], "10 of 35");
    desk.proposer.handle_promised(id(1), ballot, Some((Ballot { round: 1, place: 2 }, high.clone())));
    assert_eq!(desk.sends(102), to_each(&[0, 1, 2], &FrameBody::Prepare { ballot, change: high }));
}

#[test]
//= docs/protocol.md#vw-8
fn where_nobody_accepted_anything_the_proposer_is_free() {
    let mut desk = Desk::successor();
    let ballot = Ballot { round: 1, place: 1 };
    desk.sends(100);
    desk.proposer.handle_promised(id(2), ballot, None);
    desk.proposer.handle_promised(id(1), ballot, None);
    let change = leave(&desk.stand.view, &[2]);
    assert_eq!(desk.sends(105), to_each(&[0, 1, 2], &FrameBody::Prepare { ballot, change }));
}

#[test]
//= docs/protocol.md#vw-1
fn what_a_successor_learns_within_the_batch_window_is_in_its_change() {
    let mut desk = Desk::successor();
    let ballot = Ballot { round: 1, place: 1 };
    desk.sends(100);
    [1, 2].iter().for_each(|n| desk.proposer.handle_promised(id(*n), ballot, None));
    assert_eq!(desk.sends(101), []);
    assert_eq!(desk.proposer.poll_timeout(at(101)), Some(at(105)));
    desk.plan = Plan::Ready(leave(&desk.stand.view, &[1, 2]));
    let change = leave(&desk.stand.view, &[1, 2]);
    assert_eq!(desk.sends(105), to_each(&[0, 1, 2], &FrameBody::Prepare { ballot, change }));
}

#[test]
//= docs/protocol.md#vw-8
fn a_change_that_does_not_apply_to_the_base_is_not_taken_over() {
    let mut desk = Desk::successor();
    let ballot = Ballot { round: 1, place: 1 };
    desk.sends(100);
    let sound = leave(&desk.stand.view, &[0]);
    desk.proposer.handle_promised(id(2), ballot, Some((ROUND_ZERO, sound.clone())));
    let of_a_stranger = leave(&desk.stand.view, &[9]);
    desk.proposer.handle_promised(id(1), ballot, Some((Ballot { round: 1, place: 2 }, of_a_stranger)));
    assert_eq!(desk.sends(102), to_each(&[0, 1, 2], &FrameBody::Prepare { ballot, change: sound }));
}

#[test]
fn where_no_round_is_left_nothing_is_proposed_and_no_ballot_used_again() {
    let mut desk = Desk::successor();
    desk.sends(100);
    let last = Ballot { round: u32::MAX, place: 0 };
    desk.refused(Ballot { round: 1, place: 1 }, &Refusal::Promised(last));
    assert_eq!(desk.sends(1_000), []);
    assert_eq!(desk.sends(2_000), []);
    assert_eq!(desk.proposer.poll_timeout(at(2_000)), None);
}

#[test]
fn promises_of_another_ballot_count_for_nothing() {
    let mut desk = Desk::successor();
    desk.sends(100);
    desk.proposer.handle_promised(id(2), Ballot { round: 2, place: 1 }, None);
    desk.proposer.handle_promised(id(1), Ballot { round: 1, place: 2 }, None);
    assert_eq!(desk.sends(101), []);
}

#[test]
//= docs/protocol.md#vw-8
fn whoever_is_overtaken_backs_off_and_comes_back_in_a_higher_ballot() {
    let mut desk = Desk::successor();
    desk.sends(100);
    desk.refused(Ballot { round: 9, place: 9 }, &Refusal::Promised(Ballot { round: 9, place: 0 }));
    assert_eq!(desk.proposer.poll_timeout(at(100)), Some(at(300)), "about another ballot");
    desk.refused(Ballot { round: 1, place: 1 }, &Refusal::Promised(Ballot { round: 3, place: 0 }));
    let back = desk.proposer.poll_timeout(at(100)).expect("it comes back");
    assert!(back >= at(125) && back <= at(150), "an eighth of 200 ms by place, as much by chance: {back:?}");
    assert_eq!(desk.sends(124), []);
    let asked = promise(&desk.stand.view, Ballot { round: 4, place: 1 }, &[(id(0), Verdict::Silent)]);
    assert_eq!(desk.sends(150), to_each(&[0, 1, 2], &asked));
}

#[test]
//= docs/protocol.md#vw-1
fn a_ballot_is_never_used_twice_even_where_its_proposer_did_not_promise_it() {
    let mut desk = Desk::successor();
    desk.sends(100);
    desk.refused(Ballot { round: 1, place: 1 }, &Refusal::Promised(Ballot { round: 1, place: 0 }));
    let view = desk.stand.view.clone();
    let asked = |round| promise(&view, Ballot { round, place: 1 }, &[(id(0), Verdict::Silent)]);
    assert_eq!(desk.sends(150), to_each(&[0, 1, 2], &asked(2)));
    let acting = std::mem::replace(&mut desk.acting, Acting::No);
    assert_eq!(desk.sends(160), []);
    desk.acting = acting;
    assert_eq!(desk.sends(170), to_each(&[0, 1, 2], &asked(3)), "after it stood down");
}

#[test]
fn a_protected_coordinator_is_asked_about_again_when_its_protection_ends() {
    let mut desk = Desk::successor();
    desk.sends(100);
    desk.refused(Ballot { round: 1, place: 1 }, &Refusal::Protected(Duration::from_millis(30)));
    assert_eq!(desk.proposer.poll_timeout(at(100)), Some(at(130)));
}

#[test]
fn a_refusal_after_a_majority_has_promised_plans_nothing() {
    let mut desk = Desk::successor();
    desk.plan = Plan::Wait(None);
    desk.sends(100);
    let ballot = Ballot { round: 1, place: 1 };
    [0, 1, 2].iter().for_each(|n| desk.proposer.handle_promised(id(*n), ballot, None));
    assert_eq!(desk.sends(110), []);
    desk.refused(ballot, &Refusal::Protected(Duration::from_millis(30)));
    assert_eq!(
        desk.proposer.poll_timeout(at(200)),
        None,
        "else the loop would spin on a deadline that is over"
    );
}

#[test]
//= docs/protocol.md#vw-8
fn a_coordinator_that_promised_or_accepted_goes_through_both_phases() {
    let promised = Votes { promised: Some(Ballot { round: 1, place: 1 }), has_accepted: false };
    let accepted = Votes { promised: Some(ROUND_ZERO), has_accepted: true };
    let ballot = Ballot { round: 1, place: 0 };
    for votes in [promised, accepted] {
        let mut desk = Desk::coordinator();
        desk.votes = votes;
        assert_eq!(desk.sends(100), to_each(&[0, 1, 2], &promise(&desk.stand.view, ballot, &[])));
    }
}

#[test]
fn who_may_not_act_any_more_stops_asking_for_promises() {
    let mut desk = Desk::successor();
    desk.sends(100);
    desk.acting = Acting::No;
    assert_eq!(desk.sends(400), []);
    assert!(desk.proposer.is_idle());
    assert_eq!(desk.proposer.busy_since(), None);
}
