//! Slow-downs by the size of messages, the figure by which congestion controls are compared.

use serde::{Deserialize, Serialize};
use stratasim_core::model::FlowRecord;

use crate::distribution::sorted;
use crate::flows::{FlowsResult, Spread, slowdown};
use crate::picture::{Axis, LineChart, Picture, Series};
use crate::result::RunResult;
use crate::table::{Cell, Table};
use crate::units::Unit;

/// Groups of messages.
const GROUPS: usize = 20;
/// Messages of a group at least, where sizes differ enough.
const LEAST: usize = 10;

/// Messages of about one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeGroup {
    /// The smallest payload.
    pub min_bytes: u64,
    /// The largest.
    pub max_bytes: u64,
    /// Messages.
    pub count: u64,
    /// Their times, each in multiples of the least time that it needs alone on an idle network.
    pub slowdown: Spread,
}

/// The messages in at most 20 groups of about as many each, the smallest first; messages of one size are together. None where
/// all have one size.
pub(crate) fn groups(flows: &[FlowRecord]) -> Vec<SizeGroup> {
    let mut order: Vec<(u64, f64)> = flows.iter().map(|flow| (flow.bytes, slowdown(flow))).collect();
    order.sort_unstable_by_key(|&(bytes, _)| bytes);
    let ends = match (order.first(), order.last()) {
        (Some(first), Some(last)) if first.0 < last.0 => (order.len() / LEAST).clamp(2, GROUPS),
        _ => return Vec::new(),
    };
    let mut groups = Vec::with_capacity(ends);
    let mut begin = 0;
    for nth in 1..=ends {
        let mut end = nth * order.len() / ends;
        if end <= begin {
            continue;
        }
        let largest = order[end - 1].0;
        end += order[end..].partition_point(|&(bytes, _)| bytes == largest);
        let group = &order[begin..end];
        groups.push(SizeGroup {
            min_bytes: group[0].0,
            max_bytes: largest,
            count: group.len() as u64,
            slowdown: Spread::of(&sorted(group.iter().map(|&(_, slowdown)| slowdown))),
        });
        begin = end;
    }
    groups
}

/// The groups of a run, a line each.
pub fn table(flows: &FlowsResult) -> Table {
    let mut table = Table::new(["from", "to", "messages", "mean", "half", "90 %", "99 %", "all"]).keyed_by(2);
    for group in &flows.by_size {
        let Spread { mean, p50, p90, p99, max, .. } = group.slowdown;
        let sizes = [group.min_bytes, group.max_bytes].map(|bytes| Cell::Number(bytes as f64, Unit::Bytes));
        let times = [mean, p50, p90, p99, max].map(|times| Cell::Number(times, Unit::Factor));
        table.push(sizes.into_iter().chain([Cell::Number(group.count as f64, Unit::Count)]).chain(times));
    }
    table
}

/// Points `(largest size, slow-down)` of the groups of a run; none where its messages have one size, or are not told of.
fn points(result: &RunResult, of: impl Fn(&Spread) -> f64) -> Vec<(f64, f64)> {
    let groups = result.flows.iter().flat_map(|flows| &flows.by_size);
    groups.map(|group| (group.max_bytes as f64, of(&group.slowdown))).collect()
}

/// Whether a run tells of slow-downs by size.
pub fn tells(result: &RunResult) -> bool {
    result.flows.as_ref().is_some_and(|flows| !flows.by_size.is_empty())
}

/// The slow-downs of a run over the size: of half of the messages, 90 and 99 %. None where it does not tell.
pub fn picture(result: &RunResult) -> Option<Picture> {
    let curves = vec![
        Series::new("half of them", points(result, |spread| spread.p50)),
        Series::new("90 %", points(result, |spread| spread.p90)),
        Series::new("99 %", points(result, |spread| spread.p99)),
    ];
    draw(&result.title.experiment, "slow-down", curves)
}

