//! What a run that cannot go on says: `data/stall.txt`, written anew by
//! `UPDATE=1 cargo test -p stratasim-engine --test engine stall`.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::support::random::wild;
use crate::support::*;
use proptest::prelude::*;
use stratasim_engine::RunError;
use stratasim_engine::compat::{self, Parameters, Semantics};

/// Larger messages than 1000 bytes wait for their receive.
const S: u64 = 1000;

/// (what is wrong, the ranks)
const CASES: &[(&str, &[&str])] = &[
    (
        "two ranks that receive before they send",
        &[
            "r: recv 8b from 1\ns: send 8b to 1\ns requires r",
            "r: recv 8b from 0\ns: send 8b to 0\ns requires r",
        ],
    ),
    (
        "two ranks that send much before they receive",
        &[
            "s: send 5000b to 1\nr: recv 5000b from 1\nr requires s\nd: calc 5\nd requires r",
            "s: send 5000b to 0\nr: recv 5000b from 0\nr requires s",
        ],
    ),
    (
        "three ranks in a ring that all wait for the one before, and one behind them",
        &[
            "r: recv 8b from 2\ns: send 8b to 1\ns requires r\nx: send 8b to 3\nx requires s",
            "r: recv 8b from 0\nc: calc 7\nc irequires r\nd: calc 9 cpu 1\nd requires r\ns: send 8b to 2\ns irequires d",
            "r: recv 8b from 1\ns: send 8b to 0\ns requires r",
            "r: recv 8b from 0\na: calc 1\na requires r\nb: calc 1\nb requires a",
        ],
    ),
    ("a receive without a message", &["r: recv 8b from 1\nafter: calc 5\nafter requires r", "c: calc 10"]),
    ("a message without a receive", &["s: send 8b to 1", "c: calc 10"]),
    (
        "a large message without a receive",
        &["s: send 5000b to 1\nafter: calc 5\nafter requires s", "c: calc 10"],
    ),
    ("another tag", &["s: send 8b to 1 tag 5", "r: recv 8b from 0 tag 6"]),
    ("another tag, late", &["s: send 8b to 1 tag 5", "c: calc 9000\nr: recv 8b from 0 tag 6\nr requires c"]),
    ("another source", &["s: send 8b to 2 tag 5", "c: calc 1", "r: recv 8b from 1 tag 5"]),
    ("one receive more than messages", &["s: send 8b to 1", "a: recv 8b from 0\nb: recv 8b from 0"]),
    ("a receive from a rank that does not exist", &["r: recv 8b from 7\nc: calc 3\nc requires r"]),
    (
        "a cycle of dependencies",
        &[
            "a: calc 1\nb: calc 2\nc: calc 3\nb requires a\nc requires b\na irequires c\nd: calc 4\nd requires c",
        ],
    ),
    (
        "operations that wait for themselves",
        &["a: calc 1\na requires a\nb: calc 1\nb irequires b\nc: calc 2"],
    ),
    (
        "a wildcard that takes the wrong message",
        &[
            "any: recv 8b from -1\nr: recv 8b from 2\nr irequires any",
            "c: calc 5000\ns: send 8b to 0\ns requires c",
            "s: send 8b to 0",
        ],
    ),
    (
        "a message that has to wait for what its receiver waits for",
        &[
            "r: recv 8b from 1 tag 1\ns: send 8b to 1 tag 2\ns requires r",
            "a: recv 8b from 0 tag 2\nb: recv 8b from 0 tag 3\ns: send 8b to 0 tag 1\ns requires a",
        ],
    ),
    (
        "a message and its receive on different sides of S",
        &["s: send 2000b to 1\nc: calc 5\nc requires s", "c: calc 50000\nr: recv 500b from 0\nr requires c"],
    ),
];

fn text(ranks: &[&str]) -> String {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (rank, operations) in ranks.iter().enumerate() {
        writeln!(text, "rank {rank} {{\n{operations}\n}}").unwrap();
    }
    text
}

