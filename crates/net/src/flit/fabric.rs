//! Routers with numbered ports, the channels between them, and the terminals at the edge.

pub mod clock;
pub mod from_topology;
mod ports;
mod roles;

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use stratasim_core::{BuildError, LinkId, NodeId};

/// Where a channel leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// Nowhere: the port exists but nothing is connected (the edge of a mesh).
    #[default]
    Nothing,
    /// To an input port of a router.
    Router {
        /// The router.
        router: u32,
        /// Its input port.
        port: u16,
    },
    /// To the terminal of that number, which takes one flit per cycle.
    Terminal(u32),
}

/// The channel that leaves an output port, with the credits that come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// Where it leads.
    pub end: End,
    /// Cycles on the wire, at least 1: a flit sent in cycle `u` can be used in `u + latency + 1`.
    pub latency: u32,
    /// The same for credits on their way back.
    pub credit_latency: u32,
    /// Width: 256ths of a cycle from one flit to the next; 256 is one flit per cycle, 512 one every other.
    pub spacing: u32,
    /// Cycles out and back that buffers with `feedback` reckon with, where they are not those of the channel.
    pub reckoned: Option<u32>,
    /// The link of the topology whose flits these are.
    pub link: Option<LinkId>,
}

/// Spacing of a channel that takes a flit every cycle.
pub const FULL_WIDTH: u32 = 256;

impl Default for Channel {
    fn default() -> Self {
        Self {
            end: End::Nothing,
            latency: 1,
            credit_latency: 1,
            spacing: FULL_WIDTH,
            reckoned: None,
            link: None,
        }
    }
}

impl Channel {
    /// Cycles until a full set of flits behind a narrow channel has passed it, where its `vcs` virtual channels have `places`
    /// each at the other end; 0 of a channel of full width, behind which nothing waits.
    pub fn backlog(&self, vcs: u8, places: u64) -> u64 {
        match self.spacing {
            FULL_WIDTH => 0,
            spacing => u64::from(spacing) * (u64::from(vcs) * places + 1) / u64::from(FULL_WIDTH),
        }
    }
}

/// A place where packets enter and leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// The router whose output leads to it; in all but one-way networks also the one that it feeds.
    pub router: u32,
    /// The input port that its flits arrive at, of the router that [`Terminal::entry`] gives.
    pub input: u16,
    /// The output port that leads to it.
    pub output: u16,
    /// The channel into the network; `end` is the router's input port.
    pub injection: Channel,
    /// The node of the topology, where there is one.
    pub node: Option<NodeId>,
}

impl Terminal {
    /// The router and the input port that its flits arrive at.
    #[inline]
    pub fn entry(&self) -> (u32, u16) {
        match self.injection.end {
            End::Router { router, port } => (router, port),
            End::Nothing | End::Terminal(_) => (self.router, self.input),
        }
    }
}

/// What is wired to what. Built once, then only read; shared by kernels and routing.
#[derive(Debug, Clone, Default)]
pub struct Fabric {
    stride: usize,
    ports: Vec<(u16, u16)>,
    outputs: Vec<Channel>,
    feeders: Vec<Feeder>,
    terminals: Vec<Terminal>,
    /// Known from the first question on: kernels ask several times before they run.
    extremes: OnceLock<Extremes>,
}

/// The least and the most of all channels that lead anywhere, those out of terminals included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extremes {
    /// Cycles on the way, of flits and of credits.
    pub least_latency: u32,
    /// The same.
    pub most_latency: u32,
    /// Width, in 256ths of a cycle from one flit to the next.
    pub least_spacing: u32,
    /// The same.
    pub most_spacing: u32,
}

/// What feeds an input port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Feeder {
    /// Nothing: no flit ever comes this way.
    #[default]
    Nothing,
    /// An output port of a router.
    Router {
        /// The router.
        router: u32,
        /// Its output port.
        port: u16,
    },
    /// A terminal.
    Terminal(u32),
}

impl Fabric {
    /// Routers with `ports[r] = (inputs, outputs)` of router `r`, nothing connected yet.
    pub fn new(ports: Vec<(u16, u16)>) -> Self {
        let stride = ports.iter().map(|&(inputs, outputs)| inputs.max(outputs)).max().unwrap_or(0) as usize;
        Self {
            stride,
            outputs: vec![Channel::default(); stride * ports.len()],
            feeders: vec![Feeder::Nothing; stride * ports.len()],
            ports,
            terminals: Vec::new(),
            extremes: OnceLock::new(),
        }
    }

    /// Connects output port `from = (router, output)` to `channel.end`, which must be a router's port.
    ///
    /// # Panics
    /// When the port does not exist or one of the two is connected already: an error in a generator.
    pub fn connect(&mut self, from: (u32, u16), channel: Channel) {
        let End::Router { router, port } = channel.end else { panic!("terminals are added by `attach`") };
        self.feed(router, port, Feeder::Router { router: from.0, port: from.1 });
        self.send(from, channel);
    }

