//! What an arrow or a note says.

use crate::trace::Line;

/// A message's name with the facts that matter to a reader.
pub(crate) fn label(line: &Line) -> String {
    let name = line.message.as_str();
    match name {
        "Heartbeat" => match line.text("answers") {
            "request" => String::from("Heartbeat (answers request)"),
            "accusation" => String::from("Heartbeat (answers accusation)"),
            _ => String::from("Heartbeat"),
        },
        "HeartbeatRequest" | "FinalCheckPassed" | "VerifyRequest" | "Fenced" | "Heard" | "Join" | "Leave"
        | "Remove" => {
            format!("{name}({})", line.text("member"))
        }
        "NotYet" => format!(
            "NotYet({}, {} ms)",
            line.text("member"),
            line.rest.get("left_ms").map_or(0.0, |v| v.as_f64().unwrap_or(0.0))
        ),
        "VerifyReply" => format!("VerifyReply({}: {})", line.text("member"), line.text("finding")),
        // It goes both ways: the datagram is fast, the stream arrives.
        "SuspectMembers" if line.channel == "stream" => {
            format!("SuspectMembers({}) by stream", line.list("members").join(", "))
        }
        "SuspectMembers" | "Fence" => format!("{name}({})", line.list("members").join(", ")),
        "Prepare" => format!("Prepare({})", change(line)),
        "Install" => format!("Install({})", change(line)),
        "Promise" => format!("Promise(view {})", line.count("base").unwrap_or(0) + 1),
        "Promised" | "Accepted" => format!("{name}(view {})", line.count("base").unwrap_or(0) + 1),
        "Refused" => format!("Refused({})", line.text("why").replace('_', " ")),
        "Installed" => format!("Installed(view {})", line.count("installed").unwrap_or(0)),
        "Unfinished" => format!("Unfinished({})", line.text("why")),
        "ViewRequest" => format!("ViewRequest(holds {})", line.count("held").unwrap_or(0)),
        "JoinRefused" => format!("JoinRefused: {}", line.text("why")),
        _ => name.to_owned(),
    }
}

fn change(line: &Line) -> String {
    let mut text = format!("view {}", line.count("makes").unwrap_or(0));
    for kind in ["joined", "left", "crashed", "expelled"] {
        let names = line.list(kind);
        if !names.is_empty() {
            text.push_str(&format!(", {kind} {}", names.join(" ")));
        }
    }
    text
}

/// What an event or a connection says beside its member's lane; `None` where it is not worth a row.
pub(super) fn note(line: &Line) -> Option<String> {
    match line.step.as_str() {
        "probe_done" => {
            let outcome = line.text("outcome").replace('_', " ");
            Some(format!("connection to {}: {outcome}", line.peer.as_deref().unwrap_or("?")))
        }
        "event" => event(line),
        _ => None,
    }
}

fn event(line: &Line) -> Option<String> {
    let member = line.text("member");
    match line.text("event") {
        "member_suspected" if line.text("by") == line.me => Some(format!("suspects {member}")),
        "final_check_started" => Some(format!("final check of {member} begins")),
        "final_check_passed" => Some(format!("final check of {member}: alive")),
        "final_check_failed" => Some(format!("final check of {member}: {}", line.text("verdict"))),
        "member_cleared" if line.text("by") == line.me => Some(format!("clears {member}")),
        "view_installed" => {
            let mut text = format!("installs view {}", line.count("view").unwrap_or(0));
            for kind in ["joined", "left", "crashed", "expelled"] {
                let names = line.list(kind);
                if !names.is_empty() {
                    text.push_str(&format!(", {kind} {}", names.join(" ")));
                }
            }
            Some(text)
        }
        "rejoined" => Some(format!("is in view {} again", line.count("view").unwrap_or(0))),
        "joined" => Some(format!("joined in view {}", line.count("view").unwrap_or(0))),
        "excluded" => Some(format!("knows that it is not in view {}", line.count("view").unwrap_or(0))),
        "isolated" => Some(String::from("is isolated")),
        "connected" => Some(String::from("is connected again")),
        "quorum_lost" => Some(String::from("has lost the quorum")),
        "quorum_regained" => Some(String::from("has the quorum again")),
        "paused" => Some(format!("stood still for {} ms", line.count("for_ms").unwrap_or(0))),
        "stopped" => Some(format!("stopped: {}", line.text("reason").replace('_', " "))),
        _ => None,
    }
}
