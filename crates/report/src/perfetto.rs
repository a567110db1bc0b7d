//! Traces for <https://ui.perfetto.dev>, in Perfetto's own protobuf format.
//!
//! One process per rank with a thread per stream and activity; overlapping tasks of one stream take
//! several threads. Messages are slices on the sender, with an arrow to an instant on the receiver, and
//! with what their transport counted, their slow-down and their path where the network follows them.
//! The fullest links have counters, in percent and in bytes per second; where the network has queues and
//! transports, so have the longest queues, in bytes, those with the most packets dropped, trimmed or marked
//! and with the most pauses, as numbers so far, and the congestion windows of the first connections.
//!
//! The file is written while the run goes on; memory holds names, tracks and the load of links, not
//! the tasks.
//!
//! Perfetto counts whole nanoseconds, we count picoseconds. Times are rounded to the nearest
//! nanosecond, so a task may be up to 1 ns longer or shorter than it is, and one below half a
//! nanosecond can get no length at all; order is kept. With `clock = "ps"` nothing is rounded: one
//! nanosecond on the screen is then one picosecond of simulated time, and a track says so.

mod gauges;
mod packet;
mod tracks;
mod wire;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::observe::{Event, Interests, MessageSpan, Observer, TaskSpan};
use stratasim_core::{LinkId, Rank, Time};

use crate::filter::{RankSet, TimeWindow};
use crate::flows;
use crate::labels::Labels;
use crate::load::LinkLoad;
use gauges::Gauges;
use packet::{Fate, Kind, Slice};
use tracks::{Row, Tracks};
use wire::Wire;

/// What a trace holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PerfettoOptions {
    /// Ranks whose tasks are drawn; a message is drawn at those of its ends that are among them.
    pub ranks: RankSet,
    /// Window of simulated time; what overlaps it is drawn whole.
    pub window: TimeWindow,
    /// Whether messages are drawn, with arrows from sender to receiver.
    pub messages: bool,
    /// How many links have counters; the fullest ones of the window are taken.
    pub links: u32,
    /// Points of a counter.
    pub points: u32,
    /// What one nanosecond on the screen stands for.
    pub clock: Clock,
}

impl Default for PerfettoOptions {
    fn default() -> Self {
        Self {
            ranks: RankSet::all(),
            window: TimeWindow::ALWAYS,
            messages: true,
            links: 64,
            points: 1024,
            clock: Clock::default(),
        }
    }
}

/// What one nanosecond of a trace stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Clock {
    /// One nanosecond; times are rounded to it.
    #[default]
    #[serde(rename = "ns")]
    Nanoseconds,
    /// One picosecond; nothing is rounded, and the screen shows everything a thousand times too long.
    #[serde(rename = "ps")]
    Picoseconds,
}

impl Clock {
    #[inline]
    const fn ticks(self, ps: u64) -> u64 {
        match self {
            // halves go up, so that order is kept
            Self::Nanoseconds => ps / 1000 + (ps % 1000 >= 500) as u64,
            Self::Picoseconds => ps,
        }
    }
}

/// Bytes gathered before they are written.
const CHUNK: usize = 1 << 16;

/// Writes a trace while it watches a run.
pub struct PerfettoTrace<'a, W: Write> {
    options: PerfettoOptions,
    labels: &'a dyn Labels,
    out: W,
    wire: Wire<Vec<u8>>,
    tracks: Tracks,
    names: Interned,
    load: LinkLoad,
    gauges: Gauges,
    messages: u64,
    slices: u64,
    error: Option<io::Error>,
}

impl<'a, W: Write + Send> PerfettoTrace<'a, W> {
    /// A trace written to `out`, which needs no buffer of its own.
    pub fn new(out: W, options: PerfettoOptions, labels: &'a dyn Labels) -> Self {
        let mut wire = Wire { bytes: Vec::with_capacity(2 * CHUNK) };
        wire.preamble();
        let mut tracks = Tracks::new();
        if options.clock == Clock::Picoseconds {
            let uuid = tracks.uuid();
            wire.track(uuid, &Kind::Group, "1 ns on this screen is 1 ps of simulated time", 0);
        }
        let load = LinkLoad::new(options.window, options.points as usize);
        let names = Interned::default();
        let gauges = Gauges::new(options.window);
        Self { options, labels, out, wire, tracks, names, load, gauges, messages: 0, slices: 0, error: None }
    }

