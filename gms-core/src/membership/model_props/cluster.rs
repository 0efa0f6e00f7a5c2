//! Members that vote and propose, and the messages between them: what the models of agreement have in common.

mod mail;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::health::contacts::Contacts;
use crate::membership::acceptor::Acceptor;
use crate::membership::departures::Departures;
use crate::membership::history::Decided;
use crate::membership::proposer::{Acting, Plan, Proposer, Votes};
use crate::membership::succession::{PromiseDesk, PromiseQuestion};
use crate::message::{Ballot, FrameBody, Installation, Refusal};
use crate::outbox::{Action, Outbox};
use crate::output::Destination;
use crate::scene::Scene;
use crate::testing::{addr, id, member};
use crate::time::Timestamp;
use crate::view::{Change, Digest, View, ViewId};

use super::{digest_of, number_of};
use mail::Envelope;

/// All happens at one moment: without lengths of waits, time does not matter.
const NOW: Timestamp = Timestamp::from_millis(1);

/// One member: its votes, and its attempts to decide.
#[derive(Clone)]
pub(super) struct Voter {
    pub(super) view: Arc<View>,
    pub(super) acceptor: Acceptor,
    pub(super) proposer: Proposer,
    pub(super) departures: Option<Departures>,
    /// Who told this member that it holds the view that leavers wait for.
    pub(super) holders: Vec<usize>,
    /// It has left, and takes no part any more.
    pub(super) gone: bool,
}

impl Voter {
    pub(super) fn new(view: &Arc<View>) -> Self {
        Self {
            view: Arc::clone(view),
            acceptor: Acceptor::default(),
            proposer: Proposer::new(),
            departures: None,
            holders: Vec::new(),
            gone: false,
        }
    }
}

impl Hash for Voter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let accepted = self.acceptor.accepted().map(|a| (a.ballot, a.digest));
        (self.view.digest(), self.acceptor.promised(), accepted, &self.proposer).hash(state);
        (self.departures.is_some(), &self.holders, self.gone).hash(state);
    }
}

impl fmt::Debug for Voter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accepted = self.acceptor.accepted().map(|a| (a.ballot, a.digest));
        write!(f, "{:?} {:?} {accepted:?} {:?}", self.view.id(), self.acceptor.promised(), self.proposer)
    }
}

/// A decision: who made it, for which base, and which view it makes.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub(super) struct Decision {
    pub(super) by: usize,
    pub(super) base: Digest,
    pub(super) makes: ViewId,
    pub(super) digest: Digest,
}

/// Everybody's state, the messages sent, and the decisions made so far.
#[derive(Clone, Debug)]
pub(super) struct World {
    voters: Vec<(u64, Arc<Voter>)>,
    sent: Vec<(u64, Arc<Envelope>)>,
    pub(super) decisions: Vec<Decision>,
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.voters.iter().for_each(|(key, _)| key.hash(state));
        self.sent.iter().for_each(|(key, _)| key.hash(state));
        self.decisions.hash(state);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        digest_of(self) == digest_of(other)
    }
}

/// Faults that can be planted around the machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    None,
    /// An acceptor may forget all that it promised and accepted.
    Forgetful,
    /// What promises report as accepted before gets lost.
    BlindSuccessor,
    /// Each proposer counts majorities with weights of its own.
    OwnWeights,
    /// Leavers are let go as soon as the view without them is decided.
    HastyGoodbye,
}

impl World {
    pub(super) fn new(view: &Arc<View>, members: usize) -> Self {
        let voter = Arc::new(Voter::new(view));
        let key = digest_of(&*voter);
        Self { voters: vec![(key, voter); members], sent: Vec::new(), decisions: Vec::new() }
    }

    pub(super) fn voters(&self) -> impl Iterator<Item = &Voter> {
        self.voters.iter().map(|(_, voter)| &**voter)
    }

    pub(super) fn voter(&self, who: usize) -> &Voter {
        &self.voters[who].1
    }

    pub(super) fn sent(&self) -> impl Iterator<Item = &Envelope> {
        self.sent.iter().map(|(_, envelope)| &**envelope)
    }

    pub(super) fn change_voter<T>(&mut self, who: usize, change: impl FnOnce(&mut Voter) -> T) -> T {
        let (key, voter) = &mut self.voters[who];
        let voter = Arc::make_mut(voter);
        let result = change(voter);
        *key = digest_of(voter);
        result
    }

    /// The message at `place` of those sent arrives. Afterwards its receiver goes on with what is under way.
    pub(super) fn arrive(&mut self, place: usize, flaw: Flaw) {
        let envelope = Arc::clone(&self.sent[place].1);
        self.take(envelope.to, envelope.from, envelope.body.clone(), flaw);
        self.advance(envelope.to, &|| Plan::Wait(None), true, flaw);
        self.forget_the_useless();
    }

