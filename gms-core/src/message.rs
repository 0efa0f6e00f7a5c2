//! The catalogue of messages: who sends each, on which channel, and who answers with what.
//!
//! Datagrams are best effort and fit [`DATAGRAM_BYTES_MAX`]; whatever can grow with the view goes by stream, in
//! frames of at most [`FRAME_BYTES_MAX`]. `codec.rs` turns these into bytes and back; nothing else does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{TimingConflict, TimingOverrides};
use crate::evidence::{Finding, Reason, Verdict};
use crate::member::{ClusterId, ClusterTag, Endpoint, Member, MemberId, ShortId};
use crate::view::{Change, Digest, DigestTag, View, ViewId};

/// Largest datagram: fits any path without fragments.
//= docs/protocol.md#wr-1
pub const DATAGRAM_BYTES_MAX: usize = 1200;
/// Largest frame on a stream.
//= docs/protocol.md#wr-1
pub const FRAME_BYTES_MAX: usize = 4 << 20;
/// Most suspect requests that one datagram carries; the stream carries all.
pub const SUSPECT_REQUESTS_PER_DATAGRAM: usize = 16;

/// Defines a newtype over a number drawn at random or counted, so that ids of different kinds can't be mixed.
macro_rules! id_type {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        pub struct $name(pub u64);
    )*};
}
id_type! {
    /// Names one heartbeat request; drawn at random, so that an old answer can't pass for a new one.
    RequestId
    /// Names one accusation of one accuser.
    AccusationId
    /// Names one final check of one checker.
    CheckId
}

/// Facts about the sender's state that every message tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash, Serialize, Deserialize)]
pub struct Flags {
    /// Without two-way contact to a majority.
    pub isolated: bool,
    /// Its application does not work.
    pub sick: bool,
    /// A coordinator that loses too much time to pauses.
    pub paused: bool,
    /// It asked to leave.
    pub leaving: bool,
}

/// The newest datagram received from the recipient, and how long ago.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Echo {
    /// Its number.
    pub number: u64,
    /// Time since it was read from the socket, in microseconds; the largest value stands for longer.
    pub age_us: u32,
}

/// What every message begins with.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Head {
    /// The sender's cluster; [`ClusterTag::NONE`] before it is in one.
    pub cluster: ClusterTag,
    /// The sender's incarnation.
    pub sender: ShortId,
    /// The incarnation meant, all zero where the sender does not know it.
    pub recipient: ShortId,
    /// The sender's installed view.
    pub view: ViewId,
    /// The change that it has accepted for that view.
    pub accepted: Option<DigestTag>,
    /// Its state.
    pub flags: Flags,
    /// Count of datagrams (on streams: of frames) to this recipient, from 1; 0 to strangers.
    pub number: u64,
    /// What it last received from this recipient.
    pub echo: Option<Echo>,
}

/// A message of the datagram channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Who, to whom, in what state.
    pub head: Head,
    /// What.
    pub body: DatagramBody,
}

/// A message of the stream channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Who, to whom, in what state.
    pub head: Head,
    /// What.
    pub body: FrameBody,
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
        /// The accused, at most [`SUSPECT_REQUESTS_PER_DATAGRAM`] in a datagram.
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
    Coordinator(ClusterInfo),
    /// Member to a stranger that speaks as a member: a reason to ask, no verdict. Rate limited. Not answered.
    NotAMember {
        /// The sender's view.
        view: ViewId,
    },
}

/// A proposal's rank: by round, and within a round the earlier place in office is the higher ballot.
///
/// Round 0 belongs to the first in office of the base and needs no phase 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
pub struct Ballot {
    /// The round.
    pub round: u32,
    /// Place of the proposer in the order of office of the base.
    pub place: u32,
}

