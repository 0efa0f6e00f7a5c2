//! The final check's question and answer on a fresh connection.

use serde::{Deserialize, Serialize};

use crate::member::{ClusterId, MemberId};
use crate::view::ViewId;

/// The final check's question on a fresh connection; understood by strangers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckRequest {
    /// The checker's cluster.
    pub cluster: ClusterId,
    /// The incarnation meant.
    pub target: MemberId,
    /// The checker's view.
    pub view: ViewId,
}

/// The answer to a [`CheckRequest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CheckAnswer {
    /// It is me.
    Ok,
    /// I am another incarnation.
    Other(MemberId),
    /// It is me, and my application does not work.
    Sick,
    /// It is me, and I am a member of another cluster: never of yours.
    Elsewhere,
}
