//! Fat trees: k-ary n-trees and their routing functions.

use stratasim_core::BuildError;

use super::super::fabric::{Channel, End, Fabric};
use super::super::routing::packed::{Packed, Tree};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::{check_size, entry};

/// A k-ary n-tree (Petrini, Vanneschi 1997): `n` levels of `k^(n-1)` routers, level 0 the roots, `k^n`
/// terminals below level `n - 1`.
///
/// Router `level * k^(n-1) + position`. Ports 0 to `k - 1` lead down, `k` to `2 k - 1` up; roots have only
/// the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatTree {
    k: u32,
    n: u32,
    /// Routers of a level.
    width: u32,
}

impl FatTree {
    /// A tree of arity `k` with `n` levels.
    ///
    /// # Errors
    /// Sizes that make no network.
    pub fn new(k: u32, n: u32) -> Result<Self, BuildError> {
        check_size(k, n)?;
        Ok(Self { k, n, width: k.pow(n - 1) })
    }

    /// Terminals.
    pub fn nodes(&self) -> u32 {
        self.width * self.k
    }

    /// The routers and channels, all of one cycle.
    pub fn fabric(&self) -> Fabric {
        let ports = |level: u32| (if level == 0 { self.k } else { 2 * self.k }) as u16;
        let list =
            (0..self.n * self.width).map(|router| (ports(router / self.width), ports(router / self.width)));
        let mut fabric = Fabric::new(list.collect());
        for level in 1..self.n {
            // a block of `outer` positions shares its parents; each of its children has `inner` positions
            let (outer, inner) = (self.k.pow(self.n - level), self.k.pow(self.n - 1 - level));
            for position in 0..self.width {
                let (block, offset) = (position / outer, position % outer);
                for up in 0..self.k {
                    let parent = (level - 1) * self.width + block * outer + up * inner + offset % inner;
                    let child = level * self.width + position;
                    let (up, down) = ((self.k + up) as u16, (offset / inner) as u16);
                    let channel =
                        |router, port| Channel { end: End::Router { router, port }, ..Channel::default() };
                    fabric.connect((child, up), channel(parent, down));
                    fabric.connect((parent, down), channel(child, up));
                }
            }
        }
        for node in 0..self.nodes() {
            let port = (node % self.k) as u16;
            let edge = Channel::default();
            fabric.attach((self.n - 1) * self.width + node / self.k, (port, port), edge, edge, None);
        }
        fabric
    }
}

/// Nearest common ancestor: up by any port until the destination is below, then the only way down.
#[derive(Debug, Clone)]
pub struct TreeRouting {
    tree: FatTree,
    adaptive: bool,
    packed: Option<Packed>,
}

impl TreeRouting {
    /// `nca` with a random way up, or `anca` with the better of two random ones.
    pub fn new(tree: FatTree, adaptive: bool) -> Self {
        let packed = if adaptive { None } else { Tree::of_levels(tree.k, tree.n).map(Packed::Tree) };
        Self { tree, adaptive, packed }
    }
}

impl FlitRouting for TreeRouting {
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let FatTree { k, n, width } = self.tree;
        let (level, position) = (place.router / width, place.router % width);
        let below = k.pow(n - 1 - level);
        let output = if head.dest / (below * k) == position / below {
            head.dest % (below * k) / below
        } else if self.adaptive {
            let (one, other) = (k + surroundings.draw(k), k + surroundings.draw(k));
            if surroundings.used(one as u16) > surroundings.used(other as u16) { other } else { one }
        } else {
            k + surroundings.draw(k)
        };
        entry(output as u16, head.range)
    }

    fn packed(&self) -> Option<&Packed> {
        self.packed.as_ref()
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }

    fn adaptive(&self) -> bool {
        self.adaptive
    }
}
