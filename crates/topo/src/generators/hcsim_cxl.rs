//! The HCSim paper's machine with a coherent CXL fabric (figure 6b).

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Duration, LinkId, NodeId};

use super::cables::{Cables, Duplex};
use super::hcsim::{
    CxlLink, ETHERNET_NAMES, Machine, NicLink, OtherLink, Parts, PcieLink, Sizes, TorLink, UpiLink, XpuLink,
    inside_server,
};
use super::{BuildContext, Generator};
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkClass, LinkType, NO_GROUP, Topology};
use crate::routing::RouteError;
use crate::structure::{RouteRule, Structure};

/// Racks of accelerator servers on a coherent CXL fabric: figure 6b of the HCSim paper.
///
/// ```text
///                    cxl-core ═══════════════╗            one private CXL memory
///                       ║ cr                 ║            per accelerator (type 3)
///   memory-g ══ cm ══ cxl-switch-0        cxl-switch-1 ...
///                       ║ cx (one per accelerator)
///   ┌ server ───────── xpu-g ── xl ── xpu-switch-s ┐
///   │                    │ px                      │      and the whole of `hcsim-ethernet` but
///   │               pcie-switch ─ cpu ─ nic ─ tor ─┼ core for the memories behind the CPUs
/// ```
/// Accelerators in one server talk over the accelerator switch, all others over the CXL switch of
/// their rack and, between racks, over the core CXL switch. An accelerator reads its memory over
/// `cm` and `cx`. The coherent fabric carries this traffic whatever its latency: that is the
/// machine's policy, not the outcome of a search, so that a sweep over CXL latency stays on CXL (the
/// routing `dijkstra` searches instead). Pairs with a CPU or a switch at an end take the path of least latency.
///
/// What the paper leaves open and is assumed here: one CXL switch per rack with one cable to a single
/// core CXL switch; `cascade-link` like `cxl-link`; NIC and first CPU joined by PCIe; CPUs only
/// forward unless `cpu` gives them a type. PCIe, UPI, NIC and top-of-rack links exist as in the
/// paper but carry no accelerator traffic.
///
/// Groups: `server`, `rack`. Dimensions, when all are full: accelerators per server, servers per rack,
/// racks.
///
/// Source: Li et al., HCSim (2025), section 3.1, figure 6b, table 5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HcsimCxl {
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
    /// Capacity of each accelerator's private CXL memory; unbounded when absent.
    pub memory_capacity: Option<Bytes>,
    /// Accelerator to accelerator switch (`xl-g`).
    pub xpu_link: XpuLink,
    /// Accelerator or memory to the CXL switch of the rack (`cx-g`, `cm-g`).
    pub cxl_link: CxlLink,
    /// CXL switch of a rack to the core CXL switch (`cr-r`); like `cxl-link` when absent.
    pub cascade_link: Option<OtherLink>,
    /// Accelerator to PCIe switch (`px-g`), PCIe switch to CPU (`pc0-s`, `pc1-s`), NIC to CPU (`pn-s`).
    pub pcie_link: PcieLink,
    /// CPU to CPU (`upi-s`).
    pub upi_link: UpiLink,
    /// NIC to top-of-rack switch (`nt-s`).
    pub nic_link: NicLink,
    /// Top-of-rack switch to core switch (`tc-r`).
    pub tor_link: TorLink,
    /// Whether the two directions of a cable have a capacity each.
    pub duplex: Duplex,
}

impl Default for HcsimCxl {
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
            cxl_link: CxlLink::default(),
            cascade_link: None,
            pcie_link: PcieLink::default(),
            upi_link: UpiLink::default(),
            nic_link: NicLink::default(),
            tor_link: TorLink::default(),
            duplex: Duplex::default(),
        }
    }
}

const CXL_NAMES: [LinkClass; 3] = [
    LinkClass { name: "cx", from: "xpu-", to: "cxl-switch-" },
    LinkClass { name: "cm", from: "memory-", to: "cxl-switch-" },
    LinkClass { name: "cr", from: "cxl-switch-", to: "cxl-core" },
];
const NAMES: [LinkClass; 12] = {
    let mut names = [CXL_NAMES[0]; 12];
    let mut index = 0;
    while index < names.len() {
        names[index] = if index < 3 { CXL_NAMES[index] } else { ETHERNET_NAMES[index - 3] };
        index += 1;
    }
    names
};

impl Generator for HcsimCxl {
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
        let sizes = machine.sizes;
        let first_switch = machine.builder.kinds().len() as u32;
        for r in 0..sizes.racks {
            machine.switch(r, format_args!("cxl-switch-{r}"));
        }
        let core = machine.switch(NO_GROUP, format_args!("cxl-core"));
        let builder = &mut machine.builder;
        let cxl = LinkType::from(self.cxl_link);
        let cx = Cables::start(builder, self.duplex);
        for g in 0..sizes.xpus {
            cx.add(builder, NodeId(g), NodeId(first_switch + g / sizes.xpus_per_rack), cxl);
        }
        let cm = Cables::start(builder, self.duplex);
        for g in 0..sizes.xpus {
            let memory = NodeId(sizes.xpus + g);
            cm.add(builder, memory, NodeId(first_switch + g / sizes.xpus_per_rack), cxl);
        }
        let cr = Cables::start(builder, self.duplex);
        for r in 0..sizes.racks {
            let cascade = self.cascade_link.map_or(cxl, LinkType::from);
            cr.add(builder, NodeId(first_switch + r), core, cascade);
        }
        let rule = CoherentFabric { sizes, xl: machine.cables.xl, cx, cm, cr };
        let mut builder = machine.finish();
        builder.name_link_classes(&NAMES);
        builder.set_structure(Structure::Ruled(Arc::new(rule)));
        builder.build()
    }
}

/// Accelerators and their memories: accelerator switch inside a server, CXL everywhere else.
#[derive(Debug)]
struct CoherentFabric {
    sizes: Sizes,
    xl: Cables,
    cx: Cables,
    cm: Cables,
    cr: Cables,
}

impl RouteRule for CoherentFabric {
    fn name(&self) -> &'static str {
        "coherent-fabric"
    }

    fn covers(&self, src: NodeId, dst: NodeId) -> bool {
        src.0.max(dst.0) < 2 * self.sizes.xpus
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
            return Err(RouteError::new(topology, src, dst, "the coherent fabric does not join them"));
        }
        let sizes = &self.sizes;
        let (from_memory, to_memory) = (src.0 >= sizes.xpus, dst.0 >= sizes.xpus);
        if !from_memory && !to_memory && inside_server(sizes, self.xl, src.0, dst.0, out) {
            return Ok(Duration::ZERO);
        }
        let (leave, a) = if from_memory { (self.cm, src.0 - sizes.xpus) } else { (self.cx, src.0) };
        let (enter, b) = if to_memory { (self.cm, dst.0 - sizes.xpus) } else { (self.cx, dst.0) };
        let (rack_a, rack_b) = (a / sizes.xpus_per_rack, b / sizes.xpus_per_rack);
        if rack_a == rack_b {
            out.extend([leave.up(a), enter.down(b)]);
        } else {
            out.extend([leave.up(a), self.cr.up(rack_a), self.cr.down(rack_b), enter.down(b)]);
        }
        Ok(Duration::ZERO)
    }
}
