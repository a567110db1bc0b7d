//! Fits of a card to measurements: the paper's own, made-up ones, and ones that contradict each other.

use proptest::prelude::*;
use stratasim_device::card::{Card, Fidelity};
use stratasim_experiment::card;
use stratasim_experiment::card::fit::{Fit, Parameter, read_anchors};

const HEADINGS: &str = "op,algorithm,bytes,time_us,bandwidth,scope,source\n";

fn fit(card: &Card, rows: &str, free: &[&str], tolerance: f64) -> Fit {
    let free: Vec<Parameter> = free.iter().map(|name| Parameter::named(name).unwrap()).collect();
    let anchors = read_anchors(&format!("{HEADINGS}{rows}")).unwrap();
    Fit::run(card, anchors, &free, tolerance, Fidelity::F0).unwrap()
}

fn fitted(fit: &Fit, name: &str) -> f64 {
    fit.parameters.iter().find(|it| it.parameter.name() == name).unwrap().after
}

/// Tables 3 and 4: KB, communication and saved microseconds.
const TABLE_3: [(u64, f64, f64); 4] =
    [(2048, 32.0, 19.0), (4096, 55.0, 29.0), (16384, 195.0, 84.0), (32768, 356.0, 181.0)];

fn rows(op: &str, of: impl Fn(&(u64, f64, f64)) -> f64) -> String {
    TABLE_3.iter().map(|row| format!("{op},csc,{} KiB,{},,kernel,\n", row.0, of(row))).collect()
}

#[test]
fn the_ring_step_is_what_34_1_gb_per_second_need() {
    let nominal = card::load("sw-ai", &[]).unwrap();
    let fit = fit(&nominal, "all-gather,ring,8 MB,,34.1 GB/s,,\n", &["ring-step"], 0.01);
    // 8 MB / 34.1 GB/s / 3 - 25 - 15 - 20 us
    assert!((fitted(&fit, "ring-step") * 1e6 - 18.201_369).abs() < 1e-3, "{:?}", fit.parameters);
    assert!(fit.rms() < 1e-6);
}

#[test]
fn table_3_gives_the_bandwidths_of_global_and_local_memory() {
    let nominal = card::load("sw-ai", &[]).unwrap();
    let times = fit(&nominal, &rows("all-gather", |row| row.1), &["csc-step", "global"], 0.1);
    assert!((fitted(&times, "global") / 93.9e9 - 1.0).abs() < 0.002, "{:?}", times.parameters);
    assert!((fitted(&times, "csc-step") / 3.3e-6 - 1.0).abs() < 0.01, "{:?}", times.parameters);
    assert!(times.conflicts.is_empty());
    // the savings of the same rows: 8.8 us + V / 208.5 GB/s, where the 8.8 us are three steps
    let saved = rows("all-gather-saved", |row| row.2);
    let saved = fit(&nominal, &saved, &["csc-step", "local"], 0.15);
    assert!((fitted(&saved, "local") / 208.5e9 - 1.0).abs() < 0.001, "{:?}", saved.parameters);
    assert!((3.0 * fitted(&saved, "csc-step") / 8.8e-6 - 1.0).abs() < 0.005, "{:?}", saved.parameters);
}

#[test]
fn table_4_and_figure_15_contradict_each_other_and_are_named() {
    let nominal = card::load("sw-ai", &[]).unwrap();
    let rows = "reduce-scatter,ring,32 MB,,54.9 GB/s,,section 1.2\n\
                reduce-scatter,csc,2048 KiB,54,,kernel,table 4 small\n\
                reduce-scatter,csc,32768 KiB,631,,kernel,table 4\n\
                reduce-scatter,csc,32768 KiB,,65.88 GB/s,,figure 15\n";
    let it = fit(&nominal, rows, &["ring-step", "csc-step", "reduce-csc", "global"], 0.05);
    let names: Vec<Vec<&str>> =
        it.conflicts.iter().map(|set| set.iter().map(|&at| it.anchors[at].name.as_str()).collect()).collect();
    assert_eq!(names, [["table 4", "figure 15"]]);
    // the misprint of table 3 contradicts its neighbours
    let table_3 = self::rows("all-gather", |row| row.1) + "all-gather,csc,8192 KiB,200,,kernel,misprint\n";
    let it = fit(&nominal, &table_3, &["csc-step", "global"], 0.1);
    assert!(!it.conflicts.is_empty());
    assert!(it.conflicts.iter().all(|set| set.iter().any(|&at| it.anchors[at].name == "misprint")));
}

