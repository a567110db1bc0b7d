//! The two allocators of a block of routers: one iteration of iSLIP each, on sets that are words.

use super::{BLOCK, Mask, Routers};

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Routers<P, VS, N, M> {
    /// Channels of a port that no packet has.
    #[inline(always)]
    fn free_of(&self, port: usize) -> u32 {
        self.free[port / P % BLOCK].part(port % P * VS, VS)
    }

    /// Gives a channel of a port to the only packet that waits for it, that of input channel `number`: every
    /// channel that it wants is granted to it. Returns whether there was one.
    #[inline(always)]
    pub(in crate::flit::fast) fn give_channel(&mut self, port: usize, number: usize) -> bool {
        let offered = self.free_of(port) & u32::from(self.vc(number).out);
        if offered == 0 {
            return false;
        }
        self.give(number, port, offered);
        true
    }

    /// Gives channels of a port to the packets that wait for it, one iteration of iSLIP; returns the input
    /// channels that got one, and whether more can be given before a channel comes back.
    #[inline(never)]
    pub(in crate::flit::fast) fn give_channels(&mut self, port: usize) -> (M, bool) {
        let granted = self.share_port(port);
        let (free, first) = (self.free_of(port), port / P * N);
        let mut again = false;
        let mut left = self.waiters(port);
        while free != 0 && !left.is_empty() {
            again |= u32::from(self.vc(first + left.first()).out) & free != 0;
            left = left.rest();
        }
        (granted, again)
    }

    /// Several packets wait for the channels of one port.
    #[inline(always)]
    fn share_port(&mut self, port: usize) -> M {
        let mut granted = M::default();
        let free = self.free_of(port);
        if free == 0 {
            return granted;
        }
        let first = port / P * N;
        let channels = first + port % P * VS;
        let mut requests = [M::default(); VS];
        let mut asked = 0_u32;
        let mut each = self.waiters(port);
        while !each.is_empty() {
            let input = each.first();
            each = each.rest();
            let wanted = u32::from(self.vc(first + input).out) & free;
            asked |= wanted;
            for (vc, requests) in requests.iter_mut().enumerate() {
                *requests |= M::bit_if(input, wanted >> vc & 1 != 0);
            }
        }
        while asked != 0 {
            // the first channel's winner, and what else it was offered
            let vc = asked.trailing_zeros() as usize % VS;
            let input = requests[vc].first_from(self.out(channels + vc).grant as usize);
            let mut offered = 1_u32 << vc;
            let mut others = asked & (asked - 1) & u32::from(self.vc(first + input).out);
            while others != 0 {
                let vc = others.trailing_zeros() as usize % VS;
                others &= others - 1;
                if requests[vc].first_from(self.out(channels + vc).grant as usize) == input {
                    offered |= 1 << vc;
                }
            }
            asked &= !offered;
            // pointers of the channels that it declines stay
            self.give(first + input, port, offered);
            granted |= M::bit(input);
        }
        granted
    }

    /// Of the `offered` channels of a port an input channel takes the first at or after its pointer.
    #[inline(always)]
    fn give(&mut self, number: usize, port: usize, offered: u32) {
        let (router, base) = (port / P % BLOCK, port % P * VS);
        let vc = self.vc_mut(number);
        let ahead = (vc.accept as usize).wrapping_sub(base);
        // a pointer at another port starts at the first channel of this one
        let after = if ahead < VS { offered >> ahead << ahead } else { offered };
        let channel = base + (if after == 0 { offered } else { after }).trailing_zeros() as usize % VS;
        vc.accept = (channel + 1) as u8;
        vc.out = (router * N + channel) as u16;
        let out = self.out_mut(router * N + channel);
        out.grant = (number % N + 1) as u8;
        out.owner = number as u16;
        self.free[router] &= !M::bit(channel);
        *self.waiters_mut(port) &= !M::bit(number % N);
    }

    /// Gives the switch of a router to channels of `ready` that compete with each other, one iteration of
    /// iSLIP; the winners. At most one per input and output.
    #[inline(always)]
    pub(in crate::flit::fast) fn share_switch(&self, router: usize, all: M) -> M {
        let router = router % BLOCK;
        let vcs = &self.vcs[router];
        let (mut outputs, mut inputs) = (0_u64, 0_u64);
        let mut requests = [0_u64; P];
        let mut grants = [0_u64; P];
        let mut ready = all;
        while !ready.is_empty() {
            let channel = ready.first() % N;
            ready = ready.rest();
            let output = vcs[channel].port as usize % P;
            requests[output] |= 1 << (channel / VS);
            outputs |= 1 << output;
        }
        while outputs != 0 {
            let output = outputs.trailing_zeros() as usize % P;
            outputs &= outputs - 1;
            let input = requests[output].first_from(self.switch_grant[router][output] as usize) % P;
            grants[input] |= 1 << output;
            inputs |= 1 << input;
        }
        let mut winners = M::default();
        while inputs != 0 {
            let input = inputs.trailing_zeros() as usize % P;
            inputs &= inputs - 1;
            let output = grants[input].first_from(self.turns[router][input].accept as usize) % P;
            winners |= M::bit(input * VS + self.speaker(router, input, output, all.part(input * VS, VS)));
        }
        winners
    }

    /// The virtual channel that speaks for an input at an output: of those in `ready` that want it the first
    /// at or after the input's offset.
    #[inline(always)]
    fn speaker(&self, router: usize, input: usize, output: usize, ready: u32) -> usize {
        if ready & (ready - 1) == 0 {
            return ready.trailing_zeros() as usize % VS;
        }
        let mut wanting = self.wanting[router][output].part(input * VS, VS) & ready;
        let after = wanting & (u32::MAX << self.turns[router][input].offset);
        if after != 0 {
            wanting = after;
        }
        wanting.trailing_zeros() as usize % VS
    }
}
