//! From counts to the result.

use stratasim_net::flit::Prepared;
use stratasim_report::traffic::{BatchResult, ClassResult, Fairness, ProbeResult, TrafficResult, Window};
use stratasim_topo::Topology;

use super::account::{Account, Batch, ClassAccount, Totals};
use super::channels::{Directions, channel_summary};
use super::measure::Course;
use super::parts::Parts;
use super::plan::{Plan, Purpose};
use super::verdict::{fairness_of, mean_and_half_width};
use crate::run::digest_of;

/// Where a smaller part of what was offered was accepted, the verdict says that it rests on little.
const FEW: f64 = 0.95;
/// How verdicts begin that are none.
pub(super) const NOT_KNOWN: &str = "not known";

/// The statistics of a run.
pub(super) fn result(
    traffic: &Parts<'_>,
    account: &Account<'_>,
    course: &Course,
    network: &Prepared,
    topology: &Topology,
) -> TrafficResult {
    let plan = traffic.plan();
    let terminals = f64::from(plan.terminals);
    let sample = course.sample();
    let cycles: u64 = sample.iter().map(|slice| slice.cycles).sum();
    let scale = terminals * cycles.max(1) as f64;
    let per_cycle = |flits: u64| flits as f64 / scale;
    let load = |slice_flits: u64, cycles: u64| slice_flits as f64 / terminals / cycles as f64;

    // what waits outside the network has come into being, too
    let mut offered_of = account.offered_of.clone();
    if plan.batch.is_none() {
        traffic.ahead(account.until, |class, flits, created| {
            if created >= account.from {
                offered_of[class as usize] += u64::from(flits);
            }
        });
    }
    let accepted: Vec<f64> = sample.iter().map(|slice| load(slice.accepted, slice.cycles)).collect();
    let (_, accepted_half) = mean_and_half_width(&accepted);
    // windows of a batch may differ in length
    let accepted_mean = per_cycle(sample.iter().map(|slice| slice.accepted).sum());
    let batches = course.whole(account.batches.clone());
    // half of the confidence interval of a mean, by the means of batches that have any
    let half = |of: fn(&Batch) -> (u64, u64)| {
        let means = batches.iter().map(of).filter(|&(_, count)| count > 0);
        let means: Vec<f64> = means.map(|(sum, count)| sum as f64 / count as f64).collect();
        mean_and_half_width(&means).1
    };
    let mut all = ClassAccount::default();
    for (class, rule) in account.classes.iter().zip(&plan.classes) {
        if rule.purpose != Purpose::Probe {
            all.join(class);
        }
    }
    let injected: u64 = sample.iter().map(|slice| slice.injected).sum();
    let offered: u64 = offered_of.iter().sum();
    let probed = plan.classes.iter().zip(&offered_of).filter(|(rule, _)| rule.purpose == Purpose::Probe);
    let probed: u64 = probed.map(|(_, &flits)| flits).sum();
    // it went in, so nothing holds it up but the way
    let nothing_arrived = accepted_mean == 0.0 && offered > 0 && 10 * injected >= 9 * offered;
    let nothing_offered = plan.batch.is_none() && offered == probed;
    let (saturated, verdict) = match &course.saturation {
        _ if plan.batch.is_none() && plan.load() == 0.0 => {
            (None, format!("{NOT_KNOWN}: with a load of 0 there is nothing to tell"))
        }
        _ if nothing_offered => (
            None,
            format!(
                "{NOT_KNOWN}: no packet came into being in the {cycles} cycles measured; a longer sample would show"
            ),
        ),
        _ if nothing_arrived => (
            None,
            format!(
                "{NOT_KNOWN}: nothing arrived in the {cycles} cycles measured; a longer sample would show"
            ),
        ),
        Some(reason) => (Some(true), format!("saturated: {reason}")),
        None if plan.batch.is_none() && all.packet_latency.count() == 0 => (
            None,
            format!(
                "{NOT_KNOWN}: no packet of the {cycles} cycles measured has arrived; a longer sample, or a longer `drain`, would show"
            ),
        ),
        None if course.early => (
            None,
            format!(
                "{NOT_KNOWN}: the network still filled when the warm-up ended, as its ways are longer than that; a longer warm-up \
                 would show"
            ),
        ),
        None if course.short => (
            None,
            format!(
                "{NOT_KNOWN}: packets wait longer at their sources than the {cycles} cycles measured, which are fewer than a way \
                 there and back takes: credits may be what they wait for; a longer sample would show"
            ),
        ),
        None => match &course.growth {
            None if accepted_mean < FEW * per_cycle(offered) => (
                Some(false),
                "stable as far as so few packets tell: less was accepted than was offered, but not more than chance makes; a \
                 longer sample would show"
                    .to_owned(),
            ),
            None => {
                (Some(false), "stable: what was offered was accepted, and queues did not grow".to_owned())
            }
            Some(growth) => (
                Some(false),
                format!(
                    "stable within the tolerances: what was offered was accepted; {growth}: a longer sample may show \
                     saturation"
                ),
            ),
        },
    };
    TrafficResult {
        terminals: plan.terminals,
        clock_hz: network.clock.hz(),
        flit_bytes: network.flit_bytes,
        load_flits_per_cycle: plan.load(),
        offered_flits_per_cycle: per_cycle(offered),
        injected_flits_per_cycle: per_cycle(injected),
        accepted_flits_per_cycle: accepted_mean,
        accepted_half_width: accepted_half,
        saturated,
        verdict,
        warm_up_cycles: course.slices[..course.warm_up].iter().map(|slice| slice.cycles).sum(),
        settled: course.settled,
        sample_cycles: cycles,
        batches: sample.len() as u64,
        drain_cycles: course.drain_cycles,
        packet_latency_cycles: all.packet_latency.distribution(half(|batch| (batch.latency, batch.arrived))),
        network_latency_cycles: all
            .network_latency
            .distribution(half(|batch| (batch.network, batch.arrived))),
        flit_latency_cycles: all.flit_latency.distribution(half(|batch| (batch.flit_latency, batch.flits))),
        hops: all.hops.distribution(None),
        fragmentation_cycles: all.fragmentation.distribution(None),
        classes: if plan.classes.len() > 1 {
            classes(plan, account, course, &offered_of, scale)
        } else {
            Vec::new()
        },
        fairness: fairness(&course.totals, cycles),
        channels: {
            let name = |link| topology.link_name(link);
            let directions = Directions::of(&network.wiring);
            let mut channels =
                channel_summary(&network.fabric, &course.channels, cycles, &name, directions.as_ref());
            let nodes = &network.wiring.nodes[..channels.by_router.len()];
            channels.routers = nodes.iter().map(|&node| topology.node_name(node).to_string()).collect();
            channels
        },
        series: series(course, terminals, traffic.senders()),
        probes: probes(account),
        batch: plan.batch.zip(traffic.batch_done()).map(|(batch, (first, last))| BatchResult {
            packets: batch.packets.into(),
            duration_cycles: last,
            first_done_cycles: first,
        }),
        saturation: None,
        booksim2: None,
    }
}

