//! `stratasim explain`: everything about one kind, from its schema.

mod companions;
pub(crate) mod markdown;
mod page;
pub(crate) mod parameters;
mod value;

use clap::Args;
use serde_json::Value;
use stratasim_core::Precision;
use stratasim_core::error::nearest;
use stratasim_core::registry::Entry;
use stratasim_experiment::card::{PROFILES, load};
use stratasim_experiment::plugins::{NOUNS, Noun, SECTIONS};
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::style::Tone;
use stratasim_report::table::Table;
use stratasim_report::{Style, Unit};
use stratasim_topo::catalogue;

use crate::list::{CARDS, COMPUTE};
use crate::terminal::Terminal;
use parameters::Parameter;

#[derive(Args)]
pub(crate) struct Explain {
    /// A kind such as fat-tree, a compute type such as H100, a card such as sw-ai, a section (experiment,
    /// execution, noise, job, jobs, nccl, card, forecast, sweep), or a value of a parameter such as lv08. Where two lists have the kind, put the list in
    /// front: topology ring. With --markdown also a whole list, such as topologies
    #[arg(num_args = 1..=2, value_name = "KIND")]
    words: Vec<String>,
    /// Print Markdown, as in the reference pages of the documentation
    #[arg(long)]
    markdown: bool,
}

/// A plug-in in its list, or a section.
#[derive(Clone, Copy)]
struct Found {
    noun: Option<&'static Noun>,
    entry: &'static Entry,
}

impl Explain {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        if self.words.is_empty() {
            let reason =
                "what should be explained? A kind is expected, such as fat-tree; `stratasim list` shows all";
            return Err(ConfigError::new(reason, None).into());
        }
        if self.markdown {
            terminal.print(&self.page()?);
        } else {
            terminal.print(&terminal.style.without_signs(&text(&self.words, &terminal.style)?));
        }
        Ok(0)
    }
}

/// What is said about `words`: a kind, or a list and a kind.
///
/// # Errors
/// A kind that does not exist.
pub fn text(words: &[String], style: &Style) -> Result<String, Error> {
    let (list, kind) = match words {
        [list, kind] => (Some(list.as_str()), kind.as_str()),
        words => (None, words.last().map_or("", String::as_str)),
    };
    let found = find(list, kind);
    let mut texts: Vec<String> = found.iter().map(|found| explain(found, style)).collect();
    if list.is_none_or(|list| list == COMPUTE) {
        let entries = catalogue::entries().iter();
        texts.extend(
            entries
                .filter(|entry| entry.names().any(|name| name.eq_ignore_ascii_case(kind)))
                .map(|entry| explain_compute(entry, style)),
        );
    }
    if list.is_none_or(|list| list == CARDS || list == "card") && PROFILES.iter().any(|it| it.name == kind) {
        texts.push(crate::card::text(&load(kind, &[])?, style));
    }
    if texts.is_empty() {
        texts.extend(value::explain(list, kind, style));
    }
    if texts.is_empty() {
        return Err(unknown(list, kind).into());
    }
    let rule = style.choose("─", "-").repeat(style.width);
    Ok(texts.join(&format!("\n{}\n\n", style.paint(Tone::Muted, &rule))))
}

/// Every plug-in and section called `kind`, in `list` if given.
fn find(list: Option<&str>, kind: &str) -> Vec<Found> {
    let nouns =
        NOUNS.iter().filter(|noun| list.is_none_or(|list| list == noun.name || list == noun.singular));
    let mut found: Vec<Found> = nouns
        .flat_map(|noun| {
            let entries = noun.entries.iter().filter(|entry| entry.is_called(kind));
            entries.map(|entry| Found { noun: Some(noun), entry })
        })
        .collect();
    if list.is_none() {
        let sections = SECTIONS.iter().filter(|entry| entry.kind == kind);
        found.extend(sections.map(|entry| Found { noun: None, entry }));
    }
    found
}

fn unknown(list: Option<&str>, kind: &str) -> ConfigError {
    if list.is_none() && NOUNS.iter().map(|noun| noun.name).chain([COMPUTE, CARDS]).any(|name| name == kind) {
        let ways = format!(
            "`stratasim list {kind}` shows its kinds, `stratasim explain {kind} --markdown` all of them in full"
        );
        return ConfigError::new(format!("`{kind}` is a list and no kind: {ways}"), None);
    }
    let kinds = || {
        let plugins = NOUNS.iter().flat_map(|noun| noun.entries.iter().flat_map(Entry::names));
        let sections = SECTIONS.iter().map(|entry| entry.kind);
        let cards = PROFILES.iter().map(|profile| profile.name);
        plugins
            .chain(sections)
            .chain(cards)
            .chain(catalogue::entries().iter().flat_map(catalogue::Entry::names))
    };
    let values = value::all();
    let near = nearest(kind, kinds()).or_else(|| nearest(kind, values.iter().map(String::as_str)));
    let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    let place = list.map_or_else(String::new, |list| format!(" among `{list}`"));
    ConfigError::new(
        format!("there is no kind `{kind}`{place}{hint} (`stratasim list` says what there is)"),
        None,
    )
}

