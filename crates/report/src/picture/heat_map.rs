//! Heat maps: a quantity over two others, such as the load of links over time or between racks.

use super::Picture;
use super::axis::{Axis, Scale, in_pictures};
use super::font;
use super::palette::{LEVELS, Paint};
use super::scene::{Anchor, BODY, SMALL, Scene, TITLE};
use crate::labels::Labels;
use crate::load::LinkLoad;
use crate::units::Unit;

/// Rows and columns drawn; of more, neighbours are merged.
const MOST_ROWS: usize = 64;
const MOST_COLUMNS: usize = 256;

/// A heat map to be drawn.
#[derive(Debug, Clone)]
pub struct HeatMap {
    /// What it shows.
    pub title: String,
    /// Name of the rows, such as `from rack`; may be empty.
    pub rows_title: String,
    /// Name of the columns, such as `to rack`; may be empty.
    pub columns_title: String,
    /// A label per row.
    pub rows: Vec<String>,
    /// A label per column; where they do not fit, some are left out.
    pub columns: Vec<String>,
    /// Values by row and column; those that are not numbers are left empty.
    pub values: Vec<Vec<f64>>,
    /// What a value measures.
    pub unit: Unit,
    /// The value of the strongest colour; the largest value when `None`.
    pub most: Option<f64>,
    /// Whether a cell of merged rows and columns has the largest of their values, not the mean.
    pub largest: bool,
    /// Width in pixels.
    pub width: f64,
    /// From when to when the columns reach, where they are time.
    pub(super) time: Option<(f64, f64)>,
}

impl HeatMap {
    /// A heat map of these rows and columns, 760 pixels wide.
    ///
    /// # Panics
    /// When `values` has another shape than the labels say.
    pub fn new(
        title: impl Into<String>,
        rows: Vec<String>,
        columns: Vec<String>,
        values: Vec<Vec<f64>>,
        unit: Unit,
    ) -> Self {
        assert_eq!(values.len(), rows.len(), "a row of values per label");
        assert!(values.iter().all(|row| row.len() == columns.len()), "a value per column");
        let title = title.into();
        let (rows_title, columns_title) = (String::new(), String::new());
        Self {
            title,
            rows_title,
            columns_title,
            rows,
            columns,
            values,
            unit,
            most: None,
            largest: false,
            width: 760.0,
            time: None,
        }
    }

    /// Rows that are merged into one.
    pub fn rows_per_cell(&self) -> usize {
        self.rows.len().div_ceil(MOST_ROWS).max(1)
    }

