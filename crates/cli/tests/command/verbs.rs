//! The verbs as a user meets them: what goes where, what the options do.

use crate::support::Scratch;
use serde_json::Value;
use stratasim_topo::TopologySpec;

pub(crate) const EXPERIMENT: &str = r#"
name = "small"

[topology]
kind = "ring"
nodes = 4
bandwidth = "10 GB/s"
latency = "1 us"

[workload]
kind = "collective"
operation = "all-reduce"
bytes = "1 MB"
"#;

pub(crate) fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("small.toml", EXPERIMENT);
    scratch
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

#[test]
fn a_table_goes_to_standard_output_and_all_else_to_standard_error() {
    let scratch = scratch();
    let ended = scratch.stratasim(&["run", "small.toml", "--json", "out.json"]);
    assert_eq!(ended.code, 0);
    assert!(ended.output.starts_with("small\n  topology      ring: 4 H100"), "{}", ended.output);
    assert_eq!(ended.errors, "  wrote out.json (result)\n");
    let quiet = scratch.stratasim(&["run", "small.toml", "--json", "again.json", "--quiet"]);
    assert_eq!((quiet.code, quiet.output.as_str(), quiet.errors.as_str()), (0, "", ""));
}

#[test]
fn the_result_is_what_the_house_promises_and_the_same_each_time() {
    let scratch = scratch();
    let ended = scratch.stratasim(&["run", "small.toml", "--json", "-"]);
    assert_eq!((ended.code, ended.errors.as_str()), (0, ""));
    let result = json(&ended.output);
    for key in [
        "stratasim",
        "spec",
        "seed",
        "digest",
        "makespan_s",
        "iterations",
        "ranks",
        "counters",
        "wall_s",
        "peak_rss_bytes",
        "events",
    ] {
        assert!(result.get(key).is_some(), "{key} is missing");
    }
    for key in ["finish_s", "compute_s", "comm_exposed_s", "memory_s", "idle_s"] {
        assert!(result["ranks"][3].get(key).is_some(), "{key} is missing");
    }
    // a ring of 4: six steps, each of a quarter of the bytes over one link
    let step_s = 1e-6 + 250_000.0 / 10e9;
    let makespan_s = result["makespan_s"].as_f64().unwrap();
    assert!((makespan_s - 6.0 * step_s).abs() < 1e-12, "{makespan_s}");
    let again = json(&scratch.stratasim(&["run", "small.toml", "--json", "-"]).output);
    assert_eq!(result["digest"], again["digest"]);
    let other =
        json(&scratch.stratasim(&["run", "small.toml", "--json", "-", "--set", "topology.nodes=5"]).output);
    assert_ne!(result["digest"], other["digest"]);
}

#[test]
fn a_resolved_spec_runs_again_with_the_same_digest() {
    let scratch = scratch();
    let result = json(&scratch.stratasim(&["run", "small.toml", "--json", "-"]).output);
    scratch.write("resolved.json", &result["spec"].to_string());
    let again = json(&scratch.stratasim(&["run", "resolved.json", "--json", "-"]).output);
    assert_eq!(result["digest"], again["digest"]);
}

#[test]
fn settings_and_networks_change_the_run() {
    let scratch = scratch();
    let makespan = |arguments: &[&str]| {
        let ended = scratch.stratasim(&[&["run", "small.toml", "--json", "-"], arguments].concat());
        json(&ended.output)["makespan_s"].as_f64().unwrap()
    };
    let once = makespan(&[]);
    assert!((makespan(&["--set", "workload.iterations=3"]) - 3.0 * once).abs() < 1e-12);
    assert!(makespan(&["--set", "topology.bandwidth=20 GB/s"]) < once);
    let constant = ["--network", "constant-rate", "--set", "network.latency=1 us"];
    let constant = makespan(&[constant.as_slice(), &["--set", "network.bandwidth=10 GB/s"]].concat());
    assert!((constant - once).abs() < 1e-12, "a ring of neighbours shares no link");
}

