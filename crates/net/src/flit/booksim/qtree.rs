//! Quad trees.

use super::super::fabric::{Channel, End, Fabric};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::entry;

/// A tree of 1, 4 and 16 routers above 64 terminals, and its only routing function `nca`.
///
/// Ports 0 to 3 lead down, 4 leads up; the root is router 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuadTree;

/// Routers above each level, and one past the last.
const FIRST: [u32; 4] = [0, 1, 5, 21];
/// Children of a router.
const ARITY: u32 = 4;

impl QuadTree {
    /// Terminals.
    pub const NODES: u32 = 64;

    /// The routers and channels, all of one cycle.
    pub fn fabric() -> Fabric {
        let ports = |router: u32| if router == 0 { (4, 4) } else { (5, 5) };
        let mut fabric = Fabric::new((0..FIRST[3]).map(ports).collect());
        for router in 1..FIRST[3] {
            // the parent of the first router of a level is the first of the level above
            let level = if router < FIRST[2] { 1 } else { 2 };
            let place = router - FIRST[level];
            let (parent, port) = (FIRST[level - 1] + place / ARITY, (place % ARITY) as u16);
            let channel = |router, port| Channel { end: End::Router { router, port }, ..Channel::default() };
            fabric.connect((router, ARITY as u16), channel(parent, port));
            fabric.connect((parent, port), channel(router, ARITY as u16));
        }
        for node in 0..Self::NODES {
            let port = (node % ARITY) as u16;
            let edge = Channel::default();
            fabric.attach(FIRST[2] + node / ARITY, (port, port), edge, edge, None);
        }
        fabric
    }
}

impl FlitRouting for QuadTree {
    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        let level = FIRST.partition_point(|&first| first <= place.router) - 1;
        let child = head.dest / ARITY.pow(2 - level as u32);
        let below = child / ARITY == place.router - FIRST[level];
        entry(if below { child % ARITY } else { ARITY } as u16, head.range)
    }

    fn draws(&self) -> bool {
        false
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }
}
