//! The allocator of virtual channels of a block of routers: one iteration of iSLIP, on sets that are words.

use super::{BLOCK, Mask, Routers};

impl<const P: usize, const VS: usize, const N: usize, M: Mask, W: Mask> Routers<P, VS, N, M, W> {
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
}
