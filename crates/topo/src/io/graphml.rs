//! GraphML in and out, as `networkx.write_graphml` writes it.
//!
//! Brandes, Eiglsperger, Herman, Himsolt, Marshall: "GraphML progress report", GD 2001. Attributes
//! are the same as in node-link JSON; nested graphs, hyperedges and ports are refused.

use std::fmt::Write as _;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stratasim_core::BuildError;

use super::attributed::{Attributed, Attributes, Edge};
use super::xml::{Element, Item, Reader, Source, XmlError, escaped};
use crate::Topology;
use crate::generators::{BuildContext, Generator};

/// Reads GraphML; `source` names the text in errors.
///
/// # Errors
/// Text that is no GraphML (with line and column), or attributes that make no topology: the message
/// names the node or edge and what to write.
pub fn import(text: &str, source: &str) -> Result<Topology, BuildError> {
    let graph =
        parse(Source { name: source, text }).map_err(|error| BuildError::new("", error.to_string()))?;
    graph.topology().map_err(|error| BuildError::new("", format!("{source}: {error}")))
}

/// A declared attribute.
#[derive(Debug)]
struct Key {
    /// `None` for keys of other programs, whose data is passed over.
    name: Option<String>,
    kind: String,
    /// `node`, `edge`, `graph` or `all`.
    domain: String,
    default: Option<Value>,
}

/// An element that is open.
#[derive(Debug)]
enum Frame {
    Root,
    Key(String),
    Default(String, String),
    Graph,
    Node(usize),
    Edge(usize),
    /// Key, and its text so far.
    Data(String, String),
    /// Nothing inside it matters.
    Skip,
}

struct Parse<'a> {
    source: Source<'a>,
    keys: IndexMap<String, Key>,
    graph: Attributed,
    graphs: usize,
}

fn parse(source: Source<'_>) -> Result<Attributed, XmlError> {
    let mut reader = Reader::new(source);
    let mut parse =
        Parse { source: reader.source, keys: IndexMap::new(), graph: Attributed::default(), graphs: 0 };
    let mut frames: Vec<Frame> = Vec::new();
    loop {
        let at = reader.at();
        match reader.next()? {
            Item::Open(element) => {
                let frame = parse.open(frames.last(), &element)?;
                frames.push(frame);
            }
            Item::Text(text) => match frames.last_mut() {
                Some(Frame::Data(_, known) | Frame::Default(_, known)) => known.push_str(&text),
                Some(Frame::Skip) => {}
                _ => return Err(reader.error_at_text(at, &text)),
            },
            Item::Close => {
                let frame = frames.pop().expect("the reader matches tags");
                parse.close(frame, frames.last(), at)?;
            }
            Item::End => break,
        }
    }
    if parse.graphs == 0 {
        return Err(source.error(source.text.len(), "graphml", "the file holds no graph"));
    }
    Ok(parse.finish())
}

