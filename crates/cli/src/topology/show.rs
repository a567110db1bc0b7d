//! `stratasim topology show`: what a machine consists of.

use std::collections::BTreeMap;

use clap::Args;
use stratasim_core::{LinkId, NodeId};
use stratasim_experiment::Error;
use stratasim_report::Unit;
use stratasim_report::style::{Tone, hanging};
use stratasim_report::table::{Cell, Table};
use stratasim_topo::graph::NO_GROUP;
use stratasim_topo::{NodeKind, Sharing, Structure, Topology};

use super::check::has_links_without_place;
use super::{Machine, Source, flow, measure};
use crate::terminal::Terminal;

/// Classes of nodes and links shown.
const MOST_CLASSES: usize = 24;
/// Links up to which the bisection is worked out.
const MOST_LINKS: usize = 2_000_000;

#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    source: Source,
}

impl Show {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let mut machine = self.source.build()?;
        let mut text = overview(&machine, terminal);
        text += &cut_short(&nodes(&machine.topology), terminal);
        text += &cut_short(&cables(&machine.topology), terminal);
        text += &routes(&mut machine, terminal);
        text += &format!("\n{}\n", hanging(&bisection(&machine.topology), terminal.style.width, 0));
        terminal.print(&text);
        Ok(0)
    }
}

fn count(number: usize) -> String {
    Unit::Count.format(number as f64)
}

fn overview(machine: &Machine, terminal: &Terminal) -> String {
    let topology = &machine.topology;
    let mut numbers = [0_usize; 3];
    for node in (0..topology.node_count()).map(NodeId::from_index) {
        numbers[match topology.kind(node) {
            NodeKind::Compute(_) => 0,
            NodeKind::Memory(_) => 1,
            NodeKind::Switch => 2,
        }] += 1;
    }
    let [compute, memory, switches] = numbers.map(count);
    let mut facts = vec![
        (
            "nodes",
            format!(
                "{}: {compute} compute, {memory} memory, {switches} switch",
                count(topology.node_count())
            ),
        ),
        ("links", format!("{}, each direction counted", count(topology.link_count()))),
    ];
    let groups: Vec<String> = topology
        .groupings()
        .filter_map(|name| {
            let members = topology.grouping(name)?.iter().filter(|group| **group != NO_GROUP);
            Some(format!("{name} ({})", count(members.max().map_or(0, |most| *most as usize + 1))))
        })
        .collect();
    if !groups.is_empty() {
        facts.push(("groups", groups.join(", ")));
    }
    if !topology.dimensions().is_empty() {
        let extents: Vec<_> = topology.dimensions().iter().map(u32::to_string).collect();
        facts.push(("dimensions", extents.join(" x ")));
    }
    let rule = match topology.structure() {
        Structure::Ruled(rule) => format!(", rule {}", rule.name()),
        Structure::Irregular => String::new(),
    };
    facts.push(("routing", format!("{}{rule}", machine.routing_kind)));
    let mut text = format!("{}\n", terminal.style.paint(Tone::Strong, machine.kind));
    for (label, words) in facts {
        let words = hanging(&words, terminal.style.width, 16);
        text += &format!("  {}{words}\n", terminal.style.paint(Tone::Muted, &format!("{label:<14}")));
    }
    text
}

/// A name with its numbers left out: what it has in common with its like.
fn class(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if !c.is_ascii_digit() => out.push(c),
            _ if out.ends_with('*') => {}
            _ => out.push('*'),
        }
    }
    out
}

fn nodes(topology: &Topology) -> Table {
    // (class, what) in order of first appearance, with count, fewest and most ports
    let mut order: Vec<(String, String)> = Vec::new();
    let mut found: BTreeMap<(String, String), [usize; 3]> = BTreeMap::new();
    for node in (0..topology.node_count()).map(NodeId::from_index) {
        let what = match topology.kind(node) {
            NodeKind::Switch => "switch".to_owned(),
            NodeKind::Memory(_) => "memory".to_owned(),
            NodeKind::Compute(_) => {
                topology.compute_type(node).map_or_else(String::new, |it| it.name.clone())
            }
        };
        let key = (class(topology.node_name(node)), what);
        let ports = topology.ports(node).len();
        let [number, fewest, most] = found.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            [0, usize::MAX, 0]
        });
        (*number, *fewest, *most) = (*number + 1, (*fewest).min(ports), (*most).max(ports));
    }
    let mut table = Table::new(["nodes", "what", "count", "ports"]);
    for key in order {
        let [number, fewest, most] = found[&key];
        let ports = if fewest == most { count(fewest) } else { format!("{fewest} to {most}") };
        table.push([Cell::from(key.0), key.1.into(), (number as f64, Unit::Count).into(), ports.into()]);
    }
    table
}

