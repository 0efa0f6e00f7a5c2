//! The HTTP interface of a running member, on a thread of its own: it can never hold the protocol's loop.

mod auth;
mod body;
mod control;
mod events;
mod handlers;
mod history;
mod listen;
mod problem;
mod seat;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

pub(crate) use control::{Control, Refused};
pub(crate) use history::{Entry, History};

use problem::Problem;

/// Largest request body: a reason is a sentence.
const BODY_BYTES_MAX: usize = 16 << 10;
/// How long open requests may take to end when the member stops.
const DRAIN: Duration = Duration::from_millis(500);

/// What clients may use up.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Connections at once. One more takes the place of the one that deserves it least.
    connections: usize,
    /// Readers of events at once: few enough that they never fill the connections.
    event_readers: usize,
    /// How long a request's head, its body, and the wait for the next one may take each.
    request_takes: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 128, event_readers: 64, request_takes: Duration::from_secs(5) }
    }
}

/// What the interface shows and may do.
pub(crate) struct App {
    /// The member.
    pub(crate) control: Box<dyn Control>,
    /// The configured name of the cluster.
    pub(crate) cluster: String,
    /// The configuration, without secrets.
    pub(crate) config: Value,
    /// Its last events.
    pub(crate) history: History,
    /// Who may write.
    pub(crate) writes: Writes,
}

/// Who may write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Writes {
    /// Whoever reaches a loopback address.
    Anyone,
    /// Whoever bears this token.
    Bearer(String),
    /// Nobody: the address is not loopback, and there is no token.
    Nobody,
}

/// The running interface.
#[derive(Debug)]
pub(crate) struct Server {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Server {
    /// Serves `app` on `listener`.
    ///
    /// # Errors
    ///
    /// The thread or its runtime can't be started.
    pub(crate) fn start(listener: TcpListener, app: App) -> std::io::Result<Self> {
        Self::start_within(Limits::default(), listener, app)
    }

    fn start_within(limits: Limits, listener: TcpListener, app: App) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new().name("gms-http".into()).spawn(move || {
            runtime.block_on(async move {
                match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => {
                        listen::serve(listener, router(Arc::new(app), &limits), &limits, stopped).await;
                    }
                    Err(error) => tracing::error!(%error, "the http interface can't listen"),
                }
            });
        })?;
        Ok(Self { stop, thread })
    }

    /// Ends open requests, closes the port and returns when that is done, in little more than half a second.
    pub(crate) fn stop(self) {
        self.stop.send_replace(true);
        drop(self.thread.join());
    }
}

/// Whether writes to an interface that listens on `addr` need nothing more.
pub(crate) fn writes(addr: SocketAddr, token: Option<String>) -> Writes {
    match token {
        Some(token) => Writes::Bearer(token),
        None if addr.ip().to_canonical().is_loopback() => Writes::Anyone,
        None => Writes::Nobody,
    }
}

fn router(app: Arc<App>, limits: &Limits) -> Router {
    let readers = Extension(events::Readers(Arc::new(Semaphore::new(limits.event_readers))));
    let writes = Router::new()
        .route("/v1/leave", post(handlers::leave))
        .route("/v1/members/{name}/suspect", post(handlers::suspect))
        .route("/v1/members/{name}/check", post(handlers::check))
        .route("/v1/members/{name}/remove", post(handlers::remove))
        .route_layer(axum::middleware::from_fn_with_state(limits.request_takes, body::arrives_in))
        .route_layer(axum::middleware::from_fn_with_state(Arc::clone(&app), auth::may_write));
    Router::new()
        .route("/v1/view", get(handlers::view))
        .route("/v1/members/{name}", get(handlers::member))
        .route("/v1/events", get(events::events).layer(readers))
        .route("/v1/config", get(handlers::config))
        .route("/healthz", get(handlers::healthz))
        .route("/readyz", get(handlers::readyz))
        .merge(writes)
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(app)
}

async fn nothing_here(uri: Uri) -> Problem {
    let detail = format!(
        "there is nothing at {}: ask /v1/view, /v1/members/NAME, /v1/events, /v1/config, /healthz or /readyz",
        uri.path()
    );
    Problem::new(StatusCode::NOT_FOUND, detail)
}

async fn wrong_method(uri: Uri) -> Problem {
    let detail =
        format!("{} takes another method: GET to read, POST for leave, suspect, check, remove", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}

#[cfg(test)]
mod tests;
