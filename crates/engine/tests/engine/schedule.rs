//! The rules of schedules: streams, dependencies, matching and order, against closed forms.
//!
//! L latency, o overhead, g gap, G gap per byte, O overhead per byte, S eager limit; s bytes of a message.
//! A message occupies a NIC for (s - 1) G + g, first the sender's, and the receiver's from L later on.

use stratasim_core::NodeId;

use crate::support::*;

const L: f64 = 3700.0;
const O: f64 = 200.0;
const G_GAP: f64 = 5.0;
const G: f64 = 0.04;
const EAGER: u64 = 1 << 40;

fn plain() -> stratasim_net::message::Message {
    parameters([L, O, G_GAP, G, 0.0], EAGER)
}

#[test]
fn streams_of_a_rank_work_side_by_side_and_each_in_order_of_readiness() {
    let run = message(
        "num_ranks 1
        rank 0 {
        a: calc 100
        b: calc 1000 cpu 1
        c: calc 10
        d: calc 5
        e: calc 1
        d requires c
        }",
        &plain(),
    );
    assert_eq!((run.start("0.a"), run.start("0.b")), (ns(0.0), ns(0.0)));
    assert_eq!(run.start("0.c"), ns(100.0));
    assert_eq!(run.start("0.e"), ns(110.0), "ready since 0");
    assert_eq!(run.start("0.d"), ns(111.0), "ready since 110, behind e");
}

#[test]
fn a_dependent_on_another_stream_waits_for_the_end() {
    // LogGOPSim lets it start at 0 and ends at 1000
    let run = message(
        "num_ranks 1
        rank 0 {
        a: calc 1000 cpu 0
        b: calc 10 cpu 1
        b requires a
        }",
        &plain(),
    );
    assert_eq!((run.start("0.b"), run.end("0.b")), (ns(1000.0), ns(1010.0)));
}

#[test]
fn irequires_waits_for_the_start() {
    let run = message(
        "num_ranks 2
        rank 0 {
        w: calc 30
        s: send 1001b to 1
        c: calc 10 cpu 1
        c irequires s
        }
        rank 1 {
        w: calc 40 cpu 1
        r: recv 1001b from 0
        c: calc 10 cpu 1
        r requires w
        c irequires r
        }",
        &plain(),
    );
    // a send starts when its stream takes it up, a receive when it is posted
    assert_eq!((run.start("0.s"), run.start("0.c")), (ns(30.0), ns(30.0)));
    assert_eq!((run.start("1.r"), run.start("1.c")), (ns(40.0), ns(40.0)));
    assert!(run.end("1.r") > run.end("1.c"));
}

#[test]
fn a_busy_stream_delays_the_overhead_of_a_receive() {
    let text = |cpu: u32| {
        format!(
            "num_ranks 2
            rank 0 {{
            send 1b to 1
            }}
            rank 1 {{
            r: recv 1b from 0
            c: calc 10000 cpu {cpu}
            }}"
        )
    };
    assert_eq!(message(&text(0), &plain()).end("1.r"), ns(10_000.0 + O));
    assert_eq!(message(&text(1), &plain()).end("1.r"), ns(2.0 * O + L));
    // the stream of a receive is free while it waits
    assert_eq!(message(&text(0), &plain()).end("1.c"), ns(10_000.0));
}

#[test]
fn an_unexpected_message_is_taken_when_its_receive_is_posted() {
    let run = message(
        "num_ranks 2
        rank 0 {
        s: send 1001b to 1
        }
        rank 1 {
        c: calc 20000
        r: recv 1001b from 0
        r requires c
        }",
        &plain(),
    );
    assert_eq!(run.start("1.r"), ns(20_000.0));
    assert_eq!(run.end("1.r"), ns(20_000.0 + O), "nothing but the overhead is left to do");
}

