//! The result of a run, as written to and read from JSON.
//!
//! Keys are stable: more may come, none is renamed. All times are seconds, all amounts bytes; lists
//! indexed by rank have one entry per rank, in rank order.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use serde::{Deserialize, Serialize};
use stratasim_core::model::NetworkReport;
use stratasim_core::{LinkId, Time};

use crate::depths::QueueDepth;
use crate::distribution::{Points, points, sorted};
use crate::flows::{FlowsResult, QueueResult};
use crate::forecast::ForecastRow;
use crate::json;
use crate::over_time::{LinkOverTime, QueueOverTime};
use crate::traffic::TrafficResult;

/// Everything a run says about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Version of Stratasim that ran.
    pub stratasim: String,
    /// What ran, in words, for the title of tables.
    #[serde(default)]
    pub title: Title,
    /// The resolved spec: running it again gives the same result.
    pub spec: serde_json::Value,
    /// Seed of all random streams.
    pub seed: u64,
    /// Digest of what ended when, in hexadecimal: equal runs have equal digests.
    pub digest: String,
    /// End of the last task, in seconds of simulated time; of a run that was stopped, how far it got.
    pub makespan_s: f64,
    /// Somebody stopped it before its end: the figures cover what ran until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// When each iteration ran. Iterations may overlap.
    pub iterations: Vec<Iteration>,
    /// Batches that the whole machine processes per second, where the workload has batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batches_per_s: Option<f64>,
    /// Where each rank's time went.
    pub ranks: Vec<RankResult>,
    /// When the last operation of each rank ended, in nanoseconds of simulated time; for GOAL schedules.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "whole_numbers")]
    pub finish_ns: Option<Vec<f64>>,
    /// The jobs that shared the machine, where there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobResult>,
    /// How the tasks of each vertex fared, of a workload `graph` with at most 256 vertices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vertices: Vec<VertexResult>,
    /// What lives where, by ranges of ranks with the same placement, where the workload says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Vec<MemoryUse>>,
    /// What the links carried, where the network has links. Links that carried nothing may be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<LinkResult>>,
    /// Points `[utilisation, share of the links]`: how many links were used no more; idle ones count. Absent where no link
    /// carried anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_utilisation_cdf: Points,
    /// How messages fared, where the network follows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<FlowsResult>,
    /// The longest queues, where the network has queues and anything ever waited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueResult>,
    /// Points `[bytes, share of the queues]`: in how many of those in which anything waited no more ever did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_most_bytes_cdf: Points,
    /// How long some queues held how much, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_depths: Vec<QueueDepth>,
    /// Links over time, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links_over_time: Vec<LinkOverTime>,
    /// Queues over time, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues_over_time: Vec<QueueOverTime>,
    /// Lower bounds on the makespan that hold for any schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<Bound>,
    /// The largest of `bounds`, and how far the run is from it. Kept up to date by [`Self::bind`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
    /// Physics checks that were made, and what they found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// What a reader should know, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Statistics of open-loop traffic at flit level, where that is what ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficResult>,
    /// The rows of a forecast, where that is what was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forecast: Vec<ForecastRow>,
    /// What the run cost inside, by counter name.
    pub counters: BTreeMap<String, u64>,
    /// Real time from start to result, in seconds.
    pub wall_s: f64,
    /// Largest resident memory of the process, in bytes; 0 when unknown.
    pub peak_rss_bytes: u64,
    /// Tasks that ended, or what else the engine handled; the network counts its own in `network.events`.
    pub events: u64,
}

/// What ran, in a few words each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Title {
    /// Name of the experiment, usually of its file.
    pub experiment: String,
    /// The machine, such as `cxl-fabric: 1,024 H100 in 8 racks, 5,280 links`.
    pub topology: String,
    /// The work, such as `transformer LLaMA2-13B, data parallel 1,024, 1 iteration`.
    pub workload: String,
    /// Level of detail and its rule, such as `flow, max-min`.
    pub network: String,
}