fn cables(topology: &Topology) -> Table {
    type Key = (String, String, u64, u64, bool, &'static str);
    let mut order: Vec<Key> = Vec::new();
    let mut found: BTreeMap<Key, usize> = BTreeMap::new();
    for (index, link) in topology.links().iter().enumerate() {
        let id = LinkId::from_index(index);
        if link.reverse.is_some_and(|reverse| reverse < id) {
            continue;
        }
        let ends = match link.ends {
            Some(ends) => ends.map(|node| class(topology.node_name(node))),
            None => [class(&topology.link_name(id)), "in routes only".to_owned()],
        };
        let duplex = match (link.reverse, link.half_duplex) {
            (Some(_), _) => "full",
            (None, true) => "half",
            (None, false) => "one way",
        };
        let [from, to] = ends;
        let fat = link.sharing == Sharing::FatPipe;
        let key = (from, to, link.bandwidth.bytes_per_s().to_bits(), link.latency.as_ps(), fat, duplex);
        *found.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            0
        }) += 1;
    }
    let mut table = Table::new(["cables from", "to", "count", "rate", "latency", "duplex"]);
    for key in order {
        let number = found[&key];
        let (from, to, rate, latency, fat, duplex) = key;
        let duplex = if fat { format!("{duplex}, fat pipe") } else { duplex.to_owned() };
        table.push([
            Cell::from(from),
            to.into(),
            (number as f64, Unit::Count).into(),
            (f64::from_bits(rate), Unit::BytesPerSecond).into(),
            (latency as f64 * 1e-12, Unit::Seconds).into(),
            duplex.into(),
        ]);
    }
    table
}

/// A table, of which only the beginning when it is long.
fn cut_short(table: &Table, terminal: &Terminal) -> String {
    let rows = table.rows().len();
    if rows <= MOST_CLASSES {
        return format!("\n{}", table.to_text(&terminal.style));
    }
    let mut short = Table::new(table.headings().iter().cloned());
    table.rows().iter().take(MOST_CLASSES).for_each(|row| short.push(row.iter().cloned()));
    format!("\n{}and {} more\n", short.to_text(&terminal.style), count(rows - MOST_CLASSES))
}

fn routes(machine: &mut Machine, terminal: &Terminal) -> String {
    let pairs = measure::pairs(&machine.topology, machine.seed);
    if pairs.is_empty() {
        return String::new();
    }
    let routes = match measure::routes(&machine.topology, machine.routing.as_mut(), &pairs) {
        Ok(routes) => routes,
        // a machine with a broken part is worth looking at, too
        Err(error) => return format!("\nroutes: {error}\n"),
    };
    let sampled = routes.asked < routes.pairs;
    let heading = if sampled {
        format!("routes of {} of {} pairs", count(routes.asked as usize), count(routes.pairs as usize))
    } else {
        format!("routes of all {} pairs", count(routes.pairs as usize))
    };
    let mut table = Table::new([heading.as_str(), "least", "mean", "most"]);
    for (name, spread, unit) in [
        ("links on the way", routes.hops, Unit::Count),
        ("latency", routes.latency_s, Unit::Seconds),
        ("rate when alone", routes.rate, Unit::BytesPerSecond),
    ] {
        let numbers = [spread.least, spread.mean(), spread.most];
        let texts = if unit == Unit::Count {
            numbers.map(|number| unit.format(number)).to_vec()
        } else {
            unit.format_all(&numbers)
        };
        table.push(std::iter::once(name.to_owned()).chain(texts));
    }
    format!("\n{}", table.to_text(&terminal.style))
}

fn bisection(topology: &Topology) -> String {
    if topology.link_count() > MOST_LINKS {
        return "bisection: not worked out for a machine of this size".to_owned();
    }
    if has_links_without_place(topology) {
        return "bisection: unknown, because there are links in routes only".to_owned();
    }
    let capacities = measure::halves(topology).into_iter().map(|(low, high)| {
        let flow = flow::between(topology, &low, &high);
        let most = measure::injection(topology, &low).min(measure::injection(topology, &high));
        (flow, flow / most)
    });
    let Some((flow, share)) = capacities.reduce(|a, b| if b.0 < a.0 { b } else { a }) else {
        return String::new();
    };
    format!(
        "bisection: at most {} each way, {} of injection",
        Unit::BytesPerSecond.format(flow),
        Unit::Share.format(share)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_do_not_tell_classes_apart() {
        assert_eq!(class("xpu-17"), "xpu-*");
        assert_eq!(class("pcie-switch0-3"), "pcie-switch*-*");
        assert_eq!(class("core"), "core");
    }
}
