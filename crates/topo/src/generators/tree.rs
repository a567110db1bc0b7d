//! Extended generalised fat trees: what every tree generator builds, and the up/down rule.
//!
//! Level 0 are the hosts. A node of level `l` has `children` below it; a node of level `l - 1` has
//! `parents` above it, with `parallel` cables to each. Öhring, Ibel, Das, Kumar (1995), "On
//! generalized fat trees"; parallel cables as in Zahavi (2010), "D-Mod-K routing providing
//! non-blocking traffic for shift permutations on real life fat trees".
//!
//! Hosts under one node of level `l` are neighbours in the numbering: host `i` is in subtree
//! `i / (children of levels 1 to l)`. Within a subtree the nodes of level `l` are numbered by the
//! choices of parent that lead to them.

use std::sync::Arc;

use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::cables::{Cables, Duplex};
use super::check_size;
use crate::catalogue::ComputeChoice;
use crate::geometry::{Geometry, Tree, TreeLevel};
use crate::graph::{LinkType, NO_GROUP, NodeKind, Topology, TopologyBuilder};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// Levels that a tree may have.
pub(super) const MOST_LEVELS: usize = 16;

/// One level, as seen from the nodes at its upper end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    /// Nodes below each node of this level.
    pub(super) children: u32,
    /// Nodes of this level above each node of the level below.
    pub(super) parents: u32,
    /// Cables between a node and each of its parents.
    pub(super) parallel: u32,
    /// Every cable between this level and the one below.
    pub(super) link: LinkType,
}

/// Rule numbers of a level.
#[derive(Debug, Clone, Copy)]
struct LevelRule {
    /// Node id of the first switch of the level, and how many there are.
    first: u32,
    count: u32,
    /// Hosts under a node of the level below.
    hosts_below: u32,
    /// Nodes of the level below in each of its subtrees.
    width_below: u32,
    children: u32,
    parents: u32,
    parallel: u32,
    cables: Cables,
}

/// Builds the tree. `field` is where a user sets its size.
pub(super) fn build(
    field: &str,
    levels: &[Level],
    compute: &ComputeChoice,
    duplex: Duplex,
) -> Result<Topology, BuildError> {
    let counts = Counts::new(field, levels)?;
    let mut builder = TopologyBuilder::new();
    let total: u32 = counts.nodes.iter().sum();
    builder.reserve(total as usize, counts.cables as usize * duplex.links() as usize);
    let compute = builder.compute_type(compute.resolve().map_err(|e| e.within("compute"))?);
    for host in 0..counts.nodes[0] {
        builder.node(NodeKind::Compute(compute), format_args!("host-{host}"));
    }
    for level in 1..=levels.len() {
        add_switches(&mut builder, level, levels.len(), counts.nodes[level]);
    }

    let mut rules = Vec::with_capacity(levels.len());
    let (mut hosts_below, mut width_below, mut first_child) = (1, 1, 0);
    for (index, level) in levels.iter().enumerate() {
        let first_parent = first_child + counts.nodes[index];
        let cables = Cables::start(&builder, duplex);
        let width = width_below * level.parents;
        for child in 0..counts.nodes[index] {
            // a child's choice of parent is the new, most significant digit of the place
            let (subtree, place) = (child / width_below, child % width_below);
            let parents = first_parent + subtree / level.children * width + place;
            for port in 0..level.parents * level.parallel {
                let parent = NodeId(parents + port % level.parents * width_below);
                cables.add(&mut builder, NodeId(first_child + child), parent, level.link);
            }
        }
        let Level { children, parents, parallel, .. } = *level;
        let count = counts.nodes[index + 1];
        rules.push(LevelRule {
            first: first_parent,
            count,
            hosts_below,
            width_below,
            children,
            parents,
            parallel,
            cables,
        });
        hosts_below *= level.children;
        width_below = width;
        first_child = first_parent;
    }

    declare_groups(&mut builder, levels, &counts);
    builder.set_dimensions(levels.iter().map(|level| level.children));
    builder.set_structure(Structure::Ruled(Arc::new(UpDown { hosts: hosts_below, levels: rules })));
    builder.build()
}

/// Sizes of a tree, checked before anything is allocated.
struct Counts {
    /// Nodes of every level, hosts first.
    nodes: Vec<u32>,
    cables: u64,
}

