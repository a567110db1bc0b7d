//! The graph builder: what is written is what runs, and what is wrong is said once and clearly.

use std::path::PathBuf;

use crate::common::Machine;
use proptest::prelude::*;
use serde_json::{Value, json};
use stratasim_core::{Duration, NodeId, Precision, Rank};
use stratasim_workload::builders::graph::GraphWorkload;
use stratasim_workload::builders::graph::node_link::to_node_link;
use stratasim_workload::builders::graph::spec::{EdgeSpec, VertexSpec};
use stratasim_workload::collective::CollectiveKind;
use stratasim_workload::program::{Gate, Link, MemoryPlace, Op, Peer, Program, Scope, Stream};
use stratasim_workload::{Vertex, VertexId, WorkloadSpec};

fn machine() -> Machine {
    let base = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"));
    Machine { base, ..Machine::new(4) }
}

fn graph(vertices: Value, edges: Value) -> String {
    json!({ "kind": "graph", "vertices": vertices, "edges": edges }).to_string()
}

fn build(vertices: Value, edges: Value) -> Program {
    machine().build(&graph(vertices, edges)).unwrap()
}

fn error(vertices: Value, edges: Value) -> String {
    machine().error(&graph(vertices, edges))
}

fn vertex<'a>(program: &'a Program, name: &str) -> (VertexId, &'a Vertex) {
    let mut ids = 0..program.vertices().len() as VertexId;
    let id = ids.find(|&id| program.name(id) == name).unwrap_or_else(|| panic!("no vertex `{name}`"));
    (id, program.vertex(id))
}

/// Edges by name: from, to, distance.
fn edges(program: &Program) -> Vec<(String, String, u32)> {
    let ids = 0..program.vertices().len() as VertexId;
    ids.flat_map(|id| program.successors(id).iter().map(move |edge| (id, edge)))
        .map(|(id, edge)| (program.name(id).into(), program.name(edge.vertex).into(), edge.distance))
        .collect()
}

