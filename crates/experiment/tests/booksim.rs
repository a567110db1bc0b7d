//! BookSim2's configurations: the simulator's own results, closed forms, and mistakes in files.

use std::path::{Path, PathBuf};

use stratasim_experiment::booksim::control::Verdict;
use stratasim_experiment::booksim::statistics::{Counters, Printed};
use stratasim_experiment::booksim::text::{assignments, call, entries};
use stratasim_experiment::booksim::traffic::{Pattern, Process};
use stratasim_experiment::booksim::{Experiment, Setup};
use stratasim_experiment::conformance::flit::{self, Selection};
use stratasim_experiment::traffic::Subject as _;
use stratasim_net::flit::booksim::knuth::{Chance, Knuth};
use stratasim_report::result::RunResult;

/// A reference file, or `None` with a word about it.
fn reference(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/flit").join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    }
    Some(path)
}

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

/// Histogram of packet latencies of a full mesh with some options.
fn packet_bins(options: &str) -> Vec<u64> {
    let text = format!(
        "topology = mesh; k = 4; n = 2; routing_function = min_adapt; num_vcs = 4; vc_buf_size = 4; packet_size = 5; \
         traffic = uniform; sim_type = throughput; sample_period = 1000; max_samples = 3; seed = 3; \
         injection_rate = 0.09; {options}"
    );
    let run = Setup::read(&text).unwrap_or_else(|error| panic!("{options}: {error}")).run().unwrap();
    assert_eq!(run.violations, Vec::<String>::new(), "{options}");
    run.outcome.counters[0].packet.bins.clone()
}

#[test]
fn a_router_that_never_guesses_is_one_without_speculation() {
    // credits are looked at only where channels are, so asking for the one without the other is asking for nothing
    let never = "speculative = 1; spec_check_elig = 0; spec_check_cred = 1;";
    let plain = packet_bins("");
    assert!(packet_bins(never) == plain);
    assert!(packet_bins("speculative = 1;") != plain);
}

#[test]
fn rules_of_requests_change_who_wins_and_lose_nothing() {
    let own = "speculative = 1; spec_sw_allocator = islip; ";
    let select = "vc_allocator = select; ";
    for (without, with) in [
        (String::new(), "vc_busy_when_full = 1;"),
        (String::new(), "vc_shuffle_requests = 1;"),
        (select.to_owned(), "vc_prioritize_empty = 1;"),
        (own.to_owned(), "spec_mask_by_reqs = 1;"),
        (own.to_owned(), "spec_check_cred = 0;"),
        (own.to_owned(), "spec_check_elig = 0; spec_check_cred = 0;"),
        ("speculative = 1; spec_sw_allocator = islip;".to_owned(), "spec_sw_allocator = wavefront;"),
    ] {
        let changed = packet_bins(&format!("{without}{with}")) != packet_bins(&without);
        assert!(changed, "{without}{with}");
    }
    assert!(packet_bins("vc_prioritize_empty = 1;") == packet_bins(""), "islip heeds no priorities");
}

#[test]
fn a_virtual_channel_can_come_with_the_switch() {
    let guess = "speculative = 1; ";
    let piggyback = "vc_allocator = piggyback; ";
    for own in ["", "spec_sw_allocator = islip; ", "output_speedup = 2; ", "routing_delay = 0; "] {
        assert!(packet_bins(&format!("{guess}{own}{piggyback}")) != packet_bins(&format!("{guess}{own}")));
    }
    // there is no stage of its own that could take longer
    let longer = format!("{guess}{piggyback} vc_alloc_delay = 3;");
    assert!(packet_bins(&longer) == packet_bins(&format!("{guess}{piggyback}")));
    assert!(message(&format!("{SMALL} {piggyback}")).contains("`speculative = 1` is expected"));
    assert!(message(&format!("{SMALL} sw_allocator = piggyback;")).contains("found `piggyback`"));
}

#[test]
fn arbiters_can_be_trees_of_arbiters() {
    let with = |arbiter: &str| format!("sw_allocator = separable_input_first({arbiter});");
    let matrix = packet_bins(&with("matrix"));
    assert!(packet_bins(&with("tree(1,matrix)")) == matrix);
    assert!(packet_bins(&with("tree( 5, matrix )")) == matrix, "groups of one are a matrix among them");
    for wrong in ["tree", "tree(5)", "tree(five,matrix)", "tree(5,tree(5,matrix))", "tree(5,matrix"] {
        let refused = message(&format!("{SMALL} {}", with(wrong)));
        assert!(refused.contains("sw_allocator"), "{wrong}: {refused}");
    }
    // inputs have a VC each at the outputs of the VC allocator, in groups of one input each here
    let vcs = |arbiter: &str| packet_bins(&format!("vc_allocator = separable_output_first({arbiter});"));
    assert!(vcs("tree(5,round_robin)") != vcs("round_robin"));
}

