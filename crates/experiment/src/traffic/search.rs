//! A run that looks for the load at which the network saturates.

use std::time::Instant;

use stratasim_core::Bandwidth;
use stratasim_report::result::RunResult;
use stratasim_report::traffic::SaturationResult;

use super::curve::{Curve, CurvePoint, Point, Subject};
use super::{Traffic, Watch};
use crate::error::{ConfigError, Error};

impl Traffic {
    /// Runs at other loads until the largest one that is carried is known to within `precision` flits per cycle and
    /// terminal. The result is that of this load, or of the least one where none was carried.
    pub(super) fn find_saturation(
        &self,
        precision: f64,
        threads: usize,
        watch: &dyn Watch,
        started: Instant,
    ) -> Result<RunResult, Error> {
        let subject = Watched { traffic: self, watch };
        let mut curve = Curve::run(&subject, &[], 1, Some(threads), &())?;
        curve.find_saturation(&subject, precision, 1, Some(threads), &())?;
        if let Some(failure) = curve.failures.pop() {
            return Err(failure);
        }
        if curve.left > 0 {
            return Err(Error::Stopped);
        }
        let carried = curve.points.iter().take_while(|point| point.carried()).count();
        let load = |point: &CurvePoint| point.load;
        let saturation = SaturationResult {
            carried_flits_per_cycle: carried.checked_sub(1).map_or(0.0, |at| curve.points[at].load),
            beyond_flits_per_cycle: curve.points.get(carried).map(load),
            known: curve.not_known.is_none(),
            loads: curve.points.len() as u64,
        };
        let finding = curve.finding();
        let at = carried.saturating_sub(1);
        let load = curve.points[at].load;
        let mut results: Vec<RunResult> = curve.points.into_iter().flat_map(|point| point.results).collect();
        let mut result = results.swap_remove(at);
        result.checks.extend(results.into_iter().flat_map(|other| other.checks).filter(|check| !check.ok));
        result.notes.insert(0, format!("The network {finding}; numbers are those of load {load}."));
        result.spec = self.resolved();
        result.wall_s = started.elapsed().as_secs_f64();
        if let Some(traffic) = &mut result.traffic {
            traffic.saturation = Some(saturation);
        }
        Ok(result)
    }
}

/// Traffic whose runs somebody looks at.
struct Watched<'a> {
    traffic: &'a Traffic,
    watch: &'a dyn Watch,
}

impl Subject for Watched<'_> {
    fn name(&self) -> &str {
        self.traffic.name()
    }

    fn seed(&self) -> u64 {
        self.traffic.seed()
    }

    fn flit_rate(&self) -> Option<Bandwidth> {
        self.traffic.flit_rate()
    }

    fn own_load(&self) -> f64 {
        self.traffic.own_load()
    }

    fn at(&self, load: f64, seed: u64) -> Result<Box<dyn Point + '_>, ConfigError> {
        Ok(Box::new(WatchedPoint { traffic: self.traffic.point(load, seed)?, watch: self.watch }))
    }
}

struct WatchedPoint<'a> {
    traffic: Traffic,
    watch: &'a dyn Watch,
}

impl Point for WatchedPoint<'_> {
    fn run(
        &self,
        threads: usize,
        _: &(dyn Fn() -> bool + Sync),
        started: Instant,
    ) -> Result<RunResult, Error> {
        self.traffic.run_whole(threads, self.watch, started)
    }

    fn digest(&self) -> String {
        self.traffic.digest()
    }

    fn gave(&self, result: &RunResult) -> bool {
        self.traffic.gave(result)
    }
}