impl Parse<'_> {
    fn open(&mut self, parent: Option<&Frame>, element: &Element<'_>) -> Result<Frame, XmlError> {
        let source = self.source;
        let fail = |reason: String| Err(element.error(&source, reason));
        match (parent, element.name()) {
            (None, "graphml") => Ok(Frame::Root),
            (None, other) => {
                fail(format!("this is no GraphML, whose first element is <graphml>, not <{other}>"))
            }
            (Some(Frame::Skip | Frame::Data(..) | Frame::Default(..)), _) | (Some(_), "desc") => {
                Ok(Frame::Skip)
            }
            (Some(Frame::Root | Frame::Graph), "key") => self.key(element),
            (Some(Frame::Key(id)), "default") => Ok(Frame::Default(id.clone(), String::new())),
            (Some(Frame::Root), "graph") => {
                self.graphs += 1;
                if self.graphs > 1 {
                    return fail("a second graph; a topology is one".to_owned());
                }
                let [direction] = element.some_values(&source, ["edgedefault"])?;
                self.graph.directed = match element.required(&source, "edgedefault", direction)?.as_ref() {
                    "directed" => true,
                    "undirected" => false,
                    other => {
                        return fail(format!("edgedefault=`{other}`, directed or undirected is expected"));
                    }
                };
                Ok(Frame::Graph)
            }
            (Some(Frame::Graph), "node") => {
                let [id] = element.some_values(&source, ["id"])?;
                let id = element.required(&source, "id", id)?.into_owned();
                self.graph.nodes.push((id, Attributes::new()));
                Ok(Frame::Node(self.graph.nodes.len() - 1))
            }
            (Some(Frame::Graph), "edge") => {
                let [from, to, direction] = element.some_values(&source, ["source", "target", "directed"])?;
                let directed = match direction.as_deref() {
                    None => self.graph.directed,
                    Some("true" | "1") => true,
                    Some("false" | "0") => false,
                    Some(other) => return fail(format!("directed=`{other}`, true or false is expected")),
                };
                self.graph.edges.push(Edge {
                    source: element.required(&source, "source", from)?.into_owned(),
                    target: element.required(&source, "target", to)?.into_owned(),
                    directed,
                    attributes: Attributes::new(),
                });
                Ok(Frame::Edge(self.graph.edges.len() - 1))
            }
            (Some(Frame::Root | Frame::Graph | Frame::Node(_) | Frame::Edge(_)), "data") => {
                let [key] = element.some_values(&source, ["key"])?;
                let key = element.required(&source, "key", key)?.into_owned();
                match self.keys.get(&key) {
                    None => fail(format!(
                        "the key `{key}` is not declared; add <key id=\"{key}\" .../> before the graph"
                    )),
                    Some(Key { name: None, .. }) => Ok(Frame::Skip),
                    Some(_) => Ok(Frame::Data(key, String::new())),
                }
            }
            (Some(Frame::Node(_)), "graph") => {
                fail("a graph inside a node is not read; a topology has one level".to_owned())
            }
            (Some(_), "hyperedge" | "port") => {
                fail("hyperedges and ports are not read; write edges between nodes".to_owned())
            }
            (Some(_), other) => fail(format!("<{other}> is not expected here")),
        }
    }

    fn key(&mut self, element: &Element<'_>) -> Result<Frame, XmlError> {
        let source = self.source;
        let [id, domain, name, kind] =
            element.some_values(&source, ["id", "for", "attr.name", "attr.type"])?;
        let id = element.required(&source, "id", id)?.into_owned();
        let kind = kind.map_or_else(|| "string".to_owned(), std::borrow::Cow::into_owned);
        if !["boolean", "int", "long", "float", "double", "string"].contains(&kind.as_str()) {
            return Err(element.error(
                &source,
                format!("attr.type=`{kind}` is unknown (known: boolean, int, long, float, double, string)"),
            ));
        }
        let key = Key {
            name: name.map(std::borrow::Cow::into_owned),
            kind,
            domain: domain.map_or_else(|| "all".to_owned(), std::borrow::Cow::into_owned),
            default: None,
        };
        if self.keys.insert(id.clone(), key).is_some() {
            return Err(element.error(&source, format!("the key `{id}` is declared twice")));
        }
        Ok(Frame::Key(id))
    }

    fn close(&mut self, frame: Frame, parent: Option<&Frame>, at: usize) -> Result<(), XmlError> {
        let source = self.source;
        match frame {
            Frame::Default(id, text) => {
                let key = self.keys.get_mut(&id).expect("the key is open");
                key.default =
                    Some(value(&key.kind, &text).map_err(|reason| source.error(at, "default", reason))?);
            }
            Frame::Data(id, text) => {
                let key = &self.keys[&id];
                let name = key.name.clone().expect("keys without a name are passed over");
                let value = value(&key.kind, &text)
                    .map_err(|reason| source.error(at, "data", format!("{name}: {reason}")))?;
                let attributes = match parent {
                    Some(&Frame::Node(index)) => &mut self.graph.nodes[index].1,
                    Some(&Frame::Edge(index)) => &mut self.graph.edges[index].attributes,
                    _ => &mut self.graph.attributes,
                };
                if attributes.insert(name.clone(), value).is_some() {
                    return Err(source.error(at, "data", format!("`{name}` is given twice")));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The graph, with defaults where nothing was said.
    fn finish(self) -> Attributed {
        let mut graph = self.graph;
        for key in self.keys.values() {
            let (Some(name), Some(default)) = (&key.name, &key.default) else { continue };
            let add = |attributes: &mut Attributes| {
                if !attributes.contains_key(name) {
                    attributes.insert(name.clone(), default.clone());
                }
            };
            if matches!(key.domain.as_str(), "node" | "all") {
                graph.nodes.iter_mut().for_each(|(_, attributes)| add(attributes));
            }
            if matches!(key.domain.as_str(), "edge" | "all") {
                graph.edges.iter_mut().for_each(|edge| add(&mut edge.attributes));
            }
        }
        graph
    }
}

/// `text` as a value of GraphML type `kind`.
fn value(kind: &str, text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    let fail = || format!("`{trimmed}` is no {kind}");
    match kind {
        "boolean" => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "1" => Ok(Value::Bool(true)),
            "false" | "0" => Ok(Value::Bool(false)),
            _ => Err(fail()),
        },
        "int" | "long" => trimmed.parse::<i64>().map(Value::from).map_err(|_| fail()),
        "float" | "double" => trimmed.parse::<f64>().map(Value::from).map_err(|_| fail()),
        _ => Ok(Value::from(text)),
    }
}

/// Writes `topology` as GraphML that [`import`] reads back: the same nodes, types, links, names,
/// groups and dimensions. Routing rules are not written.
///
/// # Errors
/// Links without ends, and values that change over time.
pub fn export(topology: &Topology) -> Result<String, BuildError> {
    let mut graph = Attributed::of(topology)?;
    // GraphML has no lists
    if let Some(Value::Array(extents)) = graph.attributes.get("dimensions") {
        let list = extents.iter().map(Value::to_string).collect::<Vec<_>>().join(",");
        graph.attributes.insert("dimensions".to_owned(), Value::from(list));
    }
    // keys in the order in which their attributes first appear
    let mut keys: IndexMap<(&str, &str), (usize, &str)> = IndexMap::new();
    let of_nodes = graph.nodes.iter().map(|(_, attributes)| ("node", attributes));
    let of_edges = graph.edges.iter().map(|edge| ("edge", &edge.attributes));
    let all = [("graph", &graph.attributes)].into_iter().chain(of_nodes).chain(of_edges);
    for (domain, (name, value)) in
        all.flat_map(|(domain, attributes)| attributes.iter().map(move |item| (domain, item)))
    {
        let next = keys.len();
        keys.entry((domain, name)).or_insert((next, if value.is_number() { "long" } else { "string" }));
    }
    let mut text = String::from(HEAD);
    for ((domain, name), (id, kind)) in &keys {
        let name = escaped(name);
        let _ = writeln!(
            text,
            "  <key id=\"d{id}\" for=\"{domain}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
        );
    }
    let data = |text: &mut String, domain: &str, attributes: &Attributes| {
        for (name, value) in attributes {
            let (id, _) = keys[&(domain, name.as_str())];
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(text, "<data key=\"d{id}\">{}</data>", escaped(&value));
        }
    };
    let direction = if graph.directed { "directed" } else { "undirected" };
    let _ = writeln!(text, "  <graph edgedefault=\"{direction}\">");
    for (name, attributes) in &graph.nodes {
        let _ = write!(text, "    <node id=\"{}\">", escaped(name));
        data(&mut text, "node", attributes);
        text.push_str("</node>\n");
    }
    for (edge, key) in graph.edges.iter().zip(graph.parallel_keys()) {
        let _ = write!(
            text,
            "    <edge source=\"{}\" target=\"{}\"",
            escaped(&edge.source),
            escaped(&edge.target)
        );
        if let Some(key) = key {
            let _ = write!(text, " id=\"{key}\"");
        }
        text.push('>');
        data(&mut text, "edge", &edge.attributes);
        text.push_str("</edge>\n");
    }
    text.push_str("    ");
    data(&mut text, "graph", &graph.attributes);
    text.push_str("\n  </graph>\n</graphml>\n");
    Ok(text)
}

const HEAD: &str = "<?xml version='1.0' encoding='utf-8'?>\n\
    <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
    xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n";

/// A GraphML file, as NetworkX writes it.
///
/// Attributes are those of `networkx-json`. Routes are shortest by latency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Graphml {
    /// The file, relative to the experiment.
    #[schemars(extend("format" = "path"))]
    pub path: String,
}

impl Generator for Graphml {
    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError> {
        let text = stratasim_core::files::read_named("path", &context.base.join(&self.path))?;
        import(&text, &self.path).map_err(|error| BuildError::new("path", error.to_string()))
    }
}
