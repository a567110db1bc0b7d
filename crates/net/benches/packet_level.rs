//! Packet-hops per CPU second of the packet level, on the cases of `ref/packet/speed.json` (a hop is one packet, data or
//! control, leaving one port). Names given as arguments choose cases.
//!
//! ```text
//! cargo bench -p stratasim-net --bench packet_level -- perm1024
//! ```

#![allow(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::sync::Arc;

use stratasim_core::model::{Cx, NetworkDone, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::random::{Draws, Streams};
use stratasim_core::{Bandwidth, Duration, Time, Token};
use stratasim_net::packet::{Completion, Packet};
use stratasim_net::{NetworkContext, NetworkKind as _};
use stratasim_topo::{BuildContext, RoutingSpec, TopologySpec};
use stratasim_transport::presets;

/// CPU seconds of this thread so far.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0) as f64 * 1e-9
}

/// Hosts that send to each other, so that everyone sends and receives once.
fn permutation(hosts: u32) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..hosts).collect();
    let mut draws = Draws::new(7);
    for last in (1..hosts).rev() {
        order.swap(last as usize, draws.below(last + 1) as usize);
    }
    (0..order.len()).map(|at| (order[at], order[(at + 1) % order.len()])).collect()
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let all = |hosts: u32| (0..hosts).flat_map(move |to| (0..hosts).map(move |from| (from, to)));
    let apart = |hosts: u32| all(hosts).filter(|(from, to)| from != to).collect::<Vec<_>>();
    let incast = |count: u32| (1..=count).map(|from| (from, 0)).collect::<Vec<_>>();
    for (name, k, pairs, bytes) in [
        ("perm128", 8, permutation(128), 2_000_000),
        ("perm1024", 16, permutation(1024), 2_000_000),
        ("a2a128", 8, apart(128), 65_536),
        ("incast100", 8, incast(100), 250_000),
        ("incast1000", 16, incast(1000), 250_000),
    ] {
        for protocol in ["uec_nscc", "ndp", "eqds"] {
            let full = format!("{name}_{protocol}");
            if chosen.is_empty() || chosen.iter().any(|part| full.contains(part)) {
                measure(&full, k, &pairs, bytes, protocol);
            }
        }
    }
}

fn measure(name: &str, k: u32, pairs: &[(u32, u32)], bytes: u64, protocol: &str) {
    let text = format!(r#"{{"kind": "fat-tree", "k": {k}, "bandwidth": "100 Gbps", "latency": "1 us"}}"#);
    let spec: TopologySpec = serde_json::from_str(&text).expect("a fat tree");
    let topology = Arc::new(spec.plugin().build(&BuildContext::default()).expect("a fat tree"));
    let transport = presets::htsim(protocol, Bandwidth(12.5e9)).expect("a known transport");
    let started = cpu_s();
    let network = Packet { completion: Some(Completion::Sender), ..Packet::from(transport) };
    let context = NetworkContext {
        routing: RoutingSpec::default().plugin().build(&topology).expect("routes"),
        topology: topology.clone(),
        streams: Streams::new(1),
        timing_precision: Duration::ZERO,
        nics: 1,
        in_order: false,
    };
    let mut network = network.build(context).expect("a network");
    let hosts = topology.compute_nodes();
    for (token, &(from, to)) in (0..).zip(pairs) {
        let transfer = Transfer::new(Token(token), hosts[from as usize], hosts[to as usize], bytes);
        network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
    }
    let built = cpu_s() - started;
    let mut done = Vec::new();
    let (mut now, mut ended) = (Time::ZERO, 0);
    while network.next_event().is_some() {
        now = network.advance(Time::MAX, &mut Cx { done: &mut done, observer: &mut Blind });
        ended += done.drain(..).filter(|done| matches!(done, NetworkDone::Delivered(_))).count();
    }
    let took = cpu_s() - started;
    let report = network.report(now);
    let count =
        |name: &str| report.counters.iter().find(|(key, _)| *key == name).map_or(0, |(_, count)| *count);
    let hops = count("network.packet_hops") as f64;
    println!(
        "{name:<22} {ended:>6} of {:>6} messages in {:>9.2} us: {:>9.0} hops, {:>5.2} M/s, {took:.3} s ({built:.3} to build), \
         {:.2} events per hop, {} trims, {} drops",
        pairs.len(),
        now.as_secs_f64() * 1e6,
        hops,
        hops / took * 1e-6,
        count("network.events") as f64 / hops,
        count("network.trims"),
        count("network.drops"),
    );
}
