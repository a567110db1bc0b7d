//! What queues mark, cut and keep, to the packet.

use stratasim_core::model::{NetworkReport, QueueRecord};

use crate::packets::{count, fat_tree, run};
use crate::support::{network, topology};

/// Messages to hosts of one switch with links of 100 Gbps.
fn star(hosts: u32, spec: &str, messages: &[(usize, usize, u64)]) -> NetworkReport {
    let machine = topology(&format!(
        r#"{{"kind": "single-switch", "nodes": {hosts}, "bandwidth": "100 Gbps", "latency": "1 us"}}"#
    ));
    let mut network = network(&format!(r#"{{"kind": "packet", {spec}}}"#), machine.clone());
    let (_, report) = run(network.as_mut(), machine.compute_nodes(), messages);
    assert!(report.violations().is_empty(), "{spec}: {:?}", report.violations());
    report
}

fn queue(report: &NetworkReport) -> &QueueRecord {
    report.queues.iter().max_by_key(|queue| queue.most_bytes).expect("a queue")
}

/// A packet is marked as likely as `max-probability`, times how far between the thresholds what it leaves behind is; above the second
/// each is. How many are, in all, is within four deviations of the mean.
#[test]
fn packets_are_marked_as_often_as_the_thresholds_say() {
    // 64 packets come at once, and leave 63 to 0 behind
    let senders = 64_u64;
    let messages: Vec<_> = (1..=senders as usize).map(|from| (from, 0, 4096)).collect();
    for (min, max, probability) in [(0, 32, 1.0), (0, 32, 0.25), (16, 64, 0.5), (16, 16, 0.01), (63, 63, 1.0)]
    {
        let spec = format!(
            r#""congestion": {{"kind": "dctcp"}}, "buffer": "1 MB",
               "ecn": {{"min": "{} B", "max": "{} B", "max-probability": {probability}}}"#,
            min * 4160,
            max * 4160
        );
        let marks = count(&star(65, &spec, &messages), "network.marks") as f64;
        let (mut mean, mut variance) = (0.0, 0.0);
        for behind in (0..senders).filter(|&behind| behind > min) {
            let share = if behind > max {
                1.0
            } else {
                probability * (behind - min) as f64 / (max - min).max(1) as f64
            };
            mean += share;
            variance += share * (1.0 - share);
        }
        assert!((marks - mean).abs() <= 4.0 * f64::sqrt(variance) + 1e-9, "{spec}: {marks} of {mean}");
    }
}

/// Each packet is marked that leaves more than the second threshold behind, to the byte; one that leaves just that is hardly ever, where
/// the largest probability is small.
#[test]
fn the_second_threshold_is_exact_to_the_byte() {
    let messages: Vec<_> = (1..=64).map(|from| (from, 0, 4096)).collect();
    for (max, marked) in [(32 * 4160 - 1, 32), (32 * 4160, 31), (33 * 4160 - 1, 31)] {
        let spec = format!(
            r#""congestion": {{"kind": "dctcp"}}, "buffer": "1 MB",
               "ecn": {{"min": "0 B", "max": "{max} B", "max-probability": 1e-6}}"#
        );
        assert_eq!(count(&star(65, &spec, &messages), "network.marks"), marked, "{max}");
    }
}

/// A packet smaller than what is left of one that is cut goes on as small as it is.
#[test]
fn a_small_packet_that_is_cut_does_not_grow() {
    let messages: Vec<_> = (1..=15).map(|from| (from, 0, 1)).collect();
    let report = star(
        16,
        r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "trimming"}, "buffer": "576 B",
           "queue": {"kind": "trimming", "control-buffer": "10 kB"}, "packets": {"payload-bytes": 512, "control-bytes": 500}"#,
        &messages,
    );
    let (trims, packets) = (count(&report, "network.trims"), count(&report, "network.data_packets"));
    assert!(trims > 0 && packets == 15 + trims, "{trims} trims, {packets} packets");
    let last = queue(&report).link.index();
    assert!((report.link_bytes[last] - 65.0 * packets as f64).abs() < 0.5, "{}", report.link_bytes[last]);
}

/// The newest of those that wait gives its place to one that arrives where what it takes is enough, and not to a larger one that does
/// not fit.
#[test]
fn a_small_packet_makes_no_room_for_a_large_one() {
    // one full packet of fifteen gets in and leaves for 333 ns; 5 ns later small ones come, for which there is room, and 250 ns later
    // larger ones, for which there is none
    let messages: Vec<_> =
        [4096, 1, 3000].into_iter().flat_map(|bytes| (1..=15).map(move |from| (from, 0, bytes))).collect();
    for queue in [r#""kind": "trimming""#, r#""kind": "drop-tail", "spares-newcomers": true"#] {
        let spec = format!(
            r#""congestion": {{"kind": "fixed-window"}}, "recovery": {{"kind": "sack"}}, "buffer": "8 kB", "queue": {{{queue}}}"#
        );
        let report = star(16, &spec, &messages);
        let again = |bytes| -> u32 {
            let flows = report.flows.iter().filter(|flow| flow.bytes == bytes);
            flows.map(|flow| flow.counts.retransmissions).sum()
        };
        assert!(again(3000) >= 15, "{queue}");
        assert_eq!(again(1), 0, "{queue}");
    }
}

/// A queue may fill all of the buffer that ports share; then no packet gets in, be its own queue empty and its link free.
#[test]
fn no_packet_passes_a_full_buffer_by_an_idle_port() {
    // short ones put senders out of step. One sends to two hosts in turn, so that no packet takes the room of the one before it
    let short = (2..=21).map(|from| (from, 0, 150 * from as u64));
    let messages: Vec<_> =
        short.chain((2..=21).map(|from| (from, 0, 40 * 4096))).chain([(21, 1, 40 * 4096)]).collect();
    for switching in ["store-and-forward", "cut-through"] {
        let report = star(
            22,
            &format!(
                r#""congestion": {{"kind": "fixed-window", "factor": 100.0}}, "recovery": {{"kind": "rltp"}}, "buffer": "9 kB",
                   "queue": {{"kind": "drop-tail"}}, "buffer-sharing": {{"alpha": 1000.0}}, "switching": "{switching}""#
            ),
            &messages,
        );
        let full = queue(&report);
        assert!(full.most_bytes > 22 * 9000 - 2 * 4160 && full.most_bytes <= 22 * 9000, "{full:?}");
        let other = report.queues.iter().find(|it| it.link != full.link && it.drops > 0);
        assert!(other.is_some(), "{switching}: {:?}", report.queues);
    }
}

/// A sender hears of every packet that was marked, once, however many queues have marked it; acknowledgements in the same lines are not.
#[test]
fn marks_of_packets_are_those_that_senders_hear_of() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    // to one, and from it
    let messages: Vec<_> = (1..16).flat_map(|other| [(other, 0, 100_000), (0, other, 30_000)]).collect();
    for control_first in [true, false] {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "dctcp"}}, "completion": "sender", "buffer": "10 MB",
                "ecn": {{"min": "0 B", "max": "0 B"}}, "queue": {{"kind": "drop-tail", "control-first": {control_first}}}}}"#
        );
        let (_, report) = run(&mut *network(&spec, machine.clone()), hosts, &messages);
        assert_eq!(count(&report, "network.retransmissions"), 0);
        let heard: u64 = report.flows.iter().map(|flow| u64::from(flow.counts.marks)).sum();
        let marks: u64 = report.queues.iter().map(|queue| queue.marks).sum();
        assert_eq!(count(&report, "network.marks"), heard, "{control_first}");
        assert!(heard > 100 && marks > heard, "{marks} marks on {heard} packets");
    }
}

