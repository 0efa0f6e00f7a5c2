//! What carries the messages of the members of GMS that are measured.

use std::net::SocketAddr;

use gms_core::runtime::{Builder, EventStream, Gms};
use gms_quic::QuicTransport;
use gms_udp::UdpTransport;
use serde::{Deserialize, Serialize};

/// The name of every measured cluster.
pub(crate) const CLUSTER: &str = "bench";

/// A transport and how it is set.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Plain UDP and TCP
    #[default]
    Udp,
    /// QUIC without certificates
    Quic,
    /// The same, other members watched by TCP connections beside
    QuicTcp,
}

impl Carrier {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Udp, Self::Quic, Self::QuicTcp];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Quic => "quic",
            Self::QuicTcp => "quic-tcp",
        }
    }

    /// Its name in tables.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Udp => "UDP",
            Self::Quic => "QUIC",
            Self::QuicTcp => "QUIC, watch TCP",
        }
    }

    /// Opens it at this address and starts a member over it.
    pub(crate) async fn start(
        self,
        addr: SocketAddr,
        builder: Builder,
    ) -> Result<(Gms, EventStream), Box<dyn std::error::Error>> {
        let addr = addr.to_string();
        if self == Self::Udp {
            return Ok(builder.start(UdpTransport::bind(&addr).await?).await?);
        }
        let quic = QuicTransport::builder(CLUSTER).tcp_watch(self == Self::QuicTcp);
        Ok(builder.start(quic.bind(&addr).await?).await?)
    }
}
