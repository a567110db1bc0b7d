//! What a reader of a result should know, in sentences.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use stratasim_net::flit::fabric::FULL_WIDTH;
use stratasim_net::flit::router::RouterSpec;
use stratasim_report::traffic::{ChannelSummary, TrafficResult};

use super::channels::MAPPED_ROUTERS;
use super::curve::Curve;
use super::spec::{ClassSpec, MeasureSpec, TrafficSpec};
use crate::run::count;
use crate::sayers::{NAMED, sayers};

/// What the latencies of a saturated load are.
pub(crate) const SATURATED: &str = "the network is saturated: latencies are those of the packets of the sample that have arrived, \
     and may be less than at lower loads. Those that wait for their turn are not among them.";

impl Curve {
    /// The notes of all results, once each, in order; where not all say it, with the loads of those that do.
    pub fn notes(&self) -> Vec<String> {
        let results = || {
            let points = self.points.iter();
            points.flat_map(|point| point.results.iter().map(|result| (point.load, result)))
        };
        let runs = results().count();
        let said = results().flat_map(|(load, result)| result.notes.iter().map(move |note| (load, note)));
        let whole = |(note, mut loads): (Cow<'_, str>, Vec<f64>)| {
            let times = loads.len();
            loads.dedup();
            if times == runs {
                note.into_owned()
            } else if loads.len() <= NAMED {
                let loads: Vec<String> = loads.iter().map(f64::to_string).collect();
                format!("load {}: {note}", loads.join(", "))
            } else {
                format!("{times} of {runs} runs: {note}")
            }
        };
        self.saturated().into_iter().chain(sayers(said).into_iter().map(whole)).collect()
    }

    /// What the latencies of saturated loads are, where there are any.
    fn saturated(&self) -> Option<String> {
        let loads = || self.points.iter().filter(|point| point.saturated()).map(|point| point.load);
        let (least, most) = (loads().reduce(f64::min)?, loads().reduce(f64::max)?);
        let which = if least == most { format!("load {least}") } else { format!("loads {least} to {most}") };
        Some(format!("At {which} {SATURATED}"))
    }
}

/// What a reader should know where the sample is too short for all pairs that were to be probed.
pub(super) fn unprobed(spec: &TrafficSpec, result: &TrafficResult) -> Option<String> {
    let probes = spec.probes.as_ref()?;
    let others = u64::from(result.terminals).saturating_sub(1);
    let (pairs, of_each) = match &probes.pairs {
        None => (u64::from(result.terminals) * others, others),
        Some(pairs) => {
            let pairs: BTreeSet<[u32; 2]> = pairs.iter().copied().collect();
            let mut of_source: BTreeMap<u32, u64> = BTreeMap::new();
            pairs.iter().for_each(|pair| *of_source.entry(pair[0]).or_default() += 1);
            (pairs.len() as u64, of_source.into_values().max().unwrap_or(0))
        }
    };
    let needed = of_each * u64::from(probes.interval);
    (result.sample_cycles < needed).then(|| {
        format!(
            "Not all pairs were probed: {} cycles were measured, and to probe each of {} pairs once takes {}.",
            count(result.sample_cycles),
            count(pairs),
            count(needed)
        )
    })
}

/// Where the sample ended before its mean latency was as precise as was asked for. Who fixes its length asks for nothing.
pub(super) fn imprecise(spec: &TrafficSpec, result: &TrafficResult) -> Option<String> {
    let measure = &spec.measure;
    let latency = &result.packet_latency_cycles;
    let (mean, half) = (latency.mean?, latency.half_width?);
    let is_asked = spec.batch.is_none() && measure.most_windows > measure.windows;
    (is_asked && result.saturated == Some(false) && half > measure.precision * mean).then(|| {
        format!(
            "The mean packet latency is known to within {:.1} %, not the {} % of `measure.precision`: the sample ended after \
             `measure.most-windows`, {}.",
            // never as precise as was asked for
            (1000.0 * half / mean).ceil() / 10.0,
            100.0 * measure.precision,
            count(measure.most_windows.into())
        )
    })
}

/// A channel that is fuller than this is what the others wait for.
const FULL: f64 = 0.9;

/// What a saturated network waits for where that is no channel. On the narrowest one flits are so far apart, in parts of a cycle.
pub(super) fn unfilled(result: &TrafficResult, most_spacing: u32) -> Option<String> {
    let narrowest = f64::from(FULL_WIDTH) / f64::from(most_spacing);
    let fullest = result.channels.max_utilisation?;
    let busiest = result.fairness.injected_max.max(result.fairness.accepted_max);
    let is_full = fullest > FULL || busiest > FULL * narrowest;
    (result.saturated == Some(true) && !is_full).then(|| {
        format!(
            "The network is saturated, and no channel is {:.0} % full: what packets wait for are virtual channels, places in buffers or \
             the switch. More `virtual-channels`, deeper buffers or longer packets may carry more.",
            100.0 * FULL
        )
    })
}