    /// Slices and instants so far.
    pub const fn slices(&self) -> u64 {
        self.slices
    }

    /// Writes the counters and what is left, and gives `out` back.
    ///
    /// # Errors
    /// The first error of `out` since the beginning.
    pub fn finish(mut self) -> io::Result<W> {
        self.counters();
        let Self { options, labels, wire, tracks, gauges, .. } = &mut self;
        gauges.write(wire, tracks, *labels, options.clock, options.links as usize);
        self.write();
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    #[inline]
    fn task(&mut self, task: &TaskSpan) {
        let PerfettoOptions { ranks, window, .. } = &self.options;
        if !ranks.contains(task.rank) || !window.overlaps(task.start, task.end) {
            return;
        }
        let (start, end) = (task.start.as_ps(), task.end.as_ps());
        let row = Row::Tasks(task.activity, task.stream);
        let track = self.tracks.lane(&mut self.wire, self.labels, task.rank, row, start, end);
        let (name, new) = self.names.vertices.id(task.vertex, &mut self.names.next);
        let new_name = new.then(|| self.labels.vertex(task.vertex));
        self.wire.slice(&Slice {
            track,
            start: self.options.clock.ticks(start),
            end: self.options.clock.ticks(end),
            name,
            new_name: new_name.as_deref(),
            category: task.activity as u64 + 1,
            iteration: Some(task.iteration),
            bytes: task.bytes,
            fate: None,
            flow: None,
        });
        self.written();
    }

    fn message(&mut self, message: &MessageSpan) {
        let PerfettoOptions { ranks, window, .. } = &self.options;
        let [from, to] = [message.src, message.dst].map(|rank| ranks.contains(rank));
        if !(from || to) || !window.overlaps(message.start, message.end) {
            return;
        }
        let (start, end) = (message.start.as_ps(), message.end.as_ps());
        self.messages += 1;
        let (sent, received, path);
        let mut slice = Slice {
            track: 0,
            start: self.options.clock.ticks(start),
            end: self.options.clock.ticks(end),
            name: 0,
            new_name: None,
            category: packet::CATEGORIES.len() as u64,
            iteration: None,
            bytes: message.bytes,
            fate: None,
            // an arrow needs both ends
            flow: (from && to).then_some(self.messages),
        };
        if let Some(flow) = &message.flow {
            let (id, new) = self.names.path(&flow.path);
            path = new.then(|| flows::path(flow, self.labels));
            let (counts, slowdown) = (flow.counts, flows::slowdown(flow));
            slice.fate = Some(Fate { counts, slowdown, path: id, new_path: path.as_deref() });
        }
        if from {
            let (name, new) = self.names.sent.id(message.dst.0, &mut self.names.next);
            sent = new.then(|| format!("to {}", self.labels.rank(message.dst)));
            slice.track = self.tracks.lane(&mut self.wire, self.labels, message.src, Row::Sent, start, end);
            slice.name = name;
            slice.new_name = sent.as_deref();
            self.wire.slice(&slice);
            self.written();
            if let Some(fate) = &mut slice.fate {
                fate.new_path = None;
            }
        }
        if to {
            let (name, new) = self.names.received.id(message.src.0, &mut self.names.next);
            received = new.then(|| format!("from {}", self.labels.rank(message.src)));
            // instants take no room: any number fits on one track
            slice.track = self.tracks.lane(&mut self.wire, self.labels, message.dst, Row::Received, end, 0);
            slice.name = name;
            slice.new_name = received.as_deref();
            self.wire.instant(&slice);
            self.written();
        }
    }

    /// Two counters for each of the fullest links.
    fn counters(&mut self) {
        let mut links = self.load.fullest(self.labels);
        links.truncate(self.options.links as usize);
        links.sort_by_key(|&(link, ..)| link);
        if links.is_empty() {
            return;
        }
        let groups = [("link utilisation", "%"), ("link rate", "B/s")];
        for (at, (group, unit)) in (1..).zip(groups) {
            let parent = self.tracks.uuid();
            self.wire.track(parent, &Kind::Group, group, at);
            for (order, &(link, ..)) in (0..).zip(&links) {
                let values = match (unit, self.labels.link_rate(link)) {
                    ("%", Some(rate)) if rate.bytes_per_s() > 0.0 => {
                        self.load.shares(link, rate).into_iter().map(|share| share * 100.0).collect()
                    }
                    ("%", _) => continue,
                    _ => self.load.rates(link),
                };
                let uuid = self.tracks.uuid();
                self.wire.track(uuid, &Kind::Counter { parent, unit }, &self.labels.link(link), order);
                self.samples(uuid, &values);
            }
        }
    }

    /// The load of one link, as a counter that changes where the load does and ends at zero.
    fn samples(&mut self, track: u64, values: &[f64]) {
        let (origin, width) = (self.load.origin().as_ps(), self.load.bin_width().as_ps());
        let mut last = f64::NAN;
        for (bin, value) in (0..).zip(values.iter().copied().chain([0.0])) {
            if value != last {
                self.wire.counter(track, self.options.clock.ticks(origin + bin * width), value);
                last = value;
            }
        }
        self.spill();
    }

    #[inline]
    fn written(&mut self) {
        self.slices += 1;
        self.spill();
    }

    #[inline]
    fn spill(&mut self) {
        if self.wire.bytes.len() >= CHUNK {
            self.write();
        }
    }

    #[cold]
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.wire.bytes).err();
        }
        self.wire.bytes.clear();
    }
}

