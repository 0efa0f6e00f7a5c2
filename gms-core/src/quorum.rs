//! Weight arithmetic, pure: what is more than half of a view, and who counts how much.

use crate::config::AUTO_RECIPIENTS_VIEW_MAX;
use crate::member::{MemberId, Weight};
use crate::planted::{self, Planted};
use crate::time::Timestamp;
use crate::view::View;

/// What the lead member counts on top of its weight, to break even splits. Geode `GMSMembershipView.memberWeight`
/// gives its lead member the same 5.
pub const LEAD_BONUS: u32 = 5;

/// Weight of the member at `place` (0 is the lead member) whose own weight is `weight`.
///
/// A lead member of weight 0 gets no bonus: weight 0 means that it never counts.
pub const fn counted(place: usize, weight: Weight) -> u32 {
    let own = weight.get() as u32;
    if place == 0 && own > 0 { own + LEAD_BONUS } else { own }
}

/// Whether `part` is more than half of `whole`. Exactly half is no majority.
//= docs/protocol.md#vw-16
pub fn is_majority(part: u32, whole: u32) -> bool {
    let part = u64::from(part) * 2 + u64::from(planted::is(Planted::HalfIsMajority));
    part > u64::from(whole)
}

/// The smallest weight that is more than half of `whole`.
pub const fn needed(whole: u32) -> u32 {
    whole / 2 + 1
}

/// Sum of the counted weights of those members of `view` for which `counts` holds.
pub fn weight_of(view: &View, mut counts: impl FnMut(&MemberId) -> bool) -> u32 {
    view.members()
        .iter()
        .enumerate()
        .filter(|(_, m)| counts(&m.member.id))
        .map(|(place, m)| counted(place, m.member.weight))
        .sum()
}

/// Until when `own` and `shares`, each of which counts until its moment, are more than half of `whole`, `own` alone being
/// less: [`Timestamp::ZERO`] if they never are. Takes no memory where there are as few shares as in a view in which
/// everybody hears everybody.
pub(crate) fn lasts_until(own: u32, whole: u32, shares: impl Iterator<Item = (Timestamp, u32)>) -> Timestamp {
    let mut few = [(Timestamp::ZERO, 0); AUTO_RECIPIENTS_VIEW_MAX];
    let mut many = Vec::new();
    let mut len = 0;
    for share in shares {
        match few.get_mut(len) {
            Some(slot) => *slot = share,
            None => many.push(share),
        }
        len += 1;
    }
    let all = if many.is_empty() {
        &mut few[..len]
    } else {
        many.extend_from_slice(&few);
        &mut many[..]
    };
    all.sort_unstable_by(|a, b| b.cmp(a));
    let mut weight = own;
    for (until, share) in all {
        weight += *share;
        if is_majority(weight, whole) {
            return *until;
        }
    }
    Timestamp::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{id, view_of_weights};

    #[test]
    fn majority_table() {
        // part, whole, more than half?
        for (part, whole, expected) in [
            (0, 0, false),
            (1, 1, true),
            (10, 25, false),
            (15, 25, true),
            (20, 40, false),
            (21, 40, true),
            (u32::MAX, u32::MAX, true),
        ] {
            assert_eq!(is_majority(part, whole), expected, "{part} of {whole}");
        }
    }

    #[test]
    fn what_is_needed_is_a_majority_and_one_less_is_not() {
        for whole in 1..200 {
            assert!(is_majority(needed(whole), whole));
            assert!(!is_majority(needed(whole) - 1, whole));
        }
    }

    #[test]
    fn a_majority_lasts_until_the_last_share_that_it_needs_ends() {
        let at = Timestamp::from_millis;
        let shares = [(at(5), 10), (at(9), 10), (at(7), 10)];
        assert_eq!(lasts_until(10, 40, shares.into_iter()), at(7), "of four one may be missing");
        assert_eq!(lasts_until(10, 60, shares.into_iter()), at(5));
        assert_eq!(lasts_until(10, 80, shares.into_iter()), Timestamp::ZERO);
        for others in [127, 128, 129, 300] {
            let ends = (1..=u64::from(others)).map(|n| (at(n * 37 % 1009), 1));
            let mut sorted: Vec<_> = ends.clone().map(|(end, _)| end).collect();
            sorted.sort_unstable();
            let needed = usize::try_from(needed(others + 1)).unwrap() - 1;
            let expected = sorted[sorted.len() - needed];
            assert_eq!(lasts_until(1, others + 1, ends), expected, "{others} others");
        }
    }

    #[test]
    fn the_lead_member_breaks_an_even_split() {
        let view = view_of_weights(&[10, 10, 10, 10]);
        assert_eq!(view.weight(), 45);
        let with_lead = weight_of(&view, |m| *m == id(0) || *m == id(1));
        assert!(is_majority(with_lead, view.weight()));
        let without = weight_of(&view, |m| *m == id(2) || *m == id(3));
        assert!(!is_majority(without, view.weight()));
    }

    #[test]
    fn weight_zero_never_counts_even_in_the_lead() {
        let view = view_of_weights(&[0, 10, 10]);
        assert_eq!(view.weight(), 20);
        assert_eq!(weight_of(&view, |m| *m == id(0)), 0);
    }
}
