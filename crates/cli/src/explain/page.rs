//! The same as Markdown: the reference pages of the documentation.

use stratasim_core::Precision;
use stratasim_experiment::card::{PROFILES, load};
use stratasim_experiment::plugins::{Noun, noun};
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::{Style, Unit};
use stratasim_topo::catalogue;

use super::markdown::first_sentence;
use super::{Explain, Found, companions, find, parameters, schema, unknown, value};
use crate::list::{CARDS, COMPUTE};

impl Explain {
    /// A whole list, or what is called by a name, as a page.
    ///
    /// # Errors
    /// When nothing has that name.
    pub(super) fn page(&self) -> Result<String, Error> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let body = match words.as_slice() {
            [COMPUTE] => compute_page(),
            [CARDS] => cards_page()?,
            [name] if noun(name).is_some_and(|noun| noun.name == *name) => {
                noun(name).map(list_page).unwrap_or_default()
            }
            [kind] => kinds_page(None, kind)?,
            [list, kind] => kinds_page(Some(list), kind)?,
            _ => unreachable!("one or two words, as the command line asks"),
        };
        let command = format!("stratasim explain {} --markdown", words.join(" "));
        Ok(format!("<!-- Written by `{command}`. Do not edit. -->\n\n{body}"))
    }
}

/// Everything called `kind`, one heading each.
fn kinds_page(list: Option<&str>, kind: &str) -> Result<String, ConfigError> {
    let found = find(list, kind);
    if found.is_empty() {
        if !value::explain(list, kind, &Style::PLAIN).is_empty() {
            let words = list.into_iter().chain([kind]).collect::<Vec<_>>().join(" ");
            let message =
                format!("`{kind}` is a value, which has no page (`stratasim explain {words}` says of what)");
            return Err(ConfigError::new(message, None));
        }
        return Err(unknown(list, kind));
    }
    Ok(found.iter().map(|found| section(found, "#")).collect::<Vec<_>>().join("\n"))
}

/// All kinds of a list, with a table of contents.
fn list_page(noun: &'static Noun) -> String {
    let mut title = noun.name.to_owned();
    title[..1].make_ascii_uppercase();
    let mut text = format!("# {title}\n\n`{} = ...`: {}.\n\n", noun.place, noun.about);
    text += &row(["kind", "what it is"]);
    text += &row(["---"; 2]);
    for entry in noun.entries {
        let help = schema(entry)["description"].as_str().unwrap_or_default().to_owned();
        text += &row([format!("[`{0}`](#{0})", entry.kind), first_sentence(&help)]);
    }
    for entry in noun.entries {
        text.push('\n');
        text += &section(&Found { noun: Some(noun), entry }, "##");
    }
    text
}

/// One kind or section below a heading of the level `marks`.
fn section(found: &Found, marks: &str) -> String {
    let schema = schema(found.entry);
    let kind = found.entry.kind;
    let help = schema["description"].as_str().unwrap_or_default();
    let mut text = format!("{marks} {kind}\n\n");
    if !found.entry.others.is_empty() {
        text += &format!(
            "Also called {}.\n\n",
            found.entry.others.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        );
    }
    text += &format!("{}\n", help.trim());
    if let Some(paragraph) = companions::paragraph(found, &schema) {
        text += &format!("\n{paragraph}\n");
    }
    let parameters = parameters::of(&schema);
    if parameters.is_empty() {
        text += "\nNo parameters.\n";
    } else {
        text.push('\n');
        text += &row(["key", "value", "default", "what it is"]);
        text += &row(["---"; 4]);
        for parameter in &parameters {
            text += &row([
                format!("`{}`", parameter.name),
                parameter.values.clone(),
                code(&parameter.default),
                parameter.help.clone(),
            ]);
        }
    }
    if let Some(noun) = found.noun
        && !help.contains("```toml")
    {
        let example = parameters::example(&schema, noun.place, kind);
        let lines: Vec<&str> = example.lines().map(str::trim_start).collect();
        text += &format!("\n```toml\n{}\n```\n", lines.join("\n"));
    }
    text
}

/// A row of a table. The texts are Markdown already; only what would end a cell is taken care of.
fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> String {
    let cells: Vec<_> = cells.into_iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A default as code; words about it stay words.
fn code(default: &str) -> String {
    match default {
        "" | "required" => default.to_owned(),
        value => format!("`{value}`"),
    }
}

/// The cards that are shipped.
fn cards_page() -> Result<String, Error> {
    let mut text = "# Cards\n\n`topology.card = \"NAME\"`, `stratasim card show NAME`: accelerator cards that are shipped. A table \
                    such as `{ base = \"sw-ai\", bandwidth = { ring = \"200 GB/s\" } }` changes one; [card](card.md) has all \
                    keys of a file of your own.\n\n"
        .to_owned();
    let headings = ["name", "groups", "ring", "Global", "Local", "what it is"];
    text += &row(headings);
    text += &row(headings.iter().map(|_| "---"));
    for profile in PROFILES {
        let card = load(profile.name, &[])?;
        let rates = &card.bandwidth;
        let rates = [rates.ring, rates.global, rates.local].map(|rate| rate.to_string());
        let about = card.about.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = [format!("`{}`", profile.name), card.core_groups.to_string()];
        text += &row(words.into_iter().chain(rates).chain([about]));
    }
    Ok(text)
}

/// The catalogue of compute types.
fn compute_page() -> String {
    let mut text =
        "# Compute types\n\n`topology.compute = \"NAME\"`: peak rates of dense arithmetic per core, \
                    as the source gives them. A table of properties, such as \
                    `{ base = \"H100\", fp32 = \"60 TFLOP/s\" }`, changes one or makes a new one.\n\n"
            .to_owned();
    let precisions = Precision::ALL.map(Precision::name);
    let headings = ["name", "also"].into_iter().chain(precisions);
    let headings: Vec<&str> = headings.chain(["cores", "memory", "bandwidth", "source"]).collect();
    text += &row(&headings);
    text += &row(headings.iter().map(|_| "---"));
    let mut notes = String::new();
    for entry in catalogue::entries() {
        let Some(compute) = catalogue::named(&entry.name) else { continue };
        let rates = compute.rate_flop_per_s.map(|rate| match rate {
            rate if rate > 0.0 => Unit::FlopPerSecond.format(rate),
            _ => String::new(),
        });
        let memory = compute.memory_bytes.map(|bytes| Unit::Bytes.format(bytes as f64));
        let bandwidth = compute.memory_bandwidth.map(|rate| Unit::BytesPerSecond.format(rate.bytes_per_s()));
        let ends = [
            compute.cores.to_string(),
            memory.unwrap_or_default(),
            bandwidth.unwrap_or_default(),
            format!("[{}]({})", entry.source, entry.url),
        ];
        let names = [format!("`{}`", entry.name), entry.also.join(", ")];
        text += &row(names.into_iter().chain(rates).chain(ends));
        if let Some(note) = &entry.note {
            notes += &format!("- `{}`: {note}\n", entry.name);
        }
    }
    if !notes.is_empty() {
        text += &format!("\n{notes}");
    }
    text
}
