//! How routers are built: virtual channels, buffers, stages, allocators.

mod buffers;
mod requests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

pub use buffers::{BufferPart, BufferPolicy, SharedBuffer};
pub use requests::{Guess, Precedence, RequestRules};

/// An input-queued router with virtual channels and credit flow control.
///
/// Source: Dally, Towles (2004), chapters 16, 17, 19; the defaults are those that the classic simulators use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RouterSpec {
    /// Virtual channels of every channel, 1 to 32.
    pub virtual_channels: u8,
    /// Flits that each virtual channel can hold, 1 to 4,096.
    pub buffer_flits: u16,
    /// How the virtual channels of an input share its buffer.
    pub buffers: BufferPolicy,
    /// Shared buffers in detail.
    #[serde(skip_serializing_if = "SharedBuffer::is_default")]
    pub shared_buffer: SharedBuffer,
    /// Cycles of routing; 0 is lookahead: the route of a router is found in the one before.
    pub routing_delay: u16,
    /// Cycles of virtual-channel allocation, at least 1.
    pub vc_allocation_delay: u16,
    /// Cycles of switch allocation, at least 1.
    pub switch_allocation_delay: u16,
    /// Cycles of the crossbar, at least 1.
    pub traversal_delay: u16,
    /// Cycles that a router takes to act on a credit.
    pub credit_delay: u16,
    /// How the stages with more than one cycle work.
    pub stages: Stages,
    /// Heads ask for the switch and a virtual channel at once.
    pub speculation: Speculation,
    /// A virtual channel is given to the next packet only when the credit of the last tail is back.
    pub wait_for_tail_credit: bool,
    /// A packet keeps the switch until its tail or until it runs dry.
    pub hold_switch: bool,
    /// A head takes a virtual channel only where the whole packet has room (virtual cut-through).
    pub virtual_cut_through: bool,
    /// Crossbar inputs per input port.
    pub input_speedup: u8,
    /// Crossbar outputs per output port.
    pub output_speedup: u8,
    /// Steps that a router takes in a cycle of its channels, 1 or more. The cycles of its stages are steps then, unless they are
    /// `batches`.
    pub internal_speedup: f64,
    /// Flits that wait behind the crossbar of an output; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_buffer_flits: Option<u16>,
    /// Who gets which virtual channel.
    pub vc_allocator: AllocatorSpec,
    /// Who gets the switch.
    pub switch_allocator: AllocatorSpec,
    /// What is asked for, and whose requests count more.
    #[serde(skip_serializing_if = "RequestRules::is_default")]
    pub requests: RequestRules,
    /// Ranges of virtual channels that classes of packets use, first and last; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<[u8; 2]>,
}

impl Default for RouterSpec {
    fn default() -> Self {
        Self {
            virtual_channels: 4,
            buffer_flits: 8,
            buffers: BufferPolicy::Private,
            shared_buffer: SharedBuffer::default(),
            routing_delay: 1,
            vc_allocation_delay: 1,
            switch_allocation_delay: 1,
            traversal_delay: 1,
            credit_delay: 0,
            stages: Stages::Pipelined,
            speculation: Speculation::None,
            wait_for_tail_credit: false,
            hold_switch: false,
            virtual_cut_through: false,
            input_speedup: 1,
            output_speedup: 1,
            internal_speedup: 1.0,
            output_buffer_flits: None,
            vc_allocator: AllocatorSpec::default(),
            switch_allocator: AllocatorSpec::default(),
            requests: RequestRules::default(),
            ranges: Vec::new(),
        }
    }
}

/// How stages with more than one cycle work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stages {
    /// A stage takes new work every cycle.
    #[default]
    Pipelined,
    /// A stage takes new work when it has finished the batch before, as BookSim2 does. A stage of several cycles takes as many
    /// with an `internal-speedup`, too: it ends in the first step of its last one.
    Batches,
}

/// Whether heads ask for the switch before they have a virtual channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Speculation {
    /// They do not.
    #[default]
    None,
    /// They do, through an allocator of their own whose grants yield to those of certain requests.
    Separate,
    /// They do, through the same allocator at lower priority.
    Prioritised,
}

