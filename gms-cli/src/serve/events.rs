//! `GET /v1/events`: events as they happen, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::App;
use super::history::{Entry, History, Next};
use super::problem::Problem;
use super::seat::{Following, Seat};

/// Silence after which a comment is sent, so that both ends notice a dead connection.
const KEEP_ALIVE: Duration = Duration::from_secs(5);

/// Room for readers of events.
#[derive(Clone, Debug)]
pub(super) struct Readers(pub(super) Arc<Semaphore>);

/// Follows the events: from the one after `Last-Event-ID` on, else from the moment of the request.
pub(super) async fn events(
    State(app): State<Arc<App>>,
    Extension(Readers(readers)): Extension<Readers>,
    Extension(seat): Extension<Seat>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let room = readers.try_acquire_owned().map_err(|_| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many follow this member's events already: end some of them, or ask another member",
        )
    })?;
    let resume =
        headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.trim().parse().ok());
    let history = app.history.clone();
    let reader = Reader {
        last: resume.unwrap_or_else(|| history.newest()),
        changes: history.changes(),
        pending: None,
        history,
        _room: (room, seat.follow()),
    };
    let stream = unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct Reader {
    history: History,
    changes: watch::Receiver<u64>,
    last: u64,
    /// An event whose predecessors are missing, told first.
    pending: Option<Entry>,
    /// Given back with the reader.
    _room: (OwnedSemaphorePermit, Following),
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
