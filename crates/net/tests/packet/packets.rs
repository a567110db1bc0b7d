//! Messages on networks of packets.

use std::sync::Arc;

use stratasim_core::model::{Cx, Network, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::{Blind, Observer};
use stratasim_core::{NodeId, Time, Token};
use stratasim_topo::Topology;

use crate::support::{network, topology};

/// What has not arrived by then does not arrive.
pub(crate) const LIMIT: Time = Time::from_ps(stratasim_core::time::PS_PER_S);

/// Runs messages `(from, to, bytes)` of hosts that all start at once: when each is complete, and the report.
pub(crate) fn run(
    network: &mut dyn Network,
    hosts: &[NodeId],
    messages: &[(usize, usize, u64)],
) -> (Vec<Time>, NetworkReport) {
    watched(network, hosts, messages, &mut Blind)
}

/// The same, while somebody watches.
pub(crate) fn watched(
    network: &mut dyn Network,
    hosts: &[NodeId],
    messages: &[(usize, usize, u64)],
    observer: &mut dyn Observer,
) -> (Vec<Time>, NetworkReport) {
    for (token, &(from, to, bytes)) in (0..).zip(messages) {
        let transfer = Transfer::new(Token(token), hosts[from], hosts[to], bytes);
        network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
    }
    let mut ends = vec![None; messages.len()];
    let mut done = Vec::new();
    let mut now = Time::ZERO;
    while network.next_event().is_some() {
        assert!(now < LIMIT, "{} messages did not arrive", ends.iter().filter(|end| end.is_none()).count());
        now = network.advance(LIMIT, &mut Cx { done: &mut done, observer });
        for ended in done.drain(..) {
            let NetworkDone::Delivered(token) = ended else { panic!("{ended:?}: {:?}", network.failure()) };
            assert!(ends[token.0 as usize].replace(now).is_none(), "message {} came twice", token.0);
        }
    }
    let ends = ends.into_iter().map(|end| end.expect("every message arrives")).collect();
    network.look_back(now, observer);
    (ends, network.report(now))
}

pub(crate) fn count(report: &NetworkReport, name: &str) -> u64 {
    report.counters.iter().find(|(key, _)| *key == name).expect("a counter").1
}

pub(crate) fn fat_tree(k: u32) -> Arc<Topology> {
    topology(&format!(r#"{{"kind": "fat-tree", "k": {k}, "bandwidth": "100 Gbps", "latency": "1 us"}}"#))
}

/// Everybody on a ring sends half-way round over queues that hold up others: why all of them fail.
pub(crate) fn stalled_ring(queue: &str) -> String {
    let machine = topology(r#"{"kind": "ring", "nodes": 5, "bandwidth": "10 Gbps", "latency": "1 us"}"#);
    let hosts = machine.compute_nodes();
    let spec = format!(
        r#"{{"kind": "packet", "congestion": {{"kind": "fixed-window", "factor": 100.0}}, "recovery": {{"kind": "none"}},
            "queue": {queue}}}"#
    );
    let mut network = network(&spec, machine.clone());
    for host in 0..5 {
        let transfer = Transfer::new(Token(host as u64), hosts[host], hosts[(host + 2) % 5], 10_000_000);
        network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
    }
    let mut done = Vec::new();
    while network.next_event().is_some() && done.is_empty() {
        network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
    }
    assert_eq!(done.len(), 5);
    assert!(done.iter().all(|done| matches!(done, NetworkDone::Failed(_))), "{done:?}");
    network.failure().expect("a reason").1
}
