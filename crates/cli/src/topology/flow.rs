//! The largest flow between two sets of nodes: how much can cross a cut.

use std::collections::VecDeque;

use stratasim_core::{LinkId, NodeId};
use stratasim_topo::{Sharing, Topology};

/// More than any cut.
const UNLIMITED: u64 = u64::MAX / 4;

struct Arc {
    to: u32,
    room: u64,
}

/// Dinic's algorithm (1970): blocking flows in layered graphs. Arc `2 i + 1` is the way back of arc
/// `2 i`.
struct Cut {
    arcs: Vec<Arc>,
    out: Vec<Vec<u32>>,
    level: Vec<u32>,
    next: Vec<u32>,
}

/// Bytes per second that `from` together can send to `to`, over all paths and whatever the routing.
/// Fat pipes do not limit it.
pub(super) fn between(topology: &Topology, from: &[NodeId], to: &[NodeId]) -> f64 {
    let nodes = topology.node_count();
    let (source, sink) = (nodes as u32, nodes as u32 + 1);
    let mut cut = Cut {
        arcs: Vec::new(),
        out: vec![Vec::new(); nodes + 2],
        level: vec![0; nodes + 2],
        next: vec![0; nodes + 2],
    };
    for (index, link) in topology.links().iter().enumerate() {
        let Some([a, b]) = link.ends else { continue };
        let room = match link.sharing {
            Sharing::Shared => link.bandwidth.bytes_per_s().round() as u64,
            Sharing::FatPipe => UNLIMITED,
        };
        let back = match link.reverse {
            // the two directions of a cable are one pair of arcs
            Some(reverse) if reverse < LinkId::from_index(index) => continue,
            Some(reverse) if topology.link(reverse).sharing == Sharing::FatPipe => UNLIMITED,
            Some(reverse) => topology.link(reverse).bandwidth.bytes_per_s().round() as u64,
            None if link.half_duplex => room,
            None => 0,
        };
        cut.join(a.0, b.0, room, back);
    }
    from.iter().for_each(|node| cut.join(source, node.0, UNLIMITED, 0));
    to.iter().for_each(|node| cut.join(node.0, sink, UNLIMITED, 0));
    let mut flow = 0_u64;
    while cut.layer(source, sink) {
        cut.next.fill(0);
        loop {
            let pushed = cut.push(source, sink);
            if pushed == 0 {
                break;
            }
            flow = flow.saturating_add(pushed);
        }
    }
    if flow >= UNLIMITED { f64::INFINITY } else { flow as f64 }
}

impl Cut {
    fn join(&mut self, a: u32, b: u32, room: u64, back: u64) {
        self.out[a as usize].push(self.arcs.len() as u32);
        self.arcs.push(Arc { to: b, room });
        self.out[b as usize].push(self.arcs.len() as u32);
        self.arcs.push(Arc { to: a, room: back });
    }

    /// Distances from the source over arcs with room; whether the sink is reached.
    fn layer(&mut self, source: u32, sink: u32) -> bool {
        self.level.fill(u32::MAX);
        self.level[source as usize] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(node) = queue.pop_front() {
            for &arc in &self.out[node as usize] {
                let Arc { to, room } = self.arcs[arc as usize];
                if room > 0 && self.level[to as usize] == u32::MAX {
                    self.level[to as usize] = self.level[node as usize] + 1;
                    queue.push_back(to);
                }
            }
        }
        self.level[sink as usize] != u32::MAX
    }

    /// Sends along one path of the layers; 0 when there is none. No recursion: paths may be long.
    fn push(&mut self, source: u32, sink: u32) -> u64 {
        let mut path: Vec<u32> = Vec::new();
        let mut node = source;
        while node != sink {
            let at = self.next[node as usize] as usize;
            match self.out[node as usize].get(at) {
                Some(&arc) => {
                    let Arc { to, room } = self.arcs[arc as usize];
                    if room > 0 && self.level[to as usize] == self.level[node as usize] + 1 {
                        path.push(arc);
                        node = to;
                    } else {
                        self.next[node as usize] += 1;
                    }
                }
                // a dead end: back, and not here again
                None => match path.pop() {
                    Some(arc) => {
                        node = self.arcs[arc as usize ^ 1].to;
                        self.next[node as usize] += 1;
                    }
                    None => return 0,
                },
            }
        }
        let room = path.iter().map(|&arc| self.arcs[arc as usize].room).min().unwrap_or(0);
        for arc in path {
            self.arcs[arc as usize].room -= room;
            self.arcs[arc as usize ^ 1].room += room;
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use stratasim_topo::{BuildContext, TopologySpec};

    use super::*;

    fn topology(json: &str) -> Topology {
        let spec: TopologySpec = serde_json::from_str(json).unwrap();
        spec.plugin().build(&BuildContext::default()).unwrap()
    }

    fn halves(topology: &Topology) -> f64 {
        let nodes = topology.compute_nodes();
        let (low, high) = nodes.split_at(nodes.len() / 2);
        between(topology, low, high)
    }

    const LINK: &str = r#""bandwidth": "1 GB/s", "latency": "1 us""#;

    #[test]
    fn known_bisections_come_out() {
        // a ring is cut twice, a torus of 8 x 8 twice along 8 rows, a mesh once
        let ring = topology(&format!(r#"{{"kind": "ring", "nodes": 8, {LINK}}}"#));
        assert_eq!(halves(&ring), 2e9);
        let torus = topology(&format!(r#"{{"kind": "torus", "dimensions": [8, 8], {LINK}}}"#));
        assert_eq!(halves(&torus), 16e9);
        let mesh = topology(&format!(r#"{{"kind": "mesh", "dimensions": [8, 8], {LINK}}}"#));
        assert_eq!(halves(&mesh), 8e9);
        let cube = topology(&format!(r#"{{"kind": "hypercube", "dimensions": 5, {LINK}}}"#));
        assert_eq!(halves(&cube), 16e9);
        let all = topology(&format!(r#"{{"kind": "fully-connected", "nodes": 8, {LINK}}}"#));
        assert_eq!(halves(&all), 16e9);
        // a fat tree has full bisection, an oversubscribed one its part of it
        let full = topology(&format!(r#"{{"kind": "fat-tree", "k": 8, {LINK}}}"#));
        assert_eq!(halves(&full), 64e9);
        let half = topology(&format!(r#"{{"kind": "fat-tree", "k": 8, "oversubscription": 2.0, {LINK}}}"#));
        assert_eq!(halves(&half), 32e9);
    }

    #[test]
    fn half_duplex_counts_once_and_fat_pipes_do_not_limit() {
        let graph = |link: &str| {
            topology(&format!(
                r#"{{"kind": "graph", "nodes": [{{"name": "a"}}, {{"name": "b"}}],
                    "links": [{{"from": "a", "to": "b", {LINK}, {link}}}]}}"#
            ))
        };
        assert_eq!(halves(&graph(r#""duplex": "half""#)), 1e9);
        assert_eq!(halves(&graph(r#""sharing": "fat-pipe""#)), f64::INFINITY);
    }
}
