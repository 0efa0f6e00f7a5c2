//! Why a join is refused.

use serde::{Deserialize, Serialize};

use crate::config::TimingConflict;

/// Why a join is refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum JoinRefusal {
    /// The member asked belongs to another cluster.
    #[error("this is cluster {0:?}: ask a member of your own cluster, or change the cluster name")]
    ClusterName(String),
    /// The joiner sets timing otherwise than the cluster has it.
    #[error("{0}")]
    Timing(TimingConflict),
    /// A live member has the name.
    #[error("the name {0:?} is in use by a live member: choose another, or stop that member first")]
    NameInUse(String),
    /// A member that is silent has the name; it may be out soon.
    #[error("the name {0:?} is held by a member that does not answer at the moment")]
    NameHeldBySilent(String),
    /// A live member has the address.
    #[error("the address {0} is in use by a live member: choose another port")]
    AddressInUse(String),
    /// The record is out of bounds.
    #[error("the joiner's record is malformed: {0}")]
    Record(String),
    /// The joiner weighs more than the whole cluster.
    #[error("a weight of {joiner} is more than the whole cluster's {cluster}: join with less")]
    TooHeavy {
        /// The joiner's weight.
        joiner: u32,
        /// The cluster's.
        cluster: u32,
    },
    /// The joiner's id, or its first 8 bytes, was used before, or the member asked can't tell: the joiner draws a new one and
    /// asks again.
    #[error("the member id was used before, or may have been")]
    IdInUse,
    /// The member asked cannot admit anybody now.
    #[error("the member asked has no contact to the majority of its cluster")]
    Isolated,
    /// Nothing came back from the address that the joiner advertises.
    #[error("the cluster gets no answer from the advertised address {0}: check --advertise and firewalls")]
    Unreachable(String),
    /// Too many joiners at once.
    #[error("too many members are joining at this moment")]
    Busy,
}

impl JoinRefusal {
    /// Whether asking again, unchanged, may succeed.
    pub const fn is_retriable(&self) -> bool {
        matches!(
            self,
            Self::NameHeldBySilent(_) | Self::Isolated | Self::IdInUse | Self::Busy | Self::Unreachable(_)
        )
    }
}
