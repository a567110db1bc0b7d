//! Distributions: the share of messages, links or queues that lies at or below a value.

use std::fmt;

use stratasim_core::words::counted;

use crate::flows::FlowsResult;
use crate::picture::{Axis, LineChart, Picture, Series};
use crate::result::RunResult;
use crate::units::{Unit, capital};

/// Points of a distribution.
const POINTS: usize = 200;

/// Points `[value, share that is no larger]`.
pub type Points = Vec<[f64; 2]>;

/// Points of the distribution of a sorted sample, one for each of its values, at most so many, the first and the last among them.
pub(crate) fn points(sorted: &[f64]) -> Points {
    let mut below = 0;
    let values = sorted.chunk_by(|a, b| a == b).map(|equal| {
        below += equal.len();
        [equal[0], below as f64 / sorted.len() as f64]
    });
    thinned(values.collect())
}

/// At most so many of them, about as far apart in their shares, the first and the last among them.
fn thinned(all: Points) -> Points {
    let Some(last) = all.len().checked_sub(1).filter(|&last| last >= POINTS) else { return all };
    let at = |point: usize| {
        let share = point as f64 / (POINTS - 1) as f64;
        all.partition_point(|&[_, below]| below < share).min(last)
    };
    let mut kept: Vec<usize> = (0..POINTS).map(at).collect();
    kept[0] = 0;
    kept.dedup();
    kept.into_iter().map(|place| all[place]).collect()
}

/// Points of the distribution of values in ascending order that weigh differently, at most as many, the first and the last
/// value among them.
pub(crate) fn weighted_points(values: impl Iterator<Item = (f64, f64)>) -> Points {
    let mut sum = 0.0;
    let mut all: Points = values
        .map(|(value, weight)| {
            sum += weight;
            [value, sum]
        })
        .collect();
    all.iter_mut().for_each(|point| point[1] /= sum);
    thinned(all)
}

/// The corners of a distribution, which goes up where a value is and nowhere else.
fn steps(points: &[[f64; 2]]) -> impl Iterator<Item = (f64, f64)> {
    let before = std::iter::once(0.0).chain(points.iter().map(|point| point[1]));
    points.iter().zip(before).flat_map(|(&[value, share], before)| [(value, before), (value, share)])
}

/// The values in ascending order.
pub(crate) fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// What a run can tell the distribution of. Those of [`Self::QueueDepth`] are told only where somebody asked before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// How long messages took.
    CompletionTime,
    /// How many times longer than alone on an idle network.
    Slowdown,
    /// The share of the makespan that each link would have needed at full rate; idle links count.
    LinkUtilisation,
    /// The most bytes that ever waited in each queue in which any did.
    LongestQueue,
    /// Bytes that wait, by time: one curve for each of some queues.
    QueueDepth,
}

impl Distribution {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::CompletionTime, Self::Slowdown, Self::LinkUtilisation, Self::LongestQueue, Self::QueueDepth];

    /// Its curves, by name, with their points; none where the run does not tell.
    pub fn curves(self, result: &RunResult) -> Vec<(String, &[[f64; 2]])> {
        let of_flows = |points: fn(&FlowsResult) -> &Points| {
            let flows = result.flows.as_ref()?;
            Some((messages(flows), points(flows)))
        };
        let one = match self {
            Self::CompletionTime => of_flows(|flows| &flows.duration_cdf),
            Self::Slowdown => of_flows(|flows| &flows.slowdown_cdf),
            Self::LinkUtilisation => Some((self.to_string(), &result.link_utilisation_cdf)),
            Self::LongestQueue => Some((self.to_string(), &result.queue_most_bytes_cdf)),
            Self::QueueDepth => {
                let queues = result.queue_depths.iter();
                return queues.map(|queue| (queue.link.clone(), queue.cdf.as_slice())).collect();
            }
        };
        let told = one.filter(|(_, points)| !points.is_empty());
        told.map(|(name, points)| (name, points.as_slice())).into_iter().collect()
    }

    /// Its curves; none where the run does not tell.
    pub fn picture(self, result: &RunResult) -> Option<Picture> {
        self.draw(&result.title.experiment, self.curves(result))
    }

    /// The curves of several runs, called by their names; none where no run tells.
    pub fn together(self, experiment: &str, results: &[(String, RunResult)]) -> Option<Picture> {
        let of_run = |(name, result)| {
            let curves = self.curves(result);
            let is_alone = curves.len() == 1;
            let called = move |curve| if is_alone { String::clone(name) } else { format!("{name}, {curve}") };
            curves.into_iter().map(move |(curve, points)| (called(curve), points))
        };
        self.draw(experiment, results.iter().map(|(name, result)| (name, result)).flat_map(of_run).collect())
    }

    /// Draws curves, of which there may be none.
    fn draw(self, experiment: &str, curves: Vec<(String, &[[f64; 2]])>) -> Option<Picture> {
        if curves.is_empty() {
            return None;
        }
        let (x, y) = match self {
            Self::CompletionTime => {
                (Axis::log("completion time", Unit::Seconds), "messages that took no longer")
            }
            Self::Slowdown => (Axis::log("slow-down", Unit::Factor), "messages that were no slower"),
            Self::LinkUtilisation => {
                (Axis::linear("utilisation", Unit::Share), "links that were used no more")
            }
            Self::LongestQueue => {
                (Axis::linear("most bytes that waited", Unit::Bytes), "queues in which no more waited")
            }
            Self::QueueDepth => {
                (Axis::linear("bytes that waited", Unit::Bytes), "time in which no more waited")
            }
        };
        let what = capital(&self.to_string());
        let title = if experiment.is_empty() { what } else { format!("{what}: {experiment}") };
        let mut chart = LineChart::new(title, x, Axis::linear(y, Unit::Share));
        let series = |(name, points): (String, &[[f64; 2]])| {
            Series::new(name, steps(points)).with_marks(points.iter().map(|&[value, share]| (value, share)))
        };
        chart.series.extend(curves.into_iter().map(series));
        Some(chart.draw())
    }
}

