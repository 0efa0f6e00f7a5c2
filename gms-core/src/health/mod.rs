//! The health monitor: contacts, watching, suspicion, final checks, own health. Each a small pure machine.

pub(crate) mod contacts;
