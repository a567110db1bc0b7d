//! What one end of a channel knows of the buffer at the other: who holds its virtual channels, and how many
//! flits are in it or on their way.

use crate::flit::allocator::NONE;
use crate::flit::router::{BufferPolicy, RouterSpec};

/// Credit counters of many buffers (of router outputs, or of terminals), as columns by buffer, or by buffer
/// and virtual channel.
#[derive(Debug)]
pub(super) struct Credits {
    virtual_channels: usize,
    /// Flits of one virtual channel with private buffers.
    buffer: u32,
    policy: BufferPolicy,
    /// A virtual channel is free only when the credit of the last flit is back.
    wait_for_tail_credit: bool,
    /// By virtual channel: the packet that holds it, or [`NONE`].
    holder: Vec<u32>,
    /// By virtual channel: flits sent less credits returned.
    occupancy: Vec<u32>,
    /// By virtual channel: whether the tail of its holder has been sent.
    tail_sent: Vec<bool>,
    /// By virtual channel, of shared buffers: places kept for the holder, whose flits have all moved on.
    reserved: Vec<u32>,
    /// By buffer: sum of occupancies.
    used: Vec<u32>,
    /// By buffer, of shared ones: places of the common part in use or reserved.
    common: Vec<u32>,
    /// By buffer: virtual channels that are held.
    held: Vec<u32>,
    /// Sum of all occupancies.
    outstanding: u64,
}

impl Credits {
    pub(super) fn new(spec: &RouterSpec, buffers: usize) -> Self {
        let virtual_channels = spec.virtual_channels as usize;
        let channels = buffers * virtual_channels;
        Self {
            virtual_channels,
            buffer: spec.buffer_flits.into(),
            policy: spec.buffers,
            wait_for_tail_credit: spec.wait_for_tail_credit,
            holder: vec![NONE; channels],
            occupancy: vec![0; channels],
            tail_sent: vec![false; channels],
            reserved: vec![0; channels],
            used: vec![0; buffers],
            common: vec![0; buffers],
            held: vec![0; buffers],
            outstanding: 0,
        }
    }

    #[inline]
    fn at(&self, buffer: usize, vc: u8) -> usize {
        buffer * self.virtual_channels + vc as usize
    }

    /// Flits that a buffer holds over all its virtual channels.
    fn total(&self) -> u32 {
        self.buffer * self.virtual_channels as u32
    }

    /// Whether no packet holds the virtual channel.
    #[inline]
    pub(super) fn is_free(&self, buffer: usize, vc: u8) -> bool {
        self.holder[self.at(buffer, vc)] == NONE
    }

    /// Whether no further flit may be sent.
    #[inline]
    pub(super) fn is_full(&self, buffer: usize, vc: u8) -> bool {
        let at = self.at(buffer, vc);
        match self.policy {
            BufferPolicy::Private => self.occupancy[at] >= self.buffer,
            BufferPolicy::Shared => self.common_is_full(buffer, at),
            BufferPolicy::Dynamic => {
                let most = self.total() / self.held[buffer].max(1);
                self.common_is_full(buffer, at) || self.occupancy[at] >= most
            }
        }
    }

    /// Whether there is no place for a further flit. Less than [`Credits::is_full`], which also limits how
    /// much of a shared buffer a virtual channel may ask for.
    #[inline]
    pub(super) fn has_no_place(&self, buffer: usize, vc: u8) -> bool {
        let at = self.at(buffer, vc);
        match self.policy {
            BufferPolicy::Private => self.occupancy[at] >= self.buffer,
            BufferPolicy::Shared | BufferPolicy::Dynamic => self.common_is_full(buffer, at),
        }
    }

    /// With shared buffers each virtual channel has one place of its own.
    fn common_is_full(&self, buffer: usize, at: usize) -> bool {
        let common = self.total() - self.virtual_channels as u32;
        self.reserved[at] == 0 && self.occupancy[at] >= 1 && self.common[buffer] >= common
    }

    /// Whether a packet of `flits` has room as a whole; of private buffers.
    #[inline]
    pub(super) fn has_room(&self, buffer: usize, vc: u8, flits: u16) -> bool {
        self.occupancy[self.at(buffer, vc)] + u32::from(flits) <= self.buffer
    }

