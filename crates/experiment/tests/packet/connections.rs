//! Messages of a pair of nodes that go one after the other, and pipelines, which depend on it, on all levels.

use std::path::Path;

use crate::common::{run, watch_in};
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_experiment::{Document, Prepared};

const LEVELS: [&str; 4] = ["message", "flow", "flit", "packet"];

/// `nodes` on a switch, 50 GB/s and half a microsecond each way.
fn switch(nodes: u32, workload: &str, level: &str, more: &str) -> String {
    let rule = match level {
        "message" => {
            "{ kind = \"message\", from-routes = true, latency = \"0 ns\", overhead = \"0 ns\", gap = \"0 ns\", gap-per-byte = \"0 ns/B\", eager-limit = \"1 GB\" }"
        }
        "flow" => "{ kind = \"flow\" }",
        "flit" => "{ kind = \"flit\" }",
        _ => "{ kind = \"packet\" }",
    };
    format!(
        "topology = {{ kind = \"single-switch\", nodes = {nodes}, bandwidth = \"50 GB/s\", latency = \"500 ns\" }}\n\
         network = {rule}\n{more}\n[workload]\nkind = \"goal\"\n{workload}\n"
    )
}

/// When messages arrived, by their size.
#[derive(Default)]
struct Ends(Vec<(u64, f64)>);

