//! Curves that go on where they were left: results of points in a folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use stratasim_core::Bandwidth;
use stratasim_report::result::RunResult;

use super::curve::{Point, Subject};
use crate::error::{ConfigError, Error};
use crate::kept;

/// A subject whose points are kept in a folder as they finish, and taken from there where they are: those of the
/// same experiment, load and seed, by the same version of the program.
pub struct Kept<'a, S> {
    subject: &'a S,
    out: PathBuf,
    force: bool,
    found: AtomicUsize,
}

impl<'a, S: Subject> Kept<'a, S> {
    /// Points of `subject` in the folder `out`; with `force` all are run again.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(subject: &'a S, out: &Path, force: bool) -> Result<Self, Error> {
        kept::prepare(out)?;
        Ok(Self { subject, out: out.to_owned(), force, found: AtomicUsize::new(0) })
    }

    /// How many results were there.
    pub fn found(&self) -> usize {
        self.found.load(Ordering::Relaxed)
    }
}

impl<S: Subject> Subject for Kept<'_, S> {
    fn name(&self) -> &str {
        self.subject.name()
    }

    fn seed(&self) -> u64 {
        self.subject.seed()
    }

    fn flit_rate(&self) -> Option<Bandwidth> {
        self.subject.flit_rate()
    }

    fn own_load(&self) -> f64 {
        self.subject.own_load()
    }

    fn at(&self, load: f64, seed: u64) -> Result<Box<dyn Point + '_>, ConfigError> {
        let point = self.subject.at(load, seed)?;
        let path = kept::path(&self.out, &point.digest());
        Ok(Box::new(KeptPoint { point, path, force: self.force, found: &self.found }))
    }
}

/// A point and the place of its result.
struct KeptPoint<'a> {
    point: Box<dyn Point + 'a>,
    path: PathBuf,
    force: bool,
    found: &'a AtomicUsize,
}

impl Point for KeptPoint<'_> {
    fn run(
        &self,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
        started: Instant,
    ) -> Result<RunResult, Error> {
        let there = if self.force { None } else { kept::read(&self.path, |result| self.gave(result)) };
        if let Some(result) = there {
            self.found.fetch_add(1, Ordering::Relaxed);
            return Ok(result);
        }
        let result = self.point.run(threads, stop, started)?;
        // a broken one is seen once and not taken for good later
        if result.checks_hold() {
            kept::write(&self.path, &result)?;
        }
        Ok(result)
    }

    fn digest(&self) -> String {
        self.point.digest()
    }

    fn gave(&self, result: &RunResult) -> bool {
        self.point.gave(result)
    }
}
