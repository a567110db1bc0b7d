//! How long large machines take to build, and a route by rule.
//!
//! Targets: 1,024 accelerators in 2 ms, 4,096 in 8 ms, a fat tree of 4,096 hosts in 5 ms; a route of
//! a machine in 50 ns, of a tree in 100 ns.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use stratasim_topo::routing::{Routing, RoutingAlgorithm, auto, dijkstra, ecmp};
use stratasim_topo::{BuildContext, Topology, TopologySpec};

const CASES: &[(&str, &str)] = &[
    ("hcsim-cxl 1024", r#"{"kind": "hcsim-cxl", "xpus": 1024}"#),
    ("hcsim-cxl 4096", r#"{"kind": "hcsim-cxl", "xpus": 4096}"#),
    ("hcsim-ethernet 4096", r#"{"kind": "hcsim-ethernet", "xpus": 4096}"#),
    (
        "fat-tree 4096",
        r#"{"kind": "fat-tree", "down": [16, 16, 16], "up": [1, 16, 16], "bandwidth": "100 Gbps", "latency": "1 us"}"#,
    ),
    ("fat-tree k=16", r#"{"kind": "fat-tree", "k": 16, "bandwidth": "100 Gbps", "latency": "1 us"}"#),
];

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    for (name, text) in CASES {
        let spec: TopologySpec = serde_json::from_str(text).unwrap();
        let context = BuildContext::default();
        group.bench_function(*name, |b| b.iter(|| spec.plugin().build(&context).unwrap()));
    }
}

fn topology(text: &str) -> Arc<Topology> {
    let spec: TopologySpec = serde_json::from_str(text).unwrap();
    Arc::new(spec.plugin().build(&BuildContext::default()).unwrap())
}

/// Routes between pairs near and far: the strides are prime to the number of hosts.
fn walk<'a>(topology: &'a Topology, mut routing: Box<dyn Routing>) -> impl FnMut() -> usize + use<'a> {
    let hosts = topology.compute_nodes();
    let (mut out, mut index) = (Vec::new(), 0_usize);
    move || {
        index = index.wrapping_add(1);
        let (src, dst) = (hosts[index * 37 % hosts.len()], hosts[(index * 101 + 1) % hosts.len()]);
        out.clear();
        routing.route(src, dst, index as u64, &mut out).unwrap();
        black_box(out.len())
    }
}

fn route(c: &mut Criterion) {
    let mut group = c.benchmark_group("route");
    for (name, text) in CASES {
        let topology = topology(text);
        let mut next = walk(&topology, auto::Auto::default().build(&topology).unwrap());
        group.bench_function(*name, |b| b.iter(&mut next));
    }
}

/// Searched routes, most of them from trees that earlier pairs left behind.
fn search(c: &mut Criterion) {
    let mut group = c.benchmark_group("search");
    for (name, text) in CASES {
        let topology = topology(text);
        let mut next = walk(&topology, dijkstra::Dijkstra::default().build(&topology).unwrap());
        group.bench_function(format!("dijkstra {name}"), |b| b.iter(&mut next));
        let mut next = walk(&topology, ecmp::Ecmp::default().build(&topology).unwrap());
        group.bench_function(format!("ecmp {name}"), |b| b.iter(&mut next));
    }
}

criterion_group!(benches, build, route, search);
criterion_main!(benches);
