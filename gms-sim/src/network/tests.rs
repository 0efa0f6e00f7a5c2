use super::*;

fn network(link: Link) -> Network {
    let mut network = Network::new(7, link);
    network.host_mut(3);
    network
}

#[test]
fn an_address_names_its_host_and_port() {
    for host in [0, 1, 255, 256, 70_000] {
        assert_eq!(host_of(address(host, 2)), Some((host, PORT + 2)));
    }
    assert_eq!(host_of("127.0.0.1:7790".parse().unwrap()), None);
}

#[test]
fn cuts_partitions_and_hosts_that_are_off_stop_packets() {
    let mut net = network(Link::default());
    net.cut(0, 1);
    assert!(!net.passes(0, 1));
    assert!(net.passes(1, 0));
    net.partition(&[vec![0, 1], vec![2]]);
    assert!(!net.passes(0, 2));
    assert!(net.passes(1, 3), "who is in no group is in the first");
    net.heal(Link::default());
    net.host_mut(2).is_down = true;
    assert!(net.passes(0, 1));
    assert!(!net.passes(0, 2));
    assert!(!net.passes(2, 0));
}

#[test]
fn loss_of_the_link_and_of_both_hosts_adds_up() {
    let mut net = network(Link { loss: 0.5, ..Link::default() });
    net.host_mut(1).loss_in = 0.5;
    net.host_mut(0).loss_out = 0.5;
    let arrived = (0..8_000).filter(|_| net.carry_datagram(Timestamp::ZERO, 0, 1, 50)[0].is_some()).count();
    assert!((900..1_100).contains(&arrived), "{arrived} of 8 000 arrived, an eighth should");
}

#[test]
fn an_interface_sends_one_packet_after_the_other() {
    let mut net = network(Link { bandwidth: Some(1_000), ..Link::default() });
    let now = Timestamp::from_millis(1);
    let first = net.carry_datagram(now, 0, 1, 72)[0].unwrap();
    let second = net.carry_datagram(now, 0, 1, 72)[0].unwrap();
    assert!(first >= now + Duration::from_millis(100));
    assert!(second >= now + Duration::from_millis(200));
}

#[test]
fn streams_get_through_loss_later_and_not_at_all_where_everything_is_lost() {
    let mut net = network(Link { loss: 0.3, ..Link::default() });
    let long = Duration::from_secs(100);
    let late = (0..200).filter(|_| net.stream_transit(0, 1, long).unwrap() > Duration::from_millis(200));
    assert!(late.count() > 50);
    net.host_mut(1).loss_in = 1.0;
    assert_eq!(net.stream_transit(0, 1, Duration::from_secs(5)), None);
}

#[test]
fn calm_is_a_network_in_which_some_hosts_may_be_off() {
    let mut net = network(Link::default());
    net.host_mut(0).is_down = true;
    assert!(net.is_calm());
    net.host_mut(0).loss_in = 0.1;
    assert!(!net.is_calm());
    net.heal(Link::default());
    assert!(net.is_calm());
    net.cut(0, 1);
    assert!(!net.is_calm());
}
