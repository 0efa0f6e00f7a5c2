//! Reading what a user names: as text, and never more than makes sense.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Largest file read whole: a scenario with a fault for each millisecond of an hour fits many times.
const BYTES_MAX: u64 = 16 << 20;

/// The text in a file of at most 16 MiB.
///
/// # Errors
///
/// What the system says; the file is larger, or no UTF-8.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read_all(File::open(path)?)
}

/// The text on stdin, of at most 16 MiB.
///
/// # Errors
///
/// As [`read_text`].
pub(crate) fn read_stdin() -> io::Result<String> {
    read_all(io::stdin().lock())
}

fn read_all(from: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 16 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_files_are_not_read_to_their_end() {
        let error = read_text(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 16 MiB");
        assert_eq!(read_text(Path::new("/dev/null")).unwrap(), "");
    }
}
