//! A run's description: members, network, faults and their times. A scenario and a seed define a run.

mod check;
mod file;
pub(crate) mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gms_core::config::{CrashDetection, HeartbeatRecipients};
use serde::{Deserialize, Serialize};

use crate::network::{Host, Link, Squatter, StreamMode};

pub use values::parse_share;

/// One thing that happens to the world.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// A process starts on a host on which none runs.
    Start {
        /// Where.
        host: Host,
    },
    /// SIGKILL: the process is gone, its host refuses.
    Crash {
        /// Where.
        host: Host,
    },
    /// SIGKILL and a start at once, on the same port or on another one.
    Restart {
        /// Where.
        host: Host,
        /// On another port.
        #[serde(default)]
        elsewhere: bool,
    },
    /// SIGSTOP.
    Stop {
        /// Where.
        host: Host,
    },
    /// SIGCONT: everything that queued up is read first.
    Continue {
        /// Where.
        host: Host,
    },
    /// The process's loop runs only for a share of each period; 1 ends it.
    Starve {
        /// Where.
        host: Host,
        /// The share, above 0 up to 1.
        #[serde(deserialize_with = "values::share")]
        share: f64,
        /// Length of a period.
        #[serde(with = "humantime_serde")]
        period: Duration,
    },
    /// The machine sleeps, and is off the network, for a while.
    Suspend {
        /// Which.
        host: Host,
        /// How long.
        #[serde(with = "humantime_serde", rename = "for")]
        span: Duration,
    },
    /// The process's clock runs faster (or slower, below 0) than the world's.
    Drift {
        /// Where.
        host: Host,
        /// Parts per million.
        ppm: i32,
    },
    /// The wall clock jumps.
    JumpWallClock {
        /// Where.
        host: Host,
        /// By how many seconds.
        seconds: i64,
    },
    /// The member leaves gracefully.
    Leave {
        /// Where.
        host: Host,
    },
    /// An operator at one member removes another.
    Expel {
        /// Whom.
        host: Host,
        /// Where the operator sits.
        by: Host,
    },
    /// The application's watchdog says that it does not work, or does again.
    Sick {
        /// Where.
        host: Host,
        /// Whether it does not work.
        sick: bool,
    },
    /// Nothing passes in one direction.
    Cut {
        /// From this host.
        from: Host,
        /// To this one.
        to: Host,
    },
    /// Nothing passes between groups; hosts in none are in the first.
    Partition {
        /// The groups.
        #[serde(deserialize_with = "values::groups")]
        groups: Vec<Vec<Host>>,
    },
    /// The host is off the network, silent.
    Down {
        /// Which.
        host: Host,
    },
    /// The host is on the network again.
    Up {
        /// Which.
        host: Host,
    },
    /// Share of packets lost everywhere.
    Loss {
        /// The share, 0 to 1.
        #[serde(deserialize_with = "values::share")]
        share: f64,
    },
    /// Share of packets lost on the way to and from one host.
    HostLoss {
        /// Which.
        host: Host,
        /// On the way to it, 0 to 1.
        #[serde(default, deserialize_with = "values::share")]
        inward: f64,
        /// On the way from it, 0 to 1.
        #[serde(default, deserialize_with = "values::share")]
        outward: f64,
    },
    /// All of a host's packets in one direction are lost, then none, in turn.
    FlipFlop {
        /// Which.
        host: Host,
        /// Length of each phase; the lossy one comes first.
        #[serde(with = "humantime_serde")]
        period: Duration,
        /// How long it goes on.
        #[serde(with = "humantime_serde", rename = "for")]
        span: Duration,
        /// Packets to the host, or from it.
        #[serde(default)]
        outward: bool,
    },
    /// What one direction between two hosts does.
    Link {
        /// From this host.
        from: Host,
        /// To this one.
        to: Host,
        /// What it does.
        link: Link,
    },
    /// What all links do that have nothing of their own.
    Links {
        /// What they do.
        link: Link,
    },
    /// What connections to and from a host do.
    Streams {
        /// Which.
        host: Host,
        /// What they do.
        mode: StreamMode,
    },
    /// A firewall refuses connections in the host's name, or ends to.
    Reject {
        /// Which.
        host: Host,
        /// Whether it does.
        on: bool,
    },
    /// A connection tracker on the way forgets: open watch connections to and from the host break.
    Forget {
        /// Which.
        host: Host,
    },
    /// Another program takes the port of a process that is gone.
    Squat {
        /// Where.
        host: Host,
        /// What it does with connections.
        squatter: Squatter,
    },
    /// The network works, stopped and starved processes run again, sick ones are well.
    Heal,
}

