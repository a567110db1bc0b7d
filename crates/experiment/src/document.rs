//! The text of an experiment as a tree of values that know their place.
//!
//! TOML (written by hand) and JSON (written by programs) become the same tree; `--set` changes it.
//! Specs are read from it ([`Document::read`]); whatever is wrong is reported with the file, the line
//! and the characters, or with the key where there is no file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use serde::Deserialize;
use stratasim_core::BuildError;
use stratasim_core::json::syntax_in_words;

use stratasim_net::NetworkSpec;
use stratasim_net::flit::network::Flit;

use crate::error::ConfigError;
use crate::json::Unique;
use crate::kept::digest;
use crate::read::{NodeReader, ReadError};
use crate::{mistaken, plugins};

/// A text with its name.
#[derive(Debug, Clone)]
pub struct Source {
    /// File name, or what stands for it (`--set a.b=c`, `python`).
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A place in a source.
#[derive(Debug, Clone)]
pub struct Place {
    pub(crate) source: Arc<Source>,
    pub(crate) span: Range<usize>,
}

/// A value with its place.
#[derive(Debug, Clone)]
pub struct Node {
    pub(crate) value: Value,
    pub(crate) place: Option<Place>,
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    /// Only what does not fit a signed integer.
    Unsigned(u64),
    Float(f64),
    String(String),
    Array(Vec<Node>),
    Table(IndexMap<String, (Option<Place>, Node)>),
}

impl Node {
    /// The entry under a key of a table or a position in a list.
    fn child(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Table(table) => table.get(key).map(|(_, node)| node),
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            // a plug-in by its name alone
            Value::String(_) if key == "kind" => Some(self),
            _ => None,
        }
    }
}

/// An experiment's text.
#[derive(Debug, Clone)]
pub struct Document {
    root: Node,
    source: Arc<Source>,
    /// What [`Document::set`] was told, in order.
    assignments: Vec<String>,
}

