//! The peers' event queue: by (time, number of the event), where time may go back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_core::queue::RadixQueue;

use crate::ahead::Coming;

/// Kinds of events, in the two highest bits of [`Event::on`]; the rest is a rank, of the sender where
/// the event is a message. An operation:
pub(super) const OPERATION: u32 = 0;
/// A message that arrives; `what` is its send.
pub(super) const MESSAGE: u32 = 1 << 30;
/// A group of blocked events; `what` is the group.
pub(super) const GROUP: u32 = 2 << 30;
/// The rank in [`Event::on`].
pub(super) const RANK: u32 = (1 << 30) - 1;

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    /// Number of the event; smaller goes first within an instant.
    pub(super) number: u64,
    pub(super) what: u32,
    pub(super) on: u32,
}

impl Event {
    /// What it will read, but for a group.
    #[inline]
    fn coming(self) -> Option<Coming> {
        let rank = self.on & RANK;
        match self.kind() {
            OPERATION => Some(Coming::Operation { rank, operation: self.what }),
            MESSAGE => Some(Coming::Message { from: rank, send: self.what }),
            _ => None,
        }
    }

    /// One of [`OPERATION`], [`MESSAGE`] and [`GROUP`].
    #[inline]
    pub(super) fn kind(self) -> u32 {
        self.on & !RANK
    }
}

/// Events by (time, number). A radix queue takes those at or after the last instant, a heap the few
/// that were made for the past.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    future: RadixQueue<Event>,
    /// Events of the instant in hand, from `head` on, by number.
    instant: Vec<Event>,
    head: usize,
    at: u64,
    past: BinaryHeap<Reverse<(u64, Event)>>,
    /// Number of the last event of the instant that left.
    number: u64,
}

impl EventQueue {
    #[inline]
    pub(super) fn push(&mut self, time: u64, event: Event) {
        if time > self.at {
            self.future.push(time, event);
        } else if time == self.at {
            // almost always the largest number of all
            let later = self.instant[self.head..].iter().rev().take_while(|other| **other > event).count();
            self.instant.insert(self.instant.len() - later, event);
        } else {
            self.past.push(Reverse((time, event)));
        }
    }

    /// The latest instant that was reached, and how far: the number of its last event that left.
    #[inline]
    pub(super) fn reached(&self) -> (u64, u64) {
        (self.at, self.number)
    }

    /// The event that leaves after the next `places`, where it is of the instant in hand.
    #[inline]
    pub(super) fn later(&self, places: usize) -> Option<Coming> {
        self.instant.get(self.head + places)?.coming()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(u64, Event)> {
        if let Some(Reverse(event)) = self.past.pop() {
            return Some(event);
        }
        if self.head == self.instant.len() {
            self.instant.clear();
            self.head = 0;
            self.at = self.future.pop_all(&mut self.instant)?;
            if !self.instant.is_sorted() {
                self.instant.sort_unstable();
            }
        }
        let event = self.instant[self.head];
        self.head += 1;
        self.number = event.number;
        Some((self.at, event))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_leave_by_time_and_number(ops in prop::collection::vec((any::<bool>(), 0..30_u64, 0..900_u64), 0..300)) {
            let mut queue = EventQueue::default();
            let mut model = BTreeSet::new();
            for (place, (push, time, number)) in ops.into_iter().enumerate() {
                if push {
                    let event = Event { number: number << 16 | place as u64, what: 1, on: 2 };
                    queue.push(time, event);
                    model.insert((time, event));
                } else {
                    prop_assert_eq!(queue.pop(), model.pop_first());
                }
            }
            while let Some(event) = queue.pop() {
                prop_assert_eq!(Some(event), model.pop_first());
            }
            prop_assert!(model.is_empty());
        }
    }
}
