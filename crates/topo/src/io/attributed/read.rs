//! From a graph with attributes to a topology.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use serde::Deserialize as _;
use serde_json::Value;
use stratasim_core::error::nearest;
use stratasim_core::{Bandwidth, BuildError, Bytes, ComputeRate, Duration, LinkId, NodeId, Precision};

use super::{
    Attributed, Attributes, EDGE_KEYS, Edge, NODE_KEYS, UNBOUNDED, UNLIMITED, get, quantity, shown, text,
    wrong,
};
use crate::Sharing;
use crate::catalogue::{self, ComputeChoice};
use crate::generators::check_size;
use crate::graph::{ComputeType, LinkType, MemoryType, NO_GROUP, NodeKind, Topology, TopologyBuilder};

impl Attributed {
    /// The topology that the attributes describe.
    ///
    /// # Errors
    /// At `nodes.INDEX.ATTRIBUTE` or `edges.INDEX.ATTRIBUTE`; the message names the node or edge.
    pub(crate) fn topology(&self) -> Result<Topology, BuildError> {
        check_size("nodes", "nodes", Some(self.nodes.len() as u64))?;
        check_size("edges", "links", Some(2 * self.edges.len() as u64))?;
        let mut builder = TopologyBuilder::new();
        let mut ids: FxHashMap<&str, NodeId> = FxHashMap::default();
        for (index, (name, attributes)) in self.nodes.iter().enumerate() {
            let within = |error: BuildError| error.within(&index.to_string()).within("nodes");
            let kind = node_kind(name, attributes, &mut builder).map_err(within)?;
            if name.is_empty() {
                return Err(within(BuildError::new("id", "a node needs a name that is not empty")));
            }
            if let Some(first) = ids.insert(name, NodeId::from_index(index)) {
                return Err(within(BuildError::new(
                    "id",
                    format!("`{name}` is the name of node {first} too, names must differ"),
                )));
            }
            builder.node(kind, format_args!("{name}"));
        }
        self.homes(&mut builder, &ids)?;
        for (grouping, groups) in self.groups()? {
            builder.set_grouping(grouping, groups);
        }
        self.links(&mut builder, &ids)?;
        builder.set_dimensions(self.dimensions()?);
        builder.build()
    }

    fn homes(&self, builder: &mut TopologyBuilder, ids: &FxHashMap<&str, NodeId>) -> Result<(), BuildError> {
        for (index, (name, attributes)) in self.nodes.iter().enumerate() {
            let whose = format!("node `{name}`");
            let within = |error: BuildError| error.within(&index.to_string()).within("nodes");
            let home = match get(attributes, "home_memory") {
                None => continue,
                Some(Value::Number(number)) => number.to_string(),
                Some(_) => text(&whose, attributes, "home_memory", "memory-0")
                    .map_err(within)?
                    .unwrap_or_default()
                    .to_owned(),
            };
            let fail = |reason: String| within(wrong(&whose, "home_memory", reason));
            let Some(&memory) = ids.get(home.as_str()) else {
                let hint = self.near(&home);
                return Err(fail(format!("there is no node called `{home}`{hint}")));
            };
            if !matches!(builder.kinds()[memory.index()], NodeKind::Memory(_)) {
                return Err(fail(format!("`{home}` is no memory; give it kind = \"memory\"")));
            }
            builder.set_home_memory(NodeId::from_index(index), memory);
        }
        Ok(())
    }

    /// A name like `wanted`, for messages.
    fn near(&self, wanted: &str) -> String {
        // a search through very many names would take longer than the reader's patience
        let names = self.nodes.iter().take(10_000).map(|(name, _)| name.as_str());
        nearest(wanted, names).map_or_else(String::new, |near| format!(", did you mean `{near}`?"))
    }

