//! Routing of heads: which outputs and virtual channels a packet may take next. One function per file,
//! one line in the list.

pub mod auto;
pub mod destination_tag;
pub mod dimension_order;
pub mod dragonfly;
pub mod grid;
mod layer;
pub mod minimal;
pub mod minimal_adaptive;
pub mod nearest_common_ancestor;
pub mod packed;
pub(crate) mod places;
pub mod shortest_path;
mod spread;
pub mod table;
mod third_group;
mod toward;
pub mod tree;
pub mod two_phase;
pub mod ugal;
pub mod up_down;
pub mod xy_yx;

use std::sync::Arc;

use stratasim_core::{BuildError, registry};

use super::fabric::from_topology::Wiring;
use super::router::RouterSpec;

/// What routing knows of a packet, and may remember in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Where it came from (terminal).
    pub source: u32,
    /// Where it goes (terminal).
    pub dest: u32,
    /// First and last virtual channel that packets of its class may use.
    pub range: (u8, u8),
    /// Memory of the routing function: an intermediate terminal, a phase, a ring class; 0 at first.
    pub memory: u64,
}

/// Where a head is when it is routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The router.
    pub router: u32,
    /// The input port that it came by.
    pub input: u16,
    /// The virtual channel that it came by.
    pub vc: u8,
}

/// An output that a head may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The output port.
    pub output: u16,
    /// First virtual channel, and
    pub first_vc: u8,
    /// last one that it may take there.
    pub last_vc: u8,
    /// Higher ones are preferred by allocators that heed priorities.
    pub priority: i32,
}

/// What routing may ask of the router that the head is in, and where it draws from.
pub trait Surroundings {
    /// A number below `bound`, each as likely; `bound` at least 1.
    fn draw(&mut self, bound: u32) -> u32;

    /// Flits under way or waiting at the other end of an output, over all its virtual channels.
    fn used(&self, output: u16) -> u32;
}

/// A routing function, ready for one fabric. One that never has more than one candidate writes
/// [`only`](FlitRouting::only); one that may have several writes [`route`](FlitRouting::route) and says so in
/// [`single`](FlitRouting::single).
pub trait FlitRouting: Send + Sync {
    /// Called when the packet leaves its source queue, once unless it [restarts](FlitRouting::restarts); may set
    /// [`Head::memory`]. Where the source
    /// may start on fewer virtual channels than the range of its class, returns the first and last.
    fn start(&self, head: &mut Head, surroundings: &mut dyn Surroundings) -> (u8, u8) {
        let _ = surroundings;
        head.range
    }

    /// Whether [`FlitRouting::start`] is asked again in every cycle in which the packet has found no virtual
    /// channel.
    fn restarts(&self) -> bool {
        false
    }

