//! Sizes as they were measured: points of a cumulative distribution, straight lines between them.

use std::path::{Path, PathBuf};

use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::files::read_named;
use stratasim_core::random::Stream;
use stratasim_core::{BuildError, Bytes};

use super::{SizeDistribution, Sizes};

/// Sizes with a cumulative distribution of their own: between two points each size is as likely.
///
/// A first point with a share above 0 is a size that so many messages have; so is a size that stands in two points.
///
/// ```toml
/// [workload.size]
/// kind = "empirical"
/// # half have 1 to 10 kB, 40 % 10 to 100 kB, and one in ten exactly 1 MB
/// points = [["1 kB", 0.0], ["10 kB", 0.5], ["100 kB", 0.9], ["1 MB", 0.9], ["1 MB", 1.0]]
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Empirical {
    /// Sizes, each with the share of messages that are no larger, from the smallest; the last share is 1. This or `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<(Bytes, f64)>>,
    /// A text file with a point in each line: bytes and the share, or the percentage where the last one is 100. `#` begins
    /// a comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub path: Option<PathBuf>,
}

impl SizeDistribution for Empirical {
    fn sizes(&self, base: &Path) -> Result<Box<dyn Sizes>, BuildError> {
        match (&self.points, &self.path) {
            (Some(points), None) => {
                let points: Vec<(f64, f64)> =
                    points.iter().map(|&(bytes, share)| (bytes.count() as f64, share)).collect();
                let cumulative = Cumulative::new(points);
                Ok(Box::new(cumulative.map_err(|(at, reason)| {
                    BuildError::new(at.map_or("points".to_owned(), |at| format!("points.{at}")), reason)
                })?))
            }
            (None, Some(path)) => Ok(Box::new(read(base, path)?)),
            (Some(_), Some(_)) => {
                Err(BuildError::new("path", "`points` are given, too; one of the two is expected"))
            }
            (None, None) => {
                let reason =
                    "neither `points`, such as [[\"1 kB\", 0.5], [\"1 MB\", 1.0]], nor `path` is given";
                Err(BuildError::new("", reason))
            }
        }
    }
}

/// Messages of a cluster that answers web searches, up to 30 MB, 1.7 MB in the mean: half have at most 73 kB, and those above
/// 1 MB have 95 % of the bytes.
///
/// Source: Alizadeh et al., Data Center TCP (SIGCOMM 2010), in the points with which Li et al., HPCC (SIGCOMM 2019), was
/// evaluated.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WebSearch {}

/// Bytes and percentages.
const WEB_SEARCH: [(u32, u32); 12] = [
    (0, 0),
    (10_000, 15),
    (20_000, 20),
    (30_000, 30),
    (50_000, 40),
    (80_000, 53),
    (200_000, 60),
    (1_000_000, 70),
    (2_000_000, 80),
    (5_000_000, 90),
    (10_000_000, 97),
    (30_000_000, 100),
];

impl SizeDistribution for WebSearch {
    fn sizes(&self, _: &Path) -> Result<Box<dyn Sizes>, BuildError> {
        let points = WEB_SEARCH.map(|(bytes, percent)| (f64::from(bytes), f64::from(percent) / 100.0));
        Ok(Box::new(Cumulative(points.to_vec())))
    }
}

/// Points of a cumulative distribution: bytes, and the share of messages that are no larger; both ascend, the last share is 1.
#[derive(Debug)]
struct Cumulative(Vec<(f64, f64)>);

impl Cumulative {
    /// # Errors
    /// What is wrong, and with which point where it is one of them.
    fn new(points: Vec<(f64, f64)>) -> Result<Self, (Option<usize>, String)> {
        let Some(&(_, last)) = points.last() else {
            return Err((None, "no point is there; at least one with the share 1 is expected".to_owned()));
        };
        let mut before = (0.0, 0.0);
        for (at, &(bytes, share)) in points.iter().enumerate() {
            if !(before.1..=1.0).contains(&share) {
                let reason = format!("a share of {share}; from {} to 1 is expected: shares ascend", before.1);
                return Err((Some(at), reason));
            }
            if bytes < before.0 {
                let reason = format!("{bytes} B after {} B; sizes ascend", before.0);
                return Err((Some(at), reason));
            }
            before = (bytes, share);
        }
        if last < 1.0 {
            let reason = format!("the last share is {last}; 1 is expected, as no message is larger");
            return Err((Some(points.len() - 1), reason));
        }
        Ok(Self(points))
    }

    /// Each point with the one before it.
    fn steps(&self) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
        let first = self.0.first().map_or(0.0, |&(bytes, _)| bytes);
        let before = std::iter::once((first, 0.0)).chain(self.0.iter().copied());
        before.zip(self.0.iter().copied())
    }
}

impl Sizes for Cumulative {
    fn mean_bytes(&self) -> f64 {
        self.steps().map(|((low, from), (high, to))| (to - from) * (low + high) / 2.0).sum()
    }

