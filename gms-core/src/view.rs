//! Views and the changes between them: the ordered member list, its number, its digest, and who is in office.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::Timing;
use crate::evidence::Evidence;
use crate::member::{ClusterId, Member, MemberId, ShortId};
use crate::quorum;

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
    /// Id and attributes.
    pub member: Member,
    /// Number of the first view that contains it.
    pub joined_in: ViewId,
}

/// A member that leaves a view because it is dead or silent, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Crashed {
    /// Who.
    pub member: MemberId,
    /// The whole chain that led here: accusations, final check, fences.
    pub evidence: Arc<Evidence>,
}

/// A member that an operator removed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Expelled {
    /// Who.
    pub member: MemberId,
    /// The operator's reason.
    pub reason: String,
    /// Name of the member at which the operator asked.
    pub by: String,
}

/// The difference between a view and its successor; what members agree on. An empty one is legal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Number of the view whose successor this makes.
    pub base: ViewId,
    /// Digest of that view.
    pub base_digest: Digest,
    /// Who joins, in the order of the new view.
    pub joined: Vec<Member>,
    /// Who leaves by its own wish.
    pub left: Vec<MemberId>,
    /// Who is removed by a verdict.
    pub crashed: Vec<Crashed>,
    /// Who is removed by an operator.
    pub expelled: Vec<Expelled>,
}

impl Change {
    /// A change of `base` that changes nothing.
    pub const fn empty(base: &View) -> Self {
        Self {
            base: base.id,
            base_digest: base.digest,
            joined: Vec::new(),
            left: Vec::new(),
            crashed: Vec::new(),
            expelled: Vec::new(),
        }
    }

    /// Whether nobody joins or leaves.
    pub const fn is_empty(&self) -> bool {
        self.joined.is_empty() && self.left.is_empty() && self.crashed.is_empty() && self.expelled.is_empty()
    }

    /// Number of the view that this makes.
    pub const fn makes(&self) -> ViewId {
        self.base.next()
    }

    /// Whether `id` is no member any more after this change.
    pub fn removes(&self, id: &MemberId) -> bool {
        self.left.contains(id) || self.evicts(id)
    }

    /// Whether `id` is removed other than by its own wish: crashed or expelled.
    pub fn evicts(&self, id: &MemberId) -> bool {
        self.removes_crashed(id) || self.expelled.iter().any(|e| e.member == *id)
    }

    /// Whether `id` is removed by a verdict.
    pub fn removes_crashed(&self, id: &MemberId) -> bool {
        self.crashed.iter().any(|c| c.member == *id)
    }

    /// Digest of the view that this makes: over the base's digest, its number, ids **and** kinds of change.
    pub fn digest(&self) -> Digest {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"gms view 1");
        hasher.update(&self.base.0.to_be_bytes());
        hasher.update(self.base_digest.as_bytes());
        let mut kind = |tag: u8, ids: &mut dyn ExactSizeIterator<Item = &MemberId>| {
            hasher.update(&[tag]);
            hasher.update(&(ids.len() as u64).to_be_bytes());
            for id in ids {
                hasher.update(id.as_bytes());
            }
        };
        kind(b'j', &mut self.joined.iter().map(|m| &m.id));
        kind(b'l', &mut self.left.iter());
        kind(b'c', &mut self.crashed.iter().map(|c| &c.member));
        kind(b'e', &mut self.expelled.iter().map(|e| &e.member));
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Digest(bytes)
    }
}

/// An agreed, ordered member list with its number: join order, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct View {
    id: ViewId,
    digest: Digest,
    cluster: ClusterId,
    cluster_name: String,
    timing: Timing,
    members: Vec<ViewMember>,
}

impl View {
    /// The first view of a new cluster, with its founder alone in it.
    pub fn founding(cluster: ClusterId, cluster_name: String, timing: Timing, founder: Member) -> Self {
        let id = ViewId::NONE.next();
        let first = Change {
            base: ViewId::NONE,
            base_digest: Digest(*cluster.as_bytes()),
            joined: vec![founder.clone()],
            left: Vec::new(),
            crashed: Vec::new(),
            expelled: Vec::new(),
        };
        let members = vec![ViewMember { member: founder, joined_in: id }];
        Self { id, digest: first.digest(), cluster, cluster_name, timing, members }
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
        self.members.iter().position(|m| m.member.id == *id)
    }

