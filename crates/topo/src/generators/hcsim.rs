//! What the two machines of the HCSim paper share: racks of servers of accelerators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, LinkId, NodeId};

use super::cables::{Cables, Duplex};
use super::check_size;
use crate::catalogue::ComputeChoice;
use crate::graph::{LinkClass, LinkType, MemoryType, NO_GROUP, NodeKind, TopologyBuilder};

macro_rules! link_classes {
    ($($(#[$doc:meta])* $name:ident: $bytes_per_s:literal, $latency_ns:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub struct $name {
            /// Rate, per direction.
            pub bandwidth: Bandwidth,
            /// Propagation delay.
            pub latency: Duration,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { bandwidth: Bandwidth($bytes_per_s), latency: Duration::from_ns($latency_ns) }
            }
        }

        impl From<$name> for LinkType {
            fn from(class: $name) -> Self {
                Self::new(class.bandwidth, class.latency)
            }
        }
    )+};
}

// Table 5 of the paper.
link_classes! {
    /// Between an accelerator and the accelerator switch of its server.
    XpuLink: 900e9, 100;
    /// Of the coherent fabric: accelerators, memories and switches.
    CxlLink: 128e9, 200;
    /// Of PCIe: accelerator, PCIe switch, CPU, NIC.
    PcieLink: 128e9, 250;
    /// Between the two CPUs of a server.
    UpiLink: 62.4e9, 100;
    /// Between a NIC and its top-of-rack switch.
    NicLink: 12.5e9, 5000;
    /// Between a top-of-rack switch and the core switch.
    TorLink: 12.5e9, 5000;
}

/// Rate and delay of a class of links that has no figures in the paper.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OtherLink {
    /// Rate, per direction.
    pub bandwidth: Bandwidth,
    /// Propagation delay.
    pub latency: Duration,
}

impl From<OtherLink> for LinkType {
    fn from(class: OtherLink) -> Self {
        Self::new(class.bandwidth, class.latency)
    }
}

/// The figures that both machines have; borrowed from their specs.
pub(super) struct Parts<'a> {
    pub(super) xpus: u32,
    pub(super) xpus_per_server: u32,
    pub(super) servers_per_rack: u32,
    pub(super) compute: &'a ComputeChoice,
    pub(super) rack_compute: &'a [ComputeChoice],
    pub(super) cpu: Option<&'a ComputeChoice>,
    pub(super) memory_capacity: Option<Bytes>,
    pub(super) xpu_link: XpuLink,
    pub(super) pcie_link: PcieLink,
    pub(super) upi_link: UpiLink,
    pub(super) nic_link: NicLink,
    pub(super) tor_link: TorLink,
    pub(super) duplex: Duplex,
}

/// Where an accelerator is, by arithmetic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) xpus: u32,
    pub(super) xpus_per_server: u32,
    pub(super) xpus_per_rack: u32,
    /// Accelerators behind the first CPU of a server; the second has the rest.
    pub(super) xpus_per_cpu: u32,
    pub(super) servers_per_rack: u32,
    pub(super) servers: u32,
    pub(super) racks: u32,
}

impl Sizes {
    fn new(parts: &Parts<'_>) -> Result<Self, BuildError> {
        for (field, count, what) in [
            ("xpus", parts.xpus, "a machine needs at least one accelerator"),
            ("xpus-per-server", parts.xpus_per_server, "a server needs at least one accelerator"),
            ("servers-per-rack", parts.servers_per_rack, "a rack needs at least one server"),
        ] {
            if count == 0 {
                return Err(BuildError::new(field, what));
            }
        }
        let xpus_per_cpu = parts.xpus_per_server.div_ceil(2);
        let servers = parts.xpus.div_ceil(parts.xpus_per_server);
        let per_xpu = 2 * 4 * u64::from(parts.xpus);
        let per_server = 2 * u64::from(servers) * (2 * u64::from(xpus_per_cpu) + 5);
        check_size("xpus", "links", Some(per_xpu + per_server))?;
        let per_rack = u64::from(parts.xpus_per_server) * u64::from(parts.servers_per_rack);
        let xpus_per_rack = u32::try_from(per_rack).unwrap_or(u32::MAX);
        Ok(Self {
            xpus: parts.xpus,
            xpus_per_server: parts.xpus_per_server,
            xpus_per_rack,
            xpus_per_cpu,
            servers_per_rack: parts.servers_per_rack,
            servers,
            racks: parts.xpus.div_ceil(xpus_per_rack),
        })
    }

    /// Dimensions of the machine when every server and every rack is full.
    fn dimensions(&self) -> Vec<u32> {
        if self.xpus < self.xpus_per_server {
            vec![self.xpus]
        } else if !self.xpus.is_multiple_of(self.xpus_per_server) {
            Vec::new()
        } else if self.servers < self.servers_per_rack {
            vec![self.xpus_per_server, self.servers]
        } else if !self.servers.is_multiple_of(self.servers_per_rack) {
            Vec::new()
        } else {
            vec![self.xpus_per_server, self.servers_per_rack, self.racks]
        }
    }
}

