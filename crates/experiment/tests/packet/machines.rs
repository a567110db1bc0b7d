//! What a machine is made of, and who runs on it: memory nodes, links that are down from the start, several jobs, handshakes.

use std::path::Path;

use crate::common::{run, run_in};
use stratasim_experiment::{Document, Prepared};

/// A graph of hosts and switches; links are from, to, and what else is said of them.
fn graph(hosts: &[&str], switches: &[&str], links: &[(&str, &str, &str)]) -> String {
    let hosts = hosts.iter().map(|host| format!("{{ name = \"{host}\" }}"));
    let switches = switches.iter().map(|switch| format!("{{ name = \"{switch}\", kind = \"switch\" }}"));
    let nodes: Vec<_> = hosts.chain(switches).collect();
    let link =
        |(from, to, rest): &(&str, &str, &str)| format!("{{ from = \"{from}\", to = \"{to}\", {rest} }}");
    let links: Vec<_> = links.iter().map(link).collect();
    format!("[topology]\nkind = \"graph\"\nnodes = [{}]\nlinks = [{}]\n", nodes.join(", "), links.join(", "))
}

/// A message from `a` to `b` by way of switches, beside a memory node that both are joined to, and by it alone.
#[test]
fn memory_nodes_pass_nothing_on() {
    let machine = |switches: &str, links: &str| {
        format!(
            "[topology]\nkind = \"graph\"\nnodes = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"m\", kind = \"memory\" }}{switches}]\n\
             links = [{{ from = \"a\", to = \"m\", bandwidth = \"10 Gbps\", latency = \"100 ns\" }}, \
             {{ from = \"m\", to = \"b\", bandwidth = \"10 Gbps\", latency = \"100 ns\" }}{links}]\n\
             [workload]\nkind = \"traffic\"\nflows = 8\nsize = {{ kind = \"fixed\", bytes = \"1 MB\" }}\n\
             pattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n[network]\nkind = \"packet\"\n"
        )
    };
    let link = |from: &str, to: &str| {
        format!(", {{ from = \"{from}\", to = \"{to}\", bandwidth = \"10 Gbps\", latency = \"100 ns\" }}")
    };
    let switch = |name: &str| format!(", {{ name = \"{name}\", kind = \"switch\" }}");
    // as long by the memory node, and longer
    let one = machine(&switch("s"), &(link("a", "s") + &link("s", "b")));
    let two = machine(&(switch("s") + &switch("t")), &(link("a", "s") + &link("s", "t") + &link("t", "b")));
    for text in [one, two] {
        let result = run(&text);
        let through = result.links.iter().flatten().filter(|link| link.bytes > 0.0);
        let mut through = through.flat_map(|link| [&link.from, &link.to]);
        assert!(through.all(|node| node != "m"), "{text}");
        // 8 MB at 10 Gb/s
        assert!(result.makespan_s > 6.4e-3, "{}", result.makespan_s);
    }
    let refused = std::panic::catch_unwind(|| run(&machine("", "")));
    assert!(refused.is_err(), "there is no way but through the memory node");
}

/// A mesh of 2 x 2 has two ways round, one of which is known to be dead before anything is sent.
#[test]
fn a_link_that_is_dead_from_the_start_is_avoided() {
    for seed in 1..=6 {
        let result = run(&format!(
            "seed = {seed}\n[topology]\nkind = \"mesh\"\ndimensions = [2, 2]\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
             [workload]\nkind = \"traffic\"\nflows = 1\nsize = {{ kind = \"fixed\", bytes = \"100 kB\" }}\n\
             pattern = {{ kind = \"list\", pairs = [[0, 3]] }}\n[network]\nkind = \"packet\"\n\
             faults = {{ down = [{{ link = \"host-0->host-1\", from = \"0 ns\" }}], detection = \"0 ns\" }}\n"
        ));
        assert!(result.makespan_s < 12e-6, "{seed}: {}", result.makespan_s);
        assert_eq!(result.counters["network.lost_on_down_links"], 0);
    }
}

