//! The flit level: open-loop traffic with every option, programs at that level, and configurations of BookSim2.

use std::path::Path;
use std::time::Instant;

use stratasim_experiment::booksim::Experiment;
use stratasim_experiment::traffic::Subject as _;
use stratasim_experiment::{Document, Error, Traffic};
use stratasim_report::result::RunResult;

use super::subjects::{Subject, read};
use super::{ENOUGH, now, support};

/// What ends the names of BookSim2's configurations here.
const CONFIGURATION: &str = ".cfg";

/// Whether the command runs a file as a configuration of BookSim2.
pub(crate) fn is_configuration(name: &str) -> bool {
    name.ends_with(CONFIGURATION)
}

fn is_enough(started: Instant) -> impl Fn() -> bool + Sync {
    move || started.elapsed() > ENOUGH
}

/// Runs open-loop traffic; one that is stopped before there is anything to tell has no result.
pub(crate) fn run(document: &Document, base: &Path) -> Result<Option<RunResult>, Error> {
    let traffic = Traffic::new(document, base)?;
    let started = now();
    had(traffic.run(&is_enough(started), None, started))
}

/// Runs a configuration by BookSim2's rules.
pub(crate) fn run_configuration(path: &Path) -> Result<Option<RunResult>, Error> {
    let experiment = Experiment::from_file(path, &[])?;
    let point = experiment.at(experiment.load(), experiment.seed())?;
    let started = now();
    had(point.run(1, &is_enough(started), started))
}

fn had(result: Result<RunResult, Error>) -> Result<Option<RunResult>, Error> {
    match result {
        Err(Error::Stopped) => Ok(None),
        other => other.map(Some),
    }
}

const MESH: &str =
    "[topology]\nkind = \"mesh\"\ndimensions = [4, 4]\nbandwidth = \"32 GB/s\"\nlatency = \"2 ns\"\n";
const MEASURE: &str = "measure = { window = 50, most-warm-up-windows = 4, windows = 2, most-windows = 4 }\n";

/// Every option of the routers that the fast kernel does not know.
const ROUTER: &str = r#"[network]
kind = "flit"
clock = "2.4 GHz"
flit-bytes = "16 B"
terminal-latency = 2
deadlock-check = false
routing = { kind = "dimension-order" }
[network.router]
virtual-channels = 4
buffer-flits = 6
buffers = "feedback"
shared-buffer = { flits = 40, parts = [{ channels = [0, 1], flits = 6 }, { channels = [2, 3], flits = 4 }], feedback-aging = 2, feedback-offset = 1 }
routing-delay = 0
vc-allocation-delay = 2
switch-allocation-delay = 2
traversal-delay = 2
credit-delay = 1
stages = "batches"
speculation = "separate"
wait-for-tail-credit = true
hold-switch = true
input-speedup = 2
output-speedup = 1
internal-speedup = 1.5
output-buffer-flits = 8
vc-allocator = { kind = "separable-input-first", arbiter = { tree = { groups = 4, arbiters = "matrix" } } }
switch-allocator = { kind = "select", iterations = 2 }
requests = { with-credit = true, empty-first = true, by-channel = true, guess = "free", yield-to-requests = true, guess-allocator = { kind = "wavefront" }, precedence = "age", donation = true }
"#;

/// Requests and replies, priorities, probes.
const CLASSES: &str = r#"[network]
kind = "flit"
[network.router]
virtual-channels = 4
buffer-flits = 8
virtual-cut-through = true
ranges = [[0, 1], [2, 3]]
[[traffic.class]]
name = "requests"
load = "2 GB/s"
flits = 2
injection = { kind = "on-off", alpha = 0.1, beta = 0.2 }
range = 0
reply = { flits = [{ flits = 1, weight = 3 }, { flits = 8, weight = 1 }], range = 1 }
[[traffic.class]]
name = "bulk"
share = 2.5
to-self = true
pattern = { kind = "list", pairs = [[0, 1], [3, 2]] }
[traffic.probes]
pairs = [[0, 5], [7, 3]]
interval = 400
flits = 2
"#;