    /// Whether `id` is a member.
    pub fn contains(&self, id: &MemberId) -> bool {
        self.place(id).is_some()
    }

    /// The record of `id`.
    pub fn member(&self, id: &MemberId) -> Option<&Member> {
        self.place(id).map(|place| &self.members[place].member)
    }

    /// The record of the member with this short id.
    pub fn by_short(&self, short: ShortId) -> Option<&Member> {
        self.members.iter().map(|m| &m.member).find(|m| m.id.short() == short)
    }

    /// The record of the member with this name.
    pub fn by_name(&self, name: &str) -> Option<&Member> {
        self.members.iter().map(|m| &m.member).find(|m| m.name == name)
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
        let those = |eligible: bool| {
            self.members.iter().map(|m| &m.member).filter(move |m| m.coordinator_eligible == eligible)
        };
        those(true).chain(those(false))
    }

    /// Place of `id` in the order of office.
    pub fn office_place(&self, id: &MemberId) -> Option<usize> {
        self.office().position(|m| m.id == *id)
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
        quorum::weight_of(self, |_| true)
    }

    /// Counted weight of `id`, 0 for a stranger.
    pub fn weight_of(&self, id: &MemberId) -> u32 {
        self.place(id).map_or(0, |place| quorum::counted(place, self.members[place].member.weight))
    }

    /// The view that `change` makes of this one.
    ///
    /// # Errors
    ///
    /// [`ChangeError`] where the change isn't one of this view; the view is unchanged.
    pub fn apply(&self, change: &Change) -> Result<Self, ChangeError> {
        if change.base != self.id || change.base_digest != self.digest {
            return Err(ChangeError::OtherBase { change: change.base, view: self.id });
        }
        let id = self.id.next();
        let gone = |id: &MemberId| change.removes(id);
        let leavers = change.left.len() + change.crashed.len() + change.expelled.len();
        let kept = self.members.iter().filter(|m| !gone(&m.member.id));
        let mut members: Vec<ViewMember> = kept.cloned().collect();
        if self.members.len() - members.len() != leavers {
            return Err(ChangeError::Leavers);
        }
        for joiner in &change.joined {
            let clash = |m: &ViewMember| {
                m.member.id.short() == joiner.id.short()
                    || m.member.name == joiner.name
                    || m.member.endpoint.addr == joiner.endpoint.addr
            };
            if joiner.fault().is_some() || self.contains(&joiner.id) || members.iter().any(clash) {
                return Err(ChangeError::Joiner(joiner.name.clone()));
            }
            members.push(ViewMember { member: joiner.clone(), joined_in: id });
        }
        if members.is_empty() {
            return Err(ChangeError::Empty);
        }
        Ok(Self {
            id,
            digest: change.digest(),
            cluster: self.cluster,
            cluster_name: self.cluster_name.clone(),
            timing: self.timing.clone(),
            members,
        })
    }

    /// Whether a view that arrived whole is one that could exist: used on what comes from outside.
    pub fn is_plausible(&self) -> bool {
        let distinct = |key: &dyn Fn(&ViewMember) -> String| {
            let mut keys: Vec<_> = self.members.iter().map(key).collect();
            keys.sort_unstable();
            keys.windows(2).all(|pair| pair[0] != pair[1])
        };
        !self.members.is_empty()
            && self.id != ViewId::NONE
            && self.timing.validate().is_ok()
            && self.members.iter().all(|m| m.member.fault().is_none() && m.joined_in <= self.id)
            && distinct(&|m| m.member.id.short().to_string())
            && distinct(&|m| m.member.name.clone())
            && distinct(&|m| m.member.endpoint.addr.to_string())
    }
}

/// Why a change can't be applied to a view.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// It belongs to another base.
    #[error("change of view {change} does not apply to view {view}")]
    OtherBase {
        /// The change's base.
        change: ViewId,
        /// The view at hand.
        view: ViewId,
    },
    /// It removes somebody who is no member, or somebody twice.
    #[error("change removes a member that is not in the view, or one twice")]
    Leavers,
    /// A joiner is malformed, or clashes with a member in id, name or address.
    #[error("joiner {0:?} clashes with a member or has a malformed record")]
    Joiner(String),
    /// Nobody would be left.
    #[error("change leaves nobody in the view")]
    Empty,
}

#[cfg(test)]
mod tests;
