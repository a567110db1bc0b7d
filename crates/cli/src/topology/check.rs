//! `stratasim topology check`: whether messages get where they should.

use clap::Args;
use stratasim_core::{LinkId, NodeId};
use stratasim_experiment::Error;
use stratasim_report::style::{Tone, display_width, hanging};
use stratasim_report::{Style, Unit};
use stratasim_topo::Topology;
use stratasim_topo::io::simgrid::is_loopback;

use super::{Machine, Source, measure};
use crate::terminal::Terminal;

/// Problems of one kind that are shown.
const SHOWN: usize = 10;

#[derive(Args)]
pub(crate) struct Check {
    #[command(flatten)]
    source: Source,
}

/// Something that should hold: its name, how many things were looked at, and where it does not.
struct Finding {
    name: &'static str,
    checked: usize,
    problems: Vec<String>,
}

impl Check {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let mut machine = self.source.build()?;
        let connected = connected(&machine.topology);
        let findings = connected.into_iter().chain([routed(&mut machine), homes(&mut machine)]);
        let findings: Vec<Finding> = findings.collect();
        let mut text = String::new();
        for finding in &findings {
            let style = &terminal.style;
            let checked = Unit::Count.format(finding.checked as f64);
            if finding.problems.is_empty() {
                let mark = style.paint(Tone::Good, style.choose("✓", "ok:"));
                text += &line(&mark, &format!("{} ({checked} checked)", finding.name), style);
                continue;
            }
            let mark = style.paint(Tone::Bad, style.choose("✗", "not:"));
            let number = Unit::Count.format(finding.problems.len() as f64);
            text += &line(&mark, &format!("{} ({number} of {checked} do not)", finding.name), style);
            for problem in finding.problems.iter().take(SHOWN) {
                text += &line("   ", problem, style);
            }
        }
        terminal.print(&text);
        Ok(if findings.iter().all(|finding| finding.problems.is_empty()) { 0 } else { 2 })
    }
}

/// A mark and what there is to say, in the width there is.
fn line(mark: &str, words: &str, style: &Style) -> String {
    format!("{mark} {}\n", hanging(words, style.width, display_width(mark) + 1))
}

/// Whether all compute nodes are in one piece. Nobody can say where links lie that stand in routes
/// only, as those of SimGrid platforms do: there the routes have to do.
fn connected(topology: &Topology) -> Option<Finding> {
    if has_links_without_place(topology) {
        return None;
    }
    let mut finding = Finding {
        name: "compute nodes reach each other over links",
        checked: topology.compute_nodes().len(),
        problems: Vec::new(),
    };
    let Some(&first) = topology.compute_nodes().first() else { return Some(finding) };
    // who is reached from the first one and reaches it reaches all
    let [there, back] = [false, true].map(|backwards| reachable(topology, first, backwards));
    for &node in topology.compute_nodes() {
        let names = [topology.node_name(first), topology.node_name(node)];
        let [from, to] = match (there[node.index()], back[node.index()]) {
            (true, true) => continue,
            (false, _) => names,
            (true, false) => [names[1], names[0]],
        };
        finding.problems.push(format!("no path of links leads from {from} to {to}"));
    }
    Some(finding)
}

/// Whether a link stands in routes only. The link of a node to itself does not count.
pub(super) fn has_links_without_place(topology: &Topology) -> bool {
    let mut links = (0..topology.link_count()).map(LinkId::from_index);
    links.any(|link| topology.link(link).ends.is_none() && !is_loopback(topology, link))
}

/// Nodes that links lead to from a node, or, backwards, from which they lead to it.
fn reachable(topology: &Topology, from: NodeId, backwards: bool) -> Vec<bool> {
    let mut next = vec![Vec::new(); topology.node_count()];
    for node in (0..topology.node_count()).map(NodeId::from_index) {
        for port in topology.ports(node) {
            let (here, there) = if backwards { (port.to, node) } else { (node, port.to) };
            next[here.index()].push(there);
        }
    }
    let mut reached = vec![false; topology.node_count()];
    let mut rest = vec![from];
    reached[from.index()] = true;
    while let Some(node) = rest.pop() {
        for &to in &next[node.index()] {
            if !std::mem::replace(&mut reached[to.index()], true) {
                rest.push(to);
            }
        }
    }
    reached
}

/// Whether the routes of pairs exist, and are what they should be.
fn routed(machine: &mut Machine) -> Finding {
    let pairs = measure::pairs(&machine.topology, machine.seed);
    let problems =
        pairs.iter().enumerate().filter_map(|(key, &pair)| route_problem(machine, pair, key as u64));
    let problems = problems.collect();
    Finding { name: "routes lead from end to end", checked: pairs.len(), problems }
}

/// Whether compute nodes reach their memories.
fn homes(machine: &mut Machine) -> Finding {
    let topology = std::sync::Arc::clone(&machine.topology);
    let nodes = topology.compute_nodes().iter();
    let homes: Vec<(NodeId, NodeId)> =
        nodes.filter_map(|&node| Some((topology.home_memory(node)?, node))).collect();
    let problems = homes.iter().filter_map(|&pair| route_problem(machine, pair, 0)).collect();
    Finding { name: "compute nodes reach their memory nodes", checked: homes.len(), problems }
}

/// What is wrong with the route of a pair.
fn route_problem(machine: &mut Machine, (from, to): (NodeId, NodeId), key: u64) -> Option<String> {
    let mut route: Vec<LinkId> = Vec::new();
    if let Err(error) = machine.routing.route(from, to, key, &mut route) {
        return Some(error.to_string());
    }
    let topology = &machine.topology;
    let between = || format!("from {} to {}", topology.node_name(from), topology.node_name(to));
    let mut at = from;
    for &link in &route {
        // links of explicit routes may have no place in the graph
        let [a, b] = topology.link(link).ends?;
        let half = topology.link(link).half_duplex;
        at = match at {
            at if at == a => b,
            at if at == b && half => a,
            _ => {
                let (name, at) = (topology.link_name(link), topology.node_name(at));
                return Some(format!("the route {} takes {name}, which does not leave {at}", between()));
            }
        };
    }
    if at != to {
        return Some(format!("the route {} ends at {}", between(), topology.node_name(at)));
    }
    let mut links = route;
    links.sort_unstable();
    links
        .windows(2)
        .any(|pair| pair[0] == pair[1])
        .then(|| format!("the route {} takes a link twice", between()))
}
