//! The state of a block of routers, column by column.
//!
//! Virtual channel `v` of port `p` of a router has number `p * VS + v`, with `P` and `VS` powers of two: sets of
//! them are words, "the first at or after the pointer" is a shift and a count of zeros. Numbers that no channel
//! has never occur in a set, so the order is that of the numbers without holes. In a block, channels have numbers
//! `router * N + channel` and ports `router * P + port`: whatever belongs to one is found by one index.

mod channels;
mod switch;

use super::flit::Flit;
use super::link::Link;
use super::list::Ports;
use super::mask::Mask;
use super::wheel::BLOCK;

/// An input virtual channel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Vc {
    /// Its first flit, when there is one.
    pub(super) front: Flit,
    /// While the packet in front waits: the virtual channels that it may use, as a set. Then the output channel
    /// that it has, by number in the block.
    pub(super) out: u16,
    /// The output port of the packet in front, by number in the block.
    pub(super) port: u16,
    /// Place of its second flit in its ring.
    pub(super) head: u8,
    /// Its flits.
    pub(super) len: u8,
    /// iSLIP of virtual channels: the output channel of its router after the last one accepted.
    accept: u8,
}

/// An output virtual channel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Out {
    /// Places at the other end.
    pub(super) credits: u8,
    /// The input channel of its router whose packet has it. iSLIP of virtual channels: of a free one the last winner.
    owner: u8,
}