    fn draw(&self, random: &mut Stream) -> u64 {
        let share: f64 = random.random();
        let at = self.0.partition_point(|&(_, to)| to <= share);
        // shares are below 1, which the last one is
        let Some(((low, from), (high, to))) = self.steps().nth(at) else { return 0 };
        let bytes = low + (high - low) * (share - from) / (to - from);
        // between two sizes of which one is above zero there is at least a byte
        (bytes.round() as u64).max(u64::from(high > 0.0))
    }
}

/// Reads the points of a file.
fn read(base: &Path, path: &Path) -> Result<Cumulative, BuildError> {
    let full = base.join(path);
    let text = read_named("path", &full)?;
    let wrong = |line: usize, reason: &str| {
        BuildError::new("path", format!("{}, line {line}: {reason}", path.display()))
    };
    let (mut points, mut lines) = (Vec::new(), Vec::new());
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if text.is_empty() {
            continue;
        }
        let words: Vec<&str> = text.split([',', ' ', '\t']).filter(|word| !word.is_empty()).collect();
        let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
        let Some(&[bytes, share]) = numbers.as_deref() else {
            return Err(wrong(
                line,
                &format!("found `{text}`, expected bytes and a share, such as `1000 0.5`"),
            ));
        };
        if !(0.0..=1e15).contains(&bytes) {
            return Err(wrong(line, &format!("{bytes} bytes; 0 to 1e15 are expected")));
        }
        points.push((bytes, share));
        lines.push(line);
    }
    match points.last() {
        Some(&(_, 100.0)) => points.iter_mut().for_each(|(_, share)| *share /= 100.0),
        // a share above 1 alone is a mistake in its own line
        Some(&(_, last)) if last > 1.0 && points.iter().filter(|&&(_, share)| share > 1.0).count() > 1 => {
            let reason =
                format!("the last share is {last}; 1, or 100 where they are percentages, is expected");
            return Err(wrong(lines[lines.len() - 1], &reason));
        }
        _ => {}
    }
    Cumulative::new(points).map_err(|(at, reason)| match at {
        Some(at) => wrong(lines[at], &reason),
        None => BuildError::new("path", format!("{}: {reason}", path.display())),
    })
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Streams;

    use super::*;

    fn sizes(points: &[(f64, f64)]) -> Cumulative {
        Cumulative::new(points.to_vec()).unwrap()
    }

    #[test]
    fn the_mean_is_that_of_the_lines_between_the_points() {
        // a quarter has 10 bytes, a quarter lies evenly between 10 and 30, a half has 30
        let three = sizes(&[(10.0, 0.25), (30.0, 0.5), (30.0, 1.0)]);
        assert!((three.mean_bytes() - (0.25 * 10.0 + 0.25 * 20.0 + 0.5 * 30.0)).abs() < 1e-12);
        assert!((sizes(&[(7.0, 1.0)]).mean_bytes() - 7.0).abs() < 1e-12);
        let search = WebSearch {}.sizes(Path::new("")).unwrap();
        assert!((search.mean_bytes() - 1_711_250.0).abs() < 1.0, "{}", search.mean_bytes());
    }

    #[test]
    fn sizes_are_drawn_by_their_shares() {
        let mut random = Streams::new(7).stream("sizes");
        let three = sizes(&[(10.0, 0.25), (30.0, 0.5), (30.0, 1.0)]);
        let drawn: Vec<u64> = (0..40_000).map(|_| three.draw(&mut random)).collect();
        let share = |is: fn(u64) -> bool| drawn.iter().filter(|&&bytes| is(bytes)).count() as f64 / 40_000.0;
        // five standard errors of a half are 0.0125
        for (found, expected) in [
            // half of the interval to the next whole byte is rounded to the ends
            (share(|bytes| bytes == 10), 0.25 + 0.25 / 40.0),
            (share(|bytes| bytes == 30), 0.5 + 0.25 / 40.0),
            (share(|bytes| bytes < 20), 0.25 + 0.25 * 9.5 / 20.0),
        ] {
            assert!((found - expected).abs() < 0.0125, "{found} {expected}");
        }
        assert!(drawn.iter().all(|bytes| (10..=30).contains(bytes)));
    }

    #[test]
    fn points_that_make_no_distribution_are_refused() {
        for (points, at, reason) in [
            (&[][..], None, "no point is there"),
            (&[(1.0, 0.5), (2.0, 0.9)], Some(1), "the last share is 0.9; 1 is expected"),
            (&[(1.0, 0.5), (2.0, 0.4), (3.0, 1.0)], Some(1), "a share of 0.4; from 0.5 to 1 is expected"),
            (&[(1.0, 0.5), (2.0, 1.5)], Some(1), "a share of 1.5"),
            (&[(1.0, f64::NAN)], Some(0), "a share of NaN"),
            (&[(2.0, 0.5), (1.0, 1.0)], Some(1), "1 B after 2 B; sizes ascend"),
        ] {
            let (found, text) = Cumulative::new(points.to_vec()).unwrap_err();
            assert!(found == at && text.contains(reason), "{found:?} {text}");
        }
    }
}
