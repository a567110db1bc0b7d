//! What can never run is found without running it; what can run is left alone.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::Value;
use stratasim_workload::goal::check::{FindingKind, Findings, LISTED, check};
use stratasim_workload::goal::generate::{GenerateContext, GenerateSpec};
use stratasim_workload::goal::{ANY, Operation, OperationKind, Schedule, ScheduleBuilder, file, text};

/// What is said about `ranks` blocks of statements.
fn said(blocks: &[&str]) -> Vec<String> {
    found(blocks).list.iter().map(ToString::to_string).collect()
}

fn found(blocks: &[&str]) -> Findings {
    let mut all = format!("num_ranks {}\n", blocks.len());
    for (rank, block) in blocks.iter().enumerate() {
        all += &format!("rank {rank} {{\n{block}\n}}\n");
    }
    check(&text::read(all.as_bytes()).unwrap())
}

const NOTHING: [&str; 0] = [];

#[test]
fn ranks_that_do_not_exist_are_named() {
    assert_eq!(
        said(&["a: send 8b to 2 tag 1\nb: recv 8b from 9", "send 1b to 4294967295"]),
        [
            "rank 0, a: sends to rank 2; there are ranks 0 to 1",
            "rank 0, b: receives from rank 9; there are ranks 0 to 1",
            "rank 1, l1: sends to rank 4294967295; there are ranks 0 to 1",
        ]
    );
    assert_eq!(said(&["send 8b to 1"]), ["rank 0, l1: sends to rank 1; there is rank 0"]);
    assert_eq!(said(&["send 8b to 0\nrecv 8b from 0"]), NOTHING);
}

#[test]
fn a_circle_within_a_rank_is_named_link_by_link() {
    assert_eq!(said(&["l1: calc 1\nl1 requires l1"]), ["rank 0, l1: waits for itself"]);
    let block =
        "a: calc 1\nb: calc 1\nc: calc 1\nd: calc 1\nb requires a\nc irequires b\na requires c\nd requires a";
    assert_eq!(
        said(&["", block]),
        ["rank 1, a: waits for c, which waits for b, which waits for a; another operation waits for it"]
    );
    let long: String = (0..100).map(|at| format!("o{at}: calc 1\n")).collect::<String>()
        + &(0..100).map(|at| format!("o{at} requires o{}\n", (at + 1) % 100)).collect::<String>();
    let text = said(&[&long]);
    assert!(text[0].contains("o1, which waits for o2") && text[0].contains("91 others"), "{text:?}");
    assert!(text[0].ends_with(", which waits for o0"), "{text:?}");
}

#[test]
fn receives_before_sends_on_both_sides_are_a_circle_over_ranks() {
    let block = |peer: u32| format!("r: recv 8b from {peer}\ns: send 8b to {peer}\ns requires r");
    assert_eq!(
        said(&[&block(1), &block(0), "calc 1"]),
        ["rank 0, r: waits for s of rank 1, which waits for r of rank 1, which waits for s of rank 0, \
          which waits for r of rank 0"]
    );
    // an operation that waits for the start of the receive only does not keep anybody waiting
    let started = block(1).replace("requires", "irequires");
    assert_eq!(said(&[&started, &block(0)]), NOTHING);
    // who only waits for the circle is counted
    let also = format!("{}\nd: calc 1\nd requires r", block(1));
    let text = said(&[&also, &block(0)]);
    assert!(text[0].ends_with("; another operation waits for them"), "{text:?}");
}

#[test]
fn a_circle_and_its_consequences_are_one_finding() {
    let blocks = [
        "a: calc 1\nb: send 8b to 1\na requires a\nb requires a",
        "r: recv 8b from 0\nc: calc 1\nc requires r",
    ];
    assert_eq!(said(&blocks), ["rank 0, a: waits for itself; another operation waits for it"]);
    let blocks = ["r: recv 8b from 1\ns: send 8b to 1 tag 3\ns requires r", "recv 8b from 0 tag 3"];
    assert_eq!(said(&blocks), ["rank 0, r: receives a message with tag 0 from rank 1, which sends none"]);
}

