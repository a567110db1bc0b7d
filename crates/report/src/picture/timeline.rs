//! A time line of chosen ranks: what each did when.
//!
//! Tasks that are wide enough are drawn one by one, with their names where these fit. Narrower ones
//! are summed up in cells of a few pixels: the fuller the cell, the stronger its colour. The size of
//! the picture therefore depends on its pixels, not on the number of tasks.

use std::collections::BTreeMap;

use stratasim_core::{Duration, Rank, Time};

use super::Picture;
use super::axis::Scale;
use super::font;
use super::palette::Paint;
use super::scene::{Anchor, BODY, SMALL, Scene, TITLE};
use crate::columns::{ACTIVITIES, TaskColumns};
use crate::filter::{Filter, TimeWindow};
use crate::labels::{Labels, activity_name};
use crate::units::Unit;

/// Ranks drawn; of more, as many are picked evenly.
pub const MOST_RANKS: usize = 48;
/// Strengths of colour for cells that are partly busy.
const STRENGTHS: u8 = 8;
/// Tasks at least this wide are drawn one by one, and cells for narrower ones are this wide, in pixels.
const CELL: f64 = 3.0;

/// A time line to be drawn.
pub struct Timeline<'a> {
    /// What ran.
    pub title: String,
    /// A line below the title; may be empty.
    pub subtitle: String,
    /// The recorded tasks.
    pub tasks: &'a TaskColumns,
    /// Names.
    pub labels: &'a dyn Labels,
    /// Ranks and window of time to draw; the axis is the window.
    pub filter: Filter,
    /// A row for each stream of a rank, named by [`Labels::stream`], in place of one for each activity:
    /// for schedules, whose streams are what the user wrote. Computation is drawn over communication,
    /// which may be a receive that waits.
    pub by_stream: bool,
    /// When the run ended, in seconds, so that the axis goes there although the tasks of that moment are not known.
    pub ran_until: Option<f64>,
    /// Whether it was stopped then.
    pub stopped: bool,
    /// Ranks that there are, where not all were recorded.
    pub of_ranks: Option<u32>,
    /// Width in pixels.
    pub width: f64,
}

/// The rows of one rank, by activity or by stream, and in each what is drawn, by activity.
type Rows = BTreeMap<u16, [Option<Layer>; 3]>;

/// What a row shows of one activity.
#[derive(Default)]
struct Layer {
    /// Tasks drawn one by one: start and end in pixels, vertex.
    singles: Vec<(f64, f64, u32)>,
    /// Pixels of each cell that are busy with narrow tasks.
    busy: Vec<f64>,
}

impl<'a> Timeline<'a> {
    /// A time line of everything in `tasks`, 960 pixels wide.
    pub fn new(title: impl Into<String>, tasks: &'a TaskColumns, labels: &'a dyn Labels) -> Self {
        Self {
            title: title.into(),
            subtitle: String::new(),
            tasks,
            labels,
            filter: Filter::default(),
            by_stream: false,
            ran_until: None,
            stopped: false,
            of_ranks: None,
            width: 960.0,
        }
    }

