//! Networks in which hosts forward packets for others: their ports are queues like those of switches.

use std::sync::Arc;

use crate::packets::{count, run};
use crate::support::{network, topology};
use stratasim_topo::Topology;

fn ring() -> Arc<Topology> {
    topology(r#"{"kind": "ring", "nodes": 9, "bandwidth": "100 Gbps", "latency": "500 ns"}"#)
}

/// A chain of three nodes; switches stand before hosts, with faster links, unless the hosts forward.
fn chain(with_switches: bool) -> Arc<Topology> {
    let hosts = r#"{"name": "h0"}, {"name": "h1"}, {"name": "h2"}"#;
    let switches = r#", {"name": "s0", "kind": "switch"}, {"name": "s1", "kind": "switch"}, {"name": "s2", "kind": "switch"}"#;
    let link = |from: &str, to: &str, rate: u32| {
        format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "{rate} Gbps", "latency": "500 ns"}}"#)
    };
    let (switches, links) = if with_switches {
        let access = (0..3).map(|at| link(&format!("h{at}"), &format!("s{at}"), 400));
        (switches, access.chain([link("s0", "s1", 100), link("s1", "s2", 100)]).collect::<Vec<_>>())
    } else {
        ("", vec![link("h0", "h1", 100), link("h1", "h2", 100)])
    };
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{hosts}{switches}], "links": [{}]}}"#,
        links.join(", ")
    ))
}

/// Two flows over one link: HPCC leaves a part of it free, whoever forwards.
#[test]
fn hpcc_hears_of_the_links_of_hosts() {
    const BYTES: u64 = 10_000_000;
    let spec = r#"{"kind": "packet", "congestion": {"kind": "hpcc"}}"#;
    let last = |machine: Arc<Topology>, messages: &[(usize, usize, u64)]| {
        let (ends, report) = run(network(spec, machine.clone()).as_mut(), machine.compute_nodes(), messages);
        assert!(report.violations().is_empty(), "{:?}", report.violations());
        ends.into_iter().max().expect("messages").as_ps() as f64
    };
    let both = [(0, 2, BYTES), (1, 2, BYTES)];
    let wire_ps = 2.0 * (BYTES as f64 + 2442.0 * 64.0) * 80.0;
    let by_switches = last(chain(true), &both);
    assert!(by_switches > wire_ps / 0.95);
    for machine in [ring(), chain(false)] {
        let time = last(machine, &both);
        assert!(time > wire_ps / 0.95 && time < 1.1 * by_switches, "{time}, by switches {by_switches}");
    }
}

/// Buffers of two packets, and everybody sends half-way round.
#[test]
fn ports_of_hosts_that_forward_are_queues() {
    let machine = ring();
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (0..9).map(|from| (from, (from + 4) % 9, 400_000)).collect();
    for (spec, name) in [
        (r#""congestion": {"kind": "nscc"}, "queue": {"kind": "trimming"}"#, "network.trims"),
        (
            r#""congestion": {"kind": "fixed-window"}, "queue": {"kind": "drop-tail"}, "recovery": {"kind": "irn"}"#,
            "network.drops",
        ),
        (
            r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "irn"},
                "queue": {"kind": "drop-tail", "control-first": false}"#,
            "network.drops",
        ),
    ] {
        let spec = format!(r#"{{"kind": "packet", {spec}, "buffer": "8320 B"}}"#);
        let (_, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &messages);
        assert!(report.violations().is_empty(), "{spec}: {:?}", report.violations());
        let of_queues: u64 = report.queues.iter().map(|queue| queue.trims + queue.drops).sum();
        assert!(of_queues > 0, "{spec}");
        assert_eq!(of_queues, count(&report, "network.trims") + count(&report, "network.drops"), "{spec}");
        assert!(count(&report, name) > 0, "{spec}");
        let most = report.queues.iter().map(|queue| queue.most_bytes).max();
        assert_eq!(most, Some(count(&report, "network.longest_queue_bytes")));
        assert!(report.queues.iter().all(|queue| queue.capacity_bytes == 8320), "{:?}", report.queues);
    }
}

/// The first and the last of a chain forward nothing: what they send waits in the host.
#[test]
fn ports_of_other_hosts_are_none() {
    let machine = chain(false);
    let hosts = machine.compute_nodes();
    let spec = r#"{"kind": "packet", "congestion": {"kind": "dctcp"}}"#;
    let messages = [(0, 2, 400_000), (1, 2, 400_000), (2, 0, 400_000)];
    let (_, report) = run(network(spec, machine.clone()).as_mut(), hosts, &messages);
    let mut leave: Vec<_> = report
        .queues
        .iter()
        .map(|queue| machine.link(queue.link).ends.expect("a link between two nodes")[0])
        .collect();
    leave.dedup();
    assert_eq!(leave, [hosts[1]]);
    // between two hosts there is nobody, and in a star there is the switch
    let pair = r#"{"kind": "graph", "nodes": [{"name": "h0"}, {"name": "h1"}],
        "links": [{"from": "h0", "to": "h1", "bandwidth": "100 Gbps", "latency": "500 ns"}]}"#;
    let star = r#"{"kind": "single-switch", "nodes": 4, "bandwidth": "100 Gbps", "latency": "1 us"}"#;
    for (machine, queues) in [(pair, 0), (star, 1)] {
        let machine = topology(machine);
        let (_, report) =
            run(network(spec, machine.clone()).as_mut(), machine.compute_nodes(), &[(0, 1, 400_000)]);
        assert_eq!(report.queues.len(), queues);
    }
}
