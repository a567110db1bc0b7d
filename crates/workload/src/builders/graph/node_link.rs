//! Writing a graph as NetworkX node-link data.

use serde_json::{Map, Value, json};

use super::spec::{EdgeSpec, VertexSpec};

/// The graph as `networkx.node_link_graph(data, edges="edges")` reads it: a directed multigraph (two
/// vertices may be joined by edges of several distances) whose nodes and edges carry the fields of
/// [`VertexSpec`] and [`EdgeSpec`] as attributes, with `_` in their names so that they are easy to reach
/// from Python. What this writes, the workload `graph` reads.
pub fn to_node_link(vertices: &[VertexSpec], edges: &[EdgeSpec]) -> Value {
    let nodes: Vec<_> = vertices.iter().map(|vertex| attributes(vertex, &[("name", "id")])).collect();
    let edges: Vec<_> = edges
        .iter()
        .enumerate()
        .map(|(key, edge)| {
            let mut edge = attributes(edge, &[("from", "source"), ("to", "target")]);
            edge.insert("key".to_owned(), key.into());
            edge
        })
        .collect();
    json!({ "directed": true, "multigraph": true, "graph": {}, "nodes": nodes, "edges": edges })
}

fn attributes<T: serde::Serialize>(entry: &T, names: &[(&str, &str)]) -> Map<String, Value> {
    let Ok(Value::Object(fields)) = serde_json::to_value(entry) else {
        panic!("a vertex or an edge is written as an object");
    };
    let renamed = fields.into_iter().map(|(key, value)| {
        let name = names.iter().find(|(ours, _)| *ours == key).map(|(_, theirs)| (*theirs).to_owned());
        (name.unwrap_or_else(|| key.replace('-', "_")), value)
    });
    renamed.collect()
}
