//! Runs many seeds of the mixed workload and prints what breaks: `cargo run --release -p gms-sim --example hunt -- 0 1000`.
//! A third number is the step: with 6, `0 1000 6` runs the calm days. With 0 as the second, it prints the trace of one
//! seed, with a third number of the same day with heartbeats to everybody.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that reports")]

use std::collections::BTreeMap;
use std::time::Instant;

use gms_sim::journal::Journal;
use gms_sim::{mixed, run};

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|n| n.parse::<u64>().ok());
    let (from, to) = (args.next().unwrap_or(0), args.next().unwrap_or(100));
    if to == 0 {
        let journal = Journal::of_last(usize::MAX);
        let mut scenario = mixed::scenario(from);
        if args.next().is_some() {
            scenario.heartbeat_recipients = None;
        }
        let outcome = run::run_watched(scenario, &mut journal.clone()).expect("a valid scenario");
        outcome.world.scenario().faults.iter().for_each(|step| println!("{step:?}"));
        journal.lines().iter().for_each(|line| println!("{line}"));
        return println!("{:?}", outcome.violation);
    }
    let step = args.next().unwrap_or(1).max(1) as usize;
    let begun = Instant::now();
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut events, mut slowest) = (0, (std::time::Duration::ZERO, 0));
    for seed in (from..to).step_by(step) {
        let scenario = mixed::scenario(seed);
        let over = scenario.transport;
        match run::run(scenario) {
            Ok(outcome) => {
                events += outcome.events;
                if let Some(healed) = outcome.healed_after {
                    slowest = slowest.max((healed, seed));
                }
                if let Some(violation) = outcome.violation {
                    *found.entry(violation.invariant).or_default() += 1;
                    println!("seed {seed} ({:?}, {over:?}): {violation}", mixed::Profile::of(seed));
                }
            }
            Err(error) => println!("seed {seed}: {error}"),
        }
    }
    println!(
        "{from}..{to} in {:?}, {events} events, slowest to heal {slowest:?}: {found:?}",
        begun.elapsed()
    );
}
