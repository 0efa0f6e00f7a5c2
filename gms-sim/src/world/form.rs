//! A world's beginning: processes start, and form a cluster where the scenario wants one.

use std::ops::ControlFlow;
use std::time::Duration;

use fastrand::Rng;

use crate::metrics::Metrics;
use crate::network::Network;
use crate::network::streams::Streams;
use crate::queue::Queue;
use crate::run::EVENTS_PER_LOOK;
use crate::scenario::{Scenario, ScenarioError, Start};
use crate::truth::Truth;

use super::{GENESIS, Item, Observer, World};

/// Longest time that members of a run that begins formed are given to form.
const FORMING_MAX: Duration = Duration::from_secs(600);

impl World {
    /// A world at its beginning: members formed or just started, and the scenario's faults planned.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] where the scenario is not valid, or its members don't form a cluster.
    pub fn new(scenario: Scenario, observers: Vec<Box<dyn Observer>>) -> Result<Self, ScenarioError> {
        Self::new_watched(scenario, observers, |_| ControlFlow::Continue(()))
    }

    /// As [`World::new`]; `meanwhile` looks at the world every simulated second while its members form, and may
    /// break that off.
    ///
    /// # Errors
    ///
    /// As [`World::new`].
    pub fn new_watched(
        scenario: Scenario,
        observers: Vec<Box<dyn Observer>>,
        meanwhile: impl FnMut(&Self) -> ControlFlow<()>,
    ) -> Result<Self, ScenarioError> {
        scenario.validate()?;
        let mut rng = Rng::with_seed(scenario.seed);
        let net = Network::new(rng.u64(..), scenario.network.clone());
        let truth = Truth::new(GENESIS, scenario.members, scenario.member_timeout);
        let mut world = Self {
            now: GENESIS,
            began: GENESIS,
            rng,
            processes: Vec::new(),
            listeners: Vec::new(),
            net,
            streams: Streams::default(),
            watches: super::watches::Watches::default(),
            queue: Queue::new(),
            plans: 0,
            truth,
            metrics: Metrics::new(GENESIS),
            observers,
            sink: None,
            violation: None,
            spare: Vec::new(),
            newest: None,
            events: 0,
            events_at_now: 0,
            scenario,
        };
        for host in 0..world.scenario.members {
            world.begin(host, 0, None);
        }
        if world.scenario.start == Start::Formed {
            world.form(meanwhile)?;
        }
        world.began = world.now;
        world.metrics = Metrics::new(world.now);
        for step in world.scenario.faults.clone() {
            world.queue.push(world.began + step.at, Item::Fault(Box::new(step.fault)));
        }
        Ok(world)
    }

    fn form(&mut self, mut meanwhile: impl FnMut(&Self) -> ControlFlow<()>) -> Result<(), ScenarioError> {
        let members = self.scenario.members;
        let end = self.now + FORMING_MAX;
        while !self.is_in_one_view(members) {
            let next = end.min(self.now + Duration::from_secs(1));
            let limit = self.events + EVENTS_PER_LOOK;
            self.run_until(next, |world| world.events >= limit || world.is_in_one_view(members));
            if let Some(violation) = &self.violation {
                return Err(ScenarioError::Value(format!("while the members formed: {violation}")));
            }
            if self.now >= end {
                let plural = if members == 1 { "" } else { "s" };
                let text = format!("{members} member{plural} formed no cluster within {FORMING_MAX:?}");
                return Err(ScenarioError::Value(text));
            }
            if meanwhile(self).is_break() {
                return Ok(());
            }
        }
        self.run_for(self.scenario.member_timeout);
        Ok(())
    }
}
