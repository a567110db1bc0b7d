//! Files that NetworkX 3.6.1 wrote (`tests/data/networkx`), and what is wrong with others.

use std::path::{Path, PathBuf};

use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Duration, NodeId, Precision};
use stratasim_topo::graph::NO_GROUP;
use stratasim_topo::io::{graphml, networkx};
use stratasim_topo::{BuildContext, NodeKind, Sharing, Topology, TopologySpec};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/networkx")
}

fn read(name: &str) -> Topology {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let topology =
        if name.ends_with(".graphml") { graphml::import(&text, name) } else { networkx::import(&text) };
    topology.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn node(topology: &Topology, name: &str) -> NodeId {
    topology.find_node(name).unwrap_or_else(|| panic!("no node {name}"))
}

/// Links by name: from, to, GB/s, nanoseconds, half duplex.
fn links(topology: &Topology) -> Vec<(String, String, String, f64, f64, bool)> {
    let ids = (0..topology.link_count()).map(stratasim_core::LinkId::from_index);
    let mut links: Vec<_> = ids
        .map(|id| {
            let link = topology.link(id);
            let [from, to] = link.ends.unwrap().map(|end| topology.node_name(end).to_owned());
            let (rate, delay) = (link.bandwidth.bytes_per_s() / 1e9, link.latency.as_ps() as f64 / 1e3);
            (topology.link_name(id), from, to, rate, delay, link.half_duplex)
        })
        .collect();
    links.sort_by(|a, b| a.0.cmp(&b.0));
    links
}

#[test]
fn an_undirected_multigraph_is_a_machine_of_cables() {
    for file in ["servers.json", "servers-links.json", "servers.graphml"] {
        let topology = read(file);
        assert_eq!((topology.node_count(), topology.link_count()), (8, 4 * 2 + 2 + 2 * 2), "{file}");
        assert_eq!(topology.dimensions(), [2, 2]);
        let gpu = node(&topology, "gpu-1-0");
        assert_eq!(topology.compute_type(gpu), stratasim_topo::catalogue::named("H100").as_ref());
        let memory = node(&topology, "memory-1");
        assert_eq!(topology.home_memory(gpu), Some(memory));
        assert_eq!(topology.memory_type(memory).unwrap().capacity_bytes, Some(1 << 40));
        assert_eq!(topology.memory_type(memory).unwrap().bandwidth.unwrap().bytes_per_s(), 128e9);
        let server = topology.grouping("server").unwrap();
        assert_eq!((server[gpu.index()], server[memory.index()]), (1, NO_GROUP));
        assert_eq!(topology.kind(node(&topology, "switch-0")), NodeKind::Switch);
        let links = links(&topology);
        let find =
            |name: &str| links.iter().find(|link| link.0 == name).unwrap_or_else(|| panic!("{file}: {name}"));
        assert_eq!(find("cxl-0").3, 64.0);
        assert!(find("cxl-0").5);
        let back =
            ("uplink-1-down".to_owned(), "switch-1".to_owned(), "switch-0".to_owned(), 50.0, 1000.0, false);
        assert_eq!(*find("uplink-1-down"), back);
        assert_eq!((find("gpu-0-1->switch-0").3, find("switch-0->gpu-0-1").4), (450.0, 100.0));
        let up = topology.find_link("uplink-0-up").unwrap();
        assert_eq!(topology.link(up).reverse, topology.find_link("uplink-0-down"));
    }
}

#[test]
fn a_directed_graph_is_made_of_single_directions() {
    for file in ["directed.json", "directed.graphml"] {
        let topology = read(file);
        let first = topology.compute_type(node(&topology, "1")).unwrap();
        assert_eq!((first.name.as_str(), first.cores), ("mine", 4));
        assert_eq!(first.rate_flop_per_s[Precision::Fp32.index()], 10e12);
        assert_eq!(first.rate_flop_per_s[Precision::Bf16.index()], 40e12);
        assert_eq!(first.rate_flop_per_s[Precision::Fp64.index()], 0.0);
        assert_eq!(first.memory_bytes, Some(16 << 30));
        assert_eq!(first.memory_bandwidth.unwrap().bytes_per_s(), 900e9);
        // texts are groups in the order in which they come; a measure is none
        assert_eq!(topology.grouping("rack").unwrap(), [0, 1, 0]);
        assert_eq!(topology.groupings().collect::<Vec<_>>(), ["rack"]);
        let link = |name: &str| *topology.link(topology.find_link(name).unwrap());
        assert_eq!((link("1->3").sharing, link("3->1").sharing), (Sharing::FatPipe, Sharing::Shared));
        assert_eq!((link("1->3").reverse, link("3->1").latency), (None, Duration::from_ns(4000)));
        assert_eq!(link("2->3").reverse, topology.find_link("3->2"));
        assert_eq!(topology.link_count(), 4);
    }
}

#[test]
fn nodes_that_are_tuples_have_the_name_that_python_prints() {
    for file in ["grid.json", "grid.graphml"] {
        let topology = read(file);
        assert_eq!(topology.node_name(NodeId(4)), "(1, 1)");
        // 2 x 3 grid: 2 * 2 + 3 cables of two directions
        assert_eq!((topology.node_count(), topology.link_count()), (6, 2 * 7));
        assert!(topology.find_link("(0, 0)->(1, 0)").is_some());
    }
}

/// Groups of numbers that no group has, as those of texts, are told apart.
#[test]
fn every_whole_number_is_a_group() {
    let groups = |values: [&str; 3]| {
        let nodes: Vec<String> = (values.iter().enumerate())
            .map(|(at, value)| format!(r#"{{"id": "n{at}", "compute": "H100", "rack": {value}}}"#))
            .collect();
        let edges: Vec<String> = (1..3)
            .map(|at| {
                format!(r#"{{"source": "n0", "target": "n{at}", "bandwidth": "1 GB/s", "latency": "1 us"}}"#)
            })
            .collect();
        let text = format!(r#"{{"nodes": [{}], "edges": [{}]}}"#, nodes.join(","), edges.join(","));
        networkx::import(&text).unwrap().grouping("rack").map(<[u32]>::to_vec)
    };
    assert_eq!(groups(["7", "7", "0"]), Some(vec![7, 7, 0]));
    assert_eq!(groups(["-1", "7", "-1"]), Some(vec![0, 1, 0]));
    assert_eq!(groups(["4294967296", "4294967295", "4294967296"]), Some(vec![0, 1, 0]));
    assert_eq!(groups([r#""east""#, r#""west""#, r#""east""#]), Some(vec![0, 1, 0]));
    // measures are none
    assert_eq!(groups(["0.5", "1.5", "2.5"]), None);
}

fn build(spec: &str) -> Result<Topology, BuildError> {
    let spec: TopologySpec = serde_json::from_str(spec).unwrap_or_else(|error| panic!("{error}: {spec}"));
    spec.plugin().build(&BuildContext { base: folder(), ..BuildContext::default() })
}

#[test]
fn a_graph_stands_in_a_file_or_in_the_experiment() {
    let inline = format!(
        r#"{{"kind": "networkx-json", "data": {}}}"#,
        std::fs::read_to_string(folder().join("directed.json")).unwrap()
    );
    let file = build(r#"{"kind": "networkx-json", "path": "directed.json"}"#).unwrap();
    assert_eq!(links(&build(&inline).unwrap()), links(&file));
    let graphml = build(r#"{"kind": "graphml", "path": "directed.graphml"}"#).unwrap();
    assert_eq!(links(&graphml), links(&file));
    let message = |spec: &str| build(spec).unwrap_err().to_string();
    assert_eq!(
        message(r#"{"kind": "networkx-json"}"#),
        "path: write the `path` of a file, or the `data` itself"
    );
    assert!(message(r#"{"kind": "networkx-json", "path": "x", "data": {}}"#).contains("keep one"));
    assert!(message(r#"{"kind": "graphml", "path": "none.graphml"}"#).contains("no such file"));
    assert!(message(r#"{"kind": "graphml", "path": "."}"#).contains("this is a folder; name a file"));
    let cable = |from: &str, to: &str, name: &str| {
        format!(
            r#"{{"source": "{from}", "target": "{to}", "bandwidth": "1 Gbps", "latency": "1 us", {name}}}"#
        )
    };
    let named = |first: &str, second: &str| {
        let edges = [cable("a", "b", first), cable("b", "c", second)].join(",");
        let nodes = ["a", "b", "c"].map(|id| format!(r#"{{"id": "{id}", "kind": "switch"}}"#)).join(",");
        build(&format!(
            r#"{{"kind": "networkx-json", "data": {{"directed": false, "multigraph": false, "nodes": [{nodes}], "edges": [{edges}]}}}}"#
        ))
    };
    assert!(named(r#""name": "x""#, r#""name": "y""#).is_ok());
    for (first, second, words) in [
        (r#""name": "x""#, r#""name": "x""#, "`x-up` is the name of the edge from `a` to `b`, number 0, too"),
        (
            r#""name": "x""#,
            r#""name": "y", "reverse_name": "y""#,
            "`y` is the name of its other direction, too",
        ),
    ] {
        let said = named(first, second).unwrap_err().to_string();
        assert!(
            said.starts_with("data.edges.1.name: edge from `b` to `c`") && said.contains(words),
            "{said}"
        );
    }
    assert!(
        message(r#"{"kind": "networkx-json", "path": "grid.graphml"}"#)
            .contains("grid.graphml: this is no JSON that can be read: line 1, column 1: found `<`; ")
    );
    let wrong = std::env::temp_dir().join(format!("stratasim-links-{}.json", std::process::id()));
    std::fs::write(&wrong, "{\"nodes\": [\n{\"id\": \"a\",\n\"kind\": \"swich\"}],\n\"edges\": []}").unwrap();
    let path = wrong.display();
    let said = message(&format!(r#"{{"kind": "networkx-json", "path": "{path}"}}"#));
    assert!(said.starts_with(&format!("path: {path}, line 3: nodes.0.kind: node `a`")), "{said}");
    // Python writes numbers that JSON does not have
    std::fs::write(&wrong, "{\"nodes\": [\n{\"id\": \"a\", \"load\": -Infinity}],\n\"edges\": []}").unwrap();
    let said = message(&format!(r#"{{"kind": "networkx-json", "path": "{path}"}}"#));
    assert_eq!(
        said,
        format!(
            "path: {path}: this is no JSON that can be read: line 2, column 22: found `-Infinity`; JSON has finite \
             numbers only: a number is expected, or nothing at all where there is none"
        )
    );
    std::fs::remove_file(&wrong).unwrap();
}

/// Node-link data with these nodes and edges.
fn data(nodes: &str, edges: &str) -> String {
    format!(r#"{{"directed": false, "nodes": [{nodes}], "edges": [{edges}]}}"#)
}

#[test]
fn what_is_wrong_in_node_link_data_is_named_with_its_remedy() {
    const A: &str = r#"{"id": "a", "kind": "switch"}"#;
    const B: &str = r#"{"id": "b", "kind": "switch"}"#;
    let edge = |attributes: &str| {
        data(&format!("{A}, {B}"), &format!(r#"{{"source": "a", "target": "b", {attributes}}}"#))
    };
    let node = |attributes: &str| data(&format!(r#"{{"id": "a", {attributes}}}"#), "");
    let directed = |edges: &str| {
        let rates = r#""bandwidth": "1 GB/s", "latency": "1 us""#;
        let edges = edges.replace("RATES", rates);
        data(&format!("{A}, {B}"), &edges).replace("\"directed\": false", "\"directed\": true")
    };
    let cases = [
        (
            edge(r#""latency": "1 us""#),
            "edges.0.bandwidth",
            "edge from `a` to `b`: the attribute is missing; write bandwidth = \"400 Gbps\"",
        ),
        (
            edge(r#""bandwidth": "1 GB/s""#),
            "edges.0.latency",
            "the attribute is missing; write latency = \"500 ns\"",
        ),
        (
            edge(r#""bandwidth": 5, "latency": "1 us""#),
            "edges.0.bandwidth",
            "found 5, write a text such as \"400 Gbps\"",
        ),
        (
            edge(r#""bandwidth": "1 GBit", "latency": "1 us""#),
            "edges.0.bandwidth",
            "the unit `GBit` is unknown",
        ),
        (edge(r#""bandwidth": "0 GB/s", "latency": "1 us""#), "edges.0.bandwidth", "more than zero"),
        (edge(r#""bandwith": "1 GB/s", "latency": "1 us""#), "edges.0.bandwith", "did you mean `bandwidth`?"),
        (
            edge(r#""bandwidth": "1 GB/s", "latency": "1 us", "duplex": "both""#),
            "edges.0.duplex",
            "found \"both\"",
        ),
        (
            edge(r#""bandwidth": "1 GB/s", "latency": "1 us", "from": "c""#),
            "edges.0.from",
            "found \"c\", write \"later\" or leave it away",
        ),
        (
            edge(r#""bandwidth": "1 GB/s", "latency": "1 us", "sharing": "fair""#),
            "edges.0.sharing",
            "\"fat-pipe\"",
        ),
        (data(A, r#"{"source": "a", "target": "c"}"#), "edges.0.target", "there is no node called `c`"),
        (data(A, r#"{"source": "a"}"#), "edges.0.target", "`target` is missing"),
        (data(&format!("{A}, {A}"), ""), "nodes.1.id", "`a` is the name of node 0 too"),
        (data(r#"{"kind": "switch"}"#, ""), "nodes.0.id", "`id` is missing"),
        (data(r#"{"id": {}, "kind": "switch"}"#, ""), "nodes.0.id", "a name is a text or a number"),
        (data(r#"{"id": true, "kind": "switch"}"#, ""), "nodes.0.id", "found true; a name is"),
        (data("7", ""), "nodes.0", "an object with `id` is expected"),
        (
            node(r#""rack": 1"#),
            "nodes.0.kind",
            "node `a`: the attribute is missing; write \"switch\", \"compute\" or \"memory\"",
        ),
        (node(r#""kind": "swich""#), "nodes.0.kind", "did you mean \"switch\"?"),
        (node(r#""kind": "compute""#), "nodes.0.compute", "write a compute type such as \"H100\""),
        (node(r#""kind": "compute", "compute": "H10""#), "nodes.0.compute", "unknown compute type `H10`"),
        (node(r#""kind": "compute", "compute": "H100", "core": 4"#), "nodes.0.core", "did you mean `cores`?"),
        (node(r#""kind": "compute", "compute": "H100", "cores": 0"#), "nodes.0.cores", "above zero"),
        (
            node(r#""kind": "compute", "compute": "H100", "fp32": 1e12"#),
            "nodes.0.fp32",
            "write a text such as",
        ),
        (
            node(r#""kind": "compute", "compute": "H100", "capacity": "1 GB""#),
            "nodes.0.capacity",
            "write `memory`",
        ),
        (node(r#""kind": "switch", "fp32": "1 TFLOP/s""#), "nodes.0.fp32", "write kind = \"compute\""),
        (node(r#""kind": "memory", "cores": 1"#), "nodes.0.cores", "`capacity` and `bandwidth`"),
        (
            node(r#""compute": "H100", "forwards": "no""#),
            "nodes.0.forwards",
            "found \"no\", write true or false",
        ),
        (node(r#""kind": "switch", "forwards": true"#), "nodes.0.forwards", "write kind = \"compute\""),
        (
            node(r#""compute": "H100", "home_memory": "m""#),
            "nodes.0.home_memory",
            "there is no node called `m`",
        ),
        (
            data(&format!(r#"{{"id": "g", "compute": "H100", "home-memory": "a"}}, {A}"#), ""),
            "nodes.0.home_memory",
            "`a` is no memory",
        ),
        (
            data(
                r#"{"id": "a", "kind": "switch", "rack": 1}, {"id": "b", "kind": "switch", "rack": "x"}"#,
                "",
            ),
            "nodes.1.rack",
            "found a text where other nodes have a number",
        ),
        (
            directed(r#"{"source": "a", "target": "b", "duplex": "full", RATES}"#),
            "edges.0.duplex",
            "has one direction",
        ),
        (
            directed(r#"{"source": "a", "target": "b", "cable": 1, RATES}"#),
            "edges.0.cable",
            "the other direction of cable 1 is missing",
        ),
        (
            directed(
                r#"{"source": "a", "target": "b", "cable": 1, RATES}, {"source": "a", "target": "b", "cable": 1, RATES}"#,
            ),
            "edges.1.cable",
            "not the other direction of edge 0",
        ),
        (r#"{"nodes": []}"#.to_owned(), "edges", "the list of edges is missing"),
        (r#"{"edges": []}"#.to_owned(), "nodes", "the list of nodes is missing"),
        (r#"{"adjacency": [], "nodes": []}"#.to_owned(), "adjacency", "networkx.node_link_data"),
        (r#"{"nodes": [], "edges": [], "links": []}"#.to_owned(), "links", "keep one"),
        (
            r#"{"nodes": [], "edges": [], "graph": {"dimensions": [2]}}"#.to_owned(),
            "graph.dimensions",
            "do not multiply",
        ),
        (r#"[]"#.to_owned(), "", "an object with `nodes` and `edges`"),
        ("[".repeat(100_000), "", "nested more than"),
        (r#"{"nodes": ["#.to_owned(), "", "line 1, column 11: the text is cut off here"),
    ];
    for (text, field, part) in cases {
        let error = networkx::import(&text).unwrap_err();
        assert_eq!(error.field, field, "{error}");
        assert!(error.reason.contains(part), "{error}\nexpected: {part}");
    }
}

#[test]
fn attributes_of_the_users_own_are_no_slips_of_known_ones() {
    let own = ["label", "flow", "time", "height", "width", "node", "type", "cost", "length", "utilisation"];
    let own = own.map(|name| format!(r#""{name}": 2.5"#)).join(", ");
    let nodes =
        format!(r#"{{"id": 0, "kind": "switch", "ports": 2.5, {own}}}, {{"id": 1, "kind": "switch"}}"#);
    let edge = format!(r#"{{"source": 0, "target": 1, "bandwidth": "1 GB/s", "latency": "1 us", {own}}}"#);
    let topology = networkx::import(&data(&nodes, &edge)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(topology.link_count(), 2);
}

/// GraphML with these keys and this graph.
fn document(keys: &str, graph: &str) -> String {
    format!(
        "<?xml version='1.0'?>\n<graphml xmlns=\"x\">\n{keys}<graph edgedefault=\"directed\">\n{graph}\n</graph></graphml>"
    )
}

#[test]
fn what_is_wrong_in_graphml_is_named_with_its_place() {
    const KIND: &str = "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n";
    let cases = [
        (
            document(KIND, "<node id=\"a\"><data key=\"x\">switch</data></node>"),
            "g:5:14: <data>: the key `x` is not declared",
        ),
        (document(KIND, "<node/>"), "g:5:1: <node>: the attribute `id` is missing"),
        (document(KIND, "<node id=\"a\"/>"), "node `a`: the attribute is missing; write \"switch\""),
        (document(KIND, "<node id=\"a\"><graph/></node>"), "a graph inside a node is not read"),
        (document(KIND, "<hyperedge/>"), "write edges between nodes"),
        (document(KIND, "text"), "text, where only elements are expected"),
        (
            document(
                KIND,
                "<node id=\"a\"><data key=\"k\">switch</data><data key=\"k\">switch</data></node>",
            ),
            "`kind` is given twice",
        ),
        (document(&KIND.repeat(2), ""), "g:4:1: <key>: the key `k` is declared twice"),
        (
            document(
                "<key id=\"k\" attr.name=\"cores\" attr.type=\"int\"/>",
                "<node id=\"a\"><data key=\"k\">many</data></node>",
            ),
            "cores: `many` is no int",
        ),
        (
            document("<key id=\"k\" attr.name=\"cores\" attr.type=\"text\"/>", ""),
            "attr.type=`text` is unknown",
        ),
        (document("", "<edge source=\"a\" target=\"b\"/>"), "there is no node called `a`"),
        (document("", "<edge source=\"a\"/>"), "the attribute `target` is missing"),
        ("<graphml><graph edgedefault=\"up\"/></graphml>".to_owned(), "directed or undirected is expected"),
        ("<graphml></graphml>".to_owned(), "the file holds no graph"),
        (
            "<graphml><graph edgedefault=\"directed\"></graph><graph edgedefault=\"directed\"/></graphml>"
                .to_owned(),
            "a second graph",
        ),
        ("<platform/>".to_owned(), "whose first element is <graphml>"),
        ("<graphml><graph edgedefault=\"directed\">".to_owned(), "the file ends inside this element"),
        (format!("<graphml>{}", "<desc>".repeat(300)), "nested more than 200 deep"),
        (
            "<!DOCTYPE graphml [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><graphml/>".to_owned(),
            "declares entities",
        ),
        (
            document(
                "<key id=\"k\" attr.name=\"kind\" attr.type=\"string\"/>",
                "<node id=\"a\"><data key=\"k\">&boom;</data></node>",
            ),
            "the entity `&boom;` is not known",
        ),
        ("no markup".to_owned(), "g:1:1"),
    ];
    for (text, part) in cases {
        let error = graphml::import(&text, "g").unwrap_err().to_string();
        assert!(error.contains(part), "{error}\nexpected: {part}");
    }
}

#[test]
fn defaults_and_keys_of_other_programs_are_understood() {
    let keys = "<key id=\"k\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"><default>switch</default></key>\
        <key id=\"y\" for=\"node\" yfiles.type=\"nodegraphics\"/>\
        <key id=\"b\" for=\"edge\" attr.name=\"bandwidth\" attr.type=\"string\"><default>1 GB/s</default></key>\
        <key id=\"l\" for=\"edge\" attr.name=\"latency\" attr.type=\"string\"/>";
    let graph = "<desc>two switches</desc><node id=\"a\"><data key=\"y\"><y:Shape>x</y:Shape></data></node><node id=\"b\"/>\
        <edge source=\"a\" target=\"b\" directed=\"false\"><data key=\"l\">1&#32;us</data></edge>\
        <edge source=\"b\" target=\"a\"><data key=\"l\"><![CDATA[2 us]]></data></edge>";
    let topology = graphml::import(&document(keys, graph), "g").unwrap();
    let found: Vec<_> = links(&topology).into_iter().map(|link| (link.1, link.4)).collect();
    assert_eq!(found, [("a".to_owned(), 1000.0), ("b".to_owned(), 1000.0), ("b".to_owned(), 2000.0)]);
}

#[test]
fn broken_graphs_never_panic() {
    use rand::Rng as _;
    let mut random = Streams::new(7).stream("mutations");
    for name in ["servers.json", "directed.json", "grid.json", "servers.graphml", "directed.graphml"] {
        let text = std::fs::read_to_string(folder().join(name)).unwrap();
        let read = |text: &str| {
            let _ = if name.ends_with("json") { networkx::import(text) } else { graphml::import(text, name) };
        };
        for end in (0..text.len()).step_by(5).filter(|&end| text.is_char_boundary(end)) {
            read(&text[..end]);
        }
        for _ in 0..500 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..2 {
                let [from, to] = [0, 1].map(|_| random.next_u64() as usize % bytes.len());
                bytes[to] = bytes[from];
            }
            read(&String::from_utf8_lossy(&bytes));
        }
    }
}
