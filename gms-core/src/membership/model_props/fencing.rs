//! Fences and isolation (p-5, vw-6, vw-17, vw-20 to vw-22, decision 4): whoever is removed for silence knows before.

use stateright::{Model, Property};

use super::report::{breaks, holds};
use super::watched::{Flaw, Scenery, Setting};
use super::{is_full, phantom};
use crate::testing::id;
use crate::view::{Change, Expelled};

/// Bounds of a run, on top of its setting.
#[derive(Clone, Debug)]
struct Fenced {
    setting: Setting,
    /// In which view's time fences are asked for, and later.
    base: usize,
    /// The view that lacks the victim, by a change that needs no fence.
    without: Option<usize>,
    /// How many ticks go by and how many datagrams go each way at most; `None` where runs of any length are explored.
    bound: Option<(u64, usize, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Wait,
    Speak(usize),
    Hear(usize),
    Answer(usize),
    Learn(usize),
    Ask(usize),
    Accept(usize),
    Install(usize, usize),
}

const WARNED: &str = "when the victim's removal for silence may be proposed it is isolated";
const IN_TIME: &str = "when a removal without fences is as old as the victim's T it is isolated";

impl Model for Fenced {
    type State = Scenery;
    type Action = Step;

    fn init_states(&self) -> Vec<Scenery> {
        vec![Scenery::new(&self.setting)]
    }

    fn actions(&self, scenery: &Scenery, steps: &mut Vec<Step>) {
        let start = self.setting.silence + 1;
        let (ticks, spoken, answered) = self.bound.unwrap_or((u64::MAX - start, usize::MAX, usize::MAX));
        if scenery.tick < start + ticks {
            steps.push(Step::Wait);
        }
        for who in self.setting.others() {
            if scenery.knows_victim(&self.setting, who) {
                steps.extend([Step::Hear(who), Step::Learn(who)]);
                steps.extend((scenery.spoken() < spoken).then_some(Step::Speak(who)));
                steps.extend((scenery.answered() < answered).then_some(Step::Answer(who)));
            }
            if self.setting.asks && scenery.peer(self.setting.proposer).view >= self.base {
                steps.push(Step::Ask(who));
            }
        }
        for who in 0..self.setting.members {
            if !self.setting.changes.is_empty() {
                steps.push(Step::Accept(who));
                let numbers = 1..self.setting.views.len();
                steps.extend(numbers.map(|number| Step::Install(who, number)));
            }
        }
    }

