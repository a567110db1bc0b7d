//! The search for the shortest ways from everywhere to each target.

use std::cmp::Ordering;
use std::ops::Range;

use stratasim_core::Duration;
use stratasim_topo::Topology;
use stratasim_topo::geometry::Geometry;

use super::sets::{Known, Marked, Marks};
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

    /// Works the table out, for nodes that have a row, column by column, by a search from each target against the links, which have
    /// `lengths` and which a full packet takes `steps` for.
    pub(super) fn fill(&mut self, rows: Range<u32>, into: &Into, steps: &[Duration], lengths: &[u8]) {
        let targets = std::mem::take(&mut self.targets);
        let mut search = Search::new(self, into, steps, lengths);
        let most = self.wires.len().saturating_sub(1) as u32;
        let mut table = Filling::new(rows, targets.len(), most);
        let mut known = Known::default();
        for (&target, own) in targets.iter().zip(self.far_hosts(targets.len(), steps)) {
            let farthest = search.run(self, target, own);
            self.farthest.push((farthest, own));
            table.column(|node| match search.marks.of(node) {
                Marked::Nothing => Next::Nowhere,
                Marked::One(place) => Next::Port(self.start[node] + place),
                Marked::Several(bits) => Next::Set(self.sets.number(&mut known, bits)),
            });
        }
        self.next = table.done();
        self.targets = targets;
    }
}

/// A link, as the search comes to it from its end.
#[derive(Debug, Clone, Copy)]
struct Link {
    from: u32,
    /// Where the mark of its port is.
    word: u32,
    /// Which of the steps is its own.
    step: u32,
    bit: u8,
    length: u8,
}

/// A search against the links, and what it goes over with each target.
#[derive(Debug)]
struct Search<'a> {
    into: &'a Into,
    /// Those that lead into each node, as `into` has them: few bytes each, as all are gone over for each target.
    links: Vec<Link>,
    /// What a full packet takes on links.
    steps: Vec<Duration>,
    distance: Vec<u32>,
    /// The longest of the shortest ways.
    longest: Vec<Duration>,
    /// Ports that begin a shortest way.
    marks: Marks,
    /// Nodes by their distance, modulo the longest link and one more.
    rounds: [Vec<u32>; GLOBAL as usize + 1],
}

impl<'a> Search<'a> {
    fn new(routes: &Routes, into: &'a Into, steps: &[Duration], lengths: &[u8]) -> Self {
        let nodes = routes.host_of.len();
        let marks = Marks::new(&routes.start);
        let mut kinds: Vec<Duration> = steps.to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        let link = |&wire: &u32| {
            let from = routes.wires[wire as usize].from;
            let (word, bit) = marks.bit(from, wire - routes.start[from as usize]);
            Link {
                from,
                word,
                bit,
                length: lengths[wire as usize],
                step: kinds.partition_point(|&kind| kind < steps[wire as usize]) as u32,
            }
        };
        Self {
            into,
            links: into.wires.iter().map(link).collect(),
            steps: kinds,
            distance: vec![NONE; nodes],
            longest: vec![Duration::ZERO; nodes],
            marks,
            rounds: Default::default(),
        }
    }

    /// Marks the ports that begin a shortest way to `target`, whose farthest host is `own`; the host that is farthest from it,
    /// [`NONE`] where there is no other.
    fn run(&mut self, routes: &Routes, target: u32, own: u32) -> u32 {
        let Self { into, links, steps, distance, longest, marks, rounds } = self;
        let (distance, longest) = (&mut distance[..], &mut longest[..]);
        marks.clear_all();
        distance.fill(NONE);
        distance[target as usize] = 0;
        longest[target as usize] = Duration::ZERO;
        rounds[0].push(target);
        // nodes in rounds, and those that no way has been found from
        let (mut left, mut hidden) = (1, distance.len() - 1);
        let mut round = 0;
        let (mut farthest, mut most) = (NONE, Duration::ZERO);
        while left > 0 {
            let at = round as usize % rounds.len();
            let mut nodes = std::mem::take(&mut rounds[at]);
            left -= nodes.len();
            // behind the farthest nodes there is nothing new, and no other way as short: most links of a direct network
            let ends = left == 0 && hidden == 0;
            for node in nodes.drain(..) {
                if distance[node as usize] != round {
                    // a shorter way was found since
                    continue;
                }
                let host = routes.host_of[node as usize];
                let so_far = longest[node as usize];
                // between two hosts on one cable, each is what stands before the other
                if host != NONE && host != own && so_far >= most {
                    (farthest, most) = (host, so_far);
                }
                // hosts with memory nodes or accelerators behind them forward, too; memory nodes do not
                if ends || routes.ends_here[node as usize] && node != target {
                    continue;
                }
                for &Link { from, word, step, bit, length } in &links[into.range(node)] {
                    let way = so_far + steps[step as usize];
                    let length = round + u32::from(length);
                    let known = &mut distance[from as usize];
                    match (*known).cmp(&length) {
                        Ordering::Greater => {
                            if *known == NONE {
                                hidden -= 1;
                            } else {
                                marks.clear(from);
                            }
                            *known = length;
                            longest[from as usize] = way;
                            marks.set((word, bit));
                            rounds[length as usize % (GLOBAL as usize + 1)].push(from);
                            left += 1;
                        }
                        Ordering::Equal => {
                            let known = &mut longest[from as usize];
                            *known = (*known).max(way);
                            marks.set((word, bit));
                        }
                        Ordering::Less => {}
                    }
                }
            }
            rounds[at] = nodes;
            round += 1;
        }
        farthest
    }
}

