//! Reading specs from a document's tree, with the place of what does not fit.

use indexmap::IndexMap;
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};
use stratasim_core::error::{is_slip, nearest};
use stratasim_core::json::expected_in_words;

use crate::document::{Node, Place, Value};

/// Sections of an experiment that are no part of its spec: each is read by itself.
const APART: [&str; 2] = ["sweep", "forecast"];

/// What does not fit, and where.
#[derive(Debug, Clone)]
pub(crate) struct ReadError {
    pub(crate) message: String,
    /// Keys from the root.
    pub(crate) path: Vec<String>,
    pub(crate) place: Option<Place>,
    /// The key whose absence it is.
    missing: Option<&'static str>,
}

impl ReadError {
    /// The same error, with what was found where it says only what is expected, as of a value that may have several forms.
    fn at(self, node: &Node) -> Self {
        if !self.path.is_empty() || !self.message.starts_with("expected ") || self.message.contains("found") {
            return self;
        }
        let message = format!("{}, found {}", self.message, NodeReader::new(node).found());
        Self { message, ..self }
    }

    /// The same error, at a place where it has none.
    fn or_at(mut self, place: Option<&Place>) -> Self {
        self.place = self.place.or_else(|| place.cloned());
        self
    }

    /// The same error seen from one level up; the innermost place stays.
    fn inside(mut self, key: &str, place: Option<&Place>) -> Self {
        self.path.insert(0, key.to_owned());
        self.or_at(place)
    }
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path.join("."), self.message)
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), path: Vec::new(), place: None, missing: None }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let is_experiment = ["topology", "workload"].iter().all(|key| expected.contains(key));
        let apart = if is_experiment { &APART[..] } else { &[] };
        let expected = [expected, apart].concat();
        let hint = nearest(field, expected.iter().copied())
            .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        let known = if expected.is_empty() { "none".to_owned() } else { expected.join(", ") };
        Self::custom(format!("unknown key `{field}`{hint} (known here: {known})"))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let hint = nearest(variant, expected.iter().copied())
            .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        Self::custom(format!("unknown value `{variant}`{hint} (known: {})", expected.join(", ")))
    }

    fn missing_field(field: &'static str) -> Self {
        Self { missing: Some(field), ..Self::custom(format!("the key `{field}` is missing")) }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format!("the key `{field}` is given twice, once by another of its names"))
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let found = match found {
            de::Unexpected::Seq => de::Unexpected::Other("a list"),
            de::Unexpected::Map => de::Unexpected::Other("a table"),
            de::Unexpected::Unit => de::Unexpected::Other("null"),
            found => found,
        };
        Self::custom(format!("{} is expected, found {found}", expected_in_words(&expected.to_string())))
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format!("{} is expected, found {found}", expected_in_words(&expected.to_string())))
    }
}

/// A serde deserializer over a node.
pub(crate) struct NodeReader<'de> {
    node: &'de Node,
}

impl<'de> NodeReader<'de> {
    pub(crate) fn new(node: &'de Node) -> Self {
        Self { node }
    }

    fn found(&self) -> de::Unexpected<'de> {
        match &self.node.value {
            Value::Null => de::Unexpected::Other("null"),
            Value::Bool(value) => de::Unexpected::Bool(*value),
            Value::Integer(value) => de::Unexpected::Signed(*value),
            Value::Unsigned(value) => de::Unexpected::Unsigned(*value),
            Value::Float(value) => de::Unexpected::Float(*value),
            Value::String(text) => de::Unexpected::Str(text),
            Value::Array(_) => de::Unexpected::Other("a list"),
            Value::Table(_) => de::Unexpected::Other("a table"),
        }
    }
}

