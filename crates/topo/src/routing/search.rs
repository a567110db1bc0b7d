//! One-source shortest-path search over the inner nodes of a graph, and the tree that it leaves.
//!
//! A leaf is a node with a single neighbour, over one link in and one link out: a host on its switch,
//! a memory on its port. No path leads through it, and its own paths are its neighbour's and one link
//! more, so searches and trees leave leaves out. On a fat tree only the switches remain.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_core::random::mix;
use stratasim_core::{LinkId, NodeId};

use super::steps::Steps;
use crate::Topology;
use crate::graph::Port;

/// Cost of a path: what counts first, then what breaks ties.
pub(super) type PathCost = (u64, u64);

pub(super) const UNREACHED: PathCost = (u64::MAX, u64::MAX);

/// The cost of one path after another.
pub(super) fn add(a: PathCost, b: PathCost) -> PathCost {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

/// How a leaf hangs on the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaf {
    /// Its only neighbour, which forwards.
    pub(super) neighbour: NodeId,
    /// The link to the neighbour.
    pub(super) leave: LinkId,
    /// The link from the neighbour.
    pub(super) enter: LinkId,
}

/// Leaves and inner nodes of a graph.
pub(super) struct Inner {
    leaves: Vec<Option<Leaf>>,
    /// Place of every inner node among them.
    place: Vec<u32>,
    /// Inner nodes in order.
    nodes: Vec<NodeId>,
}

/// A pair of nodes without its leaves.
pub(super) struct Ends {
    /// Link from a leaf at the start.
    pub(super) first: Option<LinkId>,
    pub(super) src: NodeId,
    pub(super) dst: NodeId,
    /// Link to a leaf at the end.
    pub(super) last: Option<LinkId>,
}

impl Inner {
    pub(super) fn new(topology: &Topology) -> Self {
        let nodes = topology.node_count();
        // the only link into a node and where it comes from; `None` when there are several
        let mut entries: Vec<Option<Option<Port>>> = vec![None; nodes];
        for node in (0..nodes).map(NodeId::from_index) {
            for port in topology.ports(node) {
                let entry = &mut entries[port.to.index()];
                *entry = Some(entry.is_none().then_some(Port { link: port.link, to: node }));
            }
        }
        let leaf = |node: usize| {
            let id = NodeId::from_index(node);
            let [leave] = *topology.ports(id) else { return None };
            let enter = entries[node].flatten()?;
            (enter.to == leave.to && enter.to != id && topology.forwards(enter.to)).then_some(Leaf {
                neighbour: enter.to,
                leave: leave.link,
                enter: enter.link,
            })
        };
        let mut leaves: Vec<Option<Leaf>> = (0..nodes).map(leaf).collect();
        for node in 0..nodes {
            // of two nodes that have only each other, the first stands for the rest
            if leaves[node].is_some_and(|leaf| leaves[leaf.neighbour.index()].is_some()) {
                leaves[node] = None;
            }
        }
        let mut inner = Vec::new();
        let place = leaves
            .iter()
            .enumerate()
            .map(|(node, leaf)| {
                let place = inner.len() as u32;
                if leaf.is_none() {
                    inner.push(NodeId::from_index(node));
                }
                place
            })
            .collect();
        Self { leaves, place, nodes: inner }
    }

    /// Inner nodes in order.
    pub(super) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Number of inner nodes.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Place of an inner node among them.
    pub(super) fn place(&self, node: NodeId) -> usize {
        debug_assert!(!self.is_leaf(node));
        self.place[node.index()] as usize
    }

    pub(super) fn is_leaf(&self, node: NodeId) -> bool {
        self.leaves[node.index()].is_some()
    }

    /// The pair without its leaves. When what is left is one node, the links at the ends are the route.
    pub(super) fn ends(&self, src: NodeId, dst: NodeId) -> Ends {
        let mut ends = Ends { first: None, src, dst, last: None };
        if let Some(leaf) = self.leaves[src.index()] {
            ends.first = Some(leaf.leave);
            ends.src = leaf.neighbour;
        }
        if let Some(leaf) = self.leaves[dst.index()] {
            ends.last = Some(leaf.enter);
            ends.dst = leaf.neighbour;
        }
        ends
    }
}

/// For every inner node the link by which it is reached from the root.
#[derive(Clone)]
pub(super) struct Tree {
    /// By place: one more than the id of the link, 0 where there is none.
    entry: Vec<u32>,
}

/// Where `link` comes from when it is used to enter `node`.
fn other_end(topology: &Topology, link: LinkId, node: NodeId) -> NodeId {
    let [from, to] = topology.link(link).ends.expect("ports lead over links with ends");
    if to == node { from } else { to }
}

impl Tree {
    /// Appends the links from `root` to the inner node `dst`; false when it is not reached.
    pub(super) fn path(
        &self,
        topology: &Topology,
        inner: &Inner,
        root: NodeId,
        dst: NodeId,
        out: &mut Vec<LinkId>,
    ) -> bool {
        let start = out.len();
        let mut at = dst;
        while at != root {
            let Some(link) = self.entry[inner.place(at)].checked_sub(1).map(LinkId) else {
                out.truncate(start);
                return false;
            };
            out.push(link);
            at = other_end(topology, link, at);
        }
        out[start..].reverse();
        true
    }
}

/// Working memory of searches on one topology; cleared in proportion to what was touched. All is by place.
pub(super) struct Scratch {
    /// The least cost of a way so far; only where steps differ.
    best: Vec<PathCost>,
    /// Steps of the shortest way; only where all cost the same.
    far: Vec<u32>,
    tree: Tree,
    /// Where the entry of a node there comes from; only where all steps cost the same.
    parent: Vec<u32>,
    touched: Vec<u32>,
    heap: BinaryHeap<Reverse<(PathCost, u32)>>,
}

