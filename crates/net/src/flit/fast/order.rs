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

/// Stamps of input channels, by number and list; smaller ones come first among those of a router.
#[derive(Debug)]
pub(super) struct Order {
    stamps: Vec<[i64; 3]>,
}

/// The list of packets to be routed,
const ROUTING: usize = 0;
/// of those that wait for an output channel,
const ALLOCATION: usize = 1;
/// of those that compete for the switch.
const SWITCH: usize = 2;

/// Behind every packet that follows another one in its buffer.
const ARRIVALS: i64 = i64::MAX >> 1;

impl Order {
    /// For `channels` input channels.
    pub(super) fn new(channels: usize) -> Self {
        Self { stamps: vec![[0; 3]; channels] }
    }

    /// A head arrived in an empty buffer.
    pub(super) fn arrived(&mut self, number: usize) {
        self.stamps[number][ROUTING] = ARRIVALS + number as i64;
    }

    /// A body flit arrived in an empty buffer: behind all that compete already.
    pub(super) fn resumed(&mut self, now: u64, number: usize, channels: usize) {
        self.stamps[number][SWITCH] = ((now as i64) << 8) + (number % channels) as i64;
    }

    /// A tail left, and the head behind it is to be routed: in the order of the switch's list.
    pub(super) fn followed(&mut self, number: usize) {
        let stamps = &mut self.stamps[number];
        stamps[ROUTING] = stamps[SWITCH];
    }

    /// Puts packets that are routed in this cycle in order, router by router, and in front of those that
    /// wait. They are numbers of channels from `base` on; a router has `N` of them. `sets` are empty, before and
    /// after.
    pub(super) fn routed<const N: usize, M: Mask>(
        &mut self,
        now: u64,
        fresh: &mut [u16],
        base: usize,
        sets: &mut [M; BLOCK],
    ) {
        by_router::<N, M>(fresh, sets);
        self.in_front::<N, ROUTING, ALLOCATION>(now, fresh, base);
    }

    /// Puts the packets that got an output channel in order, and in front of those that compete. They stand router by
    /// router.
    pub(super) fn channels_given<const N: usize>(&mut self, now: u64, granted: &mut [u16], base: usize) {
        self.in_front::<N, ALLOCATION, SWITCH>(now, granted, base);
    }

    /// Sorts the channels of each router by their stamp in the list `FROM`, and gives them stamps in the list `TO`, in
    /// front of all of earlier cycles. Those of a router are few, and mostly one.
    #[inline(always)]
    fn in_front<const N: usize, const FROM: usize, const TO: usize>(
        &mut self,
        now: u64,
        list: &mut [u16],
        base: usize,
    ) {
        let stamps = &mut self.stamps[base..];
        let first = -((now as i64) << 8);
        // the place of the first channel of the router, and its number
        let (mut start, mut router) = (0, usize::MAX);
        for at in 0..list.len() {
            let channel = list[at];
            let own = usize::from(channel) / N;
            if own != router {
                (start, router) = (at, own);
            }
            // behind those of the router that come before it; their stamps move on
            let stamp = stamps[usize::from(channel)][FROM];
            let mut to = at;
            while to > start && stamps[usize::from(list[to - 1])][FROM] > stamp {
                list[to] = list[to - 1];
                stamps[usize::from(list[to])][TO] += 1;
                to -= 1;
            }
            list[to] = channel;
            stamps[usize::from(channel)][TO] = first + (to - start) as i64;
        }
    }
}

/// Puts channels together by router.
fn by_router<const N: usize, M: Mask>(list: &mut [u16], sets: &mut [M; BLOCK]) {
    let mut routers = 0_u64;
    for &number in &*list {
        let router = number as usize / N % BLOCK;
        routers |= 1 << router;
        sets[router] |= M::bit(number as usize % N);
    }
    let mut places = list.iter_mut();
    while routers != 0 {
        let router = routers.trailing_zeros() as usize;
        routers &= routers - 1;
        let mut set = std::mem::take(&mut sets[router]);
        while !set.is_empty() {
            if let Some(place) = places.next() {
                *place = (router * N + set.first()) as u16;
            }
            set = set.rest();
        }
    }
}
