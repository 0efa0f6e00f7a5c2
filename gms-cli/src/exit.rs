//! How the program ends: the documented exit codes, and failures as one sentence that says what and what to do.

use std::process::ExitCode;

/// The exit codes of `gms`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    /// Done; a member left gracefully.
    Success = 0,
    /// A fault: a port in use, a member that can't be reached, a demo that did not go as it must.
    Fault = 1,
    /// Bad usage or configuration.
    Usage = 2,
    /// The member could not join.
    NotJoined = 3,
    /// The member is excluded and does not rejoin.
    Excluded = 4,
    /// The majority is lost and the member was told to leave then.
    QuorumLost = 5,
    /// The member asked is isolated or without quorum.
    NoQuorum = 6,
    /// A simulation was interrupted: as shells say it of SIGINT.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Why a command did not succeed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{sentence}")]
pub(crate) struct Failure {
    /// What the process ends with.
    pub(crate) code: Code,
    /// What is wrong and what to do; empty where everything was said already.
    pub(crate) sentence: String,
}

impl Failure {
    /// A fault at run time.
    pub(crate) fn fault(sentence: impl Into<String>) -> Self {
        Self { code: Code::Fault, sentence: sentence.into() }
    }

    /// A wrong flag or value.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self { code: Code::Usage, sentence: sentence.into() }
    }

    /// The reader of the output went away: nothing is said, since nobody listens.
    pub(crate) const fn closed_output() -> Self {
        Self { code: Code::Fault, sentence: String::new() }
    }
}
