//! What a member tells its application, and the status that it shows on request.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Timing;
use crate::evidence::{Evidence, Reason, Verdict};
use crate::input::Misfit;
use crate::member::{ClusterId, Member, MemberId};
use crate::message::JoinRefusal;
use crate::time::Timestamp;
use crate::view::{View, ViewId};

/// A member as events name it, also after it left the view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The incarnation.
    pub id: MemberId,
    /// Its name.
    pub name: String,
}

impl From<&Member> for Subject {
    fn from(member: &Member) -> Self {
        Self { id: member.id, name: member.name.clone() }
    }
}

/// A member removed by a verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Removed {
    /// Who.
    pub member: Subject,
    /// Why: the whole chain.
    pub evidence: Arc<Evidence>,
}

/// A member removed by an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExpelledMember {
    /// Who.
    pub member: Subject,
    /// The operator's reason.
    pub reason: String,
    /// Name of the member at which the operator asked.
    pub by: String,
}

/// A view that was installed, and the difference to the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewChange {
    /// The view.
    pub view: Arc<View>,
    /// Who joined.
    pub joined: Vec<Subject>,
    /// Who left by its own wish.
    pub left: Vec<Subject>,
    /// Who was removed by a verdict.
    pub crashed: Vec<Removed>,
    /// Who was removed by an operator.
    pub expelled: Vec<ExpelledMember>,
    /// Members that are gone since the last installed view, where the single changes between are not known (the
    /// member caught up by a whole view).
    pub gone: Vec<Subject>,
}

/// Weights that decide whether a side may go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuorumReport {
    /// Weight of the members in contact, own included.
    pub weight_reachable: u32,
    /// Smallest weight that decides.
    pub weight_needed: u32,
    /// Weight of the whole view.
    pub weight_total: u32,
    /// Names of the members that are not in contact.
    pub unreachable: Vec<String>,
}

/// Two-way contact as a member sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContactReport {
    /// Names of the members heard within T.
    pub heard_from: Vec<String>,
    /// Names of the members that showed within T that they heard this one.
    pub heard_by: Vec<String>,
}

/// Why a member is no member any more without having asked for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExclusionCause {
    /// A verdict.
    Crashed(Arc<Evidence>),
    /// An operator.
    Expelled {
        /// The operator's reason.
        reason: String,
        /// Name of the member at which the operator asked.
        by: String,
    },
    /// The single changes are not known; a view of its own former members does not contain it.
    Unknown,
    /// It had founded a cluster alone and gave way to an older one of the same name.
    GaveWay {
        /// The older cluster.
        to: ClusterId,
        /// Where its coordinator is: the way in.
        at: SocketAddr,
    },
}

/// Why a member stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// It left: a view without it was decided.
    Left,
    /// It asked to leave, and no view without it came within the leave timeout.
    LeaveTimedOut,
    /// It could not join.
    JoinFailed(JoinFailure),
    /// It is out of the view; see the event before.
    Excluded,
    /// Its side lost the majority and it was told to leave then.
    QuorumLost,
    /// It was told to stop at once, or its own loop died.
    Aborted,
    /// Its transport failed, in the transport's words.
    TransportFailed(String),
}

/// What one seed answered to a joiner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SeedAnswer {
    /// Nothing came back.
    NoAnswer,
    /// Its stream was refused: nobody listens there.
    Refused,
    /// It is a process that is in no cluster yet.
    NotInCluster,
    /// It named a coordinator.
    Coordinator(SocketAddr),
    /// It belongs to a cluster of another name.
    OtherCluster(String),
    /// Somebody is there who can't be talked to.
    Misfit(Misfit),
}

impl SeedAnswer {
    /// Whether it stays so until the seed or this member is started with other settings.
    pub const fn is_misfit(&self) -> bool {
        matches!(self, Self::OtherCluster(_) | Self::Misfit(_))
    }
}

impl fmt::Display for SeedAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("no answer"),
            Self::Refused => f.write_str("refused: nobody listens there"),
            Self::NotInCluster => f.write_str("in no cluster yet"),
            Self::Coordinator(addr) => write!(f, "named {addr} as coordinator"),
            Self::OtherCluster(name) => write!(f, "belongs to cluster {name:?}"),
            Self::Misfit(misfit) => misfit.fmt(f),
        }
    }
}

/// Why a join ended without success.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinFailure {
    /// The last refusal, if any came.
    pub refusal: Option<JoinRefusal>,
    /// Each seed asked and what it last answered.
    pub seeds: Vec<(SocketAddr, SeedAnswer)>,
    /// Seeds whose names resolved to no address, as they were given: the runtime's word, since names are its affair.
    pub unresolved: Vec<String>,
    /// How long it was tried.
    pub tried_for: Duration,
}

