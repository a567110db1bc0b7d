//! Names that nothing has: one clear error with the name that was meant.

use crate::bad_input::{TOPOLOGY, WORKLOAD, refused, run};
use crate::support::Scratch;

#[test]
fn an_unknown_key_is_named_with_its_neighbour() {
    let text = format!("{TOPOLOGY}duplx = \"half\"\n{WORKLOAD}");
    refused(&run(&text, &[]), &["topology.duplx", "unknown key", "did you mean `duplex`", "bad.toml:6"]);
    let text = format!("sed = 3\n{TOPOLOGY}{WORKLOAD}");
    refused(&run(&text, &[]), &["unknown key `sed`, did you mean `seed`", "bad.toml:1"]);
    let text = format!("{TOPOLOGY}{WORKLOAD}[netwrok]\nkind = \"flow\"\n");
    refused(&run(&text, &[]), &["netwrok", "did you mean `network`", "bad.toml:10"]);
    // sections that are read apart from the others
    for (typo, section) in [("swep", "sweep"), ("forcast", "forecast")] {
        let ended = run(&format!("{TOPOLOGY}{WORKLOAD}[{typo}]\nx = 1\n"), &[]);
        let hint = format!("unknown key `{typo}`, did you mean `{section}`?");
        refused(&ended, &[&hint, "network, execution, sweep, forecast)", "bad.toml:10"]);
    }
}

#[test]
fn an_unknown_kind_is_named_with_its_neighbour() {
    let text = TOPOLOGY.replace("\"ring\"", "\"rng\"") + WORKLOAD;
    refused(&run(&text, &[]), &["topology.kind", "unknown kind `rng`, did you mean `ring`", "bad.toml:2"]);
    // what others call so, a slip in such a name, and one of another list
    for (name, hint) in [
        ("flattened-butterfly", "unknown kind `flattened-butterfly`, which is `hyperx` here"),
        ("Clos", "unknown kind `Clos`, which is `fat-tree` or `leaf-spine` here"),
        ("flattened-buterfly", "unknown kind `flattened-buterfly`, did you mean `hyperx`?"),
        ("FullyConnected", "unknown kind `FullyConnected`, did you mean `fully-connected`?"),
        ("gbn", "there is `network.recovery.kind = \"go-back-n\"`"),
    ] {
        let text = TOPOLOGY.replace("\"ring\"", &format!("\"{name}\"")) + WORKLOAD;
        refused(&run(&text, &[]), &[hint, "bad.toml:2"]);
    }
    let text = TOPOLOGY.replace("kind = \"ring\"\n", "") + WORKLOAD;
    refused(&run(&text, &[]), &["topology", "the key `kind` is missing", "bad.toml:1"]);
    let text = TOPOLOGY.replace("kind", "knd") + WORKLOAD;
    refused(&run(&text, &[]), &["topology.knd: unknown key `knd`, did you mean `kind`?", "bad.toml:2"]);
    let text = format!("{TOPOLOGY}{WORKLOAD}[network]\nkind = \"packet\"\ncongestion.knid = \"nscc\"\n");
    refused(&run(&text, &[]), &["network.congestion.knid", "did you mean `kind`?", "bad.toml:12"]);
    let text = format!("{TOPOLOGY}{WORKLOAD}[network]\nkind = \"packet\"\n");
    let typo = run(&text, &["--set", "network.congestion.knd=\"nscc\""]);
    refused(&typo, &["network.congestion.knd: unknown key `knd`, did you mean `kind`?", "--set"]);
    let text = "[topology]\nkind = \"dragonfly\"\nhosts-per-router = 2\np = 4\nrouters-per-group = 4\n\
                global-links-per-router = 2\nbandwidth = \"16 GB/s\"\nlatency = \"1 ns\"\n"
        .to_owned();
    refused(&run(&(text + WORKLOAD), &[]), &["topology", "`hosts-per-router` is given twice", "bad.toml"]);
    let allocator = "router.switch-allocator = { kind = \"separable-input-first\", arbiter = \"tree\" }";
    let text = format!("{TOPOLOGY}{WORKLOAD}[network]\nkind = \"flit\"\n{allocator}\n");
    let key = "network.router.switch-allocator.arbiter: `tree` has keys of its own";
    refused(&run(&text, &[]), &[key, "{ tree = { ... } }", "bad.toml:12"]);
    let text = format!("{TOPOLOGY}{WORKLOAD}[network]\nkind = \"flit\"\nrouter.vc-allocator = \"pim\"\n");
    let key = "network.router.vc-allocator: a table such as `{ kind = \"pim\" }` is expected";
    refused(&run(&text, &[]), &[key, "bad.toml:12"]);
    // other keys of tables with a kind, which are as close to it as most words of which a neighbour is named
    for key in ["min", "link"] {
        let text = TOPOLOGY.replace("kind = \"ring\"", &format!("{key} = 3")) + WORKLOAD;
        refused(&run(&text, &[]), &["topology: the key `kind` is missing", "bad.toml:1"]);
    }
    let text = TOPOLOGY.replace("\"ring\"", "3") + WORKLOAD;
    refused(&run(&text, &[]), &["topology.kind", "one of single-switch", "integer `3`", "bad.toml:2"]);
}

