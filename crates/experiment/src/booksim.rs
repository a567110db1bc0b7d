//! BookSim2's own configurations, simulated as it does: same random numbers, same histograms, same cycles.
//!
//! Source of the facts: BookSim2, commit 28f43299. What is offered of its options is in [`options`].

mod buffers;
pub mod class;
pub mod config;
pub mod control;
mod experiment;
pub mod network;
pub mod options;
mod result;
pub mod routers;
pub mod source;
pub mod statistics;
pub mod text;
pub mod traffic;
mod translate;

use std::path::Path;
use std::sync::Arc;

use stratasim_core::BuildError;
use stratasim_net::flit::fabric::Fabric;
use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::router::RouterSpec;
use stratasim_net::flit::routing::FlitRouting;

use config::Config;
use control::{Control, Mode, Outcome};
use network::Network;
use source::{Batch, Source, Subnets};
use text::TextError;

pub use experiment::Experiment;

/// A configuration, ready to run.
pub struct Setup {
    /// Routers, channels, routing.
    pub network: Network,
    /// How routers are built.
    pub router: RouterSpec,
    /// Packets in and out.
    pub source: Source,
    /// The course of the simulation.
    pub control: Control,
    /// Whether the kernel with all options runs it, also where the fast one could. Both give the same.
    pub literal: bool,
}

impl Setup {
    /// Reads a configuration text that names no files, or files in the current folder.
    ///
    /// # Errors
    /// As [`Setup::read_in`].
    pub fn read(text: &str) -> Result<Self, TextError> {
        Self::read_in(text, Path::new(""))
    }

    /// Reads a configuration text; files that it names are looked for in `folder`, then in the current one.
    ///
    /// # Errors
    /// The line, what was found there and what was expected.
    pub fn read_in(text: &str, folder: &Path) -> Result<Self, TextError> {
        let config = Config::read(text, folder)?;
        let network = network::network(&config)?;
        let router = routers::router(&config)?;
        Full::check_allocators(&network.fabric, &router).map_err(|error| config.refuse_of_router(&error))?;
        let classes = class::read(&config, network.extent)?;
        let most = i64::from(u32::MAX);
        let mode = match config.word("sim_type") {
            "latency" => Mode::Latency,
            "throughput" => Mode::Throughput,
            "batch" => Mode::Batch { count: config.integer("batch_count", 0, most)? as u64 },
            other => {
                let reason = format!("found `{other}`, expected latency, throughput or batch");
                return Err(config.refuse("sim_type", reason));
            }
        };
        let batch = match mode {
            Mode::Batch { .. } => Some(Batch {
                packets: config.integer("batch_size", 0, most)? as u64,
                outstanding: config.integer("max_outstanding_requests", 0, most)? as u64,
            }),
            _ => None,
        };
        let control = Control {
            mode,
            warm_up_periods: config.integer("warmup_periods", 0, most)? as u64,
            sample_period: config.integer("sample_period", 1, most)? as u64,
            most_samples: config.integer("max_samples", 1, most)? as u64,
            simulations: config.integer("sim_count", 1, most)? as u64,
        };
        let mut subnets = Subnets { count: network.subnets, of_message: [0; 5] };
        let names =
            ["read_request_subnet", "write_request_subnet", "read_reply_subnet", "write_reply_subnet"];
        // without requests and replies the peer does not look at them
        if classes.iter().any(|class| class.read_write.is_some()) {
            for (subnet, name) in subnets.of_message[1..].iter_mut().zip(names) {
                *subnet = config.integer(name, 0, i64::from(network.subnets) - 1)? as u32;
            }
        }
        let source = Source::new(
            network.extent.nodes,
            subnets,
            classes,
            config.integer("seed", i64::from(i32::MIN), most)? as u32,
            batch,
            config.flag("include_queuing")?,
            config.integer("deadlock_warn_timeout", 1, most)? as u64,
        );
        // the fast kernel does not look at priorities, which differ between the packets of a node
        let literal = config.word("priority") == "sequence";
        Ok(Self { network, router, source, control, literal })
    }

    /// Runs it.
    ///
    /// # Errors
    /// What the kernel cannot build.
    pub fn run(self) -> Result<Run, BuildError> {
        self.run_until(&|| false)
    }

    /// Runs it until `stop` says that nobody waits for it any more, which is asked now and then; the verdict
    /// is then [`Verdict::Stopped`](control::Verdict::Stopped).
    ///
    /// # Errors
    /// As [`Setup::run`].
    pub fn run_until(mut self, stop: &dyn Fn() -> bool) -> Result<Run, BuildError> {
        let fabric = Arc::new(self.network.fabric);
        let routing: Arc<dyn FlitRouting> = Arc::from(self.network.routing);
        let queues = self.source.classes().len() as u8;
        // a node's packets for several networks leave one after the other, which only the full kernel tells at once
        let fast = !self.literal
            && self.network.subnets == 1
            && Fast::refuses(&fabric, &self.router, &*routing, queues).is_none();
        Ok(if fast {
            let draws = routing.draws();
            let mut kernel = Fast::new(fabric.clone(), &self.router, routing, 0)?;
            if draws {
                // all come from one stream
                kernel.keep_order();
            }
            finish(&mut kernel, fabric, &mut self.source, &self.control, stop)
        } else {
            let mut kernel = Full::new(fabric.clone(), &self.router, routing, 0)?;
            finish(&mut kernel, fabric, &mut self.source, &self.control, stop)
        })
    }
}

/// A simulation that was run.
#[derive(Debug, Clone)]
pub struct Run {
    /// What it found.
    pub outcome: Outcome,
    /// Routers and channels.
    pub fabric: Arc<Fabric>,
    /// Flits that each output has sent, by [`Fabric::index`].
    pub channel_flits: Vec<u64>,
    /// Flits that routers sent.
    pub flit_hops: u64,
    /// Cycles of all simulations.
    pub cycles: u64,
    /// Broken invariants; empty unless there is a bug.
    pub violations: Vec<String>,
}

fn finish<K: Kernel>(
    kernel: &mut K,
    fabric: Arc<Fabric>,
    source: &mut Source,
    control: &Control,
    stop: &dyn Fn() -> bool,
) -> Run {
    let outcome = control::simulate(kernel, source, control, stop);
    let channel_flits = kernel.channel_flits();
    Run {
        outcome,
        fabric,
        flit_hops: channel_flits.iter().sum(),
        channel_flits,
        cycles: kernel.now(),
        violations: kernel.violations(),
    }
}
