//! Opening the two sockets: one port number for both, and what a connection is told.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) use gms_net::socket::{
    RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES, for_socket, incoming_max, send_past_errors,
};
use gms_net::socket::{bind_udp, is_mapped, local_addr, prepare};
use mio::net::{TcpListener, TcpStream, UdpSocket};
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

use crate::error::{BindError, Protocol};

/// Connections that the kernel may accept ahead of the loop: a burst of one from each member of a large view.
const BACKLOG: i32 = 1024;

/// How often another port is drawn when port 0 was asked for and the drawn one is taken over the other protocol.
/// Even with half of all ports taken, all tries fail once in four thousand million.
const PORT_TRIES: u32 = 32;

/// How long sent bytes may stay unacknowledged before a connection is given up. Without it a connection that went
/// through a partition retries ever more rarely, for up to 15 minutes, while a fresh one would work at once.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(5);

/// How long a watch of this process may be silent before its kernel asks. It costs two small packets.
const WATCH_ASKED_AFTER: Duration = Duration::from_secs(60);

/// Both sockets, bound to one port.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) udp: UdpSocket,
    pub(crate) tcp: TcpListener,
    /// The address of both.
    pub(crate) addr: SocketAddr,
    /// Whether IPv4 travels over the IPv6 datagram socket.
    pub(crate) mapped: bool,
}

/// Binds both sockets to `addr`; port 0 takes one that is free for both.
pub(crate) fn bind(
    addr: SocketAddr,
    receive_buffer: usize,
    send_buffer: usize,
) -> Result<Sockets, BindError> {
    let tries = if addr.port() == 0 { PORT_TRIES } else { 1 };
    let mut failed = Vec::new();
    while failed.len() < tries as usize {
        let udp = bind_udp(addr, receive_buffer, send_buffer)
            .map_err(|e| BindError::from_io(addr, Protocol::Udp, &e))?;
        let bound = local_addr(&udp).map_err(|e| BindError::from_io(addr, Protocol::Udp, &e))?;
        match bind_tcp(bound) {
            Ok(tcp) => {
                let mapped = is_mapped(&udp, bound);
                let (udp, tcp) = (UdpSocket::from_std(udp.into()), TcpListener::from_std(tcp.into()));
                return Ok(Sockets { udp, tcp, addr: bound, mapped });
            }
            // The socket is kept so that the next try draws another port.
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && addr.port() == 0 => failed.push(udp),
            Err(e) => return Err(BindError::from_io(bound, Protocol::Tcp, &e)),
        }
    }
    Err(BindError::NoCommonPort { addr, tries })
}

fn bind_tcp(addr: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    prepare(&socket, addr)?;
    // A restart must not wait for connections of the last run that linger in TIME_WAIT. (On Windows the option
    // means something else: it would let a second process take the port.)
    #[cfg(not(windows))]
    socket.set_reuse_address(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Sends at once what is written. Not needed for correctness, so a failure is not reported.
pub(crate) fn set_prompt(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
}

/// Gives a connection up when the peer acknowledges nothing for a while, where the system can do that. Not for
/// probes: theirs is the deadline that the caller sets.
pub(crate) fn bound_silence(stream: &TcpStream) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = SockRef::from(stream).set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = (SockRef::from(stream), UNACKNOWLEDGED_MAX);
}

/// Lets the kernel ask now and then whether the other host is still there, where nothing else would tell: a watch of a
/// host that vanished would be held for ever.
pub(crate) fn notice_lost_host(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new().with_time(WATCH_ASKED_AFTER);
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

/// Whether the connection's two ends are one: dialling a port of one's own range can hit the very port it dials from.
pub(crate) fn is_to_itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(local), Ok(peer)) if local == peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sockets_have_one_port_and_the_second_to_ask_for_it_is_told() {
        let first = bind("127.0.0.1:0".parse().unwrap(), 1 << 16, 1 << 16).unwrap();
        assert_eq!(first.udp.local_addr().unwrap(), first.addr);
        assert_eq!(first.tcp.local_addr().unwrap(), first.addr);
        assert_ne!(first.addr.port(), 0);
        let error = bind(first.addr, 1 << 16, 1 << 16).unwrap_err();
        assert_eq!(error, BindError::InUse { addr: first.addr, protocol: Protocol::Udp });
        drop(first.udp);
        let error = bind(first.addr, 1 << 16, 1 << 16).unwrap_err();
        assert_eq!(error, BindError::InUse { addr: first.addr, protocol: Protocol::Tcp });
    }

    //= docs/protocol.md#fd-21
    #[test]
    fn a_connection_to_itself_is_told_from_others() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let other = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(!is_to_itself(&TcpStream::from_std(other)));
        socket.connect(&socket.local_addr().unwrap()).unwrap();
        assert!(is_to_itself(&TcpStream::from_std(socket.into())));
    }
}
