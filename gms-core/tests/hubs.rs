//! Views with hubs: who hears whom, what losses of hubs and of others cost, and how views change over.

mod world;

use std::time::Duration;

use gms_core::Timestamp;
use gms_core::config::HeartbeatRecipients;
use gms_core::event::Event;
use gms_core::hubs::HUBS;
use world::World;

const SECOND: Duration = Duration::from_secs(1);

/// A world of `n` members with hubs, whose order in the view is that of their hosts.
fn in_order(seed: u64, n: usize) -> World {
    let mut world = World::new(seed);
    world.recipients = Some(HeartbeatRecipients::Predecessors(1));
    world.seeds.truncate(1);
    for host in 0..n {
        world.start(host);
        let is_in = world.run_until(5 * SECOND, |w| w.all_in_one_view(host + 1));
        assert!(is_in, "m{host} does not get in: {}", world.describe());
    }
    world.run_for(SECOND);
    world
}

fn told(world: &World, index: usize, since: Timestamp, name: &str) -> bool {
    world.events_since(index, since).any(|e| world::name_of(e) == name)
}

/// Whoever lives and was not in `except` has said nothing of isolation or of a lost majority since.
fn assert_calm(world: &World, since: Timestamp, except: &[usize]) {
    for index in (0..world.processes.len()).filter(|i| !except.contains(i) && world.processes[*i].is_alive) {
        let is_calm = !told(world, index, since, "Isolated") && !told(world, index, since, "QuorumLost");
        assert!(is_calm, "m{index}: {}", world.describe());
    }
}

/// Takes the hosts `lost` off the network and returns how long the others take to be in one view without them.
fn lose(world: &mut World, lost: &[usize]) -> Duration {
    let (since, n) = (world.now, world.processes.len());
    lost.iter().for_each(|host| world.net.take_down(*host));
    let left = n - lost.len();
    let rest = |i: &usize| !lost.contains(i);
    let is_agreed = |w: &World| (0..n).filter(rest).all(|i| w.view(i).len() == left);
    assert!(world.run_until(10 * SECOND, is_agreed), "without {lost:?}: {}", world.describe());
    world.now.since(since)
}

#[test]
//= docs/protocol.md#lv-1
fn heartbeats_go_to_the_hubs_and_to_one_before_and_hubs_send_to_all() {
    let mut world = in_order(1, 9);
    let before = world.sent_datagrams;
    world.run_for(10 * SECOND);
    // 50 intervals: four hubs send to all others, m4 to the hubs, and each behind it to the one before it as well.
    let expected = 50 * (4 * 8 + 4 + 4 * 5);
    let sent = world.sent_datagrams - before;
    assert!(sent.abs_diff(expected) <= expected / 20, "{sent} instead of {expected}");
    assert_calm(&world, Timestamp::ZERO, &[]);
}

#[test]
//= docs/protocol.md#lv-3
fn a_host_that_vanishes_is_out_in_time_whatever_its_office() {
    for seed in 0..5 {
        for lost in [vec![6], vec![0], vec![3], vec![5, 6], vec![1, 2, 3], vec![0, 8]] {
            let mut world = in_order(seed, 9);
            let since = world.now;
            let took = lose(&mut world, &lost);
            assert!(took <= Duration::from_millis(1_600), "seed {seed}, {lost:?} took {took:?}");
            assert_calm(&world, since, &lost);
        }
    }
}

#[test]
//= docs/protocol.md#lv-1
fn all_four_hubs_lost_at_once_are_replaced_by_those_next_in_office() {
    for seed in 0..5 {
        let mut world = in_order(seed, 11);
        let took = lose(&mut world, &[0, 1, 2, 3]);
        assert!(took <= Duration::from_millis(1_700), "seed {seed} took {took:?}: {}", world.describe());
        let since = world.now + SECOND / 2;
        world.run_for(5 * SECOND);
        assert_calm(&world, since, &[0, 1, 2, 3]);
        let mut world = in_order(seed, 13);
        lose(&mut world, &[0, 1, 2, 3, 4, 5]);
    }
}

#[test]
//= docs/protocol.md#lv-2
fn who_is_cut_off_from_all_hubs_is_isolated_before_it_is_removed() {
    for seed in 0..5 {
        let mut world = in_order(seed, 9);
        let since = world.now;
        (0..HUBS).for_each(|hub| world.net.cut(hub, 6));
        let is_isolated = |w: &World| told(w, 6, since, "Isolated");
        assert!(world.run_until(2 * SECOND, is_isolated), "seed {seed}: {}", world.describe());
        assert!(world.all_in_one_view(9), "the world checks that this comes first: {}", world.describe());
        (4..9).filter(|other| *other != 6).for_each(|other| world.net.cut(other, 6));
        let is_out = |w: &World| (0..9).filter(|i| *i != 6).all(|i| w.view(i).len() == 8);
        assert!(world.run_until(5 * SECOND, is_out), "seed {seed}: {}", world.describe());
        assert_calm(&world, since, &[6]);
    }
}

