use super::*;
use crate::evidence::{Reason, Verdict};
use crate::health::contacts::Contacts;
use crate::membership::fencing::Silent;
use crate::message::CheckId;
use crate::outbox::Outbox;
use crate::testing::{Stand, id, member, view_of};
use crate::view::Expelled;

const CHECK: CheckId = CheckId(7);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn evidence(verdict: Verdict, fenced_by: &[u8]) -> Arc<Evidence> {
    Arc::new(Evidence {
        checker: id(0),
        reason: Reason::Silent,
        accusations: Vec::new(),
        more_accusations: 0,
        silent_for: Duration::from_millis(1_250),
        check_took: Duration::from_millis(250),
        requests_sent: 4,
        probe: None,
        verifiers: Vec::new(),
        verdict,
        fenced_by: fenced_by.iter().map(|n| id(*n)).collect(),
    })
}

fn crash(n: u8, verdict: Verdict, fenced_by: &[u8]) -> Crashed {
    Crashed { member: id(n), evidence: evidence(verdict, fenced_by) }
}

fn expelled(n: u8) -> Expelled {
    Expelled { member: id(n), reason: "test".into(), by: "m1".into() }
}

/// m0, in office in a view of six, a little more than R after it installed that view and heard anybody.
struct Desk {
    stand: Stand,
    queue: Queue,
    condemned: Vec<Condemned>,
    joiners: Vec<Arc<Member>>,
    fencing: Fencing,
    history: History,
    running: Option<Timestamp>,
    proof_expected_until: Option<Timestamp>,
}

impl Desk {
    fn new() -> Self {
        let mut stand = Stand::new(view_of(6), 0);
        stand.at(1_260);
        Self {
            stand,
            queue: Queue::default(),
            condemned: Vec::new(),
            joiners: Vec::new(),
            fencing: Fencing::default(),
            history: History::new(at(0)),
            running: None,
            proof_expected_until: None,
        }
    }

    fn condemn(&mut self, n: u8, verdict: Verdict) {
        let gone = verdict == Verdict::Gone;
        self.condemned.push(Condemned { member: id(n), evidence: evidence(verdict, &[]), gone });
    }

    /// Asks for the fences of everybody who is silent, and gets those of `n` from `granters`.
    fn fence(&mut self, n: u8, granters: &[u8]) {
        let silent = self.condemned.iter().filter(|c| !c.gone);
        let silent: Vec<_> =
            silent.map(|c| Silent { member: c.member, check: CHECK, began: at(1_000) }).collect();
        self.fencing.sync(self.stand.scene(), &silent, &mut Outbox::default());
        granters.iter().for_each(|granter| self.fencing.handle_fenced(id(*granter), &id(n), CHECK));
    }

    fn plan(&self) -> Plan {
        let check_ends_before = |limit: Timestamp| self.running.filter(|ends| *ends <= limit);
        let agenda = Agenda {
            queue: &self.queue,
            condemned: &self.condemned,
            joiners: &self.joiners,
            fencing: &self.fencing,
            history: &self.history,
            proof_expected_until: self.proof_expected_until,
            check_ends_before: &check_ends_before,
        };
        build(self.stand.scene(), agenda)
    }

    fn empty(&self) -> Change {
        Change::empty(&self.stand.view)
    }
}

#[test]
fn without_anything_to_do_there_is_no_plan() {
    assert_eq!(Desk::new().plan(), Plan::Nothing);
}

#[test]
//= docs/protocol.md#vw-1
fn what_is_certain_goes_into_one_change_at_once() {
    let mut desk = Desk::new();
    desk.queue.leave(id(1));
    desk.queue.leave(id(9));
    desk.queue.remove(expelled(2));
    desk.condemn(3, Verdict::Gone);
    desk.joiners.push(member(8).into());
    let change = Change {
        left: vec![id(1)],
        expelled: vec![expelled(2)],
        crashed: vec![crash(3, Verdict::Gone, &[])],
        joined: vec![member(8).into()],
        ..desk.empty()
    };
    assert_eq!(desk.plan(), Plan::Ready(change));
}

#[test]
//= docs/protocol.md#vw-3
fn who_left_and_crashed_counts_as_left_and_who_was_expelled_and_crashed_as_expelled() {
    let mut desk = Desk::new();
    desk.queue.leave(id(1));
    desk.queue.remove(expelled(1));
    desk.queue.remove(expelled(2));
    desk.condemn(1, Verdict::Gone);
    desk.condemn(2, Verdict::Silent);
    desk.fence(2, &[0, 3, 4, 5]);
    let change = Change { left: vec![id(1)], expelled: vec![expelled(2)], ..desk.empty() };
    assert_eq!(desk.plan(), Plan::Ready(change));
}

#[test]
//= docs/protocol.md#vw-6
fn a_silent_member_is_removed_with_fences_and_not_without() {
    let mut desk = Desk::new();
    desk.condemn(4, Verdict::Silent);
    assert_eq!(desk.plan(), Plan::Wait(None));
    desk.fence(4, &[0, 1]);
    assert_eq!(desk.plan(), Plan::Wait(None), "25 of 65");
    desk.fence(4, &[2]);
    let change = Change { crashed: vec![crash(4, Verdict::Silent, &[0, 1, 2])], ..desk.empty() };
    assert_eq!(desk.plan(), Plan::Ready(change), "35 of 65");
}

