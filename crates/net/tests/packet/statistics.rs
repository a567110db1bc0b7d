//! What the packet level says about messages and queues, at the end and on the way.

use std::collections::BTreeMap;

use crate::packets::{count, fat_tree, run, watched};
use crate::support::{network, topology};
use stratasim_core::model::{Cx, Network, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::{Event, Interests, Observer, QueueCounts};
use stratasim_core::{Duration, LinkId, NodeId, Time, Token};

pub(crate) const NSCC: &str = r#"{"kind": "packet", "congestion": {"kind": "nscc"}}"#;

/// Keeps everything, and sees that what is told of one thing goes forward in time.
struct Keeper {
    depths: BTreeMap<LinkId, Vec<(Time, u64)>>,
    uses: BTreeMap<LinkId, Vec<(Time, Time, f64)>>,
    windows: BTreeMap<u32, Vec<(NodeId, NodeId, Time, u64)>>,
    counts: BTreeMap<LinkId, Vec<(Time, Time, QueueCounts)>>,
    span: (Time, Time),
}

impl Keeper {
    fn new() -> Self {
        Self {
            depths: BTreeMap::new(),
            uses: BTreeMap::new(),
            windows: BTreeMap::new(),
            counts: BTreeMap::new(),
            span: (Time::ZERO, Time::MAX),
        }
    }

    fn carried(&self, link: LinkId) -> f64 {
        self.uses[&link].iter().map(|it| it.2).sum()
    }
}

impl Observer for Keeper {
    fn interests(&self) -> Interests {
        Interests { link_uses: true, queues: true, ..Interests::default() }
    }

    fn span(&self) -> (Time, Time) {
        self.span
    }

    fn on_event(&mut self, event: &Event) {
        let (before, at) = match *event {
            Event::QueueDepth { link, at, bytes } => {
                let depths = self.depths.entry(link).or_default();
                depths.push((at, bytes));
                (depths.iter().rev().nth(1).map(|it| it.0), at)
            }
            Event::LinkUse { link, start, end, bytes } => {
                assert!(start < end, "{event:?}");
                let uses = self.uses.entry(link).or_default();
                uses.push((start, end, bytes));
                (uses.iter().rev().nth(1).map(|it| it.1), start)
            }
            Event::QueueCounts { link, start, end, counts } => {
                assert!(start < end && counts != QueueCounts::default(), "{event:?}");
                let seen = self.counts.entry(link).or_default();
                seen.push((start, end, counts));
                (seen.iter().rev().nth(1).map(|it| it.1), start)
            }
            Event::Window { connection, src, dst, at, bytes } => {
                let windows = self.windows.entry(connection).or_default();
                windows.push((src, dst, at, bytes));
                (windows.iter().rev().nth(1).map(|it| it.2), at)
            }
            _ => panic!("nobody asked for {event:?}"),
        };
        assert!(before.is_none_or(|before| before <= at), "looks go forward: {event:?} after {before:?}");
    }
}

#[test]
fn a_message_alone_is_as_fast_as_it_can_be() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    // the last packet of the last two is a small one, which by a way of its own may be ahead of others
    for (to, bytes, packets) in [(1, 1, 1), (2, 4096, 1), (15, 65_536, 16), (15, 8_000, 2), (15, 100_000, 25)]
    {
        let mut network = network(NSCC, machine.clone());
        let (ends, report) = run(network.as_mut(), hosts, &[(0, to, bytes)]);
        let [flow] = &report.flows[..] else { panic!("{:?}", report.flows) };
        assert_eq!((flow.src, flow.dst, flow.bytes), (hosts[0], hosts[to], bytes));
        assert_eq!((flow.start, flow.end, flow.counts.packets), (Time::ZERO, ends[0], packets));
        assert_eq!(flow.end - flow.start, flow.least, "{bytes} B");
        assert_eq!(
            (flow.counts.retransmissions, flow.counts.timeouts, flow.counts.trims, flow.counts.marks),
            (0, 0, 0, 0)
        );
        assert_eq!(machine.link(flow.path[0]).ends.map(|ends| ends[0]), Some(hosts[0]));
    }
}

