//! How long programs take to build, and plans to answer.

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, criterion_group, criterion_main};
use stratasim_core::random::Streams;
use stratasim_workload::collective::{Action, CollectiveKind, CollectiveSpec};
use stratasim_workload::{Program, WorkloadContext, WorkloadSpec};

fn build(spec: &str, ranks: u32) -> Program {
    let spec: WorkloadSpec = serde_json::from_str(spec).expect("the bench's own spec");
    let context = WorkloadContext {
        base: PathBuf::new(),
        streams: Streams::new(1),
        ranks,
        local_memory_bytes: None,
        dimensions: vec![8, ranks / 8],
        layout: stratasim_workload::pattern::Layout::flat(ranks),
        find_node: &|_| None,
        rank_of: &|_| None,
    };
    spec.plugin().build(&context).expect("the bench's own spec")
}

fn programs(criterion: &mut Criterion) {
    let burst = r#"{"kind": "traffic", "flows": 4000, "size": {"kind": "exponential", "mean": "5 MB"}}"#;
    criterion.bench_function("traffic, 1024 hosts, 4,000 flows at once", |b| b.iter(|| build(burst, 1024)));
    let poisson = r#"{"kind": "traffic", "flows": 20000, "size": {"kind": "exponential", "mean": "5 MB"},
        "arrivals": {"kind": "poisson", "load": 0.3, "rate": "100 Gbps"}}"#;
    criterion
        .bench_function("traffic, 1024 hosts, 20,000 Poisson flows", |b| b.iter(|| build(poisson, 1024)));
    let hc = r#"{"kind": "transformer", "model": "llama2-13b", "precision": "fp32", "costs": "hcsim-table-4",
        "memory": "home", "gradient-bytes": "1258291200 B"}"#;
    criterion.bench_function("transformer, 40 layers, 4096 ranks", |b| b.iter(|| build(hc, 4096)));
}

fn plans(criterion: &mut Criterion) {
    let members = 1024;
    for json in [
        r#"{"kind": "ring"}"#,
        r#"{"kind": "recursive"}"#,
        r#"{"kind": "double-binary-tree"}"#,
        r#"{"kind": "hierarchical"}"#,
    ] {
        let spec: CollectiveSpec = serde_json::from_str(json).expect("the bench's own spec");
        let plan = spec
            .plugin()
            .plan_on(CollectiveKind::AllReduce, members, 1 << 30, &[8, 16, 8])
            .expect("1024 members");
        let mut actions: Vec<Action> = Vec::new();
        let mut at = 0;
        criterion.bench_function(&format!("one round of {}", spec.kind()), |b| {
            b.iter(|| {
                actions.clear();
                at = (at + 7919) % members;
                plan.round(black_box(at), black_box(3), &mut actions);
                actions.len()
            });
        });
    }
}

criterion_group!(benches, programs, plans);
criterion_main!(benches);
