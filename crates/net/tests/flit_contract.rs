//! The contract of every network, for the flit level.

mod flit_support;

use flit_support::network;
use stratasim_testkit::network_contract;

network_contract!(in_turn flit, |topology| network(r#"{"kind": "flit", "flit-bytes": "16 KiB"}"#, topology));
network_contract!(in_turn flit_with_headers_and_short_packets, |topology| network(
    r#"{"kind": "flit", "flit-bytes": "32 KiB", "packet-flits": 4, "header-flits": 1, "terminal-latency": 3,
        "router": {"virtual-channels": 2, "buffer-flits": 3, "wait-for-tail-credit": true}}"#,
    topology
));
network_contract!(in_turn flit_at_another_clock, |topology| network(
    r#"{"kind": "flit", "flit-bytes": "64 KiB", "clock": "14.1 MHz",
        "router": {"routing-delay": 0, "speculation": "separate", "virtual-channels": 4},
        "routing": {"kind": "up-down"}}"#,
    topology
));
