//! Steps of a trace as sentences.

use super::event_sentence;
use crate::diagram::label;
use crate::trace::Line;

/// To whom a step speaks, if to anybody, and what it says; `None` where it is not worth telling, such as a message that
/// its sender's line tells already.
pub(crate) fn step_sentence(line: &Line) -> Option<(Vec<String>, String)> {
    match line.step.as_str() {
        "event" => Some((Vec::new(), event_sentence(&line.rest))),
        "sent" => Some((vec![line.peer.clone()?], label(line))),
        "probe_done" => {
            let outcome = line.text("outcome").replace('_', " ");
            Some((Vec::new(), format!("fresh connection to {}: {outcome}", line.peer.as_deref()?)))
        }
        _ => None,
    }
}
