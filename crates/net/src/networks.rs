//! The list of networks: one per file or folder, one line here.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::model::Network;
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Duration, registry};
use stratasim_topo::{Chosen, Routing, Topology};

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
    /// Whether messages of one [line](stratasim_core::model::Transfer::line) of a pair of nodes go one after the other, unless
    /// the network says otherwise.
    pub in_order: bool,
}

/// Whether messages share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Every message has its own: those of a pair that are under way at the same time share the way.
    PerMessage,
    /// Messages from one node to another share one, as on a queue pair: they are sent one after the other.
    PerPair,
}

/// A kind of network as the user chose it.
pub trait NetworkKind {
    /// Builds the network.
    ///
    /// # Errors
    /// Options that do not fit each other or the topology.
    fn build(&self, context: NetworkContext) -> Result<Box<dyn Network>, BuildError>;

    /// The same network once more, after [`NetworkKind::build`] has built it on the same machine: what was checked then need not be
    /// checked again.
    ///
    /// # Errors
    /// None that did not come then.
    fn build_again(&self, context: NetworkContext) -> Result<Box<dyn Network>, BuildError> {
        self.build(context)
    }

    /// The same network with what it takes from the machine written out, for results to name; none where it takes nothing. Building
    /// either on that machine gives the same network.
    fn written_out(&self, _topology: &Topology) -> Option<NetworkSpec> {
        None
    }

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

    /// What it does in place of sending messages by the ways of [`NetworkContext::routing`], where it does not.
    fn own_routing(&self) -> Option<&'static str> {
        None
    }

    /// What it says to a way for the pairs of `chosen` that `[routing]` gives: options that have no effect beside it.
    fn unheeded_beside(&self, _chosen: Chosen) -> Option<String> {
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
        "flow" | "fluid" | "simgrid" => Flow(flow::Flow),
        "packet" | "htsim" => Packet(packet::Packet),
        "flit" | "booksim" | "wormhole" => Flit(flit::Flit),
        "message" | "loggops" | "loggp" => Message(message::Message),
        "constant-rate" | "analytical" | "ideal" => ConstantRate(constant_rate::ConstantRate),
    }
}

impl Default for NetworkSpec {
    fn default() -> Self {
        Self::Flow(flow::Flow::default())
    }
}
