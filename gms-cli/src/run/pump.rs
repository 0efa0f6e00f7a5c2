//! Passes events on: to stdout, to the history that HTTP readers follow, to the program of `--on-event`. None of them
//! is waited for.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use gms_core::runtime::{Gms, StampedEvent};
use serde_json::json;

use super::on_event::OnEvent;
use crate::args::OutsideArgs;
use crate::event_json::{Object, event_json};
use crate::exit::Failure;
use crate::names::Names;
use crate::output;
use crate::render::{Paint, event_line};
use crate::serve::{Entry, History};
use crate::sink::{LineSink, Lines as _};

/// Lines that wait for stdout.
const QUEUE_LINES: usize = 1024;
/// Events that a reader of HTTP can catch up with.
const HISTORY_EVENTS: usize = 1024;

/// The first line: where the member listens.
pub(super) struct Started(Object);

impl Started {
    /// Of this member, with this HTTP address.
    pub(super) fn of(gms: &Gms, http: Option<SocketAddr>) -> Self {
        let me = gms.me();
        let mut object = Object::new();
        let fields = json!({
            "at": format!("{:.6}", jiff::Timestamp::now()),
            "event": "started",
            "me": me.name,
            "name": me.name,
            "id": me.id.to_string(),
            "addr": me.endpoint.addr.to_string(),
            "http": http.map(|addr| addr.to_string()),
            "pid": std::process::id(),
        });
        if let serde_json::Value::Object(fields) = fields {
            object.extend(fields);
        }
        Self(object)
    }
}

/// Where events go.
pub(super) struct Pump {
    json: bool,
    stdout: LineSink,
    history: History,
    on_event: Option<OnEvent>,
    names: Names,
}

impl Pump {
    /// Starts the far ends and tells `started`.
    pub(super) fn start(args: &OutsideArgs, started: Started) -> Result<Self, Failure> {
        let lost: fn(u64) -> String = if args.json {
            |missed| format!("{{\"event\":\"lagged\",\"missed\":{missed}}}\n")
        } else {
            |missed| format!("{missed} events are missing here: stdout was not read in time\n")
        };
        let stdout = LineSink::spawn("gms-stdout", QUEUE_LINES, io::stdout(), lost).map_err(|error| {
            Failure::fault(format!("no thread can be started ({error}): raise this process's limits"))
        })?;
        let mut pump = Self {
            json: args.json,
            stdout,
            history: History::new(HISTORY_EVENTS),
            on_event: args.on_event.clone().map(OnEvent::start),
            names: Names::default(),
        };
        pump.print(&started.0);
        Ok(pump)
    }

    /// The history that readers follow.
    pub(super) fn history(&self) -> History {
        self.history.clone()
    }

    /// Passes one event on.
    pub(super) fn tell(&mut self, stamped: StampedEvent) {
        let StampedEvent { at, me, sequence, event } = stamped;
        self.names.learn_event(&event);
        let object = event_json(at, &me, &event, &self.names);
        let json = self.print(&object);
        let name = object.get("event").and_then(serde_json::Value::as_str).unwrap_or("unknown");
        self.history.push(Entry { sequence, name: name.to_owned(), json: json.into() });
    }

    fn print(&mut self, object: &Object) -> String {
        let json = serde_json::to_string(object).unwrap_or_default();
        let line = if self.json { json.clone() } else { event_line(object, Paint(output::colour())) };
        self.stdout.push(line.into_bytes());
        if let Some(on_event) = &mut self.on_event {
            on_event.push(json.clone());
        }
        json
    }

    /// Ends readers, and waits for what is queued, at most for `timeout`.
    pub(super) async fn close(self, timeout: Duration) {
        self.history.close();
        if let Some(on_event) = self.on_event {
            on_event.close(timeout).await;
        }
        self.stdout.flush(timeout);
    }
}
