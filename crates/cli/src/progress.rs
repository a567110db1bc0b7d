//! Progress on a terminal, with rate and remaining time; and the way to stop a run.

mod traffic;

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stratasim_core::observe::{Event, Interests, Observer};
use stratasim_report::Unit;

use crate::interrupt;
use crate::terminal::Terminal;

pub(crate) use traffic::TrafficProgress;

/// Runs that end sooner show nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Before the first task has ended, nobody knows how long the rest takes.
const UNTIL_THE_FIRST: &str = "  {bar:32} {human_pos} of {human_len} tasks, {elapsed} so far, {msg}";
const WITH_REST: &str =
    "  {bar:32} {percent:>3} %  {human_pos} of {human_len} tasks, {per_sec}, {eta} left, {msg}";

/// Watches one run: draws a bar on a terminal, and passes Ctrl-C on.
pub(crate) struct Progress {
    started: Instant,
    shown: bool,
    bar: Option<ProgressBar>,
    done: u64,
    tasks: u64,
}

impl Progress {
    /// Draws only where somebody watches, and not when told to be quiet.
    pub(crate) fn new(terminal: &Terminal, quiet: bool) -> Self {
        interrupt::listen();
        Self { started: now(), shown: terminal.watched && !quiet, bar: None, done: 0, tasks: 0 }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "progress is about real time")]
fn now() -> Instant {
    Instant::now()
}

/// A bar on standard error.
pub(crate) fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    bar.set_style(style(template));
    bar
}

/// The look of a bar.
pub(crate) fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("━╸─")
}

impl Observer for Progress {
    fn interests(&self) -> Interests {
        Interests::default()
    }

    fn on_event(&mut self, event: &Event) {
        if !self.shown {
            return;
        }
        let at = match event {
            Event::Progress { at, done, tasks } => {
                (self.done, self.tasks) = (*done, *tasks);
                at
            }
            Event::Clock { at } => at,
            _ => return,
        };
        if self.bar.is_none() && now() - self.started > PATIENCE {
            self.bar = Some(bar(self.tasks, UNTIL_THE_FIRST).with_elapsed(self.started.elapsed()));
        }
        let Some(bar) = &self.bar else { return };
        if self.done > 0 && bar.position() == 0 {
            bar.set_style(style(WITH_REST));
        }
        bar.set_length(self.tasks);
        bar.set_position(self.done);
        bar.set_message(format!("at {}", Unit::Seconds.format(at.as_secs_f64())));
    }

    fn wants_stop(&self) -> bool {
        interrupt::wanted()
    }
}
