//! Packet-level runs in which credit was lost, came at the pace of another link, or losses counted more than once.

use crate::common::run;
use stratasim_report::RunResult;

fn switch(nodes: u32, workload: &str, network: &str) -> RunResult {
    run(&format!(
        "[topology]\nkind = \"single-switch\"\nnodes = {nodes}\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
         [workload]\n{workload}\n[network]\nkind = \"packet\"\n{network}\n"
    ))
}

/// Messages that share a connection take as long as with connections of their own.
#[test]
fn no_message_end_costs_credit() {
    let ring = "kind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = { kind = \"ring\" }\nbytes = \"256 KiB\"\niterations = 5";
    // EQDS asks anew for what a message lacks
    for (kind, most) in [("ndp", 1.1), ("eqds", 1.3), ("rccc", 1.1), ("nscc", 1.1)] {
        let took = |connections: &str| {
            let network = format!("congestion = {{ kind = \"{kind}\" }}\nconnections = \"{connections}\"");
            switch(8, ring, &network).makespan_s
        };
        let (apart, shared) = (took("per-message"), took("per-pair"));
        assert!(shared < most * apart, "{kind}: {shared} s for {apart}");
    }
}

/// Many messages of one pair, which come one by one or all at once.
#[test]
fn streams_of_small_messages_keep_their_credit() {
    let schedule = |count: u32, bytes: u32, pause_ns: u32| {
        let mut sends = String::new();
        let mut receives = String::new();
        for at in 0..count {
            sends += &format!("s{at}: send {bytes}b to 1 tag {at}\nc{at}: calc {pause_ns}\n");
            receives += &format!("r{at}: recv {bytes}b from 0 tag {at}\n");
            if at > 0 {
                sends += &format!("c{at} requires c{}\ns{at} requires c{}\n", at - 1, at - 1);
            }
        }
        format!("num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n")
    };
    let scratch = tempfile::tempdir().unwrap();
    for (count, bytes, pause) in
        [(200, 100, 0), (200, 5000, 0), (40, 100, 10_000), (16, 4096, 6000), (30, 32_768, 100_000)]
    {
        let file = scratch.path().join("x.goal");
        std::fs::write(&file, schedule(count, bytes, pause)).unwrap();
        let workload = format!("kind = \"goal\"\nfile = {:?}", file.to_str().unwrap());
        for kind in ["ndp", "eqds", "rccc"] {
            let network = format!("congestion = {{ kind = \"{kind}\" }}\nconnections = \"per-pair\"");
            let flows = switch(2, &workload, &network).flows.unwrap();
            // without credit, a request and its answer take a round trip
            let longest = if pause > 0 { flows.slowdown.max - 4.1e-6 / flows.duration_s.min } else { 1.0 };
            assert!(longest < 1.6, "{kind}, {count} of {bytes} bytes: {:?}", flows.slowdown);
            let took = flows.duration_s.max;
            // pulls come one in the time of a full packet
            let packets = f64::from(count * bytes.div_ceil(4096));
            let bound = packets * 4160.0 * 8e-11 * 1.05 + 10e-6;
            assert!(pause > 0 || took < bound, "{kind}, {count} of {bytes} bytes: {took} s, not {bound}");
        }
    }
}

/// Data comes by a link that is not the one by which its receiver answers, or not as fast.
#[test]
fn credit_comes_at_the_pace_of_the_link_of_the_data() {
    for kind in ["eqds", "rccc", "ndp", "nscc"] {
        let narrow_back = run(&format!(
            "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"s\", kind = \"switch\" }}]\n\
             links = [\n{{ from = \"a\", to = \"s\", bandwidth = \"100 Gbps\", latency = \"1 us\" }},\n\
             {{ from = \"s\", to = \"b\", bandwidth = \"100 Gbps\", latency = \"1 us\", duplex = \"simplex\" }},\n\
             {{ from = \"b\", to = \"s\", bandwidth = \"25 Gbps\", latency = \"1 us\", duplex = \"simplex\" }}]\n\
             [workload]\nkind = \"traffic\"\npattern = {{ kind = \"list\", pairs = [[0, 1]] }}\nflows = 1\n\
             size = {{ kind = \"fixed\", bytes = \"10 MB\" }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"{kind}\" }}\n"
        ));
        let slowdown = narrow_back.flows.unwrap().slowdown.max;
        assert!(slowdown < 1.03, "{kind}: {slowdown}");
        // by two links of host 0, or by one
        for (pairs, most) in [("[[5, 0], [13, 0]]", 1.03), ("[[5, 0], [7, 0]]", 2.05)] {
            let torus = run(&format!(
                "[topology]\nkind = \"torus\"\ndimensions = [4, 4]\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
                 [workload]\nkind = \"traffic\"\npattern = {{ kind = \"list\", pairs = {pairs} }}\nflows = 2\n\
                 size = {{ kind = \"fixed\", bytes = \"4 MB\" }}\n[network]\nkind = \"packet\"\n\
                 congestion = {{ kind = \"{kind}\" }}\nbalancing = {{ kind = \"routing\" }}\n"
            ));
            assert!(torus.counters["network.trims"] < 100, "{kind}, {pairs}: {:?}", torus.counters);
            let slowdown = torus.flows.unwrap().slowdown.max;
            assert!(slowdown < most, "{kind}, {pairs}: {slowdown}");
        }
    }
}

