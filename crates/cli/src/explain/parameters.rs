//! Parameters of a kind, from its JSON Schema.

use serde_json::{Map, Value};
use stratasim_experiment::plugins::NOUNS;

/// Tables inside tables are opened up to this depth.
const DEPTH: usize = 4;

/// One parameter, in words.
pub(crate) struct Parameter {
    /// Dotted path.
    pub(crate) name: String,
    /// What it may be.
    pub(crate) values: String,
    /// The words that it may be, where only some are.
    pub(crate) choices: Vec<String>,
    /// What it is when absent; `required` where it must be given.
    pub(crate) default: String,
    /// Its help.
    pub(crate) help: String,
}

/// The parameters of an object schema, those of tables inside it with dotted names, those of tables in
/// lists with `[]` behind the list.
pub(crate) fn of(schema: &Value) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    collect(schema, schema, "", DEPTH, &mut parameters);
    parameters
}

fn collect(schema: &Value, root: &Value, prefix: &str, depth: usize, out: &mut Vec<Parameter>) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    // its own kind is what a page is about
    for (key, property) in properties.iter().filter(|(key, _)| !(prefix.is_empty() && *key == "kind")) {
        let name = format!("{prefix}{key}");
        let inner = resolved(property, root);
        let help = property["description"].as_str().or(inner["description"].as_str()).unwrap_or_default();
        let default = match property.get("default") {
            _ if required.contains(&key.as_str()) => "required".to_owned(),
            None | Some(Value::Null) => String::new(),
            Some(Value::Array(list)) if list.is_empty() => String::new(),
            Some(Value::Object(table)) if table.len() > 1 => String::new(),
            Some(Value::Object(table)) => table.values().next().map(shown).unwrap_or_default(),
            Some(value) => shown(value),
        };
        out.push(Parameter {
            name: name.clone(),
            values: values(property, root),
            choices: choices(property, root),
            default,
            help: one_line(&format!("{help}{}", meanings(inner))),
        });
        let items = resolved(&inner["items"], root);
        if depth > 1 && inner.get("properties").is_some() {
            collect(inner, root, &format!("{name}."), depth - 1, out);
        } else if depth > 1 && items.get("properties").is_some() {
            collect(items, root, &format!("{name}[]."), depth - 1, out);
        }
    }
}

/// The schema that a property means: behind its reference, without `null`.
fn resolved<'a>(property: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(name) = reference(property) {
        return &root["$defs"][name];
    }
    for list in ["anyOf", "oneOf"] {
        if let Some(options) = property[list].as_array() {
            let mut real = options.iter().filter(|option| option["type"] != "null");
            if let (Some(only), None) = (real.next(), real.next()) {
                return resolved(only, root);
            }
        }
    }
    property
}

/// Name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// What a value may be, in words.
fn values(property: &Value, root: &Value) -> String {
    let schema = resolved(property, root);
    if let Some(noun) = registry(schema) {
        let named = schema["oneOf"].as_array().into_iter().flatten().any(|option| option["type"] == "string");
        return if named {
            format!("one of {noun}: its name, or a table with it as `kind`")
        } else {
            format!("a table with a `kind` of {noun}")
        };
    }
    for list in ["oneOf", "anyOf"] {
        if let Some(options) = schema[list].as_array() {
            let words: Vec<String> = options
                .iter()
                .filter(|option| option["type"] != "null")
                .map(|option| {
                    let word = option.get("const").map(shown);
                    word.or_else(|| tagged(option, root)).unwrap_or_else(|| values(option, root))
                })
                .collect();
            return words.join(" or ");
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(shown).collect::<Vec<_>>().join(" or ");
    }
    let example = || schema["examples"][0].as_str().map(|example| format!("\"{example}\""));
    // several kinds of values are best shown by one of each
    if let (Some(kinds), Some(examples)) = (schema["type"].as_array(), schema["examples"].as_array())
        && kinds.iter().filter(|kind| *kind != "null").count() > 1
        && examples.len() > 1
    {
        return format!("such as {}", examples.iter().map(Value::to_string).collect::<Vec<_>>().join(" or "));
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find_map(|kind| kind.as_str().filter(|kind| *kind != "null")),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => match example() {
            Some(example) => format!("such as {example}"),
            None => "text".to_owned(),
        },
        Some("integer") => "whole number".to_owned(),
        Some("number") => "number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("array") if schema["items"].is_object() => {
            let items = values(&schema["items"], root);
            if items.is_empty() { "list".to_owned() } else { format!("list: {items}") }
        }
        Some("array") => "list".to_owned(),
        Some("object") => variant(schema).unwrap_or_else(|| "table".to_owned()),
        _ => "any value".to_owned(),
    }
}

