//! Curves as BookSim2 makes them: its own points, from its configurations and from experiments of ours.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stratasim_experiment::Document;
use stratasim_experiment::booksim::Experiment;
use stratasim_experiment::traffic::{Curve, Subject, statistics};
use stratasim_report::traffic::{BookSimClass, TrafficResult};

/// The points of a case with histograms; `None` without the reference files, with a word about it.
fn points(case: &str, loads: &[f64]) -> Option<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/flit/points.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not here", path.display());
        return None;
    };
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let points: Vec<Value> = all
        .filter(|point| point["case"] == case && point["config"].is_string())
        .filter(|point| loads.iter().any(|&load| point["load"] == load))
        .collect();
    assert_eq!(points.len(), loads.len(), "{case}");
    Some(points)
}

/// Half a unit of the sixth significant digit, where printed numbers end.
fn same(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap();
    let half =
        if theirs == 0.0 { 1e-12 } else { 0.500_001 * 10_f64.powf(theirs.abs().log10().floor() - 5.0) };
    assert!((ours - theirs).abs() <= half, "{what}: {ours} here, {theirs} there");
}

/// Everything that a point of the reference says, against a result.
fn compare(found: &TrafficResult, point: &Value) {
    let what = format!("{} {}", point["case"], point["load"]);
    let counts = found.booksim2.as_ref().unwrap();
    assert_eq!(found.saturated, Some(point["verdict"] != "stable"), "{what}");
    assert_eq!(counts.total_cycles, point["total_cycles"].as_u64(), "{what}");
    assert_eq!(counts.sample_periods, point["sample_periods"].as_u64().unwrap(), "{what}");
    let printed = &point["classes"]["0"];
    let numbers = [
        ("plat", found.packet_latency_cycles.mean.unwrap()),
        ("nlat", found.network_latency_cycles.mean.unwrap()),
        ("flat", found.flit_latency_cycles.mean.unwrap()),
        ("frag", found.fragmentation_cycles.mean.unwrap()),
        ("hops", found.hops.mean.unwrap()),
        ("inj_flit", found.injected_flits_per_cycle),
        ("acc_flit", found.accepted_flits_per_cycle),
        ("inj_flit_min", found.fairness.injected_min),
        ("inj_flit_max", found.fairness.injected_max),
        ("acc_flit_min", found.fairness.accepted_min),
        ("acc_flit_max", found.fairness.accepted_max),
        ("plat_max", found.packet_latency_cycles.max.unwrap() as f64),
    ];
    for (name, ours) in numbers {
        same(ours, &printed[name], &format!("{what} {name}"));
    }
    let BookSimClass { packet_latency, network_latency, flit_latency, fragmentation, hops } =
        &counts.classes[0];
    let mut compared = 0;
    for (name, ours) in [
        ("plat", packet_latency),
        ("nlat", network_latency),
        ("flat", flit_latency),
        ("frag", fragmentation),
        ("hops", hops),
    ] {
        let Some(theirs) = point["hist"][format!("{name}_hist_0")].as_object() else { continue };
        assert_eq!(ours.len(), theirs.len(), "{what} {name}");
        for [value, count] in ours {
            assert_eq!(theirs[&value.to_string()].as_u64(), Some(*count), "{what} {name} {value}");
        }
        compared += 1;
    }
    assert!(compared >= 3, "{what}: {compared} histograms");
    assert_eq!(found.packet_latency_cycles.count, packet_latency.iter().map(|[_, count]| count).sum::<u64>());
}

/// The curve of a subject over the loads of points, with their seed, against them.
fn check(subject: &impl Subject, points: &[Value]) -> Curve {
    let loads: Vec<f64> = points.iter().map(|point| point["load"].as_f64().unwrap()).collect();
    let curve = Curve::run(subject, &loads, 1, Some(2), &()).unwrap();
    for point in points {
        let load = point["load"].as_f64().unwrap();
        let ours = curve.points.iter().find(|own| own.load == load).unwrap();
        compare(statistics(&ours.results[0]), point);
    }
    curve
}

