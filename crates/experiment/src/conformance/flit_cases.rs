//! The forms of `ref/flit`: points, curves, cases of fixed work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::booksim::text::assignments;

/// A run and what it should give.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name, with load and seed.
    pub name: String,
    /// The configuration as BookSim2 reads it.
    pub config: String,
    /// Where files that it names are.
    pub folder: PathBuf,
    /// The same for all texts that set the same values.
    pub key: String,
    /// CPU seconds that the reference took, or about that.
    pub cost_s: f64,
    /// CPU seconds of BookSim2 for fixed work.
    pub peer_cpu_s: Option<f64>,
    /// What should come out.
    pub expected: Vec<Expected>,
}

/// A value that should come out.
#[derive(Debug, Clone)]
pub struct Expected {
    /// In words.
    pub place: String,
    /// What it is.
    pub quantity: Quantity,
    /// Its value.
    pub value: f64,
    /// How far off is still right: half of the last digit given.
    pub tolerance: f64,
}

/// What is compared. Names are those of the reference files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quantity {
    /// 1 when the simulation was stable.
    Stable,
    /// 1 when it was given up at the end of a sample period, 0 when while draining.
    EndedInPeriods,
    /// Cycles until all was empty.
    TotalCycles,
    /// Sample periods.
    SamplePeriods,
    /// Cycle of the end of the warm-up.
    WarmUpEnd,
    /// Warnings of a deadlock.
    DeadlockWarnings,
    /// Flits that routers sent.
    FlitHops,
    /// What is printed of a class.
    Printed(usize, String),
    /// A bin of a class's histogram.
    Bin(usize, String, usize),
    /// Bins with anything in them.
    FilledBins(usize, String),
    /// The mean at the end.
    Mean(usize, String),
}

/// Half a unit of the sixth significant digit, which is where BookSim2's numbers end.
fn six_digits(value: f64) -> f64 {
    if value == 0.0 { 1e-12 } else { 0.500_001 * 10f64.powi(value.abs().log10().floor() as i32 - 5) }
}

/// Half a unit of the sixth decimal, which is where the prototype's numbers end.
const SIX_DECIMALS: f64 = 0.500_001e-6;

/// Same text for configurations with the same values.
fn key(config: &str) -> Result<String, String> {
    let list = assignments(config).map_err(|error| error.to_string())?;
    let map: BTreeMap<String, String> = list.into_iter().map(|one| (one.name, one.value)).collect();
    let number = |value: &str| value.parse::<f64>().map_or(value.to_owned(), |value| value.to_string());
    Ok(map.iter().map(|(name, value)| format!("{name}={};", number(value))).collect())
}

