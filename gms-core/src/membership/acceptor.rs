//! The acceptor of single-decree Paxos for the successor of one view (Lamport, "Paxos Made Simple", 2001).
//!
//! State lives in memory: a restarted process is no member, so it never votes twice. Accepting is never a matter of
//! opinion; opinions are asked before, by fences and promises.

use std::sync::Arc;

use crate::message::Ballot;
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::{Change, Digest, View};

/// A change that this member has accepted, and the view that it would make.
#[derive(Clone, Debug)]
pub(crate) struct AcceptedChange {
    pub(crate) ballot: Ballot,
    pub(crate) change: Arc<Change>,
    pub(crate) digest: Digest,
    pub(crate) makes: Arc<View>,
    pub(crate) since: Timestamp,
}

/// What this member has promised and accepted for the successor of its installed view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acceptor {
    promised: Option<Ballot>,
    accepted: Option<AcceptedChange>,
}

impl Acceptor {
    /// Promises `ballot`, unless a higher one is promised.
    ///
    /// # Errors
    ///
    /// The higher ballot; nothing changes.
    pub(crate) fn promise(&mut self, ballot: Ballot) -> Result<(), Ballot> {
        match self.promised {
            Some(higher) if higher > ballot && !planted::is(Planted::PromiseForgotten) => Err(higher),
            Some(_) | None => {
                if planted::is(Planted::AcceptedForgotten) && self.promised.is_some_and(|p| p < ballot) {
                    self.accepted = None;
                }
                self.promised = Some(ballot);
                Ok(())
            }
        }
    }

    /// Accepts `change`, which makes `makes`, in `ballot`, unless a higher one is promised.
    ///
    /// # Errors
    ///
    /// The higher ballot, or the same one with another value; nothing changes.
    //= docs/protocol.md#vw-2
    pub(crate) fn accept(
        &mut self,
        now: Timestamp,
        ballot: Ballot,
        change: &Arc<Change>,
        makes: &Arc<View>,
    ) -> Result<(), Ballot> {
        let other_value = |a: &AcceptedChange| a.ballot == ballot && a.digest != makes.digest();
        if self.accepted.as_ref().is_some_and(other_value) {
            return Err(ballot);
        }
        self.promise(ballot)?;
        let same = self.accepted.as_ref().filter(|a| a.digest == makes.digest());
        let since = same.map_or(now, |a| a.since);
        self.accepted = Some(AcceptedChange {
            ballot,
            change: Arc::clone(change),
            digest: makes.digest(),
            makes: Arc::clone(makes),
            since,
        });
        Ok(())
    }

    /// The change accepted last.
    pub(crate) const fn accepted(&self) -> Option<&AcceptedChange> {
        self.accepted.as_ref()
    }

    /// The highest ballot promised.
    pub(crate) const fn promised(&self) -> Option<Ballot> {
        self.promised
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{id, view_of};

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn ballot(round: u32, place: u32) -> Ballot {
        Ballot { round, place }
    }

    fn without(base: &View, n: u8) -> (Arc<Change>, Arc<View>) {
        let mut change = Change::empty(base);
        change.left.push(id(n));
        let makes = Arc::new(base.apply(&change).unwrap());
        (Arc::new(change), makes)
    }

    #[test]
    fn in_one_round_the_earlier_place_is_the_higher_ballot() {
        assert!(ballot(1, 0) > ballot(1, 1));
        assert!(ballot(2, 5) > ballot(1, 0));
        assert!(ballot(0, 0) < ballot(1, 9));
    }

    #[test]
    //= docs/protocol.md#vw-2
    fn a_member_accepts_unless_it_promised_something_higher() {
        let base = view_of(3);
        let (change, makes) = without(&base, 2);
        let mut acceptor = Acceptor::default();
        assert_eq!(acceptor.accept(NOW, ballot(0, 0), &change, &makes), Ok(()));
        assert_eq!(acceptor.promise(ballot(2, 1)), Ok(()));
        assert_eq!(acceptor.accept(NOW, ballot(1, 0), &change, &makes), Err(ballot(2, 1)));
        assert_eq!(acceptor.promise(ballot(1, 0)), Err(ballot(2, 1)));
        assert_eq!(acceptor.accept(NOW, ballot(2, 0), &change, &makes), Ok(()));
        assert_eq!(acceptor.accepted().unwrap().ballot, ballot(2, 0));
    }

    #[test]
    fn one_ballot_never_carries_two_values() {
        let base = view_of(3);
        let (first, makes_first) = without(&base, 2);
        let (second, makes_second) = without(&base, 1);
        let mut acceptor = Acceptor::default();
        assert_eq!(acceptor.accept(NOW, ballot(0, 0), &first, &makes_first), Ok(()));
        assert_eq!(acceptor.accept(NOW, ballot(0, 0), &second, &makes_second), Err(ballot(0, 0)));
        assert_eq!(acceptor.accepted().unwrap().digest, makes_first.digest());
    }

    #[test]
    fn a_repeated_prepare_is_accepted_again_and_keeps_its_age() {
        let base = view_of(3);
        let (change, makes) = without(&base, 2);
        let mut acceptor = Acceptor::default();
        acceptor.accept(NOW, ballot(0, 0), &change, &makes).unwrap();
        acceptor.accept(Timestamp::from_millis(9), ballot(0, 0), &change, &makes).unwrap();
        assert_eq!(acceptor.accepted().unwrap().since, NOW);
    }
}
