//! Writing to the terminal without panics: a closed pipe ends a command quietly.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use crate::exit::{Code, Failure};

/// Writes `bytes` to stdout at once.
pub(crate) fn stdout(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::closed_output(),
        _ => Failure::fault(format!("stdout can't be written ({error}): check where it goes")),
    })
}

/// Writes a line to stdout at once.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    stdout(format!("{text}\n").as_bytes())
}

/// Writes a line to stderr; what can't be written is lost.
pub(crate) fn complain(sentence: &str) {
    drop(writeln!(io::stderr().lock(), "gms: {sentence}"));
}

/// Says why a command failed, and with what the process ends.
pub(crate) fn failure(failure: &Failure) -> ExitCode {
    if !failure.sentence.is_empty() {
        complain(&failure.sentence);
    }
    failure.code.into()
}

/// Shows help, the version, or what is wrong with the arguments.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    drop(error.print());
    if error.use_stderr() { Code::Usage.into() } else { Code::Success.into() }
}

/// Whether text for people may be coloured: stdout is a terminal, and `NO_COLOR` is not set.
pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && allowed()
}

/// The same of stderr.
pub(crate) fn colour_of_log() -> bool {
    io::stderr().is_terminal() && allowed()
}

fn allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
