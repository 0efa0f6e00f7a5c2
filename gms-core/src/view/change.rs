//! Changes between views: what members agree on, and what it makes of a view.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Digest, View, ViewId, ViewMember};
use crate::evidence::Evidence;
use crate::member::{Member, MemberId};

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
    #[serde(deserialize_with = "records_by_value")]
    pub joined: Vec<Arc<Member>>,
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

impl View {
    /// The view that `change` makes of this one. Records of members are shared, not copied.
    ///
    /// # Errors
    ///
    /// [`ChangeError`] where the change isn't one of this view; the view is unchanged.
    pub fn apply(&self, change: &Change) -> Result<Self, ChangeError> {
        if change.base != self.id || change.base_digest != self.digest {
            return Err(ChangeError::OtherBase { change: change.base, view: self.id });
        }
        let id = self.id.next();
        let leavers = change.left.len() + change.crashed.len() + change.expelled.len();
        let len = (self.members.len() + change.joined.len()).saturating_sub(leavers);
        let mut members = Vec::with_capacity(len);
        members.extend(self.members.iter().filter(|m| !change.removes(&m.member.id)).cloned());
        if self.members.len() - members.len() != leavers {
            return Err(ChangeError::Leavers);
        }
        if let Some(joiner) = self.misfit(&members, &change.joined) {
            return Err(ChangeError::Joiner(joiner.name.clone()));
        }
        let joined = change.joined.iter();
        members.extend(joined.map(|m| ViewMember { member: Arc::clone(m), joined_in: id }));
        if members.is_empty() {
            return Err(ChangeError::Empty);
        }
        let (name, timing) = (self.cluster_name.clone(), self.timing.clone());
        Ok(Self::new(id, change.digest(), self.cluster, name, timing, members))
    }

    /// The first of `joiners` that is malformed, or clashes with one of this view, of those `kept` or of the joiners
    /// before it.
    fn misfit<'a>(&self, kept: &[ViewMember], joiners: &'a [Arc<Member>]) -> Option<&'a Member> {
        let mut first = joiners.iter().position(|m| m.fault().is_some() || self.contains(&m.id));
        let mut note = |place: Option<usize>| first = first.into_iter().chain(place).min();
        note(first_clash(kept, joiners, |m| m.id.short()));
        note(first_clash(kept, joiners, |m| m.name.as_str()));
        note(first_clash(kept, joiners, |m| m.endpoint.addr));
        first.map(|place| &*joiners[place])
    }
}

/// The first of `joiners` whose key is that of one of `kept` or of a joiner before it.
fn first_clash<'a, K: Ord>(
    kept: &'a [ViewMember],
    joiners: &'a [Arc<Member>],
    key: impl Fn(&'a Member) -> K,
) -> Option<usize> {
    let mut keys: Vec<(K, usize)> = joiners.iter().enumerate().map(|(place, m)| (key(m), place)).collect();
    keys.sort_unstable();
    let among_joiners = keys.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1].1);
    let with_kept = kept.iter().filter_map(|m| {
        let key = key(&m.member);
        let at = keys.partition_point(|(other, _)| *other < key);
        keys.get(at).filter(|(other, _)| *other == key).map(|(_, place)| *place)
    });
    among_joiners.chain(with_kept).min()
}

/// Reads a list of records as values, so that a decoder which bounds the memory of lists by the size of their elements
/// sees that of records, not of pointers.
fn records_by_value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<Member>>, D::Error> {
    Ok(Vec::<Member>::deserialize(deserializer)?.into_iter().map(Arc::new).collect())
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
