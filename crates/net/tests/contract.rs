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
    let streams = Streams::new(1);
    let context = NetworkContext {
        topology,
        routing,
        streams,
        timing_precision: Duration::ZERO,
        nics: 1,
        in_order: false,
    };
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
network_contract!(in_turn message, |topology| build(r#"{"kind": "message"}"#, topology));
network_contract!(in_turn message_on_routes, |topology| build(
    r#"{"kind": "message", "latency": "200 ns", "overhead": "1 us", "overhead-per-byte": "0.1 ns/B",
        "gap": "50 ns", "gap-per-byte": "0.04 ns/B", "from-routes": true,
        "near": [{"within": "node", "latency": "80 ns", "gap": "0 ns", "gap-per-byte": "0.01 ns/B"}]}"#,
    topology
));
