//! Networks of BookSim2: wiring and routing decisions against a literal rendering of its own sources.
//!
//! `booksim/networks.json` was made outside of this repository by a line-by-line rendering of the
//! simulator's network files and routing functions. Each entry has a configuration, a digest of all channels (ends,
//! ports, latencies) and a digest of 400 walks of packets: source, destination, the virtual channels to start on,
//! and per router the input, output and range of virtual channels. Draws and flits under way come from the formulas
//! below, in the order in which the functions ask.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use stratasim_experiment::booksim::Setup;
use stratasim_net::flit::fabric::{End, Fabric};
use stratasim_net::flit::routing::{Candidate, FlitRouting, Head, Place, Surroundings};

#[derive(Deserialize)]
struct Golden {
    config: String,
    #[serde(default)]
    network_file: Option<String>,
    nodes: usize,
    channels: usize,
    wiring: String,
    hops: usize,
    walks: String,
}

/// FNV-1a over 32-bit numbers, lowest byte first.
fn digest(numbers: &[u32]) -> String {
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

/// Terminals: router, input and latencies in, router, output and latencies out; then channels by their start.
fn wiring(fabric: &Fabric) -> (Vec<u32>, usize) {
    let mut numbers = Vec::new();
    for terminal in fabric.terminals() {
        let (router, input) = terminal.entry();
        let (inward, outward) = (&terminal.injection, fabric.channel(terminal.router, terminal.output));
        numbers.extend([
            fabric_number(&numbers),
            router,
            input.into(),
            inward.latency,
            inward.credit_latency,
        ]);
        numbers.extend([terminal.router, terminal.output.into(), outward.latency, outward.credit_latency]);
    }
    let mut channels = 0;
    for router in 0..fabric.router_count() as u32 {
        for output in 0..fabric.output_count(router) {
            let channel = fabric.channel(router, output);
            if let End::Router { router: to, port } = channel.end {
                channels += 1;
                let ends = [router, output.into(), to, port.into()];
                numbers.extend(ends);
                numbers.extend([channel.latency, channel.credit_latency]);
            }
        }
    }
    (numbers, channels)
}

/// The number of the next terminal.
fn fabric_number(numbers: &[u32]) -> u32 {
    (numbers.len() / 9) as u32
}

struct Draws {
    state: u64,
    salt: u32,
    router: u32,
}

impl Surroundings for Draws {
    fn draw(&mut self, bound: u32) -> u32 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.state >> 33) % u64::from(bound)) as u32
    }

    fn used(&self, output: u16) -> u32 {
        let name = self.router * 31 + u32::from(output) * 17 + self.salt;
        (name.wrapping_mul(2_654_435_761) >> 7) % 97
    }
}

fn walks(fabric: &Fabric, routing: &dyn FlitRouting, channels: u8) -> (Vec<u32>, usize) {
    let (mut numbers, mut hops) = (Vec::new(), 0);
    let mut draws = Draws { state: 12_345, salt: 0, router: 0 };
    let nodes = fabric.terminals().len() as u32;
    let mut out: Vec<Candidate> = Vec::new();
    for number in 0..400 {
        let (source, dest) = (draws.draw(nodes), draws.draw(nodes));
        draws.salt = draws.draw(1000);
        let mut head = Head { source, dest, range: (0, channels - 1), memory: 0 };
        let (first, last) = routing.start(&mut head, &mut draws);
        numbers.extend([source, dest, first.into(), last.into()]);
        let (router, input) = fabric.terminal(source).entry();
        let mut place = Place { router, input, vc: if number % 2 == 1 { first } else { last } };
        for hop in 0..40 {
            draws.router = place.router;
            out.clear();
            routing.route(place, &mut head, &mut draws, &mut out);
            assert_eq!(out.len(), 1, "one way at {place:?}");
            let Candidate { output, first_vc, last_vc, .. } = out[0];
            numbers.extend([place.router, place.input.into(), output.into()]);
            numbers.extend([u32::from(first_vc), u32::from(last_vc)]);
            hops += 1;
            match fabric.channel(place.router, output).end {
                End::Terminal(terminal) => {
                    assert_eq!(terminal, dest);
                    break;
                }
                End::Router { router, port } => {
                    let vc = if (number + hop) % 2 == 1 { first_vc } else { last_vc };
                    place = Place { router, input: port, vc };
                }
                End::Nothing => panic!("output {output} at {place:?} leads nowhere"),
            }
        }
    }
    (numbers, hops)
}

#[test]
fn networks_are_wired_and_routed_as_the_simulators_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/booksim/networks.json");
    let goldens: Vec<Golden> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut topologies: BTreeMap<String, u32> = BTreeMap::new();
    for golden in &goldens {
        let mut text = golden.config.clone();
        if let Some(file) = &golden.network_file {
            std::fs::write(folder.path().join("net.txt"), file).unwrap();
            text += " network_file = net.txt;";
        }
        let setup = Setup::read_in(&text, folder.path()).unwrap_or_else(|error| panic!("{text}: {error}"));
        let (fabric, routing) = (&setup.network.fabric, &*setup.network.routing);
        fabric.check().unwrap();
        assert_eq!(fabric.terminals().len(), golden.nodes, "{text}");
        let (numbers, channels) = wiring(fabric);
        assert_eq!(channels, golden.channels, "{text}");
        assert_eq!(digest(&numbers), golden.wiring, "wiring of {text}");
        let (numbers, hops) = walks(fabric, routing, setup.router.virtual_channels);
        assert_eq!(hops, golden.hops, "{text}");
        assert_eq!(digest(&numbers), golden.walks, "walks of {text}");
        let topology = text.split([' ', ';']).nth(2).unwrap_or_default().to_owned();
        *topologies.entry(topology).or_default() += 1;
    }
    let names: Vec<&str> = topologies.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["anynet", "cmesh", "dragonflynew", "flatfly", "mesh", "qtree", "torus", "tree4"],
        "{topologies:?}"
    );
}
