//! Times one simulated minute of a steady cluster: `cargo run --release -p gms-sim --example steady -- 1000`.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures")]

use std::time::{Duration, Instant};

use gms_sim::{Scenario, World};

fn main() {
    let members = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100);
    let begun = Instant::now();
    let scenario = Scenario { members, ..Scenario::default() };
    let mut world = World::new(scenario, Vec::new()).expect("a valid scenario");
    println!("formed after {:?}: {} events", begun.elapsed(), world.events());
    let (begun, before) = (Instant::now(), world.events());
    world.run_for(Duration::from_secs(60));
    println!("a minute took {:?}: {} events", begun.elapsed(), world.events() - before);
}
