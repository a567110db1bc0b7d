//! Bad input: one clear error with the place, what was found, and what would be right.

use std::fmt::Write as _;
use std::path::Path;

use crate::support::{Ended, Scratch};

/// An experiment that runs, in parts that tests replace.
pub(crate) const TOPOLOGY: &str =
    "[topology]\nkind = \"ring\"\nnodes = 4\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n";
pub(crate) const WORKLOAD: &str =
    "[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n";

/// Two accelerators, a memory that nothing leads to, and a switch.
const GRAPH: &str = r#"[topology]
kind = "graph"
nodes = [
  { name = "a", compute = "H100", home-memory = "far" },
  { name = "b", compute = "H100" },
  { name = "far", kind = "memory" },
  { name = "switch", kind = "switch" },
]
links = [
  { from = "a", to = "switch", bandwidth = "10 GB/s", latency = "1 us" },
  { from = "b", to = "switch", bandwidth = "10 GB/s", latency = "1 us", duplex = "simplex" },
]
"#;

/// Runs `text` as an experiment.
pub(crate) fn run(text: &str, arguments: &[&str]) -> Ended {
    let scratch = Scratch::new();
    scratch.write("bad.toml", text);
    scratch.stratasim(&[&["run", "bad.toml"], arguments].concat())
}

/// Asserts that the command refused its input with one error that has all of `words` in it.
pub(crate) fn refused(ended: &Ended, words: &[&str]) {
    ended.failed(2, words);
}

#[test]
fn the_experiment_that_these_tests_change_runs() {
    assert_eq!(run(&format!("{TOPOLOGY}{WORKLOAD}"), &[]).code, 0);
}

#[test]
fn texts_do_not_drive_the_terminal_and_names_are_on_one_line() {
    let ended = run(&format!("name = \"red \\u001b[31m\"\n{TOPOLOGY}{WORKLOAD}"), &[]);
    assert!(ended.code == 0 && ended.output.contains("red \u{fffd}[31m"), "{}", ended.output);
    let text = GRAPH.replace("\"b\"", "\"b\\nb\"");
    refused(&run(&format!("{text}{WORKLOAD}"), &[]), &["b\\nb", "line break"]);
}

#[test]
fn a_missing_section_or_key_is_named() {
    refused(&run(WORKLOAD, &[]), &["the key `topology` is missing", "bad.toml"]);
    let text = TOPOLOGY.replace("latency = \"1 us\"\n", "") + WORKLOAD;
    refused(&run(&text, &[]), &["topology: the key `latency` is missing", "bad.toml:1"]);
    refused(&run("", &[]), &["the key `topology` is missing"]);
}

#[test]
fn a_wrong_unit_is_named_with_a_right_one() {
    for (right, wrong, words) in [
        ("\"10 GB/s\"", "\"400\"", ["topology.bandwidth", "400", "Gbps", "bad.toml:4"]),
        ("\"10 GB/s\"", "\"10 ms\"", ["topology.bandwidth", "10 ms", "Gbps", "bad.toml:4"]),
        ("\"10 GB/s\"", "10", ["topology.bandwidth", "`10`", "Gbps", "bad.toml:4"]),
        ("\"1 us\"", "\"1 GB\"", ["topology.latency", "1 GB", "500 ns", "bad.toml:5"]),
        ("\"1 MB\"", "\"1 Mb/s\"", ["workload.bytes", "1 Mb/s", "64 MiB", "bad.toml:9"]),
    ] {
        let text = format!("{TOPOLOGY}{WORKLOAD}").replace(right, wrong);
        refused(&run(&text, &[]), &words);
    }
}

#[test]
fn values_out_of_range_are_named() {
    for (right, wrong, words) in [
        ("\"10 GB/s\"", "\"-10 GB/s\"", ["topology.bandwidth", "-10 GB/s", "bad.toml:4"]),
        ("\"10 GB/s\"", "\"0 GB/s\"", ["topology.bandwidth", "bandwidth 0 bps", "bad.toml:4"]),
        ("\"10 GB/s\"", "\"nan GB/s\"", ["topology.bandwidth", "nan", "bad.toml:4"]),
        ("\"1 us\"", "\"-1 us\"", ["topology.latency", "-1 us", "bad.toml:5"]),
        ("nodes = 4", "nodes = 1", ["topology.nodes", "two", "bad.toml:3"]),
        ("nodes = 4", "nodes = -4", ["topology.nodes", "-4", "bad.toml:3"]),
        ("nodes = 4", "nodes = 4.5", ["topology.nodes", "4.5", "bad.toml:3"]),
        ("nodes = 4", "nodes = \"four\"", ["topology.nodes", "four", "bad.toml:3"]),
    ] {
        let text = format!("{TOPOLOGY}{WORKLOAD}").replace(right, wrong);
        refused(&run(&text, &[]), &words);
    }
    // limits that leave a default outside
    let swift = "[network]\nkind = \"packet\"\ncongestion = { kind = \"swift\", window-limits = [20, 50] }\n";
    let ended = run(&format!("{TOPOLOGY}{WORKLOAD}{swift}"), &[]);
    refused(
        &ended,
        &["initial-packets: 10; 20 to 50 are possible (the default, as it is not given)", "bad.toml:12"],
    );
}

