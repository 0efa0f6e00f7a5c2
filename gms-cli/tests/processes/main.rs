//! Real processes of `gms` on loopback: clusters, faults, HTTP, client commands, the demo, the simulation.

#![allow(clippy::disallowed_methods, reason = "tests wait with deadlines of the real clock")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bad_input;
mod certificates;
mod clients;
mod cluster;
mod demo;
mod quic;
mod simulate;
mod support;