/// Whatever ways sprayed packets take, what comes to the hosts of a leaf from others goes over its links from the spines together.
#[test]
fn links_into_a_leaf_carry_what_comes_from_other_leaves() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 3, "spines": 2, "hosts-per-leaf": 2,
            "bandwidth": "100 Gbps", "latency": "500 ns"}"#,
    );
    let hosts = machine.compute_nodes();
    let mut network = network(NSCC, machine.clone());
    // two from other leaves, and one from the leaf's own host, which takes none of these links
    let (_, report) = run(network.as_mut(), hosts, &[(2, 0, 100_000), (4, 1, 100_000), (1, 0, 100_000)]);
    let ends = |link: LinkId| machine.link(link).ends.map(|ends| ends.map(|node| machine.node_name(node)));
    let into = |links: &[LinkId]| {
        let spines =
            |link: &LinkId| ends(*link).is_some_and(|[from, to]| from.starts_with("spine") && to == "leaf-0");
        links.len() == 2 && links.iter().all(spines)
    };
    let found: Vec<f64> = report.needed.iter().filter(|it| into(&it.links)).map(|it| it.busy_s).collect();
    // 25 packets each with headers of 64 B, at 12.5 GB/s, by two links
    let expected = 2.0 * (100_000.0 + 25.0 * 64.0) / 12.5e9 / 2.0;
    assert_eq!(found.len(), 1, "{:?}", report.needed);
    assert!((found[0] / expected - 1.0).abs() < 1e-9, "{found:?}, {expected}");
}

#[test]
fn the_accounts_of_messages_and_queues_add_up_to_those_of_the_network() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 400_000)).collect();
    for spec in [
        NSCC,
        r#"{"kind": "packet", "congestion": {"kind": "ndp"}, "completion": "sender"}"#,
        r#"{"kind": "packet", "congestion": {"kind": "dctcp"}, "buffer": "50 kB"}"#,
        r#"{"kind": "packet", "congestion": {"kind": "nscc"}, "connections": "per-pair"}"#,
    ] {
        let mut network = network(spec, machine.clone());
        let (ends, report) = run(network.as_mut(), hosts, &messages);
        assert_eq!(report.flows.len(), 15);
        assert_eq!(report.flows.iter().map(|flow| flow.end).max(), ends.into_iter().max());
        assert!(report.flows.iter().all(|flow| flow.end - flow.start >= flow.least));
        let sum = |of: fn(&stratasim_core::model::FlowRecord) -> u32| -> u64 {
            report.flows.iter().map(|flow| u64::from(of(flow))).sum()
        };
        // nothing is sent after the last message is complete at its sender
        let exact = spec.contains("sender");
        let adds_up = |part: u64, name: &str| {
            let whole = count(&report, name);
            assert!(
                if exact { part == whole } else { part <= whole && part * 10 >= whole * 9 },
                "{name}: {part} of {whole}"
            );
        };
        adds_up(sum(|flow| flow.counts.packets), "network.data_packets");
        adds_up(sum(|flow| flow.counts.retransmissions), "network.retransmissions");
        let queues: u64 = report.queues.iter().map(|queue| queue.trims).sum();
        assert_eq!(queues, count(&report, "network.trims"));
        let drops: u64 = report.queues.iter().map(|queue| queue.drops).sum();
        assert_eq!(drops, count(&report, "network.drops"));
        let most = report.queues.iter().map(|queue| queue.most_bytes).max();
        assert_eq!(most, Some(count(&report, "network.longest_queue_bytes")));
        assert!(report.queues.iter().all(|queue| queue.most_bytes <= queue.capacity_bytes));
    }
}

#[test]
fn who_watches_sees_queues_fill_and_windows_shrink_and_changes_nothing() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 400_000)).collect();
    let alone = run(network(NSCC, machine.clone()).as_mut(), hosts, &messages);
    let mut keeper = Keeper::new();
    let (ends, report) = watched(network(NSCC, machine.clone()).as_mut(), hosts, &messages, &mut keeper);
    assert_eq!(ends, alone.0);
    assert_eq!(report.counters, alone.1.counters);
    assert_eq!(report.flows, alone.1.flows);

    // the queue of the last link was long, and never longer than it could be
    let last_link = report.queues.iter().max_by_key(|queue| queue.most_bytes).expect("queues");
    let seen = &keeper.depths[&last_link.link];
    let most = seen.iter().map(|&(_, bytes)| bytes).max().unwrap_or(0);
    assert!(
        most <= last_link.most_bytes && most * 2 > last_link.most_bytes,
        "{most} of {}",
        last_link.most_bytes
    );
    // all but what was sent after the last look
    for link in keeper.uses.keys() {
        let bytes = keeper.carried(*link);
        let whole = report.link_bytes[link.index()];
        assert!(bytes <= whole + 1e-3, "{bytes} of {whole} on {}", machine.link_name(*link));
    }
    let carried: f64 = keeper.uses.keys().map(|&link| keeper.carried(link)).sum();
    assert!(carried > 0.98 * report.link_bytes.iter().sum::<f64>());
    // fifteen share a link: windows shrink to a fraction, and end at nothing
    assert_eq!(keeper.windows.len(), 15);
    for (number, windows) in &keeper.windows {
        let (first, last) = (windows[0].3, windows[windows.len() - 1].3);
        let least = windows.iter().map(|it| it.3).filter(|&bytes| bytes > 0).min().expect("a window");
        assert!(least * 3 < first && last == 0, "connection {number}: {first} to {least}, {last} at the end");
        assert!(windows.iter().all(|it| (it.0, it.1) == (windows[0].0, hosts[0])));
    }
}

