//! Numbers that name questions, so that an answer is matched to what was asked.

use serde::{Deserialize, Serialize};

/// Defines a newtype over a number drawn at random or counted, so that ids of different kinds can't be mixed.
macro_rules! id_type {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        pub struct $name(pub u64);
    )*};
}
id_type! {
    /// Names one heartbeat request; drawn at random, so that an old answer can't pass for a new one.
    RequestId
    /// Names one accusation of one accuser.
    AccusationId
    /// Names one final check of one checker.
    CheckId
}
