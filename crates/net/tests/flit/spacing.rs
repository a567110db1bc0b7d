//! Cables that carry a flit every so many 256ths of a cycle: a stream keeps the fraction, whatever its packets are.

use crate::support::{network, topology};
use stratasim_core::model::{NetworkDone, Transfer};
use stratasim_core::{Time, Token};
use stratasim_testkit::drive::drive_messages;

/// The fast kernel and the full one.
const KERNELS: [&str; 2] = ["", r#", "switch-allocator": {"kind": "separable-input-first"}"#];

#[test]
fn a_cable_a_little_slower_than_the_clock_is_full_with_packets_of_any_length() {
    let flits = (1_u64 << 20) / 32;
    for spacing in [257_u64, 273, 300, 410] {
        // the least whole number of bits per second for this spacing at 1 GHz and 32 B
        let bits = (256_000_000_000 * 256_u64).div_ceil(spacing);
        let machine = topology(&format!(
            r#"{{"kind": "single-switch", "nodes": 4, "bandwidth": "{bits} bps", "latency": "100 ns"}}"#
        ));
        let nodes = machine.compute_nodes().to_vec();
        for (kernel, packet_flits) in
            KERNELS.iter().flat_map(|kernel| [1, 3, 16].map(|flits| (kernel, flits)))
        {
            let spec = format!(
                r#"{{"kind": "flit", "flit-bytes": "32 B", "clock": "1 GHz", "packet-flits": {packet_flits},
                    "router": {{"buffer-flits": 512{kernel}}}}}"#
            );
            let transfer = Transfer::new(Token(0), nodes[0], nodes[1], 1 << 20);
            let log =
                drive_messages(network(&spec, machine.clone()).as_mut(), &[(Time::ZERO, transfer)], None);
            assert!(matches!(log[..], [(_, NetworkDone::Delivered(_))]), "{log:?}");
            let took_ps = log[0].0.as_ps();
            // as at the level of flows
            let least_ps = (f64::from(8 << 20) / bits as f64 * 1e12) as u64 + 200_000;
            // all flits; two channels, on which a flit takes two cycles more than their latency; the router; the arrival
            let most_ps = 1000 * ((spacing * flits).div_ceil(256) + 2 * (100 + 2) + 4 + 1);
            let what = format!("{spacing} of 256, packets of {packet_flits}{kernel}");
            assert!((least_ps..=most_ps).contains(&took_ps), "{what}: {took_ps}, {least_ps} to {most_ps}");
        }
    }
}
