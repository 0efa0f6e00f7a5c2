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

/// Reads a plain file: whatever else has a name, such as a FIFO, may keep its reader waiting for ever.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, TlsFault> {
    let kind = std::fs::metadata(file).map_err(|error| TlsFault::unreadable(&error))?.file_type();
    // A folder is told of by the system.
    if !kind.is_file() && !kind.is_dir() {
        return Err(TlsFault::NotPlain);
    }
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
    fn only_plain_files_of_a_sensible_size_are_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(read(file.path()), Ok(Vec::new()));
        file.as_file().set_len(BYTES_MAX + 1).unwrap();
        assert_eq!(read(file.path()), Err(TlsFault::TooLarge));
        assert!(matches!(read(&std::env::temp_dir()), Err(TlsFault::Unreadable(_))));
    }

    #[cfg(unix)]
    #[test]
    fn what_may_block_its_reader_is_refused_and_links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (fifo, plain, link) =
            (dir.path().join("fifo"), dir.path().join("plain"), dir.path().join("link"));
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        for special in [&fifo, &dir.path().join("socket"), Path::new("/dev/zero")] {
            assert_eq!(read(special), Err(TlsFault::NotPlain), "{}", special.display());
        }
        std::fs::write(&plain, "x").unwrap();
        std::os::unix::fs::symlink(&plain, &link).unwrap();
        assert_eq!(read(&link), Ok(b"x".to_vec()));
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