#[test]
fn ranks_and_window_limit_what_is_recorded() {
    let scratch = scratch();
    let rows = |arguments: &[&str]| {
        let all = [&["run", "small.toml", "--csv", "out.csv", "--quiet"], arguments].concat();
        assert_eq!(scratch.stratasim(&all).code, 0);
        scratch.read("out.csv").lines().count() - 1
    };
    let all = rows(&["--set", "workload.iterations=2"]);
    assert_eq!(all, 8, "one row for each rank and iteration");
    assert_eq!(rows(&["--set", "workload.iterations=2", "--ranks", "1-2"]), 4);
    // an iteration takes 156 us
    assert_eq!(rows(&["--set", "workload.iterations=2", "--window", "..100 us"]), 4);
    assert_eq!(rows(&["--window", "1 s..2 s"]), 0);
}

#[test]
fn a_picture_of_a_window_goes_from_its_beginning_to_its_end() {
    let scratch = scratch();
    let picture = |window: &str| {
        let options =
            ["run", "small.toml", "--quiet", "--picture", "out.svg", "--ranks", "0,2", "--window", window];
        assert_eq!(scratch.stratasim(&options).code, 0);
        scratch.read("out.svg")
    };
    // the run takes 156 us
    let all = picture("..");
    assert!(all.contains(">0<") && all.contains(">140<"), "{all}");
    let some = picture("30 us..60 us");
    assert!(some.contains(">40<") && some.contains(">60<") && !some.contains(">0<"), "{some}");
    let none = picture("1 s..2 s");
    assert!(
        none.contains(">1.0<") && none.contains(">2.0<") && none.contains("no task in this window"),
        "{none}"
    );
}

#[test]
fn a_picture_of_many_ranks_is_the_same_whatever_else_is_written() {
    let scratch = Scratch::new();
    let work = "[workload]\nkind = \"graph\"\nvertices = [{ name = \"a\", kind = \"delay\", ranks = \"all\", duration = \"1 ms\" }, { name = \"slow\", kind = \"delay\", rank = 62, duration = \"9 ms\" }]\n";
    let machine = EXPERIMENT.split("[workload]").next().unwrap().replace("nodes = 4", "nodes = 64");
    scratch.write("many.toml", &(machine + work));
    let picture = |files: &[&str]| {
        let run = ["run", "many.toml", "--quiet", "--picture", "out.svg"];
        assert_eq!(scratch.stratasim(&[&run, files].concat()).code, 0);
        scratch.read("out.svg")
    };
    let alone = picture(&[]);
    assert!(alone.contains("48 of 64 ranks") && alone.contains("host-63"), "{alone}");
    // the slowest rank is none of them, but the axis goes as far as it does
    assert!(alone.contains(">8<"), "{alone}");
    assert_eq!(picture(&["--csv", "out.csv"]), alone);
}

