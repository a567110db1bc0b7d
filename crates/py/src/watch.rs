//! Looks after Ctrl-C and progress while a run goes on without the interpreter.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use stratasim_core::Time;
use stratasim_core::observe::{Event, Interests, Observer};

/// How often the interpreter is asked: short enough for people, rare enough to cost nothing.
const EVERY: Duration = Duration::from_millis(50);

/// Does `work` on another thread, without the interpreter, and calls `ask` now and then: this thread stays free to
/// hear Ctrl-C, which other threads of Python do not. What `ask` raises sets `stop`, and is told once `work`
/// has ended, beside what that came to.
pub(crate) fn beside<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    ask: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
    work: impl FnOnce() -> T + Send,
) -> (T, PyResult<()>) {
    let (ended, asked) = py.detach(|| {
        std::thread::scope(|scope| {
            let running = scope.spawn(work);
            let mut asked = Ok(());
            while asked.is_ok() && !running.is_finished() {
                std::thread::park_timeout(EVERY);
                asked = Python::attach(|py| py.check_signals().and_then(|()| ask(py)));
            }
            stop.store(asked.is_err(), Ordering::Relaxed);
            (running.join(), asked)
        })
    });
    (ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), asked)
}

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
        match *event {
            Event::Progress { at, done, tasks } => self.latest = (at, done, tasks),
            // no task has ended, and time goes on
            Event::Clock { at } => self.latest.0 = at,
            _ => {}
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
