//! From a configuration to routers, channels and routing.

mod anynet;
mod cmesh;
mod cube;
mod dragonfly;
mod fattree;
mod flatfly;
mod fly;
mod qtree;
mod tree4;

use stratasim_core::BuildError;
use stratasim_net::flit::booksim::side_by_side::{SideBySide, copies};
use stratasim_net::flit::fabric::Fabric;
use stratasim_net::flit::routing::FlitRouting;

use super::class::Extent;
use super::config::Config;
use super::routers::ranges;
use super::text::TextError;

/// Every topology by its name.
const TOPOLOGIES: &[(&str, Build)] = &[
    ("mesh", cube::mesh),
    ("torus", cube::torus),
    ("cmesh", cmesh::build),
    ("fly", fly::build),
    ("fattree", fattree::build),
    ("flatfly", flatfly::build),
    ("dragonflynew", dragonfly::build),
    ("qtree", qtree::build),
    ("tree4", tree4::build),
    ("anynet", anynet::build),
];

/// Reads the options of a topology and its routing function.
type Build = fn(&Config) -> Result<Built, TextError>;

/// One network, and the least virtual channels that its routing function needs.
struct Built {
    fabric: Fabric,
    routing: Box<dyn FlitRouting>,
    least: u32,
}

/// A network and how packets find their way through it.
pub struct Network {
    /// Routers and channels: those of all copies, one after the other.
    pub fabric: Fabric,
    /// The routing function.
    pub routing: Box<dyn FlitRouting>,
    /// Copies of the network, with the same terminals.
    pub subnets: u32,
    /// Sizes, for patterns.
    pub extent: Extent,
}

/// Most copies of a network.
const MOST_SUBNETS: i64 = 32;

/// Most virtual channels at the inputs of all routers: a few GB.
const MOST_CHANNELS: u64 = 1 << 24;

/// Most terminals of all copies.
const MOST_TERMINALS: u64 = 1 << 22;

/// Builds the network of a configuration.
///
/// # Errors
/// What does not exist, what is too large, and functions that need more virtual channels.
pub fn network(config: &Config) -> Result<Network, TextError> {
    let (k, n) = sizes(config)?;
    let build = config.one_of("topology", TOPOLOGIES, "topologies are")?;
    let Built { fabric, routing, least } = build(config)?;
    for [first, last] in ranges(config)? {
        let found = u32::from(last - first) + 1;
        if found < least {
            let name = config.word("routing_function");
            let reason = format!("`{name}` needs {least} virtual channels, there are {found}");
            return Err(config.refuse("num_vcs", reason));
        }
    }
    if config.flag("noq")? {
        next_output_queues(config, &fabric, &*routing, least)?;
    }
    let nodes = fabric.terminals().len() as u32;
    let subnets = config.integer("subnets", 1, MOST_SUBNETS)? as u32;
    let routers = fabric.router_count() as u32;
    let inputs: u64 = (0..routers).map(|router| u64::from(fabric.input_count(router))).sum();
    let channels = inputs * u64::from(subnets) * config.integer("num_vcs", 1, 32)? as u64;
    if channels > MOST_CHANNELS {
        let reason = format!(
            "{channels} virtual channels at the inputs of {routers} routers; at most {MOST_CHANNELS} are possible"
        );
        return Err(config.refuse("num_vcs", reason));
    }
    let extent = Extent { nodes, k, n };
    if subnets == 1 {
        return Ok(Network { fabric, routing, subnets, extent });
    }
    if u64::from(nodes) * u64::from(subnets) > MOST_TERMINALS {
        let reason =
            format!("{subnets} networks of {nodes} terminals; at most {MOST_TERMINALS} are possible");
        return Err(config.refuse("subnets", reason));
    }
    if config.flag("hold_switch_for_packet")? {
        let reason = "several networks with `hold_switch_for_packet`, where BookSim2 stops at an assertion";
        return Err(config.refuse("subnets", reason));
    }
    let side_by_side = SideBySide::new(routing, &fabric);
    Ok(Network { fabric: copies(&fabric, subnets), routing: Box::new(side_by_side), subnets, extent })
}

/// Refuses queues by the next router's output where they would be empty: a routing function divides a range into at
/// most as many parts as it needs virtual channels, and each part is divided by the outputs.
fn next_output_queues(
    config: &Config,
    fabric: &Fabric,
    routing: &dyn FlitRouting,
    least: u32,
) -> Result<(), TextError> {
    let name = config.word("routing_function");
    if !routing.single() {
        return Err(config.refuse("noq", format!("`{name}` offers several outputs at once; one is expected")));
    }
    let outputs = u32::from(fabric.most_outputs());
    for [first, last] in ranges(config)? {
        let (found, needed) = (u32::from(last - first) + 1, least * outputs);
        if found < needed {
            let reason = format!(
                "{outputs} outputs, for each of which `{name}` needs {least} virtual channels: there are {found} and \
                 {needed} are expected"
            );
            return Err(config.refuse("noq", reason));
        }
    }
    Ok(())
}

/// The options `k` and `n`.
fn sizes(config: &Config) -> Result<(u32, u32), TextError> {
    Ok((config.integer("k", 1, 1 << 20)? as u32, config.integer("n", 1, 20)? as u32))
}

/// An error of a network at the line of the option that it is about.
fn refused(config: &Config, error: &BuildError) -> TextError {
    config.refuse(&error.field, &error.reason)
}

/// The routing function among those of the topology.
fn function<F: Copy>(config: &Config, functions: &[(&str, F)]) -> Result<F, TextError> {
    let are = format!("functions of the topology `{}` are", config.word("topology"));
    config.one_of("routing_function", functions, &are)
}

/// Rows of routers and the side of the square of a router's terminals: the options `c`, `x`, `y`, `xr`, `yr`.
fn concentration(config: &Config) -> Result<(u32, u32), TextError> {
    let number = |name| Ok(config.integer(name, 1, 1 << 10)? as u32);
    let (x, y, xr, yr) = (number("x")?, number("y")?, number("xr")?, number("yr")?);
    let c = config.integer("c", 1, 1 << 20)? as u32;
    if x != y {
        return Err(config.refuse("y", format!("{y}, and `x` is {x}; they must be equal in BookSim2")));
    }
    if xr != yr {
        return Err(config.refuse("yr", format!("{yr}, and `xr` is {xr}; they must be equal in BookSim2")));
    }
    if c != xr * yr {
        let reason = format!("{c} terminals per router, and `xr` times `yr` is {}", xr * yr);
        return Err(config.refuse("c", reason));
    }
    Ok((x, xr))
}