#[test]
fn files_that_are_empty_say_why_and_when_the_run_ended() {
    let scratch = scratch();
    let errors = |arguments: &[&str]| {
        let ended = scratch.stratasim(&[&["run", "small.toml", "--quiet"], arguments].concat());
        assert_eq!(ended.code, 0, "{}", ended.errors);
        ended.errors
    };
    let files = ["--trace", "out.trace", "--csv", "out.csv", "--picture", "out.svg"];
    let with = |arguments: &[&'static str]| errors(&[files.as_slice(), arguments].concat());
    // six steps of 26 us
    assert_eq!(
        with(&["--window", "1 s..2 s"]),
        "  nothing in trace, CSV, picture: nothing happened in the window 1 s..2 s; the run ended at 156.0 us\n"
    );
    assert!(
        with(&["--window", "200 us..", "--ranks", "0,2-3"])
            .contains("happened at ranks 0,2-3 in the window 200 us..; the run ended at 156.0 us")
    );
    for some in [&[][..], &["--window", "150 us..1 s"], &["--ranks", "3"]] {
        assert_eq!(with(some), "", "{some:?}");
    }
    // one message, from rank 0 to rank 1: the others do nothing
    let one =
        [("operation = \"all-reduce\"", ""), ("bytes = \"1 MB\"", ""), ("\"collective\"", "\"traffic\"")];
    let text = one.iter().fold(EXPERIMENT.to_owned(), |text, (from, to)| text.replace(from, to));
    let traffic =
        "flows = 1\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\npattern = { kind = \"shift\" }\n";
    scratch.write("small.toml", &format!("{text}{traffic}"));
    let said = errors(&["--csv", "out.csv", "--ranks", "3"]);
    assert_eq!(said, "  nothing in CSV: nothing happened at ranks 3; the run ended at 101.0 us\n");
    assert_eq!(scratch.read("out.csv").lines().count(), 1, "nothing but the heading");
}

#[test]
fn traces_and_pictures_are_what_their_names_say() {
    let scratch = scratch();
    let run = |option: &str, name: &str| {
        assert_eq!(scratch.stratasim(&["run", "small.toml", "--quiet", option, name]).code, 0);
        std::fs::read(scratch.path().join(name)).unwrap()
    };
    assert!(run("--picture", "out.png").starts_with(b"\x89PNG"));
    assert!(String::from_utf8(run("--picture", "out.svg")).unwrap().starts_with("<svg"));
    assert!(run("--heat-map", "heat.png").starts_with(b"\x89PNG"));
    // the first byte of a Perfetto trace: field 1 of a message, a packet
    assert_eq!(run("--trace", "out.perfetto-trace")[0], 0x0a);
    assert_eq!(scratch.names(), ["heat.png", "out.perfetto-trace", "out.png", "out.svg", "small.toml"]);
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let scratch = scratch();
    let coloured = |arguments: &[&str]| scratch.stratasim(arguments).output.contains('\x1b');
    assert!(!coloured(&["run", "small.toml"]));
    assert!(coloured(&["run", "small.toml", "--color", "always"]));
    assert!(coloured(&["list", "networks", "--colour", "always"]));
    let error = scratch.stratasim(&["run", "none.toml"]).errors;
    assert!(!error.contains('\x1b'), "{error}");
}

/// Senders that one receiver cannot keep up with.
const INCAST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/12-incast/experiment.toml");

#[test]
fn no_table_is_wider_than_the_terminal() {
    let scratch = scratch();
    scratch.stratasim(&["run", "small.toml", "--json", "out.json"]);
    for arguments in [
        &["run", "small.toml"][..],
        &["compare", "small.toml", "--networks", "flow", "--with", "topology.nodes=5"],
        &["report", "out.json"],
        &["report", "out.json", "out.json", "out.json", "out.json", "out.json", "out.json", "out.json"],
        &["topology", "show", "small.toml"],
        &["topology", "check", "small.toml"],
        &["list", "topologies"],
        &["explain", "flow"],
        &["explain", "transformer"],
        &["explain", "flattened-butterfly"],
        &["explain", "H100"],
        &["explain", "lv08"],
        &["explain", "full"],
        &["explain", "experiment"],
        &["run", INCAST],
        &["compare", INCAST, "--networks", "flow,packet"],
        &["card", "bench", "sw-ai", "--sizes", "1MB:64GB"],
        &["card", "show", "sw-ai", "--set", "about=''"],
    ] {
        for columns in ["40", "60", "80"] {
            let ended = scratch.command(arguments).env("COLUMNS", columns).output().unwrap();
            let output = String::from_utf8(ended.stdout).unwrap();
            assert!(!output.is_empty(), "{arguments:?}");
            let most: usize = columns.parse().unwrap();
            // addresses, commands and examples are not broken
            let whole = |line: &&str| ["    ", "See: "].iter().any(|start| line.starts_with(start));
            let wide = output
                .lines()
                .find(|line| line.chars().count() > most && !line.contains("://") && !whole(line));
            assert_eq!(wide, None, "{arguments:?} at {columns} columns");
        }
    }
}

#[test]
fn results_are_put_side_by_side() {
    let scratch = scratch();
    let ended = scratch.stratasim(&[
        "compare",
        "small.toml",
        "--with",
        "twice: workload.bytes=2 MB",
        "--json",
        "all.json",
    ]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    assert!(ended.output.contains("  B  twice\n"), "{}", ended.output);
    let results = json(&scratch.read("all.json"));
    assert_eq!(results.as_array().map(Vec::len), Some(2));
    // the list is read as what it is
    let again = scratch.stratasim(&["report", "all.json"]);
    let times = |text: &str| text.lines().find(|line| line.contains("step time")).map(str::to_owned);
    assert!(again.output.contains("  B  all 2: flow"), "{}{}", again.output, again.errors);
    assert_eq!(times(&again.output), times(&ended.output));
    scratch.stratasim(&["report", "all.json", "--html", "page.html"]).failed(2, &["one result, found 2"]);
    assert!(results[1]["makespan_s"].as_f64() > results[0]["makespan_s"].as_f64());
}

#[test]
fn marks_are_called_the_same_whoever_counts_them() {
    let scratch = Scratch::new();
    let run = scratch.stratasim(&["run", INCAST, "--json", "out.json"]);
    let result = json(&scratch.read("out.json"));
    let compare = scratch.stratasim(&["compare", INCAST]).output;
    for (count, of_run, of_compare) in [
        (&result["counters"]["network.marks"], "marked by switches", "packets marked"),
        (&result["flows"]["marks"], "acknowledgements with marks", "ACKs with mark"),
    ] {
        let count = stratasim_report::Unit::Count.format(count.as_f64().unwrap());
        let words = run.output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("{count} {of_run}")), "{}", run.output);
        let line = compare.lines().find(|line| line.contains(of_compare));
        assert!(line.is_some_and(|line| line.ends_with(&format!(" {count}"))), "{compare}");
    }
}