/// A configuration of a point in a file, with other load and seed, which the command replaces.
fn file(folder: &Path, point: &Value) -> PathBuf {
    let path = folder.join("network.cfg");
    let text = point["config"].as_str().unwrap();
    std::fs::write(&path, text.replace("injection_rate =", "injection_rate = 0.7;\ninjection_rate ="))
        .unwrap();
    path
}

fn experiment(topology: &str, latency: &str, traffic: &str) -> String {
    format!(
        "seed = 1\n[topology]\nkind = \"{topology}\"\ndimensions = [8, 8]\nbandwidth = \"32 GB/s\"\nlatency = \"{latency}\"\n\
         [network]\nkind = \"flit\"\nflit-bytes = \"32 B\"\nrouter = {{ virtual-channels = 4, buffer-flits = 8 }}\n\
         [traffic]\nto-self = true\nmeasure = {{ window = 2000, warm-up = 6000 }}\n{traffic}\n"
    )
}

fn translated(text: &str) -> Result<Experiment, String> {
    let document = Document::from_toml("test.toml", text).map_err(|error| error.to_string())?;
    Experiment::from_document(&document, Path::new("")).map_err(|error| error.to_string())
}

#[test]
fn a_mesh_gives_the_simulators_points_from_its_configuration_and_from_ours() {
    let Some(points) = points("mesh8x8_uni_L1", &[0.005, 0.2, 0.4]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let theirs = Experiment::from_file(&file(folder.path(), &points[0]), &[]).unwrap();
    let theirs = check(&theirs, &points);
    let ours = translated(&experiment("mesh", "1 ns", "flits = 1")).unwrap();
    let ours = check(&ours, &points);
    for (one, other) in theirs.points.iter().zip(&ours.points) {
        assert_eq!(one.results[0].digest, other.results[0].digest);
    }
}

#[test]
fn a_torus_gives_the_simulators_points_from_its_configuration_and_from_ours() {
    let Some(points) = points("torus8x8_uni_L16", &[0.1, 0.3]) else { return };
    let folder = tempfile::tempdir().unwrap();
    check(&Experiment::from_file(&file(folder.path(), &points[0]), &[]).unwrap(), &points);
    check(&translated(&experiment("torus", "2 ns", "flits = 16")).unwrap(), &points);
}

#[test]
fn trees_patterns_and_routing_functions_are_translated() {
    let tree = experiment("k-ary-n-tree", "1 ns", "").replace("dimensions = [8, 8]", "k = 4\nn = 3");
    let romm = experiment("mesh", "1 ns", "pattern = { kind = \"transpose\" }");
    let romm = romm.replace("flit-bytes", "routing = { kind = \"romm\" }\nflit-bytes");
    let tornado =
        experiment("torus", "2 ns", "pattern = { kind = \"tornado\" }").replace("to-self = true\n", "");
    for (case, load, text) in [
        ("ft64_nca_uniform", 0.3, tree),
        ("mesh8x8r_romm_transpose", 0.05, romm),
        ("torus8x8_tornado_L1", 0.1, tornado),
    ] {
        let Some(points) = points(case, &[load]) else { return };
        check(&translated(&text).unwrap(), &points);
    }
}

#[test]
fn an_overload_ends_where_the_simulators_does() {
    let Some(points) = points("mesh8x8_uni_L1", &[0.46]) else { return };
    assert_eq!(points[0]["verdict"], "unstable");
    let ours = translated(&experiment("mesh", "1 ns", "flits = 1")).unwrap();
    let curve = Curve::run(&ours, &[0.46], 1, Some(1), &()).unwrap();
    let found = statistics(&curve.points[0].results[0]);
    assert!(
        found.saturated == Some(true) && found.booksim2.as_ref().unwrap().total_cycles.is_none(),
        "{}",
        found.verdict
    );
    same(
        found.packet_latency_cycles.mean.unwrap(),
        &points[0]["classes"]["0"]["plat"],
        "latency when given up",
    );
}

#[test]
fn a_run_has_the_files_of_any_curve() {
    let text = experiment("mesh", "1 ns", "measure.most-windows = 30")
        .replace("{ window = 2000, warm-up = 6000 }", "{ window = 100 }");
    let text = text.replace("measure.most-windows = 30\n", "");
    let subject = translated(&text).unwrap();
    let curve = Curve::run(&subject, &[0.1, 0.9], 2, Some(2), &()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let written = curve.write(folder.path()).unwrap();
    assert!(written.len() >= 10, "{written:?}");
    let json: Value = serde_json::from_str(&curve.json()).unwrap();
    let runs = json["points"][0]["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_ne!(runs[0]["traffic"]["booksim2"]["classes"], runs[1]["traffic"]["booksim2"]["classes"]);
    assert!(runs[1]["traffic"]["booksim2"]["configuration"].as_str().unwrap().contains("seed = 2;"));
    assert!(!curve.points[0].saturated() && curve.points[1].saturated());
    let found = statistics(&curve.points[0].results[0]);
    // windows add up to what all have counted: 4 routers away at most 14 + 1
    assert_eq!(found.series.len() as u64, found.booksim2.as_ref().unwrap().sample_periods);
    assert!(found.series.windows(2).all(|pair| pair[1].end_cycle == pair[0].end_cycle + 100));
    let channels = found.channels.by_router.iter().flatten().filter(|&&share| share >= 0.0).count();
    assert_eq!(channels, 4 * 8 * 7);
    assert_eq!(found.hops.max, Some(15));
}

#[test]
fn what_the_simulator_does_not_have_is_refused_with_its_key() {
    let base = |traffic: &str| experiment("mesh", "1 ns", traffic);
    let router = |key: &str| base("").replace("buffer-flits = 8", &format!("buffer-flits = 8, {key}"));
    for (text, expected) in [
        (base("").replace("[8, 8]", "[8, 4]"), ["topology.dimensions", "same extent"]),
        (
            experiment("torus", "1 ns", "").replace("[8, 8]", "[2, 2]"),
            ["topology.dimensions: 2", "two cables"],
        ),
        (
            base("").replace("\"mesh\"\ndimensions = [8, 8]", "\"ring\"\nnodes = 8"),
            ["topology.kind", "`ring`"],
        ),
        (base("").replace("\"1 ns\"", "\"3 ns\""), ["topology.latency", "3 cycles"]),
        (
            base("").replace("flit-bytes", "terminal-latency = 2\nflit-bytes"),
            ["network.terminal-latency", "1 in BookSim2"],
        ),
        (
            base("").replace("flit-bytes", "routing = { kind = \"up-down\" }\nflit-bytes"),
            ["network.routing", "`up-down`"],
        ),
        (router("virtual-cut-through = true"), ["network.router.virtual-cut-through", "wormhole"]),
        (router("traversal-delay = 2"), ["network.router.stages", "batches"]),
        (base("injection = { kind = \"poisson\" }"), ["traffic.injection", "`poisson`"]),
        (base("pattern = { kind = \"fft\" }"), ["traffic.pattern", "`fft`"]),
        (base("probes = { pairs = [[0, 1]] }"), ["traffic.probes", "configuration of its own"]),
        (base("[[traffic.class]]"), ["traffic.class", "configuration of its own"]),
        (base("").replace("to-self = true\n", ""), ["traffic.to-self", "`to-self = true` is expected"]),
        (
            base("").replace("window = 2000", "precision = 0.5"),
            ["traffic.measure.precision", "rules of its own"],
        ),
    ] {
        let error = translated(&text).err().unwrap_or_default();
        assert!(expected.iter().all(|part| error.contains(part)), "{expected:?}: {error}");
    }
    let too_many = translated(&base("")).unwrap();
    assert!(too_many.at(0.1, 1 << 40).err().unwrap().to_string().contains("seed"));
}

#[test]
fn options_of_routers_and_traffic_have_the_simulators_names() {
    let text = experiment(
        "torus",
        "1 ns",
        "flits = [{ flits = 1, weight = 2 }, { flits = 5, weight = 1 }]\ninjection = { kind = \"on-off\", alpha = 0.02, beta = 0.05 }\n\
         pattern = { kind = \"hot-spots\", targets = [3, 5], weights = [1, 2] }\nload = 0.05",
    );
    let text = text.replace(
        "buffer-flits = 8",
        "buffer-flits = 6, buffers = \"shared\", routing-delay = 0, switch-allocator = { kind = \"separable-input-first\", \
         arbiter = \"matrix\" }, vc-allocator = { kind = \"pim\", iterations = 2 }, speculation = \"separate\"",
    );
    let experiment = translated(&text).unwrap();
    let curve = Curve::run(&experiment, &[0.05], 1, Some(1), &()).unwrap();
    let configuration = &statistics(&curve.points[0].results[0]).booksim2.as_ref().unwrap().configuration;
    for line in [
        "use_noc_latency = 0;",
        "vc_buf_size = 6;",
        "buffer_policy = shared;",
        "routing_delay = 0;",
        "sw_allocator = separable_input_first(matrix);",
        "vc_allocator = pim(2);",
        "spec_sw_allocator = separable_input_first(matrix);",
        "traffic = hotspot({{3,5},{1,2}});",
        "injection_process = on_off({0.02,0.05,-1});",
        "packet_size = {{1,5}};",
        "packet_size_rate = {{2,1}};",
    ] {
        assert!(configuration.contains(line), "{line} is not in\n{configuration}");
    }
}

/// Routers of a torus of two dimensions have five ports, and so have the arbiters of a switch clients.
#[test]
fn trees_of_arbiters_have_the_simulators_names() {
    let traffic = "flits = 1\nload = 0.05";
    let with = |groups: u32| {
        let arbiter = format!(
            "switch-allocator = {{ kind = \"separable-output-first\", \
             arbiter = {{ tree = {{ groups = {groups}, arbiters = \"matrix\" }} }} }}"
        );
        let text = experiment("torus", "1 ns", traffic);
        translated(&text.replace("buffer-flits = 8", &format!("buffer-flits = 8, {arbiter}")))
    };
    let curve = Curve::run(&with(5).unwrap(), &[0.05], 1, Some(1), &()).unwrap();
    let configuration = &statistics(&curve.points[0].results[0]).booksim2.as_ref().unwrap().configuration;
    assert!(
        configuration.contains("sw_allocator = separable_output_first(tree(5,matrix));"),
        "{configuration}"
    );
    let error = with(4).err().unwrap().to_string();
    assert!(error.contains("a number that divides the 5 clients"), "{error}");
}

/// Its rates are in packets, where nothing else is said; ours are in flits.
#[test]
fn loads_are_in_flits_whatever_the_simulator_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.cfg");
    let common =
        "topology = mesh; k = 4; n = 2; routing_function = dor; packet_size = 5; sample_period = 500;\n";
    std::fs::write(&path, format!("{common}injection_rate = 0.04;\n")).unwrap();
    let packets = Experiment::from_file(&path, &[]).unwrap();
    let flits = ["injection_rate_uses_flits = 1", "injection_rate = 0.2"].map(str::to_owned);
    let flits = Experiment::from_file(&path, &flits).unwrap();
    assert!((packets.load() - 0.2).abs() < 1e-12 && (flits.load() - 0.2).abs() < 1e-12);
    for load in [0.2, 0.5] {
        let [a, b] = [&packets, &flits].map(|subject| {
            let curve = Curve::run(subject, &[load], 1, Some(1), &()).unwrap();
            statistics(&curve.points[0].results[0]).offered_flits_per_cycle
        });
        assert!((a - load).abs() < 0.05 * load, "{a} of {load}");
        assert_eq!(a, b);
    }
}

/// Classes keep their shares of another load, and rates their points.
#[test]
fn other_loads_scale_the_rates_of_all_classes() {
    let folder = std::env::temp_dir().join("stratasim-booksim-shares");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("two.cfg");
    std::fs::write(&file, "topology = mesh; k = 4; n = 2; routing_function = dor; num_vcs = 4; classes = 2;\ninjection_rate = {0.05, 0.15};\n")
        .unwrap();
    let experiment = Experiment::from_file(&file, &[]).unwrap();
    for (load, rates) in [(0.1, "{0.025,0.075}"), (0.4, "{0.1,0.3}")] {
        let curve = Curve::run(&experiment, &[load], 1, Some(1), &()).unwrap();
        let made = statistics(&curve.points[0].results[0]).booksim2.as_ref().unwrap();
        assert!(made.configuration.contains(&format!("injection_rate = {rates};")), "{}", made.configuration);
    }
}
