//! `--on-event`: runs a program for each event, one at a time, and never makes the member wait for it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Events that wait for the program.
const QUEUE_EVENTS: usize = 256;
/// How long one run may take before it is killed, so that a hung one does not silence all that follow.
const RUN_TAKES_MAX: Duration = Duration::from_secs(30);
/// Longest event that fits an environment variable on every system; longer ones come on stdin only.
const VARIABLE_BYTES_MAX: usize = 100_000;

/// The queue towards the program.
#[derive(Debug)]
pub(super) struct OnEvent {
    queue: mpsc::Sender<String>,
    lost: u64,
    runner: JoinHandle<()>,
}

impl OnEvent {
    /// Starts running `program` for what is pushed. Needs a runtime around it.
    pub(super) fn start(program: PathBuf) -> Self {
        let (queue, mut events) = mpsc::channel::<String>(QUEUE_EVENTS);
        let runner = tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                match tokio::time::timeout(RUN_TAKES_MAX, run(&program, &event)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        tracing::warn!(program = %program.display(), %error, "on-event program failed")
                    }
                    Err(_) => {
                        tracing::warn!(program = %program.display(), "on-event program killed after 30 s")
                    }
                }
            }
        });
        Self { queue, lost: 0, runner }
    }

    /// Queues an event, or counts it as lost.
    pub(super) fn push(&mut self, event: String) {
        match self.queue.try_send(event) {
            Ok(()) if self.lost > 0 => {
                tracing::warn!(events = self.lost, "on-event program was too slow: events were left out");
                self.lost = 0;
            }
            Ok(()) => {}
            Err(_) => {
                if self.lost == 0 {
                    tracing::warn!("on-event program is too slow: events are left out from here on");
                }
                self.lost += 1;
            }
        }
    }

    /// Waits for what is queued, at most for `timeout`; what is left then is dropped.
    pub(super) async fn close(self, timeout: Duration) {
        if self.lost > 0 {
            tracing::warn!(events = self.lost, "on-event program was too slow: events were left out");
        }
        drop(self.queue);
        let stop = self.runner.abort_handle();
        if tokio::time::timeout(timeout, self.runner).await.is_err() {
            stop.abort();
        }
    }
}

async fn run(program: &Path, event: &str) -> std::io::Result<()> {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    if event.len() <= VARIABLE_BYTES_MAX {
        command.env("GMS_EVENT", event);
    }
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads only the variable closes stdin early, which is its right.
        drop(stdin.write_all(event.as_bytes()).await);
    }
    let status = child.wait().await?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(status.to_string())) }
}
