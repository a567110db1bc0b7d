//! Other simulators' semantics of GOAL, to the nanosecond, for results that must be compared; [`htsim`] is how one of them
//! drives a packet level.
//!
//! Both peers charge things that no machine does, and forget some that every machine does; the page
//! "Semantics of the message level" of the book tells what, with numbers. Nothing outside this module
//! depends on them: the engine's own semantics are in [`crate::schedule`].

mod atlahs;
mod blocked;
mod hosts;
pub mod htsim;
mod loggopsim;
mod queue;

use stratasim_core::BuildError;
use stratasim_workload::goal::Schedule;

/// Whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Semantics {
    /// LogGOPSim (2023) with a stable order of operations that become free together.
    LogGopSim,
    /// ATLAHS' LGS (2025) with a stable order of events and receives.
    AtlahsLgs,
}

/// The parameters of LogGOPS as the peers take them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// L: latency, in ns.
    pub latency_ns: u64,
    /// o: overhead of a message on a stream, in ns.
    pub overhead_ns: u64,
    /// g: gap between messages at a NIC, in ns.
    pub gap_ns: u64,
    /// G: gap per byte at a NIC, in ns; whole for LogGOPSim.
    pub gap_per_byte_ns: f64,
    /// O: overhead per byte on a stream, in ns.
    pub overhead_per_byte_ns: u64,
    /// S: larger messages are sent by rendezvous.
    pub eager_limit_bytes: u64,
}

/// Watches a run.
pub trait Watch {
    /// The clock is at `time_ns` after `events` events; whether to stop. Asked every few thousand events.
    fn wants_stop(&mut self, time_ns: u64, events: u64) -> bool;
}

/// Watches nothing.
impl Watch for () {
    fn wants_stop(&mut self, _: u64, _: u64) -> bool {
        false
    }
}

/// Events between two questions to the [`Watch`].
const WATCH_EVERY: u64 = 1 << 16;

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When the last stream of each rank became free, in ns.
    pub finish_ns: Vec<u64>,
    /// Operations that were started and messages that were sent.
    pub events: u64,
    /// Operations and messages that never ended: 0 for a run that is complete.
    pub left: u64,
    /// The first of them, one line each.
    pub waiting: Vec<String>,
    /// The watch wanted it to stop.
    pub stopped: bool,
}

/// Refuses what the rules of a peer do not take, before anything runs.
///
/// # Errors
/// With the field `G` a gap per byte that the peer does not take; without a field a schedule that sends to a rank
/// that does not exist, or has more clocks than fit into memory.
pub fn check(schedule: &Schedule, semantics: Semantics, parameters: &Parameters) -> Result<(), BuildError> {
    match semantics {
        Semantics::LogGopSim => loggopsim::check(parameters.gap_per_byte_ns)?,
        Semantics::AtlahsLgs => atlahs::check(parameters.gap_per_byte_ns)?,
    }
    hosts::check(schedule)
}

/// Runs `schedule` by the rules of a peer.
///
/// # Errors
/// What [`check`] refuses; with ATLAHS, a receive that would take a message before it came, at which the peer gives
/// up, too.
pub fn run(
    schedule: &Schedule,
    semantics: Semantics,
    parameters: Parameters,
    watch: &mut dyn Watch,
) -> Result<Outcome, BuildError> {
    check(schedule, semantics, &parameters)?;
    match semantics {
        Semantics::LogGopSim => loggopsim::run(schedule, parameters, watch),
        Semantics::AtlahsLgs => atlahs::run(schedule, parameters, watch),
    }
}
