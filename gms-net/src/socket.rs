//! The datagram socket: dual stack, with buffers that survive a pause.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Bytes asked for the receive buffer of datagrams. The kernel charges about 832 bytes for a heartbeat and its
/// default holds 256 of them: in a view of 128 that is two heartbeat intervals, and a longer pause loses the rest.
/// This holds about 10 000 (the kernel doubles it), and is cut to `net.core.rmem_max` where that is smaller.
pub const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Bytes asked for the send buffer of datagrams. Packets to a host that vanished wait in it for address resolution,
/// up to 208 KiB a neighbour; with a small buffer a few lost hosts would stop the heartbeats to everyone else.
pub const SEND_BUFFER_BYTES: usize = 4 << 20;

/// Opens a datagram socket at `addr`, not blocking; `[::]` takes IPv4 too.
///
/// # Errors
///
/// What the system says.
pub fn bind_udp(addr: SocketAddr, receive_buffer: usize, send_buffer: usize) -> io::Result<Socket> {
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

/// Makes a socket for `addr` not blocking, and dual-stack if that is `[::]`.
///
/// # Errors
///
/// What the system says.
pub fn prepare(socket: &Socket, addr: SocketAddr) -> io::Result<()> {
    if addr.is_ipv6() {
        let dual = addr.ip() == Ipv6Addr::UNSPECIFIED;
        socket.set_only_v6(!dual)?;
    }
    socket.set_nonblocking(true)
}

/// Where a socket is bound.
///
/// # Errors
///
/// What the system says.
pub fn local_addr(socket: &Socket) -> io::Result<SocketAddr> {
    socket.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// Whether IPv4 travels mapped over a datagram socket that is bound to `bound`.
pub fn is_mapped(socket: &Socket, bound: SocketAddr) -> bool {
    bound.ip() == Ipv6Addr::UNSPECIFIED && !socket.only_v6().unwrap_or(true)
}

/// The form of `to` that the datagram socket takes: on a dual-stack socket IPv4 addresses are mapped.
pub fn for_socket(to: SocketAddr, mapped: bool) -> SocketAddr {
    match to {
        SocketAddr::V4(v4) if mapped => SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0).into(),
        to => to,
    }
}

/// Connections that may come in when the configuration asks for `asked`: at most half of the descriptors that the
/// process may have, so that strangers can't take those that its own checks need.
pub fn incoming_max(asked: usize) -> usize {
    #[cfg(target_os = "linux")]
    if let Ok((soft, _)) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE) {
        let half = usize::try_from(soft / 2).unwrap_or(usize::MAX).max(1);
        return asked.min(half);
    }
    asked
}

/// How often an address in use is tried again, and how long after the last try: teardown of a killed process takes a few
/// milliseconds, more on a loaded machine.
const BIND_TRIES: u32 = 10;
const BIND_AGAIN_AFTER: Duration = Duration::from_millis(25);

/// Binds, and where the address is in use tries again for a quarter of a second, for which tokio's timer must be enabled: a killed
/// process holds its port until its kernel has torn it down, and whoever restarts it at once would find it in use.
///
/// # Errors
///
/// Those of `bind`.
pub async fn patiently<T, E>(
    bind: impl Fn() -> Result<T, E>,
    is_in_use: impl Fn(&E) -> bool,
) -> Result<T, E> {
    for _ in 0..BIND_TRIES {
        match bind() {
            Err(error) if is_in_use(&error) => tokio::time::sleep(BIND_AGAIN_AFTER).await,
            done => return done,
        }
    }
    bind()
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
}
