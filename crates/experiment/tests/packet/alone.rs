//! How long a message would take alone: what slow-downs are measured by, and which way all packets of it took.

use crate::common::run;
use stratasim_report::result::RunResult;

/// Two leaves with two hosts each, 100 Gbps, and spines at `uplink`; one message from one leaf to the other.
fn machine(uplink: &str, rest: &str) -> RunResult {
    run(&format!(
        r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts-per-leaf = 2
bandwidth = "100 Gbps"
uplink-bandwidth = "{uplink}"
latency = "1 us"
[workload]
kind = "traffic"
flows = 1
size = {{ kind = "fixed", bytes = "10 MB" }}
pattern = {{ kind = "list", pairs = [[0, 3]] }}
[network]
kind = "packet"
{rest}
"#
    ))
}

/// An outage of a link that the message may take.
fn outage(from: &str, to: &str) -> String {
    format!(r#"faults = {{ down = [{{ link = "spine-3->leaf-1", from = "{from}", to = "{to}" }}] }}"#)
}

#[test]
fn a_link_that_is_down_before_or_after_changes_nothing() {
    let rules = "congestion = \"dctcp\"\nbalancing = \"per-flow\"\n";
    let plain = machine("25 Gbps", rules);
    let told = |result: &RunResult| {
        let flow = &result.flows.as_ref().unwrap().slowest[0];
        (result.makespan_s, flow.slowdown, flow.path.clone())
    };
    assert!(told(&plain).1 < 1.05 && told(&plain).2.len() == 4, "{:?}", told(&plain));
    let after = machine("25 Gbps", &format!("{rules}{}", outage("1 s", "2 s")));
    assert_eq!(told(&after), told(&plain));
    let bounds = [&plain, &after].map(|result| result.binding.as_ref().unwrap().ratio);
    assert!(bounds.iter().all(|ratio| (1.0..1.02).contains(ratio)), "{bounds:?}");
    // while it is down, the message may go round it, and nothing is said of its way behind its own link
    let meanwhile = machine("25 Gbps", &format!("{rules}{}", outage("1 ms", "2 ms")));
    assert_eq!(told(&meanwhile).2.len(), 1);
    assert!(told(&meanwhile).1 >= 1.0);
}

#[test]
fn packets_on_several_ways_are_not_faster_than_all_of_these_together() {
    // four ways of 5 Gbps carry a fifth of what the host sends
    for (uplink, least) in [("5 Gbps", 1.0), ("10 Gbps", 1.0), ("25 Gbps", 1.0), ("100 Gbps", 1.0)] {
        let result = machine(uplink, "congestion = \"nscc\"\nbalancing = \"least-queue\"\n");
        let found = result.flows.as_ref().unwrap().slowdown.max;
        assert!((least..1.15).contains(&found), "{uplink}: {found}");
        let bound = result.binding.as_ref().unwrap().ratio;
        assert!(found <= bound * 1.01 && bound <= found * 1.1, "{uplink}: {found} {bound}");
    }
}

/// A limit of its own makes a message longer, not slower than alone, whoever says that it is there.
#[test]
fn a_limited_message_alone_is_as_fast_as_it_can_be() {
    for completion in ["receiver", "sender"] {
        let result = run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"2 us\"\n\
             [workload]\nkind = \"traffic\"\nflows = 1\nsize = \"3 kB\"\nrate-cap = \"10 Gbps\"\n\
             pattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n\
             [network]\nkind = \"packet\"\ncompletion = \"{completion}\"\npackets = {{ payload-bytes = 1000, header-bytes = 40 }}\n"
        ));
        let found = result.flows.as_ref().unwrap().slowdown.max;
        assert!((1.0..1.001).contains(&found), "{completion}: {found}");
    }
}