/// One point. What the files add for people is left out.
#[derive(Debug, Deserialize)]
struct Point {
    #[serde(default)]
    case: String,
    #[serde(default)]
    load: f64,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    config: Option<String>,
    #[serde(default)]
    args: Option<String>,
    #[serde(default)]
    verdict: String,
    #[serde(default)]
    too_many_samples: Option<bool>,
    #[serde(default)]
    classes: BTreeMap<String, Map<String, Value>>,
    #[serde(default)]
    hist: Map<String, Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Point {
    fn number(&self, name: &str) -> Option<f64> {
        self.rest.get(name).and_then(Value::as_f64)
    }

    fn name(&self) -> String {
        format!("{} {} seed {}", self.case, self.load, self.seed)
    }

    fn case(&self, config: String) -> Result<Case, String> {
        Ok(Case {
            name: self.name(),
            key: key(&config)?,
            config,
            folder: PathBuf::new(),
            // the prototype is ten times as fast as the simulator at least
            cost_s: self
                .number("user_s")
                .or_else(|| self.number("cpu_s").map(|s| 10.0 * s))
                .unwrap_or(f64::INFINITY),
            peer_cpu_s: None,
            expected: Vec::new(),
        })
    }

    fn is_stable(&self) -> Result<bool, String> {
        match self.verdict.as_str() {
            "stable" => Ok(true),
            "unstable" => Ok(false),
            other => Err(format!("{}: the verdict `{other}` is neither stable nor unstable", self.case)),
        }
    }

    /// What the file says of the run as a whole.
    fn whole(&self, case: &mut Case) -> Result<bool, String> {
        let stable = self.is_stable()?;
        case.expect("stable", Quantity::Stable, f64::from(u8::from(stable)), 0.5);
        let counts = [
            ("total_cycles", Quantity::TotalCycles),
            ("cycles", Quantity::TotalCycles),
            ("sample_periods", Quantity::SamplePeriods),
            ("warmup_end", Quantity::WarmUpEnd),
            ("deadlock_warnings", Quantity::DeadlockWarnings),
        ];
        for (name, quantity) in counts {
            if let Some(value) = self.number(name) {
                case.expect(name, quantity, value, 0.5);
            }
        }
        if let (Some(too_many), false) = (self.too_many_samples, stable) {
            case.expect("ended in periods", Quantity::EndedInPeriods, f64::from(u8::from(too_many)), 0.5);
        }
        Ok(stable)
    }

    /// A point of BookSim2 itself.
    fn of_peer(&self, config: String) -> Result<Case, String> {
        let mut case = self.case(config)?;
        self.whole(&mut case)?;
        for (class, values) in &self.classes {
            let index: usize = class.parse().map_err(|_| format!("{}: class `{class}`", self.case))?;
            for (name, value) in values {
                let Some(value) = value.as_f64() else {
                    return Err(format!(
                        "{}: `classes.{class}.{name}` is {value}, a number is expected",
                        self.case
                    ));
                };
                let tolerance = if name == "in_flight_flits" { 0.5 } else { six_digits(value) };
                case.expect(name, Quantity::Printed(index, name.clone()), value, tolerance);
            }
        }
        for (name, value) in &self.hist {
            self.histogram(&mut case, name, value)?;
        }
        Ok(case)
    }

    /// A histogram `plat_hist_0`, or a mean `plat_0`.
    fn histogram(&self, case: &mut Case, name: &str, value: &Value) -> Result<(), String> {
        let refuse = || Err(format!("{}: histogram `{name}` has no known form", self.case));
        let Some((quantity, class)) = name.rsplit_once('_') else { return refuse() };
        let Ok(class) = class.parse::<usize>() else { return refuse() };
        let quantity = quantity.strip_suffix("_hist").unwrap_or(quantity);
        match value {
            Value::Object(bins) => {
                for (bin, count) in bins {
                    let (Ok(bin), Some(count)) = (bin.parse(), count.as_f64()) else { return refuse() };
                    let place = format!("{quantity} of {bin}");
                    case.expect(&place, Quantity::Bin(class, quantity.to_owned(), bin), count, 0.5);
                }
                let place = format!("different values of {quantity}");
                let quantity = Quantity::FilledBins(class, quantity.to_owned());
                case.expect(&place, quantity, bins.len() as f64, 0.5);
                Ok(())
            }
            Value::Number(_) => {
                let mean = value.as_f64().unwrap_or(f64::NAN);
                let place = format!("mean {quantity} at the end");
                case.expect(&place, Quantity::Mean(class, quantity.to_owned()), mean, six_digits(mean));
                Ok(())
            }
            _ => refuse(),
        }
    }

    /// A point of a curve of BookSim2: a few of the printed values.
    fn of_curve(&self, config: String) -> Result<Case, String> {
        let mut case = self.case(config)?;
        self.whole(&mut case)?;
        self.values(&mut case, six_digits);
        Ok(case)
    }

    /// A point of the prototype.
    fn of_prototype(&self, arguments: &str) -> Result<Case, String> {
        let mut case = self.case(configuration(arguments, self.load, self.seed)?)?;
        self.whole(&mut case)?;
        self.values(&mut case, |_| SIX_DECIMALS);
        if let Some(hops) = self.number("flit_hops") {
            case.expect("flit_hops", Quantity::FlitHops, hops, 0.5);
        }
        Ok(case)
    }

    fn values(&self, case: &mut Case, tolerance: fn(f64) -> f64) {
        for name in ["plat", "nlat", "flat", "frag", "hops", "inj_flit", "acc_flit", "plat_max"] {
            if let Some(value) = self.number(name) {
                case.expect(name, Quantity::Printed(0, name.to_owned()), value, tolerance(value));
            }
        }
    }
}

impl Case {
    fn expect(&mut self, place: &str, quantity: Quantity, value: f64, tolerance: f64) {
        self.expected.push(Expected { place: place.to_owned(), quantity, value, tolerance });
    }
}

/// The prototype's arguments as a configuration of BookSim2; it has the defaults of that.
fn configuration(arguments: &str, load: f64, seed: u64) -> Result<String, String> {
    let mut values: BTreeMap<&str, &str> = BTreeMap::new();
    for word in arguments.split_whitespace() {
        let (name, value) = word.split_once('=').ok_or(format!("`{word}` is not name=value"))?;
        values.insert(name, value);
    }
    let mut take = |name: &str| values.remove(name).ok_or(format!("`{arguments}` has no {name}"));
    let (topology, routing) = match take("topo")? {
        "mesh" => ("mesh", "dor"),
        "torus" => ("torus", "dim_order"),
        "ft" => ("fattree", "nca"),
        other => return Err(format!("there is no topology `{other}`")),
    };
    let mut text = format!("topology = {topology}; routing_function = {routing};");
    for (name, option) in [
        ("k", "k"),
        ("n", "n"),
        ("vcs", "num_vcs"),
        ("buf", "vc_buf_size"),
        ("size", "packet_size"),
        ("sp", "sample_period"),
        ("thres", "latency_thres"),
        ("traffic", "traffic"),
    ] {
        text += &format!(" {option} = {};", take(name)?);
    }
    values.remove("load");
    values.remove("seed");
    if let Some((name, _)) = values.first_key_value() {
        return Err(format!("`{name}` is not an argument of the prototype that is known"));
    }
    Ok(text + &format!(" injection_rate = {load}; seed = {seed}; injection_rate_uses_flits = 1;"))
}

/// Whether the arguments describe traffic that BookSim2 does not have.
fn is_of_the_paper(arguments: &str) -> bool {
    arguments.split_whitespace().any(|word| word.starts_with("poisson=") || word.starts_with("short="))
}

/// `points.jsonl`: a point per line. Points of other traffic are named in `skipped`.
///
/// # Errors
/// Lines that do not have the form.
pub(super) fn of_points(text: &str, skipped: &mut BTreeSet<String>) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |reason: String| format!("line {}: {reason}", index + 1);
        let point: Point = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        cases.push(match (&point.config, &point.args) {
            (Some(config), _) => point.of_peer(config.clone()).map_err(wrong)?,
            (None, Some(arguments)) if !is_of_the_paper(arguments) => {
                point.of_prototype(arguments).map_err(wrong)?
            }
            (None, Some(_)) => {
                skipped.insert(point.name());
                continue;
            }
            (None, None) => return Err(wrong("neither `config` nor `args`".to_owned())),
        });
    }
    Ok(cases)
}

