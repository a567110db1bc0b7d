//! What one end of a channel knows of the buffer at the other: who holds its virtual channels, and how many
//! flits are in it or on their way.

use super::feedback::Feedback;
use super::shared::Shared;
use crate::flit::allocator::NONE;
use crate::flit::router::{BufferPolicy, RouterSpec};
use crate::flit::routing::FlitRouting;

/// Credit counters of many buffers (of router outputs, or of terminals), as columns by buffer, or by buffer
/// and virtual channel.
#[derive(Debug)]
pub(super) struct Credits {
    virtual_channels: usize,
    /// Flits of one virtual channel with private buffers.
    buffer: u32,
    limit: Limit,
    /// Where buffers are shared.
    shared: Option<Shared>,
    admission: Admission,
    /// A virtual channel is free only when the credit of the last flit is back.
    wait_for_tail_credit: bool,
    /// The present cycle.
    pub(super) now: u64,
    /// By virtual channel: the packet that holds it, or [`NONE`].
    holder: Vec<u32>,
    /// By virtual channel: flits sent less credits returned.
    occupancy: Vec<u32>,
    /// By virtual channel: whether the tail of its holder has been sent.
    tail_sent: Vec<bool>,
    /// By buffer: sum of occupancies.
    used: Vec<u32>,
    /// By buffer: virtual channels that are held by a packet whose tail has not been sent.
    active: Vec<u32>,
    /// Sum of all occupancies.
    outstanding: u64,
}

/// What limits the flits of a virtual channel besides the room in its buffer.
#[derive(Debug)]
enum Limit {
    /// Nothing.
    None,
    /// The same for all.
    Most(u32),
    /// An equal part of the buffer for each that is active.
    Active,
    /// The same, with their number rounded up to a power of two.
    ActivePowerOfTwo,
    /// How long credits take.
    Feedback(Box<Feedback>),
}

/// Which free virtual channels a head may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// Any.
    Any,
    /// Those where the whole packet has room: virtual cut-through.
    Whole,
    /// The same, or an empty one. A head then stands behind other packets only where all of its own packet follows: in
    /// each virtual channel somebody's head is in front, from where it can reach an escape.
    WholeOrEmpty,
}

impl Admission {
    /// Between routers.
    pub(super) fn at_output(spec: &RouterSpec, routing: &dyn FlitRouting) -> Self {
        match Self::at_source(spec) {
            Self::Any if routing.has_escape() => Self::WholeOrEmpty,
            other => other,
        }
    }

    /// From terminals, for which nobody waits.
    pub(super) fn at_source(spec: &RouterSpec) -> Self {
        if spec.virtual_cut_through { Self::Whole } else { Self::Any }
    }
}

impl Credits {
    /// `least` is, by buffer, the cycles that a credit takes at least.
    pub(super) fn new(spec: &RouterSpec, admission: Admission, least: Vec<i64>) -> Self {
        let virtual_channels = spec.virtual_channels as usize;
        let buffers = least.len();
        let channels = buffers * virtual_channels;
        let shared = (spec.buffers != BufferPolicy::Private).then(|| Shared::new(spec, buffers));
        let places = shared.as_ref().map_or(0, Shared::places);
        Self {
            virtual_channels,
            buffer: spec.buffer_flits.into(),
            limit: match spec.buffers {
                BufferPolicy::Private | BufferPolicy::Shared => Limit::None,
                BufferPolicy::Limited => Limit::Most(spec.shared_buffer.most_held.unwrap_or(places)),
                BufferPolicy::Dynamic => Limit::Active,
                BufferPolicy::Shifting => Limit::ActivePowerOfTwo,
                BufferPolicy::Feedback | BufferPolicy::SimpleFeedback => {
                    Limit::Feedback(Box::new(Feedback::new(spec, places, least)))
                }
            },
            shared,
            admission,
            wait_for_tail_credit: spec.wait_for_tail_credit,
            now: 0,
            holder: vec![NONE; channels],
            occupancy: vec![0; channels],
            tail_sent: vec![false; channels],
            used: vec![0; buffers],
            active: vec![0; buffers],
            outstanding: 0,
        }
    }

    #[inline]
    fn at(&self, buffer: usize, vc: u8) -> usize {
        buffer * self.virtual_channels + vc as usize
    }