impl Observer for Ends {
    fn interests(&self) -> Interests {
        Interests { messages: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::Message(span) = event {
            self.0.push((span.bytes, span.end.as_secs_f64()));
        }
    }
}

fn near(seconds: f64, expected: f64, share: f64, what: &str) {
    assert!((seconds / expected - 1.0).abs() < share, "{what}: {seconds} s, not {expected}");
}

/// 16 MB in segments of 1 MB through a chain of eight: 16 segments and 6 more that fill it, 20 us each, and seven latencies.
#[test]
fn segments_go_through_a_chain_one_behind_the_other() {
    let workload = "pattern = { kind = \"collective\", operation = \"broadcast\", algorithm = { kind = \"chain\", segment = \"1 MB\" } }\n\
                    ranks = 8\nbytes = \"16 MB\"";
    for level in LEVELS {
        let seconds = run(&switch(8, workload, level, "")).makespan_s;
        near(seconds, 22.0 * 20e-6 + 7.0 * 1e-6, if level == "packet" { 0.03 } else { 1e-3 }, level);
    }
    // where they share the way, all arrive at the end
    let apart = "execution = { connections = \"per-message\" }";
    near(run(&switch(8, workload, "flow", apart)).makespan_s, 7.0 * (320e-6 + 1e-6), 1e-6, "apart");
}

/// NCCL's slices of 512 KiB: those of 4 MB, and as many more as it takes to get to the last rank.
#[test]
fn slices_of_nccl_go_one_behind_the_other() {
    let workload = |ranks| {
        format!(
            "nccl = {{ operation = \"broadcast\", ranks = {ranks}, ranks-per-node = {ranks}, bytes = \"4 MiB\", channels = 1 }}"
        )
    };
    for ranks in [2_u32, 4, 16] {
        let slice = f64::from(512 << 10) / 50e9;
        let expected = f64::from(8 + ranks - 2) * slice + f64::from(ranks - 1) * 1e-6;
        for level in LEVELS {
            let seconds = run(&switch(ranks, &workload(ranks), level, "")).makespan_s;
            near(
                seconds,
                expected,
                if level == "packet" { 0.04 } else { 1e-3 },
                &format!("{level}, {ranks} ranks"),
            );
        }
    }
}

/// Messages of 1 MB, of two bytes more and of none from one node to another, and one of a byte more to a third: by hand.
#[test]
fn messages_of_a_pair_wait_for_each_other_and_for_nobody_else() {
    let ends = |level: &str, connections: &str| {
        let vertex = |to: u32, bytes: u32| {
            format!(
                "{{ name = \"m{bytes}\", kind = \"communication\", source = 0, destination = {to}, bytes = \"{bytes} B\" }}"
            )
        };
        let vertices = [vertex(1, 1_000_000), vertex(1, 1_000_002), vertex(1, 0), vertex(2, 1_000_001)];
        let text = format!(
            "topology = {{ kind = \"single-switch\", nodes = 3, bandwidth = \"1 GB/s\", latency = \"500 ns\" }}\n\
             execution = {{ connections = \"{connections}\" }}\nnetwork = {{ kind = \"{level}\" }}\n\
             [workload]\nkind = \"graph\"\nvertices = [{}]\n",
            vertices.join(", ")
        );
        let mut ends = Ends::default();
        watch_in(&text, Path::new(""), &mut ends);
        [1_000_000, 1_000_002, 0, 1_000_001]
            .map(|bytes| ends.0.iter().find(|(known, _)| *known == bytes).expect("it arrived").1)
    };
    // the one to the third node has half of the link until all are through
    let [first, second, empty, other] = ends("flow", "per-pair");
    for (end, expected) in [(first, 2e-3), (other, 2e-3), (second, 3e-3), (empty, 3e-3)] {
        near(end, expected + 1e-6, 1e-5, "one behind the other");
    }
    let [first, second, empty, other] = ends("flow", "per-message");
    for (end, expected) in [(first, 3e-3), (other, 3e-3), (second, 3e-3), (empty, 0.0)] {
        near(end, expected + 1e-6, 1e-5, "all at once");
    }
    let [first, second, _, other] = ends("flit", "per-pair");
    for (end, expected) in [(first, 2e-3), (other, 2e-3), (second, 3e-3)] {
        near(end, expected, 0.01, "a packet of each pair in turn");
    }
}

/// Messages that wait behind one whose link goes down are told, too.
#[test]
fn those_that_wait_fail_with_the_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let platform = "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"><platform version=\"4.1\">\
                    <zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>\
                    <link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\" state_file=\"state.txt\"/>\
                    <route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>";
    std::fs::write(folder.path().join("platform.xml"), platform).expect("a file");
    std::fs::write(folder.path().join("state.txt"), "0.0 1\n0.0005 0\n").expect("a file");
    let text = "topology = { kind = \"simgrid-xml\", path = \"platform.xml\" }\nexecution = { connections = \"per-pair\" }\n\
                network = { kind = \"flow\" }\n[workload]\nkind = \"traffic\"\nflows = 5\n\
                size = { kind = \"fixed\", bytes = \"1 MB\" }\npattern = { kind = \"list\", pairs = [[0, 1]] }\n";
    let document = Document::parse("test.toml", text).expect("an experiment");
    let mut prepared = Prepared::new(&document, folder.path()).unwrap_or_else(|error| panic!("{error}"));
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let ended = prepared.run(&mut stratasim_core::observe::Blind, std::time::Instant::now());
    let error = ended.expect_err("the link is down").to_string();
    assert!(error.contains("down"), "{error}");
}

/// Ring collectives beside each other are one behind the other, whether or not the shortcut for rings is on.
#[test]
fn the_shortcut_for_rings_changes_nothing() {
    let seconds = |shortcut: bool, connections: &str| {
        let vertex = |name: &str| {
            format!(
                "{{ name = \"{name}\", kind = \"communication\", collective = \"all-reduce\", algorithm = \"ring\", bytes = \"8 MB\" }}"
            )
        };
        run(&format!(
            "topology = {{ kind = \"single-switch\", nodes = 4, bandwidth = \"50 GB/s\", latency = \"500 ns\" }}\n\
             execution = {{ connections = \"{connections}\" }}\nnetwork = {{ kind = \"flow\", shortcuts = {{ pipelines = {shortcut} }} }}\n\
             [workload]\nkind = \"graph\"\nvertices = [{}, {}]\n",
            vertex("a"),
            vertex("b")
        ))
        .makespan_s
    };
    for connections in ["per-pair", "per-message"] {
        near(seconds(true, connections), seconds(false, connections), 1e-9, connections);
    }
}