const US: u64 = 1_000_000;

/// Runs messages `(at, from, to, bytes)`, at in picoseconds and in order, while `keeper` watches: the ends and the report.
fn at_their_times(
    network: &mut dyn Network,
    hosts: &[NodeId],
    messages: &[(u64, usize, usize, u64)],
    keeper: &mut Keeper,
) -> (Vec<Time>, NetworkReport) {
    let (mut ends, mut done, mut now) = (Vec::new(), Vec::new(), Time::ZERO);
    let mut token = 0;
    loop {
        let due = messages.get(token).map_or(Time::MAX, |it| Time::from_ps(it.0));
        while network.next_event().is_some_and(|next| next < due) {
            now = network.advance(due, &mut Cx { done: &mut done, observer: keeper });
            ends.extend(done.drain(..).map(|_| now));
        }
        let Some(&(_, from, to, bytes)) = messages.get(token) else { break };
        let transfer = Transfer::new(Token(token as u64), hosts[from], hosts[to], bytes);
        network.submit(due, NetworkRequest::Transfer(transfer));
        token += 1;
    }
    network.look_back(now, keeper);
    assert_eq!(ends.len(), messages.len());
    (ends, network.report(now))
}

/// A hundred kilobytes at line rate, and then nothing for a millisecond: a use of the link is told when it was, and
/// windows are there while messages are.
#[test]
fn what_happens_after_an_idle_stretch_is_told_when_it_happens() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 2, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
    let hosts = machine.compute_nodes();
    let link = machine.ports(hosts[0])[0].link;
    let messages: Vec<_> = (0..500).map(|burst| (burst * 1000 * US, 0, 1, 100_000)).collect();
    let mut keeper = Keeper::new();
    let (ends, report) =
        at_their_times(network(NSCC, machine.clone()).as_mut(), hosts, &messages, &mut keeper);
    let mut blind = network(NSCC, machine.clone());
    let mut nobody = Keeper { span: (Time::MAX, Time::MAX), ..Keeper::new() };
    let alone = at_their_times(blind.as_mut(), hosts, &messages, &mut nobody);
    assert_eq!((&ends, &report.counters, &report.flows), (&alone.0, &alone.1.counters, &alone.1.flows));

    let wire = 100_000 + 25 * 64;
    for &(start, end, bytes) in &keeper.uses[&link] {
        // nothing of a burst is told to be later or slower than it was
        assert!(end.as_ps() % (1000 * US) < wire * 80 + US, "{start} to {end}");
        assert!(end - start < Duration::from_ps(10 * US), "{bytes} B from {start} to {end}");
        assert!(bytes * 80.0 <= (end - start).as_ps() as f64 + 1e-3, "{bytes} B from {start} to {end}");
    }
    assert!((keeper.carried(link) - 500.0 * wire as f64).abs() < 1e-3, "{}", keeper.carried(link));
    for (number, windows) in &keeper.windows {
        let (opened, closed) = (windows[0].2.as_ps(), windows[windows.len() - 1]);
        let begin = u64::from(*number) * 1000 * US;
        assert!(opened >= begin && opened < begin + 20 * US, "connection {number} at {opened} ps");
        assert_eq!((closed.2, closed.3), (ends[*number as usize], 0), "connection {number}");
    }
    assert_eq!(keeper.windows.len(), 64);
}