/// A gap of 3 us on the link: thirteen packets of a window are lost at once.
#[test]
fn what_is_lost_together_counts_once() {
    let gap = |network: &str| {
        switch(
            2,
            "kind = \"collective\"\noperation = \"gather\"\nalgorithm = { kind = \"direct\" }\nbytes = \"3 MB\"",
            &format!(
                "queue = {{ kind = \"drop-tail\" }}\n{network}\n\
                 faults = {{ detection = \"1 s\", down = [{{ link = \"host-1->switch\", from = \"50 us\", to = \"53 us\" }}] }}"
            ),
        )
    };
    for kind in ["timely", "hpcc", "dctcp", "mprdma", "cubic", "swift"] {
        let took = |recovery: &str| {
            let network = format!("congestion = {{ kind = \"{kind}\" }}\nrecovery = {{ {recovery} }}");
            gap(&network).makespan_s
        };
        let together = took("kind = \"trimming\", timeout = \"100 us\"");
        let apart = took("kind = \"sack\", min-timeout = \"100 us\"");
        // what is found by a time-out takes that long
        assert!(together < 2.0 * apart + 200e-6, "{kind}: {together} s, with sack {apart}");
    }
    // every report of the same gap
    for kind in ["cubic", "dctcp", "mprdma"] {
        let took = |nak: &str| {
            let recovery = format!("recovery = {{ kind = \"go-back-n\", nak = \"{nak}\" }}");
            gap(&format!("congestion = {{ kind = \"{kind}\" }}\n{recovery}")).makespan_s
        };
        let (always, once) = (took("always"), took("once-per-gap"));
        assert!(always < 1.1 * once, "{kind}: {always} s, reported once {once}");
    }
}

/// What is trimmed slows its sender down, whatever sends it again.
#[test]
fn trims_are_heeded_by_every_recovery() {
    let incast = "kind = \"traffic\"\nflows = 8\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\npattern = { kind = \"incast\" }";
    for recovery in ["go-back-n\", timeout = \"1 ms", "irn", "sack", "rltp", "trimming"] {
        let network = format!(
            "congestion = {{ kind = \"nscc\" }}\nrecovery = {{ kind = \"{recovery}\" }}\nqueue = {{ kind = \"trimming\" }}"
        );
        let flows = switch(9, incast, &network).flows.unwrap();
        let sent = flows.packets as f64 / (flows.bytes as f64 / 4096.0);
        assert!(sent < 1.5, "{recovery}: {sent} packets for one");
    }
}

/// A header that is kept is never longer than the packet was.
#[test]
fn small_packets_do_not_grow_when_they_are_trimmed() {
    let result = switch(
        3,
        "kind = \"traffic\"\nflows = 80\nsize = { kind = \"fixed\", bytes = \"1 B\" }\npattern = { kind = \"list\", pairs = [[0, 2], [1, 2]] }",
        "congestion = { kind = \"ndp\" }\nbuffer = \"110 B\"\npackets = { payload-bytes = 100, header-bytes = 8, control-bytes = 64 }",
    );
    assert!(result.counters["network.trims"] > 0);
    let data = result.counters["network.data_packets"];
    let carried =
        |name: &str| result.links.iter().flatten().find(|link| link.name == name).expect(name).bytes;
    assert!(carried("switch->host-2") <= (data * 9) as f64, "{} packets, {:?}", data, result.links);
}

/// Credit that is left over goes to each sender in turn, however often one asked in between. The instants are those of an
/// independent model, in which a sender has one place in the list of those that ask for nothing.
#[test]
fn what_is_left_over_is_given_in_turn() {
    let result = run(r#"
[topology]
kind = "graph"
nodes = [{ name = "h0" }, { name = "h1" }, { name = "h2" }, { name = "h3" }, { name = "s0", kind = "switch" }]
links = [
    { from = "h0", to = "s0", bandwidth = "40 Gbps", latency = "620151 ps" },
    { from = "h1", to = "s0", bandwidth = "40 Gbps", latency = "1031714 ps" },
    { from = "h2", to = "s0", bandwidth = "40 Gbps", latency = "1566696 ps" },
    { from = "h3", to = "s0", bandwidth = "40 Gbps", latency = "970202 ps" },
]

[workload]
kind = "graph"
vertices = [
    { name = "d0", kind = "delay", rank = 1, duration = "1 ps" },
    { name = "m0", kind = "communication", source = 1, destination = 0, bytes = "50000 B" },
    { name = "d1", kind = "delay", rank = 2, duration = "7144008 ps" },
    { name = "m1", kind = "communication", source = 2, destination = 0, bytes = "66000 B" },
    { name = "d2", kind = "delay", rank = 3, duration = "4709015 ps" },
    { name = "m2", kind = "communication", source = 3, destination = 0, bytes = "30000 B" },
]
edges = [{ from = "d0", to = "m0" }, { from = "d1", to = "m1" }, { from = "d2", to = "m2" }]

[network]
kind = "packet"
packets = { payload-bytes = 1000, header-bytes = 40 }
congestion = { kind = "eqds", credit-rate = 1.0 }
recovery = { kind = "trimming", timeout = "900 ms" }
queue = "trimming"
buffer = "1 GB"
entropy = "fixed"
ecn = { enabled = false }
"#);
    let flows = result.flows.expect("messages are followed");
    let ends = flows.slowest.iter().map(|message| (message.end_s * 1e12).round() as u64);
    let mut ends: Vec<u64> = ends.collect();
    ends.sort_unstable();
    assert_eq!(ends, [20_163_866, 23_907_866, 32_227_866]);
}
