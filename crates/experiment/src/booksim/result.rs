//! What a simulation found, in the form of all traffic.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use stratasim_report::result::{Check, RunResult, Title};
use stratasim_report::traffic::{
    BookSimClass, BookSimResult, ClassResult, Distribution, Fairness, TrafficResult, Window,
};

use super::Run;
use super::control::{Outcome, Period, Verdict};
use super::statistics::{Counters, Printed, Samples, Summary};
use crate::run::{digest_of, peak_rss_bytes};
use crate::traffic::{channel_summary, fairness_of, mean_and_half_width};

/// What is known before a simulation runs.
#[derive(Debug, Clone)]
pub(super) struct Facts<'a> {
    pub(super) title: Title,
    /// The experiment, as JSON.
    pub(super) spec: serde_json::Value,
    /// The configuration text.
    pub(super) configuration: String,
    /// Where files that it names are.
    pub(super) folder: &'a Path,
    /// Terminals of the network.
    pub(super) terminals: u32,
    pub(super) seed: u64,
    /// Flits per cycle and terminal that were asked for of all classes,
    pub(super) load: f64,
    /// and of those that count; none of batches.
    pub(super) offered: Option<f64>,
    /// Which classes count.
    pub(super) measured: Vec<bool>,
    /// Cycles per second and bytes of a flit; 0 where unknown.
    pub(super) clock_hz: f64,
    pub(super) flit_bytes: u32,
}

/// The result of a run. `started` is when the clock for `wall_s` began.
pub(super) fn result(facts: &Facts<'_>, run: &Run, started: Instant) -> RunResult {
    let measured = |class: &usize| facts.measured[*class];
    let (flits, packets) = (0..run.outcome.counters.len())
        .filter(measured)
        .map(|class| &run.outcome.counters[class])
        .fold((0, 0), |(flits, packets), it| (flits + it.flit.count, packets + it.packet.count));
    let counters = BTreeMap::from([
        ("network.cycles".to_owned(), run.cycles),
        ("network.flit_hops".to_owned(), run.flit_hops),
        ("traffic.flits".to_owned(), flits),
        ("traffic.packets".to_owned(), packets),
    ]);
    let check = Check::of(
        "every flit that entered the network came out, and every credit",
        flits,
        run.violations.clone(),
    );
    RunResult {
        stratasim: env!("CARGO_PKG_VERSION").to_owned(),
        title: facts.title.clone(),
        spec: facts.spec.clone(),
        seed: facts.seed,
        digest: digest(run),
        makespan_s: if facts.clock_hz > 0.0 { run.cycles as f64 / facts.clock_hz } else { 0.0 },
        checks: vec![check],
        counters,
        traffic: Some(traffic(facts, run)),
        wall_s: started.elapsed().as_secs_f64(),
        peak_rss_bytes: peak_rss_bytes(),
        events: run.flit_hops,
        ..RunResult::default()
    }
}

