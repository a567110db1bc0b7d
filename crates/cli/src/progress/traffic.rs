//! Progress of open-loop traffic at one load.

use std::sync::Mutex;
use std::time::Instant;

use indicatif::ProgressBar;
use stratasim_experiment::traffic::{Phase, Stage, Watch};
use stratasim_report::Unit;

use super::{PATIENCE, bar, now};
use crate::interrupt;
use crate::terminal::Terminal;

/// Nobody knows when a network is settled, nor when the last packet arrives.
const OPEN: &str = "  {spinner} {prefix}, {elapsed} so far, {msg}";
/// The least that a phase takes has an end.
const BOUNDED: &str = "  {bar:32} {percent:>3} %  {prefix}, {eta} left, {msg}";

/// Watches one load: draws its phases on a terminal, and passes Ctrl-C on.
pub(crate) struct TrafficProgress {
    started: Instant,
    shown: bool,
    drawn: Mutex<Drawn>,
}

#[derive(Default)]
struct Drawn {
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
}

impl TrafficProgress {
    /// Draws only where somebody watches, and not when told to be quiet.
    pub(crate) fn new(terminal: &Terminal, quiet: bool) -> Self {
        interrupt::listen();
        Self { started: now(), shown: terminal.watched && !quiet, drawn: Mutex::default() }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        if let Ok(mut drawn) = self.drawn.lock()
            && let Some(bar) = drawn.bar.take()
        {
            bar.finish_and_clear();
        }
    }

    /// What is said where a run was stopped before it had anything to tell.
    pub(crate) fn nothing(&self) -> String {
        let stage = self.drawn.lock().ok().and_then(|drawn| drawn.stage);
        let Some(stage) = stage else { return "  it had not begun".to_owned() };
        let cycles = Unit::Count.format(stage.cycle as f64);
        match stage.phase {
            Phase::WarmUp => {
                format!("  it was in its warm-up, {cycles} cycles from the start: nothing is measured there")
            }
            Phase::Batch => format!("  the batch was not complete after {cycles} cycles"),
            _ => format!(
                "  after {cycles} cycles less than two windows of the sample were complete: too few to tell anything"
            ),
        }
    }
}

/// What a phase is called.
const fn name(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp => "warm-up",
        Phase::Sample => "sample",
        Phase::Drain => "the last packets arrive",
        Phase::Batch => "batch",
    }
}

impl Watch for TrafficProgress {
    fn at(&self, stage: &Stage) {
        let Ok(mut drawn) = self.drawn.lock() else { return };
        let before = drawn.stage.replace(*stage);
        let elapsed = now() - self.started;
        if !self.shown || elapsed <= PATIENCE {
            return;
        }
        let cycles = |count: f64| Unit::Count.format(count);
        let rate = cycles((stage.cycle as f64 / elapsed.as_secs_f64()).round());
        let message = format!("cycle {}, {rate} cycles per second", cycles(stage.cycle as f64));
        // beyond the least, a sample goes on until it is precise
        let end = |stage: &Stage| stage.least.filter(|&least| stage.cycles <= least);
        let part = |stage: &Stage| (stage.phase, end(stage));
        if drawn.bar.is_none() || before.is_none_or(|before| part(&before) != part(stage)) {
            if let Some(bar) = drawn.bar.take() {
                bar.finish_and_clear();
            }
            let (template, since) = match end(stage) {
                Some(_) => (BOUNDED, std::time::Duration::ZERO),
                None => (OPEN, elapsed),
            };
            let new = bar(end(stage).unwrap_or(0), template).with_elapsed(since);
            drawn.bar = Some(new.with_prefix(name(stage.phase)).with_message(message.clone()));
        }
        let Some(own) = &drawn.bar else { return };
        own.set_message(message);
        match end(stage) {
            Some(_) => own.set_position(stage.cycles),
            None => own.tick(),
        }
    }

    fn wants_stop(&self) -> bool {
        interrupt::wanted()
    }
}
