//! Reading a graph from JSON: two lists, or NetworkX node-link data.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stratasim_core::BuildError;
use stratasim_core::error::nearest;
use stratasim_core::files::read_named;
use stratasim_core::json::{misfit_in_words, place_of, syntax_in_words};

use super::spec::{EdgeSpec, VertexSpec};

/// Where a graph comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// The fields `vertices` and `edges` of the experiment.
    Inline,
    /// The field `data`.
    Data,
    /// A file, with its text.
    File { path: PathBuf, text: String },
}

/// Where a graph comes from, and what its lists are called there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Origin {
    source: Source,
    vertices: &'static str,
    edges: &'static str,
}

/// Which of the two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Vertices,
    Edges,
}

impl Origin {
    pub(super) const INLINE: Self = Self { source: Source::Inline, vertices: "vertices", edges: "edges" };

    /// The error of `key` in entry `index` of `list`; an empty key is the whole entry.
    pub(super) fn error(&self, list: List, index: usize, key: &str, reason: &str) -> BuildError {
        let list = match list {
            List::Vertices => self.vertices,
            List::Edges => self.edges,
        };
        let key = if key.is_empty() { String::new() } else { format!(".{}", self.their(key)) };
        self.source.error(&format!("{list}.{index}{key}"), reason)
    }

    /// What a key is called there.
    fn their<'a>(&self, key: &'a str) -> &'a str {
        match key {
            "name" if self.vertices == "nodes" => "id",
            "from" if self.vertices == "nodes" => "source",
            "to" if self.vertices == "nodes" => "target",
            key => key,
        }
    }
}

impl Source {
    fn error(&self, field: &str, reason: &str) -> BuildError {
        match self {
            Self::Inline => BuildError::new(field, reason),
            Self::Data if field.is_empty() => BuildError::new("data", reason),
            Self::Data => BuildError::new(format!("data.{field}"), reason),
            Self::File { path, text } => {
                let (place, error) = (place_of(text, field), BuildError::new(field, reason));
                BuildError::new("path", format!("{}{place}: {error}", path.display()))
            }
        }
    }
}

/// A graph that was read.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) vertices: Vec<VertexSpec>,
    pub(super) edges: Vec<EdgeSpec>,
    pub(super) origin: Origin,
}

/// Reads a JSON file.
pub(super) fn file(base: &Path, path: &Path) -> Result<Graph, BuildError> {
    let full = base.join(path);
    let text = read_named("path", &full)?;
    let json = serde_json::from_str(&text).map_err(|error| syntax(&text, &error));
    let source = Source::File { path: path.to_owned(), text };
    let json = json.map_err(|reason| source.error("", &reason))?;
    value(json, source)
}

/// What is wrong with a text that is no JSON.
fn syntax(text: &str, error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    if error.is_eof() {
        return format!("the JSON text is cut off at line {line}, column {column}");
    }
    if error.to_string().contains("recursion limit") {
        return format!(
            "nested deeper than 128 levels at line {line}, column {column}; a graph is a flat list"
        );
    }
    format!("not JSON: line {line}, column {column}: {}", syntax_in_words(text, error))
}

/// Reads a JSON value.
pub(super) fn value(json: Value, source: Source) -> Result<Graph, BuildError> {
    let Value::Object(mut graph) = json else {
        return Err(source.error(
            "",
            "a graph is a JSON object with `vertices` and `edges`, or node-link data with `nodes`",
        ));
    };
    let node_link = graph.contains_key("nodes");
    if !node_link && !graph.contains_key("vertices") {
        return Err(
            source.error("", "neither `vertices` nor `nodes` is there: a graph needs one of these lists")
        );
    }
    let (vertices, edges) = match (node_link, graph.contains_key("links")) {
        (false, _) => ("vertices", "edges"),
        // NetworkX 3.4 and later write `edges`, earlier ones `links`
        (true, false) => ("nodes", "edges"),
        (true, true) => ("nodes", "links"),
    };
    if node_link {
        if graph.get("directed") == Some(&Value::Bool(false)) {
            return Err(
                source.error("directed", "a workload graph is directed; make it with `networkx.DiGraph`")
            );
        }
        // a graph as a whole may have any attributes, but none that would count elsewhere
        let whole = graph.get("graph").and_then(Value::as_object);
        let options = ["iterations", "precision", "ranks", "unit"];
        if let Some((key, found)) = options.iter().find_map(|key| Some((key, whole?.get(*key)?))) {
            let reason = format!("this is said of the workload, beside the graph: `{key} = {found}`");
            return Err(source.error(&format!("graph.{key}"), &reason));
        }
        // facts about the graph object and attributes of the graph as a whole
        for key in ["directed", "multigraph", "graph"] {
            graph.shift_remove(key);
        }
    }
    let mut list = |name: &str| match graph.shift_remove(name) {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(source.error(name, "this must be a list")),
    };
    let (vertex_values, edge_values) = (list(vertices)?, list(edges)?);
    if let Some(key) = graph.keys().next() {
        let reason = format!("unknown key; a graph has `{vertices}` and `{edges}`");
        return Err(source.error(key, &reason));
    }
    let origin = Origin { source, vertices, edges };
    let vertices = entries(vertex_values, List::Vertices, &origin)?;
    let edges = entries(edge_values, List::Edges, &origin)?;
    Ok(Graph { vertices, edges, origin })
}

