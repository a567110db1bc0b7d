//! What can be generated.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};
use stratasim_report::Style;
use stratasim_report::style::Tone;
use stratasim_report::table::Table;
use stratasim_workload::collective::{CollectiveKind, CollectiveSpec};
use stratasim_workload::goal::generate::GenerateSpec;
use stratasim_workload::goal::nccl::NcclSpec;

use super::NCCL;
use crate::explain::{markdown, parameters};

/// Every name, in tables.
pub(super) fn patterns(style: &Style) -> String {
    let mut table = Table::new(["pattern", "in schedgen", "what it is"]);
    for entry in GenerateSpec::ENTRIES {
        let aliases: Vec<&str> = GenerateSpec::aliases()
            .iter()
            .filter(|(_, kind)| *kind == entry.kind)
            .map(|(alias, _)| *alias)
            .collect();
        let schema = (entry.schema)(&mut SchemaGenerator::default()).to_value();
        table.push([entry.kind.to_owned(), aliases.join(", "), about(&schema)]);
    }
    table.push([NCCL.to_owned(), String::new(), about(&nccl())]);
    let mut collectives = Table::new(["collective", "what it is"]);
    let schema = CollectiveKind::json_schema(&mut SchemaGenerator::default()).to_value();
    for kind in CollectiveKind::ALL {
        let choices = schema["oneOf"].as_array().into_iter().flatten();
        let help = choices.filter(|choice| choice["const"] == kind.name());
        let help = help.filter_map(|choice| choice["description"].as_str()).next().unwrap_or_default();
        collectives.push([kind.name().to_owned(), markdown::first_sentence(help)]);
    }
    let algorithms = format!("Algorithms of collectives: {}", CollectiveSpec::KINDS.join(", "));
    format!(
        "{}\n{}\n{}\n{}",
        table.to_text(style),
        collectives.to_text(style),
        markdown::to_text(&algorithms, style.width),
        markdown::to_text("Options of each: stratasim goal generate --list NAME", style.width),
    )
}

/// The help of a pattern and its own options.
pub(super) fn options(name: &str, table: &Map<String, Value>, style: &Style) -> String {
    let kind = table.get("kind").and_then(Value::as_str);
    let entry = GenerateSpec::ENTRIES.iter().find(|entry| Some(entry.kind) == kind);
    let schema = entry.map_or_else(nccl, |entry| (entry.schema)(&mut SchemaGenerator::default()).to_value());
    let set: Vec<String> = table
        .iter()
        .filter(|(key, _)| *key != "kind")
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let kind = kind.unwrap_or(NCCL);
    let called = if kind == name { kind.to_owned() } else { format!("{name}: {kind}") };
    let heading = if set.is_empty() { called } else { format!("{called} with {}", set.join(", ")) };
    let help = markdown::to_text(schema["description"].as_str().unwrap_or_default(), style.width);
    let mut text = format!("{}\n\n{help}", style.paint(Tone::Strong, &heading));
    // said by options of the command
    let said = ["ranks", "bytes", "root", "tag"];
    let parameters = parameters::of(&schema).into_iter();
    let mut parameters = parameters.filter(|it| kind != NCCL || !said.contains(&it.name.as_str())).peekable();
    if parameters.peek().is_some() {
        let mut table = Table::new(["option", "values", "default", "what it does"]);
        for it in parameters {
            table.push([it.name, it.values, it.default, it.help]);
        }
        text += &format!("\n{}", table.to_text(style));
    }
    text
}

fn nccl() -> Value {
    NcclSpec::json_schema(&mut SchemaGenerator::default()).to_value()
}

/// The first sentence of a help text.
fn about(schema: &Value) -> String {
    markdown::first_sentence(schema["description"].as_str().unwrap_or_default())
}
