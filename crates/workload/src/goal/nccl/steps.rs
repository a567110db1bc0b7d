//! The steps of a rank in each operation.

use stratasim_core::BuildError;

use super::lane::{Lane, Work, Writer};
use super::layout::Layout;
use super::protocol::Cut;
use super::{NcclAlgorithm, NcclOperation, NcclSpec};
use crate::collective::bytes_of;

/// Pairs of a send and a receive that a channel handles at once.
const PAIRS_AT_ONCE: usize = 8;

/// An operation, ready to be written rank by rank.
pub(super) struct Plan<'a> {
    spec: &'a NcclSpec,
    layout: Layout,
    cut: Cut,
}

impl<'a> Plan<'a> {
    pub(super) fn new(spec: &'a NcclSpec) -> Result<Self, BuildError> {
        let layout = spec.layout();
        Ok(Self { spec, layout, cut: Cut::new(spec, layout.depth())? })
    }

    pub(super) const fn cut(&self) -> Cut {
        self.cut
    }

    /// Elements that the channels share: the vector, or the part of a rank.
    fn shared_elements(&self) -> u64 {
        match self.spec.operation {
            NcclOperation::AllGather | NcclOperation::ReduceScatter => {
                self.spec.elements() / u64::from(self.spec.ranks)
            }
            _ => self.spec.elements(),
        }
    }

    /// At least as many operations as all ranks have, without counting them one by one.
    pub(super) fn most_operations(&self) -> u128 {
        let n = u128::from(self.spec.ranks);
        if n == 1 {
            return 1;
        }
        let chunks = |elements: u64, chunk: u128| u128::from(elements).div_ceil(chunk);
        let chunk = u128::from(self.cut.chunk);
        if self.spec.operation.is_point_to_point() {
            let (pairs, part) = match self.spec.operation {
                NcclOperation::AllToAll => (n - 1, self.spec.elements().div_ceil(u64::from(self.spec.ranks))),
                _ => (1, self.spec.elements()),
            };
            // both sides, each with its work, and what joins them
            return n * pairs * (4 * chunks(part, chunk) + 1) + n;
        }
        let share = self.cut.share(self.shared_elements(), 0, self.spec.channels);
        let steps = match (self.spec.operation, self.spec.algorithm) {
            // up to three children either way, the parent, and the work
            (_, NcclAlgorithm::Tree) => 10 * chunks(share, chunk),
            (NcclOperation::AllReduce, _) => 3 * (2 * n - 1) * chunks(share, n * chunk),
            (NcclOperation::AllGather | NcclOperation::ReduceScatter, _) => 3 * n * chunks(share, chunk),
            _ => 3 * chunks(share, chunk),
        };
        n * u128::from(self.spec.channels) * steps * u128::from(self.cut.slices)
    }

    /// Writes what `rank` does.
    pub(super) fn rank(&self, rank: u32, writer: &mut Writer<'_>) {
        let spec = self.spec;
        if spec.operation == NcclOperation::AllToAll {
            writer.local_copy(self.part(rank));
        }
        if spec.ranks == 1 {
            return;
        }
        for channel in 0..spec.channels {
            writer.on_channel(channel);
            if spec.operation.is_point_to_point() {
                self.pairs(rank, channel, writer);
                continue;
            }
            let elements = self.cut.share(self.shared_elements(), channel, spec.channels);
            match (spec.operation, spec.algorithm) {
                (_, NcclAlgorithm::Tree) => self.tree(rank, channel, elements, writer),
                (NcclOperation::AllReduce, _) => self.ring_all_reduce(rank, channel, elements, writer),
                (NcclOperation::AllGather, _) => self.ring_parts(rank, channel, elements, Work::Copy, writer),
                (NcclOperation::ReduceScatter, _) => {
                    self.ring_parts(rank, channel, elements, Work::Reduce, writer);
                }
                (operation, _) => {
                    let work = if operation == NcclOperation::Reduce { Work::Reduce } else { Work::Copy };
                    self.ring_chain(rank, channel, elements, work, writer);
                }
            }
        }
    }

    /// The ranks before and after `rank` in the ring of `channel`.
    fn ring(&self, rank: u32, channel: u32) -> (u32, [u32; 1], [u32; 1]) {
        let (n, position) = (self.spec.ranks, self.layout.position(rank, channel));
        let at = |position| [self.layout.at(position, channel)];
        (position, at(position + n - 1), at(position + 1))
    }

