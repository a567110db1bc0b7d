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

/// Stamps of input channels, by number; smaller ones come first among those of a router.
#[derive(Debug)]
pub(super) struct Order {
    /// In the list of packets to be routed,
    routing: Vec<i64>,
    /// of those that wait for an output channel,
    allocation: Vec<i64>,
    /// of those that compete for the switch.
    switch: Vec<i64>,
}

/// Behind every packet that follows another one in its buffer.
const ARRIVALS: i64 = i64::MAX >> 1;

impl Order {
    /// For `channels` input channels.
    pub(super) fn new(channels: usize) -> Self {
        let column = vec![0; channels];
        Self { routing: column.clone(), allocation: column.clone(), switch: column }
    }

    /// A head arrived in an empty buffer.
    pub(super) fn arrived(&mut self, number: usize) {
        self.routing[number] = ARRIVALS + number as i64;
    }

    /// A body flit arrived in an empty buffer: behind all that compete already.
    pub(super) fn resumed(&mut self, now: u64, number: usize, channels: usize) {
        self.switch[number] = ((now as i64) << 8) + (number % channels) as i64;
    }

    /// A tail left, and the head behind it is to be routed: in the order of the switch's list.
    pub(super) fn followed(&mut self, number: usize) {
        self.routing[number] = self.switch[number];
    }

    /// Puts packets that are routed in this cycle in order, router by router, and in front of those that
    /// wait. They are numbers of channels from `base` on; a router has `channels` of them. `sets` are empty,
    /// before and after.
    pub(super) fn routed<M: Mask>(
        &mut self,
        now: u64,
        fresh: &mut [u16],
        base: usize,
        channels: usize,
        sets: &mut [M; BLOCK],
    ) {
        in_front(now, fresh, base, channels, sets, &self.routing, &mut self.allocation);
    }

    /// Puts the packets that got an output channel in order, and in front of those that compete.
    pub(super) fn channels_given<M: Mask>(
        &mut self,
        now: u64,
        granted: &mut [u16],
        base: usize,
        channels: usize,
        sets: &mut [M; BLOCK],
    ) {
        in_front(now, granted, base, channels, sets, &self.allocation, &mut self.switch);
    }
}

/// Sorts channels by router and by their stamp in `from`, and gives them stamps in `to` in front of all of
/// earlier cycles. Those of a router are few, and mostly in order by number.
fn in_front<M: Mask>(
    now: u64,
    list: &mut [u16],
    base: usize,
    channels: usize,
    sets: &mut [M; BLOCK],
    from: &[i64],
    to: &mut [i64],
) {
    let mut routers = 0_u64;
    for &number in &*list {
        let router = number as usize / channels % BLOCK;
        routers |= 1 << router;
        sets[router] |= M::bit(number as usize % channels);
    }
    let mut end = 0;
    while routers != 0 {
        let router = routers.trailing_zeros() as usize;
        routers &= routers - 1;
        let mut set = std::mem::take(&mut sets[router]);
        let start = end;
        while !set.is_empty() {
            list[end] = (router * channels + set.first()) as u16;
            end += 1;
            set = set.rest();
        }
        let own = &mut list[start..end];
        if own.len() > 1 {
            own.sort_unstable_by_key(|&channel| from[base + channel as usize]);
        }
        for (position, &channel) in own.iter().enumerate() {
            to[base + channel as usize] = position as i64 - ((now as i64) << 8);
        }
    }
}
