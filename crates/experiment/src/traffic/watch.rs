//! Looking on while open-loop traffic runs.

/// What a run of open-loop traffic is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// What comes into being does not count yet.
    WarmUp,
    /// What comes into being counts.
    Sample,
    /// Packets of the sample are under way.
    Drain,
    /// Terminals send what they have to.
    Batch,
}

/// How far a run of open-loop traffic has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    /// What it is doing.
    pub phase: Phase,
    /// Cycles simulated so far.
    pub cycle: u64,
    /// Cycles of this phase so far.
    pub cycles: u64,
    /// Cycles that this phase takes at least, where that is known;
    pub least: Option<u64>,
    /// and at most.
    pub most: Option<u64>,
}

/// Looks on while one load runs, and may stop it. A function that says whether to stop is one, too.
pub trait Watch: Sync {
    /// The run has come so far; called many times in a window.
    fn at(&self, _: &Stage) {}
    /// Whether to stop: with what has been measured, where two windows of the sample are complete.
    fn wants_stop(&self) -> bool;
}

impl<F: Fn() -> bool + Sync> Watch for F {
    fn wants_stop(&self) -> bool {
        self()
    }
}
