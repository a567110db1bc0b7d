//! Runs at packet level, and at flit level, of which bounds, time-outs and credit had once been wrong: they end, and no check is
//! broken.

use crate::common::{refusal, run};
use stratasim_transport::CongestionSpec;

/// One message between two leaves whose uplinks are slower than hosts.
fn leaves(spines: u32, network: &str) -> String {
    format!(
        "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = {spines}\nhosts-per-leaf = 1\nbandwidth = \"100 Gbps\"\n\
         uplink-bandwidth = \"50 Gbps\"\nlatency = \"500 ns\"\n\
         [workload]\nkind = \"traffic\"\nflows = 1\nsize = {{ kind = \"fixed\", bytes = \"4 MB\" }}\n\
         pattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n[network]\nkind = \"packet\"\n{network}"
    )
}

#[test]
fn a_message_that_changes_its_way_may_be_faster_than_one_way() {
    for spines in [1, 2] {
        for gap in ["0 ns", "100 ns", "1 us"] {
            run(&leaves(spines, &format!("balancing = {{ kind = \"flowlets\", gap = \"{gap}\" }}\n")));
        }
    }
    let repaired = "congestion = { kind = \"fixed-window\", factor = 100.0 }\nrecovery = { kind = \"sack\" }\n\
        balancing = { kind = \"per-flow\" }\nqueue = { kind = \"drop-tail\" }\nbuffer = \"8 MB\"\n\
        [network.faults]\ndown = [{ link = [\"leaf-0->spine-0\"], from = \"0 ns\", to = \"150 us\" }]\ndetection = \"0 ns\"\n";
    for seed in 1..8 {
        run(&format!("seed = {seed}\n{}", leaves(2, repaired)));
    }
}

#[test]
fn who_goes_back_asks_for_credit_for_what_it_repeats() {
    for seed in 1..40 {
        let result = run(&format!(
            "seed = {seed}\n[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 kB\"\niterations = 10\n\
             algorithm = {{ kind = \"ring\" }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"rccc\" }}\n\
             recovery = {{ kind = \"go-back-n\", timeout = \"1 ms\" }}\nqueue = {{ kind = \"drop-tail\" }}\n\
             connections = \"per-pair\"\nloss = {{ probability = 0.01 }}\n"
        ));
        // a few time-outs of a millisecond each
        assert!(result.makespan_s < 0.1, "seed {seed}: {} s", result.makespan_s);
    }
}

#[test]
fn a_buffer_that_no_queue_has_is_refused() {
    for queue in ["credit", "lossless"] {
        let text = format!(
            "[topology]\nkind = \"fat-tree\"\nk = 4\nbandwidth = \"1 Gbps\"\nlatency = \"0 ns\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"100 kB\"\nalgorithm = {{ kind = \"direct\" }}\n\
             [network]\nkind = \"packet\"\nqueue = {{ kind = \"{queue}\" }}\nbuffer = \"400 kB\"\n"
        );
        let said = refusal(&text).expect("refused");
        assert!(said.contains(&format!("queues of kind `{queue}` have rooms of their own")), "{said}");
    }
}

/// Messages between two hosts, one after the other on a cable or by a switch.
fn pair(cable: &str, workload: &str, network: &str) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nnodes = 2\n{cable}\n\
         [workload]\nkind = \"traffic\"\n{workload}\n[network]\nkind = \"packet\"\n{network}\n"
    )
}

/// Each direction of a half-duplex cable has half of its rate, and is busy with its own bytes.
#[test]
fn both_directions_of_a_half_duplex_cable_are_counted_each_by_itself() {
    let both = "flows = 2\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\npattern = { kind = \"list\", pairs = [[0, 1], [1, 0]] }";
    let cable = "bandwidth = \"100 Gbps\"\nlatency = \"1 us\"\nduplex = \"half\"";
    let result = run(&pair(cable, both, ""));
    // 1 MB and its headers at 50 Gb/s, and the acknowledgements of the other direction
    assert!((160e-6..170e-6).contains(&result.makespan_s), "{}", result.makespan_s);
}

