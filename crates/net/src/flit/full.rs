//! The full kernel: every option of [`RouterSpec`], by the letter of the rules.
//!
//! A cycle: what was sent arrives; packets come into being; every terminal sends at most one flit; arrivals
//! are retired; then every router with work takes its steps (`internal-speedup` of them), each in four parts:
//! flits and credits come in, all requests are made and decided on the state at this point, the decisions
//! take effect, and what has crossed the switch is put on the channels. Routers speak to each other by
//! channels only, so their order matters for nothing but the order of random draws.
//!
//! [`Full::new`] is the way in. The parts are in files of their own:
//!
//! | file | what |
//! |---|---|
//! | `source` | terminals |
//! | `cycle` | arrivals, channels |
//! | `evaluate` | requests and decisions |
//! | `update` | decisions take effect |
//! | `inspect` | deadlocks, invariants |
//! | `combined`, `ahead`, `precedence` | rules of requests that few routers have |
//! | `credits`, `shared`, `feedback`, `packet`, `router`, `stage`, `steps` | what is remembered |
//! | `bits`, `chains`, `dozing`, `wheel` | containers |

mod ahead;
mod bits;
mod chains;
mod combined;
mod credits;
mod cycle;
mod dozing;
mod evaluate;
mod feedback;
mod inspect;
mod packet;
mod precedence;
mod router;
mod shared;
mod source;
mod stage;
mod steps;
mod update;
mod wheel;

use std::sync::Arc;

use stratasim_core::BuildError;

use super::allocator::Requests;
use super::fabric::{Channel, End, Fabric, Feeder};
use super::kernel::{Kernel, Wait};
use super::next_output;
use super::router::{BufferPolicy, RouterSpec};
use super::routing::{Candidate, FlitRouting, Place};
use super::terminals::Terminals;
use bits::BitSet;
use chains::{Chain, Chains};
use credits::{Admission, Credits};
use dozing::Dozing;
use packet::{Flit, Here, Packets};
use router::{InputChannel, Router, Waiting};
use source::{Queue, Source};
use steps::Steps;
use wheel::Wheel;

/// Violations that are kept; the first ones say what is wrong.
const MOST_VIOLATIONS: usize = 16;

/// A target that is not connected.
const NOWHERE: u32 = u32::MAX;

/// The kernel. Places are `router * stride + port`, those of terminals follow behind all ports; virtual
/// channels are `place * virtual channels + vc`.
pub struct Full {
    fabric: Arc<Fabric>,
    spec: RouterSpec,
    routing: Arc<dyn FlitRouting>,
    seed: u64,
    /// Heads prefer some of their candidates to others.
    prefers: bool,
    /// Outputs that a head asks for alone, of the router that is looked at.
    favoured: Vec<bool>,
    /// Routes are found one router ahead.
    lookahead: bool,
    /// Steps of routers.
    steps: Steps,
    /// The step that is taken, which names its draws.
    step: u64,

    now: u64,
    in_flight: u64,
    last_progress: u64,
    violations: Vec<String>,

    packets: Packets,
    // Terminals.
    queues_per_terminal: usize,
    queues: Vec<Queue>,
    sources: Vec<Source>,
    source_credits: Credits,
    /// Packets in queues.
    queued: u64,
    /// Terminals with a packet.
    loaded: BitSet,
    /// Terminals to be asked for a packet.
    asking: BitSet,
    due: Vec<u32>,

    // Channels.
    outputs: Vec<Output>,
    /// Of each input place, where its credits go and how many cycles that takes.
    credit_target: Vec<(u32, u32)>,
    flits_underway: Wheel<(u32, Flit)>,
    credits_underway: Wheel<(u32, u32)>,
    /// Flits that arrive in this cycle, by place.
    arrived: BitSet,
    arrivals: Vec<Flit>,
    /// Credits that arrive in this cycle, by place: a bit for each virtual channel.
    credited: BitSet,
    credit_masks: Vec<u32>,

    // Routers.
    active: BitSet,
    routers: Vec<Router>,
    channels: Vec<InputChannel>,
    /// Flits in inputs.
    waiting: Chains<Waiting>,
    /// By output and queue of terminals, with combined allocation: the virtual channel whose turn it is.
    turns: Vec<u8>,
    /// By packet, with queues by the next output: where it goes in the next router.
    after: Vec<Candidate>,
    /// Credit counters of the outputs.
    credits: Credits,
    /// Flits behind the crossbars.
    behind: Chains<Flit>,
    /// Outputs with flits behind the crossbar.
    sending: BitSet,
    dozing: Dozing,
    /// Flits in crossbars.
    crossing: u64,
    /// Credits of this step, by input place.
    freed: Vec<u32>,
    freed_places: Vec<u32>,
    /// Credits that wait for their channel: each takes one message per cycle.
    messages: Chains<u32>,
    message_queues: Vec<Chain>,
    crediting: BitSet,

