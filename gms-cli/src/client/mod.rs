//! Commands that ask a running member over HTTP.

mod events;
mod http;
mod sse;
mod watch;

use std::time::Duration;

use serde_json::{Value, json};

use crate::args::{
    CheckArgs, EventsArgs, LeaveArgs, MembersArgs, RemoveArgs, StatusFilter, SuspectArgs, ViewArgs,
};
use crate::exit::{Code, Failure};
use crate::output;
use crate::render::{Paint, members_table, view_text};

use http::Client;

/// Beyond the time a member takes to answer, how long a leave may take at most: the largest leave timeout.
const LEAVE_TAKES_MAX: Duration = Duration::from_secs(3600);

/// `gms members`
pub(crate) fn members(MembersArgs { list: args }: &MembersArgs) -> Result<Code, Failure> {
    let client = Client::new(&args.at, None)?;
    let filter = Filter { status: args.status, name: args.name.as_ref() };
    let show = |status: &Value| {
        let members = filter.apply(status);
        if args.json { json!(members).to_string() } else { members_table(&members, Paint(output::colour())) }
    };
    show_status(&client, args.watch, args.json, &show)
}

/// `gms view`
pub(crate) fn view(ViewArgs { list: args }: &ViewArgs) -> Result<Code, Failure> {
    let client = Client::new(&args.at, None)?;
    let filter = Filter { status: args.status, name: args.name.as_ref() };
    let show = |status: &Value| {
        let members = filter.apply(status);
        if args.json {
            let mut status = status.clone();
            status["members"] = json!(members);
            status.to_string()
        } else {
            view_text(status, &members, Paint(output::colour()))
        }
    };
    show_status(&client, args.watch, args.json, &show)
}

fn show_status(
    client: &Client,
    watch: bool,
    json: bool,
    show: &dyn Fn(&Value) -> String,
) -> Result<Code, Failure> {
    if watch {
        return watch::watch(client, json, show);
    }
    let status = client.get("/v1/view")?;
    output::line(&show(&status))?;
    Ok(code_of(&status))
}

/// Exit code 6 tells scripts not to rely on what was printed.
fn code_of(status: &Value) -> Code {
    match status["state"].as_str() {
        Some("isolated" | "no_quorum") => Code::NoQuorum,
        _ => Code::Success,
    }
}

/// Which members are shown.
struct Filter<'a> {
    status: Option<StatusFilter>,
    name: Option<&'a regex::Regex>,
}

impl Filter<'_> {
    fn apply<'v>(&self, status: &'v Value) -> Vec<&'v Value> {
        let members = status["members"].as_array().map_or(&[][..], Vec::as_slice);
        members.iter().filter(|member| self.matches(member)).collect()
    }

    fn matches(&self, member: &Value) -> bool {
        let text = |key: &str| member[key].as_str().unwrap_or_default();
        self.status.is_none_or(|status| text("status") == status.name())
            && self.name.is_none_or(|name| name.is_match(text("name")))
    }
}

/// `gms events`
pub(crate) fn events(args: &EventsArgs) -> Result<Code, Failure> {
    events::follow(&Client::new(&args.at, None)?, args.json)
}

/// `gms leave`
pub(crate) fn leave(args: &LeaveArgs) -> Result<Code, Failure> {
    let client = Client::new(&args.at, args.token.http_token.as_deref())?.patient(LEAVE_TAKES_MAX);
    client.post("/v1/leave", None)?;
    output::line("left")?;
    Ok(Code::Success)
}

/// `gms suspect`
pub(crate) fn suspect(args: &SuspectArgs) -> Result<Code, Failure> {
    let client = Client::new(&args.at, args.token.http_token.as_deref())?;
    let path = format!("/v1/members/{}/suspect", http::segment(&args.member));
    client.post(&path, Some(&json!({ "reason": args.reason })))?;
    output::line(&format!("accused {}: its coordinator looks at it now (see gms events)", args.member))?;
    Ok(Code::Success)
}

/// `gms check`
pub(crate) fn check(args: &CheckArgs) -> Result<Code, Failure> {
    let client = Client::new(&args.at, args.token.http_token.as_deref())?;
    let answer = client.post(&format!("/v1/members/{}/check", http::segment(&args.member)), None)?;
    let verdict = answer["verdict"].as_str().unwrap_or("unknown");
    output::line(&format!("{}: {verdict}", args.member))?;
    Ok(if verdict == "alive" { Code::Success } else { Code::Fault })
}

/// `gms remove`
pub(crate) fn remove(args: &RemoveArgs) -> Result<Code, Failure> {
    let client = Client::new(&args.at, args.token.http_token.as_deref())?;
    let path = format!("/v1/members/{}/remove", http::segment(&args.member));
    client.post(&path, Some(&json!({ "reason": args.reason })))?;
    output::line(&format!("removal of {} is under way (see gms events)", args.member))?;
    Ok(Code::Success)
}
