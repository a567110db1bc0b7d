//! Nothing is marked, sent again or given credit for without a cause: cables between hosts, flows alone, doubled packets.

use crate::common::run;

/// A machine without switches, and messages between all of its nodes.
fn cables(nodes: u32, rate: &str, latency: &str, network: &str) -> String {
    format!(
        "[topology]\nkind = \"fully-connected\"\nnodes = {nodes}\nbandwidth = \"{rate}\"\nlatency = \"{latency}\"\n\
         [workload]\nkind = \"collective\"\noperation = \"all-to-all\"\nbytes = \"1 MB\"\n\
         [network]\nkind = \"packet\"\n{network}\n"
    )
}

/// An acknowledgement that waits behind a packet of the other direction is not late.
#[test]
fn nothing_times_out_on_a_cable() {
    for kind in ["rccc", "nscc", "ndp", "eqds", "mprdma", "dctcp", "swift"] {
        for (nodes, rate, latency, sizes) in [
            (2, "1 Gbps", "1 us", ""),
            (2, "1 Gbps", "10 us", ""),
            (4, "1 Gbps", "1 us", ""),
            (4, "1 Gbps", "100 us", ""),
            (4, "10 Gbps", "1 us", "packets = { payload-bytes = 65535 }"),
        ] {
            let network = format!("congestion = {{ kind = \"{kind}\" }}\n{sizes}");
            let result = run(&cables(nodes, rate, latency, &network));
            for count in ["timeouts", "retransmissions"] {
                let count = result.counters[&format!("network.{count}")];
                assert_eq!(count, 0, "{kind}, {nodes} nodes, {rate}, {latency}, {sizes}");
            }
        }
    }
}

/// The port of a host that serves nobody else is no queue of a switch.
#[test]
fn no_host_marks_what_it_sends_itself() {
    let flows = "[workload]\nkind = \"traffic\"\nflows = 8\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\n\
                 pattern = { kind = \"shift\" }\n";
    let network = "[network]\nkind = \"packet\"\ncongestion = { kind = \"dcqcn\" }\nqueue = { kind = \"lossless\" }\n\
                   ecn = { min = \"0 B\", max = \"0 B\" }\n";
    let cable =
        "[topology]\nkind = \"fully-connected\"\nnodes = 2\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n";
    let result = run(&format!("{cable}{flows}{network}"));
    assert_eq!(result.counters["network.marks"], 0);
    // those of hosts that forward are queues
    let chain =
        "[topology]\nkind = \"mesh\"\ndimensions = [3]\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n";
    let through = flows.replace("kind = \"shift\"", "kind = \"list\", pairs = [[0, 2], [1, 2]]");
    let result = run(&format!("{chain}{through}{network}"));
    assert!(result.counters["network.marks"] > 0);
}

/// A packet that arrives as the one before it leaves has not waited for it, whatever account of room a switch keeps.
#[test]
fn a_flow_alone_leaves_nothing_behind() {
    let one = |queue: &str| {
        run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 3\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"traffic\"\nflows = 1\nsize = {{ kind = \"fixed\", bytes = \"2 MB\" }}\n\
             pattern = {{ kind = \"shift\" }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"dctcp\" }}\n\
             recovery = {{ kind = \"sack\" }}\necn = {{ min = \"4 kB\", max = \"4 kB\" }}\n{queue}\n"
        ))
    };
    let alone = one("queue = { kind = \"drop-tail\" }");
    for queue in [
        "queue = { kind = \"lossless\" }",
        "queue = { kind = \"credit\" }",
        "queue = { kind = \"drop-tail\" }\nbuffer-sharing = { alpha = 1.0 }",
    ] {
        let result = one(queue);
        assert_eq!(result.counters["network.marks"], 0, "{queue}");
        assert!((result.makespan_s / alone.makespan_s - 1.0).abs() < 1e-9, "{queue}");
    }
}

/// Who is pulled for a packet twice, and for one that was taken for lost and is merely late, has no more under way for ever.
#[test]
fn doubled_packets_bring_no_credit_without_end() {
    for faults in [
        "duplication = { probability = 0.02 }",
        "duplication = { probability = 0.1 }",
        "reordering = { probability = 0.1, delay = \"20 us\" }",
    ] {
        for payload in [32, 64, 4096] {
            let result = run(&format!(
                "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 2\nbandwidth = \"10 Gbps\"\n\
                 latency = \"100 ns\"\n[workload]\nkind = \"traffic\"\nflows = 1\nsize = {{ kind = \"fixed\", bytes = \"1 MB\" }}\n\
                 pattern = {{ kind = \"list\", pairs = [[0, 2]] }}\n[network]\nkind = \"packet\"\n\
                 congestion = {{ kind = \"ndp\" }}\npackets = {{ payload-bytes = {payload} }}\nfaults = {{ {faults} }}\n"
            ));
            let needed = 1_000_000_u64.div_ceil(payload);
            let sent = result.counters["network.data_packets"];
            assert!(sent < 3 * needed, "{faults}, {payload} B: {sent} of {needed}");
        }
    }
}

