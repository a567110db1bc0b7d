//! What senders conclude from marks and time-outs, and where there are any.

use crate::common::{refusal, run};
use stratasim_report::RunResult;

/// Eight senders to one receiver, 100 Gb/s, a megabyte each.
fn incast_text(network: &str) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nnodes = 9\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
         [workload]\nkind = \"graph\"\nvertices = [{{ name = \"in\", kind = \"communication\", ranks = [1, 2, 3, 4, 5, 6, 7, 8], \
         destination = 0, bytes = \"1 MB\" }}]\n[network]\nkind = \"packet\"\n{network}\n"
    )
}

/// Its result.
fn incast(network: &str) -> RunResult {
    run(&incast_text(network))
}

fn counter(result: &RunResult, name: &str) -> f64 {
    result.counter(name).expect("counted") as f64
}

/// Windows that nothing changes hold the queue between the two thresholds, whatever is marked.
#[test]
fn as_many_are_marked_as_the_largest_probability_says() {
    let marks = |probability: &str| {
        let network = format!(
            "congestion = {{ kind = \"fixed-window\", window = \"80 kB\" }}\nqueue = {{ kind = \"drop-tail\" }}\nbuffer = \"2 MB\"\n\
             ecn = {{ min = \"0 B\", max = \"1 MB\", max-probability = {probability} }}"
        );
        counter(&incast(&network), "network.marks")
    };
    let [all, tenth, hundredth] = ["1", "0.1", "0.01"].map(marks);
    assert!(all > 900.0, "{all}");
    assert!((tenth / all - 0.1).abs() < 0.03, "{tenth} of {all}");
    assert!(hundredth / all < 0.03, "{hundredth} of {all}");
}

/// Of two thresholds in the wrong order the one that was written is named.
#[test]
fn thresholds_in_the_wrong_order_are_named_as_written() {
    for (ecn, words) in [
        ("min = \"1 GB\"", ["network.ecn.min", "`max`, where not given, is"]),
        ("max = \"1 B\"", ["network.ecn.max", "`min`, where not given, is"]),
        ("min = \"20 kB\", max = \"10 kB\"", ["network.ecn.max", "10 kB, and `min` is 20 kB"]),
    ] {
        let said = refusal(&incast_text(&format!("ecn = {{ {ecn} }}"))).expect("refused");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}

/// Where receivers give credit, their own links are full, whatever the path.
#[test]
fn links_to_receivers_that_give_credit_do_not_mark() {
    for control in ["ndp", "eqds", "rccc"] {
        let marks = |ecn: &str| {
            let network = format!("congestion = {{ kind = \"{control}\" }}\n{ecn}");
            counter(&incast(&network), "network.marks")
        };
        assert_eq!(marks(""), 0.0, "{control}");
        assert!(marks("ecn = { last-hop = true }") > 0.0, "{control}");
    }
    assert!(counter(&incast("congestion = { kind = \"nscc\" }"), "network.marks") > 0.0);
}

/// Two leaves of four hosts; `cross` of them send over four spines.
fn cross(bytes: &str, network: &str) -> f64 {
    let result = run(&format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts-per-leaf = 4\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
         [workload]\nkind = \"graph\"\nvertices = [{{ name = \"x\", kind = \"communication\", ranks = [0, 1, 2, 3], offset = 4, \
         bytes = \"{bytes}\" }}]\n[network]\nkind = \"packet\"\n{network}\n"
    ));
    result.makespan_s
}

/// A link loses everything, and no switch notices: time-outs alone tell of it.
#[test]
fn paths_of_packets_that_time_out_are_passed_over() {
    let takes = |entropy: &str| {
        cross(
            "4 MB",
            &format!(
                "congestion = {{ kind = \"nscc\" }}\nentropy = {entropy}\n\
                 faults = {{ down = [{{ link = [\"leaf-0->spine-0\"], from = \"50 us\" }}], detection = \"10 s\" }}"
            ),
        )
    };
    let blind = takes("{ kind = \"oblivious\" }");
    for kind in ["bitmap", "mixed"] {
        let [sees, does_not] = ["15", "0"]
            .map(|penalty| takes(&format!("{{ kind = \"{kind}\", timeout-penalty = {penalty} }}")));
        assert!(sees < 0.5 * blind, "{kind}: {sees} s, {blind} s without a look");
        assert!(sees < does_not, "{kind}: {sees} s, {does_not} s without penalties");
        assert_eq!(takes(&format!("{{ kind = \"{kind}\" }}")), sees, "{kind}");
    }
}

