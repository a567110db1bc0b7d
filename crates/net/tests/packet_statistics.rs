//! What the packet level says about messages and queues, at the end and on the way.

mod flit_support;
mod packet_support;

use std::collections::BTreeMap;

use flit_support::network;
use packet_support::{count, fat_tree, run, watched};
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_core::{LinkId, NodeId, Time};

const NSCC: &str = r#"{"kind": "packet", "congestion": {"kind": "nscc"}}"#;

/// Keeps everything.
#[derive(Default)]
struct Keeper {
    depths: BTreeMap<LinkId, Vec<(Time, u64)>>,
    carried: BTreeMap<LinkId, u64>,
    windows: BTreeMap<u32, Vec<(NodeId, NodeId, Time, u64)>>,
    last: Time,
}

impl Observer for Keeper {
    fn interests(&self) -> Interests {
        Interests { link_uses: true, queues: true, ..Interests::default() }
    }

    fn on_event(&mut self, event: &Event) {
        let at = match *event {
            Event::QueueDepth { link, at, bytes } => {
                self.depths.entry(link).or_default().push((at, bytes));
                at
            }
            Event::LinkUse { link, start, end, bytes } => {
                assert!(start < end, "{event:?}");
                *self.carried.entry(link).or_default() += bytes;
                end
            }
            Event::Window { connection, src, dst, at, bytes } => {
                self.windows.entry(connection).or_default().push((src, dst, at, bytes));
                at
            }
            _ => panic!("nobody asked for {event:?}"),
        };
        assert!(at >= self.last, "looks go forward");
        self.last = at;
    }
}

#[test]
fn a_message_alone_is_as_fast_as_it_can_be() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    for (to, bytes, packets) in [(1, 1, 1), (2, 4096, 1), (15, 65_536, 16)] {
        let mut network = network(NSCC, machine.clone());
        let (ends, report) = run(network.as_mut(), hosts, &[(0, to, bytes)]);
        let [flow] = &report.flows[..] else { panic!("{:?}", report.flows) };
        assert_eq!((flow.src, flow.dst, flow.bytes), (hosts[0], hosts[to], bytes));
        assert_eq!((flow.start, flow.end, flow.packets), (Time::ZERO, ends[0], packets));
        assert_eq!(flow.end - flow.start, flow.least, "{bytes} B");
        assert_eq!((flow.retransmissions, flow.timeouts, flow.trims, flow.marks), (0, 0, 0, 0));
        assert_eq!(machine.link(flow.path[0]).ends.map(|ends| ends[0]), Some(hosts[0]));
    }
}

#[test]
fn the_path_of_a_flow_is_where_its_bytes_went() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    for rest in [
        r#""balancing": {"kind": "per-flow"}, "entropy": {"kind": "random"}"#,
        r#""balancing": {"kind": "ecmp"}, "entropy": {"kind": "fixed"}"#,
        r#""balancing": {"kind": "source"}, "entropy": {"kind": "fixed"}"#,
    ] {
        for (from, to, hops) in [(0, 1, 2), (2, 0, 4), (3, 15, 6)] {
            let spec = format!(r#"{{"kind": "packet", "congestion": {{"kind": "dctcp"}}, {rest}}}"#);
            let (_, report) = run(network(&spec, machine.clone()).as_mut(), hosts, &[(from, to, 400_000)]);
            let path = &report.flows[0].path;
            assert_eq!(path.len(), hops, "{rest}");
            let mut node = hosts[from];
            for &link in path {
                let ends = machine.link(link).ends.expect("a link between two nodes");
                assert_eq!(ends[0], node);
                node = ends[1];
            }
            assert_eq!(node, hosts[to]);
            // what the others carried are acknowledgements
            for (index, &bytes) in report.link_bytes.iter().enumerate() {
                let is_on_it = path.iter().any(|link| link.index() == index);
                assert_eq!(bytes >= 400_000.0, is_on_it, "{rest}: {bytes}");
            }
        }
    }
    // packets that are sprayed part behind the first switch
    let (_, report) = run(network(NSCC, machine.clone()).as_mut(), hosts, &[(3, 15, 400_000)]);
    assert_eq!(report.flows[0].path.len(), 1);
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
        adds_up(sum(|flow| flow.packets), "network.data_packets");
        adds_up(sum(|flow| flow.retransmissions), "network.retransmissions");
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
    let mut keeper = Keeper::default();
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
    for (link, &bytes) in &keeper.carried {
        let whole = report.link_bytes[link.index()];
        assert!(bytes as f64 <= whole + 1.0, "{bytes} of {whole} on {}", machine.link_name(*link));
    }
    let carried: u64 = keeper.carried.values().sum();
    assert!(carried as f64 > 0.98 * report.link_bytes.iter().sum::<f64>());
    // fifteen share a link: windows shrink to a fraction, and end at nothing
    assert_eq!(keeper.windows.len(), 15);
    for (number, windows) in &keeper.windows {
        let (first, last) = (windows[0].3, windows[windows.len() - 1].3);
        let least = windows.iter().map(|it| it.3).filter(|&bytes| bytes > 0).min().expect("a window");
        assert!(least * 3 < first && last == 0, "connection {number}: {first} to {least}, {last} at the end");
        assert!(windows.iter().all(|it| (it.0, it.1) == (windows[0].0, hosts[0])));
    }
}
