//! The list of networks: one per file or folder, one line here.

use std::sync::Arc;

use stratasim_core::model::Network;
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Duration, registry};
use stratasim_topo::{Routing, Topology};

use crate::{constant_rate, flit, flow, message, packet};

/// What a network is built on.
pub struct NetworkContext {
    /// The machine.
    pub topology: Arc<Topology>,
    /// Where messages go.
    pub routing: Box<dyn Routing>,
    /// Random streams of the run.
    pub streams: Streams,
    /// Events closer than this to the clock happen at the clock; zero is exact.
    pub timing_precision: Duration,
    /// NICs that the workload uses per node; at least 1.
    pub nics: u32,
}

/// A kind of network as the user chose it.
pub trait NetworkKind {
    /// Builds the network.
    ///
    /// # Errors
    /// Options that do not fit each other or the topology.
    fn build(&self, context: NetworkContext) -> Result<Box<dyn Network>, BuildError>;

    /// Whether it follows each message on its way and reports it.
    fn follows_messages(&self) -> bool {
        false
    }

    /// Whether it tells when links were in use.
    fn tells_link_use(&self) -> bool {
        false
    }

    /// Whether it tells how much each link was used.
    fn tells_link_bytes(&self) -> bool {
        self.tells_link_use()
    }

    /// Whether it tells what waited in queues.
    fn tells_queues(&self) -> bool {
        false
    }

    /// Where its messages go, where that is not up to [`NetworkContext::routing`].
    fn own_routing(&self) -> Option<&'static str> {
        None
    }

    /// What a reader of a result must know beside its kind, in a few words.
    fn in_short(&self) -> Option<String> {
        None
    }
}

registry! {
    /// Every network, by its `kind`.
    pub enum NetworkSpec: dyn NetworkKind {
        "flow" => Flow(flow::Flow),
        "packet" => Packet(packet::Packet),
        "flit" => Flit(flit::Flit),
        "message" => Message(message::Message),
        "constant-rate" => ConstantRate(constant_rate::ConstantRate),
    }
}

impl Default for NetworkSpec {
    fn default() -> Self {
        Self::Flow(flow::Flow::default())
    }
}
