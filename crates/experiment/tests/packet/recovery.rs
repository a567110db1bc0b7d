//! What senders make of trimmed packets, of silence and of idle time, whatever way of recovery goes with a congestion control.

use crate::common::{run, run_in};
use stratasim_report::RunResult;

fn counter(result: &RunResult, name: &str) -> u64 {
    result.counter(name).expect("counted")
}

/// A schedule of GOAL on a machine.
fn schedule(goal: &str, rest: &str) -> RunResult {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("it.goal"), goal).unwrap();
    run_in(&format!("{rest}\n[workload]\nkind = \"goal\"\nfile = \"it.goal\"\n"), folder.path())
}

/// Two messages of rank 0 to the last rank, `pause_ns` between them, and where there are three ranks one of rank 1 beside the first.
fn twice(ranks: u32, [first, second]: [u64; 2], pause_ns: u64, rest: &str) -> RunResult {
    let last = ranks - 1;
    let other =
        if ranks > 2 { format!("rank 1 {{\n a: send {first}b to 2 tag 1\n}}\n") } else { String::new() };
    let third = if ranks > 2 { format!(" c: recv {first}b from 1 tag 1\n") } else { String::new() };
    schedule(
        &format!(
            "num_ranks {ranks}\nrank 0 {{\n a: send {first}b to {last} tag 1\n c: calc {pause_ns}\n c requires a\n \
             b: send {second}b to {last} tag 2\n b requires c\n}}\n{other}rank {last} {{\n a: recv {first}b from 0 tag 1\n\
             {third} b: recv {second}b from 0 tag 2\n}}\n"
        ),
        rest,
    )
}

/// Trimmed packets cut windows as lost ones do, once per window of data, and each is sent again once.
#[test]
fn trimmed_packets_tell_every_recovery_the_same() {
    let incast = |control: &str, recovery: &str| {
        run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 9\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"collective\"\noperation = \"gather\"\nalgorithm = {{ kind = \"direct\" }}\nbytes = \"18 MB\"\n\
             [network]\nkind = \"packet\"\ncongestion = {{ kind = \"{control}\" }}\nrecovery = {{ kind = \"{recovery}\" }}\n\
             queue = {{ kind = \"trimming\" }}\necn = {{ enabled = false }}\n"
        ))
    };
    for control in ["dctcp", "cubic"] {
        let usual = counter(&incast(control, "trimming"), "network.trims");
        for recovery in ["sack", "irn", "rltp"] {
            let result = incast(control, recovery);
            let [trims, again] =
                ["trims", "retransmissions"].map(|name| counter(&result, &format!("network.{name}")));
            assert_eq!(trims, again, "{control} {recovery}");
            assert!(2 * trims < 3 * usual, "{control} {recovery}: {trims}, usually {usual}");
        }
    }
    let again = incast("mprdma", "sack");
    assert_eq!(counter(&again, "network.trims"), counter(&again, "network.retransmissions"));
}

/// A probe that waits behind a paused link has asked nobody: silence is no failure.
#[test]
fn probes_that_were_not_sent_do_not_count() {
    let result = schedule(
        "num_ranks 3\nrank 0 {\n a: send 6000000b to 1 tag 1\n}\nrank 1 {\n a: recv 6000000b from 0 tag 1\n \
         b: recv 50000000b from 2 tag 2\n}\nrank 2 {\n c: calc 5000\n b: send 50000000b to 1 tag 2\n b requires c\n}\n",
        "[topology]\nkind = \"single-switch\"\nnodes = 3\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n[network]\nkind = \"packet\"\n\
         congestion = { kind = \"fixed-window\", factor = 8.0 }\nrecovery = { kind = \"rltp\", min-probe-timeout = \"10 us\", max-probes = 3 }\n\
         queue = { kind = \"lossless\" }\nclasses = [{ up-to = \"20 MB\" }, {}]",
    );
    assert!(counter(&result, "network.pauses") > 0 && counter(&result, "network.retransmissions") == 0);
    assert_eq!(counter(&result, "network.timeouts"), 1);
}

/// Acknowledgements that are lost, and a last packet, tell of no congestion that would take all of a window.
#[test]
fn a_probe_does_not_shrink_windows() {
    let run = |recovery: &str, faults: &str| {
        let rest = format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"20 us\"\n[network]\n\
             kind = \"packet\"\nconnections = \"per-pair\"\ncongestion = {{ kind = \"dctcp\" }}\n\
             recovery = {{ kind = \"{recovery}\" }}\nqueue = {{ kind = \"drop-tail\" }}\n{faults}"
        );
        let result = twice(2, [20_000_000; 2], 10_000_000, &rest);
        (result.makespan_s, counter(&result, "network.timeouts"))
    };
    let down = |link: &str, from: &str, to: &str| {
        format!("[network.faults]\ndown = [{{ link = [\"{link}\"], from = \"{from}\", to = \"{to}\" }}]")
    };
    let (whole, none) = run("rltp", "");
    assert_eq!(none, 0);
    // the last packet of the first message, then its acknowledgements
    let (tail, once) = run("rltp", &down("switch->host-1", "1965.4 us", "1965.6 us"));
    assert!(once > 0 && tail - whole < 0.4e-3, "{tail} after {whole}");
    let (collapsed, _) = run("sack", &down("switch->host-1", "1965.4 us", "1965.6 us"));
    assert!(tail < collapsed, "{tail}, {collapsed}");
    let (answers, once) = run("rltp", &down("host-1->switch", "1965.4 us", "1990 us"));
    assert!(once > 0 && answers - whole < 0.2e-3, "{answers} after {whole}");
}

