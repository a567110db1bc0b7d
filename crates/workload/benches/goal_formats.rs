//! How long a ring all-reduce over 1,024 ranks (4.2 million operations) takes to read in each form, beside copying
//! the same bytes: those of the file for text and binary GOAL; those of the schedule in memory for `.strata`, whose
//! file is next to nothing.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use stratasim_workload::goal::{Schedule, binary, strata, text};

#[path = "../tests/workload/common/schedules.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod schedules;

fn read(criterion: &mut Criterion) {
    let schedule = schedules::ring(1024, 1 << 20);
    let mut file = Vec::new();
    text::write(&schedule, &mut file).expect("memory is enough");
    compare(criterion, "text", &file, |bytes| text::read(bytes).expect("just written"));
    file.clear();
    binary::write(&schedule, &mut file).expect("memory is enough");
    compare(criterion, "binary", &file, |bytes| binary::read(bytes).expect("just written"));
    file.clear();
    strata::write(&schedule, &mut file).expect("memory is enough");
    let mut group = criterion.benchmark_group("strata");
    group.sample_size(20).throughput(Throughput::Elements(schedule.len().into()));
    group.bench_function("copy of the schedule", |b| b.iter(|| black_box(schedule.clone())));
    group.bench_function("read", |b| {
        b.iter(|| {
            let length = file.len() as u64;
            let reader = strata::Reader::with_length(&file[..], length).expect("just written");
            reader.read_all().expect("just written")
        });
    });
    group.bench_function("write", |b| b.iter(|| strata::write(&schedule, &mut std::io::sink())));
}

/// One group per form, so that its two lines stand together.
fn compare(criterion: &mut Criterion, form: &str, file: &[u8], read: impl Fn(&[u8]) -> Schedule) {
    let mut group = criterion.benchmark_group(form);
    group.sample_size(10).throughput(Throughput::Bytes(file.len() as u64));
    group.bench_function("copy of the file", |b| b.iter(|| black_box(file.to_vec())));
    group.bench_function("read", |b| b.iter(|| read(file)));
}

criterion_group!(benches, read);
criterion_main!(benches);
