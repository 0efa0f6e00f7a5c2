//! What of a founder's state matters for what it does next, time aside.

use std::hash::{Hash, Hasher};

use super::{Founding, Phase};
use crate::member::ClusterId;
use crate::message::FoundBallot;

impl Hash for Founding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.acceptor.promised, self.accepted(), self.round, self.due.is_some(), self.founded).hash(state);
        self.gone.hash(state);
        if let Some(proposal) = &self.proposal {
            proposal.ballot.hash(state);
            let mut who = match &proposal.phase {
                Phase::Promising { promised, newest } => {
                    newest.as_ref().map(|(ballot, founder)| (*ballot, founder.cluster)).hash(state);
                    promised.clone()
                }
                Phase::Accepting { founder, accepted } => {
                    founder.cluster.hash(state);
                    accepted.clone()
                }
            };
            who.sort_unstable();
            who.hash(state);
        }
    }
}

impl Founding {
    /// What it accepted: in which ballot, which cluster.
    pub(in crate::membership) fn accepted(&self) -> Option<(FoundBallot, ClusterId)> {
        self.acceptor.accepted.as_ref().map(|(ballot, founder)| (*ballot, founder.cluster))
    }

    /// Planted by tests: it has forgotten what it promised and accepted.
    pub(in crate::membership) fn forget(&mut self) {
        self.acceptor = super::Acceptor::default();
    }

    /// Whether it has an attempt under way.
    pub(in crate::membership) const fn is_trying(&self) -> bool {
        self.proposal.is_some()
    }
}
