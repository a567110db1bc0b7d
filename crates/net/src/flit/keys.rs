//! What the draws of routing depend on: the run, the packet, the router, and nothing else.

use stratasim_core::random::mix;

/// Names the draws of one packet at one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    turn: u64,
}

impl Keys {
    /// The draws at `router`; `None`: before the packet enters the network.
    #[inline]
    pub(super) fn at(router: Option<u32>) -> Self {
        Self { turn: router.map_or(0, |router| (u64::from(router) + 1) << 20) }
    }

    /// The name of the next draw of a packet with this `salt`.
    #[inline]
    pub(super) fn next(&mut self, salt: u64) -> u64 {
        self.turn = self.turn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        salt ^ self.turn
    }
}

/// What a packet's draws begin with: `number` counts the packets of its source.
pub(super) fn salt(seed: u64, source: u32, number: u64) -> u64 {
    mix(seed ^ mix((u64::from(source) << 40).wrapping_add(number)))
}
