//! Every curve of the reference's simulator beside the native mode: `make test-long`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use stratasim_experiment::Traffic;
use stratasim_experiment::booksim::text::assignments;
use stratasim_experiment::traffic::{Curve, statistics};

use super::prepare;

/// Seeds of ours for each load, and for each of 4,096 nodes.
const SEEDS: (u32, u32) = (12, 6);
/// Few seeds tell the noise so badly that chance puts more points beyond than it should: those are run with so many times as many.
const MORE: u32 = 8;
/// Standard errors of the noise of seeds within which a point has to be,
const ALLOWED: f64 = 3.0;
/// and those of the few that chance puts beyond even so: one of a hundred.
const FARTHEST: f64 = 4.5;
const ONE_OF: usize = 100;

/// Curves that the native mode differs from, and why; see "The native mode" in docs/src/concepts/flit-level.md.
const DIFFERENT: &[(&str, &str)] = &[
    (
        "chk_torus6_3_L4",
        "three virtual channels: rings want an even number, and the native mode refuses others",
    ),
    ("mesh8x8_randperm_L1", PERMUTATION),
    ("torus8x8_randperm_L1", PERMUTATION),
    ("mesh8x8r_planar_adapt_transpose", "there is no planar adaptive routing"),
    (
        "torus8x8r_min_adapt_uniform",
        "all ways are offered, of which BookSim2 drops all but one of equal priority",
    ),
    ("torus8x8r_valiant_uniform", UNSET),
    ("torus8x8r_valiant_tornado", UNSET),
];

const UNSET: &str = "BookSim2 reads a variable that it never set, ours continues the ring class";

const PERMUTATION: &str = "node 41 of the permutation sends to itself, which `list` refuses";

/// The options of a configuration by name.
fn options(text: &str) -> BTreeMap<String, String> {
    assignments(text).unwrap().into_iter().map(|it| (it.name, it.value)).collect()
}

/// What a word of the reference's is called here.
fn word<'a>(word: &str, table: &[(&str, &'a str)]) -> &'a str {
    table.iter().find(|(theirs, _)| *theirs == word).unwrap_or_else(|| panic!("unknown word `{word}`")).1
}

const ROUTINGS: &[(&str, &str)] = &[
    ("dor", "kind = \"dimension-order\""),
    ("dim_order", "kind = \"dimension-order\""),
    ("dim_order_bal", "kind = \"dimension-order\", balanced = true"),
    ("xy_yx", "kind = \"xy-yx\""),
    ("adaptive_xy_yx", "kind = \"xy-yx\", adaptive = true"),
    ("valiant", "kind = \"valiant\""),
    ("romm", "kind = \"romm\""),
    ("min_adapt", "kind = \"minimal-adaptive\""),
    ("nca", "kind = \"nearest-common-ancestor\""),
    ("anca", "kind = \"nearest-common-ancestor\", adaptive = true"),
];

const PATTERNS: &[(&str, &str)] = &[
    ("uniform", "uniform-random"),
    ("transpose", "transpose"),
    ("bitcomp", "bit-complement"),
    ("bitrev", "bit-reversal"),
    ("shuffle", "shuffle"),
    ("tornado", "tornado"),
    ("neighbor", "digit-neighbour"),
    ("diagonal", "diagonal"),
    ("asymmetric", "asymmetric"),
    ("taper64", "taper"),
];

const ALLOCATORS: &[(&str, &str)] = &[
    ("islip", "kind = \"islip\""),
    ("islip(2)", "kind = \"islip\", iterations = 2"),
    ("separable_input_first", "kind = \"separable-input-first\""),
    ("separable_output_first", "kind = \"separable-output-first\""),
    ("wavefront", "kind = \"wavefront\""),
    ("loa", "kind = \"lonely-output\""),
    ("select", "kind = \"select\""),
    ("max_size", "kind = \"maximum-size\""),
];

/// The machine, network and traffic of a configuration, but for the load and the measurement.
fn translated(options: &BTreeMap<String, String>) -> String {
    let get = |name: &str| options.get(name).map(String::as_str);
    let number = |name: &str| get(name).unwrap().parse::<u32>().unwrap();
    let (k, n) = (number("k"), number("n"));
    let machine = match get("topology").unwrap() {
        "fattree" => format!("kind = \"k-ary-n-tree\"\nk = {k}\nn = {n}\nlatency = \"1 ns\""),
        kind => {
            let cycles = if kind == "torus" { 2 } else { 1 };
            format!("kind = \"{kind}\"\ndimensions = {:?}\nlatency = \"{cycles} ns\"", vec![k; n as usize])
        }
    };
    let mut router =
        format!("virtual-channels = {}, buffer-flits = {}", number("num_vcs"), number("vc_buf_size"));
    for (theirs, ours) in [
        ("routing_delay", "routing-delay"),
        ("vc_alloc_delay", "vc-allocation-delay"),
        ("sw_alloc_delay", "switch-allocation-delay"),
        ("input_speedup", "input-speedup"),
        ("internal_speedup", "internal-speedup"),
    ] {
        if let Some(value) = get(theirs) {
            router += &format!(", {ours} = {value}");
            // the one difference in stages of several cycles: natively they are pipelined
            if theirs.ends_with("delay") && value == "2" {
                router += ", stages = \"batches\"";
            }
        }
    }
    for (theirs, ours) in [
        ("wait_for_tail_credit", "wait-for-tail-credit = true"),
        ("hold_switch_for_packet", "hold-switch = true"),
        ("speculative", "speculation = \"separate\""),
    ] {
        if get(theirs) == Some("1") {
            router += &format!(", {ours}");
        }
    }
    for (theirs, ours) in [("vc_allocator", "vc-allocator"), ("sw_allocator", "switch-allocator")] {
        router += &format!(", {ours} = {{ {} }}", word(get(theirs).unwrap_or("islip"), ALLOCATORS));
    }
    let pattern = word(get("traffic").unwrap(), PATTERNS);
    let flits = match (get("packet_size").unwrap(), get("packet_size_rate")) {
        ("{{1,9}}", Some("{{3,1}}")) => "[{ flits = 1, weight = 3 }, { flits = 9, weight = 1 }]",
        (flits, None) => flits,
        other => panic!("unknown lengths {other:?}"),
    };
    let routing = word(get("routing_function").unwrap(), ROUTINGS);
    format!(
        "[topology]\n{machine}\nbandwidth = \"32 GB/s\"\n[network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\n\
         routing = {{ {routing} }}\nrouter = {{ {router} }}\n\
         [traffic]\nflits = {flits}\npattern = \"{pattern}\"\nto-self = true\n"
    )
}

