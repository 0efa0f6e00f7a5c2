//! Agreement (vw-2, vw-3, vw-8): acceptors, promise desks and proposers under every order, loss and doubling of
//! messages, with any member proposing whenever it likes. There is never more than one view with one number.
//!
//! A message once sent may arrive at any later moment, any number of times, or never. That covers loss, doubling, reordering
//! and crashes: a member that has crashed is one that nothing happens to any more. No wait has a length.

use std::sync::Arc;

use stateright::{Model, Property};

use super::cluster::{Flaw, World};
use super::report::{breaks, holds};
use super::{is_full, phantom, untimed, view_with};
use crate::membership::acceptor::Acceptor;
use crate::testing::id;
use crate::view::{Change, View};

/// Bounds of a run.
#[derive(Clone, Debug)]
struct Agreement {
    weights: Vec<u8>,
    /// Who may propose.
    proposers: Vec<usize>,
    /// How many different changes each proposer may have in mind, one after the other.
    wishes: usize,
    /// Who wants to leave: every change proposed lets it.
    leaver: Option<usize>,
    /// Highest round of each member.
    rounds: Vec<u32>,
    /// How many views are decided one after the other.
    views: u64,
    /// Whether decisions are sent to the others.
    spreads: bool,
    /// Whether members say why they do not vote, and proposers may give up.
    refuses: bool,
    flaw: Flaw,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A proposer goes on, with this in mind.
    Act { who: usize, wish: usize },
    /// A proposer loses its ground to propose.
    Yield { who: usize },
    /// A message arrives: its place among those sent, and for the reader what it is.
    Arrive { place: usize, from: usize, to: usize, what: &'static str },
    /// Planted: an acceptor forgets all.
    Forget { who: usize },
}

const ONE_VIEW: &str = "no two views have one number";
const LINKED: &str = "each decision stands on the view decided before";
const HELD: &str = "a leaver is let go when more than half of the new view holds it";

impl Agreement {
    fn first_view(&self) -> View {
        view_with(&self.weights, &untimed())
    }

    /// What `who` would like to change in `base`.
    fn wish(&self, base: &View, who: usize, wish: usize) -> Change {
        let mut change = Change::empty(base);
        let step = usize::try_from(base.number()).expect("few views");
        change.joined = vec![phantom(step * 20 + who * 4 + wish).into()];
        let leaver = self.leaver.map(|n| id(u8::try_from(n).expect("few members")));
        change.left = leaver.into_iter().filter(|l| base.contains(l)).collect();
        change
    }

    fn is_within_rounds(&self, world: &World) -> bool {
        world.voters().zip(&self.rounds).all(|(voter, most)| voter.proposer.round() <= *most)
    }

    fn last_view(&self) -> u64 {
        2 + self.views
    }
}

impl Model for Agreement {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&Arc::new(self.first_view()), self.weights.len())]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        for who in self.proposers.iter().copied() {
            let voter = world.voter(who);
            if voter.gone || voter.view.number() >= self.last_view() {
                continue;
            }
            steps.extend((0..self.wishes).map(|wish| Step::Act { who, wish }));
            if self.refuses {
                steps.push(Step::Yield { who });
            }
        }
        steps.extend(world.sent().enumerate().map(|(place, e)| Step::Arrive {
            place,
            from: e.from,
            to: e.to,
            what: e.body.name(),
        }));
        if self.flaw == Flaw::Forgetful {
            steps.extend((0..self.weights.len()).map(|who| Step::Forget { who }));
        }
    }

    fn next_state(&self, world: &World, step: Step) -> Option<World> {
        let mut next = world.clone();
        match step {
            Step::Act { who, wish } => {
                let change = self.wish(&world.voter(who).view, who, wish);
                next.act(who, &change, self.flaw);
            }
            Step::Yield { who } => next.yield_office(who, self.flaw),
            Step::Arrive { place, .. } => next.arrive(place, self.flaw),
            Step::Forget { who } => next.change_voter(who, |voter| voter.acceptor = Acceptor::default()),
        }
        next.withhold(self.spreads, self.refuses);
        self.is_within_rounds(&next).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(ONE_VIEW, |_, world: &World| {
                let decided = |d: &super::cluster::Decision, number| d.makes.0 == number;
                let is_one = world
                    .decisions
                    .windows(2)
                    .all(|d| d[0].makes != d[1].makes || d[0].digest == d[1].digest);
                is_one
                    && world.voters().filter(|v| v.view.number() > 2).all(|v| {
                        let mut made = world.decisions.iter().filter(|d| decided(d, v.view.number()));
                        made.any(|d| d.digest == v.view.digest())
                    })
            }),
            Property::always(LINKED, |model: &Self, world: &World| {
                let first = model.first_view().digest();
                world.decisions.iter().all(|d| {
                    let before = world.decisions.iter().find(|b| b.makes.next() == d.makes);
                    before.map_or(first, |b| b.digest) == d.base
                })
            }),
        ];
        if self.proposers.len() > 1 {
            properties.push(Property::sometimes(
                "a successor finishes what it found",
                |model: &Self, world: &World| {
                    let first = model.first_view();
                    let wishes = |who| (0..model.wishes).map(move |w| (who, w));
                    let of_first = |d: &super::cluster::Decision| {
                        wishes(model.proposers[0])
                            .any(|(who, w)| model.wish(&first, who, w).digest() == d.digest)
                    };
                    world.decisions.iter().any(|d| d.by != model.proposers[0] && of_first(d))
                },
            ));
        }
        if self.spreads {
            properties.push(Property::sometimes(
                "everybody holds the last view",
                |model: &Self, world: &World| {
                    world.voters().all(|v| v.gone || v.view.number() == model.last_view())
                },
            ));
        }
        if self.leaver.is_some() {
            properties.push(Property::always(HELD, |model: &Self, world: &World| {
                let Some(leaver) = model.leaver.filter(|who| world.voter(*who).gone) else { return true };
                let leaver = id(u8::try_from(leaver).expect("few members"));
                let holds = |n: usize| !world.voter(n).view.contains(&leaver);
                let without: Vec<_> = world.voters().filter(|v| !v.view.contains(&leaver)).collect();
                without.first().is_some_and(|v| {
                    let view = &v.view;
                    let weight = crate::quorum::weight_of(view, |m| {
                        let n = super::number_of(m);
                        n < model.weights.len() && holds(n)
                    });
                    crate::quorum::is_majority(weight, view.weight())
                })
            }));
        }
        properties
    }
}

