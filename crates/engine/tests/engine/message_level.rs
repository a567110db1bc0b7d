//! What a message of a schedule costs on the message network, against closed forms.
//!
//! L latency, o overhead, g gap, G gap per byte, O overhead per byte, S eager limit; s bytes of a message.
//! A message occupies a NIC for (s - 1) G + g, first the sender's, and the receiver's from L later on.

use std::fmt::Write as _;

use crate::support::*;
use stratasim_core::NodeId;
use stratasim_engine::RunError;

const L: f64 = 3700.0;
const O: f64 = 200.0;
const G_GAP: f64 = 5.0;
const G: f64 = 0.04;
const EAGER: u64 = 1 << 40;

fn plain() -> stratasim_net::message::Message {
    parameters([L, O, G_GAP, G, 0.0], EAGER)
}

/// Everything larger than an empty message is sent by rendezvous.
fn rendezvous() -> stratasim_net::message::Message {
    parameters([L, O, G_GAP, G, 0.0], 0)
}

#[test]
fn one_eager_message_takes_two_overheads_the_latency_and_its_bytes() {
    let text = "num_ranks 2
        rank 0 {
        s: send 1001b to 1
        }
        rank 1 {
        r: recv 1001b from 0
        }";
    // o + L + (s - 1) G + o
    let run = message(text, &plain());
    assert_eq!(run.end("0.s"), ns(O), "an eager send ends when the host has handed it over");
    assert_eq!(run.end("1.r"), ns(O + L + 1000.0 * G + O));
    assert_eq!(run.start("1.r"), ns(0.0), "a receive starts when it is posted");
    assert_eq!(run.makespan(), run.end("1.r"));
    let [span] = &run.messages[..] else { panic!("one message: {:?}", run.messages) };
    assert_eq!((span.end, span.bytes), (ns(O + L + 1000.0 * G), 1001));
    // each end pays (s - 1) O more
    let run = message(text, &parameters([L, O, G_GAP, G, 0.3], EAGER));
    assert_eq!(run.end("0.s"), ns(O + 300.0));
    assert_eq!(run.end("1.r"), ns(2.0 * (O + 300.0) + L + 1000.0 * G));
}

#[test]
fn an_empty_message_takes_two_overheads_and_the_latency() {
    let text = "num_ranks 2
        rank 0 {
        s: send 0b to 1
        }
        rank 1 {
        r: recv 0b from 0
        e: calc 0
        e requires r
        }";
    for spec in [plain(), rendezvous()] {
        let run = message(text, &spec);
        assert_eq!(run.end("1.r"), ns(2.0 * O + L), "S of 0 is not exceeded by 0 bytes");
        assert_eq!((run.start("1.e"), run.end("1.e")), (run.end("1.r"), run.end("1.r")));
    }
}

#[test]
fn the_next_message_of_a_nic_waits_for_the_bytes_and_the_gap_of_the_one_before() {
    let text = "num_ranks 2
        rank 0 {
        a: send 5001b to 1
        b: send 5001b to 1
        c: send 5001b to 1
        }
        rank 1 {
        a: recv 5001b from 0
        b: recv 5001b from 0
        c: recv 5001b from 0
        }";
    // (s - 1) G + g = 205 is more than o: the NIC sets the pace
    let run = message(text, &plain());
    for (place, name) in ["a", "b", "c"].into_iter().enumerate() {
        let place = place as f64;
        assert_eq!(run.end(&format!("0.{name}")), ns(O * (place + 1.0)), "hosts do not wait for NICs");
        let there = O + place * 205.0 + L + 200.0;
        assert_eq!(run.end(&format!("1.{name}")), ns(there + O));
    }
    // g of 1000: the same pace, whatever the size; o of 2000: the hosts set it
    for (overhead, gap, pace) in [(200.0, 1000.0, 1200.0), (2000.0, 5.0, 2000.0)] {
        let run = message(text, &parameters([L, overhead, gap, G, 0.0], EAGER));
        assert_eq!(run.end("1.c"), ns(overhead + 2.0 * pace + L + 200.0 + overhead));
    }
}

