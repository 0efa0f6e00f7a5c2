//! Why a node wakes: a closed list, so that the log can answer "why did it wake?".

/// What a deadline is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WakeReason {
    /// Output is queued: drain it first.
    Drain,
    /// To send the periodic heartbeats.
    Heartbeat,
    /// To see whether the watched member has been silent for T.
    Watch,
    /// To repeat or end a check of a silent member.
    Check,
    /// To repeat an accusation.
    Suspicion,
    /// To repeat, conclude or grace a final check.
    FinalCheck,
    /// To answer a checker's request to look for oneself.
    Verification,
    /// To look for members silent for R.
    Sweep,
    /// To see two-way contact lapse.
    Isolation,
    /// To report the majority lost or regained, or to leave because it is lost.
    Quorum,
    /// To close the window in which changes are collected, or to repeat a proposal's requests.
    Proposal,
    /// To grant a fence that is held.
    Fence,
    /// To ask for a view that is missing.
    CatchUp,
    /// To ask seeds, to found, or to give up joining.
    Joining,
    /// To probe joiners, or to let them in.
    Admission,
    /// To announce the cluster to seeds outside of it.
    Announce,
    /// To repeat a leave, or to stop waiting for it.
    Leaving,
}
