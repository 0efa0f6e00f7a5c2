//! Coordinators that are lost at one exact step of a decision.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use gms_core::message::FrameBody;
use gms_core::runtime::StepKind;
use gms_sim::invariants;
use gms_sim::{Fault, Look, Observer, World};

use crate::{at, scenario, seconds};

/// Who has accepted a change so far.
#[derive(Clone, Debug, Default)]
struct Acceptances(Rc<RefCell<BTreeSet<usize>>>);

impl Observer for Acceptances {
    fn name(&self) -> &'static str {
        "nothing: it counts acceptances"
    }

    fn step(&mut self, _: Look<'_>, by: usize, kind: &StepKind<'_>) -> Result<(), String> {
        if let StepKind::SentFrame { frame, .. } = kind
            && matches!(frame.body, FrameBody::Accepted { .. })
        {
            self.0.borrow_mut().insert(by);
        }
        Ok(())
    }
}

/// Five members of which the last dies; at the moment when `is_there` the coordinator's host is lost. Returns the
/// world afterwards, with the number of the view before.
fn lose_coordinator_when(seed: u64, is_there: impl Fn(&World, u64, usize) -> bool) -> (World, u64) {
    let mut scenario = scenario(5, 120, vec![at(5, Fault::Crash { host: 4 })]);
    (scenario.seed, scenario.rejoin) = (seed, false);
    let acceptances = Acceptances::default();
    let mut observers = invariants::all();
    observers.push(Box::new(acceptances.clone()));
    let mut world = World::new(scenario, observers).expect("a valid scenario");
    let coordinator = &world.processes()[0];
    let view = coordinator.view().expect("all are in a view");
    let before = view.number();
    assert_eq!(view.coordinator().id, coordinator.member().id, "the first host founds");
    acceptances.0.borrow_mut().clear();
    let end = world.now() + seconds(30);
    let reached = world.run_until(end, |world| is_there(world, before, acceptances.0.borrow().len()));
    assert!(reached, "seed {seed}: {:?}", world.violation());
    world.inflict(Fault::Down { host: 0 });
    world.run_for(seconds(60));
    assert_eq!(world.violation(), None, "seed {seed}");
    (world, before)
}

/// The three that are left are in one view without the two that are lost.
fn assert_three_are_left(world: &World, seed: u64) {
    let mut views = world.processes()[1..4].iter().map(|process| process.view().expect("in a view"));
    let first = views.next().expect("three of them");
    assert_eq!(first.len(), 3, "seed {seed}: {first:?}");
    assert!(views.all(|view| view.id() == first.id()), "seed {seed}");
}

#[test]
fn a_coordinator_lost_before_anybody_accepted_leaves_the_decision_to_the_next() {
    for seed in 0..5 {
        let has_verdict = |world: &World, before, _| {
            let coordinator = &world.processes()[0];
            coordinator.view().unwrap().number() == before && world.metrics().suspicions > 0
        };
        let (world, _) = lose_coordinator_when(seed, has_verdict);
        assert_three_are_left(&world, seed);
    }
}

#[test]
fn a_coordinator_lost_after_a_minority_accepted_leaves_one_view_per_number() {
    for seed in 0..5 {
        // One other and the coordinator itself: 25 of 55.
        let (world, _) = lose_coordinator_when(seed, |_, _, accepted| accepted == 1);
        assert_three_are_left(&world, seed);
    }
}

#[test]
fn a_coordinator_lost_after_a_majority_accepted_leaves_its_view_to_be_decided() {
    for seed in 0..5 {
        // Two others and the coordinator itself: 35 of 55; it does not know it yet.
        let (world, before) = lose_coordinator_when(seed, |_, _, accepted| accepted == 2);
        assert_three_are_left(&world, seed);
        let sizes: Vec<usize> = world.metrics().views.values().map(|seen| seen.members).collect();
        assert!(sizes == [4, 3] || sizes == [3], "seed {seed}, view {before}: {sizes:?}");
    }
}

#[test]
fn a_view_decided_by_a_coordinator_that_told_nobody_is_installed_by_all() {
    for seed in 0..5 {
        let decided = |world: &World, before: u64, _| {
            let coordinator = &world.processes()[0];
            coordinator.view().unwrap().number() > before
        };
        let (world, before) = lose_coordinator_when(seed, decided);
        assert_three_are_left(&world, seed);
        // The invariant says that no number names two views: the others' second view has to be the dead one's.
        let seen = &world.metrics().views;
        let number =
            |more| seen.iter().find(|((_, number), _)| *number == before + more).map(|(_, seen)| seen);
        assert_eq!(number(1).map(|seen| seen.members), Some(4), "seed {seed}");
        assert_eq!(number(2).map(|seen| seen.members), Some(3), "seed {seed}");
    }
}