/// Mean and standard deviation.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (values.len() - 1) as f64).sqrt())
}

/// A load that the reference carries: its mean latency and runs, and an experiment whose samples are as long as its own.
struct Beside {
    load: f64,
    theirs: f64,
    runs: usize,
    traffic: Traffic,
}

impl Beside {
    /// Our mean latency of some seeds, and by how many standard errors it differs.
    fn away(&self, seeds: u32) -> (f64, f64) {
        let curve = Curve::run(&self.traffic, &[self.load], seeds, Some(2), &()).unwrap();
        let results = curve.points[0].results.iter().map(statistics);
        let ours: Vec<f64> = results.map(|it| it.packet_latency_cycles.mean.unwrap()).collect();
        let (mean, noise) = spread(&ours);
        // what is the same for every seed has no noise, and the reference prints six digits
        let error = noise * (1.0 / ours.len() as f64 + 1.0 / self.runs as f64).sqrt() + 1e-5 * self.theirs;
        (mean, (mean - self.theirs) / error)
    }
}

/// The loads of a curve.
fn beside(name: &str, curve: &Value) -> Vec<Beside> {
    let options = options(curve["config"].as_str().unwrap());
    let period: u64 = options["sample_period"].parse().unwrap();
    let mut loads: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for point in curve["points"].as_array().unwrap().iter().filter(|point| point["verdict"] == "stable") {
        loads.entry(point["load"].to_string()).or_default().push(point);
    }
    let text = translated(&options);
    let found = loads.values().map(|points| {
        let load = points[0]["load"].as_f64().unwrap();
        let cycles = points.iter().map(|point| point["cycles"].as_u64().unwrap()).min().unwrap();
        // three periods of warm-up, and what is less than a period to drain
        let windows = (cycles / period).saturating_sub(3).max(2);
        let measure = format!(
            "load = {load}\nmeasure = {{ window = {period}, warm-up = {}, windows = {windows}, most-windows = {windows}, \
             drain = {}, drain-when-saturated = true }}\n",
            3 * period,
            100 * period
        );
        let traffic = prepare(&format!("{text}{measure}")).unwrap_or_else(|error| panic!("{name}: {error}"));
        let theirs: Vec<f64> = points.iter().map(|point| point["plat"].as_f64().unwrap()).collect();
        let mean = theirs.iter().sum::<f64>() / theirs.len() as f64;
        Beside { load, theirs: mean, runs: theirs.len(), traffic }
    });
    found.collect()
}

#[test]
#[ignore = "67 curves take some minutes"]
fn every_curve_of_the_reference_is_within_the_noise_of_seeds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/flit/curves.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: there is no {}", path.display());
        return;
    };
    let curves: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let curves: Vec<(&str, &Value)> =
        curves.iter().filter_map(|(name, curve)| Some((name.strip_prefix("peer:")?, curve))).collect();
    assert_eq!(curves.len(), 67);
    let (mut points, mut beyond, mut far) = (0, Vec::new(), Vec::new());
    for (name, curve) in curves {
        if DIFFERENT.iter().any(|(different, _)| *different == name) {
            continue;
        }
        let seeds = if options(curve["config"].as_str().unwrap())["k"] == "16" { SEEDS.1 } else { SEEDS.0 };
        for it in beside(name, curve) {
            let (mut ours, mut away) = it.away(seeds);
            if away.abs() > ALLOWED {
                (ours, away) = it.away(MORE * seeds);
            }
            let words = format!("{name} at {}: {ours:.3}, not {:.3}, {away:+.1} errors", it.load, it.theirs);
            eprintln!("{words}");
            points += 1;
            if away.abs() > FARTHEST {
                far.push(words);
            } else if away.abs() > ALLOWED {
                beyond.push(words);
            }
        }
    }
    assert!(points > 200, "only {points} points");
    assert!(far.is_empty(), "far off:\n{}", far.join("\n"));
    assert!(beyond.len() * ONE_OF <= points, "{} of {points}:\n{}", beyond.len(), beyond.join("\n"));
}
