//! Dragonflies.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Duration, LinkId, NodeId};

use super::cables::{Cables, Duplex};
use super::{BuildContext, Generator, check_size};
use crate::catalogue::ComputeChoice;
use crate::geometry::{DragonflyGeometry, Geometry};
use crate::graph::{LinkType, NodeKind, Topology, TopologyBuilder};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// A dragonfly: groups of fully connected routers, and global cables between every two groups.
///
/// ```text
///   group 0                         group 1
///   router-0 ─── router-1 ═══════ router-2 ─── router-3      ─── local  ═══ global
///    │   │        │   │             │   │        │   │
///   host-0 ...
/// ```
/// Names of the source paper: p = `hosts-per-router`, a = `routers-per-group`, h =
/// `global-links-per-router`, g = `groups` (at most `a h + 1`).
///
/// Global cables are arranged relative to the group (the palm-tree arrangement of Camarero et al.
/// 2014): port `k` of a group, which is on router `k / h` of it, leads to the group `k mod (g - 1) + 1`
/// further on. Every two groups have `a h / (g - 1)` cables, rounded down; ports that are left
/// over stay empty.
///
/// Messages take the minimal route: to the router with a cable to the other group, over that cable, to
/// the destination's router. Where two groups have several cables, one that saves local hops is
/// preferred, and of equal ones the destination chooses.
///
/// Groups: `router`, `group`. Dimensions: p, a, g.
///
/// Sources: Kim, Dally, Scott, Abts (2008), "Technology-driven, highly-scalable dragonfly topology";
/// Camarero, Vallejo, Beivide (2014), "Topological characterization of Hamming and dragonfly networks
/// and its implications on routing".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dragonfly {
    /// Hosts on each router (p).
    #[serde(alias = "p")]
    pub hosts_per_router: u32,
    /// Routers in each group (a).
    #[serde(alias = "a")]
    pub routers_per_group: u32,
    /// Global ports of each router (h).
    #[serde(alias = "h")]
    pub global_links_per_router: u32,
    /// Number of groups (g); the most possible, `a h + 1`, when absent.
    #[serde(default, alias = "g")]
    pub groups: Option<u32>,
    /// Rate of each cable, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay of each cable.
    pub latency: Duration,
    /// Rate of the cables inside a group, in place of `bandwidth`.
    #[serde(default)]
    pub local_bandwidth: Option<Bandwidth>,
    /// Propagation delay of the cables inside a group, in place of `latency`.
    #[serde(default)]
    pub local_latency: Option<Duration>,
    /// Rate of the cables between groups, in place of `bandwidth`.
    #[serde(default)]
    pub global_bandwidth: Option<Bandwidth>,
    /// Propagation delay of the cables between groups, in place of `latency`.
    #[serde(default)]
    pub global_latency: Option<Duration>,
    /// Type of the hosts: a name of the catalogue or a table of properties.
    #[serde(default)]
    pub compute: ComputeChoice,
    /// Whether the two directions of a cable have a capacity each.
    #[serde(default)]
    pub duplex: Duplex,
}

/// p, a, h, g and the global cables between two groups.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    p: u32,
    a: u32,
    h: u32,
    g: u32,
    copies: u32,
}

impl Dragonfly {
    fn sizes(&self) -> Result<Sizes, BuildError> {
        let (p, a, h) = (self.hosts_per_router, self.routers_per_group, self.global_links_per_router);
        for (field, count) in [("hosts-per-router", p), ("routers-per-group", a)] {
            if count == 0 {
                return Err(BuildError::new(field, "must be at least 1"));
            }
        }
        let ports = u64::from(a) * u64::from(h);
        let groups = self.groups.map_or(ports + 1, u64::from);
        if groups == 0 || groups > ports + 1 {
            let what = format!(
                "{a} routers with {h} global links each join at most {} groups, not {groups}",
                ports + 1
            );
            return Err(BuildError::new("groups", what));
        }
        let copies = if groups > 1 { ports / (groups - 1) } else { 0 };
        let (p64, a64) = (u64::from(p), u64::from(a));
        let routers = check_size("groups", "routers", groups.checked_mul(a64))?;
        check_size("hosts-per-router", "hosts", routers.checked_mul(p64))?;
        let local = (a64 * (a64 - 1) / 2).checked_mul(groups);
        let global = (groups * (groups - 1) / 2).checked_mul(copies);
        let cables = local.zip(global).and_then(|(l, g)| l.checked_add(g)?.checked_add(routers * p64));
        check_size("groups", "links", cables.and_then(|cables| cables.checked_mul(2)))?;
        // all are bounded by the number of routers or of links
        Ok(Sizes { p, a, h, g: groups as u32, copies: copies as u32 })
    }
}

/// Index of the pair `lower < upper` among all pairs.
fn pair(lower: u32, upper: u32) -> u32 {
    upper * (upper - 1) / 2 + lower
}

impl Sizes {
    /// Router, within group `from`, at the end of cable `copy` to group `to`.
    fn gateway(&self, from: u32, to: u32, copy: u32) -> u32 {
        let offset = (to + self.g - from) % self.g;
        (offset - 1 + copy * (self.g - 1)) / self.h
    }

