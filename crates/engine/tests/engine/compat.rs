//! The peers' semantics against a literal simulator, and that one against what the peers gave.

use std::path::PathBuf;

use crate::support::random::{Draft, complete, wild};
use crate::support::{goal, peers};
use proptest::prelude::*;
use stratasim_engine::compat::{self, Outcome, Parameters, Semantics};
use stratasim_workload::goal::{ANY, OperationKind, Schedule};

fn peer(semantics: Semantics) -> impl Strategy<Value = (Semantics, Parameters)> {
    let fraction = if semantics == Semantics::AtlahsLgs { 0.01 } else { 1.0 };
    let small = || prop_oneof![Just(0), 1..3000_u64];
    let eager = prop_oneof![Just(0), Just(1000), Just(65535)];
    (small(), small(), small(), 0..8_u64, 0..3_u64, eager).prop_map(
        move |(latency_ns, overhead_ns, gap_ns, per_byte, overhead_per_byte_ns, eager_limit_bytes)| {
            let gap_per_byte_ns = per_byte as f64 * fraction;
            // empty messages take (0 - 1) G at LogGOPSim: with a gap below that its clocks wrap
            let gap_ns = if fraction == 1.0 { gap_ns.max(per_byte) } else { gap_ns };
            let overhead_ns = if fraction == 1.0 { overhead_ns.max(8) } else { overhead_ns };
            let parameters = Parameters {
                latency_ns,
                overhead_ns,
                gap_ns,
                gap_per_byte_ns,
                overhead_per_byte_ns,
                eager_limit_bytes,
            };
            (semantics, parameters)
        },
    )
}

fn any_peer() -> impl Strategy<Value = (Semantics, Parameters)> {
    prop_oneof![peer(Semantics::LogGopSim), peer(Semantics::AtlahsLgs)]
}

fn ours(schedule: &Schedule, semantics: Semantics, parameters: Parameters) -> Option<Outcome> {
    let outcome = compat::run(schedule, semantics, parameters, &mut ()).ok()?;
    Some(Outcome { waiting: Vec::new(), ..outcome })
}

