//! Golden bytes of every kind, round trips, bounds, and properties over arbitrary bytes.

mod arbitrary;

use std::net::SocketAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::member::{ClusterId, ClusterTag, Endpoint, MemberId, ShortId};
use crate::message::{ClusterInfo, Echo, Flags, Head, Membership};
use crate::testing::{id, view_of};
use crate::view::{DigestTag, ViewId};
use arbitrary::{message_of_kind, message_of_seed};

const GOLDEN: &str = include_str!("golden.txt");

/// After an intended change of the format: `UPDATE_GOLDEN=1 cargo test -p gms-core golden`, and a new version.
#[test]
fn every_kind_of_message_has_its_golden_bytes() {
    let mut actual = String::new();
    for (kind, seed) in (0..DATAGRAM_KINDS).flat_map(|kind| [(kind, 1), (kind, 2)]) {
        let datagram = Datagram { head: head(), body: message_of_kind(kind, seed) };
        actual += &format!("datagram {} {}\n", datagram.body.name(), hex(&encoded_datagram(&datagram)));
    }
    for (kind, seed) in (0..FRAME_KINDS).flat_map(|kind| [(kind, 1), (kind, 2)]) {
        let frame = Frame { head: head(), body: message_of_kind(kind, seed) };
        actual += &format!("frame {} {}\n", frame.body.name(), hex(&encoded_frame(&frame)));
    }
    let of_a_hub = Head { quorate_for_ms: Some(4_000), ..head() };
    actual +=
        &format!("hub's heartbeat {}\n", hex(&encoded_datagram(&heartbeat(of_a_hub, Answers::Nothing))));
    let request = CheckRequest { cluster: ClusterId::from_bytes([3; 16]), target: id(4), view: ViewId(300) };
    actual += &format!("check request {}\n", hex(&encode_check_request(&request)));
    for answer in [CheckAnswer::Ok, CheckAnswer::Other(id(5)), CheckAnswer::Sick] {
        actual += &format!("check answer {}\n", hex(&encode_check_answer(&answer)));
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/codec/golden.txt");
        std::fs::write(path, &actual).unwrap();
    }
    for (actual, golden) in actual.lines().zip(GOLDEN.lines()) {
        assert_eq!(actual, golden, "the wire format changed");
    }
    assert_eq!(actual.lines().count(), GOLDEN.lines().count());
}

#[test]
fn the_number_of_kinds_is_that_of_the_catalogue() {
    assert_eq!(arbitrary::variants_of::<DatagramBody>(), usize::from(DATAGRAM_KINDS));
    assert_eq!(arbitrary::variants_of::<FrameBody>(), usize::from(FRAME_KINDS));
}

#[test]
fn a_heartbeat_in_steady_state_is_at_most_48_bytes() {
    let mut head = head();
    head.view = ViewId(65_535);
    head.accepted = None;
    head.number = u64::from(u32::MAX);
    head.echo = Some(Echo { number: u64::from(u32::MAX), age_us: u32::MAX });
    let bytes = encoded_datagram(&heartbeat(head, Answers::Nothing));
    assert!(bytes.len() <= 48, "{} bytes", bytes.len());
}

#[test]
fn the_handwritten_heartbeat_is_what_bincode_writes() {
    let ids = [0, 250, 251, 65_535, 65_536, u64::from(u32::MAX), u64::from(u32::MAX) + 1, u64::MAX];
    let answers = ids
        .into_iter()
        .flat_map(|n| [Answers::Request(RequestId(n)), Answers::Accusation(AccusationId(n))])
        .chain([Answers::Nothing]);
    for answers in answers {
        let mut by_hand = Vec::new();
        write_heartbeat(&mut by_hand, answers);
        let body = DatagramBody::Heartbeat { answers };
        let by_bincode = bincode::serde::encode_to_vec(&body, bincode::config::standard()).unwrap();
        assert_eq!(by_hand, by_bincode);
    }
}

