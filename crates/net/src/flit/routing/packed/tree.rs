//! Places in a tree in one word: a nearest common ancestor in a few instructions.

use super::{ALL, LANE, MOST_LANES, Step, Steps, lanes};
use crate::flit::routing::tree::TreeMap;

/// A switch: which child of which it is under at each level above its own, the lowest in the lowest bits.
#[derive(Debug, Clone, Copy)]
struct Switch {
    above: u64,
    /// Its ports down, by child; those up follow.
    ports: u32,
    children: u16,
    up: u8,
    /// Bits below those of its children.
    shift: u8,
}

/// Up a tree by a way that is drawn, and down; at most four levels, single cables.
#[derive(Debug, Clone)]
pub struct Tree {
    switches: Vec<Switch>,
    ports: Vec<u8>,
    /// Which child each terminal is under at each level.
    targets: Vec<u64>,
}

impl Tree {
    /// The same tree in words; `None` where it does not fit.
    pub(in crate::flit::routing) fn new(map: &TreeMap) -> Option<Self> {
        let levels = map.level_count();
        if levels > MOST_LANES || !map.is_single() {
            return None;
        }
        let target = |terminal| lanes((0..levels).map(|level| map.child(level, terminal).into()));
        let by_host = map.by_host();
        let targets: Vec<u64> = (0..by_host.len()).map(target).collect();
        let mut out = Self { switches: Vec::with_capacity(map.switch_count()), ports: Vec::new(), targets };
        for router in 0..map.switch_count() as u32 {
            let view = map.view(router);
            let shift = u32::from(view.level) * LANE;
            // any terminal under it has the same children above it
            let &(_, below) = by_host.get(by_host.partition_point(|&(host, _)| host < view.first_host))?;
            map.down(router, below)?;
            let above = u64::MAX.checked_shl(shift + LANE).unwrap_or(0) & out.targets[below as usize];
            out.switches.push(Switch {
                above,
                ports: u32::try_from(out.ports.len()).ok()?,
                children: view.children,
                up: u8::try_from(view.up.len()).ok()?,
                shift: shift as u8,
            });
            // a child of the lowest level that is no terminal is never asked for
            let ports = view.down.iter().map(|&port| if port == u16::MAX { 0 } else { port });
            for port in ports.chain(view.up.iter().copied()) {
                out.ports.push(u8::try_from(port).ok()?);
            }
        }
        Some(out)
    }

    /// The k-ary n-tree whose `n` levels have `k^(n-1)` routers each, the roots first: ports 0 to `k - 1` lead down by digits
    /// of the destination, the others up.
    pub(in crate::flit) fn of_levels(k: u32, n: u32) -> Option<Self> {
        if n as usize > MOST_LANES || !(2..=127).contains(&k) {
            return None;
        }
        let digits = |node: u32| lanes((0..n).map(|level| (node / k.pow(level) % k).into()));
        let width = k.pow(n - 1);
        let switch = |router: u32| {
            let height = n - 1 - router / width;
            let subtree = router % width / k.pow(height);
            Switch {
                above: digits(subtree * k.pow(height + 1)),
                ports: 0,
                children: k as u16,
                up: k as u8,
                shift: (height * LANE) as u8,
            }
        };
        Some(Self {
            switches: (0..n * width).map(switch).collect(),
            ports: (0..2 * k as u8).collect(),
            targets: (0..width * k).map(digits).collect(),
        })
    }
}

impl Steps for Tree {
    const DRAWS: bool = true;

    /// `draw` is asked where several ways lead up.
    #[inline(always)]
    fn step(&self, router: u32, dest: u32, _: u8, draw: impl FnOnce(u32) -> u32) -> Step {
        let switch = &self.switches[router as usize];
        let target = self.targets[dest as usize];
        // two shifts, since one of 64 is none
        let is_below = (switch.above ^ target) >> switch.shift >> LANE == 0;
        let way = if is_below {
            (target >> switch.shift) as u32 & ((1 << LANE) - 1)
        } else {
            let up = u32::from(switch.up);
            u32::from(switch.children) + if up == 1 { 0 } else { draw(up) }
        };
        Step { output: self.ports[(switch.ports + way) as usize], half: ALL, memory: 0 }
    }
}