/// The routers of a block, each with `P` ports of `VS` virtual channels, `N = P * VS`. Words of type `M` have a bit
/// for each channel of a router, those of type `W` one for each port.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Routers<const P: usize, const VS: usize, const N: usize, M, W> {
    /// Output channels.
    outs: [[Out; N]; BLOCK],
    /// Input channels with a flit, an output channel and a credit, by output port.
    ready: [[M; P]; BLOCK],
    /// Output ports for which some are.
    pub(super) asked: Ports<P>,
    /// The same of those that have just got their output channel, and compete from the next cycle on.
    soon: [[M; P]; BLOCK],
    soon_asked: Ports<P>,
    /// iSLIP of the switch, by output port: channels of the inputs behind the one that passed last.
    inputs_behind: [[M; P]; BLOCK],
    /// The same by input port: output ports behind the one to which a flit passed last,
    outputs_behind: [[W; P]; BLOCK],
    /// and virtual channels behind the one from which.
    vcs_behind: [[u16; P]; BLOCK],
    /// Input channels whose packet waits for an output channel, by output port.
    waiters: [[M; P]; BLOCK],
    /// Output ports whose channels are to be given to packets that wait.
    pub(super) asking: Ports<P>,
    /// Virtual channels of output ports that no packet has.
    free: [[u16; P]; BLOCK],
    /// Flits sent, by output port.
    sent: [[u64; P]; BLOCK],
    /// Where the outputs lead.
    outputs: [[Link; P]; BLOCK],
    /// What feeds the inputs.
    inputs: [[Link; P]; BLOCK],
    /// Input channels.
    vcs: [[Vc; N]; BLOCK],
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Routers<P, VS, N, M, W> {
    /// Bytes of everything but input channels, of which most are idle.
    pub(super) const DENSE_BYTES: usize = std::mem::offset_of!(Self, vcs);
    /// Channels and ports of a block.
    const CHANNELS: usize = BLOCK * N;
    const PORTS: usize = BLOCK * P;

    /// Empty routers whose outputs have `vcs` channels of `buffer` places each, joined to nothing.
    pub(super) fn new(vcs: u8, buffer: u8) -> Self {
        const { assert!(P * VS == N && P.is_power_of_two() && VS.is_power_of_two() && N <= 128 && VS <= 16) };
        const { assert!(BLOCK * N <= 1 << 16, "a number is a word of two bytes") };
        Self {
            vcs: [[Vc::default(); N]; BLOCK],
            // behind the last one comes the first
            outs: [[Out { credits: buffer, owner: N as u8 - 1 }; N]; BLOCK],
            ready: [[M::default(); P]; BLOCK],
            asked: Ports::default(),
            soon: [[M::default(); P]; BLOCK],
            soon_asked: Ports::default(),
            inputs_behind: [[M::default(); P]; BLOCK],
            outputs_behind: [[W::default(); P]; BLOCK],
            vcs_behind: [[0; P]; BLOCK],
            waiters: [[M::default(); P]; BLOCK],
            asking: Ports::default(),
            free: [[((1_u32 << vcs) - 1) as u16; P]; BLOCK],
            sent: [[0; P]; BLOCK],
            outputs: [[Link::NOTHING; P]; BLOCK],
            inputs: [[Link::NOTHING; P]; BLOCK],
        }
    }

    /// Says where an output of a router leads.
    pub(super) fn join(&mut self, router: usize, output: usize, link: Link) {
        self.outputs[router][output] = link;
    }

    /// Says what feeds an input of a router.
    pub(super) fn feed(&mut self, router: usize, input: usize, link: Link) {
        self.inputs[router][input] = link;
    }

    /// Input channel `number`.
    #[inline(always)]
    pub(super) fn vc(&self, number: usize) -> &Vc {
        &self.vcs.as_flattened()[number % Self::CHANNELS]
    }

    /// The same, to change it.
    #[inline(always)]
    pub(super) fn vc_mut(&mut self, number: usize) -> &mut Vc {
        &mut self.vcs.as_flattened_mut()[number % Self::CHANNELS]
    }

    /// Output channel `number`.
    #[inline(always)]
    fn out(&self, number: usize) -> &Out {
        &self.outs.as_flattened()[number % Self::CHANNELS]
    }

    #[inline(always)]
    fn out_mut(&mut self, number: usize) -> &mut Out {
        &mut self.outs.as_flattened_mut()[number % Self::CHANNELS]
    }

    /// The output channels of a router.
    #[inline(always)]
    pub(super) fn outs_of(&self, router: usize) -> &[Out; N] {
        &self.outs[router % BLOCK]
    }

    /// The input channels of a router.
    pub(super) fn vcs_of(&self, router: usize) -> &[Vc; N] {
        &self.vcs[router % BLOCK]
    }

    /// Flits sent, by output of a router.
    pub(super) fn sent_by(&self, router: usize) -> &[u64; P] {
        &self.sent[router % BLOCK]
    }

    /// Where an output port leads.
    #[inline(always)]
    pub(super) fn output(&self, port: usize) -> Link {
        self.outputs.as_flattened()[port % Self::PORTS]
    }

    /// What feeds the port of input channel `number`.
    #[inline(always)]
    pub(super) fn feeder(&self, number: usize) -> Link {
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

    #[inline(always)]
    fn ready_mut(&mut self, port: usize) -> &mut M {
        &mut self.ready.as_flattened_mut()[port % Self::PORTS]
    }

    /// Whether nobody asks for a channel or for a way through a switch.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.asking.is_empty()
    }

    /// A credit comes back to output channel `number`: the input channel that has it is ready when it has a flit that
    /// waited for this credit.
    #[inline(always)]
    pub(super) fn credit(&mut self, number: usize) {
        let out = self.out_mut(number);
        out.credits += 1;
        if out.credits == 1 {
            let owner = usize::from(out.owner) % N;
            let port = number / VS % Self::PORTS;
            let is_free = self.free.as_flattened()[port] >> (number % VS) & 1 != 0;
            let waits = !is_free && self.vc(number / N * N + owner).len != 0;
            *self.ready_mut(port) |= M::bit_if(owner, waits);
            self.asked.insert_if(port, waits);
        }
    }

    /// Where it is `wanted`, an input channel with a flit and an output channel competes for the switch, if it has a credit.
    #[inline(always)]
    pub(super) fn compete_if(&mut self, number: usize, wanted: bool) {
        let out = self.vc(number).out as usize;
        let (port, ready) = (out / VS % Self::PORTS, self.out(out).credits != 0 && wanted);
        *self.ready_mut(port) |= M::bit_if(number % N, ready);
        self.asked.insert_if(port, ready);
    }

    /// The packet in front of an input channel wants to leave by `port`, on a channel of `want`.
    #[inline(always)]
    pub(super) fn wait(&mut self, number: usize, front: Flit, port: usize, want: u16) {
        let vc = self.vc_mut(number);
        vc.front = front;
        vc.port = port as u16;
        vc.out = want;
        *self.waiters_mut(port) |= M::bit(number % N);
        self.asking.insert_if(port, true);
    }

    /// A packet has left its output channel: others that wait for one of the port may have it.
    #[inline(always)]
    pub(super) fn free(&mut self, port: usize, out: usize) {
        self.free.as_flattened_mut()[port % Self::PORTS] |= 1 << (out % VS);
        let waited = !self.waiters(port).is_empty();
        self.asking.insert_if(port, waited);
    }

    /// Whether an output channel has more credits than places, or an input channel more flits.
    pub(super) fn overflows(&self, router: usize, places: u8) -> (bool, bool) {
        let credits = self.outs_of(router).iter().any(|out| out.credits > places);
        (credits, self.vcs_of(router).iter().any(|vc| vc.len > places))
    }
}
