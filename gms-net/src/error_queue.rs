//! Linux: which datagrams found nobody, read from the socket's error queue (`IP_RECVERR`).
//!
//! A kernel whose port is closed answers a datagram with an ICMP error. A socket that is not connected hears of it only
//! through this queue, together with the address to which the datagram went.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use nix::libc::{sock_extended_err, sockaddr_in, sockaddr_in6};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};

/// What ICMP and ICMPv6 call "port unreachable", as the kernel translates it. Others tell of the way, not of the process.
const CONNECTION_REFUSED: u32 = nix::libc::ECONNREFUSED.unsigned_abs();

/// Reads the error queue.
#[derive(Debug)]
pub struct ErrorReader {
    control: Vec<u8>,
}

impl ErrorReader {
    /// Asks the kernel to keep errors of `socket`, which is one of IPv6 or not. Without them deaths are found by other signs.
    pub fn new(socket: &impl AsFd, is_v6: bool) -> Self {
        // A dual-stack socket needs both: IPv4 travels mapped, and its errors are those of IPv4.
        let v4 = setsockopt(socket, sockopt::Ipv4RecvErr, &true);
        let v6 = if is_v6 { setsockopt(socket, sockopt::Ipv6RecvErr, &true) } else { Ok(()) };
        if let Err(error) = v6.and(if is_v6 { Ok(()) } else { v4 }) {
            tracing::debug!(%error, "the kernel does not tell which datagrams find nobody");
        }
        Self { control: nix::cmsg_space!(sock_extended_err, sockaddr_in, sockaddr_in6, u32) }
    }

    /// Takes one error off the queue: where the datagram went, if nobody listens there.
    ///
    /// # Errors
    ///
    /// `WouldBlock` once the queue is empty, else what the system says.
    pub fn read(&mut self, socket: &impl AsRawFd) -> io::Result<Option<SocketAddr>> {
        // The datagram itself comes along; its address is enough.
        let mut payload = [0_u8; 1];
        let mut slices = [IoSliceMut::new(&mut payload)];
        let (fd, flags) = (socket.as_raw_fd(), MsgFlags::MSG_ERRQUEUE);
        let message = recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut self.control), flags)?;
        let mut refused = false;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) =
                control
            {
                refused |= error.ee_errno == CONNECTION_REFUSED;
            }
        }
        Ok(message.address.filter(|_| refused).and_then(socket_addr))
    }
}

/// The address in the system's form, if it is one of IPv4 or IPv6.
pub fn socket_addr(addr: SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = addr.as_sockaddr_in() {
        return Some(SocketAddrV4::from(*v4).into());
    }
    addr.as_sockaddr_in6().map(|v6| SocketAddrV6::from(*v6).into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use gms_core::member::canonical;
    use gms_core::runtime::clock;

    use super::*;

    fn reads_refusal(own: &str, dead: &str, sent_to: impl Fn(SocketAddr) -> SocketAddr) {
        let socket = crate::socket::bind_udp(own.parse().unwrap(), 1 << 16, 1 << 16).unwrap();
        let socket = std::net::UdpSocket::from(socket);
        let mut reader = ErrorReader::new(&socket, own.starts_with('['));
        let dead = std::net::UdpSocket::bind(dead).unwrap().local_addr().unwrap();
        assert!(reader.read(&socket).is_err(), "nothing is there before anything is sent");
        let until = clock::now() + Duration::from_secs(10);
        loop {
            // An error of the datagram before may be told instead of sending this one.
            let _ = socket.send_to(b"heartbeat", sent_to(dead));
            match reader.read(&socket) {
                Ok(to) => break assert_eq!(to.map(canonical), Some(dead)),
                Err(error) => assert!(clock::now() < until, "no error came back: {error}"),
            }
        }
    }

    //= docs/protocol.md#fd-30
    #[test]
    fn a_datagram_to_a_closed_port_comes_back_with_its_address() {
        reads_refusal("127.0.0.1:0", "127.0.0.1:0", |to| to);
    }

    #[test]
    fn so_it_does_over_ipv6_and_for_mapped_addresses() {
        reads_refusal("[::1]:0", "[::1]:0", |to| to);
        reads_refusal("[::]:0", "127.0.0.1:0", |to| crate::socket::for_socket(to, true));
    }
}
