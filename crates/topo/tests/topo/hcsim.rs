//! The HCSim paper's machines: routes of the HC case, sizes, unobstructed memories.

use std::collections::BTreeMap;

use crate::support::{Router, build, refusal};
use stratasim_core::{Bandwidth, NodeId, Precision};
use stratasim_topo::NodeKind;
use stratasim_topo::routing::{RoutingAlgorithm, dijkstra};

#[test]
fn the_coherent_machine_routes_as_the_hc_case_defines() {
    let mut machine = Router::new(r#"{"kind": "hcsim-cxl", "xpus": 300}"#);
    assert_eq!(machine.names("xpu-3", "xpu-7"), ["xl-3-up", "xl-7-down"]);
    assert_eq!(machine.names("xpu-7", "xpu-8"), ["cx-7-up", "cx-8-down"]);
    assert_eq!(machine.names("xpu-127", "xpu-128"), ["cx-127-up", "cr-0-up", "cr-1-down", "cx-128-down"]);
    assert_eq!(machine.names("memory-299", "xpu-299"), ["cm-299-up", "cx-299-down"]);
    assert_eq!(machine.names("xpu-299", "memory-299"), ["cx-299-up", "cm-299-down"]);
    assert_eq!(machine.names("memory-1", "xpu-256"), ["cm-1-up", "cr-0-up", "cr-2-down", "cx-256-down"]);
    // least latency joins the pairs that the rule leaves out, and a hash chooses among cables side by side
    assert_eq!(machine.names("cpu0-0", "xpu-0"), ["pc0-0-down#2", "px-0-down"]);
    assert_eq!(machine.names("tor-0", "nic-1"), ["nt-1-down"]);
}

#[test]
fn the_coherent_fabric_is_used_whatever_its_latency() {
    let mut machine = Router::new(
        r#"{"kind": "hcsim-cxl", "xpus": 256, "cxl-link": {"latency": "10 ms"}, "cascade-link": {"bandwidth": "1 TB/s", "latency": "1 ns"}}"#,
    );
    assert_eq!(machine.names("xpu-0", "xpu-200"), ["cx-0-up", "cr-0-up", "cr-1-down", "cx-200-down"]);
    assert_eq!(machine.seconds("xpu-0", "xpu-200"), 0.020_000_002);
    let cx = machine.topology.find_link("cx-0-up").unwrap();
    // a sub-table may give one figure and leave the other at table 5
    assert_eq!(machine.topology.link(cx).bandwidth, Bandwidth(128e9));
}

#[test]
fn the_ethernet_machine_climbs_to_the_cpu_and_crosses_upi_from_the_second() {
    let mut machine = Router::new(r#"{"kind": "hcsim-ethernet", "xpus": 256}"#);
    assert_eq!(machine.names("xpu-0", "xpu-7"), ["xl-0-up", "xl-7-down"]);
    assert_eq!(
        machine.names("xpu-6", "xpu-9"),
        [
            "px-6-up",
            "pc1-0-up#2",
            "upi-0-down",
            "pn-0-down",
            "nt-0-up",
            "nt-1-down",
            "pn-1-up",
            "pc0-1-down#1",
            "px-9-down"
        ]
    );
    assert_eq!(
        machine.names("memory-0", "xpu-255"),
        [
            "mm-0-up",
            "pn-0-down",
            "nt-0-up",
            "tc-0-up",
            "tc-1-down",
            "nt-31-down",
            "pn-31-up",
            "upi-31-up",
            "pc1-31-down#3",
            "px-255-down"
        ]
    );
    assert_eq!(machine.names("memory-9", "xpu-9"), ["mm-9-up", "pc0-1-down#1", "px-9-down"]);
    assert_eq!(machine.names("memory-0", "xpu-4"), ["mm-0-up", "upi-0-up", "pc1-0-down#0", "px-4-down"]);
    assert_eq!(machine.names("cpu1-0", "cpu0-0"), ["upi-0-down"]);
    // PCIe twice, NIC cable twice (250 ns, 5 us), core twice
    let expected = 2.0 * (250e-9 + 250e-9) + 2.0 * (250e-9 + 5e-6) + 2.0 * 5e-6;
    assert!((machine.seconds("xpu-0", "xpu-128") - expected).abs() < 1e-15);
}

/// By formula or by search of least latency: the Ethernet machine has no cheaper way than its rule.
#[test]
fn the_ethernet_rule_is_the_path_of_least_latency() {
    let mut machine =
        Router::new(r#"{"kind": "hcsim-ethernet", "xpus": 23, "xpus-per-server": 5, "servers-per-rack": 2}"#);
    let mut search = dijkstra::Dijkstra::default().build(&machine.topology).unwrap();
    let names: Vec<String> = (0..23).flat_map(|g| [format!("xpu-{g}"), format!("memory-{g}")]).collect();
    for src in &names {
        for dst in &names {
            let mut links = Vec::new();
            let ends = [src, dst].map(|name| machine.topology.find_node(name).unwrap());
            search.route(ends[0], ends[1], 0, &mut links).unwrap();
            let least: f64 = links.iter().map(|&l| machine.topology.link(l).latency.as_secs_f64()).sum();
            let ruled = machine.seconds(src, dst);
            assert!((ruled - least).abs() < 1e-15, "{src} to {dst}: {ruled} against {least}");
        }
    }
}

#[test]
fn every_accelerator_reads_its_memory_unobstructed() {
    for kind in ["hcsim-cxl", "hcsim-ethernet"] {
        for xpus in [1, 7, 8, 130] {
            let mut machine = Router::new(&format!(r#"{{"kind": "{kind}", "xpus": {xpus}}}"#));
            let mut users = BTreeMap::new();
            for g in 0..xpus {
                let xpu = machine.topology.compute_nodes()[g];
                let memory = machine.topology.home_memory(xpu).unwrap();
                assert_eq!(machine.topology.node_name(xpu), format!("xpu-{g}"));
                assert_eq!(machine.topology.node_name(memory), format!("memory-{g}"));
                for link in machine.links(&format!("memory-{g}"), &format!("xpu-{g}")) {
                    *users.entry(link).or_insert(0) += 1;
                    assert_eq!(machine.topology.link(link).bandwidth, Bandwidth(128e9));
                }
            }
            assert!(users.values().all(|&count| count == 1), "{kind} {xpus}");
        }
    }
}

/// Counts from the paper's words: 4,096 accelerators, 32 racks, 16 servers each, 8 accelerators each.
#[test]
fn the_machine_has_the_papers_size() {
    let (xpus, servers, racks) = (4096, 512, 32);
    let ethernet = build(r#"{"kind": "hcsim-ethernet"}"#).unwrap();
    // CPUs, PCIe switches, accelerator switch, NIC; ToR; core
    assert_eq!(ethernet.node_count(), 2 * xpus + 6 * servers + racks + 1);
    // XPU link, PCIe, memory; 8 CPU cables, UPI, NIC twice; ToR
    assert_eq!(ethernet.link_count(), 2 * (3 * xpus + servers * 11 + racks));
    let cxl = build(r#"{"kind": "hcsim-cxl"}"#).unwrap();
    assert_eq!(cxl.node_count(), ethernet.node_count() + racks + 1);
    assert_eq!(cxl.link_count(), ethernet.link_count() + 2 * (xpus + racks));
    for topology in [ethernet, cxl] {
        assert_eq!(topology.dimensions(), [8, 16, 32]);
        assert_eq!(topology.compute_nodes().len(), xpus);
        assert_eq!(topology.grouping("server").unwrap()[4095], 511);
        assert_eq!(topology.grouping("rack").unwrap()[4095], 31);
    }
}

#[test]
fn racks_may_differ_in_their_accelerators() {
    let topology =
        build(r#"{"kind": "hcsim-cxl", "xpus": 400, "rack-compute": ["H100", {"base": "H100", "name": "slow", "fp32": "1 TFLOP/s"}]}"#)
            .unwrap();
    let rate = |g: u32| topology.compute_type(NodeId(g)).unwrap().rate_flop_per_s[Precision::Fp32.index()];
    assert!(rate(127) > 1e13);
    assert_eq!([rate(128), rate(399)], [1e12; 2]);
}

#[test]
fn cpus_compute_when_they_are_given_a_type_and_come_after_the_accelerators() {
    let topology =
        build(r#"{"kind": "hcsim-cxl", "xpus": 16, "cpu": {"name": "host", "fp64": "1 TFLOP/s"}}"#).unwrap();
    assert_eq!(topology.compute_nodes().len(), 16 + 4);
    assert_eq!(topology.node_name(topology.compute_nodes()[15]), "xpu-15");
    assert_eq!(topology.node_name(topology.compute_nodes()[16]), "cpu0-0");
    let plain = build(r#"{"kind": "hcsim-cxl", "xpus": 16}"#).unwrap();
    assert!(matches!(plain.kind(plain.find_node("cpu0-0").unwrap()), NodeKind::Switch));
}

#[test]
fn half_duplex_cables_are_one_link_for_both_directions() {
    let mut machine = Router::new(r#"{"kind": "hcsim-cxl", "xpus": 256, "duplex": "half"}"#);
    assert_eq!(machine.names("xpu-0", "xpu-200"), ["cx-0", "cr-0", "cr-1", "cx-200"]);
    assert_eq!(machine.names("xpu-200", "xpu-0"), ["cx-200", "cr-1", "cr-0", "cx-0"]);
    let full = build(r#"{"kind": "hcsim-cxl", "xpus": 256}"#).unwrap();
    assert_eq!(2 * machine.topology.link_count(), full.link_count());
}

#[test]
fn dimensions_are_given_only_when_servers_and_racks_are_full() {
    for (xpus, expected) in [
        (4, vec![4]),
        (8, vec![8]),
        (64, vec![8, 8]),
        (12, vec![]),
        (128, vec![8, 16]),
        (256, vec![8, 16, 2]),
        (136, vec![]),
    ] {
        let topology = build(&format!(r#"{{"kind": "hcsim-ethernet", "xpus": {xpus}}}"#)).unwrap();
        assert_eq!(topology.dimensions(), expected, "{xpus}");
    }
}

#[test]
fn impossible_sizes_are_refused_before_anything_is_allocated() {
    assert_eq!(
        refusal(r#"{"kind": "hcsim-cxl", "xpus": 0}"#),
        "xpus: a machine needs at least one accelerator"
    );
    assert!(refusal(r#"{"kind": "hcsim-cxl", "xpus": 4000000000}"#).contains("links, at most"));
    assert!(
        refusal(r#"{"kind": "hcsim-ethernet", "xpus": 1, "xpus-per-server": 4000000000}"#)
            .contains("at most")
    );
    assert!(
        refusal(r#"{"kind": "hcsim-cxl", "cxl-link": {"bandwidth": "0 Gbps"}}"#).contains("more than zero")
    );
    assert!(
        refusal(r#"{"kind": "hcsim-cxl", "rack-compute": ["H100", "H1000"]}"#)
            .starts_with("rack-compute.1: ")
    );
}