/// Time without use is none of the cubic's (RFC 9438, section 5.8).
#[test]
fn an_idle_cubic_does_not_grow() {
    let second = |pause_ns: u64| {
        let rest = "[topology]\nkind = \"graph\"\nnodes = [{ name = \"a\" }, { name = \"b\" }, { name = \"s\", kind = \"switch\" }]\n\
             links = [{ from = \"a\", to = \"s\", bandwidth = \"10 Gbps\", latency = \"1 ms\" }, \
             { from = \"s\", to = \"b\", bandwidth = \"5 Gbps\", latency = \"1 ms\" }]\n[network]\nkind = \"packet\"\n\
             connections = \"per-pair\"\ncongestion = { kind = \"cubic\", ecn = false }\nbuffer = \"1 MB\"\n";
        let result = twice(2, [60_000_000; 2], pause_ns, rest);
        assert!(counter(&result, "network.drops") > 0);
        result.makespan_s - pause_ns as f64 * 1e-9
    };
    let [short, long] = [second(1_000_000_000), second(50_000_000_000)];
    assert!((short - long).abs() < 1e-9, "{short} {long}");
}

/// Trims of a message that was over long ago say nothing of the next one.
#[test]
fn quick_adapt_begins_anew_after_a_rest() {
    let rest = |connections: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 3\nbandwidth = \"100 Gbps\"\nlatency = \"5 us\"\n[network]\n\
             kind = \"packet\"\nconnections = \"{connections}\""
        )
    };
    let [kept, fresh] = ["per-pair", "per-message"]
        .map(|connections| twice(3, [900_000, 2_000_000], 20_000_000, &rest(connections)));
    assert!(counter(&kept, "network.trims") > 0);
    assert!(kept.makespan_s < fresh.makespan_s + 10e-6, "{} {}", kept.makespan_s, fresh.makespan_s);
}

/// A packet that several queues mark is one packet.
#[test]
fn a_packet_is_marked_once() {
    let result = run(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\nbandwidth = \"100 Gbps\"\n\
         latency = \"0 ns\"\n[workload]\nkind = \"collective\"\noperation = \"all-to-all\"\nalgorithm = { kind = \"direct\" }\n\
         bytes = \"2 MB\"\n[network]\nkind = \"packet\"\ncongestion = { kind = \"constant-rate\" }\n\
         packets = { payload-bytes = 1000 }\nqueue = { kind = \"lossless\", pause-above = \"60 kB\" }\n",
    );
    let by_queues: u64 = result.queues.iter().map(|queue| queue.marks).sum();
    let marked = counter(&result, "network.marks");
    assert!(0 < marked && marked < by_queues, "{marked} {by_queues}");
    assert!(marked <= counter(&result, "network.data_packets"));
}

/// A sender whose last packet with a request for an acknowledgement was trimmed asks again, though it has no credit.
#[test]
fn an_incast_with_credit_has_no_time_outs() {
    let result = run(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts-per-leaf = 8\nbandwidth = \"100 Gbps\"\n\
         latency = \"500 ns\"\n[workload]\nkind = \"collective\"\noperation = \"gather\"\nalgorithm = { kind = \"direct\" }\n\
         bytes = \"8 MB\"\n[network]\nkind = \"packet\"\ncongestion = { kind = \"rccc\" }\n",
    );
    assert!(counter(&result, "network.trims") > 0);
    assert_eq!(counter(&result, "network.timeouts"), 0);
}

/// What NDP sends again needs a pull: packets that a first window had room for and the message did not need are no credit for it.
#[test]
fn what_a_first_window_leaves_over_is_not_sent_again_with() {
    let incast = |more: &str| {
        run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 33\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
             [workload]\nkind = \"collective\"\noperation = \"gather\"\nalgorithm = {{ kind = \"direct\" }}\nbytes = \"540672 B\"\n\
             [network]\nkind = \"packet\"\ncongestion = {{ kind = \"ndp\"{more} }}\n"
        ))
    };
    // messages of four packets
    let [usual, four] = [incast(""), incast(", initial-packets = 4")];
    let trims = [&usual, &four].map(|result| counter(result, "network.trims"));
    assert!(trims[0] > 50 && trims[0] == trims[1], "{trims:?}");
    assert!(
        (usual.makespan_s / four.makespan_s - 1.0).abs() < 1e-12,
        "{} {}",
        usual.makespan_s,
        four.makespan_s
    );
}

/// A steady round trip has no variation, and the hole that a single loss leaves is filled a round trip after the last progress: no
/// time-out comes before that.
#[test]
fn a_single_loss_on_a_long_way_is_repaired_before_a_time_out() {
    for control in ["cubic", "dctcp", "swift"] {
        let result = run(&format!(
            "seed = 15\n[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"300 us\"\n\
             [workload]\nkind = \"traffic\"\nflows = 1\nsize = \"60 MB\"\npattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n\
             [network]\nkind = \"packet\"\ncongestion = \"{control}\"\nloss = {{ probability = 0.0005, links = [\"host-0->switch\"] }}\n"
        ));
        let [drops, again, timeouts] =
            ["drops", "retransmissions", "timeouts"].map(|name| counter(&result, &format!("network.{name}")));
        assert_eq!((again, timeouts), (8, 0), "{control}: {drops}");
    }
}
