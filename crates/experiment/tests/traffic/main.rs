//! Open-loop traffic: closed forms, reference points, and what must hold for any run.

mod buffers;
mod channels;
mod complex_load;
mod curves;
mod kept;
mod kernels;
mod patterns;
mod replies;
mod saturation;
mod search;

use std::path::Path;
use std::time::Instant;

use serde_json::Value;
use stratasim_experiment::traffic::{Curve, ProbeSink, statistics};
use stratasim_experiment::{Document, Error, Traffic};
use stratasim_report::Style;
use stratasim_report::result::RunResult;
use stratasim_report::traffic::{ChannelSummary, TrafficResult};

/// A machine with a clock of 1 GHz, and traffic on it.
fn experiment(topology: &str, traffic: &str) -> String {
    format!(
        "{topology}\nbandwidth = \"32 GB/s\"\nlatency = \"1 ns\"\n[network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\n\
         router = {{ virtual-channels = 4, buffer-flits = 8 }}\n[traffic]\n{traffic}"
    )
}

const MESH: &str = "[topology]\nkind = \"mesh\"\ndimensions = [8, 8]";

fn prepare(text: &str) -> Result<Traffic, String> {
    let document = Document::from_toml("test.toml", text).map_err(|error| error.to_string())?;
    Traffic::new(&document, Path::new("")).map_err(|error| error.to_string())
}

