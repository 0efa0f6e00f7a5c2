//! The event queue: what happens next in virtual time; at one instant, in the order in which it was planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gms_core::Timestamp;
use slab::Slab;

/// When an item is due, in which order it was planned, and where it lies.
type Place = Reverse<(Timestamp, u64, usize)>;

/// Planned items, earliest first. What the heap moves about is small: the items lie still in a slab.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Place>,
    items: Slab<T>,
    sequence: u64,
}

impl<T> Queue<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), items: Slab::new(), sequence: 0 }
    }

    /// Plans `item` for `at`.
    pub(crate) fn push(&mut self, at: Timestamp, item: T) {
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence, self.items.insert(item))));
    }

    /// How many are planned.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// When the next item is due.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The next item.
    pub(crate) fn pop(&mut self) -> Option<(Timestamp, T)> {
        let Reverse((at, _, place)) = self.heap.pop()?;
        Some((at, self.items.remove(place)))
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
