//! Who there is: the node under test, members, and strangers that resemble members.

use std::net::SocketAddr;

use gms_core::member::{ClusterId, Endpoint, Member, MemberId, Weight};
use gms_core::view::Digest;

use super::super::draw::Draw;

/// Those who may be in a view from the beginning; the first is the node under test.
pub const MEMBERS: usize = 8;
/// All whose messages arrive. The strangers: one with the short id of member 1, one at the address of member 2, one with
/// the name of member 3, one like nobody.
pub const ALL: usize = 12;

/// Name of the node's cluster.
pub const CLUSTER_NAME: &str = "fuzz";
/// Its id, where the node did not found it.
pub const CLUSTER: ClusterId = ClusterId::from_bytes([0xcc; 16]);

/// The id of `n`.
pub fn id_of(n: usize) -> MemberId {
    let byte = u8::try_from(n).expect("a small cast") + 1;
    let mut bytes = [byte; 16];
    if n == 8 {
        bytes = [2; 16];
    }
    bytes[15] = byte;
    MemberId::from_bytes(bytes)
}

/// Where `n` is.
pub fn address_of(n: usize) -> SocketAddr {
    let host = u8::try_from(if n == 9 { 2 } else { n }).expect("a small cast");
    SocketAddr::from(([10, 0, 0, host + 1], 7790))
}

/// The record of `n`: member 4 is not eligible, 5 weighs nothing, 6 weighs as much as three.
pub fn member(n: usize) -> Member {
    let name = format!("m{}", if n == 10 { 3 } else { n });
    let mut member = Member::new(id_of(n), name, Endpoint::single(address_of(n)));
    member.coordinator_eligible = n != 4;
    let weight = match n {
        5 => 0,
        6 => 30,
        _ => 10,
    };
    member.weight = Weight::new(weight).expect("within bounds");
    member
}

/// Whose address this is.
pub fn at(address: SocketAddr) -> Option<usize> {
    (0..ALL).find(|n| address_of(*n) == address)
}

/// A text from outside: a name, too long for a name, or with control characters.
pub fn text(draw: &mut Draw<'_>) -> String {
    match draw.below(16) {
        0..=6 => String::from(CLUSTER_NAME),
        7 => String::new(),
        8 => String::from("other"),
        9 => String::from("m3"),
        10 => "x".repeat(64),
        11 => "x".repeat(65),
        12 => String::from("\u{7}\n"),
        13 => "ü".repeat(33),
        14 => "y".repeat(1_000),
        _ => "z".repeat(70_000),
    }
}

/// A text from outside, of which a few may not fit one frame together.
pub fn long_text(draw: &mut Draw<'_>) -> String {
    if draw.one_in(16) { "z".repeat(1 << 20) } else { text(draw) }
}

/// Any cluster's id.
pub fn any_cluster(draw: &mut Draw<'_>) -> ClusterId {
    ClusterId::from_bytes([draw.byte(); 16])
}

/// Any digest.
pub fn any_digest(draw: &mut Draw<'_>) -> Digest {
    Digest::from_bytes([draw.byte(); 16])
}
