//! The state of a block of routers, column by column.
//!
//! Virtual channel `v` of port `p` of a router has number `p * VS + v`, with `P` and `VS` powers of two: sets of
//! them are words, "the first at or after the pointer" is a shift and a count of zeros. Numbers that no channel
//! has never occur in a set, so the order is that of the numbers without holes. In a block, channels have numbers
//! `router * N + channel` and ports `router * P + port`: whatever belongs to one is found by one index.

mod allocators;

use super::contest::Behind;
use super::flit::Flit;
use super::link::Link;
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
    /// The input channel whose packet has it, by number in the block. iSLIP of virtual channels: of a free one the
    /// last winner.
    pub(super) owner: u16,
}

/// The routers of a block, each with `P` ports of `VS` virtual channels, `N = P * VS`.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Routers<const P: usize, const VS: usize, const N: usize, M, W> {
    /// Input channels.
    vcs: [[Vc; N]; BLOCK],
    /// Output channels.
    outs: [[Out; N]; BLOCK],
    /// Input channels whose packet waits for an output channel, by port.
    waiters: [[M; P]; BLOCK],
    /// Output channels that no packet has.
    free: [M; BLOCK],
    /// iSLIP of the switch.
    behind: Behind<P, W>,
    /// Flits sent, by output port.
    sent: [[u64; P]; BLOCK],
    /// Where the outputs lead.
    outputs: [[Link; P]; BLOCK],
    /// What feeds the inputs.
    inputs: [[Link; P]; BLOCK],
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Routers<P, VS, N, M, W> {
    /// Channels and ports of a block.
    const CHANNELS: usize = BLOCK * N;
    const PORTS: usize = BLOCK * P;

    /// Empty routers whose outputs have `vcs` channels of `buffer` places each, joined to nothing.
    pub(super) fn new(vcs: u8, buffer: u8) -> Self {
        const { assert!(P * VS == N && P.is_power_of_two() && VS.is_power_of_two() && N <= 128 && VS <= 16) };
        const { assert!(BLOCK * N <= 1 << 16, "a number is a word of two bytes") };
        let mut free = M::default();
        for port in 0..P {
            free |= M::run(port * VS, vcs as usize);
        }
        Self {
            vcs: [[Vc::default(); N]; BLOCK],
            // behind the last one comes the first
            outs: [[Out { credits: buffer, owner: N as u16 - 1 }; N]; BLOCK],
            waiters: [[M::default(); P]; BLOCK],
            free: [free; BLOCK],
            behind: Behind::new(),
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

    /// Who comes next at the switches.
    #[inline(always)]
    pub(super) fn behind(&self) -> &Behind<P, W> {
        &self.behind
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

    /// A credit comes back to output channel `number`. Returns the input channel that has it and a flit, when
    /// it waited for this credit.
    #[inline(always)]
    pub(super) fn credit(&mut self, number: usize) -> Option<usize> {
        let out = self.out_mut(number);
        out.credits += 1;
        if out.credits > 1 {
            return None;
        }
        let owner = out.owner as usize;
        let waits = !self.free[number / N % BLOCK].has(number % N) && self.vc(owner).len != 0;
        waits.then_some(owner)
    }

    /// Whether an input channel, which has a flit and an output channel, has a credit: then it is ready.
    #[inline(always)]
    pub(super) fn is_ready(&self, number: usize) -> bool {
        self.out(self.vc(number).out as usize).credits != 0
    }

    /// The packet in front of an input channel wants to leave by `port`, on a channel of `want`.
    #[inline(always)]
    pub(super) fn wait(&mut self, number: usize, front: Flit, port: usize, want: u16) {
        let vc = self.vc_mut(number);
        vc.front = front;
        vc.port = port as u16;
        vc.out = want;
        *self.waiters_mut(port) |= M::bit(number % N);
    }

    /// A flit of a channel passes the switch: pointers of the switch move on, a credit is used. Returns whether
    /// one is left.
    #[inline(always)]
    pub(super) fn pass(&mut self, number: usize, port: usize, out: usize) -> bool {
        self.behind.pass(number / VS, number % VS, port);
        self.sent.as_flattened_mut()[port % Self::PORTS] += 1;
        let out = self.out_mut(out);
        out.credits -= 1;
        out.credits != 0
    }

    /// A packet has left its output channel. Returns whether others wait for one of the port.
    #[inline(always)]
    pub(super) fn free(&mut self, port: usize, out: usize) -> bool {
        self.free[out / N % BLOCK] |= M::bit(out % N);
        !self.waiters(port).is_empty()
    }

    /// Whether an output channel has more credits than places, or an input channel more flits.
    pub(super) fn overflows(&self, router: usize, places: u8) -> (bool, bool) {
        let credits = self.outs_of(router).iter().any(|out| out.credits > places);
        (credits, self.vcs_of(router).iter().any(|vc| vc.len > places))
    }
}
