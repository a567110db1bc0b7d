//! The three models of a card against each other, against the paper's equations, and against what must hold.

use crate::card_support::nominal;
use proptest::prelude::*;
use stratasim_core::{Bandwidth, Bytes, ComputeRate, Duration};
use stratasim_device::card::{
    AlgorithmSpec, Buffering, Card, Compute, Cost, Dma, Fidelity, Operation, Rates, closed_form, fastest,
    task_graph, tiles, time_s,
};

const MB: u64 = 1_000_000;

fn seconds(card: &Card, name: &str, operation: Operation, bytes: u64, fidelity: Fidelity) -> f64 {
    time_s(card, &AlgorithmSpec::named(name).unwrap(), operation, bytes, fidelity).unwrap()
}

fn all_gather_gbps(card: &Card, name: &str, bytes: u64) -> f64 {
    bytes as f64 / seconds(card, name, Operation::AllGather, bytes, Fidelity::F1) / 1e9
}

#[test]
fn equations_3_and_4_come_out_of_the_schedules() {
    let card = nominal(4);
    assert!((all_gather_gbps(&card, "ring", 8 * MB) - 41.0256).abs() < 1e-3, "printed: 41");
    assert!((all_gather_gbps(&card, "csc-equation", 8 * MB) - 69.5652).abs() < 1e-3, "printed: 69.6");
    assert!((all_gather_gbps(&card, "csc", 8 * MB) - 59.2592).abs() < 1e-3, "with the PUT phase");
}

#[test]
fn the_ring_wins_again_above_the_crossover() {
    let card = nominal(4);
    let crossover = closed_form::crossover_bytes(4.0, 25e-6, 15e-6, [5e-6; 2], 1e11, 1e11).unwrap();
    assert!((crossover - 32e6).abs() < 1.0, "{crossover}");
    let two = [AlgorithmSpec::named("ring").unwrap(), AlgorithmSpec::named("csc").unwrap()];
    let best = |bytes| fastest(&card, &two, Operation::AllGather, bytes, Fidelity::F1).unwrap().0;
    assert_eq!(best(31 * MB).kind(), "csc");
    assert_eq!(best(33 * MB).kind(), "ring");
    let gain = seconds(&card, "ring", Operation::AllGather, 1 << 38, Fidelity::F1)
        / seconds(&card, "csc", Operation::AllGather, 1 << 38, Fidelity::F1);
    assert!((gain - 0.75).abs() < 1e-3, "the limit of large vectors: {gain}");
    assert_eq!(closed_form::large_vector_gain(4.0, 1e11, 1e11, true), 0.75);
    assert_eq!(closed_form::large_vector_gain(4.0, 1e11, 1e11, false), 1.0);
    assert!((closed_form::small_vector_gain(4.0, 25e-6, 15e-6, 5e-6) - 135.0 / 55.0).abs() < 1e-12);
}

/// A card whose rates are in `rates` and whose costs are in `costs`, in microseconds.
fn any_card(groups: u32, rates: [f64; 6], costs: [u64; 5], shared: bool) -> Card {
    let mut card = nominal(groups);
    let [ring, global, local, reduce_ring, reduce_csc, total] = rates.map(|rate| Bandwidth(rate * 1e9));
    let ring_total = shared.then_some(total);
    let (reduce_ring, reduce_csc) = (Some(reduce_ring), Some(reduce_csc));
    card.bandwidth = Rates { ring, global, local, ring_total, reduce_ring, reduce_csc };
    let [launch, sync, ring_step, csc_step, kernel] = costs.map(|cost| Duration::from_ns(cost * 1000));
    card.cost = Cost { launch, sync, ring_step, csc_step, kernel };
    card
}

fn operations() -> impl Iterator<Item = (AlgorithmSpec, Operation)> {
    let all = AlgorithmSpec::ALL.into_iter();
    all.flat_map(|algorithm| Operation::ALL.map(|operation| (algorithm.clone(), operation)))
        .filter(|(algorithm, operation)| algorithm.plugin().schedule(*operation, 2, 8).is_some())
}

