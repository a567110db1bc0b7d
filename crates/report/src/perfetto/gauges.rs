//! Counters that hold their value until told otherwise: bytes in queues, congestion windows.

use std::collections::BTreeMap;

use stratasim_core::observe::Event;
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
    name: String,
    most: u64,
    values: Vec<(u64, u64)>,
}

impl Gauge {
    fn add(&mut self, at: Time, value: u64) {
        self.most = self.most.max(value);
        self.values.push((at.as_ps(), value));
    }
}

/// Gathers values while a run goes on; the fullest are written at its end.
#[derive(Debug)]
pub(super) struct Gauges {
    window: TimeWindow,
    queues: BTreeMap<LinkId, Gauge>,
    windows: BTreeMap<u32, (NodeId, NodeId, Gauge)>,
}

impl Gauges {
    pub(super) const fn new(window: TimeWindow) -> Self {
        Self { window, queues: BTreeMap::new(), windows: BTreeMap::new() }
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        match *event {
            Event::QueueDepth { link, at, bytes } if self.window.overlaps(at, at) => {
                self.queues.entry(link).or_default().add(at, bytes);
            }
            Event::Window { connection, src, dst, at, bytes } if self.window.overlaps(at, at) => {
                let known = self.windows.entry(connection);
                known.or_insert_with(|| (src, dst, Gauge::default())).2.add(at, bytes);
            }
            _ => {}
        }
    }

    /// Writes the `most` queues that were longest, in link order, and all windows.
    pub(super) fn write(
        &mut self,
        wire: &mut Wire<Vec<u8>>,
        tracks: &mut Tracks,
        labels: &dyn Labels,
        clock: Clock,
        most: usize,
    ) {
        let mut queues: Vec<(LinkId, Gauge)> = std::mem::take(&mut self.queues).into_iter().collect();
        queues.sort_by_key(|(link, gauge)| (std::cmp::Reverse(gauge.most), *link));
        queues.truncate(most);
        queues.sort_by_key(|(link, _)| *link);
        let queues = queues.into_iter().map(|(link, gauge)| Gauge { name: labels.link(link), ..gauge });
        let windows = std::mem::take(&mut self.windows).into_iter().map(|(number, (src, dst, gauge))| {
            let name = format!("{} to {} (connection {number})", labels.place(src), labels.place(dst));
            Gauge { name, ..gauge }
        });
        let groups: [(&str, Vec<Gauge>); 2] =
            [("queue depth", queues.collect()), ("congestion window", windows.collect())];
        // behind the links
        for (at, (group, gauges)) in (3..).zip(groups) {
            if gauges.is_empty() {
                continue;
            }
            let parent = tracks.uuid();
            wire.track(parent, &Kind::Group, group, at);
            for (order, gauge) in (0..).zip(&gauges) {
                let track = tracks.uuid();
                wire.track(track, &Kind::Counter { parent, unit: "B" }, &gauge.name, order);
                for &(at, value) in &gauge.values {
                    wire.counter(track, clock.ticks(at), value as f64);
                }
            }
        }
    }
}