impl Document {
    /// Reads TOML.
    ///
    /// # Errors
    /// Text that is not TOML, with its place.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, ConfigError> {
        let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
        let table = toml::de::DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = match error.message() {
                "recursion limit" => "values are nested too deeply",
                message => message,
            };
            ConfigError::new(message, Some(Place { source: source.clone(), span }))
        })?;
        let span = table.span();
        let value = from_toml_table(table.into_inner(), &source)?;
        let root = Node { value, place: Some(Place { source: source.clone(), span }) };
        Ok(Self { root, source, assignments: Vec::new() })
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// Text that is not JSON, with its line and column.
    pub fn from_json(name: &str, text: &str) -> Result<Self, ConfigError> {
        // a byte order mark, which the reader of TOML takes by itself
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
        let Unique(value) = serde_json::from_str(text).map_err(|error| {
            let start: usize =
                text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let at = (start + error.column().saturating_sub(1)).min(text.len());
            let message = match error.is_eof() {
                true if text.trim().is_empty() => "the file is empty; a JSON object is expected".to_owned(),
                true => format!("the file ends in the middle of line {}; is it cut short?", error.line()),
                false => syntax_in_words(text, &error),
            };
            ConfigError::new(message, Some(Place { source: source.clone(), span: at..at }))
        })?;
        Ok(Self { root: from_json(value), source, assignments: Vec::new() })
    }

    /// Reads TOML or JSON by the end of the name.
    ///
    /// # Errors
    /// As [`Document::from_toml`] and [`Document::from_json`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        if name.ends_with(".json") { Self::from_json(name, text) } else { Self::from_toml(name, text) }
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Sets the value at a dotted path, as `--set path=value` does. `value` is read as TOML; what is
    /// not TOML is a string.
    ///
    /// # Errors
    /// No `=`, or a path through something that is not a table.
    pub fn set(&mut self, assignment: &str) -> Result<(), ConfigError> {
        self.set_as("--set", assignment)
    }

    /// The same where `--set` has another name, as in Python; errors have that.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn set_as(&mut self, argument: &str, assignment: &str) -> Result<(), ConfigError> {
        self.set_by(argument, assignment)?;
        self.assignments.push(assignment.to_owned());
        Ok(())
    }

    /// What [`Document::set`] was told, in order.
    pub fn assignments(&self) -> &[String] {
        &self.assignments
    }

    /// The same for an assignment that another option of the command gave; errors name it.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn set_by(&mut self, option: &str, assignment: &str) -> Result<(), ConfigError> {
        let name = format!("{option} {assignment}");
        let source = Arc::new(Source { name, text: assignment.to_owned() });
        let whole = Place { source: source.clone(), span: 0..assignment.len() };
        let Some((path, text)) = assignment.split_once('=') else {
            let message = format!("write `{option} key=value`, such as `{option} seed=7`");
            return Err(ConfigError::new(message, Some(whole)));
        };
        let shift = assignment.len() - text.trim_start().len();
        let text = text.trim();
        let mut value = match toml::de::DeValue::parse(text) {
            Ok(value) => from_toml_value(value.into_inner(), &source)?,
            // what cannot be plain text is TOML with a mistake
            Err(error) if text.starts_with(['{', '[', '"', '\'']) => {
                let span = error
                    .span()
                    .map_or(shift..shift + text.len(), |span| span.start + shift..span.end + shift);
                let message = format!("the value is no TOML: {}", error.message().trim_end());
                return Err(ConfigError::new(message, Some(Place { source, span })));
            }
            Err(_) => Value::String(text.to_owned()),
        };
        forget_places(&mut value);
        let place = Some(Place { source, span: shift..shift + text.len() });
        self.set_node(path.trim(), Node { value, place }, &whole)
    }

    /// Sets the value at a dotted path to a JSON value; errors name `origin` as the place where it stands.
    ///
    /// # Errors
    /// A path through something that is not a table.
    pub fn set_json(
        &mut self,
        origin: &str,
        path: &str,
        value: serde_json::Value,
    ) -> Result<(), ConfigError> {
        let text = format!("{path} = {value}");
        let source = Arc::new(Source { name: origin.to_owned(), text: text.clone() });
        let whole = Place { source, span: 0..text.len() };
        let mut node = from_json(value);
        node.place = Some(whole.clone());
        self.set_node(path, node, &whole)
    }

    /// The network where there is no section about it: open-loop traffic runs at flit level only.
    pub(crate) fn usual_network(&self) -> NetworkSpec {
        if self.get("traffic").is_some() {
            NetworkSpec::Flit(Flit::default())
        } else {
            NetworkSpec::default()
        }
    }

    fn set_node(&mut self, path: &str, node: Node, whole: &Place) -> Result<(), ConfigError> {
        if path.starts_with("network.") && path != "network.kind" && self.get("network").is_none() {
            // an option of the network that it has without a section
            let kind = Value::String(self.usual_network().kind().to_owned());
            self.set_node("network.kind", Node { value: kind, place: Some(whole.clone()) }, whole)?;
        }
        let mut at = &mut self.root;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            if key.is_empty() {
                return Err(ConfigError::new("a key is missing", Some(whole.clone())));
            }
            let last = keys.peek().is_none();
            if let Value::String(name) = &at.value
                && (plugins::is_kind(name) || last && key == "kind")
            {
                // a plug-in by its name alone gets options
                let name = Node { value: Value::String(name.clone()), place: at.place.clone() };
                at.value = Value::Table(IndexMap::from([("kind".to_owned(), (at.place.clone(), name))]));
                // where no table is expected, it is wrong here
                at.place = Some(whole.clone());
            }
            let table = match &mut at.value {
                Value::Table(table) => table,
                // `topology.rack-compute.1`
                Value::Array(list) if key.parse::<usize>().is_ok_and(|index| index < list.len()) => {
                    let index: usize = key.parse().expect("just parsed");
                    if last {
                        list[index] = node;
                        return Ok(());
                    }
                    at = &mut list[index];
                    continue;
                }
                _ => {
                    let message = format!("`{path}` leads through something that is not a table at `{key}`");
                    return Err(ConfigError::new(message, Some(whole.clone())));
                }
            };
            if last {
                let key_place = table.get(key).and_then(|(place, _)| place.clone());
                table.insert(key.to_owned(), (key_place, node));
                if key == "kind"
                    && let Some(at) = table.get_index_of(key)
                {
                    table.move_index(at, 0);
                }
                return Ok(());
            }
            // a table that nobody else wrote: what is wrong with it is wrong here
            let place = Some(whole.clone());
            let empty = || (None, Node { value: Value::Table(IndexMap::new()), place });
            at = &mut table.entry(key.to_owned()).or_insert_with(empty).1;
        }
        Ok(())
    }

    /// The value at a dotted path, if there is one.
    pub fn get(&self, path: &str) -> Option<serde_json::Value> {
        let mut at = &self.root;
        for key in path.split('.') {
            at = at.child(key)?;
        }
        Some(to_json(at))
    }

    /// The value at the end of a path of keys, as a document of its own.
    pub(crate) fn at(&self, path: &[&str]) -> Option<Self> {
        let (mut at, mut place) = (&self.root, self.root.place.clone());
        for key in path {
            at = at.child(key)?;
            place = at.place.clone().or(place);
        }
        // what has no place of its own is where that is which holds it
        let root = Node { place, ..at.clone() };
        Some(Self { root, source: self.source.clone(), assignments: Vec::new() })
    }

    /// Sets the value at a dotted path to the whole of `other`, which keeps its places.
    ///
    /// # Errors
    /// A path through something that is not a table.
    pub fn graft(&mut self, path: &str, other: &Self) -> Result<(), ConfigError> {
        let whole = other.root.place.clone();
        let whole = whole.unwrap_or_else(|| Place { source: other.source.clone(), span: 0..0 });
        self.set_node(path, other.root.clone(), &whole)
    }

    /// The same under `key`: `{ key = ... }`.
    #[must_use]
    pub fn nested(self, key: &str) -> Self {
        let Self { root, source, assignments } = self;
        let place = root.place.clone();
        let table = IndexMap::from([(key.to_owned(), (None, root))]);
        Self { root: Node { value: Value::Table(table), place }, source, assignments }
    }

    /// An error about the document as a whole.
    pub fn error(&self, message: impl Into<String>) -> ConfigError {
        self.fault::<&str>(&[], message.into(), self.root.place.clone())
    }

    /// The same about one that lacks a section: what it is, where it is known to be something else than an experiment.
    pub fn lacks(&self, message: &str) -> ConfigError {
        self.error(mistaken::graph(self).unwrap_or_else(|| message.to_owned()))
    }

    /// Takes the top-level section `key` out.
    pub fn take(&mut self, key: &str) -> Option<Self> {
        let Value::Table(table) = &mut self.root.value else { return None };
        let (_, node) = table.shift_remove(key)?;
        Some(Self { root: node, source: self.source.clone(), assignments: Vec::new() })
    }

    /// Reads a spec from the whole document.
    ///
    /// # Errors
    /// What does not fit the spec, with its place.
    pub fn read<'de, T: Deserialize<'de>>(&'de self) -> Result<T, ConfigError> {
        T::deserialize(NodeReader::new(&self.root)).map_err(|error: ReadError| {
            if let Some(reason) = mistaken::graph(self) {
                return self.error(reason);
            }
            let place = error.place.or_else(|| self.root.place.clone());
            let message = format!("{}{}", error.message, plugins::elsewhere(&error.message));
            self.fault(&error.path, message, place)
        })
    }

    /// The same with an error that names the field only, for text that is a part of another.
    ///
    /// # Errors
    /// What does not fit the spec.
    pub(crate) fn read_unplaced<'de, T: Deserialize<'de>>(&'de self) -> Result<T, BuildError> {
        T::deserialize(NodeReader::new(&self.root))
            .map_err(|error: ReadError| BuildError::new(error.path.join("."), error.message))
    }

    /// An error of building section `section`, with the place of the field that it names.
    pub fn locate(&self, error: &BuildError, section: &str) -> ConfigError {
        let error = error.clone().within(section);
        let path: Vec<&str> = error.field.split('.').filter(|part| !part.is_empty()).collect();
        let mut at = &self.root;
        let mut place = None;
        let mut depth = 0;
        for key in &path {
            let next = match &at.value {
                Value::Table(table) => table
                    .get(*key)
                    .map(|(key_place, node)| (node.place.clone().or_else(|| key_place.clone()), node)),
                Value::Array(list) => {
                    key.parse::<usize>().ok().and_then(|i| list.get(i)).map(|node| (node.place.clone(), node))
                }
                _ => None,
            };
            let Some((found, node)) = next else { break };
            place = found.or(place);
            at = node;
            depth += 1;
        }
        let mut reason = error.reason;
        // out of its range, though nobody wrote it: limits that another value sets may leave a default outside
        let is_range =
            reason.starts_with(|first: char| first.is_ascii_digit()) && reason.ends_with("are possible");
        if is_range && depth + 1 == path.len() && matches!(at.value, Value::Table(_)) {
            reason += " (the default, as it is not given)";
        }
        self.fault(&path, reason, place)
    }

    /// An error at a key path. What has no place in the text says at least which file it is about.
    fn fault<S: AsRef<str>>(&self, path: &[S], message: String, place: Option<Place>) -> ConfigError {
        // what is read from the file itself names it already
        let is_named = !self.name().is_empty() && message.starts_with(&format!("{}:", self.name()));
        let error =
            if is_named { ConfigError::new(message, place) } else { ConfigError::at(path, message, place) };
        if is_named || error.position().is_some() || self.name().is_empty() {
            return error;
        }
        ConfigError::new(format!("{}: {error}", self.name()), None)
    }

    /// The files that it names, such as schedules, platforms and traces; relative ones are in `base`.
    pub fn files(&self, base: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        digest::each_file(&self.to_json(), base, &mut |path| files.push(path));
        files.retain(|path| path.is_file());
        files
    }

    /// The tree as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        to_json(&self.root)
    }
}

