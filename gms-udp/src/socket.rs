//! Opening the two sockets: one port number for both, dual stack, buffers that survive a pause.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream, UdpSocket};
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

use crate::error::{BindError, Protocol};

/// Bytes asked for the receive buffer of datagrams. The kernel charges about 832 bytes for a heartbeat and its
/// default holds 256 of them: in a view of 128 that is two heartbeat intervals, and a longer pause loses the rest.
/// This holds about 10 000 (the kernel doubles it), and is cut to `net.core.rmem_max` where that is smaller.
pub(crate) const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Bytes asked for the send buffer of datagrams. Packets to a host that vanished wait in it for address resolution,
/// up to 208 KiB a neighbour; with a small buffer a few lost hosts would stop the heartbeats to everyone else.
pub(crate) const SEND_BUFFER_BYTES: usize = 4 << 20;

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
                let mapped = bound.ip() == Ipv6Addr::UNSPECIFIED && !udp.only_v6().unwrap_or(true);
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

fn bind_udp(addr: SocketAddr, receive_buffer: usize, send_buffer: usize) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, None)?;
    prepare(&socket, addr)?;
    // A smaller buffer is no reason not to start: the kernel cuts what is above its own bound without an error.
    let _ = socket.set_recv_buffer_size(receive_buffer);
    let _ = socket.set_send_buffer_size(send_buffer);
    let held = socket.recv_buffer_size().unwrap_or(0);
    if held < receive_buffer {
        tracing::info!(
            asked = receive_buffer,
            held,
            "the receive buffer of datagrams is smaller than asked: raise net.core.rmem_max"
        );
    }
    socket.bind(&addr.into())?;
    Ok(socket)
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

fn prepare(socket: &Socket, addr: SocketAddr) -> io::Result<()> {
    if addr.is_ipv6() {
        let dual = addr.ip() == Ipv6Addr::UNSPECIFIED;
        socket.set_only_v6(!dual)?;
    }
    socket.set_nonblocking(true)
}

fn local_addr(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// The form of `to` that the datagram socket takes: on a dual-stack socket IPv4 addresses are mapped.
pub(crate) fn for_socket(to: SocketAddr, mapped: bool) -> SocketAddr {
    match to {
        SocketAddr::V4(v4) if mapped => SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into(),
        to => to,
    }
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

/// Connections that may come in when the configuration asks for `asked`: at most half of the descriptors that the
/// process may have, so that strangers can't take those that its own checks need.
pub(crate) fn incoming_max(asked: usize) -> usize {
    #[cfg(target_os = "linux")]
    if let Ok((soft, _)) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE) {
        let half = usize::try_from(soft / 2).unwrap_or(usize::MAX).max(1);
        return asked.min(half);
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_is_mapped_on_a_dual_stack_socket_only() {
        let v4: SocketAddr = "10.0.0.1:7790".parse().unwrap();
        let v6: SocketAddr = "[fd00::1]:7790".parse().unwrap();
        assert_eq!(for_socket(v4, true), "[::ffff:10.0.0.1]:7790".parse().unwrap());
        assert_eq!(for_socket(v4, false), v4);
        assert_eq!(for_socket(v6, true), v6);
    }

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
