//! Any bytes for the decoders: never a panic, memory in proportion to the bytes, and one form for each message.

use std::fmt::Debug;

use gms_core::codec;
use gms_core::message::{DATAGRAM_BYTES_MAX, FRAME_BYTES_MAX};

use super::memory;
use frames::{Assembler, HEAD_BYTES};

/// The stream decoder of `gms-net`, which is pure.
#[path = "../../../gms-net/src/frames.rs"]
#[allow(dead_code, reason = "only the part that reads is used here")]
mod frames;

/// What a decoder may hold beyond the message: the codec's bound is eight times the channel's largest message, and
/// a list that grows holds its old and its new place at once.
const MEMORY_FACTOR: usize = 8 * 3;
/// What any call may take, however short its input.
const MEMORY_FREE: usize = 4 << 10;

/// Takes `bytes` as a datagram, as a check's question and as its answer.
///
/// # Panics
///
/// Where an invariant does not hold.
pub fn datagram(bytes: &[u8]) {
    decodes_to_one_form(bytes, DATAGRAM_BYTES_MAX, codec::decode_datagram, |datagram| {
        let mut out = Vec::new();
        codec::encode_datagram(datagram, &mut out).expect("what was decoded fits its channel");
        out
    });
    decodes_to_one_form(
        bytes,
        codec::CHECK_BYTES_MAX,
        codec::decode_check_request,
        codec::encode_check_request,
    );
    decodes_to_one_form(
        bytes,
        codec::CHECK_BYTES_MAX,
        codec::decode_check_answer,
        codec::encode_check_answer,
    );
}

/// Takes the first byte as the size of pieces, and the rest as what is read from a stream in such pieces; also as one
/// frame without a length.
///
/// # Panics
///
/// Where an invariant does not hold.
pub fn frame(bytes: &[u8]) {
    let Some((cut, stream)) = bytes.split_first() else { return };
    one_frame(stream);
    let whole = frames_of(stream, stream.len().max(1));
    let in_pieces = frames_of(stream, usize::from(*cut).max(1));
    assert_eq!(whole, in_pieces, "pieces of {cut} bytes make other frames");
    for frame in &whole.0 {
        one_frame(frame);
    }
}

fn one_frame(bytes: &[u8]) {
    decodes_to_one_form(bytes, FRAME_BYTES_MAX, codec::decode_frame, |frame| {
        let mut out = Vec::new();
        codec::encode_frame(frame, &mut out).expect("what was decoded fits its channel");
        out
    });
}

/// The frames that `stream`, read in pieces of `cut` bytes, consists of, and whether it is lost after them.
fn frames_of(stream: &[u8], cut: usize) -> (Vec<Vec<u8>>, bool) {
    let read = || {
        let mut assembler = Assembler::new(FRAME_BYTES_MAX);
        let mut frames = Vec::new();
        for piece in stream.chunks(cut) {
            assembler.extend(piece);
            loop {
                match assembler.next_frame() {
                    Ok(Some(frame)) => frames.push(frame.to_vec()),
                    Ok(None) => break,
                    Err(_) => return (frames, true),
                }
            }
        }
        (frames, false)
    };
    let (read, peak) = memory::measured(read);
    let bound = stream.len() * MEMORY_FACTOR + MEMORY_FREE;
    assert!(peak <= bound, "{} bytes of a stream took {peak} of memory, more than {bound}", stream.len());
    let given: usize = read.0.iter().map(|frame| frame.len() + HEAD_BYTES).sum();
    assert!(given <= stream.len(), "more came out of the stream than went in");
    read
}

fn decodes_to_one_form<T: PartialEq + Debug, E: Debug>(
    bytes: &[u8],
    limit: usize,
    decode: impl Fn(&[u8]) -> Result<T, E>,
    encode: impl Fn(&T) -> Vec<u8>,
) {
    let (decoded, peak) = memory::measured(|| decode(bytes));
    // An element of one byte on the wire may take fifty in memory, but all of them together no more than the limit.
    let bound = (bytes.len() * 64 * 3).min(limit * MEMORY_FACTOR) + MEMORY_FREE;
    assert!(peak <= bound, "{} bytes took {peak} of memory, more than {bound}", bytes.len());
    let Ok(message) = decoded else { return };
    assert!(bytes.len() <= limit, "{} bytes were accepted where {limit} are the most", bytes.len());
    assert_eq!(encode(&message), bytes, "{message:?} has two forms");
}
