//! Allocators: who gets which virtual channel, who gets the switch.
//!
//! An allocator matches inputs with outputs: each has at most one partner, and only where there is a
//! request. [`Requests`] holds the requests of one router in one cycle and the matching; it is scratch that
//! all routers share. [`Allocator`] holds what an allocator remembers from cycle to cycle.
//!
//! Source: Dally, Towles (2004), chapters 18 and 19.

mod arbiter;
mod lonely;
mod maximum;
mod pim;
mod requests;
mod separable;
mod wavefront;

pub use requests::{NONE, Request, Requests};

use super::router::{AllocatorKind, AllocatorSpec, Arbiter, PlainArbiter};
use lonely::LonelyOutput;
use maximum::MaximumSize;
use pim::Pim;
use separable::{Order, Separable};
use wavefront::Wavefront;

/// What an allocator remembers from cycle to cycle.
#[derive(Debug, Clone)]
pub struct Allocator(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Separable(Separable),
    Wavefront(Wavefront),
    Pim(Pim),
    LonelyOutput(LonelyOutput),
    MaximumSize(MaximumSize),
}

impl Allocator {
    /// An allocator of `inputs` x `outputs` that has granted nothing yet.
    pub fn new(spec: &AllocatorSpec, inputs: u32, outputs: u32) -> Self {
        let iterations = spec.iterations.0;
        let separable = |order, arbiter, iterations| {
            Kind::Separable(Separable::new(order, arbiter, iterations, inputs, outputs))
        };
        Self(match spec.kind {
            AllocatorKind::Islip => {
                let Kind::Separable(islip) = separable(Order::OutputFirst, Arbiter::RoundRobin, iterations)
                else {
                    unreachable!("made above")
                };
                Kind::Separable(islip.blind_to_priority())
            }
            AllocatorKind::Select => separable(Order::OutputFirst, Arbiter::RoundRobin, iterations),
            AllocatorKind::SeparableOutputFirst => separable(Order::OutputFirst, spec.arbiter, 1),
            AllocatorKind::SeparableInputFirst => separable(Order::InputFirst, spec.arbiter, 1),
            AllocatorKind::Wavefront => Kind::Wavefront(Wavefront::new(inputs, outputs, false)),
            AllocatorKind::WavefrontRoundRobin => Kind::Wavefront(Wavefront::new(inputs, outputs, true)),
            AllocatorKind::Pim => Kind::Pim(Pim::new(inputs, outputs, iterations)),
            AllocatorKind::LonelyOutput => Kind::LonelyOutput(LonelyOutput::new(inputs, outputs)),
            AllocatorKind::MaximumSize => Kind::MaximumSize(MaximumSize::new(inputs, outputs)),
        })
    }

    /// The same, where what outputs grant in one iteration stands in the next, as in BookSim2's `select`.
    #[must_use]
    pub fn with_lasting_grants(self) -> Self {
        match self.0 {
            Kind::Separable(separable) => Self(Kind::Separable(separable.with_lasting_grants())),
            other => Self(other),
        }
    }

    /// Bytes that [`Allocator::new`] would take, without taking them.
    pub fn bytes(spec: &AllocatorSpec, inputs: u64, outputs: u64) -> u64 {
        let is_matrix = match spec.arbiter {
            Arbiter::RoundRobin => false,
            Arbiter::Matrix => true,
            Arbiter::Tree(tree) => tree.arbiters == PlainArbiter::Matrix,
        };
        match spec.kind {
            AllocatorKind::SeparableInputFirst | AllocatorKind::SeparableOutputFirst if is_matrix => {
                inputs * outputs * 2 * size_of::<u64>() as u64
            }
            _ => (inputs + outputs) * size_of::<u32>() as u64,
        }
    }

    /// Matches inputs and outputs that request each other; the result stays in `requests`. `draw(bound)`
    /// gives a random number below `bound`, for allocators that draw.
    pub fn allocate(&mut self, requests: &mut Requests, draw: &mut dyn FnMut(u32) -> u32) {
        match &mut self.0 {
            Kind::Separable(allocator) => allocator.allocate(requests),
            Kind::Wavefront(allocator) => allocator.allocate(requests),
            Kind::Pim(allocator) => allocator.allocate(requests, draw),
            Kind::LonelyOutput(allocator) => allocator.allocate(requests),
            Kind::MaximumSize(allocator) => allocator.allocate(requests),
        }
    }
}
