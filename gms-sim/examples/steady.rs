//! Times one simulated minute of a steady cluster: `cargo run --release -p gms-sim --example steady -- 1000`.

#![allow(clippy::print_stdout, reason = "a program that measures")]

#[path = "support/cpu.rs"]
mod cpu;

use std::time::Duration;

use gms_sim::{Scenario, World};

fn main() {
    let members = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100);
    let scenario = Scenario { members, ..Scenario::default() };
    let mut world = World::new(scenario, Vec::new()).expect("a valid scenario");
    println!("formed in {:?} of processor time: {} events", cpu::time(), world.events());
    let (begun, before, sent) = (cpu::time(), world.events(), world.metrics().datagrams);
    world.run_for(Duration::from_secs(60));
    let (took, sent) = (cpu::time().saturating_sub(begun), world.metrics().datagrams - sent);
    println!("a minute took {took:?}: {} events, {sent} datagrams", world.events() - before);
    println!("{}", peak_memory().unwrap_or_default());
}

/// The line of Linux that tells the most memory that this process ever had.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find(|line| line.starts_with("VmHWM")).map(str::to_owned)
}