/// Ports that lead into each node.
#[derive(Debug)]
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
        &self.wires[self.range(node)]
    }

    /// Where those of a node stand among all.
    fn range(&self, node: u32) -> Range<usize> {
        self.start[node as usize] as usize..self.start[node as usize + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stratasim_core::random::Draws;
    use stratasim_core::{Bandwidth, NodeId};
    use stratasim_topo::graph::{LinkType, MemoryType};
    use stratasim_topo::{NodeKind, TopologyBuilder};

    use super::*;
    use crate::packet::testing::machine;

    const FULL: u32 = 4160;

    /// By node: the length of the shortest ways to `goal`, and what the slowest of them takes; nothing through nodes where ways end.
    /// Link by link until nothing changes.
    fn literal(routes: &Routes, goal: u32, links: &[(u32, Duration)]) -> Vec<Option<(u32, Duration)>> {
        let mut known: Vec<Option<(u32, Duration)>> = vec![None; routes.nodes() as usize];
        known[goal as usize] = Some((0, Duration::ZERO));
        for _ in 0..2 * known.len() {
            let before = known.clone();
            for (wire, &(length, step)) in routes.wires.iter().zip(links) {
                let from = &mut known[wire.from as usize];
                if let Some((rest, time)) = before[wire.to as usize]
                    && wire.from != goal
                    && (wire.to == goal || !routes.ends_here[wire.to as usize])
                {
                    let new = (rest + length, time + step);
                    let is_better = |&old: &(u32, Duration)| new.0 < old.0 || new.0 == old.0 && new.1 > old.1;
                    if from.as_ref().is_none_or(is_better) {
                        *from = Some(new);
                    }
                }
            }
            if before == known {
                return known;
            }
        }
        panic!("it never ends");
    }

    /// Compares a table with the literal search, entry by entry; how many sets there are, and whether some way is missing.
    fn compare(topology: &Topology) -> (usize, bool) {
        let routes = Routes::new(topology, FULL).expect("a table");
        let lengths = lengths(topology, &routes.wires);
        let step = |wire: &Wire| {
            let link = topology.link(wire.link);
            link.latency + Duration::from_ps((f64::from(FULL) * 1e12 / link.bandwidth.bytes_per_s()) as u64)
        };
        let links: Vec<(u32, Duration)> =
            routes.wires.iter().zip(&lengths).map(|(wire, &length)| (length.into(), step(wire))).collect();
        // the ports of a node that begin a shortest way
        let first = |node: u32, goal: u32, known: &[Option<(u32, Duration)>]| -> Vec<u32> {
            let Some((length, _)) = known[node as usize] else { return Vec::new() };
            let leads = |&port: &u32| {
                let to = routes.wires[port as usize].to;
                let rest = known[to as usize].map(|(rest, _)| rest + links[port as usize].0);
                (to == goal || !routes.ends_here[to as usize]) && rest == Some(length)
            };
            routes.ports_of(node).filter(leads).collect()
        };
        let mut lacks = false;
        for host in 0..routes.hosts() as u32 {
            let goal = routes.node_of(host);
            let known = literal(&routes, goal, &links);
            for node in (0..routes.nodes()).filter(|&node| node != goal) {
                let literal = first(node, goal, &known);
                assert_eq!(routes.choices(node, host).to_vec(), literal, "from {node} to {goal}");
                lacks |= literal.is_empty();
            }
            for nic in 0..routes.nics_of(host) {
                let switch = routes.gates[(routes.gates_of[host as usize].0 + nic) as usize].switch;
                let known = literal(&routes, switch, &links);
                for node in (0..routes.nodes()).filter(|&node| node != switch) {
                    let ports = match routes.toward_nic(node, host, nic) {
                        Next::Port(port) => vec![port],
                        Next::Set(set) => routes.members(node, set).ports().collect(),
                        Next::Nowhere => Vec::new(),
                    };
                    assert_eq!(ports, first(node, switch, &known), "from {node} to NIC {nic} of {goal}");
                }
            }
        }
        // by column: no other host is farther than the one that is named
        for (column, &(farthest, own)) in routes.farthest.iter().enumerate() {
            let Some(host) = routes.hosts.iter().find(|host| host.column == column as u32) else { continue };
            let known = literal(&routes, host.target, &links);
            let time = |host: u32| Some(known[routes.node_of(host) as usize]?.1);
            let most = (0..routes.hosts() as u32).filter(|&host| host != own).filter_map(time).max();
            assert_eq!((farthest != NONE).then(|| time(farthest)).flatten(), most, "to column {column}");
        }
        (routes.sets.count(), lacks)
    }

    #[test]
    fn tables_of_known_machines_are_what_a_literal_search_finds() {
        for (spec, sets) in [
            (r#""torus", "dimensions": [4, 3, 3]"#, None),
            // any two or more of five dimensions
            (r#""hypercube", "dimensions": 5"#, Some(32 - 5 - 1)),
            (r#""fully-connected", "nodes": 70"#, Some(0)),
            (r#""fully-connected", "nodes": 36, "parallel": 2"#, Some(35)),
            (r#""fat-tree", "k": 4"#, None),
            (r#""single-switch", "nodes": 70"#, Some(0)),
        ] {
            let spec = format!(r#"{{"kind": {spec}, "bandwidth": "100 Gbps", "latency": "1 us"}}"#);
            let (found, lacks) = compare(&machine(&spec));
            assert!(sets.is_none_or(|sets| sets == found) && !lacks, "{spec}: {found} sets");
        }
    }

    #[test]
    fn tables_of_drawn_machines_are_what_a_literal_search_finds() {
        let (mut sets, mut parted) = (0, 0);
        for seed in 0..60 {
            let mut draws = Draws::new(seed);
            let mut builder = TopologyBuilder::new();
            let compute = builder.compute_type(stratasim_topo::catalogue::named("H100").expect("known"));
            let memory = builder.memory_type(MemoryType { capacity_bytes: None, bandwidth: None });
            let count = 4 + draws.below(20);
            let nodes: Vec<NodeId> = (0..count)
                .map(|number| {
                    let kind = match draws.below(8) {
                        0 => NodeKind::Memory(memory),
                        1..4 => NodeKind::Compute(compute),
                        _ => NodeKind::Switch,
                    };
                    builder.node(kind, format_args!("n{number}"))
                })
                .collect();
            // some nodes of the first few have more ports than a word has bits
            let cables = count + draws.below(if seed % 4 == 0 { 10 * count } else { count });
            for _ in 0..cables {
                let from = nodes[draws.below(if seed % 4 == 0 { 4 } else { count }) as usize];
                let to = nodes[draws.below(count) as usize];
                if from == to {
                    continue;
                }
                let rate = Bandwidth(1e9 * f64::from(1 + draws.below(2)));
                let link = LinkType::new(rate, Duration::from_ns(500 * u64::from(1 + draws.below(3))));
                match draws.below(6) {
                    0 => drop(builder.simplex(from, to, link)),
                    1 => drop(builder.half_duplex(from, to, link)),
                    _ => drop(builder.duplex(from, to, link)),
                }
            }
            let (found, lacks) = compare(&builder.build().expect("a machine"));
            sets += found;
            parted += usize::from(lacks);
        }
        assert!(sets > 100, "there is something to choose: {sets} sets");
        assert!((5..55).contains(&parted), "{parted} machines have hosts that others do not reach");
    }

    #[test]
    fn hosts_with_one_cable_have_no_row() {
        for (spec, rows) in [
            (r#""fat-tree", "k": 4"#, 20),
            (r#""leaf-spine", "leaves": 3, "spines": 2, "hosts-per-leaf": 4"#, 5),
            (r#""torus", "dimensions": [3, 4], "hosts-per-switch": 2"#, 12),
        ] {
            let spec = format!(r#"{{"kind": {spec}, "bandwidth": "100 Gbps", "latency": "1 us"}}"#);
            let routes = Routes::new(&machine(&spec), FULL).expect("a table");
            assert_eq!(routes.next.rows().len(), rows, "{spec}");
        }
    }

    #[test]
    fn networks_share_a_table_while_one_of_them_is_there() {
        let topology = machine(r#"{"kind": "ring", "nodes": 4, "bandwidth": "1 Gbps", "latency": "1 us"}"#);
        let [first, second, other] =
            [FULL, FULL, 99].map(|full| Routes::of(&topology, full).expect("a table"));
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        assert_eq!(other.full, 99);
    }

    #[test]
    fn ways_through_a_third_group_of_a_dragonfly_are_none_of_the_shortest() {
        let spec = r#"{"kind": "dragonfly", "groups": 5, "routers-per-group": 4, "hosts-per-router": 2,
            "global-links-per-router": 1, "bandwidth": "100 Gbps", "latency": "1 us"}"#;
        let topology = machine(spec);
        let routes = Routes::new(&topology, FULL).expect("a table");
        assert!(lengths(&topology, &routes.wires).contains(&GLOBAL));
        compare(&topology);
    }
}
