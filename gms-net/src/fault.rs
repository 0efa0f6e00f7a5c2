//! What an error of the system says about a peer, and what it does not say.

use std::io;

/// What an error of the system says about the far side of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// ECONNREFUSED.
    Refused,
    /// The connection was there and is gone.
    Broken,
    /// The kernel gave up waiting.
    TimedOut,
    /// The network says that there is no way.
    Unreachable,
    /// It failed on this side.
    Local,
}

impl Fault {
    /// Errors that nobody has listed count as local: they say nothing about the peer.
    //= docs/protocol.md#fd-21
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::WriteZero => Self::Broken,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NetworkDown => Self::Unreachable,
            _ => Self::Local,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use nix::errno::Errno;

    use super::*;

    //= docs/protocol.md#fd-21
    #[test]
    fn only_a_refused_connection_is_a_refusal() {
        let cases = [
            (Errno::ECONNREFUSED, Fault::Refused),
            (Errno::ECONNRESET, Fault::Broken),
            (Errno::EPIPE, Fault::Broken),
            (Errno::ETIMEDOUT, Fault::TimedOut),
            (Errno::EHOSTUNREACH, Fault::Unreachable),
            (Errno::ENETUNREACH, Fault::Unreachable),
            (Errno::ENETDOWN, Fault::Unreachable),
            (Errno::EMFILE, Fault::Local),
            (Errno::ENFILE, Fault::Local),
            (Errno::EADDRNOTAVAIL, Fault::Local),
            (Errno::EPERM, Fault::Local),
            (Errno::EACCES, Fault::Local),
            (Errno::ENOBUFS, Fault::Local),
            (Errno::EAFNOSUPPORT, Fault::Local),
        ];
        for (errno, fault) in cases {
            assert_eq!(Fault::of(&io::Error::from_raw_os_error(errno as i32)), fault, "{errno}");
        }
    }
}