#[test]
fn a_ring_takes_a_message_per_step() {
    for (ranks, steps) in [(2_u32, 5_u32), (7, 12)] {
        let mut text = format!("num_ranks {ranks}\n");
        for rank in 0..ranks {
            writeln!(text, "rank {rank} {{").unwrap();
            for step in 0..steps {
                writeln!(text, "s{step}: send 1001b to {}", (rank + 1) % ranks).unwrap();
                writeln!(text, "r{step}: recv 1001b from {}", (rank + ranks - 1) % ranks).unwrap();
                if step > 0 {
                    writeln!(text, "s{step} requires r{}", step - 1).unwrap();
                }
            }
            text.push_str("}\n");
        }
        let run = message(&text, &plain());
        assert_eq!(run.makespan(), ns(f64::from(steps) * (O + L + 1000.0 * G + O)));
        // by rendezvous each takes two more latencies: announcement and answer
        let run = message(&text, &rendezvous());
        assert_eq!(run.makespan(), ns(f64::from(steps) * (O + 3.0 * L + 1000.0 * G + O)));
    }
}

#[test]
fn a_rendezvous_takes_an_announcement_and_an_answer_first() {
    let text = "num_ranks 2
        rank 0 {
        s: send 1001b to 1
        after: calc 7
        after requires s
        }
        rank 1 {
        r: recv 1001b from 0
        }";
    let run = message(text, &rendezvous());
    let there = O + 3.0 * L + 1000.0 * G;
    assert_eq!(run.end("0.s"), ns(there), "the send ends when the data has arrived");
    assert_eq!(run.end("0.after"), ns(there + 7.0));
    assert_eq!(run.end("1.r"), ns(there + O));
    let bytes: Vec<u64> = run.carried.iter().map(|carried| carried.bytes).collect();
    assert_eq!(bytes, [0, 0, 1001], "announcement and answer carry nothing");
    assert_eq!(run.messages.len(), 1);
    // S is the largest eager size
    let spec = parameters([L, O, G_GAP, G, 0.0], 1001);
    assert_eq!(message(text, &spec).end("1.r"), ns(O + L + 1000.0 * G + O));
    let spec = parameters([L, O, G_GAP, G, 0.0], 1000);
    assert_eq!(message(text, &spec).end("1.r"), ns(there + O));
}

#[test]
fn a_rendezvous_waits_for_its_receive_but_its_stream_does_not() {
    let run = message(
        "num_ranks 2
        rank 0 {
        s: send 1001b to 1
        other: calc 50
        }
        rank 1 {
        c: calc 9000
        r: recv 1001b from 0
        r requires c
        }",
        &rendezvous(),
    );
    assert_eq!((run.start("0.other"), run.end("0.other")), (ns(O), ns(O + 50.0)));
    // the answer leaves when the receive is posted
    let there = 9000.0 + L + L + 1000.0 * G;
    assert_eq!(run.end("0.s"), ns(there));
    assert_eq!(run.end("1.r"), ns(there + O));
}

#[test]
fn a_message_ends_in_its_instant_whatever_arrives_with_it() {
    let run = message(
        "num_ranks 4
        rank 0 {
        send 1b to 1
        }
        rank 1 {
        r: recv 1b from 0
        }
        rank 2 {
        send 1001b to 3
        }
        rank 3 {
        r: recv 1001b from 2
        }",
        &plain(),
    );
    assert_eq!(run.end("1.r"), ns(O + L + O));
    assert_eq!(run.end("3.r"), ns(O + L + 1000.0 * G + O));
}

#[test]
fn an_incast_takes_what_the_receivers_nic_takes() {
    let senders = 32;
    let mut text = format!("num_ranks {}\nrank 0 {{\n", senders + 1);
    for sender in 1..=senders {
        writeln!(text, "recv 20000b from {sender}").unwrap();
    }
    text.push_str("}\n");
    for sender in 1..=senders {
        writeln!(text, "rank {sender} {{\nsend 20000b to 0\n}}").unwrap();
    }
    // all are there at o + L, and pass one by one: 32 (s - 1) G + 31 g, then o of the last
    let run = message(&text, &plain());
    let expected = O + L + 32.0 * 19_999.0 * G + 31.0 * G_GAP + O;
    assert_eq!(run.makespan(), ns(expected));
    assert!(run.makespan() >= ns(25_600.0), "32 times 20 kB at 200 Gb/s take 25.6 us");
    // one to many: the sender's NIC takes as long; its host is done much earlier
    let mut text = format!("num_ranks {}\nrank 0 {{\n", senders + 1);
    for receiver in 1..=senders {
        writeln!(text, "send 20000b to {receiver}").unwrap();
    }
    text.push_str("}\n");
    for receiver in 1..=senders {
        writeln!(text, "rank {receiver} {{\nrecv 20000b from 0\n}}").unwrap();
    }
    assert_eq!(message(&text, &plain()).makespan(), ns(expected));
}

