//! Time per operation, beside an allocator of offsets that others use, on the same sequence.

#![allow(missing_docs, reason = "a bench")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use offset_allocator::{Allocation, Allocator};
use stratasim_alloc::{Heap, PAGE_BYTES, Sparse};

const CAPACITY: u64 = 15 << 30;
const OPERATIONS: usize = 100_000;
const SLOTS: usize = 4_096;

/// Turns of a slot: in use, it is freed; free, it gets a block of so many bytes.
fn sequence(largest_bits: u64) -> Vec<(usize, u64)> {
    let mut state = 0x853C_49E6_748F_EA9B_u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    // sizes evenly over the orders of magnitude from 64 B
    (0..OPERATIONS)
        .map(|_| {
            (draw() as usize % SLOTS, {
                let bits = 6 + draw() % (largest_bits - 6);
                (1 << bits) + draw() % (1 << bits)
            })
        })
        .collect()
}

fn operations(criterion: &mut Criterion) {
    // with all sizes, and with coarse blocks only, which is what the peer is made for
    for (name, bits, least) in
        [("64 B to 16 MiB", 24, 0), ("8 KiB to 16 MiB", 24, PAGE_BYTES), ("64 B to 4 KiB", 12, 0)]
    {
        let sequence: Vec<_> =
            sequence(bits).into_iter().map(|(slot, bytes)| (slot, bytes.max(least))).collect();
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(OPERATIONS as u64)).sample_size(10);
        group.bench_function("bitmap, words of a model", |bencher| {
            bencher.iter(|| {
                let mut heap = Heap::new(CAPACITY, Sparse::default()).expect("small enough");
                let mut slots = vec![None; SLOTS];
                for &(slot, bytes) in &sequence {
                    match slots[slot].take() {
                        Some(offset) => heap.free(offset).expect("in use"),
                        None => slots[slot] = heap.allocate(bytes).ok(),
                    }
                }
                black_box(heap.statistics().in_use_bytes)
            });
        });
        if bits < 24 {
            group.bench_function("bitmap, words in memory", |bencher| {
                let mut memory = Some(vec![0_u64; 64 << 17]);
                bencher.iter(|| {
                    let mut heap =
                        Heap::new(64 << 20, memory.take().expect("put back")).expect("small enough");
                    let mut slots = vec![None; SLOTS];
                    for &(slot, bytes) in &sequence {
                        match slots[slot].take() {
                            Some(offset) => heap.free(offset).expect("in use"),
                            None => slots[slot] = heap.allocate(bytes).ok(),
                        }
                    }
                    black_box(heap.statistics().in_use_bytes);
                    memory = Some(heap.into_memory());
                });
            });
        }
        group.bench_function("offset-allocator", |bencher| {
            bencher.iter(|| {
                // in units of 64 B, as it counts in 32 bits
                let mut heap: Allocator = Allocator::new((CAPACITY / 64) as u32);
                let mut slots: Vec<Option<Allocation>> = vec![None; SLOTS];
                for &(slot, bytes) in &sequence {
                    match slots[slot].take() {
                        Some(block) => heap.free(block),
                        None => slots[slot] = heap.allocate(bytes.div_ceil(64) as u32),
                    }
                }
                black_box(heap.storage_report().total_free_space)
            });
        });
        group.finish();
    }
}

criterion_group!(benches, operations);
criterion_main!(benches);