    /// Reduce-scatter and all-gather of `n` chunks at a time.
    fn ring_all_reduce(&self, rank: u32, channel: u32, elements: u64, writer: &mut Writer<'_>) {
        let n = self.spec.ranks;
        let (position, before, after) = self.ring(rank, channel);
        let mut lane = Lane::default();
        let mut left = elements;
        while left > 0 {
            let turn = u64::from(n).saturating_mul(self.cut.chunk);
            let chunk = if left < turn {
                left.div_ceil(n.into()).next_multiple_of(self.cut.grain).min(self.cut.chunk)
            } else {
                self.cut.chunk
            };
            // chunk `position - back` of those that are left
            let elements = |back: u32| {
                let index = (position + 2 * n - back) % n;
                left.saturating_sub(u64::from(index) * chunk).min(chunk)
            };
            writer.step(&mut lane, &[], &after, Work::Copy, elements(1));
            for back in 2..=n {
                writer.step(&mut lane, &before, &after, Work::Reduce, elements(back));
            }
            for back in n + 1..2 * n - 1 {
                writer.step(&mut lane, &before, &after, Work::Copy, elements(back));
            }
            writer.step(&mut lane, &before, &[], Work::Copy, elements(2 * n - 1));
            left -= left.min(turn);
        }
    }

    /// All-gather, or reduce-scatter where the work is to reduce: a part of every rank at a time.
    fn ring_parts(&self, rank: u32, channel: u32, elements: u64, work: Work, writer: &mut Writer<'_>) {
        let (_, before, after) = self.ring(rank, channel);
        let mut lane = Lane::default();
        self.chunks(elements, |chunk| {
            writer.step(&mut lane, &[], &after, Work::Copy, chunk);
            for _ in 2..self.spec.ranks {
                writer.step(&mut lane, &before, &after, work, chunk);
            }
            writer.step(&mut lane, &before, &[], work, chunk);
        });
    }

    /// Broadcast from the root around the ring, or reduce to it.
    fn ring_chain(&self, rank: u32, channel: u32, elements: u64, work: Work, writer: &mut Writer<'_>) {
        let (_, before, after) = self.ring(rank, channel);
        let root = self.spec.root;
        let (is_first, is_last) = match work {
            Work::Copy => (rank == root, after == [root]),
            Work::Reduce => (before == [root], rank == root),
        };
        let mut lane = Lane::default();
        self.chunks(elements, |chunk| {
            let from = if is_first { &[][..] } else { &before };
            let to = if is_last { &[][..] } else { &after };
            let work = if is_first { Work::Copy } else { work };
            writer.step(&mut lane, from, to, work, chunk);
        });
    }

    /// All-reduce: up to the root of the tree and down again, at the same time.
    fn tree(&self, rank: u32, channel: u32, elements: u64, writer: &mut Writer<'_>) {
        let branch = self.layout.branch(rank, channel);
        let children = &branch.children[..];
        let (mut up, mut down) = (Lane::default(), Lane::default());
        self.chunks(elements, |chunk| match branch.parent {
            None => writer.step(&mut up, children, children, Work::Reduce, chunk),
            Some(parent) => {
                let work = if children.is_empty() { Work::Copy } else { Work::Reduce };
                writer.step(&mut up, children, &[parent], work, chunk);
                writer.step(&mut down, &[parent], children, Work::Copy, chunk);
            }
        });
    }

    /// Elements that every rank sends to `rank`.
    fn part(&self, rank: u32) -> u64 {
        bytes_of(self.spec.elements(), self.spec.ranks, rank..rank + 1)
    }

    /// The sends and receives of a group that run on `channel`, a few pairs at a time.
    fn pairs(&self, rank: u32, channel: u32, writer: &mut Writer<'_>) {
        let (n, channels) = (self.spec.ranks, self.spec.channels);
        let all = self.spec.operation == NcclOperation::AllToAll;
        let distances: Vec<u32> = if all {
            (1..n).filter(|distance| (distance - 1) % channels == channel).collect()
        } else {
            (channel == 0).then_some(self.spec.distance % n).into_iter().collect()
        };
        let mut join = None;
        let mut batches = distances.chunks(PAIRS_AT_ONCE).peekable();
        while let Some(batch) = batches.next() {
            let mut lanes: Vec<Lane> = batch.iter().flat_map(|_| [join, join].map(Lane::after)).collect();
            let sizes = |distance: u32| {
                let (to, from) = ((rank + distance) % n, (rank + n - distance) % n);
                let whole = self.spec.elements();
                let (sent, received) = if all { (self.part(to), self.part(rank)) } else { (whole, whole) };
                [(to, sent), (from, received)]
            };
            let most = batch.iter().flat_map(|&distance| sizes(distance).map(|(_, size)| size)).max();
            let mut offset = 0;
            while most.is_some_and(|most| offset < most) {
                for (pair, &distance) in batch.iter().enumerate() {
                    let [(to, sent), (from, received)] = sizes(distance);
                    let chunk = |size: u64| size.saturating_sub(offset).min(self.cut.chunk);
                    writer.step(&mut lanes[2 * pair], &[], &[to], Work::Copy, chunk(sent));
                    writer.step(&mut lanes[2 * pair + 1], &[from], &[], Work::Copy, chunk(received));
                }
                offset += self.cut.chunk;
            }
            if batches.peek().is_some() {
                join = Some(writer.join(&lanes));
            }
        }
    }

    fn chunks(&self, elements: u64, mut visit: impl FnMut(u64)) {
        let mut left = elements;
        while left > 0 {
            visit(left.min(self.cut.chunk));
            left -= left.min(self.cut.chunk);
        }
    }
}
