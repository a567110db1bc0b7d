//! Products of lines, rings, cliques and switches: what meshes, tori, hypercubes, HyperX and
//! multi-dimensional machines are made of, and dimension-order routing.
//!
//! Vertex `v` has coordinate `v / stride % extent` in each dimension, where the stride is the product
//! of the extents before it: the first dimension is the innermost. Vertices that differ in one
//! coordinate only form a line, ring or clique, or share a switch.

mod dimension;

use std::sync::Arc;

use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};

use self::dimension::DimensionRule;
use super::cables::{Cables, Duplex};
use super::check_size;
use crate::catalogue::ComputeChoice;
use crate::geometry::{Geometry, Grid, GridDimension, GridShape};
use crate::graph::{LinkType, NO_GROUP, NodeKind, Topology, TopologyBuilder};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// Dimensions that a product may have.
pub(super) const MOST_DIMENSIONS: usize = 32;

/// How the vertices along one dimension are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Neighbours only.
    Line,
    /// Neighbours, and the last with the first. Two vertices have one cable, not two.
    Ring,
    /// Every pair.
    Clique,
    /// All of them with a switch of their own.
    Switch,
}

/// One dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dimension {
    pub(super) extent: u32,
    pub(super) shape: Shape,
    /// Cables in place of each single one.
    pub(super) parallel: u32,
    pub(super) link: LinkType,
}

/// Hosts on every vertex, which is then a switch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Concentration {
    pub(super) hosts: u32,
    pub(super) link: LinkType,
}

impl Concentration {
    /// `hosts` hosts on every vertex, with cables like `link` where nothing else is given.
    ///
    /// # Errors
    /// Figures of host cables without hosts.
    pub(super) fn of(
        hosts: Option<u32>,
        bandwidth: Option<Bandwidth>,
        latency: Option<Duration>,
        link: LinkType,
    ) -> Result<Option<Self>, BuildError> {
        match (hosts, bandwidth, latency) {
            (None, Some(_), _) => {
                Err(BuildError::new("host-bandwidth", "there are no host cables without `hosts-per-switch`"))
            }
            (None, None, Some(_)) => {
                Err(BuildError::new("host-latency", "there are no host cables without `hosts-per-switch`"))
            }
            (None, None, None) => Ok(None),
            (Some(0), _, _) => Err(BuildError::new("hosts-per-switch", "must be at least 1")),
            (Some(hosts), bandwidth, latency) => {
                let bandwidth = bandwidth.unwrap_or(link.bandwidth);
                let latency = latency.unwrap_or(link.latency);
                Ok(Some(Self { hosts, link: LinkType { bandwidth, latency, ..link } }))
            }
        }
    }
}

/// What to build.
pub(super) struct Product<'a> {
    /// Where a user sets the size.
    pub(super) field: &'a str,
    pub(super) dimensions: &'a [Dimension],
    /// Hosts on switches; without, the vertices are the compute nodes.
    pub(super) concentration: Option<Concentration>,
    pub(super) compute: &'a ComputeChoice,
    pub(super) duplex: Duplex,
}

impl Dimension {
    /// Cables along one line of this dimension, not counting parallel ones.
    fn cables_per_line(&self) -> u64 {
        let extent = u64::from(self.extent);
        match self.shape {
            Shape::Line => extent - 1,
            Shape::Ring if self.extent < 3 => extent - 1,
            Shape::Ring => extent,
            Shape::Clique => extent * (extent - 1) / 2,
            Shape::Switch => extent,
        }
    }
}

