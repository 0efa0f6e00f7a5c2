//! On what it was measured.

use serde::{Deserialize, Serialize};

/// The machine and the programs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Machine {
    /// The processor's name.
    pub(super) processor: String,
    /// How many there are.
    pub(super) processors: usize,
    /// The kernel's release.
    pub(super) kernel: String,
    /// Runnable tasks when it began, averaged over a minute: 0 on a machine that does nothing else.
    pub(super) load: String,
    /// The version of GMS.
    pub(super) gms: String,
}

impl Machine {
    /// This one.
    pub(super) fn here() -> Self {
        let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        let cpu = read("/proc/cpuinfo");
        let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let first_word = |text: String| text.split_whitespace().next().unwrap_or_default().to_owned();
        Self {
            processor: model.map_or("unknown", |(_, name)| name).to_owned(),
            processors: std::thread::available_parallelism().map_or(1, Into::into),
            kernel: first_word(read("/proc/sys/kernel/osrelease")),
            load: first_word(read("/proc/loadavg")),
            gms: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
