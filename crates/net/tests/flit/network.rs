//! The flit level as a network for programs: closed forms, conservation, symmetry, failures.

use std::sync::Arc;

use crate::support::{distances, machine, network, network_again, prepare, topology, try_network};
use stratasim_core::model::{Network, NetworkDone, Transfer};
use stratasim_core::{Bandwidth, Duration, LinkId, NodeId, Time, Token};
use stratasim_net::flit::network::zero_load::{ZeroLoad, router_cycles};
use stratasim_net::flit::router::{RouterSpec, Speculation};
use stratasim_testkit::drive::drive_messages;
use stratasim_topo::Topology;

/// One of every generator that has links between compute nodes or switches.
const MACHINES: &[&str] = &[
    r#"{"kind": "single-switch", "nodes": 5}"#,
    r#"{"kind": "ring", "nodes": 7}"#,
    r#"{"kind": "fully-connected", "nodes": 5}"#,
    r#"{"kind": "mesh", "dimensions": [4, 3]}"#,
    r#"{"kind": "mesh", "dimensions": [3, 3], "hosts-per-switch": 2}"#,
    r#"{"kind": "torus", "dimensions": [4, 3, 2]}"#,
    r#"{"kind": "hypercube", "dimensions": 4}"#,
    r#"{"kind": "hyperx", "dimensions": [3, 3], "hosts-per-switch": 2}"#,
    r#"{"kind": "fat-tree", "k": 4}"#,
    r#"{"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts-per-leaf": 3}"#,
    r#"{"kind": "k-ary-n-tree", "k": 2, "n": 3}"#,
    r#"{"kind": "k-ary-n-fly", "k": 2, "n": 3}"#,
    r#"{"kind": "dragonfly", "p": 1, "a": 3, "h": 1}"#,
];

/// Delivery of one message at time zero.
fn alone(network: &mut dyn Network, transfer: Transfer) -> Time {
    let log = drive_messages(network, &[(Time::ZERO, transfer)], None);
    assert!(matches!(log[..], [(_, NetworkDone::Delivered(_))]), "{log:?}");
    log[0].0
}

/// Flits of 32 bytes at 1 GB/s: a cycle of 32 ns, and as long is every cable.
const CYCLE: Duration = Duration::from_ns(32);

