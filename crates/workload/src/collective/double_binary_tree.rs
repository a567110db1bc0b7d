//! Two binary trees, each for one half of the data, in which nobody is an inner node twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::{Action, CollectiveAlgorithm, CollectiveKind, Combine, Plan, bytes_of, check};

/// All-reduce, broadcast and reduce over two complementary binary trees, pipelined in chunks.
///
/// A binary tree leaves half of its members, the leaves, without anything to send. Here the leaves
/// of one tree are the inner nodes of the other one and each tree carries half of the vector, so
/// that every member sends and receives about twice the vector in a broadcast's time at full rate:
/// bandwidth as a ring, latency as a tree (Sanders, Speck and Träff, "Two-tree algorithms for full
/// bandwidth broadcast, reduction and scan", 2009). In a broadcast and a reduce member 0 stands above
/// both roots; in an all-reduce each tree reduces to its own root and broadcasts from there while
/// later chunks still come up.
///
/// With `k` chunks per half and trees of height `h = floor(log2 n)` the last member is done after
/// about `k + 2 h` steps of an all-reduce. All members together send `(n - 1) B` bytes, twice that
/// for an all-reduce.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DoubleBinaryTree {
    /// Largest message: each half is cut into that many bytes at most. Small chunks fill the
    /// pipeline sooner, large ones pay fewer latencies.
    #[serde(default = "default_chunk")]
    pub chunk: Bytes,
}

fn default_chunk() -> Bytes {
    Bytes(512 << 10)
}

impl Default for DoubleBinaryTree {
    fn default() -> Self {
        Self { chunk: default_chunk() }
    }
}

/// More chunks per half than this are refused.
const MOST_CHUNKS: u64 = 1 << 20;

const DOES: [CollectiveKind; 3] =
    [CollectiveKind::AllReduce, CollectiveKind::Broadcast, CollectiveKind::Reduce];

impl CollectiveAlgorithm for DoubleBinaryTree {
    fn plan(&self, kind: CollectiveKind, members: u32, bytes: u64) -> Result<Box<dyn Plan>, BuildError> {
        check("double-binary-tree", &DOES, kind, members, bytes)?;
        if self.chunk.count() == 0 {
            return Err(BuildError::new(
                "chunk",
                "a chunk of 0 bytes never moves anything; give at least 1 B",
            ));
        }
        let chunks = bytes.div_ceil(2).div_ceil(self.chunk.count()).max(1);
        if chunks > MOST_CHUNKS {
            return Err(BuildError::new(
                "chunk",
                format!(
                    "chunks of {} cut {bytes} bytes into more than 2^20 messages per half; give larger chunks",
                    self.chunk
                ),
            ));
        }
        Ok(Box::new(TwoTrees { kind, members, bytes, chunks: chunks as u32 }))
    }
}

#[derive(Debug)]
struct TwoTrees {
    kind: CollectiveKind,
    members: u32,
    bytes: u64,
    /// Chunks per tree.
    chunks: u32,
}

/// One of the two trees: positions 1 to `nodes` of an in-order binary tree. The level of a position
/// is the number of its trailing zeros, so leaves are exactly the odd positions.
#[derive(Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) nodes: u32,
    /// Even and odd positions are exchanged.
    pub(crate) second: bool,
}

impl Tree {
    /// Position of the node with number `node` of 1 to `nodes`; odd and even numbers change places
    /// in the second tree, by mirroring or, where that keeps parity, by shifting.
    fn position(self, node: u32) -> u32 {
        match (self.second, self.nodes.is_multiple_of(2)) {
            (false, _) => node,
            (true, true) => self.nodes + 1 - node,
            (true, false) => node % self.nodes + 1,
        }
    }

    /// The node at `position`.
    fn node(self, position: u32) -> u32 {
        match (self.second, self.nodes.is_multiple_of(2)) {
            (false, _) => position,
            (true, true) => self.nodes + 1 - position,
            (true, false) => (position + self.nodes - 2) % self.nodes + 1,
        }
    }