    /// Draws it.
    pub fn draw(&self) -> Picture {
        let width = self.width.clamp(320.0, 4096.0);
        let (by_row, by_column) = (self.rows_per_cell(), self.columns.len().div_ceil(MOST_COLUMNS).max(1));
        let cells = self.merged(by_row, by_column);
        let (row_count, column_count) = (cells.len(), self.columns.len().div_ceil(by_column));
        let largest = cells.iter().flatten().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
        let most = self.most.filter(|most| *most > 0.0).unwrap_or(if largest > 0.0 { largest } else { 1.0 });

        let labels: Vec<&String> = self.rows.iter().step_by(by_row).collect();
        let widest = labels.iter().map(|label| font::room(label, SMALL, false)).fold(0.0, f64::max);
        let titled = if self.rows_title.is_empty() { 0.0 } else { 20.0 };
        let left = (widest + 32.0).min(width * 0.4) + titled;
        let mut right = width - 104.0;
        let mut cell_width = (right - left) / column_count.max(1) as f64;
        // square cells where both sides are of the same kind, else rows that can be read
        let square = self.time.is_none() && row_count == column_count;
        let cell_height = if square {
            cell_width = cell_width.min(560.0 / row_count.max(1) as f64).min(56.0);
            right = left + cell_width * column_count as f64;
            cell_width
        } else {
            (420.0 / row_count.max(1) as f64).clamp(6.0, 20.0)
        };
        // as wide as its title, where that is wider than the cells
        let titled_width = font::room(&self.title, TITLE, true) + 40.0;
        let width = if square { (right + 104.0).max(titled_width.min(width)) } else { width }.max(320.0);
        let top = 48.0;
        let bottom = top + (cell_height * row_count as f64).max(90.0);
        let below = if self.columns_title.is_empty() && self.time.is_none() { 34.0 } else { 52.0 };
        let mut scene = Scene::new(width, bottom + below);
        // the unit of the colours stands beside it
        scene.title(20.0, 28.0, &font::fitted(&self.title, width - 40.0, TITLE, true));

        self.draw_cells(&mut scene, &cells, most, (left, top), (cell_width, cell_height));
        let every = (13.0 / cell_height).ceil() as usize;
        for (at, label) in labels.iter().enumerate().step_by(every.max(1)) {
            let y = top + (at as f64 + 0.5) * cell_height + 4.0;
            let label = font::fitted(label, left - titled - 30.0, SMALL, false);
            scene.text(left - 8.0, y, Anchor::End, Paint::Muted, SMALL, label);
        }
        if !self.rows_title.is_empty() {
            scene.upward(26.0, (top + bottom) / 2.0, BODY, &self.rows_title);
        }
        let base = top + cell_height * row_count as f64;
        if let Some((from, until)) = self.time {
            let time =
                Scale::exact("time", Unit::Seconds, from, until, ((right - left) / 95.0).max(2.0) as usize);
            let time = time.over(left, right);
            for (value, label) in &time.ticks {
                let x = time.at(*value);
                scene.line((x, base), (x, base + 4.0), Paint::Axis);
                scene.text(x, base + 18.0, Anchor::Middle, Paint::Muted, SMALL, label.as_str());
            }
            scene.text(
                (left + right) / 2.0,
                base + 38.0,
                Anchor::Middle,
                Paint::Muted,
                BODY,
                time.title.as_str(),
            );
        } else {
            let mut free_from = f64::NEG_INFINITY;
            for (at, label) in self.columns.iter().step_by(by_column).enumerate() {
                let x = left + (at as f64 + 0.5) * cell_width;
                let half = font::room(label, SMALL, false) / 2.0;
                if x - half > free_from {
                    scene.text(x, base + 16.0, Anchor::Middle, Paint::Muted, SMALL, label.as_str());
                    free_from = x + half + 6.0;
                }
            }
            let middle = (left + right) / 2.0;
            scene.text(middle, base + 38.0, Anchor::Middle, Paint::Muted, BODY, self.columns_title.as_str());
        }
        self.colour_bar(&mut scene, most, (right + 24.0, top), bottom.min(top + 240.0));
        Picture::new(scene, self.title.as_str())
    }

    /// Means over blocks of rows and columns, without the missing ones.
    fn merged(&self, by_row: usize, by_column: usize) -> Vec<Vec<f64>> {
        let columns = self.columns.len().div_ceil(by_column);
        let block = |rows: &[Vec<f64>], column: usize| {
            let within = column * by_column..((column + 1) * by_column).min(self.columns.len());
            let values =
                rows.iter().flat_map(|row| &row[within.clone()]).copied().filter(|value| value.is_finite());
            if self.largest {
                return values.reduce(f64::max).unwrap_or(f64::NAN);
            }
            let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
            if count == 0 { f64::NAN } else { sum / f64::from(count) }
        };
        self.values
            .chunks(by_row)
            .map(|rows| (0..columns).map(|column| block(rows, column)).collect())
            .collect()
    }

