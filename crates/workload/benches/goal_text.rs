//! How fast GOAL text is read and written, beside a count of its lines: the ring all-reduce over 1024 ranks, as
//! schedgen writes it (175 MB). The count touches every byte once and does nothing else.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use stratasim_workload::goal::{Operation, Schedule, ScheduleBuilder, text};

/// In each of `2 (ranks - 1)` steps a send to the next rank and a receive from the one before; a send requires
/// the receive of the step before.
fn ring(ranks: u32) -> Schedule {
    let mut builder = ScheduleBuilder::new(ranks);
    for rank in 0..ranks {
        let mut before = None;
        for _ in 0..2 * (ranks - 1) {
            let send = builder.push(Operation::send(1024, (rank + 1) % ranks, 0));
            let receive = builder.push(Operation::receive(1024, (rank + ranks - 1) % ranks, 0));
            if let Some(before) = before.replace(receive) {
                builder.requires(send, before);
            }
        }
        builder.close_rank().expect("a ring");
    }
    builder.build().expect("a ring")
}

fn goal_text(criterion: &mut Criterion) {
    let schedule = ring(1024);
    let mut bytes = Vec::new();
    text::write(&schedule, &mut bytes).expect("memory takes everything");
    let mut group = criterion.benchmark_group("GOAL text, ring over 1024 ranks");
    group.sample_size(10).throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("count lines", |b| {
        b.iter(|| black_box(&bytes).iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>());
    });
    group.bench_function("read", |b| {
        b.iter(|| text::read(black_box(&bytes[..])).expect("the bench's own text"));
    });
    group.bench_function("strict", |b| {
        b.iter(|| text::strict(black_box(&bytes[..])).expect("the bench's own text"));
    });
    let mut out = Vec::with_capacity(bytes.len());
    group.bench_function("write", |b| {
        b.iter(|| {
            out.clear();
            text::write(black_box(&schedule), &mut out).expect("memory takes everything");
        });
    });
    group.finish();
}

criterion_group!(benches, goal_text);
criterion_main!(benches);
