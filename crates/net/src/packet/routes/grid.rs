//! Next hops told from coordinates: hosts in a mesh, a torus, a hypercube pass on for each other, and a table of all pairs of them
//! would have billions of entries.

mod axes;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use stratasim_core::{Bandwidth, Duration};
use stratasim_topo::Topology;
use stratasim_topo::geometry::{Direction, Geometry};

use self::axes::{Axis, Directions, axes, directions_along, farthest};
use super::sets::{Known, Sets};
use super::{Next, Wire};

/// Directions of all dimensions together; what is made for combinations of them is a few megabytes at most.
const MOST_DIRECTIONS: u32 = 16;
const MOST_WORDS: usize = 1 << 20;

/// The longest axis, one of a single dimension.
const LONGEST: u32 = 4096;

/// Grids whose vertices are all nodes, and whose cables are alike along each dimension.
#[derive(Debug)]
pub(super) struct Grid {
    nodes: Vec<Node>,
    axes: Vec<Axis>,
    /// By node and axis: where the directions from its place begin, and its place.
    rows: Vec<u32>,
    places: Vec<u16>,
    /// By axis and place, to each place of the axis.
    directions: Vec<Directions>,
    /// By the cables of a node and by directions. A port is told by its place among those of the node.
    next: Vec<Next>,
    /// The nodes that are farthest apart.
    farthest: (u32, u32),
}

#[derive(Debug, Clone, Copy)]
struct Node {
    first_port: u32,
    /// Where what is next begins, for nodes with such cables.
    cables: u32,
}

impl Grid {
    /// That of a topology with these ports, which begin at `start` by node, where it is one, and any two of its nodes reach each other.
    /// And the sets of its ports.
    pub(super) fn of(topology: &Topology, wires: &[Wire], start: &[u32]) -> Option<(Self, Sets)> {
        let geometry = topology.structure().geometry()?;
        let Geometry::Grid(shape) = &geometry else { return None };
        let nodes = topology.node_count();
        let whole = shape.first_vertex == 0 && shape.hosts.is_none() && shape.vertices as usize == nodes;
        if !whole || shape.dimensions.iter().any(|dimension| dimension.extent > LONGEST) {
            return None;
        }
        let count: u32 =
            shape.dimensions.iter().map(directions_along).try_fold(0, |sum, own| Some(sum + own?))?;
        if count > MOST_DIRECTIONS {
            return None;
        }
        let (axes, directions) = axes(shape);
        let mut grid = Self {
            nodes: Vec::new(),
            rows: Vec::with_capacity(nodes * axes.len()),
            places: Vec::with_capacity(nodes * axes.len()),
            axes,
            directions,
            next: Vec::new(),
            farthest: (farthest(shape), 0),
        };
        for node in 0..nodes as u32 {
            let mut first = 0;
            for axis in &grid.axes {
                let place = node / axis.stride % axis.places;
                grid.rows.push(first + place * axis.places);
                grid.places.push(place as u16);
                first += axis.places * axis.places;
            }
        }
        let mut sets = Sets::default();
        let is_known =
            grid.has_cables(topology, &geometry, wires) && grid.find_ports(wires, start, count, &mut sets);
        is_known.then_some((grid, sets))
    }

    /// Directions from one node to another.
    #[inline]
    fn directions(&self, from: u32, to: u32) -> Directions {
        let count = self.axes.len();
        let rows = &self.rows[from as usize * count..][..count];
        let places = &self.places[to as usize * count..][..count];
        let along = |(&row, &place)| self.directions[row as usize + usize::from(place)];
        rows.iter().zip(places).map(along).fold(0, |all, own| all | own)
    }

    /// Where packets go next from one node to another.
    #[inline]
    pub(super) fn next(&self, from: u32, to: u32) -> Next {
        let node = self.nodes[from as usize];
        match self.next[node.cables as usize + usize::from(self.directions(from, to))] {
            Next::Port(place) => Next::Port(node.first_port + place),
            other => other,
        }
    }

    /// Number of nodes.
    pub(super) const fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Two nodes that are as far from each other as any.
    pub(super) const fn farthest(&self) -> (u32, u32) {
        self.farthest
    }

    /// The first node to which a set of ports leads from `from`, one that it has.
    pub(super) fn first_to(&self, from: u32, set: u32) -> Option<u32> {
        let cables = self.nodes[from as usize].cables as usize;
        let wanted = self.next[cables..].iter().position(|&next| next == Next::Set(set))? as Directions;
        let first = |(at, axis): (usize, &Axis)| {
            let row = self.rows[from as usize * self.axes.len() + at] as usize;
            let row = &self.directions[row..][..axis.places as usize];
            let place = row.iter().position(|&directions| directions == wanted & axis.along)?;
            Some(place as u32 * axis.stride)
        };
        self.axes.iter().enumerate().map(first).sum()
    }

