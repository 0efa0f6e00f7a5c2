//! What of a proposer's state matters for what it does next, time aside.

use std::hash::{Hash, Hasher};

use crate::member::MemberId;
use crate::message::{Ballot, FrameBody};

use super::{Proposer, Stage};

impl Hash for Proposer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.highest.hash(state);
        self.collect_until.is_some().hash(state);
        match &self.stage {
            Stage::Idle => 0_u8.hash(state),
            Stage::Promising { ballot, promised } => {
                (1_u8, ballot).hash(state);
                for (member, accepted) in promised {
                    (member, accepted.as_ref().map(|(ballot, change)| (ballot, change.digest()))).hash(state);
                }
            }
            Stage::Promised { ballot, value } => {
                (2_u8, ballot, value.as_ref().map(crate::view::Change::digest)).hash(state);
            }
            Stage::Preparing { ballot, change, accepted } => {
                (3_u8, ballot, change.digest(), accepted).hash(state);
            }
        }
    }
}

impl Proposer {
    /// Whether this answer of `from` to the ballot under way would be the first.
    pub(crate) fn awaits(&self, from: &MemberId, answer: &FrameBody) -> bool {
        match (&self.stage, answer) {
            (Stage::Promising { ballot: mine, promised }, FrameBody::Promised { ballot, .. }) => {
                mine == ballot && !promised.contains_key(from)
            }
            (Stage::Preparing { ballot: mine, accepted, .. }, FrameBody::Accepted { ballot, .. }) => {
                mine == ballot && !accepted.contains(from)
            }
            (_, FrameBody::Refused { ballot, .. }) => self.ballot() == Some(*ballot),
            _ => false,
        }
    }

    /// The round under way; 0 if there is none.
    pub(crate) fn round(&self) -> u32 {
        self.ballot().map_or(0, |ballot| ballot.round)
    }

    /// Whether `ballot` is the one under way.
    pub(crate) fn is_at(&self, ballot: Ballot) -> bool {
        self.ballot() == Some(ballot)
    }
}