impl Product<'_> {
    /// Builds the graph with its rule.
    ///
    /// # Errors
    /// No dimension, an empty one, too many nodes or links.
    pub(super) fn build(&self) -> Result<Topology, BuildError> {
        let vertices = self.check()?;
        let mut builder = TopologyBuilder::new();
        let compute = builder.compute_type(self.compute.resolve().map_err(|e| e.within("compute"))?);
        let per_vertex = self.concentration.map_or(1, |c| c.hosts);
        let hosts = vertices * per_vertex;
        for host in 0..hosts {
            builder.node(NodeKind::Compute(compute), format_args!("host-{host}"));
        }
        let mut rule =
            DimensionOrder { hosts, per_vertex, vertices, host_cables: None, dimensions: Vec::new() };
        let mut first_vertex = 0;
        if let Some(concentration) = self.concentration {
            first_vertex = hosts;
            for vertex in 0..vertices {
                builder.node(NodeKind::Switch, format_args!("router-{vertex}"));
            }
            let cables = Cables::start(&builder, self.duplex);
            for host in 0..hosts {
                let router = NodeId(first_vertex + host / per_vertex);
                cables.add(&mut builder, NodeId(host), router, concentration.link);
            }
            rule.host_cables = Some(cables);
        }
        let mut stride = 1;
        for (index, dimension) in self.dimensions.iter().enumerate() {
            let first_switch = builder.kinds().len() as u32;
            let cables = self.join(&mut builder, index, first_vertex, stride, vertices);
            rule.dimensions.push(DimensionRule {
                first_switch,
                extent: dimension.extent,
                stride,
                shape: dimension.shape,
                parallel: dimension.parallel,
                cables,
            });
            stride *= dimension.extent;
        }
        if self.concentration.is_some() {
            let routers = (0..hosts).map(|host| host / per_vertex).chain(0..vertices);
            let mut column: Vec<u32> = routers.collect();
            column.resize(builder.kinds().len(), NO_GROUP);
            builder.set_grouping("router", column);
        }
        let extents = self.dimensions.iter().map(|dimension| dimension.extent);
        builder.set_dimensions(std::iter::once(per_vertex).chain(extents));
        builder.set_structure(Structure::Ruled(Arc::new(rule)));
        builder.build()
    }

    /// Refuses empty and oversized products; the number of vertices.
    fn check(&self) -> Result<u32, BuildError> {
        let count = self.dimensions.len();
        if count == 0 || count > MOST_DIMENSIONS {
            let what = format!("give 1 to {MOST_DIMENSIONS} dimensions, not {count}");
            return Err(BuildError::new(self.field, what));
        }
        for (index, dimension) in self.dimensions.iter().enumerate() {
            if dimension.extent == 0 || dimension.parallel == 0 {
                let what = if dimension.extent == 0 { "node" } else { "cable" };
                let what = format!("dimension {index} (from 0) needs at least one {what}");
                return Err(BuildError::new(self.field, what));
            }
        }
        let vertices = self
            .dimensions
            .iter()
            .try_fold(1_u64, |product, dimension| product.checked_mul(u64::from(dimension.extent)));
        let vertices = check_size(self.field, "nodes", vertices)?;
        let hosts = self.concentration.map_or(0, |c| u64::from(c.hosts)) * vertices;
        let mut nodes = Some(vertices + hosts);
        let mut cables = Some(hosts);
        for dimension in self.dimensions {
            let lines = vertices / u64::from(dimension.extent);
            let per_line = dimension.cables_per_line().checked_mul(u64::from(dimension.parallel));
            let added = per_line.and_then(|per_line| per_line.checked_mul(lines));
            cables = cables.and_then(|cables| cables.checked_add(added?));
            if dimension.shape == Shape::Switch {
                nodes = nodes.and_then(|nodes| nodes.checked_add(lines));
            }
        }
        check_size(self.field, "nodes", nodes)?;
        check_size(self.field, "links", cables.and_then(|cables| cables.checked_mul(2)))?;
        Ok(u32::try_from(vertices).expect("checked against a smaller bound"))
    }

    /// Adds the cables (and switches) of one dimension.
    fn join(
        &self,
        builder: &mut TopologyBuilder,
        index: usize,
        first_vertex: u32,
        stride: u32,
        vertices: u32,
    ) -> Cables {
        let Dimension { extent, shape, parallel, link } = self.dimensions[index];
        let first_switch = builder.kinds().len() as u32;
        let lines = vertices / extent;
        if shape == Shape::Switch {
            for line in 0..lines {
                builder.node(NodeKind::Switch, format_args!("switch-{index}-{line}"));
            }
        }
        let cables = Cables::start(builder, self.duplex);
        let mut add = |lower: u32, upper: u32| {
            for _ in 0..parallel {
                cables.add(builder, NodeId(lower), NodeId(upper), link);
            }
        };
        // the vertex with a given coordinate on a line
        let at = |line: u32, coordinate: u32| {
            first_vertex + line / stride * (stride * extent) + coordinate * stride + line % stride
        };
        for line in 0..lines {
            match shape {
                Shape::Line | Shape::Ring => {
                    for coordinate in 1..extent {
                        add(at(line, coordinate - 1), at(line, coordinate));
                    }
                    if shape == Shape::Ring && extent > 2 {
                        add(at(line, extent - 1), at(line, 0));
                    }
                }
                Shape::Clique => {
                    for upper in 1..extent {
                        for lower in 0..upper {
                            add(at(line, lower), at(line, upper));
                        }
                    }
                }
                Shape::Switch => {
                    for coordinate in 0..extent {
                        add(at(line, coordinate), first_switch + line);
                    }
                }
            }
        }
        cables
    }
}