#[test]
fn encoding_a_heartbeat_into_a_buffer_with_room_does_not_reallocate() {
    let mut out = Vec::with_capacity(DATAGRAM_BYTES_MAX);
    let place = out.as_ptr();
    for _ in 0..10 {
        encode_datagram(&heartbeat(head(), Answers::Request(RequestId(u64::MAX))), &mut out).unwrap();
    }
    assert_eq!(out.as_ptr(), place);
}

#[test]
fn a_question_for_the_coordinator_is_never_smaller_than_the_answer() {
    let endpoint = Endpoint::single("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535".parse().unwrap());
    let age = Duration::new(u64::MAX, 999_999_999);
    let membership = Membership {
        cluster: ClusterId::from_bytes([0xff; 16]),
        coordinator: id(1),
        endpoint,
        view: ViewId(u64::MAX),
        size: u32::MAX,
        isolated: true,
        age,
    };
    let info = ClusterInfo { cluster_name: "n".repeat(64), sender: id(2), age, membership: Some(membership) };
    let mut largest_head = head();
    largest_head.view = ViewId(u64::MAX);
    largest_head.number = u64::MAX;
    largest_head.echo = Some(Echo { number: u64::MAX, age_us: u32::MAX });
    let answer =
        encoded_datagram(&Datagram { head: largest_head, body: DatagramBody::Coordinator(Box::new(info)) });
    assert_eq!(answer.len(), COORDINATOR_BYTES_MAX);

    let smallest_head = Head {
        cluster: ClusterTag::NONE,
        sender: ShortId::default(),
        recipient: ShortId::default(),
        view: ViewId::NONE,
        accepted: None,
        flags: Flags::default(),
        number: 0,
        echo: None,
        quorate_for_ms: None,
    };
    let body = DatagramBody::FindCoordinator {
        cluster_name: "n".into(),
        asker: id(3),
        padding: vec![0; FIND_COORDINATOR_PADDING],
    };
    let question = encoded_datagram(&Datagram { head: smallest_head, body });
    assert!(question.len() >= answer.len(), "{} < {}", question.len(), answer.len());
}

//= docs/protocol.md#wr-2
#[test]
fn bytes_that_are_no_message_are_refused_by_cause() {
    let good = encoded_datagram(&heartbeat(head(), Answers::Nothing));
    let with = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        decode_datagram(&bytes).unwrap_err()
    };
    let kind_at = good.len() - 2;
    assert_eq!(decode_datagram(&[]), Err(DecodeError::Truncated));
    assert_eq!(with(0, 2), DecodeError::UnknownVersion(2));
    assert_eq!(with(26, 254), DecodeError::Malformed);
    assert_eq!(with(kind_at, DATAGRAM_KINDS), DecodeError::UnknownKind(DATAGRAM_KINDS));
    assert_eq!(with(kind_at + 1, 3), DecodeError::Malformed);
    assert_eq!(decode_datagram(&vec![1; DATAGRAM_BYTES_MAX + 1]), Err(DecodeError::TooLong(1201)));
    for end in 0..good.len() {
        assert_eq!(decode_datagram(&good[..end]), Err(DecodeError::Truncated), "cut at {end}");
    }
    let frame = Frame { head: head(), body: FrameBody::ViewRequest { held: ViewId(1) } };
    assert_eq!(decode_datagram(&encoded_frame(&frame)), Err(DecodeError::OtherChannel));
    assert_eq!(decode_frame(&good), Err(DecodeError::OtherChannel));
}

#[test]
fn bytes_after_a_message_are_refused() {
    let mut datagram = encoded_datagram(&heartbeat(head(), Answers::Nothing));
    datagram.push(0);
    assert_eq!(decode_datagram(&datagram), Err(DecodeError::Trailing(1)));
    let mut frame = encoded_frame(&Frame { head: head(), body: FrameBody::ViewRequest { held: ViewId(1) } });
    frame.extend([0, 0]);
    assert_eq!(decode_frame(&frame), Err(DecodeError::Trailing(2)));
    let mut answer = encode_check_answer(&CheckAnswer::Ok);
    answer.push(0);
    assert_eq!(decode_check_answer(&answer), Err(DecodeError::Trailing(1)));
}

