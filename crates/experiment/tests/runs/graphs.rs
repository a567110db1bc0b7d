//! Graphs that are written out: what starts when, over iterations, and what is said where it never does.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::common::run;
use proptest::prelude::*;
use stratasim_core::observe::Blind;
use stratasim_experiment::{Document, Prepared};

/// Two hosts on a switch, 10 GB/s and 1 us per link, and a graph.
fn text(nodes: usize, body: &str) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nnodes = {nodes}\nbandwidth = \"10 GB/s\"\nlatency = \"1 us\"\n\
         compute = {{ name = \"X\", fp32 = \"1 TFLOP/s\" }}\n[workload]\nkind = \"graph\"\n{body}\n"
    )
}

/// What a run that does not end says.
fn error(text: &str) -> String {
    let document = Document::parse("test.toml", text).expect("an experiment");
    let mut prepared = match Prepared::new(&document, Path::new("")) {
        Ok(prepared) => prepared,
        Err(error) => return error.to_string(),
    };
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    prepared.run(&mut Blind, Instant::now()).expect_err("it never ends").to_string()
}

/// A vertex of a random graph, with ranks as a set of bits.
#[derive(Debug, Clone, Copy)]
struct Vertex {
    length_us: u64,
    ranks: u8,
}

/// From, to, iterations in between, and whether every rank waits for all.
type Edge = (usize, usize, u32, bool);

/// When the last vertex ends, in microseconds: the longest way through the graph with its iterations side by side. None where
/// something waits for itself.
fn longest(vertices: &[Vertex], edges: &[Edge], iterations: u32) -> Option<u64> {
    let count = vertices.len();
    let has = |vertex: usize, rank: usize| vertices[vertex].ranks >> rank & 1 != 0;
    // by iteration, vertex and rank
    let mut ends = vec![vec![[None; 2]; count]; iterations as usize];
    for iteration in 0..iterations as usize {
        // as many rounds as a way has vertices
        for _ in 0..count {
            for vertex in 0..count {
                for rank in (0..2).filter(|&rank| has(vertex, rank)) {
                    let mut begins = match iteration {
                        0 => Some(0),
                        _ => ends[iteration - 1][vertex][rank],
                    };
                    for &(from, to, distance, all) in edges.iter().filter(|edge| edge.1 == vertex) {
                        let Some(before) = iteration.checked_sub(distance as usize) else { continue };
                        let [on_from, on_to] = [from, to].map(|at| vertices[at].ranks);
                        let one_and_several = on_from.is_power_of_two() != on_to.is_power_of_two();
                        let for_all = all || one_and_several || on_from & on_to == 0;
                        for other in (0..2).filter(|&other| has(from, other)) {
                            if for_all || other == rank {
                                begins =
                                    begins.zip(ends[before][from][other]).map(|(a, b): (u64, u64)| a.max(b));
                            }
                        }
                    }
                    ends[iteration][vertex][rank] = begins.map(|begins| begins + vertices[vertex].length_us);
                }
            }
        }
    }
    let mut last = 0;
    for of_vertex in &ends {
        for (vertex, of_rank) in of_vertex.iter().enumerate() {
            for rank in (0..2).filter(|&rank| has(vertex, rank)) {
                last = last.max(of_rank[rank]?);
            }
        }
    }
    Some(last)
}

