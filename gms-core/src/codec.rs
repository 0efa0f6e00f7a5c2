//! Messages to bytes and back: the only file, with its parts in `codec/`, that sees bytes.
//!
//! A datagram or frame is a head of fixed layout (`codec/head.rs`) and a body in bincode's standard configuration,
//! whose first byte is the message's kind. Decoding is total: any bytes in, a message or an error out. Exactly one
//! sequence of bytes stands for a message: what decodes encodes to the same bytes.
//!
//! bincode leaves some of that to its users, so it is made sure of here: trailing bytes and longer forms of a number
//! are refused, lists grow only as their elements arrive (`codec/bounded.rs`), and a limit is always set.

mod bounded;
mod head;
#[cfg(test)]
pub(crate) mod tests;

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use bincode::enc::write::Writer;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{
    AccusationId, Answers, CheckAnswer, CheckRequest, DATAGRAM_BYTES_MAX, Datagram, DatagramBody,
    FRAME_BYTES_MAX, Frame, FrameBody, RequestId,
};
use head::{Channel, Reader};

/// The only version of the format that this program speaks: the first byte of everything.
pub const VERSION: u8 = 1;
/// Largest question or answer of a check.
pub const CHECK_BYTES_MAX: usize = 64;
/// Largest datagram that a `Coordinator` answer makes: names of 64 bytes, IPv6 addresses, numbers of full length.
pub const COORDINATOR_BYTES_MAX: usize = 264;
/// Bytes of padding that make any `FindCoordinator` datagram at least [`COORDINATOR_BYTES_MAX`] long. Whoever is
/// asked with less does not answer, so that nobody gets more bytes back than he sent.
//= docs/protocol.md#wr-4
pub const FIND_COORDINATOR_PADDING: usize = 220;

/// Number of kinds of datagrams; a kind byte at or above it is unknown.
const DATAGRAM_KINDS: u8 = 9;
/// Number of kinds of frames.
const FRAME_KINDS: u8 = 26;
/// The kind byte of [`DatagramBody::Heartbeat`], which is read and written by hand.
const HEARTBEAT_KIND: u8 = 0;
/// bincode claims a number's full width from its limit where one byte is on the wire, so that a limit of eight times
/// the largest message never refuses a good one. The same factor bounds the memory that lists may take.
const CLAIM_FACTOR: usize = 8;

type Config<const LIMIT: usize> = Configuration<LittleEndian, Varint, Limit<LIMIT>>;

/// Why a message can't be encoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// It would be larger than its channel carries.
    #[error("{name} is larger than {limit} bytes: send less in one message")]
    TooLarge {
        /// The message's name.
        name: &'static str,
        /// The channel's largest message.
        limit: usize,
    },
}

/// Why bytes are no message. Nothing of them was used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are more bytes than the channel carries.
    #[error("{0} bytes are more than the channel carries")]
    TooLong(usize),
    /// They end within a message.
    #[error("the bytes end within the message")]
    Truncated,
    /// A version that this program does not speak.
    #[error("format version {0} is not spoken here: this is version 1")]
    UnknownVersion(u8),
    /// A kind that this program does not know.
    #[error("message kind {0} is not known here")]
    UnknownKind(u8),
    /// A frame's bytes in a datagram, or the other way round.
    #[error("the message belongs to the other channel")]
    OtherChannel,
    /// Fields hold what no sender writes.
    #[error("a field of the message is malformed")]
    Malformed,
    /// The same message has shorter or other bytes.
    #[error("the message is not in its only form")]
    NotCanonical,
    /// Bytes follow the message.
    #[error("{0} bytes follow the message")]
    Trailing(usize),
    /// Its lists would take too much memory.
    #[error("the message would take too much memory")]
    TooMuchMemory,
}

