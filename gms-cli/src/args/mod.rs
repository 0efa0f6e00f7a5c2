//! The command line: commands, flags, and the environment variables beside them.

mod client;
mod demo;
mod run;
mod simulate;
mod transport;
mod values;

use clap::{Parser, Subcommand};

pub(crate) use client::{
    At, CheckArgs, EventsArgs, LeaveArgs, MembersArgs, RemoveArgs, StatusFilter, SuspectArgs, ViewArgs,
};
pub(crate) use demo::{DemoArgs, Fault};
pub(crate) use run::{LogFormat, OnQuorumLoss, OutsideArgs, ProfileName, RunArgs};
pub(crate) use simulate::{FaultArgs, SimulateArgs, WorldArgs};
pub(crate) use transport::{CertsArgs, CertsCommand, QuicWatch, TransportName};
pub(crate) use values::HttpAddr;

/// Group membership: who is in the cluster, and who just died
///
/// Run a member on each machine with `gms run`, ask a running one with `gms members`, and watch a cluster survive a
/// death on this machine with `gms demo`. `gms simulate` runs clusters of any size in a simulated world.
#[derive(Parser, Debug)]
#[command(name = "gms", version, max_term_width = 100, after_help = EXAMPLES, help_expected = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  gms demo
  gms run --cluster orders --name orders-1 --join 10.0.0.1:7790,10.0.0.2:7790
  gms members
  gms events --json
  gms simulate --members 1000 --crash 10

Exit codes:
  0    done; a member left gracefully
  1    a fault: a port in use, a member that can't be reached, a demo gone wrong,
       an invariant that a simulation broke
  2    bad usage or configuration
  3    could not join (what each seed answered is printed)
  4    excluded and not rejoining
  5    quorum lost and told to leave
  6    members, view: the member asked is isolated or without quorum
  130  simulate: interrupted";

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Watch a cluster of processes on this machine lose a member
    Demo(DemoArgs),
    /// Run one member until SIGTERM or SIGINT
    Run(Box<RunArgs>),
    /// List the members as a running member sees them
    Members(MembersArgs),
    /// Show the view, the quorum and the members as a running member sees them
    View(ViewArgs),
    /// Follow a running member's events until interrupted
    Events(EventsArgs),
    /// Make a running member leave its cluster and end
    Leave(LeaveArgs),
    /// Accuse a member, so that its coordinator looks at it once more
    Suspect(SuspectArgs),
    /// Check whether a member answers
    Check(CheckArgs),
    /// Remove a member from the cluster
    Remove(RemoveArgs),
    /// Run a cluster in the simulated world, and check that the promises hold
    Simulate(Box<SimulateArgs>),
    /// Make a CA and certificates of members, for --transport quic
    Certs(CertsArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// Arguments of `gms completions`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  gms completions bash > /etc/bash_completion.d/gms\n  gms completions zsh > ~/.zfunc/_gms"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests;
