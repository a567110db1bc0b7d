//! Options that do not fit what they are given to, and files of another kind.

use crate::support::Scratch;

const RING: &str = "[topology]\nkind = \"ring\"\nnodes = 4\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n\
    [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n";
const GOAL: &str =
    "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 1\n}\nrank 1 {\nl1: recv 8b from 0 tag 1\n}\n";

fn ring() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("ring.toml", RING);
    scratch
}

#[test]
fn what_a_network_of_an_option_lacks_is_said_of_the_option() {
    let scratch = ring();
    let run = scratch.stratasim(&["run", "ring.toml", "--network", "constant-rate"]);
    run.failed(2, &["`bandwidth` is missing", "--network constant-rate:1"]);
    let both = scratch.stratasim(&["compare", "ring.toml", "--networks", "flow,constant-rate"]);
    assert!(both.errors.contains("--networks constant-rate:1"), "{}", both.errors);
}

#[test]
fn a_distribution_that_the_network_does_not_tell_is_refused_before_the_run() {
    let scratch = ring();
    let run = |network: &str, of: &str| {
        let options = ["run", "ring.toml", "--quiet", "--cdf", "q.svg", "--network", network, "--cdf-of", of];
        scratch.stratasim(&options)
    };
    let all = ["completion-time", "slow-down", "link-utilisation", "longest-queue", "queue-depth"];
    let networks = [
        ("packet", [true; 5]),
        ("flow", [false, false, true, false, false]),
        ("flit", [false, false, true, false, false]),
        ("message", [false; 5]),
    ];
    for (network, tells) in networks {
        for (of, tells) in all.into_iter().zip(tells) {
            let ended = run(network, of);
            if tells {
                assert_eq!(ended.code, 0, "{network} {of}: {}", ended.errors);
                std::fs::remove_file(scratch.path().join("q.svg")).expect("the picture is there");
            } else {
                let named = format!("--cdf-of {of} is about");
                let option = if of == all[0] { "--cdf is about" } else { &named };
                ended.failed(2, &[option, "--network packet", &format!("`{network}`")]);
                assert_eq!(scratch.names(), ["ring.toml"]);
            }
        }
    }
}

#[test]
fn json_that_is_cut_short_says_so() {
    let scratch = Scratch::new();
    for (text, words) in
        [("", "the file is empty"), ("\n{\n  \"topology\": {", "ends in the middle of line 3")]
    {
        scratch.write("cut.json", text);
        scratch.stratasim(&["run", "cut.json"]).failed(2, &["cut.json", words]);
    }
}

#[test]
fn a_key_that_is_there_twice_is_refused_in_json_as_in_toml() {
    let scratch = Scratch::new();
    let json = "{\n  \"topology\": { \"kind\": \"ring\", \"nodes\": 4, \"bandwidth\": \"10 GB/s\", \"latency\": \"1 us\",\n    \
        \"nodes\": 8 },\n  \"workload\": { \"kind\": \"collective\", \"operation\": \"all-reduce\", \"bytes\": \"1 MB\" }\n}\n";
    scratch.write("twice.json", json);
    scratch.stratasim(&["run", "twice.json"]).failed(2, &["twice.json:3", "the key `nodes` is there twice"]);
    scratch.write("once.json", &json.replace("\"nodes\": 8", "\"duplex\": \"full\""));
    assert_eq!(scratch.stratasim(&["run", "once.json"]).code, 0);
}

#[test]
fn changes_by_a_path_that_is_not_there_are_shown_where_they_were_made() {
    let scratch = ring();
    for set in ["foo=1", "foo.bar=1", "foo.bar.baz=1"] {
        let ended = scratch.stratasim(&["run", "ring.toml", "--set", set]);
        ended.failed(2, &["unknown key `foo`", &format!("[--set {set}:1:")]);
        assert!(!ended.errors.contains("ring.toml"), "{}", ended.errors);
    }
    // the section of a network that is there without one
    let ended = scratch.stratasim(&["run", "ring.toml", "--set", "network.foo.bar=1"]);
    ended.failed(2, &["unknown key `foo`", "[--set network.foo.bar=1:1:"]);
}

#[test]
fn no_link_is_faster_than_sums_over_links_can_be_told() {
    let scratch = ring();
    let run = |bandwidth: &str| {
        let set = format!("topology.bandwidth=\"{bandwidth}\"");
        scratch.stratasim(&["run", "ring.toml", "--set", &set])
    };
    run("1e300 Gbps").failed(2, &["topology.bandwidth", "1e300 Gbps", "1,000,000 TB/s is the largest"]);
    let most = run("1e6 TB/s");
    assert_eq!(most.code, 0, "{}", most.errors);
    assert!(!most.output.contains("inf") && !most.output.contains("NaN"), "{}", most.output);
}

