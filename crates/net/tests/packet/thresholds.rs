//! What "above", "below" and "room for" mean where whole packets reach a threshold.

use crate::packets::{count, fat_tree, run};
use crate::support::network;

/// Three hosts send full packets of 4,160 bytes to one: what the run is like with a key at `bytes`.
fn with(spec: &str, bytes: u64) -> (Vec<u64>, [u64; 4]) {
    let spec = spec.replace("BYTES", &bytes.to_string());
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..4).map(|from| (from, 0, 4096 * 60)).collect();
    let (ends, report) = run(&mut *network(&spec, machine.clone()), hosts, &messages);
    let counted = ["network.pauses", "network.marks", "network.drops", "network.trims"];
    (ends.iter().map(|end| end.as_ps()).collect(), counted.map(|name| count(&report, name)))
}

/// Between two whole numbers of packets nothing depends on a threshold, and at a whole number it depends on the byte: the key says
/// which side that packet is on (IEEE 802.1Qbb, RFC 3168 and NDP leave it open, htsim does not: pauses and marks come *above*,
/// and what fills a buffer exactly has room).
#[test]
fn thresholds_are_exact_to_the_byte() {
    let lossless = r#""congestion": {"kind": "constant-rate"}, "recovery": {"kind": "go-back-n"}, "queue": {"kind": "lossless", "#;
    let windows = r#""congestion": {"kind": "dctcp"}, "#;
    for (keys, packets, upto_whole) in [
        (format!(r#"{lossless} "pause-above": "BYTES B", "resume-below": "8320 B"}}"#), 6, false),
        (format!(r#"{lossless} "pause-above": "83200 B", "resume-below": "BYTES B"}}"#), 6, true),
        (
            format!(
                r#"{lossless} "pause-above": "41600 B", "resume-below": "8320 B", "headroom": "BYTES B"}}"#
            ),
            1,
            false,
        ),
        (format!(r#"{windows} "ecn": {{"min": "BYTES B", "max": "BYTES B"}}, "buffer": "1 MB""#), 6, false),
        (
            format!(
                r#"{windows} "ecn": {{"enabled": false}}, "buffer": "BYTES B", "queue": {{"kind": "trimming"}}"#
            ),
            10,
            false,
        ),
        (
            format!(
                r#"{windows} "ecn": {{"enabled": false}}, "buffer": "BYTES B", "queue": {{"kind": "drop-tail"}}"#
            ),
            10,
            false,
        ),
    ] {
        let spec = format!(r#"{{"kind": "packet", {keys}}}"#);
        let whole = 4160 * packets;
        // what a whole number of packets is alike to, and what it is not
        let (alike, other) = if upto_whole { (whole - 4159, whole + 1) } else { (whole + 4159, whole - 1) };
        let found = with(&spec, whole);
        assert!(found.1.iter().any(|count| *count > 0), "{spec}: nothing happens");
        assert_eq!(found, with(&spec, alike), "{spec}");
        assert_ne!(found, with(&spec, other), "{spec}");
    }
}

/// The same of a buffer that the four ports of a switch share, and one of them fills.
#[test]
fn shared_room_is_exact_to_the_byte() {
    let spec = r#"{"kind": "packet", "congestion": {"kind": "dctcp"}, "ecn": {"enabled": false}, "buffer": "BYTES B",
        "queue": {"kind": "drop-tail"}, "buffer-sharing": {"alpha": 1000.0}}"#;
    let found = with(spec, 4160 * 10);
    assert!(found.1[2] > 0, "nothing is dropped");
    assert_eq!(found, with(spec, 4160 * 10 + 1039));
    assert_ne!(found, with(spec, 4160 * 10 - 1));
}

/// The same of room for control: headers of 64 bytes, of packets that are cut where they wait, and of others.
#[test]
fn room_for_headers_is_exact_to_the_byte() {
    let machine = fat_tree(4);
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..16).map(|from| (from, 0, 4096 * 20)).collect();
    let with = |bytes: u64| {
        let spec = format!(
            r#"{{"kind": "packet", "congestion": {{"kind": "fixed-window"}}, "buffer": "20 kB",
                "queue": {{"kind": "trimming", "control-buffer": "{bytes} B"}}}}"#
        );
        let (_, report) = run(&mut *network(&spec, machine.clone()), hosts, &messages);
        report.queues.iter().map(|queue| (queue.link, queue.trims, queue.drops)).collect::<Vec<_>>()
    };
    let found = with(64 * 8);
    assert!(found.iter().any(|queue| queue.2 > 0), "nothing is dropped");
    assert_eq!(found, with(64 * 8 + 63));
    assert_ne!(found, with(64 * 8 - 1));
}
