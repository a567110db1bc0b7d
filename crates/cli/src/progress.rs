//! Progress on a terminal, with rate and remaining time; and the way to stop a run.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stratasim_core::observe::{Event, Interests, Observer};

use crate::interrupt;
use crate::terminal::Terminal;

/// Runs that end sooner show nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Watches one run: draws a bar on a terminal, and passes Ctrl-C on.
pub(crate) struct Progress {
    started: Instant,
    shown: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Draws only where somebody watches, and not when told to be quiet.
    pub(crate) fn new(terminal: &Terminal, quiet: bool) -> Self {
        interrupt::listen();
        Self { started: now(), shown: terminal.watched && !quiet, bar: None }
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
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

impl Observer for Progress {
    fn interests(&self) -> Interests {
        Interests::default()
    }

    fn on_event(&mut self, event: &Event) {
        if !self.shown {
            return;
        }
        if let Event::Progress { at, done, tasks } = event {
            if self.bar.is_none() && now() - self.started > PATIENCE {
                let template = "  {bar:32} {percent:>3} %  {human_pos} of {human_len} tasks, {per_sec}, {eta} left, {msg}";
                self.bar = Some(bar(*tasks, template).with_elapsed(self.started.elapsed()));
            }
            if let Some(bar) = &self.bar {
                bar.set_position(*done);
                bar.set_message(format!("at {:.3} s", at.as_secs_f64()));
            }
        }
    }

    fn wants_stop(&self) -> bool {
        interrupt::wanted()
    }
}
