//! Founding (vw-10) among three seeds that start together: of the founders that a majority accepts there is only one.
//!
//! Messages are lost or take any time, founders give up and try again, and one of them may die; who accepted it then learns
//! so. Processes that are started anew are not modelled: what protects from them is time.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use stateright::{Model, Property};

use super::report::{breaks, holds};
use super::{digest_of, number_of};
use crate::input::ReplyHandle;
use crate::member::ClusterId;
use crate::membership::founding::{Founding, Ground, Step as Tools};
use crate::membership::seeds::Process;
use crate::message::{FoundBallot, FrameBody};
use crate::outbox::{Action, Outbox};
use crate::output::Destination;
use crate::testing::{addr, id, member};
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_millis(1);
const SEEDS: usize = 3;

#[derive(Clone, Debug)]
struct Seeds {
    /// How often each tries.
    attempts: Vec<u64>,
    /// Whether the first may die.
    dies: bool,
    /// Planted: processes may forget what they promised and accepted.
    is_forgetful: bool,
}

#[derive(Clone, Debug)]
struct State {
    processes: Vec<(u64, Arc<Founding>)>,
    attempts: Vec<u64>,
    /// From whom to whom.
    sent: Vec<(usize, usize, u64, FrameBody)>,
    /// Who ever accepted what.
    accepted: BTreeSet<(FoundBallot, ClusterId, usize)>,
    dead: bool,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.processes.iter().for_each(|(key, _)| key.hash(state));
        (&self.attempts, &self.accepted, self.dead).hash(state);
        self.sent.iter().for_each(|(from, to, key, _)| (from, to, key).hash(state));
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        digest_of(self) == digest_of(other)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// A founder begins, or gives up.
    Turn {
        who: usize,
    },
    Arrive {
        place: usize,
    },
    Die,
    /// `who` learns that the founder it accepted is dead.
    Bury {
        who: usize,
    },
    Forget {
        who: usize,
    },
}

const ONE: &str = "no two founders are accepted by a majority";

fn numbered(who: usize) -> u8 {
    u8::try_from(who).expect("few seeds")
}

