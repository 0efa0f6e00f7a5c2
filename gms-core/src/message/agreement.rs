//! What frames about agreement carry: ballots, refusals, fences, decided changes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::member::{ClusterId, Endpoint, MemberId};
use crate::view::{Change, Digest, View, ViewId};

use super::CheckId;

/// A proposal's rank: by round, and within a round the earlier place in office is the higher ballot.
///
/// Round 0 belongs to the first in office of the base and needs no phase 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// The round.
    pub round: u32,
    /// Place of the proposer in the order of office of the base.
    pub place: u32,
}

impl Ord for Ballot {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.round.cmp(&other.round).then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for Ballot {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A founder's rank among the seeds' processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
pub struct FoundBallot {
    /// The round, from 1.
    pub round: u32,
    /// The proposer, so that ballots of two never tie.
    pub proposer: MemberId,
}

/// What the seeds' processes agree on: who founds which cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Founder {
    /// The new cluster's id.
    pub cluster: ClusterId,
    /// The founder.
    pub member: MemberId,
    /// Where it is reached.
    pub endpoint: Endpoint,
}

/// Why a promise, an acceptance or a fence is not given.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// A higher ballot was promised.
    Promised(Ballot),
    /// The view is another one: the number held.
    OtherView(ViewId),
    /// Somebody earlier in office is in contact: ask again no sooner than after this time.
    Protected(Duration),
}

/// Why a member says that a view is unfinished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UnfinishedReason {
    /// It accepted a change and has seen no install.
    Accepted,
    /// It granted a fence long ago.
    Fenced,
    /// It is isolated although it hears a majority.
    Isolated,
}

/// A member that a proposer wants to remove for silence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FenceTarget {
    /// The member.
    pub member: MemberId,
    /// The final check that found it silent.
    pub check: CheckId,
    /// Time since that check began.
    pub age: Duration,
}

/// A decided change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// The change.
    pub change: Change,
    /// Digest of the view that it makes.
    pub digest: Digest,
}

/// What [`FrameBody::Install`](super::FrameBody::Install) carries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Installation {
    /// Decided changes, oldest first, each the base of the next.
    Changes(Vec<Decided>),
    /// A whole view, for a joiner or somebody too far behind.
    Whole(Box<View>),
}