/// An allocator: the shape of the matching and the arbiters in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AllocatorSpec {
    /// The shape.
    pub kind: AllocatorKind,
    /// Arbiters of the separable ones.
    pub arbiter: Arbiter,
    /// Iterations of `islip`, `pim` and `select`.
    pub iterations: Iterations,
}

impl AllocatorSpec {
    /// Refuses what the allocator of this kind would not look at.
    fn check(&self) -> Result<(), BuildError> {
        use AllocatorKind::{Islip, Pim, Select, SeparableInputFirst, SeparableOutputFirst};
        if self.arbiter != Arbiter::default()
            && !matches!(self.kind, SeparableInputFirst | SeparableOutputFirst)
        {
            let found = match self.arbiter {
                Arbiter::RoundRobin => "round-robin",
                Arbiter::Matrix => "matrix",
                Arbiter::Tree(_) => "tree",
            };
            let reason = format!(
                "`{found}`; a choice of arbiters is expected of `separable-input-first` and `separable-output-first` only"
            );
            return Err(BuildError::new("arbiter", reason));
        }
        if self.iterations.0 == 0 {
            return Err(BuildError::new("iterations", "0 iterations grant nothing; 1 or more do"));
        }
        if self.iterations.0 > 1 && !matches!(self.kind, Islip | Pim | Select) {
            let reason = format!(
                "{} iterations; more than 1 are expected of `islip`, `pim` and `select` only",
                self.iterations.0
            );
            return Err(BuildError::new("iterations", reason));
        }
        Ok(())
    }
}

/// Times that an allocator goes over the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Iterations(pub u8);

impl Default for Iterations {
    fn default() -> Self {
        Self(1)
    }
}

/// Shapes of allocators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllocatorKind {
    /// iSLIP (McKeown 1999).
    #[default]
    Islip,
    /// Inputs choose an output, then outputs choose among inputs.
    SeparableInputFirst,
    /// Outputs choose an input, then inputs choose among outputs.
    SeparableOutputFirst,
    /// Diagonals of the request matrix (Tamir, Chi 1993).
    Wavefront,
    /// Wavefront that starts behind the diagonal of its last grant. Where outputs become free one by one, that may be the same
    /// input again, and others starve.
    WavefrontRoundRobin,
    /// Parallel iterative matching (Anderson et al. 1993).
    Pim,
    /// Outputs with fewest requests first.
    LonelyOutput,
    /// iSLIP that heeds priorities. With `batches` for stages, grants last over its iterations, as in BookSim2: an input may accept
    /// another one then, and what it had before stays unused.
    Select,
    /// A largest matching. The input that ties favour moves on by one per cycle, whoever was served: where outputs become free one
    /// by one, that may be the same inputs again, and others starve, as in BookSim2.
    MaximumSize,
}

impl AllocatorKind {
    /// Whether a request of higher priority goes first.
    pub const fn heeds_priorities(self) -> bool {
        !matches!(self, Self::Islip | Self::Pim | Self::LonelyOutput | Self::MaximumSize)
    }
}

/// Arbiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbiter {
    /// The next after the last winner.
    #[default]
    RoundRobin,
    /// The one that won longest ago.
    Matrix,
    /// Arbiters of groups of equal size, and one among their winners.
    Tree(ArbiterTree),
}

/// Groups that have an arbiter each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArbiterTree {
    /// Their number, which divides that of the clients.
    pub groups: u32,
    /// What all of them are, and the one among them.
    #[serde(default)]
    pub arbiters: PlainArbiter,
}

/// Arbiters that consist of no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlainArbiter {
    /// As [`Arbiter::RoundRobin`].
    #[default]
    RoundRobin,
    /// As [`Arbiter::Matrix`].
    Matrix,
}

impl From<PlainArbiter> for Arbiter {
    fn from(plain: PlainArbiter) -> Self {
        match plain {
            PlainArbiter::RoundRobin => Self::RoundRobin,
            PlainArbiter::Matrix => Self::Matrix,
        }
    }
}

