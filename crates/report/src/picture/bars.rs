//! Stacked horizontal bars: where the time went, how full the links are.

use std::collections::BTreeMap;

use super::Picture;
use super::axis::{Axis, Scale, in_pictures};
use super::font;
use super::palette::Paint;
use super::scene::{Anchor, BODY, SMALL, Scene, TITLE};
use super::timeline::legend;
use crate::result::{JobResult, LinkResult, RankResult};
use crate::units::Unit;

/// Bars to be drawn.
#[derive(Debug, Clone)]
pub struct Bars {
    /// What they show.
    pub title: String,
    /// Name and unit of the quantity.
    pub axis: Axis,
    /// Names of the parts of a bar.
    pub parts: Vec<String>,
    /// A label per bar, and the sizes of its parts.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Width in pixels.
    pub width: f64,
    /// What is said behind the number of a bar, by its place.
    remarks: BTreeMap<usize, String>,
    paints: Option<Vec<Paint>>,
    /// What stands at the end of a bar.
    totals: bool,
}

impl Bars {
    /// Bars whose parts have the colours of series, 760 pixels wide.
    pub fn new<T: Into<String>>(
        title: impl Into<String>,
        axis: Axis,
        parts: impl IntoIterator<Item = T>,
    ) -> Self {
        let parts = parts.into_iter().map(Into::into).collect();
        Self {
            title: title.into(),
            axis,
            parts,
            rows: Vec::new(),
            width: 760.0,
            remarks: BTreeMap::new(),
            paints: None,
            totals: true,
        }
    }

    /// Adds a bar.
    pub fn push(&mut self, label: impl Into<String>, parts: impl IntoIterator<Item = f64>) {
        self.rows.push((label.into(), parts.into_iter().collect()));
    }

    /// Says something behind the number of the last bar.
    pub fn remark(&mut self, words: impl Into<String>) {
        self.remarks.insert(self.rows.len().saturating_sub(1), words.into());
    }

    fn paint(&self, part: usize) -> Paint {
        let paints = self.paints.as_ref();
        paints.and_then(|paints| paints.get(part).copied()).unwrap_or(Paint::Series(part as u8))
    }

    /// Draws them. What is no number counts as nothing, and so does a negative part of several; a bar of one part that is
    /// negative goes to the left.
    pub fn draw(&self) -> Picture {
        let width = self.width.clamp(320.0, 4096.0);
        let least = if self.parts.len() > 1 { 0.0 } else { f64::NEG_INFINITY };
        let size = |value: f64| if value.is_finite() { value.max(least) } else { 0.0 };
        let sums: Vec<f64> =
            self.rows.iter().map(|(_, parts)| parts.iter().copied().map(size).sum()).collect();
        let totals = if self.totals { self.axis.unit.format_all(&sums) } else { Vec::new() };
        let mut totals: Vec<String> = totals.iter().map(|text| in_pictures(text)).collect();
        for (at, words) in &self.remarks {
            if let Some(total) = totals.get_mut(*at) {
                *total += &format!(" ({words})");
            }
        }
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| font::room(text, BODY, false)).fold(0.0, f64::max)
        };
        let left = (widest(&mut self.rows.iter().map(|(label, _)| label)) + 34.0).min(width * 0.4);
        let right = width - 26.0 - widest(&mut totals.iter());
        let scale = Scale::fit(&self.axis, sums.iter().copied(), ((right - left) / 100.0).max(2.0) as usize)
            .over(left, right);
        let (thick, gap) = match self.rows.len() {
            0..=10 => (22.0, 12.0),
            11..=24 => (15.0, 7.0),
            _ => (11.0, 4.0),
        };
        let top = if self.parts.len() > 1 { 70.0 } else { 50.0 };
        // one bar's room where there is none, for a word about that
        let bottom = top + self.rows.len().max(1) as f64 * (thick + gap);
        let mut scene = Scene::new(width, bottom + 46.0);
        scene.title(20.0, 28.0, &font::fitted(&self.title, width - 40.0, TITLE, true));
        if self.parts.len() > 1 {
            let mut x = 20.0;
            for (at, part) in self.parts.iter().enumerate() {
                x = legend(&mut scene, x, 51.0, self.paint(at), part);
            }
        }
        for (value, label) in &scale.ticks {
            let x = scale.at(*value);
            scene.line((x, top - 6.0), (x, bottom), Paint::Grid);
            scene.text(x, bottom + 17.0, Anchor::Middle, Paint::Muted, SMALL, label.as_str());
        }
        scene.text(right, bottom + 36.0, Anchor::End, Paint::Muted, SMALL, scale.title.as_str());

        if self.rows.is_empty() {
            let middle = ((left + right) / 2.0, (top + bottom) / 2.0);
            scene.text(middle.0, middle.1, Anchor::Middle, Paint::Muted, BODY, "nothing to show");
        }
        let labels: Vec<&str> = self.rows.iter().map(|(label, _)| label.as_str()).collect();
        let labels = font::fitted_apart(&labels, left - 32.0, BODY, false);
        for (at, ((_, parts), label)) in self.rows.iter().zip(labels).enumerate() {
            let y = top + at as f64 * (thick + gap);
            let middle = y + thick / 2.0 + 4.0;
            scene.text(left - 10.0, middle, Anchor::End, Paint::Ink, BODY, label);
            let mut sum = 0.0;
            for (part, value) in parts.iter().copied().map(size).enumerate() {
                let (from, to) = (scale.at(sum), scale.at(sum + value));
                sum += value;
                scene.fill(from.min(to), y, (to - from).abs(), thick, self.paint(part));
                let share = Unit::Share.format(value / sums[at]);
                if self.parts.len() > 1
                    && thick >= 15.0
                    && font::room(&share, SMALL, false) + 10.0 < to - from
                {
                    let paint = if self.paint(part) == Paint::Idle { Paint::Ink } else { Paint::OnFill };
                    scene.text((from + to) / 2.0, middle, Anchor::Middle, paint, SMALL, share);
                }
            }
            if let Some(total) = totals.get(at) {
                // beside what goes to the left there is room on the right
                scene.text(
                    scale.at(sum.max(0.0)) + 7.0,
                    middle,
                    Anchor::Start,
                    Paint::Muted,
                    BODY,
                    total.as_str(),
                );
            }
        }
        let zero = scale.at(0.0);
        scene.line((zero, top - 6.0), (zero, bottom), Paint::Axis);
        Picture::new(scene, self.title.as_str())
    }
}

