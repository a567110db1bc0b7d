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