    /// Cells of one colour are one shape; neighbours in a row are one box.
    fn draw_cells(
        &self,
        scene: &mut Scene,
        cells: &[Vec<f64>],
        most: f64,
        origin: (f64, f64),
        size: (f64, f64),
    ) {
        let level = |value: f64| {
            value.is_finite().then(|| {
                let share = (value / most).clamp(0.0, 1.0);
                (share * f64::from(LEVELS - 1)).round() as u8
            })
        };
        // a hairline between cells that are large enough
        let (gap_x, gap_y) = (if size.0 > 7.0 { 0.8 } else { 0.0 }, if size.1 > 7.0 { 0.8 } else { 0.0 });
        let mut boxes: Vec<Vec<[f64; 4]>> = vec![Vec::new(); usize::from(LEVELS)];
        for (row, values) in cells.iter().enumerate() {
            let y = origin.1 + row as f64 * size.1;
            let mut start = 0;
            for end in 1..=values.len() {
                let here = level(values[start]);
                if gap_x == 0.0 && end < values.len() && level(values[end]) == here {
                    continue;
                }
                if let Some(here) = here {
                    let x = origin.0 + start as f64 * size.0;
                    let width = (end - start) as f64 * size.0 - gap_x;
                    boxes[usize::from(here)].push([x, y, width, size.1 - gap_y]);
                }
                start = end;
            }
        }
        for (level, boxes) in (0..).zip(boxes) {
            scene.boxes(boxes, Paint::Level(level), 1.0);
        }
        // numbers where there is room for them
        let texts = cells
            .iter()
            .map(|row| row.iter().map(|&value| in_pictures(&self.unit.format(value))).collect::<Vec<_>>());
        let widest =
            |texts: &[String]| texts.iter().map(|text| font::room(text, SMALL, false)).fold(0.0, f64::max);
        let texts: Vec<Vec<String>> = texts.collect();
        if size.1 < 16.0 || texts.iter().map(|row| widest(row)).fold(0.0, f64::max) + 6.0 > size.0 {
            return;
        }
        for (row, (values, texts)) in cells.iter().zip(&texts).enumerate() {
            for (column, (value, text)) in values.iter().zip(texts).enumerate() {
                let Some(level) = level(*value) else { continue };
                let paint = if level * 2 > LEVELS { Paint::OnFill } else { Paint::Ink };
                let (x, y) =
                    (origin.0 + (column as f64 + 0.5) * size.0, origin.1 + (row as f64 + 0.5) * size.1 + 4.0);
                scene.text(x, y, Anchor::Middle, paint, SMALL, text.as_str());
            }
        }
    }

    fn colour_bar(&self, scene: &mut Scene, most: f64, (x, top): (f64, f64), bottom: f64) {
        let step = (bottom - top) / f64::from(LEVELS);
        for level in 0..LEVELS {
            let y = bottom - f64::from(level + 1) * step;
            scene.fill(x, y, 12.0, step + 0.3, Paint::Level(level));
        }
        let axis = Axis { title: String::new(), unit: self.unit, log: false, from_zero: true };
        let scale = Scale::exact("", axis.unit, 0.0, most, 4).over(bottom, top);
        for (value, label) in &scale.ticks {
            let y = scale.at(*value);
            scene.line((x + 12.0, y), (x + 15.0, y), Paint::Axis);
            scene.text(x + 19.0, y + 4.0, Anchor::Start, Paint::Muted, SMALL, label.as_str());
        }
        scene.text(x, top - 10.0, Anchor::Start, Paint::Muted, SMALL, scale.title.as_str());
    }
}

/// How full the `most` fullest links were over time; in bytes per second where links have no rate.
pub fn link_heat_map(title: impl Into<String>, load: &LinkLoad, labels: &dyn Labels, most: usize) -> HeatMap {
    let mut links: Vec<(f64, stratasim_core::LinkId)> = load
        .totals()
        .map(|(link, bytes)| (labels.link_rate(link).map_or(bytes, |rate| bytes / rate.bytes_per_s()), link))
        .collect();
    let rated = links.iter().all(|&(_, link)| labels.link_rate(link).is_some());
    links.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    links.truncate(most);
    let values: Vec<Vec<f64>> = links
        .iter()
        .map(|&(_, link)| {
            let rate = labels.link_rate(link).filter(|_| rated);
            rate.map_or_else(|| load.rates(link), |rate| load.shares(link, rate))
        })
        .collect();
    let rows = links.iter().map(|&(_, link)| labels.link(link)).collect();
    let columns = vec![String::new(); load.bin_count()];
    let mut map =
        HeatMap::new(title, rows, columns, values, if rated { Unit::Share } else { Unit::BytesPerSecond });
    // a fat pipe carries more than its rate
    let fullest = map.values.iter().flatten().copied().fold(1.0, f64::max);
    map.most = rated.then_some(fullest);
    let from = load.origin().as_secs_f64();
    map.time = Some((from, from + load.bin_width().as_secs_f64() * load.bin_count().max(1) as f64));
    map
}
