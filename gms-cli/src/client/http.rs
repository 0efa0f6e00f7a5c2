//! A small HTTP client: one connection a request, and sentences for what goes wrong.

use std::io;
use std::path::Path;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::args::At;
use crate::exit::Failure;

/// Largest answer: a view of 10 000 members.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A running member's HTTP interface.
#[derive(Debug)]
pub(super) struct Client {
    at: String,
    timeout: Duration,
    patience: Duration,
    token: Option<String>,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// The client of the interface at `at`; `token` is the file with the token that writes bear.
    pub(super) fn new(at: &At, token: Option<&Path>) -> Result<Self, Failure> {
        let token = token.map(crate::run::read_token).transpose()?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
                Failure::fault(format!(
                    "no runtime can be started ({error}): look at the limits of this process"
                ))
            })?;
        Ok(Self { at: at.at.clone(), timeout: at.timeout, patience: at.timeout, token, runtime })
    }

    /// The same, waiting longer for answers.
    pub(super) fn patient(mut self, patience: Duration) -> Self {
        self.patience = self.patience.max(patience);
        self
    }

    /// Runs a future on this client's runtime.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// The address asked.
    pub(super) fn at(&self) -> &str {
        &self.at
    }

    /// Reads a resource.
    pub(super) fn get(&self, path: &str) -> Result<Value, Failure> {
        self.block_on(self.exchange(Method::GET, path, None))
    }

    /// Writes to a resource.
    pub(super) fn post(&self, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        self.block_on(self.exchange(Method::POST, path, body))
    }

    async fn exchange(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let request = self.request(method, path).header(header::CONTENT_TYPE, "application/json");
        let request = request.body(Full::new(body.map_or_else(Bytes::new, |b| b.to_string().into())));
        let answer = async {
            let response = self.send(request.map_err(|error| self.broken(&error))?).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            let bytes = body.map_err(|error| self.broken(error.as_ref()))?.to_bytes();
            let value: Value = serde_json::from_slice(&bytes).map_err(|_| self.stranger())?;
            if status.is_success() { Ok(value) } else { Err(self.problem(status, &value)) }
        };
        match tokio::time::timeout(self.patience, answer).await {
            Ok(result) => result,
            Err(_) => Err(self.slow()),
        }
    }

    /// Opens the stream of events after number `last`, or from now on.
    pub(super) async fn events(&self, last: Option<&str>) -> Result<Incoming, Failure> {
        let mut request = self.request(Method::GET, "/v1/events").header(header::ACCEPT, "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let request = request.body(Full::new(Bytes::new())).map_err(|error| self.broken(&error))?;
        let response = match tokio::time::timeout(self.timeout, self.send(request)).await {
            Ok(response) => response?,
            Err(_) => return Err(self.slow()),
        };
        if response.status().is_success() { Ok(response.into_body()) } else { Err(self.stranger()) }
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        let request = Request::builder().method(method).uri(path).header(header::HOST, &self.at);
        match &self.token {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        let stream = TcpStream::connect(&self.at).await.map_err(|error| self.unreachable(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.broken(&error))?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(|error| self.broken(&error))
    }

    fn unreachable(&self, error: &io::Error) -> Failure {
        let why = match error.kind() {
            io::ErrorKind::ConnectionRefused => String::from("connection refused"),
            _ => error.to_string(),
        };
        Failure::fault(format!(
            "no member answers at {} ({why}): start one with gms run, or name the address of a running one with --at",
            self.at
        ))
    }

    fn slow(&self) -> Failure {
        Failure::fault(format!(
            "the member at {} did not answer within {}: it may be stopped or overloaded; look at it, or wait longer with \
             --timeout",
            self.at,
            humantime::format_duration(self.patience)
        ))
    }

    fn broken(&self, error: &dyn std::error::Error) -> Failure {
        Failure::fault(format!(
            "{} broke the connection ({error}): it must be the member's --http address, not its --bind; if it is, look at the member's log",
            self.at
        ))
    }

    fn stranger(&self) -> Failure {
        Failure::fault(format!(
            "what answers at {} is no gms member: name the address that its first line calls http with --at",
            self.at
        ))
    }

    fn problem(&self, status: StatusCode, value: &Value) -> Failure {
        match value["detail"].as_str() {
            Some(detail) => Failure::fault(detail),
            None => Failure::fault(format!("the member at {} answered {status}: look at its log", self.at)),
        }
    }
}

/// `name` as one segment of a path.
pub(super) fn segment(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn names_are_escaped_for_paths() {
        assert_eq!(segment("orders-1"), "orders-1");
        assert_eq!(segment("a/b ü"), "a%2Fb%20%C3%BC");
    }
}
