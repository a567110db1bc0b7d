//! The tree of 64 terminals with four roots.

use super::super::fabric::{Channel, End, Fabric};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::entry;

/// A tree of 4, 8 and 16 routers above 64 terminals.
///
/// Every root reaches all routers of the middle by its ports 0 to 7. Ports 0 to 3 of the others lead down;
/// those above lead up: to the four roots, or to the two routers of the middle that share 16 terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOfFour {
    /// `nca` goes up by any port; `anca` was meant to choose, but of its ports of equal priority only the
    /// first is kept.
    random: bool,
}

const ROOTS: u32 = 4;
const MIDDLE: u32 = 8;
const LEAVES: u32 = 16;
/// Ports that lead down, of all but the roots.
const DOWN: u32 = 4;

impl TreeOfFour {
    /// Terminals.
    pub const NODES: u32 = 64;

    /// `nca` where `random`, else `anca`.
    pub fn new(random: bool) -> Self {
        Self { random }
    }

    /// The routers and channels, all of one cycle.
    pub fn fabric() -> Fabric {
        let ports = |router| if router < ROOTS + MIDDLE { (8, 8) } else { (6, 6) };
        let mut fabric = Fabric::new((0..ROOTS + MIDDLE + LEAVES).map(ports).collect());
        let mut join = |upper: (u32, u32), lower: (u32, u32)| {
            let channel = |(router, port)| Channel {
                end: End::Router { router, port: port as u16 },
                ..Channel::default()
            };
            fabric.connect((upper.0, upper.1 as u16), channel(lower));
            fabric.connect((lower.0, lower.1 as u16), channel(upper));
        };
        for middle in 0..MIDDLE {
            for port in 0..DOWN {
                let leaf = ROOTS + MIDDLE + middle / 2 * DOWN + port;
                join((ROOTS + middle, port), (leaf, DOWN + middle % 2));
            }
            for root in 0..ROOTS {
                join((root, middle), (ROOTS + middle, DOWN + root));
            }
        }
        for node in 0..Self::NODES {
            let port = (node % DOWN) as u16;
            let edge = Channel::default();
            fabric.attach(ROOTS + MIDDLE + node / DOWN, (port, port), edge, edge, None);
        }
        fabric
    }
}

impl FlitRouting for TreeOfFour {
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let leaf = head.dest / DOWN;
        let mut up = |ways| DOWN + if self.random { surroundings.draw(ways) } else { 0 };
        let output = match place.router {
            // both routers of the middle lead on
            root if root < ROOTS => leaf / DOWN * 2 + surroundings.draw(2),
            middle if middle < ROOTS + MIDDLE => {
                if leaf / DOWN == (middle - ROOTS) / 2 {
                    leaf % DOWN
                } else {
                    up(4)
                }
            }
            router if leaf == router - ROOTS - MIDDLE => head.dest % DOWN,
            _ => up(2),
        };
        entry(output as u16, head.range)
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }
}
