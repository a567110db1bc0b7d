//! The simulator's own results, bit for bit.

use stratasim_experiment::booksim::Setup;
use stratasim_experiment::conformance::flit::{self, Selection};

use super::{SMALL, reference};

/// Every case whose name contains one of `names` gives the values of the simulator; there are `count`.
fn agrees(file: &str, names: &[&str], count: usize) {
    let Some(path) = reference(file) else { return };
    let filter = names.iter().map(|&name| name.to_owned()).collect();
    let reports = flit::run(&[path], &Selection { filter, quick: false }, &mut |_| {}).unwrap();
    assert_eq!(reports.len(), count, "{names:?}");
    for report in reports {
        assert!(report.ok, "{}: {}", report.name, report.place);
        assert!(report.compared > 10, "{}", report.name);
    }
}

#[test]
fn topologies_and_lengths_give_the_simulators_histograms() {
    agrees(
        "points.jsonl",
        &["mesh8x8_uni_L1 0.005 ", "chk_ft64_L1", "chk_torus6_3_L4 0.1 ", "chk_torus5_2_L4"],
        6,
    );
}

#[test]
fn patterns_give_the_simulators_histograms() {
    let names = [
        "mesh8x8_tornado_L1 0.02 ",
        "mesh8x8_diagonal_L1 0.02 ",
        "mesh8x8_asymmetric_L1 0.02 ",
        "mesh8x8_taper64_L1 0.02 ",
        "mesh8x8_randperm_L1 0.02 ",
        "torus8x8_bitrev_L1 0.02 ",
        "torus8x8_shuffle_L1 0.02 ",
        "torus8x8_transpose_L1 0.02 ",
        "torus8x8_bitcomp_L1 0.02 ",
        "torus8x8_neighbor_L1 0.02 ",
    ];
    agrees("points.jsonl", &names, names.len());
}

#[test]
fn routing_functions_give_the_simulators_histograms() {
    let names = [
        "mesh8x8r_xy_yx_transpose 0.05 ",
        "mesh8x8r_adaptive_xy_yx_transpose 0.05 ",
        "mesh8x8r_romm_transpose 0.05 ",
        "mesh8x8r_valiant_uniform 0.05 ",
        "mesh8x8r_planar_adapt_transpose 0.05 ",
        "torus8x8r_dim_order_bal_tornado 0.05 ",
        "torus8x8r_min_adapt_uniform 0.05 ",
        "ft64_anca_uniform 0.1 ",
    ];
    agrees("points.jsonl", &names, names.len());
}

#[test]
fn routers_give_the_simulators_histograms() {
    let names =
        ["_wtc 0.05 ", "_hold 0.05 ", "_lookahead 0.05 ", "_specalloc 0.05 ", "_isp2 0.05 ", "_int15 0.05 "];
    agrees("points.jsonl", &names, names.len());
    let names =
        ["_va2 0.05 ", "_rd2 0.05 ", "_sw2 0.05 ", "_sif 0.05 ", "_wf 0.05 ", "_loa 0.05 ", "_max 0.05 "];
    agrees("points.jsonl", &names, names.len());
}

#[test]
fn both_kernels_give_the_same_run() {
    let cases = [
        "topology = torus; routing_function = dim_order; injection_rate = 0.3; packet_size = {{1,6}};",
        "topology = torus; routing_function = dim_order_bal; injection_rate = 0.4;",
        "topology = mesh; routing_function = adaptive_xy_yx; injection_rate = 0.3;",
        "topology = fattree; k = 3; n = 3; routing_function = anca; injection_rate = 0.4; packet_size = 3;",
        "topology = fly; k = 2; n = 4; routing_function = dest_tag; injection_rate = 0.3;",
        "topology = mesh; routing_function = dim_order_pni; injection_rate = 0.3;",
        "topology = cmesh; c = 4; xr = 2; yr = 2; routing_function = dor; injection_rate = 0.2; packet_size = 2;",
        "topology = cmesh; c = 4; xr = 2; yr = 2; routing_function = xy_yx; injection_rate = 0.1;",
        "topology = flatfly; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = valiant; injection_rate = 0.2;",
        "topology = flatfly; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = ugal_xyyx; injection_rate = 0.4; packet_size = 3;",
        "topology = flatfly; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = adaptive_xyyx; traffic = tornado; injection_rate = 0.3;",
        "topology = tree4; n = 3; routing_function = nca; injection_rate = 0.2; packet_size = 4;",
        "topology = qtree; n = 3; routing_function = nca; injection_rate = 0.02;",
    ];
    for case in cases {
        let text =
            format!("{SMALL} num_vcs = 4; seed = 2; max_samples = 4; injection_rate_uses_flits = 1; {case}");
        let run = |literal| {
            let mut setup = Setup::read(&text).unwrap();
            setup.literal = literal;
            setup.run().unwrap()
        };
        let (fast, full) = (run(false), run(true));
        assert_eq!(fast.cycles, full.cycles, "{case}");
        assert_eq!(fast.flit_hops, full.flit_hops, "{case}");
        for (one, other) in fast.outcome.counters.iter().zip(&full.outcome.counters) {
            assert_eq!(one.packet, other.packet, "{case}");
            assert_eq!(one.flit, other.flit, "{case}");
            assert_eq!(one.fragmentation, other.fragmentation, "{case}");
        }
    }
}

#[test]
fn a_wrong_expectation_is_found() {
    let Some(path) = reference("points.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let line = text.lines().find(|line| line.contains("chk_ft64_L1")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("points.jsonl");
    let cycles = line.split("\"total_cycles\": ").nth(1).unwrap().split(',').next().unwrap();
    std::fs::write(&file, line.replace(&format!("\"total_cycles\": {cycles}"), "\"total_cycles\": 17"))
        .unwrap();
    let reports = flit::run(&[file], &Selection::default(), &mut |_| {}).unwrap();
    assert!(!reports[0].ok);
    assert!(reports[0].place.contains(&format!("total_cycles: {cycles} for 17")), "{}", reports[0].place);
}
