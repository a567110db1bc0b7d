//! Routes that the user gives, and what happens to pairs without one.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::error::nearest;
use stratasim_core::{BuildError, Duration, LinkId, NodeId};

use super::{Chosen, RouteError, Routing, RoutingAlgorithm, RoutingSpec};
use crate::structure::RouteRule;
use crate::{NodeKind, Topology};

/// Routes given one by one; other pairs follow another routing.
///
/// ```toml
/// [routing]
/// kind = "explicit"
/// routes = [
///   { from = "host-0", to = "host-5", via = ["edge-0", "aggregation-1", "edge-1"] },
///   { from = "host-1", to = "host-5", links = ["slow-up", "slow-2-down"], symmetric = false },
/// ]
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Explicit {
    /// The routes.
    pub routes: Vec<ExplicitRoute>,
    /// Routing of pairs without a route of their own; `auto` when absent.
    pub otherwise: Box<RoutingSpec>,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExplicitRoute {
    /// Name of the node that it starts from.
    pub from: String,
    /// Name of the node that it leads to.
    pub to: String,
    /// Names of its links, in order.
    #[serde(default)]
    pub links: Vec<String>,
    /// Names of the nodes on the way, in place of `links`; of parallel cables the first is taken. With
    /// neither, the route is the cable between the two ends.
    #[serde(default)]
    pub via: Vec<String>,
    /// Whether the way back is the same, link by link, unless a route gives it.
    #[serde(default = "yes")]
    pub symmetric: bool,
}

fn yes() -> bool {
    true
}

impl RoutingAlgorithm for Explicit {
    fn build(&self, topology: &Arc<Topology>) -> Result<Box<dyn Routing>, BuildError> {
        let table = RouteTable::new(topology, &self.routes)?;
        let otherwise = self.otherwise.plugin().build(topology).map_err(|e| e.within("otherwise"))?;
        Ok(Box::new(TableThen { table, otherwise }))
    }
}

struct TableThen {
    table: RouteTable,
    otherwise: Box<dyn Routing>,
}

impl Routing for TableThen {
    fn chosen(&self) -> Chosen {
        match self.otherwise.chosen() {
            Chosen::NoPair if !self.table.is_empty() => Chosen::SomePairs,
            otherwise => otherwise,
        }
    }

    fn chooses(&self, src: NodeId, dst: NodeId) -> bool {
        self.table.find(src, dst).is_some() || self.otherwise.chooses(src, dst)
    }

    fn per_flow(&self) -> bool {
        self.otherwise.per_flow()
    }

    fn route(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        match self.table.find(src, dst) {
            Some(links) => {
                out.extend_from_slice(links);
                Ok(Duration::ZERO)
            }
            None => self.otherwise.route(src, dst, key, out),
        }
    }
}

/// Routes of some pairs, checked against a topology.
#[derive(Debug, Clone, Default)]
pub struct RouteTable {
    links: Vec<LinkId>,
    /// First link and end of the route, by pair; looked up, never iterated.
    routes: FxHashMap<(NodeId, NodeId), (usize, usize)>,
}

impl RouteTable {
    /// Resolves names and checks that links follow each other.
    ///
    /// # Errors
    /// An unknown name, a gap, a pair given twice, a way back that does not exist.
    pub fn new(topology: &Topology, routes: &[ExplicitRoute]) -> Result<Self, BuildError> {
        let mut table = Self::default();
        let mut ways_back = Vec::new();
        for (index, route) in routes.iter().enumerate() {
            let within = |error: BuildError| error.within(&index.to_string()).within("routes");
            let (ends, links) = route.resolve(topology).map_err(within)?;
            if route.symmetric {
                ways_back.push((ends, links.clone(), index));
            }
            if !table.insert(ends, &links) {
                let what = format!("the route from {} to {} is given twice", route.from, route.to);
                return Err(within(BuildError::new("", what)));
            }
        }
        for ([from, to], links, index) in ways_back {
            if table.find(to, from).is_some() {
                continue;
            }
            let back: Option<Vec<LinkId>> = links
                .iter()
                .rev()
                .map(|&id| {
                    let link = topology.link(id);
                    if link.half_duplex { Some(id) } else { link.reverse }
                })
                .collect();
            let Some(back) = back else {
                return Err(BuildError::new(
                    format!("routes.{index}.symmetric"),
                    "a link of this route has one direction only; set `symmetric = false`",
                ));
            };
            table.insert([to, from], &back);
        }
        Ok(table)
    }

    /// False when the pair has a route already.
    fn insert(&mut self, [from, to]: [NodeId; 2], links: &[LinkId]) -> bool {
        let start = self.links.len();
        self.links.extend_from_slice(links);
        self.routes.insert((from, to), (start, self.links.len())).is_none()
    }

    /// The route of a pair, if one was given.
    pub fn find(&self, src: NodeId, dst: NodeId) -> Option<&[LinkId]> {
        self.routes.get(&(src, dst)).map(|&(start, end)| &self.links[start..end])
    }

    /// Whether there is no route.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }
}

impl RouteRule for RouteTable {
    fn name(&self) -> &'static str {
        "explicit"
    }

    fn is_given(&self) -> bool {
        true
    }

    fn covers(&self, src: NodeId, dst: NodeId) -> bool {
        self.routes.contains_key(&(src, dst))
    }

    fn route(
        &self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        _key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        let links = self.find(src, dst);
        out.extend_from_slice(
            links.ok_or_else(|| RouteError::new(topology, src, dst, "no route was given for this pair"))?,
        );
        Ok(Duration::ZERO)
    }
}

