//! Numbers of the ports of routers, from the links of a topology.

use stratasim_core::{BuildError, LinkId, NodeId};
use stratasim_topo::{NodeKind, Topology};

use super::roles::is_one_way;

/// Ports of all routers together, at the stride of the largest: more are refused.
const MOST_PORTS: u64 = 1 << 24;

/// Numbers of ports. Outputs: a router's links in order of [`Topology::ports`], then that of its own terminal. Inputs: the
/// same links without those that only lead away, then links that only lead here, then its own terminal. There is no input by
/// which nothing can come: allocators would take turns with it.
pub(super) struct Ports {
    /// Inputs and outputs of every router.
    pub(super) counts: Vec<(u16, u16)>,
    /// The number of each link among the outputs of its start, and of its end where it is half duplex.
    pub(super) at_start: Vec<u16>,
    at_end: Vec<u16>,
    /// The same among the inputs; of no meaning for links that lead one way.
    input_at_start: Vec<u16>,
    input_at_end: Vec<u16>,
    /// Input at the end of a link that has no way back.
    one_way: Vec<u16>,
}

impl Ports {
    pub(super) fn new(
        topology: &Topology,
        nodes: &[NodeId],
        router_of: &[Option<u32>],
    ) -> Result<Self, BuildError> {
        let links = topology.link_count();
        let (mut at_start, mut at_end, mut one_way) = (vec![0; links], vec![0; links], vec![0; links]);
        let (mut input_at_start, mut input_at_end) = (vec![0; links], vec![0; links]);
        let leads_back = |link: LinkId| !is_one_way(topology.link(link));
        let mut inputs: Vec<u64> = Vec::with_capacity(nodes.len());
        for node in (0..topology.node_count()).map(NodeId::from_index) {
            if topology.ports(node).len() > usize::from(u16::MAX) - 2 {
                let reason = format!(
                    "{} has {} links, at most 65,533 are possible",
                    topology.node_name(node),
                    topology.ports(node).len()
                );
                return Err(BuildError::new("", reason));
            }
            let mut input = 0;
            for (output, port) in (0..).zip(topology.ports(node)) {
                let starts = topology.link(port.link).ends.is_some_and(|[from, _]| from == node);
                let (outputs, inputs) = match starts {
                    true => (&mut at_start, &mut input_at_start),
                    false => (&mut at_end, &mut input_at_end),
                };
                (outputs[port.link.index()], inputs[port.link.index()]) = (output, input);
                input += u16::from(leads_back(port.link));
            }
        }
        for &node in nodes {
            inputs.push(topology.ports(node).iter().filter(|port| leads_back(port.link)).count() as u64);
        }
        for (index, link) in topology.links().iter().enumerate() {
            let Some([from, to]) = link.ends else { continue };
            if from == to || !is_one_way(link) {
                continue;
            }
            let Some(router) = router_of[to.index()].map(|router| router as usize) else { continue };
            one_way[index] = u16::try_from(inputs[router]).unwrap_or(u16::MAX);
            inputs[router] += 1;
        }
        let mut counts = Vec::with_capacity(nodes.len());
        for (&node, &inputs) in nodes.iter().zip(&inputs) {
            let own = u64::from(topology.kind(node) != NodeKind::Switch);
            let outputs = topology.ports(node).len() as u64 + own;
            let (Ok(inputs), Ok(outputs)) = (u16::try_from(inputs + own), u16::try_from(outputs)) else {
                let reason = format!("{} has more than 65,535 ports", topology.node_name(node));
                return Err(BuildError::new("", reason));
            };
            counts.push((inputs, outputs));
        }
        let stride = counts.iter().map(|&(inputs, outputs)| inputs.max(outputs)).max().unwrap_or(0);
        let places = u64::from(stride) * counts.len() as u64;
        if places > MOST_PORTS {
            let reason = format!(
                "{} routers, the largest with {stride} ports, need {places} places; at most {MOST_PORTS} are held",
                counts.len()
            );
            return Err(BuildError::new("", reason));
        }
        Ok(Self { counts, at_start, at_end, input_at_start, input_at_end, one_way })
    }

    /// The input port at the far end of `link`, seen from `from`.
    pub(super) fn input(&self, topology: &Topology, link: LinkId, from: NodeId) -> u16 {
        match Self::back(topology, link, from) {
            None => self.one_way[link.index()],
            Some((back, true)) => self.input_at_start[back.index()],
            Some((back, false)) => self.input_at_end[back.index()],
        }
    }

    /// The output at the far end of `link` that leads back to `from`; none where no link does.
    pub(super) fn output_back(&self, topology: &Topology, link: LinkId, from: NodeId) -> Option<u16> {
        let (link, starts) = Self::back(topology, link, from)?;
        Some(if starts { self.at_start[link.index()] } else { self.at_end[link.index()] })
    }

    /// The link that leads back, and whether it starts at the far end of `link`, seen from `from`.
    fn back(topology: &Topology, link: LinkId, from: NodeId) -> Option<(LinkId, bool)> {
        let info = topology.link(link);
        let starts = info.ends.is_some_and(|[start, _]| start == from);
        match info.reverse {
            Some(reverse) => Some((reverse, true)),
            None => info.half_duplex.then_some((link, !starts)),
        }
    }
}