/// A full queue that drops packets is no failed link: with a buffer of a few packets, time-outs tell of congestion.
#[test]
fn reps_freezes_only_where_a_time_out_tells_of_a_failure() {
    let takes = |queue: &str, freeze: &str, loss: &str| {
        let network = format!(
            "congestion = {{ kind = \"nscc\" }}\nqueue = {{ kind = \"{queue}\" }}\nbuffer = \"13 kB\"\n{loss}\n\
             entropy = {{ kind = \"reps\"{freeze} }}"
        );
        cross("2 MB", &network)
    };
    let [never, long] = [", freeze = \"0 ns\"", ", freeze = \"10 ms\""];
    let loss = "loss = { probability = 0.002 }";
    assert_ne!(takes("drop-tail", never, ""), takes("drop-tail", long, ""), "there are time-outs");
    assert_eq!(takes("drop-tail", "", ""), takes("drop-tail", never, ""));
    for queue in ["drop-tail", "trimming"] {
        assert_ne!(takes(queue, never, loss), takes(queue, long, loss), "{queue}: there are time-outs");
        assert_eq!(takes(queue, "", loss), takes(queue, long, loss), "{queue}");
    }
}

/// SLEEK where windows are less than a packet, and where there are none.
#[test]
fn probes_find_what_is_lost_whatever_the_window() {
    let sleek = "recovery = { kind = \"trimming\", sleek = true }";
    let result = run(&format!(
        "[topology]\nkind = \"single-switch\"\nnodes = 9\nbandwidth = \"1 Gbps\"\nlatency = \"1 us\"\n\
         [workload]\nkind = \"graph\"\nvertices = [{{ name = \"in\", kind = \"communication\", ranks = [1, 2, 3, 4, 5, 6, 7, 8], \
         destination = 0, bytes = \"200 kB\" }}]\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"swift\" }}\n\
         queue = {{ kind = \"drop-tail\" }}\n{sleek}\n"
    ));
    assert!(result.makespan_s < 0.02, "{} s", result.makespan_s);
    for control in ["ndp", "eqds", "rccc", "dcqcn", "timely", "constant-rate"] {
        let network =
            format!("congestion = {{ kind = \"{control}\" }}\nqueue = {{ kind = \"trimming\" }}\n{sleek}");
        assert!(incast(&network).makespan_s < 1e-2, "{control}");
    }
}

/// A loss that is too rare to happen changes nothing, not even what is marked.
#[test]
fn losses_have_draws_of_their_own() {
    let takes = |loss: &str| cross("2 MB", &format!("congestion = {{ kind = \"dctcp\" }}\n{loss}"));
    assert_eq!(takes(""), takes("loss = { probability = 1e-15 }"));
}

/// Acknowledgements that are larger than data fill a queue in which no data waits.
#[test]
fn queues_that_dropped_something_are_listed() {
    let result = run(
        "[topology]\nkind = \"single-switch\"\nnodes = 4\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
         [workload]\nkind = \"traffic\"\nflows = 3\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\n\
         pattern = { kind = \"list\", pairs = [[0, 1], [0, 2], [0, 3]] }\n\
         [network]\nkind = \"packet\"\ncongestion = { kind = \"constant-rate\" }\nrecovery = { kind = \"go-back-n\", timeout = \"1 ms\" }\n\
         queue = { kind = \"drop-tail\" }\npackets = { payload-bytes = 256, header-bytes = 40, control-bytes = 1024 }\n",
    );
    let listed: u64 = result.queues.iter().map(|queue| queue.drops).sum();
    assert!(listed > 0);
    assert_eq!(listed, result.counter("network.drops").expect("counted"));
}