fn from_toml_table(table: toml::de::DeTable<'_>, source: &Arc<Source>) -> Result<Value, ConfigError> {
    let mut map = IndexMap::new();
    for (key, value) in table {
        let key_place = Place { source: source.clone(), span: key.span() };
        let place = Place { source: source.clone(), span: value.span() };
        let value = from_toml_value(value.into_inner(), source)?;
        map.insert(key.into_inner().into_owned(), (Some(key_place), Node { value, place: Some(place) }));
    }
    Ok(kind_first(map))
}

fn from_toml_value(value: toml::de::DeValue<'_>, source: &Arc<Source>) -> Result<Value, ConfigError> {
    use toml::de::DeValue;
    Ok(match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => {
            let digits = number.as_str();
            match i64::from_str_radix(digits, number.radix()) {
                Ok(value) => Value::Integer(value),
                Err(_) => match u64::from_str_radix(digits, number.radix()) {
                    Ok(value) => Value::Unsigned(value),
                    Err(_) => Value::Float(digits.parse().unwrap_or(f64::INFINITY)),
                },
            }
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(list) => {
            let mut nodes = Vec::with_capacity(list.len());
            for item in list {
                let place = Place { source: source.clone(), span: item.span() };
                nodes.push(Node { value: from_toml_value(item.into_inner(), source)?, place: Some(place) });
            }
            Value::Array(nodes)
        }
        DeValue::Table(table) => from_toml_table(table, source)?,
    })
}