/// Many operations of one rank that wait for the same few streams and NICs.
fn crowded() -> impl Strategy<Value = Draft> {
    complete(150).prop_map(|mut draft| {
        for planned in draft.ranks.iter_mut().flatten() {
            planned.operation.size %= 64;
            if planned.after.len() > 1 {
                planned.after.truncate(1);
            }
        }
        draft
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn blocked_events_in_groups_give_what_one_by_one_gives(
        draft in prop_oneof![complete(60), wild(80), crowded()],
        (semantics, parameters) in any_peer(),
    ) {
        let schedule = draft.schedule();
        let expected = peers::run(&schedule, semantics, parameters);
        prop_assert_eq!(ours(&schedule, semantics, parameters), expected);
    }
}

#[test]
fn an_event_from_the_past_waits_until_the_date_that_it_was_told() {
    // l9 sets the clock of cpu 1 back from 3 to 2 at 2; l7 was blocked until 3 before, at 0
    let schedule = goal(
        "num_ranks 3
        rank 0 {
        l1: send 2b to 2
        l2: send 0b to 1 tag 1
        l3: send 2b to 1 tag 1 cpu 1
        }
        rank 1 {
        l1: calc 0
        l2: recv 0b from 1 cpu 1
        l3: recv 0b from 0 tag 1 cpu 1
        l4: recv 0b from 1 tag 1
        l4 requires l3
        l5: send 2b to 1 cpu 1 nic 1
        l5 requires l1
        l6: send 2b to 1 cpu 1
        l7: send 0b to 1 cpu 1
        l7 irequires l4
        l8: send 0b to 1 cpu 1
        l8 requires l6
        l9: recv 0b from 0 tag 1 cpu 1
        l9 requires l3
        }
        rank 2 {
        }",
    );
    let parameters = Parameters {
        latency_ns: 0,
        overhead_ns: 0,
        gap_ns: 0,
        gap_per_byte_ns: 0.0,
        overhead_per_byte_ns: 1,
        eager_limit_bytes: 1000,
    };
    let outcome = ours(&schedule, Semantics::AtlahsLgs, parameters);
    assert_eq!(outcome.as_ref().expect("a result").finish_ns, [1, 4, 0]);
    assert_eq!(outcome, peers::run(&schedule, Semantics::AtlahsLgs, parameters));
}

#[test]
fn a_message_that_ends_twice_does_not_put_off_what_its_first_end_enabled() {
    // l7 of rank 0 is eager; l4 takes it for a message of 1,001 bytes, which is not
    let schedule = goal(
        "num_ranks 2
        rank 0 {
        l0: recv 0b from 1 tag 0 nic 1
        l1: recv 0b from 1 tag 0 nic 1
        l2: send 1001b to 1 tag 2 cpu 1 nic 1
        l3: send 1001b to 0 tag 2
        l3 irequires l1
        l4: recv 1001b from 0 tag 2
        l4 requires l0
        l7: send 0b to 0 tag 2
        l8: recv 0b from 0 tag 2
        l8 requires l7
        l8 irequires l4
        }
        rank 1 {
        l0: send 0b to 0 tag 0 nic 1
        l1: send 0b to 0 tag 0 cpu 2 nic 1
        l2: recv 1001b from 0 tag 2 nic 1
        l2 requires l0
        }",
    );
    let parameters = Parameters {
        latency_ns: 0,
        overhead_ns: 0,
        gap_ns: 1,
        gap_per_byte_ns: 0.01,
        overhead_per_byte_ns: 0,
        eager_limit_bytes: 1000,
    };
    let outcome = ours(&schedule, Semantics::AtlahsLgs, parameters);
    assert_eq!(outcome.as_ref().expect("a result").finish_ns, [15, 11]);
    assert_eq!(outcome, peers::run(&schedule, Semantics::AtlahsLgs, parameters));
}

/// Every reference schedule whose literal run takes no more than a few thousand events.
fn references() -> Option<Vec<(String, Schedule, serde_json::Value)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/ref/goal");
    let Ok(text) = std::fs::read_to_string(folder.join("cases.json")) else {
        eprintln!("skipped: no {}", folder.display());
        return None;
    };
    let cases: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let cases = cases["cases"].as_array().expect("cases").iter();
    let read = |case: &serde_json::Value| {
        let name = case["goal"].as_str().expect("a file name");
        let text = std::fs::read_to_string(folder.join(name)).expect("the schedule of the case");
        (name.to_owned(), goal(&text), case["runs"].clone())
    };
    Some(cases.map(read).collect())
}

#[test]
fn the_peers_own_results_come_out_to_the_nanosecond() {
    let Some(references) = references() else { return };
    let mut compared = [0; 2];
    for (name, schedule, runs) in &references {
        for run in runs.as_array().expect("runs") {
            let semantics = match run["sim"].as_str() {
                Some("LogGOPSim-stable") => Semantics::LogGopSim,
                Some("ATLAHS-LGS-ordered") => Semantics::AtlahsLgs,
                _ => continue,
            };
            let number = |key: &str| run[key].as_u64().unwrap_or_else(|| panic!("{name}: {key} of {run}"));
            let parameters = Parameters {
                latency_ns: number("L"),
                overhead_ns: number("o"),
                gap_ns: number("g"),
                gap_per_byte_ns: run["G"].as_f64().expect("G"),
                overhead_per_byte_ns: number("O"),
                eager_limit_bytes: number("S"),
            };
            let found = compat::run(schedule, semantics, parameters, &mut ());
            let literal = (schedule.len() < 10_000).then(|| peers::run(schedule, semantics, parameters));
            let Some(finish) = run["finish"].as_array().filter(|finish| !finish.is_empty()) else {
                assert!(found.is_err(), "{name}: the peer aborts");
                assert!(literal.is_none_or(|literal| literal.is_none()));
                continue;
            };
            let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
            let finish: Vec<u64> = finish.iter().map(|at| at.as_u64().expect("ns")).collect();
            assert_eq!(found.finish_ns, finish, "{name} {run}");
            assert_eq!(found.events, number("events"), "{name}");
            assert_eq!(found.left == 0, run["complete"] == true, "{name}");
            assert_eq!(found.left == 0, found.waiting.is_empty());
            let left = ["uq_left", "rq_left", "ops_never_enabled"].map(number);
            assert_eq!(found.left, left.iter().sum::<u64>(), "{name}");
            if let Some(literal) = literal {
                assert_eq!(literal, Some(Outcome { waiting: Vec::new(), ..found }), "{name}");
            }
            compared[usize::from(semantics == Semantics::AtlahsLgs)] += 1;
        }
    }
    assert!(compared[0] >= 192 && compared[1] >= 186, "{compared:?}");
}

#[test]
fn random_schedules_use_everything_that_matters() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut complete_runs, mut wildcards, mut empty, mut cpus, mut rendezvous) = (0, 0, 0, 0, 0);
    for _ in 0..200 {
        let draft = wild(80).new_tree(&mut runner).expect("a schedule").current();
        let (semantics, parameters) = peer(Semantics::LogGopSim).new_tree(&mut runner).expect("it").current();
        let schedule = draft.schedule();
        let outcome = ours(&schedule, semantics, parameters).expect("LogGOPSim never gives up");
        complete_runs += usize::from(outcome.left == 0);
        let messages = || draft.ranks.iter().flatten().map(|planned| planned.operation);
        let messages = || messages().filter(|own| own.kind != OperationKind::Calc);
        wildcards += usize::from(messages().any(|own| own.peer == ANY || own.tag == ANY));
        empty += usize::from(messages().any(|own| own.size == 0));
        rendezvous += usize::from(messages().any(|own| own.size > parameters.eager_limit_bytes));
        cpus += usize::from(schedule.cpus() > 1 && schedule.nics() > 1);
    }
    for count in [complete_runs, wildcards, empty, cpus, rendezvous] {
        assert!((20..=195).contains(&count), "{:?}", [complete_runs, wildcards, empty, cpus, rendezvous]);
    }
}

