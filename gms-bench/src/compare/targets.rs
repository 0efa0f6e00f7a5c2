//! The figures that GMS is to hold, beside those that were measured.

use std::time::Duration;

use super::markdown::{Point, points, time};
use super::report::Report;
use crate::outcome::Outcome;
use crate::scenario::Scenario;
use crate::system::{Peer, System, Tuning};
use crate::transport::Carrier;

/// Time to notice a killed member, by transport and number of members: seconds as a median.
const CRASH_S: [(Carrier, usize, f64); 4] = [
    (Carrier::Udp, 10, 0.020),
    (Carrier::Udp, 50, 0.060),
    (Carrier::Quic, 10, 0.200),
    (Carrier::QuicTcp, 10, 0.050),
];
/// The largest time over UDP, for ten members.
const CRASH_P99_S: f64 = 0.060;
/// How much longer than a heartbeat interval a kill may stay unnoticed at most over QUIC, where the next datagram shows it.
const CRASH_BEYOND_INTERVAL_S: f64 = 0.100;
/// Time to notice a killed coordinator of ten over UDP.
const COORDINATOR_S: f64 = 0.040;
/// How much longer several at once may take over UDP.
const SEVERAL: f64 = 1.5;
/// How many times UDP's bytes QUIC may send.
const QUIC_BYTES: f64 = 3.0;
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
    let default = Tuning::at(Duration::from_millis(report.settings.member_timeout_ms));
    let mut targets = Vec::new();
    for members in report.sizes() {
        for carrier in Carrier::ALL {
            let gms = default.over(carrier);
            targets.extend(crashes(report, members, gms));
            targets.extend(hosts(report, members, gms));
        }
        targets.extend(idle(report, members, default));
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

/// `, over QUIC`, where it is not UDP.
fn over(gms: Tuning) -> String {
    if gms.carrier == Carrier::default() { String::new() } else { format!(" over {}", gms.carrier.text()) }
}

fn crashes(report: &Report, members: usize, gms: Tuning) -> Vec<Target> {
    let mut targets = Vec::new();
    let (system, over, is_udp) = (System::Gms(gms), over(gms), gms.carrier == Carrier::Udp);
    let limit = CRASH_S.iter().find(|(carrier, size, _)| *carrier == gms.carrier && *size == members);
    let one = report.cell(members, Scenario::Crash, &system).times();
    if let (Some(one), Some((_, _, limit))) = (one, limit) {
        targets.push(at_most(format!("one of {members} killed{over}, median"), *limit, one.median));
    }
    if let (10, Some(one)) = (members, one) {
        let interval = gms.member_timeout_ms as f64 / 5e3;
        targets.push(match gms.carrier {
            Carrier::Udp => at_most("one of 10 killed, 99th percentile".into(), CRASH_P99_S, one.p99),
            Carrier::Quic | Carrier::QuicTcp => at_most(
                format!("one of 10 killed{over}, largest"),
                interval + CRASH_BEYOND_INTERVAL_S,
                one.max,
            ),
        });
    }
    if let (10, true, Some(seconds)) =
        (members, is_udp, median(report, members, Scenario::CrashCoordinator, &system))
    {
        targets.push(at_most("coordinator of 10 killed, median".into(), COORDINATOR_S, seconds));
    }
    let several = report.cell(members, Scenario::CrashSeveral, &system);
    let Some(times) = several.times() else { return targets };
    let what = format!("several of {members} killed at once{over}");
    if let (true, Some(one)) = (is_udp, one) {
        targets.push(at_most(format!("{what}, median, against one"), one.median * SEVERAL, times.median));
    }
    let views = several.views.unwrap_or(0);
    targets.push(Target {
        what: format!("{what}, views"),
        demanded: "1".into(),
        measured: views.to_string(),
        is_held: views == 1,
    });
    targets
}

fn hosts(report: &Report, members: usize, gms: Tuning) -> Vec<Target> {
    let timeout = gms.member_timeout_ms as f64 / 1e3;
    let (from, to) = (1.25 * timeout, 1.5 * timeout + 0.1);
    [Scenario::HostLoss, Scenario::HostLossSeveral]
        .into_iter()
        .filter_map(|scenario| {
            let seconds = median(report, members, scenario, &System::Gms(gms))?;
            Some(Target {
                what: format!("{}{}, {members} members, median", scenario.name(), over(gms)),
                demanded: format!("{} to {}", time(from), time(to)),
                measured: time(seconds),
                is_held: (from..=to).contains(&seconds),
            })
        })
        .collect()
}

fn idle(report: &Report, members: usize, gms: Tuning) -> Vec<Target> {
    if members != 10 {
        return Vec::new();
    }
    let own = report.cell(members, Scenario::Idle, &System::Gms(gms));
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
    let quic = report.cell(members, Scenario::Idle, &System::Gms(gms.over(Carrier::Quic)));
    if let (Some(bytes), Some(quic)) = (own.cost(|idle| idle.bytes), quic.cost(|idle| idle.bytes)) {
        let ratio = quic / bytes;
        targets.push(Target {
            what: "idle, 10 members, bytes over QUIC against UDP".into(),
            demanded: format!("at most {QUIC_BYTES} ×"),
            measured: format!("{ratio:.2} ×"),
            is_held: ratio <= QUIC_BYTES,
        });
    }
    targets
}

/// False removals of GMS at all its settings, under loss and in all other runs.
fn losses(report: &Report) -> Vec<Target> {
    let (mut under_loss, mut otherwise) = (Vec::new(), Vec::new());
    for run in report.runs.iter().filter(|run| run.system.is_gms()) {
        match &run.outcome {
            Outcome::Watched(watched) => under_loss.push(watched.false_reports),
            Outcome::Noticed(noticed) => otherwise.push(noticed.false_reports),
            Outcome::Idle(idle) => otherwise.push(idle.false_reports),
            Outcome::Curve { idle, noticed } => otherwise.push(idle.false_reports + noticed.false_reports),
            Outcome::Failed(_) => {}
        }
    }
    let of = |when: &str, reports: Vec<usize>| {
        let (runs, sum) = (reports.len(), reports.iter().sum::<usize>());
        (runs > 0).then(|| Target {
            what: format!("healthy members not seen {when}, in {runs} runs at all settings"),
            demanded: "0".into(),
            measured: sum.to_string(),
            is_held: sum == 0,
        })
    };
    [of("under loss", under_loss), of("without loss", otherwise)].into_iter().flatten().collect()
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