/// An entry of one of the lists.
trait Entry: DeserializeOwned + JsonSchema {
    /// What NetworkX calls a key, and what it is called here.
    const ALIASES: &'static [(&'static str, &'static str)];
    /// The keys that an entry must have, with values that are right.
    const REQUIRED: &'static [(&'static str, &'static str)];
}

impl Entry for VertexSpec {
    const ALIASES: &'static [(&'static str, &'static str)] = &[("id", "name")];
    const REQUIRED: &'static [(&'static str, &'static str)] = &[("kind", "join"), ("name", "x")];
}

impl Entry for EdgeSpec {
    const ALIASES: &'static [(&'static str, &'static str)] = &[("source", "from"), ("target", "to")];
    const REQUIRED: &'static [(&'static str, &'static str)] = &[("from", "x"), ("to", "x")];
}

fn entries<T: Entry>(values: Vec<Value>, list: List, origin: &Origin) -> Result<Vec<T>, BuildError> {
    let mut entries = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        let entry = match value {
            Value::Object(object) => entry(object, origin),
            other => Err((String::new(), format!("expected an object, found {other}"))),
        };
        entries.push(entry.map_err(|(key, reason)| origin.error(list, index, &key, &reason))?);
    }
    Ok(entries)
}

/// Reads one entry; an error is a key and what is wrong with it.
fn entry<T: Entry>(object: Map<String, Value>, origin: &Origin) -> Result<T, (String, String)> {
    let mut fields = Map::new();
    for (key, value) in object {
        let kebab = key.replace('_', "-");
        let name =
            T::ALIASES.iter().find(|(alias, _)| *alias == kebab).map_or(kebab.as_str(), |alias| alias.1);
        if fields.insert(name.to_owned(), value).is_some() {
            return Err((key, format!("`{name}` is given twice, once as another spelling; drop one")));
        }
    }
    if let Some((key, _)) = T::REQUIRED.iter().find(|(key, _)| !fields.contains_key(*key)) {
        return Err((String::new(), format!("{}the key `{}` is missing", whose(&fields), origin.their(key))));
    }
    let mut fields = Value::Object(fields);
    kind_first(&mut fields);
    T::deserialize(&fields).map_err(|error| culprit::<T>(&fields, &error))
}

/// What an entry with these fields is called in front of what is wrong with it.
fn whose(fields: &Map<String, Value>) -> String {
    let name = fields.get("name").and_then(Value::as_str);
    name.map_or_else(String::new, |name| format!("vertex `{name}`: "))
}

/// Finds the key that makes `fields` unreadable: an unknown one, or one that does not read alone.
fn culprit<T: Entry>(fields: &Value, error: &serde_json::Error) -> (String, String) {
    let fields = fields.as_object().expect("made from an object");
    let whose = whose(fields);
    let schema = schemars::schema_for!(T);
    let known: Vec<_> =
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).collect();
    for (key, value) in fields {
        if !known.contains(&key) && key != "key" {
            let near = nearest(key, known.iter().map(|key| key.as_str()));
            let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            let known: Vec<_> = known.iter().map(|key| key.as_str()).collect();
            return (key.clone(), format!("{whose}unknown key `{key}`{hint} (known: {})", known.join(", ")));
        }
        let required = T::REQUIRED.iter().map(|&(name, right)| (name.to_owned(), Value::from(right)));
        let mut alone: Map<_, _> = required.collect();
        alone.insert(key.clone(), value.clone());
        if let Err(error) = T::deserialize(&Value::Object(alone)) {
            return (key.clone(), format!("{whose}{}", misfit_in_words(&error)));
        }
    }
    (String::new(), format!("{whose}{}", misfit_in_words(error)))
}

/// Moves `kind` to the front of every object, where registries look for it.
fn kind_first(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(kind_first),
        Value::Object(object) => {
            if let Some(kind) = object.shift_remove("kind") {
                object.shift_insert(0, "kind".to_owned(), kind);
            }
            object.values_mut().for_each(kind_first);
        }
        _ => {}
    }
}
