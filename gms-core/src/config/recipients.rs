//! Who gets heartbeats: a knob with three kinds of values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Largest view in which `auto` means that everybody gets everybody's heartbeats.
pub const AUTO_RECIPIENTS_VIEW_MAX: usize = 128;

/// Members before it in the ring to which a member of a larger view sends heartbeats, beside the hubs.
pub const AUTO_PREDECESSORS: u16 = 3;

/// Who gets a member's heartbeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum HeartbeatRecipients {
    /// All members in views up to [`AUTO_RECIPIENTS_VIEW_MAX`]; in larger ones the hubs, which are the first four in
    /// office, and [`AUTO_PREDECESSORS`] members before it in the ring.
    #[default]
    Auto,
    /// All members, whatever the view's size.
    All,
    /// The hubs and so many members before it in the ring, whatever the view's size; 1 to 32. Fewer: losses side by
    /// side are found later; more: traffic.
    Predecessors(u16),
}

impl fmt::Display for HeartbeatRecipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::All => f.write_str("all"),
            Self::Predecessors(n) => n.fmt(f),
        }
    }
}
