//! Members and views as tables.

use serde_json::Value;

use super::Paint;

const HEADINGS: [&str; 10] =
    ["NAME", "STATUS", "ROLE", "ADDRESS", "WEIGHT", "JOINED", "SILENT", "WATCHED BY", "RTT", "LOSS IN/OUT"];

/// The table of these members' rows.
pub(crate) fn members_table(members: &[&Value], paint: Paint) -> String {
    let rows: Vec<[String; 10]> = members.iter().map(|m| row(m)).collect();
    let mut widths = HEADINGS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = paint.dim(&line(&HEADINGS.map(String::from), &widths));
    for row in &rows {
        out.push('\n');
        let text = line(row, &widths);
        out.push_str(&match row[1].as_str() {
            "suspect" => paint.bad(&text),
            "checking" => paint.warn(&text),
            _ => text,
        });
    }
    out
}

fn line(cells: &[String; 10], widths: &[usize; 10]) -> String {
    let cells: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
    cells.join("  ").trim_end().to_owned()
}

fn row(member: &Value) -> [String; 10] {
    let text = |key: &str| member[key].as_str().unwrap_or("-").to_owned();
    let percent =
        |key: &str| member[key].as_f64().map_or_else(|| "-".into(), |loss| format!("{:.1}%", loss * 100.0));
    let rtt = member["rtt_us"].as_u64().map_or_else(|| "-".into(), |us| format!("{us} µs"));
    [
        text("name"),
        text("status"),
        text("role"),
        text("addr"),
        member["weight"].to_string(),
        format!("view {}", member["joined_in_view"]),
        format!("{} ms", member["silent_for_ms"]),
        text("watched_by"),
        rtt,
        format!("{} / {}", percent("loss_in"), percent("loss_out")),
    ]
}

/// The status in a few lines, and the table of `members` beneath.
pub(crate) fn view_text(status: &Value, members: &[&Value], paint: Paint) -> String {
    let text = |key: &str| status[key].as_str().unwrap_or("-").to_owned();
    let state = match text("state").as_str() {
        state @ "member" => paint.good(state),
        state @ ("joining" | "leaving") => paint.warn(state),
        state => paint.bad(state),
    };
    let quorum = &status["quorum"];
    let mut out = format!("cluster      {} ({})\n", text("cluster"), text("cluster_id"));
    out.push_str(&format!("view         {} ({})\n", status["view"], text("digest")));
    out.push_str(&format!("coordinator  {}\n", text("coordinator")));
    out.push_str(&format!("asked        {}: {state}{}\n", text("me"), connected(status)));
    out.push_str(&format!(
        "quorum       {} of {} reachable, {} needed\n\n",
        quorum["reachable"], quorum["weight"], quorum["needed"]
    ));
    out.push_str(&members_table(members, paint));
    out
}

fn connected(status: &Value) -> String {
    match &status["connected_for_ms"] {
        // A member that is not connected has 0 there.
        Value::Null => String::from(", a majority by itself"),
        ms => match ms.as_u64() {
            Some(0) | None => String::new(),
            Some(ms) => format!(", connected for at least {ms} ms more"),
        },
    }
}