/// A fault and its time.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// When, from the beginning of the run's first phase.
    pub at: Duration,
    /// What.
    pub fault: Fault,
}

/// How a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// All members are in one view when time begins to count.
    #[default]
    Formed,
    /// All processes start when time begins to count.
    Together,
}

/// What the members speak over: what it shows of a death, as gms-udp and gms-quic do, and not what its packets cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Watch connections end when a process dies, and ICMP errors answer datagrams.
    #[default]
    Udp,
    /// ICMP errors alone: members take turns with their heartbeats.
    Quic,
}

impl Transport {
    /// Whether a watch connection ends when the process at its other end dies.
    pub const fn watch_shows_crashes(self) -> bool {
        matches!(self, Self::Udp)
    }
}

/// A run's description. [`Scenario::from_toml`] and [`Scenario::to_toml`] read and write it as a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Scenario {
    /// Processes that start at the beginning, on hosts 0, 1, 2, …
    pub members: usize,
    /// How many of the first hosts are seeds of all.
    pub seeds: usize,
    /// The run's seed.
    #[serde(with = "values::seed")]
    pub seed: u64,
    /// T.
    #[serde(with = "humantime_serde")]
    pub member_timeout: Duration,
    /// Who gets heartbeats. None: the default.
    #[serde(with = "values::recipients", skip_serializing_if = "Option::is_none")]
    pub heartbeat_recipients: Option<HeartbeatRecipients>,
    /// Whether refused connections prove a death. None: the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash_detection: Option<CrashDetection>,
    /// What the members speak over.
    pub transport: Transport,
    /// How the run begins.
    pub start: Start,
    /// Length of the first phase, in which faults happen and safety must hold.
    #[serde(with = "humantime_serde", rename = "for")]
    pub run_for: Duration,
    /// Longest time of the second phase, in which everything works again and progress must follow; zero: none.
    #[serde(with = "humantime_serde", rename = "heal")]
    pub heal_for: Duration,
    /// Whether excluded members come back as new incarnations.
    pub rejoin: bool,
    /// Hosts whose members come last in office.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub not_eligible: BTreeSet<Host>,
    /// The network.
    pub network: Link,
    /// Weights of members on these hosts; 10 on all others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<Host, u8>,
    /// The faults.
    #[serde(skip)]
    pub faults: Vec<Step>,
}

impl Default for Scenario {
    /// Five members for a minute in which nothing happens.
    fn default() -> Self {
        Self {
            members: 5,
            seeds: 3,
            seed: 0,
            member_timeout: Duration::from_secs(5),
            heartbeat_recipients: None,
            crash_detection: None,
            transport: Transport::Udp,
            start: Start::Formed,
            run_for: Duration::from_secs(60),
            heal_for: Duration::ZERO,
            rejoin: true,
            network: Link::default(),
            weights: BTreeMap::new(),
            not_eligible: BTreeSet::new(),
            faults: Vec::new(),
        }
    }
}

/// What is wrong with a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// A value is out of bounds.
    #[error("{0}")]
    Value(String),
    /// The file is no scenario.
    #[error("{0}")]
    File(String),
}
