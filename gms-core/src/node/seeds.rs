//! What whoever drives a node may tell of the seeds while it joins.

use std::net::SocketAddr;

use crate::event::SeedAnswer;

use super::{Node, Phase};

impl Node {
    /// Seeds that last said that this process can't join through them as it is set up ([`SeedAnswer::is_misfit`]), with what
    /// they said. Empty once the process is in a view.
    pub fn misfits(&self) -> impl Iterator<Item = (SocketAddr, &SeedAnswer)> {
        let joining = match &self.phase {
            Phase::Joining(joining) => Some(joining),
            Phase::InView(_) | Phase::Stopped(_) => None,
        };
        joining.into_iter().flat_map(|joining| joining.misfits())
    }
}
