//! Reading the files that a user names, never more than makes sense.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::tls_error::TlsFault;

/// Largest file read: hundreds of CAs fit.
const BYTES_MAX: u64 = 1 << 20;
/// Bits of a file's mode that let others than its owner do something with it.
#[cfg(unix)]
const OTHERS: u32 = 0o077;

pub(crate) fn read(file: &Path) -> Result<Vec<u8>, TlsFault> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| TlsFault::unreadable(&error))?;
    if bytes.len() as u64 > BYTES_MAX { Err(TlsFault::TooLarge) } else { Ok(bytes) }
}

/// What to say of a private key that others than its owner can get at.
#[cfg(unix)]
pub(crate) fn readable_by_others(key: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(key).ok()?.permissions().mode() & 0o777;
    (mode & OTHERS != 0).then(|| {
        let file = key.display();
        format!(
            "the private key {file} is open to others than its owner (mode {mode:03o}), and whoever has it is this member: \
             chmod 600 {file}"
        )
    })
}

/// Nothing: the system keeps no such mode.
#[cfg(not(unix))]
pub(crate) fn readable_by_others(_key: &Path) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_files_are_not_read_to_their_end() {
        assert_eq!(read(Path::new("/dev/zero")), Err(TlsFault::TooLarge));
        assert_eq!(read(Path::new("/dev/null")), Ok(Vec::new()));
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_told_of() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        let said = |mode| {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            readable_by_others(file.path())
        };
        assert_eq!(said(0o600), None);
        for mode in [0o640, 0o604, 0o620] {
            let said = said(mode).unwrap();
            assert!(said.contains(&format!("mode {mode:03o}")) && said.contains("chmod 600"), "{said}");
        }
    }
}