#[test]
fn kinds_of_other_lists_and_files_of_other_forms_are_known_for_what_they_are() {
    let scratch = Scratch::new();
    scratch.write("good.toml", &format!("{TOPOLOGY}{WORKLOAD}"));
    let set = |set: &str| scratch.stratasim(&["run", "good.toml", "--set", set]);
    refused(&set("routing.kind=valiant"), &["unknown kind `valiant`", "there is `network.routing.kind"]);
    refused(&set("routing.kind=nonsense"), &["unknown kind `nonsense`", "explicit)\n"]);
    let report = scratch.stratasim(&["report", "good.toml"]);
    refused(&report, &["it looks like an experiment;"]);
    scratch.write("cut.xml", "<platform version=\"4.1\">\n<zone id=\"a\">\n</platform>");
    refused(&scratch.stratasim(&["topology", "show", "cut.xml"]), &["× cut.xml:2:1: <zone>"]);
    refused(&scratch.stratasim(&["explain"]), &["what should be explained?", "stratasim list"]);
}

#[test]
fn typos_in_settings_and_options_are_named() {
    let text = format!("{TOPOLOGY}{WORKLOAD}");
    refused(
        &run(&text, &["--set", "topology.noodes=5"]),
        &["unknown key `noodes`", "did you mean `nodes`", "--set"],
    );
    refused(&run(&text, &["--set", "topology.nodes"]), &["--set key=value"]);
    refused(&run(&text, &["--set", "topology.nodes=many"]), &["topology.nodes", "many", "--set"]);
    refused(&run(&text, &["--set", "topology.nodes.x=5"]), &["not a table", "--set"]);
    refused(&run(&text, &["--set", "=5"]), &["key is missing"]);
    refused(&run(&text, &["--network", "flwo"]), &["unknown network `flwo`", "did you mean `flow`"]);
    refused(&run(&text, &["--ranks", "7-3"]), &["--ranks", "7 comes after 3"]);
    refused(&run(&text, &["--ranks", "two"]), &["--ranks", "`two`", "0-7,16"]);
    refused(
        &run(&text, &["--ranks", "4", "--trace", "t"]),
        &["--ranks: rank 4 is not there", "4 ranks", "0 to 3"],
    );
    refused(&run(&text, &["--window", "2 s..1 s"]), &["--window", "ends before it begins"]);
    refused(&run(&text, &["--window", "2 s"]), &["--window", "1 s..2.5 s"]);
    let scratch = Scratch::new();
    scratch.write("good.toml", &text);
    refused(
        &scratch.stratasim(&["compare", "good.toml", "--networks", "flow,packets"]),
        &["packets", "known: flow"],
    );
    refused(
        &scratch.stratasim(&["compare", "good.toml", "--with", "topology.noodes=5"]),
        &["noodes", "nodes", "--with"],
    );
    for variant in ["", "fast:", "topology.nodes"] {
        let ended = scratch.stratasim(&["compare", "good.toml", "--with", variant]);
        refused(&ended, &["write `--with key=value`, such as `--with seed=7`"]);
        assert!(!ended.errors.contains("--set"), "{}", ended.errors);
    }
    refused(&scratch.stratasim(&["sweep", "good.toml", "--out", "x"]), &["no section `[sweep]`"]);
    refused(&scratch.stratasim(&["explain", "fat-treee"]), &["fat-treee", "did you mean `fat-tree`"]);
    let other = scratch.stratasim(&["explain", "flattened-butterfly"]).output;
    assert!(
        other.starts_with("hyperx: a kind of topology") && other.contains("also called flattened-butterfly")
    );
    refused(&scratch.stratasim(&["list", "topologys"]), &["topologys", "did you mean `topologies`"]);
    let ended = scratch.stratasim(&["topology", "export", "good.toml", "--format", "graphmll"]);
    refused(&ended, &["graphmll", "did you mean `graphml`"]);
    refused(&scratch.stratasim(&["topology", "export", "good.toml"]), &["--format", "simgrid-xml"]);
}

#[test]
fn a_link_that_is_not_there_is_named_with_its_neighbour() {
    let text = format!("{TOPOLOGY}{WORKLOAD}[network]\nkind = \"packet\"\n");
    let fault = |name: &str| {
        let set = format!("network.faults.corruption={{probability=0.1, links=[\"{name}\"]}}");
        run(&text, &["--set", &set])
    };
    refused(
        &fault("host-0-host-1"),
        &["corruption.links.0", "no link is called `host-0-host-1`, did you mean `host-0->host-1`?"],
    );
    refused(&fault("banana"), &["no link is called `banana`, and they have names such as `", "->"]);
}
