//! The health monitor: contacts, watching, suspicion, final checks, own health. Each a small pure machine.

mod accusations;
mod asking;
mod clearing;
pub(crate) mod contacts;
mod final_check;
mod monitor;
mod suspicion;
mod verification;
mod watch;

pub(crate) use final_check::Standing;
pub(crate) use monitor::Health;

#[cfg(test)]
mod testing;
