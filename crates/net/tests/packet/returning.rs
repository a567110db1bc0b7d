//! Headers that find no room and go back to their senders (NDP's return-to-sender).

use std::sync::Arc;

use crate::packets::{count, fat_tree, run};
use crate::support::{network, topology, try_routed};
use stratasim_core::Time;
use stratasim_core::model::NetworkReport;
use stratasim_topo::Topology;

/// All other hosts send to the first, over queues with room for ten headers.
fn incast(machine: &Arc<Topology>, options: &str, returns: bool) -> (Vec<Time>, NetworkReport) {
    let spec = format!(
        r#"{{"kind": "packet", {options}, "buffer": "42 kB",
            "queue": {{"kind": "trimming", "control-buffer": "640 B", "return-to-sender": {returns}}}}}"#
    );
    let hosts = machine.compute_nodes();
    let messages: Vec<_> = (1..hosts.len()).map(|from| (from, 0, 200_000)).collect();
    let mut network = network(&spec, machine.clone());
    let (ends, report) = run(network.as_mut(), hosts, &messages);
    assert_eq!(report.violations(), Vec::<&str>::new());
    (ends, report)
}

fn last_s(ends: &[Time]) -> f64 {
    ends.iter().max().unwrap().as_secs_f64()
}

const NDP: &str = r#""congestion": {"kind": "ndp"}"#;

/// Without them, a header that is lost costs a time-out. With them none is needed: nothing is lost without a word.
#[test]
fn nobody_needs_a_time_out_where_headers_come_back() {
    let machine = fat_tree(8);
    let (missed, lost) = incast(&machine, NDP, false);
    assert!(count(&lost, "network.drops") > 100, "{:?}", lost.counters);
    assert!(lost.counters.iter().all(|(name, _)| *name != "network.returned"));
    let without =
        r#""congestion": {"kind": "ndp"}, "recovery": {"kind": "trimming", "without-timeout": true}"#;
    let (ends, report) = incast(&machine, without, true);
    assert!(count(&report, "network.returned") > 100, "{:?}", report.counters);
    assert_eq!(count(&report, "network.timeouts"), 0);
    // what the last link needs, and not much more
    let least = 127.0 * 200_000.0 / 12.5e9 * (4160.0 / 4096.0);
    let took = last_s(&ends);
    assert!(
        (least..1.1 * least).contains(&took),
        "{took} s of {least} s, {} s with time-outs",
        last_s(&missed)
    );
}

/// A returned packet goes again when a pull for another one comes, and not at once: there is no echo.
#[test]
fn what_comes_back_is_no_echo() {
    let machine = fat_tree(8);
    let (_, report) = incast(&machine, NDP, true);
    let needed = 127 * 200_000_u64.div_ceil(4096);
    let sent = count(&report, "network.data_packets");
    let trims = count(&report, "network.trims");
    // sent again once for each time that it was cut, or came back without that
    let lost = trims + count(&report, "network.returned");
    assert!((needed..=needed + lost).contains(&sent), "{sent} of {needed}, {:?}", report.counters);
    assert!(sent < 2 * needed, "{sent} of {needed}");
}

#[test]
fn every_transport_hears_of_what_comes_back() {
    let machine = fat_tree(4);
    for congestion in ["ndp", "nscc", "rccc", "eqds", "dctcp", "mprdma", "swift", "constant-rate"] {
        for recovery in ["trimming", "irn", "rltp", "sack", "go-back-n"] {
            let options =
                format!(r#""congestion": {{"kind": "{congestion}"}}, "recovery": {{"kind": "{recovery}"}}"#);
            let (ends, _) = incast(&machine, &options, true);
            assert_eq!(ends.len(), 15, "{options}");
        }
    }
}

#[test]
fn headers_come_back_the_same_on_any_number_of_threads() {
    let machine = topology(
        r#"{"kind": "leaf-spine", "leaves": 6, "spines": 3, "hosts-per-leaf": 8, "bandwidth": "100 Gbps", "latency": "1 us"}"#,
    );
    let of = |threads| {
        let (ends, report) = incast(&machine, &format!(r#"{NDP}, "threads": {threads}"#), true);
        assert!(count(&report, "network.returned") > 0);
        format!("{ends:?} {report:?}")
    };
    let one = of(1);
    for threads in [2, 3] {
        assert!(of(threads) == one, "{threads} threads");
    }
}

#[test]
fn ways_that_are_given_lead_from_hosts_and_not_from_switches() {
    let machine = fat_tree(4);
    let spec = r#"{"kind": "packet", "queue": {"kind": "trimming", "return-to-sender": true}}"#;
    let error = try_routed(spec, machine, r#"{"kind": "ecmp"}"#).err().expect("refused");
    assert_eq!(error.field, "queue.return-to-sender");
    assert!(error.reason.contains("leave one of the two out"), "{}", error.reason);
}