    // Scratch that all routers share.
    vc_requests: Requests,
    switch_requests: Requests,
    speculative_requests: Requests,
}

/// What is behind the crossbar of an output.
#[derive(Debug, Clone, Copy)]
struct Output {
    flits: Chain,
    /// The input place or terminal at the other end.
    target: u32,
    latency: u32,
    spacing: u32,
    /// When the channel is free again, in 256ths of a cycle.
    free_at: u64,
    /// Whether the next flit was there in the cycle before: then it goes when the channel is free, which may
    /// be between two cycles, and no width is lost.
    late: bool,
    /// Flits sent.
    sent: u64,
}

impl Full {
    /// Whether the allocators of routers fit the ports of a fabric.
    ///
    /// # Errors
    /// The allocator that does not; fields are named as in [`RouterSpec`].
    pub fn check_allocators(fabric: &Fabric, spec: &RouterSpec) -> Result<(), BuildError> {
        router::check_allocators(fabric, spec)
    }

    /// A network at rest in cycle 0. `seed` names the draws of routing.
    ///
    /// # Errors
    /// What [`RouterSpec::check`] and [`Fabric::check`] refuse; virtual cut-through with shared buffers;
    /// allocators too large for any memory.
    pub fn new(
        fabric: Arc<Fabric>,
        spec: &RouterSpec,
        routing: Arc<dyn FlitRouting>,
        seed: u64,
    ) -> Result<Self, BuildError> {
        spec.check()?;
        fabric.check()?;
        router::check_allocators(&fabric, spec)?;
        if spec.virtual_cut_through && spec.buffers != BufferPolicy::Private {
            let reason = "virtual cut-through needs private buffers: room in a shared one can be taken by \
                          others while the packet is on its way";
            return Err(BuildError::new("buffers", reason));
        }
        next_output::check(&fabric, spec, &*routing).map_err(|error| error.within("requests"))?;
        let ports = fabric.channels().len();
        let terminals = fabric.terminals().len();
        let places = ports + terminals;
        let routers = 0..fabric.router_count() as u32;
        let most_inputs = routers.clone().map(|router| fabric.input_count(router)).max().unwrap_or(0);
        let (most_inputs, most_outputs) = (usize::from(most_inputs), usize::from(fabric.most_outputs()));
        let vcs = spec.virtual_channels as usize;
        let switch = || {
            let (wide, high) = (spec.input_speedup as usize, spec.output_speedup as usize);
            Requests::new(most_inputs * wide, most_outputs * high)
        };

        let mut longest = 1_u64;
        let all = fabric.channels().iter().chain(fabric.terminals().iter().map(|joined| &joined.injection));
        for channel in all {
            let credit = u64::from(channel.credit_latency) + u64::from(spec.credit_delay);
            longest = longest.max(channel.latency.into()).max(credit);
        }
        let outputs = fabric.channels().iter().map(|channel| Output {
            flits: Chain::default(),
            target: match channel.end {
                End::Nothing => NOWHERE,
                End::Router { router, port } => fabric.index(router, port) as u32,
                End::Terminal(terminal) => ports as u32 + terminal,
            },
            latency: channel.latency,
            spacing: channel.spacing,
            free_at: 0,
            late: false,
            sent: 0,
        });
        let mut credit_target = vec![(NOWHERE, 0); places];
        for router in routers.clone() {
            for port in 0..fabric.input_count(router) {
                credit_target[fabric.index(router, port)] = match fabric.feeder(router, port) {
                    Feeder::Nothing => (NOWHERE, 0),
                    Feeder::Router { router, port } => {
                        let latency = fabric.channel(router, port).credit_latency;
                        (fabric.index(router, port) as u32, latency + u32::from(spec.credit_delay))
                    }
                    Feeder::Terminal(terminal) => {
                        (ports as u32 + terminal, fabric.terminal(terminal).injection.credit_latency)
                    }
                };
            }
        }
        for (terminal, joined) in fabric.terminals().iter().enumerate() {
            let latency = fabric.channel(joined.router, joined.output).credit_latency;
            credit_target[ports + terminal] =
                (fabric.index(joined.router, joined.output) as u32, latency + u32::from(spec.credit_delay));
        }
        let to_leave = i64::from(spec.routing_delay + spec.allocation_delay()) + 1;
        let both_ways = |channel: &Channel| match channel.reckoned {
            Some(cycles) => i64::from(cycles),
            None => i64::from(channel.latency) + i64::from(channel.credit_latency),
        };
        let own = i64::from(spec.traversal_delay) + i64::from(spec.credit_delay);
        let at_outputs = fabric.channels().iter().map(|channel| to_leave + own + both_ways(channel));
        let at_sources = fabric.terminals().iter().map(|joined| to_leave + both_ways(&joined.injection));
        Ok(Self {
            prefers: routing.prefers(),
            favoured: vec![false; most_outputs],
            lookahead: spec.routing_delay == 0,
            steps: Steps::new(spec.internal_speedup),
            step: 0,
            seed,
            now: 0,
            in_flight: 0,
            last_progress: 0,
            violations: Vec::new(),
            packets: Packets::default(),
            queues_per_terminal: 0,
            queues: Vec::new(),
            sources: vec![Source::default(); terminals],
            source_credits: Credits::new(spec, Admission::at_source(spec), at_sources.collect()),
            queued: 0,
            loaded: BitSet::new(terminals),
            asking: BitSet::new(terminals),
            due: Vec::new(),
            outputs: outputs.collect(),
            credit_target,
            flits_underway: Wheel::new(longest),
            credits_underway: Wheel::new(longest),
            arrived: BitSet::new(places),
            arrivals: vec![Flit::default(); places],
            credited: BitSet::new(ports),
            credit_masks: vec![0; ports],
            active: BitSet::new(fabric.router_count()),
            routers: routers
                .map(|router| Router::new(spec, fabric.input_count(router), fabric.output_count(router)))
                .collect(),
            channels: vec![InputChannel::default(); ports * vcs],
            waiting: Chains::default(),
            turns: Vec::new(),
            after: Vec::new(),
            credits: Credits::new(spec, Admission::at_output(spec, &*routing), at_outputs.collect()),
            behind: Chains::default(),
            sending: BitSet::new(ports),
            dozing: Dozing::new(fabric.router_count()),
            crossing: 0,
            freed: vec![0; ports],
            freed_places: Vec::new(),
            messages: Chains::default(),
            message_queues: vec![Chain::default(); ports],
            crediting: BitSet::new(ports),
            vc_requests: Requests::new(most_inputs * vcs, most_outputs * vcs),
            switch_requests: switch(),
            speculative_requests: switch(),
            fabric,
            spec: spec.clone(),
            routing,
        })
    }

