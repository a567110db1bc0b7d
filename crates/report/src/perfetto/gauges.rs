//! Counters that hold their value until told otherwise: bytes in queues, what happened to packets there, congestion windows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stratasim_core::observe::{Event, QueueCounts};
use stratasim_core::{LinkId, NodeId, Time};

use super::Clock;
use super::packet::Kind;
use super::tracks::Tracks;
use super::wire::Wire;
use crate::filter::TimeWindow;
use crate::labels::Labels;

/// What was seen of one thing over time.
#[derive(Debug, Clone, Default)]
struct Gauge {
    most: u64,
    /// Picoseconds, and the value from then on.
    values: Vec<(u64, u64)>,
}

impl Gauge {
    fn add(&mut self, at: Time, value: u64) {
        self.most = self.most.max(value);
        self.values.push((at.as_ps(), value));
    }

    /// Counts `more` between two looks, the second of which is in `window`; what was counted before it is known, too.
    fn count(&mut self, window: &TimeWindow, (start, end): (Time, Time), more: u32) {
        if more == 0 {
            return;
        }
        let before = self.most;
        self.most += u64::from(more);
        if window.overlaps(end, end) {
            if self.values.is_empty() {
                self.values.push((start.max(window.from).as_ps(), before));
            }
            self.values.push((end.as_ps(), self.most));
        }
    }
}

/// What is counted at queues: the group of the counters, their unit, and which number it is.
type Counted = (&'static str, &'static str, fn(&QueueCounts) -> u32);
const COUNTED: [Counted; 4] = [
    ("packets dropped", "packets", |counts| counts.drops),
    ("packets trimmed", "packets", |counts| counts.trims),
    ("packets marked", "packets", |counts| counts.marks),
    ("pauses", "pauses", |counts| counts.pauses),
];

/// Gathers values while a run goes on; the fullest are written at its end.
#[derive(Debug)]
pub(super) struct Gauges {
    window: TimeWindow,
    queues: BTreeMap<LinkId, Gauge>,
    /// In the order of [`COUNTED`].
    counts: [BTreeMap<LinkId, Gauge>; COUNTED.len()],
    windows: BTreeMap<u32, (NodeId, NodeId, Gauge)>,
}

impl Gauges {
    pub(super) const fn new(window: TimeWindow) -> Self {
        Self {
            window,
            queues: BTreeMap::new(),
            counts: [const { BTreeMap::new() }; COUNTED.len()],
            windows: BTreeMap::new(),
        }
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        match *event {
            Event::QueueDepth { link, at, bytes } if self.window.overlaps(at, at) => {
                self.queues.entry(link).or_default().add(at, bytes);
            }
            Event::QueueCounts { link, start, end, counts } => {
                for (gauges, (.., of)) in self.counts.iter_mut().zip(COUNTED) {
                    gauges.entry(link).or_default().count(&self.window, (start, end), of(&counts));
                }
            }
            Event::Window { connection, src, dst, at, bytes } if self.window.overlaps(at, at) => {
                let known = self.windows.entry(connection);
                known.or_insert_with(|| (src, dst, Gauge::default())).2.add(at, bytes);
            }
            _ => {}
        }
    }

    /// Writes what was seen of the `most` queues that were longest, and of those at which most was counted, in link order, and
    /// all windows.
    pub(super) fn write(
        &mut self,
        wire: &mut Wire<Vec<u8>>,
        tracks: &mut Tracks,
        labels: &dyn Labels,
        clock: Clock,
        most: usize,
    ) {
        let fullest = |gauges: BTreeMap<LinkId, Gauge>| -> Vec<(String, Gauge)> {
            let mut gauges: Vec<_> =
                gauges.into_iter().filter(|(_, gauge)| !gauge.values.is_empty()).collect();
            gauges.sort_by_key(|(link, gauge)| (Reverse(gauge.most), *link));
            gauges.truncate(most);
            gauges.sort_by_key(|(link, _)| *link);
            gauges.into_iter().map(|(link, gauge)| (labels.link(link), gauge)).collect()
        };
        let queues = std::mem::take(&mut self.queues);
        let counts = std::mem::take(&mut self.counts);
        let windows = std::mem::take(&mut self.windows).into_iter().map(|(number, (src, dst, gauge))| {
            (format!("{} to {} (connection {number})", labels.place(src), labels.place(dst)), gauge)
        });
        let counted =
            COUNTED.into_iter().zip(counts).map(|((group, unit, _), gauges)| (group, unit, fullest(gauges)));
        let groups = [("queue depth", "B", fullest(queues))].into_iter().chain(counted).chain([(
            "congestion window",
            "B",
            windows.collect(),
        )]);
        // behind the links
        for (at, (group, unit, gauges)) in (3..).zip(groups) {
            if gauges.is_empty() {
                continue;
            }
            let parent = tracks.uuid();
            wire.track(parent, &Kind::Group, group, at);
            for (order, (name, gauge)) in (0..).zip(&gauges) {
                let track = tracks.uuid();
                wire.track(track, &Kind::Counter { parent, unit }, name, order);
                for &(at, value) in &gauge.values {
                    wire.counter(track, clock.ticks(at), value as f64);
                }
            }
        }
    }
}