#[test]
fn messages_to_and_from_a_nic_do_not_disturb_each_other() {
    // both directions of both NICs, all at once
    let run = message(
        "num_ranks 2
        rank 0 {
        s: send 100001b to 1
        r: recv 100001b from 1
        }
        rank 1 {
        s: send 100001b to 0
        r: recv 100001b from 0
        }",
        &plain(),
    );
    for rank in 0..2 {
        assert_eq!(run.end(&format!("{rank}.r")), ns(O + L + 4000.0 + O));
    }
}

#[test]
fn nics_of_a_rank_carry_messages_side_by_side() {
    let text = |nics: [u32; 2]| {
        format!(
            "num_ranks 2
            rank 0 {{
            a: send 100001b to 1 cpu 0 nic {0}
            b: send 100001b to 1 tag 1 cpu 1 nic {1}
            }}
            rank 1 {{
            a: recv 100001b from 0 cpu 0 nic {0}
            b: recv 100001b from 0 tag 1 cpu 1 nic {1}
            }}",
            nics[0], nics[1]
        )
    };
    let run = message(&text([0, 1]), &plain());
    assert_eq!((run.end("1.a"), run.end("1.b")), (ns(2.0 * O + L + 4000.0), ns(2.0 * O + L + 4000.0)));
    let run = message(&text([1, 1]), &plain());
    assert_eq!(run.end("1.a"), ns(2.0 * O + L + 4000.0));
    assert_eq!(run.end("1.b"), ns(2.0 * O + L + 4005.0 + 4000.0));
    // a machine with one NIC carries what a schedule for two says
    let schedule = goal(&text([0, 1]));
    let spec = stratasim_net::message::Message { nics: Some(1), ..plain() };
    let network = stratasim_net::message::MessageNetwork::between(&spec, 2, 1).unwrap();
    let run = run_on(&schedule, &one_to_one(&schedule), Box::new(network), None).unwrap();
    assert_eq!(run.end("1.b"), ns(2.0 * O + L + 4005.0 + 4000.0));
}

#[test]
fn a_message_to_oneself_is_like_any_other_unless_nodes_have_parameters_of_their_own() {
    let text = "num_ranks 1
        rank 0 {
        s: send 1001b to 0
        r: recv 1001b from 0
        big: send 100001b to 0 tag 1
        last: recv 100001b from 0 tag 1
        }";
    let run = message(text, &plain());
    // the stream is on the second send from o to 2 o
    assert_eq!(run.end("0.r"), ns(O + L + 1000.0 * G + O));
    assert_eq!(run.end("0.last"), ns(2.0 * O + L + 4000.0 + O));
    let mut spec = plain();
    spec.near = serde_json::from_str(
        r#"[{"within": "node", "latency": "50 ns", "gap": "1 ns", "gap-per-byte": "0.01 ns/B"}]"#,
    )
    .unwrap();
    let run = message(text, &spec);
    // r is there at 260, in the middle of the second send's overhead
    assert_eq!(run.end("0.r"), ns(3.0 * O));
    assert_eq!(run.end("0.last"), ns(2.0 * O + 50.0 + 1000.0 + O));
}

#[test]
fn ranks_of_one_node_share_its_nics() {
    let text = "num_ranks 4
        rank 0 {
        s: send 100001b to 2
        }
        rank 1 {
        s: send 100001b to 3
        }
        rank 2 {
        r: recv 100001b from 0
        }
        rank 3 {
        r: recv 100001b from 1
        }";
    let schedule = goal(text);
    let ends = |nodes: [u32; 4]| {
        let nodes = nodes.map(NodeId);
        let run = run_on(&schedule, &nodes, message_network(&schedule, &plain()), None).unwrap();
        [run.end("2.r"), run.end("3.r")]
    };
    let alone = 2.0 * O + L + 4000.0;
    assert_eq!(ends([0, 1, 2, 3]), [ns(alone), ns(alone)]);
    assert_eq!(ends([0, 0, 1, 2]), [ns(alone), ns(alone + 4005.0)], "one NIC sends both");
    assert_eq!(ends([0, 1, 2, 2]), [ns(alone), ns(alone + 4005.0)], "one NIC receives both");
    assert_eq!(ends([0, 0, 1, 1]), [ns(alone), ns(alone + 4005.0)], "both do, one behind the other");
}