/// Where the time of ranks went. At most 16 bars: of more ranks, each bar is the mean of neighbours.
pub fn breakdown_bars(title: impl Into<String>, ranks: &[RankResult]) -> Bars {
    let axis = Axis::linear("time", Unit::Seconds);
    let mut bars = Bars::new(title, axis, ["compute", "memory", "exposed communication", "idle"]);
    bars.paints = Some(vec![Paint::Compute, Paint::Memory, Paint::Communication, Paint::Idle]);
    let group = ranks.len().div_ceil(16).max(1);
    for (at, members) in ranks.chunks(group).enumerate() {
        let first = at * group;
        let label = match members.len() {
            1 => format!("rank {first}"),
            count => format!("ranks {first}–{}", first + count - 1),
        };
        let mean =
            |part: fn(&RankResult) -> f64| members.iter().map(part).sum::<f64>() / members.len() as f64;
        bars.push(
            label,
            [mean(|r| r.compute_s), mean(|r| r.memory_s), mean(|r| r.comm_exposed_s), mean(|r| r.idle_s)],
        );
    }
    bars
}

/// How long each job took: its start, its time alone, and what the others cost it. At most 16 bars: of
/// more jobs those that ended last.
pub fn job_bars(title: impl Into<String>, jobs: &[JobResult]) -> Bars {
    let parts = ["before its start", "alone", "more because of the others"];
    let mut bars = Bars::new(title, Axis::linear("time", Unit::Seconds), parts);
    bars.paints = Some(vec![Paint::Idle, Paint::Compute, Paint::Communication]);
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|&a, &b| jobs[b].finish_s.total_cmp(&jobs[a].finish_s));
    order.truncate(16);
    order.sort_unstable();
    for job in order.into_iter().map(|job| &jobs[job]) {
        let alone = job.alone_s.map_or(job.duration_s, |alone| alone.min(job.duration_s));
        bars.push(job.name.as_str(), [job.start_s, alone, job.duration_s - alone]);
    }
    bars
}

/// How full the `most` fullest links were, the fullest first.
pub fn link_bars(title: impl Into<String>, links: &[LinkResult], most: usize) -> Bars {
    let mut bars = Bars::new(title, Axis::linear("utilisation", Unit::Share), ["utilisation"]);
    bars.paints = Some(vec![Paint::Communication]);
    let mut fullest: Vec<&LinkResult> = links.iter().collect();
    fullest.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    for link in fullest.into_iter().take(most) {
        bars.push(link.name.as_str(), [link.utilisation]);
    }
    bars
}