#[test]
fn a_number_in_a_longer_form_is_refused() {
    let mut small = head();
    small.view = ViewId(7);
    let good = encoded_datagram(&heartbeat(small.clone(), Answers::Nothing));
    let mut longer = good;
    longer.splice(26..27, [251, 7, 0]);
    assert_eq!(decode_datagram(&longer), Err(DecodeError::NotCanonical));

    let frame = encoded_frame(&Frame { head: small, body: FrameBody::ViewRequest { held: ViewId(7) } });
    let mut longer = frame.clone();
    longer.splice(frame.len() - 1.., [252, 7, 0, 0, 0]);
    assert_eq!(decode_frame(&longer), Err(DecodeError::NotCanonical));
}

#[test]
fn nanoseconds_beyond_a_second_are_refused() {
    let body =
        FrameBody::NotYet { base: ViewId(1), member: id(1), check: Default::default(), left: Duration::ZERO };
    let good = encoded_frame(&Frame { head: head(), body });
    let mut carried = good.clone();
    carried.splice(good.len() - 1.., [252].into_iter().chain(1_000_000_000_u32.to_le_bytes()));
    assert_eq!(decode_frame(&carried), Err(DecodeError::NotCanonical));
}

#[test]
fn a_list_that_announces_more_than_follows_is_refused() {
    let mut bytes = Vec::new();
    head::write(&mut bytes, &head(), Channel::Datagram);
    bytes.extend([2, 0, 253]);
    bytes.extend((u64::MAX >> 1).to_le_bytes());
    assert_eq!(decode_datagram(&bytes), Err(DecodeError::Truncated));
}

#[test]
fn lists_that_take_far_more_memory_than_bytes_are_refused() {
    let mut member = crate::testing::member(1);
    member.tags = vec![(String::new(), String::new()); 2_000_000];
    let body =
        FrameBody::Join { cluster_name: "c".into(), member, timing: Default::default(), asked_in: ViewId(0) };
    let bytes = encoded_frame(&Frame { head: head(), body });
    assert_eq!(decode_frame(&bytes), Err(DecodeError::TooMuchMemory));
}

#[test]
fn a_message_that_its_channel_does_not_carry_is_not_encoded() {
    let body = DatagramBody::FindCoordinator {
        cluster_name: "c".into(),
        asker: id(1),
        padding: vec![0; DATAGRAM_BYTES_MAX],
    };
    let mut out = vec![9];
    let error = encode_datagram(&Datagram { head: head(), body }, &mut out).unwrap_err();
    assert_eq!(error, EncodeError::TooLarge { name: "FindCoordinator", limit: DATAGRAM_BYTES_MAX });
    assert_eq!(out, [9]);
}

#[test]
fn a_whole_view_of_ten_thousand_fits_a_frame() {
    let founder = crate::testing::member(0);
    let view =
        crate::view::View::founding(crate::testing::CLUSTER, "c".into(), crate::testing::timing(), founder);
    let mut change = crate::view::Change::empty(&view);
    change.joined = (1..10_000_u32)
        .map(|n| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&n.to_be_bytes());
            let addr = SocketAddr::from(([10, (n >> 16) as u8, (n >> 8) as u8, n as u8], 7000));
            crate::member::Member::new(
                MemberId::from_bytes(bytes),
                format!("member-{n}"),
                Endpoint::single(addr),
            )
            .into()
        })
        .collect();
    let body = FrameBody::Prepare { ballot: crate::message::Ballot { round: 0, place: 0 }, change };
    let frame = Frame { head: head(), body };
    assert_eq!(decode_frame(&encoded_frame(&frame)), Ok(frame));
    let whole = crate::message::Installation::Whole(Box::new(view_of(100)));
    let frame = Frame { head: head(), body: FrameBody::Install(whole) };
    assert_eq!(decode_frame(&encoded_frame(&frame)), Ok(frame));
}

