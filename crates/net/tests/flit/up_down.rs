//! Up*/down* goes by the router with most neighbours: what a worse root would cost.

use std::sync::Arc;

use crate::support::{Dice, prepare, topology, walk};
use stratasim_net::flit::Prepared;
use stratasim_topo::Topology;

/// A machine of nodes and cables.
fn graph(nodes: &[String], cables: &[(String, String)]) -> Arc<Topology> {
    let cable = |(from, to): &(String, String)| {
        format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "1 GB/s", "latency": "1 us"}}"#)
    };
    let cables: Vec<_> = cables.iter().map(cable).collect();
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{}], "links": [{}]}}"#,
        nodes.join(","),
        cables.join(",")
    ))
}

/// A ring of so many switches with a host each, and a switch more at each of those named.
fn ring(switches: usize, leaves_at: &[usize]) -> Arc<Topology> {
    let hosts = (0..switches).map(|at| format!(r#"{{"name": "h{at}"}}"#));
    let all = (0..switches + leaves_at.len()).map(|at| format!(r#"{{"name": "s{at}", "kind": "switch"}}"#));
    let own = (0..switches).map(|at| (format!("h{at}"), format!("s{at}")));
    let round = (0..switches).map(|at| (format!("s{at}"), format!("s{}", (at + 1) % switches)));
    let leaves = (switches..).zip(leaves_at).map(|(leaf, at)| (format!("s{at}"), format!("s{leaf}")));
    graph(&hosts.chain(all).collect::<Vec<_>>(), &own.chain(round).chain(leaves).collect::<Vec<_>>())
}

fn up_down(machine: &Arc<Topology>) -> Prepared {
    prepare(machine, r#"{"routing": {"kind": "up-down"}}"#).expect("it fits any graph")
}

/// Channels between routers from one terminal to another.
fn length(prepared: &Prepared, from: usize, to: usize) -> usize {
    let (from, to) = (from as u32, to as u32);
    walk(&prepared.fabric, prepared.routing.as_ref(), from, to, 1, &mut Dice(1)).len() - 1
}

/// On a ring of six, all ways are shortest but those past the switch opposite the root: there, packets would have to go up again. So its
/// neighbours talk to each other by way of the root.
#[test]
fn the_router_with_most_neighbours_is_the_root_and_the_first_of_equal_ones() {
    let mut machines = vec![(ring(6, &[]), 0), (ring(6, &[5, 2]), 2), (ring(6, &[5, 2, 5]), 5)];
    machines.extend((0..6).map(|root| (ring(6, &[root]), root)));
    for (machine, root) in machines {
        let prepared = up_down(&machine);
        for from in 0..6 {
            for to in 0..6 {
                let [one, other] = [from, to].map(|at| (at + 6 - root) % 6);
                let shortest = usize::abs_diff(from, to).min(6 - usize::abs_diff(from, to));
                let past = [one, other] == [2, 4] || [one, other] == [4, 2];
                let expected = if past { 4 } else { shortest };
                assert_eq!(length(&prepared, from, to), expected, "root {root}: {from} to {to}");
            }
        }
    }
}

/// A node that passes nothing on is no root, whatever its cables: what it sends would go down from it, and could not go up again.
#[test]
fn who_passes_no_packets_is_no_root() {
    let mut nodes: Vec<_> = (0..10).map(|at| format!(r#"{{"name": "n{at}"}}"#)).collect();
    nodes.push(r#"{"name": "n10", "forwards": false}"#.to_owned());
    // a ring of eight, two more at the first, and one with five cables on the other side
    let mut cables: Vec<_> = (0..8).map(|at| (at, (at + 1) % 8)).collect();
    cables.extend([(0, 8), (0, 9), (10, 3), (10, 3), (10, 4), (10, 5), (10, 5)]);
    let cables: Vec<_> = cables.iter().map(|(from, to)| (format!("n{from}"), format!("n{to}"))).collect();
    let prepared = up_down(&graph(&nodes, &cables));
    for (to, hops) in [(0, 4), (1, 3), (2, 2), (3, 1), (4, 1), (5, 1), (6, 2), (7, 3), (8, 5), (9, 5)] {
        assert_eq!([length(&prepared, 10, to), length(&prepared, to, 10)], [hops; 2], "node {to}");
    }
}