fn from_json(value: serde_json::Value) -> Node {
    let value = match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Integer(value),
            (None, Some(value)) => Value::Unsigned(value),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::String(text),
        serde_json::Value::Array(list) => Value::Array(list.into_iter().map(from_json).collect()),
        serde_json::Value::Object(object) => {
            kind_first(object.into_iter().map(|(key, value)| (key, (None, from_json(value)))).collect())
        }
    };
    Node { value, place: None }
}

/// Registries read `kind` before the rest.
fn kind_first(mut map: IndexMap<String, (Option<Place>, Node)>) -> Value {
    if let Some(at) = map.get_index_of("kind") {
        map.move_index(at, 0);
    }
    Value::Table(map)
}

/// Drops places inside a value: those of a `--set` text do not count from its beginning.
fn forget_places(value: &mut Value) {
    match value {
        Value::Array(list) => {
            for node in list {
                node.place = None;
                forget_places(&mut node.value);
            }
        }
        Value::Table(table) => {
            for (key_place, node) in table.values_mut() {
                *key_place = None;
                node.place = None;
                forget_places(&mut node.value);
            }
        }
        _ => {}
    }
}

fn to_json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Unsigned(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::String(text) => text.clone().into(),
        Value::Array(list) => list.iter().map(to_json).collect::<Vec<_>>().into(),
        Value::Table(table) => {
            let object: serde_json::Map<_, _> =
                table.iter().map(|(key, (_, node))| (key.clone(), to_json(node))).collect();
            object.into()
        }
    }
}
