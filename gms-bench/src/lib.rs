//! Measurements of GMS: against other membership systems, against the machine's limits, and of its parts.
//!
//! - `gms-bench compare` ([`compare`]) does the same to clusters of several systems and says how long each took to
//!   notice, what it costs, and whom it accuses wrongly. Each member is a process; see [`cluster`].
//! - `gms-bench limits` ([`limits`]) compares the way of a heartbeat through a whole member with a bare loop over the
//!   same system calls, and over QUIC with quinn alone.
//! - `cargo bench -p gms-bench` measures parts; what its benches share is in [`stage`].
//!
//! `docs/benchmarks.md` says how to read what comes out.

mod args;
pub mod cluster;
pub mod compare;
mod cost;
pub mod failure;
pub mod interrupt;
pub mod limits;
pub mod line;
pub mod measure;
mod member;
mod net;
pub mod outcome;
mod process;
pub mod scenario;
mod serf_log;
pub mod stage;
pub mod stats;
pub mod system;
mod tethered;
pub mod together;
pub mod transport;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::failure::Failure;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let result = match cli.command {
        Command::Compare(args) => compare::command(&args),
        Command::Limits(args) => limits::command(&args),
        Command::Render(args) => compare::render(&args),
        Command::Member(args) => member::run(&args),
        Command::Tethered { words } => tethered::become_program(&words),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nobody reads what can't be written.
            let _ = writeln!(std::io::stderr(), "gms-bench: {failure}");
            failure.code()
        }
    }
}

/// Prints to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::fault(format!("standard output can't be written: {error}"));
    std::io::stdout().write_all(text.as_bytes()).map_err(failed)
}
