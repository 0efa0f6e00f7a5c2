//! The simulated world: whole clusters in one thread under a virtual clock and a seeded network.
//!
//! A [`Scenario`] and its seed define a run: the same steps, every time. [`World`] moves real [`Node`](gms_core::Node)s
//! through it; their messages pass the real codec. Observers watch every step; those in [`invariants`] say what must
//! hold. `docs/simulation.md` tells how to use it.

mod clock;
pub mod invariants;
pub mod journal;
pub mod metrics;
pub mod mixed;
pub mod network;
mod process;
pub mod published;
mod queue;
pub mod report;
pub mod run;
pub mod scenario;
pub mod shrink;
pub mod truth;
mod world;

pub use process::Process;
pub use report::Report;
pub use scenario::{Fault, Scenario, ScenarioError, Start, Step, Transport};
pub use world::{Look, Observer, Violation, World};
