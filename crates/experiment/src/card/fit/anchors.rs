//! Measurements of a card in a CSV file.

use stratasim_core::{Bandwidth, Bytes, Duration};
use stratasim_device::card::{AlgorithmSpec, Between, Card, Fidelity, Operation, Operators, time_s};

use crate::card::bench::{algorithm, operation, unknown};

/// More anchors than this are refused.
const MOST_ANCHORS: usize = 10_000;

/// What a collective can take, in seconds: from a picosecond to some months.
const SECONDS: std::ops::RangeInclusive<f64> = 1e-12..=1e7;

/// What an anchor measures.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// A collective.
    Collective(Operation, AlgorithmSpec),
    /// What fusing the operators around the collective saves (CSC; data only, as in tables 3 and 4).
    Saved(Between),
}

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// Line in the file.
    pub line: u64,
    /// What a reader calls it: the column `source` if there is one, or what was measured.
    pub name: String,
    /// What was measured.
    pub measured: Measured,
    /// Length of the vector.
    pub bytes: u64,
    /// Core groups; those of the card where the file has none.
    pub groups: Option<u32>,
    /// Whether launches and synchronisations are not in the time.
    pub kernel_only: bool,
    /// The measurement in seconds.
    pub seconds: f64,
}

/// The columns; the first three and one of `time_us` and `bandwidth` are needed.
const COLUMNS: [&str; 8] = ["op", "algorithm", "bytes", "time_us", "bandwidth", "groups", "scope", "source"];

/// Reads measurements: CSV with a line of headings. `op` is an operation, or `all-gather-saved` or
/// `reduce-scatter-saved`; `bytes` is a number or has a unit; either `time_us` or `bandwidth` (with unit) is
/// given; `groups`, `scope` (`total` or `kernel`) and `source` may be left out. Lines that begin with # are
/// comments.
///
/// # Errors
/// The first line that does not fit: what was found and expected.
pub fn read(text: &str) -> Result<Vec<Anchor>, String> {
    let mut rows = rows(text);
    let (line, headings) = rows.next().ok_or("the file is empty; a line of headings is expected")?;
    let headings = headings.map_err(|reason| format!("line {line}: {reason}"))?;
    for heading in &headings {
        if !COLUMNS.contains(&heading) {
            return Err(format!("line {line}: {}", unknown("column", heading, &COLUMNS)));
        }
    }
    let twice =
        headings.iter().enumerate().find(|(at, name)| headings.iter().take(*at).any(|it| it == *name));
    if let Some((_, name)) = twice {
        return Err(format!("line {line}: the column `{name}` is there twice"));
    }
    for needed in &COLUMNS[..3] {
        if !headings.iter().any(|heading| heading == *needed) {
            let known = COLUMNS.join(", ");
            return Err(format!("line {line}: the column `{needed}` is missing (columns: {known})"));
        }
    }
    let mut anchors = Vec::new();
    for (line, row) in rows {
        let fail = |reason: String| format!("line {line}: {reason}");
        let row = row.map_err(fail)?;
        if row.len() != headings.len() {
            let (wanted, found) = (headings.len(), row.len());
            return Err(fail(format!("{wanted} fields are expected, as in the headings; found {found}")));
        }
        if anchors.len() == MOST_ANCHORS {
            return Err(fail(format!("at most {MOST_ANCHORS} measurements are expected")));
        }
        let field = |name: &str| {
            let column = headings.iter().position(|heading| heading == name)?;
            row.get(column).filter(|field| !field.is_empty())
        };
        anchors.push(anchor(line, &field).map_err(fail)?);
    }
    if anchors.is_empty() {
        Err("there is no measurement below the headings".to_owned())
    } else {
        Ok(anchors)
    }
}

/// The rows with their lines, one row per line; empty lines and comments are passed over.
fn rows(text: &str) -> impl Iterator<Item = (u64, Result<csv::StringRecord, String>)> {
    let numbered = (1..).zip(text.lines().map(str::trim));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(|(number, line)| {
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).trim(csv::Trim::All);
        let row = builder.from_reader(line.as_bytes()).into_records().next();
        (number, row.unwrap_or_else(|| Ok(csv::StringRecord::new())).map_err(|error| error.to_string()))
    })
}

