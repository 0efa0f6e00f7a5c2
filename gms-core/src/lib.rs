//! Group membership: an agreed answer to "who is in my cluster, and who just died?"

pub mod codec;
pub mod config;
pub mod event;
pub mod evidence;
mod health;
pub mod input;
pub mod member;
mod membership;
pub mod message;
pub mod node;
mod outbox;
pub mod output;
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
