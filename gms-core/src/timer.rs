//! Why a node wakes: a closed list, so that the log can answer "why did it wake?".

use crate::time::Timestamp;

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

/// The earliest of several deadlines; of equal ones that noted first. Asked after every message, so it keeps moment and
/// reason apart: pairs of them are copied with their padding, in pieces that stall a processor.
#[derive(Debug)]
pub(crate) struct Earliest {
    at: Timestamp,
    reason: Option<WakeReason>,
}

impl Earliest {
    /// No deadline.
    pub(crate) const fn new() -> Self {
        Self { at: Timestamp::FAR_FUTURE, reason: None }
    }

    /// Takes one more deadline into account, if there is one.
    #[inline]
    pub(crate) fn note(&mut self, at: Option<Timestamp>, reason: WakeReason) {
        if let Some(at) = at
            && (at < self.at || self.reason.is_none())
        {
            self.at = at;
            self.reason = Some(reason);
        }
    }

    /// Takes one more deadline into account, if there is one.
    #[inline]
    pub(crate) fn note_pair(&mut self, deadline: Option<(Timestamp, WakeReason)>) {
        if let Some((at, reason)) = deadline {
            self.note(Some(at), reason);
        }
    }

    /// The earliest, if there is any.
    pub(crate) fn get(&self) -> Option<(Timestamp, WakeReason)> {
        self.reason.map(|reason| (self.at, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_deadlines_that_noted_first_is_the_earliest() {
        let at = |millis| Some(Timestamp::from_millis(millis));
        let mut earliest = Earliest::new();
        assert_eq!(earliest.get(), None);
        earliest.note(Some(Timestamp::FAR_FUTURE), WakeReason::Sweep);
        assert_eq!(earliest.get(), Some((Timestamp::FAR_FUTURE, WakeReason::Sweep)));
        earliest.note(at(7), WakeReason::Watch);
        earliest.note(None, WakeReason::Leaving);
        earliest.note_pair(Some((Timestamp::from_millis(7), WakeReason::Drain)));
        assert_eq!(earliest.get(), Some((Timestamp::from_millis(7), WakeReason::Watch)));
        earliest.note(at(6), WakeReason::Fence);
        assert_eq!(earliest.get(), Some((Timestamp::from_millis(6), WakeReason::Fence)));
    }
}
