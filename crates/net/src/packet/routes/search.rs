//! The search for the shortest ways from everywhere to each target.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;
use stratasim_core::Duration;
use stratasim_topo::Topology;
use stratasim_topo::geometry::Geometry;

use super::table::Filling;
use super::{NONE, Next, Routes, Wire};

/// Length of a cable between two groups of a dragonfly, others having 1: no way through a third group is a shortest one (Kim et
/// al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.1: minimal routing).
const GLOBAL: u8 = 4;

/// How long links are, port by port.
pub(super) fn lengths(topology: &Topology, wires: &[Wire]) -> Vec<u8> {
    let Some(Geometry::Dragonfly(shape)) = topology.structure().geometry() else {
        return vec![1; wires.len()];
    };
    let group = |node: u32| {
        let group = node.checked_sub(shape.first_router)? / shape.routers_per_group;
        (group < shape.groups).then_some(group)
    };
    let length = |wire: &Wire| match (group(wire.from), group(wire.to)) {
        (Some(from), Some(to)) if from != to => GLOBAL,
        _ => 1,
    };
    wires.iter().map(length).collect()
}

impl Routes {
    /// By column: the host of it with the longest last link, the first of those.
    fn far_hosts(&self, columns: usize, steps: &[Duration]) -> Vec<u32> {
        let last = |host: u32| {
            let port = self.hosts[host as usize].last;
            if port == NONE { Duration::ZERO } else { steps[port as usize] }
        };
        let mut far = vec![NONE; columns];
        for (number, host) in (0..).zip(&self.hosts) {
            let known = &mut far[host.column as usize];
            if *known == NONE || last(number) > last(*known) {
                *known = number;
            }
        }
        far
    }

    /// Works the table out, column by column, by a search from each target against the links, which have `lengths` and which a
    /// full packet takes `steps` for.
    pub(super) fn fill(&mut self, targets: &[u32], into: &Into, steps: &[Duration], lengths: &[u8]) {
        let nodes = self.host_of.len();
        let mut table = Filling::new(nodes, targets.len());
        let mut known: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let mut distance = vec![NONE; nodes];
        // the longest of the shortest ways
        let mut longest = vec![Duration::ZERO; nodes];
        let far = self.far_hosts(targets.len(), steps);
        // nodes by their distance, modulo the longest link and one more
        let mut rounds: [Vec<u32>; GLOBAL as usize + 1] = Default::default();
        let mut best = Vec::new();
        for (column, &target) in targets.iter().enumerate() {
            distance.fill(NONE);
            distance[target as usize] = 0;
            longest[target as usize] = Duration::ZERO;
            rounds[0].push(target);
            let (mut left, mut round) = (1, 0);
            let own = far[column];
            let (mut farthest, mut most) = (NONE, Duration::ZERO);
            while left > 0 {
                let at = round as usize % rounds.len();
                let mut nodes = std::mem::take(&mut rounds[at]);
                left -= nodes.len();
                for node in nodes.drain(..) {
                    if distance[node as usize] != round {
                        // a shorter way was found since
                        continue;
                    }
                    let host = self.host_of[node as usize];
                    // between two hosts on one cable, each is what stands before the other
                    if host != NONE && host != own && longest[node as usize] >= most {
                        (farthest, most) = (host, longest[node as usize]);
                    }
                    // hosts with memory nodes or accelerators behind them forward, too; memory nodes do not
                    if self.ends_here[node as usize] && node != target {
                        continue;
                    }
                    for &wire in into.of(node) {
                        let from = self.wires[wire as usize].from;
                        let way = longest[node as usize] + steps[wire as usize];
                        let length = round + u32::from(lengths[wire as usize]);
                        match distance[from as usize].cmp(&length) {
                            Ordering::Greater => {
                                distance[from as usize] = length;
                                longest[from as usize] = way;
                                rounds[length as usize % rounds.len()].push(from);
                                left += 1;
                            }
                            Ordering::Equal => longest[from as usize] = longest[from as usize].max(way),
                            Ordering::Less => {}
                        }
                    }
                }
                rounds[at] = nodes;
                round += 1;
            }
            self.farthest.push((farthest, own));
            for node in 0..nodes {
                if distance[node] == NONE || distance[node] == 0 {
                    continue;
                }
                best.clear();
                best.extend((self.start[node]..self.start[node + 1]).filter(|&wire| {
                    let to = self.wires[wire as usize].to;
                    let passes = to == target || !self.ends_here[to as usize];
                    let length = u32::from(lengths[wire as usize]);
                    passes && distance[to as usize].saturating_add(length) == distance[node]
                }));
                let next = match best[..] {
                    [only] => Next::Port(only),
                    _ => Next::Set(*known.entry(best.clone()).or_insert_with(|| {
                        let begin = self.ports.len() as u32;
                        self.ports.extend_from_slice(&best);
                        self.sets.push((begin, self.ports.len() as u32));
                        self.sets.len() as u32 - 1
                    })),
                };
                table.set(node, column, next);
            }
        }
        self.next = table.done();
    }
}

/// Ports that lead into each node.
pub(super) struct Into {
    start: Vec<u32>,
    wires: Vec<u32>,
}

impl Into {
    pub(super) fn new(nodes: usize, wires: &[Wire]) -> Self {
        let mut start = vec![0_u32; nodes + 1];
        for wire in wires {
            start[wire.to as usize + 1] += 1;
        }
        for node in 0..nodes {
            start[node + 1] += start[node];
        }
        let mut at = start.clone();
        let mut into = vec![0; wires.len()];
        for (number, wire) in (0..).zip(wires) {
            let place = &mut at[wire.to as usize];
            into[*place as usize] = number;
            *place += 1;
        }
        Self { start, wires: into }
    }

    pub(super) fn of(&self, node: u32) -> &[u32] {
        &self.wires[self.start[node as usize] as usize..self.start[node as usize + 1] as usize]
    }
}
