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

/// How often in a row the kernel may tell that earlier datagrams were refused before one counts as unsent. Each telling is of
/// another one, and whoever reads the error queue meanwhile makes the kernel tell of the next in it.
const REFUSALS_OF_OTHERS: usize = 64;

/// The same for other errors, which may also mean that this datagram has no way to go.
const ERRORS_OF_OTHERS: usize = 4;

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

/// Sends one datagram by `send`, again where the kernel tells of earlier ones instead of sending this one: a socket that is not
/// connected is never refused for what it sends, only told of what it sent.
///
/// # Errors
///
/// What `send` says: `WouldBlock` at once, anything else when it is said over and over.
pub fn send_past_errors<T>(mut send: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let (mut refusals, mut errors) = (0, 0);
    loop {
        match send() {
            Ok(sent) => return Ok(sent),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused && refusals < REFUSALS_OF_OTHERS => {
                refusals += 1;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock || errors == ERRORS_OF_OTHERS => return Err(e),
            Err(_) => errors += 1,
        }
    }
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

    /// Errors of datagrams to the dead may be told to whoever sends next, any number of them.
    //= docs/protocol.md#fd-30
    #[cfg(target_os = "linux")]
    #[test]
    fn the_dead_cost_the_living_no_datagram() {
        let bind = || std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (socket, living, dead) = (bind(), bind(), bind().local_addr().unwrap());
        socket.set_nonblocking(true).unwrap();
        living.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let to = living.local_addr().unwrap();
        let mut errors = crate::error_queue::ErrorReader::new(&socket, false);
        std::thread::scope(|scope| {
            let (done, is_done) = std::sync::mpsc::channel::<()>();
            let socket = &socket;
            scope.spawn(move || {
                while is_done.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                    let _ = errors.read(socket);
                }
            });
            for i in 0..20_000_u32 {
                for _ in 0..i % 5 {
                    let _ = socket.send_to(b"lost", dead);
                }
                send_past_errors(|| socket.send_to(&i.to_be_bytes(), to)).unwrap();
                let mut said = [0; 8];
                assert_eq!(living.recv(&mut said).unwrap(), 4);
                assert_eq!(said[..4], i.to_be_bytes());
            }
            drop(done);
        });
    }

    #[test]
    fn a_datagram_without_a_way_is_given_up() {
        let mut tried = 0;
        let mut fail = |kind: io::ErrorKind| {
            tried += 1;
            Err::<(), _>(io::Error::from(kind))
        };
        let error = send_past_errors(|| fail(io::ErrorKind::NetworkUnreachable)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NetworkUnreachable);
        assert_eq!(
            send_past_errors(|| fail(io::ErrorKind::WouldBlock)).unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        assert_eq!(tried, 6);
    }
}
