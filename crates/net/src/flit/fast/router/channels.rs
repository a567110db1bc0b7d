//! The allocator of virtual channels of a block of routers: one iteration of iSLIP, on sets that are words.

use std::hint::select_unpredictable as select;

use super::{BLOCK, Mask, Routers};

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Routers<P, VS, N, M> {
    /// Gives channels to packets that wait for them, at all ports where somebody asks. Those that get one compete for the
    /// switch from now on. `granted` hears of the input channels that get one.
    #[inline(always)]
    pub(in crate::flit::fast) fn give_channels(&mut self, mut granted: impl FnMut(usize)) {
        for word in 0..P {
            let (mut left, mut again) = (self.asking.word(word), 0);
            if left == 0 {
                continue;
            }
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                let port = word * 64 + bit;
                let waiters = self.waiters(port);
                if waiters.rest().is_empty() {
                    // every channel that the only one wants is granted to it
                    let number = port / P * N + waiters.first() % N;
                    let offered = self.free_of(port) & self.wanted(number);
                    if offered != 0 {
                        self.give_if(number, port, offered, true);
                        granted(number);
                    }
                } else {
                    again |= u64::from(self.share_port(port, &mut granted)) << bit;
                }
            }
            *self.asking.word_mut(word) = again;
        }
    }

    /// Channels that the packet in front of an input channel may use.
    #[inline(always)]
    fn wanted(&self, number: usize) -> u32 {
        self.out.as_flattened()[number % Self::CHANNELS].into()
    }

    /// Channels of a port that no packet has.
    #[inline(always)]
    pub(in crate::flit::fast) fn free_of(&self, port: usize) -> u32 {
        self.free.as_flattened()[port % Self::PORTS].into()
    }

    /// Several packets wait for the channels of one port, mostly two. Whether more channels can be given before one comes
    /// back.
    #[inline(always)]
    fn share_port(&mut self, port: usize, granted: &mut impl FnMut(usize)) -> bool {
        let waiters = self.waiters(port);
        let others = waiters.rest();
        if others.rest().is_empty() {
            self.share_between(port, waiters.first(), others.first(), granted)
        } else {
            self.share_among(port, granted)
        }
    }

    /// The same for two packets: those of input channels `one` and `other` behind it. Who gets something is as good as drawn,
    /// so nothing is to be predicted.
    #[inline(always)]
    fn share_between(
        &mut self,
        port: usize,
        one: usize,
        other: usize,
        granted: &mut impl FnMut(usize),
    ) -> bool {
        let (first, free) = (port / P * N, self.free_of(port));
        let [wanted, others] = [one, other].map(|input| self.wanted(first + input) & free);
        // behind a winner from the one on until before the other comes the other
        let turn = (0..VS).fold(0, |turn, vc| {
            let last = self.last_winner(port * VS + vc);
            turn | u32::from(last.wrapping_sub(one) < other - one) << vc
        });
        let offered = [(one, wanted, wanted & !(others & turn)), (other, others, others & (turn | !wanted))];
        let mut left = 0;
        for (input, wanted, offered) in offered {
            let gets = offered != 0;
            self.give_if(first + input, port, offered, gets);
            left |= select(gets, 0, wanted);
            if gets {
                granted(first + input);
            }
        }
        left & self.free_of(port) != 0
    }

    /// The same for any number of packets.
    #[inline(never)]
    fn share_among(&mut self, port: usize, granted: &mut impl FnMut(usize)) -> bool {
        let (first, free, waiters) = (port / P * N, self.free_of(port), self.waiters(port));
        let (mut asked, mut all, mut each) = (0, free, waiters);
        while !each.is_empty() {
            let wanted = self.wanted(first + each.first()) & free;
            each = each.rest();
            asked |= wanted;
            all &= wanted;
        }
        if all == asked {
            // all want the same
            self.share_channels(port, asked, |_| waiters, granted);
        } else {
            let mut requests = [M::default(); VS];
            let mut each = waiters;
            while !each.is_empty() {
                let wanted = self.wanted(first + each.first());
                for (vc, requests) in requests.iter_mut().enumerate() {
                    requests.insert_if(each.first(), wanted >> vc & 1 != 0);
                }
                each = each.rest();
            }
            self.share_channels(port, asked, |vc| requests[vc], granted);
        }
        let (free, mut left) = (self.free_of(port), self.waiters(port));
        let mut again = false;
        while free != 0 && !left.is_empty() {
            again |= self.wanted(first + left.first()) & free != 0;
            left = left.rest();
        }
        again
    }

    /// The same where it is known which channels of a port are `asked` for, and who requests each.
    #[inline(always)]
    fn share_channels(
        &mut self,
        port: usize,
        mut asked: u32,
        requests: impl Fn(usize) -> M,
        granted: &mut impl FnMut(usize),
    ) {
        let (first, channels) = (port / P * N, port * VS);
        while asked != 0 {
            // the first channel's winner, and what else it was offered
            let vc = asked.trailing_zeros() as usize % VS;
            let input = requests(vc).first_behind(self.last_winner(channels + vc));
            let mut offered = 1_u32 << vc;
            let mut others = asked & (asked - 1) & self.wanted(first + input);
            while others != 0 {
                let vc = others.trailing_zeros() as usize % VS;
                others &= others - 1;
                let winner = requests(vc).first_behind(self.last_winner(channels + vc));
                offered |= u32::from(winner == input) << vc;
            }
            asked &= !offered;
            // pointers of the channels that it declines stay
            self.give_if(first + input, port, offered, true);
            granted(first + input);
        }
    }

    /// The input channel of its router that won output channel `number` last.
    #[inline(always)]
    fn last_winner(&self, number: usize) -> usize {
        usize::from(self.channel(number).owner) % N
    }

    /// Of the `offered` channels of a port an input channel takes the first at or after its pointer, where it `gets` one.
    #[inline(always)]
    fn give_if(&mut self, number: usize, port: usize, offered: u32, gets: bool) {
        let base = port % P * VS;
        let accept = &mut self.accept.as_flattened_mut()[number % Self::CHANNELS];
        // a pointer at another port leaves nothing, and then the first channel is taken
        let ahead = u32::from(*accept).wrapping_sub(base as u32).min(u32::BITS - 1);
        let after = offered >> ahead << ahead;
        let chosen = (if after == 0 { offered } else { after }).trailing_zeros() as usize % VS;
        let channel = port * VS + chosen;
        *accept = select(gets, (base + chosen + 1) as u8, *accept);
        let out = &mut self.out.as_flattened_mut()[number % Self::CHANNELS];
        *out = select(gets, channel as u16, *out);
        let owned = self.channel_mut(channel);
        owned.owner = select(gets, (number % N) as u8, owned.owner);
        let ready = gets & owned.is_open();
        self.compete_if(number, channel, ready);
        self.free.as_flattened_mut()[port % Self::PORTS] &= !(u16::from(gets) << chosen);
        self.waiters_mut(port).remove_if(number % N, gets);
    }
}

const _: () = assert!(BLOCK == 64, "a block has as many words of ports as a router has ports");
