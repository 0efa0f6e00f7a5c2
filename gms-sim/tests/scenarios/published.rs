//! The published scenarios, at sizes that a debug build runs in seconds.

use gms_sim::published::{self, Published, Role};

fn holds(published: Published) {
    let judged = published.run().expect("a valid scenario");
    assert_eq!(judged.broken, Vec::<String>::new(), "{}", gms_sim::Report::new(&judged.outcome));
}

#[test]
fn a_hundred_that_start_at_once_see_few_view_sizes() {
    holds(published::bootstrap(100, 1));
}

#[test]
fn one_in_a_hundred_lost_at_once_is_out_in_one_view_in_time() {
    holds(published::crashes(100, 1));
    holds(published::lost_hosts(100, 1));
}

#[test]
fn links_that_come_and_go_make_few_views_and_remove_no_healthy_member() {
    holds(published::flip_flop(20, 1));
}

#[test]
fn most_packets_lost_to_or_from_one_member_remove_no_healthy_one() {
    holds(published::lossy(20, false, 1));
    holds(published::lossy(20, true, 1));
}

#[test]
fn a_cut_link_changes_no_view() {
    // Whoever is the neighbour of the third in the ring is among them.
    for other in [0, 1, 3, 4, 5] {
        holds(published::cut_link(6, [2, other], 1));
    }
}

#[test]
fn seventeen_get_in_where_a_tenth_of_everything_is_lost() {
    holds(published::joins_under_loss(1));
}

#[test]
fn members_without_a_processor_have_no_healthy_one_removed() {
    for starving in [1, 4, 8] {
        holds(published::starved(20, starving, 1));
    }
}

#[test]
fn who_stood_still_takes_nobody_along_and_comes_back() {
    for role in [Role::Watcher, Role::Victim, Role::Coordinator] {
        for seconds in [1, 5, 10, 30, 60] {
            holds(published::stopped(role, seconds, 1));
        }
    }
}

#[test]
fn a_split_goes_on_at_one_side_and_heals() {
    holds(published::split(10, 6, 1));
    holds(published::split(10, 5, 1));
}

#[test]
fn a_cluster_survives_that_all_its_processes_are_restarted_in_turn() {
    holds(published::rolling_restart(5, 1));
}

#[test]
fn half_of_everything_lost_removes_nobody() {
    holds(published::half_lost(10, 1));
}
