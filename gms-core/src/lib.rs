//! Group membership: an agreed answer to "who is in my cluster, and who just died?"
//!
//! Members of a cluster pass through one sequence of [`View`]s: numbered, ordered member lists. Each is decided by more
//! than half of the weight of the one before, so there are never two with one number, and never two halves of a partition
//! that both go on. A member that is silent, or whose process is gone, is found by its neighbour in a ring, checked once
//! more by the coordinator, and removed; a member that loses contact with the majority is isolated *before* the others go
//! on without it. The rules stand in `docs/protocol.md`; code that obeys one names it.
//!
//! # Entry points
//!
//! - [`Gms`], for who wants to be a member: [`Gms::builder`] and a [`Transport`](transport::Transport) give a handle and an
//!   [`EventStream`]. It needs the feature `runtime`. The crate `gms-udp` has a transport over UDP and TCP.
//! - [`Node`], for who drives the protocol by hand, in a simulator or an event loop of one's own: a state machine without
//!   sockets, threads, clocks or chance. `docs/driving.md` shows the loop.
//!
//! Either way the application sees [`Event`]s. The ones to act on are
//! [`ViewInstalled`](Event::ViewInstalled), whose view number serves as a fencing token, and
//! [`Isolated`](Event::Isolated), after which others may act in this member's place.
//!
//! # A member
//!
//! ```
//! # #[cfg(feature = "runtime")]
//! use gms_core::{Event, Gms, transport::Transport};
//!
//! # #[cfg(feature = "runtime")]
//! async fn watch(transport: impl Transport) -> Result<(), Box<dyn std::error::Error>> {
//!     let (gms, mut events) = Gms::builder("orders").join(["10.0.0.1:7790"]).start(transport).await?;
//!     while let Some(event) = events.next().await {
//!         match event {
//!             Event::ViewInstalled(change) => println!("view {}: {} members", change.view.number(), change.view.len()),
//!             Event::Isolated(_) => println!("stop acting for the cluster"),
//!             _ => {}
//!         }
//!     }
//!     gms.leave().await;
//!     Ok(())
//! }
//! ```
//!
//! # Features
//!
//! - `runtime` (default): [`Gms`], its driver and the [`transport::Transport`] trait, on tokio. Without it the crate has no
//!   threads, sockets or clocks.
//! - `testing`: a network in memory, `runtime::memory`, for tests over whole members.
//! - `planted`: for tests only, switches that break a rule of the protocol. Off unless a test turns one on.

pub mod codec;
pub mod comeback;
pub mod config;
pub mod event;
pub mod evidence;
mod health;
pub mod hubs;
pub mod input;
pub mod member;
mod membership;
pub mod message;
pub mod node;
mod outbox;
pub mod output;
#[cfg(not(feature = "planted"))]
mod planted;
#[cfg(feature = "planted")]
pub mod planted;
pub mod quorum;
pub mod ring;
#[cfg(feature = "runtime")]
pub mod runtime;
mod scene;
pub mod time;
pub mod timer;
#[cfg(feature = "runtime")]
pub mod transport;
pub mod view;

#[cfg(test)]
pub(crate) mod testing;

/// Compiles the example of docs/driving.md.
#[cfg(doctest)]
#[doc = include_str!("../../docs/driving.md")]
struct Driving;

pub use config::Config;
pub use event::Event;
pub use input::{Command, Input};
pub use member::{Member, MemberId};
pub use node::Node;
pub use output::Output;
#[cfg(feature = "runtime")]
pub use runtime::{Builder, EventStream, Gms, StampedEvent};
pub use time::Timestamp;
pub use view::View;
