//! A process to be killed: a test's own binary, started to run one of its tests that opens a transport and waits.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use gms_core::transport::{Incoming, Transport};

use crate::tools::addr;

/// Set for the process: what the starter has to say to it.
const WORD: &str = "GMS_TEST_VICTIM";

/// What it answers to every check.
pub const ANSWER: &str = "the victim";

/// A process with a transport. Killed when it is dropped, at the latest.
#[derive(Debug)]
pub struct Victim {
    process: Child,
    /// Where its transport listens.
    pub addr: SocketAddr,
}

impl Victim {
    /// Starts this binary again to run `test`, which must call [`serve`], and passes `word` on to it.
    ///
    /// # Panics
    ///
    /// Where it does not start, or ends before it listens.
    pub fn start(test: &str, word: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(WORD, word)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = process.stderr.take().unwrap();
        let mut said = String::new();
        let addr = loop {
            let mut some = [0; 256];
            let n = stderr.read(&mut some).unwrap();
            assert!(n > 0, "the process ended: {said}");
            said.push_str(std::str::from_utf8(&some[..n]).unwrap());
            let line = said.lines().find_map(|line| line.strip_prefix("listens at "));
            if let Some(addr) = line.filter(|_| said.ends_with('\n')) {
                break addr.parse().unwrap();
            }
        };
        Self { process, addr }
    }

    /// Kills it; returns where it listened, as soon as nobody does any more.
    ///
    /// # Panics
    ///
    /// Where it can't be killed.
    pub fn kill(mut self) -> SocketAddr {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.addr
    }
}

#[cfg(unix)]
impl Victim {
    /// Stops it, so that it does nothing and yet is there; says whether there is a way to.
    ///
    /// # Panics
    ///
    /// Where it has ended.
    pub fn stop(&self) -> bool {
        self.signal(nix::sys::signal::Signal::SIGSTOP);
        true
    }

    /// Lets it go on.
    ///
    /// # Panics
    ///
    /// Where it has ended.
    pub fn wake(&self) {
        self.signal(nix::sys::signal::Signal::SIGCONT);
    }

    fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.process.id()).unwrap());
        nix::sys::signal::kill(id, signal).unwrap();
    }
}

#[cfg(not(unix))]
impl Victim {
    /// Stops it, so that it does nothing and yet is there; says whether there is a way to, which is not so here.
    pub fn stop(&self) -> bool {
        false
    }

    /// Lets it go on.
    pub fn wake(&self) {}
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In the test that [`Victim::start`] names: what the starter has to say. `None` where it runs like any other test, and has
/// nothing to do.
pub fn word() -> Option<String> {
    std::env::var(WORD).ok()
}

/// In the same test: says where the transport listens, receives, and answers checks with [`ANSWER`], until the process is killed.
///
/// # Panics
///
/// Where nobody hears that.
pub async fn serve(transport: &impl Transport) {
    std::io::stderr().write_all(format!("\nlistens at {}\n", addr(transport)).as_bytes()).unwrap();
    let mut arrived = Vec::new();
    while transport.receive(&mut arrived).await.is_ok() {
        for incoming in arrived.drain(..) {
            if let Incoming::Check { handle, .. } = incoming {
                transport.answer_check(handle, ANSWER.into()).await;
            }
        }
    }
}
