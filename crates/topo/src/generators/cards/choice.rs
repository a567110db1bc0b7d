//! Which card is meant: one by name, or one with some of its values changed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A card: its name, or a table of what differs from another one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum CardChoice {
    /// The name of a card that is shipped, such as `"sw-ai"`, or the path of a file.
    Named(#[schemars(extend("format" = "path"))] String),
    /// A card with other values, such as `{ base = "sw-ai", bandwidth = { ring = "200 GB/s" } }`.
    Changed(Box<ChangedCard>),
}

/// A card that begins as another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedCard {
    /// The card to begin with: the name of one that is shipped, or the path of a file.
    pub base: String,
    /// What differs, in the sections of a card's file. The division of memory follows where only one side of it
    /// is given.
    #[serde(flatten)]
    pub changes: serde_json::Map<String, serde_json::Value>,
}

impl CardChoice {
    /// Name or path of the card, or of the one that it begins as.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Changed(changed) => &changed.base,
        }
    }

    /// What differs from it: dotted paths with their values.
    pub fn changes(&self) -> Vec<(String, &serde_json::Value)> {
        let mut changes = Vec::new();
        if let Self::Changed(changed) = self {
            changed.changes.iter().for_each(|(key, value)| leaves(key.clone(), value, &mut changes));
        }
        changes
    }
}

fn leaves<'a>(path: String, value: &'a serde_json::Value, out: &mut Vec<(String, &'a serde_json::Value)>) {
    match value.as_object().filter(|table| !table.is_empty()) {
        Some(table) => table.iter().for_each(|(key, value)| leaves(format!("{path}.{key}"), value, out)),
        None => out.push((path, value)),
    }
}

impl Default for CardChoice {
    fn default() -> Self {
        Self::Named("sw-ai".to_owned())
    }
}

impl<'de> Deserialize<'de> for CardChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;
        impl<'de> serde::de::Visitor<'de> for Choice {
            type Value = CardChoice;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the name of a card such as \"sw-ai\", the path of its file, or a table with its `base` and what differs")
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<CardChoice, E> {
                Ok(CardChoice::Named(name.to_owned()))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<CardChoice, A::Error> {
                ChangedCard::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    .map(|changed| CardChoice::Changed(Box::new(changed)))
            }
        }
        deserializer.deserialize_any(Choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_a_name_or_a_table_of_changes() {
        let read = |text: &str| serde_json::from_str::<CardChoice>(text);
        assert_eq!(read(r#""sw-ai""#).unwrap(), CardChoice::default());
        let text = r#"{"base":"a.toml","bandwidth":{"ring":"2 GB/s","local":"3 GB/s"},"core-groups":8}"#;
        let changed = read(text).unwrap();
        assert_eq!(changed.name(), "a.toml");
        let mut paths: Vec<String> = changed.changes().into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["bandwidth.local", "bandwidth.ring", "core-groups"]);
        assert_eq!(read(&serde_json::to_string(&changed).unwrap()).unwrap(), changed);
        assert!(read("{}").unwrap_err().to_string().contains("base"));
        assert!(read("3").unwrap_err().to_string().contains("the name of a card"));
    }
}
