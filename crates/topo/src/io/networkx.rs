//! NetworkX node-link JSON in and out, as `networkx.node_link_data` writes it.
//!
//! The edges are under `edges` (NetworkX 3.4 and later) or `links` (before). An edge of an undirected
//! graph is a cable, full duplex unless it says otherwise; one of a directed graph is one direction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use stratasim_core::BuildError;
use stratasim_core::json::{place_of, syntax_in_words};

use super::attributed::{Attributed, Attributes, Edge, shown};
use crate::Topology;
use crate::generators::{BuildContext, Generator};

/// Reads node-link JSON.
///
/// # Errors
/// Text that is no JSON (with line and column), no node-link data, or attributes that make no
/// topology: the field says where, the message names the node or edge and what to write.
pub fn import(text: &str) -> Result<Topology, BuildError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| {
        let (line, column, reason) = (error.line(), error.column(), syntax_in_words(text, &error));
        BuildError::new(
            "",
            format!("this is no JSON that can be read: line {line}, column {column}: {reason}"),
        )
    })?;
    import_value(&value)
}

/// Reads node-link data that is JSON already.
///
/// # Errors
/// As [`import`].
pub fn import_value(value: &Value) -> Result<Topology, BuildError> {
    parse(value)?.topology()
}

/// Writes `topology` as node-link JSON that [`import`] reads back: the same nodes, types, links,
/// names, groups and dimensions. Routing rules are not written.
///
/// # Errors
/// Links without ends, and values that change over time.
pub fn export(topology: &Topology) -> Result<String, BuildError> {
    let graph = Attributed::of(topology)?;
    let nodes = graph.nodes.iter().map(|(name, attributes)| {
        let mut attributes = attributes.clone();
        attributes.insert("id".to_owned(), json!(name));
        Value::Object(attributes)
    });
    let nodes: Vec<Value> = nodes.collect();
    let keys = graph.parallel_keys();
    let multigraph = keys.iter().any(Option::is_some);
    let edges = graph.edges.iter().zip(keys).map(|(edge, key)| {
        let mut attributes = edge.attributes.clone();
        attributes.insert("source".to_owned(), json!(edge.source));
        attributes.insert("target".to_owned(), json!(edge.target));
        if let Some(key) = key {
            attributes.insert("key".to_owned(), json!(key));
        }
        Value::Object(attributes)
    });
    let data = json!({
        "directed": graph.directed,
        "multigraph": multigraph,
        "graph": graph.attributes,
        "nodes": nodes,
        "edges": edges.collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&data).expect("JSON values are written as they are");
    text.push('\n');
    Ok(text)
}

fn parse(value: &Value) -> Result<Attributed, BuildError> {
    let root = value
        .as_object()
        .ok_or_else(|| BuildError::new("", "node-link data is an object with `nodes` and `edges`"))?;
    if root.contains_key("adjacency") {
        return Err(BuildError::new(
            "adjacency",
            "this is adjacency data; write node-link data with networkx.node_link_data",
        ));
    }
    let list = |key: &str| match root.get(key) {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(_) => Err(BuildError::new(key, "a list is expected")),
    };
    let flag = |key: &str| match root.get(key) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(BuildError::new(key, "true or false is expected")),
    };
    let nodes = list("nodes")?.ok_or_else(|| {
        BuildError::new("nodes", "the list of nodes is missing; networkx.node_link_data writes it")
    })?;
    // a graph without edges may leave them away; other names come from the `edges` argument
    let (key, edges) = match (list("edges")?, list("links")?) {
        (Some(_), Some(_)) => {
            return Err(BuildError::new("links", "both `edges` and `links` are there; keep one"));
        }
        (Some(edges), None) => ("edges", edges),
        (None, Some(links)) => ("links", links),
        (None, None) => {
            return Err(BuildError::new("edges", "the list of edges is missing; write `edges` (or `links`)"));
        }
    };
    let mut graph = Attributed { directed: flag("directed")?, ..Attributed::default() };
    flag("multigraph")?;
    match root.get("graph") {
        None => {}
        Some(Value::Object(attributes)) => graph.attributes = attributes.clone(),
        // older versions wrote a list of pairs
        Some(Value::Array(pairs)) => {
            for pair in pairs {
                if let Some([Value::String(key), value]) = pair.as_array().map(Vec::as_slice) {
                    graph.attributes.insert(key.clone(), value.clone());
                }
            }
        }
        Some(_) => return Err(BuildError::new("graph", "an object is expected")),
    }
    for (index, node) in nodes.iter().enumerate() {
        let (attributes, [id]) =
            take(node, ["id"]).map_err(|e| e.within(&index.to_string()).within("nodes"))?;
        graph.nodes.push((id, attributes));
    }
    for (index, edge) in edges.iter().enumerate() {
        let (attributes, [source, target]) =
            take(edge, ["source", "target"]).map_err(|e| e.within(&index.to_string()).within(key))?;
        graph.edges.push(Edge { source, target, directed: graph.directed, attributes });
    }
    Ok(graph)
}

