//! `report.md`: the tables.

use std::time::Duration;

use super::matching;
use super::report::{Cell, Report};
use super::targets;
use crate::outcome::{Idle, Noticed};
use crate::scenario::Scenario;
use crate::system::{System, Tuning};
use crate::transport::Carrier;

/// A run's time for who watches.
pub(super) fn noticed(noticed: &Noticed) -> String {
    let mut text = match noticed.last_s {
        Some(seconds) => format!("last survivor after {}", time(seconds)),
        None => {
            let seen = noticed.survivors_s.iter().flatten().count();
            format!("noticed by {seen} of {} survivors only", noticed.survivors_s.len())
        }
    };
    if let Some(views) = noticed.views {
        text.push_str(&format!(", {views} view{}", if views == 1 { "" } else { "s" }));
    }
    if noticed.false_reports > 0 {
        text.push_str(&format!(", {} healthy members not seen", noticed.false_reports));
    }
    text
}

/// A run's cost for who watches.
pub(super) fn idle(idle: &Idle) -> String {
    let bytes = idle.bytes.map_or(String::new(), |bytes| format!("{bytes:.0} bytes/s, "));
    format!("{bytes}{:.2} ms CPU/s, {:.1} MiB", idle.cpu_ms, idle.rss_mib)
}

/// The whole report.
pub(super) fn render(report: &Report, charts: &[&str]) -> String {
    let mut text = String::from("# GMS beside other membership systems\n\n");
    text.push_str(&how(report));
    for members in report.sizes() {
        text.push_str(&detection(report, members));
        text.push_str(&loss(report, members));
        text.push_str(&costs(report, members));
    }
    text.push_str(&curve(report));
    text.push_str(&targets::render(report));
    text.push_str(&losses_of_gms(report));
    for chart in charts {
        text.push_str(&format!("\n![{}]({chart})\n", chart.trim_end_matches(".svg").replace('-', " ")));
    }
    text
}

fn how(report: &Report) -> String {
    let (machine, settings) = (&report.machine, &report.settings);
    let seconds = |ms: u64| ms as f64 / 1000.0;
    let place = if settings.namespaces { "a network namespace of its own" } else { "loopback" };
    let mut text = format!(
        "Made by `gms-bench compare` of GMS {} on {} processors ({}), Linux {}, load {} at the start. Each member is a \
         process with {place}; clusters stood for {} s before a fault. Other systems have the defaults that they \
         document for local networks; {} means T = {} s.\n",
        machine.gms,
        machine.processors,
        machine.processor,
        machine.kernel,
        machine.load,
        seconds(settings.settle_ms),
        "`gms`",
        seconds(settings.member_timeout_ms),
    );
    let gms = Tuning::at(Duration::from_millis(settings.member_timeout_ms));
    // Settings other than the defaults use one transport, the first of those that were run.
    let matched = Carrier::ALL.map(|carrier| matching::settings(gms.over(carrier), &report.runs));
    // A report of several runs has settings of each; what would be matched over all of them was never run.
    let was_run = |tuning: Tuning| report.runs.iter().any(|run| run.system == System::Gms(tuning));
    let matched = matched.into_iter().find(|matched| !matched.is_empty()).into_iter().flatten();
    for (tuning, peer) in matched.filter(|(tuning, _)| was_run(*tuning)) {
        let line = format!("\n`{}` is set to send as many bytes as {peer}.\n", System::Gms(tuning).name());
        text.push_str(&line);
    }
    for note in &report.notes {
        text.push_str(&format!("\nNote: {note}.\n"));
    }
    text
}

/// A duration as a person would say it.
pub(super) fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

fn detection(report: &Report, members: usize) -> String {
    let scenarios: Vec<Scenario> = Scenario::ALL.into_iter().filter(|s| s.has_victims()).collect();
    let cell = |cell: &Cell| {
        if cell.is_empty() {
            return "–".to_owned();
        }
        let mut text = cell.times().map_or_else(
            || "never".to_owned(),
            |spread| format!("{} / {} ({})", time(spread.median), time(spread.max), spread.count),
        );
        if let Some(views) = cell.views.filter(|views| *views > 1) {
            text.push_str(&format!(", up to {views} views"));
        }
        for (count, what) in [
            (cell.unnoticed, "not noticed"),
            (cell.failed, "failed"),
            (cell.false_reports, "healthy members not seen"),
        ] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text
    };
    let title =
        format!("Fault to the last survivor that sees it, {members} members: median / largest (runs)");
    table(report, members, &title, &scenarios, |scenario| name(report, scenario), |c, _| cell(c))
}

fn name(report: &Report, scenario: Scenario) -> String {
    if scenario.is_several() {
        return format!("{} ({})", scenario.name(), report.settings.victims);
    }
    scenario.name().to_owned()
}

fn loss(report: &Report, members: usize) -> String {
    let scenarios = [Scenario::LossAll, Scenario::LossOne];
    let title = format!(
        "{} % loss for {} s, {members} members: how often a member stopped seeing a healthy one, in all runs (runs)",
        report.settings.loss_percent,
        report.settings.loss_for_ms / 1000
    );
    let cell = |cell: &Cell| {
        if cell.watched.is_empty() {
            return if cell.failed > 0 { format!("{} failed", cell.failed) } else { "–".to_owned() };
        }
        let reports: usize = cell.watched.iter().map(|watched| watched.false_reports).sum();
        format!("{reports} ({})", cell.watched.len())
    };
    table(report, members, &title, &scenarios, |scenario| scenario.name().to_owned(), |c, _| cell(c))
}