    /// The group of every node by grouping, from the attributes that nothing else knows.
    fn groups(&self) -> Result<IndexMap<&str, Vec<u32>>, BuildError> {
        let mut groups: IndexMap<&str, Vec<u32>> = IndexMap::new();
        let mut labels: FxHashMap<(&str, &str), u32> = FxHashMap::default();
        let mut counts: FxHashMap<&str, u32> = FxHashMap::default();
        for (index, (name, attributes)) in self.nodes.iter().enumerate() {
            let whose = format!("node `{name}`");
            let within = |error: BuildError| error.within(&index.to_string()).within("nodes");
            for (key, value) in attributes {
                if known(key, &NODE_KEYS) || !(value.is_number() || value.is_string()) {
                    continue;
                }
                typo(&whose, key, &NODE_KEYS).map_err(within)?;
                let group = match value {
                    Value::String(label) => match counts.get(key.as_str()) {
                        None if groups.contains_key(key.as_str()) => {
                            return Err(within(wrong(
                                &whose,
                                key,
                                "found a text where other nodes have a number",
                            )));
                        }
                        _ => *labels.entry((key, label)).or_insert_with(|| {
                            let next = counts.entry(key).or_default();
                            *next += 1;
                            *next - 1
                        }),
                    },
                    number => {
                        let Some(group) = number.as_u64().and_then(|group| u32::try_from(group).ok()) else {
                            // a measure, such as a coordinate
                            continue;
                        };
                        if counts.contains_key(key.as_str()) {
                            return Err(within(wrong(
                                &whose,
                                key,
                                "found a number where other nodes have a text",
                            )));
                        }
                        group
                    }
                };
                groups.entry(key).or_insert_with(|| vec![NO_GROUP; self.nodes.len()])[index] = group;
            }
        }
        Ok(groups)
    }

    fn links(&self, builder: &mut TopologyBuilder, ids: &FxHashMap<&str, NodeId>) -> Result<(), BuildError> {
        // cables of which one direction has come, by their name
        let mut cables: BTreeMap<String, Cable> = BTreeMap::new();
        for (index, edge) in self.edges.iter().enumerate() {
            let within = |error: BuildError| error.within(&index.to_string()).within("edges");
            let whose = format!("edge from `{}` to `{}`", edge.source, edge.target);
            let end = |key: &str, name: &str| {
                ids.get(name).copied().ok_or_else(|| {
                    let reason =
                        format!("there is no node called `{name}`{}; add it to the nodes", self.near(name));
                    within(wrong(&whose, key, reason))
                })
            };
            let ends = [end("source", &edge.source)?, end("target", &edge.target)?];
            let link = link_type(&whose, &edge.attributes).map_err(within)?;
            self.add(builder, &mut cables, index, ends, link).map_err(within)?;
        }
        let lonely = cables.iter().filter(|(_, cable)| !cable.complete).min_by_key(|(_, cable)| cable.edge);
        if let Some((cable, &Cable { edge: index, .. })) = lonely {
            let Edge { source, target, .. } = &self.edges[index];
            return Err(BuildError::new(
                format!("edges.{index}.cable"),
                format!(
                    "edge from `{source}` to `{target}`: the other direction of cable {cable} is missing; add the edge from `{target}` to `{source}`"
                ),
            ));
        }
        Ok(())
    }

