//! Processes under test: started on free ports, followed by their events, killed when dropped.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long anything may take on a loaded machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// T of the tests' clusters.
pub(crate) const MEMBER_TIMEOUT: &str = "500ms";

/// The program, without the environment of whoever runs the tests.
pub(crate) fn gms(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gms"));
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("GMS_") {
            command.env_remove(variable);
        }
    }
    command.args(args);
    command
}

/// Runs the program to its end; fails the test if that does not come.
pub(crate) fn run(args: &[&str]) -> Output {
    let mut child =
        Guard(gms(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let drain = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        })
    };
    let stdout = drain(child.0.stdout.take().map(|s| Box::new(s) as _));
    let stderr = drain(child.0.stderr.take().map(|s| Box::new(s) as _));
    let status = child.ended();
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// Exit code, and what was said on stderr.
pub(crate) fn outcome(args: &[&str]) -> (i32, String) {
    let output = run(args);
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A process that does not outlive its test.
pub(crate) struct Guard(pub(crate) Child);

impl Guard {
    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> std::process::ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the process did not end");
            // Nothing tells the end of a child that can be waited for with a deadline.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A running member.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) addr: String,
    pub(crate) http: String,
    process: Guard,
    events: Receiver<Value>,
    log: Receiver<String>,
    seen: Vec<Value>,
}

impl Member {
    /// Starts a member that asks `join` first; without, it founds a cluster.
    pub(crate) fn start(name: &str, join: &[&str]) -> Self {
        Self::start_at(name, "127.0.0.1:0", join, &[])
    }

    /// The same at an address and with further flags.
    pub(crate) fn start_at(name: &str, bind: &str, join: &[&str], more: &[&str]) -> Self {
        let join = join.join(",");
        let mut args = vec!["run", "--name", name, "--bind", bind, "--http", "127.0.0.1:0", "--json"];
        args.extend(["--member-timeout", MEMBER_TIMEOUT]);
        if !more.contains(&"--log") {
            args.extend(["--log", "warn"]);
        }
        if !join.is_empty() {
            args.extend(["--join", &join]);
        }
        args.extend(more);
        let child = gms(&args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut process = Guard(child.unwrap());
        let (logged, log) = channel();
        let stderr = process.0.stderr.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // For whoever looks at a test that failed.
                drop(writeln!(std::io::stderr(), "{line}"));
                if logged.send(line).is_err() {
                    break;
                }
            }
        });
        let stdout = process.0.stdout.take().unwrap();
        let (send, events) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(serde_json::from_str(&line).unwrap_or(Value::Null)).is_err() {
                    break;
                }
            }
        });
        let mut member = Self {
            name: name.into(),
            addr: String::new(),
            http: String::new(),
            process,
            events,
            log,
            seen: Vec::new(),
        };
        let started = member.wait(|e| e["event"] == "started");
        member.addr = started["addr"].as_str().unwrap().to_owned();
        member.http = started["http"].as_str().unwrap().to_owned();
        member
    }

    /// The first event, from now on, for which `is` holds.
    pub(crate) fn wait(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    if is(&event) {
                        return event;
                    }
                }
                Err(error) => panic!("{}: {error} after {:#?}", self.name, self.seen),
            }
        }
    }

    /// Waits for a line of its log that contains `text`.
    pub(crate) fn wait_log(&self, text: &str) -> String {
        self.wait_log_until(text).pop().unwrap()
    }

    /// The same, with all lines before it that were not waited for yet.
    pub(crate) fn wait_log_until(&self, text: &str) -> Vec<String> {
        let deadline = Instant::now() + DEADLINE;
        let mut lines = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.log.recv_timeout(left) {
                Ok(line) => lines.push(line),
                Err(error) => panic!("{}: {error} while waiting for {text}", self.name),
            }
            if lines.last().is_some_and(|line| line.contains(text)) {
                return lines;
            }
        }
    }

    /// Waits for an event of this name.
    pub(crate) fn wait_event(&mut self, name: &str) -> Value {
        self.wait(|e| e["event"] == name)
    }

    /// Waits for a view of exactly these members, in any order.
    pub(crate) fn wait_view(&mut self, members: &[&str]) -> Value {
        let mut wanted: Vec<&str> = members.to_vec();
        wanted.sort_unstable();
        self.wait(|e| {
            let mut got: Vec<&str> =
                e["members"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            got.sort_unstable();
            got == wanted
        })
    }

    /// Waits for a view that lists `name` under `kind` (`left`, `crashed`, …).
    pub(crate) fn wait_gone(&mut self, kind: &str, name: &str) -> Value {
        self.wait(|e| e[kind].as_array().is_some_and(|list| list.iter().any(|n| n == name)))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process.0), signal).unwrap();
    }

    /// Exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.process.ended().code()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.0.try_wait().unwrap().is_none()
    }

    /// Status and body of an HTTP request.
    pub(crate) fn http(&self, request: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let length = body.len();
        let head = "host: x\r\nconnection: close\r\ncontent-type: application/json";
        write!(stream, "{request} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }
}

/// Members `m1`, `m2`, … in one cluster; `m1` founded it.
pub(crate) fn cluster(size: usize) -> Vec<Member> {
    let names: Vec<String> = (1..=size).map(|n| format!("m{n}")).collect();
    let mut members = vec![Member::start("m1", &[])];
    members[0].wait_event("joined");
    let seed = members[0].addr.clone();
    members.extend(names[1..].iter().map(|name| Member::start(name, &[&seed])));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for member in &mut members {
        if size > 1 {
            member.wait_view(&names);
        }
    }
    members
}
