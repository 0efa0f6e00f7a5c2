//! The address that a member's record carries: set, or the transport's, or that of the interface towards the others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::member::{Endpoint, canonical};

/// Where peers reach this member, if not at the address that its transport is bound to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advertise {
    /// The address.
    pub ip: IpAddr,
    /// The port, where a translator maps it to another; for datagrams and connections alike.
    pub port: Option<u16>,
}

/// Documentation addresses (RFC 5737, RFC 3849): nobody's, so that the default route answers for them.
const ANYWHERE_V4: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);
const ANYWHERE_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)), 9);

/// The endpoint of a member whose transport is bound to `bound`.
pub(super) fn choose(
    bound: Endpoint,
    advertise: Option<Advertise>,
    first_seed: Option<SocketAddr>,
) -> Endpoint {
    choose_with(bound, advertise, first_seed, &route_to)
}

fn choose_with(
    bound: Endpoint,
    advertise: Option<Advertise>,
    first_seed: Option<SocketAddr>,
    route: &dyn Fn(SocketAddr) -> Option<IpAddr>,
) -> Endpoint {
    if let Some(Advertise { ip, port }) = advertise {
        let set = |addr: SocketAddr| canonical(SocketAddr::new(ip, port.unwrap_or_else(|| addr.port())));
        return Endpoint { addr: set(bound.addr), check_addr: set(bound.check_addr) };
    }
    let fill = |addr: SocketAddr| {
        if !addr.ip().is_unspecified() {
            return canonical(addr);
        }
        canonical(SocketAddr::new(reachable_ip(addr.ip(), first_seed, route), addr.port()))
    };
    Endpoint { addr: fill(bound.addr), check_addr: fill(bound.check_addr) }
}

/// An address for a socket bound to `unspecified`, in a family that it speaks: `::` also speaks IPv4.
fn reachable_ip(
    unspecified: IpAddr,
    first_seed: Option<SocketAddr>,
    route: &dyn Fn(SocketAddr) -> Option<IpAddr>,
) -> IpAddr {
    let both = unspecified.is_ipv6();
    let usable = |target: &SocketAddr| both || target.is_ipv4();
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let targets = first_seed.into_iter().chain([ANYWHERE_V4, ANYWHERE_V6]).filter(usable);
    targets.into_iter().find_map(route).unwrap_or(loopback)
}

/// The source address that the system would use towards `target`. Connecting a datagram socket sends nothing.
fn route_to(target: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr =
        if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(target).ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified()).then_some(ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(addr: &str) -> Endpoint {
        Endpoint::single(addr.parse().unwrap())
    }

    fn by_table(target: SocketAddr) -> Option<IpAddr> {
        let source = match target.to_string().as_str() {
            "10.0.0.1:7790" => "10.0.0.9",
            "[fd00::1]:7790" => "fd00::9",
            "192.0.2.1:9" => "192.168.1.9",
            _ => return None,
        };
        Some(source.parse().unwrap())
    }

    #[test]
    fn what_is_set_wins() {
        let set = Advertise { ip: "203.0.113.5".parse().unwrap(), port: None };
        assert_eq!(choose(endpoint("0.0.0.0:7790"), Some(set), None), endpoint("203.0.113.5:7790"));
        let mapped = Advertise { port: Some(80), ..set };
        assert_eq!(choose(endpoint("10.0.0.1:7790"), Some(mapped), None), endpoint("203.0.113.5:80"));
    }

    #[test]
    fn an_address_of_the_transport_is_taken_as_it_is() {
        assert_eq!(choose(endpoint("127.0.0.1:7790"), None, None), endpoint("127.0.0.1:7790"));
        assert_eq!(choose(endpoint("[::ffff:10.0.0.1]:1"), None, None), endpoint("10.0.0.1:1"));
    }

    #[test]
    fn an_unspecified_address_becomes_that_towards_the_first_seed_or_the_default_route() {
        let chosen = |bound: &str, seed: Option<&str>| {
            let seed = seed.map(|seed| seed.parse().unwrap());
            choose_with(endpoint(bound), None, seed, &by_table).addr.to_string()
        };
        assert_eq!(chosen("0.0.0.0:7790", Some("10.0.0.1:7790")), "10.0.0.9:7790");
        assert_eq!(chosen("[::]:7790", Some("10.0.0.1:7790")), "10.0.0.9:7790");
        assert_eq!(chosen("[::]:7790", Some("[fd00::1]:7790")), "[fd00::9]:7790");
        assert_eq!(
            chosen("0.0.0.0:7790", Some("[fd00::1]:7790")),
            "192.168.1.9:7790",
            "no IPv6 on that socket"
        );
        assert_eq!(chosen("0.0.0.0:7790", Some("10.9.9.9:1")), "192.168.1.9:7790", "no way to the seed");
        assert_eq!(chosen("0.0.0.0:7790", None), "192.168.1.9:7790");
        let nowhere = choose_with(endpoint("0.0.0.0:7790"), None, None, &|_| None);
        assert_eq!(nowhere, endpoint("127.0.0.1:7790"));
    }

    #[test]
    fn the_way_to_loopback_is_loopback() {
        let seed = "127.0.0.1:7790".parse().unwrap();
        assert_eq!(choose(endpoint("0.0.0.0:1"), None, Some(seed)), endpoint("127.0.0.1:1"));
    }
}
