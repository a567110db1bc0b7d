//! The flit level as a network: its spec, and what any traffic on it needs.

mod credit_loop;
mod interfaces;
mod programs;
mod running;
pub mod stall;
pub mod zero_load;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::model;
use stratasim_core::{BuildError, Bytes, Frequency};
use stratasim_topo::Topology;

use self::programs::Cut;
use self::running::FlitNetwork;
use super::any::AnyKernel;
use super::dependency::{Question, Verdict};
use super::fabric::clock::Clock;
use super::fabric::from_topology::{Wires, Wiring};
use super::fast::Fast;
use super::next_output::{self, ByNextOutput};
use super::router::RouterSpec;
use super::routing::{FlitRouting, FlitRoutingSpec};
use crate::networks::{NetworkContext, NetworkKind};

/// Wormhole routers with virtual channels and credits, cycle by cycle.
///
/// Switches are routers, and so are nodes that forward. Messages are cut into packets of at most `packet-flits`
/// flits of `flit-bytes` each. A NIC sends one flit per cycle, and its messages take turns, a packet each, two to the same
/// node too; a new message comes last in the round.
///
/// ```toml
/// [network]
/// kind = "flit"
/// flit-bytes = "32 B"
/// router = { virtual-channels = 4, buffer-flits = 8 }
/// routing = { kind = "dimension-order" }
/// ```
/// Source: Dally, Towles, "Principles and Practices of Interconnection Networks" (2004).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Flit {
    /// Cycles per second of all routers; that at which the fastest link carries one flit per cycle, when absent.
    /// Slower links carry one flit in several cycles. A node sends and takes a flit per cycle and interface, however fast its
    /// links are: a faster clock makes it faster, where it has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Frequency>,
    /// Bytes of a flit, 1 B to 64 KiB.
    pub flit_bytes: Bytes,
    /// Most flits of a packet.
    pub packet_flits: u16,
    /// Flits at the head of every packet that carry no payload.
    pub header_flits: u16,
    /// Cycles between a node that forwards and the router in it.
    pub terminal_latency: u32,
    /// The routers. Absent: four virtual channels, with buffers as long as the credits of the longest channel
    /// take, so that a single stream fills it, where the routing lets it use two virtual channels or more.
    /// Given, its values hold as they are; short buffers behind long cables are slow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub router: Option<RouterSpec>,
    /// Which way packets take.
    pub routing: FlitRoutingSpec,
    /// Looks, before anything runs, for packets that can wait for each other in a circle. Above four million pairs of node
    /// and router, and where more than some six million decisions would have to be followed (adaptive and random ways of some
    /// hundred nodes), it looks at what packets to a sample of the nodes do, which may be few.
    pub deadlock_check: bool,
}

impl Default for Flit {
    fn default() -> Self {
        Self {
            clock: None,
            flit_bytes: Bytes(32),
            packet_flits: 16,
            header_flits: 0,
            terminal_latency: 1,
            router: None,
            routing: FlitRoutingSpec::default(),
            deadlock_check: true,
        }
    }
}

/// What traffic at flit level runs on.
#[derive(Clone)]
pub struct Prepared {
    /// The fabric, and which terminal is which node.
    pub wiring: Arc<Wiring>,
    /// The fabric alone, for kernels.
    pub fabric: Arc<super::fabric::Fabric>,
    /// The routing function.
    pub routing: Arc<dyn FlitRouting>,
    /// The routers, buffers filled in.
    pub router: RouterSpec,
    /// Length of a cycle.
    pub clock: Clock,
    /// Bytes of a flit.
    pub flit_bytes: u32,
    /// What the check for deadlock found.
    pub deadlock: Verdict,
    /// What a reader of a result must know of it.
    pub notes: Vec<String>,
}

/// Largest flit.
const MOST_FLIT_BYTES: u64 = 64 << 10;