impl Ord for Ballot {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.round.cmp(&other.round).then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for Ballot {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A founder's rank among the seeds' processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
pub struct FoundBallot {
    /// The round, from 1.
    pub round: u32,
    /// The proposer, so that ballots of two never tie.
    pub proposer: MemberId,
}

/// What the seeds' processes agree on: who founds which cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Founder {
    /// The new cluster's id.
    pub cluster: ClusterId,
    /// The founder.
    pub member: MemberId,
    /// Where it is reached.
    pub endpoint: Endpoint,
}

/// Why a join is refused.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
pub enum JoinRefusal {
    /// The member asked belongs to another cluster.
    #[error("this is cluster {0:?}: ask a member of your own cluster, or change the cluster name")]
    ClusterName(String),
    /// The joiner sets timing otherwise than the cluster has it.
    #[error("{0}")]
    Timing(TimingConflict),
    /// A live member has the name.
    #[error("the name {0:?} is in use by a live member: choose another, or stop that member first")]
    NameInUse(String),
    /// A member that is silent has the name; it may be out soon.
    #[error("the name {0:?} is held by a member that does not answer at the moment")]
    NameHeldBySilent(String),
    /// A live member has the address.
    #[error("the address {0} is in use by a live member: choose another port")]
    AddressInUse(String),
    /// The record is out of bounds.
    #[error("the joiner's record is malformed: {0}")]
    Record(String),
    /// The joiner weighs more than the whole cluster.
    #[error("a weight of {joiner} is more than the whole cluster's {cluster}: join with less")]
    TooHeavy {
        /// The joiner's weight.
        joiner: u32,
        /// The cluster's.
        cluster: u32,
    },
    /// The joiner's id, or its first 8 bytes, was used before: it draws a new one and asks again.
    #[error("the member id was used before")]
    IdInUse,
    /// The member asked cannot admit anybody now.
    #[error("the member asked has no contact to the majority of its cluster")]
    Isolated,
    /// Nothing came back from the address that the joiner advertises.
    #[error("the cluster gets no answer from the advertised address {0}: check --advertise and firewalls")]
    Unreachable(String),
    /// Too many joiners at once.
    #[error("too many members are joining at this moment")]
    Busy,
}

impl JoinRefusal {
    /// Whether asking again, unchanged, may succeed.
    pub const fn is_retriable(&self) -> bool {
        matches!(
            self,
            Self::NameHeldBySilent(_) | Self::Isolated | Self::IdInUse | Self::Busy | Self::Unreachable(_)
        )
    }
}

/// Why a promise, an acceptance or a fence is not given.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// A higher ballot was promised.
    Promised(Ballot),
    /// The view is another one: the number held.
    OtherView(ViewId),
    /// Somebody earlier in office is in contact: ask again no sooner than after this time.
    Protected(Duration),
}

/// Why a member says that a view is unfinished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UnfinishedReason {
    /// It accepted a change and has seen no install.
    Accepted,
    /// It granted a fence long ago.
    Fenced,
    /// It is isolated although it hears a majority.
    Isolated,
}

/// A member that a proposer wants to remove for silence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FenceTarget {
    /// The member.
    pub member: MemberId,
    /// The final check that found it silent.
    pub check: CheckId,
    /// Time since that check began.
    pub age: Duration,
}

/// A decided change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// The change.
    pub change: Change,
    /// Digest of the view that it makes.
    pub digest: Digest,
}

/// What [`FrameBody::Install`] carries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Installation {
    /// Decided changes, oldest first, each the base of the next.
    Changes(Vec<Decided>),
    /// A whole view, for a joiner or somebody too far behind.
    Whole(Box<View>),
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
}

/// The final check's question on a fresh connection; understood by strangers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckRequest {
    /// The checker's cluster.
    pub cluster: ClusterId,
    /// The incarnation meant.
    pub target: MemberId,
    /// The checker's view.
    pub view: ViewId,
}

/// The answer to a [`CheckRequest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CheckAnswer {
    /// It is me.
    Ok,
    /// I am another incarnation.
    Other(MemberId),
    /// It is me, and my application does not work.
    Sick,
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
        }
    }
}