proptest! {
    #[test]
    fn every_datagram_survives_the_wire(kind in 0..DATAGRAM_KINDS, seed: u64, head in heads()) {
        let datagram = Datagram { head, body: message_of_kind(kind, seed) };
        let mut out = Vec::new();
        if encode_datagram(&datagram, &mut out).is_ok() {
            prop_assert_eq!(decode_datagram(&out), Ok(datagram));
        }
    }

    #[test]
    fn every_frame_survives_the_wire(kind in 0..FRAME_KINDS, seed: u64, head in heads()) {
        let frame = Frame { head, body: message_of_kind(kind, seed) };
        prop_assert_eq!(decode_frame(&encoded_frame(&frame)), Ok(frame));
    }

    #[test]
    fn every_check_survives_the_wire(seed: u64) {
        let request: CheckRequest = message_of_seed(seed);
        prop_assert_eq!(decode_check_request(&encode_check_request(&request)), Ok(request));
        let answer: CheckAnswer = message_of_seed(seed);
        prop_assert_eq!(decode_check_answer(&encode_check_answer(&answer)), Ok(answer));
    }

    #[test]
    fn any_bytes_are_one_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_one_message_or_none(&bytes);
    }

    /// Bytes close to messages, since few arbitrary ones get beyond the head.
    #[test]
    fn damaged_messages_are_one_message_or_none(
        is_frame: bool,
        kind: u8,
        seed: u64,
        head in heads(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = Vec::new();
        if is_frame {
            let body = message_of_kind(kind % FRAME_KINDS, seed);
            encode_frame(&Frame { head, body }, &mut bytes).unwrap();
        } else {
            let body = message_of_kind(kind % DATAGRAM_KINDS, seed);
            prop_assume!(encode_datagram(&Datagram { head, body }, &mut bytes).is_ok());
        }
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        assert_one_message_or_none(&bytes);
    }
}

fn assert_one_message_or_none(bytes: &[u8]) {
    if let Ok(datagram) = decode_datagram(bytes) {
        assert_eq!(encoded_datagram(&datagram), bytes);
    }
    if let Ok(frame) = decode_frame(bytes) {
        assert_eq!(encoded_frame(&frame), bytes);
    }
    if let Ok(request) = decode_check_request(bytes) {
        assert_eq!(encode_check_request(&request), bytes);
    }
    if let Ok(answer) = decode_check_answer(bytes) {
        assert_eq!(encode_check_answer(&answer), bytes);
    }
}

fn heads() -> impl Strategy<Value = Head> {
    let number = || prop_oneof![0..300_u64, any::<u64>(), 65_000..66_000_u64];
    let echo = (number(), any::<u32>()).prop_map(|(number, age_us)| Echo { number, age_us });
    (
        any::<([u8; 8], [u8; 8], [u8; 8], Option<[u8; 8]>)>(),
        any::<(bool, bool, bool, bool)>(),
        number(),
        number(),
        prop::option::of(echo),
        any::<Option<u32>>(),
    )
        .prop_map(
            |((cluster, sender, recipient, accepted), flags, view, number, echo, quorate_for_ms)| Head {
                cluster: ClusterTag(cluster),
                sender: ShortId(sender),
                recipient: ShortId(recipient),
                view: ViewId(view),
                accepted: accepted.map(DigestTag),
                flags: Flags { isolated: flags.0, sick: flags.1, paused: flags.2, leaving: flags.3 },
                number,
                echo,
                quorate_for_ms,
            },
        )
}

fn head() -> Head {
    Head {
        cluster: ClusterTag([0xcc; 8]),
        sender: id(1).short(),
        recipient: id(2).short(),
        view: ViewId(300),
        accepted: Some(DigestTag([0xdd; 8])),
        flags: Flags { isolated: true, ..Flags::default() },
        number: 70_000,
        echo: Some(Echo { number: 250, age_us: 1_000 }),
        quorate_for_ms: None,
    }
}

fn heartbeat(head: Head, answers: Answers) -> Datagram {
    Datagram { head, body: DatagramBody::Heartbeat { answers } }
}

fn encoded_datagram(datagram: &Datagram) -> Vec<u8> {
    let mut out = Vec::new();
    encode_datagram(datagram, &mut out).unwrap();
    out
}

fn encoded_frame(frame: &Frame) -> Vec<u8> {
    let mut out = Vec::new();
    encode_frame(frame, &mut out).unwrap();
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
