//! The contract of every network: one line each.

use std::sync::Arc;

use stratasim_core::Duration;
use stratasim_core::model::Network;
use stratasim_core::random::Streams;
use stratasim_net::{NetworkContext, NetworkSpec};
use stratasim_testkit::network_contract;
use stratasim_topo::{RoutingSpec, Topology};

fn build(spec: &str, topology: Arc<Topology>) -> Box<dyn Network> {
    let spec: NetworkSpec = serde_json::from_str(spec).expect("a network");
    let routing = RoutingSpec::default().plugin().build(&topology).expect("a routing");
    let context =
        NetworkContext { topology, routing, streams: Streams::new(1), timing_precision: Duration::ZERO };
    spec.plugin().build(context).expect("a network on it")
}

network_contract!(max_min, |topology| build(r#"{"kind": "flow"}"#, topology));
network_contract!(max_min_without_shortcuts, |topology| build(
    r#"{"kind": "flow", "shortcuts": {"local-solve": false, "solo-flows": false, "pipelines": false}}"#,
    topology
));
network_contract!(cm02, |topology| build(r#"{"kind": "flow", "rule": "cm02"}"#, topology));
network_contract!(lv08, |topology| build(r#"{"kind": "flow", "rule": "lv08"}"#, topology));
network_contract!(constant_rate, |topology| build(
    r#"{"kind": "constant-rate", "bandwidth": "10 GB/s", "latency": "2 us"}"#,
    topology
));
