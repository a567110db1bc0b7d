//! A graph with attributes, as NetworkX holds it: what its formats have in common.
//!
//! Attributes of a node: `kind` (`switch`, `compute`, `memory`); of a compute node `compute` (name of
//! the catalogue, or of the user's own type when rates are given), `fp64` ... `int8`, `cores`,
//! `memory`, `memory_bandwidth`, `home_memory`; of a memory node `capacity` and `bandwidth`. Any
//! other attribute that is a whole number or a text is the node's group of that name (`rack`,
//! `server`). Attributes of an edge: `bandwidth`, `latency`, `sharing`, `duplex`, `name`,
//! `reverse_name`, `from` ("later" where an edge without direction begins at the end that comes later among the nodes), `cable`. Keys may be written with `-` instead of `_`.

mod edges;
mod nodes;
mod read;
mod write;

use serde_json::{Map, Value};
use stratasim_core::BuildError;

/// Attributes by name, in order.
pub(crate) type Attributes = Map<String, Value>;

/// What is known about nodes.
const NODE_KEYS: [&str; 23] = [
    "kind",
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
    "launch",
    "synchronise",
    "ring_step",
    "kernel_step",
    "ring_add",
    "kernel_add",
    "home_memory",
    "forwards",
    "capacity",
    "bandwidth",
    "id",
];

/// What is known about edges.
const EDGE_KEYS: [&str; 10] =
    ["bandwidth", "latency", "sharing", "duplex", "name", "reverse_name", "from", "cable", "key", "weight"];

/// What NetworkX itself gives edges: nobody means it by another name.
const NETWORKX_KEYS: [&str; 2] = ["key", "weight"];

/// Text of a compute node's memory that no capacity bounds.
const UNBOUNDED: &str = "unbounded";
/// What says that an undirected edge begins at the end that comes later among the nodes.
const LATER: &str = "later";
/// Text of a rate that nothing limits.
const UNLIMITED: &str = "unlimited";

/// A graph as a file gives it.
#[derive(Debug, Default)]
pub(crate) struct Attributed {
    /// Attributes of the whole graph.
    pub(crate) attributes: Attributes,
    /// Names of nodes with their attributes.
    pub(crate) nodes: Vec<(String, Attributes)>,
    /// Edges in order.
    pub(crate) edges: Vec<Edge>,
    /// Whether edges have one direction unless they say otherwise.
    pub(crate) directed: bool,
}

/// An edge.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) source: String,
    pub(crate) target: String,
    /// Whether this edge has one direction.
    pub(crate) directed: bool,
    pub(crate) attributes: Attributes,
}

/// The value of `key`, which may be written with `-`.
fn get<'a>(attributes: &'a Attributes, key: &str) -> Option<&'a Value> {
    let value = attributes
        .get(key)
        .or_else(|| key.contains('_').then(|| attributes.get(&key.replace('_', "-"))).flatten());
    value.filter(|value| !value.is_null())
}

/// An attribute that a file has wrong: whose, which, and what to write.
fn wrong(whose: &str, key: &str, reason: impl std::fmt::Display) -> BuildError {
    BuildError::new(key, format!("{whose}: {reason}"))
}

/// How messages show a value that is too long to show whole.
pub(super) fn shown(value: &Value) -> String {
    let text = match value {
        Value::Object(_) => return "an object".to_owned(),
        Value::Array(_) => return "a list".to_owned(),
        Value::String(text) => format!("\"{text}\""),
        other => other.to_string(),
    };
    if text.chars().count() <= 60 {
        text
    } else {
        format!("{}...", text.chars().take(57).collect::<String>())
    }
}

/// The text at `key`; an error when it is something else. `example` shows what to write.
fn text<'a>(
    whose: &str,
    attributes: &'a Attributes,
    key: &str,
    example: &str,
) -> Result<Option<&'a str>, BuildError> {
    match get(attributes, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            Err(wrong(whose, key, format!("found {}, write a text such as \"{example}\"", shown(other))))
        }
    }
}

/// The quantity at `key`: a text with its unit.
fn quantity<T: std::str::FromStr<Err = stratasim_core::quantity::UnitError>>(
    whose: &str,
    attributes: &Attributes,
    key: &str,
    example: &str,
) -> Result<Option<T>, BuildError> {
    text(whose, attributes, key, example)?
        .map(|text| text.parse().map_err(|error| wrong(whose, key, error)))
        .transpose()
}
