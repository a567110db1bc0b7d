//! A collective on a card over many sizes, by several algorithms.

use rayon::prelude::*;
use serde::Serialize;
use stratasim_core::error::nearest;
use stratasim_core::{Bytes, registry};
use stratasim_device::card::{AlgorithmSpec, Card, Fidelity, Operation, Ranking, rank};
use stratasim_report::Unit;
use stratasim_report::picture::{Axis, LineChart, Picture, Series};
use stratasim_report::table::{Cell, Table};

/// More sizes than this are refused before anything is allocated.
const MOST_SIZES: usize = 1000;

/// Sizes on a command line: `64KiB`, `16KiB:64MiB` (doubled each time), `1MB:1GB:10` (times 10), and lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(pub Vec<u64>);

impl std::str::FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = |part: &str| part.parse::<Bytes>().map(Bytes::count).map_err(|error| error.to_string());
        let mut sizes = Vec::new();
        for part in text.split(',').map(str::trim) {
            let parts: Vec<&str> = part.split(':').map(str::trim).collect();
            let (from, to, factor) = match parts[..] {
                [one] => {
                    sizes.push(size(one)?);
                    continue;
                }
                [from, to] => (size(from)?, size(to)?, 2),
                [from, to, factor] => {
                    let factor = factor.parse::<u64>().ok().filter(|&factor| factor > 1);
                    (
                        size(from)?,
                        size(to)?,
                        factor.ok_or_else(|| format!("`{part}`: the factor is a whole number above 1"))?,
                    )
                }
                _ => {
                    return Err(format!(
                        "`{part}` is no size and no range; write them like 16KiB:64MiB or 1MB,4MB"
                    ));
                }
            };
            if from == 0 || from > to {
                return Err(format!("`{part}` is no range from a smaller size, above 0, to a larger one"));
            }
            sizes.extend(
                std::iter::successors(Some(from), |size| size.checked_mul(factor))
                    .take_while(|&size| size <= to),
            );
        }
        if sizes.len() > MOST_SIZES {
            return Err(format!("{} sizes; at most {MOST_SIZES} are expected", sizes.len()));
        }
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self(sizes))
    }
}

/// The algorithm of that name.
///
/// # Errors
/// No such algorithm; the message suggests one.
pub fn algorithm(name: &str) -> Result<AlgorithmSpec, String> {
    AlgorithmSpec::named(name)
        .ok_or_else(|| unknown("algorithm", name, <AlgorithmSpec as registry::List>::KINDS))
}

/// The operation of that name.
///
/// # Errors
/// No such operation; the message suggests one.
pub fn operation(name: &str) -> Result<Operation, String> {
    Operation::named(name).ok_or_else(|| unknown("operation", name, &Operation::ALL.map(Operation::name)))
}

/// The level of detail of that name.
///
/// # Errors
/// No such level.
pub fn fidelity(name: &str) -> Result<Fidelity, String> {
    let found = Fidelity::ALL.into_iter().find(|level| level.name() == name);
    found.ok_or_else(|| unknown("fidelity", name, &Fidelity::ALL.map(Fidelity::name)))
}

pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known.iter().copied())
        .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    format!("unknown {what} `{name}`{hint} (known: {})", known.join(", "))
}

/// Times of a collective.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Name of the card.
    pub card: String,
    /// Number of its core groups.
    pub core_groups: u32,
    /// What was done.
    pub operation: Operation,
    /// How it was timed.
    pub fidelity: Fidelity,
    /// The algorithms, in the order of the columns.
    pub algorithms: Vec<AlgorithmSpec>,
    /// One row per size.
    pub rows: Vec<Row>,
}

/// One size.
#[derive(Debug, Clone)]
pub struct Row {
    /// Length of the vector in bytes.
    pub bytes: u64,
    /// Time of each algorithm, or why it has none.
    pub times: Vec<Ranking>,
}

impl Row {
    /// Index of the fastest algorithm; `None` where no algorithm can do it.
    pub fn best(&self) -> Option<usize> {
        let times =
            self.times.iter().enumerate().filter_map(|(at, it)| Some((at, *it.seconds.as_ref().ok()?)));
        times.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }
}

/// A row as JSON has it.
#[derive(Serialize)]
struct JsonRow<'a> {
    bytes: u64,
    best: Option<&'a str>,
    times: Vec<JsonTime<'a>>,
}