#[test]
//= docs/protocol.md#vw-1
fn a_silent_member_waits_for_checks_that_end_before_it_has_been_silent_for_one_and_a_half_timeouts() {
    let mut desk = Desk::new();
    desk.condemn(4, Verdict::Silent);
    desk.fence(4, &[0, 1, 2]);
    desk.running = Some(at(1_500));
    assert_eq!(desk.plan(), Plan::Wait(Some(at(1_500))));
    desk.running = Some(at(1_501));
    assert!(matches!(desk.plan(), Plan::Ready(_)));
}

#[test]
//= docs/protocol.md#vw-1
fn a_fenced_removal_waits_for_fences_of_others_that_are_on_their_way() {
    let mut desk = Desk::new();
    desk.condemn(4, Verdict::Silent);
    desk.condemn(5, Verdict::Silent);
    desk.fence(4, &[0, 1, 2]);
    assert_eq!(desk.plan(), Plan::Wait(Some(at(1_310))));
    desk.stand.at(1_310);
    let change = Change { crashed: vec![crash(4, Verdict::Silent, &[0, 1, 2])], ..desk.empty() };
    assert_eq!(desk.plan(), Plan::Ready(change));
}

#[test]
//= docs/protocol.md#vw-1
fn a_prompt_change_takes_along_what_is_fenced_and_waits_for_nothing() {
    let mut desk = Desk::new();
    desk.condemn(4, Verdict::Silent);
    desk.condemn(5, Verdict::Silent);
    desk.fence(4, &[0, 1, 2]);
    desk.running = Some(at(1_400));
    desk.queue.leave(id(1));
    let crashed = vec![crash(4, Verdict::Silent, &[0, 1, 2])];
    let change = Change { left: vec![id(1)], crashed, ..desk.empty() };
    assert_eq!(desk.plan(), Plan::Ready(change));
}

#[test]
//= docs/protocol.md#vw-22
fn a_removal_that_has_to_settle_is_planned_for_then() {
    let mut desk = Desk::new();
    let older = Arc::new(view_of(6));
    let change = Change { left: vec![id(5)], ..Change::empty(&older) };
    desk.stand = Stand::new(older.apply(&change).unwrap(), 0);
    desk.stand.at(1_260);
    desk.history.push(at(1_000), &older, None, Duration::from_millis(1_250));
    desk.condemn(4, Verdict::Silent);
    desk.fence(4, &[0, 1, 2, 3]);
    assert_eq!(desk.plan(), Plan::Wait(Some(at(2_250))));
}

#[test]
//= docs/protocol.md#vw-21
//= docs/protocol.md#vw-23
fn an_empty_change_is_planned_to_lift_fences_and_to_finish_what_is_half_decided() {
    let mut finish = Desk::new();
    finish.queue.finish();
    assert_eq!(finish.plan(), Plan::Ready(finish.empty()));
    let mut lift = Desk::new();
    lift.condemn(4, Verdict::Silent);
    lift.fence(4, &[]);
    lift.condemned.clear();
    lift.fence(4, &[]);
    assert_eq!(lift.plan(), Plan::Ready(lift.empty()));
}

#[test]
fn where_everybody_leaves_the_proposer_stays_for_one_view_more() {
    let mut desk = Desk::new();
    (0..6).for_each(|n| desk.queue.leave(id(n)));
    let all_but_me = Change { left: (1..6).map(id).collect(), ..desk.empty() };
    assert_eq!(desk.plan(), Plan::Ready(all_but_me));
    desk.joiners.push(member(8).into());
    let everybody = Change { left: (0..6).map(id).collect(), joined: vec![member(8).into()], ..desk.empty() };
    assert_eq!(desk.plan(), Plan::Ready(everybody));
}

#[test]
fn the_last_contact_with_a_stranger_is_the_origin_of_time() {
    assert_eq!(last_contact(&Contacts::default(), &id(1)), Timestamp::ZERO);
}

#[test]
//= docs/protocol.md#vw-1
fn one_that_is_gone_waits_for_the_proof_of_another_death_but_not_where_somebody_leaves() {
    let mut desk = Desk::new();
    desk.condemned.push(Condemned { member: id(2), evidence: evidence(Verdict::Gone, &[]), gone: true });
    desk.proof_expected_until = Some(at(2_000));
    assert_eq!(desk.plan(), Plan::Wait(Some(at(2_000))));
    desk.proof_expected_until = Some(desk.stand.scene().now);
    assert!(matches!(desk.plan(), Plan::Ready(_)));
    desk.proof_expected_until = Some(at(2_000));
    desk.queue.leave(id(4));
    assert!(matches!(desk.plan(), Plan::Ready(_)));
}

#[test]
//= docs/protocol.md#vw-12
fn a_restarted_member_comes_in_when_its_former_incarnation_goes_and_not_before() {
    let mut desk = Desk::new();
    let again = Arc::new(Member { id: id(40), ..member(4) });
    desk.joiners = vec![Arc::clone(&again)];
    desk.condemn(4, Verdict::Silent);
    assert_eq!(desk.plan(), Plan::Wait(None), "without fences the former one stays");
    desk.condemned.clear();
    desk.condemn(4, Verdict::Gone);
    let mut change = Change::empty(&desk.stand.view);
    change.crashed = vec![crash(4, Verdict::Gone, &[])];
    change.joined = vec![again];
    assert_eq!(desk.plan(), Plan::Ready(change));
}
