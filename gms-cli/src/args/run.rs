//! Flags of `gms run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};
use gms_core::config::{CrashDetection, HeartbeatRecipients};

use super::transport::{QuicArgs, TransportName};
use super::values::{self, AdvertiseAddr, HttpAddr};

const EXAMPLES: &str = "\
Examples:
  gms run --cluster orders --name orders-1
  gms run --cluster orders --name orders-2 --join 10.0.0.1:7790
  gms run --transport quic --tls-ca ca.pem --tls-cert orders-1.pem --tls-key orders-1.key
  gms run --bind 127.0.0.1:0 --http 127.0.0.1:0 --member-timeout 1s --json
  gms run --on-event /usr/local/bin/page-me --trace trace.jsonl

Every flag has an environment variable GMS_NAME; flags win.

Signals: SIGTERM and SIGINT leave the cluster gracefully, a second one ends at once. SIGHUP reads --tls-cert, --tls-key and \
--tls-ca again; without them it does nothing, so that a member goes on when its terminal closes.";

/// Arguments of `gms run`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// Name of the cluster; members of other names never mix
    #[arg(long, env = "GMS_CLUSTER", value_name = "NAME", default_value = "default")]
    pub(crate) cluster: String,
    /// Name of this member, unique in the cluster [default: the host's name]
    #[arg(long, env = "GMS_NAME", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Where to listen, UDP and TCP on the same number (UDP alone with --transport quic --quic-watch quic); port 0 picks one
    #[arg(long, env = "GMS_BIND", value_name = "IP:PORT", default_value = "0.0.0.0:7790", value_parser = values::bind)]
    pub(crate) bind: SocketAddr,
    /// Where others reach this member [default: the address that routes to the first seed]
    #[arg(long, env = "GMS_ADVERTISE", value_name = "IP[:PORT]")]
    pub(crate) advertise: Option<AdvertiseAddr>,
    /// Seeds to ask first, HOST:PORT or dns:NAME:PORT; repeat or separate by commas. Without, it founds a cluster
    #[arg(long, env = "GMS_JOIN", value_name = "HOST:PORT,…", value_delimiter = ',', value_parser = values::seed)]
    pub(crate) join: Vec<String>,
    /// What carries the messages
    #[arg(long, env = "GMS_TRANSPORT", value_name = "NAME", default_value = "udp")]
    pub(crate) transport: TransportName,
    #[command(flatten)]
    pub(crate) quic: QuicArgs,
    #[command(flatten)]
    pub(crate) timing: TimingArgs,
    #[command(flatten)]
    pub(crate) member: MemberArgs,
    #[command(flatten)]
    pub(crate) outside: OutsideArgs,
}

/// Timing that belongs to the cluster; what is set must be what the cluster has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Timing (fixed when the cluster is founded; a joiner adopts it)")]
pub(crate) struct TimingArgs {
    /// Preset of the member timeout: local 1s, lan 5s, wan 15s
    #[arg(long, env = "GMS_PROFILE", value_name = "NAME")]
    pub(crate) profile: Option<ProfileName>,
    /// Silence after which a member is asked; everything else derives from it [default: 5s]
    #[arg(long, env = "GMS_MEMBER_TIMEOUT", value_name = "TIME", value_parser = values::duration)]
    pub(crate) member_timeout: Option<Duration>,
    /// Period of heartbeats [default: member-timeout / 5]
    #[arg(long, env = "GMS_HEARTBEAT_INTERVAL", value_name = "TIME", value_parser = values::duration)]
    pub(crate) heartbeat_interval: Option<Duration>,
    /// Wait for the answer of a silent member [default: member-timeout / 4]
    #[arg(long, env = "GMS_CHECK_TIMEOUT", value_name = "TIME", value_parser = values::duration)]
    pub(crate) check_timeout: Option<Duration>,
    /// Length of the final check before a removal [default: member-timeout / 4]
    #[arg(long, env = "GMS_FINAL_CHECK_TIMEOUT", value_name = "TIME", value_parser = values::duration)]
    pub(crate) final_check_timeout: Option<Duration>,
    /// Shortest wait for a late sign of life after a refused connection [default: 10ms]
    #[arg(long, env = "GMS_REFUSED_GRACE", value_name = "TIME", value_parser = values::duration)]
    pub(crate) refused_grace: Option<Duration>,
    /// How long changes are collected into one view [default: 5ms]
    #[arg(long, env = "GMS_BATCH_WINDOW", value_name = "TIME", value_parser = values::duration)]
    pub(crate) batch_window: Option<Duration>,
    /// Who gets heartbeats: all; auto, which is all in views of up to 128 and few in larger ones; or those few with N of them before it in
    /// the ring, 1 to 32 [default: auto]
    #[arg(long, env = "GMS_HEARTBEAT_RECIPIENTS", value_name = "WHO", value_parser = values::heartbeat_recipients)]
    pub(crate) heartbeat_recipients: Option<HeartbeatRecipients>,
    /// How many of the first in office are told of a suspicion [default: 10]
    #[arg(long, env = "GMS_SUSPECT_RECIPIENTS", value_name = "N")]
    pub(crate) suspect_recipients: Option<u16>,
    /// How many members look for themselves during a final check [default: 2]
    #[arg(long, env = "GMS_VERIFIERS", value_name = "N")]
    pub(crate) verifiers: Option<u16>,
    /// Whether refused connections prove that a process is gone: fast, or strict for networks where firewalls refuse in a host's
    /// name [default: fast]
    #[arg(long, env = "GMS_CRASH_DETECTION", value_name = "HOW", value_parser = values::crash_detection)]
    pub(crate) crash_detection: Option<CrashDetection>,
}