fn times_s(card: &Card, algorithm: &AlgorithmSpec, operation: Operation, bytes: u64) -> [f64; 3] {
    [Fidelity::F0, Fidelity::F1, Fidelity::F2]
        .map(|fidelity| time_s(card, algorithm, operation, bytes, fidelity).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn the_task_graph_is_the_closed_form_where_chunks_are_equal(
        groups in 1_u32..=9,
        chunk in 0_u64..=100_000_000,
        rates in prop::array::uniform6(1.0..1000.0_f64),
        costs in prop::array::uniform5(0_u64..40),
        shared: bool,
    ) {
        let card = any_card(groups, rates, costs, shared);
        for (algorithm, operation) in operations() {
            let bytes = chunk * u64::from(groups);
            let [f0, f1, _] = times_s(&card, &algorithm, operation, bytes);
            prop_assert!((f0 - f1).abs() <= 1e-9 * f0, "{} {operation:?}: {f0} {f1}", algorithm.kind());
        }
    }

    #[test]
    fn tiles_are_never_faster_than_the_task_graph(
        groups in 2_u32..=8,
        bytes in 1_u64..=3_000_000,
        rates in prop::array::uniform6(1.0..1000.0_f64),
        costs in prop::array::uniform5(0_u64..40),
        ldm in 1_u64..=64,
        dma in (0_u64..2_000, 0_u64..4096, 1_u32..=4, any::<bool>()),
        shared: bool,
    ) {
        let mut card = any_card(groups, rates, costs, shared);
        card.compute = Compute { elements: 16, ldm: Bytes(ldm << 10), rate: None };
        let (command_ns, half, queue, double) = dma;
        let buffering = if double { Buffering::Double } else { Buffering::Single };
        card.dma = Dma { command: Duration::from_ns(command_ns), half_efficiency: Bytes(half), queue, buffering };
        for (algorithm, operation) in operations() {
            let [_, f1, f2] = times_s(&card, &algorithm, operation, bytes);
            prop_assert!(f2 >= f1 * (1.0 - 1e-9), "{} {operation:?}: {f1} {f2}", algorithm.kind());
        }
    }

    #[test]
    fn more_bandwidth_and_lower_costs_are_never_slower(
        groups in 2_u32..=8,
        bytes in 0_u64..=100_000_000,
        rates in prop::array::uniform6(1.0..1000.0_f64),
        costs in prop::array::uniform5(1_u64..40),
        which in 0_usize..11,
        shared: bool,
    ) {
        let slow = any_card(groups, rates, costs, shared);
        let (mut rates, mut costs) = (rates, costs);
        if which < 6 { rates[which] *= 1.5 } else { costs[which - 6] -= 1 }
        let fast = any_card(groups, rates, costs, shared);
        for (algorithm, operation) in operations() {
            for fidelity in [Fidelity::F0, Fidelity::F1] {
                let of = |card| time_s(card, &algorithm, operation, bytes, fidelity).unwrap();
                // unequal chunks finish at different times, and max-min sharing is then not monotone to the last digit
                prop_assert!(of(&fast) <= of(&slow) * (1.0 + 1e-6), "{} {operation:?} {fidelity:?}", algorithm.kind());
            }
        }
    }

    #[test]
    fn direct_reading_is_never_slower_than_csc_with_the_same_rates(
        groups in 2_u32..=8, chunk in 0_u64..=10_000_000, rate in 1.0..1000.0_f64, costs in prop::array::uniform5(0_u64..40),
    ) {
        let mut card = any_card(groups, [rate; 6], costs, false);
        card.bandwidth.local = Bandwidth(4e9 * rate);
        let bytes = chunk * u64::from(groups);
        for operation in [Operation::AllGather, Operation::ReduceScatter] {
            let of = |name| seconds(&card, name, operation, bytes, Fidelity::F1);
            prop_assert!(of("direct") <= of("csc") * (1.0 + 1e-12));
        }
    }
}

#[test]
fn tiles_tend_to_the_task_graph_as_they_become_small_and_commands_free() {
    let mut card = nominal(4);
    for (algorithm, operation) in operations() {
        let bytes = 64 << 20;
        let f1 = time_s(&card, &algorithm, operation, bytes, Fidelity::F1).unwrap();
        let mut last = f64::INFINITY;
        for ldm in [256_u64, 64, 16, 4, 1] {
            card.compute.ldm = Bytes(ldm << 10);
            let f2 = time_s(&card, &algorithm, operation, bytes, Fidelity::F2).unwrap();
            let excess = f2 / f1 - 1.0;
            assert!(excess <= last + 1e-12, "{} {operation:?}: {excess} after {last}", algorithm.kind());
            last = excess;
        }
        assert!((-1e-9..1e-3).contains(&last), "{} {operation:?}: {last}", algorithm.kind());
    }
}

#[test]
fn a_single_buffer_crosses_both_memories_one_after_the_other() {
    // one tile is fetched at 100 GB/s and then written at 120 GB/s: 1 / (1/100 + 1/120) = 54.5 GB/s
    let mut card = nominal(4);
    card.bandwidth.local = Bandwidth(120e9);
    card.cost = Cost {
        launch: Duration::ZERO,
        sync: Duration::ZERO,
        ring_step: Duration::ZERO,
        csc_step: Duration::ZERO,
        kernel: Duration::ZERO,
    };
    card.dma.buffering = Buffering::Single;
    let bytes = 64 << 20;
    let found =
        0.75 * bytes as f64 / seconds(&card, "csc-equation", Operation::AllGather, bytes, Fidelity::F2);
    let wanted = 1.0 / (1.0 / 100e9 + 1.0 / 120e9);
    assert!((found / wanted - 1.0).abs() < 1e-9, "{found}");
}

#[test]
fn commands_and_short_tiles_cost_what_they_say() {
    // one group of one element reads 10 tiles of 1000 bytes of its peer, single buffer, one command at a time:
    // each tile is a GET and a PUT, each after a command of 1 us, at n + 1000 bytes for n
    let mut card = nominal(2);
    card.compute = Compute { elements: 1, ldm: Bytes(1000), rate: None };
    card.bandwidth.local = Bandwidth(1e9);
    card.bandwidth.ring = Bandwidth(1e9);
    card.cost.launch = Duration::ZERO;
    card.cost.sync = Duration::ZERO;
    card.cost.csc_step = Duration::ZERO;
    card.dma = Dma {
        command: Duration::from_ns(1000),
        half_efficiency: Bytes(1000),
        queue: 1,
        buffering: Buffering::Single,
    };
    let found = seconds(&card, "direct", Operation::AllGather, 20_000, Fidelity::F2);
    let wanted = 10.0 * 2.0 * (1e-6 + 2000.0 / 1e9);
    assert!((found / wanted - 1.0).abs() < 1e-9, "{found} {wanted}");
    // two buffers of half the size and a queue of two: the wire never waits for both at once
    card.dma.buffering = Buffering::Double;
    card.dma.queue = 2;
    card.compute.ldm = Bytes(2000);
    let overlapped = seconds(&card, "direct", Operation::AllGather, 20_000, Fidelity::F2);
    assert!(overlapped < found && overlapped > 10.0 * 2e-6, "{overlapped}");
}

#[test]
fn far_reads_share_the_links_of_the_ring() {
    // in the step of distance 3 on a ring of 8, every link carries three transfers in one direction
    let mut card = nominal(8);
    card.cost = Cost {
        launch: Duration::ZERO,
        sync: Duration::ZERO,
        ring_step: Duration::ZERO,
        csc_step: Duration::ZERO,
        kernel: Duration::ZERO,
    };
    card.compute.ldm = Bytes(64);
    let bytes = 8 << 20;
    let f1 = seconds(&card, "direct", Operation::AllGather, bytes, Fidelity::F1);
    let f2 = seconds(&card, "direct", Operation::AllGather, bytes, Fidelity::F2);
    // distances 1 to 7 by the shorter way load a link 1, 2, 3, 2 (half of them each way), 3, 2, 1 times
    let wanted = f64::from(1 + 2 + 3 + 2 + 3 + 2 + 1) / 7.0;
    assert!((f2 / f1 / wanted - 1.0).abs() < 5e-3, "{}", f2 / f1);
}

#[test]
fn a_shared_bus_slows_everybody_and_global_memory_a_little_less() {
    let mut card = nominal(4);
    card.bandwidth.ring_total = Some(Bandwidth(200e9));
    let data_s = |name: &str| {
        let of = |bytes| seconds(&card, name, Operation::AllGather, bytes, Fidelity::F1);
        of(40 * MB) - of(0)
    };
    // 10 MB chunks: four at once over 200 GB/s; of Global, three quarters cross the bus
    assert!((data_s("ring") - 3.0 * 10e6 / 50e9).abs() < 1e-12);
    assert!((data_s("csc-equation") - 3.0 * 10e6 / (200e9 / 3.0)).abs() < 1e-12);
}

#[test]
fn compute_takes_its_time_on_the_group() {
    use stratasim_device::card::{Family, Schedule, Work};
    let mut card = nominal(2);
    card.compute.rate = Some(ComputeRate(1e12));
    let mut schedule = Schedule::new(2, 0, Family::Csc);
    let first = schedule.push(Work::Calculate { group: 0, flops: 1e9 }, []);
    schedule.push(Work::Calculate { group: 0, flops: 1e9 }, []);
    schedule.push(Work::Calculate { group: 1, flops: 5e8 }, [first]);
    let timeline = task_graph::run(&card, &schedule);
    // two on group 0 share it for 2 ms; the third follows on group 1
    assert!((timeline.total_s - 2.5e-3).abs() < 1e-12, "{}", timeline.total_s);
    assert_eq!(tiles::run(&card, &schedule).unwrap().total_s, timeline.total_s);
}

#[test]
fn what_does_not_fit_is_said() {
    let card = nominal(4).with_local(Bytes(1 << 30)).unwrap();
    let time = |name: &str, operation, bytes| {
        time_s(&card, &AlgorithmSpec::named(name).unwrap(), operation, bytes, Fidelity::F1)
    };
    let message = time("ring", Operation::AllGather, 1 << 31).unwrap_err().to_string();
    assert!(message.contains("needs 2 GiB of Local memory, the card has 1 GiB"), "{message}");
    let full = nominal(4).with_local(Bytes(1 << 40)).unwrap();
    let error = time_s(&full, &AlgorithmSpec::named("csc").unwrap(), Operation::AllGather, 8, Fidelity::F0)
        .unwrap_err();
    assert!(error.to_string().contains("Global memory, the card has 0 B"), "{error}");
    let message = time("csc-equation", Operation::AllReduce, 8).unwrap_err().to_string();
    assert_eq!(message, "csc-equation has no all-reduce");
    let mut tiny = nominal(4);
    tiny.compute = Compute { elements: 1, ldm: Bytes(1), rate: None };
    let error =
        time_s(&tiny, &AlgorithmSpec::named("ring").unwrap(), Operation::AllGather, 1 << 30, Fidelity::F2);
    assert_eq!(error.unwrap_err().field, "compute.ldm");
}
