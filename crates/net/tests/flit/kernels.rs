//! The two kernels give the same results, number for number, whatever the machine and the traffic.

use std::sync::Arc;

use crate::support::{prepare, topology};
use proptest::prelude::*;
use stratasim_core::random::mix;
use stratasim_net::flit::Prepared;
use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::terminals::{Arrival, FlitArrival, Offer, Terminals};

/// Packets of random lengths between random terminals, each terminal's own sequence.
struct Traffic {
    seed: u64,
    terminals: u32,
    /// Mean cycles between the packets of a terminal.
    gap: u64,
    longest: u16,
    /// Nothing is made after this cycle.
    end: u64,
    next: Vec<(u64, u32)>,
    /// Whether arrivals are to be told in order, and whether it tells of every packet.
    in_order: bool,
    announces: bool,
    /// Terminals whose next packet should have come already.
    late: Vec<u32>,
    entered: u64,
    latencies: u64,
    flits: u64,
    arrivals: Vec<Arrival>,
}

/// Names a packet of a terminal.
fn name(terminal: u32, number: u32) -> u64 {
    u64::from(terminal) << 32 | u64::from(number)
}

impl Traffic {
    fn new(seed: u64, terminals: u32, gap: u64, longest: u16, end: u64) -> Self {
        let next = (0..terminals).map(|terminal| (mix(seed ^ u64::from(terminal)) % (2 * gap), 0)).collect();
        Self {
            seed,
            terminals,
            gap,
            longest,
            end,
            next,
            in_order: true,
            announces: false,
            late: Vec::new(),
            entered: 0,
            latencies: 0,
            flits: 0,
            arrivals: Vec::new(),
        }
    }
}

impl Terminals for Traffic {
    fn offer(&mut self, terminal: u32, _: u8, now: u64) -> Option<Offer> {
        let (at, number) = &mut self.next[terminal as usize];
        if *at > now || *at > self.end {
            return None;
        }
        *number += 1;
        let random = mix(self.seed ^ name(terminal, *number));
        let offer = Offer {
            dest: (random % u64::from(self.terminals)) as u32,
            flits: 1 + ((random >> 20) % u64::from(self.longest)) as u16,
            range: 0,
            priority: 0,
            created: *at,
            waited: *at < now,
            tag: *number,
            measured: true,
        };
        *at += 1 + (random >> 40) % (2 * self.gap);
        if self.announces && *at <= now {
            self.late.push(terminal);
        }
        Some(offer)
    }

    fn in_order(&self) -> bool {
        self.in_order
    }

    fn announces(&self) -> bool {
        self.announces
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        if !self.late.is_empty() {
            return Some(now);
        }
        self.next.iter().map(|&(at, _)| at).filter(|&at| at >= now && at <= self.end).min()
    }

    fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        let late = std::mem::take(&mut self.late);
        let is_due = |terminal: &u32| self.next[*terminal as usize].0 == now || late.contains(terminal);
        out.extend((0..self.terminals).filter(is_due));
    }

    fn flit(&mut self, flit: FlitArrival) {
        self.flits += 1;
        self.latencies = self.latencies.wrapping_add(flit.latency * u64::from(flit.terminal + 1));
    }

    fn entered(&mut self, _: u32, _: u32, _: bool) {
        self.entered += 1;
    }

    fn packet(&mut self, arrival: &Arrival) {
        self.arrivals.push(*arrival);
    }
}

/// Everything that a run shows.
#[derive(Debug, PartialEq)]
struct Shown {
    arrivals: Vec<Arrival>,
    flits: u64,
    latencies: u64,
    channels: Vec<u64>,
}

fn run(kernel: &mut impl Kernel, mut traffic: Traffic, step: u64) -> Shown {
    let mut until = 0;
    while until < 50_000 && !(until > traffic.end && kernel.is_settled()) {
        until += step;
        kernel.run(until, &mut traffic);
        assert_eq!(kernel.now(), until);
        assert_eq!(traffic.entered - traffic.flits, kernel.in_flight(), "flits in = flits out + in flight");
    }
    assert!(kernel.is_settled(), "everything arrives");
    assert_eq!(kernel.violations(), Vec::<String>::new());
    traffic.arrivals.sort_by_key(|arrival| (arrival.source, arrival.tag));
    let Traffic { arrivals, flits, latencies, .. } = traffic;
    Shown { arrivals, flits, latencies, channels: kernel.channel_flits() }
}

