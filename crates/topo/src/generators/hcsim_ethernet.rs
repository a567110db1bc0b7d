//! The HCSim paper's machine without coherence: PCIe, Ethernet and memory behind the CPUs (figure 6a).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Duration, LinkId, NodeId};

use super::cables::{Cables, Duplex};
use super::hcsim::{
    ETHERNET_NAMES, EthernetCables, Machine, NicLink, Nodes, OtherLink, Parts, PcieLink, Sizes, TorLink,
    UpiLink, XpuLink, cpu_of, inside_server,
};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkClass, LinkType, Topology};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// Racks of accelerator servers on Ethernet: figure 6a of the HCSim paper.
///
/// ```text
///   core ─ tc ─ tor-r ─ nt ─ nic-s ─ pn ─ cpu0-s ───── upi ───── cpu1-s
///                                        │  ├ mm ─ memory-g       │
///                                        │ pc0 (one cable        │ pc1
///                                        │  per accelerator)     │
///                                  pcie-switch0-s          pcie-switch1-s
///                                     │ │ │ │ px              │ │ │ │
///                                     xpu-g ...  ── xl ── xpu-switch-s
/// ```
/// Accelerators in one server talk over the accelerator switch (an NVSwitch), all others over PCIe,
/// NIC, top-of-rack and core switch. Every accelerator has a PCIe cable of its own between PCIe
/// switch and CPU and a memory of its own behind that CPU, so that it reads its memory unobstructed.
/// Pairs with a switch at an end take the path of least latency.
///
/// What the paper leaves open and is assumed here: one NIC per server, joined to the first CPU by
/// PCIe, so that accelerators behind the second CPU reach it over UPI; the memory cables, for which
/// table 5 has no row, are like `pcie-link`; CPUs only forward unless `cpu` gives them a type.
///
/// Groups: `server`, `rack`. Dimensions, when all are full: accelerators per server, servers per rack,
/// racks.
///
/// Source: Li et al., HCSim (2025), section 3.1, figure 6a, table 5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HcsimEthernet {
    /// Number of accelerators, filled server by server and rack by rack.
    pub xpus: u32,
    /// Accelerators in a full server; half of them, rounded up, are behind the first CPU.
    pub xpus_per_server: u32,
    /// Servers in a full rack.
    pub servers_per_rack: u32,
    /// Type of all accelerators: a name of the catalogue or a table of properties.
    pub compute: ComputeChoice,
    /// Type of the accelerators by rack, in place of `compute`; the last entry holds for all
    /// further racks. `["H100", "A100"]` with 256 accelerators is 128 of each.
    pub rack_compute: Vec<ComputeChoice>,
    /// Type of the CPUs; without one they forward but do not compute. CPUs come after the
    /// accelerators in the order of compute nodes.
    pub cpu: Option<ComputeChoice>,
    /// Capacity of each accelerator's memory behind the CPU; unbounded when absent.
    pub memory_capacity: Option<Bytes>,
    /// Accelerator to accelerator switch (`xl-g`).
    pub xpu_link: XpuLink,
    /// Accelerator to PCIe switch (`px-g`), PCIe switch to CPU (`pc0-s`, `pc1-s`), NIC to CPU (`pn-s`).
    pub pcie_link: PcieLink,
    /// Memory to CPU (`mm-g`); like `pcie-link` when absent.
    pub memory_link: Option<OtherLink>,
    /// CPU to CPU (`upi-s`).
    pub upi_link: UpiLink,
    /// NIC to top-of-rack switch (`nt-s`).
    pub nic_link: NicLink,
    /// Top-of-rack switch to core switch (`tc-r`).
    pub tor_link: TorLink,
    /// Whether the two directions of a cable have a capacity each.
    pub duplex: Duplex,
}

impl Default for HcsimEthernet {
    fn default() -> Self {
        Self {
            xpus: 4096,
            xpus_per_server: 8,
            servers_per_rack: 16,
            compute: ComputeChoice::default(),
            rack_compute: Vec::new(),
            cpu: None,
            memory_capacity: None,
            xpu_link: XpuLink::default(),
            pcie_link: PcieLink::default(),
            memory_link: None,
            upi_link: UpiLink::default(),
            nic_link: NicLink::default(),
            tor_link: TorLink::default(),
            duplex: Duplex::default(),
        }
    }
}

const NAMES: [LinkClass; 11] = {
    let mut names = [LinkClass { name: "mm", from: "memory-", to: "cpu0-" }; 11];
    names[1] = LinkClass { name: "mm", from: "memory-", to: "cpu1-" };
    let mut index = 0;
    while index < ETHERNET_NAMES.len() {
        names[index + 2] = ETHERNET_NAMES[index];
        index += 1;
    }
    names
};

