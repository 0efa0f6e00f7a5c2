//! Flags of the commands that ask a running member.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use clap::{Args, ValueEnum};

use super::values;

/// Which running member is asked.
#[derive(Args, Clone, Debug)]
pub(crate) struct At {
    /// HTTP address of the running member
    #[arg(long, env = "GMS_AT", value_name = "HOST:PORT", default_value = "127.0.0.1:7780", value_parser = values::at)]
    pub(crate) at: String,
    /// How long to wait for its answer
    #[arg(long, env = "GMS_TIMEOUT", value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub(crate) timeout: Duration,
}

/// What a write bears.
#[derive(Args, Clone, Debug)]
pub(crate) struct Token {
    /// File with the token that the member's HTTP interface demands of writes
    #[arg(long, env = "GMS_HTTP_TOKEN", value_name = "FILE")]
    pub(crate) http_token: Option<PathBuf>,
}

/// What is shown of the cluster, and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct Listing {
    #[command(flatten)]
    pub(crate) at: At,
    /// Only members that look so
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<StatusFilter>,
    /// Only members whose name matches
    #[arg(long, value_name = "REGEX")]
    pub(crate) name: Option<regex::Regex>,
    /// Print JSON
    #[arg(long, env = "GMS_JSON", value_parser = FalseyValueParser::new())]
    pub(crate) json: bool,
    /// Print again at each change, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
}

/// Arguments of `gms members`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  gms members\n  gms members --status suspect --json\n  gms members --name '^orders-' --watch\n\nExit code 6 if the member asked is isolated or without quorum."
)]
pub(crate) struct MembersArgs {
    #[command(flatten)]
    pub(crate) list: Listing,
}

/// Arguments of `gms view`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  gms view\n  gms view --json --at 10.0.0.1:7780\n  gms view --watch\n\nExit code 6 if the member asked is isolated or without quorum."
)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) list: Listing,
}

/// Arguments of `gms events`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  gms events\n  gms events --json | jq 'select(.event == \"view_installed\")'\n\nA broken connection is resumed where it broke, as far as the member remembers."
)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    pub(crate) at: At,
    /// Print JSON lines
    #[arg(long, env = "GMS_JSON", value_parser = FalseyValueParser::new())]
    pub(crate) json: bool,
}

/// Arguments of `gms leave`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  gms leave\n  gms leave --at 127.0.0.1:7781")]
pub(crate) struct LeaveArgs {
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) token: Token,
}

/// Arguments of `gms suspect`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  gms suspect orders-2 --reason 'does not answer queries'\n\nA member that answers its coordinator stays; use `gms remove` to remove a live one."
)]
pub(crate) struct SuspectArgs {
    /// Name or id of the member
    #[arg(value_name = "MEMBER")]
    pub(crate) member: String,
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) token: Token,
}

/// Arguments of `gms check`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Examples:\n  gms check orders-2\n\nPrints alive, silent or gone; exit code 0 only if it is alive."
)]
pub(crate) struct CheckArgs {
    /// Name or id of the member
    #[arg(value_name = "MEMBER")]
    pub(crate) member: String,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) token: Token,
}

/// Arguments of `gms remove`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  gms remove orders-2 --reason 'host is being scrapped'")]
pub(crate) struct RemoveArgs {
    /// Name or id of the member
    #[arg(value_name = "MEMBER")]
    pub(crate) member: String,
    /// Why, for the record and for the member itself
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) token: Token,
}

/// How a member looks to the one asked.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatusFilter {
    /// Nothing is wrong.
    Alive,
    /// Accused.
    Suspect,
    /// Being checked.
    Checking,
}

impl StatusFilter {
    /// The status as JSON names it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Alive => "alive",
            Self::Suspect => "suspect",
            Self::Checking => "checking",
        }
    }
}
