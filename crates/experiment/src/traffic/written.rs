//! A curve from what was written of it.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use stratasim_report::result::RunResult;
use stratasim_report::traffic::TrafficResult;

use super::curve::{Curve, CurvePoint};
use crate::error::Error;
use crate::kept;

/// The text of a curve.
#[derive(Deserialize)]
struct Written {
    stratasim: String,
    title: String,
    #[serde(default)]
    spec: serde_json::Value,
    #[serde(default, rename = "own_load_flits_per_cycle")]
    own_load: f64,
    #[serde(rename = "saturation_load_flits_per_cycle")]
    saturation: Option<(f64, f64)>,
    #[serde(rename = "saturation_not_known_flits_per_cycle")]
    not_known: Option<(f64, f64)>,
    #[serde(default)]
    failures: Vec<String>,
    points: Vec<WrittenPoint>,
}

#[derive(Deserialize)]
struct WrittenPoint {
    load_flits_per_cycle: f64,
    runs: Vec<WrittenRun>,
}

#[derive(Deserialize)]
struct WrittenRun {
    seed: u64,
    digest: String,
    #[serde(default)]
    notes: Vec<String>,
    traffic: TrafficResult,
}

impl Written {
    /// The curve, with a result for each run.
    fn curve(self, mut result: impl FnMut(WrittenRun) -> RunResult) -> Curve {
        let points = self.points.into_iter().map(|point| CurvePoint {
            load: point.load_flits_per_cycle,
            results: point.runs.into_iter().map(&mut result).collect(),
        });
        Curve {
            title: self.title,
            points: points.collect(),
            left: 0,
            failures: self.failures.into_iter().map(Error::Broken).collect(),
            own_load: self.own_load,
            saturation: self.saturation,
            not_known: self.not_known,
        }
    }
}

impl Curve {
    /// The curve of which [`Curve::json`] says this, and whether the results of all of its runs are among those that are
    /// kept in the folder `out`, if one is given: where one is not, it has what the text says of it alone.
    ///
    /// # Errors
    /// A text that is no curve of this version.
    pub fn read(text: &str, out: Option<&Path>) -> Result<(Self, bool), serde_json::Error> {
        let written: Written = serde_json::from_str(text)?;
        let mut kept: HashMap<(u64, String), Vec<RunResult>> = HashMap::new();
        for result in out.into_iter().flat_map(kept::all) {
            kept.entry((result.seed, result.digest.clone())).or_default().push(result);
        }
        let (stratasim, spec) = (written.stratasim.clone(), written.spec.clone());
        let mut whole = true;
        let curve = written.curve(|run| {
            let same = kept.get(&(run.seed, run.digest.clone()));
            let same = same.and_then(|same| same.iter().find(|it| it.traffic.as_ref() == Some(&run.traffic)));
            same.cloned().unwrap_or_else(|| {
                whole = false;
                let WrittenRun { seed, digest, notes, traffic } = run;
                let (stratasim, spec, traffic) = (stratasim.clone(), spec.clone(), Some(traffic));
                RunResult { stratasim, spec, seed, digest, notes, traffic, ..RunResult::default() }
            })
        });
        Ok((curve, whole))
    }

    /// The same with the results of its runs, in order.
    ///
    /// # Errors
    /// As [`Curve::read`].
    pub fn with_results(text: &str, results: Vec<(f64, Vec<RunResult>)>) -> Result<Self, serde_json::Error> {
        let written: Written = serde_json::from_str(text)?;
        let points = results.into_iter().map(|(load, results)| CurvePoint { load, results }).collect();
        Ok(Self { points, ..Written { points: Vec::new(), ..written }.curve(|_| RunResult::default()) })
    }
}
