//! Joining, leaving, restarting, removing: how clusters form and shrink by wish.

mod world;

use std::time::Duration;

use gms_core::event::{Event, ExclusionCause, SeedAnswer, State, StopReason};
use gms_core::input::Command;
use gms_core::member::Weight;
use gms_core::message::JoinRefusal;
use world::World;

const SECOND: Duration = Duration::from_secs(1);

fn stop_reason(world: &World, index: usize) -> Option<&StopReason> {
    world.processes[index].events.iter().rev().find_map(|(_, e)| match e {
        Event::Stopped { reason } => Some(reason),
        _ => None,
    })
}

#[test]
//= docs/protocol.md#vw-10
fn a_process_without_seeds_founds_a_cluster_at_once() {
    let mut world = World::new(1);
    world.seeds.clear();
    let only = world.start(0);
    assert_eq!(world.names(only), ["m0"]);
    assert_eq!(world.processes[only].node.state(), State::Member);
}

#[test]
//= docs/protocol.md#vw-10
fn twelve_processes_that_start_together_form_one_cluster() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        (0..12).for_each(|host| {
            world.start(host);
        });
        let formed = world.run_until(10 * SECOND, |w| w.all_in_one_view(12));
        assert!(formed, "seed {seed}: {}", world.describe());
        assert!(world.view(11).number() <= 12, "few views: {}", world.view(11).number());
    }
}

#[test]
fn two_hundred_processes_that_start_together_form_one_cluster_in_few_views() {
    let mut world = World::new(5);
    (0..200).for_each(|host| {
        world.start(host);
    });
    // Views beyond 128 heartbeat all to all until sections for larger views exist; it still has to work.
    let formed = world.run_until(30 * SECOND, |w| w.all_in_one_view(200));
    assert!(formed, "{}", world.describe());
    assert!(world.view(0).number() <= 24, "{} views", world.view(0).number());
}

#[test]
//= docs/protocol.md#vw-9
fn seeds_that_start_last_are_waited_for() {
    let mut world = World::new(2);
    let early: Vec<usize> = (3..8).map(|host| world.start(host)).collect();
    world.run_for(5 * SECOND);
    assert!(early.iter().all(|e| world.processes[*e].node.state() == State::Joining));
    (0..3).for_each(|host| {
        world.start(host);
    });
    assert!(world.run_until(15 * SECOND, |w| w.all_in_one_view(8)), "{}", world.describe());
}

#[test]
//= docs/protocol.md#vw-9
fn a_joiner_whose_seeds_are_all_down_says_what_each_answered() {
    let mut world = World::new(2);
    let joiner = world.start(9);
    world.net.take_down(1);
    world.run_for(30 * SECOND);
    let Some(StopReason::JoinFailed(failure)) = stop_reason(&world, joiner) else {
        panic!("{}", world.describe())
    };
    let answers: Vec<_> = failure.seeds.iter().map(|(_, answer)| answer.clone()).collect();
    assert_eq!(answers, [SeedAnswer::Refused, SeedAnswer::NoAnswer, SeedAnswer::Refused]);
}

#[test]
//= docs/protocol.md#vw-12
fn a_restart_on_the_same_address_replaces_the_old_incarnation_in_one_view() {
    for seed in 0..10 {
        let mut world = World::with_members(seed, 4);
        let since = world.now;
        world.kill(2);
        let restarted = world.start(2);
        let joined = world.run_until(5 * SECOND, |w| {
            w.view(0).contains(&w.processes[restarted].member.id) && w.all_in_one_view(4)
        });
        assert!(joined, "seed {seed}: {}", world.describe());
        for event in world.events_since(0, since) {
            let Event::ViewInstalled(change) = event else { continue };
            let holders =
                change.view.members().iter().filter(|m| m.member.endpoint.addr == world::address(2)).count();
            assert!(holders <= 1, "one entry per address at all times");
            if change.joined.len() == 1 {
                assert_eq!(change.crashed.len(), 1, "the old one leaves in the same view");
            }
        }
    }
}

#[test]
fn ten_restarts_in_a_row_end_with_one_entry() {
    for seed in 0..3 {
        let mut world = World::with_members(seed, 4);
        let mut last = 3;
        for round in 0..10 {
            world.kill(last);
            world.run_for(Duration::from_millis(30 * round));
            last = world.start(3);
            world.run_for(Duration::from_millis(100));
        }
        let joined = world.run_until(10 * SECOND, |w| w.all_in_one_view(4));
        assert!(joined, "seed {seed}: {}", world.describe());
    }
}