#[test]
fn priorities_decide_and_lose_nothing() {
    let classes = "classes = 2; class_priority = {1,7}; injection_rate = {0.05,0.04}; packet_size = {5,2};";
    let mut seen = vec![packet_bins(classes)];
    for priority in ["class", "age", "network_age", "local_age", "queue_length", "hop_count", "sequence"] {
        let bins = packet_bins(&format!("{classes} priority = {priority};"));
        assert!(!seen.contains(&bins), "{priority}");
        seen.push(bins);
        let donated = packet_bins(&format!("{classes} priority = {priority}; vc_priority_donation = 1;"));
        // the first flit of a queue is the one that came first, and has the length of its queue
        let same = matches!(priority, "local_age" | "queue_length");
        assert_eq!(donated == seen[seen.len() - 1], same, "{priority}");
    }
    assert!(
        packet_bins(&format!("{classes} vc_priority_donation = 1;")) == seen[0],
        "there is none to donate"
    );
    assert!(
        message(&format!("{SMALL} priority = high;")).contains("found `high`; expected none, class, age")
    );
}

#[test]
fn policies_of_buffers_are_each_other_at_their_edges() {
    let same = |one: &str, other: &str| assert!(packet_bins(one) == packet_bins(other), "{one} {other}");
    let shared = "buffer_policy = shared;";
    // all places belong to one virtual channel each
    same("", "buffer_policy = shared; private_buf_size = -1;");
    same("", "buffer_policy = feedback; private_buf_size = 4; feedback_offset = 4000;");
    // limits that nobody reaches
    same(shared, "buffer_policy = limited;");
    same(shared, "buffer_policy = limited; max_held_slots = 13;");
    same(shared, "buffer_policy = feedback; feedback_offset = 4000;");
    same(shared, "buffer_policy = simplefeedback; feedback_offset = 4000;");
    // the defaults, said
    same(
        shared,
        "buffer_policy = shared; buf_size = 16; private_bufs = 4; private_buf_size = {1,1}; \
         private_buf_start_vc = {0,1,2,3}; private_buf_end_vc = {0,1,2,3};",
    );
    // the least that feedback can grant
    same(
        "buffer_policy = limited; max_held_slots = 1;",
        "buffer_policy = feedback; feedback_offset = -4000; private_buf_size = 1; buf_size = 16;",
    );
    same("buffer_policy = dynamic; num_vcs = 2;", "buffer_policy = shifting; num_vcs = 2;");
}

#[test]
fn policies_of_buffers_lose_nothing_and_differ() {
    let mut seen = vec![packet_bins("")];
    for policy in [
        "shared;",
        "shared; buf_size = 11;",
        "shared; private_bufs = 2; private_buf_size = 3;",
        "shared; private_bufs = 2; private_buf_size = {6,2}; private_buf_start_vc = {0,1}; private_buf_end_vc = {0,3};",
        // virtual channels 2 and 3 are in no part
        "shared; private_bufs = 1; private_buf_size = 4; private_buf_start_vc = 0; private_buf_end_vc = 1;",
        "limited; max_held_slots = 5;",
        "limited; max_held_slots = 3;",
        "dynamic;",
        "shifting;",
        "feedback;",
        "feedback; feedback_aging_scale = 3;",
        "feedback; feedback_offset = -6;",
        "simplefeedback;",
        "feedback; routing_delay = 0; speculative = 1; vc_allocator = piggyback;",
        "dynamic; wait_for_tail_credit = 1;",
        "simplefeedback; wait_for_tail_credit = 1; internal_speedup = 1.5;",
    ] {
        let bins = packet_bins(&format!("buffer_policy = {policy}"));
        assert!(!seen.contains(&bins), "{policy}");
        seen.push(bins);
    }
}