impl<W: Write + Send> Observer for PerfettoTrace<'_, W> {
    fn interests(&self) -> Interests {
        let links = self.options.links > 0;
        Interests { tasks: true, messages: self.options.messages, link_uses: links, queues: links }
    }

    fn span(&self) -> (Time, Time) {
        (self.options.window.from, self.options.window.until)
    }

    #[inline]
    fn on_event(&mut self, event: &Event) {
        match event {
            _ if self.error.is_some() => {}
            Event::Task(task) => self.task(task),
            Event::Message(message) if self.options.messages => self.message(message),
            Event::LinkUse { .. } if self.options.links > 0 => self.load.on_event(event),
            Event::QueueDepth { .. } | Event::QueueCounts { .. } | Event::Window { .. }
                if self.options.links > 0 =>
            {
                self.gauges.on_event(event);
            }
            _ => {}
        }
    }
}

/// Names that were written before, by their interned id.
#[derive(Default)]
struct Interned {
    next: u64,
    vertices: Ids,
    sent: Ids,
    received: Ids,
    paths: BTreeMap<Box<[LinkId]>, u64>,
}

impl Interned {
    /// The interned id of a path, 0 for one without links, and whether it is new.
    fn path(&mut self, links: &[LinkId]) -> (u64, bool) {
        if links.is_empty() {
            return (0, false);
        }
        if let Some(&id) = self.paths.get(links) {
            return (id, false);
        }
        let id = self.paths.len() as u64 + 1;
        self.paths.insert(links.into(), id);
        (id, true)
    }
}

/// Interned ids by dense id; 0 where there is none yet.
#[derive(Default)]
struct Ids(Vec<u64>);

impl Ids {
    /// The interned id, and whether it is new.
    #[inline]
    fn id(&mut self, of: u32, next: &mut u64) -> (u64, bool) {
        let at = Rank(of).index();
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        let id = &mut self.0[at];
        let new = *id == 0;
        if new {
            *next += 1;
            *id = *next;
        }
        (*id, new)
    }
}
