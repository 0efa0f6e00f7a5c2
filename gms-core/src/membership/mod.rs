//! Membership: how views come about. Joining, agreement, fencing, succession, leaving; each a small pure machine.

pub(crate) mod acceptor;
pub(crate) mod admission;
pub(crate) mod announce;
mod founding;
pub(crate) mod joining;
mod seeds;
pub(crate) mod plan;
pub(crate) mod fence;
pub(crate) mod fencing;
pub(crate) mod history;
pub(crate) mod proposer;
pub(crate) mod catch_up;
pub(crate) mod departures;
pub(crate) mod requests;
pub(crate) mod succession;

#[cfg(test)]
mod network_tests;