/// Loads and latencies of open-loop traffic, which has no steps; its batch has no load.
#[test]
fn results_of_open_loop_traffic_are_put_side_by_side() {
    let scratch = Scratch::new();
    let mesh = "[topology]\nkind = \"mesh\"\ndimensions = [3, 3]\nbandwidth = \"32 GB/s\"\nlatency = \"1 ns\"\n\
                [network]\nkind = \"flit\"\n[traffic]\nload = 0.1\nmeasure = { window = 500 }\n";
    scratch.write("mesh.toml", mesh);
    for (name, set) in
        [("low", "traffic.load=0.1"), ("high", "traffic.load=0.95"), ("batch", "traffic.batch={packets=5}")]
    {
        let out = format!("{name}.json");
        let ended = scratch.stratasim(&["run", "mesh.toml", "--set", set, "--quiet", "--json", &out]);
        assert_eq!(ended.code, 0, "{set}: {}", ended.errors);
    }
    let ended = scratch.stratasim(&["report", "low.json", "high.json", "batch.json"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let row = |label: &str| -> Vec<&str> {
        let line = ended.output.lines().find(|line| line.trim_start().starts_with(label));
        let line = line.unwrap_or_else(|| panic!("no row `{label}`:\n{}", ended.output));
        line.trim_start()[label.len()..].split_whitespace().collect()
    };
    assert_eq!(row("asked"), ["0.1000", "0.9500", "-"]);
    assert_eq!(row("saturated"), ["no", "yes", "-"]);
    for (label, key) in [("offered", "offered_flits_per_cycle"), ("accepted", "accepted_flits_per_cycle")] {
        for (cell, name) in row(label).iter().zip(["low", "high"]) {
            let number =
                json(&scratch.read(&format!("{name}.json")))["traffic"][key].as_f64().expect("a number");
            let shown: f64 = cell.parse().expect("a number");
            assert!((shown / number - 1.0).abs() < 1e-3, "{label}: {shown} for {number}");
        }
    }
    // a curve of the file's own load
    let ended = scratch.stratasim(&["traffic", "mesh.toml", "--quiet", "--out", "curve"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let curve = json(&scratch.read("curve/results.json"));
    let loads: Vec<_> =
        curve["points"].as_array().unwrap().iter().map(|point| &point["load_flits_per_cycle"]).collect();
    assert_eq!(loads, [&serde_json::json!(0.1)]);
    let high = json(&scratch.read("high.json"));
    // it is saturated, and what has not arrived takes longer
    let p99 = high["traffic"]["packet_latency_cycles"]["p99"].to_string();
    assert_eq!(row("p99")[1].replace(',', ""), format!(">{p99}"));
    let batch = json(&scratch.read("batch.json"));
    assert_eq!(row("batch")[2], batch["traffic"]["batch"]["duration_cycles"].to_string());
    for absent in ["step time", "compute", "memory", "idle", "a cycle is"] {
        assert!(!ended.output.contains(absent), "{absent}:\n{}", ended.output);
    }
    // a program beside it keeps its rows
    scratch.write("program.toml", EXPERIMENT);
    assert_eq!(scratch.stratasim(&["run", "program.toml", "--quiet", "--json", "program.json"]).code, 0);
    let ended = scratch.stratasim(&["report", "low.json", "program.json", "program.json"]);
    let dashes = |label: &str| {
        let line = ended.output.lines().find(|line| line.trim_start().starts_with(label));
        let cells = line.unwrap_or_else(|| panic!("no row `{label}`:\n{}", ended.output)).split_whitespace();
        cells.filter(|&cell| cell == "-").count()
    };
    assert_eq!(["step time", "change", "idle", "accepted", "saturated"].map(dashes), [1, 2, 1, 2, 2]);
}

/// Two windows of 40 packets meet at one link, whose way holds 13 of them besides: the queue grows to 67 packets, one in the time of
/// each, stays so, and drains as fast.
#[test]
fn the_depth_of_a_queue_is_drawn_by_time() {
    let scratch = Scratch::new();
    scratch.write(
        "meet.toml",
        r#"
[topology]
kind = "single-switch"
nodes = 3
bandwidth = "100 Gbps"
latency = "1 us"
[workload]
kind = "collective"
operation = "gather"
algorithm = { kind = "direct" }
bytes = "3 MB"
[network]
kind = "packet"
buffer = "1 MB"
congestion = { kind = "fixed-window", window = "166.4 kB" }
recovery = { kind = "sack" }
"#,
    );
    let run = |options: &[&str]| {
        let all = ["run", "meet.toml", "--quiet", "--json", "out.json", "--cdf", "depth.svg"];
        let ended = scratch.stratasim(&[&all[..], options].concat());
        assert_eq!(ended.code, 0, "{}", ended.errors);
        json(&scratch.read("out.json"))
    };
    let depth = ["--cdf-of", "queue-depth"];
    let result = run(&depth);
    let makespan_us = result["makespan_s"].as_f64().unwrap() * 1e6;
    let queue = &result["queue_depths"][0];
    assert_eq!(queue["link"], "switch->host-0");
    let points: Vec<[f64; 2]> = serde_json::from_value(queue["cdf"].clone()).unwrap();
    let share = |bytes: f64| points.iter().take_while(|point| point[0] <= bytes).last().unwrap()[1];
    let (packet, packet_us) = (4160.0, 0.3328);
    for packets in [0.0, 10.0, 33.0, 60.0] {
        // nothing waits before the first packet comes, nor when the last one has gone
        let expected = (2.0 + packet_us + 2.0 * packets * packet_us) / makespan_us;
        let found = share(packets * packet);
        assert!((found - expected).abs() < 1.0 / makespan_us, "{packets} packets: {found}, {expected}");
    }
    assert_eq!(points.last(), Some(&[67.0 * packet, 1.0]));
    assert!(scratch.read("depth.svg").contains("time in which no more waited"));
    // the rest of the result does not depend on who watches
    let blind = run(&[]);
    assert!(blind.get("queue_depths").is_none() && blind["digest"] == result["digest"]);

    // half of the way up to 67 packets, and another link, where acknowledgements alone go
    let window =
        ["--window", "20 us..140 us", "--cdf-queue", "switch->host-0", "--cdf-queue", "host-1->switch"];
    let result = run(&[&depth[..], &window].concat());
    let queue = &result["queue_depths"][0];
    let points: Vec<[f64; 2]> = serde_json::from_value(queue["cdf"].clone()).unwrap();
    assert!(points[0][0] > 50.0 * packet && queue["mean_bytes"].as_f64().unwrap() > 66.0 * packet, "{queue}");
    assert_eq!(result["queue_depths"][1]["cdf"], serde_json::json!([[0.0, 1.0]]));

    let refused = |options: &[&str], words: &[&str]| {
        let all = [&["run", "meet.toml", "--quiet", "--cdf", "depth.svg"], options].concat();
        scratch.stratasim(&all).failed(2, words);
    };
    refused(&["--cdf-of", "queue-depth", "--cdf-queue", "nope"], &["`nope`", "6 links", "host-0->switch"]);
    refused(&["--cdf-queue", "switch->host-0"], &["--cdf-of queue-depth"]);
}

/// Half of what goes to rank 0 comes from each of two others: the one link all of it crosses is the fullest, at the top.
#[test]
fn the_heat_map_of_a_run_has_the_fullest_link_on_top() {
    let scratch = Scratch::new();
    let gather = "operation = \"gather\"\nbytes = \"3 MB\"\nalgorithm = { kind = \"direct\" }";
    let text = EXPERIMENT
        .replace("\"ring\"\nnodes = 4", "\"single-switch\"\nnodes = 3")
        .replace("operation = \"all-reduce\"\nbytes = \"1 MB\"", gather);
    scratch.write("meet.toml", &text);
    let run = |network: &str| {
        let ended = scratch.stratasim(&[
            "run",
            "meet.toml",
            "--quiet",
            "--network",
            network,
            "--heat-map",
            "heat.svg",
        ]);
        assert_eq!(ended.code, 0, "{}", ended.errors);
        (ended.errors, scratch.read("heat.svg"))
    };
    for network in ["flow", "packet"] {
        let (said, map) = run(network);
        assert_eq!(said, "");
        // rows in the order of the file, from top to bottom
        let at = |link: &str| map.find(&format!(">{link}<")).unwrap_or_else(|| panic!("{network}: {link}"));
        assert!(at("switch-&gt;host-0") < at("host-1-&gt;switch"), "{network}");
        assert!(at("switch-&gt;host-0") < at("host-2-&gt;switch"), "{network}");
    }
    for network in ["message", "flit"] {
        let ended = scratch.stratasim(&["run", "meet.toml", "--network", network, "--heat-map", "none.svg"]);
        ended.failed(2, &["--heat-map is about links over time", &format!("this network is `{network}`")]);
        assert!(!scratch.path().join("none.svg").exists());
    }
}

#[test]
fn levels_of_detail_agree_where_nothing_is_shared() {
    let scratch = Scratch::new();
    // 2 MB over one switch at 10 GB/s and twice 1 us: 202 us
    let pair = EXPERIMENT.replace("\"ring\"\nnodes = 4", "\"single-switch\"\nnodes = 2");
    let pair = pair
        .replace("operation = \"all-reduce\"\nbytes = \"1 MB\"", "operation = \"gather\"\nbytes = \"4 MB\"");
    scratch.write("pair.toml", &pair);
    let arguments = ["compare", "pair.toml", "--networks", "message,flow,packet", "--json", "all.json"];
    let ended = scratch.stratasim(&[&arguments[..], &["--set", "network.congestion.kind=ndp"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.errors);
    for line in ["  A  message\n", "  B  flow\n", "  C  packet\n", "change", "events", "wall"] {
        assert!(ended.output.contains(line), "{}", ended.output);
    }
    let results = json(&scratch.read("all.json"));
    let seconds = |level: usize| results[level]["makespan_s"].as_f64().unwrap();
    assert!((seconds(0) - 202e-6).abs() < 1e-9, "message level: {}", seconds(0));
    assert!((seconds(1) - 202e-6).abs() < 1e-9, "flow level: {}", seconds(1));
    // headers of 64 bytes for 4,096, and one packet more in the switch
    let packets = 489.0;
    let least = (2e6 + 64.0 * packets + 4160.0) / 10e9 + 2e-6;
    assert!((least..1.02 * least).contains(&seconds(2)), "packet level: {} for {least}", seconds(2));
    assert_eq!(results[2]["spec"]["network"]["congestion"]["kind"], "ndp");

    let refused = |networks: &str, set: &str, words: &[&str]| {
        let arguments = ["compare", "pair.toml", "--networks", networks, "--set", set];
        scratch.stratasim(&arguments).failed(2, words);
    };
    refused("message,flow", "network.congestion.kind=ndp", &["unknown key `congestion`"]);
    refused("flow,packet", "network.congestoin.kind=ndp", &["unknown key `congestoin`"]);
    refused("flow,packet", "network.kind=message", &["`--networks`", "another one"]);
    refused("flow,packt", "seed=1", &["unknown network `packt`", "did you mean `packet`"]);

    // a change of an option counts for the networks that have it
    let variant = "ndp: network.congestion.kind=ndp";
    let arguments =
        ["compare", "pair.toml", "--networks", "flow,packet", "--with", variant, "--json", "all.json"];
    assert_eq!(scratch.stratasim(&arguments).code, 0);
    let results = json(&scratch.read("all.json"));
    let kinds = |at: usize| results[at]["spec"]["network"]["congestion"]["kind"].as_str();
    assert_eq!([0, 1, 2, 3].map(kinds), [None, None, Some("nscc"), Some("ndp")]);
}

#[test]
fn files_are_neither_the_experiment_nor_each_other() {
    let scratch = scratch();
    let before = scratch.read("small.toml");
    scratch
        .stratasim(&["run", "small.toml", "--json", "small.toml"])
        .failed(2, &["--json: small.toml is the input"]);
    assert_eq!(scratch.read("small.toml"), before);
    let twice = scratch.stratasim(&["run", "small.toml", "--json", "a.txt", "--csv", "./a.txt"]);
    twice.failed(2, &["--csv: ./a.txt is --json, too"]);
    assert!(twice.output.is_empty());
}

#[test]
fn a_page_is_one_file() {
    let scratch = scratch();
    scratch.stratasim(&["run", "small.toml", "--json", "out.json", "--quiet"]);
    assert_eq!(scratch.stratasim(&["report", "out.json", "--html", "out.html"]).code, 0);
    let page = scratch.read("out.html");
    assert!(page.contains("<svg") && page.contains("small"));
    for outside in ["src=\"http", "href=\"http", "@import", "<script src"] {
        assert!(!page.contains(outside), "the page needs {outside}");
    }
    // messages, queues and distributions of a run whose network tells of them
    let packets = "network.kind=packet";
    assert_eq!(
        scratch.stratasim(&["run", "small.toml", "--set", packets, "--json", "p.json", "--quiet"]).code,
        0
    );
    assert_eq!(scratch.stratasim(&["report", "p.json", "--html", "p.html"]).code, 0);
    let page = scratch.read("p.html");
    for part in [
        "The slowest messages",
        "sent again",
        "Distributions",
        "Completion times: small",
        "Use of the links: small",
    ] {
        assert!(page.contains(part), "no {part}");
    }
}

#[test]
fn topologies_are_shown_from_every_form() {
    let scratch = scratch();
    let section = "kind = \"ring\"\nnodes = 6\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n";
    scratch.write("section.toml", section);
    for name in ["ring.xml", "ring.json", "ring.graphml"] {
        let ended = scratch.stratasim(&["topology", "export", "section.toml", "--output", name]);
        assert_eq!(ended.code, 0, "{}", ended.errors);
    }
    for name in ["section.toml", "ring.xml", "ring.json", "ring.graphml"] {
        let ended = scratch.stratasim(&["topology", "show", name]);
        assert!(
            ended.output.contains("6: 6 compute, 0 memory, 0 switch"),
            "{}{}",
            ended.output,
            ended.errors
        );
        assert!(ended.output.contains("routes of all 30 pairs"), "{}", ended.output);
        assert_eq!(scratch.stratasim(&["topology", "check", name]).code, 0, "{name}");
    }
}

#[test]
fn a_topology_in_two_pieces_does_not_pass_its_check() {
    let scratch = Scratch::new();
    scratch.write("pieces.toml", "kind = \"graph\"\nnodes = [{ name = \"a\" }, { name = \"b\" }]\n");
    let ended = scratch.stratasim(&["topology", "check", "pieces.toml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.output.contains("no path of links leads from a to b"), "{}", ended.output);
    let shown = scratch.stratasim(&["topology", "show", "pieces.toml"]);
    assert_eq!(shown.code, 0);
    assert!(shown.output.contains("no route from a to b"), "{}", shown.output);
    // there, but not back
    scratch.write(
        "oneway.toml",
        "kind = \"graph\"\nnodes = [{ name = \"a\" }, { name = \"b\" }]\n\
         links = [{ from = \"a\", to = \"b\", bandwidth = \"1 GB/s\", latency = \"1 us\", duplex = \"simplex\" }]\n",
    );
    let ended = scratch.stratasim(&["topology", "check", "oneway.toml"]);
    assert_eq!(ended.code, 2);
    assert!(ended.output.contains("no path of links leads from b to a"), "{}", ended.output);
}

#[test]
fn the_example_of_every_topology_can_be_shown() {
    let scratch = Scratch::new();
    let listed = scratch.stratasim(&["list", "topologies"]).output;
    for &kind in TopologySpec::KINDS {
        assert!(listed.contains(&format!("\n{kind} ")), "{kind} is not listed");
        let explained = scratch.stratasim(&["explain", "topology", kind]);
        assert_eq!(explained.code, 0, "{kind}");
        let example = explained.output.split("    [topology]\n").nth(1).unwrap_or_else(|| panic!("{kind}"));
        let example: String = example
            .lines()
            .take_while(|line| line.starts_with("    "))
            .map(|line| format!("{}\n", line.trim_start()))
            .collect();
        // these need a file of yours
        if ["simgrid-xml", "graphml"].contains(&kind) {
            continue;
        }
        scratch.write("example.toml", &example);
        let shown = scratch.stratasim(&["topology", "show", "example.toml"]);
        assert_eq!(shown.code, 0, "{kind}: {}\n{example}", shown.errors);
    }
}

#[test]
fn a_value_leads_to_the_parameter_that_takes_it() {
    let scratch = Scratch::new();
    for (value, parameter, see) in [
        ("max-min", "rule", "network flow"),
        ("cm02", "rule", "network flow"),
        ("LV08", "rule", "network flow"),
        ("llama2-13b", "model", "workload transformer"),
        ("move-then-compute", "memory", "execution"),
    ] {
        let ended = scratch.stratasim(&["explain", value]);
        assert_eq!((ended.code, ended.errors.as_str()), (0, ""), "{value}");
        let heading = format!("{value}: a value of `{parameter}` of `{see}`\n");
        assert!(ended.output.starts_with(&heading), "{}", ended.output);
        assert!(ended.output.contains(&format!("\n  {parameter}  ")), "{}", ended.output);
        assert!(ended.output.contains(&format!("\nSee: stratasim explain {see}\n")), "{}", ended.output);
        // what it points to is there, and knows the value
        let words: Vec<&str> = ["explain"].into_iter().chain(see.split(' ')).collect();
        assert!(scratch.stratasim(&words).output.contains(&value.to_lowercase()), "{value}");
    }
    // in one list only, and never in the place of a kind
    assert_eq!(scratch.stratasim(&["explain", "networks", "lv08"]).code, 0);
    scratch.stratasim(&["explain", "topology", "lv08"]).failed(2, &["no kind `lv08` among `topology`"]);
    assert!(scratch.stratasim(&["explain", "ring"]).output.starts_with("ring: a kind of topology"));
    scratch.stratasim(&["explain", "llama2-13"]).failed(2, &["did you mean `llama2-13b`"]);
    scratch.stratasim(&["explain", "patterns"]).failed(2, &["a list and no kind", "stratasim list patterns"]);
    scratch.stratasim(&["explain", "lv08", "--markdown"]).failed(2, &["lv08", "stratasim explain lv08"]);
}

#[test]
fn the_schema_is_json_schema_of_the_sections() {
    let schema = json(&Scratch::new().stratasim(&["schema"]).output);
    for section in ["topology", "workload", "network", "execution", "placement", "routing", "sweep"] {
        assert!(schema["properties"].get(section).is_some(), "{section}");
    }
}

#[test]
fn a_sweep_resumes_and_one_part_after_another_makes_the_whole() {
    let scratch = scratch();
    let sweep = "[sweep]\nproduct = { \"workload.bytes\" = [\"1 MB\", \"2 MB\", \"4 MB\"] }\n";
    scratch.write("sweep.toml", &format!("{EXPERIMENT}{sweep}"));
    let run = |arguments: &[&str]| {
        let ended = scratch.stratasim(&[&["sweep", "sweep.toml", "--out", "out"], arguments].concat());
        assert_eq!(ended.code, 0, "{}", ended.errors);
        ended
    };
    assert!(run(&["--shard", "1/2"]).errors.contains("2 points ran"));
    let whole = run(&[]);
    assert!(whole.errors.contains("1 point ran, 2 were there"), "{}", whole.errors);
    assert!(whole.output.contains("4 MB"), "{}", whole.output);
    assert!(run(&[]).errors.contains("0 points ran, 3 were there"));
    assert!(
        scratch.read("out/index.html").contains("<svg") || scratch.read("out/index.html").contains("<table")
    );
}
