//! Deaths in whole clusters: who is removed, by when, in how many views; and who is not.

mod world;

use std::time::Duration;

use gms_core::event::Event;
use gms_core::evidence::Verdict;
use world::World;

/// 1.5 T and a little for the network and the batch window, with T = 1 s.
const BOUND: Duration = Duration::from_millis(1_600);

fn gone_from_all(world: &World, victims: &[usize]) -> bool {
    world.alive().all(|p| {
        let view = p.node.view().expect("survivors are in a view");
        victims.iter().all(|v| !view.contains(&world.processes[*v].member.id))
    })
}

/// Kills `victims`, demands that all survivors are without them in time and after one view change.
fn lose_processes(seed: u64, n: usize, victims: &[usize]) {
    let mut world = World::with_members(seed, n);
    let since = world.now;
    victims.iter().for_each(|v| world.kill(*v));
    assert!(world.run_until(BOUND, |w| gone_from_all(w, victims)), "seed {seed}: {}", world.describe());
    assert!(
        world.all_in_one_view(n - victims.len())
            || world.run_until(BOUND, |w| w.all_in_one_view(n - victims.len()))
    );
    let survivor = (0..n).find(|i| !victims.contains(i)).expect("somebody survives");
    assert_eq!(world.views_since(survivor, since), 1, "seed {seed}: {}", world.describe());
}

fn lose_hosts(seed: u64, n: usize, victims: &[usize]) {
    let mut world = World::with_members(seed, n);
    let since = world.now;
    victims.iter().for_each(|v| world.net.take_down(*v));
    let survivors: Vec<usize> = (0..n).filter(|i| !victims.contains(i)).collect();
    let gone = |w: &World| {
        survivors.iter().all(|s| {
            let view = w.view(*s);
            victims.iter().all(|v| !view.contains(&w.processes[*v].member.id))
        })
    };
    assert!(world.run_until(BOUND, gone), "seed {seed}: {}", world.describe());
    world.run_for(Duration::from_millis(300));
    for s in &survivors {
        assert_eq!(world.views_since(*s, since), 1, "seed {seed}: {}", world.describe());
    }
}

#[test]
fn a_killed_member_is_removed_by_all() {
    for seed in 0..10 {
        lose_processes(seed, 5, &[2]);
    }
}

#[test]
fn a_killed_coordinator_is_removed_by_all() {
    for seed in 0..10 {
        lose_processes(seed, 5, &[0]);
    }
}

#[test]
fn a_lost_host_is_removed_by_all_in_one_and_a_half_timeouts() {
    for seed in 0..10 {
        lose_hosts(seed, 5, &[3]);
        lose_hosts(seed, 5, &[0]);
    }
}

#[test]
fn neighbours_lost_at_once_cost_no_more_than_one() {
    for seed in 0..5 {
        lose_hosts(seed, 7, &[2, 3, 4]);
        lose_hosts(seed, 9, &[5, 6, 7, 8]);
        lose_processes(seed, 7, &[2, 3]);
    }
}

#[test]
fn members_anywhere_in_the_ring_lost_at_once_leave_in_one_view() {
    for seed in 0..5 {
        lose_hosts(seed, 9, &[1, 4, 7]);
    }
}

#[test]
fn the_coordinator_and_the_next_two_in_office_lost_at_once_leave_in_one_view() {
    for seed in 0..5 {
        lose_hosts(seed, 9, &[0, 1, 2]);
        lose_processes(seed, 9, &[0, 1, 2]);
    }
}

#[test]
fn first_and_last_of_the_view_lost_at_once() {
    for seed in 0..5 {
        lose_hosts(seed, 6, &[0, 5]);
    }
}

#[test]
fn in_a_view_of_two_the_lead_member_removes_the_other() {
    for seed in 0..5 {
        lose_processes(seed, 2, &[1]);
        lose_hosts(seed, 2, &[1]);
    }
}

#[test]
fn in_a_view_of_two_the_other_waits_for_the_lead_member_without_a_majority() {
    let mut world = World::with_members(3, 2);
    let since = world.now;
    world.kill(0);
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.names(1), ["m0", "m1"]);
    let told = |name: &str| world.events_since(1, since).any(|e| world::name_of(e) == name);
    assert!(told("QuorumLost"), "{}", world.describe());
    assert!(told("Isolated"), "{}", world.describe());
}

#[test]
fn a_view_of_three_loses_one() {
    for seed in 0..5 {
        for victim in 0..3 {
            lose_processes(seed, 3, &[victim]);
            lose_hosts(seed, 3, &[victim]);
        }
    }
}

#[test]
fn a_stopped_member_is_removed_and_learns_it_when_it_wakes() {
    for seed in 0..5 {
        for victim in [0, 3] {
            let mut world = World::with_members(seed, 5);
            world.pause(victim);
            let gone = |w: &World| {
                let id = w.processes[victim].member.id;
                (0..5).filter(|i| *i != victim).all(|i| !w.view(i).contains(&id))
            };
            assert!(world.run_until(BOUND, gone), "seed {seed}: {}", world.describe());
            world.run_for(Duration::from_secs(2));
            let woke = world.now;
            world.resume(victim);
            let excluded = world.run_until(Duration::from_secs(2), |w| w.processes[victim].node.is_stopped());
            assert!(excluded, "seed {seed}: {}", world.describe());
            let told = world.events_since(victim, woke).any(|e| matches!(e, Event::Excluded { .. }));
            assert!(told, "{}", world.describe());
        }
    }
}

#[test]
fn every_removal_carries_its_evidence() {
    let mut world = World::with_members(1, 5);
    let since = world.now;
    world.net.take_down(3);
    world.run_for(Duration::from_secs(2));
    let crashed = world.events_since(1, since).find_map(|e| match e {
        Event::ViewInstalled(change) => change.crashed.first(),
        _ => None,
    });
    let removed = crashed.expect("one was removed");
    assert_eq!(removed.member.name, "m3");
    assert_eq!(removed.evidence.verdict, Verdict::Silent);
    assert!(removed.evidence.silent_for >= Duration::from_millis(1_250));
    assert!(removed.evidence.fenced_by.len() >= 3, "{:?}", removed.evidence);
}

#[test]
fn a_member_that_dies_right_after_joining_is_removed() {
    for seed in 0..5 {
        let mut world = World::with_members(seed, 3);
        let late = world.start(7);
        assert!(world.run_until(Duration::from_secs(5), |w| w.view(0).len() == 4), "{}", world.describe());
        world.kill(late);
        assert!(world.run_until(BOUND, |w| w.all_in_one_view(3)), "seed {seed}: {}", world.describe());
    }
}
