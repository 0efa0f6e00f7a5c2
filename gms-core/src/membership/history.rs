//! The views that were replaced: what serves members that missed some, and what the settling rule looks back at.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::config::HeartbeatRecipients;
use crate::hubs;
use crate::member::{MemberId, ShortId};
use crate::message::Installation;
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::{Digest, View, ViewId};

pub(crate) use crate::message::Decided;

/// Changes kept for members that missed some. Whoever missed more takes a whole view.
const CHANGES_MAX: usize = 64;
/// Most frames' worth of changes in one answer: the joins of a bootstrap are large, so fewer than [`CHANGES_MAX`].
pub(super) const CHANGES_PER_ANSWER: usize = 16;

#[derive(Clone, Debug)]
struct Replaced {
    /// The view replaced; forgotten when the settling rule can't need it any more.
    view: Option<Arc<View>>,
    id: ViewId,
    at: Timestamp,
    /// The change that replaced it, where the single change is known.
    decided: Option<Decided>,
}

/// The recent past of this member's views.
#[derive(Clone, Debug)]
pub(crate) struct History {
    replaced: VecDeque<Replaced>,
    /// When this member last came into a view without having held the one before: it joined, or skipped some.
    gap_at: Timestamp,
}

impl History {
    /// The history of a member whose first view was installed at `now`.
    pub(crate) const fn new(now: Timestamp) -> Self {
        Self { replaced: VecDeque::new(), gap_at: now }
    }

    /// Notes that `old` was replaced at `now`, by `decided` where the single change is known.
    pub(crate) fn push(
        &mut self,
        now: Timestamp,
        old: &Arc<View>,
        decided: Option<Decided>,
        settle: Duration,
    ) {
        if decided.is_none() {
            self.gap_at = now;
        }
        let entry = Replaced { view: Some(Arc::clone(old)), id: old.id(), at: now, decided };
        self.replaced.push_back(entry);
        for entry in &mut self.replaced {
            if entry.at + settle < now {
                entry.view = None;
            }
        }
        while self.replaced.len() > CHANGES_MAX {
            let dropped = self.replaced.pop_front().expect("longer than its bound");
            if dropped.view.is_some() {
                self.gap_at = self.gap_at.max(dropped.at);
            }
        }
    }

    /// Takes the records of `view` in place of equal ones in changes that were noted since it was last called.
    pub(crate) fn share_records(&mut self, view: &View) {
        for replaced in self.replaced.iter_mut().rev() {
            let Some(decided) = replaced.decided.as_mut().filter(|d| !d.change.joined.is_empty()) else {
                continue;
            };
            let mut is_news = false;
            for record in &mut decided.change.joined {
                let shared = view.record(&record.id).filter(|shared| *shared == record);
                if let Some(shared) = shared.filter(|shared| !Arc::ptr_eq(shared, record)) {
                    *record = Arc::clone(shared);
                    is_news = true;
                }
            }
            if !is_news {
                return;
            }
        }
    }

    /// What somebody who holds view `held` lacks: the single changes where all are known, else the whole view.
    //= docs/protocol.md#vw-5
    pub(crate) fn since(&self, held: ViewId, installed: &Arc<View>) -> Installation {
        let whole = || Installation::Whole(Box::new(View::clone(installed)));
        let missing = installed.id().0.saturating_sub(held.0);
        let Ok(missing) = usize::try_from(missing) else { return whole() };
        if held == ViewId::NONE || missing > CHANGES_PER_ANSWER || missing > self.replaced.len() {
            return whole();
        }
        let tail = self.replaced.iter().skip(self.replaced.len() - missing);
        let changes: Option<Vec<Decided>> = tail.map(|r| r.decided.clone()).collect();
        match changes {
            Some(changes) if changes.first().is_some_and(|d| d.change.base == held) => {
                Installation::Changes(changes)
            }
            Some(_) | None => whole(),
        }
    }

    /// Whether `digest` is that of view `id`, as far as the past is known.
    pub(crate) fn contradicts(&self, id: ViewId, digest: Digest) -> bool {
        self.replaced
            .iter()
            .filter_map(|r| r.decided.as_ref())
            .any(|d| d.change.makes() == id && d.digest != digest)
    }

