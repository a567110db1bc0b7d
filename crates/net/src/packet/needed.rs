//! What links must carry at least, whatever is sent again, marked or trimmed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use stratasim_core::model::{FlowRecord, Needed};
use stratasim_core::{LinkId, NodeId};
use stratasim_transport::PacketSizes;

use super::engine::Engine;
use super::routes::Next;

/// Ports of which any may carry a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// One only.
    Port(u32),
    /// Those by which packets to a host may go on from a node: a set of the table of next hops.
    Parting(u32, u32),
    /// Those that lead into a host, or into a switch from others that send on.
    Into(u32),
}

/// What must go through a group of ports.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    /// What one of its ports, the first, would take for all of it: of each packet whole picoseconds, as ports serve them.
    ps: u128,
    packets: u64,
    bytes: u64,
}

impl Engine {
    /// What the messages of `flows` need: each byte once, with the headers of its packets, at each port that all packets of its
    /// message took; where these part, at the ports that they may take there together; at those into its target; and, where that
    /// hangs on one switch alone, and the sender does not, at those into that switch.
    pub(super) fn needed(&self, flows: &[FlowRecord], sizes: &PacketSizes) -> Vec<Needed> {
        let wires = self.routes.wires();
        let mut loads: BTreeMap<Group, Load> = BTreeMap::new();
        // a half-duplex cable has a port at each end
        let port_of: FxHashMap<(LinkId, u32), u32> =
            (0..).zip(wires).map(|(port, wire)| ((wire.link, wire.from), port)).collect();
        let mut into: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let is_host = |node: u32| self.routes.host_of(NodeId(node)).is_some();
        // through a host of several cables packets of others may go
        let may_pass = |node: u32| !is_host(node) || self.routes.ports_of(node).len() > 1;
        for (port, wire) in (0..).zip(wires) {
            if is_host(wire.to) || may_pass(wire.from) {
                into.entry(wire.to).or_default().push(port);
            }
        }
        let full_payload = u64::from(sizes.payload_bytes);
        for flow in flows.iter().filter(|flow| !flow.path.is_empty()) {
            let packets = flow.bytes.div_ceil(full_payload).max(1);
            let whole = (packets - 1) * full_payload;
            let last = if sizes.full_packets { full_payload } else { flow.bytes.max(1) - whole };
            let on_wire = |payload: u64| payload as u32 + sizes.header_bytes;
            let mut add = |group, port: u32| {
                let kind = &self.ports[port as usize].kind;
                let load = loads.entry(group).or_default();
                load.ps += u128::from(packets - 1) * u128::from(kind.time_of(on_wire(full_payload)));
                load.ps += u128::from(kind.time_of(on_wire(last)));
                load.packets += packets;
                load.bytes += whole + last + packets * u64::from(sizes.header_bytes);
            };
            let mut node = flow.src.0;
            for &link in &flow.path {
                let Some(&port) = port_of.get(&(link, node)) else { break };
                add(Group::Port(port), port);
                node = wires[port as usize].to;
            }
            if let Some(ports) = into.get(&flow.dst.0) {
                add(Group::Into(flow.dst.0), ports[0]);
                if let [last] = ports[..]
                    && let switch = wires[last as usize].from
                    && !is_host(switch)
                    && self.routes.ports_of(flow.src.0).all(|port| wires[port as usize].to != switch)
                    && let Some(ports) = into.get(&switch)
                {
                    add(Group::Into(switch), ports[0]);
                }
            }
            // round a dead link they may go anywhere
            if node != flow.dst.0
                && !self.outages.touch(flow.start.as_ps(), flow.end.as_ps().saturating_add(1))
                && let Some(host) = self.routes.host_of(flow.dst)
                && let Next::Set(set) = self.routes.toward(node, host)
            {
                add(Group::Parting(node, set), self.routes.members(node, set).port(0));
            }
        }
        let ports = |group: &Group| match *group {
            Group::Port(port) => vec![port],
            Group::Parting(node, set) => self.routes.members(node, set).ports().collect(),
            Group::Into(node) => into[&node].clone(),
        };
        let mut loads: Vec<(Group, Load)> = loads.into_iter().collect();
        // sets of a node in the order of its targets
        loads.sort_by_cached_key(|(group, _)| match *group {
            Group::Parting(node, set) => Group::Parting(node, self.routes.first_column(node, set)),
            other => other,
        });
        loads.into_iter().map(|(group, load)| self.need(&ports(&group), load)).collect()
    }

    /// How long the links of ports need together for a load.
    fn need(&self, ports: &[u32], load: Load) -> Needed {
        let kind = |port: u32| &self.ports[port as usize].kind;
        let links = ports.iter().map(|&port| self.routes.wires()[port as usize].link).collect();
        let busy_s = if ports.iter().all(|&port| kind(port).rate == kind(ports[0]).rate) {
            load.ps as f64 * 1e-12 / ports.len() as f64
        } else {
            let rate: f64 = ports.iter().map(|&port| kind(port).rate.bytes_per_s()).sum();
            // none of the packets is served faster by more than what is rounded
            (load.bytes as f64 / rate - load.packets as f64 * 1e-12).max(0.0)
        };
        Needed { links, busy_s }
    }
}
