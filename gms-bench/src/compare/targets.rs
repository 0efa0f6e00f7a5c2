//! The figures that GMS is to hold, beside those that were measured.

use super::markdown::{Point, points, time};
use super::report::Report;
use crate::scenario::Scenario;
use crate::system::{Peer, System, Tuning};

/// Time to notice a killed member, by number of members: seconds as a median.
const CRASH_S: [(usize, f64); 2] = [(10, 0.020), (50, 0.060)];
/// The largest time, for ten members.
const CRASH_P99_S: f64 = 0.060;
/// Time to notice a killed coordinator of ten.
const COORDINATOR_S: f64 = 0.040;
/// How much longer several at once may take.
const SEVERAL: f64 = 1.5;
/// Resident memory of an idle member of ten, in MiB.
const RSS_MIB: f64 = 10.0;

/// One figure.
struct Target {
    what: String,
    demanded: String,
    measured: String,
    is_held: bool,
}

/// The table of those figures for which there are measurements.
pub(super) fn render(report: &Report) -> String {
    let Some(gms) = report.runs.iter().map(|run| &run.system).find(|system| system.is_gms()) else {
        return String::new();
    };
    let timeout = match gms {
        System::Gms(tuning) => tuning.member_timeout_ms as f64 / 1e3,
        System::Peer(_) => return String::new(),
    };
    let gms = System::Gms(Tuning::at(std::time::Duration::from_secs_f64(timeout)));
    let mut targets = Vec::new();
    for members in report.sizes() {
        targets.extend(crashes(report, members, &gms));
        targets.extend(hosts(report, members, &gms, timeout));
        targets.extend(idle(report, members, &gms));
    }
    targets.extend(losses(report));
    targets.extend(curve(&points(report)));
    if targets.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n## Figures to hold\n\n| what | demanded | measured | held |\n| --- | --- | --- | --- |\n",
    );
    for target in targets {
        let held = if target.is_held { "yes" } else { "**no**" };
        text.push_str(&format!("| {} | {} | {} | {held} |\n", target.what, target.demanded, target.measured));
    }
    text
}

fn median(report: &Report, members: usize, scenario: Scenario, system: &System) -> Option<f64> {
    report.cell(members, scenario, system).times().map(|spread| spread.median)
}

fn at_most(what: String, limit: f64, measured: f64) -> Target {
    let demanded = format!("at most {}", time(limit));
    Target { what, demanded, measured: time(measured), is_held: measured <= limit }
}

fn crashes(report: &Report, members: usize, gms: &System) -> Vec<Target> {
    let mut targets = Vec::new();
    let one = median(report, members, Scenario::Crash, gms);
    let limit = CRASH_S.iter().find(|(size, _)| *size == members).map(|(_, limit)| *limit);
    if let (Some(one), Some(limit)) = (one, limit) {
        targets.push(at_most(format!("one of {members} killed, median"), limit, one));
    }
    if let (10, Some(times)) = (members, report.cell(members, Scenario::Crash, gms).times()) {
        targets.push(at_most("one of 10 killed, 99th percentile".into(), CRASH_P99_S, times.p99));
    }
    if let (10, Some(seconds)) = (members, median(report, members, Scenario::CrashCoordinator, gms)) {
        targets.push(at_most("coordinator of 10 killed, median".into(), COORDINATOR_S, seconds));
    }
    let several = report.cell(members, Scenario::CrashSeveral, gms);
    if let (Some(one), Some(times)) = (one, several.times()) {
        let what = format!("several of {members} killed at once, median");
        targets.push(at_most(format!("{what}, against one"), one * SEVERAL, times.median));
        let views = several.views.unwrap_or(0);
        targets.push(Target {
            what: format!("several of {members} killed at once, views"),
            demanded: "1".into(),
            measured: views.to_string(),
            is_held: views == 1,
        });
    }
    targets
}

