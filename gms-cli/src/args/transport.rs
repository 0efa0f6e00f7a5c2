//! Flags that choose what carries the messages, shared by `gms run` and `gms demo`, and those of `gms certs`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::values;

/// Transports.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransportName {
    /// Plain UDP and TCP.
    Udp,
    /// QUIC: encrypted, and with certificates if so wished.
    Quic,
}

impl TransportName {
    /// Its name as a flag's value.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Quic => "quic",
        }
    }
}

/// How a member watches another over QUIC.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QuicWatch {
    /// By datagrams that come back, and the connection that carries everything else.
    Quic,
    /// By a TCP connection that carries nothing, on the port of the same number.
    Tcp,
}

impl QuicWatch {
    /// Its name as a flag's value.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Tcp => "tcp",
        }
    }
}

/// Encryption and identity.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "QUIC")]
pub(crate) struct QuicArgs {
    /// PEM file with this member's certificate; without, anyone who reaches the port may join
    #[arg(long, env = "GMS_TLS_CERT", value_name = "FILE", requires = "tls_key", requires = "tls_ca")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --tls-cert
    #[arg(long, env = "GMS_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// PEM file with the certificates of the CAs whose members are let in; SIGHUP reads all three files again
    #[arg(long, env = "GMS_TLS_CA", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// How another member is watched: tcp sees a process die at once, and needs the TCP port of the same number open
    #[arg(long, env = "GMS_QUIC_WATCH", value_name = "HOW", default_value = "quic")]
    pub(crate) quic_watch: QuicWatch,
}

const EXAMPLES: &str = "\
Examples:
  gms certs ca --out certs
  gms certs member orders-1 --cluster orders --ca certs --out certs
  gms run --cluster orders --name orders-1 --transport quic --tls-ca certs/ca.pem \\
    --tls-cert certs/orders-1.pem --tls-key certs/orders-1.key";

/// Arguments of `gms certs`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CertsArgs {
    /// What to make.
    #[command(subcommand)]
    pub(crate) what: CertsCommand,
}

/// What `gms certs` makes.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum CertsCommand {
    /// Make a CA: ca.pem, which every member needs, and ca.key, which vouches for members and stays where it is safe
    Ca {
        /// Folder to write to; it is made if it is missing
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// How long it is valid: 1m to 36500d
        #[arg(long, value_name = "TIME", default_value = "3650d", value_parser = values::validity)]
        valid_for: Duration,
    },
    /// Make a member's certificate and key: NAME.pem and NAME.key
    Member {
        /// The member's name
        #[arg(value_name = "NAME")]
        name: String,
        /// The cluster that it may join
        #[arg(long, env = "GMS_CLUSTER", value_name = "NAME", default_value = "default")]
        cluster: String,
        /// Folder with ca.pem and ca.key
        #[arg(long, value_name = "DIR", default_value = ".")]
        ca: PathBuf,
        /// Folder to write to; it is made if it is missing
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// How long it is valid: 1m to 36500d
        #[arg(long, value_name = "TIME", default_value = "365d", value_parser = values::validity)]
        valid_for: Duration,
    },
}
