//! What links must carry at least, whatever is sent again, marked or trimmed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use stratasim_core::model::{FlowRecord, Needed};
use stratasim_core::{LinkId, NodeId};
use stratasim_transport::PacketSizes;

use super::engine::Engine;
use super::routes::Next;

/// Links of which any may carry a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// One only.
    Link(LinkId),
    /// Those by which packets to a host may go on from a node: a set of the table of next hops.
    Parting(u32, u32),
    /// Those that lead into a node.
    Into(u32),
}

impl Engine {
    /// What the messages of `flows` need: each byte once, with the headers of its packets, on each link that all packets of its
    /// message took; where these part, on the links that they may take there together; and on those of its target.
    pub(super) fn needed(&self, flows: &[FlowRecord], sizes: &PacketSizes) -> Vec<Needed> {
        let wires = self.routes.wires();
        let mut bytes: BTreeMap<Group, u64> = BTreeMap::new();
        let port_of: FxHashMap<LinkId, u32> =
            (0..).zip(wires).map(|(port, wire)| (wire.link, port)).collect();
        let mut into: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (port, wire) in (0..).zip(wires) {
            if self.routes.host_of(NodeId(wire.to)).is_some() {
                into.entry(wire.to).or_default().push(port);
            }
        }
        for flow in flows.iter().filter(|flow| !flow.path.is_empty()) {
            let packets = flow.bytes.div_ceil(u64::from(sizes.payload_bytes)).max(1);
            let payload =
                if sizes.full_packets { packets * u64::from(sizes.payload_bytes) } else { flow.bytes.max(1) };
            let on_wire = payload + packets * u64::from(sizes.header_bytes);
            let mut add = |group| *bytes.entry(group).or_default() += on_wire;
            flow.path.iter().for_each(|&link| add(Group::Link(link)));
            add(Group::Into(flow.dst.0));
            let last = flow.path.last().and_then(|link| port_of.get(link));
            let (Some(&last), Some(host)) = (last, self.routes.host_of(flow.dst)) else { continue };
            let node = wires[last as usize].to;
            // round a dead link they may go anywhere
            if node != flow.dst.0
                && self.faults.is_empty()
                && let Next::Set(set) = self.routes.toward(node, host)
            {
                add(Group::Parting(node, set));
            }
        }
        let ports = |group: &Group| match *group {
            Group::Link(link) => vec![port_of[&link]],
            Group::Parting(_, set) => self.routes.members()[self.routes.set(set)].to_vec(),
            Group::Into(node) => into[&node].clone(),
        };
        bytes.into_iter().map(|(group, bytes)| self.need(&ports(&group), bytes)).collect()
    }

    /// How long the links of ports need together for so many bytes.
    fn need(&self, ports: &[u32], bytes: u64) -> Needed {
        let rate: f64 = ports.iter().map(|&port| self.ports[port as usize].kind.rate.bytes_per_s()).sum();
        let links = ports.iter().map(|&port| self.routes.wires()[port as usize].link).collect();
        Needed { links, busy_s: bytes as f64 / rate }
    }
}
