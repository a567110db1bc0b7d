//! AIMD in a network, against its saw-tooth and the fairness that Chiu and Jain prove of it.

use std::sync::Arc;

use crate::packets::{count, run};
use crate::support::{network, topology};
use stratasim_topo::Topology;

const PACKET: f64 = 4160.0;
/// Packets under way in a round trip of 4 delays of 5 us, a packet and an acknowledgement on a link of 400 and one of 100 Gb/s each.
const UNDER_WAY: f64 = (12_500.0 * 20.0 + 1.25 * (4160.0 + 64.0)) / PACKET;

/// Hosts with links of 400 Gb/s, so that queues are in the switch, and of 100 Gb/s to host 0.
fn star(hosts: usize) -> Arc<Topology> {
    let nodes: String = (0..hosts).map(|host| format!(r#"{{"name": "h{host}"}}, "#)).collect();
    let link = |host, rate| {
        format!(r#"{{"from": "h{host}", "to": "s", "bandwidth": "{rate} Gbps", "latency": "5 us"}}"#)
    };
    let links: Vec<String> = (0..hosts).map(|host| link(host, if host == 0 { 100 } else { 400 })).collect();
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{nodes}{{"name": "s", "kind": "switch"}}], "links": [{}]}}"#,
        links.join(", ")
    ))
}

/// A rule that leaves a part of the window, over queues that mark from so many packets on.
fn spec(keeps: f64, marks_at: f64) -> String {
    let bytes = marks_at * PACKET;
    format!(
        r#"{{"kind": "packet", "congestion": {{"kind": "aimd", "keeps": {keeps}}},
        "ecn": {{"min": "{bytes} B", "max": "{bytes} B"}}, "buffer": "10 MB"}}"#
    )
}

/// Flows of so many bytes from hosts of their own to host 0: when each ends, in the time that the link needs for all.
fn incast(flows: &[u64], keeps: f64, marks_at: f64) -> Vec<f64> {
    incast_on(star(flows.len() + 1), flows, &spec(keeps, marks_at))
}

/// The same on any machine and by any spec; nothing is sent twice, and no clock runs out.
fn incast_on(machine: Arc<Topology>, flows: &[u64], spec: &str) -> Vec<f64> {
    let messages: Vec<_> = flows.iter().zip(1..).map(|(&bytes, from)| (from, 0, bytes)).collect();
    let mut network = network(spec, machine.clone());
    let (ends, report) = run(network.as_mut(), machine.compute_nodes(), &messages);
    assert_eq!(report.violations(), Vec::<&str>::new());
    assert_eq!(count(&report, "network.retransmissions"), 0);
    assert_eq!(count(&report, "network.timeouts"), 0);
    let wire_ps = |bytes: u64| (bytes + bytes.div_ceil(4096) * 64) as f64 * 80.0;
    let all_ps: f64 = flows.iter().map(|&bytes| wire_ps(bytes)).sum();
    ends.iter().map(|end| end.as_ps() as f64 / all_ps).collect()
}

/// The window of a flow climbs by a packet per round trip to what makes the queue long enough, and falls to its part of that. Below what is
/// under way the link has pauses; above, round trips are as much longer.
#[test]
fn one_flow_uses_what_its_saw_tooth_leaves() {
    for (keeps, marks_at) in [(0.5, 5.0), (0.5, 15.0), (0.5, 30.0), (0.5, 60.0), (0.7, 5.0), (0.7, 15.0)] {
        let top = UNDER_WAY + marks_at + 1.0;
        let bottom: f64 = keeps * top;
        let packets = (top * top - bottom * bottom) / 2.0;
        let low = bottom.min(UNDER_WAY);
        let trips = (UNDER_WAY - low) + (top * top - bottom.max(UNDER_WAY).powi(2)) / (2.0 * UNDER_WAY);
        let expected = packets / (trips * UNDER_WAY);
        let used = 1.0 / incast(&[400_000_000], keeps, marks_at)[0];
        assert!((used / expected - 1.0).abs() < 0.02, "{keeps}, {marks_at}: {used}, {expected} expected");
    }
}

/// However unlike they are, windows of flows that rise by the same and fall by the same part meet.
#[test]
fn flows_share_a_link() {
    for flows in [2, 4, 8] {
        let ends = incast(&vec![100_000_000; flows], 0.5, UNDER_WAY);
        let (first, last) = ends.iter().fold((f64::MAX, 0.0_f64), |(a, b), &end| (a.min(end), b.max(end)));
        assert!(first > 0.85 && last < 1.05, "{flows} flows: {first} to {last}");
    }
}

/// A window may fall below what is under way, and with it below the packets after which a receiver speaks: the sender asks,
/// and waits for no time-out.
#[test]
fn a_window_that_falls_far_asks_a_receiver_that_speaks_seldom() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 9, "bandwidth": "100 Gbps", "latency": "2 us"}"#);
    for every in [2, 4, 16] {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "aimd", "keeps": 0.1}}, "buffer": "10 MB",
            "recovery": {{"kind": "rltp", "acknowledge-every": {every}}}}}"#
        );
        incast_on(machine.clone(), &[2_000_000; 8], &spec);
    }
}
