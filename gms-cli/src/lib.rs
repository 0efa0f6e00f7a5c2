//! The `gms` program: run a member, ask a running one, watch a cluster survive a death.
//!
//! A crate of a binary: nothing here is meant as a library for others.

mod args;
mod certs;
mod client;
mod demo;
mod diagram;
mod event_json;
mod exit;
mod files;
mod names;
mod output;
mod render;
mod run;
mod serve;
mod signals;
mod simulate;
mod sink;
mod status_json;
mod trace;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::exit::{Code, Failure};

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    let result = match cli.command {
        Command::Demo(args) => demo::command(&args),
        Command::Run(args) => run::command(*args),
        Command::Members(args) => client::members(&args),
        Command::View(args) => client::view(&args),
        Command::Events(args) => client::events(&args),
        Command::Leave(args) => client::leave(&args),
        Command::Suspect(args) => client::suspect(&args),
        Command::Check(args) => client::check(&args),
        Command::Remove(args) => client::remove(&args),
        Command::Simulate(args) => simulate::command(&args),
        Command::Certs(args) => certs::command(&args),
        Command::Completions(args) => completions(args.shell),
    };
    match result {
        Ok(code) => code.into(),
        Err(failure) => output::failure(&failure),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut <Cli as clap::CommandFactory>::command(), "gms", &mut script);
    output::stdout(&script)?;
    Ok(Code::Success)
}
