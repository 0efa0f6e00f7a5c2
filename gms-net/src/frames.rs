//! Length framing on a stream: four bytes of length, big-endian, then that many bytes. Pure.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of the length before each frame.
pub const HEAD_BYTES: usize = 4;

/// Frames below this are copied out of the read buffer instead of sharing it. Sharing saves the copy, but a
/// waiting frame then keeps the whole buffer alive; up to here the copy costs less than the read that brought it
/// (about 3 µs), and what the inbox counts is what it holds.
const COPY_BELOW_BYTES: usize = 32 << 10;

/// A length that no frame has: zero, or above the bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadLength;

/// The length that goes before a frame; `None` if the frame is empty or longer than `max`.
pub fn head(frame: &[u8], max: usize) -> Option<[u8; HEAD_BYTES]> {
    if frame.is_empty() || frame.len() > max {
        return None;
    }
    u32::try_from(frame.len()).ok().map(u32::to_be_bytes)
}

/// Collects what was read and gives out whole frames.
///
/// Memory follows the bytes that arrived, never the length that the peer announced.
//= docs/protocol.md#wr-1
#[derive(Debug)]
pub struct Assembler {
    buffer: BytesMut,
    frame_bytes_max: usize,
}

impl Assembler {
    /// Nothing is held; frames have at most `frame_bytes_max` bytes.
    pub fn new(frame_bytes_max: usize) -> Self {
        Self { buffer: BytesMut::new(), frame_bytes_max }
    }

    /// Whether nothing is held, neither a whole frame nor a part of one.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Whether what is held begins with this byte.
    pub fn starts_with(&self, byte: u8) -> bool {
        self.buffer.first() == Some(&byte)
    }

    /// Appends what was read.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, if it is there.
    ///
    /// # Errors
    ///
    /// [`BadLength`]; the stream is lost then, and the same error comes again.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, BadLength> {
        let Some(length) = self.announced()? else { return Ok(None) };
        if self.buffer.len() - HEAD_BYTES < length {
            return Ok(None);
        }
        self.buffer.advance(HEAD_BYTES);
        let frame = if length < COPY_BELOW_BYTES {
            let copy = Bytes::copy_from_slice(&self.buffer[..length]);
            self.buffer.advance(length);
            copy
        } else {
            self.buffer.split_to(length).freeze()
        };
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
        Ok(Some(frame))
    }

    fn announced(&self) -> Result<Option<usize>, BadLength> {
        let Some(head) = self.buffer.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        match usize::try_from(u32::from_be_bytes(*head)) {
            Ok(length) if (1..=self.frame_bytes_max).contains(&length) => Ok(Some(length)),
            _ => Err(BadLength),
        }
    }

    #[cfg(test)]
    fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(frame: &[u8]) -> Vec<u8> {
        let mut bytes = head(frame, 1 << 20).unwrap().to_vec();
        bytes.extend_from_slice(frame);
        bytes
    }

    #[test]
    fn frames_come_out_whole_and_in_order_however_the_bytes_are_cut() {
        let large: Vec<u8> = (0..COPY_BELOW_BYTES + 7).map(|i| i as u8).collect();
        let mut stream = framed(b"one");
        stream.extend(framed(&large));
        stream.extend(framed(b"three"));
        for cut in [1, 2, 3, 5, 1000, stream.len()] {
            let mut assembler = Assembler::new(1 << 20);
            let mut frames = Vec::new();
            for chunk in stream.chunks(cut) {
                assembler.extend(chunk);
                while let Some(frame) = assembler.next_frame().unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames, [&b"one"[..], &large[..], &b"three"[..]], "cut into pieces of {cut}");
            assert!(assembler.is_empty());
        }
    }

    #[test]
    fn a_length_of_zero_or_above_the_bound_loses_the_stream() {
        for (length, bad) in [(0_u32, true), (1, false), (10, false), (11, true), (u32::MAX, true)] {
            let mut assembler = Assembler::new(10);
            assembler.extend(&length.to_be_bytes());
            assert_eq!(assembler.next_frame().is_err(), bad, "length {length}");
        }
    }

    #[test]
    fn an_announced_length_takes_no_memory() {
        let mut assembler = Assembler::new(4 << 20);
        assembler.extend(&(4_u32 << 20).to_be_bytes());
        assembler.extend(&[0; 100]);
        assert_eq!(assembler.next_frame(), Ok(None));
        assert!(assembler.capacity() < 1024, "{} bytes held", assembler.capacity());
    }

    #[test]
    fn empty_and_oversized_frames_have_no_head() {
        assert_eq!(head(b"", 10), None);
        assert_eq!(head(&[0; 11], 10), None);
        assert_eq!(head(&[0; 10], 10), Some([0, 0, 0, 10]));
    }
}