/// Requests to pause are told of the link whose end they stop, which at a host is no queue.
#[test]
fn pauses_of_links_add_up() {
    let messages: Vec<_> = (1..4).map(|from| (from, 0, 400_000)).collect();
    let report = star(
        4,
        r#""congestion": {"kind": "constant-rate"}, "recovery": {"kind": "go-back-n"}, "queue": {"kind": "lossless"}"#,
        &messages,
    );
    let stopped: Vec<_> = report.queues.iter().filter(|queue| queue.pauses > 0).collect();
    assert_eq!(stopped.iter().map(|queue| queue.pauses).sum::<u64>(), count(&report, "network.pauses"));
    assert_eq!(stopped.len(), 3);
    assert!(stopped.iter().all(|queue| queue.most_bytes == 0), "{stopped:?}");
    assert!(report.queues.is_sorted_by_key(|queue| queue.link));
}

/// What hosts say themselves always has room, and is sent in its time; at a switch acknowledgements find none, and that is told of a
/// queue in which no data ever waited.
#[test]
fn acknowledgements_are_dropped_at_switches_only() {
    // longer than the packets that they answer, so that they pile up
    let spec = r#""congestion": {"kind": "fixed-window"}, "recovery": {"kind": "rltp"}, "completion": "sender", "buffer": "10 kB",
        "queue": {"kind": "trimming", "control-buffer": "500 B"}, "packets": {"payload-bytes": 512, "control-bytes": 500}"#;
    let incast: Vec<_> = (1..=15).map(|from| (from, 0, 1)).collect();
    assert_eq!(count(&star(16, spec, &incast), "network.drops"), 0);
    let outcast: Vec<_> = (1..=15).map(|to| (0, to, 1)).collect();
    let report = star(16, spec, &outcast);
    let drops: u64 =
        report.queues.iter().filter(|queue| queue.most_bytes == 0).map(|queue| queue.drops).sum();
    assert!(drops > 0 && drops == count(&report, "network.drops"), "{drops}: {:?}", report.queues);
}

