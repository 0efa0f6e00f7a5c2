//! When a member asks for a view because the installed one is half-decided, or because fences of it hold somebody up.

use std::time::Duration;

use crate::config::Timing;
use crate::message::UnfinishedReason;
use crate::time::Timestamp;

/// Doublings after which a member that asks in vain waits no longer: 8 R.
const DOUBLINGS_MAX: u32 = 3;
/// Time without fences, in T, after which they are taken to be over.
const QUIET: u32 = 4;

/// What this member sees of the installed view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signs {
    /// When it accepted a change.
    pub(crate) accepted: Option<Timestamp>,
    /// When it granted the oldest fence in force.
    pub(crate) fenced: Option<Timestamp>,
    /// Whether it is isolated and hears a majority all the same.
    pub(crate) isolated_among_many: bool,
}

/// What is unfinished about the installed view, and how patient this member is with it.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    isolated_since: Option<Timestamp>,
    /// When this member last was under a fence or had granted one.
    held_at: Timestamp,
    /// Views in a row that changed nobody and left everything as it was.
    in_vain: u32,
}

impl Unfinished {
    /// Why a view is due, if one is. Called once a heartbeat interval.
    //= docs/protocol.md#vw-23
    pub(crate) fn update(
        &mut self,
        now: Timestamp,
        timing: &Timing,
        signs: Signs,
    ) -> Option<UnfinishedReason> {
        self.isolated_since = signs.isolated_among_many.then(|| self.isolated_since.unwrap_or(now));
        if self.is_held(signs) {
            self.held_at = now;
        } else if now.since(self.held_at) > timing.member_timeout * QUIET {
            self.in_vain = 0;
        }
        let patience = self.patience(timing);
        let older = |at: Option<Timestamp>, span| at.is_some_and(|at| now.since(at) > span);
        if older(signs.accepted, timing.check_timeout) {
            Some(UnfinishedReason::Accepted)
        } else if older(signs.fenced, patience) {
            Some(UnfinishedReason::Fenced)
        } else if older(self.isolated_since, patience) {
            Some(UnfinishedReason::Isolated)
        } else {
            None
        }
    }

    /// A view takes the place of the one in which `signs` were seen; `changes_nobody` tells that it is empty.
    pub(crate) fn handle_view_installed(&mut self, signs: Signs, changes_nobody: bool) {
        if !changes_nobody {
            self.in_vain = 0;
        } else if self.is_held(signs) {
            self.in_vain = self.in_vain.saturating_add(1);
        }
        // One more view may not help: it is asked for again only after as long a wait.
        self.isolated_since = None;
    }

    /// R, and twice as long with each view that was asked for and helped nobody.
    fn patience(&self, timing: &Timing) -> Duration {
        timing.removal_silence() * (1 << self.in_vain.min(DOUBLINGS_MAX))
    }

    fn is_held(&self, signs: Signs) -> bool {
        signs.fenced.is_some() || signs.isolated_among_many || self.isolated_since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::timing;

    const NOTHING: Signs = Signs { accepted: None, fenced: None, isolated_among_many: false };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// The first heartbeat, from `begin` on, at which a view is due.
    fn due(unfinished: &mut Unfinished, begin: u64, signs: Signs) -> Option<(u64, UnfinishedReason)> {
        let beats = (begin..begin + 20_000).step_by(50);
        beats.into_iter().find_map(|now| Some((now, unfinished.update(at(now), &timing(), signs)?)))
    }

    #[test]
    //= docs/protocol.md#vw-23
    fn a_change_accepted_and_a_fence_granted_and_isolation_among_many_make_a_view_due() {
        let mut unfinished = Unfinished::default();
        let fenced = Signs { fenced: Some(at(1_000)), ..NOTHING };
        assert_eq!(due(&mut unfinished, 1_000, NOTHING), None);
        assert_eq!(due(&mut unfinished, 1_000, fenced), Some((2_300, UnfinishedReason::Fenced)));
        let accepted = Signs { accepted: Some(at(1_000)), ..fenced };
        assert_eq!(due(&mut unfinished, 1_000, accepted), Some((1_300, UnfinishedReason::Accepted)));
        let isolated = Signs { isolated_among_many: true, ..NOTHING };
        let mut unfinished = Unfinished::default();
        assert_eq!(due(&mut unfinished, 1_000, isolated), Some((2_300, UnfinishedReason::Isolated)));
    }

    #[test]
    //= docs/protocol.md#vw-23
    fn views_that_change_nobody_are_asked_for_ever_more_rarely() {
        let mut unfinished = Unfinished::default();
        let mut now = 1_000;
        let mut waits = Vec::new();
        for _ in 0..5 {
            let fenced = Signs { fenced: Some(at(now)), ..NOTHING };
            let (asked, _) = due(&mut unfinished, now, fenced).unwrap();
            waits.push(asked - now);
            unfinished.handle_view_installed(fenced, true);
            now = asked;
        }
        assert_eq!(waits, [1_300, 2_550, 5_050, 10_050, 10_050]);
        unfinished.handle_view_installed(NOTHING, false);
        let fenced = Signs { fenced: Some(at(now)), ..NOTHING };
        assert_eq!(due(&mut unfinished, now, fenced).unwrap().0 - now, 1_300, "that view changed somebody");
    }

    #[test]
    fn patience_ends_with_four_t_without_fences() {
        let mut unfinished = Unfinished::default();
        for (quiet, waits) in [(3_900, 2_550), (4_100, 1_300)] {
            let fenced = Signs { fenced: Some(at(1_000)), ..NOTHING };
            unfinished = Unfinished { held_at: at(1_000), ..unfinished };
            unfinished.in_vain = 0;
            unfinished.handle_view_installed(fenced, true);
            unfinished.update(at(1_000 + quiet), &timing(), NOTHING);
            let begin = 1_000 + quiet;
            let fenced = Signs { fenced: Some(at(begin)), ..NOTHING };
            assert_eq!(due(&mut unfinished, begin, fenced).unwrap().0 - begin, waits);
        }
    }
}
