//! Generators: one topology per file, one line in the list.

pub(crate) mod cables;
pub mod cards;
pub mod degraded;
pub mod dragonfly;
pub mod fat_tree;
pub mod fully_connected;
mod hcsim;
pub mod hcsim_cxl;
pub mod hcsim_ethernet;
pub mod hypercube;
pub mod hyperx;
pub mod inline_graph;
pub mod k_ary_n_fly;
pub mod k_ary_n_tree;
pub mod leaf_spine;
pub mod mesh;
pub mod multi_dimensional;
mod product;
pub mod ring;
pub mod scaled;
mod select;
pub mod single_switch;
pub mod star;
pub mod torus;
mod tree;
pub mod with_compute;
pub mod without;

pub use cables::Duplex;
pub use hcsim::{CxlLink, NicLink, OtherLink, PcieLink, TorLink, UpiLink, XpuLink};

use std::path::PathBuf;

use serde_json::Value;
use stratasim_core::random::Streams;
use stratasim_core::{Bandwidth, BuildError, registry};

use crate::Topology;
use crate::graph::LINK_RATE;

/// What a generator may use besides its own spec.
#[derive(Debug, Clone)]
pub struct BuildContext {
    /// Folder that relative paths start from.
    pub base: PathBuf,
    /// Random streams of the run.
    pub streams: Streams,
    /// Where cards are known by name.
    pub cards: cards::CardLibrary,
}

impl Default for BuildContext {
    /// The current folder, the streams of seed 0, no cards.
    fn default() -> Self {
        Self { base: PathBuf::new(), streams: Streams::new(0), cards: cards::no_cards }
    }
}

/// Makes a topology.
pub trait Generator {
    /// Builds the graph.
    ///
    /// # Errors
    /// Parameters that make no topology, or too large a one.
    fn build(&self, context: &BuildContext) -> Result<Topology, BuildError>;

    /// The topology that a combinator changes; `None` for one that stands on its own.
    fn of(&self) -> Option<&TopologySpec> {
        None
    }
}

/// More nodes or links than this are refused before anything is allocated.
pub const LARGEST: u64 = 1 << 28;

/// Refuses sizes that no machine of today can hold; `what` such as `nodes`.
///
/// # Errors
/// When `count` is above [`LARGEST`] or overflowed (`None`).
pub fn check_size(field: &str, what: &str, count: Option<u64>) -> Result<u64, BuildError> {
    match count {
        Some(count) if count <= LARGEST => Ok(count),
        Some(count) => {
            Err(BuildError::new(field, format!("this asks for {count} {what}, at most {LARGEST} are built")))
        }
        None => Err(BuildError::new(
            field,
            format!("this asks for more than 2^64 {what}, at most {LARGEST} are built"),
        )),
    }
}

/// Default of counts that are rarely more than one.
fn one() -> u32 {
    1
}

/// Builds the topology of `spec`. Where a link gets no rate, the error names the key that gave it none.
///
/// # Errors
/// As [`Generator::build`].
pub fn build(spec: &TopologySpec, context: &BuildContext) -> Result<Topology, BuildError> {
    spec.plugin().build(context).map_err(|mut error| {
        // most generators know their links by other keys, or by several; a factor of rates is a key of its own
        if error.field == LINK_RATE && !matches!(spec, TopologySpec::Scaled(_)) {
            error.field = zero_rate(&serde_json::to_value(spec).unwrap_or_default()).unwrap_or_default();
        }
        error
    })
}

/// Dotted path of the first bandwidth of zero in a spec.
fn zero_rate(spec: &Value) -> Option<String> {
    let below = |key: &str, value: &Value| {
        let path = zero_rate(value)?;
        Some(if path.is_empty() { key.to_owned() } else { format!("{key}.{path}") })
    };
    match spec {
        Value::String(text) => (text.parse() == Ok(Bandwidth(0.0))).then(String::new),
        Value::Array(list) => list.iter().enumerate().find_map(|(at, value)| below(&at.to_string(), value)),
        Value::Object(table) => table.iter().find_map(|(key, value)| below(key, value)),
        _ => None,
    }
}

registry! {
    /// Every topology, by its `kind`.
    pub enum TopologySpec: dyn Generator {
        "single-switch" | "crossbar" | "switch" => SingleSwitch(single_switch::SingleSwitch),
        "star" => Star(star::Star),
        "ring" => Ring(ring::Ring),
        "fully-connected" | "full-mesh" | "clique" | "all-to-all" => FullyConnected(fully_connected::FullyConnected),
        "mesh" | "concentrated-mesh" | "cmesh" | "line" | "2d-mesh" | "3d-mesh" => Mesh(mesh::Mesh),
        "torus" | "k-ary-n-cube" | "2d-torus" | "3d-torus" => Torus(torus::Torus),
        "hypercube" | "cube" => Hypercube(hypercube::Hypercube),
        "hyperx" | "flattened-butterfly" | "hamming-graph" => HyperX(hyperx::HyperX),
        "dragonfly" => Dragonfly(dragonfly::Dragonfly),
        "multi-dimensional" | "astra-sim" => MultiDimensional(multi_dimensional::MultiDimensional),
        "fat-tree" | "tapered-fat-tree" | "xgft" | "clos" | "folded-clos" => FatTree(fat_tree::FatTree),
        "leaf-spine" | "spine-leaf" | "clos" => LeafSpine(leaf_spine::LeafSpine),
        "k-ary-n-fly" | "butterfly" | "fly" => KAryNFly(k_ary_n_fly::KAryNFly),
        "k-ary-n-tree" => KAryNTree(k_ary_n_tree::KAryNTree),
        "hcsim-cxl" => HcsimCxl(hcsim_cxl::HcsimCxl),
        "hcsim-ethernet" => HcsimEthernet(hcsim_ethernet::HcsimEthernet),
        "graph" | "custom" | "anynet" => InlineGraph(inline_graph::InlineGraph),
        "cards" => Cards(cards::Cards),
        "scaled" => Scaled(scaled::Scaled),
        "degraded" => Degraded(degraded::Degraded),
        "without" => Without(without::Without),
        "with-compute" => WithCompute(with_compute::WithCompute),
        "simgrid-xml" | "simgrid" | "platform" => SimgridXml(crate::io::simgrid::SimgridXml),
        "networkx-json" | "networkx" => NetworkxJson(crate::io::networkx::NetworkxJson),
        "graphml" => Graphml(crate::io::graphml::Graphml),
    }
}
