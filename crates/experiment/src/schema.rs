//! Putting schemas of sections together.

use schemars::Schema;

/// Adds the optional section `key` with schema `section` to the object schema `root`, definitions
/// included.
pub(crate) fn add_section(root: &mut Schema, key: &str, section: Schema) {
    let mut section = section.to_value();
    let definitions = section.as_object_mut().and_then(|object| {
        object.remove("$schema");
        object.remove("$defs")
    });
    let Some(root) = root.as_object_mut() else { return };
    if let Some(serde_json::Value::Object(definitions)) = definitions {
        let known = root.entry("$defs").or_insert_with(|| serde_json::json!({}));
        if let Some(known) = known.as_object_mut() {
            for (name, definition) in definitions {
                known.entry(name).or_insert(definition);
            }
        }
    }
    if let Some(properties) = root.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
        properties.insert(key.to_owned(), section);
    }
}
