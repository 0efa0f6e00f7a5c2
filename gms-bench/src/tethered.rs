//! Becomes another program that ends with whoever started it, so that a killed run leaves no processes behind.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::failure::Failure;

/// Replaces this process by `words`. The kernel kills it when its parent's thread ends, also while it is stopped.
pub(crate) fn become_program(words: &[OsString]) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(|error| Failure::fault(format!("the process can't be tied to its parent: {error}")))?;
    let [program, arguments @ ..] = words else {
        return Err(Failure::Usage("name a program to become".into()));
    };
    let error = Command::new(program).args(arguments).exec();
    Err(Failure::fault(format!("{} can't be run: {error}", program.to_string_lossy())))
}
