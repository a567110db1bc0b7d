//! Places in a tree in one word: a nearest common ancestor in a few instructions.

use super::{ALL, MOST_LANES, Step, Steps};
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
    /// Port by [`Switch::ports`] and way; none where each way has its own number.
    ports: Vec<u8>,
    /// Which child each terminal is under at each level, in words of so many bits each; none where that is its number.
    targets: Vec<u64>,
    bits: u32,
}

/// Which child a terminal is under at each level, in words of so many bits each.
fn word(bits: u32, children: impl Iterator<Item = u64>) -> u64 {
    (0..).zip(children).fold(0, |word, (level, child)| word | child << (level * bits))
}

/// Bits of a number below `count`.
fn bits_below(count: u32) -> u32 {
    count.max(2).next_power_of_two().trailing_zeros()
}

impl Tree {
    /// The same tree in words; `None` where it does not fit.
    pub(in crate::flit::routing) fn new(map: &TreeMap) -> Option<Self> {
        let levels = map.level_count();
        if levels > MOST_LANES || !map.is_single() {
            return None;
        }
        let by_host = map.by_host();
        let children = |terminal| (0..levels).map(move |level| u64::from(map.child(level, terminal)));
        let most = (0..by_host.len()).flat_map(children).max().unwrap_or(0);
        let bits = bits_below(u32::try_from(most + 1).ok()?);
        let targets: Vec<u64> = (0..by_host.len()).map(|terminal| word(bits, children(terminal))).collect();
        let mut out =
            Self { switches: Vec::with_capacity(map.switch_count()), ports: Vec::new(), targets, bits };
        for router in 0..map.switch_count() as u32 {
            let view = map.view(router);
            let shift = u32::from(view.level) * bits;
            // any terminal under it has the same children above it
            let &(_, below) = by_host.get(by_host.partition_point(|&(host, _)| host < view.first_host))?;
            map.down(router, below)?;
            let above = u64::MAX.checked_shl(shift + bits).unwrap_or(0) & out.targets[below as usize];
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
        Some(out.without_tables())
    }

    /// The same without tables that say nothing.
    fn without_tables(mut self) -> Self {
        let ways = |switch: &Switch| usize::from(switch.children) + usize::from(switch.up);
        let is_way = |switch: &Switch| {
            let ports = self.ports[switch.ports as usize..].iter().take(ways(switch));
            (0..).zip(ports).all(|(way, &port)| way == usize::from(port))
        };
        if self.switches.iter().all(is_way) {
            self.ports = Vec::new();
        }
        if (0..).zip(&self.targets).all(|(terminal, &target)| terminal == target) {
            self.targets = Vec::new();
        }
        self
    }

    /// The k-ary n-tree whose `n` levels have `k^(n-1)` routers each, the roots first: ports 0 to `k - 1` lead down by digits
    /// of the destination, the others up.
    pub(in crate::flit) fn of_levels(k: u32, n: u32) -> Option<Self> {
        if n as usize > MOST_LANES || !(2..=127).contains(&k) {
            return None;
        }
        let bits = bits_below(k);
        let digits = |node: u32| word(bits, (0..n).map(|level| (node / k.pow(level) % k).into()));
        let width = k.pow(n - 1);
        let switch = |router: u32| {
            let height = n - 1 - router / width;
            let subtree = router % width / k.pow(height);
            Switch {
                above: digits(subtree * k.pow(height + 1)),
                ports: 0,
                children: k as u16,
                up: k as u8,
                shift: (height * bits) as u8,
            }
        };
        let out = Self {
            switches: (0..n * width).map(switch).collect(),
            ports: (0..2 * k as u8).collect(),
            targets: (0..width * k).map(digits).collect(),
            bits,
        };
        Some(out.without_tables())
    }

    /// The same without tables, where there are none.
    pub fn plain(&self) -> Option<Plain<'_>> {
        (self.ports.is_empty() && self.targets.is_empty()).then_some(Plain(self))
    }

    /// The way that a head to what `target` says takes at a switch.
    #[inline(always)]
    fn way(&self, switch: &Switch, target: u64, draw: impl FnOnce(u32) -> u32) -> u32 {
        // two shifts, since one of 64 is none
        let is_below = (switch.above ^ target) >> switch.shift >> self.bits == 0;
        if is_below {
            (target >> switch.shift) as u32 & ((1 << self.bits) - 1)
        } else {
            let up = u32::from(switch.up);
            u32::from(switch.children) + if up == 1 { 0 } else { draw(up) }
        }
    }
}

/// A tree whose ways and terminals are their own numbers: nothing to look up.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a>(&'a Tree);

impl Steps for Plain<'_> {
    const DRAWS: bool = true;

    #[inline(always)]
    fn step(&self, router: u32, dest: u32, _: u8, draw: impl FnOnce(u32) -> u32) -> Step {
        let tree = self.0;
        let way = tree.way(&tree.switches[router as usize], dest.into(), draw);
        Step { output: way as u8, half: ALL, memory: 0 }
    }
}

impl Steps for Tree {
    const DRAWS: bool = true;

    /// `draw` is asked where several ways lead up.
    #[inline(always)]
    fn step(&self, router: u32, dest: u32, _: u8, draw: impl FnOnce(u32) -> u32) -> Step {
        let switch = &self.switches[router as usize];
        let target = if self.targets.is_empty() { dest.into() } else { self.targets[dest as usize] };
        let way = self.way(switch, target, draw);
        let output =
            if self.ports.is_empty() { way as u8 } else { self.ports[(switch.ports + way) as usize] };
        Step { output, half: ALL, memory: 0 }
    }
}