    /// Lets `who` propose `change` if it can propose at all.
    pub(super) fn act(&mut self, who: usize, change: &Change, flaw: Flaw) {
        // Once to open the batch window, once to close it.
        self.advance(who, &|| Plan::Ready(change.clone()), false, flaw);
        self.advance(who, &|| Plan::Ready(change.clone()), false, flaw);
        self.forget_the_useless();
    }

    /// Who proposed loses its ground to.
    pub(super) fn yield_office(&mut self, who: usize, flaw: Flaw) {
        self.go_on(who, &Acting::No, &|| Plan::Nothing, flaw);
        self.forget_the_useless();
    }

    /// `is_reaction`: only what is under way goes on, nothing begins.
    fn advance(&mut self, who: usize, plan: &dyn Fn() -> Plan, is_reaction: bool, flaw: Flaw) {
        let voter = self.voter(who);
        let acting = match voter.view.office_place(&id(u8::try_from(who).expect("few members"))) {
            Some(_) if is_reaction && voter.proposer.is_idle() => Acting::No,
            Some(0) => Acting::Coordinator,
            Some(_) => Acting::Successor(Vec::new()),
            None => Acting::No,
        };
        self.go_on(who, &acting, plan, flaw);
    }

    fn go_on(&mut self, who: usize, acting: &Acting, plan: &dyn Fn() -> Plan, flaw: Flaw) {
        if self.voter(who).gone {
            return;
        }
        let me = member(u8::try_from(who).expect("few members"));
        let mut out = Outbox::default();
        let decided = self.change_voter(who, |voter| {
            let votes = Votes {
                promised: voter.acceptor.promised(),
                has_accepted: voter.acceptor.accepted().is_some(),
            };
            let counted =
                if flaw == Flaw::OwnWeights { own_weights(&voter.view, who) } else { (*voter.view).clone() };
            let contacts = Contacts::default();
            let scene = scene(&me, &counted, &contacts);
            voter.proposer.advance(scene, acting, votes, plan, &mut out)
        });
        self.deliver(who, &mut out, flaw);
        if let Some(change) = decided {
            self.decide(who, &change, flaw);
        }
    }

    /// Puts what `who` said among the messages sent; what it said to itself it takes at once.
    fn deliver(&mut self, who: usize, out: &mut Outbox, flaw: Flaw) {
        let mut own = Vec::new();
        while let Some(action) = out.pop() {
            let (to, body) = match action {
                Action::Frame { to, body, .. } => (number_of(&to), body),
                Action::FrameTo { to: Destination::Address(to), body, .. } => {
                    let known = (0..self.voters.len()).find(|n| addr(u8::try_from(*n).expect("few")) == to);
                    (known.expect("the address of a member"), body)
                }
                other => panic!("not a frame to a member: {other:?}"),
            };
            // Whoever is only named in a change hears nothing.
            if to == who {
                own.push(body);
            } else if to < self.voters.len() {
                self.send(Envelope { from: who, to, body });
            }
        }
        let answers_itself = !own.is_empty();
        for body in own {
            self.take(who, who, body, flaw);
        }
        if answers_itself {
            self.advance(who, &|| Plan::Wait(None), true, flaw);
        }
    }

    /// A member takes a message, as `node/in_view/frames.rs` has it.
    fn take(&mut self, who: usize, from: usize, body: FrameBody, flaw: Flaw) {
        if self.voter(who).gone {
            return;
        }
        let mut out = Outbox::default();
        let sender = id(u8::try_from(from).expect("few members"));
        self.change_voter(who, |voter| {
            let base_is_held = |base| base == voter.view.id();
            match body {
                FrameBody::Promise { ballot, base, base_digest, .. }
                    if base_is_held(base) && base_digest == voter.view.digest() =>
                {
                    voter.promise(who, sender, ballot, &mut out);
                }
                FrameBody::Prepare { ballot, change } => voter.accept(sender, ballot, change, &mut out),
                FrameBody::Promised { ballot, base, accepted } if base_is_held(base) => {
                    let accepted = accepted.filter(|_| flaw != Flaw::BlindSuccessor);
                    voter.proposer.handle_promised(sender, ballot, accepted);
                }
                FrameBody::Accepted { ballot, base } if base_is_held(base) => {
                    voter.proposer.handle_accepted(sender, ballot);
                }
                FrameBody::Refused { ballot, base, why } if base_is_held(base) => {
                    let me = member(u8::try_from(who).expect("few members"));
                    let contacts = Contacts::default();
                    let mut rng = fastrand::Rng::with_seed(1);
                    let scene = scene(&me, &voter.view, &contacts);
                    voter.proposer.handle_refused(scene, ballot, &why, &mut rng);
                }
                FrameBody::Install(Installation::Changes(changes)) => {
                    changes
                        .into_iter()
                        .for_each(|decided| voter.take_decided(who, sender, &decided, &mut out));
                }
                FrameBody::Installed { view } => voter.installed(from, view, &mut out),
                _ => {}
            }
        });
        self.deliver(who, &mut out, flaw);
    }