    /// Draws it.
    pub fn draw(&self) -> Picture {
        let width = self.width.clamp(320.0, 4096.0);
        let (present, range) = self.extent();
        let ranks: Vec<Rank> = pictured(present.len()).map(|at| present[at]).collect();
        let names: BTreeMap<Rank, String> =
            ranks.iter().map(|&rank| (rank, self.labels.rank(rank))).collect();
        let room = |name: &String| font::room(name, SMALL, false);
        let widest = names.values().map(room).fold(0.0, f64::max);
        let streams = self.stream_names(&ranks);
        let stream_room = streams.values().map(room).fold(0.0, f64::max);
        let stream_room = if streams.is_empty() { 0.0 } else { stream_room + 12.0 };
        let left = (widest + 30.0).clamp(60.0, width * 0.28) + stream_room;
        let plot = (left, width - 22.0);
        let (low, high) = self.axis(range);
        let seconds = |ps: u64| ps as f64 * 1e-12;
        let ticks = ((plot.1 - plot.0) / 95.0) as usize;
        let time = Scale::exact("time", Unit::Seconds, seconds(low), seconds(high), ticks.max(2))
            .over(plot.0, plot.1);
        let rows = self.rows(&ranks, (low, high), &time, plot);

        let count: usize = rows.values().map(Rows::len).sum();
        let (thick, gap) = match count {
            0..=12 => (18.0, 12.0),
            13..=36 => (11.0, 9.0),
            37..=72 => (7.0, 7.0),
            _ => (4.0, 5.0),
        };
        let top = if self.subtitle.is_empty() { 68.0 } else { 90.0 };
        let height_of = |rows: &Rows| rows.len() as f64 * (thick + 1.0) + gap;
        let bottom = top + rows.values().map(height_of).sum::<f64>().max(40.0);
        let mut scene = Scene::new(width, bottom + 44.0);
        scene.title(20.0, 28.0, &font::fitted(&self.title, width - 40.0, TITLE, true));
        if !self.subtitle.is_empty() {
            scene.text(
                20.0,
                47.0,
                Anchor::Start,
                Paint::Muted,
                BODY,
                font::fitted(&self.subtitle, width - 40.0, BODY, false),
            );
        }

        for (value, label) in &time.ticks {
            let x = time.at(*value);
            scene.line((x, top - 4.0), (x, bottom), Paint::Grid);
            scene.text(x, bottom + 17.0, Anchor::Middle, Paint::Muted, SMALL, label.as_str());
        }
        let mut y = top;
        let mut partly = false;
        for (at, (rank, rows)) in rows.iter().enumerate() {
            let height = height_of(rows) - gap;
            let name = numbered(*rank, &names[rank], left - stream_room - 28.0);
            // of many thin ranks only some can be named
            let named = at.is_multiple_of((13.0 / (height + gap)).ceil() as usize);
            if named {
                let x = left - stream_room - 10.0;
                scene.text(x, y + height / 2.0 + 4.0, Anchor::End, Paint::Ink, SMALL, name);
            }
            for (stream, layers) in rows {
                scene.fill(plot.0, y, plot.1 - plot.0, thick, Paint::Empty);
                // thinner rows have no room for a name each
                if let Some(name) = streams.get(stream).filter(|_| thick >= 11.0) {
                    let middle = y + thick / 2.0 + 4.0;
                    scene.text(left - 10.0, middle, Anchor::End, Paint::Muted, SMALL, name.as_str());
                }
                for (activity, layer) in ACTIVITIES.into_iter().zip(layers).rev() {
                    let Some(layer) = layer else { continue };
                    partly |= self.draw_layer(&mut scene, layer, activity.into(), plot, (y, thick));
                }
                y += thick + 1.0;
            }
            y += gap;
        }
        scene.line((plot.0, bottom), (plot.1, bottom), Paint::Axis);
        scene.text(plot.1, bottom + 35.0, Anchor::End, Paint::Muted, SMALL, time.title.as_str());
        let mut notes = Vec::new();
        let all = self.of_ranks.map_or(present.len(), |all| present.len().max(all as usize));
        if ranks.len() < all {
            notes.push(format!("{} of {} ranks", ranks.len(), Unit::Count.format(all as f64)));
        }
        if partly {
            notes.push("paler where tasks are too short to be drawn one by one and leave gaps".to_owned());
        }
        let room = plot.1 - 40.0 - font::room(&time.title, SMALL, false);
        let notes = font::fitted(&notes.join("; "), room, SMALL, false);
        scene.text(20.0, bottom + 35.0, Anchor::Start, Paint::Muted, SMALL, notes);
        let mut x = 20.0;
        for (at, activity) in ACTIVITIES.into_iter().enumerate() {
            if rows.values().flat_map(Rows::values).any(|layers| layers[at].is_some()) {
                x = legend(&mut scene, x, top - 18.0, activity.into(), activity_name(activity));
            }
        }
        if range.is_none() {
            let nothing = if self.stopped && self.filter.window == TimeWindow::ALWAYS {
                "no task was complete when the run was stopped"
            } else {
                "no task in this window"
            };
            let middle = ((plot.0 + plot.1) / 2.0, (top + bottom) / 2.0);
            scene.text(middle.0, middle.1, Anchor::Middle, Paint::Muted, BODY, nothing);
        }
        Picture::new(scene, self.title.as_str())
    }