/// Services are whole picoseconds: at some rates all of them are shorter than their bytes at the full rate.
#[test]
fn services_that_are_rounded_beat_no_bound() {
    let one = "flows = 1\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\npattern = { kind = \"list\", pairs = [[0, 1]] }";
    for rate in [3, 12, 28, 30, 43, 300, 1200, 7200] {
        let cable = format!("bandwidth = \"{rate} Gbps\"\nlatency = \"0 ns\"");
        let result = run(&pair(&cable, one, "congestion = { kind = \"fixed-window\", window = \"100 MB\" }"));
        let links = result.links.unwrap();
        assert!(links.iter().all(|link| link.utilisation <= 1.0), "{rate} Gb/s");
    }
}

/// What is merely under way on slow and on long links is not sent again, and no rate falls for ever.
#[test]
fn a_message_alone_waits_for_no_time_out() {
    for (bandwidth, latency, bytes) in [("1 Mbps", "1 us", "100 kB"), ("10 Gbps", "1 ms", "10 MB")] {
        let one = format!(
            "flows = 1\nsize = {{ kind = \"fixed\", bytes = \"{bytes}\" }}\npattern = {{ kind = \"list\", pairs = [[0, 1]] }}"
        );
        let cable = format!("bandwidth = \"{bandwidth}\"\nlatency = \"{latency}\"");
        for kind in ["fixed-window", "constant-rate", "dcqcn", "hpcc", "power-tcp", "timely"] {
            for recovery in ["", "recovery = { kind = \"irn\" }\n"] {
                let network = format!("congestion = {{ kind = \"{kind}\" }}\n{recovery}");
                let result = run(&pair(&cable, &one, &network));
                for count in ["network.timeouts", "network.retransmissions"] {
                    assert_eq!(result.counters[count], 0, "{bandwidth}, {kind}, {recovery}{count}");
                }
                let slower = result.flows.as_ref().unwrap().slowdown.mean;
                // it aims below what the link can, and 25 packets are few round trips to find that
                let most = if kind == "hpcc" { 1.3 } else { 1.001 };
                assert!(slower < most, "{bandwidth}, {kind}, {recovery}: {slower} times as long as alone");
            }
        }
    }
}

#[test]
fn a_message_with_a_limit_of_its_own_is_alone_as_slow() {
    let capped = "flows = 1\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\nrate-cap = \"1 Gbps\"\npattern = { kind = \"list\", pairs = [[0, 1]] }";
    let result = run(&pair("bandwidth = \"100 Gbps\"\nlatency = \"1 us\"", capped, ""));
    let slower = result.flows.unwrap().slowdown.mean;
    assert!((1.0..1.01).contains(&slower), "{slower}");
}

/// Eight senders that are limited to a tenth of the link into which they send leave nothing to trim, though the window of one of
/// them would let more go at once.
#[test]
fn a_limit_is_kept_by_senders_that_hand_over_their_window() {
    for preset in ["htsim", "htsim-constant", "htsim-swift-like"] {
        let result = run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 9\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"traffic\"\nflows = 8\nsize = {{ kind = \"fixed\", bytes = \"300 kB\" }}\n\
             rate-cap = \"10 Gbps\"\npattern = {{ kind = \"incast\" }}\n\
             [network]\nkind = \"packet\"\nqueue = {{ kind = \"trimming\" }}\n\
             congestion = {{ kind = \"mprdma\", preset = \"{preset}\" }}\n"
        ));
        assert_eq!(result.counters["network.trims"], 0, "{preset}");
    }
}

