//! How long a collective takes, at a chosen level of detail, and which algorithm is the fastest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

use super::algorithm::{AlgorithmSpec, Operation};
use super::description::Card;
use super::schedule::Schedule;
use super::{task_graph, tiles};

/// Levels of detail of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fidelity {
    /// Closed forms.
    #[default]
    F0,
    /// Task graph with ports shared max-min fairly.
    F1,
    /// Tiles through the scratch-pads.
    F2,
}

impl Fidelity {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F0, Self::F1, Self::F2];

    /// Its name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F0 => "f0",
            Self::F1 => "f1",
            Self::F2 => "f2",
        }
    }
}

/// The longest vector: 1 PiB, so that offsets of all groups' vectors fit.
pub const MOST_BYTES: u64 = 1 << 50;

/// The schedule of an operation that fits into the card's memories.
///
/// # Errors
/// An algorithm that has no such schedule; more bytes than Local or Global memory has.
pub fn schedule(
    card: &Card,
    algorithm: &AlgorithmSpec,
    operation: Operation,
    bytes: u64,
) -> Result<Schedule, BuildError> {
    if bytes > MOST_BYTES {
        return Err(BuildError::new("", format!("at most {MOST_BYTES} bytes are expected, found {bytes}")));
    }
    let schedule = algorithm.plugin().schedule(operation, card.core_groups, bytes).ok_or_else(|| {
        let (kind, name) = (algorithm.kind(), operation.name());
        BuildError::new("", format!("{kind} has no {name}"))
    })?;
    let needs = [
        ("memory.local", "Local", schedule.local_bytes(), card.memory.local),
        ("memory.global", "Global", schedule.global_bytes, card.memory.global),
    ];
    for (field, name, needed, there) in needs {
        if needed > there.count() {
            let reason = format!(
                "{} by {} of {} needs {} of {name} memory, the card has {there}",
                operation.name(),
                algorithm.kind(),
                Bytes(bytes),
                Bytes(needed)
            );
            return Err(BuildError::new(field, reason));
        }
    }
    Ok(schedule)
}

/// Seconds of an on-card collective of `bytes`, the length of the whole vector.
///
/// # Errors
/// As [`schedule`], and too many tiles at F2.
pub fn time_s(
    card: &Card,
    algorithm: &AlgorithmSpec,
    operation: Operation,
    bytes: u64,
    fidelity: Fidelity,
) -> Result<f64, BuildError> {
    let schedule = schedule(card, algorithm, operation, bytes)?;
    if fidelity == Fidelity::F0 {
        let seconds = algorithm.plugin().closed_form_s(operation, card, bytes as f64);
        return Ok(seconds.expect("what has a schedule has a closed form"));
    }
    run_s(card, &schedule, fidelity)
}

/// Seconds of a schedule by its tiles at F2, by its task graph otherwise.
///
/// # Errors
/// Too many tiles.
pub(super) fn run_s(card: &Card, schedule: &Schedule, fidelity: Fidelity) -> Result<f64, BuildError> {
    Ok(match fidelity {
        Fidelity::F2 => tiles::run(card, schedule)?.total_s,
        _ => task_graph::run(card, schedule).total_s,
    })
}

/// The time of an algorithm, or why it has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// The algorithm.
    pub algorithm: AlgorithmSpec,
    /// Seconds.
    pub seconds: Result<f64, BuildError>,
}

/// The times of several algorithms, in the order in which they are given.
pub fn rank(
    card: &Card,
    algorithms: &[AlgorithmSpec],
    operation: Operation,
    bytes: u64,
    fidelity: Fidelity,
) -> Vec<Ranking> {
    let one = |algorithm: &AlgorithmSpec| Ranking {
        algorithm: algorithm.clone(),
        seconds: time_s(card, algorithm, operation, bytes, fidelity),
    };
    algorithms.iter().map(one).collect()
}

/// The fastest of several algorithms and its seconds; the first of equals, `None` where none can do it.
pub fn fastest(
    card: &Card,
    algorithms: &[AlgorithmSpec],
    operation: Operation,
    bytes: u64,
    fidelity: Fidelity,
) -> Option<(AlgorithmSpec, f64)> {
    let times = rank(card, algorithms, operation, bytes, fidelity);
    let done = times.into_iter().filter_map(|it| Some((it.algorithm, it.seconds.ok()?)));
    done.min_by(|a, b| a.1.total_cmp(&b.1))
}
