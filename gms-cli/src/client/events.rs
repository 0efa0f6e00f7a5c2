//! `gms events`: follows a member's events and resumes after a broken connection.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use super::http::Client;
use super::sse::{Message, Parser};
use crate::exit::{Code, Failure};
use crate::output;
use crate::render::{Paint, event_line};

/// Silence after which a connection counts as broken: three times the interval of the member's comments.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// First and longest wait before a broken connection is tried again.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// How a connection ended.
enum End {
    /// The member stopped: nothing follows.
    Stopped,
    /// It broke.
    Broken,
}

/// Prints events until the member stops, or for ever.
pub(super) fn follow(client: &Client, json: bool) -> Result<Code, Failure> {
    client.block_on(async {
        let mut last = None;
        // A member that can't be reached at all is a mistake of the caller; one that goes away later may come back.
        let mut body = client.events(None).await?;
        loop {
            if let End::Stopped = print(body, json, &mut last).await? {
                return Ok(Code::Success);
            }
            output::complain(&format!("the connection to {} broke; trying again", client.at()));
            body = reconnect(client, last.as_deref()).await;
        }
    })
}

async fn reconnect(client: &Client, last: Option<&str>) -> Incoming {
    let (mut wait, longest) = RETRY;
    loop {
        tokio::time::sleep(wait).await;
        match client.events(last).await {
            Ok(body) => return body,
            Err(_) => wait = (wait * 2).min(longest),
        }
    }
}

async fn print(mut body: Incoming, json: bool, last: &mut Option<String>) -> Result<End, Failure> {
    let mut parser = Parser::default();
    loop {
        let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE_MAX, body.frame()).await else {
            return Ok(End::Broken);
        };
        let Some(messages) = frame.data_ref().map_or(Some(Vec::new()), |bytes| parser.take(bytes)) else {
            return Ok(End::Broken);
        };
        for message in messages {
            if tell(message, json, last)? {
                return Ok(End::Stopped);
            }
        }
    }
}

/// Prints one event, and returns whether it is the member's last.
fn tell(message: Message, json: bool, last: &mut Option<String>) -> Result<bool, Failure> {
    let value: Value = serde_json::from_str(&message.data).unwrap_or_default();
    match &value {
        Value::Object(event) if !json => output::line(&event_line(event, Paint(output::colour())))?,
        _ => output::line(&message.data)?,
    }
    if message.id.is_some() {
        *last = message.id;
    }
    Ok(value["event"] == "stopped")
}