/// What happened, in the order in which the member saw it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The member is in a view for the first time.
    Joined {
        /// That view.
        view: Arc<View>,
    },
    /// A view is in place.
    ViewInstalled(Arc<ViewChange>),
    /// A member is suspected, by this member or by one that told it.
    MemberSuspected {
        /// The suspect.
        member: Subject,
        /// The accuser.
        by: Subject,
        /// Why.
        reason: Reason,
        /// How long the accuser had not heard it.
        silent_for: Duration,
    },
    /// This member looks at a suspect for the last time.
    FinalCheckStarted {
        /// The suspect.
        member: Subject,
        /// Why.
        reason: Reason,
    },
    /// The suspect answered.
    FinalCheckPassed {
        /// The suspect.
        member: Subject,
        /// What was seen.
        evidence: Arc<Evidence>,
    },
    /// The suspect is gone or stayed silent; its removal follows when a majority agrees.
    FinalCheckFailed {
        /// The suspect.
        member: Subject,
        /// `gone` or `silent`.
        verdict: Verdict,
        /// What was seen.
        evidence: Arc<Evidence>,
    },
    /// A suspicion ended without removal.
    MemberCleared {
        /// The former suspect.
        member: Subject,
        /// Who says so: the member itself, or the one that checked it.
        by: Subject,
    },
    /// The majority can't be reached.
    QuorumLost(QuorumReport),
    /// The majority is reached again.
    QuorumRegained(QuorumReport),
    /// Two-way contact to a majority has lapsed: stop acting for the cluster.
    Isolated(ContactReport),
    /// Two-way contact to a majority is back.
    Connected(ContactReport),
    /// This incarnation is out of the view.
    Excluded {
        /// The number of the view that it is not in.
        view: ViewId,
        /// Why.
        cause: ExclusionCause,
    },
    /// A new incarnation is in, after an exclusion.
    Rejoined {
        /// The view that contains it.
        view: Arc<View>,
    },
    /// This process stood still.
    Paused {
        /// For how long.
        lasted: Duration,
    },
    /// A pair's link works badly while the member lives.
    LinkDegraded(LinkReport),
    /// A pair's link works again.
    LinkRecovered(LinkReport),
    /// Another member is first in office.
    CoordinatorChanged {
        /// The former one.
        from: Subject,
        /// The new one.
        to: Subject,
    },
    /// Another cluster of the same name is around.
    ClusterConflict {
        /// Its id.
        other_cluster: ClusterId,
        /// Where its coordinator is.
        other_coordinator: SocketAddr,
        /// Its members.
        other_size: u32,
    },
    /// The member stopped; nothing follows.
    Stopped {
        /// Why.
        reason: StopReason,
    },
    /// The reader was too slow: this many events are missing before the next one.
    Lagged(u64),
}

/// A link as one member measures it from numbers and echoes.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkReport {
    /// The other end.
    pub member: Subject,
    /// Share of datagrams towards this member that were lost, 0 to 1.
    pub loss_in: f32,
    /// Share of datagrams from this member that were lost, 0 to 1.
    pub loss_out: f32,
    /// Smoothed round trip, if measured.
    pub rtt: Option<Duration>,
}

impl Eq for LinkReport {}

/// Where a member stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Not in a view yet.
    Joining,
    /// In a view, connected to a majority.
    Member,
    /// In a view, without two-way contact to a majority.
    Isolated,
    /// In a view, and the majority can't be reached.
    NoQuorum,
    /// Out of the view.
    Excluded,
    /// Leaving, or left.
    Leaving,
}

/// How another member looks from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberStatus {
    /// Nothing is wrong.
    Alive,
    /// Suspected, here or by an accuser.
    Suspect,
    /// In a check or a final check.
    Checking,
}

/// One member's row in [`Status`].
#[derive(Clone, PartialEq, Debug)]
pub struct MemberRow {
    /// Its record.
    pub member: Member,
    /// First view that contains it.
    pub joined_in: ViewId,
    /// How it looks from here.
    pub status: MemberStatus,
    /// Time since the last contact; zero for oneself, and for one that sends no heartbeats here (large views).
    pub silent_for: Duration,
    /// Name of the member that watches it, as the ring says.
    pub watched_by: Option<String>,
    /// Smoothed round trip, if measured.
    pub rtt: Option<Duration>,
    /// Share of datagrams from it that were lost, 0 to 1.
    pub loss_in: f32,
    /// Share of datagrams to it that were lost, 0 to 1.
    pub loss_out: f32,
}

/// A member's own account of itself and its cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// This incarnation's record.
    pub me: Member,
    /// Where it stands.
    pub state: State,
    /// The installed view, if any.
    pub view: Option<Arc<View>>,
    /// Weights.
    pub quorum: QuorumReport,
    /// Until when two-way contact to a majority is certain.
    pub connected_until: Timestamp,
    /// The same, as time left.
    pub connected_for: Duration,
    /// The timing in force.
    pub timing: Timing,
    /// One row a member, in view order.
    pub members: Vec<MemberRow>,
}