#[test]
fn chains_of_starts_of_any_length_are_followed() {
    let mut builder = ScheduleBuilder::new(2);
    let count = 300_000;
    builder.push(Operation::receive(1, 1, 0));
    for place in 1..count {
        builder.push(Operation::calc(1));
        builder.requires_start(place, place - 1);
    }
    let send = builder.push(Operation::send(1, 1, 0));
    builder.requires_start(send, count - 1);
    builder.close_rank().unwrap();
    builder.push(Operation::receive(1, 0, 0));
    let send = builder.push(Operation::send(1, 0, 0));
    builder.requires(send, 0);
    assert_eq!(check(&builder.build().unwrap()).list, []);
}

#[test]
fn messages_without_their_other_side_are_counted_by_source_and_tag() {
    assert_eq!(
        said(&[
            "send 8b to 1 tag 1\nsend 8b to 1 tag 1\nx: send 8b to 1 tag 1",
            "recv 8b from 0 tag 1\nrecv 8b from 0 tag 1"
        ]),
        ["rank 0, x: sends 3 messages with tag 1 to rank 1, which receives only 2"]
    );
    assert_eq!(
        said(&["send 8b to 1 tag 1", "recv 8b from 0 tag 1\nrecv 8b from 0 tag 1\nrecv 8b from 0 tag 2"]),
        [
            "rank 1, l2: receives 2 messages with tag 1 from rank 0, which sends only 1",
            "rank 1, l3: receives a message with tag 2 from rank 0, which sends none",
        ]
    );
}

#[test]
fn wildcards_are_given_the_benefit_of_the_doubt() {
    let sends = "send 8b to 1 tag 1\nsend 8b to 1 tag 2";
    for receives in [
        "recv 8b from -1 tag 1\nrecv 8b from 0 tag 2",
        "recv 8b from 0 tag -1\nrecv 8b from 0 tag -1",
        "recv 8b from -1 tag -1\nrecv 8b from -1 tag -1",
    ] {
        assert_eq!(said(&[sends, receives]), NOTHING, "{receives}");
    }
    assert_eq!(said(&["send 8b to 1 tag -1", "recv 8b from 0 tag 7"]), NOTHING);
    assert_eq!(
        said(&[sends, "recv 8b from -1 tag -1"]),
        ["rank 1: 2 messages are sent to it, but it receives 1 (some from any rank or with any tag)"]
    );
    assert_eq!(
        said(&[sends, "recv 8b from -1 tag 1\nrecv 8b from -1 tag 1"]),
        ["rank 0, l2: sends a message with tag 2 to rank 1, which receives none"]
    );
    assert_eq!(
        said(&["send 8b to 1", "recv 8b from 2\nrecv 8b from -1 tag -1", ""])[0],
        "rank 1, l1: receives a message with tag 0 from rank 2, which sends none"
    );
}

#[test]
fn sizes_are_compared_in_order() {
    let kinds = |blocks: &[&str]| found(blocks).list.iter().map(|it| it.kind).collect::<Vec<_>>();
    assert_eq!(
        said(&["s: send 20b to 1", "r: recv 10b from 0"]),
        ["rank 1, r: receives 10 bytes, but s of rank 0 sends 20"]
    );
    assert_eq!(kinds(&["send 20b to 1", "recv 10b from 0"]), [FindingKind::CutOff]);
    // room for more is usual: a receive says how much it takes
    let roomy = found(&["send 10b to 1", "recv 20b from 0"]);
    assert_eq!(roomy.list[0].kind, FindingKind::OtherSize);
    assert!(!roomy.has_faults());
    // which is first is decided when it runs
    assert_eq!(kinds(&["send 10b to 1\nsend 20b to 1", "recv 20b from 0\nrecv 10b from 0"]), []);
    assert_eq!(
        kinds(&["send 10b to 1\nsend 20b to 1", "recv 20b from 0\nrecv 30b from 0"]),
        [FindingKind::OtherSize]
    );
    assert_eq!(
        said(&["send 10b to 1\nsend 20b to 1", "recv 5b from 0\nrecv 5b from 0"]),
        ["rank 1, l1: receives 5 bytes, but l1 of rank 0 sends 10 (2 such pairs with tag 0)"]
    );
}