impl DecodeError {
    /// The cause as a label for counters.
    pub const fn cause(&self) -> &'static str {
        match self {
            Self::TooLong(_) => "too_long",
            Self::Truncated => "truncated",
            Self::UnknownVersion(_) => "unknown_version",
            Self::UnknownKind(_) => "unknown_kind",
            Self::OtherChannel => "other_channel",
            Self::Malformed => "malformed",
            Self::NotCanonical => "not_canonical",
            Self::Trailing(_) => "trailing",
            Self::TooMuchMemory => "too_much_memory",
        }
    }
}

/// Appends a datagram's bytes to `out`. Does not allocate where `out` has room.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is as before.
pub fn encode_datagram(datagram: &Datagram, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    head::write(out, &datagram.head, Channel::Datagram);
    if let DatagramBody::Heartbeat { answers } = datagram.body {
        write_heartbeat(out, answers);
        return Ok(());
    }
    append(&datagram.body, out, start, DATAGRAM_BYTES_MAX, datagram.body.name())
}

/// The datagram that `bytes` stand for. Does not allocate for a heartbeat.
///
/// # Errors
///
/// [`DecodeError`]: the bytes are no datagram.
//= docs/protocol.md#wr-2
pub fn decode_datagram(bytes: &[u8]) -> Result<Datagram, DecodeError> {
    if bytes.len() > DATAGRAM_BYTES_MAX {
        return Err(DecodeError::TooLong(bytes.len()));
    }
    let mut reader = Reader::new(bytes);
    let head = head::read(&mut reader, Channel::Datagram)?;
    let body = match known_kind(&reader, DATAGRAM_KINDS)? {
        HEARTBEAT_KIND => DatagramBody::Heartbeat { answers: read_heartbeat(&mut reader)? },
        _ => decode_rest::<_, { DATAGRAM_BYTES_MAX * CLAIM_FACTOR }>(reader.rest())?,
    };
    Ok(Datagram { head, body })
}

/// Appends a frame's bytes, without a length, to `out`.
///
/// # Errors
///
/// [`EncodeError::TooLarge`]; `out` is as before.
pub fn encode_frame(frame: &Frame, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    head::write(out, &frame.head, Channel::Stream);
    append(&frame.body, out, start, FRAME_BYTES_MAX, frame.body.name())
}

/// The frame that `bytes`, without the length, stand for.
///
/// # Errors
///
/// [`DecodeError`]: the bytes are no frame.
//= docs/protocol.md#wr-2
pub fn decode_frame(bytes: &[u8]) -> Result<Frame, DecodeError> {
    if bytes.len() > FRAME_BYTES_MAX {
        return Err(DecodeError::TooLong(bytes.len()));
    }
    let mut reader = Reader::new(bytes);
    let head = head::read(&mut reader, Channel::Stream)?;
    known_kind(&reader, FRAME_KINDS)?;
    let body: FrameBody = decode_rest::<_, { FRAME_BYTES_MAX * CLAIM_FACTOR }>(reader.rest())?;
    Ok(Frame { head, body })
}

/// The bytes of a check's question.
pub fn encode_check_request(request: &CheckRequest) -> Vec<u8> {
    encode_check(request)
}

/// The check's question that `bytes` stand for.
///
/// # Errors
///
/// [`DecodeError`]: the bytes are no question.
pub fn decode_check_request(bytes: &[u8]) -> Result<CheckRequest, DecodeError> {
    decode_check(bytes)
}

/// The bytes of a check's answer; never more than those of a question.
pub fn encode_check_answer(answer: &CheckAnswer) -> Vec<u8> {
    encode_check(answer)
}

/// The check's answer that `bytes` stand for.
///
/// # Errors
///
/// [`DecodeError`]: the bytes are no answer.
pub fn decode_check_answer(bytes: &[u8]) -> Result<CheckAnswer, DecodeError> {
    decode_check(bytes)
}

fn encode_check<T: Serialize>(message: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(CHECK_BYTES_MAX);
    out.push(VERSION);
    append(message, &mut out, 0, CHECK_BYTES_MAX, "check").expect("a check's fields have bounded sizes");
    out
}