fn three() -> Agreement {
    Agreement {
        weights: vec![10, 10, 10],
        proposers: vec![0, 1],
        wishes: 1,
        leaver: None,
        rounds: vec![0, 1, 0],
        views: 1,
        spreads: false,
        refuses: false,
        flaw: Flaw::None,
    }
}

#[test]
//= docs/protocol.md#vw-2
//= docs/protocol.md#vw-3
//= docs/protocol.md#vw-8
fn two_proposers_among_three_members_decide_one_view() {
    holds("agreement, 2 ballots", three());
    holds("agreement, 2 ballots, 2 wishes, refusals", Agreement { wishes: 2, refuses: true, ..three() });
    holds("agreement, 3 ballots", Agreement { rounds: vec![1, 1, 0], ..three() });
    if is_full() {
        let refuses = Agreement { rounds: vec![1, 1, 0], refuses: true, ..three() };
        holds("agreement, 3 ballots, refusals", refuses);
        holds("agreement, 4 ballots", Agreement { rounds: vec![1, 2, 0], ..three() });
        let all = Agreement { proposers: vec![0, 1, 2], rounds: vec![0, 1, 1], ..three() };
        holds("agreement, 3 proposers", all.clone());
        holds("agreement, 3 proposers, 4 ballots", Agreement { rounds: vec![1, 1, 1], ..all });
    }
}

#[test]
//= docs/protocol.md#vw-8
fn two_proposers_among_four_members_decide_one_view() {
    let four = Agreement { weights: vec![10; 4], rounds: vec![0, 1, 0, 0], ..three() };
    holds("agreement, 4 members", four.clone());
    if is_full() {
        holds("agreement, 4 members, 3 ballots", Agreement { rounds: vec![1, 1, 0, 0], ..four });
    }
}

#[test]
fn faults_planted_around_the_voters_break_agreement() {
    for flaw in [Flaw::Forgetful, Flaw::BlindSuccessor, Flaw::OwnWeights] {
        breaks(&format!("agreement, {flaw:?}"), Agreement { flaw, ..three() }, ONE_VIEW);
    }
}

#[test]
//= docs/protocol.md#vw-2
//= docs/protocol.md#vw-5
fn views_that_follow_each_other_are_one_chain() {
    let chain = Agreement { proposers: vec![0], rounds: vec![0; 3], views: 2, spreads: true, ..three() };
    holds("two views", chain.clone());
    if is_full() {
        holds("two views, 2 ballots", Agreement { proposers: vec![0, 1], rounds: vec![0, 1, 0], ..chain });
    }
}

#[test]
//= docs/protocol.md#vw-3
fn leavers_are_let_go_when_the_new_view_is_held() {
    let leave =
        Agreement { leaver: Some(0), proposers: vec![0], rounds: vec![0; 3], spreads: true, ..three() };
    holds("the coordinator leaves", leave.clone());
    breaks("the coordinator leaves", Agreement { flaw: Flaw::HastyGoodbye, ..leave.clone() }, HELD);
    let four = Agreement { leaver: Some(3), weights: vec![10; 4], rounds: vec![0; 4], ..leave.clone() };
    holds("one of four leaves", four);
    if is_full() {
        holds(
            "the coordinator leaves, 2 ballots",
            Agreement { proposers: vec![0, 1], rounds: vec![0, 1, 0], ..leave },
        );
    }
}
