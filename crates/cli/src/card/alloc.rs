//! `stratasim card alloc`: a trace of allocations, replayed on the three-tier allocator.

mod trace;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use stratasim_alloc::{AllocError, CardMemory, PAGE_BYTES, SEGMENT_BYTES, Sparse, Statistics, Tier};
use stratasim_core::Bytes;
use stratasim_experiment::{ConfigError, Error};
use stratasim_report::Unit;
use stratasim_report::style::Tone;
use stratasim_report::table::{Cell, Table};

use crate::output::{Output, check_apart};
use crate::terminal::Terminal;
use trace::Failure;

/// Failures that are shown one by one; all are counted.
const SHOWN: usize = 10;

#[derive(Args)]
pub(crate) struct Alloc {
    /// Operations in order, as CSV with the columns operation (alloc or free), tier (local or global), group,
    /// id (any name of the block) and bytes (a number, or with a unit); group is empty for global, bytes for free
    trace: PathBuf,
    /// The card: a shipped one such as sw-ai, or a file that describes one
    #[arg(long, value_name = "CARD", default_value = "sw-ai")]
    card: String,
    /// Memory that each core group keeps for itself; the rest of all groups is Global [default: the card's]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    local: Option<Bytes>,
    /// Core groups [default: the card's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    groups: Option<u32>,
    /// Memory of each core group, Local and its part of Global together [default: the card's]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    memory: Option<Bytes>,
    /// Write the figures as JSON
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
}

impl Alloc {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        check_apart(std::slice::from_ref(&self.trace), &[("--json", self.json.as_ref())])?;
        let sizes = self.sizes()?;
        let card = CardMemory::new(sizes.groups, sizes.memory.0, sizes.local.0, |_| Sparse::default());
        let mut card = card.map_err(|error| sizes.refused(error))?;
        let failures = trace::replay(&self.trace, &mut card)?;
        let tiers: Vec<(Tier, Statistics)> =
            card.tiers().filter_map(|tier| Some((tier, card.statistics(tier).ok()?))).collect();
        if let Some(path) = &self.json {
            let text =
                serde_json::to_string_pretty(&sizes.json(&tiers, &failures)).expect("numbers and text");
            Output::begin("--json", path)?.text(&(text + "\n"))?;
        }
        terminal.print(&table(&tiers, &failures).to_text(&terminal.style));
        for failure in failures.iter().take(SHOWN) {
            let line =
                format!("line {}: {} {}: {}", failure.line, failure.operation, failure.id, failure.reason);
            terminal.print(&format!("{}\n", terminal.style.paint(Tone::Bad, &line)));
        }
        if failures.len() > SHOWN {
            terminal.print(&format!("and {} more\n", failures.len() - SHOWN));
        }
        Ok(0)
    }

    /// What memory there is.
    fn sizes(&self) -> Result<Sizes, Error> {
        let card = stratasim_experiment::card::load(&self.card, &[])?;
        for (what, found, ours) in
            [("pages", card.memory.page, PAGE_BYTES), ("segments", card.memory.segment, SEGMENT_BYTES)]
        {
            if found.0 != ours {
                let message =
                    format!("card {}: {what} of {found}; the allocator has {}", card.name, Bytes(ours));
                return Err(ConfigError::new(message, None).into());
            }
        }
        Ok(Sizes {
            groups: self.groups.unwrap_or(card.core_groups),
            memory: self.memory.unwrap_or(card.memory.per_group),
            local: self.local.unwrap_or(card.memory.local),
        })
    }
}

/// Memory of a card.
struct Sizes {
    groups: u32,
    memory: Bytes,
    local: Bytes,
}

impl Sizes {
    /// What is wrong with them.
    fn refused(&self, error: AllocError) -> Error {
        let message = match error {
            AllocError::TooLarge { .. } if self.local.0 > self.memory.0 => {
                format!(
                    "--local {} is more than --memory {}, which is all that a group has",
                    self.local, self.memory
                )
            }
            other => format!("--local, --memory, --groups: {other}"),
        };
        ConfigError::new(message, None).into()
    }

    fn json(&self, tiers: &[(Tier, Statistics)], failures: &[Failure]) -> Value {
        let tiers: Vec<Value> = tiers
            .iter()
            .map(|(tier, statistics)| {
                let classes = statistics.classes.iter().map(|class| {
                    json!({"block_bytes": class.block_bytes, "blocks": class.blocks, "slabs": class.slabs})
                });
                json!({
                    "tier": if *tier == Tier::Global { "global" } else { "local" },
                    "group": match tier { Tier::Local(group) => Some(group), Tier::Global => None },
                    "capacity_bytes": statistics.capacity_bytes,
                    "in_use_bytes": statistics.in_use_bytes,
                    "peak_bytes": statistics.peak_bytes,
                    "free_bytes": statistics.free_bytes,
                    "slab_idle_bytes": statistics.slab_idle_bytes,
                    "largest_free_bytes": statistics.largest_free_bytes,
                    "fragmentation": statistics.fragmentation(),
                    "blocks": statistics.blocks,
                    "allocations": statistics.allocations,
                    "frees": statistics.frees,
                    "failures": of(failures, *tier),
                    "classes": classes.collect::<Vec<_>>(),
                })
            })
            .collect();
        let failures: Vec<Value> = failures
            .iter()
            .map(|failure| {
                let Failure { line, operation, id, reason, .. } = failure;
                json!({"line": line, "operation": operation, "id": id, "reason": reason})
            })
            .collect();
        json!({
            "stratasim": env!("CARGO_PKG_VERSION"),
            "groups": self.groups,
            "memory_per_group_bytes": self.memory.0,
            "local_bytes": self.local.0,
            "tiers": tiers,
            "failures": failures,
        })
    }
}

/// Failures of operations on `tier`.
fn of(failures: &[Failure], tier: Tier) -> usize {
    failures.iter().filter(|failure| failure.tier == tier).count()
}

fn table(tiers: &[(Tier, Statistics)], failures: &[Failure]) -> Table {
    let headings = [
        "tier",
        "capacity",
        "in use",
        "peak",
        "largest free",
        "fragmentation",
        "blocks",
        "operations",
        "failures",
    ];
    let mut table = Table::new(headings);
    for (tier, statistics) in tiers {
        let name = match tier {
            Tier::Local(group) => format!("local {group}"),
            Tier::Global => "global".to_owned(),
        };
        let bytes = |bytes: u64| Cell::from((bytes as f64, Unit::Bytes));
        let count = |count: u64| Cell::from((count as f64, Unit::Count));
        table.push([
            Cell::from(name),
            bytes(statistics.capacity_bytes),
            bytes(statistics.in_use_bytes),
            bytes(statistics.peak_bytes),
            bytes(statistics.largest_free_bytes),
            Cell::from((statistics.fragmentation(), Unit::Share)),
            count(statistics.blocks),
            count(statistics.allocations + statistics.frees),
            count(of(failures, *tier) as u64),
        ]);
    }
    table
}
