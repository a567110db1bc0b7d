//! The harness with a reader: what it has taken, and what the sender is told of the room behind it.

use stratasim_core::Time;

use super::setting::Reader;
use crate::wire::{self, NO_LIMIT};

/// A reader at work.
#[derive(Debug)]
pub(super) struct Reading {
    reader: Option<Reader>,
    /// It has taken every packet below.
    read_to: u64,
    /// It takes the next one then, if that is there.
    next: Time,
    /// The sender was told of room for packets below, or word of it was lost.
    told: u64,
}

impl Reading {
    pub(super) fn new(reader: Option<Reader>) -> Self {
        Self { reader, read_to: 0, next: reader.map_or(Time::ZERO, |reader| reader.from), told: 0 }
    }

    /// Takes what there is below `delivered_to` until `now`.
    pub(super) fn read(&mut self, now: Time, delivered_to: u64) {
        let Some(reader) = self.reader else { return };
        while self.read_to < delivered_to && self.next <= now {
            self.read_to += 1;
            self.next += reader.time_per_packet;
        }
        if self.read_to == delivered_to {
            // it waits for more
            self.next = self.next.max(now);
        }
    }

    /// When it takes a packet that is there.
    pub(super) fn deadline(&self, delivered_to: u64) -> Time {
        if self.reader.is_some() && self.read_to < delivered_to { self.next } else { Time::MAX }
    }

    /// The first packet for which there is no room.
    pub(super) fn room_to(&self) -> u64 {
        self.reader.map_or(u64::MAX, |reader| self.read_to + reader.room_packets)
    }

    /// The credit that goes with a frame, where everything below `delivered_to` has arrived.
    pub(super) fn credit(&mut self, delivered_to: u64) -> u16 {
        if self.reader.is_none() {
            return NO_LIMIT;
        }
        let credit = wire::credit(self.room_to() - delivered_to);
        self.told = delivered_to + 16 * u64::from(credit);
        credit
    }

    /// Whether the sender may believe that there is no room, and there is.
    pub(super) fn has_news(&self, delivered_to: u64) -> bool {
        self.reader.is_some() && self.told == delivered_to && wire::credit(self.room_to() - delivered_to) > 0
    }
}
