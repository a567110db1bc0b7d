//! What observers hear of links at flow and packet level: all that they carried, and at no time more than they can.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{run, watch_in};
use stratasim_core::LinkId;
use stratasim_core::observe::{Event, Interests, Observer};

#[derive(Default)]
struct Watch {
    /// By link: start, end, bytes.
    uses: BTreeMap<LinkId, Vec<(u64, u64, f64)>>,
}

impl Observer for Watch {
    fn interests(&self) -> Interests {
        Interests { link_uses: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::LinkUse { link, start, end, bytes } = *event {
            self.uses.entry(link).or_default().push((start.as_ps(), end.as_ps(), bytes));
        }
    }
}

/// The highest sum of rates, in bytes per picosecond, that lasts for longer than rounding to whole bytes explains.
fn peak(uses: &[(u64, u64, f64)]) -> f64 {
    let mut changes = Vec::new();
    for &(start, end, bytes) in uses.iter().filter(|(start, end, bytes)| end > start && *bytes > 1000.0) {
        let rate = (bytes - 1.0) / (end - start) as f64;
        changes.extend([(start, rate), (end, -rate)]);
    }
    // what ends at an instant makes room for what begins there
    changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let (mut rate, mut most) = (0.0_f64, 0.0_f64);
    for (_, change) in changes {
        rate += change;
        most = most.max(rate);
    }
    most
}

const TREE: &str = "kind = \"fat-tree\"\nk = 4\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"";
const RING: &str = "kind = \"ring\"\nnodes = 6\nbandwidth = \"100 Gbps\"\nlatency = \"1 us\"";

#[test]
fn links_are_never_used_by_more_than_they_carry() {
    let traffic = "kind = \"traffic\"\nflows = 200\nsize = { kind = \"fixed\", bytes = \"1 MB\" }\n\
                   arrivals = { kind = \"poisson\", load = 0.7, rate = \"100 Gbps\" }";
    let ring = "kind = \"collective\"\noperation = \"all-reduce\"\nbytes = \"16 MB\"\nalgorithm = { kind = \"ring\" }";
    let all = "kind = \"collective\"\noperation = \"all-to-all\"\nbytes = \"4 MB\"";
    let flow = [(TREE, traffic), (TREE, ring), (TREE, all), (RING, traffic), (RING, ring), (RING, all)];
    let flow = flow.map(|(machine, work)| (machine, work, "flow"));
    for (machine, work, network) in flow.into_iter().chain([(TREE, all, "packet"), (RING, ring, "packet")]) {
        check(machine, work, network, 100.0);
    }
}

/// Runs `work`: all that links of so many Gb/s carried is told, and nothing faster than they carry.
fn check(machine: &str, work: &str, network: &str, rate_gbps: f64) {
    let text = format!("[topology]\n{machine}\n[workload]\n{work}\n[network]\nkind = \"{network}\"\n");
    let mut watch = Watch::default();
    let result = watch_in(&text, Path::new(""), &mut watch);
    let capacity = rate_gbps / 8000.0;
    for (link, uses) in &watch.uses {
        let most = peak(uses);
        assert!(most <= capacity * 1.001, "{link:?}: {} of capacity\n{text}", most / capacity);
    }
    let told: f64 = watch.uses.values().flatten().map(|&(.., bytes)| bytes).sum();
    let counted: f64 = result.links.iter().flatten().map(|link| link.bytes).sum();
    assert!((told - counted).abs() <= 1e-9 * counted, "{told} and {counted}\n{text}");
}

/// Links, and messages of a program: source, destination, bytes, and when each is sent, in microseconds.
fn star(latency: &str, messages: &[(u32, u32, &str, u32)]) -> (String, String) {
    let machine =
        format!("kind = \"single-switch\"\nnodes = 4\nbandwidth = \"100 Gbps\"\nlatency = \"{latency}\"");
    let (mut vertices, mut edges) = (String::new(), String::new());
    for (at, (source, destination, bytes, after)) in messages.iter().enumerate() {
        vertices += &format!(
            "{{ name = \"m{at}\", kind = \"communication\", source = {source}, destination = {destination}, bytes = \"{bytes}\" }},
             {{ name = \"d{at}\", kind = \"delay\", rank = {source}, duration = \"{after} us\" }},\n"
        );
        edges += &format!("{{ from = \"d{at}\", to = \"m{at}\" }}, ");
    }
    (machine, format!("kind = \"graph\"\nvertices = [{vertices}]\nedges = [{edges}]"))
}

/// Without latency, a flow has carried much before anybody asks the network for the first time.
#[test]
fn what_was_carried_before_the_first_event_is_told() {
    let (machine, work) = star("0 ns", &[(2, 0, "5 MB", 0), (1, 0, "5 MB", 90)]);
    check(&machine, &work, "flow", 100.0);
}

/// A channel and the flow on it run at two rates each, and are told of at both; so is what is slowed down by two flows.
#[test]
fn messages_of_a_ring_that_meet_others_are_told_at_their_rates() {
    let ring = "{ name = \"ring\", kind = \"communication\", collective = \"all-reduce\", members = [0, 1, 2], bytes = \"3 MB\" }";
    let others: [&[(u32, u32, &str, u32)]; 4] = [
        &[(2, 3, "500 kB", 130)],
        &[(2, 3, "5 MB", 30)],
        &[(2, 3, "500 kB", 130), (2, 3, "300 kB", 150)],
        &[(3, 1, "2 MB", 0), (3, 1, "100 kB", 200), (3, 2, "1 MB", 210)],
    ];
    for messages in others {
        let (machine, work) = star("1 us", messages);
        check(&machine, &work.replace("vertices = [", &format!("vertices = [{ring}, ")), "flow", 100.0);
    }
}

/// Looks are seldom, and pauses between messages too short for a look of their own.
#[test]
fn packets_behind_a_short_pause_are_told_at_their_rate() {
    for pause in ["0 ns", "100 ns", "300 ns", "450 ns", "700 ns", "2 us"] {
        let (mut vertices, mut edges) = (String::new(), String::new());
        for at in 0..6 {
            vertices += &format!(
                "{{ name = \"m{at}\", kind = \"communication\", source = 0, destination = 1, bytes = \"16 KiB\" }},
                 {{ name = \"d{at}\", kind = \"delay\", rank = 0, duration = \"{pause}\" }},\n"
            );
            edges += &format!("{{ from = \"m{at}\", to = \"d{at}\" }}, ");
            if at > 0 {
                edges += &format!("{{ from = \"d{}\", to = \"m{at}\" }}, ", at - 1);
            }
        }
        let machine = "kind = \"single-switch\"\nnodes = 2\nbandwidth = \"400 Gbps\"\nlatency = \"10 ns\"";
        check(
            machine,
            &format!("kind = \"graph\"\nvertices = [{vertices}]\nedges = [{edges}]"),
            "packet",
            400.0,
        );
    }
}

/// Between two looks at links nothing is told of the time before the packet that comes next.
#[test]
fn packets_use_no_link_before_they_are_there() {
    let machine = "kind = \"single-switch\"\nnodes = 2\nbandwidth = \"1 GB/s\"\nlatency = \"20 us\"";
    let work = "kind = \"graph\"\nvertices = [{ name = \"m\", kind = \"communication\", source = 0, destination = 1, bytes = \"1 kB\" }]";
    let text = format!("[topology]\n{machine}\n[workload]\n{work}\n[network]\nkind = \"packet\"\n");
    let mut watch = Watch::default();
    watch_in(&text, Path::new(""), &mut watch);
    // 1,064 bytes with their header
    let uses: Vec<_> = watch.uses.values().flatten().filter(|(.., bytes)| *bytes > 100.0).collect();
    let first = uses.iter().filter(|(start, ..)| *start < 21_000_000).map(|(.., bytes)| bytes).sum::<f64>();
    let second: Vec<_> = uses.iter().filter(|(start, ..)| *start >= 21_000_000).collect();
    assert_eq!(first, 1064.0, "{uses:?}");
    assert!(second.iter().all(|(_, end, _)| *end <= 22_128_000), "{uses:?}");
    assert_eq!(second.iter().map(|(.., bytes)| bytes).sum::<f64>(), 1064.0, "{uses:?}");
}

/// The acknowledgement of the last message leaves when that has arrived, and the run may end before it has.
#[test]
fn what_ends_with_the_run_is_told_as_far_as_it_came() {
    let machine = "kind = \"ring\"\nnodes = 2\nbandwidth = \"50 Gbps\"\nlatency = \"2 us\"";
    for delay in ["0 ns", "5 ns", "10 us"] {
        for cap in ["", ", rate-cap = \"10 Gbps\""] {
            let work = format!(
                "kind = \"graph\"\nedges = [{{ from = \"m\", to = \"d\" }}]\nvertices = [
                 {{ name = \"m\", kind = \"communication\", source = 0, destination = 1, bytes = \"1000 B\"{cap} }},
                 {{ name = \"d\", kind = \"delay\", rank = 1, duration = \"{delay}\" }}]"
            );
            check(machine, &work, "packet", 50.0);
        }
    }
}

/// Links that a message of 100 kB has passed, as `from-to`.
fn used(text: &str) -> Vec<String> {
    let links = run(text).links;
    let used = links.into_iter().flatten().filter(|link| link.bytes >= 100_000.0);
    used.map(|link| format!("{}-{}", link.from, link.to)).collect()
}

/// What does not forward is no way for others, be it the shortest: neither a neighbour that has cables to both, nor one that has NICs on
/// two rails.
#[test]
fn others_do_not_go_through_nodes_that_do_not_forward() {
    let node = |name: &str, more: &str| format!("{{ name = \"{name}\"{more} }},\n");
    let link = |from: &str, to: &str| {
        format!("{{ from = \"{from}\", to = \"{to}\", bandwidth = \"10 GB/s\", latency = \"100 ns\" }},\n")
    };
    let message = |destination: u32| {
        format!(
            "[workload]\nkind = \"graph\"\nvertices = [{{ name = \"m\", kind = \"communication\", source = 0, \
             destination = {destination}, bytes = \"100 kB\" }}]\n"
        )
    };
    let graph = |nodes: &[String], links: &[String]| {
        format!(
            "[topology]\nkind = \"graph\"\nnodes = [\n{}]\nlinks = [\n{}]\n",
            nodes.concat(),
            links.concat()
        )
    };
    let switch = ", kind = \"switch\"";
    for (forwards, way) in [(true, vec!["a-b", "b-c"]), (false, vec!["a-s", "s-t", "t-c"])] {
        let own = format!(", forwards = {forwards}");
        let nodes = [node("a", ""), node("b", &own), node("c", ""), node("s", switch), node("t", switch)];
        let links = [link("a", "b"), link("b", "c"), link("a", "s"), link("s", "t"), link("t", "c")];
        let machine = graph(&nodes, &links) + &message(2);
        for network in ["flow", "packet", "flit"] {
            assert_eq!(used(&format!("{machine}[network]\nkind = \"{network}\"\n")), way, "{network}");
        }
    }
    let rails = |forwards: bool| {
        let own = format!(", forwards = {forwards}");
        let gpus = ["a0", "a1", "b0", "b1"].map(|name| node(name, &own));
        let switches = ["a", "b", "r0", "r1", "spine"].map(|name| node(name, switch));
        let links = [
            ("a0", "a"),
            ("a1", "a"),
            ("b0", "b"),
            ("b1", "b"),
            ("a0", "r0"),
            ("b0", "r0"),
            ("a1", "r1"),
            ("b1", "r1"),
            ("r0", "spine"),
            ("r1", "spine"),
        ];
        graph(&[gpus.to_vec(), switches.to_vec()].concat(), &links.map(|(from, to)| link(from, to)))
            + &message(3)
    };
    for network in ["flow", "packet", "flit"] {
        let text = format!("{}[network]\nkind = \"{network}\"\n", rails(false));
        assert_eq!(used(&text), ["a0-r0", "r1-b1", "r0-spine", "spine-r1"], "{network}");
    }
}