    /// Adds a terminal at input and output `port = (input, output)` of `router`: flits go in by
    /// `injection` and out by `ejection` (their ends are filled in). Returns its number.
    ///
    /// # Panics
    /// When a port does not exist or is connected already: an error in a generator.
    pub fn attach(
        &mut self,
        router: u32,
        port: (u16, u16),
        injection: Channel,
        ejection: Channel,
        node: Option<NodeId>,
    ) -> u32 {
        self.attach_apart((router, port.0), (router, port.1), injection, ejection, node)
    }

    /// Adds a terminal between two routers: it feeds `entry = (router, input)` and hears
    /// `exit = (router, output)`, as in one-way networks. Otherwise as [`Fabric::attach`].
    ///
    /// # Panics
    /// When a port does not exist or is connected already: an error in a generator.
    pub fn attach_apart(
        &mut self,
        entry: (u32, u16),
        exit: (u32, u16),
        injection: Channel,
        ejection: Channel,
        node: Option<NodeId>,
    ) -> u32 {
        let terminal = self.terminals.len() as u32;
        self.feed(entry.0, entry.1, Feeder::Terminal(terminal));
        self.send(exit, Channel { end: End::Terminal(terminal), ..ejection });
        let injection = Channel { end: End::Router { router: entry.0, port: entry.1 }, ..injection };
        self.terminals.push(Terminal { router: exit.0, input: entry.1, output: exit.1, injection, node });
        terminal
    }

    fn feed(&mut self, router: u32, input: u16, feeder: Feeder) {
        assert!(input < self.ports[router as usize].0, "router {router} has no input {input}");
        let place = &mut self.feeders[router as usize * self.stride + input as usize];
        assert_eq!(*place, Feeder::Nothing, "input {input} of router {router} is fed twice");
        *place = feeder;
    }

    fn send(&mut self, (router, output): (u32, u16), channel: Channel) {
        assert!(output < self.ports[router as usize].1, "router {router} has no output {output}");
        let place = &mut self.outputs[router as usize * self.stride + output as usize];
        assert_eq!(place.end, End::Nothing, "output {output} of router {router} is connected twice");
        *place = channel;
        self.extremes = OnceLock::new();
    }

    /// The least and the most of all channels.
    pub fn extremes(&self) -> Extremes {
        *self.extremes.get_or_init(|| {
            let injections = self.terminals.iter().map(|terminal| &terminal.injection);
            let mut out = Extremes {
                least_latency: u32::MAX,
                most_latency: 0,
                least_spacing: u32::MAX,
                most_spacing: 0,
            };
            for channel in self.outputs.iter().filter(|channel| channel.end != End::Nothing).chain(injections)
            {
                let Channel { latency, credit_latency, spacing, .. } = *channel;
                out.least_latency = out.least_latency.min(latency).min(credit_latency);
                out.most_latency = out.most_latency.max(latency).max(credit_latency);
                out.least_spacing = out.least_spacing.min(spacing);
                out.most_spacing = out.most_spacing.max(spacing);
            }
            out
        })
    }

    /// Number of routers.
    pub fn router_count(&self) -> usize {
        self.ports.len()
    }

    /// Number of input ports of `router`, connected or not: what round-robin pointers run over.
    pub fn input_count(&self, router: u32) -> u16 {
        self.ports[router as usize].0
    }

    /// Number of output ports of `router`, connected or not.
    pub fn output_count(&self, router: u32) -> u16 {
        self.ports[router as usize].1
    }

    /// Most output ports of a router.
    pub fn most_outputs(&self) -> u16 {
        self.ports.iter().map(|ports| ports.1).max().unwrap_or(0)
    }

    /// Most ports of a router: [`Fabric::index`] is `router * stride + port`.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The place of a port in columns over all ports.
    pub fn index(&self, router: u32, port: u16) -> usize {
        router as usize * self.stride + port as usize
    }

    /// Every output's channel by [`Fabric::index`]; those that do not exist end nowhere.
    pub fn channels(&self) -> &[Channel] {
        &self.outputs
    }

    /// The channel of an output port.
    pub fn channel(&self, router: u32, output: u16) -> &Channel {
        &self.outputs[self.index(router, output)]
    }

    /// What feeds an input port.
    pub fn feeder(&self, router: u32, input: u16) -> Feeder {
        self.feeders[self.index(router, input)]
    }

    /// All terminals by number.
    pub fn terminals(&self) -> &[Terminal] {
        &self.terminals
    }

    /// One terminal.
    pub fn terminal(&self, terminal: u32) -> &Terminal {
        &self.terminals[terminal as usize]
    }

    /// Refuses what a kernel cannot run.
    ///
    /// # Errors
    /// No terminal; a channel without latency or narrower than one flit in 2^16 cycles or wider than one
    /// per cycle.
    pub fn check(&self) -> Result<(), BuildError> {
        if self.terminals.is_empty() {
            return Err(BuildError::new("", "a network without terminals carries nothing"));
        }
        let Extremes { least_latency, least_spacing, most_spacing, .. } = self.extremes();
        if least_latency == 0 {
            return Err(BuildError::new("", "every channel takes at least one cycle"));
        }
        const WIDTHS: RangeInclusive<u32> = FULL_WIDTH..=FULL_WIDTH << 16;
        if !WIDTHS.contains(&least_spacing) || !WIDTHS.contains(&most_spacing) {
            return Err(BuildError::new("", "a channel carries at most one flit per cycle"));
        }
        Ok(())
    }
}
