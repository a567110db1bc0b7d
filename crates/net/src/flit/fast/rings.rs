//! The buffers of input channels: all flits but the first of each, which stands with its channel.

use stratasim_core::memory::{prefer_huge_pages, prefetch};

use super::flit::{Flit, body, is_head};
use super::router::Vc;

/// A ring per input channel, with places by the power of two.
#[derive(Debug)]
pub(super) struct Rings {
    /// log2 of the places of a ring.
    bits: u32,
    /// Short forms, by channel and place.
    flits: Vec<u32>,
    /// When body flits had entered, modulo 2^16; empty while all packets have one flit.
    entered: Vec<u16>,
}

impl Rings {
    /// Empty rings of `channels` channels with `buffer` places each.
    pub(super) fn new(channels: usize, buffer: u8) -> Self {
        let bits = u32::from(buffer).next_power_of_two().trailing_zeros();
        let flits = vec![0; channels << bits];
        prefer_huge_pages(&flits);
        Self { bits, flits, entered: Vec::new() }
    }

    /// Body flits will come.
    pub(super) fn widen(&mut self) {
        if self.entered.is_empty() {
            self.entered = vec![0; self.flits.len()];
            prefer_huge_pages(&self.entered);
        }
    }

    /// Puts a flit behind those of channel `number`; heads stay in `queued`, by packet. Where there are none, it writes
    /// to places that nobody uses.
    #[inline(always)]
    pub(super) fn put(&mut self, number: usize, vc: &Vc, len: u8, flit: Flit, queued: &mut [Flit]) {
        // rings have a power of two of places, 256 at most: what is carried over does not matter
        let place = vc.head.wrapping_add(len).wrapping_sub(1) as usize & ((1 << self.bits) - 1);
        let place = (number << self.bits) + place;
        self.flits[place] = flit.short();
        if flit.is_head() {
            queued[flit.packet()] = flit;
        } else {
            self.entered[place] = flit.entered();
        }
    }

    /// Whether there are body flits.
    #[inline(always)]
    pub(super) fn is_wide(&self) -> bool {
        !self.entered.is_empty()
    }

    /// As [`Rings::take`] where there may be none: then anything.
    #[inline(always)]
    pub(super) fn take_any(&self, number: usize, vc: &mut Vc, is_there: bool, queued: &[Flit]) -> Flit {
        let place = (number << self.bits) + vc.head as usize;
        vc.head = vc.head.wrapping_add(is_there.into()) & ((1_u32 << self.bits) - 1) as u8;
        let next = self.flits[place];
        if is_head(next) { queued[body(next, 0).packet()] } else { body(next, self.entered[place]) }
    }

    /// Asks for the first flit behind the one in front of channel `number`, where there is one.
    #[inline(always)]
    pub(super) fn approach(&self, number: usize, vc: &Vc, queued: &[Flit]) {
        if vc.len > 1 {
            let place = (number << self.bits) + vc.head as usize;
            let next = self.flits[place];
            if !is_head(next) {
                self.entered.get(place).into_iter().for_each(prefetch);
            } else if let Some(flit) = queued.get(body(next, 0).packet()) {
                prefetch(flit);
            }
        }
    }

    /// Takes the first flit behind the one in front of channel `number`; there is one.
    #[inline(always)]
    pub(super) fn take(&self, number: usize, vc: &mut Vc, queued: &[Flit]) -> Flit {
        let place = (number << self.bits) + vc.head as usize;
        vc.head = vc.head.wrapping_add(1) & ((1_u32 << self.bits) - 1) as u8;
        let next = self.flits[place];
        if is_head(next) { queued[body(next, 0).packet()] } else { body(next, self.entered[place]) }
    }
}
