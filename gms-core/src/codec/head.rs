//! The head's layout, and numbers as bincode writes them, by hand: this is the path of every heartbeat.
//!
//! ```text
//! version 1 | flags 1 | cluster 8 | sender 8 | recipient 8 | view n | [accepted 8] | number n | [echo number n, age n] | [quorate for n]
//! ```
//!
//! `n` is a number of variable length: one byte up to 250, else 251, 252 or 253 and 2, 4 or 8 bytes, little endian.
//! Bits of the flags: 0 isolated, 1 sick, 2 paused, 3 leaving, 4 accepted is present, 5 echo is present, 6 stream
//! channel, 7 the time for which a hub is quorate is present.

use crate::codec::{DecodeError, VERSION};
use crate::member::{ClusterTag, ShortId};
use crate::message::{Echo, Flags, Head};
use crate::view::{DigestTag, ViewId};

const ISOLATED: u8 = 1 << 0;
const SICK: u8 = 1 << 1;
const PAUSED: u8 = 1 << 2;
const LEAVING: u8 = 1 << 3;
const HAS_ACCEPTED: u8 = 1 << 4;
const HAS_ECHO: u8 = 1 << 5;
const STREAM: u8 = 1 << 6;
const HAS_QUORATE_FOR: u8 = 1 << 7;

/// Largest number of one byte.
const SINGLE_BYTE_MAX: u8 = 250;
const TWO_BYTES: u8 = 251;
const FOUR_BYTES: u8 = 252;
const EIGHT_BYTES: u8 = 253;

/// Which channel a message travels on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Channel {
    Datagram,
    Stream,
}

/// Appends a head.
pub(super) fn write(out: &mut Vec<u8>, head: &Head, channel: Channel) {
    let mut fixed = [0; 26];
    fixed[0] = VERSION;
    fixed[1] = flag_bits(head, channel);
    fixed[2..10].copy_from_slice(&head.cluster.0);
    fixed[10..18].copy_from_slice(&head.sender.0);
    fixed[18..26].copy_from_slice(&head.recipient.0);
    out.extend_from_slice(&fixed);
    write_number(out, head.view.0);
    if let Some(DigestTag(tag)) = &head.accepted {
        out.extend_from_slice(tag);
    }
    write_number(out, head.number);
    if let Some(echo) = &head.echo {
        write_number(out, echo.number);
        write_number(out, u64::from(echo.age_us));
    }
    if let Some(ms) = head.quorate_for_ms {
        write_number(out, u64::from(ms));
    }
}

/// Reads a head of `channel`.
pub(super) fn read(reader: &mut Reader<'_>, channel: Channel) -> Result<Head, DecodeError> {
    reader.version()?;
    let [bits] = reader.array()?;
    if (bits & STREAM != 0) != (channel == Channel::Stream) {
        return Err(DecodeError::OtherChannel);
    }
    let cluster = ClusterTag(reader.array()?);
    let sender = ShortId(reader.array()?);
    let recipient = ShortId(reader.array()?);
    let view = ViewId(reader.number()?);
    let accepted = if bits & HAS_ACCEPTED != 0 { Some(DigestTag(reader.array()?)) } else { None };
    let number = reader.number()?;
    let echo = if bits & HAS_ECHO != 0 {
        let number = reader.number()?;
        let age_us = reader.number_of_32_bits()?;
        Some(Echo { number, age_us })
    } else {
        None
    };
    let quorate_for_ms = if bits & HAS_QUORATE_FOR != 0 { Some(reader.number_of_32_bits()?) } else { None };
    let flags = Flags {
        isolated: bits & ISOLATED != 0,
        sick: bits & SICK != 0,
        paused: bits & PAUSED != 0,
        leaving: bits & LEAVING != 0,
    };
    Ok(Head { cluster, sender, recipient, view, accepted, flags, number, echo, quorate_for_ms })
}

fn flag_bits(head: &Head, channel: Channel) -> u8 {
    let Flags { isolated, sick, paused, leaving } = head.flags;
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    bit(isolated, ISOLATED)
        | bit(sick, SICK)
        | bit(paused, PAUSED)
        | bit(leaving, LEAVING)
        | bit(head.accepted.is_some(), HAS_ACCEPTED)
        | bit(head.echo.is_some(), HAS_ECHO)
        | bit(head.quorate_for_ms.is_some(), HAS_QUORATE_FOR)
        | bit(channel == Channel::Stream, STREAM)
}

/// Appends a number in its shortest form.
pub(super) fn write_number(out: &mut Vec<u8>, value: u64) {
    let mut form = [0; 9];
    let bytes = value.to_le_bytes();
    let used = if value <= u64::from(SINGLE_BYTE_MAX) {
        form[0] = bytes[0];
        1
    } else {
        form[1..].copy_from_slice(&bytes);
        let (tag, used) = if value <= u64::from(u16::MAX) {
            (TWO_BYTES, 3)
        } else if value <= u64::from(u32::MAX) {
            (FOUR_BYTES, 5)
        } else {
            (EIGHT_BYTES, 9)
        };
        form[0] = tag;
        used
    };
    out.extend_from_slice(&form[..used]);
}

/// Reads fields from the front of bytes at hand.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What was not read yet.
    pub(super) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn version(&mut self) -> Result<(), DecodeError> {
        let [version] = self.array()?;
        if version == VERSION { Ok(()) } else { Err(DecodeError::UnknownVersion(version)) }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }

    /// A number that fits 32 bits.
    pub(super) fn number_of_32_bits(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.number()?).map_err(|_| DecodeError::Malformed)
    }

    /// A number; any form but its shortest is refused.
    pub(super) fn number(&mut self) -> Result<u64, DecodeError> {
        let [first] = self.array()?;
        let (value, smallest) = match first {
            0..=SINGLE_BYTE_MAX => return Ok(u64::from(first)),
            TWO_BYTES => (u64::from(u16::from_le_bytes(self.array()?)), u64::from(SINGLE_BYTE_MAX) + 1),
            FOUR_BYTES => (u64::from(u32::from_le_bytes(self.array()?)), u64::from(u16::MAX) + 1),
            EIGHT_BYTES => (u64::from_le_bytes(self.array()?), u64::from(u32::MAX) + 1),
            _ => return Err(DecodeError::Malformed),
        };
        if value < smallest { Err(DecodeError::NotCanonical) } else { Ok(value) }
    }
}
