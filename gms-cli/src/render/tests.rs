//! Readable text, to the character.

use serde_json::{Map, Value, json};

use super::*;

fn sentence(event: Value) -> String {
    let Value::Object(event) = event else { panic!("events are objects") };
    event_sentence(&event)
}

#[test]
fn events_are_sentences() {
    for (event, expected) in [
        (
            json!({ "event": "started", "name": "a", "addr": "127.0.0.1:1", "http": "127.0.0.1:2", "id": "ab", "pid": 3 }),
            "started a on 127.0.0.1:1, http 127.0.0.1:2, id ab, pid 3",
        ),
        (
            json!({ "event": "view_installed", "view": 4, "coordinator": "a", "members": ["a", "b"], "joined": [],
                    "left": [], "crashed": ["c"], "expelled": [] }),
            "view 4: a, b (coordinator a); crashed: c",
        ),
        (
            json!({ "event": "member_suspected", "member": "c", "by": "b", "reason": "silent", "silent_for_ms": 1250 }),
            "b suspects c: silent for 1250 ms",
        ),
        (
            json!({ "event": "quorum_lost", "weight_reachable": 10, "weight_needed": 18, "weight_total": 35,
                    "unreachable": ["a", "b"] }),
            "quorum lost: weight 10 of 35 reachable, 18 needed; unreachable: a, b",
        ),
        (
            json!({ "event": "excluded", "view": 9, "cause": "crashed", "evidence": { "sentence": "it was silent" } }),
            "excluded: not in view 9; it was silent",
        ),
        (json!({ "event": "stopped", "reason": "leave_timed_out" }), "stopped: leave timed out"),
    ] {
        assert_eq!(sentence(event), expected);
    }
}

#[test]
fn a_line_begins_with_the_local_time_of_day_and_colour_only_where_it_is_wanted() {
    let event: Map<String, Value> = serde_json::from_str(
        r#"{"at":"2026-01-02T03:04:05.123456Z","event":"joined","view":1,"coordinator":"a","members":["a"]}"#,
    )
    .unwrap();
    let line = event_line(&event, Paint(false));
    assert!(line.ends_with(":05.123456 joined in view 1: a (coordinator a)"), "{line}");
    assert_eq!(line.find(' '), Some(15));
    assert!(event_line(&event, Paint(true)).contains("\x1b[32m"));
}

fn member(name: &str, status: &str) -> Value {
    json!({
        "name": name, "status": status, "role": "member", "addr": "127.0.0.1:7790", "weight": 10, "joined_in_view": 2,
        "silent_for_ms": 12, "watched_by": null, "rtt_us": 180, "loss_in": 0.0, "loss_out": 0.015,
    })
}

#[test]
fn the_table_of_members_has_a_row_each() {
    let (a, b) = (member("a", "alive"), member("orders-2", "suspect"));
    let expected = "\
NAME      STATUS   ROLE    ADDRESS         WEIGHT  JOINED  SILENT  WATCHED BY  RTT     LOSS IN/OUT
a         alive    member  127.0.0.1:7790  10      view 2  12 ms   -           180 µs  0.0% / 1.5%
orders-2  suspect  member  127.0.0.1:7790  10      view 2  12 ms   -           180 µs  0.0% / 1.5%";
    assert_eq!(members_table(&[&a, &b], Paint(false)), expected);
}

#[test]
fn the_view_says_where_the_member_asked_stands() {
    let status = json!({
        "cluster": "orders", "cluster_id": "cc", "me": "a", "state": "isolated", "view": 3, "digest": "dd",
        "coordinator": "b", "quorum": { "weight": 25, "needed": 13, "reachable": 10 }, "connected_for_ms": 0,
    });
    let expected = "\
cluster      orders (cc)
view         3 (dd)
coordinator  b
asked        a: isolated
quorum       10 of 25 reachable, 13 needed

NAME  STATUS  ROLE  ADDRESS  WEIGHT  JOINED  SILENT  WATCHED BY  RTT  LOSS IN/OUT";
    assert_eq!(view_text(&status, &[], Paint(false)), expected);
    let mut alone = status;
    alone["connected_for_ms"] = json!(null);
    let text = view_text(&alone, &[], Paint(false));
    assert!(text.contains("asked        a: isolated, a majority by itself"), "{text}");
}