fn classes(
    plan: &Plan,
    account: &Account<'_>,
    course: &Course,
    offered_of: &[u64],
    scale: f64,
) -> Vec<ClassResult> {
    let [before, after] = &course.totals;
    let rules = plan.classes.iter().zip(&account.classes).enumerate();
    rules
        .map(|(at, (rule, class))| ClassResult {
            name: rule.name.clone(),
            offered_flits_per_cycle: offered_of[at] as f64 / scale,
            accepted_flits_per_cycle: (after.accepted_of[at] - before.accepted_of[at]) as f64 / scale,
            packet_latency_cycles: class.packet_latency.distribution(None),
            network_latency_cycles: class.network_latency.distribution(None),
            hops: class.hops.distribution(None),
        })
        .collect()
}

fn series(course: &Course, terminals: f64, senders: u64) -> Vec<Window> {
    let window = |slice: &super::measure::Slice| Window {
        end_cycle: slice.end,
        injected_flits_per_cycle: slice.injected as f64 / terminals / slice.cycles as f64,
        accepted_flits_per_cycle: slice.accepted as f64 / terminals / slice.cycles as f64,
        packet_latency_cycles: (slice.packets > 0).then(|| slice.latency as f64 / slice.packets as f64),
        source_wait_cycles: slice.waited as f64 / senders.max(1) as f64,
    };
    course.slices.iter().map(window).collect()
}

fn fairness([before, after]: &[Totals; 2], cycles: u64) -> Fairness {
    let loads = |after: &[u64], before: &[u64]| -> Vec<f64> {
        after
            .iter()
            .zip(before)
            .map(|(after, before)| (after - before) as f64 / cycles.max(1) as f64)
            .collect()
    };
    fairness_of(&loads(&after.injected, &before.injected), &loads(&after.accepted, &before.accepted))
}

fn probes(account: &Account<'_>) -> Vec<ProbeResult> {
    let pair = |(&(source, dest), pair): (&(u32, u32), &super::account::PairAccount)| {
        let count = pair.count as f64;
        let mean = pair.sum as f64 / count;
        let variance = (pair.squares as f64 / count - mean * mean).max(0.0);
        ProbeResult {
            source,
            dest,
            count: pair.count,
            mean_cycles: mean,
            deviation_cycles: variance.sqrt(),
            min_cycles: pair.min,
            max_cycles: pair.max,
        }
    };
    account.pairs.iter().map(pair).collect()
}

/// A digest of what entered and arrived when: equal runs have equal digests, on either kernel. (The counts of
/// channels may differ by the flit that is in a switch when they are read.)
pub(super) fn digest(account: &Account<'_>, course: &Course) -> String {
    let slices = course
        .slices
        .iter()
        .flat_map(|it| [it.end, it.injected, it.accepted, it.packets, it.latency, it.waited]);
    let classes = account.classes.iter().flat_map(|class| class.all().into_iter().flat_map(|it| it.parts()));
    let totals = account.totals.injected.iter().chain(&account.totals.accepted).copied();
    let pairs = account.pairs.values().flat_map(|pair| [pair.count, pair.sum]);
    digest_of(slices.chain(classes).chain(totals).chain(pairs))
}
