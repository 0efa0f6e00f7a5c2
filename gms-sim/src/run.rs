//! A whole run in its two phases: first faults, under which safety must hold; then everything works again, and
//! progress must follow in bounded time.

use std::time::Duration;

use gms_core::Timestamp;
use gms_core::runtime::TraceSink;

use crate::invariants;
use crate::metrics::Metrics;
use crate::scenario::{Scenario, ScenarioError};
use crate::world::{Violation, World};

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

/// Runs a scenario with all invariants; `meanwhile` looks at the world every simulated second.
///
/// # Errors
///
/// As [`run`].
pub fn run_with(scenario: Scenario, mut meanwhile: impl FnMut(&World)) -> Result<Outcome, ScenarioError> {
    let world = World::new(scenario, invariants::all())?;
    Ok(finish(world, &mut meanwhile))
}

/// Runs a scenario with all invariants and shows `sink` every step from the first phase on.
///
/// # Errors
///
/// As [`run`].
pub fn run_traced(scenario: Scenario, sink: Box<dyn TraceSink>) -> Result<Outcome, ScenarioError> {
    let mut world = World::new(scenario, invariants::all())?;
    world.set_trace(sink);
    Ok(finish(world, &mut |_| {}))
}

/// Both phases of a world at its beginning.
fn finish(mut world: World, meanwhile: &mut impl FnMut(&World)) -> Outcome {
    let end = world.now() + world.scenario().run_for;
    stretch(&mut world, end, meanwhile, |_| false);
    let mut healed_after = None;
    let heal_for = world.scenario().heal_for;
    if !heal_for.is_zero() && world.violation().is_none() {
        healed_after = heal(&mut world, heal_for, meanwhile);
    }
    if world.violation().is_none() {
        world.end();
    }
    Outcome {
        metrics: world.metrics().clone(),
        violation: world.violation().cloned(),
        healed_after,
        elapsed: world.elapsed(),
        events: world.events(),
        world,
    }
}

fn heal(world: &mut World, span: Duration, meanwhile: &mut impl FnMut(&World)) -> Option<Duration> {
    world.restore();
    let begun = world.now();
    let settled =
        stretch(world, begun + span, meanwhile, |world| invariants::unsettled(world.look()).is_none());
    if settled {
        return Some(world.now().since(begun));
    }
    if world.violation().is_none()
        && let Some(text) = invariants::unsettled(world.look())
    {
        world.break_with(invariants::PROGRESS, format!("{span:?} after healing {text}"));
    }
    None
}

/// Runs until `end` or until `holds`, second by second.
fn stretch(
    world: &mut World,
    end: Timestamp,
    meanwhile: &mut impl FnMut(&World),
    holds: impl Fn(&World) -> bool,
) -> bool {
    while world.violation().is_none() {
        let next = (world.now() + Duration::from_secs(1)).min(end);
        world.run_until(next, |_| false);
        meanwhile(world);
        if holds(world) {
            return true;
        }
        if world.now() >= end {
            return false;
        }
    }
    false
}