/// First ids of the kinds of nodes. Accelerators are 0 to `xpus - 1`, their memories follow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nodes {
    pub(super) cpus: u32,
    pub(super) pcie_switches: u32,
    pub(super) xpu_switches: u32,
    pub(super) nics: u32,
    pub(super) tors: u32,
    pub(super) core: u32,
}

/// The cables that both machines have, by class.
#[derive(Debug, Clone, Copy)]
pub(super) struct EthernetCables {
    /// Accelerator `g` to its accelerator switch.
    pub(super) xl: Cables,
    /// Accelerator `g` to its PCIe switch.
    pub(super) px: Cables,
    /// PCIe switch `p` to its CPU: `xpus_per_cpu` parallel cables from `p * xpus_per_cpu` on.
    pub(super) pc: Cables,
    /// First to second CPU of server `s`.
    pub(super) upi: Cables,
    /// NIC of server `s` to the first CPU.
    pub(super) pn: Cables,
    /// NIC of server `s` to its top-of-rack switch.
    pub(super) nt: Cables,
    /// Top-of-rack switch `r` to the core switch.
    pub(super) tc: Cables,
}

/// Names of the cables that both machines have. `pc0-3-up#2` leads from the first PCIe switch of
/// server 3 to its CPU, third of the parallel cables.
pub(super) const ETHERNET_NAMES: [LinkClass; 9] = [
    LinkClass { name: "xl", from: "xpu-", to: "xpu-switch-" },
    LinkClass { name: "px", from: "xpu-", to: "pcie-switch0-" },
    LinkClass { name: "px", from: "xpu-", to: "pcie-switch1-" },
    LinkClass { name: "pc0", from: "pcie-switch0-", to: "cpu0-" },
    LinkClass { name: "pc1", from: "pcie-switch1-", to: "cpu1-" },
    LinkClass { name: "upi", from: "cpu0-", to: "cpu1-" },
    LinkClass { name: "pn", from: "nic-", to: "cpu0-" },
    LinkClass { name: "nt", from: "nic-", to: "tor-" },
    LinkClass { name: "tc", from: "tor-", to: "core" },
];

/// A machine in the making, with everything but its memories' cables.
pub(super) struct Machine {
    pub(super) builder: TopologyBuilder,
    pub(super) sizes: Sizes,
    pub(super) nodes: Nodes,
    pub(super) cables: EthernetCables,
    /// Group columns `server` and `rack`, by node.
    server: Vec<u32>,
    rack: Vec<u32>,
}

impl Machine {
    /// Nodes and cables of figure 6a but for those of the memories.
    pub(super) fn new(parts: &Parts<'_>) -> Result<Self, BuildError> {
        let sizes = Sizes::new(parts)?;
        let Sizes { xpus, servers, racks, .. } = sizes;
        let mut builder = TopologyBuilder::new();
        let (x, s, r) = (xpus as usize, servers as usize, racks as usize);
        builder.reserve(
            2 * x + 6 * s + 2 * r + 2,
            2 * (5 * x + (2 * s * sizes.xpus_per_cpu as usize) + 3 * s + 2 * r),
        );
        let (mut server, mut rack) = (Vec::with_capacity(2 * x + 6 * s), Vec::with_capacity(2 * x + 6 * s));
        let mut place = |of_server: u32, of_rack: u32| {
            server.push(of_server);
            rack.push(of_rack);
        };

        let mut rack_types = Vec::new();
        for (index, choice) in parts.rack_compute.iter().take(r).enumerate() {
            let compute =
                choice.resolve().map_err(|e| e.within(&index.to_string()).within("rack-compute"))?;
            rack_types.push(builder.compute_type(compute));
        }
        if rack_types.is_empty() {
            rack_types.push(builder.compute_type(parts.compute.resolve().map_err(|e| e.within("compute"))?));
        }
        let last_type = rack_types.len() - 1;
        let rack_of = |server: u32| server / sizes.servers_per_rack;
        for g in 0..xpus {
            let of_server = g / sizes.xpus_per_server;
            let of_rack = rack_of(of_server);
            let kind = NodeKind::Compute(rack_types[(of_rack as usize).min(last_type)]);
            builder.node(kind, format_args!("xpu-{g}"));
            place(of_server, of_rack);
        }
        let memory = builder.memory_type(MemoryType {
            capacity_bytes: parts.memory_capacity.map(Bytes::count),
            bandwidth: None,
        });
        for g in 0..xpus {
            let node = builder.node(NodeKind::Memory(memory), format_args!("memory-{g}"));
            builder.set_home_memory(NodeId(g), node);
            let of_server = g / sizes.xpus_per_server;
            place(of_server, rack_of(of_server));
        }

        let cpu = match parts.cpu {
            None => NodeKind::Switch,
            Some(choice) => {
                NodeKind::Compute(builder.compute_type(choice.resolve().map_err(|e| e.within("cpu"))?))
            }
        };
        let mut in_servers = |builder: &mut TopologyBuilder, kind, name: &str, numbers: &[&str]| {
            let first = builder.kinds().len() as u32;
            for of_server in 0..servers {
                for number in numbers {
                    builder.node(kind, format_args!("{name}{number}-{of_server}"));
                    place(of_server, rack_of(of_server));
                }
            }
            first
        };
        let cpus = in_servers(&mut builder, cpu, "cpu", &["0", "1"]);
        let pcie_switches = in_servers(&mut builder, NodeKind::Switch, "pcie-switch", &["0", "1"]);
        let xpu_switches = in_servers(&mut builder, NodeKind::Switch, "xpu-switch", &[""]);
        let nics = in_servers(&mut builder, NodeKind::Switch, "nic", &[""]);
        let tors = builder.kinds().len() as u32;
        for of_rack in 0..racks {
            builder.node(NodeKind::Switch, format_args!("tor-{of_rack}"));
            place(NO_GROUP, of_rack);
        }
        let core = builder.node(NodeKind::Switch, format_args!("core")).0;
        place(NO_GROUP, NO_GROUP);
        let nodes = Nodes { cpus, pcie_switches, xpu_switches, nics, tors, core };
        let cables = ethernet_cables(&mut builder, parts, &sizes, &nodes);
        Ok(Self { builder, sizes, nodes, cables, server, rack })
    }

