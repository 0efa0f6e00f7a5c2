//! Agreement under arbitrary schedules: real proposers and acceptors, frames that are lost, doubled and reordered, and
//! proposers that each want something else every time they are asked. No two ever decide two values.

use std::sync::Arc;

use proptest::prelude::*;

use super::acceptor::Acceptor;
use super::proposer::{Acting, Plan, Proposer, Votes};
use crate::message::{FrameBody, Refusal};
use crate::outbox::Outbox;
use crate::testing::{Stand, frames, member, view_of};
use crate::view::{Change, Digest};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A frame on its way arrives.
    Deliver(usize),
    /// A frame on its way arrives, and will arrive once more.
    Double(usize),
    /// A frame on its way is lost.
    Lose(usize),
    /// Time passes, and a proposer may act.
    Act(usize, u64),
    /// A proposer may act no more for the moment.
    Hold(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => any::<usize>().prop_map(Step::Deliver),
        2 => any::<usize>().prop_map(Step::Double),
        2 => any::<usize>().prop_map(Step::Lose),
        4 => (any::<usize>(), 0..300_u64).prop_map(|(who, millis)| Step::Act(who, millis)),
        1 => any::<usize>().prop_map(Step::Hold),
    ]
}

struct Member {
    stand: Stand,
    acceptor: Acceptor,
    /// `None` where it does not propose, and once it has decided.
    proposer: Option<Proposer>,
    acting: Acting,
}

struct Cluster {
    members: Vec<Member>,
    proposers: usize,
    on_their_way: Vec<(usize, usize, FrameBody)>,
    decided: Vec<Digest>,
    wishes: u8,
    millis: u64,
    rng: fastrand::Rng,
}

impl Cluster {
    fn new(n: usize, proposers: usize) -> Self {
        let member = |place: usize| Member {
            stand: Stand::new(view_of(n), u8::try_from(place).expect("few members")),
            acceptor: Acceptor::default(),
            proposer: (place < proposers).then(Proposer::new),
            acting: if place == 0 { Acting::Coordinator } else { Acting::Successor(Vec::new()) },
        };
        Self {
            members: (0..n).map(member).collect(),
            proposers,
            on_their_way: Vec::new(),
            decided: Vec::new(),
            wishes: 0,
            millis: 1,
            rng: fastrand::Rng::with_seed(1),
        }
    }

    fn take(&mut self, step: Step) {
        let on_their_way = self.on_their_way.len();
        let pick = |which: usize| which % on_their_way.max(1);
        match step {
            Step::Deliver(_) | Step::Double(_) | Step::Lose(_) if on_their_way == 0 => {}
            Step::Deliver(which) => {
                let (from, to, body) = self.on_their_way.swap_remove(pick(which));
                self.deliver(from, to, body);
            }
            Step::Double(which) => {
                let (from, to, body) = self.on_their_way[pick(which)].clone();
                self.deliver(from, to, body);
            }
            Step::Lose(which) => {
                self.on_their_way.swap_remove(pick(which));
            }
            Step::Act(who, millis) => {
                self.millis += millis;
                self.act(who % self.proposers, None);
            }
            Step::Hold(who) => self.act(who % self.proposers, Some(Acting::No)),
        }
    }

    /// Lets a proposer go on; each time it would propose something new.
    fn act(&mut self, who: usize, acting: Option<Acting>) {
        self.wishes = (self.wishes + 1) % 200;
        let now = self.millis;
        let Member { stand, acceptor, proposer, acting: own } = &mut self.members[who];
        let Some(machine) = proposer else { return };
        let wish = Change { joined: vec![member(20 + self.wishes).into()], ..Change::empty(&stand.view) };
        let plan = || Plan::Ready(wish.clone());
        let votes = Votes { promised: acceptor.promised(), has_accepted: acceptor.accepted().is_some() };
        let mut out = Outbox::default();
        let acting = acting.as_ref().unwrap_or(own);
        if let Some(change) = machine.advance(stand.at(now), acting, votes, &plan, &mut out) {
            self.decided.push(change.digest());
            *proposer = None;
        }
        let view = self.members[who].stand.view.clone();
        let sent = frames(&mut out).into_iter();
        self.on_their_way.extend(sent.map(|(to, body)| (who, view.place(&to).expect("a member"), body)));
    }

    fn deliver(&mut self, from: usize, to: usize, body: FrameBody) {
        let sender = self.members[from].stand.me.id;
        let Member { stand, acceptor, proposer, .. } = &mut self.members[to];
        let base = stand.view.id();
        let refused = |ballot, higher| FrameBody::Refused { ballot, base, why: Refusal::Promised(higher) };
        let answer = match body {
            FrameBody::Promise { ballot, .. } => match acceptor.promise(ballot) {
                Ok(()) => {
                    let accepted = acceptor.accepted().map(|a| (a.ballot, Change::clone(&a.change)));
                    FrameBody::Promised { ballot, base, accepted }
                }
                Err(higher) => refused(ballot, higher),
            },
            FrameBody::Prepare { ballot, change } => {
                let makes = Arc::new(stand.view.apply(&change).expect("a change of the base"));
                match acceptor.accept(stand.now, ballot, &Arc::new(change), &makes) {
                    Ok(()) => FrameBody::Accepted { ballot, base },
                    Err(higher) => refused(ballot, higher),
                }
            }
            answer => {
                let Some(machine) = proposer else { return };
                match answer {
                    FrameBody::Promised { ballot, accepted, .. } => {
                        machine.handle_promised(sender, ballot, accepted);
                    }
                    FrameBody::Accepted { ballot, .. } => machine.handle_accepted(sender, ballot),
                    FrameBody::Refused { ballot, why, .. } => {
                        machine.handle_refused(stand.at(self.millis), ballot, &why, &mut self.rng);
                    }
                    other => panic!("nobody sends {}", other.name()),
                }
                return self.act(to, None);
            }
        };
        self.on_their_way.push((to, from, answer));
    }

    /// Lets everything arrive and the first proposer that is left go on, until it has decided.
    fn come_to_rest(&mut self) {
        for _ in 0..20 {
            let Some(who) = self.members.iter().position(|m| m.proposer.is_some()) else { return };
            self.millis += 400;
            self.act(who, None);
            while let Some((from, to, body)) = self.on_their_way.pop() {
                self.deliver(from, to, body);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    //= docs/protocol.md#vw-2
    //= docs/protocol.md#vw-8
    fn no_two_proposers_decide_two_values_and_the_last_one_decides(
        n in 3_usize..=5,
        proposers in 2_usize..=3,
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let mut cluster = Cluster::new(n, proposers);
        steps.into_iter().for_each(|step| cluster.take(step));
        cluster.come_to_rest();
        prop_assert_eq!(cluster.decided.len(), proposers, "everybody decides in the end");
        prop_assert!(cluster.decided.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", cluster.decided);
    }
}
