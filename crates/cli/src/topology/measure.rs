//! What can be said about routes without asking for all of them.

use rand::RngExt as _;
use stratasim_core::random::Streams;
use stratasim_core::{LinkId, NodeId};
use stratasim_topo::routing::RouteError;
use stratasim_topo::{Routing, Topology};

/// Pairs whose routes are asked for; of machines with more pairs, as many are drawn.
const MOST_PAIRS: u64 = 20_000;

/// Where there are more nodes, pairs end at so many of them.
const MANY_NODES: usize = 4096;
const FEW_ENDS: usize = 500;

/// Least, mean and most of something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) most: f64,
    sum: f64,
    count: u64,
}

impl Spread {
    fn new() -> Self {
        Self { least: f64::INFINITY, most: f64::NEG_INFINITY, sum: 0.0, count: 0 }
    }

    fn add(&mut self, value: f64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// Routes between compute nodes.
pub(super) struct Routes {
    /// Pairs there are.
    pub(super) pairs: u64,
    /// Pairs asked for.
    pub(super) asked: u64,
    /// Links on the way.
    pub(super) hops: Spread,
    /// Latency in seconds.
    pub(super) latency_s: Spread,
    /// Rate of the slowest link on the way, in bytes per second.
    pub(super) rate: Spread,
}

/// Pairs of different compute nodes: all of them, or a sample that depends on the seed alone, of large
/// machines toward a few of them.
pub(super) fn pairs(topology: &Topology, seed: u64) -> Vec<(NodeId, NodeId)> {
    let nodes = topology.compute_nodes();
    let count = nodes.len() as u64;
    if count < 2 {
        return Vec::new();
    }
    if count * (count - 1) <= MOST_PAIRS {
        let all = nodes.iter().flat_map(|&a| nodes.iter().map(move |&b| (a, b)));
        return all.filter(|(a, b)| a != b).collect();
    }
    let mut random = Streams::new(seed).stream("topology.pairs");
    let mut draw = |below: usize| random.random_range(0..below);
    // routings that search do so once for each destination, and keep what they found of few
    let few = nodes.len() > MANY_NODES;
    let ends: Vec<usize> = (0..if few { FEW_ENDS } else { 0 }).map(|_| draw(nodes.len())).collect();
    let mut pairs: Vec<_> = (0..MOST_PAIRS)
        .map(|_| {
            let one = if few { ends[draw(FEW_ENDS)] } else { draw(nodes.len()) };
            let rest = draw(nodes.len() - 1);
            let other = rest + usize::from(rest >= one);
            if few { (nodes[other], nodes[one]) } else { (nodes[one], nodes[other]) }
        })
        .collect();
    pairs.sort_by_key(|&(_, to)| to);
    pairs
}

/// Asks for the routes of `pairs`.
///
/// # Errors
/// A pair without a way.
pub(super) fn routes(
    topology: &Topology,
    routing: &mut dyn Routing,
    pairs: &[(NodeId, NodeId)],
) -> Result<Routes, RouteError> {
    let count = topology.compute_nodes().len() as u64;
    let (mut hops, mut latency_s, mut rate) = (Spread::new(), Spread::new(), Spread::new());
    let mut route: Vec<LinkId> = Vec::new();
    for (key, &(a, b)) in pairs.iter().enumerate() {
        route.clear();
        let extra = routing.route(a, b, key as u64, &mut route)?;
        let links = route.iter().map(|&link| topology.link(link));
        hops.add(route.len() as f64);
        latency_s
            .add(extra.as_secs_f64() + links.clone().map(|link| link.latency.as_secs_f64()).sum::<f64>());
        rate.add(links.map(|link| link.bandwidth.bytes_per_s()).fold(f64::INFINITY, f64::min));
    }
    let all = count * count.saturating_sub(1);
    Ok(Routes { pairs: all, asked: pairs.len() as u64, hops, latency_s, rate })
}

/// Two halves of the compute nodes.
pub(super) type Halves = (Vec<NodeId>, Vec<NodeId>);

/// Ways to cut the compute nodes into two halves: across the middle of every dimension, which goes through the middle layer
/// where the extent is odd, or through the middle of their list where there are no dimensions. The least of their capacities
/// is an upper bound of the bisection bandwidth.
pub(super) fn halves(topology: &Topology) -> Vec<Halves> {
    let nodes = topology.compute_nodes();
    let mut stride = 1;
    let mut ways = Vec::new();
    for &extent in topology.dimensions() {
        let extent = extent as usize;
        if extent > 1 {
            let mut order: Vec<usize> = (0..nodes.len()).collect();
            order.sort_by_key(|at| at / stride % extent);
            let half = |part: &[usize]| part.iter().map(|&at| nodes[at]).collect();
            let (low, high) = order.split_at(order.len() / 2);
            ways.push((half(low), half(high)));
        }
        stride *= extent;
    }
    if ways.is_empty() && nodes.len() > 1 {
        let (low, high) = nodes.split_at(nodes.len() / 2);
        ways.push((low.to_vec(), high.to_vec()));
    }
    ways
}

/// What `nodes` can send together: the rates of the links that leave them.
pub(super) fn injection(topology: &Topology, nodes: &[NodeId]) -> f64 {
    let ports = nodes.iter().flat_map(|&node| topology.ports(node));
    ports.map(|port| topology.link(port.link).bandwidth.bytes_per_s()).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stratasim_topo::{BuildContext, TopologySpec};

    use super::*;

    fn ring(nodes: u32) -> Topology {
        let json =
            format!(r#"{{"kind": "ring", "nodes": {nodes}, "bandwidth": "1 GB/s", "latency": "1 us"}}"#);
        let spec: TopologySpec = serde_json::from_str(&json).unwrap();
        spec.plugin().build(&BuildContext::default()).unwrap()
    }

    #[test]
    fn small_machines_are_asked_for_every_pair_and_large_ones_for_a_sample() {
        let all = pairs(&ring(5), 1);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 20);
        let some = pairs(&ring(500), 1);
        assert_eq!(some.len(), 20_000);
        assert!(some.iter().all(|(a, b)| a != b));
        assert_eq!(some, pairs(&ring(500), 1));
        assert_ne!(some, pairs(&ring(500), 2));
        let many = pairs(&ring(5000), 1);
        assert!(many.len() == 20_000 && many.iter().all(|(a, b)| a != b));
        assert!(many.iter().map(|(_, to)| to).collect::<BTreeSet<_>>().len() <= 500);
    }

    #[test]
    fn halves_are_cut_across_the_middle_of_every_dimension() {
        let json = r#"{"kind": "torus", "dimensions": [3, 4, 2], "bandwidth": "1 GB/s", "latency": "1 us"}"#;
        let spec: TopologySpec = serde_json::from_str(json).unwrap();
        let torus = spec.plugin().build(&BuildContext::default()).unwrap();
        let ways = halves(&torus);
        assert_eq!(ways.len(), 3);
        for (low, high) in &ways {
            assert_eq!((low.len(), high.len()), (12, 12));
            let both: BTreeSet<_> = low.iter().chain(high).collect();
            assert_eq!(both.len(), 24);
        }
        assert_eq!(halves(&ring(5)).len(), 1);
    }

    #[test]
    fn an_odd_number_of_leaves_hides_no_narrow_uplinks() {
        for leaves in [4_u32, 5, 6, 7] {
            let json = format!(
                r#"{{"kind": "leaf-spine", "leaves": {leaves}, "spines": 1, "hosts-per-leaf": 4,
                    "bandwidth": "1 GB/s", "latency": "1 us"}}"#
            );
            let spec: TopologySpec = serde_json::from_str(&json).unwrap();
            let tree = spec.plugin().build(&BuildContext::default()).unwrap();
            let cuts = halves(&tree).into_iter();
            let least = cuts
                .map(|(low, high)| super::super::flow::between(&tree, &low, &high))
                .fold(f64::MAX, f64::min);
            // an uplink of each leaf of a half; of an odd number, one more at most
            assert!(least <= 1e9 * f64::from(leaves.div_ceil(2) + 1), "{leaves} leaves: {least}");
        }
    }
}