fn graphs() -> impl Strategy<Value = (Vec<Vertex>, Vec<Edge>, u32)> {
    let vertex = (prop_oneof![Just(0), 1..20_u64], 1..4_u8);
    let vertex = vertex.prop_map(|(length_us, ranks)| Vertex { length_us, ranks });
    (prop::collection::vec(vertex, 1..7), 1..6_u32).prop_flat_map(|(vertices, iterations)| {
        let edge = (0..vertices.len(), 0..vertices.len(), 0..3_u32, any::<bool>());
        (Just(vertices), prop::collection::vec(edge, 0..9), Just(iterations))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Vertices that take no time are joins, which end as soon as they begin, wherever they stand.
    #[test]
    fn a_graph_takes_its_longest_way((vertices, edges, iterations) in graphs()) {
        let mut seen = Vec::new();
        let edges: Vec<Edge> = edges
            .into_iter()
            .map(|(from, to, distance, all)| {
                // those to the front of the list lead into a later iteration, so that nothing waits for itself
                (from, to, if from < to { distance } else { distance.max(1) }, all)
            })
            .filter(|edge| !seen.contains(&(edge.0, edge.1)) && { seen.push((edge.0, edge.1)); true })
            .collect();
        // the list may stand in any order
        let places: Vec<usize> = (0..vertices.len()).rev().collect();
        for turned in [false, true] {
            let mut body = format!("iterations = {iterations}\nvertices = [\n");
            let order: Vec<usize> = if turned { places.clone() } else { (0..vertices.len()).collect() };
            for at in order {
                let Vertex { length_us, ranks } = vertices[at];
                let kind = match length_us {
                    0 => "kind = \"join\"".to_owned(),
                    us => format!("kind = \"delay\", duration = \"{us} us\""),
                };
                let ranks = ["[0]", "[1]", "\"all\""][usize::from(ranks) - 1];
                let waits = edges.iter().any(|&(_, to, distance, _)| to == at && distance == 0);
                let start = if waits { "" } else { ", start = true" };
                writeln!(body, "{{ name = \"v{at}\", ranks = {ranks}{start}, {kind} }},").expect("a string takes it");
            }
            body.push_str("]\nedges = [\n");
            for (from, to, distance, all) in &edges {
                let link = if *all { ", link = \"all-to-all\"" } else { "" };
                writeln!(body, "{{ from = \"v{from}\", to = \"v{to}\", distance = {distance}{link} }},").expect("a string takes it");
            }
            body.push(']');
            let expected = longest(&vertices, &edges, iterations).expect("it ends");
            let took_us = run(&text(2, &body)).makespan_s * 1e6;
            prop_assert!((took_us - expected as f64).abs() < 1e-6, "{took_us} us, not {expected}\n{body}");
        }
    }
}

/// One rank holds back all of several without a `link`, and all of several hold back one.
#[test]
fn all_wait_for_a_vertex_on_one_rank() {
    for (link, ends_us) in [("", 39.0), (", link = \"same-rank\"", 36.0)] {
        let body = format!(
            "iterations = 2\nvertices = [{{ name = \"a\", kind = \"delay\", ranks = \"all\", start = true, duration = \"10 us\" }}, \
             {{ name = \"b\", kind = \"delay\", rank = 0, duration = \"11 us\" }}, \
             {{ name = \"late\", kind = \"delay\", rank = 1, start = true, duration = \"18 us\" }}]\n\
             edges = [{{ from = \"late\", to = \"a\", distance = 1{link} }}, {{ from = \"a\", to = \"b\"{link} }}]"
        );
        let took_us = run(&text(2, &body)).makespan_s * 1e6;
        assert!((took_us - ends_us).abs() < 1e-6, "{link}: {took_us} us, not {ends_us}");
    }
}

/// What ends at once makes others ready, which begin once.
#[test]
fn a_join_in_front_begins_what_follows_once() {
    for iterations in [1, 2, 4] {
        let body = format!(
            "iterations = {iterations}\nvertices = [{{ name = \"begin\", kind = \"join\", ranks = \"all\" }}, \
             {{ name = \"layer\", kind = \"delay\", ranks = \"all\", duration = \"10 us\" }}]\n\
             edges = [{{ from = \"begin\", to = \"layer\" }}]"
        );
        let result = run(&text(2, &body));
        assert!((result.makespan_s - 1e-5 * f64::from(iterations)).abs() < 1e-12, "{}", result.makespan_s);
    }
}

/// A send that does not wait for its receive may be iterations ahead of it, on every level.
#[test]
fn sends_may_be_iterations_ahead() {
    for network in ["flow", "packet", "message"] {
        let body = format!(
            "iterations = 5\nvertices = [{{ name = \"s\", kind = \"send\", rank = 0, destination = 1, bytes = \"1 kB\" }}, \
             {{ name = \"w\", kind = \"delay\", rank = 1, duration = \"50 us\" }}, \
             {{ name = \"r\", kind = \"receive\", rank = 1, source = 0 }}]\nedges = [{{ from = \"w\", to = \"r\" }}]\n\
             [network]\nkind = \"{network}\""
        );
        let took = run(&text(2, &body)).makespan_s - 250e-6;
        assert!((-1e-12..1e-6).contains(&took), "{network}: {took}");
    }
}

/// Of two that become ready together the one that the list has first takes the stream: at 6 us both may begin anew.
#[test]
fn ties_on_a_stream_go_to_the_vertex_in_front() {
    let compute = |name: &str, flops: u32| {
        format!(
            "{{ name = \"{name}\", kind = \"compute\", ranks = [0], flops = \"{flops} MFLOP\", precision = \"fp32\" }}"
        )
    };
    let body = format!(
        "iterations = 2\nvertices = [{}, {}, {{ name = \"c\", kind = \"delay\", ranks = [0], duration = \"1 us\" }}]\n\
         edges = [{{ from = \"b\", to = \"a\", distance = 1 }}, {{ from = \"a\", to = \"c\" }}]",
        compute("a", 5),
        compute("b", 1)
    );
    // a until 5 and 11, b until 6 and 12, c until 6 and 12
    let took_us = run(&text(1, &body)).makespan_s * 1e6;
    assert!((took_us - 12.0).abs() < 1e-6, "{took_us}");
}

/// A receive without a tag takes any; one with a tag only its own.
#[test]
fn a_receive_without_a_tag_takes_any() {
    let body = |tag: &str| {
        format!(
            "vertices = [{{ name = \"s\", kind = \"send\", rank = 0, destination = 1, bytes = \"10 kB\", tag = 5 }}, \
             {{ name = \"r\", kind = \"receive\", rank = 1, source = 0{tag} }}]"
        )
    };
    assert!((run(&text(2, &body(""))).makespan_s - 3e-6).abs() < 1e-11);
    let refused = error(&text(2, &body(", tag = 0")));
    assert!(refused.contains("from rank 0 to rank 1 with tag 0 has no matching send"), "{refused}");
    // of one pair of ranks there must be as many of each
    let two = body("")
        .replace("vertices = [", "vertices = [{ name = \"q\", kind = \"receive\", rank = 1, source = 2 }, ");
    let refused = error(&text(3, &two));
    assert!(refused.contains("`q`: 1 receive from rank 2 to rank 1 has no matching send"), "{refused}");
}

/// What takes longer than a time can say is not taken for a deadlock, and a deadlock not for that.
#[test]
fn a_slow_message_is_no_deadlock() {
    let slow = |workload: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"1 B/s\"\nlatency = \"1 us\"\n{workload}"
        )
    };
    for workload in [
        "[workload]\nkind = \"goal\"\npattern = { kind = \"linear-alltoall\" }\nranks = 2\nbytes = \"64 MB\"",
        "[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = { kind = \"direct\" }\nbytes = \"64 MB\"",
        "[workload]\nkind = \"graph\"\nvertices = [{ name = \"s\", kind = \"send\", rank = 0, destination = 1, bytes = \"64 MB\" }, \
         { name = \"r\", kind = \"receive\", rank = 1, source = 0 }]",
    ] {
        // of the message level half a second for each byte
        for network in ["kind = \"flow\"", "kind = \"message\"\ngap-per-byte = \"500 ms/B\""] {
            let error = error(&format!("{}\n[network]\n{network}", slow(workload)));
            assert!(error.contains("more than 213 days"), "{error}");
        }
    }
    let waits = "vertices = [{ name = \"r\", kind = \"receive\", rank = 3, source = 1 }, \
         { name = \"s\", kind = \"send\", rank = 1, destination = 3, bytes = \"1 kB\" }, \
         { name = \"x\", kind = \"communication\", collective = \"all-gather\", bytes = \"3 MB\" }]\n\
         edges = [{ from = \"r\", to = \"s\" }, { from = \"r\", to = \"x\" }]";
    let error = error(&text(4, waits));
    assert!(error.contains("tasks will never end") && error.contains("`s` on rank 1"), "{error}");
}