/// Jobs on leaves of their own share no link, whatever way is drawn.
#[test]
fn jobs_that_share_nothing_run_as_if_alone() {
    for (congestion, seed) in [("dcqcn", 3), ("hpcc", 3), ("dctcp", 3), ("swift", 1)] {
        let result = run(&format!(
            "seed = {seed}\n[topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 4\nhosts-per-leaf = 4\n\
             bandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
             [[job]]\nname = \"a\"\nworkload = {{ kind = \"goal\", pattern = {{ kind = \"ring-allreduce\" }}, ranks = 8, bytes = \"800 kB\" }}\n\
             [[job]]\nname = \"b\"\nworkload = {{ kind = \"goal\", pattern = {{ kind = \"linear-alltoall\" }}, ranks = 8, bytes = \"100 kB\" }}\n\
             [jobs]\nplacement = {{ kind = \"packed\" }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"{congestion}\" }}\n"
        ));
        let slowdowns: Vec<f64> = result.jobs.iter().filter_map(|job| job.slowdown).collect();
        assert_eq!(slowdowns, [1.0, 1.0], "{congestion}");
    }
}

/// Announcements and answers belong to their message.
#[test]
fn a_handshake_is_no_message_of_its_own() {
    let flows = |limit: &str| {
        let result = run(&format!(
            "[topology]\nkind = \"single-switch\"\nnodes = 4\nbandwidth = \"100 Gbps\"\nlatency = \"500 ns\"\n\
             [workload]\nkind = \"goal\"\npattern = {{ kind = \"ring-allreduce\" }}\nranks = 4\nbytes = \"1 MB\"\n\
             [execution]\neager-limit = \"{limit}\"\n[network]\nkind = \"packet\"\n"
        ));
        result.flows.expect("messages were sent")
    };
    let (eager, announced) = (flows("1 GB"), flows("1 kB"));
    assert_eq!((announced.count, announced.bytes), (eager.count, eager.bytes));
    assert!(announced.duration_s.min > 0.5 * eager.duration_s.min);
}

/// Platforms of SimGrid have loopbacks, which no message of packets uses; where links stand in routes alone, that is said.
#[test]
fn a_platform_with_cables_runs_whatever_loopbacks_it_has() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/simgrid-xml");
    let text = |name: &str, network: &str| {
        format!(
            "[topology]\nkind = \"simgrid-xml\"\npath = \"{folder}/{name}.xml\"\n[network]\nkind = \"{network}\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n"
        )
    };
    for network in ["packet", "flit"] {
        // how many links stand in routes alone, such as limiters and routes of several links
        let platforms = [
            ("torus", 0),
            ("torus-odd", 24),
            ("torus-shared", 16),
            ("dijkstra", 2),
            ("nested", 0),
            ("fattree", 0),
            ("fat-tree-parallel", 0),
            ("fat-tree-limiter", 12),
            ("dragonfly", 0),
            ("dragonfly-shared", 54),
        ];
        for (name, left_out) in platforms {
            let (result, fluid) = (run(&text(name, network)), run(&text(name, "flow")));
            let ratio = result.makespan_s / fluid.makespan_s;
            // SimGrid counts what acknowledgements take, and shares what is half-duplex here
            assert!((0.8..4.5).contains(&ratio), "{name}, {network}: {ratio}");
            let told = result.notes.iter().find(|note| note.contains("in routes alone"));
            let count =
                told.map_or(0, |note| note.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(1));
            assert_eq!(count, left_out, "{name}: {:?}", result.notes);
        }
        let document = Document::parse("test.toml", &text("full", network)).expect("an experiment");
        let error = Prepared::new(&document, Path::new("")).err().expect("it has no cables").to_string();
        assert!(error.contains("all of its 4 links (l1, ...) stand in routes alone"), "{error}");
        // fat pipes are no cables either
        let folder = tempfile::tempdir().unwrap();
        let platform = "<?xml version='1.0'?><platform version='4.1'><zone id='z' routing='Full'>\
             <host id='a' speed='1Gf'/><host id='b' speed='1Gf'/>\
             <link id='l' bandwidth='1GBps' latency='1us' sharing_policy='FATPIPE'/>\
             <route src='a' dst='b'><link_ctn id='l'/></route></zone></platform>";
        std::fs::write(folder.path().join("p.xml"), platform).unwrap();
        let text = format!(
            "[topology]\nkind = \"simgrid-xml\"\npath = \"p.xml\"\n[network]\nkind = \"{network}\"\n\
             [workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"1 MB\"\n"
        );
        let document = Document::parse("test.toml", &text).expect("an experiment");
        let error = Prepared::new(&document, folder.path()).err().expect("it has no cables").to_string();
        assert!(
            error.contains("its only link (l) stands in routes alone")
                || error.contains("link l: a fat pipe"),
            "{error}"
        );
    }
}