#[derive(Serialize)]
struct JsonTime<'a> {
    algorithm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth_bytes_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Bench {
    /// Times `operation` of all sizes by all algorithms.
    pub fn run(
        card: &Card,
        operation: Operation,
        algorithms: &[AlgorithmSpec],
        sizes: &Sizes,
        fidelity: Fidelity,
    ) -> Self {
        let mut distinct = Vec::with_capacity(algorithms.len());
        for algorithm in algorithms {
            if !distinct.contains(algorithm) {
                distinct.push(algorithm.clone());
            }
        }
        let row = |&bytes: &u64| Row { bytes, times: rank(card, &distinct, operation, bytes, fidelity) };
        Self {
            card: card.name.clone(),
            core_groups: card.core_groups,
            operation,
            fidelity,
            rows: sizes.0.par_iter().map(row).collect(),
            algorithms: distinct,
        }
    }

    /// A table: of each algorithm time and bandwidth (vector over time), and which is the fastest. In CSV
    /// sizes are bare numbers.
    pub fn table(&self, csv: bool) -> Table {
        let names = self.algorithms.iter().map(AlgorithmSpec::kind);
        let columns = names.flat_map(|name| [name.to_owned(), format!("{name} bandwidth")]);
        let size = if csv { "size" } else { "vector" }.to_owned();
        let mut table = Table::new([size].into_iter().chain(columns).chain(["best".to_owned()]));
        for row in &self.rows {
            let size = if csv {
                Cell::Number(row.bytes as f64, Unit::Bytes)
            } else {
                Bytes(row.bytes).to_string().into()
            };
            let mut cells = vec![size];
            for it in &row.times {
                let seconds = it.seconds.as_ref().ok().copied();
                cells.push(seconds.map(|seconds| (seconds, Unit::Seconds)).into());
                let rate = seconds.filter(|&seconds| seconds > 0.0);
                cells.push(rate.map(|seconds| (row.bytes as f64 / seconds, Unit::BytesPerSecond)).into());
            }
            cells.push(row.best().map_or(Cell::Missing, |at| self.algorithms[at].kind().into()));
            table.push(cells);
        }
        table
    }

    /// Why algorithms have no time at some sizes: each algorithm once, with its first reason.
    pub fn reasons(&self) -> Vec<String> {
        let of = |at: usize| self.rows.iter().find_map(|row| row.times[at].seconds.as_ref().err());
        (0..self.algorithms.len()).filter_map(of).map(ToString::to_string).collect()
    }

    /// Bandwidth over size, both logarithmic.
    pub fn picture(&self) -> Picture {
        let size = Axis::log("length of the vector", Unit::Bytes);
        let rate = Axis::log("bandwidth, vector over time", Unit::BytesPerSecond);
        let title =
            format!("{}: {} between {} core groups", self.card, self.operation.name(), self.core_groups);
        let mut chart = LineChart::new(title, size, rate);
        for (at, algorithm) in self.algorithms.iter().enumerate() {
            let points = self.rows.iter().filter_map(|row| {
                let seconds = *row.times[at].seconds.as_ref().ok()?;
                (seconds > 0.0).then_some((row.bytes as f64, row.bytes as f64 / seconds))
            });
            chart.series.push(Series::new(algorithm.kind(), points));
        }
        chart.draw()
    }

    /// Everything as JSON.
    pub fn json(&self) -> serde_json::Value {
        let time = |row: &Row, it: &Ranking| {
            let time_s = it.seconds.as_ref().ok().copied();
            JsonTime {
                algorithm: it.algorithm.kind(),
                time_s,
                bandwidth_bytes_per_s: time_s
                    .filter(|&it| it > 0.0)
                    .map(|seconds| row.bytes as f64 / seconds),
                reason: it.seconds.as_ref().err().map(ToString::to_string),
            }
        };
        let rows: Vec<JsonRow<'_>> = self
            .rows
            .iter()
            .map(|row| JsonRow {
                bytes: row.bytes,
                best: row.best().map(|at| self.algorithms[at].kind()),
                times: row.times.iter().map(|it| time(row, it)).collect(),
            })
            .collect();
        serde_json::json!({
            "card": self.card,
            "core_groups": self.core_groups,
            "operation": self.operation.name(),
            "fidelity": self.fidelity.name(),
            "rows": rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_lists_and_ranges() {
        let read = |text: &str| text.parse::<Sizes>().map(|sizes| sizes.0);
        assert_eq!(read("16KiB:64KiB"), Ok(vec![16 << 10, 32 << 10, 64 << 10]));
        assert_eq!(read("1MB:1GB:10"), Ok(vec![1_000_000, 10_000_000, 100_000_000, 1_000_000_000]));
        assert_eq!(read("8 MB, 0 B, 1 KiB:3 KiB"), Ok(vec![0, 1024, 2048, 8_000_000]));
        for bad in ["", "8", "8 MB:", "0 B:1 MB", "2 MB:1 MB", "1 MB:2 MB:1", "1 B:2 B:3:4", "1 B:9 B:x"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_typo_in_a_name_suggests_the_known_ones() {
        let message = algorithm("csv").unwrap_err();
        assert_eq!(
            message,
            "unknown algorithm `csv`, did you mean `csc`? (known: ring, csc, csc-equation, direct)"
        );
        assert!(operation("allgather").unwrap_err().contains("did you mean `all-gather`?"));
        assert!(fidelity("f3").is_err());
    }
}