/// Connections of one host take turns: what the receiver has not spoken of yet, because it is worth no acknowledgement, is not sent
/// again.
#[test]
fn a_host_that_sends_to_many_waits_for_no_time_out() {
    let scatter = |network: &str| {
        run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 129\nbandwidth = \"400 Gbps\"\nlatency = \"500 ns\"\n\
             [workload]\nkind = \"collective\"\noperation = \"scatter\"\nbytes = \"32 MB\"\nalgorithm = {{ kind = \"direct\" }}\n\
             [network]\nkind = \"packet\"\n{network}\n"
        ))
    };
    for kind in CongestionSpec::KINDS {
        let result = scatter(&format!("congestion = {{ kind = \"{kind}\" }}"));
        for count in ["network.timeouts", "network.retransmissions", "network.drops", "network.trims"] {
            assert_eq!(result.counters[count], 0, "{kind}: {count}");
        }
    }
    // as htsim does it, where senders that time out while they wait for the host's link have two turns for one of the others
    let shortest_of_longest = |asks_in_time: bool| {
        let result = scatter(&format!(
            "recovery = {{ kind = \"trimming\", acknowledge-every = \"16 KiB\", asks-in-time = {asks_in_time} }}"
        ));
        let durations = result.flows.unwrap().duration_s;
        (result.counters["network.timeouts"], durations.min / durations.max)
    };
    let (timeouts, alike) = shortest_of_longest(true);
    assert!(timeouts == 0 && alike > 0.95, "{timeouts} time-outs, {alike}");
    let (timeouts, alike) = shortest_of_longest(false);
    assert!(timeouts > 1000 && alike < 0.9, "{timeouts} time-outs, {alike}");
}

/// Five hosts with a link to each of two switches, and 16 messages of 2 MB to the first.
#[test]
fn credit_fills_all_links_of_a_host() {
    let links: String = (0..5)
        .flat_map(|host| (0..2).map(move |switch| (host, switch)))
        .map(|(host, switch)| {
            format!("{{ from = \"h{host}\", to = \"s{switch}\", bandwidth = \"100 Gbps\", latency = \"1 us\" }},\n")
        })
        .collect();
    let hosts: String = (0..5).map(|host| format!("{{ name = \"h{host}\" }}, ")).collect();
    for kind in ["ndp", "eqds", "rccc", "nscc", "mprdma"] {
        let result = run(&format!(
            "[topology]\nkind = \"graph\"\nnodes = [{hosts}{{ name = \"s0\", kind = \"switch\" }}, {{ name = \"s1\", kind = \"switch\" }}]\n\
             links = [\n{links}]\n[workload]\nkind = \"traffic\"\npattern = {{ kind = \"incast\" }}\nflows = 16\n\
             size = {{ kind = \"fixed\", bytes = \"2 MB\" }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"{kind}\" }}\n"
        ));
        // 32 MB over 200 Gb/s
        assert!(result.makespan_s < 1.4e-3, "{kind}: {} s", result.makespan_s);
    }
}

/// Every packet that vanishes takes its pull with it, whoever finds out.
#[test]
fn pulls_of_what_a_gap_shows_lost_come_back() {
    for kind in ["ndp", "eqds", "rccc"] {
        for recovery in ["irn", "rltp", "trimming"] {
            let one = "flows = 1\nsize = { kind = \"fixed\", bytes = \"8 MB\" }\npattern = { kind = \"list\", pairs = [[0, 1]] }";
            let network = format!(
                "congestion = {{ kind = \"{kind}\" }}\nrecovery = {{ kind = \"{recovery}\" }}\n\
                 loss = {{ probability = 0.01, links = [\"host-0->switch\"] }}"
            );
            let result = run(&pair("bandwidth = \"100 Gbps\"\nlatency = \"1 us\"", one, &network));
            assert!(result.counters["network.lost_on_links"] > 5);
            // 0.65 ms without loss
            assert!(result.makespan_s < 1e-3, "{kind}, {recovery}: {} s", result.makespan_s);
        }
    }
}

/// A turn may grant more than a sender holds otherwise, where ways are short and packets small.
#[test]
fn credit_is_not_lost_on_short_ways() {
    for (payload, latency) in [(512, "100 ns"), (256, "0 ns"), (1024, "0 ns")] {
        let one = "flows = 1\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\npattern = { kind = \"list\", pairs = [[0, 1]] }";
        let cable = format!("bandwidth = \"10 Gbps\"\nlatency = \"{latency}\"");
        for kind in ["eqds", "rccc", "ndp"] {
            let network =
                format!("congestion = {{ kind = \"{kind}\" }}\npackets = {{ payload-bytes = {payload} }}");
            let result = run(&pair(&cable, one, &network));
            let slower = result.flows.unwrap().slowdown.mean;
            assert!(slower < 1.03, "{kind}, {payload} B over {latency}: {slower} times as long as alone");
        }
    }
}