#[test]
fn equal_messages_are_matched_in_the_order_in_which_they_were_sent() {
    let text = "num_ranks 2
        rank 0 {
        a: send 100001b to 1
        b: send 11b to 1
        b requires a
        }
        rank 1 {
        c: calc WAIT
        a: recv 100001b from 0
        b: recv 11b from 0
        a requires c
        b irequires a
        }";
    for wait in ["0", "50000"] {
        let run = message(&text.replace("WAIT", wait), &plain());
        assert_eq!(run.summary.size_mismatches, 0);
        assert!(run.end("1.b") > run.end("1.a"));
    }
    // the other way round both meet the wrong one, and that is told
    let swapped = text.replace("recv 100001b", "recv X").replace("recv 11b", "recv 100001b");
    let run = message(&swapped.replace("recv X", "recv 11b").replace("WAIT", "0"), &plain());
    assert_eq!(run.summary.size_mismatches, 2);
}

#[test]
fn a_short_message_never_overtakes_a_long_one_before_it() {
    // without gap the second is wholly there in the instant in which the first one is
    for bytes in [0, 1] {
        let text = format!(
            "num_ranks 2
            rank 0 {{
            a: send 101b to 1
            b: send {bytes}b to 1
            }}
            rank 1 {{
            a: recv 101b from 0
            b: recv {bytes}b from 0
            }}"
        );
        for overhead in [0.0, 100.0] {
            let run = message(&text, &parameters([1000.0, overhead, 0.0, 1.0, 0.0], EAGER));
            assert_eq!(run.summary.size_mismatches, 0, "{bytes} bytes behind 101, o of {overhead}");
        }
    }
}

#[test]
fn a_wildcard_takes_the_first_that_fits() {
    let run = message(
        "num_ranks 3
        rank 0 {
        any: recv 8b from -1 tag 3
        tag: recv 8b from 2 tag -1
        both: recv 8b from -1 tag -1
        tag irequires any
        both irequires tag
        }
        rank 1 {
        a: send 8b to 0 tag 4
        b: send 8b to 0 tag 3
        b requires a
        }
        rank 2 {
        w: calc 10000
        a: send 8b to 0 tag 9
        a requires w
        }",
        &plain(),
    );
    // 1.a fits `both` only, 1.b goes to `any`, which was posted first, 2.a to `tag`
    let bytes = 7.0 * G;
    assert_eq!(run.end("0.both"), ns(2.0 * O + L + bytes));
    assert_eq!(run.end("0.any"), ns(3.0 * O + L + bytes));
    assert_eq!(run.end("0.tag"), ns(10_000.0 + 2.0 * O + L + bytes));
    // posted late, a wildcard takes what came first
    let run = message(
        "num_ranks 3
        rank 0 {
        w: calc 50000
        any: recv 2b from -1 tag -1
        rest: recv 1b from -1 tag 7
        any requires w
        rest irequires any
        }
        rank 1 {
        w: calc 5000
        a: send 1b to 0 tag 7
        a requires w
        }
        rank 2 {
        a: send 2b to 0 tag 8
        }",
        &plain(),
    );
    assert_eq!(run.summary.size_mismatches, 0);
}

#[test]
fn a_send_with_any_tag_fits_every_receive_of_its_rank() {
    let run = message(
        "num_ranks 2
        rank 0 {
        s: send 8b to 1 tag -1
        }
        rank 1 {
        r: recv 8b from 0 tag 12
        }",
        &plain(),
    );
    assert_eq!(run.end("1.r"), ns(2.0 * O + L + 7.0 * G));
}

#[test]
fn a_message_of_another_size_than_its_receive_is_carried_and_counted() {
    let text = "num_ranks 2
        rank 0 {
        s: send 1001b to 1
        }
        rank 1 {
        r: recv 11b from 0
        }";
    let run = message(text, &plain());
    assert_eq!(run.summary.size_mismatches, 1);
    assert_eq!(run.end("1.r"), ns(2.0 * O + L + 1000.0 * G), "the message's bytes cross the network");
    // the message decides how it is sent; the receive is served either way
    for eager_limit in [0, 100, 2000] {
        let spec = parameters([L, O, G_GAP, G, 0.0], eager_limit);
        let handshake = if eager_limit < 1001 { 2.0 * L } else { 0.0 };
        assert_eq!(message(text, &spec).end("1.r"), ns(2.0 * O + L + handshake + 1000.0 * G));
    }
}

