//! Schedules under the three semantics of the message level, beside a plain loop that meets the same
//! operations and dependencies once, in the order of the file: how many times that does a run cost?

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use stratasim_core::observe::Blind;
use stratasim_core::{Bytes, Duration, NodeId, TimePerByte};
use stratasim_engine::compat::{self, Parameters, Semantics};
use stratasim_engine::{ScheduleEngine, ScheduleOptions};
use stratasim_net::message::{Message, MessageNetwork};
use stratasim_workload::goal::Schedule;
use stratasim_workload::goal::generate::{GenerateContext, GenerateSpec};

/// (pattern, ranks, bytes)
const CASES: [(&str, u32, u64); 4] = [
    ("ring-allreduce", 256, 1 << 20),
    ("linear-alltoall", 128, 1024),
    ("binomial-broadcast", 65_536, 1024),
    ("dissemination", 4096, 8),
];

/// The parameters of LogGOPSim's defaults.
const PARAMETERS: Parameters = Parameters {
    latency_ns: 2500,
    overhead_ns: 1500,
    gap_ns: 1000,
    gap_per_byte_ns: 6.0,
    overhead_per_byte_ns: 0,
    eager_limit_bytes: 65535,
};

fn schedule(pattern: &str, ranks: u32, bytes: u64) -> Schedule {
    let spec = GenerateSpec::named(pattern, serde_json::Map::new()).expect("a pattern");
    let context = GenerateContext { bytes: Some(bytes), ..GenerateContext::new(ranks) };
    spec.generate(&context).expect("a schedule")
}

/// Meets every operation and every dependency, and counts what becomes free.
fn walk(schedule: &Schedule, missing: &mut [u32]) -> u64 {
    missing.fill(0);
    for rank in 0..schedule.ranks() {
        let first = schedule.of_rank(rank).start;
        for operation in schedule.of_rank(rank) {
            for edge in schedule.edges(operation) {
                missing[(first + edge.after()) as usize] += 1;
            }
        }
    }
    let mut sum = 0;
    for rank in 0..schedule.ranks() {
        let first = schedule.of_rank(rank).start;
        for operation in schedule.of_rank(rank) {
            sum += schedule.operation(rank, operation).size;
            for edge in schedule.edges(operation) {
                missing[(first + edge.after()) as usize] -= 1;
                sum += u64::from(missing[(first + edge.after()) as usize] == 0);
            }
        }
    }
    sum
}

fn native(schedule: &Schedule, nodes: &[NodeId]) -> u64 {
    let spec = Message {
        latency: Duration::from_ns(PARAMETERS.latency_ns),
        overhead: Duration::from_ns(PARAMETERS.overhead_ns),
        gap: Duration::from_ns(PARAMETERS.gap_ns),
        gap_per_byte: TimePerByte(PARAMETERS.gap_per_byte_ns * 1000.0),
        eager_limit: Bytes(PARAMETERS.eager_limit_bytes),
        ..Message::default()
    };
    let mut network = MessageNetwork::between(&spec, nodes.len(), schedule.nics()).expect("a network");
    let mut blind = Blind;
    let engine = ScheduleEngine::new(schedule, nodes, &mut network, &mut blind, ScheduleOptions::default());
    engine.expect("an engine").run().expect("an end").run.makespan.as_ps()
}

fn goal(criterion: &mut Criterion) {
    for (pattern, ranks, bytes) in CASES {
        let schedule = schedule(pattern, ranks, bytes);
        let nodes: Vec<NodeId> = (0..ranks).map(NodeId).collect();
        let mut missing = vec![0; schedule.len() as usize];
        let mut group = criterion.benchmark_group(format!("{pattern}, {ranks} ranks"));
        group.sample_size(10).throughput(Throughput::Elements(u64::from(schedule.len())));
        group.bench_function("a plain loop", |b| b.iter(|| walk(black_box(&schedule), &mut missing)));
        group.bench_function("native", |b| b.iter(|| native(black_box(&schedule), &nodes)));
        for (name, semantics) in [("loggopsim", Semantics::LogGopSim), ("atlahs-lgs", Semantics::AtlahsLgs)] {
            group.bench_function(name, |b| {
                b.iter(|| {
                    let outcome = compat::run(black_box(&schedule), semantics, PARAMETERS, &mut ());
                    let outcome = outcome.expect("a result");
                    assert_eq!(outcome.left, 0, "a complete run");
                    outcome.events
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, goal);
criterion_main!(benches);
