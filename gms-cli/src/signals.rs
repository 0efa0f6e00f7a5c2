//! Signals that end a command which would otherwise go on: Ctrl-C and its kin.

use std::io;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Failure;

/// Calls `on_signal` at each SIGINT, SIGTERM and SIGHUP, until the value that is returned is dropped.
pub(crate) fn watch(on_signal: impl Fn() + Clone + Send + 'static) -> Result<Runtime, Failure> {
    let failed = |error: io::Error| {
        Failure::fault(format!("signals can't be watched ({error}): raise this process's limits"))
    };
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
    let entered = runtime.enter();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let mut signal = signal(kind).map_err(failed)?;
        let on_signal = on_signal.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                on_signal();
            }
        });
    }
    drop(entered);
    Ok(runtime)
}