fn traffic(facts: &Facts<'_>, run: &Run) -> TrafficResult {
    let Outcome { verdict, classes, counters, periods, .. } = &run.outcome;
    let measured: Vec<usize> = (0..counters.len()).filter(|&class| facts.measured[class]).collect();
    let terminals = facts.terminals;
    let sample: Vec<&Period> = periods.iter().filter(|period| !period.warm_up).collect();
    let starts = std::iter::once(0).chain(periods.iter().map(|period| period.end));
    let lengths: Vec<u64> = periods.iter().zip(starts).map(|(period, start)| period.end - start).collect();
    let per_cycle = |flits: u64, cycles: u64| flits as f64 / f64::from(terminals) / cycles.max(1) as f64;
    let cycles_of = |warm_up: bool| -> u64 {
        periods
            .iter()
            .zip(&lengths)
            .filter(|(period, _)| period.warm_up == warm_up)
            .map(|(_, &length)| length)
            .sum()
    };
    let accepted: Vec<f64> = periods
        .iter()
        .zip(&lengths)
        .filter(|(period, _)| !period.warm_up)
        .map(|(period, &length)| per_cycle(period.accepted_flits, length))
        .collect();
    let means = sample.iter().filter(|period| period.packets > 0);
    let means: Vec<f64> = means.map(|period| period.latency as f64 / period.packets as f64).collect();
    let (_, latency_half) = mean_and_half_width(&means);
    let over = |of: fn(&Printed) -> &Summary| -> f64 {
        // in no cycles, as of no batches, nothing came: BookSim2 prints nan
        let counted = if run.outcome.counted_cycles > 0 { &measured[..] } else { &[] };
        counted.iter().map(|&it| of(&classes[it]).mean).fold(0.0, |sum, mean| sum + mean)
    };
    let all = |samples: fn(&Counters) -> &Samples, printed: fn(&Printed) -> f64, half: Option<f64>| {
        let mut whole = Samples::new(samples(&counters[0]).bins.len());
        measured.iter().for_each(|&class| whole.join(samples(&counters[class])));
        let mean = match measured[..] {
            [class] => printed(&classes[class]),
            _ => whole.mean(),
        };
        distribution(&whole, mean, half)
    };
    let words = words(*verdict);
    let saturated = *verdict != Verdict::Stable;
    TrafficResult {
        terminals,
        clock_hz: facts.clock_hz,
        flit_bytes: facts.flit_bytes,
        load_flits_per_cycle: facts.load,
        offered_flits_per_cycle: facts.offered.unwrap_or_else(|| over(|it| &it.injected_flits)),
        injected_flits_per_cycle: over(|it| &it.injected_flits),
        accepted_flits_per_cycle: over(|it| &it.accepted_flits),
        accepted_half_width: mean_and_half_width(&accepted).1,
        saturated: Some(saturated),
        verdict: format!("{}: {words}", if saturated { "saturated" } else { "stable" }),
        warm_up_cycles: run.outcome.warm_up_end.unwrap_or_else(|| cycles_of(true)),
        settled: run.outcome.warm_up_end.is_some(),
        sample_cycles: cycles_of(false),
        batches: sample.len() as u64,
        drain_cycles: run
            .outcome
            .total_cycles
            .map_or(0, |total| total - periods.last().map_or(0, |it| it.end)),
        packet_latency_cycles: all(|it| &it.packet, |it| it.packet.mean, latency_half),
        network_latency_cycles: all(|it| &it.network, |it| it.network.mean, None),
        flit_latency_cycles: all(|it| &it.flit, |it| it.flit.mean, None),
        hops: all(|it| &it.hops, |it| it.hops, None),
        fragmentation_cycles: all(|it| &it.fragmentation, |it| it.fragmentation.mean, None),
        classes: if counters.len() > 1 { class_results(facts, &run.outcome) } else { Vec::new() },
        fairness: fairness(&run.outcome, &measured),
        channels: {
            let before = vec![0; run.channel_flits.len()];
            let no_links = |_| String::new();
            channel_summary(&run.fabric, &[before, run.channel_flits.clone()], run.cycles, &no_links, None)
        },
        series: periods
            .iter()
            .zip(&lengths)
            .map(|(period, &length)| Window {
                end_cycle: period.end,
                injected_flits_per_cycle: per_cycle(period.sent_flits, length),
                accepted_flits_per_cycle: per_cycle(period.accepted_flits, length),
                packet_latency_cycles: (period.packets > 0)
                    .then(|| period.latency as f64 / period.packets as f64),
                source_wait_cycles: 0.0,
            })
            .collect(),
        probes: Vec::new(),
        batch: None,
        saturation: None,
        booksim2: Some(BookSimResult {
            configuration: facts.configuration.clone(),
            verdict: verdict_name(*verdict).to_owned(),
            total_cycles: run.outcome.total_cycles,
            warm_up_end_cycle: run.outcome.warm_up_end,
            sample_periods: run.outcome.sample_periods,
            deadlock_warnings: run.outcome.deadlock_warnings,
            flit_hops: run.flit_hops,
            batch_cycles: run.outcome.batches.clone(),
            classes: counters.iter().map(histograms).collect(),
        }),
    }
}

/// The rule behind a verdict.
fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Stable => "the simulation went to its end",
        Verdict::Unstable => {
            "in a sample period the mean latency passed its threshold, or the warm-up did not end"
        }
        Verdict::UnstableWhileDraining => {
            "the mean latency passed its threshold while the network was drained"
        }
        Verdict::Deadlocked => "flits are in the network and nothing moves any more",
        Verdict::Stopped => "it was stopped",
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Stable => "stable",
        Verdict::Unstable => "unstable",
        Verdict::UnstableWhileDraining => "unstable-while-draining",
        Verdict::Deadlocked => "deadlocked",
        Verdict::Stopped => "stopped",
    }
}

