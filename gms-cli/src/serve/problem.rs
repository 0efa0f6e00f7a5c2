//! Errors of the HTTP interface: `application/problem+json`, with a sentence that says what to do.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::control::Refused;

/// An error as the client sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) detail: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NoSuchMember => Self::new(
                StatusCode::NOT_FOUND,
                "the member left the view in this moment: ask GET /v1/view who is in it",
            ),
            Refused::NotNow => Self::new(
                StatusCode::CONFLICT,
                "this member can't do that now, since it is not in a view, isolated or leaving: ask another member, \
                 or try again when GET /readyz answers 200",
            ),
            Refused::Stopped => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "this member has stopped: ask another member")
            }
            Refused::Stuck => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "the protocol's loop did not answer in time: look at the member's log and load, then try again",
            ),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Error"),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let kind = HeaderValue::from_static("application/problem+json");
        (self.status, [(header::CONTENT_TYPE, kind)], body.to_string()).into_response()
    }
}
