//! How members over UDP and members over QUIC recognise each other, so that a joiner that was started with the wrong one
//! is told instead of waiting in vain.
//!
//! Both use what is the same in every version of QUIC (RFC 8999). A member over UDP answers the first packet of a QUIC
//! handshake with a Version Negotiation packet, as any server does that does not speak the client's version; and a member
//! over QUIC answers a datagram of the other format with one, too, which the other recognises. Neither answer is
//! longer than what it answers, and both go where that came from.

/// First bit of a packet with a long header, and the one that is set in all packets of QUIC version 1.
const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
/// The one version of QUIC that members speak.
const VERSION_1: [u8; 4] = [0, 0, 0, 1];
/// A version reserved to be spoken by nobody.
const VERSION_OF_NOBODY: [u8; 4] = [0x0a, 0x0a, 0x0a, 0x0a];
/// The least that a client's first packet has.
const INITIAL_BYTES_MIN: usize = 1200;
/// The most that an id of a connection has in version 1.
const ID_BYTES_MAX: usize = 20;
/// First byte of a datagram over UDP: the format's version. In a packet of QUIC version 1 it can't be that, since a bit
/// is missing.
const DATAGRAM_LEAD: u8 = 1;
/// The least that a datagram has, which is its head.
const DATAGRAM_BYTES_MIN: usize = 28;

/// The answer to the first packet of a QUIC handshake; nothing for anything else.
//= docs/protocol.md#wr-4
pub fn answer_to_quic(packet: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = packet.split_first()?;
    if packet.len() < INITIAL_BYTES_MIN || first & (LONG | FIXED) != LONG | FIXED {
        return None;
    }
    let rest = rest.strip_prefix(&VERSION_1)?;
    let (theirs, rest) = id(rest)?;
    let (ours, _) = id(rest)?;
    let mut answer = vec![LONG | FIXED, 0, 0, 0, 0];
    for id in [ours, theirs] {
        answer.push(u8::try_from(id.len()).ok()?);
        answer.extend_from_slice(id);
    }
    answer.extend_from_slice(&VERSION_OF_NOBODY);
    Some(answer)
}

fn id(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let length = usize::from(*length);
    (length <= ID_BYTES_MAX && length <= rest.len()).then(|| rest.split_at(length))
}

/// The answer to a datagram of a member over UDP; nothing for anything else.
//= docs/protocol.md#wr-4
pub fn answer_to_udp(packet: &[u8]) -> Option<[u8; 11]> {
    let is_one = packet.first() == Some(&DATAGRAM_LEAD) && packet.len() >= DATAGRAM_BYTES_MIN;
    let [a, b, c, d] = VERSION_OF_NOBODY;
    is_one.then_some([LONG | FIXED, 0, 0, 0, 0, 0, 0, a, b, c, d])
}

/// Whether a datagram is the answer of somebody who speaks QUIC.
pub fn is_from_quic(datagram: &[u8]) -> bool {
    matches!(datagram, [first, 0, 0, 0, 0, ..] if first & LONG != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn initial(length: usize) -> Vec<u8> {
        let mut packet = vec![LONG | FIXED, 0, 0, 0, 1, 3, 1, 2, 3, 2, 8, 9];
        packet.resize(length, 0);
        packet
    }

    //= docs/protocol.md#wr-4
    #[test]
    fn the_first_packet_of_a_handshake_is_answered_with_its_ids_turned_round_and_with_less() {
        let answer = answer_to_quic(&initial(1200)).unwrap();
        assert_eq!(answer, [0xc0, 0, 0, 0, 0, 2, 8, 9, 3, 1, 2, 3, 0x0a, 0x0a, 0x0a, 0x0a]);
        assert!(is_from_quic(&answer));
    }

    //= docs/protocol.md#wr-4
    #[test]
    fn nothing_else_is_answered_and_no_answer_answers_another() {
        assert_eq!(answer_to_quic(&initial(1199)), None);
        let mut other = initial(1200);
        other[4] = 2;
        assert_eq!(answer_to_quic(&other), None);
        let mut long = initial(1200);
        long[5] = 21;
        assert_eq!(answer_to_quic(&long), None);
        assert_eq!(answer_to_quic(&[]), None);
        let datagram = [1; 40];
        let answer = answer_to_udp(&datagram).unwrap();
        assert!(is_from_quic(&answer) && answer.len() < datagram.len());
        assert_eq!(answer_to_udp(&answer), None);
        assert_eq!(answer_to_quic(&answer), None);
        assert_eq!(answer_to_udp(&datagram[..27]), None);
        assert!(!is_from_quic(&datagram));
    }
}
