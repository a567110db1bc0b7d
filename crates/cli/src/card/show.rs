//! `stratasim card show`: what a card consists of.

use clap::Args;
use stratasim_core::{Bandwidth, Bytes, Duration};
use stratasim_device::card::{Card, HostCopy, closed_form, tiles};
use stratasim_experiment::Error;
use stratasim_experiment::card::inconsistencies::all;
use stratasim_experiment::card::{PROFILES, load, to_toml};
use stratasim_report::style::{Tone, hanging};
use stratasim_report::table::{Cell, Table};
use stratasim_report::{Style, Unit};

use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Show {
    /// A shipped card such as sw-ai, or a file that describes one; all shipped ones when absent
    card: Option<String>,
    /// Change a value: a dotted path and a TOML value; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "card")]
    sets: Vec<String>,
    /// Print the description as TOML, to begin a file of one's own
    #[arg(long, requires = "card")]
    toml: bool,
    /// Print the JSON Schema of cards, for editors
    #[arg(long, conflicts_with_all = ["card", "toml"])]
    schema: bool,
}

impl Show {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        if self.schema {
            let schema = schemars::schema_for!(Card);
            terminal.print(&(serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"));
            return Ok(0);
        }
        let Some(name) = &self.card else {
            terminal.print(&shipped()?.to_text(&terminal.style));
            let hint = "\n`stratasim card show NAME` has all of one, `--toml` begins a file of your own.\n";
            terminal.print(hint);
            return Ok(0);
        };
        let card = load(name, &self.sets)?;
        if self.toml {
            terminal.print(&to_toml(&card)?);
            return Ok(0);
        }
        terminal.print(&text(&card, &terminal.style));
        let is_file_of_the_paper = PROFILES.iter().any(|it| it.name == name && name.starts_with("sw-ai"));
        if is_file_of_the_paper {
            terminal.print("\nWhere the paper contradicts itself:\n\n");
            inconsistencies(terminal);
        }
        Ok(0)
    }
}

/// What a card consists of, in words and a table.
pub fn text(card: &Card, style: &Style) -> String {
    let mut text = format!("{}: {} core groups\n", card.name, card.core_groups);
    for line in card.about.lines() {
        for line in hanging(line, style.width, 2).lines() {
            text += &format!("  {}\n", style.paint(Tone::Muted, line.trim_start()));
        }
    }
    text + &format!("\n{}", table(card).to_text(style))
}

/// One line for each shipped card.
///
/// # Errors
/// None for the files that are compiled in.
pub(crate) fn shipped() -> Result<Table, Error> {
    let mut table = Table::new(["card", "groups", "ring", "global", "local"]);
    for profile in PROFILES {
        let card = load(profile.name, &[])?;
        let rates = &card.bandwidth;
        let mut row: Vec<Cell> = vec![profile.name.into(), (f64::from(card.core_groups), Unit::Count).into()];
        row.extend([rates.ring, rates.global, rates.local].map(|rate| Cell::from(rate_of(rate))));
        table.push(row);
    }
    Ok(table)
}

fn rate_of(rate: Bandwidth) -> (f64, Unit) {
    (rate.bytes_per_s(), Unit::BytesPerSecond)
}

fn time_of(length: Duration) -> (f64, Unit) {
    (length.as_secs_f64(), Unit::Seconds)
}

/// Where the ring overtakes CSC in an all-gather.
fn crossover(card: &Card) -> Option<f64> {
    let cost = &card.cost;
    let launch_s = cost.launch.as_secs_f64() + cost.kernel.as_secs_f64();
    let steps = [cost.ring_step.as_secs_f64(), cost.csc_step.as_secs_f64()];
    let rates = &card.bandwidth;
    let local = rates.local.bytes_per_s();
    let (ring, global) = (rates.ring.bytes_per_s().min(local), rates.global.bytes_per_s().min(local));
    let groups = f64::from(card.core_groups);
    // with a shared bus the rates depend on who is active; the bench says where
    if rates.ring_total.is_some() {
        return None;
    }
    closed_form::crossover_bytes(groups, launch_s, cost.sync.as_secs_f64(), steps, ring, global)
}

fn table(card: &Card) -> Table {
    let mut table = Table::new(["", "", ""]);
    let mut row = |what: &str, value: Cell, note: String| table.push([Cell::from(what), value, note.into()]);
    let bytes = |bytes: u64| Cell::from((bytes as f64, Unit::Bytes));
    let (memory, rates, cost) = (&card.memory, &card.bandwidth, &card.cost);
    row(
        "Local memory",
        bytes(memory.local.count()),
        format!("of each group, of {} in all", memory.per_group),
    );
    let global = format!("{} x ({} - {})", card.core_groups, memory.per_group, memory.local);
    row("Global memory", bytes(memory.global.count()), global);
    let pads = u64::from(card.compute.elements).saturating_mul(card.compute.ldm.count());
    let tile = format!(
        "{} elements of {}, {} in all; tiles of {}",
        card.compute.elements,
        card.compute.ldm,
        Bytes(pads),
        Bytes(tiles::tile_bytes(card))
    );
    row("scratch-pads", bytes(pads), tile);
    if let Some(rate) = card.compute.rate {
        row("arithmetic", (rate.flop_per_s(), Unit::FlopPerSecond).into(), "of each group".to_owned());
    }
    let per_group = "per group and direction";
    row("ring", rate_of(rates.ring).into(), per_group.to_owned());
    row("Global", rate_of(rates.global).into(), format!("{per_group}, over the ring"));
    row("Local", rate_of(rates.local).into(), per_group.to_owned());
    let optional = [
        ("ring in all", rates.ring_total, "shared by all groups"),
        ("ring additions", rates.reduce_ring, "fetch and add, in a reduce-scatter by rounds"),
        ("CSC additions", rates.reduce_csc, "fetch and add, in one kernel"),
    ];
    for (what, rate, note) in optional {
        if let Some(rate) = rate {
            row(what, rate_of(rate).into(), note.to_owned());
        }
    }
    row("launch", time_of(cost.launch).into(), "all groups at once".to_owned());
    row("synchronisation", time_of(cost.sync).into(), "through the host".to_owned());
    row("ring step", time_of(cost.ring_step).into(), "beside launch, synchronisation and data".to_owned());
    row("CSC step", time_of(cost.csc_step).into(), "inside of a kernel".to_owned());
    row("kernel", time_of(cost.kernel).into(), "in its own time".to_owned());
    row("host link", rate_of(card.host.link).into(), {
        let gain =
            HostCopy::TwoTiers.seconds(card, 1 << 30) / HostCopy::ThreeTiersInTurn.seconds(card, 1 << 30);
        format!("one copy through Global instead of {}: {gain:.2} times as fast at 1 GiB", card.core_groups)
    });
    let note = "an all-gather by rings is faster above this".to_owned();
    row("Ring = CSC", crossover(card).map(|bytes| (bytes, Unit::Bytes)).into(), note);
    table
}

/// The contradictions of the paper as a table.
pub(crate) fn inconsistencies(terminal: &Terminal) {
    let mut table = Table::new(["", "where", "printed, ours, why"]);
    for (at, it) in all().into_iter().enumerate() {
        let words = format!("printed: {}; ours: {}. {}.", it.printed, it.ours, it.why);
        table.push([format!("{}", at + 1), it.place.to_owned(), words]);
    }
    terminal.print(&table.to_text(&terminal.style));
}