/// As far as nothing is.
pub(super) const FAR: u32 = u32::MAX;

impl Scratch {
    /// For searches over `steps` between so many inner nodes.
    pub(super) fn new(inner: usize, steps: &Steps) -> Self {
        let equal = steps.each().is_some();
        let (by_cost, by_steps) = if equal { (0, inner) } else { (inner, 0) };
        Self {
            best: vec![UNREACHED; by_cost],
            far: vec![FAR; by_steps],
            tree: Tree { entry: vec![0; inner] },
            parent: vec![0; by_steps],
            touched: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Searches from `root` to inner nodes; ends early when the way to `goal` is known.
    ///
    /// The cost of a step must be more than zero, so that a settled node is final and the tree has no loops even where links
    /// take no time.
    pub(super) fn search(
        &mut self,
        steps: &Steps,
        cost: impl Fn(LinkId) -> PathCost,
        root: usize,
        goal: Option<usize>,
    ) {
        let (root, goal) = (root as u32, goal.map(|goal| goal as u32));
        match steps.each() {
            Some(_) => self.by_steps(steps, root, goal),
            None => self.by_cost(steps, cost, root, goal),
        }
    }

    /// Dijkstra's search.
    fn by_cost(&mut self, steps: &Steps, cost: impl Fn(LinkId) -> PathCost, root: u32, goal: Option<u32>) {
        for place in self.touched.drain(..) {
            self.best[place as usize] = UNREACHED;
            self.tree.entry[place as usize] = 0;
        }
        self.heap.clear();
        self.best[root as usize] = (0, 0);
        self.touched.push(root);
        self.heap.push(Reverse(((0, 0), root)));
        while let Some(Reverse((reached, place))) = self.heap.pop() {
            if Some(place) == goal {
                break;
            }
            if reached > self.best[place as usize] || place != root && !steps.forwards(place) {
                continue;
            }
            for step in steps.of(place) {
                let new = add(reached, cost(step.link));
                let best = &mut self.best[step.to as usize];
                if new < *best {
                    if *best == UNREACHED {
                        self.touched.push(step.to);
                    }
                    *best = new;
                    self.tree.entry[step.to as usize] = step.link.0 + 1;
                    self.heap.push(Reverse((new, step.to)));
                }
            }
        }
    }

    /// The same where all steps cost the same: breadth first. Dijkstra's search settles nodes that are equally far in the order
    /// of their places, and the first one that leads to a node keeps it; here they come in any order, and the least place keeps it.
    fn by_steps(&mut self, steps: &Steps, root: u32, goal: Option<u32>) {
        for place in self.touched.drain(..) {
            self.far[place as usize] = FAR;
            self.tree.entry[place as usize] = 0;
        }
        self.far[root as usize] = 0;
        self.touched.push(root);
        let (mut begin, mut steps_there) = (0, 0);
        // those that are equally far stand together, as long as there are any
        while begin < self.touched.len() && goal.is_none_or(|goal| self.far[goal as usize] == FAR) {
            let end = self.touched.len();
            steps_there += 1;
            for at in begin..end {
                let place = self.touched[at];
                if place != root && !steps.forwards(place) {
                    continue;
                }
                for step in steps.of(place) {
                    let to = step.to as usize;
                    if self.far[to] == FAR {
                        self.far[to] = steps_there;
                        self.touched.push(step.to);
                    } else if self.far[to] != steps_there || self.parent[to] <= place {
                        continue;
                    }
                    (self.tree.entry[to], self.parent[to]) = (step.link.0 + 1, place);
                }
            }
            begin = end;
        }
    }

    /// Costs of the inner nodes in the last search, by place, where steps differ.
    pub(super) fn costs(&self) -> &[PathCost] {
        &self.best
    }

    /// Steps to the inner nodes in the last search, by place, where all cost the same; [`FAR`] where there is no way.
    pub(super) fn far(&self) -> &[u32] {
        &self.far
    }

    /// The tree of the last search.
    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }
}

/// What was found out per root, within a number of entries.
///
/// A full store replaces an entry at random (from a counter, so runs repeat): sources that ask in
/// turn then still find some of theirs, which they never would if the oldest went first.
pub(super) struct Store<T> {
    /// By node: 0, or one more than the slot.
    slots: Vec<u32>,
    kept: Vec<(NodeId, T)>,
    most: usize,
    replaced: u64,
}

impl<T> Store<T> {
    /// For the nodes of a graph, with as many entries of `entry_bytes` as fit into `bytes`, at least
    /// one.
    pub(super) fn new(nodes: usize, bytes: usize, entry_bytes: usize) -> Self {
        let most = (bytes / entry_bytes.max(1)).max(1);
        Self { slots: vec![0; nodes], kept: Vec::new(), most, replaced: 0 }
    }

    /// The slot of what is known about `root`.
    pub(super) fn slot(&self, root: NodeId) -> Option<usize> {
        self.slots[root.index()].checked_sub(1).map(|slot| slot as usize)
    }

    pub(super) fn get(&self, slot: usize) -> &T {
        &self.kept[slot].1
    }

    /// Keeps `value` for `root`; the slot that it got.
    pub(super) fn keep(&mut self, root: NodeId, value: T) -> usize {
        let slot = if self.kept.len() < self.most {
            self.kept.push((root, value));
            self.kept.len() - 1
        } else {
            self.replaced += 1;
            let slot = ((u128::from(mix(self.replaced)) * self.most as u128) >> 64) as usize;
            let (evicted, _) = std::mem::replace(&mut self.kept[slot], (root, value));
            self.slots[evicted.index()] = 0;
            slot
        };
        self.slots[root.index()] = slot as u32 + 1;
        slot
    }
}