#[test]
fn a_memory_slower_than_its_cable_takes_its_own_time_at_every_level() {
    for network in ["flow", "packet", "flit"] {
        let result = run(&format!(
            "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\", home-memory = \"p\" }}, {{ name = \"b\" }}, \
             {{ name = \"s\", kind = \"switch\" }}, {{ name = \"p\", kind = \"memory\", capacity = \"1 TiB\", bandwidth = \"4 GB/s\" }}]\n\
             links = [{{ from = \"a\", to = \"s\", bandwidth = \"32 GB/s\", latency = \"1 ns\" }}, \
             {{ from = \"b\", to = \"s\", bandwidth = \"32 GB/s\", latency = \"1 ns\" }}, \
             {{ from = \"p\", to = \"s\", bandwidth = \"16 GB/s\", latency = \"200 ns\" }}]\n\
             [workload]\nkind = \"graph\"\nvertices = [{{ name = \"m\", kind = \"compute\", rank = 0, \
             memory-bytes = \"1 MiB\", memory = \"home\" }}]\n[network]\nkind = \"{network}\"\n"
        ));
        assert!((262.1e-6..268e-6).contains(&result.makespan_s), "{network}: {} s", result.makespan_s);
    }
}

/// A switch that has stopped its senders has enough to send until what it lets go has arrived, whatever the delay of the link.
#[test]
fn lossless_links_never_run_empty_between_pauses() {
    for latency_us in [1, 6, 50] {
        let result = run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 3\nbandwidth = \"100 Gbps\"\nlatency = \"{latency_us} us\"\n\
             [workload]\nkind = \"traffic\"\nflows = 2\nsize = {{ kind = \"fixed\", bytes = \"40 MB\" }}\n\
             pattern = {{ kind = \"list\", pairs = [[0, 2], [1, 2]] }}\n[network]\nkind = \"packet\"\n\
             packets = {{ payload-bytes = 936 }}\nqueue = {{ kind = \"lossless\" }}\n\
             congestion = {{ kind = \"constant-rate\" }}\n"
        ));
        let pauses = result.counter("network.pauses").unwrap_or(0);
        assert!(pauses > 0, "{latency_us} us: nobody was stopped");
        // 1,000 bytes on the link for 936 of payload
        let bound_s = 80e6 / 0.936 * 8e-11 + 2e-6 * f64::from(latency_us);
        assert!(
            result.makespan_s < 1.01 * bound_s,
            "{latency_us} us: {} s, bound {bound_s}",
            result.makespan_s
        );
    }
}

/// Swift lets packets wait for its target: default buffers hold them, also on short ways.
#[test]
fn queues_hold_what_swift_lets_wait() {
    let result = run(
        "[topology]\nkind = \"single-switch\"\nnodes = 32\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
         [workload]\nkind = \"collective\"\noperation = \"gather\"\nalgorithm = { kind = \"direct\" }\nbytes = \"80 MB\"\n\
         [network]\nkind = \"packet\"\ncongestion = { kind = \"swift\" }\n",
    );
    let bound_s = 80e6 * 31.0 / 32.0 * 8e-11 * 4160.0 / 4096.0;
    assert!(result.makespan_s < 1.03 * bound_s, "{} s, bound {bound_s}", result.makespan_s);
}

/// Where nothing is lost, nothing is sent again, however many wait in the fabric.
#[test]
fn what_waits_in_a_lossless_fabric_is_not_lost() {
    for queue in ["lossless", "credit"] {
        for kind in [
            "ndp",
            "rccc",
            "eqds",
            "nscc",
            "mprdma",
            "swift",
            "dctcp",
            "hpcc",
            "power-tcp",
            "fixed-window",
            "aimd",
        ] {
            let result = run(&format!(
                "[topology]\nkind = \"single-switch\"\nnodes = 65\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
                 [workload]\nkind = \"collective\"\noperation = \"gather\"\nalgorithm = {{ kind = \"direct\" }}\n\
                 bytes = \"26 MB\"\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"{kind}\" }}\n\
                 queue = {{ kind = \"{queue}\" }}\n"
            ));
            assert_eq!(result.counter("network.retransmissions"), Some(0), "{kind}, {queue}");
            let bound_s = 26e6 * 64.0 / 65.0 * 8e-11 * 4160.0 / 4096.0;
            let ratio = result.makespan_s / bound_s;
            assert!(ratio < 1.1, "{kind}, {queue}: {ratio} times the bound");
        }
    }
}

