//! Memory nodes with a rate of their own, where only cables have rates: the cable of a memory is as fast as the memory.

use stratasim_core::{Bandwidth, BuildError, LinkId, NodeId};
use stratasim_topo::{Link, Topology};

/// The rate of the memory at an end of `link`, where it has one of its own: no direction of the cable is faster.
pub(crate) fn rate_at(topology: &Topology, link: LinkId) -> Option<Bandwidth> {
    let ends = topology.link(link).ends.into_iter().flatten();
    let rates = ends.filter_map(|node| topology.memory_type(node)?.bandwidth);
    rates.min_by(|a, b| a.bytes_per_s().total_cmp(&b.bytes_per_s()))
}

/// Bytes per second of a direction of `link`, whatever is at its ends.
fn own_bytes_per_s(link: &Link) -> f64 {
    // both directions of a half-duplex cable share what one capacity gives
    link.bandwidth.bytes_per_s() * if link.half_duplex { 0.5 } else { 1.0 }
}

/// Bytes per second of a direction of `link`.
pub(crate) fn bytes_per_s(topology: &Topology, link: LinkId) -> f64 {
    let own = own_bytes_per_s(topology.link(link));
    rate_at(topology, link).map_or(own, |rate| rate.bytes_per_s().min(own))
}

/// Refuses memories that several cables together could ask for more than they give: no cable knows of the others.
pub(crate) fn check(topology: &Topology) -> Result<(), BuildError> {
    for node in (0..topology.node_count()).map(NodeId::from_index) {
        let Some(own) = topology.memory_type(node).and_then(|memory| memory.bandwidth) else { continue };
        let cables = topology.ports(node);
        let together: f64 = cables.iter().map(|port| own_bytes_per_s(topology.link(port.link))).sum();
        // a sum of rates is rounded
        if cables.len() > 1 && together > own.bytes_per_s() * (1.0 + 1e-9) {
            let reason = format!(
                "memory {}: its own {own} are less than the {} of its {} cables together, which this level does not \
                 share out; give it one cable, slower ones, or no `bandwidth`",
                topology.node_name(node),
                Bandwidth(together),
                cables.len()
            );
            return Err(BuildError::new("", reason));
        }
    }
    Ok(())
}