/// The schema of an entry, definitions included.
pub(crate) fn schema(entry: &Entry) -> Value {
    let mut generator = schemars::SchemaGenerator::default();
    let mut schema = (entry.schema)(&mut generator).to_value();
    if let Some(object) = schema.as_object_mut() {
        let definitions = serde_json::to_value(generator.definitions()).unwrap_or_default();
        object.insert("$defs".to_owned(), definitions);
    }
    schema
}

fn explain(found: &Found, style: &Style) -> String {
    let schema = schema(found.entry);
    let kind = found.entry.kind;
    let heading = style.paint(Tone::Strong, kind);
    let mut text = match found.noun {
        Some(noun) => format!("{heading}: a kind of {} ({} = \"{kind}\")", noun.singular, noun.place),
        None if kind == "card" => {
            format!("{heading}: what the file of a card says (`stratasim card show NAME --toml` begins one)")
        }
        None => format!("{heading}: a section of an experiment"),
    };
    text = format!("{}\n", markdown::to_text(&text, style.width));
    if !found.entry.others.is_empty() {
        text += &markdown::to_text(&also_called(found.entry.others), style.width);
        text.push('\n');
    }
    let help = schema["description"].as_str().unwrap_or_default();
    text += &markdown::to_text(help, style.width);
    if let Some(paragraph) = companions::paragraph(found, &schema) {
        text += &format!("\n{}", markdown::to_text(&paragraph, style.width));
    }
    let parameters = parameters::of(&schema);
    if !parameters.is_empty() {
        text += &format!("\n{}\n\n", style.paint(Tone::Strong, "Parameters"));
        text.extend(parameters.iter().map(|parameter| entry(parameter, style)));
    }
    if let Some(noun) = found.noun
        && !help.contains("```toml")
    {
        let example = parameters::example(&schema, noun.place, kind);
        text += &format!("\n{}\n\n{example}", style.paint(Tone::Strong, "Example"));
    }
    text
}

/// A parameter with what it may be and its help.
pub(crate) fn entry(parameter: &Parameter, style: &Style) -> String {
    let default = match parameter.default.as_str() {
        "" => String::new(),
        "required" => ", required".to_owned(),
        value => format!(", {value} when absent"),
    };
    let name = style.paint(Tone::Strong, &parameter.name);
    let values = format!("{}{default}", parameter.values);
    // beside the name where there is room, below it otherwise
    let mut text = if parameter.name.len() + 4 + values.chars().count() <= style.width {
        format!("  {name}  {values}\n")
    } else {
        let values = markdown::to_text(&values, style.width - 4);
        let lines = values.lines().map(|line| format!("    {line}\n"));
        format!("  {name}\n{}", lines.collect::<String>())
    };
    for line in markdown::to_text(&parameter.help, style.width - 6).lines() {
        text += &format!("      {line}\n");
    }
    text
}

/// The names that something has elsewhere.
fn also_called<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    format!("also called {}", names.join(", "))
}

fn explain_compute(entry: &catalogue::Entry, style: &Style) -> String {
    let heading = format!(
        "{}: a compute type (topology.compute = \"{}\")",
        style.paint(Tone::Strong, &entry.name),
        entry.name
    );
    let mut text = markdown::to_text(&heading, style.width) + "\n";
    if !entry.also.is_empty() {
        text += &markdown::to_text(&also_called(&entry.also), style.width);
        text.push('\n');
    }
    if let Some(compute) = catalogue::named(&entry.name) {
        let mut table = Table::new(["property", "value"]);
        for precision in Precision::ALL {
            let rate = compute.rate_flop_per_s[precision.index()];
            if rate > 0.0 {
                table.push([precision.name().to_owned(), Unit::FlopPerSecond.format(rate)]);
            }
        }
        table.push(["cores".to_owned(), compute.cores.to_string()]);
        if let Some(bytes) = compute.memory_bytes {
            table.push(["memory".to_owned(), Unit::Bytes.format(bytes as f64)]);
        }
        if let Some(rate) = compute.memory_bandwidth {
            table.push(["memory bandwidth".to_owned(), Unit::BytesPerSecond.format(rate.bytes_per_s())]);
        }
        text += &table.to_text(style);
    }
    text.push('\n');
    for words in entry.note.iter().chain([&format!("Source: {}", entry.source)]) {
        text += &markdown::to_text(words, style.width);
    }
    text += &format!("{}\n", entry.url);
    text
}
