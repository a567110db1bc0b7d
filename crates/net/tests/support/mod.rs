//! Fabrics of small machines, and packets that walk through them without time.

#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::collections::VecDeque;
use std::sync::Arc;

use stratasim_core::model::Network;
use stratasim_core::random::{Streams, mix};
use stratasim_core::{BuildError, Duration};
use stratasim_net::flit::fabric::{End, Fabric};
use stratasim_net::flit::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use stratasim_net::flit::{Flit, Prepared};
use stratasim_net::{NetworkContext, NetworkSpec};
use stratasim_topo::{BuildContext, Routing, RoutingSpec, Topology, TopologySpec};

/// A machine, without bandwidth and latency of its cables.
pub fn machine(spec: &str) -> Arc<Topology> {
    let text = format!(r#"{}, "bandwidth": "1 GB/s", "latency": "32 ns"}}"#, &spec[..spec.len() - 1]);
    topology(&text)
}

/// A machine from its whole spec.
pub fn topology(text: &str) -> Arc<Topology> {
    let spec: TopologySpec = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Arc::new(spec.plugin().build(&BuildContext::default()).unwrap_or_else(|error| panic!("{text}: {error}")))
}

/// What a machine and a network spec (JSON, without `kind`) come to.
pub fn prepare(topology: &Arc<Topology>, network: &str) -> Result<Prepared, BuildError> {
    let spec: Flit = serde_json::from_str(network).unwrap_or_else(|error| panic!("{network}: {error}"));
    spec.prepare(topology)
}

/// Numbers that a hash gives, and outputs with a load that a hash gives.
pub struct Dice(pub u64);

impl Surroundings for Dice {
    fn draw(&mut self, bound: u32) -> u32 {
        self.0 = mix(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15));
        ((u64::from(bound) * (self.0 >> 32)) >> 32) as u32
    }

    fn used(&self, output: u16) -> u32 {
        (mix(self.0 ^ u64::from(output)) % 30) as u32
    }
}

/// The routers that a packet visits, by candidates that the dice choose.
pub fn walk(
    fabric: &Fabric,
    routing: &dyn FlitRouting,
    from: u32,
    to: u32,
    vcs: u8,
    dice: &mut Dice,
) -> Vec<u32> {
    let mut head = Head { source: from, dest: to, range: (0, vcs - 1), memory: 0 };
    let start = routing.start(&mut head, dice);
    assert!(start.0 <= start.1 && start.1 < vcs);
    let End::Router { router, port } = fabric.terminal(from).injection.end else { panic!() };
    let mut place = Place { router, input: port, vc: start.0 };
    let mut routers = vec![router];
    let mut candidates: Vec<Candidate> = Vec::new();
    for _ in 0..10_000 {
        candidates.clear();
        routing.route(place, &mut head, dice, &mut candidates);
        assert!(!candidates.is_empty(), "no way out of router {}", place.router);
        for candidate in &candidates {
            assert!(candidate.first_vc <= candidate.last_vc && candidate.last_vc < vcs, "{candidate:?}");
        }
        let chosen = candidates[dice.draw(candidates.len() as u32) as usize];
        match fabric.channel(place.router, chosen.output).end {
            End::Terminal(terminal) => {
                assert_eq!(terminal, to, "it left the network at another terminal");
                return routers;
            }
            End::Router { router, port } => {
                place = Place { router, input: port, vc: chosen.first_vc };
                routers.push(router);
            }
            End::Nothing => panic!("output {} of router {} leads nowhere", chosen.output, place.router),
        }
    }
    panic!("from {from} to {to}: it never arrives");
}

/// Channels from every router to `target`.
pub fn distances(fabric: &Fabric, target: u32) -> Vec<usize> {
    let mut into = vec![Vec::new(); fabric.router_count()];
    for router in 0..fabric.router_count() as u32 {
        for output in 0..fabric.output_count(router) {
            if let End::Router { router: to, .. } = fabric.channel(router, output).end {
                into[to as usize].push(router);
            }
        }
    }
    let mut distance = vec![usize::MAX; fabric.router_count()];
    distance[target as usize] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(router) = queue.pop_front() {
        for &from in &into[router as usize] {
            if distance[from as usize] == usize::MAX {
                distance[from as usize] = distance[router as usize] + 1;
                queue.push_back(from);
            }
        }
    }
    distance
}

/// A network of any kind.
pub fn network(spec: &str, topology: Arc<Topology>) -> Box<dyn Network> {
    try_network(spec, topology).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// A network of any kind whose messages name so many NICs.
pub fn network_of_nics(spec: &str, topology: Arc<Topology>, nics: u32, seed: u64) -> Box<dyn Network> {
    build(spec, topology, DEFAULT, nics, seed).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// A network of any kind, or what is wrong with it.
pub fn try_network(spec: &str, topology: Arc<Topology>) -> Result<Box<dyn Network>, BuildError> {
    build(spec, topology, DEFAULT, 1, 1)
}

/// The same, with routes by `routing`.
pub fn try_routed(
    spec: &str,
    topology: Arc<Topology>,
    routing: &str,
) -> Result<Box<dyn Network>, BuildError> {
    build(spec, topology, routing, 1, 1)
}

/// What routes are by default.
pub const DEFAULT: &str = r#"{"kind": "auto"}"#;

/// Routes by a specification.
pub fn routes(routing: &str, topology: &Arc<Topology>) -> Box<dyn Routing> {
    let routing: RoutingSpec =
        serde_json::from_str(routing).unwrap_or_else(|error| panic!("{routing}: {error}"));
    routing.plugin().build(topology).expect("a routing")
}

fn build(
    spec: &str,
    topology: Arc<Topology>,
    routing: &str,
    nics: u32,
    seed: u64,
) -> Result<Box<dyn Network>, BuildError> {
    parsed(spec).plugin().build(context(topology, routing, nics, seed))
}

/// A network of any kind that was built on the same machine before.
pub fn network_again(spec: &str, topology: Arc<Topology>) -> Box<dyn Network> {
    let again = parsed(spec).plugin().build_again(context(topology, DEFAULT, 1, 1));
    again.unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn parsed(spec: &str) -> NetworkSpec {
    serde_json::from_str(spec).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn context(topology: Arc<Topology>, routing: &str, nics: u32, seed: u64) -> NetworkContext {
    NetworkContext {
        routing: routes(routing, &topology),
        topology,
        streams: Streams::new(seed),
        timing_precision: Duration::ZERO,
        nics,
        in_order: false,
    }
}
