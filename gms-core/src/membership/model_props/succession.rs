//! Succession (vw-7): a coordinator that a majority has heard within R keeps its office, whatever a successor claims.
//!
//! m0 is in office and may crash or be isolated. m1 claims a verdict on it at any time, m2 votes. Heartbeats of m0 reach
//! either of them at any tick or not; connections to m0 are refused only once it has crashed.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use stateright::{Model, Property};

use super::report::{breaks, holds};
use super::{digest_of, number_of, view_with};
use crate::evidence::{ProbeOutcome, Verdict};
use crate::health::contacts::Contacts;
use crate::membership::acceptor::Acceptor;
use crate::membership::proposer::{Acting, Plan, Proposer, Votes};
use crate::membership::succession::{PromiseDesk, PromiseQuestion};
use crate::message::{Answers, Ballot, Flags, FrameBody};
use crate::outbox::{Action, Outbox};
use crate::output::ProbeId;
use crate::scene::Scene;
use crate::testing::{head, id, member};
use crate::time::Timestamp;
use crate::view::{Change, View};

const TICK: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
struct Succession {
    view: Arc<View>,
    /// R in ticks.
    silence: u64,
    /// Planted: members look at empty records when they are asked.
    is_forgetful: bool,
}

#[derive(Clone, Debug)]
struct Voter {
    contacts: Contacts,
    acceptor: Acceptor,
    desk: PromiseDesk,
    probing: bool,
    promised: bool,
    /// When m0 was last heard, and what it said about itself.
    heard: Option<(u64, bool)>,
}

#[derive(Clone, Debug)]
struct State {
    tick: u64,
    voters: Vec<Arc<Voter>>,
    proposer: Proposer,
    beats: u64,
    claim: Option<Verdict>,
    /// Answers on their way to m1, by who gave them.
    answers: Vec<usize>,
    isolated: bool,
    crashed: bool,
    succeeded: bool,
    /// Somebody promised although m0 was in contact.
    is_wrong: bool,
    code: u64,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Wait,
    Beat { to: usize },
    Isolate { isolated: bool },
    Crash,
    Claim { gone: bool },
    Ask { whom: usize },
    Probed { by: usize, refused: bool },
    Answered { by: usize },
}

const KEPT: &str = "nobody promises while a coordinator is in contact";
const BALLOT: Ballot = Ballot { round: 1, place: 1 };

impl Succession {
    fn scene<'a>(
        &'a self,
        state: &State,
        me: &'a crate::member::Member,
        contacts: &'a Contacts,
    ) -> Scene<'a> {
        Scene {
            now: at(state.tick),
            me,
            view: &self.view,
            contacts,
            isolated: number_of(&me.id) == 0 && state.isolated,
            hears_majority: false,
            sick: false,
            leaving: false,
            coordinator_is_idle: false,
        }
    }

    /// m1 begins, or goes on with what it has been answered.
    fn advance(&self, state: &mut State) {
        let me = member(1);
        let contacts = state.voters[1].contacts.clone();
        let votes = Votes { promised: state.voters[1].acceptor.promised(), has_accepted: false };
        let acting = Acting::Successor(state.claim.map(|verdict| (id(0), verdict)).into_iter().collect());
        let plan = || Plan::Ready(Change::empty(&self.view));
        let mut out = Outbox::default();
        let mut proposer = state.proposer.clone();
        proposer.advance(self.scene(state, &me, &contacts), &acting, votes, &plan, &mut out);
        state.proposer = proposer;
        for action in out.drain() {
            if let Action::Frame { body: FrameBody::Prepare { ballot, .. }, .. } = action {
                state.succeeded |= ballot == BALLOT;
            }
        }
    }

    /// `whom` is asked for its promise, or has the result of its probe.
    fn answer(&self, state: &mut State, whom: usize, outcome: Option<ProbeOutcome>) {
        let me = member(u8::try_from(whom).expect("few members"));
        let mut voter = Voter::clone(&state.voters[whom]);
        let nothing = Contacts::default();
        let contacts = if self.is_forgetful { &nothing } else { &voter.contacts };
        let verdicts: Vec<_> = state.claim.map(|verdict| (id(0), verdict)).into_iter().collect();
        let mut out = Outbox::default();
        let scene = self.scene(state, &me, contacts);
        match outcome {
            None => {
                let question =
                    PromiseQuestion { asker: id(1), ballot: BALLOT, verdicts: &verdicts, i_am_paused: false };
                voter.desk.handle_promise(scene, &mut voter.acceptor, question, &mut out);
            }
            Some(outcome) => {
                let probe = ProbeId(1);
                voter.desk.handle_probe_done(scene, &mut voter.acceptor, probe, outcome, &mut out);
                voter.probing = false;
            }
        }
        for action in out.drain() {
            match action {
                Action::StartProbe { .. } => voter.probing = true,
                Action::Frame { body: FrameBody::Promised { .. }, .. } => {
                    let in_contact = voter
                        .heard
                        .is_some_and(|(tick, isolated)| state.tick - tick < self.silence && !isolated);
                    let in_office = whom == 0 && !state.isolated;
                    // A refused connection is proof; nothing else overrules contact.
                    let proof = state.crashed && state.claim == Some(Verdict::Gone);
                    state.is_wrong |= (in_contact && !proof) || in_office;
                    voter.promised = true;
                    if !state.answers.contains(&whom) {
                        state.answers.push(whom);
                        state.answers.sort_unstable();
                    }
                }
                _ => {}
            }
        }
        state.voters[whom] = Arc::new(voter);
    }

    fn encode(&self, state: &mut State) {
        let age = |tick: u64| (state.tick - tick).min(self.silence);
        let voters: Vec<_> = state
            .voters
            .iter()
            .map(|v| (v.heard.map(|(tick, isolated)| (age(tick), isolated)), v.probing, v.promised))
            .collect();
        let flags = (state.isolated, state.crashed, state.succeeded, state.is_wrong);
        let claim = state.claim.map(|verdict| verdict == Verdict::Gone);
        state.code = digest_of(&(voters, &state.proposer, claim, &state.answers, flags));
    }
}