/// Patterns that fit sixteen terminals of a square, a class each.
const PATTERNS: [&str; 24] = [
    "\"uniform-random\"",
    "\"permutation\"",
    "\"shift\", offset = 3",
    "\"neighbour\"",
    "\"all-to-all\"",
    "\"incast\", target = 2, fan-in = 4",
    "\"hot-spot\", target = 5, fraction = 0.1, background = { kind = \"shuffle\" }",
    "\"bit-complement\"",
    "\"transpose\"",
    "\"bit-reversal\"",
    "\"shuffle\"",
    "\"tornado\", dimensions = [4, 4]",
    "\"digit-neighbour\", dimensions = [4, 4]",
    "\"diagonal\"",
    "\"asymmetric\"",
    "\"taper\"",
    "\"bad-dragonfly\", group = 4",
    "\"bad-yarc\"",
    "\"background\", excluded = [1, 2]",
    "\"hot-spots\", targets = [3, 4], weights = [1, 2], fraction = 0.5",
    "\"local\", distance = 2, fraction = 0.5, background = \"tornado\"",
    "\"fft\", phase = \"columns\", columns = 8, mapping = { kind = \"row-blocks\", rows = 2, columns = 2 }",
    "\"fft\", mapping = { kind = \"list\", ranks = [0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14] }",
    "\"list\", pairs = [[0, 1], [2, 3]]",
];

const INJECTIONS: [&str; 5] = [
    "\"bernoulli\"",
    "\"poisson\"",
    "\"on-off\", beta = 0.05, r1 = 0.5",
    "\"periodic\", aligned = true",
    "\"mixture\", of = \"packets\", parts = [{ fraction = 0.25, injection = \"periodic\" }, { fraction = 0.75, injection = { kind = \"poisson\" } }]",
];

/// A machine for each routing function.
const MACHINES: [(&str, &str); 15] = [
    ("kind = \"torus\"\ndimensions = [4, 3]", "\"dimension-order\", balanced = true"),
    ("kind = \"fat-tree\"\nk = 4", "\"nearest-common-ancestor\", adaptive = true"),
    ("kind = \"mesh\"\ndimensions = [4, 4]", "\"xy-yx\""),
    ("kind = \"mesh\"\ndimensions = [4, 4]", "\"valiant\""),
    ("kind = \"torus\"\ndimensions = [4, 4]", "\"romm\""),
    ("kind = \"torus\"\ndimensions = [3, 4]", "\"minimal-adaptive\""),
    ("kind = \"hyperx\"\nhosts-per-switch = 2\ndimensions = [3, 4]", "\"minimal\""),
    ("kind = \"hyperx\"\nhosts-per-switch = 2\ndimensions = [4, 3]", "\"ugal\", threshold = 3"),
    ("kind = \"single-switch\"\nnodes = 8", "\"shortest-path\""),
    ("kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4", "\"table\""),
    ("kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4", "\"auto\""),
    ("kind = \"torus\"\ndimensions = [4]", "\"auto\""),
    (
        "kind = \"dragonfly\"\nhosts-per-router = 1\nrouters-per-group = 2\nglobal-links-per-router = 1",
        "\"ugal\"",
    ),
    (
        "kind = \"dragonfly\"\nhosts-per-router = 2\nrouters-per-group = 3\nglobal-links-per-router = 1\ngroups = 3",
        "\"valiant\"",
    ),
    ("kind = \"k-ary-n-fly\"\nk = 2\nn = 3", "\"destination-tag\""),
];

/// Small experiments with traffic, and the examples of it that are no folders.
fn experiments() -> Vec<(String, String)> {
    let flit = "[network]\nkind = \"flit\"\n";
    let mut files = vec![
        (
            "traffic-router.toml".to_owned(),
            format!("{MESH}{ROUTER}[traffic]\nload = \"1 GB/s\"\nflits = 3\n{MEASURE}"),
        ),
        ("traffic-classes.toml".to_owned(), format!("{MESH}{CLASSES}[traffic]\nload = 0.1\n{MEASURE}")),
        (
            "traffic-batch.toml".to_owned(),
            format!(
                "{MESH}{flit}[traffic]\nbatch = {{ packets = 20, outstanding = 4 }}\nkernel = \"full\"\n"
            ),
        ),
        (
            "traffic-measure.toml".to_owned(),
            format!(
                "{MESH}{flit}[traffic]\nload = 0.3\nflits = [{{ flits = 1, weight = 2 }}, {{ flits = 5, weight = 1 }}]\nkernel = \"fast\"\n\
                 measure = {{ window = 40, warm-up = 80, windows = 3, most-windows = 5, precision = 0.1, drain = 500, drain-when-saturated = true }}\n"
            ),
        ),
        (
            "flit-program.toml".to_owned(),
            format!(
                "{MESH}[network]\nkind = \"flit\"\npacket-flits = 8\nheader-flits = 1\n\
                 [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"4 kB\"\n"
            ),
        ),
    ];
    for (number, patterns) in PATTERNS.chunks(8).enumerate() {
        let class = |pattern: &&str| format!("[[traffic.class]]\npattern = {{ kind = {pattern} }}\n");
        let classes: String = patterns.iter().map(class).collect();
        let text = format!("{MESH}{flit}[traffic]\nload = 0.2\n{MEASURE}{classes}");
        files.push((format!("traffic-patterns-{number}.toml"), text));
    }
    let class =
        |injection: &&str| format!("[[traffic.class]]\nload = 0.04\ninjection = {{ kind = {injection} }}\n");
    let classes: String = INJECTIONS.iter().map(class).collect();
    files.push(("traffic-injections.toml".to_owned(), format!("{MESH}{flit}[traffic]\n{MEASURE}{classes}")));
    for (number, (machine, routing)) in MACHINES.iter().enumerate() {
        let router = "router = { virtual-channels = 8, buffer-flits = 4 }";
        let text = format!(
            "[topology]\n{machine}\nbandwidth = \"32 GB/s\"\nlatency = \"2 ns\"\n{flit}{router}\nrouting = {{ kind = {routing} }}\n\
             [traffic]\nload = 0.1\n{MEASURE}"
        );
        files.push((format!("flit-routing-{number}.toml"), text));
    }
    files.push(read(&support::root().join("examples/torus-8x8x8.toml")));
    files
}

