//! What recording costs per task: at most 50 ns for recorders, 10 ns for the digest.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use stratasim_core::observe::{Activity, Event, Observer, TaskSpan};
use stratasim_core::{LinkId, Rank, Time};
use stratasim_report::labels::Plain;
use stratasim_report::perfetto::{PerfettoOptions, PerfettoTrace};
use stratasim_report::{Columns, Filter, LinkLoad, TimeWindow};

const TASKS: u64 = 100_000;

/// 64 ranks with compute, memory and communication, in the order in which they end.
fn tasks() -> Vec<Event> {
    (0..TASKS)
        .map(|n| {
            let (rank, at) = ((n % 64) as u32, n / 64 * 1_000_000);
            let activity =
                [Activity::Compute, Activity::Memory, Activity::Communication][(n / 64 % 3) as usize];
            Event::Task(TaskSpan {
                rank: Rank(rank),
                stream: u16::from(activity == Activity::Communication),
                vertex: (n / 64 % 600) as u32,
                iteration: (n / 64 / 600) as u32,
                activity,
                start: Time::from_ps(at),
                end: Time::from_ps(at + 900_000 + u64::from(rank)),
                bytes: n << 10,
            })
        })
        .collect()
}

fn observers(criterion: &mut Criterion) {
    let tasks = tasks();
    let uses: Vec<Event> = (0..TASKS)
        .map(|n| Event::LinkUse {
            link: LinkId((n % 1024) as u32),
            start: Time::from_ps(n * 1000),
            end: Time::from_ps(n * 1000 + 50_000_000),
            bytes: f64::from(1 << 20),
        })
        .collect();
    let mut group = criterion.benchmark_group("task");
    group.throughput(Throughput::Elements(TASKS));
    macro_rules! bench {
        ($name:literal, $events:expr, $new:expr) => {
            group.bench_function($name, |bencher| {
                bencher.iter_batched(
                    || $new,
                    |mut observer| {
                        for event in &$events {
                            observer.on_event(black_box(event));
                        }
                        observer
                    },
                    BatchSize::PerIteration,
                );
            });
        };
    }
    bench!("columns", tasks, Columns::new(Filter::default()));
    bench!("perfetto", tasks, PerfettoTrace::new(std::io::sink(), PerfettoOptions::default(), &Plain));
    bench!("link load", uses, LinkLoad::new(TimeWindow::ALWAYS, 1024));
    group.finish();
}

criterion_group!(benches, observers);
criterion_main!(benches);