/// Numbers that are whole are written without a fraction.
fn whole_numbers<S: serde::Serializer>(numbers: &Option<Vec<f64>>, serializer: S) -> Result<S::Ok, S::Error> {
    struct Number(f64);
    impl Serialize for Number {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                whole if whole.fract() == 0.0 && whole.abs() < 9e15 => serializer.serialize_i64(whole as i64),
                number => serializer.serialize_f64(number),
            }
        }
    }
    serializer.collect_seq(numbers.iter().flatten().map(|&number| Number(number)))
}

/// How one of several jobs fared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// Its name.
    pub name: String,
    /// Its ranks.
    pub ranks: u32,
    /// Nodes that it ran on.
    pub nodes: u32,
    /// When it was started, in seconds.
    pub start_s: f64,
    /// When its last operation ended, in seconds.
    pub finish_s: f64,
    /// From its start to its end, in seconds.
    pub duration_s: f64,
    /// The same on the same nodes without the other jobs, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone_s: Option<f64>,
    /// How many times longer it took than alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
}

/// When one iteration ran.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// Start of its first task, in seconds.
    pub start_s: f64,
    /// End of its last task, in seconds.
    pub end_s: f64,
}

/// Where the time of one rank went.
///
/// The four parts add up to the makespan. A moment in which a rank does several things counts for the
/// first of: compute, memory, communication. What is listed as communication is therefore exposed: it
/// hides behind neither computing nor memory access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RankResult {
    /// End of its last task, in seconds.
    pub finish_s: f64,
    /// Seconds in which it computed.
    pub compute_s: f64,
    /// Seconds in which it communicated and neither computed nor accessed memory.
    pub comm_exposed_s: f64,
    /// Seconds in which it accessed memory and did not compute.
    pub memory_s: f64,
    /// Seconds in which it did nothing, up to the makespan.
    pub idle_s: f64,
}

/// How the tasks of one vertex fared, on all ranks and in all iterations together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VertexResult {
    /// Its name.
    pub name: String,
    /// Tasks that ended: one for each rank that it runs on and each iteration.
    pub tasks: u64,
    /// From start to end of one of them in the mean, in seconds.
    pub mean_s: f64,
    /// The longest, in seconds.
    pub longest_s: f64,
    /// What it has of the exposed communication of a rank in the mean, in seconds. Of several communications under way at once
    /// the one that began first has it, so that those of all vertices add up.
    pub comm_exposed_s: f64,
}

/// Memory in use on each of a range of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// First rank of the range.
    pub first_rank: u32,
    /// Ranks in the range.
    pub ranks: u32,
    /// Bytes in the local memory of each.
    pub local_bytes: u64,
    /// Bytes of each that live elsewhere.
    pub remote_bytes: u64,
}

impl MemoryUse {
    /// Ranges of ranks with the same `(local, remote)` bytes; the input is in rank order.
    pub fn grouped(per_rank: impl IntoIterator<Item = (u64, u64)>) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for (rank, (local_bytes, remote_bytes)) in per_rank.into_iter().enumerate() {
            match groups.last_mut() {
                Some(last) if (last.local_bytes, last.remote_bytes) == (local_bytes, remote_bytes) => {
                    last.ranks += 1
                }
                _ => groups.push(Self { first_rank: rank as u32, ranks: 1, local_bytes, remote_bytes }),
            }
        }
        groups
    }
}

/// What one link carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Name of the link.
    pub name: String,
    /// Name of the node where it starts; empty for a link outside the graph.
    pub from: String,
    /// Name of the node where it ends.
    pub to: String,
    /// Bytes carried.
    pub bytes: f64,
    /// Share of the makespan in which it could have carried them at full rate: 1 is a full link.
    pub utilisation: f64,
    /// Seconds in which it could have carried them at full rate.
    pub busy_s: f64,
}