impl State {
    fn change(&mut self, who: usize, change: impl FnOnce(&mut Founding, &mut Tools<'_>)) {
        let old_enough = Duration::from_secs(60);
        let process = |n: usize| Process { id: id(numbered(n)), addr: addr(numbered(n)), age: old_enough };
        let ground = Ground {
            processes: (0..SEEDS).map(process).collect(),
            seats: SEEDS,
            is_seed: true,
            knows_cluster: false,
            age: old_enough,
            founding_age: Duration::from_secs(1),
            pace: Duration::ZERO,
        };
        // Each attempt draws a cluster id of its own.
        let mut rng = Rng::with_seed(self.attempts[who]);
        let mut out = Outbox::default();
        let mut step = Tools { now: NOW, ground: &ground, rng: &mut rng, out: &mut out, sent: Vec::new() };
        let (key, founding) = &mut self.processes[who];
        let founding = Arc::make_mut(founding);
        change(founding, &mut step);
        *key = digest_of(founding);
        if let Some((ballot, cluster)) = founding.accepted() {
            self.accepted.insert((ballot, cluster, who));
        }
        while let Some(action) = out.pop() {
            let Action::FrameTo { to, body, .. } = action else { continue };
            let to = match to {
                Destination::Reply(ReplyHandle(asker)) => usize::try_from(asker).expect("few seeds"),
                Destination::Address(to) => {
                    (0..SEEDS).find(|n| addr(numbered(*n)) == to).expect("the address of a seed")
                }
            };
            let key = key_of(&body);
            self.sent.push((who, to, key, body));
        }
        self.sent.sort_by_key(|(from, to, key, _)| (*from, *to, *key));
    }
}

fn key_of(body: &FrameBody) -> u64 {
    match body {
        FrameBody::FoundPromise { ballot, .. } => digest_of(&(0, ballot)),
        FrameBody::FoundPromised { ballot, accepted } => {
            digest_of(&(1, ballot, accepted.as_ref().map(|(b, f)| (b, f.cluster))))
        }
        FrameBody::FoundAccept { ballot, founder, .. } => digest_of(&(2, ballot, founder.cluster)),
        FrameBody::FoundAccepted { ballot } => digest_of(&(3, ballot)),
        FrameBody::FoundRefused { ballot, promised } => digest_of(&(4, ballot, promised)),
        other => panic!("nobody sends {}", other.name()),
    }
}

impl Model for Seeds {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let process = |n: usize| {
            let founding = Founding::new(id(numbered(n)), member(numbered(n)).endpoint, "test".into());
            (digest_of(&founding), Arc::new(founding))
        };
        vec![State {
            processes: (0..SEEDS).map(process).collect(),
            attempts: self.attempts.clone(),
            sent: Vec::new(),
            accepted: BTreeSet::new(),
            dead: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let lives = |who: usize| who > 0 || !state.dead;
        for who in (0..SEEDS).filter(|who| lives(*who)) {
            if state.attempts[who] > 0 || state.processes[who].1.is_trying() {
                steps.push(Step::Turn { who });
            }
            let awaited = state.processes[who].1.awaited_founder().map(|f| number_of(&f.member));
            steps.extend((state.dead && awaited == Some(0)).then_some(Step::Bury { who }));
            steps.extend(self.is_forgetful.then_some(Step::Forget { who }));
        }
        steps.extend((self.dies && !state.dead).then_some(Step::Die));
        let reachable = state.sent.iter().enumerate().filter(|(_, (_, to, _, _))| lives(*to));
        steps.extend(reachable.map(|(place, _)| Step::Arrive { place }));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Turn { who } => {
                let was_trying = state.processes[who].1.is_trying();
                next.change(who, |founding, step| founding.handle_timeout(step));
                let is_trying =
                    next.processes[who].1.is_trying() || next.processes[who].1.founded().is_some();
                if is_trying && !was_trying {
                    next.attempts[who] = next.attempts[who].checked_sub(1)?;
                }
            }
            Step::Arrive { place } => {
                let (from, to, _, body) = next.sent.remove(place);
                let reply = ReplyHandle(u64::try_from(from).expect("few seeds"));
                let sender = id(numbered(from)).short();
                next.change(to, |founding, step| founding.handle_message(step, sender, reply, &body));
            }
            Step::Die => next.dead = true,
            Step::Bury { who } => {
                // Another incarnation answers at its address.
                next.change(who, |founding, _| founding.handle_answer(addr(0), id(100)));
            }
            Step::Forget { who } => next.change(who, |founding, _| founding.forget()),
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONE, |_, state: &State| {
                let mut chosen = BTreeSet::new();
                for (ballot, cluster, _) in &state.accepted {
                    let votes = state.accepted.iter().filter(|(b, c, _)| (b, c) == (ballot, cluster)).count();
                    if votes * 2 > SEEDS {
                        chosen.insert(*cluster);
                    }
                }
                // One that has died founds nothing: it can be chosen and then another, if nobody ever acts on it.
                let living = |who: usize| who > 0 || !state.dead;
                let founded =
                    (0..SEEDS).filter(|who| living(*who)).filter_map(|who| state.processes[who].1.founded());
                founded.collect::<BTreeSet<_>>().len() <= 1 && (state.dead || chosen.len() <= 1)
            }),
            Property::sometimes("a cluster is founded", |_, state: &State| {
                state.processes.iter().any(|(_, founding)| founding.founded().is_some())
            }),
        ]
    }
}

fn two_founders() -> Seeds {
    Seeds { attempts: vec![1, 1, 0], dies: false, is_forgetful: false }
}

#[test]
//= docs/protocol.md#vw-10
fn three_seeds_found_one_cluster() {
    holds("founding, 2 founders", two_founders());
    if super::is_full() {
        holds("founding, 2 founders, one dies", Seeds { dies: true, ..two_founders() });
        holds("founding, one tries twice", Seeds { attempts: vec![2, 1, 0], ..two_founders() });
        holds("founding, 3 founders", Seeds { attempts: vec![1, 1, 1], ..two_founders() });
    }
}

#[test]
fn seeds_that_forget_found_two_clusters() {
    breaks("founding, forgetful seeds", Seeds { is_forgetful: true, ..two_founders() }, ONE);
}
