//! Who is whose neighbour: rings and trees of the channels.

use crate::collective::double_binary_tree::Tree;

/// Nodes of equal size with neighbouring ranks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) ranks: u32,
    pub(super) per_node: u32,
    pub(super) channels: u32,
}

/// Neighbours of a rank in a tree: its parent, and its children (the one in its own node first).
#[derive(Debug, Clone, Default)]
pub(super) struct Branch {
    pub(super) parent: Option<u32>,
    pub(super) children: Vec<u32>,
}

impl Layout {
    /// The place of `rank` in the ring of `channel`, which enters a node at local rank `channel`.
    pub(super) fn position(self, rank: u32, channel: u32) -> u32 {
        let (node, local) = (rank / self.per_node, rank % self.per_node);
        let first = channel % self.per_node;
        node * self.per_node + (local + self.per_node - first) % self.per_node
    }

    /// The rank at `position` of the ring of `channel`.
    pub(super) fn at(self, position: u32, channel: u32) -> u32 {
        let position = position % self.ranks;
        let (node, place) = (position / self.per_node, position % self.per_node);
        node * self.per_node + (place + channel % self.per_node) % self.per_node
    }

    fn nodes(self) -> u32 {
        self.ranks / self.per_node
    }

    /// Edges from the root of a tree to the furthest rank, as NCCL counts them.
    pub(super) fn depth(self) -> u64 {
        u64::from(self.per_node - 1 + self.nodes().ilog2())
    }

    /// The neighbours of `rank` in the tree of `channel`: within a node a chain that begins at local
    /// rank `channel`, between the beginnings of the chains one of two binary trees.
    pub(super) fn branch(self, rank: u32, channel: u32) -> Branch {
        let node = rank / self.per_node;
        let place = self.position(rank, channel) % self.per_node;
        let within = |place: u32| self.at(node * self.per_node + place, channel);
        let mut branch = Branch::default();
        if place + 1 < self.per_node {
            branch.children.push(within(place + 1));
        }
        if place > 0 {
            branch.parent = Some(within(place - 1));
            return branch;
        }
        let second = channel >= self.channels.div_ceil(2);
        let head = |node: u32| self.at(node * self.per_node, channel);
        let (parent, children) = self.node_branch(node, second);
        branch.parent = parent.map(head);
        branch.children.extend(children.into_iter().map(head));
        branch
    }

    /// The neighbours of a node: number 0 stands above a binary tree of the others; the second tree is the
    /// first one mirrored or, for an odd number of nodes, shifted by one.
    fn node_branch(self, node: u32, second: bool) -> (Option<u32>, Vec<u32>) {
        let n = self.nodes();
        if n == 1 {
            return (None, Vec::new());
        }
        let mirrored = n.is_multiple_of(2);
        let to_number = |node: u32| match (second, mirrored) {
            (false, _) => node,
            (true, true) => n - 1 - node,
            (true, false) => (node + n - 1) % n,
        };
        let to_node = |number: u32| match (second, mirrored) {
            (false, _) => number,
            (true, true) => n - 1 - number,
            (true, false) => (number + 1) % n,
        };
        let tree = Tree { nodes: n - 1, second: false };
        match to_number(node) {
            0 => (None, vec![to_node(1 << tree.height())]),
            number => {
                let parent = tree.parent(number).unwrap_or(0);
                (Some(to_node(parent)), tree.children(number).map(to_node).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_visit_everybody_and_leave_each_node_once() {
        for (ranks, per_node) in [(1, 1), (6, 1), (4, 2), (24, 8), (12, 3)] {
            let layout = Layout { ranks, per_node, channels: 4 };
            for channel in 0..10 {
                let ring: Vec<_> = (0..ranks).map(|position| layout.at(position, channel)).collect();
                let mut sorted = ring.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..ranks).collect::<Vec<_>>());
                assert!((0..ranks).all(|p| layout.position(layout.at(p, channel), channel) == p));
                let crossings = (0..ranks as usize)
                    .filter(|&p| ring[p] / per_node != ring[(p + 1) % ranks as usize] / per_node)
                    .count();
                assert_eq!(crossings as u32, if ranks == per_node { 0 } else { ranks / per_node });
            }
        }
        let layout = Layout { ranks: 4, per_node: 2, channels: 2 };
        assert_eq!([0, 1, 2, 3].map(|position| layout.at(position, 1)), [1, 0, 3, 2]);
    }

    #[test]
    fn trees_span_all_ranks_and_no_node_is_inside_both() {
        for per_node in [1, 2, 8] {
            for nodes in 1..=33 {
                let ranks = nodes * per_node;
                let layout = Layout { ranks, per_node, channels: 2 };
                let mut inner = vec![0; nodes as usize];
                for channel in 0..2 {
                    let mut roots = 0;
                    for rank in 0..ranks {
                        let branch = layout.branch(rank, channel);
                        assert!(branch.children.len() <= 3);
                        for &child in &branch.children {
                            assert_eq!(layout.branch(child, channel).parent, Some(rank));
                        }
                        let other_nodes =
                            branch.children.iter().filter(|&&child| child / per_node != rank / per_node);
                        inner[(rank / per_node) as usize] += u32::from(other_nodes.count() > 1);
                        // every way up ends, at one root
                        let ups = std::iter::successors(Some(rank), |&at| layout.branch(at, channel).parent);
                        assert!(ups.count() as u64 <= layout.depth() + 2);
                        roots += u32::from(branch.parent.is_none());
                    }
                    assert_eq!(roots, 1);
                }
                assert!(inner.iter().all(|&count| count <= 1), "{nodes} nodes of {per_node}");
            }
        }
    }
}
