//! Where members stand in a view, in its order and in that of office, and what they weigh together: worked out once
//! per view, so that no question about one member looks at all.

use std::fmt;

use super::ViewMember;
use crate::member::ShortId;
use crate::quorum;

/// The index of one view.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Index {
    /// Sorted; of members with one short id, which no plausible view has, the oldest comes first.
    by_short: Box<[(ShortId, u32)]>,
    /// Places in the order of office, where that is not view order.
    office: Option<Office>,
    weight: u32,
}

#[derive(Clone, PartialEq, Eq)]
struct Office {
    /// The eligible in view order, behind them the others in view order.
    places: Box<[u32]>,
    eligible: usize,
}

impl Index {
    /// The index of a view of `members`.
    pub(super) fn new(members: &[ViewMember]) -> Self {
        let places = || (0_u32..).zip(members);
        let mut by_short: Box<[_]> = places().map(|(place, m)| (m.member.id.short(), place)).collect();
        by_short.sort_unstable();
        let those = |eligible: bool| {
            let those = places().filter(move |(_, m)| m.member.coordinator_eligible == eligible);
            those.map(|(place, _)| place)
        };
        let eligible = those(true).count();
        let is_view_order = those(true).eq(0..u32::try_from(eligible).unwrap_or(u32::MAX));
        let office =
            (!is_view_order).then(|| Office { places: those(true).chain(those(false)).collect(), eligible });
        let weights = members.iter().enumerate().map(|(place, m)| quorum::counted(place, m.member.weight));
        let weight = weights.sum();
        Self { by_short, office, weight }
    }

    /// Place of the member with this short id.
    pub(crate) fn place(&self, short: ShortId) -> Option<usize> {
        let at = self.by_short.partition_point(|(other, _)| *other < short);
        self.by_short.get(at).filter(|(other, _)| *other == short).map(|(_, place)| *place as usize)
    }

    /// Places in the order of office.
    pub(super) fn office(&self) -> impl Iterator<Item = usize> {
        let len = self.by_short.len();
        (0..len).map(|at| self.office.as_ref().map_or(at, |office| office.places[at] as usize))
    }

    /// Place in the order of office of the member at `place`.
    pub(super) fn office_place(&self, place: usize) -> Option<usize> {
        let Some(Office { places, eligible }) = &self.office else { return Some(place) };
        let place = u32::try_from(place).ok()?;
        let (first, others) = places.split_at(*eligible);
        let behind = || others.binary_search(&place).ok().map(|at| at + eligible);
        first.binary_search(&place).ok().or_else(behind)
    }

    /// Sum of the counted weights.
    pub(super) const fn weight(&self) -> u32 {
        self.weight
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Index(of {})", self.by_short.len())
    }
}
