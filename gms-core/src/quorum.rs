//! Weight arithmetic, pure: what is more than half of a view, and who counts how much.

use crate::member::{MemberId, Weight};
use crate::planted::{self, Planted};
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
