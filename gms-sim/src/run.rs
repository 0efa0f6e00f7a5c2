//! A whole run in its two phases: first faults, under which safety must hold; then everything works again, and
//! progress must follow in bounded time.

use std::ops::ControlFlow;
use std::time::Duration;

use gms_core::Timestamp;

use crate::invariants;
use crate::metrics::Metrics;
use crate::scenario::{Scenario, ScenarioError};
use crate::world::{Violation, World};

/// Events after which whoever looks at a run is asked anew, also within a simulated second: a fraction of a second on any
/// machine, so that a run can be broken off however large its world is.
pub const EVENTS_PER_LOOK: u64 = 1_000;

/// What a run brought.
#[derive(Debug)]
pub struct Outcome {
    /// What was measured.
    pub metrics: Metrics,
    /// The invariant that broke, if one did.
    pub violation: Option<Violation>,
    /// How long healing took, where there was a second phase that ended well.
    pub healed_after: Option<Duration>,
    /// Virtual time from the beginning of the first phase.
    pub elapsed: Duration,
    /// Events: what a run costs is proportional to them.
    pub events: u64,
    /// The world at its end, to look at.
    pub world: World,
}

/// Runs a scenario with all invariants.
///
/// # Errors
///
/// [`ScenarioError`] where the scenario is not valid, or its members form no cluster.
pub fn run(scenario: Scenario) -> Result<Outcome, ScenarioError> {
    run_with(scenario, |_| {})
}

/// Looks at a run while it goes on.
pub trait Spectator {
    /// The first phase begins: what happens from here on counts, and can be traced.
    fn begins(&mut self, world: &mut World) {
        let _ = world;
    }

    /// A second has passed in the world, also while its members form, or [`EVENTS_PER_LOOK`] events within one. `Break` ends
    /// the run there.
    fn passes(&mut self, world: &World) -> ControlFlow<()>;
}

/// Runs a scenario with all invariants; `meanwhile` looks at the world as a [`Spectator`] does.
///
/// # Errors
///
/// As [`run`].
pub fn run_with(scenario: Scenario, meanwhile: impl FnMut(&World)) -> Result<Outcome, ScenarioError> {
    struct Meanwhile<F>(F);

    impl<F: FnMut(&World)> Spectator for Meanwhile<F> {
        fn passes(&mut self, world: &World) -> ControlFlow<()> {
            (self.0)(world);
            ControlFlow::Continue(())
        }
    }

    run_watched(scenario, &mut Meanwhile(meanwhile))
}

/// Runs a scenario with all invariants before a spectator, who may end it early.
///
/// # Errors
///
/// As [`run`].
pub fn run_watched(scenario: Scenario, spectator: &mut dyn Spectator) -> Result<Outcome, ScenarioError> {
    let mut flow = ControlFlow::Continue(());
    let mut world = World::new_watched(scenario, invariants::all(), |world| {
        flow = spectator.passes(world);
        flow
    })?;
    let mut healed_after = None;
    if flow.is_continue() {
        spectator.begins(&mut world);
        let end = world.now() + world.scenario().run_for;
        flow = stretch(&mut world, end, spectator, |_| false).map_continue(|_| ());
    }
    let heal_for = world.scenario().heal_for;
    if flow.is_continue() && !heal_for.is_zero() && world.violation().is_none() {
        healed_after = heal(&mut world, heal_for, spectator);
    }
    Ok(Outcome {
        metrics: world.metrics().clone(),
        violation: world.violation().cloned(),
        healed_after,
        elapsed: world.elapsed(),
        events: world.events(),
        world,
    })
}

fn heal(world: &mut World, span: Duration, spectator: &mut dyn Spectator) -> Option<Duration> {
    world.restore();
    let begun = world.now();
    let is_settled = |world: &World| invariants::unsettled(world.look()).is_none();
    match stretch(world, begun + span, spectator, is_settled) {
        ControlFlow::Continue(true) => return Some(world.now().since(begun)),
        ControlFlow::Break(()) => return None,
        ControlFlow::Continue(false) => {}
    }
    if world.violation().is_none()
        && let Some(text) = invariants::unsettled(world.look())
    {
        world.break_with(invariants::PROGRESS, format!("{span:?} after healing {text}"));
    }
    None
}

/// Runs until `end` or until `holds`, second by second. Continues with whether it came to hold.
fn stretch(
    world: &mut World,
    end: Timestamp,
    spectator: &mut dyn Spectator,
    holds: impl Fn(&World) -> bool,
) -> ControlFlow<(), bool> {
    let mut next = world.now();
    while world.violation().is_none() {
        next = (next + Duration::from_secs(1)).min(end);
        while run_some(world, next) {
            spectator.passes(world)?;
        }
        spectator.passes(world)?;
        if holds(world) {
            return ControlFlow::Continue(true);
        }
        if world.now() >= end {
            break;
        }
    }
    ControlFlow::Continue(false)
}

/// Runs until `end`, but not for more than [`EVENTS_PER_LOOK`] events. Returns whether more is to be done before `end`.
fn run_some(world: &mut World, end: Timestamp) -> bool {
    let limit = world.events() + EVENTS_PER_LOOK;
    world.run_until(end, |world| world.events() >= limit)
}