#[test]
fn toml_that_is_cut_short_or_wrong_is_shown() {
    let text = format!("{TOPOLOGY}{WORKLOAD}");
    refused(&run(&text[..text.len() - 4], &[]), &["string", "bad.toml:9"]);
    refused(&run("[topology\nkind = 1", &[]), &["bad.toml:1"]);
    refused(&run(&format!("{TOPOLOGY}nodes = 5\n{WORKLOAD}"), &[]), &["duplicate key", "bad.toml:6"]);
    refused(&run(&"[".repeat(200_000), &[]), &["bad.toml:1"]);
    refused(&run(&format!("a = {}", "[".repeat(200_000)), &[]), &["bad.toml:1"]);
    refused(&run(&format!("a{} = 1", ".a".repeat(200_000)), &[]), &["bad.toml"]);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let scratch = Scratch::new();
    refused(&scratch.stratasim(&["run", "no-such.toml"]), &["no-such.toml", "no such file"]);
    refused(&scratch.stratasim(&["run", "."]), &["folder"]);
    std::fs::write(scratch.path().join("binary.toml"), [0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0, 1]).unwrap();
    refused(&scratch.stratasim(&["run", "binary.toml"]), &["binary.toml", "no UTF-8 text", "line 1"]);
    // the letter of a file in another encoding is where its line says
    let latin = b"# a\n# b\n# na\xefve\n";
    for (file, verb) in [
        ("latin.toml", &["run"][..]),
        ("latin.graphml", &["topology", "show"]),
        ("latin.xml", &["topology", "show"]),
        ("latin.json", &["report"]),
    ] {
        std::fs::write(scratch.path().join(file), latin).unwrap();
        let ended = scratch.stratasim(&[verb, &[file]].concat());
        refused(&ended, &[file, "the file is no UTF-8 text: line 3 has the byte 0xef"]);
    }
    for verb in [["sweep", "no-such.toml", "--out", "x"].as_slice(), &["compare", "no-such.toml"]] {
        refused(&scratch.stratasim(verb), &["no-such.toml", "no such file"]);
    }
    refused(&scratch.stratasim(&["report", "no-such.json"]), &["no-such.json", "no such file"]);
    refused(&scratch.stratasim(&["topology", "show", "no.xml"]), &["no.xml", "no such file"]);
    refused(&scratch.stratasim(&["conformance", "flow", "no-such"]), &["no-such", "no such file"]);
}

