//! What can be generated.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};
use stratasim_core::registry::Entry;
use stratasim_report::Style;
use stratasim_report::style::Tone;
use stratasim_report::table::Table;
use stratasim_workload::collective::{CollectiveKind, CollectiveSpec};
use stratasim_workload::goal::generate::GenerateSpec;
use stratasim_workload::goal::nccl::NcclSpec;

use super::NCCL;
use crate::explain::{entry, markdown, parameters, schema as schema_of};

/// NCCL's operations as if they were a pattern.
const NCCL_ENTRY: Entry = Entry::of::<NcclSpec>(NCCL);

/// Every name, in tables.
pub(super) fn patterns(style: &Style) -> String {
    let mut table = Table::new(["pattern", "what it is"]);
    for entry in GenerateSpec::ENTRIES.iter().chain([&NCCL_ENTRY]) {
        table.push([entry.kind.to_owned(), about(&schema_of(entry))]);
    }
    let aliases: Vec<String> =
        GenerateSpec::aliases().iter().map(|(alias, kind)| format!("{alias} ({kind})")).collect();
    let aliases = format!("Names of schedgen: {}", aliases.join(", "));
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
        "{}\n{}\n{}\n{}\n{}",
        table.to_text(style),
        markdown::to_text(&aliases, style.width),
        collectives.to_text(style),
        markdown::to_text(&algorithms, style.width),
        markdown::to_text("Options of each: stratasim goal generate --list NAME", style.width),
    )
}

/// The help of a pattern and its own options.
pub(super) fn options(name: &str, table: &Map<String, Value>, style: &Style) -> String {
    let kind = table.get("kind").and_then(Value::as_str);
    let pattern = GenerateSpec::ENTRIES.iter().find(|entry| Some(entry.kind) == kind);
    let schema = schema_of(pattern.unwrap_or(&NCCL_ENTRY));
    let set: Vec<String> = table
        .iter()
        .filter(|(key, _)| *key != "kind")
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let kind = kind.unwrap_or(NCCL);
    let called = if kind == name { kind.to_owned() } else { format!("{name}: {kind}") };
    let heading = if set.is_empty() { called } else { format!("{called} with {}", set.join(", ")) };
    // examples there are of experiments
    let help = schema["description"].as_str().unwrap_or_default();
    let help: Vec<&str> = help.split("```").step_by(2).map(str::trim_end).collect();
    let help = markdown::to_text(&help.join("\n"), style.width);
    let heading = markdown::to_text(&heading, style.width);
    let mut text = format!("{}\n\n{help}", style.paint(Tone::Strong, heading.trim_end()));
    // said by options of the command
    let said = ["ranks", "bytes", "root", "tag"];
    let parameters = parameters::of(&schema).into_iter();
    let own: Vec<_> = parameters.filter(|it| kind != NCCL || !said.contains(&it.name.as_str())).collect();
    if !own.is_empty() {
        text += &format!("\n{}\n\n", style.paint(Tone::Strong, "Options for --set"));
        text.extend(own.iter().map(|parameter| entry(parameter, style)));
    }
    text
}

/// The first sentence of a help text in short: without what stands in brackets or behind a colon.
fn about(schema: &Value) -> String {
    let sentence = markdown::first_sentence(schema["description"].as_str().unwrap_or_default());
    let mut plain = String::new();
    let mut depth = 0;
    for c in sentence.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let plain = plain.replace(" :", ":").replace(" ,", ",").replace("  ", " ");
    match plain.split_once(": ") {
        // one word says too little
        Some((before, _)) if before.contains(' ') => before.to_owned(),
        _ => plain.trim().to_owned(),
    }
}