/// Two hosts and a cable: nothing is a queue.
#[test]
fn a_host_that_sends_is_no_queue() {
    let machine = topology(
        r#"{"kind": "graph", "nodes": [{"name": "a"}, {"name": "b"}],
            "links": [{"from": "a", "to": "b", "bandwidth": "100 Gbps", "latency": "1 us"}]}"#,
    );
    let mut network = network(r#"{"kind": "packet"}"#, machine.clone());
    let (_, report) = run(network.as_mut(), machine.compute_nodes(), &[(0, 1, 400_000)]);
    assert_eq!((count(&report, "network.longest_queue_bytes"), report.queues.len()), (0, 0));
}

/// HPCC hears of all that waits at a port, whichever class it is of: one that nobody uses changes nothing.
#[test]
fn a_class_without_messages_changes_nothing() {
    let machine = fat_tree(4);
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 200_000)).collect();
    for congestion in ["hpcc", "dctcp", "power-tcp"] {
        let with = |classes: &str| {
            let spec = format!(
                r#"{{"kind": "packet", "congestion": {{"kind": "{congestion}"}}, "classes": [{classes}]}}"#
            );
            let (ends, report) =
                run(&mut *network(&spec, machine.clone()), machine.compute_nodes(), &messages);
            (ends, count(&report, "network.longest_queue_bytes"), count(&report, "network.marks"))
        };
        assert_eq!(with(""), with(r#"{"up-to": "1 B"}, {}"#), "{congestion}");
    }
}

/// Two hosts fill a third's link, and half of what each sends waits. On long cables pauses come three packets above what two delays
/// carry and two packets, and the headroom is counted from there.
#[test]
fn pauses_come_later_on_long_cables() {
    let (delays, packet) = (2 * 125_000, 4160);
    let machine =
        topology(r#"{"kind": "single-switch", "nodes": 3, "bandwidth": "100 Gbps", "latency": "10 us"}"#);
    let with = |packets: u64| {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "constant-rate"}}, "recovery": {{"kind": "go-back-n"}},
                "queue": {{"kind": "lossless", "headroom": "{} B"}}}}"#,
            delays + 2 * packet
        );
        let messages = [1, 2].map(|from| (from, 0, packets * 4096));
        let (_, report) = run(&mut *network(&spec, machine.clone()), machine.compute_nodes(), &messages);
        assert_eq!(count(&report, "network.drops"), 0, "{packets}");
        count(&report, "network.pauses")
    };
    let above = (delays + 5 * packet) / packet;
    assert_eq!(with(2 * (above - 2)), 0);
    assert!(with(2 * (above + 2)) > 0 && with(10 * above) > 1);
}

/// Of a buffer that others have filled, a packet takes the room that the one before it leaves in that very instant.
#[test]
fn room_of_a_shared_buffer_is_free_when_a_packet_leaves() {
    // those of the incast are stored, and ask for room when all of them has come; this one asks when its header has
    let incast = (2..=20).map(|from| (from, 0, 40 * 4096));
    let messages: Vec<_> = incast.chain([(21, 1, 40 * 4096)]).collect();
    let report = star(
        22,
        r#""congestion": {"kind": "fixed-window", "factor": 100.0}, "recovery": {"kind": "rltp"}, "buffer": "9 kB",
           "queue": {"kind": "drop-tail"}, "buffer-sharing": {"alpha": 1000.0}, "switching": "cut-through""#,
        &messages,
    );
    let dropping: Vec<_> = report.queues.iter().filter(|queue| queue.drops > 0).collect();
    assert_eq!((dropping.len(), dropping[0].link), (1, queue(&report).link), "{:?}", report.queues);
}