#[test]
fn a_restarted_coordinator_comes_back_at_the_tail() {
    for seed in 0..5 {
        let mut world = World::with_members(seed, 4);
        world.kill(0);
        world.start(0);
        let back = world.run_until(10 * SECOND, |w| w.all_in_one_view(4));
        assert!(back, "seed {seed}: {}", world.describe());
        assert_eq!(world.names(1).last().map(String::as_str), Some("m0"));
    }
}

#[test]
//= docs/protocol.md#vw-11
fn a_second_live_process_of_the_same_name_is_refused() {
    let mut world = World::with_members(1, 3);
    let second = world.start_with(9, |_, member| member.name = "m1".into());
    world.run_until(10 * SECOND, |w| w.processes[second].node.is_stopped());
    let Some(StopReason::JoinFailed(failure)) = stop_reason(&world, second) else {
        panic!("{}", world.describe())
    };
    assert_eq!(failure.refusal, Some(JoinRefusal::NameInUse("m1".into())));
    assert!(world.all_in_one_view(3));
}

#[test]
//= docs/protocol.md#vw-11
fn a_process_that_comes_back_at_once_on_another_port_has_its_name_again() {
    for seed in 0..5 {
        let mut world = World::with_members(seed, 4);
        world.kill(2);
        let back = world.start_with(10, |_, member| member.name = "m2".into());
        assert!(world.run_until(2 * SECOND, |w| w.all_in_one_view(4)), "seed {seed}: {}", world.describe());
        assert!(!world.processes[back].node.is_stopped(), "seed {seed}");
    }
}

#[test]
fn after_a_leave_or_a_death_the_name_is_free_at_once() {
    let mut world = World::with_members(1, 4);
    world.command(3, Command::Leave);
    world.run_until(5 * SECOND, |w| w.processes[3].node.is_stopped());
    world.start_with(9, |_, member| member.name = "m3".into());
    assert!(world.run_until(5 * SECOND, |w| w.all_in_one_view(4)), "{}", world.describe());
    world.kill(2);
    assert!(world.run_until(5 * SECOND, |w| w.all_in_one_view(3)), "{}", world.describe());
    world.start_with(10, |_, member| member.name = "m2".into());
    assert!(world.run_until(5 * SECOND, |w| w.all_in_one_view(4)), "{}", world.describe());
}

#[test]
//= docs/protocol.md#vw-11
fn a_joiner_with_other_timing_is_refused_with_both_values() {
    let mut world = World::with_members(1, 3);
    let other = world.start_with(9, |config, _| config.timing.member_timeout = Some(2 * SECOND));
    world.run_until(10 * SECOND, |w| w.processes[other].node.is_stopped());
    let Some(StopReason::JoinFailed(failure)) = stop_reason(&world, other) else {
        panic!("{}", world.describe())
    };
    let said = failure.refusal.as_ref().map(ToString::to_string).unwrap_or_default();
    assert!(said.contains("member-timeout is 1s in this cluster, not 2s"), "{said}");
}

#[test]
fn a_joiner_that_sets_no_timing_adopts_the_clusters() {
    let mut world = World::with_members(1, 3);
    let joiner = world.start_with(9, |config, _| config.timing.member_timeout = None);
    assert!(world.run_until(5 * SECOND, |w| w.all_in_one_view(4)), "{}", world.describe());
    assert_eq!(world.view(joiner).timing().member_timeout, SECOND);
}

#[test]
//= docs/protocol.md#vw-14
fn a_member_and_a_coordinator_leave_gracefully() {
    for seed in 0..5 {
        for leaver in [0, 1, 3] {
            let mut world = World::with_members(seed, 4);
            let since = world.now;
            world.command(leaver, Command::Leave);
            let left = world.run_until(Duration::from_millis(100), |w| w.all_in_one_view(3));
            assert!(left, "seed {seed}: {}", world.describe());
            assert!(
                world.run_until(SECOND, |w| w.processes[leaver].node.is_stopped()),
                "{}",
                world.describe()
            );
            assert_eq!(stop_reason(&world, leaver), Some(&StopReason::Left));
            let witness = (leaver + 1) % 4;
            let change = world.events_since(witness, since).find_map(|e| match e {
                Event::ViewInstalled(change) => Some(change),
                _ => None,
            });
            let change = change.expect("a view without the leaver");
            assert_eq!(change.left.len(), 1);
            assert!(change.crashed.is_empty());
        }
    }
}

