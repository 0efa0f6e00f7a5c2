//! Views and the changes between them: the ordered member list, its number, its digest, and who is in office.

mod change;
mod index;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::Timing;
use crate::member::{ClusterId, Member, MemberId, ShortId};
use crate::quorum;

pub use change::{Change, ChangeError, Crashed, Expelled};
pub(crate) use index::Index;

/// Number of a view. A founder's first view is 1; 0 means none yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
pub struct ViewId(pub u64);

impl ViewId {
    /// The number before the first view.
    pub const NONE: Self = Self(0);

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// 16 bytes of blake3 that link a view to its predecessor and to what changed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Digest([u8; 16]);

impl Digest {
    /// The digest with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The digest's bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The first 8 bytes, as heads of messages carry them.
    pub const fn tag(&self) -> DigestTag {
        let b = &self.0;
        DigestTag([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({:02x}{:02x}{:02x}{:02x})", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

/// The first 8 bytes of a [`Digest`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct DigestTag(pub [u8; 8]);

/// A member's record in a view.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ViewMember {
    /// Id and attributes. The views that contain it share one record.
    pub member: Arc<Member>,
    /// Number of the first view that contains it.
    pub joined_in: ViewId,
}

/// An agreed, ordered member list with its number: join order, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "Unindexed")]
pub struct View {
    id: ViewId,
    digest: Digest,
    cluster: ClusterId,
    cluster_name: String,
    timing: Timing,
    members: Vec<ViewMember>,
    #[serde(skip)]
    index: Arc<Index>,
}

/// A view as it is read: fields in the order of [`View`]'s, records by value, so that a decoder which bounds the memory
/// of lists sees their size.
#[derive(Deserialize)]
struct Unindexed {
    id: ViewId,
    digest: Digest,
    cluster: ClusterId,
    cluster_name: String,
    timing: Timing,
    members: Vec<UnsharedMember>,
}

#[derive(Deserialize)]
struct UnsharedMember {
    member: Member,
    joined_in: ViewId,
}

impl From<Unindexed> for View {
    fn from(read: Unindexed) -> Self {
        let share = |m: UnsharedMember| ViewMember { member: Arc::new(m.member), joined_in: m.joined_in };
        let members = read.members.into_iter().map(share).collect();
        Self::new(read.id, read.digest, read.cluster, read.cluster_name, read.timing, members)
    }
}

impl View {
    fn new(
        id: ViewId,
        digest: Digest,
        cluster: ClusterId,
        cluster_name: String,
        timing: Timing,
        members: Vec<ViewMember>,
    ) -> Self {
        let index = Arc::new(Index::new(&members));
        Self { id, digest, cluster, cluster_name, timing, members, index }
    }

    /// The first view of a new cluster, with its founder alone in it.
    pub fn founding(cluster: ClusterId, cluster_name: String, timing: Timing, founder: Member) -> Self {
        let id = ViewId::NONE.next();
        let founder = Arc::new(founder);
        let first = Change {
            base: ViewId::NONE,
            base_digest: Digest(*cluster.as_bytes()),
            joined: vec![Arc::clone(&founder)],
            left: Vec::new(),
            crashed: Vec::new(),
            expelled: Vec::new(),
        };
        let members = vec![ViewMember { member: founder, joined_in: id }];
        Self::new(id, first.digest(), cluster, cluster_name, timing, members)
    }

    /// The number.
    pub const fn id(&self) -> ViewId {
        self.id
    }

    /// The number, for use as a fencing token: it never goes back, and two views never share one.
    pub const fn number(&self) -> u64 {
        self.id.0
    }

    /// The digest that links this view to its predecessor.
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// The cluster's id.
    pub const fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// The cluster's name.
    pub fn cluster_name(&self) -> &str {
        &self.cluster_name
    }

    /// The cluster's timing.
    pub const fn timing(&self) -> &Timing {
        &self.timing
    }

    /// The members, oldest first.
    pub fn members(&self) -> &[ViewMember] {
        &self.members
    }

    /// How many members there are.
    pub const fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member: never true of a view that was installed.
    pub const fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Place of `id` in the order, 0 for the oldest.
    pub fn place(&self, id: &MemberId) -> Option<usize> {
        self.index.place(id.short()).filter(|place| self.members[*place].member.id == *id)
    }

    /// Whether `id` is a member.
    pub fn contains(&self, id: &MemberId) -> bool {
        self.place(id).is_some()
    }

    /// The record of `id`.
    pub fn member(&self, id: &MemberId) -> Option<&Member> {
        self.place(id).map(|place| &*self.members[place].member)
    }

    /// The record of the member with this short id.
    pub fn by_short(&self, short: ShortId) -> Option<&Member> {
        self.index.place(short).map(|place| &*self.members[place].member)
    }

    /// The record of the member with this name.
    pub fn by_name(&self, name: &str) -> Option<&Member> {
        self.members.iter().map(|m| &*m.member).find(|m| m.name == name)
    }

    /// The name of `id`, or the start of the id itself where it is no member.
    pub fn name_of(&self, id: &MemberId) -> String {
        self.member(id).map_or_else(|| id.to_string()[..8].to_owned(), |m| m.name.clone())
    }

    /// The oldest member.
    ///
    /// # Panics
    ///
    /// If the view is empty, which no installed view is.
    pub fn lead_member(&self) -> &Member {
        &self.members.first().expect("a view has at least its founder").member
    }

    /// The order of office: the eligible in view order, and behind them all others, who take office when no eligible
    /// member is left, also where the last of them have just died.
    pub fn office(&self) -> impl Iterator<Item = &Member> {
        self.index.office().map(|place| &*self.members[place].member)
    }

    /// Place of `id` in the order of office.
    pub fn office_place(&self, id: &MemberId) -> Option<usize> {
        self.index.office_place(self.place(id)?)
    }

    /// The first in office.
    ///
    /// # Panics
    ///
    /// If the view is empty, which no installed view is.
    pub fn coordinator(&self) -> &Member {
        self.office().next().expect("a view has at least its founder")
    }

    /// Sum of the counted weights of all members.
    pub fn weight(&self) -> u32 {
        self.index.weight()
    }

    /// Counted weight of `id`, 0 for a stranger.
    pub fn weight_of(&self, id: &MemberId) -> u32 {
        self.place(id).map_or(0, |place| quorum::counted(place, self.members[place].member.weight))
    }

    /// Whether a view from outside is one that could exist: no count of views gets into the upper half of the numbers.
    pub fn is_plausible(&self) -> bool {
        !self.members.is_empty()
            && (1..=u64::MAX / 2).contains(&self.id.0)
            && self.timing.validate().is_ok()
            && self.members.iter().all(|m| m.member.fault().is_none() && m.joined_in <= self.id)
            && self.are_distinct(|m| m.id.short())
            && self.are_distinct(|m| m.name.as_str())
            && self.are_distinct(|m| m.endpoint.addr)
    }

    /// The record of `id`, to be shared.
    pub(crate) fn record(&self, id: &MemberId) -> Option<&Arc<Member>> {
        self.place(id).map(|place| &self.members[place].member)
    }

    /// The places of its members: shared by what has a record of each of them.
    pub(crate) const fn index(&self) -> &Arc<Index> {
        &self.index
    }

    fn are_distinct<'a, K: Ord>(&'a self, key: impl Fn(&'a Member) -> K) -> bool {
        let mut keys: Vec<K> = self.members.iter().map(|m| key(&m.member)).collect();
        keys.sort_unstable();
        keys.windows(2).all(|pair| pair[0] != pair[1])
    }
}

#[cfg(test)]
mod tests;
