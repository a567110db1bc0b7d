//! Buffers that virtual channels share: places of parts of them, and places for all.

use crate::flit::router::{BufferPart, RouterSpec};

/// Which places of many buffers are in use.
///
/// A place that becomes free while its virtual channel is held and has no other flit stays reserved for the holder, so
/// that others cannot starve it.
#[derive(Debug)]
pub(super) struct Shared {
    /// Places of a whole buffer.
    places: u32,
    /// Those that are for all.
    common_places: u32,
    /// By part: its own places. The last part is of those in no other; it has none.
    part_places: Vec<u32>,
    /// By virtual channel.
    part_of: Vec<u8>,
    /// By buffer and virtual channel: places kept for the holder, whose flits have all moved on.
    reserved: Vec<u32>,
    /// By buffer and part: places in use or reserved, common ones among them.
    taken: Vec<u32>,
    /// By buffer: common places in use or reserved.
    common: Vec<u32>,
}

impl Shared {
    pub(super) fn new(spec: &RouterSpec, buffers: usize) -> Self {
        let vcs = usize::from(spec.virtual_channels);
        let parts = spec.shared_buffer.parts(spec.virtual_channels);
        let places = spec.shared_buffer.places(spec.virtual_channels, spec.buffer_flits);
        let mut part_of = vec![parts.len() as u8; vcs];
        for (part, BufferPart { channels: [first, last], .. }) in parts.iter().enumerate() {
            part_of[usize::from(*first)..=usize::from(*last)].fill(part as u8);
        }
        let part_places: Vec<u32> = parts.iter().map(|part| part.flits).chain([0]).collect();
        Self {
            places,
            common_places: places - part_places.iter().sum::<u32>(),
            part_of,
            reserved: vec![0; buffers * vcs],
            taken: vec![0; buffers * part_places.len()],
            common: vec![0; buffers],
            part_places,
        }
    }

    /// Places of a whole buffer.
    pub(super) fn places(&self) -> u32 {
        self.places
    }

    #[inline]
    fn channel(&self, buffer: usize, vc: u8) -> usize {
        buffer * self.part_of.len() + usize::from(vc)
    }

    /// Number of the part of a virtual channel, and its place among those of all buffers.
    #[inline]
    fn part(&self, buffer: usize, vc: u8) -> (usize, usize) {
        let part = usize::from(self.part_of[usize::from(vc)]);
        (part, buffer * self.part_places.len() + part)
    }

    /// Whether there is no place for a further flit.
    #[inline]
    pub(super) fn is_full(&self, buffer: usize, vc: u8) -> bool {
        // the usual answer first
        if self.common[buffer] < self.common_places {
            return false;
        }
        let (part, at) = self.part(buffer, vc);
        self.reserved[self.channel(buffer, vc)] == 0 && self.taken[at] >= self.part_places[part]
    }

    /// A flit is sent. The tail gives back what is reserved for the packet.
    pub(super) fn send(&mut self, buffer: usize, vc: u8, tail: bool) {
        let channel = self.channel(buffer, vc);
        if self.reserved[channel] > 0 {
            self.reserved[channel] -= 1;
        } else {
            let (part, at) = self.part(buffer, vc);
            self.taken[at] += 1;
            self.common[buffer] += u32::from(self.taken[at] > self.part_places[part]);
        }
        if tail {
            for _ in 0..std::mem::take(&mut self.reserved[channel]) {
                self.release(buffer, vc);
            }
        }
    }

    /// A place is free again; `keep` reserves it for the holder of its virtual channel.
    pub(super) fn give_back(&mut self, buffer: usize, vc: u8, keep: bool) {
        if keep {
            let channel = self.channel(buffer, vc);
            self.reserved[channel] += 1;
        } else {
            self.release(buffer, vc);
        }
    }

    /// A place is free for others: one of the common ones, if any are in use.
    fn release(&mut self, buffer: usize, vc: u8) {
        let (part, at) = self.part(buffer, vc);
        self.taken[at] -= 1;
        self.common[buffer] -= u32::from(self.taken[at] >= self.part_places[part]);
    }

    /// What is wrong with a buffer whose virtual channels have `occupancy` flits, if anything.
    pub(super) fn violation(&self, buffer: usize, occupancy: &[u32]) -> Option<String> {
        let parts = self.part_places.len();
        let mut taken = vec![0; parts];
        for (vc, &flits) in occupancy.iter().enumerate() {
            taken[usize::from(self.part_of[vc])] += flits + self.reserved[self.channel(buffer, vc as u8)];
        }
        let above = |part: usize| u32::saturating_sub(taken[part], self.part_places[part]);
        let common: u32 = (0..parts).map(above).sum();
        let known = &self.taken[buffer * parts..(buffer + 1) * parts];
        if taken != known || common != self.common[buffer] || common > self.common_places {
            return Some(format!(
                "{taken:?} places of parts and {common} common ones in use, {known:?} and {} known, {:?} and {} there",
                self.common[buffer], self.part_places, self.common_places
            ));
        }
        None
    }
}