/// Whoever watches hears of every packet that was dropped, trimmed or marked and of every pause, at the queue that counts it
/// in the end, on any number of threads.
#[test]
fn what_is_told_of_queues_adds_up_to_their_accounts() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 400_000)).collect();
    let mut seen = [0; 4];
    for rest in [
        r#""congestion": {"kind": "nscc"}"#,
        r#""congestion": {"kind": "ndp"}"#,
        r#""congestion": {"kind": "dctcp"}, "buffer": "50 kB""#,
        r#""congestion": {"kind": "dctcp"}, "buffer": "50 kB", "threads": 2"#,
        r#""congestion": {"kind": "dcqcn"}, "queue": {"kind": "lossless"}"#,
    ] {
        let spec = format!(r#"{{"kind": "packet", {rest}}}"#);
        let mut keeper = Keeper::new();
        let (_, report) = watched(network(&spec, machine.clone()).as_mut(), hosts, &messages, &mut keeper);
        for queue in &report.queues {
            let told = keeper.counts.remove(&queue.link).unwrap_or_default();
            let sum = |of: fn(&QueueCounts) -> u32| told.iter().map(|it| u64::from(of(&it.2))).sum::<u64>();
            let sums = [sum(|it| it.drops), sum(|it| it.trims), sum(|it| it.marks), sum(|it| it.pauses)];
            let account = [queue.drops, queue.trims, queue.marks, queue.pauses];
            assert_eq!(sums, account, "{rest}: {}", machine.link_name(queue.link));
            seen.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        assert!(keeper.counts.is_empty(), "{rest}: {:?}", keeper.counts);
    }
    assert!(seen.iter().all(|&sum| sum > 0), "{seen:?}");
}

/// Depths of queues alone.
#[derive(Default)]
struct Depths(BTreeMap<LinkId, Vec<(Time, u64)>>);

impl Observer for Depths {
    fn interests(&self) -> Interests {
        Interests { queues: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::QueueDepth { link, at, bytes } = *event {
            self.0.entry(link).or_default().push((at, bytes));
        }
    }
}

/// A cable that both directions share is two queues in the account, each at its end, and one over time, which holds what both
/// do: as two links with half of its rate each.
#[test]
fn both_queues_of_a_half_duplex_cable_are_told() {
    let machine = |cable: &str| {
        let hosts: Vec<String> = (0..8).map(|host| format!(r#"{{"name": "h{host}"}}"#)).collect();
        let edge = |host: usize| {
            let switch = if host < 4 { "s" } else { "t" };
            format!(r#"{{"from": "h{host}", "to": "{switch}", "bandwidth": "100 Gbps", "latency": "1 us"}}"#)
        };
        let edges: Vec<String> = (0..8).map(edge).collect();
        topology(&format!(
            r#"{{"kind": "graph", "nodes": [{}, {{"name": "s", "kind": "switch"}}, {{"name": "t", "kind": "switch"}}],
                "links": [{}, {{"from": "s", "to": "t", "latency": "1 us", {cable}}}]}}"#,
            hosts.join(", "),
            edges.join(", ")
        ))
    };
    // more go one way than the other
    let messages: Vec<_> =
        (0..8).map(|from| (from, (from + 4) % 8, if from < 4 { 300_000 } else { 50_000 })).collect();
    let seen = |cable: &str| {
        let machine = machine(cable);
        let spec = r#"{"kind": "packet", "congestion": {"kind": "dctcp"}}"#;
        let mut depths = Depths::default();
        let mut network = network(spec, machine.clone());
        let (ends, report) = watched(network.as_mut(), machine.compute_nodes(), &messages, &mut depths);
        let is_between = |link: LinkId| {
            let name = machine.link_name(link);
            ["s->t", "t->s", "s--t"].contains(&name.as_str())
        };
        let queues = report.queues.iter().filter(|queue| is_between(queue.link));
        let queues: Vec<_> = queues.map(|queue| (queue.from, queue.most_bytes, queue.marks)).collect();
        depths.0.retain(|&link, _| is_between(link));
        (ends, queues, depths.0)
    };
    let (ends, two, apart) = seen(r#""bandwidth": "10 Gbps""#);
    let (same_ends, one, shared) = seen(r#""bandwidth": "20 Gbps", "duplex": "half""#);
    assert_eq!((ends.as_slice(), apart.len(), shared.len()), (same_ends.as_slice(), 2, 1));
    let places: Vec<_> = one.iter().map(|queue| queue.0).collect();
    assert!(places[0].is_some() && places[1].is_some() && places[0] != places[1], "{places:?}");
    let most =
        |queues: &[(Option<NodeId>, u64, u64)]| -> Vec<_> { queues.iter().map(|it| (it.1, it.2)).collect() };
    assert_eq!(most(&one), most(&two));
    // at each look, half a microsecond apart
    let held = |depths: &BTreeMap<LinkId, Vec<(Time, u64)>>, at: Time| -> u64 {
        let last = |depths: &Vec<(Time, u64)>| depths.iter().rev().find(|it| it.0 <= at).map_or(0, |it| it.1);
        depths.values().map(last).sum()
    };
    let looks: Vec<Time> = (0..400).map(|look| Time::from_ps(look * 500_000)).collect();
    for &look in &looks {
        assert_eq!(held(&shared, look), held(&apart, look), "{look}");
    }
    assert!(looks.iter().any(|&look| {
        apart.values().all(|depths| held(&BTreeMap::from([(LinkId(0), depths.clone())]), look) > 0)
    }));
}

/// Looks fall into packets, of slow links into the same one many times: what is told is what has left by then, at no time more
/// than the link can carry, and all the time as much where it is busy.
#[test]
fn links_are_told_to_be_full_and_never_more_than_that() {
    for (gbps, bytes) in [("0.01", 40_000), ("1", 1_000_000), ("100", 10_000_000), ("400", 10_000_000)] {
        let machine = topology(&format!(
            r#"{{"kind": "single-switch", "nodes": 3, "bandwidth": "{gbps} Gbps", "latency": "1 us"}}"#
        ));
        let hosts = machine.compute_nodes();
        let messages = [(1, 0, bytes), (2, 0, bytes)];
        let mut keeper = Keeper::new();
        let (ends, report) = watched(network(NSCC, machine.clone()).as_mut(), hosts, &messages, &mut keeper);
        for (&link, uses) in &keeper.uses {
            let rate = machine.link(link).bandwidth.bytes_per_s();
            for &(start, end, bytes) in uses {
                let most = rate * (end - start).as_secs_f64();
                // services take whole picoseconds
                assert!(bytes <= most * 1.0001 + 1e-6, "{gbps}: {bytes} of {most} B from {start} to {end}");
            }
        }
        // two at once keep the link of the third busy from the first packet to the last
        let hot = (0..report.link_bytes.len())
            .max_by(|&a, &b| report.link_bytes[a].total_cmp(&report.link_bytes[b]));
        let hot = LinkId::from_index(hot.expect("links"));
        assert_eq!(machine.link(hot).ends.map(|ends| ends[1]), Some(hosts[0]));
        let end = ends.iter().max().copied().expect("ends");
        let rate = machine.link(hot).bandwidth.bytes_per_s();
        let inner = keeper.uses[&hot].iter().filter(|it| it.1 < end && it.0 > Time::from_ps(US * 10));
        let shares: Vec<f64> = inner.map(|it| it.2 / (rate * (it.1 - it.0).as_secs_f64())).collect();
        let full = shares.iter().filter(|&&share| share > 0.999).count();
        assert!(full * 10 > shares.len() * 9 && full > 5, "{gbps}: {full} of {}", shares.len());
        let told = keeper.carried(hot);
        assert!(
            (told - report.link_bytes[hot.index()]).abs() < 1.0,
            "{told}, {}",
            report.link_bytes[hot.index()]
        );
    }
}

/// However often the network was empty before, an incast is seen well: at ever longer steps from its beginning, and in full
/// where nothing else matters.
#[test]
fn a_network_that_was_often_empty_is_looked_at_as_well_as_ever() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 4, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
    let hosts = machine.compute_nodes();
    let last_link = machine.ports(hosts[0])[0].link.index();
    let looks = |pings: u64, from: u64| {
        let mut messages: Vec<_> = (0..pings).map(|ping| (ping * 3 * US, 1, 2, 64)).collect();
        messages.extend([1, 2, 3].map(|sender| (400_000 * US, sender, 0, 400_000)));
        let mut keeper = Keeper { span: (Time::from_ps(from), Time::MAX), ..Keeper::new() };
        at_their_times(network(NSCC, machine.clone()).as_mut(), hosts, &messages, &mut keeper);
        let hot = keeper.depths.iter().max_by_key(|(_, depths)| depths.iter().map(|it| it.1).max());
        let (link, depths) = hot.expect("queues");
        assert!(link.index() != last_link, "it leads to the host");
        let most = depths.iter().map(|it| it.1).max().expect("looks");
        (depths.len(), most)
    };
    let (few, depth) = looks(10, 0);
    assert!(few > 50, "{few} looks");
    // so many idle stretches that a step that doubled with them would be longer than time
    let (after, most) = looks(130_000, 0);
    assert!(after > 8 && most * 10 > depth * 9, "{after} looks of {few}, {most} B of {depth}");
    let (alone, most) = looks(130_000, 399_999 * US);
    assert!(alone + 5 > few && most * 10 > depth * 9, "{alone} looks of {few}, {most} B of {depth}");
}
