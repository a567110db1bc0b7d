//! k-ary n-flies (butterflies).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};

use super::{BuildContext, Generator, check_size};
use crate::catalogue::ComputeChoice;
use crate::geometry::{Butterfly, Geometry};
use crate::graph::{LinkType, NodeKind, Topology, TopologyBuilder};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// A k-ary n-fly: `k^n` hosts send through `n` stages of `k^(n-1)` switches of `k` ways in and `k` out, and hear the
/// last stage. Links lead one way; there is exactly one route between two hosts.
///
/// ```text
///   host-0 ─→ switch-0-0 ─→ switch-1-0 ─→ host-0        k = 2, n = 2
///   host-1 ─→             ╳              ─→ host-1
///   host-2 ─→ switch-0-1 ─→ switch-1-1 ─→ host-2
///   host-3 ─→                            ─→ host-3
/// ```
/// Each stage sets one digit of the destination to the base `k`, the most significant first.
///
/// Source: Dally, Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KAryNFly {
    /// Ways in and out of every switch.
    pub k: u32,
    /// Stages of switches.
    pub n: u32,
    /// Rate of each link.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each link.
    pub latency: Duration,
    /// Type of the hosts: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
}

impl Generator for KAryNFly {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let (k, n) = (self.k, self.n);
        if k < 2 {
            return Err(BuildError::new("k", format!("a switch has at least two ways out, not {k}")));
        }
        if n == 0 {
            return Err(BuildError::new("n", "there must be at least one stage"));
        }
        let hosts = check_size("n", "hosts", u64::from(k).checked_pow(n))?;
        let width = hosts / u64::from(k);
        check_size("n", "nodes", Some(hosts + width * u64::from(n)))?;
        check_size("n", "links", Some(hosts * (u64::from(n) + 1)))?;
        // all were checked against a smaller bound
        let (hosts, width) = (hosts as u32, width as u32);

        let mut builder = TopologyBuilder::new();
        builder.reserve((hosts + width * n) as usize, hosts as usize * (n as usize + 1));
        let compute = builder.compute_type(self.compute.resolve().map_err(|error| error.within("compute"))?);
        for host in 0..hosts {
            builder.node(NodeKind::Compute(compute), format_args!("host-{host}"));
        }
        for stage in 0..n {
            for index in 0..width {
                builder.node(NodeKind::Switch, format_args!("switch-{stage}-{index}"));
            }
        }
        let rule = DestinationTag { k, stages: n, hosts };
        let link = LinkType::new(self.bandwidth, self.latency);
        for host in 0..hosts {
            builder.simplex(NodeId(host), rule.switch(0, host / k), link);
        }
        for stage in 0..n {
            for out in 0..hosts {
                let (index, way) = (out / k, out % k);
                let to = if stage + 1 == n {
                    NodeId(out)
                } else {
                    rule.switch(stage + 1, rule.turn(stage, index, way))
                };
                builder.simplex(rule.switch(stage, index), to, link);
            }
        }
        builder.set_dimensions(std::iter::repeat_n(k, n as usize));
        builder.set_structure(Structure::Ruled(Arc::new(rule)));
        builder.build()
    }
}

/// One digit of the destination per stage, the most significant first.
#[derive(Debug)]
struct DestinationTag {
    k: u32,
    stages: u32,
    hosts: u32,
}

impl DestinationTag {
    fn switch(&self, stage: u32, index: u32) -> NodeId {
        NodeId(self.hosts + stage * (self.hosts / self.k) + index)
    }

    /// The switch of the next stage behind way `way` of switch `index`: digit `stages - 2 - stage` is `way`.
    fn turn(&self, stage: u32, index: u32, way: u32) -> u32 {
        let weight = self.k.pow(self.stages - 2 - stage);
        index - index / weight % self.k * weight + way * weight
    }
}

impl RouteRule for DestinationTag {
    fn name(&self) -> &'static str {
        "destination-tag"
    }

    fn geometry(&self) -> Option<Geometry> {
        Some(Geometry::Butterfly(Butterfly { first_switch: self.hosts, k: self.k, stages: self.stages }))
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
            return Err(RouteError::new(topology, src, dst, "routes by destination tag join hosts only"));
        }
        out.push(LinkId(src.0));
        let mut index = src.0 / self.k;
        for stage in 0..self.stages {
            let way = dst.0 / self.k.pow(self.stages - 1 - stage) % self.k;
            out.push(LinkId(self.hosts * (stage + 1) + index * self.k + way));
            if stage + 1 < self.stages {
                index = self.turn(stage, index, way);
            }
        }
        Ok(Duration::ZERO)
    }
}