/// Minimal ways of a dragonfly cross at most one cable between groups, though one through a third group may be as short.
#[test]
fn packets_cross_a_dragonfly_by_one_global_cable() {
    let text = |network: &str, extra: &str, pair: [u32; 2]| {
        format!(
            "[topology]\nkind = \"dragonfly\"\nhosts-per-router = 1\nrouters-per-group = 4\nglobal-links-per-router = 2\n\
             bandwidth = \"400 Gbps\"\nlocal-latency = \"100 ns\"\nglobal-latency = \"1 us\"\nlatency = \"100 ns\"\n\
             [workload]\nkind = \"graph\"\nvertices = [{{ name = \"x\", kind = \"communication\", ranks = [{}], destination = {}, \
             bytes = \"4 kB\" }}]\n[network]\nkind = \"{network}\"\n{extra}\n",
            pair[0], pair[1]
        )
    };
    for source in 1..36 {
        let packet = run(&text("packet", "", [source, 0]));
        let flow = run(&text("flow", "", [source, 0])).makespan_s;
        // a packet is stored five times at most
        assert!(packet.makespan_s < flow + 0.5e-6, "{source}: {} {flow}", packet.makespan_s);
        let carried: Vec<f64> = packet.links.expect("it has links").iter().map(|link| link.bytes).collect();
        assert!(carried.iter().all(|&bytes| bytes == 0.0 || bytes >= 64.0), "{source}: {carried:?}");
    }
}