/// The records of switches tell nothing of another way: HPCC begins anew where packets change theirs.
#[test]
fn hpcc_does_not_compare_the_links_of_different_ways() {
    for balancing in ["random", "least-queue", "round-robin", "ecmp"] {
        for seed in [1, 2] {
            let network = format!(
                "congestion = {{ kind = \"hpcc\" }}\nrecovery = {{ kind = \"rltp\" }}\nqueue = {{ kind = \"lossless\" }}\n\
                 balancing = {{ kind = \"{balancing}\" }}\n"
            );
            let text = leaves(2, &network).replace("\nuplink-bandwidth = \"50 Gbps\"", "");
            let result = run(&format!("seed = {seed}\n{text}"));
            let bound_s = 4e6 * 8e-11 * 4160.0 / 4096.0;
            let ratio = result.makespan_s / bound_s;
            assert!(ratio < 1.15, "{balancing}, seed {seed}: {ratio} times the bound");
        }
    }
}

/// A packet that is held up by others may be cut through where it would be stored alone: what nothing beats is less than what each task
/// takes alone. Every run checks that it is not faster than its bounds.
#[test]
fn chains_over_unlike_cut_through_links_are_no_longer_than_their_run() {
    let mut draws = stratasim_core::random::Draws::new(7);
    let mut closest = f64::INFINITY;
    // the first one is 4.93 ns faster than its longer message alone
    let random = (0..150).map(|_| {
        let mut one_of = |values: &[u64]| values[draws.below(values.len() as u32) as usize];
        let [hosts, uplinks] = [0; 2].map(|_| one_of(&[25, 40, 100, 200, 400, 800]));
        let bytes = [0; 2].map(|_| 4096 * one_of(&[0, 1, 1, 2, 3]) + one_of(&[1, 700, 1700, 2895, 4096]));
        ([hosts, uplinks], bytes, one_of(&[0, 64, 200]), one_of(&[0, 0, 10, 200]))
    });
    for ([hosts, uplinks], bytes, header, after) in
        std::iter::once(([400, 800], [6991, 4096], 0, 0)).chain(random)
    {
        let result = run(&format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts-per-leaf = 2\nlatency = \"1 us\"\n\
             bandwidth = \"{hosts} Gbps\"\nuplink-bandwidth = \"{uplinks} Gbps\"\n\
             [workload]\nkind = \"graph\"\nvertices = [\n\
             {{ name = \"a\", kind = \"communication\", source = 0, destination = 2, bytes = \"{} B\" }},\n\
             {{ name = \"wait\", kind = \"delay\", rank = 1, duration = \"{after} ns\" }},\n\
             {{ name = \"b\", kind = \"communication\", source = 1, destination = 3, bytes = \"{} B\" }},\n]\n\
             edges = [{{ from = \"wait\", to = \"b\" }}]\n\
             [network]\nkind = \"packet\"\nswitching = \"cut-through\"\nbalancing = {{ kind = \"per-flow\" }}\n\
             congestion = {{ kind = \"fixed-window\", factor = 20.0 }}\nrecovery = {{ kind = \"trimming\" }}\nbuffer = \"10 MB\"\n\
             packets = {{ header-bytes = {header} }}\n",
            bytes[0], bytes[1]
        ));
        let chain =
            result.bounds.iter().find(|bound| bound.name.starts_with("longest chain")).expect("a chain");
        closest = closest.min(result.makespan_s / chain.seconds);
    }
    // most of them take as long as one of their messages does alone
    assert!(closest < 1.0 + 1e-9, "{closest}");
}