impl Arbiter {
    /// What one arbiter takes over so many `clients`.
    pub(super) fn check(self, clients: u32) -> Result<(), String> {
        match self {
            Self::Tree(ArbiterTree { groups, .. }) if groups == 0 || !clients.is_multiple_of(groups) => {
                Err(format!(
                    "a tree of {groups} groups; a number that divides the {clients} clients of an arbiter is expected"
                ))
            }
            _ => Ok(()),
        }
    }
}

impl RouterSpec {
    /// First and last virtual channel of a range of packets.
    pub fn range(&self, range: u8) -> (u8, u8) {
        match self.ranges.get(range as usize) {
            Some(&[first, last]) => (first, last),
            None => (0, self.virtual_channels - 1),
        }
    }

    /// Cycles from a routed head to its way through the switch, where nobody is in its way.
    pub fn allocation_delay(&self) -> u16 {
        let (channel, switch) = (self.vc_allocation_delay, self.switch_allocation_delay);
        match self.speculation {
            Speculation::None => channel + switch,
            _ if self.requests.combined_allocation => switch,
            _ => channel.max(switch),
        }
    }

    /// Whether each virtual channel has a place that no other can take.
    pub fn channels_have_own_places(&self) -> bool {
        let own = |part: &BufferPart| part.channels[0] == part.channels[1] && part.flits > 0;
        self.buffers == BufferPolicy::Private
            || self.shared_buffer.parts(self.virtual_channels).iter().filter(|part| own(part)).count()
                == usize::from(self.virtual_channels)
    }

    /// Refuses values that make no router; fields are named as in files.
    ///
    /// # Errors
    /// What is out of range, and the range.
    pub fn check(&self) -> Result<(), BuildError> {
        let refuse = |field: &str, reason: String| Err(BuildError::new(field, reason));
        if !(1..=32).contains(&self.virtual_channels) {
            return refuse(
                "virtual-channels",
                format!("{} virtual channels; 1 to 32 are possible", self.virtual_channels),
            );
        }
        if !(1..=4096).contains(&self.buffer_flits) {
            return refuse("buffer-flits", format!("{} flits; 1 to 4,096 are possible", self.buffer_flits));
        }
        let delays = [
            ("vc-allocation-delay", self.vc_allocation_delay, 1),
            ("switch-allocation-delay", self.switch_allocation_delay, 1),
            ("traversal-delay", self.traversal_delay, 1),
            ("routing-delay", self.routing_delay, 0),
            ("credit-delay", self.credit_delay, 0),
        ];
        for (field, delay, least) in delays {
            if !(least..=64).contains(&delay) {
                return refuse(field, format!("{delay} cycles; {least} to 64 are possible"));
            }
        }
        for (field, speedup) in
            [("input-speedup", self.input_speedup), ("output-speedup", self.output_speedup)]
        {
            if !(1..=8).contains(&speedup) {
                return refuse(field, format!("{speedup}; 1 to 8 are possible"));
            }
        }
        if !(1.0..=8.0).contains(&self.internal_speedup) {
            return refuse("internal-speedup", format!("{}; 1 to 8 are possible", self.internal_speedup));
        }
        if self.output_buffer_flits == Some(0) {
            return refuse("output-buffer-flits", "0 flits; leave it out where nothing limits it".into());
        }
        for (index, &[first, last]) in self.ranges.iter().enumerate() {
            if first > last || last >= self.virtual_channels {
                let reason = format!(
                    "range {index} is [{first}, {last}]; the virtual channels are 0 to {}",
                    self.virtual_channels - 1
                );
                return refuse("ranges", reason);
            }
        }
        let guess =
            self.requests.guess_allocator.as_ref().map(|allocator| ("requests.guess-allocator", allocator));
        let allocators = [("vc-allocator", &self.vc_allocator), ("switch-allocator", &self.switch_allocator)];
        for (field, allocator) in allocators.into_iter().chain(guess) {
            allocator.check().map_err(|error| error.within(field))?;
        }
        let shared = self.shared_buffer.check(self.buffers, self.virtual_channels, self.buffer_flits);
        shared.map_err(|error| error.within("shared-buffer"))?;
        self.requests.check(self.speculation, self.routing_delay).map_err(|error| error.within("requests"))
    }
}