impl Counts {
    fn new(field: &str, levels: &[Level]) -> Result<Self, BuildError> {
        if levels.is_empty() || levels.len() > MOST_LEVELS {
            return Err(BuildError::new(
                field,
                format!("a tree has 1 to {MOST_LEVELS} levels, this one has {}", levels.len()),
            ));
        }
        for (index, level) in levels.iter().enumerate() {
            if level.children == 0 || level.parents == 0 || level.parallel == 0 {
                let what = format!("level {} needs at least one child, parent and cable", index + 1);
                return Err(BuildError::new(field, what));
            }
        }
        let mut nodes = Vec::with_capacity(levels.len() + 1);
        let (mut total, mut cables) = (Some(0_u64), Some(0_u64));
        for level in 0..=levels.len() {
            let subtrees = product(levels[level..].iter().map(|level| level.children));
            let width = product(levels[..level].iter().map(|level| level.parents));
            let here = subtrees.and_then(|subtrees| subtrees.checked_mul(width?));
            let what = if level == 0 { "hosts" } else { "nodes" };
            let count = check_size(field, what, here)?;
            nodes.push(u32::try_from(count).expect("checked against a smaller bound"));
            total = total.and_then(|total| total.checked_add(count));
            if let Some(above) = levels.get(level) {
                let ports = u64::from(above.parents).checked_mul(u64::from(above.parallel));
                let added = ports.and_then(|ports| ports.checked_mul(count));
                cables = cables.and_then(|cables| cables.checked_add(added?));
            }
        }
        check_size(field, "nodes", total)?;
        let cables = check_size(field, "cables", cables)?;
        check_size(field, "links", Some(2 * cables))?;
        Ok(Self { nodes, cables })
    }
}

fn product(mut factors: impl Iterator<Item = u32>) -> Option<u64> {
    factors.try_fold(1_u64, |product, factor| product.checked_mul(u64::from(factor)))
}

fn add_switches(builder: &mut TopologyBuilder, level: usize, levels: usize, count: u32) {
    let name = match (levels, level) {
        (1, 1) if count == 1 => {
            builder.node(NodeKind::Switch, format_args!("switch"));
            return;
        }
        (2, 1) => "leaf",
        (2, 2) => "spine",
        (3, 1) => "edge",
        (3, 2) => "aggregation",
        (3, 3) => "core",
        _ => "",
    };
    for index in 0..count {
        if name.is_empty() {
            builder.node(NodeKind::Switch, format_args!("switch-{level}-{index}"));
        } else {
            builder.node(NodeKind::Switch, format_args!("{name}-{index}"));
        }
    }
}

/// Group `rack`: hosts and switches of each subtree of level 1; `pod`: of the level below the top of
/// a tree with three or more.
fn declare_groups(builder: &mut TopologyBuilder, levels: &[Level], counts: &Counts) {
    let mut declare = |name: &str, top: usize| {
        let mut column = Vec::with_capacity(builder.kinds().len());
        for (level, &count) in counts.nodes.iter().enumerate() {
            if level > top {
                column.extend(std::iter::repeat_n(NO_GROUP, count as usize));
                continue;
            }
            let width: u32 = levels[..level].iter().map(|level| level.parents).product();
            let subtrees: u32 = levels[level..top].iter().map(|level| level.children).product();
            column.extend((0..count).map(|node| node / (width * subtrees)));
        }
        builder.set_grouping(name, column);
    };
    if levels.len() >= 2 {
        declare("rack", 1);
    }
    if levels.len() >= 3 {
        declare("pod", levels.len() - 1);
    }
}

/// Up to the lowest common subtree, then down.
///
/// The way up depends on the destination only: at level `l` port `(destination / nodes of the level
/// below per subtree) mod (parents * parallel)`, of which the remainder by `parents` is the parent
/// and the quotient the parallel cable. Of the parallel cables on the way down the one at `source mod
/// parallel` is taken. This is SimGrid's choice for its fat-tree clusters (D-mod-K).
#[derive(Debug)]
struct UpDown {
    hosts: u32,
    levels: Vec<LevelRule>,
}

impl RouteRule for UpDown {
    fn name(&self) -> &'static str {
        "up-down"
    }

    fn geometry(&self) -> Option<Geometry> {
        let level = |level: &LevelRule| TreeLevel {
            first: level.first,
            count: level.count,
            children: level.children,
            parents: level.parents,
            hosts_below: level.hosts_below * level.children,
        };
        Some(Geometry::Tree(Tree {
            first_host: 0,
            hosts: self.hosts,
            levels: self.levels.iter().map(level).collect(),
        }))
    }

    fn covers(&self, src: NodeId, dst: NodeId) -> bool {
        src.0.max(dst.0) < self.hosts
    }

    fn route(
        &self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        _key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        if !self.covers(src, dst) {
            return Err(RouteError::new(topology, src, dst, "up/down joins hosts only"));
        }
        let (mut subtree, mut target) = (src.0, dst.0);
        let (mut place, mut top) = (0, 0);
        let mut parents = [0_u32; MOST_LEVELS];
        while subtree != target {
            let level = &self.levels[top];
            let ports = level.parents * level.parallel;
            let port = dst.0 / level.width_below % ports;
            out.push(level.cables.up((subtree * level.width_below + place) * ports + port));
            parents[top] = port % level.parents;
            place += level.width_below * parents[top];
            subtree /= level.children;
            target /= level.children;
            top += 1;
        }
        for (level, parent) in self.levels[..top].iter().zip(parents).rev() {
            let ports = level.parents * level.parallel;
            place -= level.width_below * parent;
            let child = dst.0 / level.hosts_below * level.width_below + place;
            out.push(level.cables.down(child * ports + src.0 % level.parallel * level.parents + parent));
        }
        Ok(Duration::ZERO)
    }
}
