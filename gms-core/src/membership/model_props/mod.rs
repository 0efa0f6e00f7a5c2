//! Model checking: every interleaving of the real machines within bounds. What is modelled, what is left out and what the
//! runs found stands in docs/model.md.
//!
//! Nothing of the protocol is written twice here. A model holds the machines, hands them messages in any order, and states
//! what must hold in each state that can be reached. It also knows faults to plant, which must be found.

mod agreement;
mod cluster;
mod fencing;
mod founding;
mod report;
mod succession;
mod watched;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::config::Timing;
use crate::member::{Member, MemberId, Weight};
use crate::testing::{self, member};
use crate::view::View;

/// The place that test member `id` has in its first view.
fn number_of(member: &MemberId) -> usize {
    usize::from(member.as_bytes()[0])
}

/// A member that never counts and is never heard: changes differ by which of these they admit.
fn phantom(n: usize) -> Member {
    let mut phantom = member(u8::try_from(n).expect("few phantoms"));
    phantom.weight = Weight::new(0).expect("a weight in bounds");
    phantom
}

/// Members with these weights in a view with this timing.
fn view_with(weights: &[u8], timing: &Timing) -> View {
    let weighted = |n: usize| {
        let mut m = member(u8::try_from(n).expect("few members"));
        m.weight = Weight::new(weights[n]).expect("a weight in bounds");
        m
    };
    let first = View::founding(testing::CLUSTER, "test".into(), timing.clone(), weighted(0));
    let mut change = crate::view::Change::empty(&first);
    change.joined = (1..weights.len()).map(|n| weighted(n).into()).collect();
    first.apply(&change).expect("distinct joiners")
}

/// No wait has a length: whatever could wait may happen at once, or any number of steps later.
fn untimed() -> Timing {
    let mut timing = testing::timing();
    timing.batch_window = Duration::ZERO;
    timing.heartbeat_interval = Duration::ZERO;
    timing
}

/// A number that is the same for the same value in every run.
fn digest_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether the long runs are asked for.
fn is_full() -> bool {
    std::env::var("GMS_MODEL").is_ok_and(|value| value == "full")
}
