//! What a router remembers: its virtual channels, work lists and allocators.

use stratasim_core::BuildError;

use super::chains::Chain;
use super::packet::Flit;
use super::stage::Stage;
use crate::flit::allocator::{Allocator, NONE};
use crate::flit::fabric::Fabric;
use crate::flit::router::{AllocatorKind, AllocatorSpec, RouterSpec, Speculation, Stages};

/// What the packet at the front of an input's virtual channel waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// There is no packet.
    #[default]
    Idle,
    /// For its route.
    Routing,
    /// For a virtual channel of an output.
    Waiting,
    /// It has one, and its flits wait for the switch one by one.
    Active,
}

/// A virtual channel of an input.
#[derive(Debug, Clone, Copy)]
pub(super) struct InputChannel {
    pub(super) state: State,
    /// Where the packet goes, once active.
    pub(super) output_vc: u8,
    pub(super) output: u16,
    /// Flits that wait here.
    pub(super) flits: Chain,
    /// First time at which the packet may ask for the switch.
    pub(super) since: u64,
    /// The virtual channel of an output that is given to it at the end of this step, for heads that
    /// speculate; [`NONE`] otherwise.
    pub(super) granted: u32,
}

impl Default for InputChannel {
    fn default() -> Self {
        Self { state: State::Idle, output_vc: 0, output: 0, flits: Chain::default(), since: 0, granted: NONE }
    }
}

/// A flit that waits in an input, with the time at which it came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Waiting {
    pub(super) flit: Flit,
    pub(super) since: u64,
}

/// A virtual channel of an input (`input * virtual channels + vc`) that asks, and what it was granted: a
/// virtual channel of an output, or a crossbar output. [`NONE`] is nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    pub(super) channel: u32,
    pub(super) granted: u32,
}

impl Asking {
    pub(super) fn new(channel: u32) -> Self {
        Self { channel, granted: NONE }
    }
}

/// A flit on its way through the crossbar to an output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossing {
    pub(super) flit: Flit,
    pub(super) output: u16,
}

/// A connection of the switch that a packet keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    /// The virtual channel of the input.
    pub(super) vc: u8,
    /// The crossbar output.
    pub(super) output: u32,
}

impl RouterSpec {
    /// First time at which a packet may ask for the switch that was given its virtual channel at `time`.
    pub(super) fn since_granted(&self, time: u64) -> u64 {
        // Flits behind a head that speculates follow it through the pipeline one by one.
        let ahead = match self.speculation {
            Speculation::None => 0,
            _ => u64::from(self.switch_allocation_delay) - 1,
        };
        (time + 1).saturating_sub(ahead)
    }
}

/// The work lists and allocators of one router.
#[derive(Debug)]
pub(super) struct Router {
    pub(super) routing: Stage<u32>,
    pub(super) waiting: Stage<Asking>,
    pub(super) active: Stage<Asking>,
    /// Those that keep the switch.
    pub(super) holding: Stage<Asking>,
    pub(super) crossing: Stage<Crossing>,
    pub(super) vc_allocator: Allocator,
    pub(super) switch_allocator: Allocator,
    /// For heads without a virtual channel, where they have an allocator of their own.
    pub(super) speculative_allocator: Option<Allocator>,
    /// By crossbar input: the virtual channel that comes first when two ask for the same output.
    pub(super) first_vc: Vec<u8>,
    /// By crossbar input: the connection that is kept.
    pub(super) held: Vec<Option<Held>>,
    /// By crossbar output: whether it belongs to a connection that is kept.
    pub(super) output_held: Vec<bool>,
}

impl Router {
    pub(super) fn new(spec: &RouterSpec, inputs: u16, outputs: u16) -> Self {
        let vcs = u32::from(spec.virtual_channels);
        let (inputs, outputs) = (u32::from(inputs), u32::from(outputs));
        let crossbar_inputs = inputs * u32::from(spec.input_speedup);
        let crossbar_outputs = outputs * u32::from(spec.output_speedup);
        let allocator = |of: &AllocatorSpec, inputs, outputs| {
            let allocator = Allocator::new(of, inputs, outputs);
            match spec.stages {
                Stages::Batches if of.kind == AllocatorKind::Select => allocator.with_lasting_grants(),
                _ => allocator,
            }
        };
        Self {
            routing: Stage::new(spec.routing_delay.max(1), spec.stages),
            waiting: Stage::new(spec.vc_allocation_delay, spec.stages),
            active: Stage::new(spec.switch_allocation_delay, spec.stages),
            holding: Stage::new(1, spec.stages),
            crossing: Stage::new(spec.traversal_delay, spec.stages),
            vc_allocator: allocator(&spec.vc_allocator, inputs * vcs, outputs * vcs),
            switch_allocator: allocator(&spec.switch_allocator, crossbar_inputs, crossbar_outputs),
            speculative_allocator: (spec.speculation == Speculation::Separate).then(|| {
                let guess = spec.requests.guess_allocator.as_ref().unwrap_or(&spec.switch_allocator);
                allocator(guess, crossbar_inputs, crossbar_outputs)
            }),
            first_vc: vec![0; crossbar_inputs as usize],
            held: vec![None; crossbar_inputs as usize],
            output_held: vec![false; crossbar_outputs as usize],
        }
    }

    /// Whether all work lists are empty.
    pub(super) fn is_idle(&self) -> bool {
        self.routing.is_empty()
            && self.waiting.is_empty()
            && self.active.is_empty()
            && self.holding.is_empty()
            && self.crossing.is_empty()
    }
}

/// Refuses trees of arbiters that do not fit, and allocators that would take more memory than any machine should give them.
pub(super) fn check_allocators(fabric: &Fabric, spec: &RouterSpec) -> Result<(), BuildError> {
    const MOST: u64 = 8 << 30;
    let vcs = u64::from(spec.virtual_channels);
    let (mut of_vcs, mut of_switches) = (0_u64, 0_u64);
    for router in 0..fabric.router_count() as u32 {
        let (inputs, outputs) =
            (u64::from(fabric.input_count(router)), u64::from(fabric.output_count(router)));
        let (wide, high) = (inputs * u64::from(spec.input_speedup), outputs * u64::from(spec.output_speedup));
        let switch = [wide, high];
        for (field, allocator, clients) in [
            ("vc-allocator", Some(&spec.vc_allocator), [inputs * vcs, outputs * vcs]),
            ("switch-allocator", Some(&spec.switch_allocator), switch),
            ("requests.guess-allocator", spec.requests.guess_allocator.as_ref(), switch),
        ] {
            for (arbiter, clients) in allocator.iter().flat_map(|it| clients.map(|count| (it.arbiter, count)))
            {
                arbiter
                    .check(clients as u32)
                    .map_err(|reason| BuildError::new("arbiter", reason).within(field))?;
            }
        }
        of_vcs += Allocator::bytes(&spec.vc_allocator, inputs * vcs, outputs * vcs);
        of_switches += Allocator::bytes(&spec.switch_allocator, wide, high);
    }
    for (field, bytes) in [("vc-allocator", of_vcs), ("switch-allocator", of_switches)] {
        if bytes > MOST {
            let reason = format!(
                "matrix arbiters for this network take {} GiB of at most {}; use `arbiter = \"round-robin\"`",
                bytes >> 30,
                MOST >> 30
            );
            return Err(BuildError::new(field, reason));
        }
    }
    Ok(())
}
