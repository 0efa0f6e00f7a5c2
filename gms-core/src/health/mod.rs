//! The health monitor: contacts, watching, suspicion, final checks, own health. Each a small pure machine.

mod accusations;
mod asking;
mod clearing;
pub(crate) mod contacts;
mod final_check;
pub(crate) mod isolation;
pub(crate) mod link_watch;
mod monitor;
pub(crate) mod pause;
pub(crate) mod quorum_watch;
mod signs;
mod suspicion;
mod verification;
mod watch;

pub(crate) use monitor::Health;

#[cfg(test)]
mod testing;
