//! How messages and queues fared: completion times, slow-downs, fairness, what was sent again, how much waited.

use std::io::Write;

use serde::{Deserialize, Serialize};
use stratasim_core::model::{FlowRecord, QueueRecord};

use crate::by_size::{self, SizeGroup};
use crate::columns::exact_seconds;
use crate::distribution::{Points, points, sorted};
use crate::labels::Labels;

/// Messages that a result lists one by one.
const LISTED: usize = 20;
/// Queues that a result lists.
const LISTED_QUEUES: usize = 64;

/// All messages of a run that crossed the network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowsResult {
    /// Messages.
    pub count: u64,
    /// Their payload.
    pub bytes: u64,
    /// From the moment in which a message was handed over to that in which it was complete, in seconds.
    pub duration_s: Spread,
    /// The same in multiples of the least time that it needs alone on an idle network.
    pub slowdown: Spread,
    /// Jain's index of the messages' rates (payload by duration): 1 when all are equal.
    pub jain: f64,
    /// Packets with payload that were sent, those sent again included.
    pub packets: u64,
    /// Of these, those that were sent again.
    pub retransmissions: u64,
    /// Times that a sender heard nothing for too long.
    pub timeouts: u64,
    /// Packets reported as trimmed.
    pub trims: u64,
    /// Acknowledgements that told of marks.
    pub marks: u64,
    /// Points `[seconds, share of messages that took no longer]`.
    pub duration_cdf: Points,
    /// Points `[slow-down, share of messages]`.
    pub slowdown_cdf: Points,
    /// The same by size, the smallest first; empty where all messages have one size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_size: Vec<SizeGroup>,
    /// The messages with the largest slow-down, largest first.
    pub slowest: Vec<FlowResult>,
}

/// Where the values of a sample lie; percentiles are values of the sample (nearest rank).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90 % are at most this.
    pub p90: f64,
    /// 99 % are.
    pub p99: f64,
    /// 99.9 % are.
    pub p99_9: f64,
    /// Largest.
    pub max: f64,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Name of the node where it began.
    pub from: String,
    /// Name of the node where it ended.
    pub to: String,
    /// Payload.
    pub bytes: u64,
    /// When it was handed over, in seconds.
    pub start_s: f64,
    /// When it was complete, in seconds.
    pub end_s: f64,
    /// From the one to the other, in seconds.
    #[serde(default)]
    pub duration_s: f64,
    /// Duration by the least time that it needs alone.
    pub slowdown: f64,
    /// Packets sent again.
    pub retransmissions: u32,
    /// Times that its sender heard nothing for too long.
    #[serde(default)]
    pub timeouts: u32,
    /// Packets reported as trimmed.
    pub trims: u32,
    /// Acknowledgements that told of marks.
    pub marks: u32,
    /// Names of the links that all of its packets took, from the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
}

/// What waited for a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueResult {
    /// Name of the link.
    pub link: String,
    /// Name of the node at which it waits, where the link is a half-duplex cable, which has a queue at either end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Bytes that may wait; absent where nothing limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<u64>,
    /// Most bytes that did.
    pub most_bytes: u64,
    /// Packets dropped here.
    pub drops: u64,
    /// Packets trimmed here.
    pub trims: u64,
    /// Packets marked here.
    pub marks: u64,
    /// Times that the link was told to pause.
    pub pauses: u64,
}

/// Duration by least duration; 1 for what takes no time.
pub fn slowdown(flow: &FlowRecord) -> f64 {
    let (took, least) = ((flow.end - flow.start).as_ps() as f64, flow.least.as_ps() as f64);
    if least > 0.0 { took / least } else { 1.0 }
}

/// The names of the links that all packets of a message took, with semicolons between them.
pub fn path(flow: &FlowRecord, labels: &dyn Labels) -> String {
    flow.path.iter().map(|&link| labels.link(link)).collect::<Vec<_>>().join("; ")
}

