//! Noise of the system, as the user describes it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::Streams;
use stratasim_core::{BuildError, Duration};
use stratasim_engine::schedule::noise::{Noise, Source};

use crate::files;

/// Detours that stop what the streams of a schedule do (`execution.noise`). Either a `trace`, or `every`
/// and `length`.
///
/// ```toml
/// [execution.noise]
/// every = "1 ms"
/// length = "10 us"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NoiseSpec {
    /// A recorded sequence: lines of start and length in nanoseconds, `#` for comments. It repeats; each
    /// rank begins at a place of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "path"))]
    pub trace: Option<String>,
    /// All ranks begin at the same place of the trace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub together: bool,
    /// Mean time between two detours, which are distributed exponentially.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// Their mean length, also distributed exponentially.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Duration>,
}

impl NoiseSpec {
    /// The noise of `ranks` ranks; a trace's path starts from `base`.
    ///
    /// # Errors
    /// A trace that cannot be read; neither or both forms.
    pub fn build(&self, ranks: u32, streams: Streams, base: &Path) -> Result<Noise, BuildError> {
        let source = match (&self.trace, self.every, self.length) {
            (Some(name), None, None) => {
                let path = base.join(name);
                let text = files::read_named("trace", &path)?;
                read_trace(&text, self.together)
                    .map_err(|reason| BuildError::new("trace", format!("{}: {reason}", path.display())))?
            }
            (None, Some(_), Some(_)) if self.together => {
                let reason = "ranks begin at the same place of a `trace`, and none is given";
                return Err(BuildError::new("together", reason));
            }
            (None, Some(every), Some(length)) if every > Duration::ZERO => {
                Source::Random { every_ps: every.as_ps() as f64, length_ps: length.as_ps() as f64 }
            }
            (None, Some(_), Some(_)) => {
                return Err(BuildError::new("every", "a time above zero is expected, found 0 s"));
            }
            _ => {
                let reason = "either `trace`, or `every` and `length` are expected";
                return Err(BuildError::new("", reason));
            }
        };
        Ok(Noise::new(source, ranks, streams))
    }
}

/// Lines of start and length in nanoseconds; the record ends with the last detour.
fn read_trace(text: &str, together: bool) -> Result<Source, String> {
    let mut detours: Vec<(u64, u64)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let place = format!("line {}", number + 1);
        let mut words = line.split_whitespace();
        let mut time = |what: &str| -> Result<u64, String> {
            let word = words.next().ok_or_else(|| format!("{place}: the {what} of a detour is missing"))?;
            let ns: f64 = word.parse().map_err(|_| {
                format!("{place}: `{word}` is no number; the {what} of a detour in nanoseconds is expected")
            })?;
            // a start and a length fit into the clock together
            if !(0.0..9e15).contains(&ns) {
                return Err(format!("{place}: {word} ns is negative or too long"));
            }
            Ok((ns * 1000.0).round() as u64)
        };
        let (start, length) = (time("start")?, time("length")?);
        if let Some(word) = words.next() {
            return Err(format!("{place}: a start and a length are expected, found `{word}` behind them"));
        }
        if detours.last().is_some_and(|&(before, length)| start < before + length) {
            return Err(format!("{place}: a detour begins before the one before it ends"));
        }
        detours.push((start, length));
    }
    let Some(&(start, length)) = detours.last() else {
        return Err("no detour; lines of start and length in nanoseconds are expected".to_owned());
    };
    let period_ps = start + length;
    let busy: u64 = detours.iter().map(|(_, length)| length).sum();
    if busy >= period_ps {
        return Err("the detours leave no time for anything else".to_owned());
    }
    Ok(Source::Trace { detours, period_ps, together })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_and_its_faults_are_told() {
        let Ok(Source::Trace { detours, period_ps, .. }) = read_trace("# ns\n10\t5\n20 2.5\n", false) else {
            panic!("a trace")
        };
        assert_eq!((detours, period_ps), (vec![(10_000, 5_000), (20_000, 2_500)], 22_500));
        let fault = |text| read_trace(text, false).unwrap_err();
        assert_eq!(fault("1 2\n2 1\n"), "line 2: a detour begins before the one before it ends");
        assert_eq!(fault("1\n"), "line 1: the length of a detour is missing");
        assert!(fault("x 1").contains("`x` is no number"));
        assert_eq!(fault("1 2 3"), "line 1: a start and a length are expected, found `3` behind them");
        assert!(fault("9e15 9.9e15").contains("too long"));
        assert!(fault("").contains("no detour"));
        assert!(fault("0 5").contains("no time for anything else"));
    }
}