    /// Which ranks are there, and from when to when something happens.
    fn extent(&self) -> (Vec<Rank>, Option<(u64, u64)>) {
        let window = self.filter.window;
        let mut ranks = Vec::new();
        let mut range: Option<(u64, u64)> = None;
        for task in self.tasks.iter() {
            if self.filter.ranks.contains(task.rank) && window.overlaps(task.start, task.end) {
                ranks.push(task.rank);
                let (start, end) = (task.start.max(window.from).as_ps(), task.end.min(window.until).as_ps());
                range = Some(range.map_or((start, end), |(low, high)| (low.min(start), high.max(end))));
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
        (ranks, range)
    }

    /// From when to when the axis goes: over the window, up to where something happens at an end that it leaves open.
    fn axis(&self, range: Option<(u64, u64)>) -> (u64, u64) {
        let TimeWindow { from, until } = self.filter.window;
        let low = if from == Time::ZERO { range.map_or(0, |(low, _)| low) } else { from.as_ps() };
        let high = if until == Time::MAX {
            let ended = self.ran_until.map(|seconds| Duration::from_secs_f64(seconds).as_ps());
            let last = range.map(|(_, high)| high).max(ended.filter(|&at| at > low));
            last.unwrap_or(low.saturating_add(1_000_000))
        } else {
            until.as_ps()
        };
        (low, high.max(low + 1))
    }

    /// Sorts tasks into rows.
    fn rows(
        &self,
        ranks: &[Rank],
        (low, high): (u64, u64),
        time: &Scale,
        plot: (f64, f64),
    ) -> BTreeMap<Rank, Rows> {
        let mut rows: BTreeMap<Rank, Rows> = ranks.iter().map(|&rank| (rank, Rows::new())).collect();
        let cells = ((plot.1 - plot.0) / CELL).ceil() as usize;
        for task in self.tasks.iter() {
            if !self.filter.window.overlaps(task.start, task.end) {
                continue;
            }
            let Some(of_rank) = rows.get_mut(&task.rank) else { continue };
            let activity = task.activity as usize;
            let row = if self.by_stream { task.stream } else { activity as u16 };
            let row = of_rank.entry(row).or_default()[activity].get_or_insert_default();
            let pixel = |ps: u64| time.at(ps.clamp(low, high) as f64 * 1e-12);
            let (from, to) = (pixel(task.start.as_ps()), pixel(task.end.as_ps()));
            if to - from >= CELL {
                row.singles.push((from, to, task.vertex));
                continue;
            }
            row.busy.resize(cells, 0.0);
            let cell = |x: f64| (((x - plot.0) / CELL) as usize).min(cells - 1);
            for (at, busy) in row.busy[cell(from)..=cell(to)].iter_mut().enumerate() {
                let left = plot.0 + (cell(from) + at) as f64 * CELL;
                *busy += (to.min(left + CELL) - from.max(left)).max(0.0);
            }
        }
        rows
    }

    /// The names of the streams of `ranks`, where rows are streams and there are several.
    fn stream_names(&self, ranks: &[Rank]) -> BTreeMap<u16, String> {
        let mut names = BTreeMap::new();
        if self.by_stream {
            let window = self.filter.window;
            for task in self.tasks.iter().filter(|task| window.overlaps(task.start, task.end)) {
                if !names.contains_key(&task.stream) && ranks.binary_search(&task.rank).is_ok() {
                    names.insert(task.stream, self.labels.stream(task.rank, task.stream, task.activity));
                }
            }
        }
        if names.len() > 1 { names } else { BTreeMap::new() }
    }

    /// Draws one activity of a row; says whether some of it is summed up and partly busy.
    fn draw_layer(
        &self,
        scene: &mut Scene,
        row: &Layer,
        paint: Paint,
        (left, right): (f64, f64),
        (y, thick): (f64, f64),
    ) -> bool {
        // cells of the same strength that touch are one box
        let mut boxes: [Vec<[f64; 4]>; STRENGTHS as usize] = Default::default();
        let (mut start, mut level) = (left, 0);
        for (at, busy) in smoothed(&row.busy).into_iter().chain([0.0]).enumerate() {
            let x = (left + at as f64 * CELL).min(right);
            let next = strength(busy / CELL, level);
            if next != level {
                if level > 0 {
                    boxes[usize::from(level) - 1].push([start, y, x - start, thick]);
                }
                (start, level) = (x, next);
            }
        }
        let partly = boxes[..boxes.len() - 1].iter().any(|boxes| !boxes.is_empty());
        for (level, boxes) in (1_u8..).zip(boxes) {
            scene.boxes(boxes, paint, 0.1 + 0.9 * f64::from(level) / f64::from(STRENGTHS));
        }
        let mut singles = row.singles.clone();
        singles.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut boxes: Vec<[f64; 4]> = Vec::new();
        for &(from, to, _) in &singles {
            // a hairline between neighbours that are wide enough for it; what touches or overlaps is one box
            let room = if to - from > 7.0 { 0.7 } else { 0.0 };
            match boxes.last_mut() {
                Some([x, _, width, _]) if from < *x + *width + 0.05 => *width = width.max(to - room - *x),
                _ => boxes.push([from, y, to - from - room, thick]),
            }
        }
        scene.boxes(boxes, paint, 1.0);
        if thick >= 14.0 {
            // where tasks of several streams overlap, the first name that fits is shown
            let mut free_from = f64::NEG_INFINITY;
            for (from, to, vertex) in singles {
                let name = self.labels.vertex(vertex);
                if from >= free_from && font::room(&name, SMALL, false) + 8.0 <= to - from {
                    scene.text(from + 5.0, y + thick / 2.0 + 4.0, Anchor::Start, Paint::OnFill, SMALL, name);
                    free_from = to;
                }
            }
        }
        partly
    }
}

/// As much of the name of a rank as has `room`: its number in any case.
fn numbered(rank: Rank, name: &str, room: f64) -> String {
    let plain = format!("rank {rank}");
    let short = font::fitted(name, room, SMALL, false);
    let is_whole = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_digit());
    if !name.starts_with(&plain) || short.strip_prefix(&plain).is_some_and(is_whole) {
        return short;
    }
    let fits = font::room(&plain, SMALL, false) <= room;
    if fits { plain } else { rank.to_string() }
}

/// Each busy cell as the mean of the busy ones around it: a load that is the same all along must not
/// flicker because tasks and cells do not align. Empty cells stay empty.
fn smoothed(busy: &[f64]) -> Vec<f64> {
    const REACH: usize = 2;
    let mean = |at: usize| {
        let around = &busy[at.saturating_sub(REACH)..(at + REACH + 1).min(busy.len())];
        let (sum, count) = around
            .iter()
            .filter(|busy| **busy > 0.0)
            .fold((0.0, 0.0), |(sum, count), busy| (sum + busy, count + 1.0));
        sum / count
    };
    (0..busy.len()).map(|at| if busy[at] > 0.0 { mean(at) } else { 0.0 }).collect()
}

/// The strength of a cell that is `busy` for a part of its time, beside one of strength `before`. A
/// value near the border between two strengths stays with its neighbour.
fn strength(busy: f64, before: u8) -> u8 {
    if busy <= 0.002 {
        return 0;
    }
    let scaled = busy * f64::from(STRENGTHS);
    let near = before > 0 && (scaled - f64::from(before)).abs() < 0.75;
    if near { before } else { (scaled.round() as u8).clamp(1, STRENGTHS) }
}

/// A swatch and its name; returns where the next one may begin.
pub(super) fn legend(scene: &mut Scene, x: f64, y: f64, paint: Paint, name: &str) -> f64 {
    scene.fill(x, y - 9.5, 11.0, 11.0, paint);
    scene.text(x + 16.0, y, Anchor::Start, Paint::Ink, BODY, name);
    x + 16.0 + font::room(name, BODY, false) + 20.0
}

/// Which of so many ranks a time line shows: at most [`MOST_RANKS`], evenly spread, with the first and the last.
pub fn pictured(ranks: usize) -> impl Iterator<Item = usize> {
    let shown = ranks.min(MOST_RANKS);
    (0..shown).map(move |at| if shown < ranks { at * (ranks - 1) / (shown - 1) } else { at })
}