impl LinkResult {
    /// The `most` busiest links of a network's account that carried something, busiest first.
    /// `describe` gives the name, the start and the end of a link.
    pub fn of_network(
        report: &NetworkReport,
        makespan: Time,
        most: usize,
        describe: impl Fn(LinkId) -> (String, String, String),
    ) -> Vec<Self> {
        let busy = |link: &LinkId| report.link_busy_s[link.index()];
        let mut used: Vec<LinkId> = (0..report.link_bytes.len())
            .filter(|&index| report.link_bytes[index] > 0.0)
            .map(LinkId::from_index)
            .collect();
        let order = |a: &LinkId, b: &LinkId| busy(b).total_cmp(&busy(a)).then(a.cmp(b));
        if used.len() > most {
            used.select_nth_unstable_by(most, order);
            used.truncate(most);
        }
        used.sort_unstable_by(order);
        let makespan_s = makespan.as_secs_f64();
        let account = |link: LinkId| {
            let (name, from, to) = describe(link);
            let busy_s = busy(&link);
            let utilisation = if makespan_s > 0.0 { busy_s / makespan_s } else { 0.0 };
            Self { name, from, to, bytes: report.link_bytes[link.index()], utilisation, busy_s }
        };
        used.into_iter().map(account).collect()
    }

    /// Points `[utilisation, share of the links]` of all links of a network; none where nothing was carried.
    pub fn utilisation_cdf(report: &NetworkReport, makespan: Time) -> Points {
        let makespan_s = makespan.as_secs_f64();
        if makespan_s == 0.0 || report.link_busy_s.iter().all(|&busy_s| busy_s == 0.0) {
            return Points::new();
        }
        points(&sorted(report.link_busy_s.iter().map(|busy_s| busy_s / makespan_s)))
    }
}

/// What limits the makespan from below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BoundKind {
    /// The operations of a node at its peak rate.
    Compute,
    /// The bytes of a memory at its bandwidth.
    Memory,
    /// The bytes of a link at its bandwidth.
    Link,
    /// The longest chain of dependent tasks, each alone on an idle machine.
    CriticalPath,
}

/// A lower bound on the makespan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What is bounded, such as `compute` or `all-reduce of the gradients`.
    pub name: String,
    /// Which kind of limit.
    pub kind: BoundKind,
    /// No run can be shorter, in seconds.
    pub seconds: f64,
    /// The node, link or group that binds, such as `xpu-3`.
    #[serde(rename = "where")]
    pub place: String,
}

/// The bound that binds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// The bound.
    #[serde(flatten)]
    pub bound: Bound,
    /// Makespan over bound; never below 1 when the bound is right.
    pub ratio: f64,
}

/// A physics check over a whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What must hold, such as `no link carried more than its rate times the time`.
    pub name: String,
    /// How many things were checked.
    pub checked: u64,
    /// Whether it held everywhere.
    pub ok: bool,
    /// Where it did not hold: the offending link or task, what was found and what was allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
}

impl Check {
    /// The outcome of a check of `checked` things.
    pub fn of(name: impl Into<String>, checked: u64, violations: Vec<String>) -> Self {
        Self { name: name.into(), checked, ok: violations.is_empty(), violations }
    }
}

