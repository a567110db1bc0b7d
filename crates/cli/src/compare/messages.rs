//! What is known of messages on their way, side by side.

use std::borrow::Cow;

use stratasim_report::Unit;
use stratasim_report::flows::{QueueResult, Spread};
use stratasim_report::result::RunResult;

use super::dash;

/// How long messages took, where that is followed.
pub(super) fn time_rows(results: &[(String, RunResult)]) -> Vec<(Cow<'static, str>, Vec<String>)> {
    type Time = fn(&Spread) -> f64;
    let times: [(&'static str, Time); 3] = [
        ("message, mean", |spread| spread.mean),
        ("message, 99 %", |spread| spread.p99),
        ("message, most", |spread| spread.max),
    ];
    let spreads: Vec<_> =
        results.iter().map(|(_, result)| result.flows.as_ref().map(|flows| &flows.duration_s)).collect();
    if spreads.iter().all(Option::is_none) {
        return Vec::new();
    }
    let row = |(label, of): (&'static str, Time)| {
        let cell = |spread: &Option<&Spread>| spread.map_or_else(dash, |it| Unit::Seconds.format(of(it)));
        (Cow::Borrowed(label), spreads.iter().map(cell).collect())
    };
    times.into_iter().map(row).collect()
}

/// What the packet level counts, where anything happened.
pub(super) fn count_rows(results: &[(String, RunResult)]) -> Vec<(Cow<'static, str>, Vec<String>)> {
    type Count = fn(&RunResult) -> Option<u64>;
    let counts: [(&'static str, Count); 12] = [
        ("sent again", |result| result.counter("network.retransmissions")),
        ("dropped", |result| result.counter("network.drops")),
        ("trimmed", |result| result.counter("network.trims")),
        ("packets marked", |result| result.counter("network.marks")),
        ("ACKs with mark", |result| Some(result.flows.as_ref()?.marks)),
        ("time-outs", |result| result.counter("network.timeouts")),
        ("pauses", |result| result.counter("network.pauses")),
        ("lost on links", |result| result.counter("network.lost_on_links")),
        ("on down links", |result| result.counter("network.lost_on_down_links")),
        ("corrupted", |result| result.counter("network.corrupted")),
        ("duplicated", |result| result.counter("network.duplicated")),
        ("reordered", |result| result.counter("network.reordered")),
    ];
    let row = |(label, of): (&'static str, Count)| {
        let happened = results.iter().any(|(_, result)| of(result).is_some_and(|count| count > 0));
        let cell = |(_, result): &(String, RunResult)| {
            of(result).map_or_else(dash, |count| Unit::Count.format(count as f64))
        };
        happened.then(|| (Cow::Borrowed(label), results.iter().map(cell).collect()))
    };
    counts.into_iter().filter_map(row).collect()
}

/// The longest queue of a result.
pub(super) fn longest((_, result): &(String, RunResult)) -> Option<&QueueResult> {
    result.queues.iter().max_by_key(|queue| queue.most_bytes)
}

/// The longest queue, and its buffer, which often goes with the transport: who compares transports compares that, too.
pub(super) fn queue_rows(results: &[(String, RunResult)]) -> Vec<(Cow<'static, str>, Vec<String>)> {
    type Size = fn(&QueueResult) -> Option<u64>;
    let sizes: [(&'static str, Size); 2] =
        [("longest queue", |queue| Some(queue.most_bytes)), ("its buffer", |queue| queue.capacity_bytes)];
    let row = |(label, of): (&'static str, Size)| {
        let cell = |bytes: u64| Unit::Bytes.format(bytes as f64);
        let cells = results.iter().map(|result| longest(result).and_then(of).map_or_else(dash, cell));
        let is_known = results.iter().any(|result| longest(result).and_then(of).is_some());
        is_known.then(|| (Cow::Borrowed(label), cells.collect()))
    };
    sizes.into_iter().filter_map(row).collect()
}