    /// Whether the change that made the installed view lets `id` go, as far as that change is known.
    pub(crate) fn has_let_go(&self, id: ShortId) -> bool {
        let newest = self.replaced.back().and_then(|r| r.decided.as_ref());
        newest.is_some_and(|d| d.change.left.iter().any(|leaver| leaver.short() == id))
    }

    /// The oldest view since which every change is known to the member that holds `installed`.
    pub(crate) fn known_since(&self, installed: ViewId) -> ViewId {
        let known = self.replaced.iter().rev().take_while(|r| r.decided.is_some());
        known.last().map_or(installed, |r| r.id)
    }

    /// Whether `id` was in a view that is remembered.
    pub(crate) fn knew(&self, id: &MemberId) -> bool {
        self.replaced.iter().any(|r| {
            r.view.as_ref().is_some_and(|v| v.contains(id))
                || r.decided.as_ref().is_some_and(|d| d.change.removes(id))
        })
    }

    /// The settling rule: `Ok` if the removal of `suspect` in `base` may be proposed with the fences of `granted`,
    /// else the moment from which it may.
    ///
    /// The suspect may still be in an older view and count its majority there. So unless it was seen in `base`, those
    /// who granted must be a majority without it in each such view that was replaced less than R ago too (where it counted
    /// by hubs: all of those). Where it counts by others in the base, contact that it had in such a view may have been
    /// carried over, whatever view it has shown since.
    //= docs/protocol.md#vw-22
    //= docs/protocol.md#lv-3
    pub(crate) fn settled(
        &self,
        now: Timestamp,
        settle: Duration,
        base: &View,
        suspect: (&MemberId, ViewId),
        granted: &[MemberId],
    ) -> Result<(), Timestamp> {
        let (suspect, newest_shown) = suspect;
        let joined_in = base.members().iter().find(|m| m.member.id == *suspect).map(|m| m.joined_in);
        if joined_in == Some(base.id()) {
            return Ok(());
        }
        let has_shown = newest_shown >= base.id();
        // Views that are not known may have had hubs, unless none of this cluster's ever has.
        let never_carries = base.timing().heartbeat_recipients == HeartbeatRecipients::All;
        let no_wait = has_shown && never_carries || planted::is(Planted::NoWaitAfterGap);
        let mut until = if no_wait { Timestamp::ZERO } else { self.gap_at + settle };
        let mut counts_alike = true;
        let mut common: Vec<MemberId> = hubs::first_in_office(base).map(|m| m.id).collect();
        for replaced in self.replaced.iter().rev() {
            let Some(view) = &replaced.view else { continue };
            if !view.contains(suspect) || replaced.at + settle <= now {
                continue;
            }
            common.retain(|hub| hubs::is_hub(view, hub));
            counts_alike &= hubs::borrows(view, suspect) == hubs::borrows(base, suspect)
                && (!hubs::borrows(base, suspect) || !common.is_empty());
            let may_count_in_it = !has_shown && replaced.id >= newest_shown;
            let must_cover = (may_count_in_it || !counts_alike) && !planted::is(Planted::NoSettling);
            if must_cover && !hubs::covers(view, suspect, granted) {
                until = until.max(replaced.at + settle);
            }
        }
        if until <= now { Ok(()) } else { Err(until) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{id, view_of, view_with_hubs};
    use crate::view::Change;

    const R: Duration = Duration::from_millis(1250);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn leave(view: &Arc<View>, ids: &[u8]) -> (Arc<View>, Decided) {
        let mut change = Change::empty(view);
        change.left = ids.iter().map(|n| id(*n)).collect();
        let next = Arc::new(view.apply(&change).unwrap());
        let digest = next.digest();
        (next, Decided { change, digest })
    }

    #[test]
    //= docs/protocol.md#vw-5
    fn whoever_missed_a_few_changes_gets_them_and_others_a_whole_view() {
        let first = Arc::new(view_of(5));
        let (second, a) = leave(&first, &[4]);
        let (third, b) = leave(&second, &[3]);
        let mut history = History::new(at(0));
        history.push(at(1), &first, Some(a.clone()), R);
        history.push(at(2), &second, Some(b.clone()), R);
        assert_eq!(history.since(first.id(), &third), Installation::Changes(vec![a, b.clone()]));
        assert_eq!(history.since(second.id(), &third), Installation::Changes(vec![b]));
        let whole = Installation::Whole(Box::new(View::clone(&third)));
        assert_eq!(history.since(ViewId(1), &third), whole);
        assert_eq!(history.since(ViewId::NONE, &third), whole);
    }

    #[test]
    //= docs/protocol.md#vw-22
    fn a_suspect_seen_in_the_base_needs_no_settling() {
        let base = view_of(3);
        let history = History::new(at(0));
        assert_eq!(history.settled(at(1), R, &base, (&id(2), base.id()), &[]), Ok(()));
    }

    #[test]
    //= docs/protocol.md#vw-22
    fn a_suspect_in_an_older_view_needs_a_majority_of_that_view_or_time() {
        // Five members; two leave; one more falls silent without having seen the view of three.
        let first = Arc::new(view_of(5));
        let (base, decided) = leave(&first, &[1, 2]);
        let mut history = History::new(at(0));
        history.push(at(2_000), &first, Some(decided), R);
        let suspect = (&id(4), first.id());
        // m0 and m3 are a majority of the three without the suspect, but not of the five.
        let granted = [id(3)];
        assert_eq!(history.settled(at(2_010), R, &base, suspect, &granted), Err(at(3_250)));
        assert_eq!(history.settled(at(3_250), R, &base, suspect, &granted), Ok(()));
        let also_leavers = [id(0), id(1), id(3)];
        assert_eq!(history.settled(at(2_010), R, &base, suspect, &also_leavers), Ok(()));
    }

    #[test]
    //= docs/protocol.md#vw-22
    fn a_proposer_that_joined_or_skipped_views_waits() {
        let first = Arc::new(view_of(5));
        let (base, _) = leave(&first, &[1]);
        let mut history = History::new(at(0));
        history.push(at(2_000), &first, None, R);
        let everybody: Vec<_> = (0..5).map(id).collect();
        let suspect = (&id(4), first.id());
        assert_eq!(history.settled(at(2_010), R, &base, suspect, &everybody), Err(at(3_250)));
    }

    #[test]
    fn changes_take_over_the_records_of_a_shared_view() {
        let first = Arc::new(view_of(2));
        let joining = |view: &View, n: u8| {
            let change = Change { joined: vec![crate::testing::member(n).into()], ..Change::empty(view) };
            let next = Arc::new(view.apply(&change).unwrap());
            let digest = next.digest();
            (next, Decided { change, digest })
        };
        let (second, a) = joining(&first, 5);
        let (third, b) = joining(&second, 6);
        let mut history = History::new(at(0));
        history.push(at(1), &first, Some(a), R);
        history.push(at(2), &second, Some(b), R);
        let other = joining(&joining(&first, 5).0, 6).0;
        assert_eq!(other, third);
        history.share_records(&other);
        let joined = history.replaced.iter().flat_map(|r| &r.decided.as_ref().unwrap().change.joined);
        let shared = [&other.members()[2].member, &other.members()[3].member];
        assert!(joined.zip(shared).all(|(record, shared)| Arc::ptr_eq(record, shared)));
    }

    #[test]
    //= docs/protocol.md#vw-22
    //= docs/protocol.md#lv-3
    fn whoever_may_have_carried_contact_over_needs_the_votes_of_the_view_before_too() {
        // m4 counts by hubs in the view of nine, and is a hub itself when m0 has left; m8 counts by the same hubs.
        let first = Arc::new(view_with_hubs(9, 1));
        let (base, decided) = leave(&first, &[0]);
        let mut history = History::new(at(0));
        history.push(at(2_000), &first, Some(decided), R);
        let seen_in_base = |n: u8| (id(n), base.id());
        let settled = |n: u8, granted: &[MemberId]| {
            let (suspect, shown) = seen_in_base(n);
            history.settled(at(2_010), R, &base, (&suspect, shown), granted)
        };
        assert_eq!(settled(4, &[id(1), id(2), id(3), id(5), id(6)]), Err(at(3_250)), "m0 has not granted");
        assert_eq!(settled(4, &[id(0), id(1), id(2), id(3)]), Ok(()));
        assert_eq!(settled(8, &[]), Ok(()));
        let (suspect, shown) = seen_in_base(4);
        assert_eq!(history.settled(at(3_250), R, &base, (&suspect, shown), &[]), Ok(()));
    }
}