/// Adapters of lossless fabrics time out where queues stand for longer, and a reader hears of it.
#[test]
fn time_outs_in_vain_are_told() {
    let incast = |rate: &str| {
        run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 9\nbandwidth = \"{rate}\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"traffic\"\nflows = 8\nsize = {{ kind = \"fixed\", bytes = \"1 MB\" }}\n\
             pattern = {{ kind = \"incast\", fan-in = 8 }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"dcqcn\" }}\n"
        ))
    };
    let slow = incast("10 Mbps");
    assert!(slow.counters["network.timeouts"] > 0);
    assert!(slow.notes.iter().any(|note| note.contains("though nothing is lost here")), "{:?}", slow.notes);
    assert!(incast("100 Gbps").notes.iter().all(|note| !note.contains("though nothing")));
}

/// Where packets overtake each other and go-back-N gives up what is early, a reader hears of that, not of queues.
#[test]
fn order_that_is_lost_is_told() {
    let run = |balancing: &str| {
        run(&format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts-per-leaf = 4\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-to-all\"\nbytes = \"1 MB\"\n[network]\nkind = \"packet\"\n\
             recovery = {{ kind = \"go-back-n\" }}\nbalancing = {{ kind = \"{balancing}\" }}\n"
        ))
    };
    let spread = run("random");
    assert!(spread.counters["network.retransmissions"] > 0);
    let told = spread.notes.iter().any(|note| note.contains("go-back-N gives up what is early"));
    assert!(told, "{:?}", spread.notes);
    let one_way = run("per-flow");
    assert_eq!(one_way.counters["network.retransmissions"], 0, "the advice helps");
    assert!(one_way.notes.iter().all(|note| !note.contains("nothing is lost here")), "{:?}", one_way.notes);
}

/// So does one of a fabric in which some packets are lost, too.
#[test]
fn order_that_is_lost_is_told_beside_losses() {
    let run = |balancing: &str, queue: &str, faults: &str| {
        run(&format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 4\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-to-all\"\nbytes = \"1 MB\"\n[network]\nkind = \"packet\"\n\
             recovery = \"go-back-n\"\nqueue = \"{queue}\"\nbalancing = \"{balancing}\"\nfaults = {{ {faults} }}\n"
        ))
    };
    let fails = "down = [{ link = [\"leaf-0->spine-0\"], from = \"5 us\", to = \"20 us\" }]";
    for (queue, faults) in [("lossless", fails), ("drop-tail", "")] {
        let spread = run("random", queue, faults);
        let lost = spread.counters["network.drops"] + spread.counters["network.lost_on_down_links"];
        assert!(spread.counters["network.retransmissions"] > 2 * lost, "{queue}");
        let told = spread.notes.iter().find(|note| note.contains("go-back-N gives up what is early"));
        let told = told.unwrap_or_else(|| panic!("{queue}: {:?}", spread.notes));
        assert!(told.contains(&format!("only {lost} packets were dropped or lost")), "{told}");
        // what losses alone ask for is no matter of order
        let one_way = run("per-flow", queue, faults);
        assert!(one_way.notes.iter().all(|note| !note.contains("go-back-N")), "{:?}", one_way.notes);
    }
}

/// Links that lose packets turn nobody from its way; one that goes down meanwhile may.
#[test]
fn the_way_of_a_message_is_known_though_links_lose() {
    let way = |network: &str| {
        let result = run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 3\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"\n\
             [workload]\nkind = \"traffic\"\nflows = 1\nsize = {{ kind = \"fixed\", bytes = \"10 kB\" }}\n\
             pattern = {{ kind = \"list\", pairs = [[0, 2]] }}\n[network]\nkind = \"packet\"\n{network}\n"
        ));
        result.flows.unwrap().slowest[0].path.clone()
    };
    let whole = ["host-0->switch", "switch->host-2"];
    assert_eq!(way(""), whole);
    assert_eq!(way("loss = { probability = 0.01 }"), whole);
    assert_eq!(way("faults = { corruption = { probability = 0.01 } }"), whole);
    let down =
        |from: &str| format!("faults = {{ down = [{{ link = [\"host-1->switch\"], from = \"{from}\" }}] }}");
    assert_eq!(way(&down("1 us")), whole[..1]);
    assert_eq!(way(&down("1 s")), whole);
}
