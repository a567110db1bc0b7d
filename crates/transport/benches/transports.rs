//! Cost of a data packet in the transport alone: sent, taken, acknowledged, acknowledgement taken. 64 connections take turns, so
//! that states are not always in the nearest cache.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::{
    Header, HopRecord, Mark, Pacer, Path, Poll, Profile, Receiver, Sender, Telemetry, presets,
};

const CONNECTIONS: usize = 64;
const PACKETS: u64 = 256;

fn transfer(profile: &Arc<Profile>) -> u64 {
    let mut senders: Vec<Sender> = (0..CONNECTIONS).map(|at| Sender::new(profile, at as u64)).collect();
    let mut receivers: Vec<Receiver> = (0..CONNECTIONS).map(|_| Receiver::new(profile, 0)).collect();
    let mut pacers = vec![Pacer::new(); CONNECTIONS];
    let mut back: VecDeque<(Time, usize, Header)> = VecDeque::new();
    let (mut now, mut packets) = (Time::ZERO, 0);
    let mut telemetry = Telemetry::default();
    for sender in &mut senders {
        sender.post(Time::ZERO, PACKETS * 4096);
    }
    while senders.iter().any(|sender| !sender.is_done()) {
        for at in 0..CONNECTIONS {
            now += Duration::from_ns(40);
            let due = now + Duration::from_ns(40 * 4 * CONNECTIONS as u64);
            if let Poll::Send(header) = senders[at].poll_send(now, 1) {
                packets += 1;
                telemetry.clear();
                telemetry.push(HopRecord {
                    queue_bytes: 0,
                    bytes_per_s: 12.5e9,
                    at: now,
                    sent_bytes: packets * 4160,
                    port: 0,
                });
                receivers[at].on_packet(now, &header, Mark::default(), &mut pacers[at], &mut |answer| {
                    back.push_back((due, at, answer))
                });
            }
            if pacers[at].deadline() <= now && pacers[at].next(now).is_some() {
                receivers[at].on_turn(now, &mut pacers[at], &mut |answer| back.push_back((due, at, answer)));
            }
            // feedback takes four turns of all connections
            while back.front().is_some_and(|&(due, ..)| due <= now)
                && let Some((_, at, answer)) = back.pop_front()
            {
                senders[at].on_feedback(now, &answer, Some(&telemetry));
            }
        }
        assert!(now < Time::from_ps(1_000_000_000_000), "a transport stalls");
    }
    packets
}

fn transports(criterion: &mut Criterion) {
    let rtt = Duration::from_ns(14_000);
    let rate = Bandwidth(12.5e9);
    let path = Path::of_equal_links(rtt, rate, 6, 178_450);
    let mut group = criterion.benchmark_group("a data packet");
    group.throughput(Throughput::Elements(PACKETS * CONNECTIONS as u64));
    for name in ["uec_nscc", "uec_rccc", "ndp", "roce_pfc", "swift", "atlahs_mprdma"] {
        let profile = Profile::new(&presets::htsim(name, rate).unwrap(), path).unwrap();
        group.bench_function(name, |bencher| bencher.iter(|| black_box(transfer(&profile))));
    }
    group.finish();
}

criterion_group!(benches, transports);
criterion_main!(benches);