/// A table that its `kind` tells from others, with its keys.
fn variant(schema: &Value) -> Option<String> {
    let properties = schema["properties"].as_object()?;
    let kind = properties.get("kind")?["const"].as_str()?;
    let keys: String =
        properties.keys().filter(|key| *key != "kind").map(|key| format!(", {key} = …")).collect();
    Some(format!("{{ kind = \"{kind}\"{keys} }}"))
}

/// An alternative that is a table with one key, which tells it from others.
fn tagged(schema: &Value, root: &Value) -> Option<String> {
    let (key, inner) = only_property(schema)?;
    let keys = resolved(inner, root)["properties"].as_object();
    let keys: Vec<String> = keys.into_iter().flatten().map(|(key, _)| format!("{key} = …")).collect();
    Some(if keys.is_empty() {
        format!("{{ {key} = … }}")
    } else {
        format!("{{ {key} = {{ {} }} }}", keys.join(", "))
    })
}

/// The one key of a table and what it holds, where that is not its kind.
fn only_property(schema: &Value) -> Option<(&String, &Value)> {
    let properties = schema["properties"].as_object().filter(|it| it.len() == 1)?;
    properties.iter().next().filter(|(key, _)| *key != "kind")
}

/// What the words mean among which a value is chosen, where that is told; begins with a space.
fn meanings(schema: &Value) -> String {
    let options = schema["oneOf"].as_array().into_iter().flatten();
    let told = options.filter_map(|option| {
        let word = match &option["const"] {
            Value::String(word) => word,
            _ => only_property(option)?.0,
        };
        Some(format!(" `{word}`: {}", option["description"].as_str()?))
    });
    told.collect()
}

/// The words among which a value is chosen; none where any text, number or table will do.
fn choices(property: &Value, root: &Value) -> Vec<String> {
    let schema = resolved(property, root);
    // plug-ins, which are explained by themselves
    if registry(schema).is_some() {
        return Vec::new();
    }
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let mut words: Vec<String> = schema["enum"].as_array().into_iter().flatten().filter_map(word).collect();
    words.extend(word(&schema["const"]));
    for list in ["oneOf", "anyOf"] {
        let options = schema[list].as_array().into_iter().flatten();
        words.extend(options.flat_map(|option| choices(option, root)));
    }
    if schema["items"].is_object() {
        words.extend(choices(&schema["items"], root));
    }
    words
}

/// The list whose kinds are the alternatives of a schema.
fn registry(schema: &Value) -> Option<&'static str> {
    let first = schema["oneOf"][0]["properties"]["kind"]["const"].as_str()?;
    let tables = schema["oneOf"].as_array()?.iter().filter(|option| option["type"] != "string");
    let count = tables.count();
    let noun = NOUNS.iter().find(|noun| noun.entries.len() == count && noun.entries[0].kind == first)?;
    Some(noun.name)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A section of an experiment with everything that must be given.
pub(crate) fn example(schema: &Value, place: &str, kind: &str) -> String {
    let section = place.strip_suffix(".kind").unwrap_or(place);
    let mut text = format!("    [{section}]\n    kind = \"{kind}\"\n");
    for (key, value) in required_values(schema, schema) {
        text += &format!("    {key} = {}\n", toml_value(&value));
    }
    text
}

/// A value for every required key.
fn required_values(schema: &Value, root: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let keys = required.filter(|key| *key != "kind");
    keys.map(|key| (key.to_owned(), sample(&schema["properties"][key], root))).collect()
}

/// A value that fits a schema.
fn sample(property: &Value, root: &Value) -> Value {
    if let Some(example) = property["examples"].get(0).or_else(|| property.get("const")) {
        return example.clone();
    }
    if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
        return default.clone();
    }
    let schema = resolved(property, root);
    if !std::ptr::eq(schema, property) {
        return sample(schema, root);
    }
    for list in ["oneOf", "anyOf"] {
        if let Some(first) = schema[list].get(0) {
            return sample(first, root);
        }
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind {
        Some("integer") => 4.into(),
        Some("number") => 0.5.into(),
        Some("boolean") => true.into(),
        Some("array") => vec![sample(&schema["items"], root); 2].into(),
        Some("object") => {
            let kind = schema["properties"]["kind"].get("const").cloned();
            let kind = kind.map(|kind| ("kind".to_owned(), kind)).into_iter();
            Value::Object(kind.chain(required_values(schema, root)).collect())
        }
        _ => "name".into(),
    }
}

/// A JSON value as TOML on one line.
pub(super) fn toml_value(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(toml_value).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => {
            let entries: Vec<_> =
                table.iter().map(|(key, value)| format!("{key} = {}", toml_value(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}
