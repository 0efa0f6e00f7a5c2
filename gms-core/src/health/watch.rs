//! Watching: the first member after this one in the ring that it does not suspect, and the checks of those that fell
//! silent.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;

use crate::evidence::Reason;
use crate::health::asking::{Asking, TIMES};
use crate::health::clearing::Clearings;
use crate::hubs;
use crate::member::MemberId;
use crate::outbox::Outbox;
use crate::planted::{self, Planted};
use crate::quorum;
use crate::ring;
use crate::scene::Scene;
use crate::time::Timestamp;
use crate::timer::WakeReason;

/// A question to a member that fell silent.
#[derive(Debug)]
struct Check {
    asking: Asking,
    began: Timestamp,
    ends: Timestamp,
}

/// What the watcher knows beyond its own checks.
#[derive(Clone, Copy)]
pub(super) struct Knowledge<'a> {
    pub(super) clearings: &'a Clearings,
    pub(super) is_suspect: &'a dyn Fn(&MemberId) -> bool,
}

impl Knowledge<'_> {
    fn silence(&self, scene: Scene<'_>, place: usize) -> Duration {
        scene.now.since(self.clearings.watched_since(scene.contacts.at(place)))
    }
}

/// The watcher.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Not later than the next thing to do. Contact only moves it back, so it is worked out when it comes.
    due: Timestamp,
    checks: BTreeMap<MemberId, Check>,
}

impl Watch {
    /// Whether a check of `id` runs.
    pub(super) fn is_checking(&self, id: &MemberId) -> bool {
        self.checks.contains_key(id)
    }

    /// A contact ends the check.
    pub(super) fn handle_contact(&mut self, id: &MemberId) {
        self.checks.remove(id);
    }

    /// Looks anew at whom to watch when time is next believed: suspects, clearings or the view are others.
    pub(super) const fn reconsider(&mut self) {
        self.due = Timestamp::ZERO;
    }

    /// When to look, and what for.
    pub(super) fn poll_timeout(&self) -> (Timestamp, WakeReason) {
        (self.due, if self.checks.is_empty() { WakeReason::Watch } else { WakeReason::Check })
    }

    /// Repeats requests and ends checks. Returns those who failed and are to be suspected.
    pub(super) fn end_checks(
        &mut self,
        scene: Scene<'_>,
        known: Knowledge<'_>,
        out: &mut Outbox,
    ) -> Vec<MemberId> {
        if scene.now < self.due {
            return Vec::new();
        }
        let mut ended = Vec::new();
        for (id, check) in &mut self.checks {
            if scene.now >= check.ends {
                ended.push(*id);
            } else if check.asking.is_due(scene.now) && check.asking.sent() < TIMES {
                check.asking.ask(scene.now, out);
            }
        }
        let failed: Vec<MemberId> =
            ended.iter().copied().filter(|id| self.has_failed(scene, known, id)).collect();
        let accused = self.accusable(scene, known, &failed);
        let subject = subject(scene, known).map(|place| scene.contacts.at(place).id());
        for id in ended {
            if failed.contains(&id) && !accused.contains(&id) && subject == Some(id) {
                self.repeat(scene, &id, out);
            } else {
                self.checks.remove(&id);
            }
        }
        accused
    }

    /// Begins the checks that are due and plans the next look.
    pub(super) fn begin_checks(
        &mut self,
        scene: Scene<'_>,
        known: Knowledge<'_>,
        rng: &mut Rng,
        out: &mut Outbox,
    ) {
        if scene.now < self.due {
            return;
        }
        let Some(place) = subject(scene, known) else {
            self.due = self.next_check();
            return;
        };
        let record = scene.contacts.at(place);
        let patience = known.clearings.patience(&record.id(), scene.timing());
        if self.is_checking(&record.id()) {
            self.due = self.next_check();
        } else if known.silence(scene, place) >= patience {
            self.begin(scene, record.id(), rng, out);
            self.begin_beside(scene, known, place, rng, out);
            self.due = self.next_check();
        } else {
            self.due = self.next_check().min(known.clearings.watched_since(record) + patience);
        }
    }

    /// Begins a check of `id` whose silence is not old: a sign says that something is wrong, and a look could not tell
    /// what.
    //= docs/protocol.md#fd-29
    pub(super) fn begin_at_once(
        &mut self,
        scene: Scene<'_>,
        known: Knowledge<'_>,
        id: MemberId,
        rng: &mut Rng,
        out: &mut Outbox,
    ) {
        if !self.is_checking(&id) && !(known.is_suspect)(&id) {
            self.begin(scene, id, rng, out);
            self.due = self.next_check();
        }
    }

    /// Extends the running checks by a pause of this process.
    //= docs/protocol.md#fd-26
    pub(super) fn handle_pause(&mut self, pause: Duration) {
        for check in self.checks.values_mut() {
            check.asking.move_by(pause);
            check.ends = check.ends + pause;
        }
        self.reconsider();
    }

    /// Forgets members that are out.
    pub(super) fn handle_view_installed(&mut self, scene: Scene<'_>) {
        self.checks.retain(|id, _| scene.view.contains(id));
        self.reconsider();
    }

