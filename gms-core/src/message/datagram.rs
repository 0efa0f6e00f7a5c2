//! The datagrams: heartbeats, accusations, verification, discovery.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::evidence::{Finding, Reason};
use crate::member::{ClusterId, Endpoint, MemberId};
use crate::view::ViewId;

use super::{AccusationId, CheckId, Head, RequestId};

/// A message of the datagram channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Who, to whom, in what state.
    pub head: Head,
    /// What.
    pub body: DatagramBody,
}

/// What a heartbeat answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Answers {
    /// Nothing: the periodic one.
    Nothing,
    /// This heartbeat request.
    Request(RequestId),
    /// This accusation: it arrived.
    Accusation(AccusationId),
}

/// One accused member in [`DatagramBody::SuspectMembers`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SuspectRequest {
    /// The accused.
    pub member: MemberId,
    /// Why.
    pub reason: Reason,
    /// How long the accuser has not heard it.
    pub silent_for: Duration,
    /// The incarnation that answered at its address, for [`Reason::Replaced`].
    pub replaced_by: Option<MemberId>,
}

/// What a process says about its cluster, to joiners and to seeds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClusterInfo {
    /// Name of the cluster that the sender is in or wants to be in.
    pub cluster_name: String,
    /// The sender's own incarnation.
    pub sender: MemberId,
    /// How long the sender's process runs.
    pub age: Duration,
    /// The cluster that it is in, if any.
    pub membership: Option<Membership>,
}

/// The part of [`ClusterInfo`] that a member adds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Membership {
    /// The cluster's id.
    pub cluster: ClusterId,
    /// Its coordinator as the sender sees it.
    pub coordinator: MemberId,
    /// Where that is reached.
    pub endpoint: Endpoint,
    /// Number of the sender's view.
    pub view: ViewId,
    /// Members in it.
    pub size: u32,
    /// Whether the sender is isolated, so that better-connected clusters are preferred.
    pub isolated: bool,
    /// How long the sender is in this cluster.
    pub age: Duration,
}

/// Bodies of datagrams.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DatagramBody {
    /// Member to its recipients every `heartbeat_interval`; asked member to the asker. Not answered.
    Heartbeat {
        /// What it answers.
        answers: Answers,
    },
    /// Checker to suspect. That incarnation answers with a heartbeat, if it is healthy.
    HeartbeatRequest {
        /// The incarnation asked.
        target: MemberId,
        /// The question's id.
        request: RequestId,
        /// Why it is asked.
        reason: Reason,
    },
    /// Accuser to probable coordinators and to the suspects. The coordinator answers with a heartbeat that names
    /// the accusation, the suspects with a heartbeat.
    SuspectMembers {
        /// The accusation's id.
        accusation: AccusationId,
        /// The accused, at most [`SUSPECT_REQUESTS_PER_DATAGRAM`](super::SUSPECT_REQUESTS_PER_DATAGRAM) in a datagram.
        requests: Vec<SuspectRequest>,
    },
    /// Coordinator to all: a suspicion is cleared. Never counts as contact with the member. Not answered.
    FinalCheckPassed {
        /// Who answered.
        member: MemberId,
    },
    /// Coordinator to verifier: look for yourself. Answered by [`DatagramBody::VerifyReply`].
    VerifyRequest {
        /// The final check.
        check: CheckId,
        /// Whom to look at.
        suspect: MemberId,
    },
    /// Verifier to coordinator. Not answered.
    VerifyReply {
        /// The final check.
        check: CheckId,
        /// Whom it looked at.
        suspect: MemberId,
        /// What it found.
        finding: Finding,
    },
    /// Joiner to seed, padded to the answer's size. Answered by [`DatagramBody::Coordinator`].
    FindCoordinator {
        /// The cluster it looks for.
        cluster_name: String,
        /// The joiner.
        asker: MemberId,
        /// Zeros, so that an answer is never larger than the question.
        padding: Vec<u8>,
    },
    /// Anyone asked, to a joiner; coordinator to seed addresses outside its view. Not answered.
    Coordinator(Box<ClusterInfo>),
    /// Member to a stranger that speaks as a member: a reason to ask, no verdict. Rate limited. Not answered.
    NotAMember {
        /// The sender's view.
        view: ViewId,
    },
}

impl DatagramBody {
    /// The message's name, as in the catalogue.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Heartbeat { .. } => "Heartbeat",
            Self::HeartbeatRequest { .. } => "HeartbeatRequest",
            Self::SuspectMembers { .. } => "SuspectMembers",
            Self::FinalCheckPassed { .. } => "FinalCheckPassed",
            Self::VerifyRequest { .. } => "VerifyRequest",
            Self::VerifyReply { .. } => "VerifyReply",
            Self::FindCoordinator { .. } => "FindCoordinator",
            Self::Coordinator(_) => "Coordinator",
            Self::NotAMember { .. } => "NotAMember",
        }
    }
}