/// A distribution with the mean that is printed, where one is. The last bin has everything from its number on: percentiles
/// that lie in it are not known, unless it has its number only.
fn distribution(samples: &Samples, mean: f64, half_width: Option<f64>) -> Distribution {
    if samples.count == 0 {
        return Distribution::default();
    }
    let percentile = |share: f64| {
        let wanted = ((share * samples.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let bin = samples.bins.iter().position(|&count| {
            seen += count;
            seen >= wanted
        });
        bin.map(|bin| bin as u64).filter(|&bin| bin + 1 < samples.bins.len() as u64 || bin == samples.max)
    };
    Distribution {
        count: samples.count,
        mean: Some(if mean.is_finite() { mean } else { samples.mean() }),
        half_width,
        min: Some(samples.min),
        p50: percentile(0.5),
        p95: percentile(0.95),
        p99: percentile(0.99),
        p99_9: percentile(0.999),
        max: Some(samples.max),
    }
}

fn class_results(facts: &Facts<'_>, outcome: &Outcome) -> Vec<ClassResult> {
    let classes = outcome.classes.iter().zip(&outcome.counters).enumerate();
    classes
        .map(|(number, (printed, counters))| ClassResult {
            name: if facts.measured[number] {
                format!("class-{number}")
            } else {
                format!("class-{number} (not measured)")
            },
            // what is offered is not counted
            offered_flits_per_cycle: printed.injected_flits.mean,
            accepted_flits_per_cycle: printed.accepted_flits.mean,
            packet_latency_cycles: distribution(&counters.packet, printed.packet.mean, None),
            network_latency_cycles: distribution(&counters.network, printed.network.mean, None),
            hops: distribution(&counters.hops, printed.hops, None),
        })
        .collect()
}

/// Loads of the terminals, of all measured classes together.
fn fairness(outcome: &Outcome, measured: &[usize]) -> Fairness {
    let cycles = outcome.counted_cycles.max(1) as f64;
    let loads = |of: fn(&Counters) -> &Vec<u64>| -> Vec<f64> {
        let nodes = of(&outcome.counters[0]).len();
        let flits =
            |node: usize| measured.iter().map(|&class| of(&outcome.counters[class])[node]).sum::<u64>();
        (0..nodes).map(|node| flits(node) as f64 / cycles).collect()
    };
    fairness_of(&loads(|it| &it.sent_flits), &loads(|it| &it.accepted_flits))
}

fn histograms(counters: &Counters) -> BookSimClass {
    let filled = |samples: &Samples| -> Vec<[u64; 2]> {
        let bins = samples.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        bins.map(|(value, &count)| [value as u64, count]).collect()
    };
    BookSimClass {
        packet_latency: filled(&counters.packet),
        network_latency: filled(&counters.network),
        flit_latency: filled(&counters.flit),
        fragmentation: filled(&counters.fragmentation),
        hops: filled(&counters.hops),
    }
}

/// A digest of the histograms and of what every node sent and got.
fn digest(run: &Run) -> String {
    let numbers = run.outcome.counters.iter().flat_map(|counters| {
        let samples =
            [&counters.packet, &counters.network, &counters.flit, &counters.fragmentation, &counters.hops];
        let bins = samples.into_iter().flat_map(|it| it.bins.iter().copied().chain([it.sum, it.max]));
        bins.chain(counters.sent_flits.iter().chain(&counters.accepted_flits).copied())
    });
    digest_of(std::iter::once(run.cycles).chain(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A histogram of four bins: what is 3 or more lies in the last one.
    #[test]
    fn percentiles_beyond_the_histogram_are_not_known() {
        let of = |values: &[u64]| {
            let mut samples = Samples::new(4);
            values.iter().for_each(|&value| samples.add(value));
            let found = distribution(&samples, f64::NAN, None);
            (found.p50, found.p99, found.max, found.mean)
        };
        assert_eq!(of(&[1, 1, 2]), (Some(1), Some(2), Some(2), Some(4.0 / 3.0)));
        assert_eq!(of(&[1, 1, 9]), (Some(1), None, Some(9), Some(11.0 / 3.0)));
        assert_eq!(of(&[7, 8, 9]), (None, None, Some(9), Some(8.0)));
        assert_eq!(of(&[1, 3, 3]), (Some(3), Some(3), Some(3), Some(7.0 / 3.0)));
    }
}
