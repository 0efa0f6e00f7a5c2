//! The frames: fences, founding, joining, agreement, installation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::TimingOverrides;
use crate::evidence::Verdict;
use crate::member::{Endpoint, Member, MemberId};
use crate::view::{Change, Digest, ViewId};

use super::{
    AccusationId, Ballot, CheckId, ClusterInfo, FenceTarget, FoundBallot, Founder, Head, Installation,
    JoinRefusal, Refusal, SuspectRequest, UnfinishedReason,
};

/// A message of the stream channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Who, to whom, in what state.
    pub head: Head,
    /// What.
    pub body: FrameBody,
}

/// Bodies of frames.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FrameBody {
    /// As the datagram of the same name, with the whole list.
    SuspectMembers {
        /// The accusation's id.
        accusation: AccusationId,
        /// The accused.
        requests: Vec<SuspectRequest>,
    },
    /// Proposer to members: may these be removed for silence? Answered by `Fenced`, `NotYet` or `Heard` per member.
    Fence {
        /// The view whose successor is being decided.
        base: ViewId,
        /// Digest of that view.
        base_digest: Digest,
        /// Whom it is about.
        members: Vec<FenceTarget>,
    },
    /// Member to proposer: granted, until a newer view.
    Fenced {
        /// The base of the fence.
        base: ViewId,
        /// Whom it is about.
        member: MemberId,
        /// The final check named in the request.
        check: CheckId,
    },
    /// Member to proposer: not silent for long enough here; will be granted unasked after this time.
    NotYet {
        /// The base of the fence.
        base: ViewId,
        /// Whom it is about.
        member: MemberId,
        /// The final check named in the request.
        check: CheckId,
        /// Time left.
        left: Duration,
    },
    /// Member to proposer: heard since the final check began. The proposer clears the member.
    Heard {
        /// The base of the fence.
        base: ViewId,
        /// Whom it is about.
        member: MemberId,
        /// The final check named in the request.
        check: CheckId,
    },
    /// As the datagram of the same name.
    FindCoordinator {
        /// The cluster it looks for.
        cluster_name: String,
        /// The joiner.
        asker: MemberId,
    },
    /// As the datagram of the same name.
    Coordinator(ClusterInfo),
    /// Founder to seeds' processes, phase 1. Answered by `FoundPromised` or `FoundRefused`.
    FoundPromise {
        /// The cluster to be founded.
        cluster_name: String,
        /// The founder's ballot.
        ballot: FoundBallot,
        /// Whether the founder has seen that every seed's process is young, so that none can have forgotten.
        all_young: bool,
    },
    /// Seed's process to founder.
    FoundPromised {
        /// The ballot promised.
        ballot: FoundBallot,
        /// What it accepted before, and in which ballot.
        accepted: Option<(FoundBallot, Founder)>,
    },
    /// Founder to seeds' processes, phase 2. Answered by `FoundAccepted` or `FoundRefused`.
    FoundAccept {
        /// The cluster to be founded.
        cluster_name: String,
        /// The founder's ballot.
        ballot: FoundBallot,
        /// The value.
        founder: Founder,
    },
    /// Seed's process to founder.
    FoundAccepted {
        /// The ballot accepted.
        ballot: FoundBallot,
    },
    /// Seed's process to founder.
    FoundRefused {
        /// The ballot refused.
        ballot: FoundBallot,
        /// The ballot promised already; `None` if the process is too young to promise.
        promised: Option<FoundBallot>,
    },
    /// Joiner to coordinator. Answered by `Install` or `JoinRefused`, or by `Coordinator` where somebody else is.
    Join {
        /// The cluster it wants to be in.
        cluster_name: String,
        /// The joiner's record.
        member: Member,
        /// Timing that the joiner sets explicitly.
        timing: TimingOverrides,
        /// The newest view of the cluster that the joiner knew of when it first asked under this id: what let it in, or out
        /// again, came later.
        asked_in: ViewId,
    },
    /// Coordinator to joiner.
    JoinRefused {
        /// Why.
        reason: JoinRefusal,
    },
    /// Leaver to coordinator. Answered by the view without it.
    Leave {
        /// Who leaves.
        member: MemberId,
    },
    /// Any member to coordinator, for an operator.
    Remove {
        /// Who is to be removed.
        member: MemberId,
        /// The operator's reason.
        reason: String,
        /// Name of the member at which the operator asked.
        by: String,
    },
    /// New coordinator to members of the base, phase 1. Answered by `Promised` or `Refused`.
    Promise {
        /// Its ballot.
        ballot: Ballot,
        /// The view whose successor is to be decided.
        base: ViewId,
        /// Digest of that view.
        base_digest: Digest,
        /// Its verdicts against everyone before it in office.
        verdicts: Vec<(MemberId, Verdict)>,
    },
    /// Member to new coordinator.
    Promised {
        /// The ballot promised.
        ballot: Ballot,
        /// The base.
        base: ViewId,
        /// The change accepted before, and in which ballot.
        accepted: Option<(Ballot, Change)>,
    },
    /// Coordinator to members of the base, phase 2. Answered by `Accepted` or `Refused`.
    Prepare {
        /// Its ballot.
        ballot: Ballot,
        /// The change proposed.
        change: Change,
    },
    /// Member to coordinator.
    Accepted {
        /// The ballot accepted.
        ballot: Ballot,
        /// The base.
        base: ViewId,
    },
    /// Member to coordinator: neither promised nor accepted.
    Refused {
        /// The ballot refused.
        ballot: Ballot,
        /// The base it was for.
        base: ViewId,
        /// Why not.
        why: Refusal,
    },
    /// Member to whoever sent the install: lets leavers go.
    Installed {
        /// The view installed.
        view: ViewId,
    },
    /// Member to the first in office. Answered by a view.
    Unfinished {
        /// The member's view.
        base: ViewId,
        /// What is unfinished.
        why: UnfinishedReason,
    },
    /// Coordinator to members; whoever is ahead, to whoever asks. Answered by `Installed`.
    Install(Installation),
    /// Behind to ahead. Answered by `Install`.
    ViewRequest {
        /// The number held.
        held: ViewId,
    },
    /// Coordinator to joiner, in place of a view that is too large for it to send to all who join: it is a member. The
    /// joiner asks the holder, by `Join`.
    Admitted {
        /// The view that contains it.
        view: ViewId,
        /// Who can give it that view.
        holder: MemberId,
        /// Where that is reached.
        endpoint: Endpoint,
    },
}