#[test]
fn what_a_peer_does_not_take_is_refused() {
    let schedule = goal("num_ranks 2\nrank 0 {\nx: send 8b to 7\n}\nrank 1 {\n}");
    let parameters = Parameters {
        latency_ns: 1,
        overhead_ns: 1,
        gap_ns: 1,
        gap_per_byte_ns: 0.04,
        overhead_per_byte_ns: 0,
        eager_limit_bytes: 0,
    };
    let reason = |semantics, parameters| {
        compat::run(&schedule, semantics, parameters, &mut ()).expect_err("a refusal").reason
    };
    assert_eq!(
        reason(Semantics::LogGopSim, parameters),
        "LogGOPSim counts G in whole nanoseconds per byte, not 0.04; `atlahs-lgs` takes fractions"
    );
    for semantics in [Semantics::LogGopSim, Semantics::AtlahsLgs] {
        let parameters = Parameters { gap_per_byte_ns: 1.0, ..parameters };
        assert_eq!(reason(semantics, parameters), "rank 0: `x` sends to rank 7, there are 2 ranks");
    }
    let fine = goal("num_ranks 1\nrank 0 {\nsend 8b to 0\nrecv 8b from 0\n}");
    for gap_per_byte_ns in [f64::NAN, f64::INFINITY, -1.0] {
        let parameters = Parameters { gap_per_byte_ns, ..parameters };
        for semantics in [Semantics::LogGopSim, Semantics::AtlahsLgs] {
            let outcome = compat::run(&fine, semantics, parameters, &mut ());
            assert!(outcome.is_err(), "{semantics:?} with {gap_per_byte_ns}: {outcome:?}");
        }
    }
}
