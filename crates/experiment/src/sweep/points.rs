//! From the section to the points.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use stratasim_core::error::nearest;
use stratasim_core::{Bandwidth, Bytes, ComputeRate, Duration, Flops};
use stratasim_report::Unit;
use stratasim_report::page::file_name;

use super::SweepSpec;
use crate::document::Document;
use crate::error::ConfigError;
use crate::forecast::Forecast;
use crate::kept;
use crate::spec::Spec;

/// More points than this are refused before anything is allocated.
const MOST_POINTS: usize = 100_000;

/// A setting that varies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its dotted path, or `case`.
    pub path: String,
    /// What tables call it.
    pub heading: String,
}

/// One experiment of a sweep.
#[derive(Debug, Clone)]
pub struct Point {
    /// Position in the sweep, from 0.
    pub index: usize,
    /// Which of all combinations it is; of those that are equal, the first.
    pub(super) combination: usize,
    /// The value of each column.
    pub settings: Vec<Value>,
    /// The resolved spec.
    pub spec: Value,
    /// Name of its result: a digest of the spec and of the files that it names.
    pub digest: String,
}

/// A sweep, ready to run.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub(super) spec: SweepSpec,
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) columns: Vec<Column>,
    pub(super) points: Vec<Point>,
    pub(super) base: PathBuf,
    /// The experiment without the section,
    pub(super) document: Document,
    /// and the section, with their places.
    section: Document,
    /// Whether a part of it is not in the file of the document.
    is_given: bool,
}

