//! What is connected to what: a frozen graph of compute, memory and switch nodes with links.

pub mod catalogue;
pub mod generators;
pub mod geometry;
pub mod graph;
pub mod io;
pub mod routing;
pub mod structure;

pub use generators::{BuildContext, Generator, TopologySpec, build};
pub use graph::{ComputeType, KernelCosts, Link, MemoryType, NodeKind, Sharing, Topology, TopologyBuilder};
pub use routing::{Chosen, RouteError, Routing, RoutingAlgorithm, RoutingSpec};
pub use structure::Structure;
