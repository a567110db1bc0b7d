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
            let input = requests[vc].first_behind(self.last_winner(channels + vc));
            let mut offered = 1_u32 << vc;
            let mut others = asked & (asked - 1) & u32::from(self.vc(first + input).out);
            while others != 0 {
                let vc = others.trailing_zeros() as usize % VS;
                others &= others - 1;
                if requests[vc].first_behind(self.last_winner(channels + vc)) == input {
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

    /// The input channel of its router that won output channel `number` last.
    #[inline(always)]
    fn last_winner(&self, number: usize) -> usize {
        self.out(number).owner as usize % N
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
        self.out_mut(router * N + channel).owner = number as u16;
        self.free[router] &= !M::bit(channel);
        *self.waiters_mut(port) &= !M::bit(number % N);
    }

    /// Gives the switch of a router to channels of `ready` that compete with each other, one iteration of
    /// iSLIP; the winners. At most one per input and output.
    #[inline(always)]
    pub(in crate::flit::fast) fn share_switch(&self, router: usize, ready: M) -> M {
        let router = router % BLOCK;
        let vcs = &self.vcs[router];
        // input channels by output, and outputs by input
        let (mut requests, mut grants) = ([M::default(); P], [M::default(); P]);
        let (mut outputs, mut inputs) = (M::default(), M::default());
        let mut left = ready;
        while !left.is_empty() {
            let channel = left.first() % N;
            left = left.rest();
            let output = vcs[channel].port as usize % P;
            requests[output] |= M::bit(channel);
            outputs |= M::bit(output);
        }
        while !outputs.is_empty() {
            let output = outputs.first() % P;
            outputs = outputs.rest();
            // behind all channels of the input that won last
            let last = (self.winners[router][output] as usize % N) | (VS - 1);
            let input = requests[output].first_behind(last) / VS % P;
            grants[input] |= M::bit(output);
            inputs |= M::bit(input);
        }
        let mut winners = M::default();
        while !inputs.is_empty() {
            let input = inputs.first() % P;
            inputs = inputs.rest();
            let last = self.turns[router][input];
            let output = grants[input].first_behind(last.port as usize % P) % P;
            // of the channels that want it the first one behind the one that passed last
            let wanting = requests[output].part(input * VS, VS);
            let after = wanting & u32::MAX << (last.channel as usize % VS) << 1;
            let vc = (if after == 0 { wanting } else { after }).trailing_zeros() as usize % VS;
            winners |= M::bit(input * VS + vc);
        }
        winners
    }
}
