//! The world itself: it forms clusters, faults do what they say, and a run is the same every time.

use std::ops::ControlFlow;
use std::time::Duration;

use gms_sim::run::{self, Spectator};
use gms_sim::scenario::Start;
use gms_sim::{Fault, Scenario, Step, World};

fn at(seconds: u64, fault: Fault) -> Step {
    Step { at: Duration::from_secs(seconds), fault }
}

#[test]
fn a_crashed_member_is_out_of_all_views() {
    let faults = vec![at(2, Fault::Crash { host: 3 })];
    let scenario = Scenario { members: 5, run_for: Duration::from_secs(30), faults, ..Scenario::default() };
    let outcome = run::run(scenario).unwrap();
    assert_eq!(outcome.violation, None);
    assert!(outcome.world.is_in_one_view(4), "{:?}", outcome.metrics);
    assert_eq!(outcome.metrics.detections.len(), 4);
}

#[test]
fn healing_starts_no_process_where_none_ever_ran() {
    let scenario = Scenario {
        members: 2,
        run_for: Duration::from_secs(1),
        heal_for: Duration::from_secs(30),
        ..Scenario::default()
    };
    assert!(scenario.seeds > scenario.members);
    let outcome = run::run(scenario).unwrap();
    assert_eq!(outcome.violation, None);
    assert_eq!(outcome.world.processes().len(), 2);
}

#[test]
fn a_large_world_can_be_left_within_a_simulated_second() {
    struct Impatient(u32);
    impl Spectator for Impatient {
        fn passes(&mut self, _: &World) -> ControlFlow<()> {
            self.0 += 1;
            if self.0 < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
    }
    let scenario = Scenario { members: 400, start: Start::Together, ..Scenario::default() };
    let outcome = run::run_watched(scenario, &mut Impatient(0)).unwrap();
    assert_eq!(outcome.events, 2 * run::EVENTS_PER_LOOK);
}
