//! `topology="FAT_TREE"`: up by destination modulo ports, down to the destination.

use super::{Cables, Gateways, LocalRoutes, PrivateLinks, between_hosts};
use crate::io::simgrid::routes::Walk;

/// One level of cables: between the nodes of a level and those one level up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io::simgrid) struct Level {
    /// Children of a node of the upper level.
    pub(in crate::io::simgrid) children: u64,
    /// Parents of a node of the lower level.
    pub(in crate::io::simgrid) parents: u64,
    /// Parallel cables between a parent and a child.
    pub(in crate::io::simgrid) ports: u64,
}

/// An extended generalised fat tree (Öhring et al., IPPS 1995).
///
/// A node of level `l` has one digit per level of the tree: digit `j` counts parents where
/// `j < l` and children elsewhere, and digit 0 is the fastest in its position. Parent and child
/// differ in one digit. The cables of level `l` are numbered by child, then parent, then port.
#[derive(Debug)]
pub(in crate::io::simgrid) struct FatTree {
    pub(in crate::io::simgrid) levels: Vec<Level>,
    pub(in crate::io::simgrid) cables: Cables,
    /// SimGrid numbers the hosts of all fat trees of a platform in one row; the first of this one.
    pub(in crate::io::simgrid) first_position: u64,
    pub(in crate::io::simgrid) private: PrivateLinks,
}

impl FatTree {
    /// How many values digit `digit` has on `level`.
    fn radix(&self, level: usize, digit: usize) -> u64 {
        let Level { children, parents, .. } = self.levels[digit];
        if digit < level { parents } else { children }
    }

    /// Nodes of `level`; `None` when they overflow.
    pub(in crate::io::simgrid) fn nodes(levels: &[Level], level: usize) -> Option<u64> {
        let count = |(digit, l): (usize, &Level)| if digit < level { l.parents } else { l.children };
        levels.iter().enumerate().map(count).try_fold(1, u64::checked_mul)
    }

    /// The digits of node `position` of `level`.
    pub(in crate::io::simgrid) fn digits(&self, level: usize, mut position: u64) -> Vec<u64> {
        let digit = |digit| {
            let radix = self.radix(level, digit);
            let value = position % radix;
            position /= radix;
            value
        };
        (0..self.levels.len()).map(digit).collect()
    }

    /// The position of the node of `level` with `digits`.
    pub(in crate::io::simgrid) fn position(&self, level: usize, digits: &[u64]) -> u64 {
        let fold = |position, digit| position * self.radix(level, digit) + digits[digit];
        (0..digits.len()).rev().fold(0, fold)
    }

    /// The cable of level `level` from `child` (digits) to its parent number `parent`.
    fn cable(&self, level: usize, child: &[u64], parent: u64, port: u64) -> u64 {
        let below: u64 = (0..level)
            .map(|l| {
                Self::nodes(&self.levels, l).expect("checked") * self.levels[l].parents * self.levels[l].ports
            })
            .sum();
        let Level { parents, ports, .. } = self.levels[level];
        below + (self.position(level, child) * parents + parent) * ports + port
    }

    /// The link that all traffic of a switch crosses; switches follow the hosts, level by level.
    fn limiter(&self, level: usize, digits: &[u64]) -> Option<stratasim_core::LinkId> {
        if self.private.limiters.is_empty() {
            return None;
        }
        let below: u64 = (0..level).map(|l| Self::nodes(&self.levels, l).expect("checked")).sum();
        self.private.limiter(below + self.position(level, digits))
    }
}

impl LocalRoutes for FatTree {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        if src == dst
            && let Some(loopback) = self.private.loopback(src)
        {
            walk.out.push(loopback);
            return Ok(None);
        }
        between_hosts(Self::nodes(&self.levels, 0).expect("checked"), src, dst)?;
        let target = self.digits(0, u64::from(dst));
        let mut at = self.digits(0, u64::from(src));
        let mut level = 0;
        // up, until the target is below
        let mut spread = self.first_position + u64::from(dst);
        while level == 0 || at[level..] != target[level..] {
            let Level { parents, ports, .. } = self.levels[level];
            let choice = spread % (parents * ports);
            spread /= parents;
            walk.out.extend(self.limiter(level, &at));
            let (parent, port) = (choice % parents, choice / parents);
            walk.out.push(self.cables.up(self.cable(level, &at, parent, port)));
            at[level] = parent;
            level += 1;
        }
        // Down. A switch numbers its cables downwards port by port and child by child. The search
        // for the child starts at the port that the source chooses, and the one on the next level
        // goes on from the number reached, as SimGrid's does.
        let source = self.first_position + u64::from(src);
        while level > 0 {
            let mut number = source % self.levels[level - 1].ports * self.levels[level - 1].children;
            while level > 0 && number < self.levels[level - 1].children * self.levels[level - 1].ports {
                let children = self.levels[level - 1].children;
                if number % children == target[level - 1] {
                    let limiter = self.limiter(level, &at);
                    let parent = at[level - 1];
                    at[level - 1] = target[level - 1];
                    level -= 1;
                    walk.out.push(self.cables.down(self.cable(level, &at, parent, number / children)));
                    walk.out.extend(limiter);
                }
                number += 1;
            }
        }
        walk.out.extend(self.limiter(0, &target));
        Ok(None)
    }
}
