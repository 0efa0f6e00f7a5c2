//! Choices made from the bytes of an input, byte by byte from the front, so that a mutated byte changes one choice.

use arbitrary::Unstructured;

/// The choices that an input makes. Where its bytes end, every further choice is the first one.
pub struct Draw<'a>(Unstructured<'a>);

impl<'a> Draw<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Whether all bytes are used.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// Yes in one of `of` cases.
    pub fn one_in(&mut self, of: usize) -> bool {
        self.below(of) + 1 == of
    }

    /// Eight bytes as a number.
    pub fn wide(&mut self) -> u64 {
        self.0.arbitrary().unwrap_or_default()
    }

    /// One of `all`, which is not empty.
    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// A number: `near` or next to it, an end of the range, or any.
    pub fn number(&mut self, near: u64) -> u64 {
        match self.below(12) {
            0..=3 => near,
            4 => near.saturating_add(1),
            5 => near.saturating_sub(1),
            6 => near.saturating_add(u64::from(self.byte())),
            7 => 0,
            8 => u64::MAX,
            9 => u64::MAX - 1,
            10 => u64::from(u32::MAX),
            _ => self.wide(),
        }
    }
}
