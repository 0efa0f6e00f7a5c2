//! Who may write: on loopback anyone, elsewhere whoever bears the token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::problem::Problem;
use super::{App, Writes};

/// Lets a write through, or says what it lacks.
pub(super) async fn may_write(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match refusal(&app.writes, request.headers()) {
        None => next.run(request).await,
        Some(problem) => problem.into_response(),
    }
}

fn refusal(writes: &Writes, headers: &HeaderMap) -> Option<Problem> {
    match writes {
        Writes::Anyone => foreign_origin(headers).then(|| {
            Problem::new(
                StatusCode::FORBIDDEN,
                "writes from web pages are refused: use gms or another client, or --http-token",
            )
        }),
        Writes::Nobody => Some(Problem::new(
            StatusCode::FORBIDDEN,
            "writes are refused, since this interface is open beyond loopback without a token: start the member with \
             --http-token FILE",
        )),
        Writes::Bearer(token) if bears(headers, token) => None,
        Writes::Bearer(_) => Some(Problem::new(
            StatusCode::UNAUTHORIZED,
            "writes need the member's token: send Authorization: Bearer TOKEN, or give gms --http-token FILE",
        )),
    }
}

/// Whether a browser sent this for some page: no page has business here, and a token that could tell them apart is
/// not configured.
fn foreign_origin(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN)
}

fn bears(headers: &HeaderMap, token: &str) -> bool {
    let sent = headers
        .get(header::AUTHORIZATION)
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.strip_prefix("Bearer "));
    sent.is_some_and(|sent| same(sent.trim().as_bytes(), token.as_bytes()))
}

/// Compares in a time that depends on the lengths only.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (x, y)| difference | (x ^ y)) == 0
}