    /// Whether no packet holds the virtual channel.
    #[inline]
    pub(super) fn is_free(&self, buffer: usize, vc: u8) -> bool {
        self.holder[self.at(buffer, vc)] == NONE
    }

    /// Whether no further flit may be sent.
    #[inline]
    pub(super) fn is_full(&self, buffer: usize, vc: u8) -> bool {
        self.has_no_place(buffer, vc) || self.shared.is_some() && self.is_at_limit(buffer, vc)
    }

    /// Whether there is no place for a further flit. Less than [`Credits::is_full`], which also limits how
    /// much of a shared buffer a virtual channel may ask for.
    #[inline]
    pub(super) fn has_no_place(&self, buffer: usize, vc: u8) -> bool {
        match &self.shared {
            None => self.occupancy[self.at(buffer, vc)] >= self.buffer,
            Some(shared) => shared.is_full(buffer, vc),
        }
    }

    /// Whether a virtual channel has as much of a shared buffer as it may have: one place at least.
    fn is_at_limit(&self, buffer: usize, vc: u8) -> bool {
        let at = self.at(buffer, vc);
        let places = self.shared.as_ref().map_or(0, Shared::places);
        let active = self.active[buffer].max(1);
        let most = match &self.limit {
            Limit::None => return false,
            Limit::Most(most) => *most,
            Limit::Active => places / active,
            Limit::ActivePowerOfTwo => places / active.next_power_of_two(),
            Limit::Feedback(feedback) => feedback.most(at, self.now),
        };
        self.occupancy[at] >= most.max(1)
    }

    /// Whether a packet of `flits` has room as a whole; of private buffers.
    #[inline]
    fn has_room(&self, buffer: usize, vc: u8, flits: u16) -> bool {
        self.occupancy[self.at(buffer, vc)] + u32::from(flits) <= self.buffer
    }

    /// Whether the head of a packet of `flits` may take a virtual channel that is free.
    #[inline]
    pub(super) fn admits(&self, buffer: usize, vc: u8, flits: u16) -> bool {
        match self.admission {
            Admission::Any => true,
            Admission::Whole => self.has_room(buffer, vc, flits),
            Admission::WholeOrEmpty => {
                let fits = self.shared.is_none() && self.has_room(buffer, vc, flits);
                fits || self.occupancy[self.at(buffer, vc)] == 0
            }
        }
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
        self.active[buffer] += 1;
    }

    /// A flit is sent.
    pub(super) fn send(&mut self, buffer: usize, vc: u8, tail: bool) {
        debug_assert!(!self.has_no_place(buffer, vc), "a flit is sent without a credit");
        let at = self.at(buffer, vc);
        self.outstanding += 1;
        self.used[buffer] += 1;
        self.occupancy[at] += 1;
        if let Some(shared) = &mut self.shared {
            shared.send(buffer, vc, tail);
            if let Limit::Feedback(feedback) = &mut self.limit {
                feedback.send(at, self.occupancy[at], self.now);
            }
        }
        if tail {
            self.tail_sent[at] = true;
            self.active[buffer] -= 1;
            if !self.wait_for_tail_credit {
                self.holder[at] = NONE;
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
        if self.wait_for_tail_credit && empty && self.tail_sent[at] {
            self.holder[at] = NONE;
        }
        if let Some(shared) = &mut self.shared {
            shared.give_back(buffer, vc, empty && self.holder[at] != NONE);
            if let Limit::Feedback(feedback) = &mut self.limit {
                feedback.credit(at, self.now);
            }
        }
        true
    }

    /// What is wrong with the counters of a buffer, if anything.
    pub(super) fn violation(&self, buffer: usize) -> Option<String> {
        let channels = buffer * self.virtual_channels..(buffer + 1) * self.virtual_channels;
        let occupancy = &self.occupancy[channels];
        let sum: u32 = occupancy.iter().sum();
        if sum != self.used[buffer] {
            return Some(format!("{sum} flits in the virtual channels, {} counted", self.used[buffer]));
        }
        match &self.shared {
            Some(shared) => shared.violation(buffer, occupancy),
            None => {
                let over = occupancy.iter().position(|&flits| flits > self.buffer)?;
                let (flits, most) = (occupancy[over], self.buffer);
                Some(format!("{flits} flits in {most} places of virtual channel {over}"))
            }
        }
    }
}