    /// Adds the link or links of edge `index`.
    fn add(
        &self,
        builder: &mut TopologyBuilder,
        cables: &mut BTreeMap<String, Cable>,
        index: usize,
        [from, to]: [NodeId; 2],
        link: LinkType,
    ) -> Result<(), BuildError> {
        let edge = &self.edges[index];
        let attributes = &edge.attributes;
        let whose = format!("edge from `{}` to `{}`", edge.source, edge.target);
        let duplex = text(&whose, attributes, "duplex", "half")?;
        let name = text(&whose, attributes, "name", "uplink-3")?;
        let cable = match get(attributes, "cable") {
            None => None,
            Some(Value::String(cable)) => Some(cable.clone()),
            Some(Value::Number(cable)) => Some(cable.to_string()),
            Some(other) => {
                return Err(wrong(
                    &whose,
                    "cable",
                    format!("found {}, write a number or a text", shown(other)),
                ));
            }
        };
        let give = |builder: &mut TopologyBuilder, link: LinkId, name: Option<&str>| {
            if let Some(name) = name {
                builder.name_link(link, name.to_owned());
            }
        };
        if !edge.directed {
            match duplex.unwrap_or("full") {
                "full" => {
                    let (there, back) = builder.duplex(from, to, link);
                    match (name, text(&whose, attributes, "reverse_name", "downlink-3")?) {
                        (Some(name), None) => {
                            give(builder, there, Some(&format!("{name}-up")));
                            give(builder, back, Some(&format!("{name}-down")));
                        }
                        (name, reverse) => {
                            give(builder, there, name);
                            give(builder, back, reverse);
                        }
                    }
                }
                "half" => {
                    let half = builder.half_duplex(from, to, link);
                    give(builder, half, name);
                }
                "simplex" => {
                    let one_way = builder.simplex(from, to, link);
                    give(builder, one_way, name);
                }
                other => {
                    return Err(wrong(
                        &whose,
                        "duplex",
                        format!("found \"{other}\", write \"full\", \"half\" or \"simplex\""),
                    ));
                }
            }
            return Ok(());
        }
        let half = match duplex {
            None | Some("simplex") => false,
            Some("half") if cable.is_some() => true,
            Some(other @ ("half" | "full")) => {
                return Err(wrong(
                    &whose,
                    "duplex",
                    format!(
                        "found \"{other}\", but an edge of a directed graph has one direction; give both directions the same `cable`, or write an undirected graph"
                    ),
                ));
            }
            Some(other) => {
                return Err(wrong(
                    &whose,
                    "duplex",
                    format!("found \"{other}\", write \"half\" (with `cable`) or leave it away"),
                ));
            }
        };
        let known = cable.as_ref().and_then(|cable| cables.get(cable).copied());
        if let Some(Cable { edge: first, link: there, complete }) = known {
            let before = builder.links()[there.index()];
            let alike = (before.bandwidth, before.latency, before.sharing)
                == (link.bandwidth, link.latency, link.sharing);
            let other_way = before.ends == Some([to, from]) && before.half_duplex == half;
            if complete || !other_way || (half && !alike) {
                return Err(wrong(
                    &whose,
                    "cable",
                    format!(
                        "this is not the other direction of edge {first}, which has the same cable; a cable has one edge each way, of the same duplex"
                    ),
                ));
            }
            if let Some(known) = cable.and_then(|cable| cables.get_mut(&cable)) {
                known.complete = true;
            }
            if !half {
                let back = builder.simplex(from, to, link);
                builder.links_mut()[there.index()].reverse = Some(back);
                builder.links_mut()[back.index()].reverse = Some(there);
                give(builder, back, name);
            }
            return Ok(());
        }
        let there = if half { builder.half_duplex(from, to, link) } else { builder.simplex(from, to, link) };
        give(builder, there, name);
        if let Some(cable) = cable {
            cables.insert(cable, Cable { edge: index, link: there, complete: false });
        }
        Ok(())
    }

    /// Extents of the dimensions that the compute nodes fill: a list, or a text such as `8,16`.
    fn dimensions(&self) -> Result<Vec<u32>, BuildError> {
        let fail = || {
            BuildError::new(
                "graph.dimensions",
                "write whole numbers above zero, innermost first, such as [8, 16]",
            )
        };
        let extents: Option<Vec<u32>> = match get(&self.attributes, "dimensions") {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => {
                list.iter().map(|value| u32::try_from(value.as_u64()?).ok()).collect()
            }
            Some(Value::String(list)) => list.split(',').map(|word| word.trim().parse().ok()).collect(),
            Some(_) => return Err(fail()),
        };
        let extents = extents.filter(|extents| extents.iter().all(|&extent| extent > 0)).ok_or_else(fail)?;
        let compute = |(_, attributes): &&(String, Attributes)| {
            get(attributes, "kind").and_then(Value::as_str).is_none_or(|kind| kind == "compute")
        };
        let nodes = self.nodes.iter().filter(compute).count() as u64;
        let product =
            extents.iter().try_fold(1_u64, |product, &extent| product.checked_mul(u64::from(extent)));
        if product != Some(nodes) {
            return Err(BuildError::new(
                "graph.dimensions",
                format!("the extents do not multiply to the {nodes} compute nodes"),
            ));
        }
        Ok(extents)
    }
}

