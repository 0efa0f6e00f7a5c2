//! The members' processes: started, signalled, and ended whatever happens.

use std::io::{self, BufRead as _, BufReader};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cluster::Message;
use super::plan::Plan;
use crate::exit::Failure;

/// Tries to find a port that is free over both protocols.
const PORT_TRIES: usize = 100;

/// A member's process. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub(super) struct Member {
    /// Its name.
    pub(super) name: String,
    /// Its trace.
    pub(super) trace: PathBuf,
    log: PathBuf,
    process: Child,
}

impl Member {
    /// Starts member `n` of the plan; what it prints goes to `messages`.
    pub(super) fn start(
        plan: &Plan,
        n: usize,
        seeds: &[u16],
        dir: &Path,
        messages: Sender<Message>,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::fault(format!("a member can't be started ({error}): raise the limits of this process"))
        };
        let name = format!("m{}", n + 1);
        let (trace, log) = (dir.join(format!("{name}.jsonl")), dir.join(format!("{name}.log")));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        for (variable, _) in std::env::vars_os() {
            if variable.to_string_lossy().starts_with("GMS_") {
                command.env_remove(variable);
            }
        }
        let join: Vec<String> = seeds.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        command
            .args([
                "run",
                "--cluster",
                "demo",
                "--json",
                "--log",
                "warn",
                "--exit-with-stdin",
                "--http",
                "127.0.0.1:0",
            ])
            .args(["--name", &name, "--join", &join.join(",")])
            .args(["--bind", &format!("127.0.0.1:{}", seeds.get(n).copied().unwrap_or(0))])
            .args(["--member-timeout", &humantime::format_duration(plan.member_timeout).to_string()])
            .args(["--transport", plan.transport.name(), "--quic-watch", plan.quic_watch.name()])
            .arg("--trace")
            .arg(&trace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).map_err(failed)?)
            // Ctrl-C is for the demo alone: its members die by its hand, in an order that it knows.
            .process_group(0);
        let mut process = command.spawn().map_err(failed)?;
        let stdout = process.stdout.take();
        let member = Self { name, trace, log, process };
        if let Some(stdout) = stdout {
            let reader = std::thread::Builder::new().name(format!("gms-{}", member.name));
            reader
                .spawn(move || {
                    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                        if let Ok(Value::Object(object)) = serde_json::from_str(&line) {
                            drop(messages.send(Message::Event { member: n, object }));
                        }
                    }
                    drop(messages.send(Message::Ended { member: n }));
                })
                .map_err(failed)?;
        }
        Ok(member)
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).map_err(|error| {
            Failure::fault(format!("{} can't be signalled ({error}): did something else end it?", self.name))
        })
    }

    /// The last lines of its log.
    pub(super) fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("; ")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Ports of loopback that are free over UDP and TCP at this moment.
pub(super) fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    let mut held = Vec::new();
    for _ in 0..PORT_TRIES {
        if held.len() == count {
            break;
        }
        let pair = TcpListener::bind("127.0.0.1:0").and_then(|tcp| {
            let port = tcp.local_addr()?.port();
            Ok((port, UdpSocket::bind(("127.0.0.1", port))?, tcp))
        });
        held.extend(pair.ok());
    }
    if held.len() < count {
        return Err(Failure::fault("no free ports were found on 127.0.0.1: end what uses them all"));
    }
    Ok(held.iter().map(|(port, _, _)| *port).collect())
}
