//! Fused operators and host copies against the paper's equations and between the models.

use crate::card_support::nominal;
use proptest::prelude::*;
use stratasim_core::{Bandwidth, ComputeRate, Duration};
use stratasim_device::card::closed_form::Tiers;
use stratasim_device::card::{Between, HostCopy, Operators, task_graph, tiles};

fn free_of_steps(local: f64) -> stratasim_device::card::Card {
    let mut card = nominal(4);
    card.bandwidth.local = Bandwidth(local);
    card.cost.sync = Duration::ZERO;
    card.cost.csc_step = Duration::ZERO;
    card
}

const DATA_ONLY: Operators = Operators {
    between: Between::AllGather,
    bytes: 8_000_000,
    first_flops: 0.0,
    second_flops: 0.0,
    keep_local: false,
};

#[test]
fn the_schedules_are_equations_9_and_10() {
    let card = free_of_steps(160e9);
    let tiers = Tiers { groups: 4.0, local: 160e9, global: 100e9, launch_s: 25e-6 };
    let unfused = task_graph::run(&card, &DATA_ONLY.unfused(4)).total_s;
    let fused = task_graph::run(&card, &DATA_ONLY.fused(4)).total_s;
    assert!((unfused / tiers.unfused_s(2e6) - 1.0).abs() < 1e-9, "{unfused}");
    assert!((fused / tiers.fused_s(2e6) - 1.0).abs() < 1e-9, "{fused}");
    assert!((unfused - fused - (8e6 / 160e9 + 25e-6)).abs() < 1e-12, "4 V / BW_LOCAL + t_LAUNCH");
}

#[test]
fn equation_11_has_50_percent_only_when_local_memory_is_slower_than_the_ring() {
    let gain = |local| Tiers { groups: 4.0, local, global: 100e9, launch_s: 25e-6 }.fusion_gain();
    assert!((gain(75e9) - 0.5).abs() < 1e-12);
    assert!((gain(180e9) - 0.327_869).abs() < 1e-6);
    let with =
        Tiers { groups: 4.0, local: 75e9, global: 100e9, launch_s: 25e-6 }.fusion_gain_with_launches(2e6);
    assert!((with - 0.456_647).abs() < 1e-6, "{with}");
}

#[test]
fn calculations_hide_data_and_data_hide_calculations() {
    let mut card = free_of_steps(160e9);
    card.compute.rate = Some(ComputeRate(1e12));
    let total = |operators: Operators| task_graph::run(&card, &operators.fused(4)).total_s;
    let data_only = total(DATA_ONLY);
    // the second operator reads for 6e6 / 1e11 + 2e6 / 1.6e11 = 72.5 us
    let hidden = total(Operators { second_flops: 72e6, ..DATA_ONLY });
    assert!((hidden - data_only).abs() < 1e-15, "{hidden}");
    let longer = total(Operators { second_flops: 172.5e6, ..DATA_ONLY });
    assert!((longer - data_only - 100e-6).abs() < 1e-12, "{longer}");
    // a copy kept in Local memory is hidden under either
    let kept = total(Operators { second_flops: 172.5e6, keep_local: true, ..DATA_ONLY });
    assert!((kept - longer).abs() < 1e-15, "{kept}");
}

#[test]
fn a_group_alone_writes_nothing_to_global_memory() {
    let mut card = nominal(1);
    card.bandwidth.global = Bandwidth(1e9);
    let it = Operators { bytes: 594_975, ..DATA_ONLY };
    let total = task_graph::run(&card, &it.fused(1)).total_s;
    assert!((total / it.fused_s(&card) - 1.0).abs() < 1e-9, "{total}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn models_agree_on_operators_and_fusion_never_loses(
        groups in 1_u32..=8,
        shard in 0_u64..=4_000_000,
        flops in (0.0..1e9_f64, 0.0..1e9_f64),
        rates in prop::array::uniform3(1.0..1000.0_f64),
        keep_local: bool,
        adds: bool,
    ) {
        let mut card = nominal(groups);
        card.compute.rate = Some(ComputeRate(1e12));
        let between = if adds { Between::ReduceScatter } else { Between::AllGather };
        let [global, local, reduce] = rates.map(|rate| Bandwidth(rate * 1e9));
        (card.bandwidth.global, card.bandwidth.local, card.bandwidth.reduce_csc) = (global, local, Some(reduce));
        let bytes = shard * u64::from(groups);
        let it = Operators { between, bytes, first_flops: flops.0, second_flops: flops.1, keep_local };
        for (f0, schedule) in [(it.unfused_s(&card), it.unfused(groups)), (it.fused_s(&card), it.fused(groups))] {
            let f1 = task_graph::run(&card, &schedule).total_s;
            let f2 = tiles::run(&card, &schedule).unwrap().total_s;
            prop_assert!((f0 - f1).abs() <= 1e-9 * f0, "{f0} {f1}");
            prop_assert!(f2 >= f1 * (1.0 - 1e-9), "{f1} {f2}");
        }
        prop_assert!(it.fused_s(&card) <= it.unfused_s(&card) * (1.0 + 1e-12));
    }
}

#[test]
fn three_tiers_are_two_and_a_half_times_as_fast_when_the_groups_copy_in_turn() {
    let card = nominal(4);
    let seconds = |way: HostCopy| way.seconds(&card, 1 << 30);
    let gain = |way| seconds(HostCopy::TwoTiers) / seconds(way);
    assert!((gain(HostCopy::ThreeTiersInTurn) - 2.5).abs() < 1e-9, "figure 12");
    assert!((gain(HostCopy::ThreeTiersAtOnce) - 4.0 / 1.15).abs() < 1e-9);
}
