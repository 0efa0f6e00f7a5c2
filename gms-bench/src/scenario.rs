//! The faults that are compared.

use serde::{Deserialize, Serialize};

/// What is done to a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// Nothing: CPU, packets, bytes and memory of each member
    Idle,
    /// SIGKILL of one member that is not in charge
    Crash,
    /// SIGKILL of the member in charge; of the one joined first where nobody is
    CrashCoordinator,
    /// SIGKILL of several members at once
    CrashSeveral,
    /// SIGSTOP of one member
    Hang,
    /// Nothing gets from or to one member's host
    HostLoss,
    /// The same for several hosts at one moment, neighbours in the view
    HostLossSeveral,
    /// Packets of all members are lost by chance
    LossAll,
    /// Packets to and from one member are lost by chance
    LossOne,
    /// Bytes per second and time to notice a lost host, at several settings of GMS
    Curve,
}

impl Scenario {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 10] = [
        Self::Idle,
        Self::Crash,
        Self::CrashCoordinator,
        Self::CrashSeveral,
        Self::Hang,
        Self::HostLoss,
        Self::HostLossSeveral,
        Self::Curve,
        Self::LossAll,
        Self::LossOne,
    ];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Crash => "crash",
            Self::CrashCoordinator => "crash-coordinator",
            Self::CrashSeveral => "crash-several",
            Self::Hang => "hang",
            Self::HostLoss => "host-loss",
            Self::HostLossSeveral => "host-loss-several",
            Self::LossAll => "loss-all",
            Self::LossOne => "loss-one",
            Self::Curve => "curve",
        }
    }

    /// Whether it needs a network of namespaces.
    pub const fn needs_lab(self) -> bool {
        match self {
            Self::HostLoss | Self::HostLossSeveral | Self::LossAll | Self::LossOne | Self::Curve => true,
            Self::Idle | Self::Crash | Self::CrashCoordinator | Self::CrashSeveral | Self::Hang => false,
        }
    }

    /// Whether it has victims whose removal is waited for.
    pub const fn has_victims(self) -> bool {
        !matches!(self, Self::Idle | Self::LossAll | Self::LossOne | Self::Curve)
    }

    /// Whether members are killed.
    pub const fn is_crash(self) -> bool {
        matches!(self, Self::Crash | Self::CrashCoordinator | Self::CrashSeveral)
    }

    /// Whether it takes away several at once.
    pub const fn is_several(self) -> bool {
        matches!(self, Self::CrashSeveral | Self::HostLossSeveral)
    }

    /// Whether what GMS sends decides its outcome, so that it is also run with as many bytes as each peer sends.
    pub const fn depends_on_traffic(self) -> bool {
        matches!(
            self,
            Self::Idle
                | Self::Hang
                | Self::HostLoss
                | Self::HostLossSeveral
                | Self::Curve
                | Self::LossAll
                | Self::LossOne
        )
    }
}
