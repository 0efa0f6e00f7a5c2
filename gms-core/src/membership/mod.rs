//! Membership: how views come about. Joining, agreement, fencing, succession, leaving; each a small pure machine.

pub(crate) mod acceptor;
pub(crate) mod admission;
pub(crate) mod announce;
pub(crate) mod catch_up;
pub(crate) mod departures;
pub(crate) mod fence;
pub(crate) mod fencing;
mod founding;
pub(crate) mod history;
pub(crate) mod joining;
pub(crate) mod plan;
pub(crate) mod proposer;
pub(crate) mod requests;
mod seeds;
pub(crate) mod strays;
pub(crate) mod succession;
pub(crate) mod unfinished;

#[cfg(test)]
mod agreement_props;
#[cfg(test)]
mod model_props;
#[cfg(test)]
mod network_tests;
