//! From a graph with attributes to a topology.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use serde_json::Value;
use stratasim_core::error::{is_slip, nearest};
use stratasim_core::{BuildError, NodeId};

use super::nodes::node_kind;
use super::{Attributed, Attributes, NETWORKX_KEYS, NODE_KEYS, get, text, wrong};
use crate::generators::check_size;
use crate::graph::{NO_GROUP, NodeKind, Topology, TopologyBuilder};

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
    pub(super) fn near(&self, wanted: &str) -> String {
        // a search through very many names would take longer than the reader's patience
        let names = self.nodes.iter().take(10_000).map(|(name, _)| name.as_str());
        nearest(wanted, names).map_or_else(String::new, |near| format!(", did you mean `{near}`?"))
    }

    /// The group of every node by grouping, from the attributes that nothing else knows: whole numbers that groups may have as they
    /// are; texts, and numbers of which one is no group, in the order in which they come.
    fn groups(&self) -> Result<IndexMap<&str, Vec<u32>>, BuildError> {
        let mut columns: IndexMap<&str, Vec<(usize, &Value)>> = IndexMap::new();
        for (index, (name, attributes)) in self.nodes.iter().enumerate() {
            let whose = format!("node `{name}`");
            let within = |error: BuildError| error.within(&index.to_string()).within("nodes");
            for (key, value) in attributes {
                // others are measures, such as coordinates
                let is_group = value.is_string() || value.is_u64() || value.is_i64();
                if known(key, &NODE_KEYS) || !(is_group || value.is_number()) {
                    continue;
                }
                typo(&whose, key, &NODE_KEYS).map_err(within)?;
                if !is_group {
                    continue;
                }
                let column = columns.entry(key).or_default();
                if let Some(&(_, first)) = column.first()
                    && first.is_string() != value.is_string()
                {
                    let [one, other] =
                        if value.is_string() { ["text", "number"] } else { ["number", "text"] };
                    let reason = format!("found a {one} where other nodes have a {other}");
                    return Err(within(wrong(&whose, key, &reason)));
                }
                column.push((index, value));
            }
        }
        let of_column = |column: Vec<(usize, &Value)>| {
            let number = |value: &Value| {
                value.as_u64().and_then(|group| u32::try_from(group).ok()).filter(|&group| group != NO_GROUP)
            };
            let are_groups = column.iter().all(|(_, value)| number(value).is_some());
            let mut found: FxHashMap<String, u32> = FxHashMap::default();
            let mut groups = vec![NO_GROUP; self.nodes.len()];
            for (index, value) in column {
                groups[index] = number(value).filter(|_| are_groups).unwrap_or_else(|| {
                    let next = found.len() as u32;
                    *found.entry(value.to_string()).or_insert(next)
                });
            }
            groups
        };
        Ok(columns.into_iter().map(|(key, column)| (key, of_column(column))).collect())
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

/// Whether `key` is one of `keys`, with `-` or `_`.
fn known(key: &str, keys: &[&str]) -> bool {
    keys.contains(&key) || (key.contains('-') && keys.contains(&key.replace('-', "_").as_str()))
}

/// Refuses a key that nothing knows but that looks like one of `keys`.
pub(super) fn typo(whose: &str, key: &str, keys: &[&str]) -> Result<(), BuildError> {
    // short names are near to each other without meaning it, as `label` is to `cable` and `flow` to `from`
    if key.len() < 4 || known(key, keys) {
        return Ok(());
    }
    let word = key.replace('-', "_");
    let keys = keys.iter().copied().filter(|name| !NETWORKX_KEYS.contains(name));
    match nearest(&word, keys.filter(|name| word.len() >= 8 || is_slip(&word, name))) {
        Some(near) => Err(wrong(whose, key, format!("this attribute is unknown, did you mean `{near}`?"))),
        None => Ok(()),
    }
}