fn at(tick: u64) -> Timestamp {
    Timestamp::ZERO + TICK * u32::try_from(tick).expect("short runs")
}

impl Model for Succession {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let voter = || {
            let mut contacts = Contacts::default();
            contacts.install(&self.view, Timestamp::ZERO);
            Arc::new(Voter {
                contacts,
                acceptor: Acceptor::default(),
                desk: PromiseDesk::default(),
                probing: false,
                promised: false,
                heard: None,
            })
        };
        let mut state = State {
            tick: 1,
            voters: vec![voter(), voter(), voter()],
            proposer: Proposer::new(),
            beats: 0,
            claim: None,
            answers: Vec::new(),
            isolated: false,
            crashed: false,
            succeeded: false,
            is_wrong: false,
            code: 0,
        };
        self.encode(&mut state);
        vec![state]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        steps.push(Step::Wait);
        if !state.crashed {
            steps.push(Step::Crash);
            steps.push(Step::Isolate { isolated: !state.isolated });
            steps.extend([Step::Beat { to: 1 }, Step::Beat { to: 2 }]);
        }
        if state.claim.is_none() {
            steps.extend([Step::Claim { gone: true }, Step::Claim { gone: false }]);
        } else {
            let reachable = if state.crashed { 1..3 } else { 0..3 };
            steps.extend(reachable.map(|whom| Step::Ask { whom }));
        }
        for by in 0..3 {
            if state.voters[by].probing {
                steps.push(Step::Probed { by, refused: false });
                steps.extend(state.crashed.then_some(Step::Probed { by, refused: true }));
            }
        }
        steps.extend(state.answers.iter().map(|by| Step::Answered { by: *by }));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Wait => next.tick += 1,
            Step::Beat { to } => {
                next.beats += 1;
                let mut head = head(0, u8::try_from(to).expect("few members"), &self.view, next.beats);
                head.flags = Flags { isolated: next.isolated, ..Flags::default() };
                let voter = Arc::make_mut(&mut next.voters[to]);
                voter.contacts.handle_datagram(0, &head, Answers::Nothing, at(next.tick));
                // A flagged message is no contact, yet tells of the flag.
                let last = voter.heard.map_or(0, |(tick, _)| tick);
                let had_any = voter.heard.is_some();
                voter.heard = match next.isolated {
                    false => Some((next.tick, false)),
                    true => had_any.then_some((last, true)),
                };
            }
            Step::Isolate { isolated } => next.isolated = isolated,
            Step::Crash => next.crashed = true,
            Step::Claim { gone } => {
                next.claim = Some(if gone { Verdict::Gone } else { Verdict::Silent });
                self.advance(&mut next);
            }
            Step::Ask { whom } => self.answer(&mut next, whom, None),
            Step::Probed { by, refused } => {
                let outcome = if refused { ProbeOutcome::Refused } else { ProbeOutcome::TimedOut };
                self.answer(&mut next, by, Some(outcome));
            }
            Step::Answered { by } => {
                next.answers.retain(|n| *n != by);
                next.proposer.handle_promised(id(u8::try_from(by).expect("few members")), BALLOT, None);
                self.advance(&mut next);
            }
        }
        self.encode(&mut next);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(KEPT, |_, state: &State| !state.is_wrong),
            Property::sometimes("a silent coordinator is succeeded", |_, state: &State| {
                state.succeeded && state.claim == Some(Verdict::Silent)
            }),
            Property::sometimes("a dead coordinator is succeeded within R", |model: &Self, state: &State| {
                let is_recent = |v: &Voter| v.heard.is_some_and(|(t, _)| state.tick - t < model.silence);
                let heard = state.voters[1..].iter().all(|v| is_recent(v));
                state.succeeded && state.claim == Some(Verdict::Gone) && heard
            }),
            Property::sometimes("an isolated coordinator is succeeded", |_, state: &State| {
                state.succeeded && state.isolated && !state.crashed && state.voters[0].promised
            }),
        ]
    }
}

fn three(silence: u64, is_forgetful: bool) -> Succession {
    let mut timing = super::untimed();
    timing.member_timeout = TICK * u32::try_from(silence - 1).expect("few ticks");
    timing.check_timeout = TICK;
    Succession { view: Arc::new(view_with(&[10, 10, 10], &timing)), silence, is_forgetful }
}

#[test]
//= docs/protocol.md#vw-7
fn a_coordinator_in_contact_keeps_its_office() {
    holds("succession", three(2, false));
    if super::is_full() {
        holds("succession, R of 5 ticks", three(5, false));
    }
}

#[test]
fn members_that_do_not_look_at_their_contacts_break_succession() {
    breaks("succession, forgetful members", three(2, true), KEPT);
}
