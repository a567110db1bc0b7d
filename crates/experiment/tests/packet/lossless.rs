//! Fabrics in which acknowledgements wait in the lines of data, and links whose other ends say what they have room for.

use std::fmt::Write as _;

use crate::common::{refusal, run};
use stratasim_report::RunResult;

/// Hosts on a switch, 100 Gb/s and 1 us per link; messages (from, to, bytes, begins in us); the rest of `[network]`.
fn star_text(hosts: u32, messages: &[(u32, u32, u32, u32)], network: &str) -> String {
    let mut graph = String::new();
    let mut edges = String::new();
    for (at, (from, to, bytes, begins_us)) in messages.iter().enumerate() {
        let _ = write!(
            graph,
            "{{ name = \"d{at}\", kind = \"delay\", rank = {from}, duration = \"{begins_us} us\" }},\
             {{ name = \"m{at}\", kind = \"communication\", source = {from}, destination = {to}, bytes = {bytes} }},"
        );
        let _ = write!(edges, "{{ from = \"d{at}\", to = \"m{at}\" }},");
    }
    format!(
        "[topology]\nkind = \"single-switch\"\nnodes = {hosts}\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
         [workload]\nkind = \"graph\"\nvertices = [{graph}]\nedges = [{edges}]\n[network]\nkind = \"packet\"\n{network}\n"
    )
}

/// Its result.
fn star(hosts: u32, messages: &[(u32, u32, u32, u32)], network: &str) -> RunResult {
    run(&star_text(hosts, messages, network))
}

/// While a host sends 4 MB, six others send to it: its acknowledgements wait, its data does not.
#[test]
fn hpcc_looks_at_the_way_of_its_data() {
    let mut messages = vec![(1, 0, 4_000_000, 0)];
    let alone = star(8, &messages, "congestion = { kind = \"hpcc\" }").makespan_s;
    messages.extend((2..8).map(|host| (host, 1, 300_000, 20)));
    // what goes to host 1 is through long before its own message is
    let beside = star(8, &messages, "congestion = { kind = \"hpcc\" }").makespan_s;
    assert!(beside < 1.25 * alone, "{beside} s beside others, {alone} s alone");
}

/// Packets of 128 bytes, of which 32 fit into what the switch has room for: they go one behind the other.
#[test]
fn a_small_packet_needs_room_for_itself_alone() {
    let messages: Vec<_> = (0..64).map(|_| (0, 1, 64, 0)).collect();
    let network = |room| {
        format!(
            "congestion = {{ kind = \"constant-rate\" }}\nrecovery = {{ kind = \"none\" }}\n\
             queue = {{ kind = \"credit\", receive-buffer = \"{room} B\" }}"
        )
    };
    let [one, two] = [4160, 8320].map(|room| star(2, &messages, &network(room)).makespan_s);
    // two links of 1 us, and packets that take 10.24 ns: 63 before the last one, which takes two
    let wire = 2e-6 + 65.0 * 10.24e-9;
    assert!((two - wire).abs() < 1e-9, "{two} s");
    // with room for 32 packets the second half waits for the first ones to have left, and for word of that
    assert!(one < 2.0 * wire, "{one} s");
}

/// Of equal links, a packet leaves a switch when the next one comes: there is never more than one.
#[test]
fn what_leaves_in_an_instant_makes_room_for_what_comes_in_it() {
    for switching in ["cut-through", "store-and-forward"] {
        let network = format!(
            "congestion = {{ kind = \"constant-rate\" }}\nrecovery = {{ kind = \"none\" }}\nswitching = \"{switching}\"\n\
             queue = {{ kind = \"lossless\", pause-above = \"8300 B\", resume-below = \"4100 B\" }}"
        );
        let result = star(2, &[(0, 1, 400_000, 0)], &network);
        assert_eq!(result.counter("network.pauses").expect("counted"), 0, "{switching}");
        assert!(result.makespan_s < 35e-6, "{switching}: {} s", result.makespan_s);
    }
}