/// Inside a box with a fast network messages do not take turns between it and the slow one that leads out of the box.
#[test]
fn slower_nics_have_no_turn() {
    let box_of = |network: &str| {
        let (fast, slow) =
            (r#"bandwidth = "900 GB/s", latency = "100 ns""#, r#"bandwidth = "12.5 GB/s", latency = "5 us""#);
        let hosts = ["a", "b", "c"];
        let links: Vec<_> =
            hosts.iter().flat_map(|host| [(*host, "fast", fast), (*host, "slow", slow)]).collect();
        let machine = graph(&hosts, &["fast", "slow"], &links);
        let text = "[workload]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = { kind = \"ring\" }\nbytes = \"6 MB\"\n";
        run(&format!("{machine}{text}[network]\nkind = \"{network}\"\n"))
    };
    let (packet, flow) = (box_of("packet"), box_of("flow"));
    assert!(packet.makespan_s < 1.1 * flow.makespan_s, "{} {}", packet.makespan_s, flow.makespan_s);
}

/// Two planes by which each host has two cables: whatever the order of the messages, the NICs of a choice carry as many.
#[test]
fn nics_of_a_plane_take_turns_among_themselves() {
    let cable = r#"bandwidth = "100 Gbps", latency = "1 us", parallel = 2"#;
    let hosts = ["a", "b", "c", "d", "e"];
    let links: Vec<_> = hosts.iter().flat_map(|host| [(*host, "s", cable), (*host, "t", cable)]).collect();
    let machine = graph(&hosts, &["s", "t"], &links);
    let carried = |messages: &[(u32, u32)]| {
        let vertex = |(number, (from, to)): (usize, &(u32, u32))| {
            format!(
                "{{ name = \"m{number}\", kind = \"communication\", source = {from}, destination = {to}, bytes = \"100 kB\" }}"
            )
        };
        let vertices: Vec<String> = messages.iter().enumerate().map(vertex).collect();
        let text = format!("[workload]\nkind = \"graph\"\nvertices = [{}]\n", vertices.join(", "));
        let result =
            run(&format!("{machine}{text}[network]\nkind = \"packet\"\ncongestion = \"fixed-window\"\n"));
        let links = result.links.unwrap();
        move |from: &str, to: &str| -> Vec<f64> {
            let between = links.iter().filter(|link| link.from == from && link.to == to);
            // acknowledgements are small
            let mut bytes: Vec<f64> = between.map(|link| (link.bytes / 100_000.0).floor()).collect();
            bytes.sort_by(f64::total_cmp);
            bytes
        }
    };
    // four of each of four hosts to the first: host by host, and all in turn
    let by_host: Vec<(u32, u32)> = (1..5).flat_map(|from| [(from, 0); 4]).collect();
    let in_turn: Vec<(u32, u32)> = (0..4).flat_map(|_| (1..5).map(|from| (from, 0))).collect();
    for messages in [by_host, in_turn] {
        let carried = carried(&messages);
        for plane in ["s", "t"] {
            assert_eq!(carried(plane, "a"), [4.0, 4.0], "{messages:?}");
            assert_eq!(carried("c", plane), [1.0, 1.0], "{messages:?}");
        }
    }
}

/// The flow level says that it does not know NICs where a schedule names some.
#[test]
fn flows_tell_that_nics_are_not_known() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("two.goal"),
        "num_ranks 2\nrank 0 {\na: send 320000b to 1 tag 1 nic 0\nb: send 320000b to 1 tag 2 nic 1\n}\n\
         rank 1 {\na: recv 320000b from 0 tag 1 nic 0\nb: recv 320000b from 0 tag 2 nic 1\n}\n",
    )
    .unwrap();
    let notes = |topology: &str| {
        let text = format!(
            "{topology}\n[workload]\nkind = \"goal\"\nfile = \"two.goal\"\n[network]\nkind = \"flow\"\n"
        );
        run_in(&text, folder.path()).notes.join("\n")
    };
    let cable = r#"bandwidth = "32 GB/s", latency = "1 ns""#;
    let links = [("a", "s0", cable), ("a", "s1", cable), ("b", "s0", cable), ("b", "s1", cable)];
    let two = graph(&["a", "b"], &["s0", "s1"], &links);
    assert!(notes(&two).contains("NICs"), "{}", notes(&two));
    let one = "[topology]\nkind = \"single-switch\"\nnodes = 2\nbandwidth = \"32 GB/s\"\nlatency = \"1 ns\"";
    assert!(!notes(one).contains("NICs"), "{}", notes(one));
}

/// Two ways from `a` to `b` that meet again: a fast far one and a slow near one; whichever its packets take, a message alone is not
/// faster than the least time that is known of it, which a check of every run asks.
#[test]
fn the_least_time_is_that_of_any_way_where_ways_meet() {
    let two_ways = |far: &str, near: &str, last: &str, bytes: u32, network: &str, seed: u32| {
        let fast = r#"bandwidth = "100 Gbps", latency = "100 ns""#;
        let links = [
            ("a", "s1", fast),
            ("s1", "m1", far),
            ("m1", "s2", far),
            ("s1", "m2", near),
            ("m2", "s2", near),
            ("s2", "s3", fast),
            ("s3", "b", last),
        ];
        let machine = graph(&["a", "b"], &["s1", "m1", "m2", "s2", "s3"], &links);
        run(&format!(
            "seed = {seed}\n{machine}[workload]\nkind = \"traffic\"\nflows = 1\nsize = {{ kind = \"fixed\", bytes = \"{bytes} B\" }}\n\
             pattern = {{ kind = \"list\", pairs = [[0, 1]] }}\n[network]\nkind = \"packet\"\n{network}\n"
        ))
        .makespan_s
    };
    let last = "bandwidth = \"10 Gbps\", latency = \"100 ns\"";
    let mut times = Vec::new();
    for seed in 1..9 {
        let spread = "congestion = { kind = \"constant-rate\" }\nrecovery = { kind = \"irn\" }\nbalancing = { kind = \"random\" }";
        let near = "bandwidth = \"4 Gbps\", latency = \"100 ns\"";
        two_ways("bandwidth = \"100 Gbps\", latency = \"1 us\"", near, last, 4097, spread, seed);
        let one = "congestion = { kind = \"constant-rate\" }\nrecovery = { kind = \"none\" }\nqueue = { kind = \"lossless\" }\n\
                   balancing = { kind = \"per-flow\" }";
        times.push(two_ways("bandwidth = \"100 Gbps\", latency = \"10 us\"", last, last, 81_920, one, seed));
    }
    let spread = times.iter().copied().fold(0.0, f64::max) - times.iter().copied().fold(1.0, f64::min);
    assert!(spread > 5e-6, "both ways were taken: {times:?}");
}