/// One dimension after the other, innermost first; the shorter way round a ring.
///
/// Of parallel cables each pair of hosts has one (`copy`). Free of deadlock on meshes, hypercubes and HyperX
/// without further virtual channels (Dally, Seitz 1987); rings need two.
#[derive(Debug)]
struct DimensionOrder {
    hosts: u32,
    per_vertex: u32,
    vertices: u32,
    host_cables: Option<Cables>,
    dimensions: Vec<DimensionRule>,
}

impl DimensionOrder {
    /// Which of the parallel cables of a dimension hosts `src` and `dst` use.
    ///
    /// Pairs that meet on a cable come from anywhere in earlier dimensions, go anywhere in this one and in later ones, and to
    /// any host there: all these coordinates are added up. Of the dimension itself the source counts only at a switch, where
    /// all that comes to a vertex would have one cable: where everybody sends as far, the sum of both stands still. A ring or a line
    /// alone has no other coordinates ([`DimensionRule::spread`]).
    fn copy(&self, dimension: &DimensionRule, src: u32, dst: u32) -> u32 {
        let DimensionRule { stride, extent, shape, parallel, .. } = *dimension;
        if extent == self.vertices && matches!(shape, Shape::Line | Shape::Ring) {
            let [start, end] = [src, dst].map(|host| host / self.per_vertex);
            let beside = u64::from(dst % self.per_vertex);
            return ((dimension.spread(start, end) + beside) % u64::from(parallel)) as u32;
        }
        let [start, end] = [src, dst].map(|host| host / self.per_vertex);
        let at = |vertex: u32, each: &DimensionRule| vertex / each.stride % each.extent;
        let coordinate = |each: &DimensionRule| at(if each.stride < stride { start } else { end }, each);
        let own = if shape == Shape::Switch { start / stride % extent } else { 0 };
        let others: u32 = self.dimensions.iter().map(coordinate).sum();
        (dst % self.per_vertex + others + own) % parallel
    }
}

impl RouteRule for DimensionOrder {
    fn name(&self) -> &'static str {
        "dimension-order"
    }

    fn geometry(&self) -> Option<Geometry> {
        let dimension = |dimension: &DimensionRule| GridDimension {
            extent: dimension.extent,
            shape: match dimension.shape {
                Shape::Ring if dimension.extent > 2 => GridShape::Ring,
                Shape::Line | Shape::Ring => GridShape::Line,
                Shape::Clique => GridShape::Clique,
                Shape::Switch => GridShape::Switch { first: dimension.first_switch },
            },
        };
        let hosts = self.host_cables.map(|_| self.per_vertex);
        Some(Geometry::Grid(Grid {
            first_vertex: if hosts.is_some() { self.hosts } else { 0 },
            vertices: self.vertices,
            hosts,
            dimensions: self.dimensions.iter().map(dimension).collect(),
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
            return Err(RouteError::new(topology, src, dst, "dimension order joins hosts only"));
        }
        let (mut at, target) = (src.0 / self.per_vertex, dst.0 / self.per_vertex);
        if let Some(cables) = self.host_cables {
            out.push(cables.up(src.0));
        }
        for dimension in &self.dimensions {
            if at == target {
                break;
            }
            let DimensionRule { extent, stride, parallel, .. } = *dimension;
            let (from, to) = (at / stride % extent, target / stride % extent);
            if from != to {
                let line = at / (stride * extent) * stride + at % stride;
                let copy = if parallel == 1 { 0 } else { self.copy(dimension, src.0, dst.0) };
                dimension.step(line, from, to, copy, out);
                at = at - from * stride + to * stride;
            }
        }
        if let Some(cables) = self.host_cables {
            out.push(cables.down(dst.0));
        }
        Ok(Duration::ZERO)
    }
}
