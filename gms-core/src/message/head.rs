//! What every message begins with: who speaks to whom, in what state, and what was last received.

use serde::{Deserialize, Serialize};

use crate::member::{ClusterTag, ShortId};
use crate::view::{DigestTag, ViewId};

/// Facts about the sender's state that every message tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
pub struct Flags {
    /// Without two-way contact to a majority.
    pub isolated: bool,
    /// Its application does not work.
    pub sick: bool,
    /// A coordinator that loses too much time to pauses.
    pub paused: bool,
    /// It asked to leave.
    pub leaving: bool,
}

/// The newest datagram received from the recipient, and how long ago.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Echo {
    /// Its number.
    pub number: u64,
    /// Time since it was read from the socket, in microseconds; the largest value stands for longer.
    pub age_us: u32,
}

/// What every message begins with.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Head {
    /// The sender's cluster; [`ClusterTag::NONE`] before it is in one.
    pub cluster: ClusterTag,
    /// The sender's incarnation.
    pub sender: ShortId,
    /// The incarnation meant, all zero where the sender does not know it.
    pub recipient: ShortId,
    /// The sender's installed view.
    pub view: ViewId,
    /// The change that it has accepted for that view.
    pub accepted: Option<DigestTag>,
    /// Its state.
    pub flags: Flags,
    /// Count of datagrams (on streams: of frames) to this recipient, from 1; 0 to strangers.
    pub number: u64,
    /// What it last received from this recipient.
    pub echo: Option<Echo>,
    /// A hub's word for how many milliseconds more, at least, its own contact with a majority lasts.
    pub quorate_for_ms: Option<u32>,
}