#[test]
fn buffers_that_cannot_be_are_refused() {
    for (options, expected) in [
        ("num_vcs = 4; buf_size = 3;", "`buf_size`: 3 flits for 4 virtual channels: none has a place"),
        ("buffer_policy = own;", "`buffer_policy`: found `own`; expected private, shared, limited"),
        ("buffer_policy = shared; private_bufs = 3;", "`private_bufs`: found 3, expected -1 to 2"),
        ("buffer_policy = shared; private_buf_size = 9;", "18 flits in a buffer of 16"),
        (
            "buffer_policy = shared; private_buf_start_vc = {0,0};",
            "[0, 1] has virtual channels of another part",
        ),
        ("buffer_policy = shared; private_buf_start_vc = 1;", "1 values for 2 parts"),
        ("buffer_policy = shared; private_buf_end_vc = {0,2};", "[1, 2]; the virtual channels are 0 to 1"),
        (
            "buffer_policy = shared; private_buf_size = {16,0};",
            "virtual channels without a place of their own",
        ),
        ("buffer_policy = limited; max_held_slots = 0;", "`max_held_slots`: 0 flits; 1 or more"),
        (
            "buffer_policy = feedback; feedback_aging_scale = 40;",
            "`feedback_aging_scale`: found 40, expected 0 to 16",
        ),
    ] {
        let message = message(&format!("{SMALL} {options}"));
        assert!(message.contains(expected), "{options}: {message}");
    }
}

/// A run of a mesh with queues for the outputs of the next router, or without.
fn by_next_output(noq: u32, options: &str) -> Vec<Vec<u64>> {
    everything(&format!(
        "{SMALL} routing_delay = 0; num_vcs = 10; noq = {noq}; packet_size = 4; injection_rate = 0.1; seed = 2; \
         max_samples = 4; {options}"
    ))
}

