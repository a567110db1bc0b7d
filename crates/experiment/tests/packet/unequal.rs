//! Ways and NICs that differ in delay or rate: a transport that is alone fills whichever it is led to, without repeating
//! anything.

use crate::common::run;

const TRANSPORTS: [&str; 9] =
    ["nscc", "mprdma", "fixed-window", "ndp", "eqds", "rccc", "hpcc", "power-tcp", "aimd"];

/// Nodes `a`, `b` and switches, links of 100 Gb/s: ends, delay in microseconds, Gb/s.
fn machine(switches: &[&str], links: &[(&str, &str, u32, u32)]) -> String {
    let named = |name: &&str| format!(", {{ name = \"{name}\", kind = \"switch\" }}");
    let link = |(at, &(from, to, delay_us, gbit_per_s)): (usize, &(&str, &str, u32, u32))| {
        format!(
            "{{ name = \"l{at}\", from = \"{from}\", to = \"{to}\", bandwidth = \"{gbit_per_s} Gbps\", latency = \"{delay_us} us\" }}"
        )
    };
    let switches: String = switches.iter().map(named).collect();
    let links: Vec<String> = links.iter().enumerate().map(link).collect();
    format!(
        "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}{switches}]\nlinks = [{}]\n",
        links.join(", ")
    )
}

/// Messages of 1 MB from a to b, one after the other.
fn messages(count: usize) -> String {
    let vertex = |at| {
        format!(
            "{{ name = \"m{at}\", kind = \"communication\", source = 0, destination = 1, bytes = \"1 MB\" }}"
        )
    };
    let edge = |at| format!("{{ from = \"m{at}\", to = \"m{}\" }}", at + 1);
    let vertices: Vec<String> = (0..count).map(vertex).collect();
    let edges: Vec<String> = (0..count - 1).map(edge).collect();
    format!(
        "[workload]\nkind = \"graph\"\nvertices = [{}]\nedges = [{}]\n",
        vertices.join(", "),
        edges.join(", ")
    )
}

/// The makespan in microseconds with a congestion control, and the time-outs.
fn runs(machine: &str, count: usize, congestion: &str, more: &str) -> (f64, u64) {
    let network = format!("[network]\nkind = \"packet\"\ncongestion = {{ kind = \"{congestion}\" }}\n{more}");
    let result = run(&format!("{machine}{}{network}", messages(count)));
    let (_, timeouts) =
        result.counters.iter().find(|(name, _)| *name == "network.timeouts").expect("counted");
    (result.makespan_s * 1e6, *timeouts)
}

/// The same of one that must not have any.
fn takes_us(machine: &str, count: usize, congestion: &str, more: &str) -> f64 {
    let (took_us, timeouts) = runs(machine, count, congestion, more);
    assert_eq!(timeouts, 0, "{congestion} on {machine}");
    took_us
}

/// Each of a flow's packets takes the same of two ways of two links each, one of which is 20 times as long.
#[test]
fn a_flow_on_the_longer_way_fills_it() {
    let spines = [("a", "s", 1, 100), ("t", "b", 1, 100), ("s", "x", 1, 100), ("x", "t", 1, 100)];
    let far = [("s", "y", 20, 100), ("y", "t", 20, 100)];
    let both = machine(&["s", "t", "x", "y"], &[&spines[..], &far[..]].concat());
    let alone = machine(&["s", "t", "y"], &[&spines[..2], &far[..]].concat());
    for congestion in TRANSPORTS.iter().chain(&["swift"]) {
        let flows = 3;
        let most = takes_us(&alone, flows, congestion, "");
        let took = takes_us(&both, flows, congestion, "balancing = { kind = \"per-flow\" }");
        assert!(took <= most * 1.001, "{congestion}: {took} us, {most} on the longer way alone");
    }
}

/// Messages leave by the NICs of their host in turn, and what is said to them comes back there.
#[test]
fn a_host_with_a_far_nic_fills_it() {
    let links = [("a", "s", 1, 100), ("a", "s", 50, 100), ("b", "s", 1, 100)];
    let (both, alone) = (machine(&["s"], &links), machine(&["s"], &links[1..]));
    for congestion in TRANSPORTS.iter().chain(&["swift"]) {
        let (most, took) = (takes_us(&alone, 2, congestion, ""), takes_us(&both, 2, congestion, ""));
        assert!(took <= most, "{congestion}: {took} us, {most} by the far one alone");
    }
}

/// A receiver with a slow NIC gets what is led there at its rate.
#[test]
fn a_host_with_a_slow_nic_is_sent_to_at_its_rate() {
    let links = [("a", "s", 1, 100), ("s", "b", 1, 100), ("s", "b", 1, 1)];
    let (both, alone) = (machine(&["s"], &links), machine(&["s"], &[links[0], links[2]]));
    for congestion in ["eqds", "rccc", "ndp", "nscc"] {
        let ((most, some), (took, timeouts)) =
            (runs(&alone, 2, congestion, ""), runs(&both, 2, congestion, ""));
        assert!(timeouts <= some, "{congestion}: {timeouts} time-outs");
        assert!(took <= most * 0.6, "{congestion}: {took} us, {most} for two by the slow one alone");
    }
}

/// Default buffers follow the longest way, wherever its hosts stand in the list.
#[test]
fn buffers_do_not_depend_on_the_order_of_hosts() {
    let digest = |order: [&str; 4]| {
        let name = |name: &&str| format!("{{ name = \"{name}\" }}");
        let at = |wanted: &str| order.iter().position(|&name| name == wanted).expect("it is there");
        let cable = |name: &str, us: u32| {
            format!("{{ from = \"{name}\", to = \"s\", bandwidth = \"100 Gbps\", latency = \"{us} us\" }}")
        };
        let nodes: Vec<String> = order.iter().map(name).collect();
        let message = |name: &str, from: usize| {
            format!(
                "{{ name = \"{name}\", kind = \"communication\", source = {from}, destination = {}, bytes = \"3 MB\" }}",
                at("c")
            )
        };
        let text = format!(
            "[topology]\nkind = \"graph\"\nnodes = [{}, {{ name = \"s\", kind = \"switch\" }}]\nlinks = [{}]\n\
             [workload]\nkind = \"graph\"\nvertices = [{}, {}]\n\
             [network]\nkind = \"packet\"\ncongestion = {{ kind = \"dctcp\" }}\n",
            nodes.join(", "),
            [cable("a", 1), cable("b", 1), cable("c", 100), cable("d", 1)].join(", "),
            message("m", at("a")),
            message("n", at("b")),
        );
        run(&text).makespan_s
    };
    let first = digest(["a", "b", "c", "d"]);
    for order in [["a", "b", "d", "c"], ["c", "a", "b", "d"], ["a", "c", "b", "d"]] {
        let other = digest(order);
        assert!((other / first - 1.0).abs() < 0.02, "{first} s, and {other} in the order {order:?}");
    }
    // five round trips of its links' bytes hold what two senders have under way
    assert!(first < 1.8e-3, "{first}");
}
