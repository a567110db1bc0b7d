//! What is damaged: the examples, and small experiments with every kind of everything.

use std::path::Path;

use stratasim_experiment::plugins::NOUNS;
use stratasim_report::Style;
use stratasim_workload::{CollectiveKind, CollectiveSpec};

use super::{support, traffic};

/// Files of which one is damaged; the first is the experiment.
pub(crate) struct Subject {
    pub(crate) files: Vec<(String, String)>,
    pub(crate) damaged: usize,
}

impl Subject {
    pub(crate) fn name(&self) -> &str {
        &self.files[self.damaged].0
    }
}

pub(crate) fn read(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    // the demonstration's machine is too large for this test
    (name, std::fs::read_to_string(path).unwrap().replace("xpus = 1024", "xpus = 32"))
}

/// The examples with the files that they name, and formats of others in small experiments.
pub(crate) fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for folder in support::examples() {
        for experiment in support::files(&folder, "toml") {
            let mut others = support::files(&folder, "xml");
            others.extend(support::files(&folder, "goal"));
            let files: Vec<_> = std::iter::once(&experiment).chain(&others).map(|path| read(path)).collect();
            for damaged in 0..files.len() {
                subjects.push(Subject { files: files.clone(), damaged });
            }
        }
    }
    let data = support::root().join("tests/data");
    let workload = "[workload]\nkind = \"collective\"\noperation = \"all-to-all\"\nbytes = \"1 MB\"\n";
    for (folder, end, kind) in [
        ("networkx", "json", "networkx-json"),
        ("networkx", "graphml", "graphml"),
        ("simgrid-xml", "xml", "simgrid-xml"),
    ] {
        for path in support::files(&data.join(folder), end) {
            let file = read(&path);
            let text = format!("[topology]\nkind = \"{kind}\"\npath = \"{}\"\n{workload}", file.0);
            let mut files = vec![("experiment.toml".to_owned(), text), file];
            files.extend(support::files(&data.join(folder), "trace").iter().map(|path| read(path)));
            subjects.push(Subject { files, damaged: 1 });
        }
    }
    subjects.extend(kinds().into_iter().map(|file| Subject { files: vec![file], damaged: 0 }));
    let graph = read(&support::root().join("crates/workload/tests/data/networkx-edges.json"));
    let text = format!(
        "[topology]\nkind = \"hcsim-cxl\"\nxpus = 4\n[workload]\nkind = \"graph\"\npath = \"{}\"\n",
        graph.0
    );
    subjects.push(Subject { files: vec![("experiment.toml".to_owned(), text), graph], damaged: 1 });
    subjects.extend(traffic::subjects());
    subjects
}

/// Sixteen hosts and a sum over them.
const CARD: &str = "[topology]\nkind = \"cards\"\ncard = \"sw-ai\"\nof = { kind = \"single-switch\", nodes = 1, bandwidth = \"10 GB/s\", latency = \"1 us\" }\n";
const SWITCH: &str =
    "[topology]\nkind = \"single-switch\"\nnodes = 16\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n";
const SUM: &str = "[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n";

/// Every option of the flow network and of the execution.
const OPTIONS: &str = r#"[network]
kind = "flow"
rule = "lv08"
options = { tcp-gamma = "4 MiB", cross-traffic = true, bandwidth-factor = 0.97, latency-factor = "1000:2;50000:3", weight-s = "20537 B", work-precision = 1e-5, loopback-latency = "1 us" }
shortcuts = { local-solve = false, pipelines = false, solo-flows = false }
[execution]
timing-precision = "1 ns"
eager-limit = "1 kB"
roofline = true
"#;

/// A schedule as NCCL makes it, several ranks on a node, on the message level with every option.
const MESSAGE: &str = r#"[workload]
kind = "goal"
nccl = { operation = "all-reduce", algorithm = "tree", protocol = "ll128", ranks = 12, ranks-per-node = 4, bytes = "100 kB", channels = 3, nics = 2, root = 0, chunk = "8 kB", buffer = "64 KiB", reduce-bandwidth = "50 GB/s", copy-bandwidth = "80 GB/s", tag = 7 }
ranks-per-node = 2
nics = 2
[network]
kind = "message"
latency = "3.7 us"
overhead = "200 ns"
gap = "5 ns"
gap-per-byte = "0.04 ns/B"
overhead-per-byte = "0.001 ns/B"
eager-limit = "4 kB"
from-routes = true
nics = 2
near = [{ within = "node", latency = "200 ns", gap = "1 ns", gap-per-byte = "0.003 ns/B" }]
[execution.noise]
every = "50 us"
length = "2 us"
"#;

