//! Flags of `gms simulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use gms_core::config::{CrashDetection, HeartbeatRecipients};

use super::{TransportName, values};

const EXAMPLES: &str = "\
Examples:
  gms simulate
  gms simulate --members 1000 --crash 10 --loss 2% --for 10m --seed 7
  gms simulate --seeds 20000
  gms simulate --scenario partition.toml --trace trace.jsonl
  gms simulate --members 50 --host-loss 3 --print-scenario > lost.toml
  gms simulate --published r2-crashes-1000 --json

Exit codes:
  0    everything held
  1    an invariant broke (seed and command to repeat it are printed), or no cluster formed
  2    bad usage or scenario
  130  interrupted";

/// Arguments of `gms simulate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimulateArgs {
    /// What chance is drawn from: the same seed is the same run [default: the scenario's, or 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run so many seeds, on all cores; without anything else of the mixed workload
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) seeds: Option<u64>,
    #[command(flatten)]
    pub(crate) world: WorldArgs,
    #[command(flatten)]
    pub(crate) faults: FaultArgs,
    #[command(flatten)]
    pub(crate) ready: ReadyArgs,
    #[command(flatten)]
    pub(crate) output: SimulateOutput,
}

/// The cluster and its network.
#[derive(Args, Clone, PartialEq, Debug, Default)]
#[command(next_help_heading = "World")]
pub(crate) struct WorldArgs {
    /// How many members, on hosts 0, 1, 2, … [default: 20]
    #[arg(long, value_name = "N")]
    pub(crate) members: Option<usize>,
    /// Silence after which a member is asked [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) member_timeout: Option<Duration>,
    /// Who gets heartbeats: as for gms run [default: auto]
    #[arg(long, value_name = "WHO", value_parser = values::heartbeat_recipients)]
    pub(crate) heartbeat_recipients: Option<HeartbeatRecipients>,
    /// What shows a death: udp has connections that end, quic has errors of datagrams alone [default: udp]
    #[arg(long, value_name = "WHAT")]
    pub(crate) transport: Option<TransportName>,
    /// Whether refused connections prove that a process is gone: fast or strict [default: fast]
    #[arg(long, value_name = "HOW", value_parser = values::crash_detection)]
    pub(crate) crash_detection: Option<CrashDetection>,
    /// Share of packets lost everywhere, such as 2% or 0.02 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = gms_sim::scenario::parse_share)]
    pub(crate) loss: Option<f64>,
    /// Mean delay of packets one way, of which two fifths are the shortest [default: 250us]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) delay: Option<Duration>,
    /// How long, in simulated time from when the members have formed [default: 1m]
    #[arg(long = "for", value_name = "TIME", value_parser = values::duration)]
    pub(crate) run_for: Option<Duration>,
    /// Then make everything work again, and demand that all that live end in one view within this time [default: 0s, not]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) heal: Option<Duration>,
}

/// What happens, all at once.
#[derive(Args, Clone, PartialEq, Debug, Default)]
#[command(next_help_heading = "Faults (victims are drawn from the seed)")]
pub(crate) struct FaultArgs {
    /// When it happens [default: 10s, or half of --for]
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) at: Option<Duration>,
    /// Kill so many members [default: 1 if nothing else is to happen]
    #[arg(long, value_name = "N")]
    pub(crate) crash: Option<usize>,
    /// Stop so many members: their processes stand still
    #[arg(long, value_name = "N")]
    pub(crate) stop: Option<usize>,
    /// Take the hosts of so many members off the network
    #[arg(long, value_name = "N")]
    pub(crate) host_loss: Option<usize>,
    /// Let so many members leave
    #[arg(long, value_name = "N")]
    pub(crate) leave: Option<usize>,
    /// Start so many further members
    #[arg(long, value_name = "N")]
    pub(crate) join: Option<usize>,
}

/// Scenarios that are there already.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Ready-made")]
pub(crate) struct ReadyArgs {
    /// The scenario in a TOML file, or - for stdin; flags that are given change it or add to it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mixed", "published"])]
    pub(crate) scenario: Option<PathBuf>,
    /// The mixed workload: faults of all kinds, drawn from the seed, and then healing
    #[arg(long, conflicts_with_all = ["WorldArgs", "FaultArgs", "published"])]
    pub(crate) mixed: bool,
    /// A published scenario with its checks, such as r2-crashes-1000; `list` lists them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["WorldArgs", "FaultArgs"])]
    pub(crate) published: Option<String>,
}

/// What comes out.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct SimulateOutput {
    /// Print the scenario that the flags amount to as TOML, and run nothing
    #[arg(long, conflicts_with_all = ["seeds", "trace", "save", "json"])]
    pub(crate) print_scenario: bool,
    /// Write all members' protocol steps there, as JSON lines
    #[arg(long, value_name = "FILE", conflicts_with = "seeds")]
    pub(crate) trace: Option<PathBuf>,
    /// Write the small scenario that breaks an invariant there, if one breaks
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress on the terminal
    #[arg(long)]
    pub(crate) no_progress: bool,
}
