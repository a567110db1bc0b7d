//! Noise in a run: what streams do takes longer, what waits does not.

use crate::support::*;
use stratasim_core::Time;
use stratasim_core::random::Streams;
use stratasim_engine::schedule::noise::{Noise, Source};
use stratasim_workload::goal::Schedule;

/// The first tenth of every microsecond is lost.
fn tenth(together: bool) -> Source {
    Source::Trace { detours: vec![(0, 100_000)], period_ps: 1_000_000, together }
}

fn run(schedule: &Schedule, source: Source, seed: u64) -> Run {
    let spec = parameters([1000.0, 900.0, 0.0, 0.0, 0.0], 1 << 40);
    let noise = Noise::new(source, schedule.ranks(), Streams::new(seed));
    let network = message_network(schedule, &spec);
    run_on(schedule, &one_to_one(schedule), network, Some(noise)).expect("an end")
}

#[test]
fn computations_take_their_share_of_the_noise() {
    let text: String = (0..8).map(|rank| format!("rank {rank} {{\nc: calc 90000\n}}\n")).collect();
    let schedule = goal(&format!("num_ranks 8\n{text}"));
    let together = run(&schedule, tenth(true), 5);
    for rank in 0..8 {
        // 100 periods of 900 ns, and at most the tenth in which it began or ended
        let end = run(&schedule, tenth(false), 5).end(&format!("{rank}.c"));
        assert!(ns(99_900.0) <= end && end <= ns(100_000.0), "{end}");
        assert_eq!(together.end(&format!("{rank}.c")), together.end("0.c"));
    }
}

#[test]
fn overheads_are_noisy_and_networks_are_not() {
    let schedule = goal(
        "num_ranks 2
        rank 0 {
        s: send 1b to 1
        }
        rank 1 {
        r: recv 1b from 0
        }",
    );
    let run = run(&schedule, tenth(false), 1);
    // o of 900 ns meets exactly one tenth of a microsecond, wherever it begins, or parts of two
    let (sent, there, received) = (run.end("0.s"), run.messages[0].end, run.end("1.r"));
    let length = |from: Time, to: Time| to.as_ps() - from.as_ps();
    for overhead in [length(Time::ZERO, sent), length(there, received)] {
        assert!((900_000..=1_000_000).contains(&overhead), "{overhead}");
    }
    assert_eq!(length(sent, there), 1_000_000, "L is L");
}

#[test]
fn seeds_decide() {
    let text: String = (0..4)
        .map(|rank| {
            format!(
                "rank {rank} {{\nc: calc 5000\ns: send 1b to {0}\nr: recv 1b from {1}\n}}\n",
                (rank + 1) % 4,
                (rank + 3) % 4
            )
        })
        .collect();
    let schedule = goal(&format!("num_ranks 4\n{text}"));
    let random = || Source::Random { every_ps: 2e6, length_ps: 3e5 };
    let digest = |seed| run(&schedule, random(), seed).summary.run.digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}
