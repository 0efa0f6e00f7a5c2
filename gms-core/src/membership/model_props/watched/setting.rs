//! What does not change during a run: members, views, spans, and the fault that is planted.

use std::sync::Arc;
use std::time::Duration;

use super::TICK;
use crate::membership::model_props::view_with;
use crate::testing;
use crate::view::{Change, View};

/// Faults that can be planted around the machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::membership::model_props) enum Flaw {
    None,
    /// Echoes are given without a note of them: a fence looks at the silence alone.
    EchoUnnoted,
    /// Whoever granted goes on echoing.
    EchoAfterGrant,
    /// One grant is counted as everybody's.
    OneGrant,
    /// The proposer knows nothing of views before its base.
    NoSettling,
    /// A victim that has accepted its own expulsion goes on counting echoes in its view.
    ExpelledCounts,
    /// The victim does not see that others have gone on to another view or change.
    BlindTally,
}

/// What does not change during a run.
#[derive(Clone, Debug)]
pub(in crate::membership::model_props) struct Setting {
    /// The views, each made by the change before it.
    pub(in crate::membership::model_props) views: Vec<Arc<View>>,
    /// The same, as the victim's clock has them.
    pub(in crate::membership::model_props) views_of_victim: Vec<Arc<View>>,
    pub(in crate::membership::model_props) changes: Vec<Arc<Change>>,
    pub(in crate::membership::model_props) members: usize,
    pub(in crate::membership::model_props) victim: usize,
    pub(in crate::membership::model_props) proposer: usize,
    /// T of the victim, in ticks of the others.
    pub(in crate::membership::model_props) lapse: u64,
    /// R, in ticks.
    pub(in crate::membership::model_props) silence: u64,
    /// Whether fences are asked for.
    pub(in crate::membership::model_props) asks: bool,
    /// Whether how much was said and how late it is belong to a state, because they are bounded.
    pub(in crate::membership::model_props) is_bounded: bool,
    pub(in crate::membership::model_props) flaw: Flaw,
}

impl Setting {
    /// Members with these weights; T and R in ticks. The victim's clock makes its own T last `lapse`.
    pub(in crate::membership::model_props) fn new(
        weights: &[u8],
        victim: usize,
        lapse: u64,
        silence: u64,
    ) -> Self {
        let timing = |ticks: u64| {
            let mut timing = testing::timing();
            timing.member_timeout = TICK * u32::try_from(ticks).expect("few ticks");
            timing.check_timeout = TICK;
            timing.heartbeat_interval = TICK / 10;
            timing
        };
        let view = |ticks| Arc::new(view_with(weights, &timing(ticks)));
        Self {
            views: vec![view(silence - 1)],
            views_of_victim: vec![view(lapse)],
            changes: Vec::new(),
            members: weights.len(),
            victim,
            proposer: usize::from(victim == 0),
            lapse,
            silence,
            asks: true,
            is_bounded: false,
            flaw: Flaw::None,
        }
    }

    /// One more view, made by what `fill` puts into a change.
    #[must_use]
    pub(in crate::membership::model_props) fn then(mut self, fill: impl FnOnce(&mut Change)) -> Self {
        let mut change = Change::empty(self.views.last().expect("there is a first view"));
        fill(&mut change);
        for views in [&mut self.views, &mut self.views_of_victim] {
            let next = views.last().expect("there is a first view").apply(&change);
            views.push(Arc::new(next.expect("a change of that view")));
        }
        self.changes.push(Arc::new(change));
        self
    }

    pub(super) fn view(&self, who: usize, number: usize) -> &Arc<View> {
        if who == self.victim { &self.views_of_victim[number] } else { &self.views[number] }
    }

    pub(in crate::membership::model_props) fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.members).filter(|who| *who != self.victim)
    }
}

impl Setting {
    pub(super) fn ticks_of_silence(&self) -> Duration {
        self.views[0].timing().removal_silence()
    }
}
