//! One death: a steady cluster, a fault, the survivors' new view, and what it took.

use std::collections::BTreeMap;
use std::time::Duration;

use gms_core::runtime::clock;
use gms_core::time::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::cluster::{Cluster, Seen, SeenView};
use super::plan::Plan;
use crate::args::Fault;
use crate::diagram::{Mark, Sequence, Window};
use crate::event_json::millis;
use crate::exit::Failure;
use crate::trace::Line;

/// Beyond the protocol's own bounds, what a loaded machine may add before the demo gives up.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most lanes that a diagram shows; of more members, those that matter least are left out.
const LANES_MAX: usize = 12;
/// What a diagram shows beyond the last survivor's view.
const AFTERMATH: Duration = Duration::from_millis(20);

/// What one death came to.
pub(super) struct Death {
    /// Who died.
    pub(super) victims: Vec<String>,
    /// Who was first in office before.
    pub(super) coordinator: String,
    /// The survivors' view.
    pub(super) view: Option<SeenView>,
    /// From the fault to each survivor's view without the victims.
    pub(super) took: Vec<(String, Duration)>,
    /// Views from the fault to that one.
    pub(super) views: u64,
    /// From the continuation of stopped victims until each knew that it is out, and was in again.
    pub(super) back: Vec<(String, Option<Duration>, Option<Duration>)>,
    /// What was said.
    pub(super) sequence: Sequence,
    /// What was done.
    pub(super) fault: Fault,
    /// What was not as it must be.
    pub(super) problem: Option<String>,
}

/// Plays the plan.
pub(super) fn play(plan: &Plan, cluster: &mut Cluster) -> Result<Death, Failure> {
    let longest = plan.member_timeout * 10 + PATIENCE;
    cluster.start(plan)?;
    cluster.wait("one view of all members", longest, |seen| {
        agreed(seen, |_| true).is_some_and(|v| v.members.len() == plan.members)
    })?;
    // Everybody has heard everybody once: a steady cluster.
    cluster.watch(plan.member_timeout * 2 / 5)?;
    let before = agreed(&cluster.seen, |_| true)
        .ok_or_else(|| Failure::fault("the cluster was not steady before the fault"))?;
    let victims = plan.choose(&before.members);
    let coordinator = before.members.first().cloned().unwrap_or_default();
    let fault_at = strike(plan, cluster, &victims)?;
    let survives = |name: &String| !victims.contains(name);
    cluster.wait("all survivors to install one view without the victims", longest, |seen| {
        agreed(seen, survives).is_some_and(|v| v.members.iter().all(survives))
            && (plan.fault != Fault::Leave || victims.iter().all(|v| seen[v].ended))
    })?;
    cluster.watch(plan.member_timeout / 5 + Duration::from_millis(100))?;
    let view = agreed(&cluster.seen, survives);
    let problem = problem(plan, &cluster.seen, &victims, &before);
    let mut continued_at = None;
    if plan.fault == Fault::Stop {
        continued_at = Some(revive(cluster, &victims, longest, plan.members)?);
    }
    cluster.story.finish()?;
    let mut death = Death {
        coordinator,
        took: Vec::new(),
        views: view.as_ref().map_or(0, |view| view.number.saturating_sub(before.number)),
        view,
        back: Vec::new(),
        sequence: Sequence { lanes: Vec::new(), rows: Vec::new() },
        fault: plan.fault,
        problem,
        victims,
    };
    measure(&mut death, cluster.story.traces(), &before.members, fault_at, continued_at);
    Ok(death)
}

/// The view that all members of whom `of` holds have, if it is one.
fn agreed(seen: &BTreeMap<String, Seen>, of: impl Fn(&String) -> bool) -> Option<SeenView> {
    let mut views = seen.iter().filter(|(name, _)| of(name)).map(|(_, s)| s.view.as_ref());
    let first = views.next()??;
    views.all(|view| view == Some(first)).then(|| first.clone())
}