/// Ten receives and ten sends in a row that find nobody, and a circle of twelve.
fn many() -> String {
    let mut ranks = vec![String::new(); 12];
    for tag in 0..10 {
        writeln!(ranks[0], "m{tag}: recv 8b from 1 tag {tag}\nd{tag}: calc 1\nd{tag} requires m{tag}")
            .unwrap();
        writeln!(ranks[1], "m{tag}: send 8b to 2 tag {tag}").unwrap();
    }
    for (rank, operations) in ranks.iter_mut().enumerate() {
        let (before, next) = ((rank + 11) % 12, (rank + 1) % 12);
        writeln!(operations, "r: recv 8b from {before} tag 99\ns: send 8b to {next} tag 99\ns requires r")
            .unwrap();
    }
    text(&ranks.iter().map(|rank| rank.trim_end()).collect::<Vec<_>>())
}

fn peer(semantics: Semantics) -> Parameters {
    let gap_per_byte_ns = if semantics == Semantics::LogGopSim { 1.0 } else { 0.5 };
    Parameters {
        latency_ns: 1000,
        overhead_ns: 100,
        gap_ns: 5,
        gap_per_byte_ns,
        overhead_per_byte_ns: 0,
        eager_limit_bytes: S,
    }
}

fn report(out: &mut String, title: &str, text: &str) {
    let schedule = goal(text);
    writeln!(out, "## {title}\n").unwrap();
    let native = match try_message(&schedule, &parameters([1000.0, 100.0, 5.0, 1.0, 0.0], S)) {
        Ok(run) => {
            writeln!(out, "native: ends at {}", run.makespan()).unwrap();
            Vec::new()
        }
        Err(error) => {
            writeln!(out, "native: {error}").unwrap();
            let RunError::Stalled { waiting, .. } = error else { panic!("{error}") };
            waiting
        }
    };
    for (name, semantics) in [("loggopsim", Semantics::LogGopSim), ("atlahs-lgs", Semantics::AtlahsLgs)] {
        let outcome = compat::run(&schedule, semantics, peer(semantics), &mut ()).expect("no refusal");
        let words = if outcome.waiting == native { "the same" } else { &outcome.waiting.join("\n") };
        let line = if words == "the same" { " " } else { "\n" };
        writeln!(out, "{name}: {} left:{line}{words}", outcome.left).unwrap();
    }
    out.push('\n');
}

#[test]
fn a_run_that_cannot_go_on_says_why() {
    let mut found = String::new();
    for (title, ranks) in CASES {
        report(&mut found, title, &text(ranks));
    }
    report(&mut found, "many", &many());
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/stall.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).expect("the golden file");
    let first = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
    assert!(found == expected, "not as in {} (UPDATE=1 writes it anew): {first:?}\n{found}", path.display());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_run_ends_or_names_what_is_left(draft in wild(80)) {
        let schedule = draft.schedule();
        let spec = parameters([1000.0, 100.0, 5.0, 1.0, 0.0], S);
        match try_message(&schedule, &spec) {
            Ok(run) => prop_assert_eq!(run.tasks.len(), schedule.len() as usize),
            Err(RunError::Stalled { count, waiting, .. }) => {
                prop_assert!(count > 0);
                prop_assert!(!waiting.is_empty());
                // what is named is a cause, and the rest is counted
                let first = &waiting[0];
                prop_assert!(!first.contains("more that wait"), "no cause: {:?}", waiting);
                prop_assert!(waiting.len() <= 60, "{:?}", waiting);
            }
            Err(error) => panic!("{error}"),
        }
        for semantics in [Semantics::LogGopSim, Semantics::AtlahsLgs] {
            let Ok(outcome) = compat::run(&schedule, semantics, peer(semantics), &mut ()) else { continue };
            prop_assert_eq!(outcome.left == 0, outcome.waiting.is_empty());
            prop_assert!(outcome.waiting.first().is_none_or(|first| !first.contains("more that wait")));
        }
    }
}