fn run(text: &str) -> RunResult {
    let traffic = prepare(text).unwrap_or_else(|error| panic!("{error}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let result = traffic.run(&|| false, None, Instant::now()).unwrap_or_else(|error| panic!("{error}"));
    assert!(result.checks_hold(), "{:?}", result.checks);
    result
}

#[test]
fn what_open_loop_traffic_does_not_look_at_is_refused() {
    let text = experiment(MESH, "load = 0.1");
    assert!(prepare(&text).is_ok());
    let error = |text: String| prepare(&text).err().expect("it is refused");
    let tasks = error(text.clone() + "\n[execution]\nroofline = true\n");
    assert!(tasks.contains("execution") && tasks.contains("it has no tasks"), "{tasks}");
    let jobs = error(text.clone() + "\n[jobs]\nplacement = \"random\"\n");
    assert!(jobs.contains("[jobs]") && jobs.contains("it has no jobs"), "{jobs}");
    for key in ["packet-flits = 4", "header-flits = 1"] {
        let flits = error(text.replace("[traffic]", &format!("{key}\n[traffic]")));
        assert!(flits.contains(&key[..12]) && flits.contains("traffic.flits"), "{flits}");
    }
}

#[test]
fn a_sample_shorter_than_a_latency_says_nothing() {
    let measure = "measure = { warm-up = 10, window = 10, windows = 2, most-windows = 2, drain = 0 }";
    let text = experiment(MESH, &format!("load = 0.5\n{measure}"));
    let result = run(&text.replace("latency = \"1 ns\"", "latency = \"200 ns\""));
    let found = statistics(&result);
    assert!(found.offered_flits_per_cycle > 0.2 && found.accepted_flits_per_cycle == 0.0);
    assert_eq!(
        found.verdict,
        "not known: nothing arrived in the 20 cycles measured; a longer sample would show"
    );
}

#[test]
fn zero_load_latency_is_the_closed_form() {
    // routers on the way, that of the destination among them: mean over all pairs of different terminals
    let mesh = 1.0 + 2.0 * (16.0 - 1.0) / (3.0 * 4.0) * 16.0 / 15.0;
    let torus = 1.0 + 2.0 * 4.0 / 4.0 * 16.0 / 15.0;
    // 3 * 1 and 12 * 3 of the 15 others of a 4-ary 2-tree
    let tree = (3.0 + 12.0 * 3.0) / 15.0;
    for (topology, hops) in [
        ("kind = \"mesh\"\ndimensions = [4, 4]", mesh),
        ("kind = \"torus\"\ndimensions = [4, 4]", torus),
        ("kind = \"k-ary-n-tree\"\nk = 4\nn = 2", tree),
    ] {
        for flits in [1_u16, 7] {
            let load = 0.0002 * f64::from(flits);
            let traffic = format!(
                "load = {load}\nflits = {flits}\nmeasure = {{ warm-up = 1000, window = 50000, precision = 1.0 }}"
            );
            let result = run(&experiment(&format!("[topology]\n{topology}"), &traffic));
            let found = statistics(&result);
            // 16 * 500,000 cycles * 0.0002: 1,600 packets
            assert!(found.packet_latency_cycles.count > 1200);
            let ours = found.packet_latency_cycles.mean.unwrap();
            let mean_hops = found.hops.mean.unwrap();
            // H routers of 3 cycles each, H + 1 channels of 2, the rest of the packet, by the mean hops of this run
            let expected = 4.0 + mean_hops * 3.0 + (mean_hops - 1.0) * 2.0 + f64::from(flits) - 1.0;
            assert!(
                (ours - expected).abs() < 0.01 * expected,
                "{topology}, {flits} flits: {ours}, {expected}"
            );
            assert!((mean_hops / hops - 1.0).abs() < 0.03, "{topology}: {mean_hops} {hops}");
            assert!(found.saturated == Some(false), "{}", found.verdict);
            // one router on the way within a switch, two between neighbours
            let least = if topology.contains("tree") { 7 } else { 12 };
            assert_eq!(found.packet_latency_cycles.min.unwrap(), least + u64::from(flits) - 1);
        }
    }
}

#[test]
fn latencies_and_loads_are_those_of_the_reference_within_the_noise_of_seeds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/flit/curves.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: there is no {}", path.display());
        return;
    };
    let curves: Value = serde_json::from_str(&text).unwrap();
    for (case, flits, loads) in
        [("mesh8x8_uni_L1", 1, [0.1, 0.3, 0.4]), ("mesh8x8_uni_L16", 16, [0.1, 0.2, 0.3])]
    {
        for load in loads {
            let points = curves[format!("peer:{case}")]["points"].as_array().unwrap();
            let at_load = points.iter().filter(|point| point["load"] == load);
            let theirs: Vec<f64> = at_load.map(|point| point["plat"].as_f64().unwrap()).collect();
            assert!(!theirs.is_empty(), "{case} has no load {load}");
            let traffic =
                format!("load = {load}\nflits = {flits}\nto-self = true\nmeasure = {{ window = 2000 }}");
            let traffic = prepare(&experiment(MESH, &traffic)).unwrap();
            let curve = Curve::run(&traffic, &[load], 6, Some(2), &()).unwrap();
            let found: Vec<_> = curve.points[0].results.iter().map(statistics).collect();
            let ours: Vec<f64> =
                found.iter().map(|found| found.packet_latency_cycles.mean.unwrap()).collect();
            let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let [here, there] = [&ours, &theirs].map(|values| mean_of(values));
            // a seed of theirs says as much as one of ours
            let squares = ours.iter().map(|mean| (mean - here).powi(2)).sum::<f64>();
            let noise = (squares / (ours.len() - 1) as f64).sqrt();
            let allowed = 3.0 * noise * (1.0 / ours.len() as f64 + 1.0 / theirs.len() as f64).sqrt();
            assert!(
                (here - there).abs() < allowed,
                "{case} at {load}: {here} here, {there} there, {allowed} are allowed"
            );
            for found in found {
                let accepted = found.accepted_flits_per_cycle;
                assert!((accepted - load).abs() < 0.03 * load, "{accepted}");
                assert!(found.saturated == Some(false) && found.settled, "{}", found.verdict);
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_whatever_the_threads_and_another_seed_others() {
    let text = experiment(MESH, "load = 0.2\nflits = 4\nmeasure = { window = 200 }");
    let traffic = prepare(&text).unwrap();
    let digests = |threads| -> Vec<String> {
        let curve = Curve::run(&traffic, &[0.1, 0.2, 0.3], 2, Some(threads), &()).unwrap();
        curve.points.iter().flat_map(|point| &point.results).map(|result| result.digest.clone()).collect()
    };
    let one = digests(1);
    assert_eq!(one, digests(3));
    assert_eq!(one.len(), 6);
    let mut different = one.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 6, "seeds and loads differ");
    assert_eq!(run(&text).digest, one[2], "the curve's point is the run");
}

#[test]
fn the_files_of_a_curve_are_the_same_for_one_two_and_three_threads() {
    // 1,000 terminals, 8.5 routers on the way: enough to do for several threads in one run
    let torus = "[topology]\nkind = \"torus\"\ndimensions = [10, 10, 10]";
    let measure = "measure = { window = 20, warm-up = 100, windows = 4, most-windows = 4 }";
    let traffic = prepare(&experiment(torus, measure)).unwrap();
    let json = |threads| Curve::run(&traffic, &[0.35], 1, Some(threads), &()).unwrap().json();
    let one = json(1);
    assert_eq!(one, json(2));
    assert_eq!(one, json(3));
}

#[test]
fn the_fast_and_the_full_kernel_give_the_same_bits() {
    for (topology, load) in [
        (MESH, 0.3),
        ("[topology]\nkind = \"torus\"\ndimensions = [4, 3, 4]", 0.4),
        ("[topology]\nkind = \"k-ary-n-tree\"\nk = 4\nn = 2", 0.5),
    ] {
        let traffic = format!(
            "load = {load}\nflits = [{{ flits = 1, weight = 2 }}, {{ flits = 6, weight = 1 }}]\n\
             measure = {{ window = 300 }}\nprobes = {{ pairs = [[0, 9]], interval = 100 }}\n"
        );
        let text = experiment(topology, &traffic);
        let of = |kernel: &str| run(&text.replace("[traffic]", &format!("[traffic]\nkernel = \"{kernel}\"")));
        let (fast, full) = (of("fast"), of("full"));
        assert_eq!(fast.digest, full.digest, "{topology}");
        let without_channels = |result: &RunResult| TrafficResult {
            channels: ChannelSummary::default(),
            ..statistics(result).clone()
        };
        assert_eq!(without_channels(&fast), without_channels(&full), "{topology}");
        // a flit in the switch at the end of the sample has gone for one kernel and not for the other
        let busiest = |result: &RunResult| statistics(result).channels.busiest[0].flits;
        assert!(busiest(&fast).abs_diff(busiest(&full)) <= 2, "{topology}");
    }
}

#[test]
fn a_load_in_bits_per_second_says_the_same() {
    // 32 bytes at 1 GHz: 0.25 flits per cycle are 64 Gbps
    let measure = "measure = { window = 200 }";
    let cycles = run(&experiment(MESH, &format!("load = 0.25\n{measure}")));
    let bits = run(&experiment(MESH, &format!("load = \"64 Gbps\"\n{measure}")));
    assert_eq!(cycles.digest, bits.digest);
}

#[test]
fn every_process_and_length_offers_the_load_that_was_asked_for() {
    for (injection, lengths) in [
        ("{ kind = \"poisson\" }", "[{ flits = 4, weight = 3 }, { flits = 32, weight = 1 }]"),
        ("{ kind = \"on-off\", beta = 0.05, r1 = 0.5 }", "2"),
        ("{ kind = \"periodic\" }", "5"),
        ("{ kind = \"mixture\", of = \"packets\" }", "8"),
        ("{ kind = \"mixture\", of = \"nodes\" }", "8"),
    ] {
        let traffic = format!(
            "load = 0.15\nflits = {lengths}\ninjection = {injection}\nmeasure = {{ window = 2000, precision = 1.0 }}"
        );
        let result = run(&experiment(MESH, &traffic));
        let found = statistics(&result);
        // 64 * 20,000 cycles: a few percent even for long packets and bursts
        assert!(
            (found.offered_flits_per_cycle / 0.15 - 1.0).abs() < 0.06,
            "{injection}: {}",
            found.offered_flits_per_cycle
        );
        assert!(
            (found.accepted_flits_per_cycle / found.offered_flits_per_cycle - 1.0).abs() < 0.02,
            "{injection}"
        );
    }
}

#[test]
fn classes_have_their_own_loads_lengths_and_patterns() {
    let classes = "load = 0.2\nmeasure = { window = 1000 }\n\
        [[traffic.class]]\nname = \"small\"\nshare = 1\n\
        [[traffic.class]]\nname = \"large\"\nshare = 3\nflits = 9\npriority = 1\npattern = { kind = \"tornado\" }\n\
        [[traffic.class]]\nload = 0.05\n";
    let result = run(&experiment(MESH, classes));
    let found = statistics(&result);
    let loads: Vec<f64> = found.classes.iter().map(|class| class.offered_flits_per_cycle).collect();
    for (load, expected) in loads.iter().zip([0.05, 0.15, 0.05]) {
        assert!((load / expected - 1.0).abs() < 0.1, "{loads:?}");
    }
    assert!((found.load_flits_per_cycle - 0.25).abs() < 1e-12);
    let names: Vec<&str> = found.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["small", "large", "class-2"]);
    // 8 more flits, and three steps in both dimensions where uniform traffic takes 16/3 routers on average
    let least = |class: usize| found.classes[class].network_latency_cycles.min.unwrap();
    assert!(least(1) > least(0) + 8);
}

/// Where no packet of a sample arrived there is no mean: null for programs, a dash in tables, nothing in CSV.
#[test]
fn what_is_said_of_no_packets_is_nothing() {
    let one = "[topology]\nkind = \"single-switch\"\nnodes = 4";
    let traffic = "load = 1e-9\nmeasure = { window = 50, warm-up = 50, precision = 1.0 }";
    let curve = Curve::run(&prepare(&experiment(one, traffic)).unwrap(), &[1e-9], 1, Some(1), &()).unwrap();
    let found = statistics(&curve.points[0].results[0]);
    assert_eq!(found.packet_latency_cycles.count, 0, "the load is for that");
    let json = serde_json::to_value(found).unwrap();
    for distribution in ["packet_latency_cycles", "network_latency_cycles", "flit_latency_cycles", "hops"] {
        assert_eq!(json[distribution]["count"], 0);
        for value in ["mean", "min", "p50", "p95", "p99", "p99_9", "max"] {
            assert!(json[distribution].get(value).is_some_and(Value::is_null), "{distribution}.{value}");
        }
    }
    assert!(json["channels"]["mean_utilisation"].is_null(), "a single switch has none");
    let windows = json["series"].as_array().unwrap();
    assert!(!windows.is_empty() && windows.iter().all(|window| window["packet_latency_cycles"].is_null()));
    let again: TrafficResult = serde_json::from_value(json).unwrap();
    assert_eq!(&again, found);

    let text = stratasim_report::traffic::traffic_summary(found, &Style::UNICODE);
    let row = text.lines().find(|line| line.contains("packet latency")).unwrap();
    assert_eq!(row.matches('–').count(), 8, "{row}");
    assert!(text.contains("no channels between routers"), "{text}");
    let mut csv = Vec::new();
    curve.full_table().write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.iter().position(|name| name.contains("packet_latency_p99_cycles")).unwrap();
    assert_eq!(values[at], "", "{csv}");
}

/// What a batch has none of is said, where it is given.
#[test]
fn a_batch_tells_what_does_not_count() {
    for (more, keys) in [
        ("", None),
        ("measure = { window = 50 }", None),
        ("load = 0.9", Some("`load`")),
        ("injection = { kind = \"periodic\" }\nmeasure = { drain = 1 }", Some("`injection`, `measure`")),
        ("[[traffic.class]]\nshare = 7.0", Some("`class.share`")),
    ] {
        let result = run(&experiment(MESH, &format!("batch = {{ packets = 5 }}\n{more}")));
        let notes: Vec<_> = result.notes.iter().filter(|note| note.contains("A batch")).collect();
        assert_eq!(notes.len(), usize::from(keys.is_some()), "{more}: {notes:?}");
        assert!(keys.is_none_or(|keys| notes[0].contains(keys)), "{more}: {notes:?}");
    }
}

#[test]
fn a_batch_ends_when_its_last_packet_has_arrived() {
    // one packet at a time between two neighbours: each takes as long as a packet alone, and the next is made
    // in the cycle after
    let text = experiment(
        "[topology]\nkind = \"mesh\"\ndimensions = [2]",
        "pattern = { kind = \"shift\" }\nflits = 3\nbatch = { packets = 50, outstanding = 1 }\nmeasure = { window = 100 }",
    );
    let result = run(&text);
    let batch = statistics(&result).batch.unwrap();
    let alone = 4 + 2 * 3 + 2 + 2;
    assert_eq!(batch.duration_cycles, 50 * (alone + 1) - 1, "{batch:?}");
    assert_eq!(statistics(&result).packet_latency_cycles.count, 100);
    // rates are those of the time that it took, however long windows are
    let text_of = |window: u32| text.replace("window = 100", &format!("window = {window}"));
    for window in [10, 100, 4000] {
        let result = run(&text_of(window));
        let found = statistics(&result);
        assert_eq!(found.sample_cycles, batch.duration_cycles + 1, "{window}");
        let rate = 150.0 / found.sample_cycles as f64;
        assert!((found.injected_flits_per_cycle - rate).abs() < 1e-9, "{window}: {found:?}");
    }
    // without a limit the terminals inject all the time: at least a cycle per flit
    let result = run(&text.replace(", outstanding = 1", ""));
    let batch = statistics(&result).batch.unwrap();
    assert!((150..300).contains(&batch.duration_cycles), "{batch:?}");
}

#[derive(Default)]
struct Collected(Vec<(u32, u32, u64)>);

impl ProbeSink for Collected {
    fn probe(&mut self, source: u32, dest: u32, _: u64, latency: u64) {
        self.0.push((source, dest, latency));
    }
}

#[test]
fn probes_measure_pairs_and_hardly_disturb() {
    let measure = "measure = { window = 5000, warm-up = 5000, precision = 1.0 }";
    let quiet = run(&experiment(MESH, &format!("load = 0.1\n{measure}")));
    let pairs = "probes = { pairs = [[0, 63], [0, 1], [9, 10]], interval = 500 }";
    let probed = run(&experiment(MESH, &format!("load = 0.1\n{measure}\n{pairs}")));
    let (quiet, probed) = (statistics(&quiet), statistics(&probed));
    let change = probed.packet_latency_cycles.mean.unwrap() / quiet.packet_latency_cycles.mean.unwrap() - 1.0;
    assert!(change.abs() < 0.005, "{change}");
    let found: Vec<(u32, u32)> = probed.probes.iter().map(|probe| (probe.source, probe.dest)).collect();
    assert_eq!(found, [(0, 1), (0, 63), (9, 10)]);
    // 50,000 cycles, every 500; terminal 0 serves two pairs in turn
    assert!((49..=51).contains(&probed.probes[0].count) && (99..=101).contains(&probed.probes[2].count));
    // 15 routers to the other corner: 2 + 5 * 15 without traffic
    assert_eq!((probed.probes[0].min_cycles, probed.probes[1].min_cycles), (12, 77));
    assert!(probed.probes[1].mean_cycles < 90.0);

    let all = prepare(&experiment(
        "[topology]\nkind = \"mesh\"\ndimensions = [3, 3]",
        &format!("load = 0.01\n{measure}\nprobes = {{ interval = 200 }}"),
    ))
    .unwrap();
    let mut sink = Collected::default();
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    all.run(&|| false, Some(&mut sink), Instant::now()).unwrap();
    let mut seen: Vec<(u32, u32)> = sink.0.iter().map(|&(source, dest, _)| (source, dest)).collect();
    seen.sort_unstable();
    let times = seen.iter().filter(|&&pair| pair == (4, 7)).count();
    seen.dedup();
    assert_eq!(seen.len(), 72, "every pair");
    // 50,000 / 200 / 8
    assert!((30..=33).contains(&times), "{times}");
    let refused = experiment(MESH, "probes = { interval = 50 }");
    assert!(prepare(&refused).err().unwrap().contains("at most 0.01"));
}

#[test]
fn a_sweep_over_traffic_gives_curves_of_its_numbers() {
    let text = format!(
        "{}\n[sweep]\nproduct = {{ \"traffic.pattern.kind\" = [\"uniform-random\", \"tornado\"], \"traffic.load\" = [0.05, 0.1] }}\n\
         [[sweep.plot]]\nx = \"traffic.load\"\ny = \"packet_latency_p99_cycles\"\n",
        experiment(MESH, "measure = { window = 200 }")
    );
    let document = Document::from_toml("sweep.toml", &text).unwrap();
    let sweep = stratasim_experiment::Sweep::new(document, Path::new("")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let finished = sweep.run(out.path(), &stratasim_experiment::sweep::RunOptions::default(), &()).unwrap();
    assert_eq!((finished.rows.len(), finished.failures.len()), (4, 0), "{:?}", finished.failures);
    for row in &finished.rows {
        assert!(row.numbers["packet_latency_cycles"] > 10.0 && row.numbers["saturated"] == 0.0, "{row:?}");
        assert!(!row.numbers.contains_key("step_s"));
    }
    assert_eq!(sweep.pictures(&finished.rows).len(), 1);
    assert!(sweep.write(out.path(), &finished).unwrap()[0].exists());
    // results that are there are kept
    let again = sweep.run(out.path(), &stratasim_experiment::sweep::RunOptions::default(), &()).unwrap();
    assert_eq!((again.ran, &again.rows), (0, &finished.rows));
    // which loads are not carried is said, not only drawn
    let mut rows = finished.rows;
    assert!(sweep.notes(&rows).is_empty(), "{:?}", sweep.notes(&rows));
    for row in rows.iter_mut().filter(|row| row.settings[1] == 0.1) {
        row.numbers.insert("saturated".to_owned(), 1.0);
    }
    let notes = sweep.notes(&rows);
    assert!(notes.len() == 1 && notes[0].contains("load 0.1: the network is saturated"), "{notes:?}");
}

/// Two hosts on each of two switches that nothing joins.
const APART: &str = r#"[topology]
kind = "graph"
nodes = [
  { name = "a", compute = "H100" }, { name = "b", compute = "H100" },
  { name = "c", compute = "H100" }, { name = "d", compute = "H100" },
  { name = "left", kind = "switch" }, { name = "right", kind = "switch" },
]
links = [
  { from = "a", to = "left", bandwidth = "32 GB/s", latency = "1 ns" },
  { from = "b", to = "left", bandwidth = "32 GB/s", latency = "1 ns" },
  { from = "c", to = "right", bandwidth = "32 GB/s", latency = "1 ns" },
  { from = "d", to = "right", bandwidth = "32 GB/s", latency = "1 ns" },
]"#;

#[test]
fn terminals_send_to_those_that_they_reach() {
    let text = |load: f64, traffic: &str| {
        format!(
            "{APART}\n[network]\nkind = \"flit\"\n[traffic]\nload = {load}\n\
             measure = {{ warm-up = 100, window = 400 }}\n{traffic}"
        )
    };
    let pairs = |traffic: &str| prepare(&text(0.1, traffic));
    let result = run(&text(0.2, ""));
    let found = result.traffic.as_ref().unwrap();
    // with one partner each, all that is offered arrives by one switch
    assert!((found.accepted_flits_per_cycle - 0.2).abs() < 0.03, "{}", found.accepted_flits_per_cycle);
    assert_eq!(found.hops.max, Some(1));
    let probed = run(&text(0.1, "probes = { interval = 100 }"));
    let probes =
        probed.traffic.as_ref().unwrap().classes.iter().find(|class| class.name == "probes").unwrap();
    assert!(probes.hops.count > 0 && probes.hops.max == Some(1), "{probes:?}");
    for (traffic, place) in [
        ("pattern = { kind = \"list\", pairs = [[0, 1], [1, 2]] }", "traffic.pattern"),
        ("pattern = { kind = \"list\", pairs = [[0, 1], [0, 2]] }", "traffic.pattern"),
        ("probes = { pairs = [[3, 0]] }", "traffic.probes.pairs.0"),
    ] {
        let error = pairs(traffic).err().unwrap();
        assert!(error.contains(place) && error.contains("no way leads there"), "{error}");
    }
    assert!(pairs("pattern = { kind = \"list\", pairs = [[0, 1], [3, 2]] }").is_ok());
}

#[test]
fn sections_that_open_loop_traffic_does_not_look_at_are_refused() {
    for (section, word) in [("placement", "kind = \"random\""), ("routing", "kind = \"ecmp\"")] {
        let text = format!("{}\n[{section}]\n{word}\n", experiment(MESH, "load = 0.1"));
        let error = prepare(&text).err().unwrap();
        assert!(error.contains(&format!("does not look at `[{section}]`")), "{error}");
    }
    // the spec of a result has the defaults of both, and runs again
    let text =
        experiment(MESH, "load = 0.1") + "\n[placement]\nkind = \"linear\"\n[routing]\nkind = \"auto\"\n";
    assert!(prepare(&text).is_ok());
}

#[test]
fn loads_that_no_class_follows_are_refused() {
    let text = experiment(MESH, "[[traffic.class]]\nload = 0.1\n[[traffic.class]]\nload = 0.2");
    let document = Document::from_toml("test.toml", &text).unwrap();
    let traffic = Traffic::new(&document, Path::new("")).unwrap();
    let error = Curve::run(&traffic, &[0.1], 1, Some(1), &()).err().unwrap().to_string();
    assert!(error.contains("every class has a `load` of its own"), "{error}");
}

#[test]
fn near_on_a_dragonfly_is_the_router_and_the_group() {
    let machine = "[topology]\nkind = \"dragonfly\"\nhosts-per-router = 2\nrouters-per-group = 4\nglobal-links-per-router = 1";
    for (distance, most) in [(1, 1), (2, 2)] {
        let local = format!(
            "load = 0.1\npattern = {{ kind = \"local\", distance = {distance}, fraction = 1.0 }}\n\
             measure = {{ warm-up = 200, window = 500 }}"
        );
        let result = run(&experiment(machine, &local));
        assert_eq!(result.traffic.as_ref().unwrap().hops.max, Some(most), "{distance}");
    }
}

#[test]
fn nobody_waits_for_packets_where_that_is_asked_for() {
    let verdict = |drain: &str| {
        let measure = format!("load = 0.2\nmeasure = {{ warm-up = 500, window = 500, {drain} }}");
        let result = run(&experiment(MESH, &measure));
        let found = result.traffic.as_ref().unwrap();
        (found.saturated, found.drain_cycles > 0)
    };
    assert_eq!(verdict("drain = 0"), (Some(false), false));
    assert_eq!(verdict("drain = 1"), (Some(true), true));
    assert_eq!(verdict("drain-when-saturated = true"), (Some(false), true));
}

#[test]
fn bad_traffic_is_refused_with_its_reason() {
    for (traffic, word) in [
        ("load = 1.2", "between 0 and 1 flit per cycle, which is 256 Gbps here"),
        ("load = \"300 Gbps\"", "between 0 and 1"),
        ("load = -0.1", "between 0 and 1"),
        ("flits = 0", "at least one flit"),
        ("flits = [{ flits = 3, weight = 0 }]", "sum to 0"),
        ("pattern = { kind = \"fft\", columns = 7 }", "traffic.pattern.columns"),
        ("injection = { kind = \"on-off\", alpha = 0.9, r1 = 0.9 }\nload = 0.01", "traffic.injection.beta"),
        ("measure = { windows = 1 }", "traffic.measure.windows"),
        ("probes = { pairs = [[0, 64]] }", "traffic.probes.pairs.0"),
        ("batch = { packets = 0 }", "traffic.batch.packets: at least one packet"),
        ("batch = { packets = 1, outstanding = 0 }", "traffic.batch.outstanding: at least one packet"),
        ("[[traffic.class]]\nload = 0.6\n[[traffic.class]]\nload = 0.6", "a terminal can inject one"),
        ("[[traffic.class]]\nrange = 2", "traffic.class.0.range"),
        ("[[traffic.class]]\nload = 0.1\nshare = 1", "exclude each other"),
        ("[[traffic.class]]\nname = \"a\"\n[[traffic.class]]\nname = \"a\"", "traffic.class.1.name"),
        ("[[traffic.class]]\nname = \"class-1\"\n[[traffic.class]]", "class 0 has the name `class-1`, too"),
        ("kernel = \"fast\"\n[[traffic.class]]\npriority = 1\n[[traffic.class]]", "traffic.kernel"),
    ] {
        let error =
            prepare(&experiment(MESH, traffic)).err().unwrap_or_else(|| panic!("{traffic} was taken"));
        assert!(error.contains(word), "{error}");
    }
    let odd = experiment(
        "[topology]\nkind = \"mesh\"\ndimensions = [3, 5]",
        "pattern = { kind = \"bit-reversal\" }",
    );
    assert!(prepare(&odd).err().unwrap().contains("power of two"));
    let flow = experiment(MESH, "").replace(
        "kind = \"flit\"\nflit-bytes = \"32 B\"\nrouter = { virtual-channels = 4, buffer-flits = 8 }",
        "kind = \"flow\"",
    );
    assert!(prepare(&flow).err().unwrap().contains("`kind = \"flit\"` is expected, found `flow`"));
    let both =
        experiment(MESH, "[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"");
    assert!(prepare(&both).err().unwrap().contains("one of the two"));
}

#[test]
fn a_run_stops_when_asked_to() {
    let traffic = prepare(&experiment(MESH, "")).unwrap();
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let ended = traffic.run(&|| true, None, Instant::now());
    assert!(matches!(ended, Err(Error::Stopped)));
}

#[test]
fn who_reads_a_result_learns_that_nobody_looked_for_deadlock() {
    let traffic =
        "load = 0.01\nmeasure = { warm-up = 100, window = 100, windows = 3, most-windows = 3, drain = 0 }";
    let notes = |extent: u32| {
        run(&experiment(&format!("[topology]\nkind = \"mesh\"\ndimensions = [{extent}, {extent}]"), traffic))
            .notes
    };
    assert_eq!(notes(8), Vec::<String>::new());
    // 2,116 terminals and as many routers are more than four million pairs
    let large = notes(46);
    assert!(large.len() == 2 && large[0].contains("deadlock"), "{large:?}");
    assert!(
        large[1].starts_with("Of 2,116 routers the use of the busiest channels is told only"),
        "{large:?}"
    );
}

#[test]
fn minimal_adaptive_routing_never_stands_still() {
    // far above saturation, where all buffers are full: short packets, packets longer than a buffer, and both
    let mixed = "[{ flits = 1, weight = 3 }, { flits = 12, weight = 1 }]";
    for topology in [
        MESH,
        "[topology]\nkind = \"torus\"\ndimensions = [4, 4]",
        "[topology]\nkind = \"hypercube\"\ndimensions = 4",
    ] {
        for (flits, buffer) in [("1", 8), ("4", 2), (mixed, 4)] {
            let text = experiment(
                topology,
                &format!("load = 0.8\nflits = {flits}\nmeasure = {{ warm-up = 4000, window = 400 }}"),
            );
            let text = text.replace(
                "buffer-flits = 8 }",
                &format!("buffer-flits = {buffer} }}\nrouting = {{ kind = \"minimal-adaptive\" }}"),
            );
            let found = run(&text);
            let accepted = statistics(&found).accepted_flits_per_cycle;
            assert!(accepted > 0.1, "{topology}, {flits} flits: {accepted}");
        }
    }
}

#[test]
fn combined_allocation_with_guesses_that_never_yield_is_refused() {
    let text = experiment(
        "[topology]\nkind = \"ring\"\nnodes = 9",
        "load = 1.0\nflits = 4\npattern = { kind = \"tornado\" }",
    );
    let with = |precedence: &str| {
        let rules = format!(
            "speculation = \"separate\", requests = {{ guess = \"always\", combined-allocation = true, precedence = \
             \"{precedence}\" }} }}"
        );
        prepare(&text.replace("buffer-flits = 8 }", &format!("buffer-flits = 8, {rules}")))
    };
    with("given").unwrap_or_else(|error| panic!("{error}"));
    let error = with("age").err().expect("it starves");
    assert!(error.contains("network.router.requests.guess"), "{error}");
}

#[test]
fn queues_by_the_next_output_want_one_way() {
    let rules = "routing-delay = 0, requests = { next-output-queues = true } }";
    let text =
        experiment(MESH, "load = 0.9\nflits = 4").replace("virtual-channels = 4", "virtual-channels = 12");
    let text = text.replace("buffer-flits = 8 }", &format!("buffer-flits = 8, {rules}"));
    let with = |routing: &str| {
        prepare(&text.replace("[traffic]", &format!("routing = {{ kind = \"{routing}\" }}\n[traffic]")))
    };
    let error = with("minimal-adaptive").err().expect("several ways");
    assert!(error.contains("network.router.requests.next-output-queues"), "{error}");
    // a table's packet remembers where it is in its way, however often its source asks
    let found = with("table").unwrap_or_else(|error| panic!("{error}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time of the result")]
    let found = found.run(&|| false, None, Instant::now()).unwrap_or_else(|error| panic!("{error}"));
    assert!(found.checks_hold());
}

/// The four sources of a first-stage switch share one output, and nothing else comes in there.
#[test]
fn sources_of_a_switch_with_one_way_links_are_served_alike_by_every_allocator() {
    for allocator in ["islip", "wavefront", "wavefront-round-robin", "pim", "lonely-output", "maximum-size"] {
        let text = experiment(
            "[topology]\nkind = \"k-ary-n-fly\"\nk = 4\nn = 2",
            "load = 0.4\npattern = { kind = \"bit-complement\" }\nmeasure = { window = 3000 }",
        );
        let kinds = format!(
            "switch-allocator = {{ kind = \"{allocator}\" }}, vc-allocator = {{ kind = \"{allocator}\" }}"
        );
        let result = run(&text.replace("buffer-flits = 8", &format!("buffer-flits = 8, {kinds}")));
        let fairness = &statistics(&result).fairness;
        // BookSim2 has 0.234 to 0.266 with lonely-output, and 0.25 with the others
        assert!(fairness.injected_min > 0.23 && fairness.injected_max < 0.27, "{allocator}: {fairness:?}");
        assert_eq!(fairness.by_terminal.len(), 16);
        let [injected, accepted] = fairness.by_terminal[fairness.injected_min_at as usize];
        assert!((f64::from(injected) - fairness.injected_min).abs() < 1e-6 && accepted > 0.2, "{allocator}");
    }
}

/// Two probes that meet in one round do not meet in the next.
#[test]
fn every_pair_is_probed_alone_once_in_a_while() {
    let mesh = "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]";
    let all = (0..16).flat_map(|from| (0..16).map(move |to| [from, to])).filter(|pair| pair[0] != pair[1]);
    let pairs = serde_json::to_string(&all.collect::<Vec<[u32; 2]>>()).unwrap();
    let text = |windows: u32| {
        let measure = format!("measure = {{ window = 7500, windows = {windows}, most-windows = {windows} }}");
        experiment(
            mesh,
            &format!("load = 0.0\nprobes = {{ flits = 5, interval = 500, pairs = {pairs} }}\n{measure}"),
        )
    };
    let result = run(&text(12));
    let found = statistics(&result);
    assert_eq!(found.probes.len(), 240);
    for probe in &found.probes {
        let [from, to] = [probe.source, probe.dest].map(|node| [node % 4, node / 4]);
        let channels = from[0].abs_diff(to[0]) + from[1].abs_diff(to[1]);
        assert_eq!(probe.min_cycles, u64::from(2 + 5 * (channels + 1) + 4), "{probe:?}");
    }
    assert!(result.notes.is_empty(), "{:?}", result.notes);
    let early = run(&text(2).replace("7500", "500"));
    let note = "1,000 cycles were measured, and to probe each of 240 pairs once takes 7,500";
    assert!(early.notes[0].contains(note), "{:?}", early.notes);
}

#[test]
fn loads_of_classes_with_other_senders_are_not_added_up() {
    let switch = "[topology]\nkind = \"single-switch\"\nnodes = 4";
    let class = |pair: &str| format!("{{ load = 0.6, pattern = {{ kind = \"list\", pairs = [{pair}] }} }}");
    let of = |pairs: [&str; 2]| {
        experiment(
            switch,
            &format!("class = [{}, {}]\nmeasure = {{ window = 2000 }}", class(pairs[0]), class(pairs[1])),
        )
    };
    let result = run(&of(["[0, 1]", "[2, 3]"]));
    let loads = &statistics(&result).fairness.by_terminal;
    assert!((loads[0][0] - 0.6).abs() < 0.02 && (loads[2][0] - 0.6).abs() < 0.02, "{loads:?}");
    let refused = prepare(&of(["[0, 1]", "[0, 3]"])).err().expect("more than a terminal can inject");
    assert!(refused.contains("1.2 flits per cycle"), "{refused}");
}

#[test]
fn a_curve_tells_its_classes_and_its_seeds_apart() {
    let text = experiment(
        "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]",
        "load = 0.15\nmeasure = { window = 1000 }\nclass = [{ name = \"a\", share = 1 }, { name = \"b\", share = 2, flits = 4 }]",
    );
    let traffic = prepare(&text).unwrap();
    let curve = Curve::run(&traffic, &[0.15], 2, Some(1), &()).unwrap();
    let table = curve.class_table().expect("two classes").to_text(&Style::UNICODE);
    assert!(table.lines().count() >= 4 && table.contains("latency"), "{table}");
    let mut csv = Vec::new();
    curve.full_table().write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.lines().next().unwrap().contains("b: packet_latency_cycles"), "{csv}");
    assert!(curve.table().to_text(&Style::UNICODE).contains("yes"));
}