#[test]
fn long_lists_are_cut_and_counted() {
    let sends: String = (0..250).map(|tag| format!("send 1b to 0 tag {tag}\n")).collect();
    let findings = found(&[&sends]);
    assert_eq!(findings.list.len() as u64, LISTED);
    assert_eq!(findings.count(FindingKind::Unmatched), 250);
}

#[test]
fn generated_schedules_are_faultless() {
    for name in GenerateSpec::names().filter(|name| *name != "collective") {
        for ranks in [1, 2, 3, 8, 13, 64] {
            let spec = GenerateSpec::named(name, serde_json::Map::new()).unwrap();
            let mut context = GenerateContext::new(ranks);
            context.bytes = Some(1000);
            match spec.generate(&context) {
                Ok(schedule) => assert_eq!(check(&schedule).list, [], "{name} over {ranks}"),
                Err(error) => assert!(error.field == "ranks" || error.field.is_empty(), "{name}: {error}"),
            }
        }
    }
}

/// What LogGOPSim with a stable sort completes passes; what it leaves unfinished whatever the parameters is
/// either found or runs into nothing that can be seen without time.
#[test]
fn the_reference_cases_that_run_pass() {
    let Some(cases) = crate::common::goal_text::reference("cases.json") else { return };
    let cases: Value = serde_json::from_str(&cases).unwrap();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/goal");
    let (mut runs, mut stuck) = (0, Vec::new());
    for case in cases["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let schedule = file::read(&root.join(case["goal"].as_str().unwrap())).unwrap();
        let findings = check(&schedule);
        let of = |sim: &str| -> Vec<bool> {
            let runs = case["runs"].as_array().unwrap().iter();
            runs.filter(|run| run["sim"] == sim).map(|run| run["complete"] == true).collect()
        };
        let complete = of("LogGOPSim-stable");
        let never = FindingKind::ALL[..4].iter().any(|kind| findings.count(*kind) > 0);
        if complete.contains(&true) {
            runs += 1;
            assert!(!never, "{id} runs, but {:?}", findings.list);
        } else {
            assert!(never, "{id} never runs, and nothing is found");
            stuck.push(id.to_owned());
        }
    }
    assert!(runs > 40, "{runs} of the cases run");
    assert!(stuck.contains(&"h09_deadlock".to_owned()), "{stuck:?}");
}

/// A slow literal run: in each step the first operation that can, in any order that a choice of messages allows
/// for schedules without wildcards, where the choice makes no difference to what ends.
fn ends(schedule: &Schedule) -> bool {
    let ranks = schedule.ranks();
    let mut waits: Vec<Vec<u32>> = Vec::new();
    for rank in 0..ranks {
        let mut counts = Vec::new();
        schedule.count_dependencies(rank, &mut counts);
        waits.push(counts);
    }
    // state: 0 not started, 1 started, 2 ended
    let mut state = vec![0; schedule.len() as usize];
    let mut sent: Vec<(u32, u32, u32)> = Vec::new();
    loop {
        let mut moved = false;
        for rank in 0..ranks {
            let range = schedule.of_rank(rank);
            for number in range.clone() {
                let operation = schedule.operation(rank, number);
                let release = |on_start: bool, waits: &mut Vec<Vec<u32>>| {
                    for edge in schedule.edges(number).iter().filter(|edge| edge.on_start() == on_start) {
                        waits[rank as usize][edge.after() as usize] -= 1;
                    }
                };
                if state[number as usize] == 0 && waits[rank as usize][(number - range.start) as usize] == 0 {
                    state[number as usize] = 1;
                    moved = true;
                    release(true, &mut waits);
                }
                if state[number as usize] == 1 {
                    let can = match operation.kind {
                        OperationKind::Calc => true,
                        OperationKind::Send => {
                            sent.push((rank, operation.peer, operation.tag));
                            true
                        }
                        OperationKind::Receive => {
                            let wanted = (operation.peer, rank, operation.tag);
                            sent.iter()
                                .position(|key| *key == wanted)
                                .map(|at| sent.swap_remove(at))
                                .is_some()
                        }
                    };
                    if can {
                        state[number as usize] = 2;
                        moved = true;
                        release(false, &mut waits);
                    }
                }
            }
        }
        if !moved {
            return state.iter().all(|&state| state == 2) && sent.is_empty();
        }
    }
}