impl FlowsResult {
    /// The account of all messages; none where there are none.
    pub fn of(flows: &[FlowRecord], labels: &dyn Labels) -> Option<Self> {
        if flows.is_empty() {
            return None;
        }
        let seconds = |flow: &FlowRecord| (flow.end - flow.start).as_secs_f64();
        let durations = sorted(flows.iter().map(seconds));
        let slowdowns = sorted(flows.iter().map(slowdown));
        let rates = flows.iter().filter(|flow| flow.end > flow.start).map(|it| it.bytes as f64 / seconds(it));
        let mut slowest: Vec<&FlowRecord> = flows.iter().collect();
        let order = |a: &&FlowRecord, b: &&FlowRecord| {
            slowdown(b).total_cmp(&slowdown(a)).then(a.start.cmp(&b.start)).then(a.src.cmp(&b.src))
        };
        if slowest.len() > LISTED {
            slowest.select_nth_unstable_by(LISTED, order);
            slowest.truncate(LISTED);
        }
        slowest.sort_by(order);
        let sum = |of: fn(&FlowRecord) -> u32| flows.iter().map(|flow| u64::from(of(flow))).sum();
        Some(Self {
            count: flows.len() as u64,
            bytes: flows.iter().map(|flow| flow.bytes).sum(),
            duration_s: Spread::of(&durations),
            slowdown: Spread::of(&slowdowns),
            jain: jain(rates),
            packets: sum(|flow| flow.counts.packets),
            retransmissions: sum(|flow| flow.counts.retransmissions),
            timeouts: sum(|flow| flow.counts.timeouts),
            trims: sum(|flow| flow.counts.trims),
            marks: sum(|flow| flow.counts.marks),
            duration_cdf: points(&durations),
            slowdown_cdf: points(&slowdowns),
            by_size: by_size::groups(flows),
            slowest: slowest
                .into_iter()
                .map(|flow| FlowResult {
                    from: labels.place(flow.src),
                    to: labels.place(flow.dst),
                    bytes: flow.bytes,
                    start_s: flow.start.as_secs_f64(),
                    end_s: flow.end.as_secs_f64(),
                    duration_s: seconds(flow),
                    slowdown: slowdown(flow),
                    retransmissions: flow.counts.retransmissions,
                    timeouts: flow.counts.timeouts,
                    trims: flow.counts.trims,
                    marks: flow.counts.marks,
                    path: flow.path.iter().map(|&link| labels.link(link)).collect(),
                })
                .collect(),
        })
    }
}

impl QueueResult {
    /// Points `[most bytes that waited, share of the queues]`, over those in which any did.
    pub fn cdf(queues: &[QueueRecord]) -> Points {
        let waited = queues.iter().filter(|queue| queue.most_bytes > 0);
        points(&sorted(waited.map(|queue| queue.most_bytes as f64)))
    }

    /// Where it is: the link, and which of its ends where both have a queue.
    pub fn place(&self) -> String {
        match &self.from {
            Some(from) => format!("{} at {from}", self.link),
            None => self.link.clone(),
        }
    }

    /// The queues in which most waited, longest first, and links of hosts that were asked to pause.
    pub fn longest(queues: &[QueueRecord], labels: &dyn Labels) -> Vec<Self> {
        let mut sorted: Vec<&QueueRecord> = queues.iter().collect();
        sorted.sort_by_key(|queue| (std::cmp::Reverse((queue.most_bytes, queue.pauses)), queue.link));
        sorted.truncate(LISTED_QUEUES);
        let of = |queue: &QueueRecord| Self {
            link: labels.link(queue.link),
            from: queue.from.map(|node| labels.place(node)),
            capacity_bytes: Some(queue.capacity_bytes).filter(|&bytes| bytes < u64::MAX),
            most_bytes: queue.most_bytes,
            drops: queue.drops,
            trims: queue.trims,
            marks: queue.marks,
            pauses: queue.pauses,
        };
        sorted.into_iter().map(of).collect()
    }
}

/// Writes
/// `from,to,bytes,start_s,end_s,duration_s,slowdown,packets,retransmissions,timeouts,trims,marks,path`, one
/// line per message in the order in which they were complete. Times are exact, in seconds with twelve decimals; the path is
/// the links that all packets took, with `; ` between them.
///
/// # Errors
/// What `out` reports.
pub fn write_flows(flows: &[FlowRecord], out: impl Write, labels: &dyn Labels) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record([
        "from",
        "to",
        "bytes",
        "start_s",
        "end_s",
        "duration_s",
        "slowdown",
        "packets",
        "retransmissions",
        "timeouts",
        "trims",
        "marks",
        "path",
    ])?;
    for flow in flows {
        writer.write_field(labels.place(flow.src))?;
        writer.write_field(labels.place(flow.dst))?;
        writer.write_field(flow.bytes.to_string())?;
        for ps in [flow.start.as_ps(), flow.end.as_ps(), (flow.end - flow.start).as_ps()] {
            writer.write_field(exact_seconds(ps))?;
        }
        writer.write_field(format!("{:.6}", slowdown(flow)))?;
        for count in [
            flow.counts.packets,
            flow.counts.retransmissions,
            flow.counts.timeouts,
            flow.counts.trims,
            flow.counts.marks,
        ] {
            writer.write_field(count.to_string())?;
        }
        writer.write_record([path(flow, labels)])?;
    }
    writer.flush()
}