/// Where classes have different priorities, and routers look at none.
pub(super) fn unheeded(spec: &TrafficSpec, router: &RouterSpec) -> Option<String> {
    let differ = spec.classes.windows(2).any(|pair| pair[0].priority != pair[1].priority);
    let allocators = [&router.vc_allocator, &router.switch_allocator];
    (differ && allocators.iter().all(|allocator| !allocator.kind.heeds_priorities())).then(|| {
        "Priorities of classes count at the sources only: these allocators of routers look at none. `select`, the separable ones and \
         the wavefront do (`network.router.switch-allocator.kind`, `vc-allocator.kind`)."
            .to_owned()
    })
}

/// What says how much load there is, and how long it is measured, of which a batch has none.
pub(super) fn uncounted(spec: &TrafficSpec) -> Option<String> {
    spec.batch?;
    let usual = TrafficSpec::default();
    let measure = &spec.measure;
    let others = MeasureSpec { window: measure.window, ..MeasureSpec::default() };
    let classes = |is_given: fn(&ClassSpec) -> bool| spec.classes.iter().any(is_given);
    let keys: Vec<&str> = [
        ("load", spec.load != usual.load),
        ("injection", spec.injection != usual.injection),
        ("class.load", classes(|class| class.load.is_some())),
        ("class.share", classes(|class| class.share.is_some())),
        ("class.injection", classes(|class| class.injection.is_some())),
        ("measure", *measure != others),
    ]
    .into_iter()
    .filter_map(|(key, is_given)| is_given.then_some(key))
    .collect();
    (!keys.is_empty()).then(|| {
        format!(
            "A batch is sent as fast as it goes, and all of it is measured: `{}` does not count.",
            keys.join("`, `")
        )
    })
}

/// Where there are too many routers for the use of each channel.
pub(super) fn unmapped(channels: &ChannelSummary, routers: usize) -> Option<String> {
    (channels.count > 0 && channels.by_router.is_empty()).then(|| {
        format!(
            "Of {} routers the use of the busiest channels is told only; of up to {} routers it is that of all, with a heat map.",
            count(routers as u64),
            count(MAPPED_ROUTERS as u64)
        )
    })
}

/// Where a part of what some terminals send is missing: loads are means over all.
pub(super) fn partial(spec: &TrafficSpec, partial: u64, terminals: u32) -> Option<String> {
    (spec.batch.is_none() && partial > 0).then(|| {
        format!(
            "{} of {} terminals send a part of their load, as the pattern sends the rest nowhere. Loads are means over all terminals.",
            count(partial),
            count(terminals.into())
        )
    })
}

/// Where some terminals send nothing: loads are means over all.
pub(super) fn silent(spec: &TrafficSpec, senders: u64, terminals: u32) -> Option<String> {
    let silent = u64::from(terminals).saturating_sub(senders);
    (spec.batch.is_none() && silent > 0 && senders > 0).then(|| {
        format!(
            "{} of {} terminals send nothing, as the pattern sends them nowhere or they are no sources. Loads are means over all \
             terminals.",
            count(silent),
            count(terminals.into())
        )
    })
}

#[cfg(test)]
mod tests {
    use stratasim_report::RunResult;

    use super::super::curve::CurvePoint;
    use super::*;

    #[test]
    fn notes_of_a_curve_name_the_loads_that_say_them() {
        let result = |notes: &[&str]| RunResult {
            notes: notes.iter().map(|&note| note.to_owned()).collect(),
            ..RunResult::default()
        };
        let runs: [&[&[&str]]; 5] = [
            &[&["all"], &["all"]],
            &[&["all", "high"]],
            &[&["all", "high"], &["all"]],
            &[&["all", "own"]],
            &[&["all"]],
        ];
        let points = (1..).zip(runs).map(|(load, runs)| CurvePoint {
            load: f64::from(load) / 10.0,
            results: runs.iter().map(|notes| result(notes)).collect(),
        });
        let mut curve = Curve {
            title: String::new(),
            points: points.collect(),
            left: 0,
            failures: Vec::new(),
            own_load: 0.0,
            saturation: None,
            not_known: None,
        };
        assert_eq!(curve.notes(), ["all", "load 0.2, 0.3: high", "load 0.4: own"]);
        for point in &mut curve.points[..4] {
            point.results[0].notes.push("most".to_owned());
        }
        assert_eq!(curve.notes()[1], "4 of 7 runs: most");
    }
}