fn hosts(report: &Report, members: usize, gms: &System, timeout: f64) -> Vec<Target> {
    let (from, to) = (1.25 * timeout, 1.5 * timeout + 0.1);
    [Scenario::HostLoss, Scenario::HostLossSeveral]
        .into_iter()
        .filter_map(|scenario| {
            let seconds = median(report, members, scenario, gms)?;
            Some(Target {
                what: format!("{}, {members} members, median", scenario.name()),
                demanded: format!("{} to {}", time(from), time(to)),
                measured: time(seconds),
                is_held: (from..=to).contains(&seconds),
            })
        })
        .collect()
}

fn idle(report: &Report, members: usize, gms: &System) -> Vec<Target> {
    if members != 10 {
        return Vec::new();
    }
    let own = report.cell(members, Scenario::Idle, gms);
    let peers = report.systems(members, &[Scenario::Idle]).into_iter().filter(|system| !system.is_gms());
    let costs = peers.filter_map(|peer| {
        let cpu = report.cell(members, Scenario::Idle, &peer).cost(|idle| Some(idle.cpu_ms))?;
        Some((peer.name(), cpu))
    });
    let leanest = costs.min_by(|a, b| a.1.total_cmp(&b.1));
    let mut targets = Vec::new();
    if let (Some(cpu), Some((peer, least))) = (own.cost(|idle| Some(idle.cpu_ms)), leanest) {
        targets.push(Target {
            what: "idle, 10 members, CPU".into(),
            demanded: format!("at most {least:.2} ms/s ({peer})"),
            measured: format!("{cpu:.2} ms/s"),
            is_held: cpu <= least,
        });
    }
    if let Some(rss) = own.cost(|idle| Some(idle.rss_mib)) {
        targets.push(Target {
            what: "idle, 10 members, RSS".into(),
            demanded: format!("less than {RSS_MIB} MiB"),
            measured: format!("{rss:.1} MiB"),
            is_held: rss < RSS_MIB,
        });
    }
    targets
}

/// False removals of GMS at all its settings.
fn losses(report: &Report) -> Vec<Target> {
    let mut runs = 0;
    let mut reports = 0;
    for members in report.sizes() {
        for scenario in [Scenario::LossAll, Scenario::LossOne] {
            for system in report.systems(members, &[scenario]).iter().filter(|system| system.is_gms()) {
                let cell = report.cell(members, scenario, system);
                runs += cell.watched.len();
                reports += cell.watched.iter().map(|watched| watched.false_reports).sum::<usize>();
            }
        }
    }
    if runs == 0 {
        return Vec::new();
    }
    vec![Target {
        what: format!("healthy members not seen under loss, in {runs} runs at all settings"),
        demanded: "0".into(),
        measured: reports.to_string(),
        is_held: reports == 0,
    }]
}

/// What GMS sends at serf's own time, and how fast it is at four times serf's bytes: the best measured points.
fn curve(points: &[Point]) -> Vec<Target> {
    let serf = points.iter().find(|point| point.system == System::Peer(Peer::Serf));
    let Some(serf) = serf else { return Vec::new() };
    let own = || points.iter().filter(|point| point.system.is_gms());
    let fast_enough = own().filter(|point| point.seconds <= serf.seconds);
    let cheap_enough = own().filter(|point| point.bytes <= 4.0 * serf.bytes);
    let cheapest = fast_enough.min_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let fastest = cheap_enough.min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut targets = Vec::new();
    if let Some(point) = cheapest {
        let ratio = point.bytes / serf.bytes;
        targets.push(Target {
            what: "bytes at serf's own time to notice a lost host".into(),
            demanded: "at most 3 × serf's".into(),
            measured: format!("{ratio:.2} × ({})", point.system.name()),
            is_held: ratio <= 3.0,
        });
    }
    if let Some(point) = fastest {
        let ratio = point.seconds / serf.seconds;
        targets.push(Target {
            what: "time to notice a lost host at 4 × serf's bytes".into(),
            demanded: "at most 0.5 × serf's".into(),
            measured: format!("{ratio:.2} × ({})", point.system.name()),
            is_held: ratio <= 0.5,
        });
    }
    targets
}