/// The value that a share of a sorted sample does not exceed.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

impl Spread {
    /// Of a sorted sample that is not empty.
    pub(crate) fn of(sorted: &[f64]) -> Self {
        Self {
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            min: sorted[0],
            p50: percentile(sorted, 0.5),
            p90: percentile(sorted, 0.9),
            p99: percentile(sorted, 0.99),
            p99_9: percentile(sorted, 0.999),
            max: sorted[sorted.len() - 1],
        }
    }
}

/// Jain's index of fairness (Jain, Chiu, Hawe 1984): 1 when all are equal, 1/n when one has everything.
pub fn jain(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, squares, count) =
        values.fold((0.0, 0.0, 0.0), |(sum, squares, count), it| (sum + it, squares + it * it, count + 1.0));
    if squares == 0.0 { 1.0 } else { f64::min(sum * sum / (count * squares), 1.0) }
}

#[cfg(test)]
mod tests {
    use stratasim_core::observe::MessageCounts;
    use stratasim_core::{Duration, LinkId, NodeId, Time};

    use super::*;
    use crate::labels::Plain;

    fn flow(src: u32, start: u64, end: u64, least: u64) -> FlowRecord {
        FlowRecord {
            src: NodeId(src),
            dst: NodeId(9),
            bytes: 1000,
            start: Time::from_ps(start),
            end: Time::from_ps(end),
            least: Duration::from_ps(least),
            path: Box::new([LinkId(src)]),
            counts: MessageCounts { packets: 3, retransmissions: 1, timeouts: 0, trims: 2, marks: 4 },
        }
    }

    #[test]
    fn completion_times_and_slow_downs_are_those_of_the_sample() {
        // durations 100, 200, ... 1000 ps, each needs at least 100
        let flows: Vec<FlowRecord> = (1..=10).map(|n| flow(n, 50, 50 + 100 * u64::from(n), 100)).collect();
        let result = FlowsResult::of(&flows, &Plain).unwrap();
        assert_eq!((result.count, result.bytes, result.packets, result.trims), (10, 10_000, 30, 20));
        let Spread { mean, min, p50, p90, p99, max, .. } = result.slowdown;
        assert_eq!((mean, min, p50, p90, p99, max), (5.5, 1.0, 5.0, 9.0, 10.0, 10.0));
        assert!((result.duration_s.p50 - 500e-12).abs() < 1e-18);
        assert_eq!(result.slowdown_cdf.first(), Some(&[1.0, 0.1]));
        assert_eq!(result.slowdown_cdf.last(), Some(&[10.0, 1.0]));
        let slowest: Vec<f64> = result.slowest.iter().map(|flow| flow.slowdown).collect();
        assert_eq!(slowest, [10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]);
        assert_eq!(result.slowest[0].duration_s, 1000e-12);
        // rates are as 1, 1/2, ... 1/10
        let (sum, squares) =
            (1..=10).map(f64::from).fold((0.0, 0.0), |(s, q), n| (s + 1.0 / n, q + 1.0 / (n * n)));
        assert!((result.jain - sum * sum / (10.0 * squares)).abs() < 1e-12);
        assert_eq!(FlowsResult::of(&[], &Plain), None);
    }

    #[test]
    fn messages_are_written_line_by_line_with_exact_times() {
        let mut out = Vec::new();
        write_flows(&[flow(3, 1_000_000_000_001, 1_000_000_000_201, 100)], &mut out, &Plain).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line =
            "node 3,node 9,1000,1.000000000001,1.000000000201,0.000000000200,2.000000,3,1,0,2,4,link 3";
        assert_eq!(text.lines().nth(1), Some(line));
    }

    #[test]
    fn the_longest_queues_come_first() {
        let queue = |link: u32, most_bytes| QueueRecord {
            link: LinkId(link),
            from: (link == 1).then_some(NodeId(7)),
            capacity_bytes: if link == 2 { u64::MAX } else { 100 },
            most_bytes,
            drops: 0,
            trims: 0,
            marks: 0,
            pauses: 0,
        };
        let found = QueueResult::longest(&[queue(0, 5), queue(1, 70), queue(2, 70)], &Plain);
        let found: Vec<_> = found.iter().map(|it| (it.place(), it.capacity_bytes)).collect();
        let found: Vec<_> = found.iter().map(|(place, room)| (place.as_str(), *room)).collect();
        assert_eq!(found, [("link 1 at node 7", Some(100)), ("link 2", None), ("link 0", Some(100))]);
    }
}