fn decode_check<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> Result<T, DecodeError> {
    if bytes.len() > CHECK_BYTES_MAX {
        return Err(DecodeError::TooLong(bytes.len()));
    }
    let mut reader = Reader::new(bytes);
    reader.version()?;
    decode_rest::<_, { CHECK_BYTES_MAX * CLAIM_FACTOR }>(reader.rest())
}

fn known_kind(reader: &Reader<'_>, kinds: u8) -> Result<u8, DecodeError> {
    match reader.rest().first() {
        None => Err(DecodeError::Truncated),
        Some(kind) if *kind < kinds => Ok(*kind),
        Some(kind) => Err(DecodeError::UnknownKind(*kind)),
    }
}

fn write_heartbeat(out: &mut Vec<u8>, answers: Answers) {
    let (variant, id) = match answers {
        Answers::Nothing => (0, None),
        Answers::Request(RequestId(id)) => (1, Some(id)),
        Answers::Accusation(AccusationId(id)) => (2, Some(id)),
    };
    out.extend_from_slice(&[HEARTBEAT_KIND, variant]);
    if let Some(id) = id {
        head::write_number(out, id);
    }
}

fn read_heartbeat(reader: &mut Reader<'_>) -> Result<Answers, DecodeError> {
    let [_kind, variant] = reader.array()?;
    let answers = match variant {
        0 => Answers::Nothing,
        1 => Answers::Request(RequestId(reader.number()?)),
        2 => Answers::Accusation(AccusationId(reader.number()?)),
        _ => return Err(DecodeError::Malformed),
    };
    match reader.rest().len() {
        0 => Ok(answers),
        more => Err(DecodeError::Trailing(more)),
    }
}

/// Appends `message` where the whole from `start` stays within `limit`.
fn append<T: Serialize>(
    message: &T,
    out: &mut Vec<u8>,
    start: usize,
    limit: usize,
    name: &'static str,
) -> Result<(), EncodeError> {
    let writer = Appender { out, end: start + limit };
    let config: Config<FRAME_BYTES_MAX> = bincode::config::standard().with_limit::<FRAME_BYTES_MAX>();
    if bincode::serde::encode_into_writer(message, writer, config).is_err() {
        out.truncate(start);
        return Err(EncodeError::TooLarge { name, limit });
    }
    Ok(())
}

/// Decodes all of `bytes` with bincode; `LIMIT` bounds what it claims, and the memory of lists.
fn decode_rest<T: DeserializeOwned + Serialize, const LIMIT: usize>(bytes: &[u8]) -> Result<T, DecodeError> {
    let config: Config<LIMIT> = bincode::config::standard().with_limit::<LIMIT>();
    let (message, consumed) = bounded::decode::<T, _>(bytes, config, LIMIT)?;
    if consumed != bytes.len() {
        return Err(DecodeError::Trailing(bytes.len() - consumed));
    }
    let mut matcher = Matcher { rest: bytes };
    match bincode::serde::encode_into_writer(&message, &mut matcher, config) {
        Ok(()) if matcher.rest.is_empty() => Ok(message),
        _ => Err(DecodeError::NotCanonical),
    }
}

/// Writes to the end of a buffer, up to a bound.
struct Appender<'a> {
    out: &'a mut Vec<u8>,
    end: usize,
}

impl Writer for Appender<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        if self.out.len() + bytes.len() > self.end {
            return Err(bincode::error::EncodeError::UnexpectedEnd);
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

/// Compares what is written with bytes at hand, so that a message's only form is checked without a second buffer.
struct Matcher<'a> {
    rest: &'a [u8],
}

impl Writer for Matcher<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), bincode::error::EncodeError> {
        match self.rest.strip_prefix(bytes) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(bincode::error::EncodeError::Other("other bytes")),
        }
    }
}