#[test]
fn a_member_of_a_group_waits_for_those_of_its_own() {
    let waits = "vertices = [{ name = \"r\", kind = \"receive\", rank = 3, source = 1 }, \
         { name = \"s\", kind = \"send\", rank = 1, destination = 3, bytes = \"1 kB\" }, \
         { name = \"x\", kind = \"communication\", collective = \"all-gather\", bytes = \"3 MB\", \
         algorithm = \"direct\", groups = { size = 2 } }]\n\
         edges = [{ from = \"r\", to = \"s\" }, { from = \"r\", to = \"x\" }]";
    let error = error(&text(4, waits));
    assert!(error.contains("`x` on rank 2 waits for round 0: messages from member 1"), "{error}");
    assert!(!error.contains("`x` on rank 0"), "the other group has done it: {error}");
}

#[test]
fn who_gets_something_waits_until_it_is_there() {
    let late = "{ name = \"late\", kind = \"delay\", rank = 0, duration = \"1 s\" }";
    // rank 1 waits for the late rank 0, whether all send or one does, and whatever it does then
    let shift = "{ name = \"x\", kind = \"communication\", ranks = \"all\", offset = 1, bytes = \"1 MB\" }";
    let from_0 = "{ name = \"x\", kind = \"communication\", source = 0, destination = 1, bytes = \"1 MB\" }";
    let to_1 =
        "{ name = \"x\", kind = \"communication\", ranks = [0, 2], destination = 1, bytes = \"1 MB\" }";
    let delay = "{ name = \"use\", kind = \"delay\", ranks = [1, 2], duration = \"1 s\" }";
    let every = "{ name = \"use\", kind = \"delay\", ranks = \"all\", duration = \"1 s\" }";
    let sum = "{ name = \"use\", kind = \"communication\", collective = \"broadcast\", members = [1, 0], bytes = \"10 GB\" }";
    for (x, then, iterations, ends_us) in [
        (shift, every, 1, 2_000_102.0),
        (shift, delay, 1, 2_000_102.0),
        (to_1, every, 1, 2_000_102.0),
        (from_0, sum, 1, 2_000_104.0),
        // what rank 0 sends in the second iteration is there long before rank 1 is
        (shift, every, 2, 3_000_102.0),
    ] {
        let graph = format!(
            "iterations = {iterations}\nvertices = [{late}, {x}, {then}]\nedges = [{{ from = \"late\", to = \"x\", \
             link = \"same-rank\" }}, {{ from = \"x\", to = \"use\" }}]"
        );
        let ends = run(&text(3, &graph)).makespan_s * 1e6;
        assert!((ends - ends_us).abs() < 1.0, "{x}, then {then}: {ends} us, expected {ends_us}");
    }
}

#[test]
fn a_processor_takes_up_a_message_when_all_of_it_is_there() {
    // while 1 MB comes to rank 1, it sends a byte to rank 2, which is at work for 200 us then
    let graph = r#"
vertices = [
  { name = "long", kind = "communication", source = 0, destination = 1, bytes = "1 MB" },
  { name = "later", kind = "delay", rank = 1, duration = "10 us" },
  { name = "short", kind = "communication", source = 1, destination = 2, bytes = "1 B" },
  { name = "work", kind = "delay", rank = 2, duration = "200 us" },
]
edges = [{ from = "later", to = "short" }, { from = "short", to = "work" }]
[network]
kind = "message"
latency = "2 us"
overhead = "1 us"
gap = "0 ns"
gap-per-byte = "0.1 ns/B""#;
    assert_eq!(run(&text(3, graph)).makespan_s, 214e-6);
}