impl<'de> de::Deserializer<'de> for NodeReader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Integer(value) => visitor.visit_i64(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(list) => {
                let mut reader = ListReader { rest: list.iter().enumerate() };
                let read = visitor.visit_seq(&mut reader);
                match (read, reader.rest.len()) {
                    (Ok(_), left) if left > 0 => {
                        let expected = list.len() - left;
                        let reason = format!("found a list of {}, expected one of {expected}", list.len());
                        Err(de::Error::custom(reason))
                    }
                    (read, _) => read,
                }
            }
            Value::Table(table) => read_table(table, visitor),
        };
        read.map_err(|error: ReadError| error.or_at(self.node.place.as_ref()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// A table and nothing else: no list of its values in order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match &self.node.value {
            Value::Table(table) => read_table(table, visitor),
            Value::String(name) if keys.contains(&"kind") => Err(de::Error::custom(format!(
                "a table such as `{{ kind = \"{name}\" }}` is expected, found `{name}` alone"
            ))),
            _ => Err(de::Error::invalid_type(self.found(), &visitor)),
        };
        read.map_err(|error: ReadError| error.or_at(self.node.place.as_ref()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match &self.node.value {
            Value::String(text) => visitor.visit_enum(text.as_str().into_deserializer()).map_err(
                |error: ReadError| match error.message.ends_with("found unit variant") {
                    true => de::Error::custom(format!(
                        "`{text}` has keys of its own: a table such as `{{ {text} = {{ ... }} }}` is expected, found the name alone"
                    )),
                    false => error,
                },
            ),
            Value::Table(table) if table.len() == 1 => {
                let reader = TableReader { rest: table.iter(), value: None };
                visitor.visit_enum(de::value::MapAccessDeserializer::new(reader))
            }
            _ => {
                let expected = format!("one of {}", words.join(", "));
                Err(de::Error::invalid_type(self.found(), &expected.as_str()))
            }
        };
        read.map_err(|error: ReadError| error.or_at(self.node.place.as_ref()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

fn read_table<'de, V: Visitor<'de>>(
    table: &'de IndexMap<String, (Option<Place>, Node)>,
    visitor: V,
) -> Result<V::Value, ReadError> {
    let read = visitor.visit_map(TableReader { rest: table.iter(), value: None });
    read.map_err(|error| misspelt_kind(error, table))
}

/// The same error, or one about the key that was meant for `kind`. Until its kind is known, a table has no list of keys that
/// an unknown one could be looked up in.
fn misspelt_kind(error: ReadError, table: &IndexMap<String, (Option<Place>, Node)>) -> ReadError {
    let is_missing = error.path.is_empty() && error.missing == Some("kind");
    let typo = table.iter().find(|(key, _)| is_missing && is_slip(key, "kind"));
    let Some((key, (key_place, node))) = typo else { return error };
    let message = format!("unknown key `{key}`, did you mean `kind`?");
    let error: ReadError = de::Error::custom(message);
    error.inside(key, key_place.as_ref().or(node.place.as_ref()))
}

struct ListReader<'de> {
    rest: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> de::SeqAccess<'de> for ListReader<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some((index, node)) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(NodeReader::new(node));
        read.map(Some).map_err(|error| error.at(node).inside(&index.to_string(), node.place.as_ref()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct TableReader<'de> {
    rest: indexmap::map::Iter<'de, String, (Option<Place>, Node)>,
    value: Option<(&'de String, &'de (Option<Place>, Node))>,
}

impl<'de> de::MapAccess<'de> for TableReader<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some((key, entry)) = self.rest.next() else { return Ok(None) };
        self.value = Some((key, entry));
        let read = seed.deserialize(de::value::BorrowedStrDeserializer::<ReadError>::new(key));
        read.map(Some).map_err(|error| error.inside(key, entry.0.as_ref().or(entry.1.place.as_ref())))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (key, (key_place, node)) = self.value.take().expect("a key was read");
        let place = node.place.as_ref().or(key_place.as_ref());
        seed.deserialize(NodeReader::new(node)).map_err(|error| error.at(node).inside(key, place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}