fn compare(machine: &str, network: &str, seed: u64, gap: u64, longest: u16) {
    let Prepared { fabric, routing, router, .. } = prepare(&topology(machine), network).expect("a network");
    assert_eq!(Fast::refuses(&fabric, &router, &*routing, 1), None, "{machine} {network}");
    let terminals = fabric.terminals().len() as u32;
    let traffic = || Traffic::new(seed, terminals, gap, longest, 600);
    let mut full = Full::new(fabric.clone(), &router, routing.clone(), seed).expect("a kernel");
    let mut fast = Fast::new(fabric, &router, Arc::clone(&routing), seed).expect("a kernel");
    let expected = run(&mut full, traffic(), 100);
    assert!(expected.arrivals.len() > 20, "{machine}: hardly any traffic");
    // what is told in which order, and how often it asks, changes nothing
    let variant = |in_order, announces| Traffic { in_order, announces, ..traffic() };
    let found = run(&mut fast, variant(seed.is_multiple_of(2), seed.is_multiple_of(3)), 100);
    for (one, other) in expected.arrivals.iter().zip(&found.arrivals) {
        assert_eq!(one, other, "{machine} {network}");
    }
    assert_eq!(expected, found, "{machine} {network}");
    // threads that wait for each other are slow where there are more of them than cores
    for parts in 2..2 + seed % 2 {
        let fabric = full_fabric(machine, network);
        let mut cut =
            Fast::with_parts(fabric, &router, routing.clone(), seed, parts as usize).expect("a kernel");
        assert_eq!(run_parts(&mut cut, traffic, 100), expected, "{parts} parts: {machine} {network}");
    }
    let mut steps = Fast::new(full_fabric(machine, network), &router, routing, seed).expect("a kernel");
    let found = run(&mut steps, variant(!seed.is_multiple_of(2), !seed.is_multiple_of(3)), 7);
    assert_eq!(found, expected, "steps of seven cycles: {machine} {network}");
}

/// Parts of a machine on threads of their own.
fn run_parts(kernel: &mut Fast, traffic: impl Fn() -> Traffic, step: u64) -> Shown {
    let ranges = kernel.terminals_of_parts();
    let mut parts: Vec<Traffic> = ranges
        .iter()
        .map(|range| {
            let mut traffic = traffic();
            // the others are silent
            for (terminal, next) in (0..).zip(&mut traffic.next) {
                if !range.contains(&terminal) {
                    next.0 = u64::MAX;
                }
            }
            traffic
        })
        .collect();
    let mut until = 0;
    while until < 50_000 && !(until > parts[0].end && kernel.is_settled()) {
        until += step;
        kernel.run_parts(until, &mut parts);
        assert_eq!(kernel.now(), until);
    }
    assert!(kernel.is_settled(), "everything arrives");
    assert_eq!(kernel.violations(), Vec::<String>::new());
    let mut arrivals: Vec<Arrival> = parts.iter().flat_map(|part| part.arrivals.clone()).collect();
    arrivals.sort_by_key(|arrival| (arrival.source, arrival.tag));
    let flits = parts.iter().map(|part| part.flits).sum();
    let latencies = parts.iter().fold(0_u64, |sum, part| sum.wrapping_add(part.latencies));
    Shown { arrivals, flits, latencies, channels: kernel.channel_flits() }
}

fn full_fabric(machine: &str, network: &str) -> Arc<stratasim_net::flit::fabric::Fabric> {
    prepare(&topology(machine), network).expect("a network").fabric
}

const LINKS: &str = r#""bandwidth": "16 GB/s", "latency": "2 ns""#;

const MACHINES: [&str; 11] = [
    r#"{"kind": "mesh", "dimensions": [4, 3], LINKS}"#,
    r#"{"kind": "torus", "dimensions": [4, 4], LINKS}"#,
    r#"{"kind": "torus", "dimensions": [5, 2, 3], LINKS}"#,
    r#"{"kind": "ring", "nodes": 6, LINKS}"#,
    r#"{"kind": "k-ary-n-tree", "k": 3, "n": 3, LINKS}"#,
    r#"{"kind": "fat-tree", "k": 4, LINKS}"#,
    r#"{"kind": "single-switch", "nodes": 7, LINKS}"#,
    r#"{"kind": "mesh", "dimensions": [3, 2], "hosts-per-switch": 3, "host-bandwidth": "6 GB/s", "host-latency": "5 ns", LINKS}"#,
    r#"{"kind": "hypercube", "dimensions": 4, LINKS}"#,
    r#"{"kind": "k-ary-n-fly", "k": 3, "n": 2, LINKS}"#,
    r#"{"kind": "degraded", "factor": 0.0625, "links": ["host-3->host-4"], "of": {"kind": "ring", "nodes": 8, LINKS}}"#,
];

