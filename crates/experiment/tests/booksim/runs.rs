//! Closed forms, traffic and statistics of whole runs.

use stratasim_experiment::booksim::control::Verdict;
use stratasim_experiment::booksim::statistics::{Counters, Printed};
use stratasim_experiment::booksim::traffic::{Pattern, Process};
use stratasim_experiment::booksim::{Experiment, Setup};
use stratasim_experiment::traffic::Subject as _;
use stratasim_net::flit::booksim::knuth::{Chance, Knuth};
use stratasim_report::result::RunResult;

use super::{SMALL, everything};

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
fn networks_of_requests_do_not_matter_where_there_are_none() {
    let unused = format!("{SMALL} read_request_subnet = 1; write_reply_subnet = -1;");
    assert_eq!(everything(SMALL), everything(&unused));
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