#[test]
//= docs/protocol.md#lv-2
//= docs/protocol.md#lv-3
fn a_minority_is_isolated_before_the_others_go_on_whichever_side_the_hubs_are_on() {
    for seed in 0..5 {
        for left in [vec![0, 1, 7], vec![0, 1, 2, 8], vec![0, 1, 2, 3], vec![5, 6, 7, 8]] {
            let mut world = in_order(seed, 9);
            let since = world.now;
            let right: Vec<usize> = (0..9).filter(|i| !left.contains(i)).collect();
            world.net.partition(&[&left, &right]);
            let is_out = |w: &World| right.iter().all(|i| w.view(*i).len() == right.len());
            assert!(world.run_until(5 * SECOND, is_out), "seed {seed} {left:?}: {}", world.describe());
            for index in &left {
                assert!(told(&world, *index, since, "Isolated"), "m{index}: {}", world.describe());
            }
            world.run_for(SECOND);
            world.net.heal();
            let learns = |w: &World| left.iter().all(|i| w.processes[*i].node.is_stopped());
            assert!(world.run_until(5 * SECOND, learns), "seed {seed} {left:?}: {}", world.describe());
        }
    }
}

#[test]
//= docs/protocol.md#lv-3
fn one_hub_that_hears_a_member_is_enough_to_keep_it() {
    for seed in 0..5 {
        let mut world = in_order(seed, 9);
        let since = world.now;
        (0..HUBS - 1).for_each(|hub| world.net.cut(hub, 6));
        world.run_for(20 * SECOND);
        assert!(world.all_in_one_view(9), "seed {seed}: {}", world.describe());
        assert_calm(&world, since, &[]);
    }
}

#[test]
//= docs/protocol.md#lv-3
fn a_hub_cut_off_from_whoever_decides_holds_a_removal_up_for_2_r_only() {
    for seed in 0..5 {
        let mut world = in_order(seed, 9);
        world.net.cut(0, 2);
        world.run_for(5 * SECOND);
        assert!(world.all_in_one_view(9), "a single cut link removes nobody: {}", world.describe());
        world.net.take_down(6);
        let is_out = |w: &World| (0..9).filter(|i| *i != 6).all(|i| w.view(i).len() == 8);
        assert!(world.run_until(4 * SECOND, is_out), "seed {seed}: {}", world.describe());
    }
}

#[test]
//= docs/protocol.md#lv-4
fn a_watcher_whose_next_members_are_lost_finds_those_behind_them() {
    for seed in 0..3 {
        let mut world = in_order(seed, 20);
        let since = world.now;
        let lost = [6, 7, 8, 9, 10, 11];
        let took = lose(&mut world, &lost);
        assert!(took <= Duration::from_millis(1_700), "seed {seed} took {took:?}");
        assert_eq!(world.views_since(0, since), 1, "{}", world.describe());
    }
}

#[test]
//= docs/protocol.md#lv-2
fn hubs_that_leave_one_after_another_isolate_nobody() {
    for seed in 0..3 {
        let mut world = in_order(seed, 10);
        let since = world.now;
        for leaver in 0..5 {
            world.command(leaver, gms_core::Command::Leave);
            world.run_for(SECOND / 3);
        }
        assert!(world.all_in_one_view(5), "{}", world.describe());
        assert_calm(&world, since, &[0, 1, 2, 3, 4]);
        world.run_for(3 * SECOND);
        assert_calm(&world, since, &[0, 1, 2, 3, 4]);
    }
}

#[test]
//= docs/protocol.md#lv-5
fn joiners_get_the_view_from_others_than_the_coordinator_and_get_in_where_one_of_those_is_lost() {
    let mut world = in_order(1, 9);
    assert_eq!(world.whole_views_by[..2], [0, 1], "with nobody else there the coordinator gives it");
    assert!(!world.whole_views_by[2..].contains(&0), "{:?}", world.whole_views_by);
    for (lost, joiner) in [8, 7, 6, 5, 4].into_iter().zip(9..) {
        world.net.take_down(lost);
        world.start(joiner);
        let is_in = world.run_until(SECOND, |w| w.processes[joiner].node.view().is_some());
        assert!(is_in, "m{joiner} while m{lost} is lost: {}", world.describe());
        assert!(world.run_until(5 * SECOND, |w| w.view(0).len() == 9), "{}", world.describe());
    }
    assert!(!world.whole_views_by[2..].contains(&0), "{:?}", world.whole_views_by);
}

#[test]
//= docs/protocol.md#lv-2
//= docs/protocol.md#lv-5
fn a_cluster_grows_past_128_and_shrinks_again_without_isolating_anybody() {
    let mut world = World::with_members(3, 127);
    let since = world.now;
    for host in 127..131 {
        world.start(host);
        world.run_for(SECOND / 2);
        let n = host + 1;
        assert!(world.all_in_one_view(n), "{n}: {}", world.describe());
    }
    let before = world.sent_datagrams;
    world.run_for(2 * SECOND);
    let sent = world.sent_datagrams - before;
    assert!(sent < 10 * (4 * 130 + 127 * 8), "{sent} datagrams in ten intervals");
    world.net.take_down(130);
    let is_out = |w: &World| (0..130).all(|i| w.view(i).len() == 130);
    assert!(world.run_until(2 * SECOND, is_out), "{}", world.describe());
    for leaver in [129, 50, 0] {
        world.command(leaver, gms_core::Command::Leave);
        world.run_for(SECOND);
    }
    let rest = |i: &usize| ![0, 50, 129, 130].contains(i);
    assert!((0..130).filter(rest).all(|i| world.view(i).len() == 127), "{}", world.describe());
    assert_calm(&world, since, &[0, 50, 129, 130]);
    let lost = world.processes[130].events.iter().any(|(_, e)| matches!(e, Event::Isolated(_)));
    assert!(lost, "who was taken off the network knew");
}