/// What this member is and does.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Member")]
pub(crate) struct MemberArgs {
    /// Share in decisions, 0 to 100
    #[arg(long, env = "GMS_WEIGHT", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) weight: u8,
    /// Become coordinator only if nobody else can
    #[arg(long, env = "GMS_NOT_COORDINATOR", value_parser = FalseyValueParser::new())]
    pub(crate) not_coordinator: bool,
    /// Attribute that others see; repeat or separate by commas
    #[arg(long, env = "GMS_TAG", value_name = "KEY=VALUE", value_delimiter = ',', value_parser = values::tag)]
    pub(crate) tag: Vec<(String, String)>,
    /// What to do when the majority is lost for long
    #[arg(long, env = "GMS_QUORUM_LOSS", value_name = "WHAT", default_value = "wait")]
    pub(crate) quorum_loss: OnQuorumLoss,
    /// How long the majority must be lost before `--quorum-loss leave` acts [default: 4 × member-timeout]
    #[arg(long, env = "GMS_QUORUM_LOSS_TIMEOUT", value_name = "TIME", value_parser = values::duration)]
    pub(crate) quorum_loss_timeout: Option<Duration>,
    /// How long joining is tried
    #[arg(long, env = "GMS_JOIN_TIMEOUT", value_name = "TIME", default_value = "24s", value_parser = values::duration)]
    pub(crate) join_timeout: Duration,
    /// How long leaving may take [default: member-timeout]
    #[arg(long, env = "GMS_LEAVE_TIMEOUT", value_name = "TIME", value_parser = values::duration)]
    pub(crate) leave_timeout: Option<Duration>,
    /// End with exit code 4 when excluded, instead of joining again
    #[arg(long, env = "GMS_NO_REJOIN", value_parser = FalseyValueParser::new())]
    pub(crate) no_rejoin: bool,
    /// How many seeds there are, where a dns: seed can't tell
    #[arg(long, env = "GMS_EXPECT", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) expect: Option<u16>,
}

/// How the world sees it.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Outside")]
pub(crate) struct OutsideArgs {
    /// Where the HTTP interface listens, or off; elsewhere than on loopback it refuses writes without a token
    #[arg(long, env = "GMS_HTTP", value_name = "IP:PORT", default_value = "127.0.0.1:7780")]
    pub(crate) http: HttpAddr,
    /// File with the token that writes over HTTP must bear
    #[arg(long, env = "GMS_HTTP_TOKEN", value_name = "FILE")]
    pub(crate) http_token: Option<PathBuf>,
    /// Program to run at each event, with the event as JSON on stdin and in GMS_EVENT
    #[arg(long, env = "GMS_ON_EVENT", value_name = "PROGRAM")]
    pub(crate) on_event: Option<PathBuf>,
    /// File to write all protocol steps to, as JSON lines
    #[arg(long, env = "GMS_TRACE", value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print events as JSON lines
    #[arg(long, env = "GMS_JSON", value_parser = FalseyValueParser::new())]
    pub(crate) json: bool,
    /// What to log on stderr: off, error, warn, info, debug, trace, or target=level,…
    #[arg(long, env = "GMS_LOG", value_name = "LEVEL", default_value = "info")]
    pub(crate) log: tracing_subscriber::filter::Targets,
    /// How to log
    #[arg(long, env = "GMS_LOG_FORMAT", value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
    /// End at once when stdin closes or the parent process ends
    #[arg(long, hide = true)]
    pub(crate) exit_with_stdin: bool,
}

/// Presets of the member timeout.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileName {
    /// One machine.
    Local,
    /// One site.
    Lan,
    /// Several sites.
    Wan,
}

/// What a member does without its majority.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnQuorumLoss {
    /// Keep the view and go on trying.
    Wait,
    /// End with exit code 5.
    Leave,
}

/// How log lines look.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}
