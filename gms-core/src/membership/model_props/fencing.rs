//! Fences and isolation (p-5, vw-6, vw-17, vw-20 to vw-22, decision 4): whoever is removed for silence knows before.

use stateright::{Model, Property};

use super::report::{breaks, holds};
use super::watched::{Flaw, Scenery, Setting};
use super::{is_full, phantom};
use crate::testing::id;

/// Bounds of a run, on top of its setting.
#[derive(Clone, Debug)]
struct Fenced {
    setting: Setting,
    /// Whether fences are asked for.
    asks: bool,
    /// The view that lacks the victim, by a change that needs no fence.
    without: Option<usize>,
    /// How many ticks go by at most; `None` where runs of any length are explored.
    ticks: Option<u64>,
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
        if self.ticks.is_none_or(|ticks| scenery.tick < start + ticks) {
            steps.push(Step::Wait);
        }
        for who in self.setting.others() {
            if scenery.knows_victim(&self.setting, who) {
                steps.extend([Step::Speak(who), Step::Hear(who), Step::Answer(who), Step::Learn(who)]);
            }
            if self.asks {
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
        let mut properties = vec![Property::sometimes("the victim is connected", |model: &Self, now: &Scenery| {
            now.is_connected(&model.setting)
        })];
        if self.asks {
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

/// Three members and one view; the victim's T lasts as long as the others' R, which is the most that clocks may differ.
fn one_view(victim: usize, ticks: u64) -> Fenced {
    let setting = Setting::new(&[10, 10, 10], victim, ticks, ticks);
    Fenced { setting, asks: true, without: None, ticks: None }
}

#[test]
//= docs/protocol.md#vw-6
//= docs/protocol.md#vw-17
//= docs/protocol.md#vw-20
//= docs/protocol.md#vw-21
fn a_member_knows_before_its_removal_for_silence_can_be_proposed() {
    holds("fences, the lead member", one_view(0, 2));
    holds("fences, the last of three", one_view(2, 2));
}

#[test]
fn faults_planted_around_fences_are_found() {
    for flaw in [Flaw::EchoUnnoted, Flaw::EchoAfterGrant, Flaw::OneGrant] {
        let mut model = one_view(2, 2);
        model.setting = model.setting.with(flaw);
        breaks(&format!("fences, {flaw:?}"), model, WARNED);
    }
    let slow = Setting::new(&[10, 10, 10], 2, 3, 2);
    breaks("fences, a clock too slow", Fenced { setting: slow, ..one_view(2, 2) }, WARNED);
}

#[test]
//= docs/protocol.md#vw-17
fn a_member_removed_without_fences_knows_in_time() {
    let one = Setting::new(&[10, 10, 10], 2, 1, 2);
    let removals: [(&str, Setting); 2] = [
        ("expelled", one.clone().then(|c| c.expelled.push(expelled(2)))),
        ("expelled one view later", one.then(|c| c.joined.push(phantom(20))).then(|c| c.expelled.push(expelled(2)))),
    ];
    for (name, setting) in removals {
        let without = Some(setting.changes.len());
        holds(name, Fenced { setting, asks: false, without, ticks: None });
    }
}

fn expelled(n: u8) -> crate::view::Expelled {
    crate::view::Expelled { member: id(n), reason: "test".into(), by: "m0".into() }
}
