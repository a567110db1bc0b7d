//! Routing as the stages use it.

use super::flit::Flit;
use super::list::Ports;
use super::mask::Mask;
use super::packets::{Cold, Packets};
use super::router::{Out, Routers};
use super::wheel::BLOCK;
use crate::flit::keys::Keys;
use crate::flit::routing::packed::Packed;
use crate::flit::routing::{FlitRouting, Head, Place, Surroundings};
use crate::flit::terminals::Terminals;

/// What a routing function may ask.
pub(super) struct Around<'a, T, const VS: usize> {
    pub(super) credits: &'a [Out],
    pub(super) places: u32,
    pub(super) vcs: usize,
    /// The packet and the seed of the run, for draws,
    pub(super) seed: u64,
    pub(super) cold: &'a Cold,
    /// and the names of those.
    pub(super) keys: Keys,
    pub(super) terminals: &'a mut T,
}

impl<T: Terminals, const VS: usize> Surroundings for Around<'_, T, VS> {
    #[inline]
    fn draw(&mut self, bound: u32) -> u32 {
        let key = self.keys.next(self.cold.salt(self.seed));
        self.terminals.draw(key, bound)
    }

    fn used(&self, output: u16) -> u32 {
        let credits = &self.credits[output as usize * VS..][..self.vcs];
        self.places - credits.iter().map(|out| u32::from(out.credits)).sum::<u32>()
    }
}

/// Shows heads their way.
pub(super) struct Guide<'a, T, R: ?Sized> {
    pub(super) routing: &'a R,
    pub(super) packed: Option<&'a Packed>,
    pub(super) ranges: &'a [(u8, u8)],
    pub(super) halves: &'a [[u16; 4]],
    pub(super) packets: &'a mut Packets,
    /// First router of the block, in the numbers of the fabric.
    pub(super) first: u32,
    pub(super) places: u32,
    pub(super) vcs: usize,
    pub(super) knows_source: bool,
    pub(super) seed: u64,
    pub(super) terminals: &'a mut T,
}

impl<T: Terminals, R: FlitRouting + ?Sized> Guide<'_, T, R> {
    /// A head is in front of input channel `number`.
    #[inline(always)]
    pub(super) fn route<const P: usize, const VS: usize, const N: usize, M: Mask>(
        &mut self,
        routers: &mut Routers<P, VS, N, M>,
        number: usize,
        flit: Flit,
        asking: &mut Ports<P>,
    ) {
        debug_assert!(flit.is_head(), "only heads are routed");
        let (index, channel) = (number / N % BLOCK, number % N);
        let place = self.first + index as u32;
        let id = flit.packet();
        let range = |packets: &Packets| match self.ranges {
            [_] => 0,
            _ => packets.cold[id].range(),
        };
        let (output, want, front);
        if let Some(packed) = self.packed {
            let draw = |bound| {
                let key = Keys::at(Some(place)).next(self.packets.cold[id].salt(self.seed));
                self.terminals.draw(key, bound)
            };
            let step = packed.step(place, flit.dest(), flit.memory(), draw);
            output = usize::from(step.output) % P;
            want = match self.halves {
                [only] => only[step.half as usize % 4],
                several => several[range(self.packets)][step.half as usize % 4],
            };
            front = flit.short_hop(step.memory);
        } else {
            let remembered = self.packets.memory.get(id).copied();
            let cold = &self.packets.cold[id];
            let mut packet = Head {
                source: if self.knows_source { cold.source } else { 0 },
                dest: flit.dest(),
                range: self.ranges[range(self.packets)],
                memory: remembered.unwrap_or(flit.memory()),
            };
            let mut around = Around::<T, VS> {
                credits: routers.outs_of(index),
                places: self.places,
                vcs: self.vcs,
                seed: self.seed,
                cold,
                keys: Keys::at(Some(place)),
                terminals: self.terminals,
            };
            let place = Place { router: place, input: (channel / VS) as u16, vc: (channel % VS) as u8 };
            let candidate = self.routing.only(place, &mut packet, &mut around);
            if remembered.is_some() {
                self.packets.memory[id] = packet.memory;
            }
            output = candidate.output as usize % P;
            want = channels(candidate.first_vc, candidate.last_vc);
            front = flit.hop(packet.memory);
        }
        let port = index * P + output;
        routers.wait(number, front, port, want);
        asking.insert_if(port, true);
    }
}

/// A word of the virtual channels from `first` to `last`.
#[inline(always)]
pub(super) fn channels(first: u8, last: u8) -> u16 {
    (u16::MAX << (first & 15)) & (u16::MAX >> (15 - (last & 15)))
}
