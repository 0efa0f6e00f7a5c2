//! Presets of the one knob from which the others derive.

use std::time::Duration;

/// Presets of `member_timeout`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// One machine: T = 1 s.
    Local,
    /// One site: T = 5 s. Geode `MembershipConfig.DEFAULT_MEMBER_TIMEOUT` (5000 ms).
    #[default]
    Lan,
    /// Several sites: T = 15 s.
    Wan,
}

impl Profile {
    /// The preset's member timeout.
    pub const fn member_timeout(self) -> Duration {
        match self {
            Self::Local => Duration::from_secs(1),
            Self::Lan => Duration::from_secs(5),
            Self::Wan => Duration::from_secs(15),
        }
    }
}
