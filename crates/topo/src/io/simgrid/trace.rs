//! SimGrid's profile text: lines `date value`, how often they come again, and random laws.

use rand::Rng;
use stratasim_core::Duration;
use stratasim_core::random::Stream;

use super::units::picoseconds;
use crate::io::profile::Profile;

/// A number, or how to draw one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Law {
    Fixed(f64),
    Normal { mean: f64, deviation: f64 },
    Exponential { rate: f64 },
    Uniform { low: f64, high: f64 },
}

impl Law {
    /// Reads a law from the front of `words`; a bare number is one outside random profiles only.
    fn read(words: &mut std::str::SplitWhitespace<'_>, random: bool) -> Result<Self, String> {
        let word = words.next().ok_or("a line needs a date and a value")?;
        let mut number = |what: &str| -> Result<f64, String> {
            let text = words.next().ok_or_else(|| format!("`{word}` needs {what}"))?;
            finite(text)
        };
        Ok(match word {
            "DET" => Self::Fixed(number("a number")?),
            "NORM" | "NORMAL" | "GAUSS" | "GAUSSIAN" => {
                Self::Normal { mean: number("a mean")?, deviation: number("a standard deviation")? }
            }
            "EXP" | "EXPONENTIAL" => Self::Exponential { rate: number("a rate")? },
            "UNIF" | "UNIFORM" => Self::Uniform { low: number("a minimum")?, high: number("a maximum")? },
            text if !random => Self::Fixed(finite(text)?),
            text => return Err(format!("`{text}` is no law; a random profile says DET, NORM, EXP or UNIF")),
        })
    }

