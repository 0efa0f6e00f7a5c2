//! The health monitor: contacts, watching, suspicion, final checks, own health. Each a small pure machine.

pub(crate) mod contacts;
pub(crate) mod isolation;
pub(crate) mod link_watch;
pub(crate) mod pause;
pub(crate) mod quorum_watch;