const RACKS: &str = r#"{"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2,
    "bandwidth": "10 GB/s", "latency": "100 ns", "uplink-bandwidth": "2 GB/s", "uplink-latency": "300 ns"}"#;

/// Ends of a message of 1001 bytes from rank 0 to itself, to its rack, to the other rack, one alone at
/// a time; ranks are on the hosts of [`RACKS`].
fn ends_by_distance(network_spec: &str) -> [f64; 3] {
    let topology = machine(RACKS);
    [0, 1, 2].map(|to| {
        let mut text = "num_ranks 4\nrank 0 {\nsend 1001b to TO\n}\nrank 1 {\n}\nrank 2 {\n}\nrank 3 {\n}\n"
            .replace("TO", &to.to_string());
        let receive = "recv 1001b from 0\n}";
        let place = text.find(&format!("rank {to} {{")).unwrap();
        let close = place + text[place..].find('}').unwrap();
        text.replace_range(close..=close, receive);
        let schedule = goal(&text);
        let network = network(network_spec, &topology, 1);
        let run = run_on(&schedule, topology.compute_nodes(), network, None).unwrap();
        run.makespan().as_ps() as f64 / 1000.0
    })
}

#[test]
fn near_nodes_have_parameters_of_their_own() {
    let spec = |near: &str| {
        format!(
            r#"{{"kind": "message", "latency": "3700 ns", "overhead": "200 ns", "gap": "5 ns",
                "gap-per-byte": "0.04 ns/B", "near": [{near}]}}"#
        )
    };
    let node = r#"{"within": "node", "latency": "50 ns", "gap-per-byte": "0.01 ns/B"}"#;
    let rack = r#"{"within": "rack", "latency": "900 ns", "gap-per-byte": "0.02 ns/B"}"#;
    assert_eq!(ends_by_distance(&spec("")), [4140.0; 3]);
    assert_eq!(ends_by_distance(&spec(rack)), [1320.0, 1320.0, 4140.0], "a node is in its rack");
    assert_eq!(ends_by_distance(&spec(&format!("{node}, {rack}"))), [460.0, 1320.0, 4140.0]);
}

#[test]
fn routes_add_their_latency_and_lend_their_slowest_link() {
    // rack: 2 cables of 100 ns at 10 GB/s, 0.1 ns/B; other rack: 2 times 100 and 2 times 300 at 2 GB/s
    let spec = |per_byte: &str| {
        format!(
            r#"{{"kind": "message", "latency": "1000 ns", "overhead": "200 ns", "gap": "5 ns",
                "gap-per-byte": "{per_byte}", "from-routes": true}}"#
        )
    };
    let bytes = 1000.0;
    assert_eq!(
        ends_by_distance(&spec("0.04 ns/B")),
        [1400.0 + 0.04 * bytes, 1400.0 + 200.0 + 0.1 * bytes, 1400.0 + 800.0 + 0.5 * bytes]
    );
    assert_eq!(
        ends_by_distance(&spec("0.2 ns/B")),
        [1400.0 + 0.2 * bytes, 1400.0 + 200.0 + 0.2 * bytes, 1400.0 + 800.0 + 0.5 * bytes],
        "a NIC that is slower than its links counts"
    );
}

#[test]
fn a_message_without_a_route_fails_with_its_operation() {
    let topology = machine(
        r#"{"kind": "graph", "nodes": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
            "links": [{"from": "a", "to": "b", "bandwidth": "1 GB/s", "latency": "1 us"}]}"#,
    );
    let schedule = goal(
        "num_ranks 3
        rank 0 {
        lost: send 8b to 2
        }
        rank 1 {
        }
        rank 2 {
        recv 8b from 0
        }",
    );
    let spec = r#"{"kind": "message", "from-routes": true}"#;
    let error = run_on(&schedule, topology.compute_nodes(), network(spec, &topology, 1), None).unwrap_err();
    let RunError::Failed { task, .. } = &error else { panic!("{error}") };
    assert_eq!(task, "rank 0 `lost`");
}