impl ExplicitRoute {
    /// Its ends and links.
    fn resolve(&self, topology: &Topology) -> Result<([NodeId; 2], Vec<LinkId>), BuildError> {
        let ends = [find_node(topology, "from", &self.from)?, find_node(topology, "to", &self.to)?];
        if ends[0] == ends[1] {
            return Err(BuildError::new("to", format!("{} is where the route starts", self.to)));
        }
        let links = match (self.links.is_empty(), self.via.is_empty()) {
            (false, false) => return Err(BuildError::new("via", "give either `links` or `via`, not both")),
            (false, true) => self.by_links(topology, ends)?,
            (true, _) => self.by_nodes(topology, ends)?,
        };
        Ok((ends, links))
    }

    fn by_links(&self, topology: &Topology, [from, to]: [NodeId; 2]) -> Result<Vec<LinkId>, BuildError> {
        let mut links = Vec::with_capacity(self.links.len());
        // where the route has come to; unknown after a link without ends
        let mut at = Some(from);
        for (index, name) in self.links.iter().enumerate() {
            let field = || format!("links.{index}");
            let link = topology.find_link(name).ok_or_else(|| {
                let hint = topology.link_hint(name);
                BuildError::new(field(), format!("there is no link called `{name}`{hint}"))
            })?;
            let info = topology.link(link);
            at = match (at, info.ends) {
                (_, None) => None,
                (None, Some([_, end])) => Some(end),
                (Some(at), Some([start, end])) if at == start => Some(end),
                (Some(at), Some([start, end])) if at == end && info.half_duplex => Some(start),
                (Some(at), Some([start, _])) => {
                    let (there, here) = (topology.node_name(start), topology.node_name(at));
                    let what = format!("`{name}` starts at {there}, but the route has come to {here}");
                    return Err(BuildError::new(field(), what));
                }
            };
            links.push(link);
        }
        match at {
            Some(end) if end != to => {
                let what = format!("the links lead to {}, not to {}", topology.node_name(end), self.to);
                Err(BuildError::new("links", what))
            }
            _ => Ok(links),
        }
    }

    fn by_nodes(&self, topology: &Topology, [from, to]: [NodeId; 2]) -> Result<Vec<LinkId>, BuildError> {
        let mut links = Vec::with_capacity(self.via.len() + 1);
        let mut at = from;
        for index in 0..=self.via.len() {
            let field = || if index < self.via.len() { format!("via.{index}") } else { "to".to_owned() };
            let next = match self.via.get(index) {
                Some(name) => find_node(topology, &field(), name)?,
                None => to,
            };
            if next != to && !topology.forwards(next) {
                let why = match topology.kind(next) {
                    NodeKind::Memory(_) => "is a memory, which does not forward",
                    _ => "does not forward (`forwards = false`)",
                };
                let what = format!("{} {why}", topology.node_name(next));
                return Err(BuildError::new(field(), what));
            }
            let port = topology.ports(at).iter().find(|port| port.to == next).ok_or_else(|| {
                let (here, there) = (topology.node_name(at), topology.node_name(next));
                BuildError::new(field(), format!("no link leads from {here} to {there}"))
            })?;
            links.push(port.link);
            at = next;
        }
        Ok(links)
    }
}

/// The node called `name`, or an error that names its neighbour.
pub(crate) fn find_node(topology: &Topology, field: &str, name: &str) -> Result<NodeId, BuildError> {
    topology.find_node(name).ok_or_else(|| {
        let names = (0..topology.node_count()).map(|node| topology.node_name(NodeId::from_index(node)));
        let hint = nearest(name, names).map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        BuildError::new(field, format!("there is no node called `{name}`{hint}"))
    })
}
