//! Linux: how many datagrams the kernel dropped because the receive buffer was full (`SO_RXQ_OVFL`).

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use mio::net::UdpSocket;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};

use crate::counters::Counters;
use crate::error_queue::socket_addr;

/// Reads datagrams together with the kernel's count.
#[derive(Debug)]
pub(crate) struct OverflowReader {
    control: Vec<u8>,
    /// The kernel's counter as last seen; it has 32 bits and wraps.
    seen: u32,
}

impl OverflowReader {
    /// Asks the kernel to send its count along.
    pub(crate) fn new(socket: &UdpSocket) -> Self {
        if let Err(error) = setsockopt(socket, sockopt::RxqOvfl, &1) {
            tracing::debug!(%error, "the kernel does not tell how many datagrams it drops");
        }
        Self { control: nix::cmsg_space!(u32), seen: 0 }
    }

    /// Reads one datagram, cut to the buffer, and takes over the count.
    pub(crate) fn read(
        &mut self,
        socket: &UdpSocket,
        buffer: &mut [u8],
        counters: &Counters,
    ) -> io::Result<(usize, SocketAddr)> {
        let mut slices = [IoSliceMut::new(buffer)];
        let fd = socket.as_raw_fd();
        let message =
            recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut self.control), MsgFlags::empty())?;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::RxqOvfl(count) = control {
                counters.receive_overflows.add(count.wrapping_sub(self.seen) as usize);
                self.seen = count;
            }
        }
        let from = message.address.and_then(socket_addr);
        // A datagram without a source can't be answered; the caller skips it like any other odd event.
        Ok((message.bytes, from.ok_or(io::ErrorKind::Interrupted)?))
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket as StdSocket;

    use super::*;

    #[test]
    fn what_the_kernel_drops_is_counted() {
        let receiver = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
        receiver.set_recv_buffer_size(4096).unwrap();
        receiver.set_nonblocking(true).unwrap();
        receiver.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        let receiver = UdpSocket::from_std(receiver.into());
        let mut reader = OverflowReader::new(&receiver);
        let sender = StdSocket::bind("127.0.0.1:0").unwrap();
        let to = receiver.local_addr().unwrap();
        let (counters, mut buffer) = (Counters::default(), [0; 100]);
        // The count comes with a datagram that was queued after the loss.
        for _ in 0..2 {
            for _ in 0..100 {
                sender.send_to(b"heartbeat", to).unwrap();
            }
            while let Ok((length, from)) = reader.read(&receiver, &mut buffer, &counters) {
                assert_eq!((length, from), (9, sender.local_addr().unwrap()));
            }
        }
        let lost = counters.stats().receive_overflows;
        assert!((1..=100).contains(&lost), "{lost} of 100 counted as lost");
    }
}
