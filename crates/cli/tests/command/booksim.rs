//! `stratasim conformance flit` as a user runs it.

use crate::support::Scratch;

#[test]
fn the_conformance_of_the_flit_level_is_one_line_per_case() {
    let file = crate::support::root().join("../shared/ref/flit/points.jsonl");
    if !file.exists() {
        eprintln!("skipped: no {}", file.display());
        return;
    }
    let scratch = Scratch::new();
    let path = file.to_string_lossy();
    let ended =
        scratch.stratasim(&["conformance", "flit", &path, "--filter", "chk_ft64_L1", "--json", "out.json"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let lines: Vec<&str> = ended.output.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ended.output);
    assert!(lines[0].starts_with("ok      chk_ft64_L1 0.1 seed 3 "), "{}", lines[0]);
    assert!(lines[2].starts_with("2 cases agree, "), "{}", lines[2]);
    let reports: serde_json::Value = serde_json::from_str(&scratch.read("out.json")).unwrap();
    assert!(reports.as_array().unwrap().iter().all(|report| report["compared"].as_u64() > Some(90)));
}

#[test]
fn a_point_that_differs_ends_with_code_3() {
    let scratch = Scratch::new();
    let config =
        "topology = mesh; k = 2; n = 2; routing_function = dor; injection_rate = 0.1; sample_period = 10;";
    scratch.write(
        "points.jsonl",
        &format!("{{\"case\": \"small\", \"config\": \"{config}\", \"verdict\": \"stable\", \"total_cycles\": 1}}\n"),
    );
    let ended = scratch.stratasim(&["conformance", "flit", "points.jsonl"]);
    assert_eq!(ended.code, 3, "{}", ended.output);
    assert!(ended.output.contains("total_cycles: "), "{}", ended.output);
}

/// Two files tell of the same point of other traffic.
#[test]
fn points_that_nothing_is_known_of_are_counted_once_and_among_none_that_agree() {
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("a")).unwrap();
    scratch.write("a/points.jsonl", "{\"case\": \"small\", \"load\": 0.1, \"args\": \"poisson=1\"}\n");
    let curve = "{\"ext:small\": {\"args\": \"poisson=1\", \"points\": [{\"load\": 0.1}, {\"load\": 0.2}]}}";
    scratch.write("a/curves.json", curve);
    let ended = scratch.stratasim(&["conformance", "flit", "a"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let lines: Vec<&str> = ended.output.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ended.output);
    assert!(lines[0].starts_with("left    2 points of the paper's traffic"), "{}", lines[0]);
    assert_eq!(lines[1], "0 cases agree, 0 values compared");
}

#[test]
fn files_without_cases_are_refused() {
    let scratch = Scratch::new();
    scratch.write("points.jsonl", "{\"case\": \"nothing\"}\n");
    let words = ["points.jsonl", "line 1", "neither `config` nor `args`"];
    scratch.stratasim(&["conformance", "flit", "points.jsonl"]).failed(2, &words);
    scratch.write("points.jsonl", "{\n");
    scratch.stratasim(&["conformance", "flit", "points.jsonl"]).failed(2, &["points.jsonl", "line 1"]);
    scratch.stratasim(&["conformance", "flit", "nowhere"]).failed(2, &["nowhere"]);
}

#[test]
fn options_that_ask_for_more_output_are_named() {
    let scratch = Scratch::new();
    scratch.write("net.cfg", &format!("{MESH}pair_stats = 1; sim_power = 0; watch_file = watched;\n"));
    let ended = scratch.stratasim(&["traffic", "net.cfg", "--semantics", "booksim2"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    assert!(ended.errors.contains("pair_stats, watch_file"), "{}", ended.errors);
    assert!(!ended.errors.contains("sim_power"), "{}", ended.errors);
}

const MESH: &str = "topology = mesh; k = 4; n = 2;\nrouting_function = dor; num_vcs = 2; vc_buf_size = 4;\n\
                    injection_rate = 0.1; seed = 7; sample_period = 200; injection_rate_uses_flits = 1;\n";

const OURS: &str = "seed = 7\n[topology]\nkind = \"mesh\"\ndimensions = [4, 4]\nbandwidth = \"32 GB/s\"\nlatency = \"1 ns\"\n\
                    [network]\nkind = \"flit\"\nrouter = { virtual-channels = 2, buffer-flits = 4 }\n\
                    [traffic]\nto-self = true\nmeasure = { window = 200 }\n";

#[test]
fn a_curve_by_booksims_rules_is_the_same_from_its_configuration_and_from_an_experiment() {
    let scratch = Scratch::new();
    scratch.write("mesh.cfg", MESH);
    scratch.write("mesh.toml", OURS);
    let run = |file: &str, out: &str| {
        let words =
            ["traffic", file, "--semantics", "booksim2", "--load", "0.1,0.3", "--seeds", "2", "--out", out];
        let ended = scratch.stratasim(&words);
        assert_eq!(ended.code, 0, "{}", ended.errors);
        assert!(ended.output.contains("latency"), "{}", ended.output);
        let json: serde_json::Value =
            serde_json::from_str(&scratch.read(&format!("{out}/results.json"))).unwrap();
        let mut table = scratch.read(&format!("{out}/table.csv"));
        for file in ["index.html", "README.md", "latency.svg", "latency.png"] {
            assert!(scratch.path().join(out).join(file).exists(), "{file}");
        }
        for point in json["points"].as_array().unwrap() {
            for run in point["runs"].as_array().unwrap() {
                let found = &run["traffic"]["booksim2"];
                assert!(found["total_cycles"].as_u64().unwrap() > 6 * 200);
                table += &format!("{} {} {}\n", run["digest"], found["total_cycles"], found["classes"]);
            }
        }
        table
    };
    let theirs = run("mesh.cfg", "theirs");
    assert_eq!(theirs, run("mesh.toml", "ours"));
    // the file's own load and seed are the first of these runs
    let ended = scratch.stratasim(&["traffic", "mesh.cfg", "--semantics", "booksim2", "--out", "own"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    let own: serde_json::Value = serde_json::from_str(&scratch.read("own/results.json")).unwrap();
    assert!(theirs.contains(own["points"][0]["runs"][0]["digest"].as_str().unwrap()));
    let set = ["traffic", "mesh.cfg", "--semantics", "booksim2", "--set", "seed=8", "--out", "other"];
    assert_eq!(scratch.stratasim(&set).code, 0);
    let other: serde_json::Value = serde_json::from_str(&scratch.read("other/results.json")).unwrap();
    assert!(theirs.contains(other["points"][0]["runs"][0]["digest"].as_str().unwrap()));
}

/// A flit of 32 B in each of 1e9 cycles is 256 Gbps.
#[test]
fn rates_are_loads_of_what_has_a_clock() {
    let scratch = Scratch::new();
    scratch.write("mesh.cfg", MESH);
    scratch.write("mesh.toml", OURS);
    scratch.write("rate.toml", &format!("{OURS}load = \"51.2 Gbps\"\n"));
    let table = |words: &[&str]| {
        let ended = scratch.stratasim(&[&["traffic"], words].concat());
        assert_eq!(ended.code, 0, "{}", ended.errors);
        ended.output
    };
    let flits = table(&["mesh.toml", "--load", "0.1,0.2"]);
    assert_eq!(table(&["mesh.toml", "--load", "25.6 Gbps:51.2 Gbps:25.6 Gbps"]), flits);
    assert_eq!(table(&["mesh.toml", "--load", "0.1, 6.4 GB/s"]), flits);
    let theirs = table(&["mesh.toml", "--load", "0.2", "--semantics", "booksim2"]);
    assert_eq!(table(&["mesh.toml", "--load", "51.2 Gbps", "--semantics", "booksim2"]), theirs);
    // the load of the file
    assert_eq!(table(&["rate.toml"]), table(&["mesh.toml", "--load", "0.2"]));
    assert_eq!(table(&["rate.toml", "--semantics", "booksim2"]), theirs);
    let refused = ["mesh.cfg", "--load", "25.6 Gbps", "--semantics", "booksim2"];
    scratch.stratasim(&[&["traffic"], &refused[..]].concat()).failed(2, &["--load", "25.6 Gbps", "no clock"]);
    let words = ["--load", "300 Gbps", "between 0 and 1 flit per cycle, which is 256 Gbps here"];
    scratch.stratasim(&["traffic", "mesh.toml", "--load", "300 Gbps"]).failed(2, &words);
}

/// The file asks for a search: `traffic` shows its points, `run` the one that it ended with.
#[test]
fn a_file_may_ask_for_the_saturation_load() {
    let scratch = Scratch::new();
    let text = format!("{OURS}saturation-precision = 0.1\nload = \"saturation\"\n");
    scratch.write("mesh.toml", &text);
    scratch.write("plain.toml", OURS);
    let own = scratch.stratasim(&["traffic", "mesh.toml"]);
    assert_eq!(own.code, 0, "{}", own.errors);
    assert_eq!(own.output, scratch.stratasim(&["traffic", "plain.toml", "--saturation", "0.1"]).output);
    assert!(own.output.contains("saturates between"), "{}", own.output);
    let run = scratch.stratasim(&["run", "mesh.toml", "--json", "run.json"]);
    assert_eq!(run.code, 0, "{}", run.errors);
    let json: serde_json::Value = serde_json::from_str(&scratch.read("run.json")).unwrap();
    let found = &json["traffic"]["saturation"];
    let number = |key: &str| found[key].as_f64().unwrap();
    let (low, high) = (number("carried_flits_per_cycle"), number("beyond_flits_per_cycle"));
    assert!(own.output.contains(&format!("saturates between {low:.4} and {high:.4}")), "{}", own.output);
    // the table has the same load, and one that is asked for counts more
    let row = format!("{low:.4} ");
    assert!(own.output.lines().any(|line| line.trim_start().starts_with(&row)), "{}", own.output);
    let one = scratch.stratasim(&["traffic", "mesh.toml", "--load", "0.2"]);
    assert!(one.code == 0 && !one.output.contains("saturates"), "{}{}", one.output, one.errors);
    scratch
        .stratasim(&["run", "mesh.toml", "--csv", "probes.csv", "--set", "traffic.probes={}"])
        .failed(2, &["--csv", "one load"]);
}

/// Two flits per cycle and terminal are more than a channel carries, and a configuration may ask for them: queues grow.
#[test]
fn a_configuration_may_ask_for_more_than_terminals_inject() {
    let scratch = Scratch::new();
    let text = "topology = mesh; k = 2; n = 2; routing_function = dor; sample_period = 100; seed = 1; max_samples = 3;\n\
                packet_size = 4; injection_rate = 0.5;\n";
    scratch.write("over.cfg", text);
    let ended = scratch.stratasim(&["traffic", "over.cfg", "--semantics", "booksim2"]);
    assert_eq!(ended.code, 0, "{}", ended.errors);
    assert!(ended.output.lines().any(|line| line.trim_start().starts_with("2 ")), "{}", ended.output);
    let asked = scratch.stratasim(&["traffic", "over.cfg", "--semantics", "booksim2", "--load", "2"]);
    asked.failed(2, &["a terminal injects 0 to 1 flits per cycle"]);
}

#[test]
fn classes_with_loads_of_their_own_have_no_curve() {
    let scratch = Scratch::new();
    scratch.write("classes.toml", &format!("{OURS}class = [{{ load = 0.1 }}, {{ load = 0.05 }}]\n"));
    for more in [&[][..], &["--load", "0.1"]] {
        let ended = scratch.stratasim(&[&["traffic", "classes.toml"], more].concat());
        ended.failed(
            2,
            &["every class of `traffic.class` has a `load` of its own", "`stratasim run`", "`share`"],
        );
    }
    let run = scratch.stratasim(&["run", "classes.toml"]);
    assert_eq!(run.code, 0, "{}", run.errors);
}

/// The load that the section has where nobody gives one is that of its key.
#[test]
fn without_a_load_the_usual_one_runs() {
    let scratch = Scratch::new();
    scratch.write("mesh.toml", OURS);
    for semantics in ["native", "booksim2"] {
        let run = |more: &[&str]| {
            let words = ["traffic", "mesh.toml", "--semantics", semantics];
            scratch.stratasim(&[&words, more].concat())
        };
        let (usual, asked) = (run(&[]), run(&["--load", "0.1"]));
        assert_eq!(usual.code, 0, "{}", usual.errors);
        assert_eq!(usual.output, asked.output);
        assert!(usual.output.contains("\n0.1000 "), "{}", usual.output);
    }
}

#[test]
fn what_booksim_does_not_have_is_refused_with_its_place() {
    let scratch = Scratch::new();
    scratch.write("mesh.cfg", &MESH.replace("num_vcs", "num_vc"));
    scratch.write("mesh.toml", &format!("{OURS}injection = {{ kind = \"poisson\" }}\n"));
    let run = |file: &str, words: &[&str]| {
        let words: Vec<&str> =
            ["traffic", file, "--semantics", "booksim2"].iter().chain(words).copied().collect();
        scratch.stratasim(&words)
    };
    run("mesh.cfg", &[]).failed(2, &["mesh.cfg", "line 2", "`num_vc`; did you mean `num_vcs`?"]);
    run("mesh.toml", &["--load", "0.1"])
        .failed(2, &["traffic.injection", "BookSim2 has no `poisson`", "mesh.toml:13:13"]);
    run("nowhere.cfg", &[]).failed(2, &["nowhere.cfg"]);
    scratch.write("mesh.cfg", MESH);
    run("mesh.cfg", &["--load", "0.1", "--set", "packet_size=0"]).failed(2, &["1 to 16,384 flits"]);
}

/// A change is no line of the file.
#[test]
fn what_is_wrong_with_a_change_names_the_change() {
    let scratch = Scratch::new();
    scratch.write("net.cfg", MESH);
    let run = |sets: &[&str]| {
        scratch.stratasim(&[&["traffic", "net.cfg", "--semantics", "booksim2"], sets].concat())
    };
    for (sets, words) in [
        (&["--set", "num_vcs=0"][..], &["--set num_vcs=0: `num_vcs`"][..]),
        (
            &["--set", "seed=2", "--set", "nothing=1", "--set", "k=3"],
            &["--set nothing=1: there is no option"],
        ),
        (&["--set", "k=many"], &["--set k=many: `k`: found `many`"]),
        (&["--set", "nothing"], &["--set nothing: found `nothing`; expected `name = value;`"]),
    ] {
        let ended = run(sets);
        ended.failed(2, words);
        assert!(!ended.errors.contains("line "), "{}", ended.errors);
    }
    scratch.write("net.cfg", &format!("{MESH}num_vcs = 0;\n"));
    let line = format!("line {}", MESH.lines().count() + 1);
    run(&["--set", "seed=2"]).failed(2, &["net.cfg", &line, "`num_vcs`"]);
}
