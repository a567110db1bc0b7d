//! One dimension of a product: which cables a step along it takes.

use stratasim_core::LinkId;

use super::Shape;
use crate::generators::cables::Cables;

/// Rule numbers of a dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct DimensionRule {
    /// Node id of the switch of line 0, where there are switches.
    pub(super) first_switch: u32,
    pub(super) extent: u32,
    pub(super) stride: u32,
    pub(super) shape: Shape,
    pub(super) parallel: u32,
    pub(super) cables: Cables,
}

impl DimensionRule {
    /// The shorter way round a ring: whether it goes up, and how far. Half way round, even coordinates go forward and odd
    /// ones backward, so that both directions are used alike.
    fn way_round(&self, from: u32, to: u32) -> (bool, u32) {
        let extent = self.extent;
        let (forward, backward) = ((to + extent - from) % extent, (from + extent - to) % extent);
        let is_forward = forward < backward || (forward == backward && from.is_multiple_of(2));
        (is_forward, forward.min(backward))
    }

    /// Which parallel cable a pair takes where there is no other dimension to spread pairs: a number to be divided by that of the cables.
    ///
    /// On a link of a ring, the pairs of each distance start at as many neighbours in a row, or at every other one of them where they are
    /// half way apart, so that their cables follow one another. Those of each distance begin behind those of the distance before (sums
    /// of distances): all pairs follow one another, too. The links of a line differ in which pairs they carry; sums of both ends, with a
    /// step where sums of some shift would be all even, come close.
    pub(super) fn spread(&self, from: u32, to: u32) -> u64 {
        let [start, end, cables] = [from, to, self.parallel].map(u64::from);
        if self.shape == Shape::Line || self.extent <= 2 {
            return start + end + if cables.is_multiple_of(2) { start / cables } else { 0 };
        }
        let (is_forward, far) = self.way_round(from, to);
        if 2 * far == self.extent {
            return start / 2;
        }
        let far = u64::from(far);
        if !cables.is_multiple_of(2) {
            // the same with other names of the cables, and pairs to one end have all of them, too
            return 2 * start + if is_forward { far } else { cables * far - far };
        }
        start + if is_forward { far } else { 0 } + far * (far - 1) / 2
    }

    /// Appends the links from coordinate `from` to `to` on `line`. Of parallel cables `copy` is used.
    pub(super) fn step(&self, line: u32, from: u32, to: u32, copy: u32, out: &mut Vec<LinkId>) {
        let cable = |per_line: u32, index: u32| (line * per_line + index) * self.parallel + copy;
        match self.shape {
            Shape::Ring if self.extent > 2 => {
                let extent = self.extent;
                let (is_forward, far) = self.way_round(from, to);
                if is_forward {
                    out.extend((0..far).map(|i| self.cables.up(cable(extent, (from + i) % extent))));
                } else {
                    let edge = |i| (from + extent - 1 - i) % extent;
                    out.extend((0..far).map(|i| self.cables.down(cable(extent, edge(i)))));
                }
            }
            Shape::Line | Shape::Ring if from < to => {
                out.extend((from..to).map(|edge| self.cables.up(cable(self.extent - 1, edge))));
            }
            Shape::Line | Shape::Ring => {
                out.extend((to..from).rev().map(|edge| self.cables.down(cable(self.extent - 1, edge))));
            }
            Shape::Clique => {
                let pairs = self.extent * (self.extent - 1) / 2;
                let pair = |lower: u32, upper: u32| upper * (upper - 1) / 2 + lower;
                out.push(if from < to {
                    self.cables.up(cable(pairs, pair(from, to)))
                } else {
                    self.cables.down(cable(pairs, pair(to, from)))
                });
            }
            Shape::Switch => {
                out.extend([
                    self.cables.up(cable(self.extent, from)),
                    self.cables.down(cable(self.extent, to)),
                ]);
            }
        }
    }
}