/// A curve: what its points share.
#[derive(Debug, Deserialize)]
struct Curve {
    #[serde(default)]
    config: Option<String>,
    #[serde(default)]
    args: Option<String>,
    points: Vec<Point>,
}

/// `curves.json`: curves by source and name.
///
/// # Errors
/// A text that does not have the form.
pub(super) fn of_curves(text: &str, skipped: &mut BTreeSet<String>) -> Result<Vec<Case>, String> {
    let curves: indexmap::IndexMap<String, Curve> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut cases = Vec::new();
    for (name, curve) in curves {
        let short = name.split_once(':').map_or(name.as_str(), |(_, short)| short);
        for mut point in curve.points {
            short.clone_into(&mut point.case);
            let rate = format!("injection_rate = {}; seed = {};", point.load, point.seed);
            cases.push(match (&curve.config, &curve.args) {
                (Some(config), _) => point.of_curve(format!("{config}\n{rate}\n"))?,
                (None, Some(arguments)) if name.starts_with("proto:") && !is_of_the_paper(arguments) => {
                    point.of_prototype(arguments)?
                }
                _ => {
                    skipped.insert(point.name());
                    continue;
                }
            });
        }
    }
    Ok(cases)
}

/// `speed.json`: cases of fixed work.
///
/// # Errors
/// A text that does not have the form.
pub(super) fn of_speed(text: &str) -> Result<Vec<Case>, String> {
    let points: indexmap::IndexMap<String, Point> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut cases = Vec::new();
    for (name, mut point) in points {
        let config = point.config.take().ok_or(format!("{name} has no `config`"))?;
        point.case.clone_from(&name);
        "stable".clone_into(&mut point.verdict);
        let mut case = point.of_curve(config)?;
        case.name = name;
        case.peer_cpu_s = point.number("user_s");
        cases.push(case);
    }
    Ok(cases)
}