    fn next_state(&self, scenery: &Scenery, step: Step) -> Option<Scenery> {
        let mut next = scenery.clone();
        let setting = &self.setting;
        let happens = match step {
            Step::Wait => {
                next.wait(setting);
                true
            }
            Step::Speak(who) => next.speak(setting, who),
            Step::Hear(who) => next.hear(setting, who),
            Step::Answer(who) => next.answer(setting, who),
            Step::Learn(who) => next.learn(setting, who),
            Step::Ask(who) => next.ask(setting, who),
            Step::Accept(who) => next.accept(setting, who),
            Step::Install(who, number) => next.install(setting, who, number),
        };
        happens.then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties =
            vec![Property::sometimes("the victim is connected", |model: &Self, now: &Scenery| {
                now.is_connected(&model.setting)
            })];
        if self.setting.asks {
            properties.extend([
                Property::always(WARNED, |model: &Self, now: &Scenery| {
                    !now.is_ready(&model.setting) || !now.is_connected(&model.setting)
                }),
                Property::sometimes("its removal may be proposed", |model: &Self, now: &Scenery| {
                    now.is_ready(&model.setting)
                }),
            ]);
            if !self.setting.changes.is_empty() {
                properties.push(Property::sometimes(
                    "its removal may be proposed while it is in an older view",
                    |model: &Self, now: &Scenery| {
                        let setting = &model.setting;
                        let base = now.peer(setting.proposer).view;
                        now.is_ready(setting) && now.peer(setting.victim).view < base
                    },
                ));
            }
        }
        if self.without.is_some() {
            properties.push(Property::always(IN_TIME, |model: &Self, now: &Scenery| {
                let old = model.without.and_then(|number| now.decided_for(number));
                old.is_none_or(|age| age < model.setting.lapse) || !now.is_connected(&model.setting)
            }));
        }
        properties
    }
}

/// Three members and one view, for ever; the victim's T lasts as long as the others' R, which is the most by which clocks
/// may differ.
fn one_view(victim: usize, ticks: u64) -> Fenced {
    let setting = Setting::new(&[10, 10, 10], victim, ticks, ticks);
    Fenced { setting, base: 0, without: None, bound: None }
}

/// Three members of which the victim may stay in the first of three views, while the others go on.
fn three_views(ticks: u64, bound: Option<(u64, usize, usize)>) -> Fenced {
    let join = |n| move |change: &mut Change| change.joined.push(phantom(n).into());
    let mut setting = Setting::new(&[10, 10, 10], 0, ticks, ticks).then(join(20)).then(join(21));
    setting.is_bounded = bound.is_some();
    Fenced { setting, base: 2, without: None, bound }
}

/// Four members; the last leaves, and may be all that the victim hears in the view before.
fn one_leaves(bound: (u64, usize, usize)) -> Fenced {
    let mut setting = Setting::new(&[10, 10, 10, 10], 0, 1, 1).then(|change| change.left.push(id(3)));
    setting.is_bounded = true;
    Fenced { setting, base: 1, without: None, bound: Some(bound) }
}

/// The last of three members is expelled, after `before` other changes.
fn expulsion(before: u8, ticks: u64) -> Fenced {
    let mut setting = Setting::new(&[10, 10, 10], 2, ticks, 1);
    for n in 0..before {
        setting = setting.then(|change| change.joined.push(phantom(usize::from(20 + n)).into()));
    }
    let expelled = Expelled { member: id(2), reason: "test".into(), by: "m0".into() };
    let setting = setting.then(|change| change.expelled.push(expelled));
    let setting = Setting { asks: false, ..setting };
    let without = Some(setting.changes.len());
    Fenced { setting, base: 0, without, bound: None }
}

fn with(flaw: Flaw, mut model: Fenced) -> Fenced {
    model.setting.flaw = flaw;
    model
}

#[test]
//= docs/protocol.md#vw-6
//= docs/protocol.md#vw-17
//= docs/protocol.md#vw-20
//= docs/protocol.md#vw-21
fn a_member_knows_before_its_removal_for_silence_can_be_proposed() {
    holds("fences, victim leads", one_view(0, 1));
    holds("fences, victim is last", one_view(2, 1));
    if is_full() {
        holds("fences, victim leads, R of 2 ticks", one_view(0, 2));
        holds("fences, victim is last, R of 2 ticks", one_view(2, 2));
    }
}

#[test]
fn faults_planted_around_fences_are_found() {
    for flaw in [Flaw::EchoUnnoted, Flaw::EchoAfterGrant, Flaw::OneGrant] {
        breaks(&format!("fences, {flaw:?}"), with(flaw, one_view(2, 1)), WARNED);
    }
    let slow = Setting::new(&[10, 10, 10], 2, 2, 1);
    breaks("fences, a clock too slow", Fenced { setting: slow, ..one_view(2, 1) }, WARNED);
}

#[test]
//= docs/protocol.md#vw-17
//= docs/protocol.md#vw-22
fn a_member_in_an_older_view_knows_too() {
    let bound = if is_full() { (2, 2, 2) } else { (1, 1, 1) };
    holds("fences after a leave", one_leaves(bound));
    breaks("fences after a leave, no settling", with(Flaw::NoSettling, one_leaves(bound)), WARNED);
    holds("fences two views on", three_views(1, Some(if is_full() { (3, 3, 3) } else { (1, 1, 1) })));
}

#[test]
//= docs/protocol.md#vw-17
fn a_member_that_is_expelled_knows_in_time() {
    holds("expelled", expulsion(0, 1));
    breaks("expelled, counts on", with(Flaw::ExpelledCounts, expulsion(0, 1)), IN_TIME);
    breaks("expelled, blind to heads", with(Flaw::BlindTally, expulsion(0, 1)), IN_TIME);
    if is_full() {
        holds("expelled one view later", expulsion(1, 1));
        holds("expelled, T of 2 ticks", expulsion(0, 2));
    }
}