/// A request for credit goes in the first class, whatever the class of its message, and waits where that has no leave.
#[test]
fn requests_wait_for_leave_of_the_class_in_which_they_go() {
    let (slow, fast) =
        (r#"bandwidth = "10 Gbps", latency = "500 ns""#, r#"bandwidth = "100 Gbps", latency = "500 ns""#);
    let links = [("h0", "s", slow), ("h1", "s", fast), ("h2", "s", fast)];
    let machine = graph(&["h0", "h1", "h2"], &["s"], &links);
    for (seed, congestion, queue) in
        [(38, "eqds", "lossless"), (356, "eqds", "credit"), (90, "rccc", "credit")]
    {
        let result = run(&format!(
            "seed = {seed}\n{machine}[workload]\nkind = \"traffic\"\nflows = 91\nsize = {{ kind = \"uniform\", min = \"1 kB\", max = \"60 kB\" }}\n\
             pattern = {{ kind = \"incast\", fan-in = 2 }}\n[network]\nkind = \"packet\"\ncongestion = {{ kind = \"{congestion}\" }}\n\
             queue = {{ kind = \"{queue}\", control-first = true }}\nclasses = [{{ up-to = \"30 kB\" }}, {{}}]\n\
             recovery = {{ kind = \"rltp\" }}\nconnections = \"per-pair\"\n"
        ));
        assert_eq!(result.flows.expect("messages").count, 91, "{congestion} {queue}");
    }
}

/// Receivers that go on giving credit do not hide that links stop each other in a circle.
#[test]
fn a_circle_is_found_though_receivers_give_credit_for_ever() {
    let text = "seed = 241\ntopology = { kind = \"torus\", dimensions = [4], bandwidth = \"200 Gbps\", latency = \"700 ns\" }\n\
                workload = { kind = \"traffic\", flows = 200, size = { kind = \"uniform\", min = \"0 B\", max = \"10 kB\" }, \
                pattern = { kind = \"uniform-random\" }, arrivals = { kind = \"poisson\", load = 0.2, rate = \"200 Gbps\" } }\n\
                network = { kind = \"packet\", congestion = { kind = \"eqds\" }, preset = \"htsim\", recovery = { kind = \"sack\" }, \
                queue = { kind = \"credit\", control-first = false, receive-buffer = \"1128 B\" }, packets = { payload-bytes = 500 } }\n";
    let document = Document::parse("test.toml", text).expect("an experiment");
    let mut prepared = Prepared::new(&document, Path::new("")).expect("it can be run");
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let ended = prepared.run(&mut stratasim_core::observe::Blind, std::time::Instant::now());
    let error = ended.expect_err("it cannot end").to_string();
    assert!(error.contains("stop each other in a circle"), "{error}");
}

/// Pulls of receivers keep links busy that hold two packets, and no data ever gets a turn: that is no run without an end.
#[test]
fn receivers_that_alone_keep_links_busy_are_found() {
    let text = "topology = { kind = \"torus\", dimensions = [3], bandwidth = \"100 Gbps\", latency = \"500 ns\" }\n\
                workload = { kind = \"collective\", operation = \"all-to-all\", bytes = \"100 kB\", algorithm = { kind = \"direct\" } }\n\
                network = { kind = \"packet\", congestion = { kind = \"eqds\" }, preset = \"htsim\", \
                queue = { kind = \"credit\", receive-buffer = \"1128 B\" }, packets = { payload-bytes = 500 } }\n";
    let document = Document::parse("test.toml", text).expect("an experiment");
    let mut prepared = Prepared::new(&document, Path::new("")).expect("it can be run");
    #[allow(clippy::disallowed_methods, reason = "the wall time is part of a result")]
    let ended = prepared.run(&mut stratasim_core::observe::Blind, std::time::Instant::now());
    let error = ended.expect_err("it cannot end").to_string();
    assert!(error.contains("receivers alone go on"), "{error}");
}

/// Two planes whose cables differ by a nanosecond are two NICs at flit level, too, as ways of as many hops.
#[test]
fn planes_of_slightly_different_cables_are_all_used() {
    let planes = |rate: &str| {
        let near = r#"bandwidth = "100 Gbps", latency = "10 ns""#;
        let far = &format!("bandwidth = \"{rate}\", latency = \"11 ns\"");
        let links = [("a", "s", near), ("a", "t", far), ("b", "s", near), ("b", "t", far)];
        let mut text = graph(&["a", "b"], &["s", "t"], &links);
        text += "[workload]\nkind = \"graph\"\nvertices = [";
        for vertex in 0..4 {
            text += &format!(
                "{{ name = \"m{vertex}\", kind = \"communication\", source = 0, destination = 1, bytes = \"100 kB\" }}, "
            );
        }
        run(&format!("{text}]\n[network]\nkind = \"flit\"\n")).makespan_s
    };
    let (both, one) = (planes("100 Gbps"), planes("25 Gbps"));
    assert!((both - 16e-6).abs() < 0.5e-6 && (one - 32e-6).abs() < 0.5e-6, "{both} {one}");
}

/// Two equal ways between two switches of three hosts each: which one a pair takes is a matter of its ends, and the same at
/// all levels, whatever else is sent and whether routes of other pairs are given. Not all pairs take the same.
#[test]
fn equal_ways_are_chosen_by_the_ends_alone() {
    let rate = r#"bandwidth = "10 GB/s", latency = "1 us""#;
    let links = [
        ("a", "l", rate),
        ("b", "l", rate),
        ("c", "l", rate),
        ("d", "r", rate),
        ("e", "r", rate),
        ("f", "r", rate),
        ("l", "x", rate),
        ("l", "y", rate),
        ("x", "r", rate),
        ("y", "r", rate),
    ];
    let machine = graph(&["a", "b", "c", "d", "e", "f"], &["l", "r", "x", "y"], &links);
    let given = format!("{machine}routes = [{{ from = \"a\", to = \"b\", links = [\"a->l\", \"l->b\"] }}]\n");
    let mut ways = Vec::new();
    for (source, destination) in
        (0..3).flat_map(|source| (3..6).map(move |destination| (source, destination)))
    {
        let way = |machine: &str, others: u32, network: &str| {
            let mut text = format!("{machine}[workload]\nkind = \"graph\"\nvertices = [");
            for other in 0..others {
                text += &format!(
                    "{{ name = \"p{other}\", kind = \"communication\", source = 0, destination = 1, bytes = \"1 kB\" }}, "
                );
            }
            text += &format!(
                "{{ name = \"m\", kind = \"communication\", source = {source}, destination = {destination}, bytes = \"1 MB\" }}]\n"
            );
            let result = run(&format!("{text}[network]\n{network}\n"));
            let mut used = result.links.unwrap();
            used.retain(|link| link.bytes > 900e3 && link.name.starts_with("l->"));
            assert_eq!(used.len(), 1, "one way");
            used.remove(0).name
        };
        let first = way(&machine, 0, "kind = \"flow\"");
        for others in 0..if source == 0 { 4 } else { 1 } {
            for network in [
                "kind = \"flow\"",
                "kind = \"packet\"\nbalancing = \"routing\"",
                "kind = \"flit\"\nrouting = \"table\"",
            ] {
                for machine in [&machine, &given] {
                    assert_eq!(way(machine, others, network), first, "{destination} {others} {network}");
                }
            }
        }
        ways.push(first);
    }
    ways.sort_unstable();
    ways.dedup();
    assert_eq!(ways.len(), 2, "{ways:?}");
}