/// The slow-downs that 99 % of the messages of each size stay below, of several runs, called by their names. None where no run
/// tells.
pub fn together(experiment: &str, results: &[(String, RunResult)]) -> Option<Picture> {
    let curve = |(name, result): &(String, RunResult)| Series::new(name, points(result, |spread| spread.p99));
    let curves = results.iter().filter(|(_, result)| tells(result)).map(curve).collect();
    draw(experiment, "slow-down that 99 % stay below", curves)
}

fn draw(experiment: &str, upwards: &str, curves: Vec<Series>) -> Option<Picture> {
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return None;
    }
    let what = "Slow-downs by size";
    let title = if experiment.is_empty() { what.to_owned() } else { format!("{what}: {experiment}") };
    let x = Axis::log("size of messages, the largest of a group", Unit::Bytes);
    let mut chart = LineChart::new(title, x, Axis::log(upwards, Unit::Factor));
    chart.series = curves;
    Some(chart.draw())
}

#[cfg(test)]
mod tests {
    use stratasim_core::observe::MessageCounts;
    use stratasim_core::{Duration, NodeId, Time};

    use super::*;

    /// A message that takes so many times as long as alone.
    fn flow(bytes: u64, times: u64) -> FlowRecord {
        FlowRecord {
            src: NodeId(0),
            dst: NodeId(1),
            bytes,
            start: Time::from_ps(5),
            end: Time::from_ps(5 + 100 * times),
            least: Duration::from_ps(100),
            path: Box::new([]),
            counts: MessageCounts::default(),
        }
    }

    /// Smallest, largest and number of each group.
    fn shapes(flows: &[FlowRecord]) -> Vec<(u64, u64, u64)> {
        groups(flows).iter().map(|group| (group.min_bytes, group.max_bytes, group.count)).collect()
    }

    #[test]
    fn groups_are_about_as_large_and_keep_messages_of_one_size_together() {
        assert_eq!(shapes(&[]), []);
        assert_eq!(shapes(&[flow(7, 1), flow(7, 3)]), [], "one size");
        assert_eq!(shapes(&[flow(9, 1), flow(7, 3)]), [(7, 7, 1), (9, 9, 1)]);
        // 400 messages of other sizes each, the largest first
        let many: Vec<FlowRecord> = (0..400).rev().map(|at| flow(1 + at, 1 + at)).collect();
        let expected: Vec<_> = (0..20).map(|nth| (1 + 20 * nth, 20 + 20 * nth, 20)).collect();
        assert_eq!(shapes(&many), expected);
        // of the 20 slow-downs of a group in order, the tenth is the median and the last 99 %
        let third = groups(&many)[2].slowdown;
        assert_eq!((third.p50, third.p99, third.mean), (50.0, 60.0, 50.5));
        // nine of ten have one size, and the largest is alone with its size
        let lumps = |at: u64| flow(if at < 900 { 64 } else { 1000 * at }, 1);
        let lumps: Vec<FlowRecord> = (0..1000).map(lumps).collect();
        assert_eq!(shapes(&lumps), [(64, 64, 900), (900_000, 949_000, 50), (950_000, 999_000, 50)]);
    }

    #[test]
    fn a_picture_has_three_curves_of_one_run_and_one_of_each_of_several() {
        let told = |times: u64| {
            let flows = [flow(1000, 1), flow(1_000_000, times)];
            let flows = FlowsResult { by_size: groups(&flows), ..FlowsResult::default() };
            RunResult { flows: Some(flows), ..RunResult::default() }
        };
        let silent = RunResult { flows: Some(FlowsResult::default()), ..RunResult::default() };
        assert!(picture(&silent).is_none() && !tells(&silent));
        let svg = picture(&told(3)).unwrap().svg();
        assert!(["half of them", "90 %", "99 %"].iter().all(|name| svg.contains(name)));
        let results =
            [("dctcp".to_owned(), told(3)), ("quiet".to_owned(), silent), ("swift".to_owned(), told(2))];
        let svg = together("incast", &results).unwrap().svg();
        assert!(svg.contains("dctcp") && svg.contains("swift") && !svg.contains("quiet"));
        assert!(together("", &results[1..2]).is_none());
        assert_eq!(table(told(3).flows.as_ref().unwrap()).rows().len(), 2);
    }
}
