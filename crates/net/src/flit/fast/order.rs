//! The order of work lists, for runs in which all draws come from one stream.
//!
//! Who wins an arbitration never depends on the order in which requests stand in a list, but the order
//! in which packets are routed decides who gets which random number. A list-based router serves each
//! list front to back and puts what it could not serve at the back, behind what came in meanwhile: so
//! newcomers from the stage before stand in front of those that wait, and flits that find their packet's
//! buffer empty stand behind them. A stamp per channel and list says the same without lists.

use super::mask::Mask;
use super::wheel::BLOCK;

const _: () = assert!(BLOCK <= 64, "routers of a block are bits of a word");

/// Stamps of input channels by number; smaller ones come first among those of a router.
#[derive(Debug)]
pub(super) struct Order<M> {
    /// In the list of packets that wait for an output channel: when they came, and their place among those that came then.
    waiting: Vec<u64>,
    /// In the list of those that compete for the switch. A head behind a tail is routed in the order of this list.
    competing: Vec<i64>,
    /// Input channels by router, of packets that came to the front behind another one and of those that found an empty
    /// buffer; empty between stages.
    followed: [M; BLOCK],
    arrived: [M; BLOCK],
}

/// Bits of a place among the packets that a router routes in a cycle.
const PLACE: u32 = 8;

impl<M: Mask> Order<M> {
    /// For `channels` input channels.
    pub(super) fn new(channels: usize) -> Self {
        Self {
            waiting: vec![0; channels],
            competing: vec![0; channels],
            followed: [M::default(); BLOCK],
            arrived: [M::default(); BLOCK],
        }
    }

    /// A body flit arrived in an empty buffer: behind all that compete already.
    pub(super) fn resumed(&mut self, now: u64, number: usize, channels: usize) {
        self.competing[number] = ((now as i64) << 32) + (number % channels) as i64;
    }

    /// Puts packets that are routed in this cycle in order, router by router, and in front of those that wait: the first
    /// `followed` of them came to the front behind others, the rest arrived. They are numbers of channels from `base` on; a
    /// router has `N` of them.
    pub(super) fn routed<const N: usize>(
        &mut self,
        now: u64,
        fresh: &mut [u16],
        followed: usize,
        base: usize,
    ) {
        let mut routers = 0_u64;
        for (at, &number) in fresh.iter().enumerate() {
            let router = number as usize / N % BLOCK;
            routers |= 1 << router;
            let set = if at < followed { &mut self.followed } else { &mut self.arrived };
            set[router].insert(number as usize % N);
        }
        let mut end = 0;
        while routers != 0 {
            let router = routers.trailing_zeros() as usize % BLOCK;
            routers &= routers - 1;
            let start = end;
            let mut set = std::mem::take(&mut self.followed[router]);
            while !set.is_empty() {
                // mostly one
                let channel = (router * N + set.first()) as u16;
                set = set.rest();
                let stamp = self.competing[base + usize::from(channel)];
                let mut to = end;
                while to > start && self.competing[base + usize::from(fresh[to - 1])] > stamp {
                    fresh[to] = fresh[to - 1];
                    to -= 1;
                }
                fresh[to] = channel;
                end += 1;
            }
            let mut set = std::mem::take(&mut self.arrived[router]);
            while !set.is_empty() {
                fresh[end] = (router * N + set.first()) as u16;
                set = set.rest();
                end += 1;
            }
            for (place, &channel) in (0..).zip(&fresh[start..end]) {
                self.waiting[base + usize::from(channel)] = now << PLACE | place;
            }
        }
    }

    /// A packet got an output channel: in front of all that compete, in the order in which it waited among those that got one
    /// in this cycle.
    #[inline(always)]
    pub(super) fn given(&mut self, now: u64, number: usize) {
        let came = self.waiting[number];
        // those that came last first; who has waited for millions of cycles waits for good
        let waited = (now - (came >> PLACE)).min(u64::from(u32::MAX >> (PLACE + 1)));
        let place = waited << PLACE | came & ((1 << PLACE) - 1);
        self.competing[number] = -((now as i64) << 32) + place as i64;
    }
}
