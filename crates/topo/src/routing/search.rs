//! One-source shortest-path search and the tree that it leaves.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use stratasim_core::{LinkId, NodeId};

use crate::graph::Port;
use crate::{NodeKind, Topology};

/// Cost of a path: what counts first, then what breaks ties.
pub(super) type PathCost = (u64, u64);

pub(super) const UNREACHED: PathCost = (u64::MAX, u64::MAX);

/// For every node the link by which it is reached from the root.
pub(super) struct Tree {
    /// One more than the id of the link, 0 where there is none.
    entry: Vec<u32>,
}

impl Tree {
    /// Appends the links from `root` to `dst`; false when it is not reached.
    pub(super) fn path(&self, topology: &Topology, root: NodeId, dst: NodeId, out: &mut Vec<LinkId>) -> bool {
        let start = out.len();
        let mut at = dst;
        while at != root {
            let Some(link) = self.entry[at.index()].checked_sub(1).map(LinkId) else {
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

/// The cost of one path after another.
pub(super) fn add(a: PathCost, b: PathCost) -> PathCost {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

/// Where `link` comes from when it is used to enter `node`.
fn other_end(topology: &Topology, link: LinkId, node: NodeId) -> NodeId {
    let [from, to] = topology.link(link).ends.expect("ports lead over links with ends");
    if to == node { from } else { to }
}

/// Working memory of searches on one topology; costs are cleared in proportion to what was touched.
pub(super) struct Scratch {
    best: Vec<PathCost>,
    tree: Tree,
    touched: Vec<NodeId>,
    heap: BinaryHeap<Reverse<(PathCost, NodeId)>>,
}

impl Scratch {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            best: vec![UNREACHED; nodes],
            tree: Tree { entry: vec![0; nodes] },
            touched: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Dijkstra's search from `root` over `ports`, which ends early when `goal` is settled.
    ///
    /// `cost` of a link must be more than zero, so that a settled node is final and the tree has no
    /// loops even where links take no time.
    pub(super) fn search<'a>(
        &mut self,
        topology: &Topology,
        ports: impl Fn(NodeId) -> &'a [Port],
        cost: impl Fn(LinkId) -> PathCost,
        root: NodeId,
        goal: Option<NodeId>,
    ) {
        for node in self.touched.drain(..) {
            self.best[node.index()] = UNREACHED;
            self.tree.entry[node.index()] = 0;
        }
        self.heap.clear();
        self.best[root.index()] = (0, 0);
        self.touched.push(root);
        self.heap.push(Reverse(((0, 0), root)));
        while let Some(Reverse((reached, node))) = self.heap.pop() {
            if Some(node) == goal {
                break;
            }
            if reached > self.best[node.index()] {
                continue;
            }
            // memories do not forward
            if node != root && matches!(topology.kind(node), NodeKind::Memory(_)) {
                continue;
            }
            for port in ports(node) {
                let new = add(reached, cost(port.link));
                let best = &mut self.best[port.to.index()];
                if new < *best {
                    if *best == UNREACHED {
                        self.touched.push(port.to);
                    }
                    *best = new;
                    self.tree.entry[port.to.index()] = port.link.0 + 1;
                    self.heap.push(Reverse((new, port.to)));
                }
            }
        }
    }

    /// Cost of every node in the last search.
    pub(super) fn costs(&self) -> &[PathCost] {
        &self.best
    }

    /// Appends the links from the root of the last search to `dst`; false when it was not reached.
    pub(super) fn path(&self, topology: &Topology, root: NodeId, dst: NodeId, out: &mut Vec<LinkId>) -> bool {
        self.tree.path(topology, root, dst, out)
    }

    /// The tree of the last search, to keep.
    pub(super) fn tree(&self) -> Tree {
        Tree { entry: self.tree.entry.clone() }
    }
}
