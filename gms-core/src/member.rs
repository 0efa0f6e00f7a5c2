//! Who a member is: its incarnation's id, and the attributes that its record in a view carries.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// Longest name of a member, a cluster or a tag key, in bytes. Keeps every record small enough that a view of
/// 10 000 members fits one frame.
pub const NAME_BYTES_MAX: usize = 64;
/// Longest value of a tag, in bytes.
pub const TAG_VALUE_BYTES_MAX: usize = 128;
/// Most tags of one member.
pub const TAGS_MAX: usize = 16;

/// One incarnation of a process: a random 128-bit id drawn at start. A restart is a new member.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemberId([u8; 16]);

impl MemberId {
    /// The id with these bytes; draw them from the system's randomness.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The id's bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The first 8 bytes, as heads of messages carry them. Unique within a view: a joiner that clashes is refused.
    pub const fn short(&self) -> ShortId {
        let b = &self.0;
        ShortId([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])
    }
}

/// The first 8 bytes of a [`MemberId`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct ShortId(pub [u8; 8]);

/// Random 128-bit number drawn when a cluster is founded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClusterId([u8; 16]);

impl ClusterId {
    /// The id with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The id's bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The first 8 bytes, as heads of messages carry them.
    pub const fn tag(&self) -> ClusterTag {
        let b = &self.0;
        ClusterTag([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])
    }
}

/// The first 8 bytes of a [`ClusterId`]; all zero in messages of a process that is in no cluster yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct ClusterTag(pub [u8; 8]);

impl ClusterTag {
    /// The tag of a process that is in no cluster.
    pub const NONE: Self = Self([0; 8]);
}

/// A member's share in decisions: 0 to 100, 10 unless configured. Weight 0 follows views but never counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Weight(u8);

impl Weight {
    /// Geode `MemberWeight` of an ordinary member (10).
    pub const DEFAULT: Self = Self(10);
    /// The largest weight one member may have.
    pub const MAX: u8 = 100;

    /// The weight `value`, or `None` above [`Weight::MAX`].
    pub const fn new(value: u8) -> Option<Self> {
        if value <= Self::MAX { Some(Self(value)) } else { None }
    }

    /// The weight as a number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Where a member is reached: datagrams at one address, streams and checks at another (the same number over UDP
/// and TCP with `gms-udp`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Endpoint {
    /// Address of datagrams.
    pub addr: SocketAddr,
    /// Address of streams and of the final check's fresh connection.
    pub check_addr: SocketAddr,
}

impl Endpoint {
    /// An endpoint with one address for both.
    pub const fn single(addr: SocketAddr) -> Self {
        Self { addr, check_addr: addr }
    }
}

/// The record of a member: its id, and the attributes that others see.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Member {
    /// This incarnation.
    pub id: MemberId,
    /// The name users know it by; unique among live members, at most [`NAME_BYTES_MAX`] bytes.
    pub name: String,
    /// Where it is reached.
    pub endpoint: Endpoint,
    /// Its share in decisions.
    pub weight: Weight,
    /// Whether it takes office before those that are not eligible.
    pub coordinator_eligible: bool,
    /// Free attributes, at most [`TAGS_MAX`], in the order given.
    pub tags: Vec<(String, String)>,
}

impl Member {
    /// A member with default weight, eligible, without tags.
    pub fn new(id: MemberId, name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            id,
            name: name.into(),
            endpoint,
            weight: Weight::DEFAULT,
            coordinator_eligible: true,
            tags: Vec::new(),
        }
    }

    /// What is out of bounds in this record, if anything: checked by a joiner before it starts and by whoever
    /// receives a record from outside.
    pub fn fault(&self) -> Option<RecordFault> {
        if self.name.is_empty() || self.name.len() > NAME_BYTES_MAX || self.name.chars().any(char::is_control)
        {
            return Some(RecordFault::Name);
        }
        if self.weight.get() > Weight::MAX {
            return Some(RecordFault::Weight);
        }
        let tag_fits = |(k, v): &(String, String)| {
            !k.is_empty() && k.len() <= NAME_BYTES_MAX && v.len() <= TAG_VALUE_BYTES_MAX
        };
        if self.tags.len() > TAGS_MAX || !self.tags.iter().all(tag_fits) {
            return Some(RecordFault::Tags);
        }
        let unusable = |a: &SocketAddr| a.ip().is_unspecified() || a.port() == 0 || a.ip().is_multicast();
        if unusable(&self.endpoint.addr) || unusable(&self.endpoint.check_addr) {
            return Some(RecordFault::Address);
        }
        None
    }
}

/// What is out of bounds in a member's record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFault {
    /// The name is empty, longer than [`NAME_BYTES_MAX`] or has control characters.
    #[error("name must have 1 to 64 bytes and no control characters")]
    Name,
    /// The weight is above [`Weight::MAX`].
    #[error("weight must be 0 to 100")]
    Weight,
    /// Too many or too long tags.
    #[error("at most 16 tags, keys of 1 to 64 bytes, values of at most 128")]
    Tags,
    /// An address that nobody can send to.
    #[error("addresses must have a port and a unicast address that is not 0.0.0.0 or ::")]
    Address,
}

macro_rules! hex_display {
    ($($name:ident)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "("))?;
                self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str(")")
            }
        }
    )*};
}
hex_display!(MemberId ShortId ClusterId ClusterTag);

/// An IPv4-mapped IPv6 address is the IPv4 address; every address that enters the protocol passes through here.
//= docs/protocol.md#wr-5
pub fn canonical(addr: SocketAddr) -> SocketAddr {
    SocketAddr::new(addr.ip().to_canonical(), addr.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        let addr = "10.0.0.1:7790".parse().unwrap();
        Member::new(MemberId::from_bytes([7; 16]), "orders-1", Endpoint::single(addr))
    }

    #[test]
    fn a_record_within_bounds_has_no_fault() {
        assert_eq!(member().fault(), None);
    }

    #[test]
    fn each_bound_of_a_record_is_checked() {
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        let with = |change: &dyn Fn(&mut Member)| {
            let mut m = member();
            change(&mut m);
            m.fault()
        };
        assert_eq!(with(&|m| m.name = String::new()), Some(RecordFault::Name));
        assert_eq!(with(&|m| m.name = long.clone()), Some(RecordFault::Name));
        assert_eq!(with(&|m| m.name = "a\nb".into()), Some(RecordFault::Name));
        assert_eq!(with(&|m| m.tags = vec![("".into(), "v".into())]), Some(RecordFault::Tags));
        assert_eq!(with(&|m| m.tags = vec![("k".into(), "v".into()); 17]), Some(RecordFault::Tags));
        let nowhere = Endpoint::single("0.0.0.0:7790".parse().unwrap());
        assert_eq!(with(&|m| m.endpoint = nowhere), Some(RecordFault::Address));
        assert_eq!(Weight::new(101), None);
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_address() {
        let mapped = "[::ffff:10.0.0.1]:7790".parse().unwrap();
        assert_eq!(canonical(mapped), "10.0.0.1:7790".parse().unwrap());
        let v6 = "[fd00::1]:7790".parse().unwrap();
        assert_eq!(canonical(v6), v6);
    }

    #[test]
    fn ids_print_whole_for_users_and_short_for_debugging() {
        let id = MemberId::from_bytes([0xab; 16]);
        assert_eq!(id.to_string(), "ab".repeat(16));
        assert_eq!(format!("{id:?}"), "MemberId(abababab)");
    }
}