impl RunResult {
    /// Notes that somebody stopped the run before its end.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.notes.push("Stopped before the end: the figures cover what ran until then.".to_owned());
    }

    /// Sets [`Self::binding`] from the bounds and the makespan. Ties go to the first.
    pub fn bind(&mut self) {
        let tightest = self
            .bounds
            .iter()
            .filter(|bound| bound.seconds > 0.0)
            .reduce(|best, bound| if bound.seconds > best.seconds { bound } else { best });
        self.binding =
            tightest.map(|bound| Binding { bound: bound.clone(), ratio: self.makespan_s / bound.seconds });
    }

    /// Whether every check held.
    pub fn checks_hold(&self) -> bool {
        self.checks.iter().all(|check| check.ok)
    }

    /// A counter, where the run has it.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// Events of the network where it counts them and they are more than [`Self::events`], as packets make them.
    pub fn events_with_network(&self) -> u64 {
        self.counter("network.events").unwrap_or(0).max(self.events)
    }

    /// The makespan divided by the number of iterations, in seconds.
    pub fn step_s(&self) -> f64 {
        self.makespan_s / self.iterations.len().max(1) as f64
    }

    /// The rank that finishes last (the first of several), and when, in seconds.
    pub fn slowest_rank(&self) -> Option<(u32, f64)> {
        let mut slowest: Option<(u32, f64)> = None;
        for (rank, times) in self.ranks.iter().enumerate() {
            if slowest.is_none_or(|(_, finish_s)| times.finish_s > finish_s) {
                slowest = Some((rank as u32, times.finish_s));
            }
        }
        slowest
    }

    /// As JSON: one line per key, and one line per entry of a list, so that a run on thousands of ranks
    /// is both small and readable. Ends with a newline.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        json::by_line(self, &mut out).expect("writing to memory cannot fail");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    /// Writes [`Self::to_json`] piece by piece, for results of a million ranks.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 16, out);
        json::by_line(self, &mut out)?;
        out.flush()
    }

    /// Reads what [`Self::to_json`] wrote, or a later version that has more keys.
    ///
    /// # Errors
    /// Says the line and what is missing or of the wrong type.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> RunResult {
        let rank = |scale: f64| RankResult {
            finish_s: 7.9,
            compute_s: 6.1 * scale,
            comm_exposed_s: 0.5,
            memory_s: 1.0,
            idle_s: 8.0 - 6.1 * scale - 1.5,
        };
        let mut result = RunResult {
            stopped: false,
            stratasim: "0.1.0".into(),
            title: Title {
                experiment: "hcsim/coherent-1024".into(),
                topology: "cxl-fabric: 4 H100 in 1 rack, 24 links".into(),
                workload: "transformer LLaMA2-13B, data parallel 4, 1 iteration".into(),
                network: "flow, max-min".into(),
            },
            spec: serde_json::json!({"seed": 1, "topology": {"kind": "cxl-fabric", "racks": 1}}),
            seed: 1,
            digest: "00112233445566778899aabbccddeeff".into(),
            makespan_s: 8.0,
            iterations: vec![Iteration { start_s: 0.0, end_s: 8.0 }],
            batches_per_s: Some(0.5),
            ranks: vec![rank(1.0), rank(0.98), rank(1.0), rank(0.99)],
            finish_ns: None,
            jobs: Vec::new(),
            vertices: Vec::new(),
            memory: Some(MemoryUse::grouped([(80_000_000_000, 204_000_000_000); 4])),
            links: Some(
                (0..7_u32)
                    .map(|n| LinkResult {
                        name: format!("xpu-{n}->cxl-0"),
                        from: format!("xpu-{n}"),
                        to: "cxl-0".into(),
                        bytes: 1e12 / f64::from(n + 1),
                        utilisation: 0.92 / f64::from(n + 1),
                        busy_s: 7.36 / f64::from(n + 1),
                    })
                    .collect(),
            ),
            link_utilisation_cdf: vec![[0.0, 0.7], [0.92, 1.0]],
            flows: None,
            queues: Vec::new(),
            queue_most_bytes_cdf: Points::new(),
            queue_depths: Vec::new(),
            links_over_time: Vec::new(),
            queues_over_time: Vec::new(),
            bounds: vec![
                Bound {
                    name: "compute".into(),
                    kind: BoundKind::Compute,
                    seconds: 7.12,
                    place: "xpu-3".into(),
                },
                Bound {
                    name: "bytes".into(),
                    kind: BoundKind::Link,
                    seconds: 7.36,
                    place: "xpu-0->cxl-0".into(),
                },
            ],
            binding: None,
            checks: vec![
                Check::of("no link carried more than its rate times the time", 24, vec![]),
                Check::of("no compute beat its peak", 1200, vec![]),
            ],
            notes: vec!["Capacity: 72 % of the data of each rank lives in its memory node.".into()],
            traffic: None,
            forecast: Vec::new(),
            counters: [("flow.solves".to_owned(), 480_u64)].into(),
            wall_s: 1.83,
            peak_rss_bytes: 312_000_000,
            events: 12_300_000,
        };
        result.bind();
        result
    }

    #[test]
    fn the_largest_bound_binds() {
        let result = sample();
        let binding = result.binding.as_ref().unwrap();
        assert_eq!(binding.bound.place, "xpu-0->cxl-0");
        assert_eq!(binding.ratio, 8.0 / 7.36);
        assert_eq!(result.slowest_rank(), Some((0, 7.9)));
        assert!(result.checks_hold());
        let mut none = sample();
        none.bounds.clear();
        none.bind();
        assert_eq!(none.binding, None);
    }

    #[test]
    fn a_result_reads_back_what_it_wrote() {
        let result = sample();
        assert_eq!(RunResult::from_json(&result.to_json()).unwrap(), result);
    }

    #[test]
    fn the_keys_that_others_rely_on_are_there() {
        let value: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
        for key in [
            "stratasim",
            "spec",
            "seed",
            "digest",
            "makespan_s",
            "iterations",
            "ranks",
            "counters",
            "wall_s",
            "peak_rss_bytes",
            "events",
        ] {
            assert!(value.get(key).is_some(), "{key}");
        }
        for key in ["finish_s", "compute_s", "comm_exposed_s", "memory_s", "idle_s"] {
            assert!(value["ranks"][0].get(key).is_some(), "{key}");
        }
        assert!(value["iterations"][0]["start_s"].is_number() && value["iterations"][0]["end_s"].is_number());
        assert_eq!(value["bounds"][0]["where"], "xpu-3");
        assert_eq!(value["binding"]["kind"], "link");
    }

    #[test]
    fn a_result_with_keys_from_the_future_is_read() {
        let mut value: serde_json::Value = serde_json::from_str(&sample().to_json()).unwrap();
        value["energy_j"] = 1.into();
        value["ranks"][0]["energy_j"] = 1.into();
        assert_eq!(RunResult::from_json(&value.to_string()).unwrap(), sample());
        let error = RunResult::from_json("{\"stratasim\": \"0.1.0\"}").unwrap_err().to_string();
        assert!(error.contains("missing field"), "{error}");
    }

    #[test]
    fn four_thousand_ranks_take_less_than_a_megabyte_and_a_line_each() {
        let mut result = sample();
        result.ranks = (0..4096)
            .map(|rank| RankResult {
                finish_s: 7.981_516_234_567 + f64::from(rank) * 1e-12,
                compute_s: 6.123_456_789_012,
                comm_exposed_s: 0.812_345_678_901,
                memory_s: 1.012_345_678_901,
                idle_s: 0.033_368_087_753,
            })
            .collect();
        let text = result.to_json();
        assert!(text.len() < 1 << 20, "{} bytes", text.len());
        assert!(text.lines().count() < 4096 + 60, "{} lines", text.lines().count());
        assert_eq!(RunResult::from_json(&text).unwrap(), result);
    }

    #[test]
    fn utilisation_is_busy_time_over_makespan() {
        let report = NetworkReport {
            link_bytes: vec![0.0, 4e9],
            link_busy_s: vec![0.0, 2.0],
            ..NetworkReport::default()
        };
        let links = LinkResult::of_network(&report, Time::from_ps(8_000_000_000_000), usize::MAX, |link| {
            (format!("l{link}"), "a".into(), "b".into())
        });
        assert_eq!(links.len(), 1);
        assert_eq!((links[0].name.as_str(), links[0].utilisation, links[0].busy_s), ("l1", 0.25, 2.0));
        let cdf = LinkResult::utilisation_cdf(&report, Time::from_ps(8_000_000_000_000));
        assert_eq!(cdf, [[0.0, 0.5], [0.25, 1.0]]);
        assert!(LinkResult::utilisation_cdf(&report, Time::ZERO).is_empty());
    }
}
