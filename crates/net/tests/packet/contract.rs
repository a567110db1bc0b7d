//! The contract of every network, for the packet level.

use crate::support::network;
use stratasim_testkit::network_contract;

network_contract!(in_turn packet, |topology| network(r#"{"kind": "packet"}"#, topology));
network_contract!(in_turn packet_with_dctcp_and_drops, |topology| network(
    r#"{"kind": "packet", "congestion": {"kind": "dctcp"}, "buffer": "40 kB",
        "queue": {"kind": "drop-tail", "control-first": false}, "balancing": {"kind": "least-queue"}}"#,
    topology
));
network_contract!(in_turn packet_with_pulls, |topology| network(
    r#"{"kind": "packet", "congestion": {"kind": "ndp"}, "buffer": "30 kB", "balancing": {"kind": "round-robin"},
        "completion": "sender"}"#,
    topology
));
network_contract!(in_turn packet_with_go_back_n, |topology| network(
    // the usual 67 ms would make a run too long for small steps
    r#"{"kind": "packet", "congestion": {"kind": "dcqcn"}, "queue": {"kind": "drop-tail"}, "buffer": "60 kB",
        "recovery": {"kind": "go-back-n", "timeout": "2 ms"}}"#,
    topology
));