#[test]
fn what_no_measurement_depends_on_stays_and_is_said() {
    let nominal = card::load("sw-ai", &[]).unwrap();
    let rows = "all-gather,ring,8 MB,,34.1 GB/s,,\nall-gather,ring,16 MB,,50 GB/s,,\n";
    let it = fit(&nominal, rows, &["ring-step", "reduce-csc"], 0.5);
    assert_eq!(it.card.bandwidth.reduce_csc, None, "the card had none");
    let it = fit(&nominal, rows, &["ring-step", "global"], 0.5);
    let global = it.parameters[1].clone();
    assert!(!global.determined && global.after == 100e9 && it.parameters[0].determined, "{global:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]
    #[test]
    fn a_card_is_found_again_from_its_own_times(
        step_us in 1.0..30.0_f64, ring in 30.0..90.0_f64, global in 30.0..90.0_f64, csc_us in 1.0..30.0_f64,
    ) {
        let sets = [
            format!("cost.ring-step=\"{step_us} us\""), format!("cost.csc-step=\"{csc_us} us\""),
            format!("bandwidth.ring=\"{ring} GB/s\""), format!("bandwidth.global=\"{global} GB/s\""),
        ];
        let hidden = card::load("sw-ai", &sets).unwrap();
        let mut rows = String::new();
        for algorithm in ["ring", "csc"] {
            for bytes in [100_000_u64, 1_000_000, 10_000_000, 100_000_000] {
                let row = format!("all-gather,{algorithm},{bytes},1,,,");
                let anchor = &read_anchors(&format!("{HEADINGS}{row}")).unwrap()[0];
                let us = 1e6 * anchor.model_s(&hidden, Fidelity::F0).unwrap();
                rows += &format!("all-gather,{algorithm},{bytes},{us},,,\n");
            }
        }
        let nominal = card::load("sw-ai", &[]).unwrap();
        let it = fit(&nominal, &rows, &["ring-step", "csc-step", "ring", "global"], 0.01);
        let wanted = [("ring-step", step_us * 1e-6), ("csc-step", csc_us * 1e-6), ("ring", ring * 1e9), ("global", global * 1e9)];
        for (name, wanted) in wanted {
            prop_assert!((fitted(&it, name) / wanted - 1.0).abs() < 1e-3, "{name}: {:?}", it.parameters);
        }
        prop_assert!(it.conflicts.is_empty());
    }
}

#[test]
fn errors_name_the_line_and_what_is_expected() {
    let of = |text: &str| read_anchors(text).unwrap_err();
    assert!(of("op,algorthm,bytes\n").contains("did you mean `algorithm`?"));
    assert!(of("op,bytes,time_us\n").contains("the column `algorithm` is missing"));
    assert!(of(HEADINGS).contains("no measurement"));
    for (row, reason) in [
        ("allgather,ring,8 MB,1,,,", "did you mean `all-gather`?"),
        ("all-gather,rng,8 MB,1,,,", "did you mean `ring`?"),
        ("all-gather,ring,8 XB,1,,,", "bytes: `8 XB` is not an amount of data"),
        ("all-gather,ring,8 MB,,,,", "found neither"),
        ("all-gather,ring,8 MB,1,1 GB/s,,", "found both"),
        ("all-gather,ring,8 MB,-1,,,", "time_us: a number above 0 is expected, found -1"),
        ("all-gather,ring,8 MB,x,,,", "time_us: a number is expected, found `x`"),
        ("all-gather,ring,8 MB,,34,,", "the unit is missing"),
        ("all-gather,ring,8 MB,1,,kernels,", "did you mean `kernel`?"),
        ("all-gather-saved,ring,8 MB,1,,,", "csc is what is fused"),
        ("all-gather,ring,8 MB,1e300,,,", "a measurement takes 1e-12 to 1e7 seconds, found 1e294"),
        ("all-gather,ring,8 MB,1e-300,,,", "a measurement takes"),
        ("all-gather,ring,8 MB,,1e-9 B/s,,", "a measurement takes"),
        ("all-gather,ring,8 MB", "7 fields are expected, as in the headings; found 3"),
    ] {
        let message = of(&format!("{HEADINGS}# a comment\n{row}\n"));
        assert!(message.starts_with("line 3: ") && message.contains(reason), "{row}: {message}");
    }
    let twice = read_anchors("op,op,algorithm,bytes\n").unwrap_err();
    assert_eq!(twice, "line 1: the column `op` is there twice");
    assert!(Parameter::named("stepp").unwrap_err().contains("did you mean `step`?"));
    let nominal = card::load("sw-ai", &[]).unwrap();
    let refused = |free: &[&str], rows: &str| {
        let free: Vec<Parameter> = free.iter().map(|name| Parameter::named(name).unwrap()).collect();
        let anchors = read_anchors(&format!("{HEADINGS}{rows}")).unwrap();
        Fit::run(&nominal, anchors, &free, 0.1, Fidelity::F0).unwrap_err()
    };
    let one = "all-gather,ring,8 MB,1,,,\n";
    assert!(refused(&["ring", "step"], one).contains("2 free parameters need as many measurements, found 1"));
    assert!(refused(&[], one).contains("1 to 8 free parameters"));
    let two = format!("{one}{one}");
    assert!(refused(&["ring", "ring"], &two).contains("given twice"));
    assert!(refused(&["step", "ring-step"], &two).contains("at once"));
    assert!(
        refused(&["ring"], "all-reduce,csc-equation,8 MB,1,,,\n")
            .contains("line 2: csc-equation has no all-reduce")
    );
    assert!(refused(&["ring"], "all-gather,ring,80 GB,1,,,\n").contains("line 2: memory.local"));
}
