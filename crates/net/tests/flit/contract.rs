//! The contract of every network, for the flit level.

use crate::support::network;
use stratasim_testkit::network_contract;

network_contract!(in_turn flit, |topology| network(r#"{"kind": "flit", "flit-bytes": "64 KiB"}"#, topology));
network_contract!(in_turn flit_with_headers_and_short_packets, |topology| network(
    r#"{"kind": "flit", "flit-bytes": "64 KiB", "packet-flits": 4, "header-flits": 1, "terminal-latency": 3,
        "router": {"virtual-channels": 2, "buffer-flits": 3, "wait-for-tail-credit": true}}"#,
    topology
));
network_contract!(in_turn flit_with_lookahead_and_one_virtual_channel, |topology| network(
    r#"{"kind": "flit", "flit-bytes": "64 KiB", "routing": {"kind": "up-down"},
        "router": {"routing-delay": 0, "speculation": "separate", "virtual-channels": 1, "internal-speedup": 1.5}}"#,
    topology
));