#[test]
fn the_latency_at_zero_load_is_the_closed_form_on_every_topology() {
    for spec in MACHINES {
        let machine = machine(spec);
        let prepared = prepare(&machine, "{}").unwrap();
        let nodes = machine.compute_nodes();
        for (pair, flits) in (0..nodes.len() * nodes.len()).zip([1_u64, 5, 16].into_iter().cycle()) {
            let (src, dst) = (nodes[pair / nodes.len()], nodes[pair % nodes.len()]);
            if src == dst {
                continue;
            }
            let mut network = network(r#"{"kind": "flit"}"#, machine.clone());
            let took = alone(network.as_mut(), Transfer::new(Token(0), src, dst, 32 * flits)) - Time::ZERO;
            // H routers; injection and ejection of one cycle: 4 + 3 H + 2 (H - 1) + (flits - 1), and the last cycle
            let [from, to] = [src, dst].map(|node| prepared.wiring.terminals(node)[0]);
            let fabric = &prepared.fabric;
            let hops = 1 + distances(fabric, fabric.terminal(to).router)
                [fabric.terminal(from).entry().0 as usize] as u64;
            let cycles = 4 + 3 * hops + 2 * (hops - 1) + flits - 1;
            assert_eq!(
                took.as_ps(),
                (cycles + 1) * CYCLE.as_ps(),
                "{spec}, {pair}, {flits} flits, {hops} routers"
            );
            assert_eq!(network.least_duration(src, dst, 32 * flits), took, "{spec}");
        }
    }
}

#[test]
fn the_stages_of_a_router_are_in_the_closed_form() {
    let machine = machine(r#"{"kind": "mesh", "dimensions": [5]}"#);
    for (options, stages) in [
        (r#""routing-delay": 0"#, 2),
        (r#""routing-delay": 0, "speculation": "separate""#, 1),
        (r#""routing-delay": 2, "switch-allocation-delay": 3"#, 6),
        (r#""traversal-delay": 4"#, 6),
        (r#""vc-allocation-delay": 3, "speculation": "prioritised""#, 4),
        (
            r#""vc-allocation-delay": 3, "speculation": "prioritised", "requests": {"combined-allocation": true}"#,
            2,
        ),
    ] {
        let router: RouterSpec = serde_json::from_str(&format!("{{{options}}}")).unwrap();
        assert_eq!(router_cycles(&router), stages, "{options}");
        let spec = format!(r#"{{"kind": "flit", "router": {{{options}}}}}"#);
        let mut network = network(&spec, machine.clone());
        let nodes = machine.compute_nodes();
        let took = alone(network.as_mut(), Transfer::new(Token(0), nodes[0], nodes[4], 64)) - Time::ZERO;
        let cycles = 4 + 5 * stages + 4 * 2 + 1;
        assert_eq!(took.as_ps(), (cycles + 1) * CYCLE.as_ps(), "{options}");
    }
    assert_eq!(router_cycles(&RouterSpec { speculation: Speculation::Separate, ..RouterSpec::default() }), 2);
}

#[test]
fn long_cables_and_slow_links_take_as_long_as_they_should() {
    // 10 us at 1 GB/s with flits of 1 kB: 10 cycles on the wire
    let topology =
        topology(r#"{"kind": "mesh", "dimensions": [2], "bandwidth": "1 GB/s", "latency": "10 us"}"#);
    let nodes = topology.compute_nodes().to_vec();
    let spec = r#"{"kind": "flit", "flit-bytes": "1000 B", "packet-flits": 1000}"#;
    let mut one = network(spec, topology.clone());
    // two routers: 4 + 2 * 3 + 11, and a megabyte of flits at one per cycle
    let cycles = 4 + 6 + 11 + 999 + 1;
    assert_eq!(
        alone(one.as_mut(), Transfer::new(Token(0), nodes[0], nodes[1], 1_000_000)).as_ps(),
        cycles * 1_000_000
    );
    // at twice the clock, a flit every other cycle, which is there when its second half is; behind the head, which routing and VC
    // allocation hold up in the second router for two cycles, there is time to catch up
    let mut fast = network(
        r#"{"kind": "flit", "flit-bytes": "1000 B", "packet-flits": 1000, "clock": "2 MHz"}"#,
        topology,
    );
    let cycles = 4 + 6 + 22 + 2 * 999 + 1 - 2;
    assert_eq!(
        alone(fast.as_mut(), Transfer::new(Token(0), nodes[0], nodes[1], 1_000_000)).as_ps(),
        cycles * 500_000
    );
}

#[test]
fn buffers_of_their_own_choice_let_one_stream_fill_its_way() {
    for (machine, routers) in [
        (r#"{"kind": "single-switch", "nodes": 2, "bandwidth": "100 Gbps", "latency": "10 ns"}"#, 1),
        (
            r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 1, "bandwidth": "100 Gbps", "latency": "10 ns"}"#,
            3,
        ),
    ] {
        let topology = topology(machine);
        let nodes = topology.compute_nodes().to_vec();
        let mut network = network(r#"{"kind": "flit"}"#, topology);
        // 10,000 flits of 32 B, a cycle each of 2.56 ns, behind a head that takes less than 12 cycles per router and cable
        let ps = alone(network.as_mut(), Transfer::new(Token(0), nodes[0], nodes[1], 320_000)).as_ps();
        let cycles = ps.div_ceil(2560);
        assert!((10_000..10_000 + 12 * (routers + 1)).contains(&cycles), "{machine}: {cycles} cycles");
    }
}

#[test]
fn a_slow_cable_of_the_sender_is_no_bound_that_runs_beat() {
    let machine = r#"{"kind": "graph", "nodes": [{"name": "a"}, {"name": "b"}, {"name": "s", "kind": "switch"}], "links": [
        {"from": "a", "to": "s", "bandwidth": "10 Gbps", "latency": "10 ns"},
        {"from": "s", "to": "b", "bandwidth": "100 Gbps", "latency": "10 ns"}]}"#;
    let topology = topology(machine);
    let nodes = topology.compute_nodes().to_vec();
    for bytes in [32, 64, 1000, 20_000] {
        let mut network = network(r#"{"kind": "flit"}"#, topology.clone());
        let least = network.least_duration(nodes[0], nodes[1], bytes).as_ps();
        let took = alone(network.as_mut(), Transfer::new(Token(0), nodes[0], nodes[1], bytes)).as_ps();
        // where the last packet is a flit, it is a head and held up
        assert!((least..=least + 2 * 2560).contains(&took), "{bytes} bytes: {took}, at least {least}");
    }
}

/// Every node sends to every other one.
fn all_to_all(topology: &Topology, bytes: u64) -> Vec<(Time, Transfer)> {
    let nodes = topology.compute_nodes();
    let pairs =
        (0..nodes.len() * nodes.len()).map(|pair| (nodes[pair / nodes.len()], nodes[pair % nodes.len()]));
    pairs
        .filter(|(src, dst)| src != dst)
        .enumerate()
        .map(|(token, (src, dst))| (Time::ZERO, Transfer::new(Token(token as u64), src, dst, bytes)))
        .collect()
}

#[test]
fn every_flit_that_enters_arrives_over_as_many_channels_as_its_way_is_long() {
    for spec in MACHINES {
        let machine = machine(spec);
        let prepared = prepare(&machine, "{}").unwrap();
        let messages = all_to_all(&machine, 320);
        let mut network = network(r#"{"kind": "flit"}"#, machine.clone());
        let log = drive_messages(network.as_mut(), &messages, None);
        assert_eq!(log.len(), messages.len(), "{spec}");
        let report = network.report(log.last().unwrap().0);
        assert!(report.violations().is_empty(), "{spec}: {:?}", report.violations());
        // all functions used here are minimal: bytes times links of the shortest ways
        let fabric = &prepared.fabric;
        let mut expected = 0.0;
        for &(_, transfer) in &messages {
            let [from, to] = [transfer.src, transfer.dst].map(|node| prepared.wiring.terminals(node)[0]);
            let hops =
                distances(fabric, fabric.terminal(to).router)[fabric.terminal(from).entry().0 as usize];
            let own = fabric.terminal(from).injection.link.is_some();
            expected += 320.0 * (hops + if own { 2 } else { 0 }) as f64;
        }
        let carried: f64 = report.link_bytes.iter().sum();
        assert_eq!(carried, expected, "{spec}");
        let flits = report.counters.iter().find(|(name, _)| *name == "network.flits").unwrap().1;
        assert_eq!(flits, 10 * messages.len() as u64, "{spec}");
    }
}

#[test]
fn symmetric_traffic_loads_the_channels_of_a_symmetric_network_equally() {
    // vertex-transitive, and without ties: all channels of a dimension carry the same
    for (spec, classes) in [
        (r#"{"kind": "torus", "dimensions": [5, 3]}"#, 2),
        (r#"{"kind": "ring", "nodes": 7}"#, 1),
        (r#"{"kind": "hypercube", "dimensions": 4}"#, 1),
        (r#"{"kind": "fully-connected", "nodes": 6}"#, 1),
        (r#"{"kind": "single-switch", "nodes": 6}"#, 1),
    ] {
        let machine = machine(spec);
        let mut network = network(r#"{"kind": "flit"}"#, machine.clone());
        let log = drive_messages(network.as_mut(), &all_to_all(&machine, 64), None);
        let report = network.report(log.last().unwrap().0);
        let mut loads: Vec<u64> = report.link_bytes.iter().map(|&bytes| bytes as u64).collect();
        loads.sort_unstable();
        loads.dedup();
        assert_eq!(loads.len(), classes, "{spec}: {loads:?}");
        assert!(loads[0] > 0, "{spec}");
    }
}

#[test]
fn the_limit_of_a_sender_is_kept_and_lets_others_pass() {
    let machine = machine(r#"{"kind": "single-switch", "nodes": 3}"#);
    let nodes = machine.compute_nodes();
    let slow =
        Transfer { rate_cap: Some(Bandwidth(1e7)), ..Transfer::new(Token(0), nodes[0], nodes[1], 100_000) };
    let quick = Transfer::new(Token(1), nodes[0], nodes[2], 100_000);
    let mut network = network(r#"{"kind": "flit"}"#, machine.clone());
    let log = drive_messages(network.as_mut(), &[(Time::ZERO, slow), (Time::ZERO, quick)], None);
    assert_eq!(log[0].1, NetworkDone::Delivered(Token(1)));
    // 100 us at the full rate, a little more for packets of the slow one; 10 ms at a hundredth
    assert!(log[0].0.as_secs_f64() < 110e-6, "{:?}", log[0].0);
    assert!((10e-3..10.1e-3).contains(&log[1].0.as_secs_f64()), "{:?}", log[1].0);
}

/// Deliveries of messages that one node sends at the dates given in cycles: (cycle, receiver, flits), in cycles.
fn deliveries(spec: &str, machine: &Arc<Topology>, messages: &[(u64, usize, u64)]) -> Vec<u64> {
    let nodes = machine.compute_nodes();
    let messages: Vec<_> = (messages.iter().enumerate())
        .map(|(token, &(start, to, flits))| {
            (Time::ZERO + CYCLE * start, Transfer::new(Token(token as u64), nodes[0], nodes[to], 32 * flits))
        })
        .collect();
    let log = drive_messages(network(spec, machine.clone()).as_mut(), &messages, None);
    let mut ends = vec![0; messages.len()];
    for (at, done) in log {
        let NetworkDone::Delivered(token) = done else { panic!("{done:?}") };
        ends[token.0 as usize] = at.as_ps() / CYCLE.as_ps();
    }
    ends
}

/// One router: a message that enters in cycle `c`, flit after flit, is there at the end of cycle `c + 7 + flits - 1`.
const SWITCH: u64 = 4 + 3 + 1;

#[test]
fn messages_of_a_terminal_take_turns_packet_by_packet() {
    let machine = machine(r#"{"kind": "single-switch", "nodes": 4}"#);
    // the fast kernel, and the full one
    for router in ["{}", r#"{"switch-allocator": {"kind": "separable-input-first"}}"#] {
        let spec = format!(r#"{{"kind": "flit", "router": {router}}}"#);
        // a short message goes behind the first packet of a long one, to another node and to the same one
        for to in [2, 1] {
            let ends = deliveries(&spec, &machine, &[(0, 1, 16_000), (0, to, 1)]);
            assert_eq!(ends, [SWITCH + 16_000, SWITCH + 16], "to {to}");
        }
        // two long ones, and one that begins in the third packet: packets are those of 0 1 0 1 0 2 1 0 2 1 0
        let ends = deliveries(&spec, &machine, &[(0, 1, 16 * 5), (0, 2, 16 * 4), (2 * 16 + 3, 3, 16 * 2)]);
        assert_eq!(ends, [10, 9, 8].map(|last| SWITCH + 16 * (last + 1) - 1), "{router}");
    }
}

#[test]
fn the_last_byte_of_a_limited_message_leaves_when_the_limit_allows_it_and_the_way_comes_after_that() {
    for (bytes, rate, latency_ns, packet_flits, allowed_ns) in [
        (512, 1e9, 500, 16, 512),
        (1024, 1e9, 500, 16, 1024),
        (64_000, 8e9, 500, 2000, 8000),
        (64_000, 1e9, 10_000, 16, 64_000),
        // a last packet of half a flit; the limit is the line's rate, and above it
        (528, 1e9, 500, 16, 528),
        (64_000, 32e9, 500, 16, 2000),
        (64_000, 1e12, 500, 16, 2000),
    ] {
        let machine = topology(&format!(
            r#"{{"kind": "single-switch", "nodes": 2, "bandwidth": "32 GB/s", "latency": "{latency_ns} ns"}}"#
        ));
        let nodes = machine.compute_nodes();
        let spec = format!(r#"{{"kind": "flit", "packet-flits": {packet_flits}}}"#);
        let transfer = Transfer {
            rate_cap: Some(Bandwidth(rate)),
            ..Transfer::new(Token(0), nodes[0], nodes[1], bytes)
        };
        let took = alone(network(&spec, machine.clone()).as_mut(), transfer);
        // two cables, a cycle of 1 ns at the end of each, and three in the router
        assert_eq!(
            took,
            Time::ZERO + Duration::from_ns(allowed_ns + 2 * (latency_ns + 1) + 3),
            "{bytes} B at {rate} B/s"
        );
    }
    // a cable that takes a flit in two cycles: the end of a packet takes two as well
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 2, "bandwidth": "16 GB/s", "latency": "500 ns"}"#);
    let nodes = machine.compute_nodes();
    let transfer =
        Transfer { rate_cap: Some(Bandwidth(1e9)), ..Transfer::new(Token(0), nodes[0], nodes[1], 512) };
    let mut network = network(r#"{"kind": "flit", "clock": "1 GHz"}"#, machine.clone());
    assert_eq!(alone(network.as_mut(), transfer), Time::ZERO + Duration::from_ns(512 + 2 * 501 + 3 + 1));
}

#[test]
fn nodes_without_a_way_are_named() {
    let apart = topology(
        r#"{"kind": "graph", "nodes": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "s", "kind": "switch"}],
            "links": [{"from": "a", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us"},
                      {"from": "b", "to": "s", "bandwidth": "1 GB/s", "latency": "1 us"}]}"#,
    );
    let nodes = apart.compute_nodes().to_vec();
    let mut network = network(r#"{"kind": "flit"}"#, apart);
    assert!(network.check_route(nodes[0], nodes[1]).is_ok());
    let error = network.check_route(nodes[0], nodes[2]).unwrap_err();
    assert!(error.reason.contains("from a to c"), "{error}");
    let log = drive_messages(
        network.as_mut(),
        &[(Time::ZERO, Transfer::new(Token(7), nodes[0], nodes[2], 1))],
        None,
    );
    assert_eq!(log, [(Time::ZERO, NetworkDone::Failed(Token(7)))]);
    assert!(network.failure().unwrap().1.contains("from a to c"));
}

/// Memories hold data and pass nothing on, as at the other levels: not as a short cut, and not as the only way.
#[test]
fn no_packet_goes_through_a_memory_to_somewhere_else() {
    let machine = |links: &[&str]| {
        let node = |name: &str, kind: &str| format!(r#"{{"name": "{name}", "kind": "{kind}"}}"#);
        let computes = ["a", "b", "c", "d"].map(|name| node(name, "compute"));
        let memories = ["m", "n"].map(|name| node(name, "memory"));
        let link = |ends: &&str| {
            let (from, to) = ends.split_at(1);
            format!(r#"{{"from": "{from}", "to": "{to}", "bandwidth": "1 GB/s", "latency": "32 ns"}}"#)
        };
        let links: Vec<String> = links.iter().map(link).collect();
        topology(&format!(
            r#"{{"kind": "graph", "nodes": [{}, {}], "links": [{}]}}"#,
            computes.join(","),
            memories.join(","),
            links.join(",")
        ))
    };
    for routing in ["shortest-path", "up-down"] {
        let spec = format!(r#"{{"kind": "flit", "routing": "{routing}"}}"#);
        // four cables by c and d, three by the memories
        let around = machine(&["am", "mn", "nb", "ac", "cd", "db"]);
        let [a, b, ..] = *around.compute_nodes() else { panic!("four of them") };
        let named = |name: &str| {
            let mut nodes = (0..around.node_count()).map(NodeId::from_index);
            nodes.find(|&node| around.node_name(node) == name).expect("a node")
        };
        let [m, n] = ["m", "n"].map(named);
        let mut by_hosts = network(&spec, around.clone());
        let log = drive_messages(
            by_hosts.as_mut(),
            &[
                (Time::ZERO, Transfer::new(Token(0), a, b, 320)),
                (Time::ZERO, Transfer::new(Token(1), m, n, 32)),
            ],
            None,
        );
        assert!(log.iter().all(|(_, done)| matches!(done, NetworkDone::Delivered(_))), "{routing}: {log:?}");
        let bytes = by_hosts.report(log.last().expect("two").0).link_bytes;
        let carried = |from: &str, to: &str| -> f64 {
            let is_it = |link: &usize| {
                let ends = around.link(LinkId::from_index(*link)).ends.expect("a cable");
                ends.map(|end| around.node_name(end)) == [from, to]
            };
            (0..around.link_count()).filter(is_it).map(|link| bytes[link]).sum()
        };
        assert_eq!(["ac", "cd", "db"].map(|ends| carried(&ends[..1], &ends[1..])), [320.0; 3], "{routing}");
        assert_eq!([carried("a", "m"), carried("m", "n"), carried("n", "b")], [0.0, 32.0, 0.0], "{routing}");

        let cut = machine(&["am", "mn", "nb", "ac", "db"]);
        let mut only_by_memories = network(&spec, cut.clone());
        let message = Transfer::new(Token(7), a, b, 1);
        let log = drive_messages(only_by_memories.as_mut(), &[(Time::ZERO, message)], None);
        assert_eq!(log, [(Time::ZERO, NetworkDone::Failed(Token(7)))], "{routing}");
        assert!(only_by_memories.failure().expect("a failure").1.contains("no route from a to b"));
    }
}

#[test]
fn a_network_that_stands_still_fails_its_messages_with_the_circle() {
    // a ring with one class: long packets all the way round wait for each other
    let ring = machine(r#"{"kind": "ring", "nodes": 6}"#);
    let spec = r#"{"kind": "flit", "deadlock-check": false, "packet-flits": 64,
        "router": {"virtual-channels": 1, "buffer-flits": 2}, "routing": {"kind": "shortest-path", "layers": 1}}"#;
    let nodes = ring.compute_nodes();
    let around: Vec<_> = (0..6)
        .map(|i| (Time::ZERO, Transfer::new(Token(i as u64), nodes[i], nodes[(i + 2) % 6], 32 * 64)))
        .collect();
    let mut stuck = network(spec, ring.clone());
    let log = drive_messages(stuck.as_mut(), &around, None);
    assert_eq!(log.len(), 6);
    assert!(log.iter().all(|(_, done)| matches!(done, NetworkDone::Failed(_))), "{log:?}");
    let (_, reason) = stuck.failure().unwrap();
    assert!(reason.contains("wait for each other in a circle"), "{reason}");
    assert!(reason.contains("router host-0"), "{reason}");
    // and the check says so before
    let checked = spec.replace(r#""deadlock-check": false, "#, "");
    let error = try_network(&checked, ring.clone()).err().unwrap();
    assert!(error.reason.contains("circle"), "{error}");
    // once: of a network that was built before, it asks no more
    let again = drive_messages(network_again(&checked, ring).as_mut(), &around, None);
    assert_eq!(again, log);
}

#[test]
fn a_lower_bound_holds_for_every_pair_of_a_machine_with_several_nics() {
    let machine = machine(r#"{"kind": "fat-tree", "down": [2, 3], "up": [2, 2]}"#);
    let nodes = machine.compute_nodes();
    let prepared = prepare(&machine, "{}").unwrap();
    assert!(nodes.iter().all(|&node| prepared.wiring.terminals(node).len() == 2));
    // the two planes have no cable between them
    assert!(
        !prepared
            .wiring
            .joined(prepared.wiring.terminals(nodes[0])[0], prepared.wiring.terminals(nodes[1])[1])
    );
    let mut bounds = ZeroLoad::new(prepared.fabric.clone(), &prepared.router);
    assert_eq!(
        bounds.cycles(prepared.wiring.terminals(nodes[0])[0], prepared.wiring.terminals(nodes[1])[1], 1),
        None
    );
    for nic in 0..3 {
        let mut network = network(r#"{"kind": "flit"}"#, Arc::clone(&machine));
        let transfer = Transfer { nic, ..Transfer::new(Token(0), nodes[0], nodes[5], 3200) };
        let took = alone(network.as_mut(), transfer) - Time::ZERO;
        assert_eq!(took, network.least_duration(nodes[0], nodes[5], 3200));
    }
}

#[test]
fn a_run_says_when_the_slower_kernel_moves_its_flits_and_why() {
    let machine = machine(r#"{"kind": "mesh", "dimensions": [4]}"#);
    let notes = |options: &str| {
        let mut network = network(&format!(r#"{{"kind": "flit"{options}}}"#), machine.clone());
        network.report(Time::ZERO).notes.join("; ")
    };
    assert!(!notes("").contains("kernel"), "{}", notes(""));
    let slower = notes(r#", "router": {"speculation": "separate"}"#);
    assert!(slower.contains("full kernel") && slower.contains("does not know speculation"), "{slower}");
}