#[test]
fn both_kernels_agree_on_every_kind_of_machine() {
    for machine in MACHINES {
        let machine = machine.replace("LINKS", LINKS);
        for (seed, gap, longest) in [(1, 40, 1), (2, 6, 1), (3, 60, 9), (4, 12, 17)] {
            compare(&machine, "{}", seed, gap, longest);
        }
    }
}

/// Machines where heads have several ways, each with a routing that lets them choose.
const CHOICES: [(&str, &str); 8] = [
    (MACHINES[0], "minimal-adaptive"),
    (MACHINES[1], "minimal-adaptive"),
    (MACHINES[2], "minimal-adaptive"),
    (MACHINES[7], "minimal-adaptive"),
    (MACHINES[8], "minimal-adaptive"),
    (
        r#"{"kind": "hyperx", "dimensions": [3, 4], "parallel": [2, 1], "hosts-per-switch": 2, LINKS}"#,
        "minimal",
    ),
    (r#"{"kind": "hyperx", "dimensions": [4, 3], "hosts-per-switch": 3, LINKS}"#, "minimal"),
    (r#"{"kind": "hyperx", "dimensions": [3, 3, 2], "hosts-per-switch": 2, LINKS}"#, "minimal-adaptive"),
];

#[test]
fn both_kernels_agree_on_heads_that_choose() {
    for (machine, routing) in CHOICES {
        let machine = machine.replace("LINKS", LINKS);
        for (seed, gap, longest) in [(1, 40, 1), (2, 3, 1), (3, 60, 9), (4, 12, 17)] {
            let network = format!(r#"{{"routing": {{"kind": "{routing}"}}}}"#);
            compare(&machine, &network, seed, gap, longest);
        }
    }
}

/// Routers of up to 256 virtual channels, the largest that the fast kernel takes.
#[test]
fn both_kernels_agree_on_routers_of_many_ports() {
    let machines = [
        (r#"{"kind": "single-switch", "nodes": 33, LINKS}"#, "auto", 4),
        (r#"{"kind": "hyperx", "dimensions": [3, 2], "hosts-per-switch": 30, LINKS}"#, "minimal-adaptive", 4),
        (r#"{"kind": "hyperx", "dimensions": [3, 2], "hosts-per-switch": 15, LINKS}"#, "minimal-adaptive", 8),
        (r#"{"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts-per-leaf": 16, LINKS}"#, "auto", 7),
    ];
    for (machine, routing, channels) in machines {
        let machine = machine.replace("LINKS", LINKS);
        let network = format!(
            r#"{{"routing": {{"kind": "{routing}"}}, "router": {{"virtual-channels": {channels}, "buffer-flits": 3}}}}"#
        );
        for (seed, gap, longest) in [(1, 3, 1), (2, 12, 9)] {
            compare(&machine, &network, seed, gap, longest);
        }
    }
}

/// What is told of a network in which nothing moves: who waits, and for which output.
#[test]
fn both_kernels_tell_of_the_same_packets_that_wait() {
    let plain = MACHINES.map(|machine| (machine, "auto"));
    for (machine, routing) in plain.into_iter().chain(CHOICES) {
        let network = format!(r#"{{"routing": {{"kind": "{routing}"}}}}"#);
        let machine = machine.replace("LINKS", LINKS);
        let Prepared { fabric, routing, router, .. } =
            prepare(&topology(&machine), &network).expect("a network");
        let terminals = fabric.terminals().len() as u32;
        let mut full = Full::new(fabric.clone(), &router, routing.clone(), 7).expect("a kernel");
        let mut fast = Fast::new(fabric, &router, routing, 7).expect("a kernel");
        let mut traffic = [0, 1].map(|_| Traffic::new(7, terminals, 3, 5, 600));
        let mut seen = 0;
        for until in (20..400).step_by(19) {
            full.run(until, &mut traffic[0]);
            fast.run(until, &mut traffic[1]);
            let waiting = full.waiting();
            assert_eq!(waiting, fast.waiting(), "{machine} {network}, cycle {until}");
            seen += waiting.iter().filter(|wait| wait.output_vc.is_none()).count();
        }
        assert!(seen > 0, "{machine}: nobody ever waited for a channel");
    }
}

/// Before a slow link more flits wait than a byte counts.
#[test]
fn both_kernels_agree_on_deep_buffers() {
    let machine = MACHINES[10].replace("0.0625", "0.25").replace("LINKS", LINKS);
    let [small, deep] = [255, 700].map(|buffer| {
        let network = format!(r#"{{"router": {{"virtual-channels": 4, "buffer-flits": {buffer}}}}}"#);
        compare(&machine, &network, 4, 3, 17);
        let Prepared { fabric, routing, router, .. } =
            prepare(&topology(&machine), &network).expect("a network");
        let terminals = fabric.terminals().len() as u32;
        let mut fast = Fast::new(fabric, &router, routing, 4).expect("a kernel");
        run(&mut fast, Traffic::new(4, terminals, 3, 17, 600), 100)
    });
    assert_ne!(small, deep, "buffers of 255 flits are full");
    // switches with many ports and long cables, as in a data centre
    let machine = r#"{"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts-per-leaf": 9, "bandwidth": "16 GB/s", "latency": "400 ns"}"#;
    compare(machine, r#"{"router": {"virtual-channels": 2, "buffer-flits": 900}}"#, 2, 40, 17);
}

/// Places of a block of routers are counted in two bytes where that is enough, and in four where it is not.
#[test]
fn both_kernels_agree_on_buffers_about_as_deep_as_two_bytes_count() {
    let star = r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 18, LINKS}"#;
    for (machine, buffers) in [(MACHINES[0], [32, 33]), (star, [8, 9])] {
        for buffer in buffers {
            let network = format!(r#"{{"router": {{"virtual-channels": 4, "buffer-flits": {buffer}}}}}"#);
            compare(&machine.replace("LINKS", LINKS), &network, 2, 3, 17);
        }
    }
}

/// Ways through more routers than a byte counts, by the words of dimension order and without them.
#[test]
fn both_kernels_agree_on_long_ways() {
    let line = r#"{"kind": "mesh", "dimensions": [300], LINKS}"#.replace("LINKS", LINKS);
    for (network, longest) in [("{}", 1), ("{}", 5), (r#"{"routing": {"kind": "valiant"}}"#, 3)] {
        compare(&line, network, 5, 600, longest);
    }
    let Prepared { fabric, routing, router, .. } = prepare(&topology(&line), "{}").expect("a network");
    let mut fast = Fast::new(fabric, &router, routing, 5).expect("a kernel");
    let found = run(&mut fast, Traffic::new(5, 300, 600, 1, 600), 100);
    let most = found.arrivals.iter().map(|arrival| arrival.hops).max();
    // its routers are in a line
    let farthest =
        found.arrivals.iter().map(|arrival| arrival.source.abs_diff(arrival.dest) as u16 + 1).max();
    assert!(most == farthest && most > Some(255), "{most:?} {farthest:?}");
}

/// Traffic of which it is remembered which packets are under way, and nothing else.
struct Once {
    traffic: Traffic,
    /// By terminal, the packets that have arrived, a bit each.
    seen: Vec<Vec<u64>>,
    offered: u64,
}

impl Terminals for Once {
    fn offer(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer> {
        let offer = self.traffic.offer(terminal, queue, now)?;
        self.offered += u64::from(offer.flits);
        Some(offer)
    }

    fn announces(&self) -> bool {
        self.traffic.announces()
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        self.traffic.next_due(now)
    }

    fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        self.traffic.due(now, out);
    }

    fn flit(&mut self, flit: FlitArrival) {
        self.traffic.flit(flit);
    }

    fn entered(&mut self, tag: u32, terminal: u32, is_head: bool) {
        self.traffic.entered(tag, terminal, is_head);
    }

    fn packet(&mut self, arrival: &Arrival) {
        let (terminal, number) = (arrival.source as usize, arrival.tag as usize);
        let random = mix(self.traffic.seed ^ name(arrival.source, arrival.tag));
        assert_eq!(arrival.dest, (random % u64::from(self.traffic.terminals)) as u32, "a packet went astray");
        let words = &mut self.seen[terminal];
        words.resize(words.len().max(number / 64 + 1), 0);
        assert_eq!(words[number / 64] >> (number % 64) & 1, 0, "packet {number} of {terminal} came twice");
        words[number / 64] |= 1 << (number % 64);
    }
}

#[test]
#[ignore = "half a minute: cargo test -p stratasim-net --test flit kernels -- --ignored"]
fn a_hundred_million_flits_arrive_once_each() {
    let machine = r#"{"kind": "torus", "dimensions": [8, 8], LINKS}"#.replace("LINKS", LINKS);
    let Prepared { fabric, routing, router, .. } = prepare(&topology(&machine), "{}").expect("a network");
    let mut fast = Fast::new(fabric, &router, routing, 5).expect("a kernel");
    let end = 4_300_000;
    let traffic = Traffic { announces: true, ..Traffic::new(5, 64, 19, 15, end) };
    let mut once = Once { traffic, seen: vec![Vec::new(); 64], offered: 0 };
    let mut until = 0;
    while !(until > end && fast.is_settled()) {
        until += 10_000;
        assert!(until < 2 * end, "it never ends");
        fast.run(until, &mut once);
        assert_eq!(
            once.traffic.entered - once.traffic.flits,
            fast.in_flight(),
            "flits in = flits out + in flight"
        );
        assert_eq!(fast.violations(), Vec::<String>::new());
    }
    assert!(once.offered >= 100_000_000, "{}", once.offered);
    assert_eq!((once.traffic.entered, once.traffic.flits), (once.offered, once.offered));
    for (terminal, words) in once.seen.iter().enumerate() {
        let arrived: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        assert_eq!(arrived, u64::from(once.traffic.next[terminal].1), "packets of {terminal}");
    }
}

/// Hosts with a NIC in each of two planes: half of the pairs that are drawn have no way.
const PLANES: &str = r#"{"kind": "fat-tree", "down": [2, 3], "up": [2, 2], LINKS}"#;

#[test]
fn the_full_kernel_tells_of_packets_that_arrive_elsewhere() {
    let Prepared { fabric, routing, router, .. } =
        prepare(&topology(&PLANES.replace("LINKS", LINKS)), "{}").expect("a network");
    let mut full = Full::new(fabric, &router, routing, 1).expect("a kernel");
    full.run(200, &mut Traffic::new(1, 12, 20, 1, 100));
    assert!(full.violations().iter().any(|what| what.contains("arrived at")), "{:?}", full.violations());
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "arrived at another terminal")]
fn the_fast_kernel_does_when_it_is_built_for_tests() {
    let Prepared { fabric, routing, router, .. } =
        prepare(&topology(&PLANES.replace("LINKS", LINKS)), "{}").expect("a network");
    let mut fast = Fast::new(fabric, &router, routing, 1).expect("a kernel");
    fast.run(200, &mut Traffic::new(1, 12, 20, 1, 100));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn both_kernels_agree_whatever_the_router_and_the_load(
        machine in 0..MACHINES.len(),
        vcs in 1_u8..5,
        buffer in 1_u16..9,
        seed in 0_u64..1000,
        gap in 3_u64..80,
        longest in 1_u16..20,
    ) {
        let machine = MACHINES[machine].replace("LINKS", LINKS);
        let network = format!(r#"{{"router": {{"virtual-channels": {}, "buffer-flits": {buffer}}}}}"#, 2 * vcs);
        compare(&machine, &network, seed, gap, longest);
    }

    #[test]
    fn both_kernels_agree_on_heads_that_choose_whatever_the_router_and_the_load(
        machine in 0..CHOICES.len(),
        vcs in 3_u8..9,
        buffer in 1_u16..9,
        seed in 0_u64..1000,
        gap in 3_u64..80,
        longest in 1_u16..20,
    ) {
        let (machine, routing) = CHOICES[machine];
        let network = format!(
            r#"{{"routing": {{"kind": "{routing}"}}, "router": {{"virtual-channels": {vcs}, "buffer-flits": {buffer}}}}}"#
        );
        compare(&machine.replace("LINKS", LINKS), &network, seed, gap, longest);
    }
}