const SWITCH: &str = r#"{"kind": "single-switch", "nodes": 2, "bandwidth": "1 GB/s", "latency": "0 ns"}"#;

#[test]
fn messages_that_a_network_brings_out_of_order_are_held_back() {
    let text = "num_ranks 2
        rank 0 {
        long: send 8000b to 1
        short: send 100b to 1
        }
        rank 1 {
        first: recv 8000b from 0
        second: recv 100b from 0
        }";
    let topology = machine(SWITCH);
    // both share 1 GB/s: the short one is there after 200 ns, the long one after 8100 ns
    let schedule = goal(text);
    let run = run_on(&schedule, topology.compute_nodes(), network(r#"{"kind": "flow"}"#, &topology, 1), None)
        .unwrap();
    let ends: Vec<_> = run.messages.iter().map(|span| (span.bytes, span.end)).collect();
    assert_eq!(ends, [(100, ns(200.0)), (8000, ns(8100.0))]);
    assert_eq!(run.summary.size_mismatches, 0);
    assert_eq!((run.end("1.first"), run.end("1.second")), (ns(8100.0), ns(8100.0)));
    // with another tag nothing is held back: messages do, but not the matching of others
    let schedule = goal(
        &text
            .replace("recv 100b from 0", "recv 100b from 0 tag 1")
            .replace("send 100b to 1", "send 100b to 1 tag 1"),
    );
    let run = run_on(&schedule, topology.compute_nodes(), network(r#"{"kind": "flow"}"#, &topology, 1), None)
        .unwrap();
    assert_eq!(run.end("1.first"), ns(8100.0));
    assert_eq!(run.end("1.second"), ns(8100.0), "envelopes stay in order, whatever their tags");
}

#[test]
fn messages_by_different_nics_stay_in_order() {
    let run = message(
        "num_ranks 2
        rank 0 {
        long: send 100001b to 1 nic 0
        short: send 11b to 1 nic 1
        }
        rank 1 {
        first: recv 100001b from 0 nic 0
        second: recv 11b from 0 cpu 1 nic 1
        }",
        &plain(),
    );
    assert_eq!(run.summary.size_mismatches, 0);
    assert_eq!(run.end("1.second"), ns(O + L + 4000.0 + O), "held back until the first is there");
}

#[test]
fn networks_without_host_costs_take_no_time_of_a_stream() {
    let topology = machine(SWITCH);
    let schedule = goal(
        "num_ranks 2
        rank 0 {
        s: send 1000b to 1
        }
        rank 1 {
        r: recv 1000b from 0
        c: calc 5000
        }",
    );
    let constant = r#"{"kind": "constant-rate", "bandwidth": "1 GB/s", "latency": "500 ns"}"#;
    for (spec, end) in [(r#"{"kind": "flow"}"#, 1000.0), (constant, 1500.0)] {
        let run = run_on(&schedule, topology.compute_nodes(), network(spec, &topology, 1), None).unwrap();
        assert_eq!((run.end("0.s"), run.end("1.r")), (ns(0.0), ns(end)));
    }
}

#[test]
fn parts_of_a_schedule_tell_when_they_ended() {
    let schedule = goal(
        "num_ranks 3
        rank 0 {
        calc 10
        calc 20
        }
        rank 1 {
        calc 7
        }
        rank 2 {
        calc 90
        }",
    );
    let mut network = stratasim_net::message::MessageNetwork::between(&plain(), 3, 1).unwrap();
    let mut blind = stratasim_core::observe::Blind;
    let options = stratasim_engine::ScheduleOptions { parts: &[0, 2], ..Default::default() };
    let nodes = one_to_one(&schedule);
    let engine =
        stratasim_engine::ScheduleEngine::new(&schedule, &nodes, &mut network, &mut blind, options).unwrap();
    assert_eq!(engine.run().unwrap().part_ends, [ns(30.0), ns(90.0)]);
}

/// The ranks 1, 4 and 6 of a machine, as a schedule of seven ranks of which four do nothing and as one of three.
#[test]
fn ranks_that_have_the_numbers_of_a_larger_schedule_run_as_they_do_there() {
    let text = |numbers: [u32; 3], ranks: u32| {
        let [a, b, c] = numbers;
        let of = |rank: u32| match numbers.iter().position(|number| *number == rank) {
            None => String::new(),
            Some(0) => format!(
                "l1: calc 5000\nl2: send 900b to {b} tag 1\nl2 requires l1\nl3: send 70000b to {c} tag 2\nl4: recv 10b from {c}"
            ),
            Some(1) => format!(
                "l1: recv 900b from {a} tag 1\nl2: calc 3000\nl2 requires l1\nl3: send 10b to {c} tag 3"
            ),
            Some(_) => format!(
                "l1: recv 70000b from {a} tag 2\nl2: recv 10b from {b} tag 3\nl3: send 10b to {a}\nl3 requires l1\nl3 requires l2"
            ),
        };
        let ranks_of = (0..ranks).map(|rank| format!("rank {rank} {{\n{}\n}}\n", of(rank)));
        format!("num_ranks {ranks}\n{}", ranks_of.collect::<String>())
    };
    let spec = stratasim_net::message::Message { eager_limit: stratasim_core::Bytes(1000), ..plain() };
    let numbers = [1_u32, 4, 6];
    let run = |text: String, nodes: &[NodeId], numbers: Option<&[u32]>| {
        let schedule = goal(&text);
        let network = stratasim_net::message::MessageNetwork::between(&spec, 7, 1).unwrap();
        let mut spy = Spy::on(Box::new(network));
        let mut blind = stratasim_core::observe::Blind;
        let source = stratasim_engine::schedule::noise::Source::Random { every_ps: 1e6, length_ps: 3e5 };
        let noise = Some(stratasim_engine::schedule::noise::Noise::new(
            source,
            7,
            stratasim_core::random::Streams::new(3),
        ));
        let options = stratasim_engine::ScheduleOptions { noise, numbers, ..Default::default() };
        let engine =
            stratasim_engine::ScheduleEngine::new(&schedule, nodes, &mut spy, &mut blind, options).unwrap();
        (engine.run().unwrap().run.makespan, spy.carried)
    };
    let nodes = numbers.map(NodeId);
    let all: Vec<NodeId> = (0..7).map(NodeId).collect();
    let among_all = run(text(numbers, 7), &all, None);
    assert_eq!(run(text([0, 1, 2], 3), &nodes, Some(&numbers)), among_all);
    // the numbers matter: the noise is that of the rank, and the network is told its number
    assert_ne!(run(text([0, 1, 2], 3), &nodes, None), among_all);
}

#[test]
fn a_send_to_a_rank_that_does_not_exist_is_refused() {
    let schedule = goal("num_ranks 2\nrank 0 {\nx: send 8b to 2\n}\nrank 1 {\n}");
    let mut network = stratasim_net::message::MessageNetwork::between(&plain(), 2, 1).unwrap();
    let mut blind = stratasim_core::observe::Blind;
    let nodes = one_to_one(&schedule);
    let error = stratasim_engine::ScheduleEngine::new(
        &schedule,
        &nodes,
        &mut network,
        &mut blind,
        Default::default(),
    )
    .err()
    .expect("a refusal");
    assert_eq!(error.reason, "rank 0: `x` sends to rank 2, there are 2 ranks");
}
