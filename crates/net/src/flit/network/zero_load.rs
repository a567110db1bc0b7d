//! The least time in an idle network, in closed form.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::flit::fabric::{End, FULL_WIDTH, Fabric};
use crate::flit::router::RouterSpec;

/// Entries that are kept: those of all sources, of up to 2,900 terminals.
const MOST_KEPT: usize = 1 << 24;

/// Cycles between a head's arrival in a router and its departure, in an idle network: P - 1, where P are the
/// cycles of routing, allocation and traversal.
pub fn router_cycles(router: &RouterSpec) -> u64 {
    let stages = u64::from(router.routing_delay + router.allocation_delay() + router.traversal_delay);
    if router.internal_speedup > 1.0 {
        // several steps in a cycle, of which the first may be late in it
        ((stages - 1) as f64 / router.internal_speedup).floor().max(1.0) as u64 - 1
    } else {
        stages - 1
    }
}

/// The same of a flit that comes so late behind the head of its packet that it finds a channel: it takes part in the
/// allocation of the switch only.
fn follower_cycles(router: &RouterSpec) -> u64 {
    let switch = RouterSpec { routing_delay: 0, vc_allocation_delay: 0, ..router.clone() };
    router_cycles(&switch).min(router_cycles(router))
}

/// Cycles until a flit from one terminal is at each.
struct Arrivals {
    heads: Vec<u64>,
    /// Flits that come late, where the channel out of the terminal makes them so.
    late: Option<Vec<u64>>,
}

/// Latencies by the fastest path from a source, kept for sources that are asked for.
pub struct ZeroLoad {
    fabric: Arc<Fabric>,
    /// Cycles in a router: of heads, and of flits that come late.
    router_cycles: [u64; 2],
    /// From each source.
    from: BTreeMap<u32, Arrivals>,
}

impl ZeroLoad {
    /// Of `fabric` with such routers.
    pub fn new(fabric: Arc<Fabric>, router: &RouterSpec) -> Self {
        let router_cycles = [router_cycles(router), follower_cycles(router)];
        Self { fabric, router_cycles, from: BTreeMap::new() }
    }

    /// Cycles from the departure of a packet's head at terminal `from` to the arrival of the last of `flits`
    /// flits at terminal `to`, one after the other in an empty network; `None` when there is no path.
    ///
    /// With H routers on the path it is `sum over channels (latency + 1) + H (P - 1) + (flits - 1)`, the
    /// channels into and out of the network among them; where the channel into a terminal takes a flit in several
    /// cycles only, the last term is that much longer. Where the channel out of one does, flits come so far apart that the last
    /// does not wait behind the head, and is not held up as that is: P are then the cycles of switch allocation and traversal.
    /// The later of the two counts; nothing gets through faster.
    pub fn cycles(&mut self, from: u32, to: u32, flits: u64) -> Option<u64> {
        let enters = self.fabric.terminal(from).injection.spacing;
        let known = self.known(from);
        let head = known.heads[to as usize];
        let late = known.late.as_ref().map(|late| late[to as usize]);
        if head == u64::MAX {
            return None;
        }
        let joined = self.fabric.terminal(to);
        let leaves = self.fabric.channel(joined.router, joined.output).spacing;
        let rest = |spacing: u32| {
            let cycles = u128::from(flits.saturating_sub(1)) * u128::from(spacing) / u128::from(FULL_WIDTH);
            u64::try_from(cycles).unwrap_or(u64::MAX)
        };
        let behind_head = head.saturating_add(rest(leaves));
        let late = late.map_or(0, |late| late.saturating_add(rest(enters)));
        Some(behind_head.max(late))
    }

    /// The cycles of a single flit from terminal `from` to the farthest one that it reaches.
    pub fn longest(&mut self, from: u32) -> u64 {
        self.known(from).heads.iter().copied().filter(|&cycles| cycles < u64::MAX).max().unwrap_or(0)
    }

    /// What is known from a source, looked up where it was not asked for before.
    fn known(&mut self, from: u32) -> &Arrivals {
        if !self.from.contains_key(&from) {
            let terminals = self.fabric.terminals().len();
            if 2 * (self.from.len() + 1) * terminals > MOST_KEPT {
                self.from.clear();
            }
            let [heads, late] = self.router_cycles;
            let heads = self.search(from, heads);
            let enters = self.fabric.terminal(from).injection.spacing;
            let late = (enters > FULL_WIDTH).then(|| self.search(from, late));
            self.from.insert(from, Arrivals { heads, late });
        }
        &self.from[&from]
    }

    /// Dijkstra over routers, in which a flit spends so many cycles, from one terminal to all.
    fn search(&self, from: u32, router_cycles: u64) -> Vec<u64> {
        let fabric = &self.fabric;
        let mut at = vec![u64::MAX; fabric.router_count()];
        let mut arrival = vec![u64::MAX; fabric.terminals().len()];
        // by arrival: of many routers there are few times
        let mut queue = BTreeMap::<u64, Vec<u32>>::new();
        let injection = fabric.terminal(from).injection;
        if let End::Router { router, .. } = injection.end {
            at[router as usize] = u64::from(injection.latency) + 1;
            queue.insert(at[router as usize], vec![router]);
        }
        while let Some((cycles, routers)) = queue.pop_first() {
            for router in routers {
                if cycles > at[router as usize] {
                    continue;
                }
                for output in 0..fabric.output_count(router) {
                    let channel = fabric.channel(router, output);
                    let reached = cycles + router_cycles + u64::from(channel.latency) + 1;
                    match channel.end {
                        End::Nothing => {}
                        End::Terminal(terminal) => {
                            arrival[terminal as usize] = arrival[terminal as usize].min(reached);
                        }
                        End::Router { router, .. } if reached < at[router as usize] => {
                            at[router as usize] = reached;
                            queue.entry(reached).or_default().push(router);
                        }
                        End::Router { .. } => {}
                    }
                }
            }
        }
        arrival
    }
}
