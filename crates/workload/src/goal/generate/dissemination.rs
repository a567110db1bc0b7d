//! Dissemination: in each round everybody hears from ranks further away.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;

use super::{
    GenerateContext, RankSchedules, RankWriter, SchedulePattern, ahead, alike_ranks, behind, check_tags,
    doublings,
};

/// Dissemination (Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988): each
/// rank sends 1, 2, 4, ... ranks on, and each send but the first waits for the receive of the round
/// before (schedgen's `dissemination`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Dissemination {}

impl SchedulePattern for Dissemination {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes) = (context.ranks, context.step_bytes());
        let rounds = u64::from(doublings(ranks));
        let size = (2 * rounds * u64::from(ranks), rounds.saturating_sub(1) * u64::from(ranks));
        alike_ranks(size, move |rank, out| {
            disseminate(rank, ranks, bytes, out);
        })
    }
}

/// Writes a dissemination; the place of its first operation. Send and receive of round k stand at 2 k
/// and 2 k + 1 from there.
pub(super) fn disseminate(rank: u32, ranks: u32, bytes: u64, out: &mut RankWriter<'_>) {
    let mut received = None;
    for round in 0..doublings(ranks) {
        let distance = 1 << round;
        let send = out.send(bytes, ahead(rank, distance, ranks));
        if let Some(received) = received {
            out.requires(send, received);
        }
        received = Some(out.receive(bytes, behind(rank, distance, ranks)));
    }
}

/// Places, from the first, of a dissemination's operations that nothing in it waits for: all sends and
/// the last receive.
pub(super) fn ends(ranks: u32) -> impl Iterator<Item = u32> {
    let rounds = doublings(ranks);
    (0..rounds).map(|round| 2 * round).chain((rounds > 0).then(|| 2 * rounds - 1))
}

/// Places, from the first, of a dissemination's operations that wait for nothing in it: the first send
/// and all receives.
fn starts(ranks: u32) -> impl Iterator<Item = u32> {
    let rounds = doublings(ranks);
    (rounds > 0).then_some(0).into_iter().chain((0..rounds).map(|round| 2 * round + 1))
}

/// Dissemination to n ranks per round (Hoefler, Mehlan, Mietke and Rehm, "Fast barrier synchronization
/// for InfiniBand", 2006; schedgen's `nwaydissemination`), with a computation for each vector that is
/// added to one's own between two rounds. Distances count modulo the ranks: where the ranks are no power
/// of n + 1 some messages bring nothing new, and may go to the rank itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NWayDissemination {
    /// Messages of each rank per round, `n`.
    pub ways: u32,
    /// Nanoseconds of an addition; as many as the message has bytes when absent, as in schedgen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction_ns: Option<u64>,
}

impl Default for NWayDissemination {
    fn default() -> Self {
        Self { ways: 1, reduction_ns: None }
    }
}

impl SchedulePattern for NWayDissemination {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, ways) = (u64::from(context.ranks), u64::from(self.ways));
        if !(1..ranks.max(2)).contains(&ways) {
            let reason = format!("from 1 way to one less than the {ranks} ranks, got {ways}");
            return Err(BuildError::new("ways", reason));
        }
        let bytes = context.step_bytes();
        let reduction_ns = self.reduction_ns.unwrap_or(bytes);
        let powers = std::iter::successors(Some(1), move |power| Some(power * (ways + 1)));
        let distances: Vec<u64> = powers.take_while(|&power| power < ranks).collect();
        let rounds = distances.len() as u64;
        let reductions = ranks * ways * rounds.saturating_sub(1);
        let size = (2 * ways * rounds * ranks + reductions, 3 * reductions);
        let mut received: Vec<u32> = Vec::new();
        alike_ranks(size, move |rank, out| {
            let rank = u64::from(rank);
            for (round, distance) in distances.iter().enumerate() {
                let step = |way: u64| way * distance % ranks;
                let mut first_send = 0;
                for way in 1..=ways {
                    let send = out.send(bytes, ((rank + step(way)) % ranks) as u32);
                    if way == 1 {
                        first_send = send;
                    }
                }
                if round > 0 {
                    reduce(&received, first_send, reduction_ns, out);
                }
                received.clear();
                received.extend(
                    (1..=ways).map(|way| out.receive(bytes, ((rank + ranks - step(way)) % ranks) as u32)),
                );
            }
        })
    }
}

/// Adds up what was received, one after the other; the last of the sends waits for the sum, all of them
/// for the addition of the first.
fn reduce(received: &[u32], first_send: u32, reduction_ns: u64, out: &mut RankWriter<'_>) {
    let mut sum = received[0];
    for &vector in &received[1..] {
        let addition = out.calc(reduction_ns);
        out.requires(addition, vector);
        out.requires(addition, sum);
        sum = addition;
    }
    let own = out.calc(reduction_ns);
    out.requires(own, received[0]);
    let sends = first_send..first_send + received.len() as u32;
    out.requires(sends.end - 1, sum);
    for send in sends {
        out.requires(send, own);
    }
}

/// Disseminations one after the other, each with the next tag: everything of the next waits for a marker,
/// which waits for everything of the last. Schedgen's `chained_dissem` lets a message to rank 9999999 be
/// the marker, so that its schedules cannot run; here it is a computation of no time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ChainedDissemination {
    /// Disseminations, of 10,000 bytes when no bytes are given.
    pub runs: u32,
}

impl Default for ChainedDissemination {
    fn default() -> Self {
        Self { runs: 5 }
    }
}

impl SchedulePattern for ChainedDissemination {
    fn over(&self, context: &GenerateContext) -> Result<Box<dyn RankSchedules>, BuildError> {
        let (ranks, bytes, runs) = (context.ranks, context.bytes.unwrap_or(10_000), self.runs);
        let first_tag = collective_tag(context.tag, runs.into())?;
        let rounds = u64::from(doublings(ranks));
        // sends and the last receive; the first send and the receives
        let loose = if rounds > 0 { rounds + 1 } else { 0 };
        let (all, runs_64) = (u64::from(ranks), u64::from(runs));
        let edges = runs_64 * (rounds.saturating_sub(1) + loose) + runs_64.saturating_sub(1) * loose;
        let size = (all.saturating_mul(runs_64 * (2 * rounds + 1)), all.saturating_mul(edges));
        alike_ranks(size, move |rank, out| {
            let mut marker = None;
            for run in 0..runs {
                out.tag(first_tag + run);
                let begin = out.next();
                disseminate(rank, ranks, bytes, out);
                let next = out.calc(0);
                if let Some(marker) = marker {
                    starts(ranks).for_each(|place| out.requires(begin + place, marker));
                }
                ends(ranks).for_each(|place| out.requires(next, begin + place));
                marker = Some(next);
            }
        })
    }
}

/// The first tag of schedgen's collectives in a program: communicator 1, from 100000 on.
pub(super) fn collective_tag(tag: u32, count: u64) -> Result<u32, BuildError> {
    const FIRST: u32 = (1 << 24) + 100_000;
    check_tags(tag.saturating_add(FIRST), count)?;
    Ok(tag + FIRST)
}