    /// Position above `position`; `None` for the root.
    pub(crate) fn parent(self, position: u32) -> Option<u32> {
        let level = position & position.wrapping_neg();
        let left = position ^ level;
        let up = left | (level << 1);
        // a subtree that the last position cuts off hangs on the next one to the left
        [up, left].into_iter().find(|&parent| (1..=self.nodes).contains(&parent))
    }

    /// Positions below `position`.
    pub(crate) fn children(self, position: u32) -> impl Iterator<Item = u32> {
        let half = (position & position.wrapping_neg()) / 2;
        let left = (half > 0).then(|| position - half);
        let step = std::iter::successors(Some(half), |step| Some(step / 2))
            .take_while(|&step| step > 0)
            .find(|step| position + step <= self.nodes);
        left.into_iter().chain(step.map(|step| position + step))
    }

    fn depth(self, position: u32) -> u32 {
        std::iter::successors(self.parent(position), |&at| self.parent(at)).count() as u32
    }

    pub(crate) fn height(self) -> u32 {
        self.nodes.checked_ilog2().unwrap_or(0)
    }
}

/// Place of a member in one tree, in terms of members.
struct Place {
    parent: Option<u32>,
    children: [Option<u32>; 2],
    depth: u32,
}

/// Four streams of chunks may pass a member in each tree; chunk `k` of a stream that begins at step
/// `s` passes at step `s + k`.
struct Streams {
    place: Place,
    /// Step at which chunk 0 goes to the parent.
    up_out: Option<u32>,
    /// Step at which chunk 0 comes from the children.
    up_in: Option<u32>,
    /// Step at which chunk 0 comes from the parent.
    down_in: Option<u32>,
    /// Step at which chunk 0 goes to the children.
    down_out: Option<u32>,
}

impl TwoTrees {
    /// Whether member 0 stands above both roots.
    fn rooted(&self) -> bool {
        self.kind != CollectiveKind::AllReduce
    }

    fn trees(&self) -> [Tree; 2] {
        let nodes = self.members - u32::from(self.rooted());
        [false, true].map(|second| Tree { nodes, second })
    }

    fn place(&self, tree: Tree, member: u32) -> Place {
        // nodes are numbered from 1: members 1 to n - 1 below member 0, or all members
        let offset = u32::from(!self.rooted());
        let member_at = |position: u32| tree.node(position) - offset;
        let root = 1 << tree.height();
        if self.rooted() && member == 0 {
            return Place { parent: None, children: [Some(member_at(root)), None], depth: 0 };
        }
        let position = tree.position(member + offset);
        let mut below = tree.children(position).map(member_at);
        let above = tree.parent(position).map(member_at);
        Place {
            parent: if self.rooted() { Some(above.unwrap_or(0)) } else { above },
            children: [below.next(), below.next()],
            depth: tree.depth(position) + u32::from(self.rooted()),
        }
    }

    /// Steps are counted over the whole machine: what one member sends at a step another one
    /// receives at the same step, so that no member waits for a later step of another one.
    fn streams(&self, tree: Tree, member: u32) -> Streams {
        let place = self.place(tree, member);
        let height = tree.height() + u32::from(self.rooted());
        let (depth, below) = (place.depth, place.children[0].is_some());
        let goes_up = self.kind != CollectiveKind::Broadcast;
        let goes_down = self.kind != CollectiveKind::Reduce;
        // the root has chunk 0 after step height - 1
        let turn = if goes_up { height } else { 0 };
        Streams {
            up_out: (goes_up && place.parent.is_some()).then(|| height - depth),
            up_in: (goes_up && below).then(|| height - depth - 1),
            down_in: (goes_down && place.parent.is_some()).then(|| turn + depth - 1),
            down_out: (goes_down && below).then(|| turn + depth),
            place,
        }
    }

    /// First steps of everything that `member` does, ascending; each goes on for `chunks` steps.
    fn starts(streams: &[Streams; 2]) -> ([u32; 8], usize) {
        let mut starts = [0; 8];
        let mut count = 0;
        for stream in streams {
            for start in [stream.up_out, stream.up_in, stream.down_in, stream.down_out].into_iter().flatten()
            {
                starts[count] = start;
                count += 1;
            }
        }
        starts[..count].sort_unstable();
        (starts, count)
    }