fn strike(plan: &Plan, cluster: &mut Cluster, victims: &[String]) -> Result<Timestamp, Failure> {
    let (signal, word) = match plan.fault {
        Fault::Kill => (Signal::KILL, "is killed (SIGKILL)"),
        Fault::Stop => (Signal::STOP, "is stopped (SIGSTOP)"),
        Fault::Leave => (Signal::TERM, "is told to leave (SIGTERM)"),
    };
    cluster.story.listen(clock::now());
    let at = clock::now();
    for victim in victims {
        cluster.member(victim)?.signal(signal)?;
    }
    for victim in victims {
        cluster.story.mark(at, victim, word);
    }
    Ok(at)
}

fn revive(
    cluster: &mut Cluster,
    victims: &[String],
    longest: Duration,
    members: usize,
) -> Result<Timestamp, Failure> {
    let at = clock::now();
    for victim in victims {
        cluster.member(victim)?.signal(Signal::CONT)?;
        cluster.story.mark(at, victim, "is continued (SIGCONT)");
    }
    cluster.wait("the continued members to learn that they are out, and to join again", longest, |seen| {
        victims.iter().all(|v| seen[v].excluded && seen[v].rejoined)
            && agreed(seen, |_| true).is_some_and(|view| view.members.len() == members)
    })?;
    Ok(at)
}

/// What is not as it must be once the survivors have their view.
fn problem(
    plan: &Plan,
    seen: &BTreeMap<String, Seen>,
    victims: &[String],
    before: &SeenView,
) -> Option<String> {
    for (name, seen) in seen.iter().filter(|(name, _)| !victims.contains(name)) {
        if let Some(other) = seen.removed.iter().find(|removed| !victims.contains(removed)) {
            return Some(format!("{name} saw {other} removed, to which nothing had happened"));
        }
        let missing = before.members.len() - victims.len();
        if seen.view.as_ref().is_none_or(|view| view.members.len() != missing) {
            return Some(format!("{name} does not have the view of the {missing} survivors"));
        }
        if seen.ended {
            return Some(format!("{name} ended, to which nothing had happened"));
        }
    }
    let gone = |name: &String| seen[name].ended;
    (plan.fault == Fault::Kill && !victims.iter().all(gone))
        .then(|| String::from("a killed process still has its stdout open"))
}

/// Takes times and the diagram from the traces.
fn measure(
    death: &mut Death,
    traces: &BTreeMap<String, Vec<Line>>,
    members: &[String],
    fault_at: Timestamp,
    continued_at: Option<Timestamp>,
) {
    let event_at = |name: &String, since: Timestamp, is: &dyn Fn(&Line) -> bool| {
        let mut lines = traces.get(name)?.iter().filter(|l| l.step == "event" && l.at_ns >= since.as_nanos());
        lines.find(|line| is(line)).map(|line| Duration::from_nanos(line.at_ns - since.as_nanos()))
    };
    let without = |line: &Line| {
        line.text("event") == "view_installed"
            && line.list("members").iter().all(|m| death.victims.iter().all(|v| v != m))
    };
    let survivors = members.iter().filter(|name| !death.victims.contains(name));
    death.took =
        survivors.filter_map(|name| Some((name.clone(), event_at(name, fault_at, &without)?))).collect();
    if let Some(at) = continued_at {
        let named = |word: &'static str| move |line: &Line| line.text("event") == word;
        death.back = death
            .victims
            .iter()
            .map(|v| (v.clone(), event_at(v, at, &named("excluded")), event_at(v, at, &named("rejoined"))))
            .collect();
    }
    let last = death.last().unwrap_or_default();
    let to = fault_at + last + AFTERMATH;
    let window = Window { from_ns: fault_at.as_nanos(), to_ns: to.as_nanos(), zero_ns: fault_at.as_nanos() };
    let lanes = lanes(members, &death.victims);
    let lines: Vec<Vec<Line>> =
        lanes.iter().map(|name| traces.get(name).cloned().unwrap_or_default()).collect();
    let text = match death.fault {
        Fault::Kill => "killed (SIGKILL)",
        Fault::Stop => "stopped (SIGSTOP)",
        Fault::Leave => "told to leave (SIGTERM)",
    };
    let mark = |lane: &String| Mark { at_ns: fault_at.as_nanos(), lane: lane.clone(), text: text.to_owned() };
    let marks: Vec<Mark> = death.victims.iter().map(mark).collect();
    death.sequence = Sequence::build(&lanes, &lines, window, &marks);
}

