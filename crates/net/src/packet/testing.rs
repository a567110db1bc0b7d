//! Networks for unit tests.

use std::sync::Arc;

use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Duration};
use stratasim_topo::{BuildContext, RoutingSpec, Topology, TopologySpec};

use super::Packet;
use super::network::PacketNetwork;
use crate::networks::NetworkContext;

/// The machine of a specification.
pub(crate) fn machine(spec: &str) -> Arc<Topology> {
    let spec: TopologySpec = serde_json::from_str(spec).expect("a topology");
    Arc::new(spec.plugin().build(&BuildContext::default()).expect("a machine"))
}

/// The network of a machine, with these options.
pub(super) fn network(
    topology: &Arc<Topology>,
    options: &str,
    seed: u64,
) -> Result<PacketNetwork, BuildError> {
    let routing = RoutingSpec::default().plugin().build(topology).expect("a routing");
    let (topology, streams) = (topology.clone(), Streams::new(seed));
    let context = NetworkContext {
        topology,
        routing,
        streams,
        timing_precision: Duration::ZERO,
        nics: 1,
        in_order: false,
    };
    let spec: Packet = serde_json::from_str(options).expect("options");
    spec.assemble(context)
}
