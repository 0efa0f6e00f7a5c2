//! One readable line per event.

use serde_json::{Map, Value};

use super::Paint;

/// The event with its local time of day in front.
pub(crate) fn event_line(event: &Map<String, Value>, paint: Paint) -> String {
    let at = time_of_day(text(event, "at"));
    let sentence = event_sentence(event);
    let sentence = match text(event, "event") {
        "member_suspected" | "final_check_started" | "paused" | "link_degraded" | "lagged" => {
            paint.warn(&sentence)
        }
        "final_check_failed" | "quorum_lost" | "isolated" | "excluded" | "cluster_conflict" => {
            paint.bad(&sentence)
        }
        "joined" | "rejoined" | "connected" | "quorum_regained" | "member_cleared" | "final_check_passed"
        | "link_recovered" => paint.good(&sentence),
        _ => sentence,
    };
    format!("{} {sentence}", paint.dim(&at))
}

/// An RFC 3339 moment as local `HH:MM:SS.micros`; as it stands where it is none.
fn time_of_day(at: &str) -> String {
    at.parse::<jiff::Timestamp>().map_or_else(
        |_| at.to_owned(),
        |t| t.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%H:%M:%S.%6f").to_string(),
    )
}

/// What happened, without time and teller.
pub(crate) fn event_sentence(event: &Map<String, Value>) -> String {
    let t = |key| text(event, key);
    let n = |key| event.get(key).map_or_else(|| String::from("?"), Value::to_string);
    let names = |key| list(event, key);
    match t("event") {
        "started" => {
            let http =
                event.get("http").and_then(Value::as_str).map_or_else(String::new, |h| format!(", http {h}"));
            format!("started {} on {}{http}, id {}, pid {}", t("name"), t("addr"), t("id"), n("pid"))
        }
        "joined" => {
            format!("joined in view {}: {} (coordinator {})", n("view"), names("members"), t("coordinator"))
        }
        "rejoined" => {
            format!(
                "joined again in view {}: {} (coordinator {})",
                n("view"),
                names("members"),
                t("coordinator")
            )
        }
        "view_installed" => view_installed(event),
        "member_suspected" => {
            format!(
                "{} suspects {}: {} for {} ms",
                t("by"),
                t("member"),
                words(t("reason")),
                n("silent_for_ms")
            )
        }
        "final_check_started" => format!("final check of {} begins: {}", t("member"), words(t("reason"))),
        "final_check_passed" => format!("final check of {} passed: {}", t("member"), evidence(event)),
        "final_check_failed" => format!("final check of {} failed: {}", t("member"), evidence(event)),
        "member_cleared" => format!("{} is cleared by {}", t("member"), t("by")),
        "quorum_lost" | "quorum_regained" => {
            let unreachable = names("unreachable");
            let unreachable =
                if unreachable.is_empty() { unreachable } else { format!("; unreachable: {unreachable}") };
            format!(
                "{}: weight {} of {} reachable, {} needed{unreachable}",
                words(t("event")),
                n("weight_reachable"),
                n("weight_total"),
                n("weight_needed")
            )
        }
        "isolated" | "connected" => {
            format!("{}: heard from [{}], heard by [{}]", t("event"), names("heard_from"), names("heard_by"))
        }
        "excluded" => excluded(event),
        other => rare(other, event),
    }
}

/// A share as whole per cent.
fn percent(event: &Map<String, Value>, key: &str) -> String {
    event
        .get(key)
        .and_then(Value::as_f64)
        .map_or_else(|| String::from("?"), |share| format!("{:.0} %", share * 100.0))
}

fn rare(name: &str, event: &Map<String, Value>) -> String {
    let t = |key| text(event, key);
    let n = |key| event.get(key).map_or_else(|| String::from("?"), Value::to_string);
    match name {
        "paused" => format!("this process stood still for {} ms", n("for_ms")),
        "link_degraded" | "link_recovered" => format!(
            "{} with {}: loss in {}, loss out {}{}",
            words(name),
            t("member"),
            percent(event, "loss_in"),
            percent(event, "loss_out"),
            event
                .get("rtt_us")
                .filter(|rtt| !rtt.is_null())
                .map(|rtt| format!(", round trip {rtt} µs"))
                .unwrap_or_default()
        ),
        "coordinator_changed" => format!("coordinator is {} after {}", t("to"), t("from")),
        "cluster_conflict" => format!(
            "another cluster of this name is around: {} with {} members, coordinator at {}",
            t("other_cluster_id"),
            n("other_size"),
            t("other_coordinator")
        ),
        "stopped" => format!("stopped: {}", words(t("reason"))),
        "lagged" => format!("{} events are missing here: the reader was too slow", n("missed")),
        other => format!("{}: {}", words(other), n("debug")),
    }
}

fn view_installed(event: &Map<String, Value>) -> String {
    let number = event.get("view").map_or_else(|| String::from("?"), Value::to_string);
    let mut line =
        format!("view {number}: {} (coordinator {})", list(event, "members"), text(event, "coordinator"));
    for kind in ["joined", "left", "crashed", "expelled", "gone"] {
        let names = list(event, kind);
        if !names.is_empty() {
            line.push_str(&format!("; {kind}: {names}"));
        }
    }
    line
}

fn excluded(event: &Map<String, Value>) -> String {
    let view = event.get("view").map_or_else(|| String::from("?"), Value::to_string);
    let why = match text(event, "cause") {
        "crashed" => evidence(event).to_owned(),
        "expelled" => format!("removed at {} ({})", text(event, "by"), text(event, "reason")),
        "gave_way" => format!("gave way to the older cluster {}", text(event, "to")),
        _ => String::from("the changes between are not known"),
    };
    format!("excluded: not in view {view}; {why}")
}

fn evidence(event: &Map<String, Value>) -> &str {
    event.get("evidence").and_then(|e| e.get("sentence")).and_then(Value::as_str).unwrap_or("no evidence")
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn text<'a>(event: &'a Map<String, Value>, key: &str) -> &'a str {
    event.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list(event: &Map<String, Value>, key: &str) -> String {
    let items = event.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}
