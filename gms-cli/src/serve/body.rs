//! Bodies arrive in time and in size before anything looks at them.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::BODY_BYTES_MAX;
use super::problem::Problem;

/// Passes a request on once its whole body is there.
pub(super) async fn arrives_in(State(takes): State<Duration>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let problem = match tokio::time::timeout(takes, axum::body::to_bytes(body, BODY_BYTES_MAX)).await {
        Ok(Ok(bytes)) => return next.run(Request::from_parts(head, Body::from(bytes))).await,
        Ok(Err(_)) => Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body broke off or is longer than {BODY_BYTES_MAX} bytes: send a shorter reason"),
        ),
        Err(_) => Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the body did not arrive within {takes:?}: send it with its head"),
        ),
    };
    problem.into_response()
}