#[test]
//= docs/protocol.md#vw-14
fn half_the_cluster_leaves_at_once_and_the_last_one_too() {
    let mut world = World::with_members(3, 6);
    (0..3).for_each(|i| world.command(i, Command::Leave));
    assert!(world.run_until(3 * SECOND, |w| w.all_in_one_view(3)), "{}", world.describe());
    (3..6).for_each(|i| world.command(i, Command::Leave));
    let all = world.run_until(3 * SECOND, |w| (0..6).all(|i| w.processes[i].node.is_stopped()));
    assert!(all, "{}", world.describe());
    for index in 0..6 {
        assert_eq!(stop_reason(&world, index), Some(&StopReason::Left), "m{index}");
    }
}

#[test]
//= docs/protocol.md#vw-14
fn leaving_during_a_partition_ends_in_bounded_time() {
    let mut world = World::with_members(3, 5);
    world.net.partition(&[&[0, 1], &[2, 3, 4]]);
    world.run_for(SECOND / 2);
    world.command(1, Command::Leave);
    assert!(world.run_until(2 * SECOND, |w| w.processes[1].node.is_stopped()), "{}", world.describe());
    assert_eq!(stop_reason(&world, 1), Some(&StopReason::LeaveTimedOut));
}

#[test]
//= docs/protocol.md#vw-3
fn a_leaver_that_dies_meanwhile_left_and_did_not_crash() {
    let mut world = World::with_members(3, 5);
    let since = world.now;
    world.command(3, Command::Leave);
    world.run_for(Duration::from_millis(2));
    world.kill(3);
    assert!(world.run_until(3 * SECOND, |w| w.all_in_one_view(4)), "{}", world.describe());
    let left = world.events_since(0, since).any(|e| match e {
        Event::ViewInstalled(change) => change.left.len() == 1 && change.crashed.is_empty(),
        _ => false,
    });
    assert!(left, "{}", world.describe());
}

#[test]
//= docs/protocol.md#vw-15
fn an_operator_removes_a_live_member_that_is_told_and_cannot_sneak_back() {
    for at in [0, 2] {
        let mut world = World::with_members(3, 5);
        let victim = world.processes[4].member.id;
        world.command(at, Command::Remove { member: victim, reason: "maintenance".into() });
        assert!(world.run_until(3 * SECOND, |w| w.all_in_one_view(4)), "{}", world.describe());
        assert!(world.run_until(SECOND, |w| w.processes[4].node.is_stopped()), "{}", world.describe());
        let told = world.processes[4].events.iter().any(|(_, e)| {
            let text = format!("{e:?}");
            text.contains("Expelled") && text.contains("maintenance") && text.contains(&format!("m{at}"))
        });
        assert!(told, "{}", world.describe());
        world.run_for(3 * SECOND);
        assert_eq!(world.view(0).len(), 4);
    }
}

#[test]
//= docs/protocol.md#vw-13
fn joiners_that_die_at_once_do_not_take_the_quorum_along() {
    let mut world = World::with_members(3, 3);
    let joiners: Vec<usize> = (10..20).map(|host| world.start(host)).collect();
    world.run_until(5 * SECOND, |w| w.view(0).len() > 3);
    joiners.iter().for_each(|j| world.kill(*j));
    assert!(world.run_until(15 * SECOND, |w| w.all_in_one_view(3)), "{}", world.describe());
}

#[test]
//= docs/protocol.md#vw-13
fn a_joiner_heavier_than_the_cluster_is_refused() {
    let mut world = World::with_members(3, 3);
    let heavy = world.start_with(9, |_, member| member.weight = Weight::new(100).unwrap());
    world.run_until(10 * SECOND, |w| w.processes[heavy].node.is_stopped());
    let Some(StopReason::JoinFailed(failure)) = stop_reason(&world, heavy) else {
        panic!("{}", world.describe())
    };
    assert!(matches!(failure.refusal, Some(JoinRefusal::TooHeavy { .. })), "{:?}", failure.refusal);
}

