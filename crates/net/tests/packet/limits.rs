//! Limits of a sender's own rate, and round trips that are longer than what transports expect.

use std::sync::Arc;

use crate::packets::{count, run};
use crate::support::{network, topology, try_network};
use stratasim_core::model::{Cx, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::Blind;
use stratasim_core::{Bandwidth, Duration, Time, Token};
use stratasim_topo::graph::LinkType;
use stratasim_topo::{NodeKind, Topology, TopologyBuilder};

/// Eight senders of a tenth of the line each, a megabyte to one host, which begin one after the other: when all has arrived, in
/// microseconds, and the report.
fn eight_tenths(spec: &str, apart: Duration) -> (f64, NetworkReport) {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 9, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
    let hosts = machine.compute_nodes();
    let mut network = network(spec, machine.clone());
    let (mut done, mut now) = (Vec::new(), Time::ZERO);
    for token in 0..8 {
        let start = Time::ZERO + apart * token;
        while now < start {
            now = network.advance(start, &mut Cx { done: &mut done, observer: &mut Blind });
        }
        let rate_cap = Some(Bandwidth(1.25e9));
        let transfer =
            Transfer { rate_cap, ..Transfer::new(Token(token), hosts[token as usize], hosts[8], 1_000_000) };
        network.submit(start, NetworkRequest::Transfer(transfer));
    }
    while network.next_event().is_some() {
        now = network.advance(crate::packets::LIMIT, &mut Cx { done: &mut done, observer: &mut Blind });
    }
    assert!(done.iter().all(|done| matches!(done, NetworkDone::Delivered(_))), "{spec}: {done:?}");
    let report = network.report(now);
    assert_eq!(report.violations(), Vec::<&str>::new());
    assert_eq!(count(&report, "network.retransmissions"), 0, "{spec}");
    (now.as_ps() as f64 * 1e-6, report)
}

/// The rates fit, so nothing waits but a packet behind those of the others.
#[test]
fn a_limit_of_the_rate_holds_on_the_wire() {
    for (transport, threads) in [
        (r#""congestion": {"kind": "nscc"}"#, 1),
        (r#""congestion": {"kind": "nscc"}, "connections": "per-pair""#, 1),
        (r#""congestion": {"kind": "ndp"}"#, 1),
        (r#""congestion": {"kind": "eqds"}"#, 1),
        (r#""congestion": {"kind": "dctcp"}"#, 2),
        (r#""congestion": {"kind": "swift"}"#, 1),
        (r#""congestion": {"kind": "power-tcp"}"#, 1),
        (r#""congestion": {"kind": "aimd"}"#, 1),
    ] {
        let spec = format!(r#"{{"kind": "packet", "threads": {threads}, {transport}}}"#);
        let (last, report) = eight_tenths(&spec, Duration::ZERO);
        // a megabyte at 10 Gbps, and two links: as at flow level, and what little the last packets wait
        assert!((802.0..806.0).contains(&last), "{transport}: {last} us");
        let longest = report.queues.iter().map(|queue| queue.most_bytes).max().expect("a queue");
        assert!(longest <= 8 * 4160, "{transport}: {longest} B");
    }
}

/// Seven packets that meet at every beat are a queue for those who listen for the shortest one; beats apart from each other are
/// none.
#[test]
fn senders_that_listen_for_short_queues_slow_down_where_beats_coincide() {
    for (transport, at_once) in [
        (r#""congestion": {"kind": "dcqcn"}"#, 1500.0..3000.0),
        (r#""congestion": {"kind": "dcqcn"}, "ecn": {"min": "33280 B", "max": "64 kB"}"#, 802.0..806.0),
        (r#""congestion": {"kind": "hpcc"}"#, 850.0..880.0),
    ] {
        let spec = format!(r#"{{"kind": "packet", {transport}}}"#);
        let (last, _) = eight_tenths(&spec, Duration::ZERO);
        assert!(at_once.contains(&last), "{transport}: {last} us");
        let (last, report) = eight_tenths(&spec, Duration::from_ps(409_600));
        // the last begins 2.8 us later
        assert!((804.0..807.0).contains(&last), "{transport}: {last} us");
        assert_eq!(count(&report, "network.marks"), 0, "{transport}");
    }
}

/// Messages of a pair that have limits of their own do not wait for each other's.
#[test]
fn a_limit_of_one_message_is_not_that_of_the_next() {
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 2, "bandwidth": "100 Gbps", "latency": "1 us"}"#);
    let hosts = machine.compute_nodes();
    let mut network = network(r#"{"kind": "packet", "connections": "per-pair"}"#, machine.clone());
    for (token, rate_cap) in [(0, Some(Bandwidth(1e8))), (1, None)] {
        let transfer = Transfer { rate_cap, ..Transfer::new(Token(token), hosts[0], hosts[1], 1_000_000) };
        network.submit(Time::ZERO, NetworkRequest::Transfer(transfer));
    }
    let (mut done, mut ends) = (Vec::new(), Vec::new());
    while network.next_event().is_some() {
        let now = network.advance(crate::packets::LIMIT, &mut Cx { done: &mut done, observer: &mut Blind });
        ends.extend(done.drain(..).map(|_| now.as_ps()));
    }
    assert!(ends[0] < 100_000_000 && ends[1] == 10_002_000_000, "{ends:?}");
}

/// The target of Swift is above the round trip of an idle network, however long that is: a window that fills the way stays, and a
/// smaller one grows by a packet in each round trip until it does.
#[test]
fn swift_fills_a_line_alone_whatever_the_round_trip() {
    for latency_us in [1, 6, 8, 20, 75] {
        let machine = topology(&format!(
            r#"{{"kind": "single-switch", "nodes": 2, "bandwidth": "100 Gbps", "latency": "{latency_us} us"}}"#
        ));
        let last = |options: &str| {
            let spec = format!(r#"{{"kind": "packet", "congestion": {{"kind": "swift"{options}}}}}"#);
            let hosts = machine.compute_nodes();
            let end = run(network(&spec, machine.clone()).as_mut(), hosts, &[(0, 1, 10_000_000)]).0[0];
            end.as_ps() as f64 * 1e-6
        };
        // 2442 packets of at most 4160 bytes one after the other, one more link and the delays
        let (packet, rtt) = (0.3328, 4.0 * f64::from(latency_us) + 2.0 * (0.3328 + 0.00512));
        let ideal = (10_000_000.0 + 2442.0 * 64.0) * 8e-5 + packet + 2.0 * f64::from(latency_us);
        let fills = (rtt / packet).ceil();
        let took = last(&format!(r#", "initial-packets": {fills}"#));
        assert!((took - ideal).abs() < 1e-3, "{latency_us} us: {took} instead of {ideal} us");
        // from ten packets: what each round trip lacks, until the window fills the way or all has been sent
        let (mut window, mut sent, mut longer) = (10.0, 0.0, 0.0);
        while window < fills && sent + window < 2442.0 {
            longer += rtt - window * packet;
            sent += window;
            window += 1.0;
        }
        let took = last("");
        assert!(
            (took / (ideal + longer) - 1.0).abs() < 0.03,
            "{latency_us} us: {took} us, {}",
            ideal + longer
        );
        if latency_us == 8 {
            assert!(last(r#", "base-target": "25 us""#) > 1.2 * took, "as asked for");
        }
    }
}

/// Switches in a row, two hosts before the first and one behind the last, whose link is the slowest.
fn row(switches: u32) -> Arc<Topology> {
    let mut builder = TopologyBuilder::new();
    let compute = builder.compute_type(stratasim_topo::catalogue::named("H100").expect("known"));
    let hosts = [0, 1, 2].map(|at| builder.node(NodeKind::Compute(compute), format_args!("h{at}")));
    let row: Vec<_> = (0..switches).map(|at| builder.node(NodeKind::Switch, format_args!("s{at}"))).collect();
    let link = |rate: f64| LinkType::new(Bandwidth(rate), Duration::from_ns(1000));
    builder.duplex(hosts[0], row[0], link(25e9));
    builder.duplex(hosts[1], row[0], link(25e9));
    for pair in row.windows(2) {
        builder.duplex(pair[0], pair[1], link(50e9));
    }
    builder.duplex(row[row.len() - 1], hosts[2], link(12.5e9));
    Arc::new(builder.build().expect("a machine"))
}

/// HPCC leaves a part of the last of 16 links free; longer ways have more switches than its packets record.
#[test]
fn hpcc_hears_of_every_switch_or_is_refused() {
    const BYTES: u64 = 10_000_000;
    let spec = r#"{"kind": "packet", "congestion": {"kind": "hpcc"}}"#;
    let wire_ps = 2.0 * (BYTES as f64 + 2442.0 * 64.0) * 80.0;
    for switches in [1, 8, 9, 15] {
        let machine = row(switches);
        let (ends, _) = run(
            network(spec, machine.clone()).as_mut(),
            machine.compute_nodes(),
            &[(0, 2, BYTES), (1, 2, BYTES)],
        );
        let last = ends.into_iter().max().expect("messages").as_ps() as f64;
        assert!((1.0 / 0.95..1.12).contains(&(last / wire_ps)), "{switches} switches: {}", last / wire_ps);
    }
    let error = try_network(spec, row(16)).err().expect("17 links").to_string();
    assert!(
        error.contains("congestion") && error.contains("17 links") && error.contains("at most 16"),
        "{error}"
    );
}

#[test]
fn a_missing_way_back_is_named() {
    let mut builder = TopologyBuilder::new();
    let compute = builder.compute_type(stratasim_topo::catalogue::named("H100").expect("known"));
    let mut node = |kind, name: &str| builder.node(kind, format_args!("{name}"));
    let [a, b] = ["h0", "h1"].map(|name| node(NodeKind::Compute(compute), name));
    let switch = node(NodeKind::Switch, "s");
    let link = LinkType::new(Bandwidth(1e9), Duration::from_ns(1000));
    builder.simplex(a, switch, link);
    builder.simplex(switch, b, link);
    let machine = Arc::new(builder.build().expect("a machine"));
    let hosts = machine.compute_nodes();
    let mut network = network(r#"{"kind": "packet"}"#, machine.clone());
    let there = network.check_route(hosts[0], hosts[1]).expect_err("nothing returns").reason;
    assert!(there.contains("no route from h1 back to h0") && there.contains("acknowledgements"), "{there}");
    let back = network.check_route(hosts[1], hosts[0]).expect_err("nothing leads there").reason;
    assert!(back.contains("no route from h1 to h0: no chain of links joins them"), "{back}");
}
