//! What one run of one scenario brought.

use serde::{Deserialize, Serialize};

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What was done.
    pub scenario: crate::scenario::Scenario,
    /// To what.
    pub system: crate::system::System,
    /// How many members there were.
    pub members: usize,
    /// Which repetition, from 1.
    pub repeat: usize,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Victims were noticed.
    Noticed(Noticed),
    /// Healthy members were watched under loss.
    Watched(Watched),
    /// Nothing happened.
    Idle(Idle),
    /// Both of the above for the curve.
    Curve {
        /// The cost.
        idle: Idle,
        /// The time.
        noticed: Noticed,
    },
    /// The run failed; in these words.
    Failed(String),
}

/// How victims were noticed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Noticed {
    /// How many victims there were.
    pub victims: usize,
    /// Seconds from the fault until each survivor saw none of them; `None` for one that never did.
    pub survivors_s: Vec<Option<f64>>,
    /// Seconds until the last of them did, if all did.
    pub last_s: Option<f64>,
    /// Most views that a survivor installed until then, in systems with views.
    pub views: Option<u64>,
    /// How often a survivor stopped seeing another that lived.
    pub false_reports: usize,
}

/// How a lossy network was taken.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Watched {
    /// How often a member stopped seeing another; all lived.
    pub false_reports: usize,
    /// How many members were not seen by another at some time.
    pub members_reported: usize,
}

/// What a member costs that does nothing: the mean of all, per second.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Idle {
    /// Milliseconds of processor time.
    pub cpu_ms: f64,
    /// Packets sent; `None` where members share an interface.
    pub packets: Option<f64>,
    /// Bytes sent, with Ethernet headers.
    pub bytes: Option<f64>,
    /// Resident memory in MiB, of the largest member.
    pub rss_mib: f64,
    /// How often a member stopped seeing another meanwhile.
    pub false_reports: usize,
}