#[test]
fn a_graph_made_with_networkx_is_read_with_both_names_of_its_edge_list() {
    let by = |file: &str| machine().build(&format!(r#"{{"kind": "graph", "path": "{file}"}}"#)).unwrap();
    let program = by("networkx-edges.json");
    assert_eq!(format!("{program:?}"), format!("{:?}", by("networkx-links.json")));

    let (_, forward) = vertex(&program, "fwd0");
    assert!(forward.start);
    let Op::Compute(compute) = &forward.op else { panic!("{forward:?}") };
    assert_eq!((compute.flops, compute.precision), (195e9, Precision::Fp32));
    assert_eq!(
        (compute.local_bytes, compute.remote_bytes, compute.place),
        (0, 94_274_532, MemoryPlace::Home)
    );
    let (_, backward) = vertex(&program, "bwd1");
    assert!(!backward.start);
    assert_eq!(backward.scope, Scope::One(Rank(1)), "placed by the name of its node");
    let Op::Compute(compute) = &backward.op else { panic!("{backward:?}") };
    assert_eq!((compute.precision, compute.remote_bytes), (Precision::Fp16, 1 << 29));

    let (_, sync) = vertex(&program, "sync");
    let Op::Collective(collective) = &sync.op else { panic!("{sync:?}") };
    assert_eq!((collective.kind, collective.bytes), (CollectiveKind::AllReduce, 104_857_600));
    assert_eq!(collective.gate, Gate::EachMember);
    assert_eq!(program.groups()[collective.group as usize], [Rank(0), Rank(1)]);
    assert_eq!(collective.plan.pipeline().unwrap().steps, 2);
    let (_, message) = vertex(&program, "7");
    let expected = Op::Transfer { to: Peer::Rank(Rank(1)), bytes: 1 << 20, rate_cap: None };
    assert_eq!((&message.op, message.scope, message.stream), (&expected, Scope::One(Rank(0)), Stream::NONE));
    let edges = edges(&program);
    for edge in [("fwd0", "bwd0", 0), ("sync", "fwd1", 1), ("bwd0", "7", 0), ("7", "fwd1", 2)] {
        let edge = (edge.0.to_owned(), edge.1.to_owned(), edge.2);
        assert!(edges.contains(&edge), "{edge:?} of {edges:?}");
    }
    assert_eq!(edges.len(), 8);
}

#[test]
fn every_kind_of_vertex_becomes_its_operation() {
    let program = build(
        json!([
            {"name": "a", "kind": "compute", "ranks": "all", "flops": "1 GFLOP", "memory-bytes": "1 MiB", "stream": 3, "threads": 2},
            {"name": "b", "kind": "delay", "ranks": [0, "xpu-2"], "duration": "5 us"},
            {"name": "c", "kind": "join", "rank": 3, "stream": 0},
            {"name": "d", "kind": "send", "rank": 1, "destination": 2, "bytes": 8, "tag": 4},
            {"name": "e", "kind": "receive", "rank": 2, "source": "xpu-1", "tag": 4},
            {"name": "f", "kind": "communication", "ranks": "all", "offset": -1, "bytes": "1 kB", "rate-cap": "1 Gbps"},
            {"name": "g", "kind": "communication", "collective": "barrier", "gate": "all-members"},
            {"name": "h", "kind": "communication", "collective": "broadcast", "bytes": 7,
             "algorithm": {"kind": "direct", "window": 1}},
        ]),
        json!([]),
    );
    let (_, a) = vertex(&program, "a");
    let Op::Compute(compute) = &a.op else { panic!("{a:?}") };
    assert_eq!((a.scope, a.stream, compute.threads), (Scope::All, Stream(3), 2));
    assert_eq!((compute.local_bytes, compute.remote_bytes, compute.place), (1 << 20, 0, MemoryPlace::Local));
    let (_, b) = vertex(&program, "b");
    assert_eq!(b.op, Op::Delay(Duration::from_ns(5000)));
    let Scope::Group(group) = b.scope else { panic!("{b:?}") };
    assert_eq!(program.groups()[group as usize], [Rank(0), Rank(2)]);
    assert_eq!((vertex(&program, "c").1.op.clone(), vertex(&program, "c").1.stream), (Op::Join, Stream(0)));
    assert_eq!(vertex(&program, "d").1.op, Op::Send { to: Peer::Rank(Rank(2)), tag: 4, bytes: 8 });
    assert_eq!(vertex(&program, "e").1.op, Op::Receive { from: Peer::Rank(Rank(1)), tag: Some(4) });
    assert!(matches!(
        vertex(&program, "f").1.op,
        Op::Transfer { to: Peer::Offset(-1), bytes: 1000, rate_cap: Some(_) }
    ));
    let Op::Collective(barrier) = &vertex(&program, "g").1.op else { panic!() };
    assert_eq!((barrier.gate, barrier.bytes, barrier.plan.rounds(0)), (Gate::AllMembers, 0, 2));
    let Op::Collective(broadcast) = &vertex(&program, "h").1.op else { panic!() };
    assert_eq!((broadcast.plan.rounds(0), broadcast.plan.total_bytes()), (3, 21));
}

#[test]
fn memory_may_be_anywhere() {
    let place = |memory: Value| {
        let program = build(
            json!([{"name": "a", "kind": "compute", "rank": 1, "memory-bytes": 64, "memory": memory}]),
            json!([]),
        );
        let Op::Compute(compute) = &program.vertex(0).op else { panic!() };
        (compute.local_bytes, compute.remote_bytes, compute.place)
    };
    assert_eq!(place(json!("local")), (64, 0, MemoryPlace::Local));
    assert_eq!(place(json!("home")), (0, 64, MemoryPlace::Home));
    assert_eq!(place(json!("mem-2")), (0, 64, MemoryPlace::Node(NodeId(6))));
    assert_eq!(place(json!("xpu-3")), (0, 64, MemoryPlace::OfRank(Rank(3))));
    assert_eq!(place(json!(0)), (0, 64, MemoryPlace::OfRank(Rank(0))));
    // numbers as text, where no node has that name
    assert_eq!(place(json!("0")), place(json!(0)));
    assert_eq!(place(json!("1")), (64, 0, MemoryPlace::Local), "its own");
    assert_eq!(place(json!({"rank": 1})), (64, 0, MemoryPlace::Local), "its own");
    assert_eq!(place(json!({"node": "xpu-1"})), (64, 0, MemoryPlace::Local), "its own");
}

#[test]
fn an_edge_between_one_rank_and_several_holds_for_all_of_them() {
    let link = |from: Value, to: Value, edge: Value| {
        let mut list = vec![json!({"name": "a", "kind": "join"}), json!({"name": "b", "kind": "join"})];
        for (vertex, fields) in list.iter_mut().zip([from, to]) {
            let fields = fields.as_object().unwrap().clone();
            vertex.as_object_mut().unwrap().extend(fields);
        }
        let mut edges = json!({"from": "a", "to": "b"});
        edges.as_object_mut().unwrap().extend(edge.as_object().unwrap().clone());
        build(Value::from(list), json!([edges])).successors(0)[0].link
    };
    let (one, all, sum) = (
        json!({"rank": 0}),
        json!({"ranks": "all"}),
        json!({"kind": "communication", "collective": "barrier"}),
    );
    assert_eq!(link(one.clone(), all.clone(), json!({})), Link::AllToAll);
    assert_eq!(link(all.clone(), one.clone(), json!({})), Link::AllToAll);
    assert_eq!(link(all.clone(), all.clone(), json!({})), Link::SameRank);
    assert_eq!(link(one.clone(), sum.clone(), json!({})), Link::SameRank, "members come one by one");
    assert_eq!(link(sum, one, json!({})), Link::SameRank);
    assert_eq!(link(all.clone(), all, json!({"link": "all-to-all"})), Link::AllToAll);
}

#[test]
fn the_three_ways_to_say_distance_one_agree() {
    let distance = |edge: &str| {
        let edges: Value = serde_json::from_str(&format!(r#"[{{"from": "a", "to": "a"{edge}}}]"#)).unwrap();
        let program = build(json!([{"name": "a", "kind": "join", "rank": 0}]), edges);
        program.successors(0)[0].distance
    };
    assert_eq!(distance(r#", "distance": 1"#), 1);
    assert_eq!(distance(r#", "first": false"#), 1);
    assert_eq!(distance(r#", "not-considered-first": true"#), 1);
    assert_eq!(distance(r#", "not_considered_first": true"#), 1);
    assert_eq!(distance(r#", "distance": 5"#), 5);
    let both = error(
        json!([{"name": "a", "kind": "join", "rank": 0}]),
        json!([{"from": "a", "to": "a", "distance": 1, "first": false}]),
    );
    assert!(both.starts_with("edges.0.distance: edge `a` -> `a`: `distance`, `first` and"), "{both}");
}

#[test]
fn streams_and_bytes_that_cannot_be_are_told_as_they_were_written() {
    for (fields, expected) in [
        (r#""kind": "join", "stream": -1"#, "stream -1 does not exist, they go from 0 to 65534"),
        (r#""kind": "join", "stream": 70000"#, "stream 70000 does not exist"),
        (r#""kind": "communication", "bytes": 1e30"#, "is more bytes than there can be"),
        (r#""kind": "communication", "bytes": 0.5"#, "0.5 is no whole number of bytes"),
    ] {
        let text = format!(r#"{{"vertices": [{{"name": "a", "rank": 0, {fields}}}]}}"#);
        let error = serde_json::from_str::<GraphWorkload>(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_is_wrong_with_a_vertex_names_it_its_key_and_the_remedy() {
    let one = |fields: Value| {
        let mut vertex = json!({"name": "a"});
        vertex.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        error(json!([{"name": "first", "kind": "join", "rank": 0}, vertex]), json!([]))
    };
    for (fields, expected) in [
        (
            json!({"kind": "join", "rank": 4}),
            "vertices.1.rank: vertex `a`: rank 4 does not exist, the program has ranks 0 to 3",
        ),
        (
            json!({"kind": "join", "node": "switch"}),
            "vertices.1.node: vertex `a`: no rank runs on `switch`: a vertex runs on a compute node",
        ),
        (json!({"kind": "join", "node": "mem-0"}), "vertices.1.node: vertex `a`: no rank runs on `mem-0`"),
        (
            json!({"kind": "join", "node": "gpu"}),
            "vertices.1.node: vertex `a`: the topology has no node `gpu`",
        ),
        (json!({"kind": "join"}), "vertices.1: vertex `a`: it runs nowhere; give `rank`, `node`"),
        (
            json!({"kind": "join", "rank": 0, "ranks": "all"}),
            "vertices.1: vertex `a`: it has more than one of",
        ),
        (json!({"kind": "join", "ranks": []}), "vertices.1.ranks: vertex `a`: an empty list"),
        (
            json!({"kind": "join", "ranks": [1, 0, "xpu-1"]}),
            "vertices.1.ranks: vertex `a`: rank 1 is named twice",
        ),
        (
            json!({"kind": "join", "rank": 0, "flops": 3}),
            "vertices.1.flops: vertex `a`: `flops` says nothing for a join vertex",
        ),
        (
            json!({"kind": "compute", "rank": 0}),
            "vertices.1.flops: vertex `a`: `flops` or `memory-bytes` is missing",
        ),
        (
            json!({"kind": "compute", "rank": 0, "bytes": 3}),
            "vertices.1.bytes: vertex `a`: `bytes` says nothing for a compute vertex; did you mean `memory-bytes`?",
        ),
        (
            json!({"kind": "compute", "rank": 0, "flops": 1, "memory": "home"}),
            "vertices.1.memory-bytes: vertex `a`: `memory-bytes` is missing",
        ),
        (
            json!({"kind": "compute", "rank": 0, "memory-bytes": 1, "memory": "hone"}),
            "vertices.1.memory: vertex `a`: the topology has no node `hone`, did you mean `home`?",
        ),
        (
            json!({"kind": "compute", "rank": 0, "memory-bytes": 1, "memory": 9}),
            "vertices.1.memory: vertex `a`: rank 9 does not exist",
        ),
        (
            json!({"kind": "compute", "rank": 0, "memory-bytes": 1, "memory": "9"}),
            "vertices.1.memory: vertex `a`: rank 9 does not exist",
        ),
        (
            json!({"kind": "compute", "rank": 0, "flops": 1, "threads": 0}),
            "vertices.1.threads: vertex `a`: 0 threads",
        ),
        (
            json!({"kind": "communication", "bytes": 3}),
            "vertices.1: vertex `a`: neither a message nor a collective; give `source` and `destination`, or `collective`",
        ),
        (
            json!({"kind": "communication", "source": 0, "bytes": 3}),
            "vertices.1.destination: vertex `a`: `destination` is missing",
        ),
        (
            json!({"kind": "communication", "source": 0, "destination": 0, "bytes": 3}),
            "vertices.1.destination: vertex `a`: rank 0 would send to itself",
        ),
        (
            json!({"kind": "communication", "source": 0, "destination": "tor", "bytes": 3}),
            "vertices.1.destination: vertex `a`: the topology has no node `tor`",
        ),
        (
            json!({"kind": "communication", "source": 0, "destination": 1}),
            "vertices.1.bytes: vertex `a`: `bytes` is missing",
        ),
        (
            json!({"kind": "communication", "source": "any", "destination": 1, "bytes": 1}),
            "vertices.1.source: vertex `a`: \"any\" is for `receive`",
        ),
        (
            json!({"kind": "communication", "source": 0, "rank": 0, "destination": 1, "bytes": 1}),
            "vertices.1.source: vertex `a`: `source` already says",
        ),
        (
            json!({"kind": "communication", "ranks": "all", "offset": 8, "bytes": 1}),
            "vertices.1.offset: vertex `a`: an offset of 8 among 4 ranks is the rank itself",
        ),
        (
            json!({"kind": "communication", "source": 0, "destination": 1, "bytes": 1, "rate-cap": "0 bps"}),
            "vertices.1.rate-cap: vertex `a`: a limit of 0",
        ),
        (
            json!({"kind": "communication", "source": 0, "destination": 1, "bytes": 1, "gate": "all-members"}),
            "vertices.1.gate: vertex `a`: `gate` says nothing for a communication vertex; it needs `collective`, too",
        ),
        (
            json!({"kind": "communication", "collective": "all-to-all", "algorithm": "ring", "bytes": 1}),
            "vertices.1.algorithm: vertex `a`: kind: `ring` does not do all-to-all, it does",
        ),
        (
            json!({"kind": "communication", "collective": "all-reduce", "bytes": 1, "rank": 0}),
            "vertices.1.rank: vertex `a`: a collective runs on its `members`",
        ),
        (
            json!({"kind": "communication", "collective": "all-reduce", "bytes": 1, "members": [0, 7]}),
            "vertices.1.members: vertex `a`: rank 7 does not exist",
        ),
        (
            json!({"kind": "communication", "collective": "all-reduce", "bytes": 1, "members": [0, 1, 2], "groups": {"size": 2}}),
            "vertices.1.groups: vertex `a`: size: 3 members are no multiple of 2",
        ),
        (
            json!({"kind": "communication", "source": 0, "destination": 1, "bytes": 1, "groups": {"size": 2}}),
            "vertices.1.groups: vertex `a`: `groups` says nothing for a communication vertex; it needs `collective`, too",
        ),
        (json!({"kind": "delay", "rank": 0}), "vertices.1.duration: vertex `a`: `duration` is missing"),
        (json!({"kind": "receive", "rank": 0}), "vertices.1.source: vertex `a`: `source` is missing"),
        (
            json!({"kind": "join", "rank": 0, "name": "first"}),
            "vertices.1.name: two vertices are called `first`; names must differ",
        ),
        (
            json!({"kind": "receive", "rank": 0, "source": 1}),
            "`a`: 1 receive from rank 1 to rank 0 has no matching send",
        ),
    ] {
        let found = one(fields.clone());
        assert!(found.starts_with(expected), "{fields}\n  gives    {found}\n  not      {expected}");
    }
}

#[test]
fn dangling_edges_cycles_and_vertices_that_never_start_are_named() {
    let joins = json!([
        {"name": "load", "kind": "join", "rank": 0},
        {"name": "step", "kind": "join", "rank": 0},
        {"name": "save", "kind": "join", "rank": 0, "start": true},
    ]);
    let found = error(joins.clone(), json!([{"from": "load", "to": "stop"}]));
    assert_eq!(found, "edges.0.to: edge `load` -> `stop`: no vertex is called `stop`, did you mean `step`?");
    let found = error(
        joins.clone(),
        json!([{"from": "load", "to": "step"}, {"from": "step", "to": "save"}, {"from": "save", "to": "load"}]),
    );
    assert!(
        found.contains("is a cycle within one iteration; give one of its edges `distance = 1`"),
        "{found}"
    );
    assert!(["load", "step", "save"].iter().all(|name| found.contains(name)), "{found}");
    let found = error(joins, json!([{"from": "load", "to": "step"}]));
    assert!(found.starts_with("`load` can never run"), "{found}");
    assert_eq!(
        machine().error(r#"{"kind": "graph"}"#),
        "give the graph once: as `vertices` and `edges`, as `path` of a JSON file, or as `data`"
    );
    assert_eq!(machine().error(r#"{"kind": "graph", "data": {"nodes": []}}"#), "the graph has no vertices");
}

/// The error of the JSON text `text` as a file.
fn file_error(text: &str) -> String {
    let name = format!("stratasim-graph-{:?}.json", std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, text).unwrap();
    let spec = json!({"kind": "graph", "path": path});
    let error = machine().error(&spec.to_string());
    std::fs::remove_file(&path).unwrap();
    let name = format!("path: {}", path.display());
    let error = error.strip_prefix(&name).unwrap_or_else(|| panic!("{error}"));
    error.trim_start_matches(", line 1").trim_start_matches(": ").to_owned()
}

#[test]
fn json_that_is_cut_deep_or_no_graph_is_refused_with_its_place() {
    let whole = std::fs::read_to_string(machine().base.join("networkx-edges.json")).unwrap();
    for cut in [0, 1, whole.len() / 3, whole.len() - 2] {
        let found = file_error(&whole[..cut]);
        assert!(found.starts_with("the JSON text is cut off at line"), "{cut}: {found}");
    }
    let deep = format!(r#"{{"nodes": {}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(
        file_error(&deep).starts_with("nested deeper than 128 levels at line 1"),
        "{}",
        file_error(&deep)
    );
    for (text, expected) in [
        ("{'nodes': []}", "not JSON: line 1, column 2: key must be a string"),
        ("[]", "a graph is a JSON object with"),
        ("{}", "neither `vertices` nor `nodes` is there"),
        (r#"{"nodes": 3}"#, "nodes: this must be a list"),
        (r#"{"nodes": [3]}"#, "nodes.0: expected an object, found 3"),
        (r#"{"nodes": [], "edgse": []}"#, "edgse: unknown key; a graph has `nodes` and `edges`"),
        (r#"{"nodes": [], "directed": false}"#, "directed: a workload graph is directed"),
        (
            r#"{"nodes": [{"id": "a", "kind": "compute", "rank": 0, "flop": 3}]}"#,
            "nodes.0.flop: vertex `a`: unknown key `flop`, did you mean `flops`?",
        ),
        (
            r#"{"nodes": [{"id": "a", "kind": "compute", "rank": 0, "flops": "3 GB"}]}"#,
            "nodes.0.flops: vertex `a`: `3 GB` is not an amount of computation; write it like `195 GFLOP`",
        ),
        (
            r#"{"nodes": [{"id": "a", "kind": "compute", "rank": 0, "memory_bytes": -1}]}"#,
            "nodes.0.memory-bytes: vertex `a`: -1 bytes; it must be 0 or more",
        ),
        (
            r#"{"nodes": [{"id": "a", "kind": "compute", "rank": 0, "memory_bytes": 0.5}]}"#,
            "nodes.0.memory-bytes: vertex `a`: 0.5 is no whole number of bytes",
        ),
        (
            r#"{"nodes": [{"id": "a", "kind": "compute", "rank": -1, "flops": 1}]}"#,
            "nodes.0.rank: vertex `a`: a whole number from 0 to 4294967295 is expected, found `-1`",
        ),
        (
            r#"{"nodes": [{"id": "a", "kind": "compute", "rank": 0, "flops": -1.5}]}"#,
            "nodes.0.flops: vertex `a`: -1.5 is no number of operations",
        ),
        (
            r#"{"nodes": [{"id": "a", "kind": "computer"}]}"#,
            "nodes.0.kind: vertex `a`: unknown value `computer`, did you mean `compute`?",
        ),
        (r#"{"nodes": [{"id": "a"}]}"#, "nodes.0: vertex `a`: the key `kind` is missing"),
        (r#"{"nodes": [{"id": "a", "name": "b", "kind": "join"}]}"#, "nodes.0.id: `name` is given twice"),
        (r#"{"nodes": [], "edges": [{"source": "a"}]}"#, "edges.0: the key `target` is missing"),
        (r#"{"nodes": [{"id": true, "kind": "join"}]}"#, "nodes.0.id: the name of a vertex is expected"),
        (r#"{"vertices": [], "edges": [{"from": "a"}]}"#, "edges.0: the key `to` is missing"),
        (
            r#"{"nodes": [{"id": "a", "kind": "communication", "collective": "all-reduce", "bytes": 1,
                "algorithm": {"window": 1, "kind": "rang"}}]}"#,
            ", line 2: nodes.0.algorithm: vertex `a`: unknown kind `rang`, did you mean `ring`?",
        ),
    ] {
        let found = file_error(text);
        assert!(found.starts_with(expected), "{text}\n  gives    {found}\n  not      {expected}");
    }
    let lines = "{\"nodes\": [\n{\"id\": \"a\",\n\"kind\": \"compute\",\n\"memory_bytes\": -1}]}";
    assert!(file_error(lines).starts_with(", line 4: nodes.0.memory-bytes"), "{}", file_error(lines));
    // a byte order mark is no part of the text
    let marked = file_error("\u{feff}{\"vertices\": [], \"edges\": 3}");
    assert_eq!(marked, file_error("{\"vertices\": [], \"edges\": 3}"));
    let lost = machine().error(r#"{"kind": "graph", "path": "no-such.json"}"#);
    assert!(lost.starts_with("path: cannot read ") && lost.contains("no-such.json"), "{lost}");
    // the same through `data`: the field leads to the place
    let data = json!({"kind": "graph", "data": {"nodes": [{"id": 0, "kind": "join", "rank": 9}]}});
    assert_eq!(
        machine().error(&data.to_string()),
        "data.nodes.0.rank: vertex `0`: rank 9 does not exist, the program has ranks 0 to 3"
    );
}

/// Any vertex that can run on four ranks, without its name.
fn any_vertex() -> impl Strategy<Value = Value> {
    let place = prop_oneof![
        (0..4_u32).prop_map(|rank| json!({ "rank": rank })),
        (0..4_u32).prop_map(|rank| json!({ "node": format!("xpu-{rank}") })),
        Just(json!({ "ranks": "all" })),
        Just(json!({ "ranks": [3, "xpu-1"] })),
    ];
    let memory = prop_oneof![
        Just(json!("local")),
        Just(json!("home")),
        (0..4_u32).prop_map(Value::from),
        (0..4_u32).prop_map(|n| json!(format!("mem-{n}"))),
    ];
    let op = prop_oneof![
        (0.0..1e15_f64, 0..1_u64 << 60, memory).prop_map(
            |(flops, bytes, memory)| json!({"kind": "compute", "flops": flops, "memory-bytes": bytes, "memory": memory})
        ),
        (0..1_u64 << 40).prop_map(|ps| json!({"kind": "delay", "duration": format!("{ps} ps")})),
        Just(json!({"kind": "join", "stream": "none"})),
        (0..1_u64 << 60, 1..4_i32).prop_map(|(bytes, offset)| json!({"kind": "communication", "bytes": bytes, "offset": offset})),
    ];
    let placed = (place, op).prop_map(|(place, mut op)| {
        op.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        op
    });
    let collective = (prop::sample::select(CollectiveKind::ALL.to_vec()), 0..1_u64 << 50, prop::bool::ANY)
        .prop_map(|(kind, bytes, some)| {
            let members = if some { json!([2, 0]) } else { json!("all") };
            json!({"kind": "communication", "collective": kind.name(), "bytes": bytes, "members": members})
        });
    prop_oneof![3 => placed, 1 => collective]
}

proptest! {
    #[test]
    fn a_graph_survives_node_link_data(
        vertices in prop::collection::vec(any_vertex(), 1..12),
        pairs in prop::collection::vec((0..12_usize, 0..12_usize, 0..3_u32), 0..24),
    ) {
        let count = vertices.len();
        let vertices: Vec<VertexSpec> = vertices
            .into_iter()
            .enumerate()
            .map(|(index, mut vertex)| {
                vertex["name"] = format!("v{index}").into();
                serde_json::from_value(vertex).unwrap()
            })
            .collect();
        let edges: Vec<EdgeSpec> = pairs
            .into_iter()
            .map(|(a, b, distance)| (a % count, b % count, distance))
            .map(|(a, b, distance)| {
                // within an iteration only forwards, so that there is no cycle
                let (from, to) = if distance == 0 { (a.min(b), a.max(b)) } else { (a, b) };
                let distance = if from == to { distance.max(1) } else { distance };
                let edge = json!({"from": format!("v{from}"), "to": format!("v{to}"), "distance": distance});
                serde_json::from_value(edge).unwrap()
            })
            .collect();
        let text = to_node_link(&vertices, &edges).to_string();
        let data = Some(serde_json::from_str(&text).unwrap());
        let there = GraphWorkload { vertices, edges, ..GraphWorkload::default() };
        let back = GraphWorkload { data, ..GraphWorkload::default() };
        let build = |graph| machine().build_spec(&WorkloadSpec::Graph(graph)).unwrap();
        prop_assert_eq!(format!("{:?}", build(there.clone())), format!("{:?}", build(back)));

        // and the spec itself survives the experiment's own form
        let spec = WorkloadSpec::Graph(there);
        let text = serde_json::to_string(&spec).unwrap();
        prop_assert_eq!(serde_json::from_str::<WorkloadSpec>(&text).unwrap(), spec);
    }
}

#[test]
fn amounts_in_units_grow_with_the_unit() {
    let spec = |unit: &str| {
        format!(
            r#"{{"kind": "graph"{unit}, "vertices": [
                {{"name": "a", "kind": "compute", "rank": 0, "memory-bytes": "1 unit"}},
                {{"name": "b", "kind": "communication", "source": 0, "destination": 1, "bytes": "0.25 unit"}},
                {{"name": "c", "kind": "communication", "collective": "all-gather", "bytes": "4 KiB"}}]}}"#
        )
    };
    for (unit, bytes) in [("8 MiB", 8_u64 << 20), ("3 B", 3), ("0 B", 0)] {
        let program = machine().build(&spec(&format!(r#", "unit": "{unit}""#))).unwrap();
        let Op::Compute(compute) = &vertex(&program, "a").1.op else { panic!("it computes") };
        assert_eq!(compute.local_bytes, bytes);
        let Op::Transfer { bytes: sent, .. } = vertex(&program, "b").1.op else { panic!("it sends") };
        assert_eq!(sent, (0.25 * bytes as f64).round() as u64, "{unit}");
        let Op::Collective(collective) = &vertex(&program, "c").1.op else { panic!("it gathers") };
        assert_eq!(collective.bytes, 4096, "what is no multiple stays");
    }
    let refused = |spec: &str| machine().error(spec);
    assert!(refused(&spec("")).contains("give the workload a `unit`"), "{}", refused(&spec("")));
    let huge = spec(r#", "unit": "8000 PB""#).replace("0.25 unit", "2 unit");
    assert!(refused(&huge).contains("more than 2^63 bytes"), "{}", refused(&huge));
    for bad in ["unit", "-1 unit", "nan unit", "x unit"] {
        let bad = spec(r#", "unit": "8 MiB""#).replace("0.25 unit", bad);
        let error = serde_json::from_str::<WorkloadSpec>(&bad).unwrap_err().to_string();
        assert!(error.contains("no amount of units"), "{error}");
    }
}