    /// The output that the head takes. A packet at its destination's router gets that terminal's output.
    /// Called once per router, when the head is first in its buffer.
    ///
    /// # Panics
    /// Where there may be several.
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let _ = (place, head, surroundings);
        unreachable!("a routing function with several candidates is asked for all of them")
    }

    /// Appends the outputs that the head may take, at least one.
    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    ) {
        out.push(self.only(place, head, surroundings));
    }

    /// The same decisions in a form that a kernel can take into its loop; a function that has it makes no
    /// others, and lets packets start as [`FlitRouting::start`] does by itself.
    fn packed(&self) -> Option<&packed::Packed> {
        None
    }

    /// Whether it ever asks for a random number after the packet has left its source.
    fn draws(&self) -> bool {
        true
    }

    /// Whether there is never more than one candidate.
    fn single(&self) -> bool {
        true
    }

    /// Whether candidates are appended in the order of preference. A head then asks for the first one alone that has a channel
    /// to give, where no other head does the same (those of a router choose in the order of their inputs, in cycle `c` from
    /// number `c` modulo how many there are on); otherwise heads ask for all, and the allocator takes its choice, which
    /// goes round the outputs in order and so prefers some to others.
    fn prefers(&self) -> bool {
        false
    }

    /// Low bits of [`Head::memory`] that it uses; the others stay 0. Up to 8 cost nothing.
    fn memory_bits(&self) -> u32 {
        64
    }

    /// Whether it uses [`Head::source`] after [`FlitRouting::start`].
    fn knows_source(&self) -> bool {
        true
    }

    /// Whether packets from terminal `source` to `dest` have a way. Those of other pairs must not be offered: they
    /// would be lost or end elsewhere. Functions that fit whole fabrics only have a way for all.
    fn joins(&self, source: u32, dest: u32) -> bool {
        let _ = (source, dest);
        true
    }

    /// Whether [`FlitRouting::joins`] says so of all pairs of `terminals` terminals, and of each with itself.
    fn joins_all(&self, terminals: u32) -> bool {
        (0..terminals).all(|source| (0..terminals).all(|dest| self.joins(source, dest)))
    }

    /// Whether [`Surroundings::used`] is asked.
    fn adaptive(&self) -> bool {
        false
    }

    /// Whether candidates of priority 0 or less form an escape network (Duato 1993): one that every packet may
    /// enter wherever it is, and that is free of deadlock by itself.
    fn has_escape(&self) -> bool {
        false
    }

    /// Whether links have an order in which every packet uses them, so that none can wait for another in a circle.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Whether the outcome depends on [`Place::input`] or not; the check for deadlock then tries each.
    fn looks_at_input(&self) -> bool {
        true
    }

    /// Whether the outcome depends on [`Place::vc`] or not; the check for deadlock then tries each.
    fn looks_at_vc(&self) -> bool {
        true
    }
}

/// A routing function as the user chose it.
pub trait FlitRoutingAlgorithm {
    /// Prepares it for a fabric and the virtual channels of its routers.
    ///
    /// # Errors
    /// When it does not fit the fabric, or there are too few virtual channels.
    fn build(&self, wiring: &Wiring, router: &RouterSpec) -> Result<Arc<dyn FlitRouting>, BuildError>;

    /// The same; appends sentences that a reader of a result must know.
    ///
    /// # Errors
    /// As [`FlitRoutingAlgorithm::build`].
    fn build_noting(
        &self,
        wiring: &Wiring,
        router: &RouterSpec,
        notes: &mut Vec<String>,
    ) -> Result<Arc<dyn FlitRouting>, BuildError> {
        let _ = notes;
        self.build(wiring, router)
    }
}

registry! {
    /// Every routing function of the flit level, by its `kind`.
    pub enum FlitRoutingSpec: dyn FlitRoutingAlgorithm {
        "auto" => Auto(auto::Auto),
        "dimension-order" | "dor" | "xy" | "e-cube" => DimensionOrder(dimension_order::DimensionOrderSpec),
        "nearest-common-ancestor" | "nca" | "anca" => NearestCommonAncestor(nearest_common_ancestor::NearestCommonAncestorSpec),
        "xy-yx" | "o1turn" => XyYx(xy_yx::XyYxSpec),
        "valiant" => Valiant(two_phase::ValiantSpec),
        "romm" => Romm(two_phase::RommSpec),
        "minimal-adaptive" | "adaptive" | "min-adapt" => MinimalAdaptive(minimal_adaptive::MinimalAdaptiveSpec),
        "minimal" | "min" => Minimal(minimal::MinimalSpec),
        "ugal" => Ugal(ugal::UgalSpec),
        "destination-tag" | "dest-tag" => DestinationTag(destination_tag::DestinationTagSpec),
        "shortest-path" | "shortest" | "dijkstra" => ShortestPath(shortest_path::ShortestPathSpec),
        "table" => Table(table::TableSpec),
        "up-down" => UpDown(up_down::UpDownSpec),
    }
}

impl Default for FlitRoutingSpec {
    fn default() -> Self {
        Self::Auto(auto::Auto::default())
    }
}
