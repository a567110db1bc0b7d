//! How long large machines take to build, and a route by rule.
//!
//! Targets: 1,024 accelerators in 2 ms, 4,096 in 8 ms, a fat tree of 4,096 hosts in 5 ms; a route of
//! a machine in 50 ns, of a tree in 100 ns.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use stratasim_topo::routing::{RoutingAlgorithm, auto};
use stratasim_topo::{BuildContext, TopologySpec};

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

fn route(c: &mut Criterion) {
    let mut group = c.benchmark_group("route");
    for (name, text) in CASES {
        let spec: TopologySpec = serde_json::from_str(text).unwrap();
        let topology = Arc::new(spec.plugin().build(&BuildContext::default()).unwrap());
        let mut routing = auto::Auto::default().build(&topology).unwrap();
        let hosts = topology.compute_nodes();
        let (mut out, mut index) = (Vec::new(), 0_usize);
        group.bench_function(*name, |b| {
            b.iter(|| {
                // strides that are prime to the number of hosts visit pairs near and far
                index = index.wrapping_add(1);
                let (src, dst) = (hosts[index * 37 % hosts.len()], hosts[(index * 101 + 1) % hosts.len()]);
                out.clear();
                routing.route(src, dst, 0, &mut out).unwrap();
                black_box(out.len())
            });
        });
    }
}

criterion_group!(benches, build, route);
criterion_main!(benches);
