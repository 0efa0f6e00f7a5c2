//! One member's process: started, read, signalled, and ended whatever happens.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;
use crate::line::Line;
use crate::serf_log::SerfLog;

/// What members' processes say.
#[derive(Debug)]
pub(crate) enum Message {
    /// A member sees other members than before.
    Told {
        /// Which, by place.
        member: usize,
        /// What it sees.
        line: Line,
    },
    /// Its process closed its output.
    Ended {
        /// Which, by place.
        member: usize,
    },
}

/// How a process says what it sees.
#[derive(Debug)]
pub(crate) enum Dialect {
    /// In lines of the drivers.
    Lines,
    /// In the log of serf, whose members have these names and addresses.
    Serf(Vec<(String, SocketAddr)>),
}

/// A member's process. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts the program; what it says goes to `messages`, what it complains of to a file in `dir`.
    pub(crate) fn start(
        words: &[OsString],
        member: usize,
        dialect: Dialect,
        dir: &Path,
        messages: Sender<Message>,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::fault(format!("a member can't be started ({error}): raise the limits of this process"))
        };
        let [program, arguments @ ..] = words else {
            return Err(Failure::fault("a member without a program can't be started"));
        };
        let log = dir.join(format!("m{member}.log"));
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).map_err(failed)?)
            // Ctrl-C is for the run alone, which ends its members in an order that it knows.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let stdout = child.stdout.take();
        let process = Self { child, log };
        let read = move || {
            let mut serf = match dialect {
                Dialect::Lines => None,
                Dialect::Serf(names) => Some(SerfLog::of(names)),
            };
            for text in
                stdout.map(BufReader::new).into_iter().flat_map(|out| out.lines().map_while(Result::ok))
            {
                let line = match &mut serf {
                    None => serde_json::from_str::<Line>(&text).ok(),
                    Some(log) => log.read(&text),
                };
                if let Some(line) = line {
                    drop(messages.send(Message::Told { member, line }));
                }
            }
            drop(messages.send(Message::Ended { member }));
        };
        std::thread::Builder::new().name(format!("read-m{member}")).spawn(read).map_err(failed)?;
        Ok(process)
    }

    /// Its number, which is the member's own.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Failure> {
        kill_process(Pid::from_child(&self.child), signal).map_err(|error| {
            Failure::fault(format!("a member can't be signalled ({error}): did something else end it?"))
        })
    }

    /// The last lines of what it complained of.
    pub(crate) fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(3)..].join("; ")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only for a process that has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
