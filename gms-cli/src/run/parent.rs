//! Ends this process with the one that started it, so that a killed demo leaves nothing behind.

use std::io::Read as _;

/// Ends this process at once when its stdin closes; on Linux also when its parent ends, which works for a stopped
/// process too.
pub(super) fn end_with_it() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let watch = || {
        let mut stdin = std::io::stdin().lock();
        let mut buffer = [0; 64];
        while matches!(stdin.read(&mut buffer), Ok(1..)) {}
        std::process::exit(crate::exit::Code::Fault as i32);
    };
    drop(std::thread::Builder::new().name("gms-parent".into()).spawn(watch));
}
