//! Numbers of a result, by name.

use std::collections::BTreeMap;

use serde_json::Value;
use stratasim_core::error::nearest;
use stratasim_report::Unit;
use stratasim_report::result::{RankResult, RunResult};
use stratasim_report::traffic::TRAFFIC_METRICS;

/// A number of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name in files.
    pub name: String,
    /// What tables call it.
    pub title: String,
    /// What it measures.
    pub unit: Unit,
}

/// The numbers that every result of a workload has, with title and unit. Parts of the time are means over ranks.
pub const METRICS: &[(&str, &str, Unit)] = &[
    ("makespan_s", "makespan", Unit::Seconds),
    ("step_s", "step time", Unit::Seconds),
    ("batches_per_s", "batches/s", Unit::Count),
    ("compute_s", "compute", Unit::Seconds),
    ("memory_s", "memory", Unit::Seconds),
    ("comm_exposed_s", "exposed comm.", Unit::Seconds),
    ("idle_s", "idle", Unit::Seconds),
    ("bound_s", "best bound", Unit::Seconds),
    ("bound_ratio", "over bound", Unit::Factor),
    ("tasks", "tasks", Unit::Count),
];

impl Metric {
    /// Its title beside an axis, with the unit of what counts cycles and flits.
    pub fn axis_title(&self) -> String {
        let title = match self.name.strip_prefix("packet_latency_") {
            Some(_) if !self.title.contains("latency") => format!("packet latency, {}", self.title),
            _ => self.title.clone(),
        };
        // half of an interval is measured as what it is about
        let name = self.name.strip_suffix("_half_width").unwrap_or(&self.name);
        match name.rsplit_once('_') {
            _ if name.ends_with("_flits_per_cycle") => format!("{title}, flits per cycle and terminal"),
            Some((_, "cycles")) => format!("{title}, cycles"),
            _ => title,
        }
    }

    /// The number called `name`: one of [`METRICS`], a counter, or a path into the result's JSON.
    ///
    /// # Errors
    /// A name that cannot be one of these.
    pub fn named(name: &str) -> Result<Self, String> {
        if let Some(&(name, title, unit)) =
            METRICS.iter().chain(TRAFFIC_METRICS).find(|(known, ..)| *known == name)
        {
            return Ok(Self { name: name.to_owned(), title: title.to_owned(), unit });
        }
        if !name.contains('.') {
            let known = METRICS.iter().chain(TRAFFIC_METRICS).map(|(known, ..)| *known);
            let hint = nearest(name, known.clone())
                .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            let known: Vec<_> = known.collect();
            return Err(format!(
                "a result has no number `{name}`{hint} (known: {}, counters such as `network.flows`, paths such as `iterations.0.end_s` and `jobs.NAME.slowdown`)",
                known.join(", ")
            ));
        }
        let unit = match name {
            name if name.starts_with("forecast.") && name.ends_with("bytes_per_s") => Unit::BytesPerSecond,
            name if name.ends_with("_per_s") => Unit::PerSecond,
            name if name.ends_with("_s") => Unit::Seconds,
            name if name.ends_with("bytes") => Unit::Bytes,
            name if name.ends_with("utilisation") => Unit::Share,
            name if name.ends_with("slowdown") => Unit::Factor,
            _ => Unit::Count,
        };
        // counters of the network are clear without its name; other paths stay as they are
        let title = name.strip_prefix("network.").map_or_else(|| name.to_owned(), |it| it.replace('_', " "));
        Ok(Self { name: name.to_owned(), title, unit })
    }
}

