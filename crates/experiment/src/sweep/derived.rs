//! Numbers that are worked out from those of several points.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::Value;
use stratasim_report::Unit;

use super::points::Sweep;
use super::table::Row;
use super::{Derived, METRICS, Metric, SweepSpec};

/// Rows by their settings.
pub(super) struct BySettings<'a> {
    rows: &'a [Row],
    places: HashMap<String, usize>,
}

impl<'a> BySettings<'a> {
    pub(super) fn new(rows: &'a [Row]) -> Self {
        let mut places = HashMap::new();
        for (place, row) in rows.iter().enumerate() {
            places.entry(Self::key(row.settings.clone())).or_insert(place);
        }
        Self { rows, places }
    }

    /// The row that has these settings and is like `row` in all others.
    pub(super) fn like(
        &self,
        sweep: &Sweep,
        row: &Row,
        settings: &IndexMap<String, Value>,
    ) -> Option<&'a Row> {
        let mut wanted = row.settings.clone();
        for (name, value) in settings {
            wanted[sweep.find(name).ok()?] = value.clone();
        }
        self.places.get(&Self::key(wanted)).map(|&place| &self.rows[place])
    }

    /// Equal settings have equal keys, whatever the order in tables.
    fn key(settings: Vec<Value>) -> String {
        let mut all = Value::Array(settings);
        all.sort_all_objects();
        all.to_string()
    }
}

impl SweepSpec {
    /// The number called `name`: a derived one, or one of a result.
    ///
    /// # Errors
    /// As [`Metric::named`], for names of derived numbers, too.
    pub(super) fn metric(&self, name: &str) -> Result<Metric, String> {
        let Some(derived) = self.derived.iter().find(|derived| derived.name == name) else {
            return Metric::named(name).map_err(|reason| match &self.derived[..] {
                [] => reason,
                list => {
                    let names: Vec<&str> = list.iter().map(|derived| derived.name.as_str()).collect();
                    format!("{reason}; or a derived one: {}", names.join(", "))
                }
            });
        };
        let unit = match (derived.minus.is_empty(), derived.over.is_empty()) {
            (_, true) => Metric::named(&derived.of)?.unit,
            (true, false) => Unit::Factor,
            (false, false) => Unit::Share,
        };
        Ok(Metric { name: name.to_owned(), title: name.to_owned(), unit })
    }

    /// What is wrong with the numbers that it names, whatever varies: the path of one, and why.
    pub(super) fn check_numbers(&self) -> Result<(), (Vec<String>, String)> {
        let path = |list: &str, at: usize, key: &str| {
            let key = Some(key.to_owned()).filter(|key| !key.is_empty());
            [list.to_owned(), at.to_string()].into_iter().chain(key).collect::<Vec<String>>()
        };
        for (at, derived) in self.derived.iter().enumerate() {
            self.check_derived(at).map_err(|(key, reason)| (path("derived", at, key), reason))?;
            Metric::named(&derived.of).map_err(|reason| (path("derived", at, "of"), reason))?;
        }
        let metrics = self.metrics.iter().enumerate().map(|(at, name)| (path("metrics", at, ""), name));
        let plots = self.plots.iter().enumerate().map(|(at, plot)| (path("plot", at, "y"), &plot.y));
        let references = self.references.iter().enumerate();
        let references = references.map(|(at, it)| (path("reference", at, "metric"), &it.metric));
        let mut named = metrics.chain(plots).chain(references);
        named.try_for_each(|(path, name)| self.metric(name).map(drop).map_err(|reason| (path, reason)))
    }

    /// What is wrong with a derived number, but for the settings that it speaks of: its key, and why.
    fn check_derived(&self, at: usize) -> Result<(), (&'static str, String)> {
        let derived = &self.derived[at];
        let fail = |key, reason: String| Err((key, reason));
        let name = derived.name.as_str();
        if name.is_empty() || name.contains('.') {
            return fail("name", format!("a name without dots is expected, found `{name}`"));
        }
        if METRICS.iter().any(|(known, ..)| *known == name) {
            return fail("name", format!("results have a number `{name}` already; choose another name"));
        }
        if self.derived[..at].iter().any(|before| before.name == name) {
            return fail("name", format!("two derived numbers are called `{name}`"));
        }
        if derived.inverse && (derived.over.is_empty() || !derived.minus.is_empty()) {
            let reason = "it is for a quotient: `over` is expected, without `minus`".to_owned();
            return fail("inverse", reason);
        }
        if derived.minus.is_empty() && derived.over.is_empty() {
            return fail("", "`minus`, `over` or both are expected, found neither".to_owned());
        }
        Ok(())
    }
}

impl Sweep {
    /// Adds the derived numbers to the rows that have them. One is left out where a point that it needs has no
    /// result.
    pub(super) fn derive(&self, rows: &mut [Row]) {
        for derived in &self.spec.derived {
            let others = BySettings::new(rows);
            let numbers = rows.iter().map(|row| self.derived(derived, row, &others));
            let numbers: Vec<Option<f64>> = numbers.collect();
            for (row, number) in rows.iter_mut().zip(numbers) {
                if let Some(number) = number {
                    row.numbers.insert(derived.name.clone(), number);
                }
            }
        }
    }

    fn derived(&self, derived: &Derived, row: &Row, others: &BySettings<'_>) -> Option<f64> {
        if !self.has(row, &derived.only) {
            return None;
        }
        let other = |settings: &IndexMap<String, Value>| {
            others.like(self, row, settings)?.numbers.get(&derived.of).copied()
        };
        let mut number = *row.numbers.get(&derived.of)?;
        if !derived.minus.is_empty() {
            number -= other(&derived.minus)?;
        }
        if !derived.over.is_empty() {
            number /= other(&derived.over)?;
        }
        if derived.inverse {
            number = number.recip();
        }
        number.is_finite().then_some(number)
    }

    /// Whether the settings of a row are these; a list means any of its values.
    pub(super) fn has(&self, row: &Row, wanted: &IndexMap<String, Value>) -> bool {
        let place = self.points.binary_search_by_key(&row.index, |point| point.index);
        place.is_ok_and(|place| self.matches(&self.points[place], wanted))
    }

    /// What is wrong with the settings that derived numbers speak of: the position of one, its key, and why.
    pub(super) fn check_derived(&self) -> Result<(), (usize, &'static str, String)> {
        for (at, derived) in self.spec.derived.iter().enumerate() {
            let fail = |key, reason: String| Err((at, key, reason));
            for (key, settings) in
                [("where", &derived.only), ("minus", &derived.minus), ("over", &derived.over)]
            {
                if let Some(reason) = settings.keys().find_map(|name| self.find(name).err()) {
                    return fail(key, reason);
                }
                if let Some(reason) = self.never(settings) {
                    return fail(key, reason);
                }
            }
        }
        Ok(())
    }
}