/// A cable of a directed graph, of which at least one direction has come.
#[derive(Debug, Clone, Copy)]
struct Cable {
    edge: usize,
    link: LinkId,
    complete: bool,
}

/// Whether `key` is one of `keys`, with `-` or `_`.
fn known(key: &str, keys: &[&str]) -> bool {
    keys.contains(&key) || (key.contains('-') && keys.contains(&key.replace('-', "_").as_str()))
}

/// Refuses a key that nothing knows but that looks like one of `keys`.
fn typo(whose: &str, key: &str, keys: &[&str]) -> Result<(), BuildError> {
    // short names are near to each other without meaning it
    if key.len() < 4 || known(key, keys) {
        return Ok(());
    }
    match nearest(&key.replace('-', "_"), keys.iter().copied()) {
        Some(near) => Err(wrong(whose, key, format!("this attribute is unknown, did you mean `{near}`?"))),
        None => Ok(()),
    }
}

fn node_kind(
    name: &str,
    attributes: &Attributes,
    builder: &mut TopologyBuilder,
) -> Result<NodeKind, BuildError> {
    let whose = format!("node `{name}`");
    let computes = [
        "compute",
        "fp64",
        "fp32",
        "tf32",
        "bf16",
        "fp16",
        "fp8",
        "int8",
        "cores",
        "memory",
        "memory_bandwidth",
        "home_memory",
    ];
    let first = |keys: &[&'static str]| keys.iter().copied().find(|key| get(attributes, key).is_some());
    let kind = match text(&whose, attributes, "kind", "switch")? {
        Some(kind) => kind,
        None if first(&computes[..9]).is_some() => "compute",
        None if first(&["capacity"]).is_some() => "memory",
        None => {
            return Err(wrong(
                &whose,
                "kind",
                "the attribute is missing; write \"switch\", \"compute\" or \"memory\"",
            ));
        }
    };
    let refuse = |keys: &[&'static str], instead: &str| match first(keys) {
        Some(key) => {
            Err(wrong(&whose, key, format!("a node of kind \"{kind}\" has no such attribute; {instead}")))
        }
        None => Ok(()),
    };
    match kind {
        "switch" => {
            refuse(&computes, "write kind = \"compute\"")?;
            refuse(&["capacity", "bandwidth"], "write kind = \"memory\"")?;
            Ok(NodeKind::Switch)
        }
        "memory" => {
            refuse(&computes, "a memory has `capacity` and `bandwidth`")?;
            let capacity = match text(&whose, attributes, "capacity", "1 TiB")? {
                None | Some(UNBOUNDED) => None,
                Some(_) => quantity::<Bytes>(&whose, attributes, "capacity", "1 TiB")?.map(Bytes::count),
            };
            let bandwidth = quantity(&whose, attributes, "bandwidth", "128 GB/s")?;
            Ok(NodeKind::Memory(builder.memory_type(MemoryType { capacity_bytes: capacity, bandwidth })))
        }
        "compute" => {
            refuse(&["capacity"], "write `memory`")?;
            let compute = compute_type(&whose, attributes)?;
            Ok(NodeKind::Compute(builder.compute_type(compute)))
        }
        other => {
            let hint = nearest(other, ["switch", "compute", "memory"])
                .map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
            Err(wrong(
                &whose,
                "kind",
                format!("found \"{other}\"{hint}; write \"switch\", \"compute\" or \"memory\""),
            ))
        }
    }
}

fn compute_type(whose: &str, attributes: &Attributes) -> Result<ComputeType, BuildError> {
    let mut rates = [None; Precision::ALL.len()];
    for precision in Precision::ALL {
        rates[precision.index()] =
            quantity::<ComputeRate>(whose, attributes, precision.name(), "51.2 TFLOP/s")?;
    }
    let rated = rates.iter().any(Option::is_some);
    let mut compute = match get(attributes, "compute") {
        Some(Value::String(name)) => match catalogue::named(name) {
            Some(known) => known,
            // with rates it is a type of the user's own
            None if rated => blank(name),
            None => {
                let choice = ComputeChoice::Named(name.clone());
                choice.resolve().map_err(|error| wrong(whose, "compute", error.reason))?
            }
        },
        Some(table @ Value::Object(_)) => ComputeChoice::deserialize(table)
            .map_err(|error| wrong(whose, "compute", error))?
            .resolve()
            .map_err(|error| wrong(whose, "compute", error))?,
        Some(other) => {
            return Err(wrong(
                whose,
                "compute",
                format!("found {}, write the name of a compute type such as \"H100\"", shown(other)),
            ));
        }
        None if rated => blank("custom"),
        None => {
            return Err(wrong(
                whose,
                "compute",
                "the attribute is missing; write a compute type such as \"H100\", or rates such as fp32 = \"10 TFLOP/s\"",
            ));
        }
    };
    for (rate, given) in compute.rate_flop_per_s.iter_mut().zip(rates) {
        if let Some(given) = given {
            *rate = given.flop_per_s();
        }
    }
    if let Some(cores) = get(attributes, "cores") {
        let count = cores.as_u64().and_then(|cores| u32::try_from(cores).ok()).filter(|&cores| cores > 0);
        compute.cores = count.ok_or_else(|| {
            wrong(whose, "cores", format!("found {}, write a whole number above zero", shown(cores)))
        })?;
    }
    match text(whose, attributes, "memory", "80 GB")? {
        None => {}
        Some(UNBOUNDED) => compute.memory_bytes = None,
        Some(_) => {
            compute.memory_bytes = quantity::<Bytes>(whose, attributes, "memory", "80 GB")?.map(Bytes::count)
        }
    }
    for key in ["memory_bandwidth", "bandwidth"] {
        match text(whose, attributes, key, "3.35 TB/s")? {
            None => {}
            Some(UNLIMITED) => compute.memory_bandwidth = None,
            Some(_) => compute.memory_bandwidth = quantity::<Bandwidth>(whose, attributes, key, "3.35 TB/s")?,
        }
    }
    Ok(compute)
}

/// A compute type that computes nothing yet.
fn blank(name: &str) -> ComputeType {
    ComputeType {
        name: name.to_owned(),
        rate_flop_per_s: [0.0; Precision::ALL.len()],
        cores: 1,
        memory_bytes: None,
        memory_bandwidth: None,
    }
}

fn link_type(whose: &str, attributes: &Attributes) -> Result<LinkType, BuildError> {
    for key in attributes.keys() {
        typo(whose, key, &EDGE_KEYS)?;
    }
    let missing = |key: &str, example: &str| {
        wrong(whose, key, format!("the attribute is missing; write {key} = \"{example}\""))
    };
    let bandwidth = quantity::<Bandwidth>(whose, attributes, "bandwidth", "400 Gbps")?;
    let bandwidth = bandwidth.ok_or_else(|| missing("bandwidth", "400 Gbps"))?;
    if bandwidth.bytes_per_s() <= 0.0 {
        return Err(wrong(whose, "bandwidth", "a link needs more than zero"));
    }
    let latency = quantity::<Duration>(whose, attributes, "latency", "500 ns")?;
    let latency = latency.ok_or_else(|| missing("latency", "500 ns"))?;
    let sharing = match text(whose, attributes, "sharing", "shared")? {
        None => Sharing::Shared,
        Some(word) => match word.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
            "shared" => Sharing::Shared,
            "fatpipe" => Sharing::FatPipe,
            _ => {
                return Err(wrong(
                    whose,
                    "sharing",
                    format!("found \"{word}\", write \"shared\" or \"fat-pipe\""),
                ));
            }
        },
    };
    Ok(LinkType { bandwidth, latency, sharing })
}
