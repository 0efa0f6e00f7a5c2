//! The requests about the member and its cluster.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use gms_core::event::{MemberRow, State as MemberState, Status, StopReason};
use gms_core::member::MemberId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::App;
use super::control::Refused;
use super::problem::Problem;
use crate::event_json::stop_name;
use crate::status_json::{member_json, state_name, status_json};

/// How long the protocol's loop may take to answer.
const LOOP_ANSWERS_IN: Duration = Duration::from_secs(2);
/// Longest reason, in bytes: it travels in a view's change to every member.
const REASON_BYTES_MAX: usize = 512;

type Answer = Result<(StatusCode, Json<Value>), Problem>;
type Body = Result<Json<Ask>, JsonRejection>;

/// What a write brings.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    #[serde(default)]
    reason: String,
}

/// The member that a path names.
#[derive(Debug)]
pub(super) struct Name(String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(rejection) => Err(Problem::new(
                rejection.status(),
                format!(
                    "{}: write a member's name percent-encoded in UTF-8, or its id",
                    rejection.body_text()
                ),
            )),
        }
    }
}

/// `GET /v1/view`
pub(super) async fn view(State(app): State<Arc<App>>) -> Answer {
    let status = status(&app).await?;
    Ok((StatusCode::OK, Json(status_json(&app.cluster, &status))))
}

/// `GET /v1/members/{name}`
pub(super) async fn member(State(app): State<Arc<App>>, Name(name): Name) -> Answer {
    let status = status(&app).await?;
    let row = find(&status, &name)?;
    Ok((StatusCode::OK, Json(member_json(status.view.as_deref(), row))))
}

/// `GET /v1/config`
pub(super) async fn config(State(app): State<Arc<App>>) -> Answer {
    let status = status(&app).await?;
    let mut config = app.config.clone();
    config["timing"] = crate::status_json::timing_json(&status.timing);
    Ok((StatusCode::OK, Json(config)))
}

/// `GET /healthz`: the loop runs.
pub(super) async fn healthz(State(app): State<Arc<App>>) -> Answer {
    status(&app).await?;
    Ok((StatusCode::OK, Json(json!({ "healthy": true }))))
}

/// `GET /readyz`: in a view, with quorum, not isolated.
pub(super) async fn readyz(State(app): State<Arc<App>>) -> Answer {
    let state = status(&app).await?.state;
    let why = match state {
        MemberState::Member => {
            return Ok((StatusCode::OK, Json(json!({ "ready": true, "state": state_name(state) }))));
        }
        MemberState::Joining => "it is not in a view yet: see its log for what its seeds answer",
        MemberState::Isolated => {
            "it has no two-way contact to a majority: look at the network between the members"
        }
        MemberState::NoQuorum => {
            "the majority can't be reached: bring members back, or the network between them"
        }
        MemberState::Excluded => {
            "it is out of the view: it joins again by itself unless it runs with --no-rejoin"
        }
        MemberState::Leaving => "it is leaving: ask another member",
    };
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, format!("not ready ({}): {why}", state_name(state))))
}

/// `POST /v1/leave`: answers when the member has left.
pub(super) async fn leave(State(app): State<Arc<App>>) -> Answer {
    let reason = app.control.leave().await;
    let answer = json!({ "stopped": stop_name(&reason) });
    match reason {
        StopReason::Left => Ok((StatusCode::OK, Json(answer))),
        StopReason::LeaveTimedOut => Err(Problem::new(
            StatusCode::GATEWAY_TIMEOUT,
            "no view without this member was decided in time: it ends, and the others remove it as silent",
        )),
        other => Err(Problem::new(
            StatusCode::CONFLICT,
            format!("the member stopped for another reason: {}", stop_name(&other).replace('_', " ")),
        )),
    }
}

/// `POST /v1/members/{name}/suspect`
pub(super) async fn suspect(State(app): State<Arc<App>>, Name(name): Name, body: Body) -> Answer {
    let reason = needed_reason(body)?;
    let (id, name) = other_member(&app, &name, "accuse").await?;
    app.control.suspect(id, reason).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "accepted": true, "member": name }))))
}

/// `POST /v1/members/{name}/check`
pub(super) async fn check(State(app): State<Arc<App>>, Name(name): Name) -> Answer {
    let (id, name) = other_member(&app, &name, "check").await?;
    let verdict = app.control.check(id).await?;
    Ok((StatusCode::OK, Json(json!({ "member": name, "verdict": verdict.to_string() }))))
}

/// `POST /v1/members/{name}/remove`
pub(super) async fn remove(State(app): State<Arc<App>>, Name(name): Name, body: Body) -> Answer {
    let reason = needed_reason(body)?;
    let (id, name) = other_member(&app, &name, "remove").await?;
    app.control.remove(id, reason).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "accepted": true, "member": name }))))
}

async fn status(app: &App) -> Result<Status, Problem> {
    let answer = tokio::time::timeout(LOOP_ANSWERS_IN, app.control.status()).await;
    Ok(answer.unwrap_or(Err(Refused::Stuck))?)
}

fn find<'a>(status: &'a Status, name: &str) -> Result<&'a MemberRow, Problem> {
    let mut rows = status.members.iter();
    rows.find(|row| row.member.name == name || row.member.id.to_string() == name).ok_or_else(|| {
        let known: Vec<_> = status.members.iter().map(|row| row.member.name.as_str()).collect();
        let known = if known.is_empty() { String::from("none yet") } else { known.join(", ") };
        Problem::new(StatusCode::NOT_FOUND, format!("there is no member {name:?}; members are: {known}"))
    })
}

async fn other_member(app: &App, name: &str, verb: &str) -> Result<(MemberId, String), Problem> {
    let status = status(app).await?;
    let member = &find(&status, name)?.member;
    if member.id == status.me.id {
        let detail = format!("{name:?} is the member asked, which can't {verb} itself: ask another member");
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    }
    Ok((member.id, member.name.clone()))
}

fn needed_reason(body: Body) -> Result<String, Problem> {
    let Json(ask) = body.map_err(|rejection| {
        let detail = format!("{}: send {{\"reason\": \"…\"}} as application/json", rejection.body_text());
        Problem::new(rejection.status(), detail)
    })?;
    if ask.reason.trim().is_empty() || ask.reason.len() > REASON_BYTES_MAX {
        let detail =
            format!("a reason of 1 to {REASON_BYTES_MAX} bytes is needed: send {{\"reason\": \"…\"}}");
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    Ok(ask.reason)
}