    fn draw(self, stream: &mut Stream) -> f64 {
        // 53 random bits, in (0, 1]
        let mut unit = || ((stream.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        match self {
            Self::Fixed(value) => value,
            Self::Exponential { rate } => -unit().ln() / rate,
            Self::Uniform { low, high } => low + (high - low) * unit(),
            // Box and Muller, 1958
            Self::Normal { mean, deviation } => {
                let radius = (-2.0 * unit().ln()).sqrt();
                mean + deviation * radius * (std::f64::consts::TAU * unit()).cos()
            }
        }
    }
}

fn finite(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a number"))
}

/// The profile that `text` describes. `period_s` is the period from outside the text; zero or less
/// means once. Random laws are drawn from `stream`.
///
/// Negative values are left out, as SimGrid passes over them.
///
/// # Errors
/// `(line from 0, reason)` for a line that is no point, dates that go back, a period that the
/// points do not fit in, a random profile without end.
pub(super) fn read(text: &str, period_s: f64, stream: &mut Stream) -> Result<Profile, (usize, String)> {
    let mut period_s = (period_s > 0.0).then_some(period_s);
    let (mut random, mut again, mut pause_s) = (false, period_s.is_some(), 0.0);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let (mut last_s, mut drawn) = (0.0_f64, false);
    for (line, content) in text.lines().enumerate() {
        let fail = |reason: String| (line, reason);
        let content = content.trim();
        if content.is_empty() || content.starts_with(['#', '%']) {
            continue;
        }
        let mut words = content.split_whitespace();
        match words.clone().next().unwrap_or_default() {
            "PERIODICITY" => {
                let given = finite(words.nth(1).unwrap_or_default()).map_err(fail)?;
                period_s = (given > 0.0).then_some(given);
                again = true;
            }
            "LOOPAFTER" => {
                pause_s = finite(words.nth(1).unwrap_or_default()).map_err(fail)?;
                again = true;
            }
            "STOCHASTIC" => {
                random = true;
                again |= words.nth(1) == Some("LOOP");
            }
            _ => {
                let date = Law::read(&mut words, random).map_err(fail)?;
                let value = Law::read(&mut words, random).map_err(fail)?;
                if let Some(extra) = words.next() {
                    return Err(fail(format!("`{extra}` after the value; a line is `date value`")));
                }
                drawn |= !matches!((date, value), (Law::Fixed(_), Law::Fixed(_)));
                let date_s = date.draw(stream);
                // a random profile says how long after the last point, another one says when
                let date_s = if random { last_s + date_s.max(0.0) } else { date_s };
                if date_s < last_s {
                    return Err(fail(format!(
                        "the date {date_s} is before {last_s}; dates must not go back"
                    )));
                }
                last_s = date_s;
                let value = value.draw(stream);
                if value >= 0.0 {
                    points.push((date_s, value));
                }
            }
        }
    }
    let fail = |reason: &str| (0, reason.to_owned());
    if again && drawn {
        return Err(fail("a random profile that comes again without end; leave LOOP away or use DET"));
    }
    let period_s = if again { Some(period_s.unwrap_or(last_s + pause_s)) } else { None };
    if period_s.is_some_and(|period_s| period_s < last_s || period_s <= 0.0) {
        return Err(fail("the points do not fit into the period; make it longer than the last date"));
    }
    let instant =
        |at_s| picoseconds(at_s).ok_or_else(|| fail("a date beyond 213 days, which is the longest"));
    let points = points.iter().map(|&(at_s, value)| Ok((instant(at_s)?, value))).collect::<Result<_, _>>()?;
    let repeat_after = period_s.map(instant).transpose()?.filter(|&period| period > Duration::ZERO);
    Ok(Profile { points, repeat_after })
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Streams;

    use super::*;

    fn profile(text: &str, period_s: f64) -> Result<Profile, (usize, String)> {
        read(text, period_s, &mut Streams::new(1).stream("trace"))
    }

    fn seconds(points: &[(f64, f64)]) -> Vec<(Duration, f64)> {
        points.iter().map(|&(at, value)| (Duration::from_secs_f64(at), value)).collect()
    }

    #[test]
    fn a_period_comes_from_outside_or_from_the_text() {
        let text = "# availability\n0.0 1.0\n\n 1.0 0.5\n";
        let expected = seconds(&[(0.0, 1.0), (1.0, 0.5)]);
        let once = profile(text, -1.0).unwrap();
        assert_eq!((once.points, once.repeat_after), (expected.clone(), None));
        assert_eq!(profile(text, 2.0).unwrap().repeat_after, Some(Duration::from_secs_f64(2.0)));
        let text = format!("PERIODICITY 4\n{text}");
        assert_eq!(profile(&text, -1.0).unwrap().repeat_after, Some(Duration::from_secs_f64(4.0)));
        let after = profile("1 7\nLOOPAFTER 2.5\n3 -1\n", -1.0).unwrap();
        assert_eq!(after.points, seconds(&[(1.0, 7.0)]));
        assert_eq!(after.repeat_after, Some(Duration::from_secs_f64(5.5)));
    }

    #[test]
    fn random_points_follow_their_laws() {
        let text = format!("STOCHASTIC\n{}", "DET 1 NORM 10 2\n".repeat(4000));
        let normal = profile(&text, -1.0).unwrap();
        assert_eq!(normal.points[3999].0, Duration::from_secs_f64(4000.0));
        let mean = normal.points.iter().map(|p| p.1).sum::<f64>() / 4000.0;
        let variance = normal.points.iter().map(|p| (p.1 - mean).powi(2)).sum::<f64>() / 4000.0;
        // five standard errors of the mean and of the variance
        assert!((mean - 10.0).abs() < 5.0 * 2.0 / 4000_f64.sqrt(), "{mean}");
        assert!((variance - 4.0).abs() < 5.0 * 4.0 * (2.0 / 4000_f64).sqrt(), "{variance}");
        let text = format!("STOCHASTIC\n{}", "EXP 4 UNIF 2 6\n".repeat(4000));
        let other = profile(&text, -1.0).unwrap();
        let end = other.points[3999].0.as_secs_f64();
        assert!((end - 1000.0).abs() < 5.0 * 4000_f64.sqrt() / 4.0, "{end}");
        let mean = other.points.iter().map(|p| p.1).sum::<f64>() / 4000.0;
        assert!((mean - 4.0).abs() < 5.0 * (16.0_f64 / 12.0 / 4000.0).sqrt(), "{mean}");
        assert!(other.points.iter().all(|p| (2.0..=6.0).contains(&p.1)));
    }

    #[test]
    fn a_line_that_is_no_point_is_named() {
        for (text, line, part) in [
            ("0 1\nx 2\n", 1, "`x` is not a number"),
            ("0\n", 0, "a date and a value"),
            ("0 1 2\n", 0, "`2` after the value"),
            ("5 1\n4 1\n", 1, "must not go back"),
            ("STOCHASTIC\n1 2\n", 1, "`1` is no law"),
            ("NORM 3\n", 0, "needs a standard deviation"),
            ("STOCHASTIC LOOP\nEXP 1 DET 2\n", 0, "without end"),
            ("PERIODICITY 1\n0 1\n2 1\n", 0, "do not fit"),
            ("LOOPAFTER 0\n0 1\n", 0, "do not fit"),
            ("1e9 1\n", 0, "213 days"),
        ] {
            let (at, reason) = profile(text, -1.0).unwrap_err();
            assert_eq!(at, line, "{reason}");
            assert!(reason.contains(part), "{reason}");
        }
    }
}
