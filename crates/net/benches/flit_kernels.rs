//! Flit-hops per second of the kernels on tori under uniform traffic of single flits: the fast one beside the
//! full one, and on two threads beside one.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use stratasim_core::random::mix;
use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::terminals::{Arrival, FlitArrival, Offer, Terminals};
use stratasim_net::flit::{Flit, Prepared};
use stratasim_topo::{BuildContext, TopologySpec};

/// Packets of one flit, each terminal with its own geometric gaps.
#[derive(Clone)]
struct Uniform {
    terminals: u32,
    /// ln(1 - packets per cycle).
    log: f64,
    /// The next packet of each terminal, and how many it has had.
    next: Vec<(u64, u64)>,
    /// Terminals by the cycle in which they are due, for [`AHEAD`] cycles.
    calendar: Vec<Vec<u32>>,
    latency: u64,
}

const AHEAD: u64 = 1024;

impl Uniform {
    fn new(terminals: u32, load: f64, own: std::ops::Range<u32>) -> Self {
        let mut traffic = Self {
            terminals,
            log: (1.0 - load).ln(),
            next: vec![(0, 0); terminals as usize],
            calendar: vec![Vec::new(); AHEAD as usize],
            latency: 0,
        };
        for terminal in own {
            traffic.go_on(terminal);
            traffic.file(terminal, 0);
        }
        traffic
    }

    fn random(&self, terminal: u32, what: u64) -> u64 {
        mix(mix(u64::from(terminal) << 32 | self.next[terminal as usize].1).wrapping_add(what))
    }

    fn go_on(&mut self, terminal: u32) {
        let uniform = (self.random(terminal, 1) >> 11) as f64 / (1_u64 << 53) as f64;
        let (at, number) = &mut self.next[terminal as usize];
        *at += ((1.0 - uniform).ln() / self.log) as u64 + 1;
        *number += 1;
    }

    fn file(&mut self, terminal: u32, now: u64) {
        let at = self.next[terminal as usize].0.min(now + AHEAD - 1);
        self.calendar[(at % AHEAD) as usize].push(terminal);
    }
}

impl Terminals for Uniform {
    fn offer(&mut self, terminal: u32, _: u8, now: u64) -> Option<Offer> {
        let created = self.next[terminal as usize].0;
        if created > now {
            self.file(terminal, now);
            return None;
        }
        let dest = ((u64::from(self.terminals) * (self.random(terminal, 2) >> 32)) >> 32) as u32;
        self.go_on(terminal);
        Some(Offer {
            dest,
            flits: 1,
            range: 0,
            priority: 0,
            created,
            waited: created < now,
            tag: 0,
            measured: true,
        })
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        (now..now + AHEAD).find(|at| !self.calendar[(at % AHEAD) as usize].is_empty())
    }

    fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        let list = &mut self.calendar[(now % AHEAD) as usize];
        list.sort_unstable();
        out.append(list);
    }

    fn flit(&mut self, flit: FlitArrival) {
        self.latency += flit.latency;
    }

    fn entered(&mut self, _: u32, _: u32, _: bool) {}

    fn packet(&mut self, _: &Arrival) {}
}

fn torus(dimensions: &str, routing: &str) -> Prepared {
    let text = format!(
        r#"{{"kind": "torus", "dimensions": {dimensions}, "bandwidth": "16 GB/s", "latency": "2 ns"}}"#
    );
    let spec: TopologySpec = serde_json::from_str(&text).expect("a topology");
    let topology = Arc::new(spec.plugin().build(&BuildContext::default()).expect("a torus"));
    let network = format!(
        r#"{{"flit-bytes": "16 B", "deadlock-check": false, "routing": {{"kind": "{routing}"}}, "router": {{}}}}"#
    );
    let flit: Flit = serde_json::from_str(&network).expect("a network");
    flit.prepare(&topology).expect("a network")
}

fn kernels(criterion: &mut Criterion) {
    for (name, dimensions, routing, load, cycles) in [
        ("torus-64", "[8, 8]", "dimension-order", 0.3, 3000),
        ("torus-512", "[8, 8, 8]", "dimension-order", 0.3, 500),
        ("torus-512-minimal-adaptive", "[8, 8, 8]", "minimal-adaptive", 0.3, 500),
        ("torus-4096", "[16, 16, 16]", "dimension-order", 0.3, 300),
    ] {
        let Prepared { fabric, routing, router, .. } = torus(dimensions, routing);
        let terminals = fabric.terminals().len() as u32;
        let fast =
            |parts| Fast::with_parts(fabric.clone(), &router, routing.clone(), 1, parts).expect("a kernel");
        let mut kernel = fast(1);
        kernel.run(cycles, &mut Uniform::new(terminals, load, 0..terminals));
        let hops = kernel.channel_flits().iter().sum();

        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Elements(hops));
        group.bench_function("full", |bencher| {
            bencher.iter(|| {
                let mut kernel = Full::new(fabric.clone(), &router, routing.clone(), 1).expect("a kernel");
                let mut traffic = Uniform::new(terminals, load, 0..terminals);
                kernel.run(cycles, &mut traffic);
                black_box(traffic.latency)
            });
        });
        for parts in [1, 2] {
            group.bench_function(BenchmarkId::new("fast", parts), |bencher| {
                bencher.iter(|| {
                    let mut kernel = fast(parts);
                    let ranges = kernel.terminals_of_parts();
                    let mut traffic: Vec<Uniform> =
                        ranges.into_iter().map(|own| Uniform::new(terminals, load, own)).collect();
                    kernel.run_parts(cycles, &mut traffic);
                    black_box(traffic.iter().map(|part| part.latency).sum::<u64>())
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
