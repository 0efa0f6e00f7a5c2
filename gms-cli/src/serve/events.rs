//! `GET /v1/events`: events as they happen, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use serde_json::json;
use tokio::sync::watch;

use super::App;
use super::history::{Entry, History, Next};

/// Silence after which a comment is sent, so that both ends notice a dead connection.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Follows the events: from the one after `Last-Event-ID` on, else from the moment of the request.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let resume =
        headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.trim().parse().ok());
    let history = app.history.clone();
    let reader = Reader {
        last: resume.unwrap_or_else(|| history.newest()),
        changes: history.changes(),
        pending: None,
        history,
    };
    let stream = unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

struct Reader {
    history: History,
    changes: watch::Receiver<u64>,
    last: u64,
    /// An event whose predecessors are missing, told first.
    pending: Option<Entry>,
}

impl Reader {
    async fn next(&mut self) -> Option<Event> {
        if let Some(entry) = self.pending.take() {
            return Some(self.told(&entry));
        }
        loop {
            self.changes.mark_unchanged();
            match self.history.after(self.last) {
                Next::Entry { entry, missed: 0 } => return Some(self.told(&entry)),
                Next::Entry { entry, missed } => {
                    self.pending = Some(entry);
                    let at = jiff::Timestamp::now();
                    let lagged =
                        json!({ "at": format!("{at:.6}"), "event": "lagged", "me": "", "missed": missed });
                    return Some(Event::default().event("lagged").data(lagged.to_string()));
                }
                Next::Wait => self.changes.changed().await.ok()?,
                Next::Closed => return None,
            }
        }
    }

    fn told(&mut self, entry: &Entry) -> Event {
        self.last = entry.sequence;
        Event::default().id(entry.sequence.to_string()).event(&entry.name).data(&entry.json)
    }
}