impl FrameBody {
    /// The message's name, as in the catalogue.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SuspectMembers { .. } => "SuspectMembers",
            Self::Fence { .. } => "Fence",
            Self::Fenced { .. } => "Fenced",
            Self::NotYet { .. } => "NotYet",
            Self::Heard { .. } => "Heard",
            Self::FindCoordinator { .. } => "FindCoordinator",
            Self::Coordinator(_) => "Coordinator",
            Self::FoundPromise { .. } => "FoundPromise",
            Self::FoundPromised { .. } => "FoundPromised",
            Self::FoundAccept { .. } => "FoundAccept",
            Self::FoundAccepted { .. } => "FoundAccepted",
            Self::FoundRefused { .. } => "FoundRefused",
            Self::Join { .. } => "Join",
            Self::JoinRefused { .. } => "JoinRefused",
            Self::Leave { .. } => "Leave",
            Self::Remove { .. } => "Remove",
            Self::Promise { .. } => "Promise",
            Self::Promised { .. } => "Promised",
            Self::Prepare { .. } => "Prepare",
            Self::Accepted { .. } => "Accepted",
            Self::Refused { .. } => "Refused",
            Self::Installed { .. } => "Installed",
            Self::Unfinished { .. } => "Unfinished",
            Self::Install(_) => "Install",
            Self::ViewRequest { .. } => "ViewRequest",
            Self::Admitted { .. } => "Admitted",
        }
    }
}
