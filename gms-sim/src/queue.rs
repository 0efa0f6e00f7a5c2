//! The event queue: what happens next in virtual time; at one instant, in the order in which it was planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use gms_core::Timestamp;

#[derive(Debug)]
struct Entry<T> {
    at: Timestamp,
    sequence: u64,
    item: T,
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<T> Eq for Entry<T> {}

/// Planned items, earliest first.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    sequence: u64,
}

impl<T> Queue<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }

    /// Plans `item` for `at`.
    pub(crate) fn push(&mut self, at: Timestamp, item: T) {
        self.sequence += 1;
        self.heap.push(Entry { at, sequence: self.sequence, item });
    }

    /// How many are planned.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// When the next item is due.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// The next item.
    pub(crate) fn pop(&mut self) -> Option<(Timestamp, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_at_one_instant_the_first_planned() {
        let mut queue = Queue::new();
        queue.push(Timestamp::from_millis(2), 'c');
        queue.push(Timestamp::from_millis(1), 'a');
        queue.push(Timestamp::from_millis(1), 'b');
        assert_eq!(queue.next_at(), Some(Timestamp::from_millis(1)));
        let order: Vec<char> = std::iter::from_fn(|| queue.pop()).map(|(_, item)| item).collect();
        assert_eq!(order, ['a', 'b', 'c']);
    }
}