#[test]
fn an_option_that_writes_no_standard_output_says_so_by_its_name() {
    let scratch = ring();
    scratch.write("x.goal", GOAL);
    let found = "the name of a file is expected, found `-`";
    for option in ["--csv", "--trace", "--flows"] {
        let ended =
            scratch.stratasim(&["run", "ring.toml", "--network", "packet", "--json", "-", option, "-"]);
        ended.failed(2, &[&format!("{option}: {found}")]);
    }
    let goal = scratch.stratasim(&["goal", "run", "x.goal", "--json", "-", "--csv", "-"]);
    goal.failed(2, &[&format!("--csv: {found}")]);
    let compare = scratch.stratasim(&["compare", "ring.toml", "--networks", "flow", "--json", "-"]);
    compare.failed(2, &[&format!("--json: {found}")]);
}

#[test]
fn a_byte_order_mark_is_taken_before_json_as_before_toml() {
    let scratch = Scratch::new();
    let json = r#"{"topology": {"kind": "ring", "nodes": 4, "bandwidth": "10 GB/s", "latency": "1 us"},
        "workload": {"kind": "collective", "operation": "all-reduce", "bytes": "1 MB"}}"#;
    scratch.write("marked.json", &format!("\u{feff}{json}"));
    scratch.write("marked.toml", &format!("\u{feff}{RING}"));
    for file in ["marked.json", "marked.toml"] {
        let ended = scratch.stratasim(&["run", file]);
        assert_eq!(ended.code, 0, "{file}: {}", ended.errors);
    }
    // places are those of the text behind it
    scratch.write("marked.json", "\u{feff}{\"topology\": 1, \"topology\": 2}");
    scratch.stratasim(&["run", "marked.json"]).failed(2, &["marked.json:1:26", "there twice"]);
    let graph = r#"{"nodes": [{"id": "a", "kind": "compute", "compute": "H100"}], "edges": []}"#;
    scratch.write("graph.json", &format!("\u{feff}{graph}"));
    let ended = scratch.stratasim(&["topology", "show", "graph.json"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
}

#[test]
fn probes_of_no_pairs_are_refused() {
    let scratch = Scratch::new();
    let mesh = "topology = { kind = \"mesh\", dimensions = [3, 3], bandwidth = \"32 GB/s\", latency = \"1 ns\" }\n\
                network = { kind = \"flit\" }\n\
                traffic = { load = 0.1, probes = { pairs = [], interval = 100 } }\n";
    scratch.write("mesh.toml", mesh);
    scratch.stratasim(&["run", "mesh.toml"]).failed(2, &["traffic.probes.pairs", "the list is empty"]);
}

#[test]
fn names_of_jobs_and_variants_differ() {
    let scratch = ring();
    scratch.write("x.goal", GOAL);
    let merge = |second: &str| {
        scratch.stratasim(&["goal", "merge", "--job", "x.goal,name=a", "--job", second, "-o", "out.goal"])
    };
    merge("x.goal,name=a").failed(2, &["--job x.goal", "`a` is the name of two jobs"]);
    assert!(!scratch.path().join("out.goal").exists());
    assert_eq!(merge("x.goal,name=b").code, 0);
    // files may be there twice
    let twice = ["goal", "merge", "--job", "x.goal", "--job", "x.goal", "-o", "out.goal"];
    assert_eq!(scratch.stratasim(&twice).code, 0);

    let compare = |options: &[&str]| scratch.stratasim(&[&["compare", "ring.toml", "-q"], options].concat());
    compare(&["--with", "x: seed=1", "--with", "x: seed=2"]).failed(2, &["`x` would be there twice"]);
    compare(&["--networks", "flow,flow"]).failed(2, &["`flow` would be there twice"]);
    assert_eq!(compare(&["--with", "x: seed=1", "--with", "y: seed=1"]).code, 0);
}

#[test]
fn a_result_is_no_experiment_but_has_one() {
    let scratch = ring();
    assert_eq!(scratch.stratasim(&["run", "ring.toml", "--quiet", "--json", "result.json"]).code, 0);
    for verb in ["run", "compare"] {
        let ended = scratch.stratasim(&[verb, "result.json"]);
        ended.failed(2, &["result.json", "the result of a run", "under `spec`"]);
    }
}

#[test]
fn no_file_is_written_over_what_it_is_made_from_or_twice() {
    let scratch = ring();
    scratch.write("a.goal", GOAL);
    scratch.write("trace.txt", "malloc 1 64\n");
    assert_eq!(scratch.stratasim(&["run", "ring.toml", "--json", "result.json", "--quiet"]).code, 0);
    let result = scratch.read("result.json");
    scratch.write(
        "named.toml",
        &RING.replace(
            "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"",
            "kind = \"goal\"\nfile = \"a.goal\"",
        ),
    );
    let cases: [(&[&str], &str); 12] = [
        (&["run", "ring.toml", "--json", "./ring.toml"], "--json: ./ring.toml is the input, too"),
        (&["compare", "ring.toml", "--json", "ring.toml"], "--json: ring.toml is the input, too"),
        (&["compare", "ring.toml", "--cdf", "a.svg", "--by-size", "a.svg"], "--cdf: a.svg is --by-size, too"),
        (&["report", "result.json", "--html", "result.json"], "--html: result.json is the input, too"),
        (
            &["topology", "export", "ring.toml", "--format", "graphml", "-o", "ring.toml"],
            "--output: ring.toml",
        ),
        (&["run", "named.toml", "--csv", "a.goal"], "--csv: a.goal is the input, too"),
        (&["compare", "named.toml", "--json", "./a.goal"], "--json: ./a.goal is the input, too"),
        (&["goal", "convert", "a.goal", "./a.goal"], "OUT: ./a.goal is the input, too"),
        (&["goal", "regroup", "a.goal", "a.goal", "--ranks-per-node", "1"], "OUT: a.goal is the input, too"),
        (&["goal", "merge", "-j", "a.goal", "-o", "a.goal"], "--output: a.goal is the input, too"),
        (&["card", "alloc", "trace.txt", "--json", "trace.txt"], "--json: trace.txt is the input"),
        (&["card", "bench", "sw-ai", "--json", "x.svg", "--picture", "x.svg"], "--picture: x.svg is --json"),
    ];
    for (options, message) in cases {
        scratch.stratasim(options).failed(2, &[message]);
    }
    assert_eq!(scratch.read("ring.toml"), RING);
    assert_eq!(scratch.read("result.json"), result);
    assert_eq!(scratch.read("a.goal"), GOAL);
}

/// A folder with a page of somebody else is no place for ours.
#[test]
fn pages_take_the_place_of_pages_only() {
    let scratch = ring();
    let sweep = ["sweep", "ring.toml", "--out", "mine", "--quiet"];
    scratch.write("ring.toml", &format!("{RING}\n[sweep]\nproduct = {{ seed = [1, 2] }}\n"));
    std::fs::create_dir(scratch.path().join("mine")).unwrap();
    scratch.write("mine/README.md", "my own project");
    scratch.stratasim(&sweep).failed(2, &["mine/README.md", "no file of a sweep or curve"]);
    assert_eq!(scratch.read("mine/README.md"), "my own project");
    // nor is one with points of another kind
    std::fs::create_dir(scratch.path().join("mine/points")).unwrap();
    scratch.stratasim(&sweep).failed(2, &["mine/README.md", "no file of a sweep or curve"]);
    std::fs::remove_file(scratch.path().join("mine/README.md")).unwrap();
    for _ in 0..2 {
        assert_eq!(scratch.stratasim(&sweep).code, 0);
        // pages without the results of points, as they are passed on
        std::fs::remove_dir_all(scratch.path().join("mine/points")).unwrap();
    }
}

#[test]
fn what_limits_no_output_is_refused() {
    let scratch = ring();
    for (option, value, output) in [("--ranks", "0-1", "--csv"), ("--window", "0 s..1 s", "--heat-map")] {
        let file = if output == "--csv" { "out.csv" } else { "out.svg" };
        let alone = scratch.stratasim(&["run", "ring.toml", "--quiet", option, value]);
        alone.failed(2, &[option, output, "none of them is given"]);
        let both = scratch.stratasim(&["run", "ring.toml", "--quiet", option, value, output, file]);
        assert!(both.code == 0 && scratch.path().join(file).exists(), "{}", both.errors);
    }
}

/// A case that is damaged is no case that agrees.
#[test]
fn a_reference_that_expects_nothing_does_not_agree() {
    const CASE: &str = r#"{"name": "one", "config": {}, "hosts": [{"name": "A", "speed": 1e9, "cores": 1},
        {"name": "B", "speed": 1e9, "cores": 1}], "links": [{"name": "l", "bandwidth": 125000.0, "latency": 0.01,
        "policy": "SHARED"}], "routes": [{"src": "A", "dst": "B", "links": ["l"]}, {"src": "B", "dst": "A", "links": ["l"]}],
        "activities": [{"id": "f", "kind": "comm", "src": "A", "dst": "B", "size": 100000, "deps": []}],
        "expected": {"f": 0.9960793814432991}}"#;
    let scratch = Scratch::new();
    let agrees = |case: &str| {
        scratch.write("one.json", case);
        scratch.stratasim(&["conformance", "flow", "one.json"])
    };
    let whole = agrees(CASE);
    assert_eq!(whole.code, 0, "{}", whole.errors);
    agrees(&CASE.replace("\"f\": 0.99", "\"g\": 0.99")).failed(2, &["one.json", "`g`", "no such activity"]);
    agrees(&CASE.replace("{\"f\": 0.9960793814432991}", "{}"))
        .failed(2, &["one.json", "no time for activity `f`"]);
    agrees(&CASE.replace("\"activities\": [", "\"activities\": null, \"were\": [")).failed(2, &["one.json"]);
}