    /// Flits sent less credits returned, over all virtual channels, of buffers from `first` on.
    pub(super) fn used_from(&self, first: usize) -> &[u32] {
        &self.used[first..]
    }

    /// Flits sent less credits returned, of one virtual channel.
    pub(super) fn occupancy(&self, buffer: usize, vc: u8) -> u32 {
        self.occupancy[self.at(buffer, vc)]
    }

    /// Flits sent less credits returned, of everything.
    pub(super) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// `packet` takes a free virtual channel.
    pub(super) fn take(&mut self, buffer: usize, vc: u8, packet: u32) {
        let at = self.at(buffer, vc);
        debug_assert_eq!(self.holder[at], NONE, "virtual channel {vc} of buffer {buffer} is taken twice");
        self.holder[at] = packet;
        self.tail_sent[at] = false;
        self.held[buffer] += 1;
    }

    /// A flit is sent.
    pub(super) fn send(&mut self, buffer: usize, vc: u8, tail: bool) {
        debug_assert!(!self.has_no_place(buffer, vc), "a flit is sent without a credit");
        let at = self.at(buffer, vc);
        self.outstanding += 1;
        self.used[buffer] += 1;
        self.occupancy[at] += 1;
        if self.policy != BufferPolicy::Private {
            if self.reserved[at] > 0 {
                self.reserved[at] -= 1;
            } else if self.occupancy[at] > 1 {
                self.common[buffer] += 1;
            }
            while tail && self.reserved[at] > 0 {
                self.reserved[at] -= 1;
                self.release_place(buffer, at);
            }
        }
        if tail {
            self.tail_sent[at] = true;
            if !self.wait_for_tail_credit {
                self.let_go(buffer, at);
            }
        }
    }

    /// A credit has come back. False when there was none to come back.
    #[must_use]
    pub(super) fn credit(&mut self, buffer: usize, vc: u8) -> bool {
        let at = self.at(buffer, vc);
        debug_assert!(self.occupancy[at] > 0, "a credit too many for channel {vc} of buffer {buffer}");
        if self.occupancy[at] == 0 {
            return false;
        }
        self.outstanding -= 1;
        self.used[buffer] -= 1;
        self.occupancy[at] -= 1;
        let empty = self.occupancy[at] == 0;
        if self.wait_for_tail_credit && empty && self.tail_sent[at] && self.holder[at] != NONE {
            self.let_go(buffer, at);
        }
        if self.policy != BufferPolicy::Private {
            if empty && self.holder[at] != NONE {
                self.reserved[at] += 1;
            } else {
                self.release_place(buffer, at);
            }
        }
        true
    }

    /// A place of a shared buffer is free again: one of the common part, if there are any in use.
    fn release_place(&mut self, buffer: usize, at: usize) {
        if self.occupancy[at] + self.reserved[at] >= 1 {
            self.common[buffer] -= 1;
        }
    }

    fn let_go(&mut self, buffer: usize, at: usize) {
        self.holder[at] = NONE;
        self.held[buffer] -= 1;
    }

    /// What is wrong with the counters of a buffer, if anything.
    pub(super) fn violation(&self, buffer: usize) -> Option<String> {
        let channels = buffer * self.virtual_channels..(buffer + 1) * self.virtual_channels;
        let most = if self.policy == BufferPolicy::Private { self.buffer } else { self.total() };
        for (vc, at) in channels.clone().enumerate() {
            if self.occupancy[at] > most {
                return Some(format!(
                    "{} flits in {most} places of virtual channel {vc}",
                    self.occupancy[at]
                ));
            }
        }
        let sum: u32 = self.occupancy[channels.clone()].iter().sum();
        let reserved: u32 = self.reserved[channels].iter().sum();
        if sum != self.used[buffer] || sum + reserved > self.total() {
            return Some(format!(
                "{sum} flits in the virtual channels, {reserved} places kept, {} counted, {} places",
                self.used[buffer],
                self.total()
            ));
        }
        None
    }
}