/// The members that a diagram shows, in view order: the victims, who stands before and behind them in the ring, the first in
/// office, and whoever else has room.
fn lanes(members: &[String], victims: &[String]) -> Vec<String> {
    let count = members.len();
    let is_victim = |n: usize| victims.contains(&members[n % count]);
    let rank = |n: usize| match n {
        n if is_victim(n) => 0,
        0 | 1 => 1,
        n if is_victim(n + 1) || is_victim(n + count - 1) => 1,
        n => n,
    };
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by_key(|n| rank(*n));
    places.truncate(LANES_MAX.max(victims.len() + 2));
    places.sort_unstable();
    places.into_iter().map(|n| members[n].clone()).collect()
}

impl Death {
    /// From the fault to the last survivor's view.
    pub(super) fn last(&self) -> Option<Duration> {
        self.took.iter().map(|(_, took)| *took).max()
    }

    /// One line of many runs.
    pub(super) fn line(&self) -> String {
        let last = self.last().map_or_else(|| String::from("?"), seconds);
        let number = self.view.as_ref().map_or(0, |view| view.number);
        let back = self.back.iter().filter_map(|(_, _, in_again)| *in_again).max();
        let back = back
            .map_or_else(String::new, |back| format!(", in again {} after it was continued", seconds(back)));
        format!(
            "{} {}: view {number} at the last survivor after {last}{back}",
            self.victims.join(", "),
            self.word()
        )
    }

    const fn word(&self) -> &'static str {
        match self.fault {
            Fault::Kill => "killed",
            Fault::Stop => "stopped",
            Fault::Leave => "left",
        }
    }

    /// The figures for people.
    pub(super) fn figures(&self) -> String {
        let mut out = format!(
            "{} {}; time to each survivor's view without it:\n",
            self.victims.join(", "),
            self.word()
        );
        for (name, took) in &self.took {
            out.push_str(&format!("  {name:<8} {}\n", seconds(*took)));
        }
        for (name, excluded, rejoined) in &self.back {
            let of = |time: &Option<Duration>| time.map_or_else(|| String::from("?"), seconds);
            out.push_str(&format!(
                "{name} continued: knew that it is out after {}, in again as a new incarnation after {}\n",
                of(excluded),
                of(rejoined)
            ));
        }
        if let Some(view) = &self.view {
            out.push_str(&format!("view {} ({}): {}\n", view.number, view.digest, view.members.join(", ")));
        }
        let last = self.last().map_or_else(|| String::from("?"), seconds);
        let changes = if self.views == 1 { "view change" } else { "view changes" };
        out.push_str(&format!("last survivor after {last}, in {} {changes}", self.views));
        out
    }

    /// The same for programs.
    pub(super) fn json(&self) -> Value {
        let survivors: Vec<Value> =
            self.took.iter().map(|(name, took)| json!({ "name": name, "took_ms": millis(*took) })).collect();
        let back: Vec<Value> = self
            .back
            .iter()
            .map(|(name, out, again)| json!({ "name": name, "excluded_ms": out.map(millis), "rejoined_ms": again.map(millis) }))
            .collect();
        json!({
            "victims": self.victims,
            "coordinator": self.coordinator,
            "view": self.view.as_ref().map(|v| v.number),
            "digest": self.view.as_ref().map(|v| v.digest.clone()),
            "views": self.views,
            "survivors": survivors,
            "last_ms": self.last().map(millis),
            "continued": back,
        })
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