impl Generator for HcsimEthernet {
    fn build(&self, _: &BuildContext) -> Result<Topology, BuildError> {
        let mut machine = Machine::new(&Parts {
            xpus: self.xpus,
            xpus_per_server: self.xpus_per_server,
            servers_per_rack: self.servers_per_rack,
            compute: &self.compute,
            rack_compute: &self.rack_compute,
            cpu: self.cpu.as_ref(),
            memory_capacity: self.memory_capacity,
            xpu_link: self.xpu_link,
            pcie_link: self.pcie_link,
            upi_link: self.upi_link,
            nic_link: self.nic_link,
            tor_link: self.tor_link,
            duplex: self.duplex,
        })?;
        let (sizes, nodes) = (machine.sizes, machine.nodes);
        let builder = &mut machine.builder;
        let memory_link = self.memory_link.map_or(LinkType::from(self.pcie_link), LinkType::from);
        let mm = Cables::start(builder, self.duplex);
        for g in 0..sizes.xpus {
            mm.add(builder, NodeId(sizes.xpus + g), NodeId(nodes.cpus + cpu_of(&sizes, g)), memory_link);
        }
        let rule = PcieAndEthernet { sizes, nodes, cables: machine.cables, mm };
        let mut builder = machine.finish();
        builder.name_link_classes(&NAMES);
        builder.set_structure(Structure::Ruled(Arc::new(rule)));
        builder.build()
    }
}

/// Accelerators, memories and CPUs: accelerator switch inside a server, otherwise up to the CPU,
/// over UPI and Ethernet, and down again.
#[derive(Debug)]
struct PcieAndEthernet {
    sizes: Sizes,
    nodes: Nodes,
    cables: EthernetCables,
    mm: Cables,
}

/// Cables between an end of a route and its CPU.
enum Branch {
    /// Accelerator: its own cable, and its own one of the parallel cables.
    Pcie { px: u32, pc: u32 },
    /// Memory.
    Memory(u32),
    /// The CPU itself.
    None,
}

impl PcieAndEthernet {
    /// The branch and the CPU that `node` is on.
    fn branch(&self, node: NodeId) -> (Branch, u32) {
        let sizes = &self.sizes;
        if node.0 < sizes.xpus {
            let cpu = cpu_of(sizes, node.0);
            let slot = node.0 % sizes.xpus_per_server % sizes.xpus_per_cpu;
            (Branch::Pcie { px: node.0, pc: cpu * sizes.xpus_per_cpu + slot }, cpu)
        } else if node.0 < 2 * sizes.xpus {
            let g = node.0 - sizes.xpus;
            (Branch::Memory(g), cpu_of(sizes, g))
        } else {
            (Branch::None, node.0 - self.nodes.cpus)
        }
    }
}

impl RouteRule for PcieAndEthernet {
    fn name(&self) -> &'static str {
        "pcie-and-ethernet"
    }

    fn covers(&self, src: NodeId, dst: NodeId) -> bool {
        src.0.max(dst.0) < self.nodes.cpus + 2 * self.sizes.servers
    }

    fn route(
        &self,
        topology: &Topology,
        src: NodeId,
        dst: NodeId,
        _key: u64,
        out: &mut Vec<LinkId>,
    ) -> Result<Duration, RouteError> {
        if !self.covers(src, dst) {
            return Err(RouteError::new(
                topology,
                src,
                dst,
                "the rule knows accelerators, memories and CPUs",
            ));
        }
        let EthernetCables { xl, px, pc, upi, pn, nt, tc } = self.cables;
        if src.0.max(dst.0) < self.sizes.xpus && inside_server(&self.sizes, xl, src.0, dst.0, out) {
            return Ok(Duration::ZERO);
        }
        let ((leave, a), (enter, b)) = (self.branch(src), self.branch(dst));
        match leave {
            Branch::Pcie { px: g, pc: cable } => out.extend([px.up(g), pc.up(cable)]),
            Branch::Memory(g) => out.push(self.mm.up(g)),
            Branch::None => {}
        }
        let (server_a, server_b) = (a / 2, b / 2);
        if server_a != server_b {
            // the NIC is on the first CPU of a server
            if a % 2 == 1 {
                out.push(upi.down(server_a));
            }
            out.extend([pn.down(server_a), nt.up(server_a)]);
            let (rack_a, rack_b) =
                (server_a / self.sizes.servers_per_rack, server_b / self.sizes.servers_per_rack);
            if rack_a != rack_b {
                out.extend([tc.up(rack_a), tc.down(rack_b)]);
            }
            out.extend([nt.down(server_b), pn.up(server_b)]);
            if b % 2 == 1 {
                out.push(upi.up(server_b));
            }
        } else if a < b {
            out.push(upi.up(server_a));
        } else if a > b {
            out.push(upi.down(server_a));
        }
        match enter {
            Branch::Pcie { px: g, pc: cable } => out.extend([pc.down(cable), px.down(g)]),
            Branch::Memory(g) => out.push(self.mm.down(g)),
            Branch::None => {}
        }
        Ok(Duration::ZERO)
    }
}
