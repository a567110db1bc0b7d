//! Memory nodes that are slower than their cables, at the levels whose rates are those of cables.

use std::sync::Arc;

use crate::support::{network, topology, try_network};
use stratasim_core::model::{NetworkDone, Transfer};
use stratasim_core::{NodeId, Time, Token};
use stratasim_testkit::drive::drive_messages;
use stratasim_topo::Topology;

/// Two hosts and a memory of 4 GB/s at a switch, the memory with so many cables.
fn machine(cables: u32, rate: &str, duplex: &str) -> Arc<Topology> {
    topology(&format!(
        r#"{{"kind": "graph", "nodes": [{{"name": "a"}}, {{"name": "b"}}, {{"name": "s", "kind": "switch"}},
            {{"name": "p", "kind": "memory", "capacity": "1 TiB", "bandwidth": "4 GB/s"}}],
            "links": [{{"from": "a", "to": "s", "bandwidth": "32 GB/s", "latency": "1 ns"}},
            {{"from": "b", "to": "s", "bandwidth": "32 GB/s", "latency": "1 ns"}},
            {{"from": "p", "to": "s", "bandwidth": "{rate}", "latency": "200 ns", "parallel": {cables}{duplex}}}]}}"#
    ))
}

/// From and to the memory: what it gives and takes is limited alike.
#[test]
fn a_memory_is_as_fast_as_it_says_and_no_faster() {
    for spec in [
        r#"{"kind": "flit"}"#,
        r#"{"kind": "flit", "router": {"buffer-flits": 64, "switch-allocator": {"kind": "separable-input-first"}}}"#,
        r#"{"kind": "packet"}"#,
    ] {
        for duplex in ["", r#", "duplex": "half""#] {
            let machine = machine(1, "16 GB/s", duplex);
            let memory = NodeId::from_index(3);
            assert_eq!(machine.node_name(memory), "p");
            for [from, to] in [[memory, NodeId(0)], [NodeId(1), memory]] {
                let mut network = network(spec, machine.clone());
                let transfer = Transfer::new(Token(0), from, to, 1 << 20);
                let least = network.least_duration(from, to, 1 << 20);
                let log = drive_messages(network.as_mut(), &[(Time::ZERO, transfer)], None);
                assert!(matches!(log[..], [(_, NetworkDone::Delivered(_))]), "{log:?}");
                let took = log[0].0;
                // 2^20 B at 4 GB/s; headers of packets are 1.6 %
                assert!((262_144_000..268_000_000).contains(&took.as_ps()), "{spec}{duplex}: {took:?}");
                assert!(took - Time::ZERO >= least, "{spec}{duplex}: {took:?}, at least {least:?}");
            }
        }
    }
}

#[test]
fn a_memory_slower_than_its_several_cables_is_refused() {
    for kind in ["flit", "packet"] {
        let spec = format!(r#"{{"kind": "{kind}"}}"#);
        let error = try_network(&spec, machine(2, "16 GB/s", "")).err().expect("refused").reason;
        assert!(error.contains("memory p") && error.contains("its 2 cables"), "{error}");
        assert!(try_network(&spec, machine(2, "2 GB/s", "")).is_ok());
    }
}