/// Several jobs with every option.
const JOBS: &str = r#"[[job]]
name = "training"
workload = { kind = "goal", pattern = { kind = "ring-allreduce" }, ranks = 6, bytes = "60 kB" }
repetitions = 2
pause = "10 us"
[[job]]
workload = { kind = "goal", pattern = { kind = "pipelined-ring" }, ranks = 4, bytes = "40 kB", segment = "10 kB", root = 1, repetitions = 2 }
start = "5 us"
[jobs]
placement = { kind = "list", nodes = [[0, 1, 2, 3, 4, 5], [5, 6, 7, 5]] }
shared = true
ranks-per-node = 1
nics = "own"
racks = "rack"
alone = true
[execution]
eager-limit = "1 kB"
"#;

/// Something that an algorithm does.
fn does(algorithm: &str) -> &'static str {
    let spec: CollectiveSpec = serde_json::from_value(serde_json::json!({ "kind": algorithm })).unwrap();
    let plans = |kind: &CollectiveKind| spec.plugin().plan_on(*kind, 16, 1_000_000, &[16]).is_ok();
    let sum_first = std::iter::once(CollectiveKind::AllReduce).chain(CollectiveKind::ALL);
    sum_first.into_iter().find(plans).expect("it does something").name()
}

/// A small experiment with each kind of topology, collective and pattern, and some with every option.
fn kinds() -> Vec<(String, String)> {
    let mut kinds = vec![
        ("options.toml".to_owned(), format!("{SWITCH}{SUM}{OPTIONS}")),
        ("message.toml".to_owned(), format!("{SWITCH}{MESSAGE}")),
        ("jobs.toml".to_owned(), format!("{SWITCH}{JOBS}")),
    ];
    for noun in NOUNS {
        for entry in noun.entries {
            let kind = entry.kind;
            let experiment = match noun.name {
                // these need a file; their formats are tried by themselves
                "topologies" if ["simgrid-xml", "graphml", "networkx-json"].contains(&kind) => continue,
                "topologies" => {
                    let words = ["topology".to_owned(), kind.to_owned()];
                    let help = stratasim_cli::explain(&words, &Style::PLAIN).unwrap();
                    let example = help.split("    [topology]\n").nth(1).expect("topologies have examples");
                    let lines = example.lines().take_while(|line| line.starts_with("    "));
                    let lines: Vec<_> = lines.map(str::trim_start).collect();
                    let traffic = "[workload]\nkind = \"traffic\"\nflows = 20\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\n";
                    format!("[topology]\n{}\n{traffic}", lines.join("\n"))
                }
                "collectives" => {
                    let (operation, more) = match kind {
                        "binomial" => ("broadcast", ""),
                        "dissemination" => ("barrier", ""),
                        "chain" => ("broadcast", ", segment = \"64 kB\""),
                        "pairwise" => ("all-to-all", ""),
                        "bruck" | "neighbour-exchange" | "card-csc-equation" => ("all-gather", ""),
                        "hierarchical" => ("all-reduce", ", dimensions = [4, 4]"),
                        _ => (does(kind), ""),
                    };
                    let sum = SUM.replace("all-reduce", operation);
                    let machine = if kind.starts_with("card-") { CARD } else { SWITCH };
                    format!("{machine}{sum}algorithm = {{ kind = \"{kind}\"{more} }}\niterations = 2\n")
                }
                "patterns" => format!(
                    "{SWITCH}[workload]\nkind = \"traffic\"\nflows = 40\npattern = {{ kind = \"{kind}\" }}\nsize = {{ kind = \"exponential\", mean = \"1 MB\" }}\narrivals = {{ kind = \"poisson\", load = 0.3, rate = \"12.5 GB/s\" }}\n"
                ),
                "goal-patterns" => {
                    let collective = ", operation = \"all-gather\", algorithm = { kind = \"ring\" }";
                    let more = if kind == "collective" { collective } else { "" };
                    format!(
                        "{SWITCH}[workload]\nkind = \"goal\"\npattern = {{ kind = \"{kind}\"{more} }}\nranks = 8\nbytes = \"20 kB\"\n[network]\nkind = \"message\"\n"
                    )
                }
                "job-placements" => {
                    let racks = SWITCH.replace(
                        "kind = \"single-switch\"\nnodes = 16",
                        "kind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts-per-leaf = 4",
                    );
                    let more = if kind == "list" { ", nodes = [[0, 1, 2], [3, 4, 5, 6]]" } else { "" };
                    let job = |ranks: u32| {
                        format!(
                            "[[job]]\nworkload = {{ kind = \"goal\", pattern = {{ kind = \"incast\" }}, ranks = {ranks} }}\n"
                        )
                    };
                    format!("{racks}{}{}[jobs]\nplacement = {{ kind = \"{kind}\"{more} }}\n", job(3), job(4))
                }
                _ => continue,
            };
            kinds.push((format!("{}-{kind}.toml", noun.name), experiment));
        }
    }
    kinds
}