    /// Adds a switch outside any server.
    pub(super) fn switch(&mut self, rack: u32, name: std::fmt::Arguments<'_>) -> NodeId {
        self.server.push(NO_GROUP);
        self.rack.push(rack);
        self.builder.node(NodeKind::Switch, name)
    }

    /// Declares groups and dimensions and hands the builder over.
    pub(super) fn finish(mut self) -> TopologyBuilder {
        self.builder.set_grouping("server", self.server);
        self.builder.set_grouping("rack", self.rack);
        self.builder.set_dimensions(self.sizes.dimensions());
        self.builder
    }
}

fn ethernet_cables(
    builder: &mut TopologyBuilder,
    parts: &Parts<'_>,
    sizes: &Sizes,
    nodes: &Nodes,
) -> EthernetCables {
    let duplex = parts.duplex;
    let xl = Cables::start(builder, duplex);
    for g in 0..sizes.xpus {
        let switch = NodeId(nodes.xpu_switches + g / sizes.xpus_per_server);
        xl.add(builder, NodeId(g), switch, parts.xpu_link.into());
    }
    let pcie = LinkType::from(parts.pcie_link);
    let px = Cables::start(builder, duplex);
    for g in 0..sizes.xpus {
        px.add(builder, NodeId(g), NodeId(nodes.pcie_switches + cpu_of(sizes, g)), pcie);
    }
    let pc = Cables::start(builder, duplex);
    for p in 0..2 * sizes.servers {
        for _ in 0..sizes.xpus_per_cpu {
            pc.add(builder, NodeId(nodes.pcie_switches + p), NodeId(nodes.cpus + p), pcie);
        }
    }
    let upi = Cables::start(builder, duplex);
    for s in 0..sizes.servers {
        upi.add(builder, NodeId(nodes.cpus + 2 * s), NodeId(nodes.cpus + 2 * s + 1), parts.upi_link.into());
    }
    let pn = Cables::start(builder, duplex);
    for s in 0..sizes.servers {
        pn.add(builder, NodeId(nodes.nics + s), NodeId(nodes.cpus + 2 * s), pcie);
    }
    let nt = Cables::start(builder, duplex);
    for s in 0..sizes.servers {
        let tor = NodeId(nodes.tors + s / sizes.servers_per_rack);
        nt.add(builder, NodeId(nodes.nics + s), tor, parts.nic_link.into());
    }
    let tc = Cables::start(builder, duplex);
    for r in 0..sizes.racks {
        tc.add(builder, NodeId(nodes.tors + r), NodeId(nodes.core), parts.tor_link.into());
    }
    EthernetCables { xl, px, pc, upi, pn, nt, tc }
}

/// Index of the CPU (and of the PCIe switch) that accelerator `g` is behind.
#[inline]
pub(super) fn cpu_of(sizes: &Sizes, g: u32) -> u32 {
    let (server, slot) = (g / sizes.xpus_per_server, g % sizes.xpus_per_server);
    2 * server + slot / sizes.xpus_per_cpu
}

/// The route inside a server over the accelerator switch, when `a` and `b` share one.
#[inline]
pub(super) fn inside_server(sizes: &Sizes, xl: Cables, a: u32, b: u32, out: &mut Vec<LinkId>) -> bool {
    let same = a / sizes.xpus_per_server == b / sizes.xpus_per_server;
    if same {
        out.extend([xl.up(a), xl.down(b)]);
    }
    same
}