#[test]
fn a_user_can_have_a_member_checked_and_accused_without_harm() {
    let mut world = World::with_members(3, 4);
    let member = world.processes[2].member.id;
    world.command(1, Command::Suspect { member, reason: "looks odd".into() });
    world.command(3, Command::Check { token: gms_core::input::CommandToken(1), member });
    world.run_for(3 * SECOND);
    assert!(world.all_in_one_view(4), "{}", world.describe());
}

#[test]
//= docs/protocol.md#fd-28
fn a_sick_member_is_removed_as_if_silent() {
    let mut world = World::with_members(3, 4);
    world.command(2, Command::SetSick(true));
    assert!(world.run_until(3 * SECOND, |w| w.view(0).len() == 3), "{}", world.describe());
    assert!(world.run_until(3 * SECOND, |w| w.processes[2].node.is_stopped()), "{}", world.describe());
}

/// Runs until all members are in one view of `n`; who gave way to an older cluster comes back by the way that it was told.
fn all_come_back(world: &mut World, n: usize) -> bool {
    for _ in 0..200 {
        world.run_for(Duration::from_millis(100));
        for index in 0..world.processes.len() {
            let process = &world.processes[index];
            let gave_way = process.events.iter().find_map(|(_, e)| match e {
                Event::Excluded { cause: ExclusionCause::GaveWay { at, .. }, .. } => Some(*at),
                _ => None,
            });
            let Some(at) = gave_way.filter(|_| process.is_alive) else { continue };
            let host = process.host;
            world.kill(index);
            let seeds = world.seeds.clone();
            world.seeds.push(at);
            world.start(host);
            world.seeds = seeds;
        }
        if world.all_in_one_view(n) {
            return true;
        }
    }
    false
}

#[test]
//= docs/protocol.md#vw-10
fn seeds_that_restart_before_they_are_missed_come_back_into_their_cluster() {
    for seed in 0..10 {
        let mut world = World::with_members(seed, 7);
        let cluster = world.view(6).cluster();
        (0..3).for_each(|i| world.kill(i));
        world.run_for(Duration::from_millis(100 * (seed % 4)));
        (0..3).for_each(|host| {
            world.start(host);
        });
        assert!(all_come_back(&mut world, 7), "seed {seed}: {}", world.describe());
        assert_eq!(world.view(6).cluster(), cluster);
    }
}

#[test]
//= docs/protocol.md#vw-10
fn the_only_seed_restarts_into_its_cluster() {
    for seed in 0..10 {
        let mut world = World::new(seed);
        world.seeds.truncate(1);
        (0..3).for_each(|host| {
            world.start(host);
        });
        assert!(world.run_until(10 * SECOND, |w| w.all_in_one_view(3)), "{}", world.describe());
        world.run_for(SECOND);
        let cluster = world.view(1).cluster();
        world.kill(0);
        world.run_for(Duration::from_millis(300 * (seed % 3)));
        world.start(0);
        assert!(all_come_back(&mut world, 3), "seed {seed}: {}", world.describe());
        assert_eq!(world.view(1).cluster(), cluster);
        let founded =
            world.processes.iter().skip(3).filter(|p| {
                p.events.iter().any(|(_, e)| matches!(e, Event::Joined { view } if view.len() == 1))
            });
        assert!(founded.count() <= 1, "it does not found again and again");
    }
}

#[test]
//= docs/protocol.md#vw-10
fn two_clusters_of_one_name_both_say_so_and_stay_apart() {
    let mut world = World::new(4);
    world.seeds = vec![world::address(0)];
    (0..3).for_each(|host| {
        world.start(host);
    });
    assert!(world.run_until(10 * SECOND, |w| w.all_in_one_view(3)), "{}", world.describe());
    world.seeds = vec![world::address(10)];
    (10..13).for_each(|host| {
        world.start(host);
    });
    world.run_for(5 * SECOND);
    // A member of the first cluster learns of a seed of the second.
    world.command(0, Command::Seeds(vec![world::address(0), world::address(10)]));
    world.run_for(5 * SECOND);
    let told = |index: usize| {
        world.processes[index].events.iter().any(|(_, e)| matches!(e, Event::ClusterConflict { .. }))
    };
    assert!((0..3).any(told) && (3..6).any(told), "{}", world.describe());
    assert_eq!((world.view(0).len(), world.view(3).len()), (3, 3));
}
