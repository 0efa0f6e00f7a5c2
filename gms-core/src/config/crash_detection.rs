//! Whether the network's word for it counts that a process is gone.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether refused connections count as proof that a process is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CrashDetection {
    /// They do, where two members were refused: deaths are seen in milliseconds.
    #[default]
    Fast,
    /// They don't, for networks in which a firewall refuses in a host's name: only silence, and another incarnation at
    /// the address, count.
    Strict,
}

/// As the flag `--crash-detection` takes it.
impl fmt::Display for CrashDetection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fast => "fast",
            Self::Strict => "strict",
        })
    }
}