/// A packet of one link leaves in the very instant in which another of it arrives at a switch that has asked it to stop: the pause
/// ends with what left, as it does where the two are apart by whatever little.
#[test]
fn a_pause_ends_though_a_packet_comes_in_the_instant() {
    let end_of_first = |latency: &str| {
        let links = [("b", "50 Gbps", "665.6 ns"), ("c", "25 Gbps", latency), ("r", "50 Gbps", "665.6 ns")];
        let links: String = links
            .iter()
            .map(|(from, rate, latency)| {
                format!(
                    "{{ from = \"{from}\", to = \"s\", bandwidth = \"{rate}\", latency = \"{latency}\" }},"
                )
            })
            .collect();
        let result = run(&format!(
            "[topology]\nkind = \"graph\"\nlinks = [{links}]\n\
             nodes = [{{ name = \"b\" }}, {{ name = \"c\" }}, {{ name = \"r\" }}, {{ name = \"s\", kind = \"switch\" }}]\n\
             [workload]\nkind = \"graph\"\nvertices = [\
             {{ name = \"first\", kind = \"communication\", source = \"c\", destination = \"r\", bytes = 73728 }},\
             {{ name = \"second\", kind = \"communication\", source = \"b\", destination = \"r\", bytes = 65536 }}]\n\
             [network]\nkind = \"packet\"\ncongestion = {{ kind = \"fixed-window\", window = \"1 MiB\" }}\n\
             recovery = \"none\"\nqueue = {{ kind = \"lossless\", pause-above = \"8320 B\", resume-below = \"1 B\" }}\n"
        ));
        result.makespan_s
    };
    let [before, tie, after] = ["3327.9 ns", "3328 ns", "3328.1 ns"].map(end_of_first);
    // a packet takes 1331.2 ns from c and 665.6 ns to r: who comes first decides about one of them, not about a round trip more
    let one = 1331.2e-9;
    assert!((before - after).abs() < one && (tie - before).abs() < one, "{before} s, {tie} s, {after} s");
    // each step by hand, packets that end in an instant before what arrives in it
    assert!((tie - 32.6144e-6).abs() < 1e-12, "{tie} s");
}

/// What no packet ever gets into is refused.
#[test]
fn headroom_has_room_for_a_packet() {
    let network = |headroom: u32| {
        format!(
            "congestion = {{ kind = \"constant-rate\" }}\n\
             queue = {{ kind = \"lossless\", pause-above = \"2 kB\", headroom = \"{headroom} B\" }}"
        )
    };
    let refused = |headroom| refusal(&star_text(2, &[(0, 1, 100_000, 0)], &network(headroom)));
    let said = refused(2159).expect("4159 B are less than a packet");
    assert!(said.contains("network.queue.headroom") && said.contains("4.16 kB"), "{said}");
    assert_eq!(refused(2160), None);
}

/// One message without any pause: all of it takes one way, though its acknowledgements wait with data.
#[test]
fn flowlets_stay_together_whatever_waits_with_them() {
    for queue in ["kind = \"lossless\"", "kind = \"credit\"", "kind = \"drop-tail\", control-first = false"] {
        let result = run(&format!(
            "[topology]\nkind = \"mesh\"\ndimensions = [3, 3]\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"graph\"\nvertices = [{{ name = \"m\", kind = \"communication\", source = 0, destination = 8, bytes = 400000 }}]\n\
             [network]\nkind = \"packet\"\ncongestion = {{ kind = \"fixed-window\" }}\nrecovery = {{ kind = \"irn\" }}\n\
             queue = {{ {queue} }}\nbalancing = {{ kind = \"flowlets\" }}\n"
        ));
        let links = result.links.as_ref().expect("few links are listed");
        let carry: Vec<f64> = links.iter().map(|link| link.bytes).filter(|&bytes| bytes > 20_000.0).collect();
        assert!(carry.len() == 4 && carry.iter().all(|&bytes| bytes >= 400_000.0), "{queue}: {carry:?}");
    }
}

/// Faults that never act, and headroom that is enough, change nothing: senders know that nothing is lost.
#[test]
fn a_fabric_that_loses_nothing_is_lossless_whatever_is_written() {
    let messages: Vec<_> = (1..32).map(|host| (host, 0, 100_000, 0)).collect();
    let result = |queue: &str, more: &str| {
        let network =
            format!("congestion = {{ kind = \"nscc\" }}\nqueue = {{ kind = \"lossless\"{queue} }}\n{more}");
        star(32, &messages, &network)
    };
    let plain = result("", "");
    assert_eq!(plain.counters["network.timeouts"], 0);
    for more in [
        "loss = { probability = 0.0 }",
        "faults = { corruption = { probability = 0.0 } }",
        "faults = { duplication = { probability = 0.0 } }",
        "faults = { reordering = { probability = 0.0, delay = \"1 us\" } }",
    ] {
        assert_eq!(result("", more).digest, plain.digest, "{more}");
    }
    assert_eq!(result(", headroom = \"1 MB\"", "").digest, plain.digest);
    // where something can be lost, senders do not wait for as long
    let lossy = result("", "loss = { probability = 0.001 }");
    assert!(lossy.counters["network.timeouts"] > 0);
}