/// The numbers of a result: all of [`METRICS`] that it has, and those that are `asked` for.
pub(super) fn of<'a>(result: &RunResult, asked: impl Iterator<Item = &'a str>) -> BTreeMap<String, f64> {
    let mean = |part: fn(&RankResult) -> f64| {
        let sum: f64 = result.ranks.iter().map(part).sum();
        (!result.ranks.is_empty()).then(|| sum / result.ranks.len() as f64)
    };
    let mut numbers = BTreeMap::new();
    for (name, ..) in METRICS {
        let number = match *name {
            "makespan_s" => Some(result.makespan_s),
            "step_s" => Some(result.step_s()),
            "batches_per_s" => result.batches_per_s,
            "compute_s" => mean(|rank| rank.compute_s),
            "memory_s" => mean(|rank| rank.memory_s),
            "comm_exposed_s" => mean(|rank| rank.comm_exposed_s),
            "idle_s" => mean(|rank| rank.idle_s),
            "bound_s" => result.binding.as_ref().map(|binding| binding.bound.seconds),
            "bound_ratio" => result.binding.as_ref().map(|binding| binding.ratio),
            "tasks" => Some(result.events as f64),
            _ => None,
        };
        if let Some(number) = number {
            numbers.insert((*name).to_owned(), number);
        }
    }
    if let Some(traffic) = &result.traffic {
        // there are no tasks and no steps, only time
        numbers.retain(|name, _| name == "makespan_s");
        let known = TRAFFIC_METRICS.iter();
        numbers.extend(known.filter_map(|(name, ..)| Some(((*name).to_owned(), traffic.number(name)?))));
    }
    if !result.forecast.is_empty() {
        numbers.clear();
    }
    let mut json = None;
    for name in asked {
        if numbers.contains_key(name) {
            continue;
        }
        // with the path that it has in the file of a result, too: its name has dots
        let number = match result.counters.get(name.strip_prefix("counters.").unwrap_or(name)) {
            Some(count) => Some(*count as f64),
            None => {
                let json = json.get_or_insert_with(|| serde_json::to_value(result).unwrap_or_default());
                name.split('.').try_fold(&*json, step).and_then(Value::as_f64)
            }
        };
        if let Some(number) = number {
            numbers.insert(name.to_owned(), number);
        }
    }
    numbers
}

/// What stands under `key` of an object, or at a position of a list or under a `name` in it.
fn step<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Array(list) => match key.parse::<usize>() {
            Ok(position) => list.get(position),
            Err(_) => list.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(key)),
        },
        other => other.get(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> RunResult {
        let json = r#"{"stratasim": "0", "spec": {}, "seed": 1, "digest": "", "makespan_s": 4.0,
            "iterations": [{"start_s": 0, "end_s": 2.5}, {"start_s": 2, "end_s": 4}],
            "ranks": [{"finish_s": 4, "compute_s": 1, "comm_exposed_s": 0, "memory_s": 0, "idle_s": 3},
                      {"finish_s": 4, "compute_s": 2, "comm_exposed_s": 1, "memory_s": 0, "idle_s": 1}],
            "counters": {"network.flows": 7}, "wall_s": 0, "peak_rss_bytes": 0, "events": 9}"#;
        RunResult::from_json(json).unwrap()
    }

    #[test]
    fn numbers_are_means_counters_and_paths() {
        let asked = ["network.flows", "counters.network.flows", "iterations.1.start_s", "ranks.7.idle_s"];
        let numbers = of(&result(), asked.into_iter());
        assert_eq!((numbers["step_s"], numbers["compute_s"], numbers["idle_s"]), (2.0, 1.5, 2.0));
        assert_eq!((numbers["network.flows"], numbers["iterations.1.start_s"]), (7.0, 2.0));
        assert_eq!(numbers["counters.network.flows"], 7.0);
        assert!(!numbers.contains_key("ranks.7.idle_s") && !numbers.contains_key("batches_per_s"));
    }

    #[test]
    fn what_has_a_name_is_found_by_it() {
        let mut result = result();
        result.jobs.push(stratasim_report::result::JobResult {
            name: "training".to_owned(),
            ranks: 8,
            nodes: 8,
            start_s: 0.0,
            finish_s: 3.0,
            duration_s: 3.0,
            alone_s: Some(2.0),
            slowdown: Some(1.5),
        });
        let asked = ["jobs.0.slowdown", "jobs.training.alone_s", "jobs.storage.alone_s"];
        let numbers = of(&result, asked.into_iter());
        assert_eq!((numbers["jobs.0.slowdown"], numbers["jobs.training.alone_s"]), (1.5, 2.0));
        assert!(!numbers.contains_key("jobs.storage.alone_s"));
        assert_eq!(Metric::named("jobs.training.slowdown").unwrap().unit, Unit::Factor);
    }

    #[test]
    fn a_name_tells_its_unit_and_a_typo_is_answered() {
        assert_eq!(Metric::named("iterations.0.end_s").unwrap().unit, Unit::Seconds);
        assert_eq!(Metric::named("memory.0.remote_bytes").unwrap().unit, Unit::Bytes);
        let half = Metric::named("packet_latency_cycles_half_width").unwrap();
        assert_eq!(half.axis_title(), "packet latency, ± 95 %, cycles");
        assert!(Metric::named("makespan").unwrap_err().contains("did you mean `makespan_s`?"));
    }
}