/// A table with a row for each system and a column for each scenario; empty where nothing was run.
fn table(
    report: &Report,
    members: usize,
    title: &str,
    scenarios: &[Scenario],
    head: impl Fn(Scenario) -> String,
    cell: impl Fn(&Cell, &System) -> String,
) -> String {
    let ran = |scenario: &Scenario| {
        report.runs.iter().any(|run| run.members == members && run.scenario == *scenario)
    };
    let scenarios: Vec<Scenario> = scenarios.iter().copied().filter(|scenario| ran(scenario)).collect();
    if scenarios.is_empty() {
        return String::new();
    }
    let mut rows = vec![row(["system".to_owned()].into_iter().chain(scenarios.iter().copied().map(head)))];
    rows.push(row((0..=scenarios.len()).map(|_| "---".to_owned())));
    for system in report.systems(members, &scenarios) {
        let cells = scenarios.iter().map(|scenario| cell(&report.cell(members, *scenario, &system), &system));
        rows.push(row([system.name()].into_iter().chain(cells)));
    }
    format!("\n## {title}\n\n{}", rows.concat())
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

fn costs(report: &Report, members: usize) -> String {
    let systems = report.systems(members, &[Scenario::Idle]);
    if systems.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n## Idle, {members} members, per member: medians\n\n| system | CPU ms/s | packets/s | bytes/s | RSS MiB |\n\
         | --- | --- | --- | --- | --- |\n"
    );
    for system in systems {
        let cell = report.cell(members, Scenario::Idle, &system);
        let show = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
        };
        text.push_str(&row([
            system.name(),
            show(cell.cost(|idle| Some(idle.cpu_ms)), 2),
            show(cell.cost(|idle| idle.packets), 1),
            show(cell.cost(|idle| idle.bytes), 0),
            show(cell.cost(|idle| Some(idle.rss_mib)), 1),
        ]
        .into_iter()));
    }
    text
}

/// One point of the curve.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Point {
    /// Of what.
    pub(super) system: System,
    /// Bytes that a member sends per second.
    pub(super) bytes: f64,
    /// Seconds to notice a lost host.
    pub(super) seconds: f64,
}

/// The points of the curve, in the order of systems.
pub(super) fn points(report: &Report) -> Vec<Point> {
    let mut points = Vec::new();
    for members in report.sizes() {
        for system in report.systems(members, &[Scenario::Curve]) {
            let cell = report.cell(members, Scenario::Curve, &system);
            let bytes = cell.cost(|idle| idle.bytes);
            if let (Some(bytes), Some(times)) = (bytes, cell.times()) {
                points.push(Point { system, bytes, seconds: times.median });
            }
        }
    }
    points
}

fn curve(report: &Report) -> String {
    let points = points(report);
    if points.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## Bytes against time to notice a lost host: medians\n\n| system | bytes/s | host lost |\n| --- | --- | --- |\n",
    );
    for point in points {
        text.push_str(&row(
            [point.system.name(), format!("{:.0}", point.bytes), time(point.seconds)].into_iter()
        ));
    }
    text
}

/// Where another system does better than GMS with its defaults.
fn losses_of_gms(report: &Report) -> String {
    let mut lines = Vec::new();
    for members in report.sizes() {
        for scenario in Scenario::ALL {
            lines.extend(lost(report, members, scenario));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("\n## Where others do better than `gms`\n\n{}", lines.concat())
}

fn lost(report: &Report, members: usize, scenario: Scenario) -> Vec<String> {
    let systems = report.systems(members, &[scenario]);
    let Some(gms) = systems.iter().find(|system| system.is_gms()) else { return Vec::new() };
    let own = report.cell(members, scenario, gms);
    let mut lines = Vec::new();
    for peer in systems.iter().filter(|system| !system.is_gms()) {
        let cell = report.cell(members, scenario, peer);
        let mut compare = |what: &str, own: Option<f64>, other: Option<f64>, show: fn(f64) -> String| {
            if let (Some(own), Some(other)) = (own, other)
                && other < own
            {
                lines.push(format!(
                    "- {}, {members} members, {what}: {} {}, gms {}\n",
                    scenario.name(),
                    peer.name(),
                    show(other),
                    show(own)
                ));
            }
        };
        if scenario.has_victims() {
            let median = |cell: &Cell| cell.times().map(|spread| spread.median);
            compare("time", median(&own), median(&cell), time);
        }
        if scenario == Scenario::Idle {
            let two = |value: f64| format!("{value:.2}");
            let whole = |value: f64| format!("{value:.0}");
            compare("CPU ms/s", own.cost(|i| Some(i.cpu_ms)), cell.cost(|i| Some(i.cpu_ms)), two);
            compare("bytes/s", own.cost(|i| i.bytes), cell.cost(|i| i.bytes), whole);
            compare("RSS MiB", own.cost(|i| Some(i.rss_mib)), cell.cost(|i| Some(i.rss_mib)), two);
        }
        let reports = |cell: &Cell| {
            let sum: usize = cell.watched.iter().map(|watched| watched.false_reports).sum();
            (!cell.watched.is_empty()).then_some(sum as f64)
        };
        compare("healthy members not seen", reports(&own), reports(&cell), |value| format!("{value:.0}"));
    }
    lines
}
