//! Looks after Ctrl-C and progress while a run goes on without the interpreter.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use stratasim_core::Time;
use stratasim_core::observe::{Event, Interests, Observer};

/// How often the interpreter is asked: short enough for people, rare enough to cost nothing.
const EVERY: Duration = Duration::from_millis(50);

/// Stops a run when Python has a signal to handle (Ctrl-C) or the progress function raises.
pub(crate) struct Watch {
    progress: Option<Py<PyAny>>,
    due: Cell<Instant>,
    latest: (Time, u64, u64),
    raised: RefCell<Option<PyErr>>,
}

impl Watch {
    /// Calls `progress` now and then with simulated seconds, tasks done and tasks altogether.
    pub(crate) fn new(progress: Option<Py<PyAny>>, started: Instant) -> Self {
        let raised = RefCell::new(None);
        Self { progress, due: Cell::new(started + EVERY), latest: (Time::ZERO, 0, 0), raised }
    }

    /// The exception that stopped the run.
    pub(crate) fn into_raised(self) -> Option<PyErr> {
        self.raised.into_inner()
    }

    fn ask(&self, py: Python<'_>) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = &self.progress {
            let (at, done, tasks) = self.latest;
            progress.call1(py, (at.as_secs_f64(), done, tasks))?;
        }
        Ok(())
    }
}

impl Observer for Watch {
    fn interests(&self) -> Interests {
        Interests::default()
    }

    fn on_event(&mut self, event: &Event) {
        if let Event::Progress { at, done, tasks } = *event {
            self.latest = (at, done, tasks);
        }
    }

    #[expect(clippy::disallowed_methods, reason = "people wait for Ctrl-C in real time")]
    fn wants_stop(&self) -> bool {
        if self.raised.borrow().is_some() {
            return true;
        }
        let now = Instant::now();
        if now < self.due.get() {
            return false;
        }
        self.due.set(now + EVERY);
        let asked = Python::attach(|py| self.ask(py));
        let stop = asked.is_err();
        self.raised.replace(asked.err());
        stop
    }
}