fn anchor<'a>(line: u64, field: &dyn Fn(&str) -> Option<&'a str>) -> Result<Anchor, String> {
    let needed =
        |name: &str| field(name).ok_or_else(|| format!("{name}: a value is expected, found nothing"));
    let op = needed("op")?;
    let measured = match op {
        "all-gather-saved" => Measured::Saved(Between::AllGather),
        "reduce-scatter-saved" => Measured::Saved(Between::ReduceScatter),
        op => Measured::Collective(operation(op)?, algorithm(needed("algorithm")?)?),
    };
    if matches!(measured, Measured::Saved(_)) && field("algorithm").is_some_and(|name| name != "csc") {
        return Err("algorithm: csc is what is fused; leave it out or write csc".to_owned());
    }
    let text = needed("bytes")?;
    let bytes = match text.parse::<u64>() {
        Ok(bytes) => bytes,
        Err(_) => text.parse::<Bytes>().map_err(|error| format!("bytes: {error}"))?.count(),
    };
    let positive = |name: &str, value: f64| {
        let fits = value.is_finite() && value > 0.0;
        if fits { Ok(value) } else { Err(format!("{name}: a number above 0 is expected, found {value}")) }
    };
    let seconds = match (field("time_us"), field("bandwidth")) {
        (Some(text), None) => {
            let us =
                text.parse::<f64>().map_err(|_| format!("time_us: a number is expected, found `{text}`"))?;
            1e-6 * positive("time_us", us)?
        }
        (None, Some(text)) => {
            let rate = text.parse::<Bandwidth>().map_err(|error| format!("bandwidth: {error}"))?;
            positive("bytes", bytes as f64)? / positive("bandwidth", rate.bytes_per_s())?
        }
        (None, None) => return Err("time_us or bandwidth is expected, found neither".to_owned()),
        (Some(_), Some(_)) => return Err("time_us or bandwidth is expected, found both".to_owned()),
    };
    if !SECONDS.contains(&seconds) {
        let (least, most) = (SECONDS.start(), SECONDS.end());
        return Err(format!("a measurement takes {least:e} to {most:e} seconds, found {seconds:e}"));
    }
    let groups = field("groups").map(|text| {
        let groups = text.parse::<u32>().ok().filter(|groups| (1..=64).contains(groups));
        groups.ok_or_else(|| format!("groups: 1 to 64 are expected, found `{text}`"))
    });
    let kernel_only = match field("scope") {
        None | Some("total") => false,
        Some("kernel") => true,
        Some(other) => return Err(unknown("scope", other, &["total", "kernel"])),
    };
    let what = field("algorithm").map_or_else(String::new, |name| format!(" by {name}"));
    let name = field("source").map_or_else(|| format!("{op}{what}, {}", Bytes(bytes)), str::to_owned);
    Ok(Anchor { line, name, measured, bytes, groups: groups.transpose()?, kernel_only, seconds })
}

impl Anchor {
    /// Seconds of the same on `card`.
    ///
    /// # Errors
    /// A collective that the card cannot do.
    pub fn model_s(&self, card: &Card, fidelity: Fidelity) -> Result<f64, String> {
        let mut card = card.clone();
        if let Some(groups) = self.groups {
            card.core_groups = groups;
            card = card.with_local(card.memory.local).map_err(|error| error.to_string())?;
        }
        let barriers_s = |launches: u64, syncs: u64| {
            let [launch, sync] = [card.cost.launch, card.cost.sync].map(Duration::as_secs_f64);
            launches as f64 * launch + syncs as f64 * sync
        };
        match &self.measured {
            Measured::Collective(operation, algorithm) => {
                let total_s = time_s(&card, algorithm, *operation, self.bytes, fidelity);
                let total_s = total_s.map_err(|error| error.to_string())?;
                let schedule = algorithm.plugin().schedule(*operation, card.core_groups, self.bytes);
                let (launches, syncs) = schedule.map_or((0, 0), |it| it.barriers());
                Ok(if self.kernel_only { total_s - barriers_s(launches, syncs) } else { total_s })
            }
            Measured::Saved(between) => {
                let (first_flops, second_flops, keep_local) = (0.0, 0.0, false);
                let it =
                    Operators { between: *between, bytes: self.bytes, first_flops, second_flops, keep_local };
                let saved_s = it.unfused_s(&card) - it.fused_s(&card);
                Ok(if self.kernel_only { saved_s - barriers_s(1, 0) } else { saved_s })
            }
        }
    }
}
