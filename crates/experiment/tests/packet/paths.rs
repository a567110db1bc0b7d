//! Choices of paths that learn from what acknowledgements say: one of two leaves' four ways up runs at a tenth of its rate.

use crate::common::run;

/// Packets trimmed, and the makespan in microseconds, of four messages of 8 MB from one leaf to the other.
fn around_a_slow_link(congestion: &str, entropy: &str) -> (u64, f64) {
    let result = run(&format!(
        r#"
[topology]
kind = "degraded"
links = ["leaf-0->spine-0"]
factor = 0.1
[topology.of]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts-per-leaf = 4
bandwidth = "100 Gbps"
latency = "1 us"
[workload]
kind = "traffic"
flows = 4
size = {{ kind = "fixed", bytes = "8 MB" }}
pattern = {{ kind = "shift", offset = 4 }}
[network]
kind = "packet"
congestion = {{ kind = "{congestion}" }}
entropy = {{ kind = "{entropy}" }}
"#
    ));
    (result.counter("network.trims").expect("counted"), result.makespan_s * 1e6)
}

#[test]
fn packets_go_where_acknowledgements_come_from() {
    let ((blind, slow), (seeing, fast)) =
        (around_a_slow_link("mprdma", "round-robin"), around_a_slow_link("mprdma", "mprdma"));
    assert!(10 * seeing < blind && fast < 0.8 * slow, "{blind} {slow} {seeing} {fast}");
}

#[test]
fn a_path_that_trims_most_is_left_out() {
    let ((blind, slow), (seeing, fast)) =
        (around_a_slow_link("ndp", "permutation"), around_a_slow_link("ndp", "scoreboard"));
    assert!(2 * seeing < blind && fast < slow, "{blind} {slow} {seeing} {fast}");
}

/// Whatever finds the losses: one of four ways loses three packets of ten.
#[test]
fn a_path_that_loses_packets_is_left_out() {
    let share = |entropy: &str, recovery: &str| {
        let result = run(&format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts-per-leaf = 1\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
             [workload]\nkind = \"traffic\"\nflows = 1\nsize = \"16 MB\"\npattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n\
             [network]\nkind = \"packet\"\ncongestion = \"nscc\"\nrecovery = \"{recovery}\"\nentropy = \"{entropy}\"\n\
             queue = \"drop-tail\"\nbalancing = \"source\"\nfaults = {{ loss = [{{ probability = 0.3, links = [\"leaf-0->spine-1\"] }}] }}\n"
        ));
        let up = |spine: usize| {
            let name = format!("leaf-0->spine-{spine}");
            result.links.iter().flatten().find(|link| link.name == name).map_or(0.0, |link| link.bytes)
        };
        up(1) / (0..4).map(up).sum::<f64>()
    };
    for recovery in ["rltp", "sack", "irn", "trimming"] {
        let [blind, seeing] = ["oblivious", "scoreboard"].map(|entropy| share(entropy, recovery));
        assert!((0.2..0.3).contains(&blind) && seeing < 0.6 * blind, "{recovery}: {blind} {seeing}");
    }
}

/// A choice of paths by the sender beside `[routing]` that leaves none is said to have no effect, where the user made it.
#[test]
fn a_choice_of_paths_where_there_is_one_way_is_noted() {
    let notes = |network: &str| {
        let text = format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 1\nbandwidth = \"100 Gbps\"\n\
             latency = \"1 us\"\n[workload]\nkind = \"traffic\"\nflows = 1\nsize = \"100 kB\"\n\
             pattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n[network]\nkind = \"packet\"\n{network}"
        );
        let said = run(&text).notes;
        said.into_iter().filter(|note| note.contains("network.entropy")).collect::<Vec<_>>()
    };
    let reps = "entropy = { kind = \"reps\" }\n";
    let one_way = "[routing]\nkind = \"dijkstra\"\n";
    let note = "`network.entropy` (`reps`) does not count here: `[routing]` gives every message one way, and the sender has none to \
                choose from.";
    assert_eq!(notes(&format!("{reps}{one_way}")), [note]);
    assert_eq!(notes(&format!("preset = \"htsim\"\n{reps}{one_way}")), [note]);
    assert_eq!(notes(&format!("{reps}balancing = {{ kind = \"routing\" }}\n")), [note]);
    // somebody chooses, and what goes with the congestion control was chosen by nobody
    for network in [reps, one_way, "entropy = { kind = \"mixed\" }\n[routing]\nkind = \"dijkstra\"\n"] {
        assert_eq!(notes(network), Vec::<String>::new(), "{network}");
    }
    assert_eq!(notes(&format!("preset = \"htsim\"\n{one_way}")), Vec::<String>::new());
}