/// Configurations of BookSim2: network and routing, and what else they say.
const CONFIGURATIONS: [(&str, &str); 12] = [
    ("topology = mesh; k = 4; n = 2; routing_function = dor", "traffic = tornado; packet_size = {{1,6}}"),
    (
        "topology = mesh; k = 4; n = 2; routing_function = min_adapt",
        "traffic = hotspot({{0,3},{1,2}}); injection_process = on_off({0.1,0.2,-1.0}); vct = 0",
    ),
    (
        "topology = torus; k = 3; n = 2; routing_function = dim_order",
        "speculative = 1; routing_delay = 0; vc_allocator = separable_input_first",
    ),
    (
        "topology = fattree; k = 2; n = 3; routing_function = anca",
        "classes = 2; traffic = {uniform,bitcomp}; priority = class; class_priority = {0,1}; sw_allocator = select",
    ),
    (
        "topology = fly; k = 2; n = 3; routing_function = dest_tag",
        "sim_type = batch; batch_size = 20; batch_count = 2; max_outstanding_requests = 4",
    ),
    (
        "topology = cmesh; k = 4; n = 2; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = dor",
        "sim_type = throughput; use_read_write = 1; num_vcs = 16; write_fraction = 0.3; read_reply_size = 4",
    ),
    (
        "topology = flatfly; k = 4; n = 2; c = 4; x = 4; y = 4; xr = 2; yr = 2; routing_function = ugal_xyyx",
        "buffer_policy = shared; buf_size = 64; hold_switch_for_packet = 1",
    ),
    (
        "topology = dragonflynew; k = 2; n = 1; routing_function = min; num_vcs = 2",
        "traffic = bad_dragon; input_speedup = 2",
    ),
    (
        "topology = qtree; k = 4; n = 3; routing_function = nca",
        "internal_speedup = 1.5; output_buffer_size = 8",
    ),
    (
        "topology = tree4; k = 4; n = 3; routing_function = nca",
        "wait_for_tail_credit = 1; perm_seed = 5; traffic = randperm",
    ),
    ("topology = anynet; network_file = net; routing_function = min", "sim_count = 2; seed = -3"),
    (
        "topology = mesh; k = 4; n = 2; routing_function = dor; subnets = 2",
        "warmup_periods = 0; max_samples = 20; latency_thres = {200.0}",
    ),
];

const SHORT: &str =
    "num_vcs = 4; vc_buf_size = 4; injection_rate = 0.1; sample_period = 100; max_samples = 4";
const NET: &str = "router 0 node 0 node 1 router 1 3\nrouter 1 node 2 router 2\nrouter 2 node 3 router 0 2\n";

/// What is damaged of the flit level.
pub(crate) fn subjects() -> Vec<Subject> {
    let mut subjects: Vec<Subject> =
        experiments().into_iter().map(|file| Subject { files: vec![file], damaged: 0 }).collect();
    for (number, (network, more)) in CONFIGURATIONS.iter().enumerate() {
        // a statement to a line, and what comes later counts
        let text = format!("{SHORT}; {network}; {more};\n").replace("; ", ";\n");
        let file = (format!("booksim-{number}{CONFIGURATION}"), text);
        if !network.contains("network_file") {
            subjects.push(Subject { files: vec![file], damaged: 0 });
            continue;
        }
        for damaged in 0..2 {
            let files = vec![file.clone(), ("net".to_owned(), NET.to_owned())];
            subjects.push(Subject { files, damaged });
        }
    }
    subjects
}