impl Flit {
    /// Fabric, routing and routers for `topology`, checked against deadlock.
    ///
    /// # Errors
    /// Values out of range; a topology that the flit level cannot model; a routing function that does not fit
    /// it, or can deadlock on it.
    pub fn prepare(&self, topology: &Arc<Topology>) -> Result<Prepared, BuildError> {
        self.check()?;
        let flit_bytes = self.flit_bytes.count() as u32;
        let clock = self.clock.map(Clock::of_frequency).transpose()?;
        let wires = Wires { flit_bytes, clock, terminal_latency: self.terminal_latency };
        let wiring = Wiring::new(topology, &wires)?;
        let router = self.router.clone().unwrap_or_else(|| RouterSpec {
            buffer_flits: credit_loop::usual_buffer(&wiring),
            ..RouterSpec::default()
        });
        router.check().map_err(|error| error.within("router"))?;
        let mut notes: Vec<String> =
            credit_loop::short_buffers(&wiring, &router, topology).into_iter().collect();
        let routing = self.routing.plugin().build_noting(&wiring, &router, &mut notes)?;
        if !wiring.half_duplex().is_empty() {
            notes.push(
                "Half-duplex links: at flit level each direction has half of the rate, whatever the other carries."
                    .to_owned(),
            );
        }
        let check = next_output::check(&wiring.fabric, &router, routing.as_ref());
        check.map_err(|error| error.within("router.requests"))?;
        let by_next_output = ByNextOutput { routing: routing.as_ref(), fabric: &wiring.fabric };
        let question = Question {
            fabric: &wiring.fabric,
            routing: if router.requests.next_output_queues { &by_next_output } else { routing.as_ref() },
            router: &router,
            joined: &|from, to| wiring.joined(from, to) && routing.joins(from, to),
            name: &|router| topology.node_name(wiring.nodes[router as usize]).to_owned(),
        };
        let deadlock = if self.deadlock_check { question.check()? } else { Verdict::NotAsked };
        Ok(Prepared {
            fabric: wiring.fabric.clone(),
            clock: wiring.clock,
            wiring: Arc::new(wiring),
            routing,
            router,
            flit_bytes,
            deadlock,
            notes,
        })
    }

    fn check(&self) -> Result<(), BuildError> {
        if !(1..=MOST_FLIT_BYTES).contains(&self.flit_bytes.count()) {
            let reason = format!("{}; 1 B to {} are possible", self.flit_bytes, Bytes(MOST_FLIT_BYTES));
            return Err(BuildError::new("flit-bytes", reason));
        }
        if self.packet_flits <= self.header_flits {
            let reason = format!(
                "packets of at most {} flits with {} at their head carry nothing",
                self.packet_flits, self.header_flits
            );
            return Err(BuildError::new("packet-flits", reason));
        }
        if !(1..=1 << 16).contains(&self.terminal_latency) {
            let reason = format!("{} cycles; 1 to 65,536 are possible", self.terminal_latency);
            return Err(BuildError::new("terminal-latency", reason));
        }
        Ok(())
    }
}

impl Prepared {
    /// Whether packets can go from one terminal to another.
    pub fn joined(&self, from: u32, to: u32) -> bool {
        self.wiring.joined(from, to) && self.routing.joins(from, to)
    }

    /// Whether packets can go from every terminal to every other.
    pub fn all_joined(&self) -> bool {
        let part = |terminal: &super::fabric::Terminal| self.wiring.parts()[terminal.router as usize];
        let mut parts = self.fabric.terminals().iter().map(part);
        let first = parts.next();
        parts.all(|part| Some(part) == first) && self.routing.joins_all(self.fabric.terminals().len() as u32)
    }
}

impl NetworkKind for Flit {
    fn build(&self, context: NetworkContext) -> Result<Box<dyn model::Network>, BuildError> {
        let mut prepared = self.prepare(&context.topology)?;
        let cut = Cut {
            flit_bytes: u64::from(prepared.flit_bytes),
            payload_flits: u64::from(self.packet_flits - self.header_flits),
            header_flits: self.header_flits,
        };
        if prepared.router.virtual_cut_through && self.packet_flits > prepared.router.buffer_flits {
            let reason = format!(
                "packets of {} flits do not fit into buffers of {}, as virtual cut-through wants",
                self.packet_flits, prepared.router.buffer_flits
            );
            return Err(BuildError::new("packet-flits", reason));
        }
        let seed = context.streams.key("flit");
        let (fabric, routing) = (prepared.fabric.clone(), prepared.routing.clone());
        let kernel = AnyKernel::new(fabric, &prepared.router, routing, seed, 1)
            .map_err(|error| error.within("router"))?;
        if let Some(what) = kernel.unknown_to_fast() {
            prepared.notes.push(Fast::note(what));
        }
        let (topology, nics, in_order) = (context.topology, context.nics, context.in_order);
        Ok(Box::new(FlitNetwork::new(topology, prepared, cut, kernel, nics, in_order)))
    }

    fn build_again(&self, context: NetworkContext) -> Result<Box<dyn model::Network>, BuildError> {
        // most of the time that it takes goes into the search for circles
        Self { deadlock_check: false, ..self.clone() }.build(context)
    }

    fn tells_link_bytes(&self) -> bool {
        true
    }

    fn own_routing(&self) -> Option<&'static str> {
        Some("takes the ways of `network.routing`")
    }
}