    /// A change of `who`'s is decided, as `node/in_view/agree.rs` has it.
    fn decide(&mut self, who: usize, change: &Change, flaw: Flaw) {
        let me = id(u8::try_from(who).expect("few members"));
        let old = Arc::clone(&self.voter(who).view);
        let next = Arc::new(old.apply(change).expect("a decided change of the base"));
        let decided = Decided { change: change.clone(), digest: next.digest() };
        let decision = Decision { by: who, base: old.digest(), makes: next.id(), digest: next.digest() };
        if !self.decisions.contains(&decision) {
            self.decisions.push(decision);
            self.decisions.sort_by_key(|d| (d.makes, d.by, d.digest));
        }
        let mut out = Outbox::default();
        for m in next.members().iter().filter(|m| old.contains(&m.member.id) && m.member.id != me) {
            out.frame(m.member.id, FrameBody::Install(Installation::Changes(vec![decided.clone()])));
        }
        let leavers =
            change.left.iter().filter(|l| **l != me).filter_map(|l| old.member(l).cloned()).collect();
        let mut departures = Departures::new(Arc::clone(&next), decided, leavers);
        self.change_voter(who, |voter| {
            if flaw == Flaw::HastyGoodbye {
                departures.let_go(&mut out);
                voter.gone |= !next.contains(&me);
            }
            if next.contains(&me) {
                voter.begin(&next);
            }
            if !change.left.is_empty() {
                voter.departures = Some(departures);
                voter.holders.clear();
                if next.contains(&me) {
                    voter.installed(who, next.id(), &mut out);
                }
            }
        });
        self.deliver(who, &mut out, flaw);
    }
}

impl Voter {
    fn promise(&mut self, who: usize, asker: crate::member::MemberId, ballot: Ballot, out: &mut Outbox) {
        let me = member(u8::try_from(who).expect("few members"));
        let contacts = Contacts::default();
        let question = PromiseQuestion { asker, ballot, verdicts: &[], i_am_paused: false };
        let scene = scene(&me, &self.view, &contacts);
        PromiseDesk::default().handle_promise(scene, &mut self.acceptor, question, out);
    }

    fn accept(
        &mut self,
        proposer: crate::member::MemberId,
        ballot: Ballot,
        change: Change,
        out: &mut Outbox,
    ) {
        let Ok(makes) = self.view.apply(&change) else { return };
        let base = self.view.id();
        let answer = match self.acceptor.accept(NOW, ballot, &Arc::new(change), &Arc::new(makes)) {
            Ok(()) => FrameBody::Accepted { ballot, base },
            Err(higher) => FrameBody::Refused { ballot, base, why: Refusal::Promised(higher) },
        };
        out.frame(proposer, answer);
    }

    fn take_decided(
        &mut self,
        who: usize,
        from: crate::member::MemberId,
        decided: &Decided,
        out: &mut Outbox,
    ) {
        let Ok(next) = self.view.apply(&decided.change) else { return };
        if next.digest() != decided.digest {
            return;
        }
        if !next.contains(&id(u8::try_from(who).expect("few members"))) {
            self.gone = true;
            return;
        }
        if !decided.change.left.is_empty() {
            out.frame(from, FrameBody::Installed { view: next.id() });
        }
        self.begin(&Arc::new(next));
    }

    fn installed(&mut self, from: usize, view: ViewId, out: &mut Outbox) {
        let Some(departures) = self.departures.as_mut().filter(|d| d.view().id() == view) else { return };
        if !self.holders.contains(&from) {
            self.holders.push(from);
            self.holders.sort_unstable();
        }
        let all_go = departures.handle_installed(id(u8::try_from(from).expect("few members")), out);
        if all_go {
            self.departures = None;
            // Whoever decided the view without itself waited only for this.
            self.gone |= self.view.id() < view;
        }
    }

    fn begin(&mut self, next: &Arc<View>) {
        *self = Self { departures: self.departures.take(), ..Self::new(next) };
    }
}

/// Nothing is heard and this member is isolated: nobody is protected, so that everything may be promised.
fn scene<'a>(me: &'a crate::member::Member, view: &'a View, contacts: &'a Contacts) -> Scene<'a> {
    Scene {
        now: NOW,
        me,
        view,
        contacts,
        isolated: true,
        hears_majority: false,
        sick: false,
        leaving: false,
        coordinator_is_idle: false,
    }
}

/// Planted: the same view, in which only those on this member's own side count.
fn own_weights(view: &View, who: usize) -> View {
    let side = |n: usize| (n == 0) == (who == 0);
    let weights: Vec<u8> = (0..view.len()).map(|n| if side(n) { 10 } else { 0 }).collect();
    super::view_with(&weights, view.timing())
}