    /// Whether every port leads to a neighbour, along cables that are alike in each dimension.
    fn has_cables(&self, topology: &Topology, geometry: &Geometry, wires: &[Wire]) -> bool {
        let mut kinds: FxHashMap<u32, (Bandwidth, Duration)> = FxHashMap::default();
        wires.iter().all(|wire| {
            let dimension = match geometry.direction(wire.from, wire.to) {
                Some(Direction::Along { dimension, .. } | Direction::To { dimension, .. }) => dimension,
                _ => return false,
            };
            let link = topology.link(wire.link);
            let kind = (link.bandwidth, link.latency);
            // one direction only: in no other dimension does it lead anywhere
            self.directions(wire.from, wire.to).is_power_of_two()
                && *kinds.entry(dimension).or_insert(kind) == kind
        })
    }

    /// Finds the ports of all directions, `count` of them; whether all that are needed are there.
    fn find_ports(&mut self, wires: &[Wire], start: &[u32], count: u32, sets: &mut Sets) -> bool {
        let axes = self.axes.len();
        // by cables: by the place of a port, where it leads; what is next; and for which rows of the axes that is known
        let mut alike: FxHashMap<Vec<Directions>, u32> = FxHashMap::default();
        let mut combined: FxHashSet<(u32, SmallVec<[u32; 4]>)> = FxHashSet::default();
        let mut known = Known::default();
        // rows with the same directions count as one
        let mut rows: FxHashMap<Vec<Directions>, u32> = FxHashMap::default();
        let mut row_of: FxHashMap<u32, u32> = FxHashMap::default();
        let mut distinct: Vec<Vec<Directions>> = Vec::new();
        for node in 0..start.len() as u32 - 1 {
            let ports = start[node as usize]..start[node as usize + 1];
            let own: Vec<Directions> = wires[ports.start as usize..ports.end as usize]
                .iter()
                .map(|wire| self.directions(node, wire.to))
                .collect();
            let cables = *alike.entry(own.clone()).or_insert_with(|| {
                let begin = self.next.len();
                self.next.resize(begin + (1 << count), Next::Nowhere);
                begin as u32
            });
            if self.next.len() > MOST_WORDS {
                return false;
            }
            self.nodes.push(Node { first_port: ports.start, cables });
            let mut key = SmallVec::new();
            for (axis, &row) in self.axes.iter().zip(&self.rows[node as usize * axes..]) {
                key.push(*row_of.entry(row).or_insert_with(|| {
                    let mut all = self.directions[row as usize..][..axis.places as usize].to_vec();
                    all.sort_unstable();
                    all.dedup();
                    *rows.entry(all).or_insert_with_key(|all| {
                        distinct.push(all.clone());
                        distinct.len() as u32 - 1
                    })
                }));
            }
            if !combined.insert((cables, key.clone())) {
                continue;
            }
            let mut all: Vec<Directions> = vec![0];
            for row in key {
                let along = &distinct[row as usize];
                all = all.iter().flat_map(|&others| along.iter().map(move |&own| others | own)).collect();
            }
            for wanted in all.into_iter().filter(|&wanted| wanted != 0) {
                if (0..count).any(|bit| wanted >> bit & 1 != 0 && !own.contains(&(1 << bit))) {
                    return false;
                }
                let mut words: SmallVec<[u64; 2]> = smallvec![0; own.len().div_ceil(u64::BITS as usize)];
                let members = (0..).zip(&own).filter(|&(_, direction)| direction & wanted != 0);
                let members: SmallVec<[usize; 8]> = members.map(|(place, _)| place).collect();
                members.iter().for_each(|place| words[place / 64] |= 1 << (place % 64));
                self.next[cables as usize + usize::from(wanted)] = match members[..] {
                    [only] => Next::Port(only as u32),
                    _ => Next::Set(sets.number(&mut known, &words)),
                };
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stratasim_core::NodeId;
    use stratasim_topo::structure::Structure;

    use super::super::{Numbers, Routes};
    use super::*;
    use crate::packet::testing::{machine, network};

    const FULL: u32 = 4160;

    /// The same machine, of which nobody knows that it is a grid.
    fn shapeless(topology: &Topology) -> Arc<Topology> {
        let mut builder = topology.clone().into_builder();
        builder.set_structure(Structure::Irregular);
        Arc::new(builder.build().expect("a machine"))
    }

    fn is_grid(routes: &Routes) -> bool {
        routes.next.columns() > 1 && routes.farthest().count() == 1
    }

    #[test]
    fn grids_lead_where_a_table_of_all_pairs_does() {
        let cable = r#""bandwidth": "100 Gbps", "latency": "1 us""#;
        let plain = |kind: &str, dimensions: &str| {
            format!(r#"{{"kind": "{kind}", "dimensions": {dimensions}, {cable}}}"#)
        };
        let mixed = format!(
            r#"{{"kind": "multi-dimensional", "dimensions": [
                {{"shape": "fully-connected", "nodes": 5, "bandwidth": "900 Gbps", "latency": "100 ns", "parallel": 2}},
                {{"shape": "ring", "nodes": 6, {cable}}},
                {{"shape": "ring", "nodes": 3, {cable}, "parallel": 3}}]}}"#
        );
        for spec in [
            plain("torus", "[5]"),
            plain("torus", "[4, 6]"),
            plain("torus", "[9, 3, 4]"),
            // an extent of two, and of one
            plain("torus", "[3, 2, 1, 5]"),
            plain("mesh", "[3, 7]"),
            plain("mesh", "[2, 3, 4]"),
            plain("mesh", "[4, 2, 2]").replace(r#""latency""#, r#""duplex": "half", "latency""#),
            plain("hypercube", "7"),
            plain("ring", "8").replace("dimensions", "nodes"),
            mixed,
        ] {
            let topology = machine(&spec);
            let other = shapeless(&topology);
            let [grid, table] =
                [&topology, &other].map(|topology| Routes::new(topology, FULL).expect("routes"));
            assert!(is_grid(&grid) && !is_grid(&table), "{spec}");
            assert_eq!(grid.sets.count(), table.sets.count(), "{spec}");
            assert_eq!(grid.hosts_between(), table.hosts_between(), "{spec}");
            let numbers = [&grid, &table].map(Numbers::new);
            let hosts = grid.hosts() as u32;
            for (node, host) in (0..grid.nodes()).flat_map(|node| (0..hosts).map(move |host| (node, host))) {
                assert_eq!(
                    grid.choices(node, host),
                    table.choices(node, host),
                    "{spec}: from {node} to {host}"
                );
                let [own, other] = [&grid, &table].map(|routes| routes.toward(node, host));
                if let (Next::Set(own), Next::Set(other)) = (own, other) {
                    assert_eq!(
                        grid.first_column(node, own),
                        table.first_column(node, other),
                        "{spec}: {node}"
                    );
                    let [own, other] = [numbers[0].of(&grid, node, own), numbers[1].of(&table, node, other)];
                    assert_eq!(own, other, "{spec}: at {node}");
                }
            }
            let [own, other] =
                [&topology, &other].map(|topology| network(topology, "{}", 1).expect("a network"));
            assert_eq!(own.transports.network_rtt, other.transports.network_rtt, "{spec}");
        }
    }

    #[test]
    fn what_is_no_grid_of_hosts_has_a_table() {
        let cable = r#""bandwidth": "100 Gbps", "latency": "1 us""#;
        for spec in [
            // what stands before the ends of a row passes on for them
            format!(r#"{{"kind": "mesh", "dimensions": [9], {cable}}}"#),
            format!(r#"{{"kind": "torus", "dimensions": [4, 4], "hosts-per-switch": 2, {cable}}}"#),
            format!(r#"{{"kind": "fully-connected", "nodes": 20, {cable}}}"#),
            format!(
                r#"{{"kind": "multi-dimensional", "dimensions": [
                    {{"shape": "ring", "nodes": 4, {cable}}}, {{"shape": "switch", "nodes": 4, {cable}}}]}}"#
            ),
        ] {
            assert!(!is_grid(&Routes::new(&machine(&spec), FULL).expect("routes")), "{spec}");
        }
        let torus = machine(&format!(r#"{{"kind": "torus", "dimensions": [4, 5], {cable}}}"#));
        assert!(is_grid(&Routes::new(&torus, FULL).expect("routes")));
        // a cable that is longer than the others of its dimension, and one that is missing
        let mut builder = (*torus).clone().into_builder();
        builder.links_mut()[7].latency = Duration::from_ns(1001);
        assert!(!is_grid(&Routes::new(&builder.build().expect("a machine"), FULL).expect("routes")));
        let mut builder = (*torus).clone().into_builder();
        let nodes = vec![true; torus.node_count()];
        let mut links = vec![true; torus.link_count()];
        links[7] = false;
        builder.retain(&nodes, &links);
        builder.set_structure(torus.structure().clone());
        assert!(!is_grid(&Routes::new(&builder.build().expect("a machine"), FULL).expect("routes")));
    }

    #[test]
    fn a_torus_of_a_hundred_thousand_hosts_needs_no_table() {
        let spec =
            r#"{"kind": "torus", "dimensions": [50, 50, 40], "bandwidth": "1 Gbps", "latency": "1 us"}"#;
        let topology = machine(spec);
        let routes = Routes::new(&topology, FULL).expect("routes");
        let to = |at: [u32; 3]| at[0] + 50 * (at[1] + 50 * at[2]);
        let host = routes.host_of(NodeId(to([49, 25, 0]))).expect("a host");
        let neighbours = |node| -> Vec<u32> {
            routes.choices(node, host).iter().map(|&port| routes.wires()[port as usize].to).collect()
        };
        // down around the edge, both ways, and not at all
        let mut next = neighbours(to([0, 0, 0]));
        next.sort_unstable();
        assert_eq!(next, [to([49, 0, 0]), to([0, 1, 0]), to([0, 49, 0])]);
        assert_eq!(neighbours(to([49, 26, 0])), [to([49, 25, 0])]);
    }
}