/// Random small schedules, mostly with as many sends as receives.
fn schedules() -> impl Strategy<Value = Schedule> {
    let message = (0..3_u32, 0..3_u32, 0..2_u32, 0..8_u32);
    let messages = proptest::collection::vec(message, 0..8);
    let edges = proptest::collection::vec((0..3_u32, any::<u16>(), any::<u16>(), any::<bool>()), 0..8);
    (messages, edges).prop_map(|(messages, edges)| {
        let mut builder = ScheduleBuilder::new(3);
        for rank in 0..3 {
            builder.push(Operation::calc(1));
            for &(from, to, tag, fault) in &messages {
                if from == rank && fault != 0 {
                    builder.push(Operation::send(8, to, tag));
                }
                if to == rank && fault != 1 {
                    builder.push(Operation::receive(8, from, tag));
                }
            }
            let len = builder.rank_len();
            for &(_, after, before, on_start) in edges.iter().filter(|edge| edge.0 == rank) {
                let (after, before) = (u32::from(after) % len, u32::from(before) % len);
                if on_start {
                    builder.requires_start(after, before);
                } else {
                    builder.requires(after, before);
                }
            }
            builder.close_rank().unwrap();
        }
        builder.build().unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// One message per pair and tag would make it exact; with several, an optimistic look may miss a
    /// circle, but never sees one that is none.
    #[test]
    fn what_ends_has_no_faults(schedule in schedules()) {
        if ends(&schedule) {
            prop_assert_eq!(check(&schedule).list, vec![]);
        }
    }

    #[test]
    fn what_does_not_end_has_faults_where_no_two_messages_are_alike(schedule in schedules()) {
        let mut seen = std::collections::BTreeSet::new();
        let alone = (0..3).all(|rank| schedule.of_rank(rank).all(|number| {
            let Operation { kind, peer, tag, .. } = schedule.operation(rank, number);
            kind == OperationKind::Calc || seen.insert((rank, kind, peer, tag))
        }));
        if alone && !ends(&schedule) {
            prop_assert!(check(&schedule).has_faults());
        }
    }

    #[test]
    fn wildcards_find_nothing_new(schedule in schedules()) {
        // a receive that takes more can only be luckier
        let mut wild = ScheduleBuilder::new(3);
        for rank in 0..3 {
            for number in schedule.of_rank(rank) {
                let mut operation = schedule.operation(rank, number);
                if operation.kind == OperationKind::Receive && number % 2 == 0 {
                    operation.peer = ANY;
                }
                wild.push(operation);
            }
            let first = schedule.of_rank(rank).start;
            for number in schedule.of_rank(rank) {
                for edge in schedule.edges(number) {
                    if edge.on_start() {
                        wild.requires_start(edge.after(), number - first);
                    } else {
                        wild.requires(edge.after(), number - first);
                    }
                }
            }
            wild.close_rank().unwrap();
        }
        if !check(&schedule).has_faults() {
            prop_assert_eq!(check(&wild.build().unwrap()).list, vec![]);
        }
    }
}
