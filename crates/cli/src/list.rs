//! `stratasim list`: what can be chosen.

use clap::Args;
use stratasim_core::Precision;
use stratasim_core::error::nearest;
use stratasim_core::registry::Entry;
use stratasim_experiment::plugins::{NOUNS, Noun, noun};
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::Unit;
use stratasim_report::style::Tone;
use stratasim_report::table::{Cell, Table};
use stratasim_topo::catalogue;

use crate::explain::markdown::{self, first_sentence};
use crate::terminal::Terminal;

/// The name of the list of compute types, which is a catalogue and no registry.
pub(crate) const COMPUTE: &str = "compute";

/// The name of the list of cards that are shipped.
pub(crate) const CARDS: &str = "cards";

#[derive(Args)]
pub(crate) struct List {
    /// What to list: topologies, routings, placements, workloads, collectives, patterns, sizes,
    /// arrivals, goal-patterns, job-placements, networks, card-algorithms, compute, cards, ...; everything when absent
    noun: Option<String>,
}

impl List {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let mut text = String::new();
        match self.noun.as_deref() {
            None => {
                for noun in NOUNS {
                    text += &section(noun, terminal);
                    text.push('\n');
                }
                text += &compute(terminal);
                text.push('\n');
                text += &cards(terminal)?;
            }
            Some(COMPUTE) => text = compute(terminal),
            Some(CARDS) => text = cards(terminal)?,
            Some(name) => match noun(name) {
                Some(noun) => text = section(noun, terminal),
                None => return Err(unknown(name).into()),
            },
        }
        terminal.print(&text);
        Ok(0)
    }
}

fn unknown(name: &str) -> ConfigError {
    let names = NOUNS.iter().map(|noun| noun.name).chain([COMPUTE, CARDS]);
    let hint =
        nearest(name, names.clone()).map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    let names: Vec<_> = names.collect();
    ConfigError::new(format!("there is no list `{name}`{hint} (lists: {})", names.join(", ")), None)
}

fn section(noun: &Noun, terminal: &Terminal) -> String {
    let mut table = Table::new(["kind", "what it is"]);
    for entry in noun.entries {
        table.push([entry.kind.to_owned(), about(entry)]);
    }
    let heading = terminal.style.paint(Tone::Strong, noun.name);
    let about = format!("{heading}: {} ({} = ...)", noun.about, noun.place);
    let about = markdown::to_text(&about, terminal.style.width);
    format!("{about}\n{}", table.to_text(&terminal.style))
}

/// The first sentence of a plug-in's help.
fn about(entry: &Entry) -> String {
    let schema = (entry.schema)(&mut schemars::SchemaGenerator::default()).to_value();
    first_sentence(schema["description"].as_str().unwrap_or_default())
}

fn cards(terminal: &Terminal) -> Result<String, Error> {
    let heading = terminal.style.paint(Tone::Strong, CARDS);
    let table = crate::card::shipped()?.to_text(&terminal.style);
    Ok(format!("{heading}: accelerator cards that are shipped (topology.card = ...)\n\n{table}"))
}

fn compute(terminal: &Terminal) -> String {
    let mut table = Table::new(["name", "also", "fp32", "bf16", "memory", "bandwidth"]);
    for entry in catalogue::entries() {
        let Some(compute) = catalogue::named(&entry.name) else { continue };
        let rate = |precision: Precision| -> Cell {
            let rate = compute.rate_flop_per_s[precision.index()];
            (rate > 0.0).then_some((rate * f64::from(compute.cores), Unit::FlopPerSecond)).into()
        };
        table.push([
            Cell::from(entry.name.as_str()),
            entry.also.join(", ").into(),
            rate(Precision::Fp32),
            rate(Precision::Bf16),
            compute.memory_bytes.map(|bytes| (bytes as f64, Unit::Bytes)).into(),
            compute.memory_bandwidth.map(|rate| (rate.bytes_per_s(), Unit::BytesPerSecond)).into(),
        ]);
    }
    let heading = terminal.style.paint(Tone::Strong, COMPUTE);
    format!(
        "{heading}: types of compute nodes (topology.compute = ...)\n\n{}",
        table.to_text(&terminal.style)
    )
}