#[test]
fn queues_for_the_outputs_of_the_next_router_change_waiting_only() {
    for options in [
        "",
        "traffic = transpose; injection_rate = 0.04;",
        "routing_function = xy_yx;",
        "topology = torus; routing_function = dim_order;",
        "topology = fattree; routing_function = anca; num_vcs = 16;",
        "use_read_write = 1; num_vcs = 20; read_request_begin_vc = 0; read_request_end_vc = 9; write_request_begin_vc = 0; \
         write_request_end_vc = 9; read_reply_begin_vc = 10; read_reply_end_vc = 19; write_reply_begin_vc = 10; \
         write_reply_end_vc = 19; injection_rate = 0.02;",
    ] {
        let (with, without) = (by_next_output(1, options), by_next_output(0, options));
        assert!(with != without, "{options}");
        // as many packets, over as many routers
        let mean = |all: &[Vec<u64>]| {
            let hops = &all[5];
            let sum: u64 = hops.iter().zip(0..).map(|(count, hops)| count * hops).sum();
            sum as f64 / hops.iter().sum::<u64>() as f64
        };
        assert!((mean(&with) - mean(&without)).abs() < 0.15, "{options}");
    }
    for (text, expected) in [
        ("noq = 1; num_vcs = 10;", "`routing_delay = 0` is expected"),
        (
            "noq = 1; routing_delay = 0;",
            "5 outputs, for each of which `dor` needs 1 virtual channels: there are 2",
        ),
        ("noq = 1; routing_delay = 0; num_vcs = 10; routing_function = min_adapt;", "offers several outputs"),
    ] {
        let message = message(&format!("{SMALL} {text}"));
        assert!(message.contains(expected), "{text}: {message}");
    }
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

/// Every histogram and count of a run.
fn everything(text: &str) -> Vec<Vec<u64>> {
    let run = Setup::read(text).unwrap_or_else(|error| panic!("{text}: {error}")).run().unwrap();
    assert_eq!(run.violations, Vec::<String>::new(), "{text}");
    let outcome = run.outcome;
    let mut all = vec![vec![run.cycles, run.flit_hops, outcome.deadlock_warnings, outcome.sample_periods]];
    for counters in &outcome.counters {
        let samples =
            [&counters.packet, &counters.network, &counters.flit, &counters.fragmentation, &counters.hops];
        all.extend(samples.map(|samples| samples.bins.clone()));
        all.extend(
            [&counters.sent_flits, &counters.accepted_flits, &counters.accepted_packets].map(Clone::clone),
        );
    }
    all
}

const READ_WRITE: &str = "num_vcs = 4; use_read_write = 1; injection_rate = 0.03; packet_size = 1; \
     read_request_begin_vc = 0; read_request_end_vc = 1; write_request_begin_vc = 0; write_request_end_vc = 1; \
     read_reply_begin_vc = 2; read_reply_end_vc = 3; write_reply_begin_vc = 2; write_reply_end_vc = 3; \
     read_reply_size = 5; write_request_size = 5; seed = 3; max_samples = 20;";

#[test]
fn a_network_beside_another_that_nobody_uses_is_as_if_alone() {
    for network in [
        "",
        "topology = flatfly; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = ugal; num_vcs = 8;",
        "routing_delay = 0; routing_function = romm;",
    ] {
        let alone = format!("{SMALL} {READ_WRITE} {network}");
        let mut literal = Setup::read(&alone).unwrap();
        literal.literal = true;
        for subnet in 0..3 {
            let places = ["read_request", "write_request", "read_reply", "write_reply"]
                .map(|message| format!("{message}_subnet = {subnet};"))
                .join(" ");
            let beside = format!("{alone} subnets = 3; {places}");
            assert_eq!(everything(&alone), everything(&beside), "{beside}");
        }
    }
}

#[test]
fn networks_side_by_side_share_the_packets_of_each_node() {
    let run = |subnets: u32| {
        let text = format!(
            "{SMALL} subnets = {subnets}; injection_rate = 0.05; packet_size = 4; sample_period = 2000; seed = 4;"
        );
        Setup::read(&text).unwrap().run().unwrap()
    };
    let (one, four) = (run(1), run(4));
    assert_eq!(four.violations, Vec::<String>::new());
    let routers = one.fabric.router_count();
    assert_eq!(four.fabric.router_count(), 4 * routers);
    // a node makes one packet after the other, wherever they go, and each network has a quarter of them
    let loads: Vec<u64> = (0..4)
        .map(|copy| {
            let size = four.fabric.stride() * routers;
            four.channel_flits[copy * size..(copy + 1) * size].iter().sum()
        })
        .collect();
    let mean = four.flit_hops as f64 / 4.0;
    assert!(loads.iter().all(|&load| (load as f64 / mean - 1.0).abs() < 0.06), "{loads:?}");
    let [one, four] = [one, four].map(|run| run.outcome.classes[0]);
    assert!((one.accepted_flits.mean - four.accepted_flits.mean).abs() < 0.012);
    assert!(four.network.mean < one.network.mean, "{} {}", four.network.mean, one.network.mean);
}

#[test]
fn a_packet_alone_in_a_dragonfly_takes_the_closed_form() {
    // 4 + 3 H cycles in terminals' channels and routers, 11 per local channel and 101 for the global one
    let text = "topology = dragonflynew; k = 2; n = 1; routing_function = min; num_vcs = 2; traffic = uniform; \
                injection_rate = 0.0001; sample_period = 20000; seed = 2;";
    let run = Setup::read(text).unwrap().run().unwrap();
    assert_eq!((run.fabric.router_count(), run.fabric.terminals().len()), (36, 72));
    let counters = &run.outcome.counters[0];
    let possible = [4 + 3, 4 + 6 + 11, 4 + 6 + 101, 4 + 9 + 101 + 11, 4 + 12 + 101 + 22];
    let found: Vec<usize> = (0..1000).filter(|&cycles| counters.network.bins[cycles] > 0).collect();
    assert_eq!(found, possible);
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

const SMALL: &str =
    "topology = mesh; k = 4; n = 2; routing_function = dor; num_vcs = 2; sample_period = 200;";

#[test]
fn a_packet_alone_takes_the_closed_form() {
    // 2 + 5 H + (L - 1) cycles through H routers of a mesh, 1 + 6 H + (L - 1) of a torus
    for (network, add, per_hop) in [(SMALL, 2, 5), ("topology = torus; routing_function = dim_order;", 1, 6)]
    {
        for flits in [1, 4] {
            let text = format!(
                "{SMALL} {network} packet_size = {flits}; injection_rate = 0.0005; seed = 5; traffic = neighbor;\
                 sample_period = 2000; warmup_periods = 1;"
            );
            let run = Setup::read(&text).unwrap().run().unwrap();
            assert_eq!(run.violations, Vec::<String>::new());
            let counters = &run.outcome.counters[0];
            let hops: Vec<u64> = (0..20).filter(|&hops| counters.hops.bins[hops as usize] > 0).collect();
            let latencies: Vec<u64> =
                (0..1000).filter(|&cycles| counters.network.bins[cycles as usize] > 0).collect();
            let expected: Vec<u64> = hops.iter().map(|hops| add + per_hop * hops + flits - 1).collect();
            assert!(!hops.is_empty());
            assert_eq!(latencies, expected, "{network} {flits}");
        }
    }
}

#[test]
fn requests_are_answered() {
    let text = format!(
        "{SMALL} num_vcs = 4; use_read_write = 1; injection_rate = 0.02; write_fraction = 0.25; \
         read_request_begin_vc = 0; read_request_end_vc = 1; write_request_begin_vc = 0; write_request_end_vc = 1; \
         read_reply_begin_vc = 2; read_reply_end_vc = 3; write_reply_begin_vc = 2; write_reply_end_vc = 3; \
         read_reply_size = 5; write_request_size = 5; seed = 3; max_samples = 20;"
    );
    let run = Setup::read(&text).unwrap().run().unwrap();
    assert_eq!(run.outcome.verdict, Verdict::Stable);
    // a request and its reply have 6 flits together, whichever of the two carries the data
    let printed = &run.outcome.classes[0];
    assert!((printed.accepted_size - 3.0).abs() < 0.2, "{}", printed.accepted_size);
    assert!((printed.accepted_packets.mean - 0.04).abs() < 0.004, "{}", printed.accepted_packets.mean);
    assert_eq!(run.violations, Vec::<String>::new());
}

#[test]
fn classes_have_rates_sizes_and_statistics_of_their_own() {
    let text = format!(
        "{SMALL} classes = 2; injection_rate = {{0.02,0.01}}; packet_size = {{1,{{4,8}}}}; packet_size_rate = {{1,{{1,3}}}}; \
         traffic = {{uniform,transpose}}; sample_period = 2000; seed = 1;"
    );
    let run = Setup::read(&text).unwrap().run().unwrap();
    let [one, other] = &run.outcome.classes[..] else { panic!("two classes") };
    assert!((one.injected_packets.mean - 0.02).abs() < 0.002);
    assert!((other.injected_packets.mean - 0.01).abs() < 0.0015);
    assert_eq!(one.injected_size, 1.0);
    assert!((other.injected_size - 7.0).abs() < 0.3, "{}", other.injected_size);
}

#[test]
fn flits_per_packet_of_several_simulations_are_those_of_all_packets() {
    let printed = |packets: u64, flits: u64| {
        let mut counters = Counters::new(1);
        (counters.sent_packets, counters.sent_flits) = (vec![packets], vec![flits]);
        (counters.accepted_packets, counters.accepted_flits) = (vec![packets], vec![flits]);
        counters.printed(1000, 0)
    };
    let mean = Printed::mean(&[printed(10, 10), printed(20, 60)]);
    assert!((mean.injected_size - 70.0 / 30.0).abs() < 1e-12, "{}", mean.injected_size);
    assert!((mean.accepted_size - 70.0 / 30.0).abs() < 1e-12, "{}", mean.accepted_size);
}

#[test]
fn a_batch_sends_its_packets_and_ends() {
    let text =
        format!("{SMALL} sim_type = batch; batch_size = 50; batch_count = 3; max_outstanding_requests = 2;");
    let run = Setup::read(&text).unwrap().run().unwrap();
    assert_eq!(run.outcome.batches.len(), 3);
    let sent: u64 = run.outcome.counters[0].sent_packets.iter().sum();
    assert_eq!(sent, 16 * 50 * 3);
    // two packets outstanding, each of 7 cycles at least
    assert!(run.outcome.batches.iter().all(|&cycles| cycles >= 50 / 2 * 7), "{:?}", run.outcome.batches);
    assert_eq!(run.outcome.total_cycles, Some(run.outcome.batches.iter().sum::<u64>().max(run.cycles)));
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_does_not() {
    let run = |seed: u32| {
        let text = format!("{SMALL} injection_rate = 0.1; seed = {seed};");
        Setup::read(&text).unwrap().run().unwrap().outcome.counters[0].packet.bins.clone()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn an_overload_is_unstable() {
    let text = format!("{SMALL} injection_rate = 0.9; seed = 1; traffic = transpose; latency_thres = 100.0;");
    let run = Setup::read(&text).unwrap().run().unwrap();
    assert_ne!(run.outcome.verdict, Verdict::Stable);
    assert_eq!(run.outcome.total_cycles, None);
}

#[test]
fn permutations_are_permutations() {
    let tables = [
        Pattern::random_permutation(64, 7),
        Pattern::digits_moved(64, 4, 3, 1),
        Pattern::digits_moved(125, 5, 3, 2),
    ];
    for pattern in tables {
        let Pattern::Table(mut table) = pattern else { panic!("a table") };
        table.sort_unstable();
        assert!(table.iter().enumerate().all(|(index, &dest)| dest == index as u32));
    }
    // moving every digit by one and by k - 1 are inverse
    let (Pattern::Table(one), Pattern::Table(back)) =
        (Pattern::digits_moved(27, 3, 3, 1), Pattern::digits_moved(27, 3, 3, 2))
    else {
        panic!("tables")
    };
    assert!((0..27).all(|node| back[one[node as usize] as usize] == node));
}

#[test]
fn weights_of_hot_spots_are_heeded() {
    let pattern = Pattern::HotSpot { weights: vec![(3, 1), (5, 0), (9, 3)], total: 4 };
    let mut knuth = Knuth::new(1);
    let mut counts = [0u32; 16];
    (0..4000).for_each(|_| counts[pattern.dest(0, 16, &mut knuth) as usize] += 1);
    assert_eq!(counts[3] + counts[9], 4000);
    assert!(counts[3].abs_diff(1000) < 100, "{counts:?}");
}

#[test]
fn on_off_has_the_rate_of_its_chain() {
    // on in alpha / (alpha + beta) of all cycles, and a packet in half of those
    let (alpha, beta) = (0.02, 0.06);
    let mut process = Process::OnOff {
        alpha: Chance::new(alpha),
        beta: Chance::new(beta),
        packet: Chance::new(0.5),
        initial: vec![false],
        on: vec![false],
    };
    let mut knuth = Knuth::new(9);
    let made = (0..400_000).filter(|_| process.makes(0, &mut knuth)).count() as f64 / 400_000.0;
    assert!((made - 0.125).abs() < 0.004, "{made}");
}

#[test]
fn texts_are_read_with_comments_and_lists() {
    let list =
        assignments("// all of it\nk = 8; n=2; // two\n\ntraffic = hotspot({{0,1},\n {3,1}});").unwrap();
    let values: Vec<_> = list.iter().map(|one| (one.name.as_str(), one.value.as_str(), one.line)).collect();
    assert_eq!(values, [("k", "8", 2), ("n", "2", 2), ("traffic", "hotspot({{0,1},  {3,1}})", 4)]);
    assert_eq!(entries("{a,{b,c}}").unwrap(), ["a", "{b,c}"]);
    assert_eq!(call("randperm(7)").unwrap(), ("randperm", vec!["7"]));
    assert_eq!(call("hotspot({{0,1},{3,1}})").unwrap(), ("hotspot", vec!["{0,1}", "{3,1}"]));
    assert_eq!(call("on_off({0.1,0.2,-1})").unwrap(), ("on_off", vec!["0.1", "0.2", "-1"]));
    assert_eq!(call("on_off(0.1,0.2,-1)").unwrap(), ("on_off", vec!["0.1"]));
    let one_list = call("hotspot({0,5},{1,1})").unwrap_err();
    assert!(one_list.contains("hotspot({{0,5},{1,1}})"), "{one_list}");
}

/// The message about a configuration.
fn message(text: &str) -> String {
    Setup::read(text).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, expected) in [
        ("k = 8;\nnum_vc = 4;", "line 2: there is no option `num_vc`; did you mean `num_vcs`?"),
        ("k = 8;\n\nn = 2", "line 3: `n = 2` has no `;` at its end"),
        ("k 8;", "line 1: found `k 8`; expected `name = value;`"),
        ("k = ;", "line 1: `k` has no value"),
        ("k = eight;", "line 1: `k`: found `eight`, expected a whole number"),
        ("topology = ring;", "line 1: `topology`: found `ring`; topologies are mesh, torus, cmesh, fly"),
        ("topology = mesh; routing_function = nca;", "functions of the topology `mesh` are dor"),
        (
            "topology = torus; routing_function = valiant; num_vcs = 2;",
            "`valiant` needs 4 virtual channels, there are 2",
        ),
        (
            "topology = mesh; routing_function = dor;\ntraffic = storm;",
            "line 2: `traffic`: found `storm`; patterns are uniform",
        ),
        (
            "topology = mesh; routing_function = dor; k = 3; traffic = bitcomp;",
            "bitcomp needs a power of two, the network has 9 nodes",
        ),
        (
            "topology = mesh; routing_function = dor; n = 1; traffic = transpose;",
            "transpose needs a power of four",
        ),
        ("topology = mesh; routing_function = dor; injection_rate = 1.5;", "1.5 packets per node and cycle"),
        (
            "topology = mesh; routing_function = dor; k = 4000;",
            "4000^2 routers; at most 1048576 are possible",
        ),
        (
            "topology = mesh; routing_function = dor; k = 2; n = 20;",
            "`n`: 1048576 routers of up to 41 ports; at most 16777216",
        ),
        (
            "topology = fattree; routing_function = nca; k = 2; n = 20;",
            "`n`: 10485760 routers of up to 4 ports",
        ),
        (
            "topology = flatfly; routing_function = ran_min; k = 1000; n = 2; x = 1000; y = 1000;",
            "routers of up to 1999 ports",
        ),
        (
            "topology = mesh; routing_function = dor; k = 1000; num_vcs = 8;",
            "40000000 virtual channels at the inputs of 1000000 routers; at most 16777216 are possible",
        ),
        ("topology = mesh; routing_function = dor; num_vcs = 64;", "`num_vcs`: found 64, expected 1 to 32"),
        (
            "topology = mesh; routing_function = dor; vc_allocator = best;",
            "found `best`; allocators are islip(i)",
        ),
        ("topology = mesh; routing_function = dor; subnets = 99;", "`subnets`: found 99, expected 1 to 32"),
        (
            "topology = mesh; routing_function = dor; subnets = 2; hold_switch_for_packet = 1;",
            "where BookSim2 stops at an assertion",
        ),
        (
            "topology = mesh; routing_function = dor; read_reply_subnet = 1;",
            "`read_reply_subnet`: found 1, expected 0 to 0",
        ),
        (
            "topology = mesh; routing_function = dim_order_ni; k = 5;",
            "needs 25 virtual channels, there are 16",
        ),
        ("topology = cmesh; routing_function = dor;", "found 1; `cmesh` has 4 terminals per router"),
        ("topology = cmesh; c = 4; routing_function = dor;", "and `xr` times `yr` is 1"),
        (
            "topology = cmesh; c = 4; xr = 2; yr = 2; k = 5; routing_function = dor;",
            "an even number is expected",
        ),
        ("topology = flatfly; x = 7; y = 7; routing_function = ran_min;", "do not hold all 64 in whole rows"),
        (
            "topology = flatfly; n = 5; k = 2; routing_function = ran_min;",
            "5 dimensions; 1 to 4 are possible",
        ),
        ("topology = dragonflynew; k = 2; routing_function = min;", "`dragonflynew` have one dimension: 1"),
        ("topology = dragonflynew; k = 2; n = 1; routing_function = ugal;", "exactly 3 virtual channels"),
        ("topology = tree4; routing_function = nca;", "`tree4` has k = 4 and n = 3 only"),
        ("topology = anynet; routing_function = min;", "`anynet` needs the file"),
        ("topology = anynet;\nnetwork_file = not/there;", "line 2: `network_file`: not/there: "),
        (
            "topology = mesh; routing_function = dor; xr = 2; traffic = tornado;",
            "tornado leads out of the network",
        ),
        ("router = chaos;", "`router` can only be iq here"),
        (
            "packet_size = {{1,0}}; topology = mesh; routing_function = dor;",
            "found 0, expected 1 to 16,384 flits",
        ),
        (
            "traffic = hotspot({{0,99}}); topology = mesh; routing_function = dor;",
            "node 99; the network has nodes 0 to 63",
        ),
        ("traffic = hotspot({{0,9}; topology = mesh; routing_function = dor;", "is not closed"),
        (
            "topology = mesh; routing_function = dor; injection_process = on_off({0.1,0.2,0.5});",
            "alpha 0.1, beta 0.2, r1 0.5; the load gives one of them, which is negative",
        ),
        (
            "topology = mesh; routing_function = dor; use_read_write = 1; read_reply_begin_vc = 14;",
            "`read_reply_end_vc`: found 13, and the first one is 14",
        ),
    ] {
        let message = message(text);
        assert!(message.contains(expected), "{text}: {message:?} lacks {expected:?}");
    }
}

#[test]
fn mistakes_in_network_files_are_named_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = "topology = anynet; routing_function = min; network_file = net;";
    let read = |file: &str| {
        std::fs::write(folder.path().join("net"), file).unwrap();
        Setup::read_in(text, folder.path()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read("router 0 node 0 router 1\nrouter 1 node 1\n"), Ok(()));
    for (file, expected) in [
        ("", "there is no node in it"),
        ("router 0 nodes 0", "line 1: found `nodes`, expected `router` or `node`"),
        ("\nrouter", "line 2: expected `router N` or `node N` first"),
        ("router 0 node", "line 1: expected a number behind the last word"),
        ("router 0 node -1", "line 1: found `-1`, expected a number below"),
        ("router 0 node 0 router 1 0", "line 1: found `0`, expected a latency of 1 to"),
        ("router 0 node 0\nrouter 1 node 0", "line 2: node 0 is at router 0 and at router 1"),
        ("node 0 node 1", "line 1: node 0 is joined to node 1"),
        ("router 0 node 1", "there is no node 0"),
        ("router 0 node 0 router 2", "there is no router 1"),
        ("router 0 node 0\nrouter 1 node 1", "router 1 is not connected with router 0"),
        (
            "router 0 node 0 router 1\nrouter 1 router 2\nrouter 0 node 2 5 node 1",
            "a latency stands behind `node 2` of router 0",
        ),
        ("node 0 router 0 5", "takes it for a second place of node 0"),
        ("node 5000000 router 0", "found `5000000`"),
    ] {
        let found = read(file).err().unwrap_or_default();
        assert!(found.contains(expected), "{file:?}: {found:?} lacks {expected:?}");
    }
}

#[test]
fn hostile_texts_are_refused_without_a_panic() {
    for text in [
        "=;",
        ";;;",
        "k = 99999999999999999999;",
        "k = -1;",
        "k = {};",
        "n = 20; k = 1048576;",
        "topology = ();",
        "traffic = (;",
        "packet_size = {{}};",
        "packet_size_rate = {{-1}};",
        "injection_rate = nan;",
        "\u{0};",
        "internal_speedup = 1e300; topology = mesh; routing_function = dor;",
        "traffic = hotspot({{0},{4294967296}});",
        "classes = 1000000;",
        "sample_period = 0;",
        "k = 8; k",
        "{",
        "}",
        "traffic = }{;",
    ] {
        let text = if text.contains("topology") || !text.contains("traffic") {
            text.to_owned()
        } else {
            format!("topology = mesh; routing_function = dor; {text}")
        };
        let result = Setup::read(&text).map(|_| ());
        if text.trim_matches(';').is_empty() {
            continue;
        }
        assert!(result.is_err(), "{text:?} is accepted");
    }
}

#[test]
fn what_a_router_cannot_be_is_refused_at_its_line() {
    let mesh =
        "topology = mesh;\nk = 4;\nn = 2;\nrouting_function = dor;\nnum_vcs = 3;\ntraffic = uniform;\n";
    for (line, words) in [
        ("vc_allocator = separable_input_first(tree(2,round_robin));", "a tree of 2 groups"),
        ("sw_allocator = separable_output_first(tree(2,matrix));", "a tree of 2 groups"),
        ("internal_speedup = 0.5;", "0.5; 1 to 8 are possible"),
        ("st_final_delay = 0;", "0 cycles, and 0 of `st_prepare_delay`"),
        ("output_buffer_size = 0;", "no flit would ever get behind the crossbar"),
    ] {
        let error = Setup::read(&format!("{mesh}{line}\n")).map(|_| ()).expect_err("it is refused");
        let option = line.split(' ').next().unwrap();
        assert_eq!(error.line, 7, "{error}");
        assert!(error.reason.contains(words) && error.reason.contains(option), "{error}");
    }
}

#[test]
fn a_switch_is_crossed_in_the_sum_of_its_two_delays() {
    let of = |delays: &str| everything(&format!("{SMALL} {delays}"));
    assert_eq!(of("st_prepare_delay = 1; st_final_delay = 0;"), of(""));
    assert_ne!(of("st_prepare_delay = 1;"), of(""));
}

#[test]
fn hot_spots_may_be_drawn() {
    let mesh = "topology = mesh;\nk = 4;\nn = 2;\nrouting_function = dor;\n";
    let run = |traffic: &str| Setup::read(&format!("{mesh}traffic = {traffic};\n")).unwrap().run().unwrap();
    let counters = |traffic: &str| run(traffic).outcome.counters[0].packet.bins.clone();
    // the first node that is drawn, in a list or not
    assert_eq!(counters("hotspot({{-1}})"), counters("hotspot"));
    assert_ne!(counters("hotspot({{-1,-1}})"), counters("hotspot"));
}

/// BookSim2 prints nan for the loads.
#[test]
fn loads_of_no_batches_are_zero() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.cfg");
    std::fs::write(
        &path,
        "topology = mesh; k = 2; n = 1; routing_function = dor; sim_type = batch; batch_count = 0;",
    )
    .unwrap();
    let experiment = Experiment::from_file(&path, &[]).unwrap();
    let point = experiment.at(experiment.load(), experiment.seed()).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let result = point.run(1, &|| false, std::time::Instant::now()).unwrap();
    let again = RunResult::from_json(&result.to_json()).unwrap();
    assert_eq!(again.traffic.unwrap().accepted_flits_per_cycle, 0.0);
}

/// One period may be longer than anybody waits.
#[test]
fn a_period_and_a_batch_stop_when_asked_to() {
    let mesh = "topology = mesh; k = 4; n = 2; routing_function = dor;";
    for text in [
        format!("{mesh} sample_period = 4000000000;"),
        format!("{mesh} sim_type = batch; batch_size = 0; batch_count = 4000000000;"),
    ] {
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        let run = Setup::read(&text).unwrap().run_until(&stop).unwrap();
        assert_eq!(run.outcome.verdict, Verdict::Stopped, "{text}");
        assert!(run.cycles < 10_000, "{text}: {} cycles", run.cycles);
    }
}