    /// Finds the outputs that a packet may take at `place`.
    fn route<T: Terminals>(&mut self, number: u32, place: Place, terminals: &mut T) {
        let used = self.credits.used_from(self.fabric.index(place.router, 0));
        let (packet, candidates) = self.packets.start_route(number);
        let mut here = Here::new(terminals, packet, Some(place.router), used);
        self.routing.route(place, &mut packet.head, &mut here, candidates);
        assert!(!candidates.is_empty(), "routing offers no output at {place:?} for {:?}", packet.head);
    }

    /// Remembers a broken invariant.
    fn complain(&mut self, what: String) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(format!("cycle {}: {what}", self.now));
        }
    }

    /// Makes room for the queues of the terminals, which are known when they are first asked.
    fn prepare<T: Terminals>(&mut self, terminals: &T) {
        let queues = usize::from(terminals.queues().max(1));
        if self.queues_per_terminal != queues {
            assert!(self.queued == 0, "the number of queues changes while packets are in them");
            self.queues_per_terminal = queues;
            self.queues = vec![Queue::EMPTY; queues * self.sources.len()];
            if self.spec.requests.combined_allocation {
                // BookSim2 begins with the last one
                self.turns = vec![self.spec.virtual_channels - 1; queues * self.outputs.len()];
            }
        }
    }

    /// The first cycle, from the present one on, in which anything can happen.
    fn next_event<T: Terminals>(&self, terminals: &mut T) -> Option<u64> {
        let busy = terminals.polled() || !self.active.is_empty() || !self.asking.is_empty();
        let source = if busy { Some(self.now) } else { self.next_source() };
        if source == Some(self.now) {
            return source;
        }
        let flits = self.flits_underway.next(self.now);
        let credits = self.credits_underway.next(self.now);
        [source, flits, credits, self.dozing.next(), terminals.next_due(self.now)].into_iter().flatten().min()
    }
}

impl Kernel for Full {
    fn now(&self) -> u64 {
        self.now
    }

    fn run<T: Terminals>(&mut self, until: u64, terminals: &mut T) {
        self.prepare(terminals);
        while self.now < until {
            match self.next_event(terminals) {
                Some(next) if next < until => self.now = next.max(self.now),
                _ => {
                    self.now = until;
                    return;
                }
            }
            self.cycle(terminals);
            self.now += 1;
            if terminals.stop() {
                return;
            }
        }
    }

    fn in_flight(&self) -> u64 {
        self.in_flight
    }

    fn is_settled(&self) -> bool {
        let outstanding = self.credits.outstanding() + self.source_credits.outstanding();
        self.in_flight == 0 && self.queued == 0 && outstanding == 0
    }

    fn channel_flits(&self) -> Vec<u64> {
        self.sent()
    }

    fn last_progress(&self) -> u64 {
        self.last_progress
    }

    fn waiting(&self) -> Vec<Wait> {
        self.find_waiting()
    }

    fn violations(&self) -> Vec<String> {
        self.find_violations()
    }
}