impl Sweep {
    /// The sweep of a document with a section `sweep`. Relative paths start from `base`.
    ///
    /// # Errors
    /// A section that does not fit, or a point that is no experiment, with its place.
    pub fn new(mut document: Document, base: &Path) -> Result<Self, ConfigError> {
        let Some(section) = document.take("sweep") else {
            let reason = "this experiment has no section `[sweep]`: give it one, or use `stratasim run`";
            return Err(document.lacks(reason));
        };
        let (spec, section) = read(section)?;

        let columns = columns(&spec, &section)?;
        in_effect(&spec, &section, document.assignments())?;
        let mut sweep = Self {
            name: String::new(),
            description: None,
            columns,
            points: Vec::new(),
            base: base.to_owned(),
            document,
            section,
            is_given: false,
            spec,
        };
        sweep.points = sweep.combine()?;
        let text = |key: &str| sweep.points[0].spec.get(key).and_then(Value::as_str).map(str::to_owned);
        let stem =
            Path::new(sweep.document.name()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        (sweep.name, sweep.description) = (text("name").or(stem).unwrap_or_default(), text("description"));
        sweep.check()?;
        Ok(sweep)
    }

    /// The sweep of a document in whose section keys are replaced by what was `given` for them. What it says about its own
    /// settings (labels, numbers, pictures) is left out where not all of it fits these.
    ///
    /// # Errors
    /// As [`Sweep::new`]: names of numbers that no result has fit nowhere.
    pub fn with(
        mut document: Document,
        given: Vec<(String, Value)>,
        base: &Path,
    ) -> Result<Self, ConfigError> {
        if given.is_empty() {
            return Self::new(document, base);
        }
        for (key, value) in given {
            document.set_json("sweep", &format!("sweep.{key}"), value)?;
        }
        if let Ok(whole) = Self::new(document.clone(), base) {
            return Ok(whole.given());
        }
        if let Some(section) = document.take("sweep") {
            let (spec, mut own) = read(section)?;
            check_numbers(&spec, &own)?;
            for key in ["labels", "metrics", "derived", "plot", "reference"] {
                own.take(key);
            }
            document.graft("sweep", &own)?;
        }
        Self::new(document, base).map(Self::given)
    }

    /// Takes the section `sweep` out of a document, if there is one: only the experiment itself is meant.
    ///
    /// # Errors
    /// A section that does not fit, with its place: what was meant for the experiment may stand in it.
    pub fn leave_out(document: &mut Document) -> Result<(), ConfigError> {
        document.take("sweep").map_or(Ok(()), |section| read(section).map(drop))
    }

    /// Settings that vary.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The points, in order.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Title of the page.
    pub fn title(&self) -> &str {
        let name = if self.name.is_empty() { "Sweep" } else { &self.name };
        self.spec.title.as_deref().unwrap_or(name)
    }

    /// The settings of a point in words: `accelerators 64, latency 200 ns`.
    pub fn describe(&self, point: &Point) -> String {
        let settings = point.settings.iter().enumerate();
        settings.map(|(column, value)| self.setting(column, value)).collect::<Vec<_>>().join(", ")
    }

    /// One of them.
    pub(super) fn setting(&self, column: usize, value: &Value) -> String {
        let column = &self.columns[column];
        if column.path == "case" { words(value) } else { format!("{} {}", column.heading, words(value)) }
    }

    /// Keeps the points with given settings: each text is `setting=value`, where the setting is a
    /// path, a heading or `case`. Texts about one setting are alternatives.
    ///
    /// # Errors
    /// A setting that does not vary, a value that it never has.
    pub fn keep_only(&mut self, choices: &[String]) -> Result<(), ConfigError> {
        let mut wanted: Vec<Vec<Value>> = vec![Vec::new(); self.columns.len()];
        for choice in choices {
            let fail =
                |reason: String| ConfigError::new(format!("only the points with `{choice}`: {reason}"), None);
            let (key, text) = choice
                .split_once('=')
                .ok_or_else(|| fail("write `setting=value`, such as `case=ring`".to_owned()))?;
            let column = self.find(key.trim()).map_err(fail)?;
            let values = self.values(column);
            match values.iter().find(|value| words(value) == text.trim()) {
                Some(value) => wanted[column].push((*value).clone()),
                None => {
                    let known: Vec<_> = values.iter().map(|value| words(value)).collect();
                    return Err(fail(format!("it is one of {}", known.join(", "))));
                }
            }
        }
        self.points.retain(|point| {
            point.settings.iter().zip(&wanted).all(|(value, any)| any.is_empty() || any.contains(value))
        });
        Ok(())
    }

    /// Whether the command makes this sweep from its file as well.
    pub(super) fn has_command(&self) -> bool {
        !self.document.name().is_empty() && !self.is_given
    }

    /// The same sweep, of which a part is not in its file.
    #[must_use]
    pub fn given(self) -> Self {
        Self { is_given: true, ..self }
    }

    /// The column called `name`: by path, else by heading, else by the end of its path.
    pub(super) fn find(&self, name: &str) -> Result<usize, String> {
        let called = |is_it: &dyn Fn(&Column) -> bool| {
            let mut called = (0..self.columns.len()).filter(|&at| is_it(&self.columns[at]));
            match (called.next(), called.next()) {
                (Some(first), Some(second)) => {
                    let paths =
                        [first, second].map(|at| format!("`{}`", self.columns[at].path)).join(" and ");
                    Err(format!("{paths} are both called `{name}`; give the path"))
                }
                (found, _) => Ok(found),
            }
        };
        let ends = |path: &str| path.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
        let mut found = called(&|it| it.path == name)?;
        if found.is_none() {
            found = called(&|it| it.heading == name)?;
        }
        if found.is_none() {
            found = called(&|it| ends(&it.path))?;
        }
        found.ok_or_else(|| {
            let names = self.columns.iter().map(|column| column.path.as_str());
            let hint = nearest(name, names.clone())
                .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            format!("`{name}` does not vary{hint} (what varies: {})", names.collect::<Vec<_>>().join(", "))
        })
    }

    /// The different values of a column, in order.
    pub(super) fn values(&self, column: usize) -> Vec<&Value> {
        let mut seen: HashSet<String> = HashSet::new();
        let all = self.points.iter().map(|point| &point.settings[column]);
        all.filter(|value| seen.insert(value.to_string())).collect()
    }

    /// The unit of a column whose values are all numbers or quantities of one kind.
    pub(super) fn unit(&self, column: usize) -> Option<Unit> {
        let mut units = self.values(column).into_iter().map(|value| measure(value).map(|(_, unit)| unit));
        let first = units.next()??;
        units.all(|unit| unit == Some(first)).then_some(first)
    }

    /// Every combination of case, zipped row and product as an experiment of its own.
    fn combine(&self) -> Result<Vec<Point>, ConfigError> {
        let SweepSpec { product, zip, cases, .. } = &self.spec;
        let rows = zip.values().next().map_or(1, Vec::len);
        let lists = [cases.len().max(1), rows].into_iter().chain(product.values().map(Vec::len));
        let count = lists.clone().try_fold(1_usize, usize::checked_mul);
        let Some(count) = count.filter(|count| *count <= MOST_POINTS) else {
            let sizes: Vec<_> = lists.map(|length| length.to_string()).collect();
            return Err(self.section.error(format!(
                "sweep: this asks for {} points, at most {MOST_POINTS} are run in one sweep",
                sizes.join(" x ")
            )));
        };
        let mut points = Vec::with_capacity(count);
        let mut seen = HashSet::new();
        for combination in 0..count {
            let (document, settings) = self.settle(combination)?;
            let spec = if Forecast::is_in(&document) {
                Forecast::spec(&document)?
            } else {
                serde_json::to_value(document.read::<Spec>()?).unwrap_or_default()
            };
            let digest = kept::digest::of(&spec, &self.base);
            // lists may say the same again
            if seen.insert((Value::from(settings.clone()).to_string(), digest.clone())) {
                points.push(Point { index: points.len(), combination, settings, spec, digest });
            }
        }
        Ok(points)
    }

    /// The experiment of a combination as a document with its places, and the values of the columns.
    pub(super) fn settle(&self, combination: usize) -> Result<(Document, Vec<Value>), ConfigError> {
        let SweepSpec { product, zip, cases, .. } = &self.spec;
        // the last key varies fastest
        let mut rest = combination;
        let mut chosen = Vec::with_capacity(product.len());
        for (path, values) in product.iter().rev() {
            chosen.push((path, rest % values.len()));
            rest /= values.len();
        }
        let rows = zip.values().next().map_or(1, Vec::len);
        let (row, case) = (rest % rows, rest / rows);

        let mut document = self.document.clone();
        let mut settings = Vec::with_capacity(self.columns.len());
        let mut set = |path: &str, place: &[&str]| {
            let value = self.section.at(place).expect("the spec was read from the section");
            if path.split('.').next() == Some("sweep") {
                return Err(value.error(format!("`{path}`: a sweep cannot vary its own section")));
            }
            document.graft(path, &value)
        };
        if let Some(named) = cases.get(case) {
            settings.push(Value::String(named.name.clone()));
            for path in named.set.keys() {
                set(path, &["case", &case.to_string(), "set", path])?;
            }
        }
        for (path, values) in zip {
            set(path, &["zip", path, &row.to_string()])?;
            settings.push(values[row].clone());
        }
        for (path, at) in chosen.into_iter().rev() {
            set(path, &["product", path, &at.to_string()])?;
            settings.push(product[path][at].clone());
        }
        Ok((document, settings))
    }

    /// Whether plots, references and numbers speak of what there is.
    fn check(&self) -> Result<(), ConfigError> {
        let fail = |path: &[&str], reason: String| Err(wrong(&self.section, path, &reason));
        check_numbers(&self.spec, &self.section)?;
        if let Err((number, key, reason)) = self.check_derived() {
            return fail(&["derived", &number.to_string(), key], reason);
        }
        let mut names = BTreeSet::new();
        for (number, plot) in self.spec.plots.iter().enumerate() {
            let number = number.to_string();
            let x = match self.find(&plot.x) {
                Ok(x) => x,
                Err(reason) => return fail(&["plot", &number, "x"], reason),
            };
            for (key, names) in [
                ("by", plot.by.iter().flatten().collect::<Vec<_>>()),
                ("where", plot.only.keys().collect()),
                ("relative-to", plot.relative_to.keys().collect()),
            ] {
                if let Some(reason) = names.into_iter().find_map(|name| self.find(name).err()) {
                    return fail(&["plot", &number, key], reason);
                }
            }
            for (key, settings) in [("where", &plot.only), ("relative-to", &plot.relative_to)] {
                if let Some(reason) = self.never(settings) {
                    return fail(&["plot", &number, key], reason);
                }
            }
            if plot.difference && plot.relative_to.is_empty() {
                let reason = "it is for a quotient: `relative-to` is expected with it".to_owned();
                return fail(&["plot", &number, "difference"], reason);
            }
            let metric = self.spec.metric(&plot.y).expect("its name was checked");
            let (name, _) = self.words_for(plot, x, &metric);
            if !names.insert(file_name(&name)) {
                let reason = format!("two plots are called `{name}`; give each a `name` of its own");
                let path = ["plot", &number, "name"];
                return fail(if plot.name.is_some() { &path } else { &path[..2] }, reason);
            }
        }
        for (number, reference) in self.spec.references.iter().enumerate() {
            let number = number.to_string();
            if !reference.value.is_finite() {
                return fail(
                    &["reference", &number, "value"],
                    format!("{}; a number is expected", reference.value),
                );
            }
            if let Some(reason) = reference.at.keys().find_map(|name| self.find(name).err()) {
                return fail(&["reference", &number, "at"], reason);
            }
            let count = self.points.iter().filter(|point| self.matches(point, &reference.at)).count();
            if count != 1 {
                let what =
                    if count == 0 { "no point has".to_owned() } else { format!("{count} points have") };
                return fail(
                    &["reference", &number, "at"],
                    format!("{what} these settings; one point is meant"),
                );
            }
        }
        Ok(())
    }

    /// What no point has of these settings, where there is such a value; a list means any of its values, unless it is the value.
    pub(super) fn never(&self, wanted: &indexmap::IndexMap<String, Value>) -> Option<String> {
        wanted.iter().find_map(|(name, value)| {
            let known = self.values(self.find(name).ok()?);
            let any = match value {
                Value::Array(any) if !known.contains(&value) => any.iter().collect(),
                value => vec![value],
            };
            let value = any.into_iter().find(|value| !known.contains(value))?;
            Some(format!("`{name}` is never {value}"))
        })
    }

    /// Whether a point has these settings; a list means any of its values, unless it is the value.
    pub(super) fn matches(&self, point: &Point, wanted: &indexmap::IndexMap<String, Value>) -> bool {
        wanted.iter().all(|(name, value)| {
            let Ok(column) = self.find(name) else { return false };
            let found = &point.settings[column];
            found == value || value.as_array().is_some_and(|any| any.contains(found))
        })
    }
}

/// What a section says, and the section as it stands below its name.
fn read(section: Document) -> Result<(SweepSpec, Document), ConfigError> {
    let section = section.nested("sweep");
    let mut sections: std::collections::BTreeMap<String, SweepSpec> = section.read()?;
    let spec = sections.remove("sweep").expect("the section was put there");
    let section = section.at(&["sweep"]).expect("the section was put there");
    Ok((spec, section))
}

/// An error about what stands at a path of the section.
fn wrong(section: &Document, path: &[&str], reason: &str) -> ConfigError {
    place(section, path).error(format!("sweep.{}: {reason}", path.join(".")))
}

/// Refuses names of numbers that no result has.
fn check_numbers(spec: &SweepSpec, section: &Document) -> Result<(), ConfigError> {
    spec.check_numbers().map_err(|(path, reason)| {
        wrong(section, &path.iter().map(String::as_str).collect::<Vec<&str>>(), &reason)
    })
}

/// What stands at a path of the section; the section itself where nothing does.
fn place(section: &Document, path: &[&str]) -> Document {
    section.at(path).unwrap_or_else(|| section.clone())
}

/// Refuses settings that others replace: rows would tell of values that did not run. Cases are set first, then `zip`, then
/// `product`, each in the order of its keys.
fn in_effect(spec: &SweepSpec, section: &Document, assignments: &[String]) -> Result<(), ConfigError> {
    let replaces = |later: &str, earlier: &str| {
        earlier.strip_prefix(later).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let lists = [("zip", &spec.zip), ("product", &spec.product)];
    let varied: Vec<(&str, &str)> =
        lists.iter().flat_map(|(key, list)| list.keys().map(|path| (*key, path.as_str()))).collect();
    for (at, &(key, path)) in varied.iter().enumerate() {
        if let Some(&(before, earlier)) = varied[..at].iter().find(|(_, earlier)| replaces(path, earlier)) {
            if path == earlier {
                let message = format!("sweep: `{path}` is in `{before}` and in `{key}`; once is enough");
                return Err(place(section, &[key, path]).error(message));
            }
            let order = if before == key { "; write it before that" } else { "" };
            let message = format!(
                "sweep.{key}: `{path}` replaces `{earlier}` of `{before}`, whose values would have no effect{order}"
            );
            return Err(place(section, &[key, path]).error(message));
        }
        let assigned = |assignment: &&String| {
            let set = assignment.split('=').next().unwrap_or_default().trim();
            replaces(path, set)
        };
        if let Some(assignment) = assignments.iter().find(assigned) {
            let message = format!(
                "sweep.{key}: `{path}` varies, so that the setting `{assignment}` would have no effect; choose points of the sweep instead"
            );
            return Err(place(section, &[key, path]).error(message));
        }
    }
    Ok(())
}

/// The columns of a spec, with what is wrong about its lists.
fn columns(spec: &SweepSpec, section: &Document) -> Result<Vec<Column>, ConfigError> {
    let at = |path: &[&str]| place(section, path);
    if spec.cases.is_empty() && spec.zip.is_empty() && spec.product.is_empty() {
        return Err(section.error("sweep: nothing varies; give `product`, `zip` or `[[sweep.case]]`"));
    }
    let mut seen = BTreeSet::new();
    for (number, case) in spec.cases.iter().enumerate() {
        if !seen.insert(case.name.as_str()) {
            let message = format!("sweep.case: two cases are called `{}`", case.name);
            return Err(at(&["case", &number.to_string(), "name"]).error(message));
        }
    }
    for (key, lists) in [("product", &spec.product), ("zip", &spec.zip)] {
        if let Some((path, _)) = lists.iter().find(|(_, values)| values.is_empty()) {
            let message = format!("sweep.{key}: the list of `{path}` is empty; give it at least one value");
            return Err(at(&[key, path]).error(message));
        }
    }
    if let Some((first, values)) = spec.zip.first()
        && let Some((other, list)) = spec.zip.iter().find(|(_, list)| list.len() != values.len())
    {
        let message = format!(
            "sweep.zip: `{first}` has {} values and `{other}` {}; lists in `zip` change together and have one length",
            values.len(),
            list.len()
        );
        return Err(at(&["zip", other]).error(message));
    }
    for (key, list) in [("product", &spec.product), ("zip", &spec.zip)] {
        for path in list.keys() {
            let sets = |set: &str| set == path || set.starts_with(&format!("{path}."));
            if let Some(case) = spec.cases.iter().find(|case| case.set.keys().any(|set| sets(set))) {
                let message = format!(
                    "sweep.{key}: `{path}` is set by case `{}`, too, which would have no effect; once is enough",
                    case.name
                );
                return Err(at(&[key, path]).error(message));
            }
        }
    }
    let paths = (!spec.cases.is_empty()).then_some("case").into_iter();
    let paths = paths.chain(spec.zip.keys().chain(spec.product.keys()).map(String::as_str));
    let paths: Vec<&str> = paths.collect();
    // as much of the end of a path as no other one has
    let short = |path: &str| {
        let is_own = |&dot: &usize| {
            let end = &path[dot..];
            let others = paths.iter().filter(|other| !spec.labels.contains_key(**other));
            others.filter(|other| other.ends_with(end) || **other == &end[1..]).count() == 1
        };
        let dot = path.rmatch_indices('.').map(|(at, _)| at).find(is_own);
        dot.map_or(path, |dot| &path[dot + 1..]).to_owned()
    };
    let columns: Vec<Column> = paths
        .iter()
        .map(|&path| Column {
            path: path.to_owned(),
            heading: spec.labels.get(path).cloned().unwrap_or_else(|| short(path)),
        })
        .collect();
    if let Some(unknown) = spec.labels.keys().find(|path| !columns.iter().any(|column| column.path == **path))
    {
        let message = format!("sweep.labels: `{unknown}` does not vary");
        return Err(at(&["labels", unknown]).error(message));
    }
    Ok(columns)
}

/// A value as people write it.
pub(super) fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let parts: Vec<_> = list.iter().map(words).collect();
            // numbers are no sum
            if list.iter().all(Value::is_number) {
                format!("[{}]", parts.join(", "))
            } else {
                parts.join(" + ")
            }
        }
        Value::Object(table) => {
            let rest = table.iter().filter(|(key, _)| *key != "kind");
            let rest: Vec<_> = rest.map(|(key, value)| format!("{key} {}", words(value))).collect();
            match table.get("kind") {
                Some(kind) if rest.is_empty() => words(kind),
                Some(kind) => format!("{} ({})", words(kind), rest.join(", ")),
                None => rest.join(", "),
            }
        }
        other => other.to_string(),
    }
}

/// A value as a number of a unit: a bare number, or a quantity.
pub(super) fn measure(value: &Value) -> Option<(f64, Unit)> {
    match value {
        Value::Number(number) => Some((number.as_f64()?, Unit::Count)),
        Value::String(text) => {
            let duration = text.parse::<Duration>().ok().map(|it| (it.as_secs_f64(), Unit::Seconds));
            duration
                .or_else(|| text.parse::<Bandwidth>().ok().map(|it| (it.0, Unit::BytesPerSecond)))
                .or_else(|| text.parse::<Bytes>().ok().map(|it| (it.0 as f64, Unit::Bytes)))
                .or_else(|| text.parse::<ComputeRate>().ok().map(|it| (it.0, Unit::FlopPerSecond)))
                .or_else(|| text.parse::<Flops>().ok().map(|it| (it.0, Unit::Flop)))
        }
        _ => None,
    }
}
