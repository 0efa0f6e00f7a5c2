//! Flags of `gms demo`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::transport::{QuicWatch, TransportName};
use super::values;

const EXAMPLES: &str = "\
Examples:
  gms demo
  gms demo --fault stop --coordinator
  gms demo --members 7 --victims 3 --diagram death.svg
  gms demo --repeat 10 --json

Exit code 0 only if every survivor installed the same view without the victims, and nobody else was removed.";

/// Arguments of `gms demo`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DemoArgs {
    /// How many members, each a process of its own
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=100))]
    pub(crate) members: u16,
    /// Silence after which a member is asked
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration)]
    pub(crate) member_timeout: Duration,
    /// What carries the messages
    #[arg(long, value_name = "NAME", default_value = "udp")]
    pub(crate) transport: TransportName,
    /// How a member watches another over QUIC
    #[arg(long, value_name = "HOW", default_value = "quic")]
    pub(crate) quic_watch: QuicWatch,
    /// What happens to the victim
    #[arg(long, value_name = "FAULT", default_value = "kill")]
    pub(crate) fault: Fault,
    /// How many members it happens to at once: neighbours in the ring
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) victims: u16,
    /// Let the coordinator be the (first) victim
    #[arg(long)]
    pub(crate) coordinator: bool,
    /// Do it this many times, each with a fresh cluster, and print the distribution of times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Print one JSON object at the end instead of the story
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the sequence diagram of the (last) death there: .svg, .mmd (Mermaid) or .puml (PlantUML)
    #[arg(long, value_name = "FILE")]
    pub(crate) diagram: Option<PathBuf>,
}

/// What happens to a victim.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, and SIGCONT after its removal.
    Stop,
    /// It leaves gracefully.
    Leave,
}

impl Fault {
    /// Its name as a flag's value.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Leave => "leave",
        }
    }
}
