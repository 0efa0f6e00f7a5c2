//! The async node: drives a [`Node`](crate::Node) over any [`Transport`](crate::transport::Transport).
//!
//! ```text
//!   application ── Gms ──► requests ──┐            ┌──► Shared (view, state, connected_until) ──► Gms
//!                                     ▼            │
//!   Transport ──► bytes ── codec ──► driver ──► Node ──► outputs ──► events ──► EventStream
//!       ▲                              │                   │
//!       └──────────── effects ◄────────┴───────────────────┘
//! ```
//!
//! The driver has a thread of its own, so a starved application can't delay it, and it waits for nobody: names are
//! resolved on other threads, frames and probes are tasks beside the loop, slow readers of events lose events.

pub mod clock;

mod advertise;
mod builder;
mod driver;
mod effects;
mod events;
mod handle;
#[cfg(any(test, feature = "testing"))]
pub mod memory;
mod resolve;
mod setup;
mod shared;
mod stats;
#[cfg(test)]
mod tests;
mod trace;
mod watchdog;

pub use advertise::Advertise;
pub use builder::{Builder, StartError};
pub use events::{EventStream, StampedEvent};
pub use handle::{CommandError, Gms, JoinError};
pub use resolve::SeedError;
pub use stats::Stats;
pub use trace::{StepKind, TraceSink, TraceStep};
pub use watchdog::Watchdog;
