//! Small builders that tests of several modules share.

use std::net::SocketAddr;

use crate::config::Timing;
use crate::member::{ClusterId, Endpoint, Member, MemberId, Weight};
use crate::view::{Change, View};

/// The id of test member `n`: ids of different members differ in their first byte.
pub(crate) fn id(n: u8) -> MemberId {
    let mut bytes = [n; 16];
    bytes[15] = 0xff;
    MemberId::from_bytes(bytes)
}

/// The address of test member `n`.
pub(crate) fn addr(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n + 1], 7790))
}

/// Test member `n`, named `m{n}`.
pub(crate) fn member(n: u8) -> Member {
    Member::new(id(n), format!("m{n}"), Endpoint::single(addr(n)))
}

/// The cluster of all tests.
pub(crate) const CLUSTER: ClusterId = ClusterId::from_bytes([0xcc; 16]);

/// Timing of tests: T = 1 s.
pub(crate) fn timing() -> Timing {
    Timing::from_member_timeout(std::time::Duration::from_secs(1))
}

/// A view of members with these weights: number 1 for one member, 2 for more.
pub(crate) fn view_of_weights(weights: &[u8]) -> View {
    let weighted = |n: usize| {
        let mut m = member(u8::try_from(n).expect("few members"));
        m.weight = Weight::new(weights[n]).expect("a weight in bounds");
        m
    };
    let view = View::founding(CLUSTER, "test".into(), timing(), weighted(0));
    if weights.len() == 1 {
        return view;
    }
    let mut change = Change::empty(&view);
    change.joined = (1..weights.len()).map(weighted).collect();
    view.apply(&change).expect("distinct joiners")
}

/// A view of `n` members of weight 10.
pub(crate) fn view_of(n: usize) -> View {
    view_of_weights(&vec![10; n])
}