    fn begin(&mut self, scene: Scene<'_>, id: MemberId, rng: &mut Rng, out: &mut Outbox) {
        let span = scene.timing().check_timeout;
        let mut asking = Asking::new(rng, scene.now, span, id, Reason::Silent);
        asking.ask(scene.now, out);
        self.checks.insert(id, Check { asking, began: scene.now, ends: scene.now + span });
    }

    /// Adjacent losses are found together. A member that can't trust itself asks its subject alone: it would ask
    /// everybody. Where the subject sends no heartbeats here, nothing is known of those after it either: it asks as many of
    /// them as it has passed, so that each time twice as many are settled.
    //= docs/protocol.md#fd-9
    //= docs/protocol.md#lv-4
    fn begin_beside(
        &mut self,
        scene: Scene<'_>,
        known: Knowledge<'_>,
        first: usize,
        rng: &mut Rng,
        out: &mut Outbox,
    ) {
        if scene.isolated || scene.sick {
            return;
        }
        let len = scene.view.len();
        let Some(me) = scene.view.place(&scene.me.id) else { return };
        let is_suspect = |place: usize| (known.is_suspect)(&scene.contacts.at(place).id());
        let is_expected = |place: usize| scene.contacts.at(place).is_expected();
        let is_silent = |place| {
            let is_quiet = known.silence(scene, place) > scene.timing().short_silence();
            is_suspect(place) || is_expected(place) && is_quiet
        };
        let run: Vec<usize> = if is_expected(first) {
            ring::silent_run(len, me, first, is_silent).collect()
        } else {
            let passed = (first + len - me - 1) % len;
            let width = passed.max(hubs::predecessors(scene.view).unwrap_or(1));
            let unheard = ring::after(len, first).take_while(|place| *place != me).take(width - 1);
            unheard.filter(|place| !is_expected(*place)).collect()
        };
        for place in run {
            let id = scene.contacts.at(place).id();
            if !is_suspect(place) && !self.is_checking(&id) {
                self.begin(scene, id, rng, out);
            }
        }
    }

    fn repeat(&mut self, scene: Scene<'_>, id: &MemberId, out: &mut Outbox) {
        if let Some(check) = self.checks.get_mut(id) {
            check.began = scene.now;
            check.ends = scene.now + scene.timing().check_timeout;
            check.asking.restart(scene.now);
            check.asking.ask(scene.now, out);
        }
    }

    /// Looks once more: contact, or somebody's clearing, since the check began.
    //= docs/protocol.md#fd-10
    fn has_failed(&self, scene: Scene<'_>, known: Knowledge<'_>, id: &MemberId) -> bool {
        let began = self.checks.get(id).map_or(Timestamp::ZERO, |check| check.began);
        let heard = scene.contacts.get(id).is_none_or(|record| known.clearings.watched_since(record) > began);
        !heard && !(known.is_suspect)(id)
    }

    /// Those of `failed` that this member may accuse: it trusts itself where it heard from somebody else since they fell
    /// silent, where its own weight is more than half, and in a view of two, in which its loop ran on time.
    //= docs/protocol.md#fd-18
    //= docs/protocol.md#fd-27
    fn accusable(&self, scene: Scene<'_>, known: Knowledge<'_>, failed: &[MemberId]) -> Vec<MemberId> {
        let isolated = scene.isolated && !planted::is(Planted::IsolatedAccuses);
        if failed.is_empty() || isolated || scene.sick {
            return Vec::new();
        }
        let own = scene.view.weight_of(&scene.me.id);
        if planted::is(Planted::DeafAccuses)
            || scene.view.len() == 2
            || quorum::is_majority(own, scene.view.weight())
        {
            return failed.to_vec();
        }
        let others = scene.others().filter(|m| !failed.contains(&m.id) && !(known.is_suspect)(&m.id));
        let heard = others.filter_map(|m| scene.contacts.get(&m.id)?.contact_unmoved()).max();
        let fell_silent = |id: &MemberId| {
            let record = scene.contacts.get(id)?;
            let fell_silent = record.last_contact() + scene.timing().member_timeout / 2;
            // Of one that sends no heartbeats here only the check itself is known.
            Some(if record.is_expected() { fell_silent } else { fell_silent.max(self.checks.get(id)?.began) })
        };
        let is_trusted =
            |id: &&MemberId| heard.zip(fell_silent(id)).is_some_and(|(heard, silent)| heard > silent);
        failed.iter().filter(is_trusted).copied().collect()
    }

    fn next_check(&self) -> Timestamp {
        let next = |check: &Check| {
            if check.asking.sent() < TIMES { check.ends.min(check.asking.next_at()) } else { check.ends }
        };
        self.checks.values().map(next).min().unwrap_or(Timestamp::FAR_FUTURE)
    }
}

/// The place of the member that this one watches.
//= docs/protocol.md#fd-7
pub(super) fn subject(scene: Scene<'_>, known: Knowledge<'_>) -> Option<usize> {
    let me = scene.view.place(&scene.me.id)?;
    ring::watched(scene.view.len(), me, |place| (known.is_suspect)(&scene.contacts.at(place).id()))
}

#[cfg(test)]
mod tests;
