//! Small machines of every sort that matters to a network.

use std::sync::Arc;

use stratasim_topo::{BuildContext, Topology, TopologySpec};

/// Shared and half-duplex cables, one and many ways, one and many hops, memories.
const MACHINES: [&str; 5] = [
    r#"{"kind": "ring", "nodes": 5, "bandwidth": "1 GB/s", "latency": "1 us"}"#,
    r#"{"kind": "torus", "dimensions": [3, 3], "bandwidth": "3 GB/s", "latency": "700 ns", "duplex": "half"}"#,
    r#"{"kind": "fat-tree", "k": 4, "bandwidth": "100 Gbps", "latency": "300 ns"}"#,
    r#"{"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts-per-leaf": 4, "bandwidth": "1 GB/s", "latency": "0 s", "oversubscription": 2}"#,
    r#"{"kind": "hcsim-cxl", "xpus": 16}"#,
];

/// All of them.
///
/// # Panics
/// When a generator does not know its own spec any more.
pub fn machines() -> Vec<Arc<Topology>> {
    MACHINES
        .iter()
        .map(|text| {
            let spec: TopologySpec =
                serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let topology = spec.plugin().build(&BuildContext::default());
            Arc::new(topology.unwrap_or_else(|error| panic!("{text}: {error}")))
        })
        .collect()
}
