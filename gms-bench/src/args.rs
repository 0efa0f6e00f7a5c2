//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::member::MemberArgs;
use crate::scenario::Scenario;
use crate::system::Peer;
use crate::transport::Carrier;

/// Measurements of GMS.
#[derive(Debug, Parser)]
#[command(name = "gms-bench", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The same faults on the same machine for GMS and for other membership systems
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Box<CompareArgs>),
    /// What the machine can do at most, and GMS's share of it
    Limits(LimitsArgs),
    /// Renders reports again; those of several runs become one
    Render(RenderArgs),
    /// A member as a process, for `compare`
    #[command(hide = true)]
    Member(MemberArgs),
    /// Becomes another program that ends with its parent, for `compare`
    #[command(hide = true)]
    Tethered {
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        words: Vec<OsString>,
    },
}

const COMPARE_EXAMPLES: &str = "Examples:
  gms-bench compare --quick
  gms-bench compare --peers foca,serf --scenarios crash,hang --repeats 10
  gms-bench compare --peers none --scenarios crash-several --members 50 --victims 5

Each member is a process. As root each has a network namespace of its own; otherwise all are on
loopback, and scenarios that need a network are left out. Results: report.json, report.md and
*.svg in --out. Exit codes: 0 done, 1 a fault, 2 bad usage, 130 interrupted.";

/// `gms-bench compare`
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// Other systems, separated by commas: foca, chitchat, memberlist, serf, or none. Default: all that there are
    #[arg(long, value_delimiter = ',', value_parser = peer)]
    pub(crate) peers: Option<Vec<Option<Peer>>>,
    /// What carries the messages of GMS, separated by commas; settings other than the defaults use the first
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["udp", "quic"])]
    pub(crate) transports: Vec<Carrier>,
    /// Scenarios, separated by commas. Default: all
    #[arg(long, value_delimiter = ',', value_enum)]
    pub(crate) scenarios: Option<Vec<Scenario>>,
    /// How often each run is repeated
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeats: u16,
    /// Members of each cluster
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u8).range(3..=200))]
    pub(crate) members: u8,
    /// Victims of the scenarios that take several: less than half of the members
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) victims: u8,
    /// Member timeout of GMS
    #[arg(long, default_value = "5s", value_parser = duration)]
    pub(crate) member_timeout: Duration,
    /// How long a cluster stands before anything is done to it
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) settle: Duration,
    /// How long idle clusters are watched
    #[arg(long, default_value = "30s", value_parser = duration)]
    pub(crate) idle_for: Duration,
    /// How many percent of the packets are lost in the scenarios with loss
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) loss: u8,
    /// How long
    #[arg(long, default_value = "2m", value_parser = duration)]
    pub(crate) loss_for: Duration,
    /// All members on loopback, also where network namespaces can be had
    #[arg(long)]
    pub(crate) loopback: bool,
    /// Where the report goes
    #[arg(long, default_value = "target/gms-bench")]
    pub(crate) out: PathBuf,
    /// One repetition, short waits: shows that everything works, not more
    #[arg(long)]
    pub(crate) quick: bool,
}

/// One way of heartbeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Way {
    /// Received, decoded and recorded
    Received,
    /// Encoded and sent
    Sent,
    /// Encoded, sent over QUIC, received and decoded
    Quic,
}

/// `gms-bench limits`
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LimitsArgs {
    /// How many pairs of measurements are made of each kind
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeats: u16,
    /// Peers to send to and to receive from; a member needs two to watch one and be watched by another
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(2..=5000))]
    pub(crate) peers: u16,
    /// Which way is measured. Default: all
    #[arg(long, value_enum)]
    pub(crate) only: Option<Way>,
    /// How long each measurement takes: 50ms to 10s
    #[arg(long, default_value = "500ms", value_parser = measured)]
    pub(crate) time: Duration,
    /// Where the report goes; without it, only to standard output
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

/// `gms-bench render`
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RenderArgs {
    /// Files report.json
    #[arg(required = true)]
    pub(crate) reports: Vec<PathBuf>,
    /// Where the report goes
    #[arg(long)]
    pub(crate) out: PathBuf,
}

/// Longest span that can be asked for.
const SPAN_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Parses `5s`, `250ms`, `1m 30s`, up to a week.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let span = humantime::parse_duration(text)
        .map_err(|_| String::from("not a duration: write it like 5s, 250ms or 1m"))?;
    if span <= SPAN_MAX { Ok(span) } else { Err(String::from("longer than a week: name a shorter span")) }
}

/// Parses how long a measurement takes: long enough to say something, and not so long that an interruption waits for it.
fn measured(text: &str) -> Result<Duration, String> {
    let span = duration(text)?;
    let is_sensible = (Duration::from_millis(50)..=Duration::from_secs(10)).contains(&span);
    is_sensible.then_some(span).ok_or_else(|| String::from("write 50ms to 10s, and more --repeats for more"))
}

/// Parses a peer's name, or `none`.
fn peer(text: &str) -> Result<Option<Peer>, String> {
    if text == "none" {
        return Ok(None);
    }
    let known = Peer::ALL.into_iter().find(|peer| peer.name() == text);
    known.map(Some).ok_or_else(|| {
        let names = Peer::ALL.map(Peer::name).join(", ");
        format!("not a system that is known here: write some of {names}, or none")
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn compare(words: &[&str]) -> Result<CompareArgs, String> {
        let words = ["gms-bench", "compare"].iter().chain(words);
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Compare(args) => Ok(*args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn peers_and_scenarios_are_lists() {
        let args = compare(&["--peers", "foca,serf", "--scenarios", "crash,host-loss"]).unwrap();
        assert_eq!(args.peers, Some(vec![Some(Peer::Foca), Some(Peer::Serf)]));
        assert_eq!(args.scenarios, Some(vec![Scenario::Crash, Scenario::HostLoss]));
        assert_eq!(compare(&["--peers", "none"]).unwrap().peers, Some(vec![None]));
        assert_eq!(compare(&[]).unwrap().peers, None);
    }

    #[test]
    fn a_single_peer_makes_no_ring() {
        assert!(Cli::try_parse_from(["gms-bench", "limits", "--peers", "1"]).is_err());
        assert!(Cli::try_parse_from(["gms-bench", "limits", "--peers", "2"]).is_ok());
    }

    #[test]
    fn a_measurement_takes_neither_no_time_nor_for_ever() {
        for (time, is_taken) in [("0s", false), ("1ms", false), ("50ms", true), ("10s", true), ("11s", false)]
        {
            let parsed = Cli::try_parse_from(["gms-bench", "limits", "--time", time]);
            assert_eq!(parsed.is_ok(), is_taken, "{time}");
        }
    }

    #[test]
    fn bad_values_are_refused_with_what_to_write() {
        let refusal = |words: &[&str]| compare(words).unwrap_err();
        assert!(
            refusal(&["--peers", "raft"]).contains("write some of foca, chitchat, memberlist, serf, or none")
        );
        assert!(refusal(&["--scenarios", "fire"]).contains("[possible values: idle, crash,"));
        assert!(refusal(&["--repeats", "0"]).contains("0 is not in 1..=1000"));
        assert!(refusal(&["--settle", "500000000000years"]).contains("name a shorter span"));
        assert!(refusal(&["--settle", "soon"]).contains("write it like 5s, 250ms or 1m"));
        assert!(refusal(&["--members", "2"]).contains("2 is not in 3..=200"));
    }
}
