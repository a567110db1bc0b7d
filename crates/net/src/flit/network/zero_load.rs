//! The least time in an idle network, in closed form.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use crate::flit::fabric::{End, FULL_WIDTH, Fabric};
use crate::flit::router::RouterSpec;

/// Entries that are kept.
const MOST_KEPT: usize = 1 << 22;

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

/// Latencies of heads by the fastest path from a source, kept for sources that are asked for.
pub struct ZeroLoad {
    fabric: Arc<Fabric>,
    router_cycles: u64,
    /// From each source: cycles until a head is at each terminal.
    from: BTreeMap<u32, Vec<u64>>,
}

impl ZeroLoad {
    /// Of `fabric` with such routers.
    pub fn new(fabric: Arc<Fabric>, router: &RouterSpec) -> Self {
        Self { fabric, router_cycles: router_cycles(router), from: BTreeMap::new() }
    }

    /// Cycles from the departure of a packet's head at terminal `from` to the arrival of the last of `flits`
    /// flits at terminal `to`, one after the other in an empty network; `None` when there is no path.
    ///
    /// With H routers on the path it is `sum over channels (latency + 1) + H (P - 1) + (flits - 1)`, the
    /// channels into and out of the network among them; where a terminal's channel takes a flit in several
    /// cycles only, the last term is that much longer. Nothing gets through faster.
    pub fn cycles(&mut self, from: u32, to: u32, flits: u64) -> Option<u64> {
        if !self.from.contains_key(&from) {
            let terminals = self.fabric.terminals().len();
            if (self.from.len() + 1) * terminals > MOST_KEPT {
                self.from.clear();
            }
            self.from.insert(from, self.search(from));
        }
        let head = self.from[&from][to as usize];
        if head == u64::MAX {
            return None;
        }
        let enters = self.fabric.terminal(from).injection.spacing;
        let joined = self.fabric.terminal(to);
        let leaves = self.fabric.channel(joined.router, joined.output).spacing;
        let spacing = u128::from(enters.max(leaves));
        let rest = u128::from(flits.saturating_sub(1)) * spacing / u128::from(FULL_WIDTH);
        Some(head.saturating_add(u64::try_from(rest).unwrap_or(u64::MAX)))
    }

    /// Dijkstra over routers, from one terminal to all.
    fn search(&self, from: u32) -> Vec<u64> {
        let fabric = &self.fabric;
        let mut at = vec![u64::MAX; fabric.router_count()];
        let mut arrival = vec![u64::MAX; fabric.terminals().len()];
        let mut queue = BinaryHeap::new();
        let injection = fabric.terminal(from).injection;
        if let End::Router { router, .. } = injection.end {
            at[router as usize] = u64::from(injection.latency) + 1;
            queue.push(Reverse((at[router as usize], router)));
        }
        while let Some(Reverse((cycles, router))) = queue.pop() {
            if cycles > at[router as usize] {
                continue;
            }
            for output in 0..fabric.output_count(router) {
                let channel = fabric.channel(router, output);
                let reached = cycles + self.router_cycles + u64::from(channel.latency) + 1;
                match channel.end {
                    End::Nothing => {}
                    End::Terminal(terminal) => {
                        arrival[terminal as usize] = arrival[terminal as usize].min(reached);
                    }
                    End::Router { router, .. } if reached < at[router as usize] => {
                        at[router as usize] = reached;
                        queue.push(Reverse((reached, router)));
                    }
                    End::Router { .. } => {}
                }
            }
        }
        arrival
    }
}