/// The names at `keys`, and everything else.
fn take<const N: usize>(value: &Value, keys: [&str; N]) -> Result<(Attributes, [String; N]), BuildError> {
    let Value::Object(object) = value else {
        return Err(BuildError::new("", format!("an object with `{}` is expected", keys.join("` and `"))));
    };
    let mut names = [const { String::new() }; N];
    for (name, key) in names.iter_mut().zip(keys) {
        let id = object.get(key).ok_or_else(|| BuildError::new(key, format!("`{key}` is missing")))?;
        let wrong = || format!("found {}; a name is a text or a number, or a list of them", shown(id));
        *name = node_name(id).ok_or_else(|| BuildError::new(key, wrong()))?;
    }
    let rest: Map<String, Value> = object
        .iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    Ok((rest, names))
}

/// A node's name as Python's `str` writes its id, which is what NetworkX writes in GraphML.
fn node_name(id: &Value) -> Option<String> {
    match id {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        // grids are numbered by tuples
        Value::Array(parts) => {
            let parts: Option<Vec<String>> = parts
                .iter()
                .map(|part| match part {
                    Value::String(text) => Some(format!("'{text}'")),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                })
                .collect();
            let parts = parts?;
            Some(format!("({}{})", parts.join(", "), if parts.len() == 1 { "," } else { "" }))
        }
        _ => None,
    }
}

/// A graph in NetworkX's node-link JSON: in a file, or written right here.
///
/// Nodes have `kind` (`switch`, `compute` or `memory`), compute nodes a `compute` type such as
/// `"H100"` or rates such as `fp32 = "10 TFLOP/s"`, memory nodes `capacity` and `bandwidth`; other
/// attributes that are whole numbers or texts are groups (`rack`, `server`). Edges have `bandwidth`,
/// `latency`, and where wanted `sharing`, `duplex` and `name`. Routes are shortest by latency.
///
/// ```toml
/// [topology]
/// kind = "networkx-json"
/// data.nodes = [
///   { id = "gpu-0", kind = "compute", compute = "H100", rack = 0 },
///   { id = "gpu-1", kind = "compute", compute = "H100", rack = 0 },
///   { id = "switch", kind = "switch" },
/// ]
/// data.edges = [
///   { source = "gpu-0", target = "switch", bandwidth = "400 Gbps", latency = "500 ns" },
///   { source = "gpu-1", target = "switch", bandwidth = "400 Gbps", latency = "500 ns" },
/// ]
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NetworkxJson {
    /// The file, relative to the experiment; either this or `data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub path: Option<String>,
    /// The node-link data itself; either this or `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Generator for NetworkxJson {
    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        match (&self.path, &self.data) {
            (Some(path), None) => {
                let text = stratasim_core::files::read_named("path", &context.base.join(path))?;
                import(&text).map_err(|error| {
                    let place = place_of(&text, &error.field);
                    BuildError::new("path", format!("{path}{place}: {error}"))
                })
            }
            (None, Some(data)) => import_value(data).map_err(|error| error.within("data")),
            (Some(_), Some(_)) => Err(BuildError::new("data", "both `path` and `data` are given; keep one")),
            (None, None) => Err(BuildError::new("path", "write the `path` of a file, or the `data` itself")),
        }
    }
}
