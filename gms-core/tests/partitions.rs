//! Partitions, one-way cuts, bad links: who goes on, who knows that it must not, and how it heals.

mod world;

use std::time::Duration;

use gms_core::event::Event;
use world::World;

const SECOND: Duration = Duration::from_secs(1);

fn told(world: &World, index: usize, since: gms_core::Timestamp, name: &str) -> bool {
    world.events_since(index, since).any(|e| world::name_of(e) == name)
}

/// Splits into `left` and `right`; `right` must go on without `left`.
fn split(seed: u64, n: usize, left: &[usize], right: &[usize]) {
    let mut world = World::with_members(seed, n);
    let since = world.now;
    world.net.partition(&[left, right]);
    let decided = |w: &World| right.iter().all(|r| w.view(*r).len() == right.len());
    assert!(world.run_until(3 * SECOND, decided), "seed {seed}: {}", world.describe());
    for l in left {
        assert!(told(&world, *l, since, "Isolated"), "seed {seed} m{l}: {}", world.describe());
        assert_eq!(world.view(*l).len(), n, "the minority keeps the old view");
    }
    world.run_for(3 * SECOND);
    world.net.heal();
    for l in left {
        let out = world.run_until(5 * SECOND, |w| w.processes[*l].node.is_stopped());
        assert!(out, "seed {seed} m{l} learns that it is out: {}", world.describe());
        assert!(told(&world, *l, since, "Excluded"));
    }
    left.iter().for_each(|l| {
        world.start(*l);
    });
    let healed = world.run_until(10 * SECOND, |w| w.all_in_one_view(n));
    assert!(healed, "seed {seed}: {}", world.describe());
}

#[test]
//= docs/protocol.md#vw-16
fn three_of_five_go_on_and_two_are_isolated_before() {
    for seed in 0..5 {
        split(seed, 5, &[3, 4], &[0, 1, 2]);
        split(seed, 5, &[0, 1], &[2, 3, 4]);
    }
}

#[test]
fn in_an_even_split_the_side_of_the_lead_member_goes_on() {
    for seed in 0..5 {
        split(seed, 4, &[2, 3], &[0, 1]);
    }
}

#[test]
fn where_nobody_has_a_majority_nobody_goes_on_and_healing_restores_the_view() {
    for seed in 0..5 {
        let mut world = World::with_members(seed, 5);
        let since = world.now;
        world.net.partition(&[&[0, 1], &[2], &[3, 4]]);
        world.run_for(5 * SECOND);
        for index in 0..5 {
            assert_eq!(world.views_since(index, since), 0, "{}", world.describe());
            assert!(told(&world, index, since, "Isolated"));
            assert!(told(&world, index, since, "QuorumLost"));
        }
        world.net.heal();
        let healed =
            |w: &World| (0..5).all(|i| w.processes[i].node.state() == gms_core::event::State::Member);
        assert!(world.run_until(5 * SECOND, healed), "seed {seed}: {}", world.describe());
        assert!(world.all_in_one_view(5), "nobody was removed: {}", world.describe());
    }
}

#[test]
fn a_member_that_hears_nothing_removes_nobody_and_goes_itself() {
    for seed in 0..5 {
        for deaf in [0, 2] {
            let mut world = World::with_members(seed, 5);
            (0..5).filter(|i| *i != deaf).for_each(|i| world.net.cut_one_way(i, deaf));
            world.run_for(4 * SECOND);
            for index in (0..5).filter(|i| *i != deaf) {
                let view = world.view(index);
                assert_eq!(view.len(), 4, "seed {seed}: {}", world.describe());
                assert!(!view.contains(&world.processes[deaf].member.id));
            }
        }
    }
}

#[test]
fn a_member_that_nobody_hears_goes_alone() {
    for seed in 0..5 {
        for mute in [0, 2] {
            let mut world = World::with_members(seed, 5);
            (0..5).filter(|i| *i != mute).for_each(|i| world.net.cut_one_way(mute, i));
            world.run_for(4 * SECOND);
            for index in (0..5).filter(|i| *i != mute) {
                assert_eq!(world.view(index).len(), 4, "seed {seed}: {}", world.describe());
            }
        }
    }
}

#[test]
//= docs/protocol.md#fd-12
fn a_single_cut_link_removes_nobody_and_does_not_storm() {
    for (a, b) in [(1, 2), (0, 3), (0, 1), (2, 4)] {
        let mut world = World::with_members(7, 5);
        let since = world.now;
        world.net.cut(a, b);
        world.run_for(60 * SECOND);
        assert!(world.all_in_one_view(5), "link {a}-{b}: {}", world.describe());
        let started = |index| {
            let events = world.events_since(index, since);
            events.filter(|e| matches!(e, Event::FinalCheckStarted { .. })).count()
        };
        let checks: usize = (0..5).map(started).sum();
        assert!(checks <= 60, "link {a}-{b}: {checks} final checks in a minute");
    }
}

#[test]
fn the_next_in_office_that_cannot_reach_the_coordinator_changes_nothing() {
    for seed in 0..5 {
        let mut world = World::with_members(seed, 5);
        let since = world.now;
        world.net.cut(0, 1);
        world.run_for(20 * SECOND);
        assert!(world.all_in_one_view(5), "seed {seed}: {}", world.describe());
        let changes = world.events_since(3, since).filter(|e| matches!(e, Event::CoordinatorChanged { .. }));
        assert_eq!(changes.count(), 0);
    }
}

#[test]
fn a_coordinator_whose_streams_fail_while_datagrams_pass_is_succeeded_or_does_no_harm() {
    for seed in 0..5 {
        let mut world = World::with_members(seed, 5);
        world.net.no_streams.insert(0);
        world.kill(3);
        let id = world.processes[3].member.id;
        let removed = |w: &World| [1, 2, 4].iter().all(|i| !w.view(*i).contains(&id));
        assert!(world.run_until(15 * SECOND, removed), "seed {seed}: {}", world.describe());
        for index in [1, 2, 4] {
            assert!(world.view(index).len() >= 3);
        }
    }
}

#[test]
fn a_fifth_of_all_datagrams_lost_for_ten_minutes_removes_nobody() {
    for seed in 0..3 {
        let mut world = World::with_members(seed, 7);
        let since = world.now;
        world.net.loss_percent = 20;
        world.run_for(600 * SECOND);
        assert!(world.all_in_one_view(7), "seed {seed}: {}", world.describe());
        assert_eq!(world.views_since(0, since), 0);
    }
}

#[test]
fn half_of_all_datagrams_lost_makes_no_false_view_and_progress_follows_when_it_ends() {
    for seed in 0..3 {
        let mut world = World::with_members(seed, 5);
        world.net.loss_percent = 50;
        world.run_for(60 * SECOND);
        world.net.heal();
        world.run_for(5 * SECOND);
        world.kill(2);
        let n = world.alive().count();
        assert!(world.run_until(10 * SECOND, |w| w.all_in_one_view(n)), "seed {seed}: {}", world.describe());
    }
}

#[test]
fn most_datagrams_to_one_member_lost_never_removes_another() {
    for seed in 0..5 {
        let mut world = World::with_members(seed, 6);
        world.net.loss_in.insert(4, 80);
        world.run_for(60 * SECOND);
        for index in [0, 1, 2, 3, 5] {
            let view = world.view(index);
            for other in [0, 1, 2, 3, 5] {
                assert!(
                    view.contains(&world.processes[other].member.id),
                    "seed {seed}: {}",
                    world.describe()
                );
            }
        }
    }
}