    /// The cables from group `from` to group `to` that end at router `router` of `from`: the first
    /// and how many.
    fn copies_at(&self, from: u32, to: u32, router: u32) -> (u32, u32) {
        let first_port = (to + self.g - from) % self.g - 1;
        // ports of the router: router * h until (router + 1) * h; ports of copies: g - 1 apart
        let first_at = |port: u32| port.saturating_sub(first_port).div_ceil(self.g - 1).min(self.copies);
        let first = first_at(router * self.h);
        (first, first_at((router + 1) * self.h) - first)
    }

    /// The cable from group `from` to `to` for a message from router `out` (of `from`) to router
    /// `back` (of `to`): one at both routers, else at one of them, else any.
    fn choose(&self, from: u32, to: u32, out: u32, back: u32, destination: u32) -> u32 {
        let (first, count) = self.copies_at(from, to, out);
        let (other, others) = self.copies_at(to, from, back);
        let start = first.max(other);
        let both = (first + count).min(other + others).saturating_sub(start);
        if both > 0 {
            start + destination % both
        } else if count + others > 0 {
            let index = destination % (count + others);
            if index < count { first + index } else { other + index - count }
        } else {
            destination % self.copies
        }
    }
}

impl Generator for Dragonfly {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let sizes = self.sizes()?;
        let Sizes { p, a, g, copies, .. } = sizes;
        let link = |bandwidth: Option<Bandwidth>, latency: Option<Duration>| {
            LinkType::new(bandwidth.unwrap_or(self.bandwidth), latency.unwrap_or(self.latency))
        };
        let mut builder = TopologyBuilder::new();
        let compute = builder.compute_type(self.compute.resolve().map_err(|e| e.within("compute"))?);
        let (routers, hosts) = (a * g, a * g * p);
        for host in 0..hosts {
            builder.node(NodeKind::Compute(compute), format_args!("host-{host}"));
        }
        for router in 0..routers {
            builder.node(NodeKind::Switch, format_args!("router-{router}"));
        }
        let router = |group: u32, index: u32| NodeId(hosts + group * a + index);
        let host_cables = Cables::start(&builder, self.duplex);
        for host in 0..hosts {
            host_cables.add(&mut builder, NodeId(host), NodeId(hosts + host / p), link(None, None));
        }
        let local = Cables::start(&builder, self.duplex);
        let local_link = link(self.local_bandwidth, self.local_latency);
        for group in 0..g {
            for upper in 1..a {
                for lower in 0..upper {
                    local.add(&mut builder, router(group, lower), router(group, upper), local_link);
                }
            }
        }
        let global = Cables::start(&builder, self.duplex);
        let global_link = link(self.global_bandwidth, self.global_latency);
        for upper in 1..g {
            for lower in 0..upper {
                for copy in 0..copies {
                    let ends = [(lower, upper), (upper, lower)]
                        .map(|(from, to)| router(from, sizes.gateway(from, to, copy)));
                    global.add(&mut builder, ends[0], ends[1], global_link);
                }
            }
        }
        let router_of = (0..hosts).map(|host| host / p).chain(0..routers);
        builder.set_grouping("router", router_of.clone().collect());
        builder.set_grouping("group", router_of.map(|router| router / a).collect());
        builder.set_dimensions([p, a, g]);
        builder.set_structure(Structure::Ruled(Arc::new(Minimal {
            sizes,
            hosts,
            host_cables,
            local,
            global,
        })));
        builder.build()
    }
}

/// At most one local hop, one global hop and another local hop.
#[derive(Debug)]
struct Minimal {
    sizes: Sizes,
    hosts: u32,
    host_cables: Cables,
    local: Cables,
    global: Cables,
}

impl Minimal {
    /// Appends the cable between two routers of a group, if they differ.
    fn local_hop(&self, group: u32, from: u32, to: u32, out: &mut Vec<LinkId>) {
        let a = self.sizes.a;
        let first = group * (a * (a - 1) / 2);
        match from.cmp(&to) {
            std::cmp::Ordering::Less => out.push(self.local.up(first + pair(from, to))),
            std::cmp::Ordering::Greater => out.push(self.local.down(first + pair(to, from))),
            std::cmp::Ordering::Equal => {}
        }
    }
}

impl RouteRule for Minimal {
    fn name(&self) -> &'static str {
        "minimal"
    }

    fn geometry(&self) -> Option<Geometry> {
        Some(Geometry::Dragonfly(DragonflyGeometry {
            first_router: self.hosts,
            routers_per_group: self.sizes.a,
            groups: self.sizes.g,
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
            return Err(RouteError::new(topology, src, dst, "minimal routes join hosts only"));
        }
        let Sizes { p, a, copies, .. } = self.sizes;
        let place = |host: u32| (host / p / a, host / p % a);
        let ((from, leave), (to, enter)) = (place(src.0), place(dst.0));
        out.push(self.host_cables.up(src.0));
        if from == to {
            self.local_hop(from, leave, enter, out);
        } else {
            let copy = self.sizes.choose(from, to, leave, enter, dst.0);
            self.local_hop(from, leave, self.sizes.gateway(from, to, copy), out);
            out.push(if from < to {
                self.global.up(pair(from, to) * copies + copy)
            } else {
                self.global.down(pair(to, from) * copies + copy)
            });
            self.local_hop(to, self.sizes.gateway(to, from, copy), enter, out);
        }
        out.push(self.host_cables.down(dst.0));
        Ok(Duration::ZERO)
    }
}
