//! The state of a block of routers, column by column.
//!
//! Virtual channel `v` of port `p` of a router has number `p * VS + v`, with `P` and `VS` powers of two: sets of
//! them are words, "the first at or after the pointer" is a shift and a count of zeros. Numbers that no channel
//! has never occur in a set, so the order is that of the numbers without holes. In a block, channels have numbers
//! `router * N + channel` and ports `router * P + port`: whatever belongs to one is found by one index.

mod channels;
mod switch;

use std::hint::select_unpredictable as select;

use super::link::Short;
use super::list::Ports;
use super::mask::{Count, Mask};
use super::pool::{Ends, Way};
use super::ready::Ready;
use super::wheel::BLOCK;

/// An output virtual channel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Out<C> {
    /// Places at the other end.
    pub(super) credits: C,
    /// The input channel of its router whose packet has it. iSLIP of virtual channels: of a free one the last winner.
    pub(super) owner: u8,
}

impl<C: Count> Out<C> {
    /// Whether it has a credit.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.credits != C::of(0)
    }
}

/// The routers of a block, each with `P` ports of `VS` virtual channels, `N = P * VS`. Words of type `M` have a bit
/// for each channel of a router, those of type `W` one for each port.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Routers<const P: usize, const VS: usize, const N: usize, M: Mask> {
    /// Output channels.
    outs: [[Out<M::Count>; N]; BLOCK],
    /// Input channels with a flit, an output channel and a credit, by output port.
    ready: [[M::Ready; P]; BLOCK],
    /// Output ports for which some are.
    pub(super) asked: Ports<P>,
    /// iSLIP of the switch, by output port: the last channel of the input that passed last.
    input_last: [[u8; P]; BLOCK],
    /// The same by input port: the output port to which a flit passed last,
    output_last: [[u8; P]; BLOCK],
    /// and the virtual channel from which; lower bits count.
    vc_last: [[u8; P]; BLOCK],
    /// Input channels whose packet waits for an output channel, by output port.
    waiters: [[M; P]; BLOCK],
    /// Output ports whose channels are to be given to packets that wait.
    pub(super) asking: Ports<P>,
    /// Virtual channels of output ports that no packet has.
    free: [[u16; P]; BLOCK],
    /// Flits sent, by output port, modulo 2^16.
    sent: [[u16; P]; BLOCK],
    /// Where the outputs lead.
    outputs: [[Short; P]; BLOCK],
    /// What feeds the inputs.
    inputs: [[Short; P]; BLOCK],
    /// Of input channels: how many flits they have,
    len: [[M::Count; N]; BLOCK],
    /// and, while the packet in front waits, the virtual channels that it may use, as a set; then the output channel that it
    /// has, by number in the block.
    out: [[u16; N]; BLOCK],
    /// iSLIP of virtual channels, by input channel: the output channel of its router after the last one accepted.
    accept: [[u8; N]; BLOCK],
    /// Of input channels with flits: where they are in the pool.
    ends: [[Ends<M::Index>; N]; BLOCK],
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Routers<P, VS, N, M> {
    /// Bytes of everything but flits of input channels, most of which have none.
    pub(super) const DENSE_BYTES: usize = std::mem::offset_of!(Self, ends);
    /// Channels and ports of a block.
    const CHANNELS: usize = BLOCK * N;
    const PORTS: usize = BLOCK * P;

    /// Empty routers whose outputs have `vcs` channels of `buffer` places each, joined to nothing.
    pub(super) fn new(vcs: u8, buffer: u16) -> Self {
        const { assert!(P * VS == N && P.is_power_of_two() && VS.is_power_of_two() && N <= 256 && VS <= 16) };
        const { assert!(BLOCK * N <= 1 << 16, "a number is a word of two bytes") };
        Self {
            // behind the last one comes the first
            outs: [[Out { credits: Count::of(buffer), owner: (N - 1) as u8 }; N]; BLOCK],
            ready: [[M::Ready::default(); P]; BLOCK],
            asked: Ports::default(),
            input_last: [[(N - 1) as u8; P]; BLOCK],
            output_last: [[P as u8 - 1; P]; BLOCK],
            vc_last: [[VS as u8 - 1; P]; BLOCK],
            waiters: [[M::default(); P]; BLOCK],
            asking: Ports::default(),
            free: [[((1_u32 << vcs) - 1) as u16; P]; BLOCK],
            sent: [[0; P]; BLOCK],
            outputs: [[Short::NOTHING; P]; BLOCK],
            inputs: [[Short::NOTHING; P]; BLOCK],
            len: [[Count::of(0); N]; BLOCK],
            out: [[0; N]; BLOCK],
            accept: [[0; N]; BLOCK],
            ends: [[Ends::default(); N]; BLOCK],
        }
    }

    /// Says where an output of a router leads.
    pub(super) fn join(&mut self, router: usize, output: usize, link: Short) {
        self.outputs[router][output] = link;
    }

    /// Says what feeds an input of a router.
    pub(super) fn feed(&mut self, router: usize, input: usize, link: Short) {
        self.inputs[router][input] = link;
    }

    /// Another flit comes to input channel `number`. How many were there.
    #[inline(always)]
    pub(super) fn enter(&mut self, number: usize) -> u32 {
        let len = &mut self.len.as_flattened_mut()[number % Self::CHANNELS];
        let before = *len;
        len.up();
        before.into()
    }

    /// A flit leaves it. How many are left.
    #[inline(always)]
    pub(super) fn leave(&mut self, number: usize) -> u32 {
        let len = &mut self.len.as_flattened_mut()[number % Self::CHANNELS];
        len.down();
        (*len).into()
    }

    /// Where its flits are, when there are some.
    #[inline(always)]
    pub(super) fn ends(&self, number: usize) -> &Ends<M::Index> {
        &self.ends.as_flattened()[number % Self::CHANNELS]
    }

    /// The same, to change it.
    #[inline(always)]
    pub(super) fn ends_mut(&mut self, number: usize) -> &mut Ends<M::Index> {
        &mut self.ends.as_flattened_mut()[number % Self::CHANNELS]
    }

    /// The virtual channels that its packet may use, as a set, or the output channel that it has.
    #[inline(always)]
    pub(super) fn out(&self, number: usize) -> usize {
        self.out.as_flattened()[number % Self::CHANNELS].into()
    }

    /// Output channel `number`.
    #[inline(always)]
    fn channel(&self, number: usize) -> &Out<M::Count> {
        &self.outs.as_flattened()[number % Self::CHANNELS]
    }

    #[inline(always)]
    fn channel_mut(&mut self, number: usize) -> &mut Out<M::Count> {
        &mut self.outs.as_flattened_mut()[number % Self::CHANNELS]
    }

    /// The output channels of a router.
    #[inline(always)]
    pub(super) fn outs_of(&self, router: usize) -> &[Out<M::Count>; N] {
        &self.outs[router % BLOCK]
    }

    /// The flits of the input channels of a router.
    pub(super) fn lens_of(&self, router: usize) -> &[M::Count; N] {
        &self.len[router % BLOCK]
    }

    /// Flits sent, by output of a router, modulo 2^16.
    pub(super) fn sent_by(&self, router: usize) -> &[u16; P] {
        &self.sent[router % BLOCK]
    }

    /// The same, to change it.
    pub(super) fn sent_by_mut(&mut self, router: usize) -> &mut [u16; P] {
        &mut self.sent[router % BLOCK]
    }

    /// Where an output port leads.
    #[inline(always)]
    pub(super) fn output(&self, port: usize) -> Short {
        self.outputs.as_flattened()[port % Self::PORTS]
    }

    /// What feeds the port of input channel `number`.
    #[inline(always)]
    pub(super) fn feeder(&self, number: usize) -> Short {
        self.inputs.as_flattened()[number / VS % Self::PORTS]
    }

    /// Input channels of its router that wait for a channel of a port.
    #[inline(always)]
    pub(super) fn waiters(&self, port: usize) -> M {
        self.waiters.as_flattened()[port % Self::PORTS]
    }

    #[inline(always)]
    fn waiters_mut(&mut self, port: usize) -> &mut M {
        &mut self.waiters.as_flattened_mut()[port % Self::PORTS]
    }

    /// Input channel `input` of the router competes for the switch by output channel `number`, which it has, where it `may`.
    #[inline(always)]
    pub(super) fn compete_if(&mut self, input: usize, number: usize, may: bool) {
        let port = number / VS % Self::PORTS;
        self.ready.as_flattened_mut()[port].insert_if(input % N, number % VS, may);
        self.asked.insert_if(port, may);
    }

    /// Whether nobody asks for a channel or for a way through a switch.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.asking.is_empty()
    }

    /// A credit comes back to output channel `number`. Whether it is the only one, which somebody may have waited for.
    #[inline(always)]
    pub(super) fn credit(&mut self, number: usize) -> bool {
        let out = self.channel_mut(number);
        let was_open = out.is_open();
        out.credits.up();
        !was_open
    }

    /// Output channel `number` has a credit again: the input channel that has it is ready when it has a flit.
    #[inline(always)]
    pub(super) fn wake(&mut self, number: usize) {
        let owner = usize::from(self.channel(number).owner) % N;
        let port = number / VS % Self::PORTS;
        let is_free = self.free.as_flattened()[port] >> (number % VS) & 1 != 0;
        let waits =
            !is_free & (self.len.as_flattened()[(number / N * N + owner) % Self::CHANNELS] != Count::of(0));
        self.compete_if(owner, number, waits);
    }

    /// An input channel with a flit and an output channel competes for the switch, if it has a credit.
    #[inline(always)]
    pub(super) fn compete(&mut self, number: usize) {
        let out = self.out(number);
        self.compete_if(number, out, self.channel(out).is_open());
    }

    /// The packet in front of an input channel goes a way from now on, where `is_there` says that there is one.
    #[inline(always)]
    pub(super) fn wait(&mut self, number: usize, way: Way, is_there: bool) {
        let port = number / N % BLOCK * P + way.output() % P;
        let out = &mut self.out.as_flattened_mut()[number % Self::CHANNELS];
        *out = select(is_there, way.want(), *out);
        self.waiters_mut(port).insert_if(number % N, is_there);
        self.asking.insert_if(port, is_there);
    }

    /// The packet in front of input channel `number` does not wait at a port of its router any more.
    pub(super) fn ask_no_more(&mut self, number: usize, port: usize) {
        self.waiters_mut(number / N % BLOCK * P + port % P).remove(number % N);
    }

    /// A packet has left its output channel: others that wait for one of the port may have it.
    #[inline(always)]
    pub(super) fn free(&mut self, port: usize, out: usize) {
        self.free.as_flattened_mut()[port % Self::PORTS] |= 1 << (out % VS);
        let waited = !self.waiters(port).is_empty();
        self.asking.insert_if(port, waited);
    }

    /// Whether an output channel has fewer credits than places.
    pub(super) fn lacks(&self, router: usize, places: u16) -> bool {
        self.outs_of(router).iter().any(|out| out.credits.into() < u32::from(places))
    }

    /// Whether an output channel has more credits than places, or an input channel more flits.
    pub(super) fn overflows(&self, router: usize, places: u16) -> (bool, bool) {
        let is_more = |count: M::Count| count.into() > u32::from(places);
        let credits = self.outs_of(router).iter().any(|out| is_more(out.credits));
        (credits, self.lens_of(router).iter().any(|&len| is_more(len)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::mask::Shallow;
    use super::super::pool::Place;
    use super::*;

    /// Of 7 ports with 4 virtual channels of 8 flits each; a flit that waits takes 16 bytes beside.
    #[test]
    fn a_router_takes_less_than_two_kilobytes() {
        let router = size_of::<Routers<8, 4, 32, Shallow<u32>>>() / BLOCK;
        assert_eq!(size_of::<Place>(), 16);
        // with a third of its buffers full, which is more than a saturated mesh has
        assert!(router + 7 * 4 * 8 / 3 * size_of::<Place>() <= 2048, "{router}");
        assert!(router <= 560, "{router}");
    }
}
