//! `--watch`: shows the status again whenever it changes.

use std::io::IsTerminal as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::http::Client;
use crate::exit::{Code, Failure};
use crate::output;

/// How often the member is asked.
const PERIOD: Duration = Duration::from_millis(500);

/// Shows the status until interrupted: on a terminal in place and at every turn, elsewhere at each change of the view
/// or of what the members look like.
pub(super) fn watch(client: &Client, json: bool, show: &dyn Fn(&Value) -> String) -> Result<Code, Failure> {
    let in_place = !json && std::io::stdout().is_terminal();
    let mut shown = Value::Null;
    let mut first = true;
    loop {
        match client.get("/v1/view") {
            Ok(status) if in_place => output::line(&format!("\x1b[H\x1b[2J{}", show(&status)))?,
            Ok(status) => {
                let facts = facts(&status);
                if facts != shown {
                    output::line(&show(&status))?;
                    shown = facts;
                }
            }
            Err(failure) if first => return Err(failure),
            Err(failure) => {
                if shown != Value::Null || in_place {
                    output::complain(&failure.sentence);
                }
                shown = Value::Null;
            }
        }
        first = false;
        std::thread::sleep(PERIOD);
    }
}

/// What counts as a change: not the milliseconds that pass.
fn facts(status: &Value) -> Value {
    let members = status["members"].as_array().map_or(&[][..], Vec::as_slice);
    let members: Vec<_> = members.iter().map(|m| json!([m["id"], m["status"], m["watched_by"]])).collect();
    json!([status["view"], status["digest"], status["state"], members])
}