    /// Walks over the steps at which the member has something to do: calls `visit` with the first
    /// step and the number of steps of each stretch that adds to those before.
    fn stretches(&self, streams: &[Streams; 2], mut visit: impl FnMut(u32, u32)) {
        let (starts, count) = Self::starts(streams);
        let mut covered = 0;
        for &start in &starts[..count] {
            let (from, to) = (start.max(covered), start + self.chunks);
            if to > from {
                visit(from, to - from);
                covered = to;
            }
        }
    }

    fn send(&self, to: u32, chunk: u32) -> Action {
        let bytes = bytes_of(self.bytes, 2 * self.chunks, chunk..chunk + 1);
        Action::Send { to, chunks: chunk..chunk + 1, bytes }
    }
}

impl Plan for TwoTrees {
    fn rounds(&self, member: u32) -> u32 {
        if self.members == 1 {
            return 0;
        }
        let streams = self.trees().map(|tree| self.streams(tree, member));
        let mut rounds = 0;
        self.stretches(&streams, |_, steps| rounds += steps);
        rounds
    }

    fn round(&self, member: u32, round: u32, out: &mut Vec<Action>) {
        let streams = self.trees().map(|tree| self.streams(tree, member));
        let (mut step, mut before) = (0, 0);
        self.stretches(&streams, |from, steps| {
            if (before..before + steps).contains(&round) {
                step = from + round - before;
            }
            before += steps;
        });
        // two members may be neighbours in both trees: senders and receivers list in the same order
        for (tree, stream) in streams.iter().enumerate() {
            let first = tree as u32 * self.chunks;
            let chunk = |start: Option<u32>| {
                let index = step.checked_sub(start?)?;
                (index < self.chunks).then_some(first + index)
            };
            let receive = |from, chunk, combine| Action::Receive { from, chunks: chunk..chunk + 1, combine };
            let Place { parent, children, .. } = stream.place;
            let children = || children.into_iter().flatten();
            if let (Some(chunk), Some(parent)) = (chunk(stream.up_out), parent) {
                out.push(self.send(parent, chunk));
            }
            if let Some(chunk) = chunk(stream.up_in) {
                out.extend(children().map(|child| receive(child, chunk, Combine::Reduce)));
            }
            if let (Some(chunk), Some(parent)) = (chunk(stream.down_in), parent) {
                out.push(receive(parent, chunk, Combine::Copy));
            }
            if let Some(chunk) = chunk(stream.down_out) {
                out.extend(children().map(|child| self.send(child, chunk)));
            }
        }
    }

    fn chunks(&self) -> u32 {
        2 * self.chunks
    }

    fn owner(&self, _: u32) -> u32 {
        0
    }

    fn total_bytes(&self) -> u64 {
        let phases = if self.kind == CollectiveKind::AllReduce { 2 } else { 1 };
        phases * u64::from(self.members - 1) * self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_children_agree_and_nobody_is_inside_both_trees() {
        for nodes in 1..=200 {
            let trees = [false, true].map(|second| Tree { nodes, second });
            for tree in trees {
                let mut edges = 0;
                for position in 1..=nodes {
                    assert_eq!(tree.position(tree.node(position)), position, "of {nodes}");
                    assert!(tree.depth(position) <= tree.height(), "{position} of {nodes}");
                    for child in tree.children(position) {
                        assert_eq!(tree.parent(child), Some(position), "{child} of {nodes}");
                        edges += 1;
                    }
                }
                assert_eq!(edges, nodes - 1);
                assert_eq!(tree.parent(1 << tree.height()), None);
            }
            for node in 1..=nodes {
                let inner = trees.map(|tree| tree.children(tree.position(node)).count() > 0);
                assert_ne!(inner, [true, true], "node {node} of {nodes}");
            }
        }
    }
}