#[test]
fn what_has_no_place_in_a_file_still_names_the_file() {
    let scratch = Scratch::new();
    scratch.write("no-work.toml", TOPOLOGY);
    refused(&scratch.stratasim(&["run", "no-work.toml"]), &["no-work.toml", "what should run?"]);
    scratch.write("mg.json", r#"{"mode": 1, "goal_files": ["a.goal"], "pattern": "packed"}"#);
    let ended = scratch.stratasim(&["goal", "merge", "--config", "mg.json", "-o", "z.goal"]);
    refused(&ended, &["mg.json: mode: one of multi-job, multi-tenant is expected, found integer `1`"]);
}

#[test]
fn a_configuration_of_merge_is_named_with_its_keys() {
    let scratch = Scratch::new();
    scratch.write("two.goal", "num_ranks 2\nrank 0 {\nl1: calc 5\n}\nrank 1 {\nl1: calc 5\n}\n");
    let merge = |files: &str, pattern: &str| {
        let text = format!(r#"{{"mode": "multi-job", "goal_files": [{files}], "pattern": {pattern}}}"#);
        scratch.write("mc.json", &text);
        scratch.stratasim(&["goal", "merge", "--config", "mc.json", "-o", "z.goal"])
    };
    let two = r#""two.goal", "two.goal""#;
    for (files, pattern, words) in [
        (
            two,
            "[[0, \"1\"], [1, 3]]",
            "mc.json: pattern: expected a name, or a list of node numbers for each job",
        ),
        (two, "[[0, 2]]", "mc.json: pattern: 1 lists for 2 jobs"),
        (two, "[[0, 2], [1, -1]]", "mc.json: pattern.1.1: a node number is expected, found -1"),
        (two, "[[0, 2], [0, 3]]", "mc.json: pattern.1: node 0 is given to jobs 0 and 1"),
        (
            r#""two.goal", "three.goal""#,
            "[[0, 2], [1, 3]]",
            "mc.json: goal_files.1: three.goal: no such file",
        ),
    ] {
        refused(&merge(files, pattern), &[words]);
    }
    assert_eq!(merge(two, "[[0, 2], [1, 3]]").code, 0);
}

#[test]
fn ranks_of_a_graph_that_no_machine_has_room_for_are_named() {
    for ranks in [0, 9] {
        let work = format!(
            "[workload]\nkind = \"graph\"\nranks = {ranks}\nvertices = [{{ name = \"a\", kind = \"join\" }}]\n"
        );
        let ended = run(&format!("{TOPOLOGY}{work}"), &[]);
        refused(
            &ended,
            &[
                &format!("workload.ranks: {}", if ranks == 0 { "at least one" } else { "9 ranks need" }),
                "bad.toml:8",
            ],
        );
        let placed = run(&format!("{TOPOLOGY}{work}[placement]\nkind = \"linear\"\nranks = 8\n"), &[]);
        refused(&placed, &["placement.ranks", "the placement 8"]);
    }
}

#[test]
fn rates_and_windows_of_nothing_are_refused_at_their_keys() {
    let ended = run(&format!("{TOPOLOGY}{WORKLOAD}"), &["--set", "topology.bandwidth=\"0 Gbps\""]);
    refused(&ended, &["topology.bandwidth: link 0 has bandwidth 0 bps", "--set topology.bandwidth"]);
    let network =
        "[network]\nkind = \"packet\"\ncongestion = { kind = \"fixed-window\", window = \"0 B\" }\n";
    let ended = run(&format!("{TOPOLOGY}{WORKLOAD}{network}"), &[]);
    refused(&ended, &["network.congestion.window: 0 B; more is needed", "bad.toml:12"]);
}

#[test]
fn an_error_fits_on_a_narrow_terminal() {
    let scratch = Scratch::new();
    let long = "# a comment that no narrow terminal has room for, not even half of it, or so they say\n";
    scratch.write("bad.toml", &format!("{TOPOLOGY}nodess = 5 {long}{WORKLOAD}"));
    for (columns, file) in
        [(40, "bad.toml"), (60, "bad.toml"), (60, "no/such/file/anywhere/on/this/machine/at/all.toml")]
    {
        let mut command = scratch.command(&["run", file]);
        let errors = command.env("COLUMNS", columns.to_string()).output().unwrap().stderr;
        let errors = String::from_utf8(errors).unwrap();
        let wide = errors.lines().find(|line| line.chars().count() > columns);
        assert!(wide.is_none() && errors.contains('×'), "{columns}\n{errors}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named_with_the_reason() {
    let scratch = Scratch::new();
    let sweep = "\n[sweep.product]\n\"topology.nodes\" = [4, 5]\n";
    scratch.write("sweep.toml", &format!("{TOPOLOGY}{WORKLOAD}{sweep}"));
    scratch.write("file", "");
    let ended = scratch.stratasim(&["sweep", "sweep.toml", "--out", "file"]);
    refused(&ended, &["× file: this is a file; name a folder"]);
}

#[test]
fn values_of_several_forms_are_shown_where_none_fits() {
    let traffic = "\n[network]\nkind = \"flit\"\n[traffic]\nload = \"20%\"\n";
    refused(
        &run(&format!("{TOPOLOGY}{traffic}"), &[]),
        &["traffic.load: expected flits", "found string \"20%\""],
    );
}

#[test]
fn outputs_that_cannot_be_written_are_said_before_the_run() {
    let scratch = Scratch::new();
    scratch.write("good.toml", &format!("{TOPOLOGY}{WORKLOAD}"));
    scratch.write("file", "");
    for option in ["--json", "--trace", "--csv", "--picture", "--heat-map"] {
        let name = |folder: &str| format!("{folder}/out.svg");
        let ended = scratch.stratasim(&["run", "good.toml", option, &name("none")]);
        refused(&ended, &["none/out.svg", "there is no folder `none`"]);
        let ended = scratch.stratasim(&["run", "good.toml", option, &name("file")]);
        refused(&ended, &["file/out.svg"]);
        if !["--picture", "--heat-map"].contains(&option) {
            refused(&scratch.stratasim(&["run", "good.toml", option, "."]), &["folder"]);
        }
    }
    refused(
        &scratch.stratasim(&["run", "good.toml", "--picture", "out.jpg"]),
        &["--picture", ".svg or .png"],
    );
    let ended = scratch.stratasim(&["compare", "good.toml", "--json", "none/out.json"]);
    refused(&ended, &["there is no folder `none`"]);
    assert_eq!(scratch.names(), ["file", "good.toml"]);
}

#[test]
fn a_missing_route_is_an_error_of_the_run() {
    let text = format!(
        "{GRAPH}[workload]\nkind = \"graph\"\nvertices = [{{ name = \"m\", kind = \"communication\", source = 0, destination = 1, bytes = 8 }}]\n"
    );
    run(&text, &[]).failed(3, &["`m` on rank 0", "no route from a to b"]);
}

#[test]
fn an_unreachable_or_missing_memory_is_named() {
    let vertex = |rank: u32, memory: &str| {
        format!(
            "{GRAPH}[workload]\nkind = \"graph\"\nvertices = [{{ name = \"work\", kind = \"compute\", rank = {rank}, flops = 1, memory-bytes = 8, memory = \"{memory}\" }}]\n"
        )
    };
    refused(&run(&vertex(0, "home"), &[]), &["`work`", "memory cannot be reached", "far"]);
    refused(&run(&vertex(1, "home"), &[]), &["`work`", "b has no memory node"]);
    refused(&run(&vertex(1, "fra"), &[]), &["`fra`", "bad.toml"]);
}

#[test]
fn a_cycle_within_one_iteration_is_named() {
    let text = format!(
        "{TOPOLOGY}{}",
        r#"[workload]
kind = "graph"
vertices = [
  { name = "a", kind = "join", rank = 0, start = true },
  { name = "b", kind = "join", rank = 0 },
  { name = "c", kind = "join", rank = 0 },
]
edges = [{ from = "a", to = "b" }, { from = "b", to = "c" }, { from = "c", to = "b" }]
"#
    );
    refused(&run(&text, &[]), &["`b`", "`c`", "distance"]);
}

#[test]
fn a_rank_on_a_switch_is_named() {
    let placement = "[placement]\nkind = \"list\"\nnodes = [\"a\", \"switch\"]\n";
    let ended = run(&format!("{GRAPH}{placement}{WORKLOAD}"), &[]);
    refused(&ended, &["placement.nodes.1", "rank 1", "`switch`, which is a switch", "bad.toml:15"]);
    let ended = run(&format!("{TOPOLOGY}{WORKLOAD}[placement]\nkind = \"linear\"\nranks = 9\n"), &[]);
    refused(&ended, &["placement.ranks", "9 ranks", "has 4", "bad.toml:12"]);
    let ended = run(&format!("{TOPOLOGY}{WORKLOAD}[placement]\nkind = \"linear\"\nranks = 0\n"), &[]);
    refused(&ended, &["placement.ranks: at least one rank is needed, got 0", "bad.toml:12"]);
    let ended = run(&format!("{TOPOLOGY}{WORKLOAD}[placement]\nkind = \"list\"\nnodes = []\n"), &[]);
    refused(&ended, &["placement.nodes: the list is empty; give it at least one node", "bad.toml:12"]);
}

#[test]
fn a_stalled_run_names_the_tasks_that_wait() {
    let text = format!(
        "{TOPOLOGY}{}",
        r#"[workload]
kind = "graph"
vertices = [
  { name = "give-0", kind = "send", rank = 0, destination = 1, bytes = 8, stream = 0 },
  { name = "take-0", kind = "receive", rank = 0, source = 1, stream = 0 },
  { name = "give-1", kind = "send", rank = 1, destination = 0, bytes = 8, stream = 0 },
  { name = "take-1", kind = "receive", rank = 1, source = 0, stream = 0 },
]
edges = [{ from = "give-0", to = "take-0" }, { from = "give-1", to = "take-1" }]
"#
    );
    // both send first: that works while nobody waits for the other, and only then
    assert_eq!(run(&text, &[]).code, 0);
    let ended = run(&text, &["--set", "execution.eager-limit=0 B"]);
    ended.failed(3, &["stalled", "4 tasks", "`give-0` on rank 0", "`take-1` on rank 1"]);
}

#[test]
fn a_receive_without_a_send_is_named() {
    let text = format!(
        "{TOPOLOGY}{}",
        r#"[workload]
kind = "graph"
vertices = [{ name = "take", kind = "receive", rank = 1, source = 0, tag = 7 }]
"#
    );
    refused(&run(&text, &[]), &["`take`", "from rank 0 to rank 1 with tag 7", "no matching send"]);
}

#[test]
fn machines_of_a_million_million_nodes_are_refused_by_every_generator() {
    let rates = "bandwidth = \"1 GB/s\"\nlatency = \"1 us\"\n";
    let most = u32::MAX;
    for (kind, size) in [
        ("single-switch", format!("nodes = {most}\n{rates}")),
        ("ring", format!("nodes = {most}\n{rates}")),
        ("ring", format!("nodes = 1000000000000\n{rates}")),
        ("fully-connected", format!("nodes = 1000000\n{rates}")),
        ("mesh", format!("dimensions = [10000, 10000, 10000]\n{rates}")),
        ("torus", format!("dimensions = [1000000, 1000000]\n{rates}")),
        ("torus", format!("dimensions = [{most}, {most}, {most}, {most}]\n{rates}")),
        ("hypercube", format!("dimensions = 40\n{rates}")),
        ("hypercube", format!("dimensions = {most}\n{rates}")),
        ("hyperx", format!("dimensions = [10000, 100000, 1000]\nhosts-per-switch = 1\n{rates}")),
        ("dragonfly", format!("hosts-per-router = 10000\nrouters-per-group = 10000\nglobal-links-per-router = 10000\n{rates}")),
        (
            "multi-dimensional",
            "dimensions = [{ shape = \"ring\", nodes = 1000000, bandwidth = \"1 GB/s\", latency = \"1 us\" }, { shape = \"switch\", nodes = 1000000, bandwidth = \"1 GB/s\", latency = \"1 us\" }]\n"
                .to_owned(),
        ),
        ("fat-tree", format!("k = 20000\n{rates}")),
        ("fat-tree", format!("down = [10000, 10000, 10000]\nup = [1, 10000, 10000]\n{rates}")),
        ("leaf-spine", format!("leaves = 1000000\nspines = 1000\nhosts-per-leaf = 1000000\n{rates}")),
        ("k-ary-n-fly", format!("k = 1000\nn = 4\n{rates}")),
        ("k-ary-n-fly", format!("k = {most}\nn = {most}\n{rates}")),
        ("k-ary-n-tree", format!("k = 1000\nn = 4\n{rates}")),
        ("hcsim-cxl", format!("xpus = {most}\n")),
        ("hcsim-ethernet", format!("xpus = {most}\n")),
        (
            "graph",
            format!(
                "nodes = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlinks = [{{ from = \"a\", to = \"b\", bandwidth = \"1 GB/s\", latency = \"1 us\", parallel = {most} }}]\n"
            ),
        ),
    ] {
        let ended = run(&format!("[topology]\nkind = \"{kind}\"\n{size}{WORKLOAD}"), &[]);
        refused(&ended, &["topology", "bad.toml"]);
        assert!(!ended.errors.contains("unknown key"), "{kind}: {}", ended.errors);
    }
}

/// The example that `explain` shows, with each of its whole numbers at both ends of what can be written.
#[test]
fn machines_of_a_million_million_nodes_or_none_are_no_surprise_to_any_topology() {
    let scratch = Scratch::new();
    let mut tried = 0;
    for kind in stratasim_topo::TopologySpec::KINDS {
        let help = scratch.stratasim(&["explain", "topologies", kind]).output;
        let example = help.split("    [topology]\n").nth(1).expect("topologies have examples");
        let lines = example.lines().take_while(|line| line.starts_with("    ")).map(str::trim_start);
        let lines: Vec<_> = lines.collect();
        let text = format!("[topology]\n{}\n{WORKLOAD}", lines.join("\n"));
        for (key, value) in lines.iter().filter_map(|line| line.split_once(" = ")) {
            if value.parse::<u32>().is_err() {
                continue;
            }
            for extreme in [0, u32::MAX] {
                let set = format!("topology.{key}={extreme}");
                let code = run(&text, &["--quiet", "--set", &set]).code;
                assert!([0, 2, 3].contains(&code), "{kind}: {set} ends with {code}");
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn programs_of_a_million_million_tasks_are_refused() {
    for workload in [
        "kind = \"traffic\"\nflows = 4294967295\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\n",
        "kind = \"transformer\"\nhidden = 1024\nlayers = 4294967295\nmemory = \"local\"\n",
        "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\niterations = 4294967295\n",
        "kind = \"graph\"\niterations = 4294967295\nranks = 4000000000\nvertices = [{ name = \"a\", kind = \"join\", ranks = \"all\" }]\n",
    ] {
        let ended = run(&format!("{TOPOLOGY}[workload]\n{workload}"), &[]);
        ended.failed(2, &[]);
    }
}

/// A platform file with `inside` in its zone.
fn platform(inside: &str) -> String {
    format!(
        "<?xml version='1.0'?>\n<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n{inside}</zone>\n</platform>\n"
    )
}

#[test]
fn broken_and_malicious_xml_is_refused_with_its_place() {
    let scratch = Scratch::new();
    let refuse = |text: &str, words: &[&str]| {
        scratch.write("bad.xml", text);
        refused(&scratch.stratasim(&["topology", "show", "bad.xml"]), words);
    };
    let good = platform("<host id=\"a\" speed=\"1Gf\"/>\n");
    refuse(&good[..good.len() - 20], &["bad.xml"]);
    refuse("", &["bad.xml"]);
    refuse("<platform version=\"4.1\">", &["bad.xml"]);
    refuse(&platform("<hsot id=\"a\" speed=\"1Gf\"/>\n"), &["bad.xml:4", "hsot"]);
    refuse(&platform("<host id=\"a\" speed=\"fast\"/>\n"), &["bad.xml:4", "fast"]);
    refuse(&platform("<link id=\"l\" bandwidth=\"-1GBps\" latency=\"1us\"/>\n"), &["bad.xml:4", "-1GBps"]);
    refuse(&platform(&"<zone id=\"y\" routing=\"Full\">".repeat(100_000)), &["bad.xml"]);
    let mut bomb = "<?xml version='1.0'?>\n<!DOCTYPE platform [\n<!ENTITY a0 \"ha\">\n".to_owned();
    for level in 1..40 {
        let _ = writeln!(bomb, "<!ENTITY a{level} \"&a{};&a{};\">", level - 1, level - 1);
    }
    bomb += "]>\n<platform version=\"4.1\"><zone id=\"&a39;\" routing=\"Full\"></zone></platform>\n";
    refuse(&bomb, &["bad.xml", "entit"]);
    let huge = "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-1000000000000\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/>\n";
    refuse(&platform(huge), &["bad.xml:4"]);
    let huge = "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-4294967294\" speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\"/>\n";
    refuse(&platform(huge), &["bad.xml:4"]);
}

#[test]
fn broken_and_malicious_graphs_are_refused_with_their_place() {
    let scratch = Scratch::new();
    let refuse = |name: &str, text: &str, words: &[&str]| {
        scratch.write(name, text);
        refused(&scratch.stratasim(&["topology", "show", name]), words);
    };
    refuse("bad.json", "{\"nodes\": [", &["bad.json:1"]);
    refuse("bad.json", "", &["bad.json"]);
    let lost = "{\"nodes\": [\n{\"id\": \"a\", \"x\": NaN}], \"links\": []}";
    refuse("bad.json", lost, &["bad.json:2:18", "found `NaN`", "JSON has finite numbers only"]);
    refuse("bad.json", "[1, 2]", &["no topology here"]);
    refuse("bad.json", &format!("{{\"nodes\": {}", "[".repeat(200_000)), &["bad.json"]);
    refuse("bad.json", "{\"nodes\": 3, \"links\": []}", &["nodes"]);
    let lost = r#"{"directed": false, "nodes": [{"id": "a"}], "links": [{"source": "a", "target": "b"}]}"#;
    refuse("bad.json", lost, &["b"]);
    refuse("bad.graphml", "<graphml><graph>", &["bad.graphml"]);
    refuse("bad.graphml", &"<graphml>".repeat(100_000), &["bad.graphml"]);
}

#[test]
fn a_configuration_of_another_simulator_is_recognised() {
    let scratch = Scratch::new();
    scratch.write("net.cfg", "// a mesh\ntopology = mesh;\nk = 4;\nn = 2;\n");
    let words = ["net.cfg", "stratasim traffic net.cfg --semantics booksim2"];
    refused(&scratch.stratasim(&["run", "net.cfg"]), &words);
    // what is neither stays what it is
    scratch.write("net.cfg", "topology = mesh\n");
    refused(&scratch.stratasim(&["run", "net.cfg"]), &["net.cfg:1"]);
    scratch.write("any.cfg", "topology = anynet;\nrouting_function = min;\n");
    let ended = scratch.stratasim(&["traffic", "any.cfg", "--semantics", "booksim2"]);
    refused(&ended, &["any.cfg", "network_file", "not set"]);
    assert!(!ended.errors.contains("line 0"), "{}", ended.errors);
}

#[test]
fn a_file_of_messages_is_refused_where_none_is_followed() {
    let scratch = Scratch::new();
    scratch.write("ok.toml", &format!("{TOPOLOGY}{WORKLOAD}"));
    for (option, file) in [("--flows", "f.csv"), ("--cdf", "f.svg")] {
        let ended = scratch.stratasim(&["run", "ok.toml", option, file]);
        refused(&ended, &[option, "--network packet", "`flow`"]);
        assert!(!scratch.path().join(file).exists());
        let ended = scratch.stratasim(&["run", "ok.toml", "--network", "packet", option, file]);
        assert!(ended.code == 0 && scratch.path().join(file).exists(), "{}", ended.errors);
    }
    let ended = scratch.stratasim(&["run", "ok.toml", "--cdf", "use.svg", "--cdf-of", "link-utilisation"]);
    assert!(ended.code == 0 && scratch.path().join("use.svg").exists(), "{}", ended.errors);
    refused(&scratch.stratasim(&["run", "ok.toml", "--csv", "-"]), &["`-`", "--json -"]);
    assert!(!scratch.path().join("-").exists());
}

#[test]
fn results_that_are_none_are_refused() {
    let scratch = Scratch::new();
    scratch.write("result.json", "{\"stratasim\": \"0.1.0\"");
    refused(&scratch.stratasim(&["report", "result.json"]), &["result.json", "no result"]);
    scratch.write("result.json", &"[".repeat(200_000));
    refused(&scratch.stratasim(&["report", "result.json"]), &["result.json", "no result"]);
    scratch.write("result.json", "[]");
    refused(&scratch.stratasim(&["report", "result.json"]), &["result.json", "nothing in it"]);
    let sweep = "\n[sweep.product]\n\"topology.nodes\" = [4, 5]\n";
    scratch.write("sweep.toml", &format!("{TOPOLOGY}{WORKLOAD}{sweep}"));
    scratch.stratasim(&["sweep", "sweep.toml", "--out", "sw"]);
    let ended = scratch.stratasim(&["report", "sw/results.json"]);
    refused(&ended, &["sw/results.json", "the points of a sweep", "sw/points/*.json"]);
    let points = std::fs::read_dir(scratch.path().join("sw/points")).unwrap();
    let point = points.map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some());
    assert_eq!(scratch.stratasim(&["report", point.unwrap().to_str().unwrap()]).code, 0);
}

/// The folder of a reference case of one message over one link, the text of which is changed.
fn conformance(change: impl Fn(String) -> String) -> Ended {
    let scratch = Scratch::new();
    let text = std::fs::read_to_string(crate::support::root().join("tests/data/flow/single_equal_lat.json"))
        .unwrap();
    scratch.write("case.json", &change(text));
    scratch.stratasim(&["conformance", "flow", "case.json"])
}

#[test]
fn reference_cases_that_are_damaged_are_refused_and_those_that_differ_are_named() {
    let good = conformance(|text| text);
    assert_eq!(good.code, 0, "{}{}", good.output, good.errors);
    refused(&conformance(|text| text[..text.len() / 2].to_owned()), &["case.json"]);
    refused(&conformance(|_| String::new()), &["case.json"]);
    refused(&conformance(|_| "{}".to_owned()), &["case.json"]);
    // two equal flows over one link: 1 GB and 3 GB at 1.25 GB/s are done after 1.6 and 3.2 s
    let late = conformance(|text| text.replace("3.2001", "3.3001"));
    assert_eq!(late.code, 3, "{}{}", late.output, late.errors);
    assert!(late.output.contains("differs") && late.output.contains("f1"), "{}", late.output);
}

#[test]
fn a_folder_without_cases_is_an_error() {
    let scratch = Scratch::new();
    refused(&scratch.stratasim(&["conformance", "flow", "."]), &["no flow case here"]);
    assert!(Path::new(scratch.path()).exists());
}

#[test]
fn what_takes_longer_than_there_is_time_is_said_so() {
    let schedules = [
        "num_ranks 1\nrank 0 {\ncalc 18446744073709551615\n}\n",
        "num_ranks 2\nrank 0 {\nsend 9223372036854775807b to 1\n}\nrank 1 {\nrecv 9223372036854775807b from 0\n}\n",
    ];
    for text in schedules {
        let scratch = Scratch::new();
        scratch.write("long.goal", text);
        let ended = scratch.stratasim(&["goal", "run", "long.goal"]);
        assert!(ended.code != 0 && ended.errors.contains("more than 213 days of"), "{}", ended.errors);
    }
}

#[test]
fn an_option_of_the_usual_network_needs_no_section() {
    let text = format!("{TOPOLOGY}{WORKLOAD}");
    let ended = run(&text, &["--set", "network.rule=lv08"]);
    assert!(ended.code == 0 && ended.output.contains("flow, lv08"), "{}", ended.errors);
}

#[test]
fn negative_values_of_options_are_refused_by_the_options() {
    let scratch = Scratch::new();
    scratch.write("x.goal", "num_ranks 1\nrank 0 {\nl1: calc 5\n}\n");
    scratch.write("good.toml", &format!("{TOPOLOGY}{WORKLOAD}"));
    for (arguments, words) in [
        (&["goal", "run", "x.goal", "-L", "-5"][..], ["--latency <TIME>", "from 0 to 9e15 is expected"]),
        (&["goal", "run", "x.goal", "-L", "-5 us"], ["--latency <TIME>", "must not be negative"]),
        (&["goal", "run", "x.goal", "-S", "-5"], ["--eager-limit <BYTES>", "not negative is expected"]),
        (&["goal", "run", "x.goal", "-S", "-5kB"], ["--eager-limit <BYTES>", "must not be negative"]),
        (&["goal", "run", "x.goal", "--seed", "-1"], ["'-1' for '--seed", "a whole number from 0 to 18446"]),
        (
            &["goal", "run", "x.goal", "--noise-every", "0", "--noise-length", "5us"],
            ["'0' for '--noise-every <TIME>'", "a time above zero is expected"],
        ),
        (&["goal", "generate", "-p", "ring-allreduce", "-r", "-4", "-o", "-"], ["--ranks", "'-4'"]),
        (&["goal", "generate", "-p", "incast", "-r", "4", "-b", "-4 B", "-o", "-"], ["--bytes", "negative"]),
        (
            &["goal", "generate", "-p", "incast", "-r", "4", "-b", "-1", "-o", "-"],
            ["--bytes", "not negative is expected"],
        ),
        (&["traffic", "good.toml", "--load", "-0.1"], ["--load", "0 to 1 flits per cycle"]),
        (&["traffic", "good.toml", "--load", "5 Gb"], ["--load", "`5 Gb` is no load"]),
        (&["traffic", "good.toml", "--threads", "-1"], ["--threads", "-1 is not in 1..=4096"]),
        (&["traffic", "good.toml", "--saturation", "-1"], ["--saturation", "0.000001 to 0.5"]),
        (&["sweep", "good.toml", "--out", "o", "--threads", "-1"], ["--threads", "-1 is not in 1..=4096"]),
        (&["run", "good.toml", "--ranks", "-1"], ["--ranks", "write it like"]),
        (&["card", "alloc", "x", "--groups", "-1"], ["--groups", "-1 is not in"]),
    ] {
        let ended = scratch.stratasim(arguments);
        refused(&ended, &words);
        assert!(!ended.errors.contains("unexpected argument"), "{}", ended.errors);
    }
}

#[test]
fn a_topology_in_a_file_of_another_kind_is_refused_with_the_kinds_that_are_read() {
    let scratch = Scratch::new();
    scratch.write("own.gexf", "<?xml version=\"1.0\"?>\n<gexf/>\n");
    scratch.write("own.gml", "graph [\n  node [ id 0 ]\n]\n");
    scratch.write("edges", "host-0 host-1\nhost-1 host-2\n");
    for (file, found) in
        [("own.gexf", "`.gexf` is not"), ("own.gml", "`.gml` is not"), ("edges", "without an ending")]
    {
        let ended = scratch.stratasim(&["topology", "show", file]);
        refused(&ended, &[file, found, ".toml", ".json", ".graphml (GraphML)", ".xml (a SimGrid platform)"]);
    }
    // the text of a file that should be TOML is shown
    scratch.write("own.toml", "host-0 host-1\n");
    refused(&scratch.stratasim(&["topology", "show", "own.toml"]), &["own.toml:1"]);
    // any ending will do where the text is TOML
    scratch.write("own.txt", TOPOLOGY);
    assert_eq!(scratch.stratasim(&["topology", "show", "own.txt"]).code, 0);
}

/// What is something else that is known here is called by its name.
#[test]
fn files_that_are_no_experiments_are_named() {
    let scratch = Scratch::new();
    let graph =
        r#"{"directed": false, "multigraph": false, "graph": {}, "nodes": [{"id": "a"}], "links": []}"#;
    let files: [(&str, &[u8], &str); 7] = [
        (
            "it.goal",
            b"num_ranks 1\nrank 0 {\ncalc 5\n}\n",
            "a schedule (GOAL text), which `stratasim goal run it.goal` runs",
        ),
        ("it.strata", b"\x8astrata\n\x00\x01\x90\xff", "a schedule (strata)"),
        ("a comment.goal", b"// first\n\nnum_ranks 1\n", "`stratasim goal run 'a comment.goal'` runs"),
        ("it.bin", b"\x7f\x10\0\0\0\0\0\0abc", "a schedule (GOAL binary)"),
        (
            "it.xml",
            b"<?xml version='1.0'?>\n<platform version=\"4.1\"></platform>",
            "kind = \"simgrid-xml\", path = \"it.xml\"",
        ),
        ("it.graphml", b"<graphml></graphml>", "kind = \"graphml\""),
        ("it.json", graph.as_bytes(), "kind = \"networkx-json\""),
    ];
    for (name, bytes, what) in files {
        std::fs::write(scratch.path().join(name), bytes).unwrap();
        for verb in [&["run"][..], &["compare"], &["traffic"], &["sweep", "--out", "points"]] {
            scratch
                .stratasim(&[verb, &[name]].concat())
                .failed(2, &[name, what, "an experiment in TOML or JSON is expected"]);
        }
    }
    scratch.write("it.csv", "a,b\n1,2\n");
    scratch.stratasim(&["report", "it.csv"]).failed(2, &["it.csv", "no JSON from line 1"]);
}
