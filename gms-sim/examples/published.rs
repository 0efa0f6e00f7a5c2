//! Runs published scenarios: `cargo run --release -p gms-sim --example published -- r2-crashes-1000 [seed]`; without a
//! name it lists them, with the beginning of names all of those are run.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures")]

#[path = "support/cpu.rs"]
mod cpu;

use std::process::ExitCode;

use gms_sim::{Report, published};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next();
    let seed = arguments.next().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let mut code = ExitCode::SUCCESS;
    for published in published::all(seed) {
        if !wanted.as_ref().is_some_and(|wanted| published.name.starts_with(wanted)) {
            if wanted.is_none() {
                println!("{:<28} {}", published.name, published.question);
            }
            continue;
        }
        let begun = cpu::time();
        match published.run() {
            Ok(judged) => {
                println!(
                    "{}\n{}",
                    published.name,
                    Report::new(&judged.outcome).with_cpu(cpu::time().saturating_sub(begun))
                );
                for broken in &judged.broken {
                    println!("BROKEN: {broken}\n");
                    code = ExitCode::FAILURE;
                }
            }
            Err(error) => {
                println!("{}: {error}", published.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
