//! Why a measurement did not take place: one sentence that says what and what to do, and an exit code.

use std::process::ExitCode;

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// A flag or value makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Something failed at run time.
    #[error("{0}")]
    Fault(String),
    /// Ctrl-C, or its kin.
    #[error("interrupted: all processes and networks of this run are gone")]
    Interrupted,
}

impl Failure {
    /// A fault at run time.
    pub fn fault(sentence: impl Into<String>) -> Self {
        Self::Fault(sentence.into())
    }

    /// What the program ends with: 1 for faults, 2 for bad usage, 130 as shells say it of SIGINT.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Fault(_) => 1,
            Self::Usage(_) => 2,
            Self::Interrupted => 130,
        })
    }
}

impl From<gms_lab::LabError> for Failure {
    fn from(error: gms_lab::LabError) -> Self {
        Self::fault(format!("the network of namespaces can't be made or changed: {error}"))
    }
}