/// The messages of a run, in words.
fn messages(flows: &FlowsResult) -> String {
    counted(flows.count, "message")
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CompletionTime => "completion times",
            Self::Slowdown => "slow-downs",
            Self::LinkUtilisation => "use of the links",
            Self::LongestQueue => "longest queues",
            Self::QueueDepth => "depths of queues over time",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::depths::QueueDepth;

    #[test]
    fn points_reach_from_the_first_to_the_last() {
        assert_eq!(points(&[]), Points::new());
        assert_eq!(points(&[3.0]), [[3.0, 1.0]]);
        assert_eq!(points(&sorted([2.0, 1.0].into_iter())), [[1.0, 0.5], [2.0, 1.0]]);
        assert_eq!(points(&[1.0, 1.0, 1.0, 2.0]), [[1.0, 0.75], [2.0, 1.0]], "a value has one share");
        // most of it lies in few values, and few of it spread far
        let body = (0..95_000).map(|at| f64::from(at % 80)).chain((0..5000).map(|at| 100.0 + f64::from(at)));
        let found = points(&sorted(body));
        let steps = found.windows(2).map(|pair| pair[1][1] - pair[0][1]);
        assert!(steps.fold(0.0, f64::max) < 0.03 && found.len() <= POINTS, "{} points", found.len());
        assert_eq!(found.last(), Some(&[5099.0, 1.0]));
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        let found = points(&many);
        assert_eq!(found.len(), POINTS);
        assert_eq!((found[0], found[POINTS - 1]), ([0.0, 0.001], [999.0, 1.0]));
        assert!(found.windows(2).all(|pair| pair[0][0] < pair[1][0] && pair[0][1] < pair[1][1]));
    }

    #[test]
    fn a_distribution_goes_up_in_steps() {
        let corners: Vec<_> = steps(&[[1.0, 0.25], [3.0, 1.0]]).collect();
        assert_eq!(corners, [(1.0, 0.0), (1.0, 0.25), (3.0, 0.25), (3.0, 1.0)]);
    }

    #[test]
    fn a_run_that_does_not_tell_has_no_picture() {
        let all = Distribution::ALL;
        let mut result = RunResult::default();
        assert!(all.iter().all(|what| what.picture(&result).is_none()));
        result.link_utilisation_cdf = points(&[0.0, 0.25, 1.0]);
        result.queue_most_bytes_cdf = points(&[1000.0]);
        result.queue_depths = vec![QueueDepth { cdf: points(&[0.0, 64.0]), ..QueueDepth::default() }; 2];
        let drawn = all.map(|what| what.picture(&result).is_some());
        assert_eq!(drawn, [false, false, true, true, true]);
        assert_eq!(Distribution::QueueDepth.curves(&result).len(), 2);
    }

    #[test]
    fn curves_of_several_runs_have_their_names() {
        let told = RunResult { link_utilisation_cdf: points(&[0.0, 0.5]), ..RunResult::default() };
        let queues =
            vec![QueueDepth { link: "a->b".into(), cdf: points(&[0.0, 64.0]), ..QueueDepth::default() }; 2];
        let told = RunResult { queue_depths: queues, ..told };
        let runs = [
            ("fast".to_owned(), told.clone()),
            ("silent".to_owned(), RunResult::default()),
            ("slow".to_owned(), told),
        ];
        let links = Distribution::LinkUtilisation.together("links", &runs).expect("two of them tell").svg();
        for (name, is_there) in
            [("fast", true), ("silent", false), ("slow", true), ("Use of the links: links", true)]
        {
            assert_eq!(links.contains(name), is_there, "{name}");
        }
        let depths = Distribution::QueueDepth.together("", &runs).expect("both tell").svg();
        assert!(depths.contains("fast, a-&gt;b"), "{depths}");
        assert!(Distribution::CompletionTime.together("", &runs).is_none());
    }

    #[test]
    fn weights_are_shares_and_points_few() {
        assert_eq!(weighted_points(std::iter::empty()), Points::new());
        assert_eq!(weighted_points([(1.0, 1.0), (4.0, 3.0)].into_iter()), [[1.0, 0.25], [4.0, 1.0]]);
        let found = weighted_points((0..1000).map(|value| (f64::from(value), 2.0)));
        assert_eq!((found.len(), found[0], found[POINTS - 1]), (POINTS, [0.0, 0.001], [999.0, 1.0]));
    }
}
