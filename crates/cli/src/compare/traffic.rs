//! Rows of open-loop traffic: loads, latencies, and whether the network carried the load.

use std::borrow::Cow;

use stratasim_report::Unit;
use stratasim_report::result::RunResult;
use stratasim_report::traffic::TrafficResult;

type Row = (Cow<'static, str>, Vec<String>);

/// Loads in flits per cycle and terminal, latencies of packets in cycles; none where no result is of such traffic, and a dash
/// for one that is not.
pub(super) fn rows(results: &[(String, RunResult)]) -> Vec<Row> {
    let traffic: Vec<Option<&TrafficResult>> =
        results.iter().map(|(_, result)| result.traffic.as_ref()).collect();
    let mut rows: Vec<Row> = Vec::new();
    if traffic.iter().all(Option::is_none) {
        return rows;
    }
    let cells = |cell: &dyn Fn(&TrafficResult) -> Option<String>| -> Vec<String> {
        traffic.iter().map(|it| it.and_then(cell).unwrap_or_else(super::dash)).collect()
    };
    let numbers = |name: &str| {
        cells(&|it| {
            // a batch has no load
            let measured = it.batch.is_none() || !name.ends_with("flits_per_cycle");
            let number =
                if name == "load_flits_per_cycle" { Some(it.load_flits_per_cycle) } else { it.number(name) };
            // packets that wait have taken longer already
            let least = if it.saturated == Some(true) && name.contains("latency") { ">" } else { "" };
            number.filter(|_| measured).map(|value| format!("{least}{}", Unit::Count.format(value)))
        })
    };
    let sections: [(&str, &[(&str, &str)]); 2] = [
        (
            "flits/cycle",
            &[
                ("  asked", "load_flits_per_cycle"),
                ("  offered", "offered_flits_per_cycle"),
                ("  injected", "injected_flits_per_cycle"),
                ("  accepted", "accepted_flits_per_cycle"),
            ],
        ),
        (
            "cycles",
            &[
                ("  latency", "packet_latency_cycles"),
                ("  p99", "packet_latency_p99_cycles"),
                ("  in network", "network_latency_cycles"),
                ("  batch", "batch_duration_cycles"),
            ],
        ),
    ];
    for (heading, parts) in sections {
        let parts = parts.iter().map(|&(label, name)| (Cow::Borrowed(label), numbers(name)));
        let parts: Vec<Row> = parts.filter(|(_, cells)| cells.iter().any(|cell| cell != "-")).collect();
        if !parts.is_empty() {
            rows.push((Cow::Borrowed(heading), vec![String::new(); results.len()]));
            rows.extend(parts);
        }
    }
    let word = |saturated| match saturated {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    let verdict = cells(&|it| it.batch.is_none().then(|| word(it.saturated).to_owned()));
    rows.push((Cow::Borrowed("saturated"), verdict));
    // cycles of different lengths do not compare
    let mut clocks = traffic.iter().flatten().map(|it| it.clock_hz);
    let first = clocks.next();
    if clocks.any(|hz| Some(hz) != first) {
        let cycle = |it: &TrafficResult| (it.clock_hz > 0.0).then(|| Unit::Seconds.format(1.0 / it.clock_hz));
        rows.push((Cow::Borrowed("a cycle is"), cells(&cycle)));
    }
    rows
}
