//! Curves: a result over a parameter, one line per series, with reference points beside them.

use super::Picture;
use super::axis::{Axis, Scale};
use super::font;
use super::palette::Paint;
use super::scene::{Anchor, BODY, DASHED, Dash, Mark, SMALL, SOLID, Scene, Shape, TITLE, dash_of};

/// Most dots of a curve: on every point of a dense one they would hide it.
const MOST_DOTS: usize = 40;

/// One curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend; without one it is not there.
    pub name: String,
    /// Points `(x, y)` in the base units of the axes, in the order in which they are connected.
    pub points: Vec<(f64, f64)>,
    /// Points that another source gives for the same thing; drawn hollow and not connected.
    pub reference: Vec<(f64, f64)>,
    /// Drawn dashed, for bounds and ideals.
    pub dashed: bool,
    /// Which of the points are drawn hollow, see [`LineChart::hollow`]; none when empty.
    pub hollow: Vec<bool>,
    /// Points that have a dot, or of many as many as there is room for; those of the curve when empty.
    pub marks: Vec<(f64, f64)>,
}

impl Series {
    /// A solid curve without reference points.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        Self {
            name: name.into(),
            points,
            reference: Vec::new(),
            dashed: false,
            hollow: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The same with reference points.
    #[must_use]
    pub fn with_reference(mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.reference = points.into_iter().collect();
        self
    }

    /// The same with some of its points hollow.
    #[must_use]
    pub fn with_hollow(mut self, points: impl IntoIterator<Item = bool>) -> Self {
        self.hollow = points.into_iter().collect();
        self
    }

    /// The same with dots on other points than those of the curve, as on those of a distribution that goes up in steps.
    #[must_use]
    pub fn with_marks(mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.marks = points.into_iter().collect();
        self
    }

    /// The same, dashed.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// How its line is drawn, if it is the series number `at`.
    fn dash(&self, at: usize) -> Dash {
        if self.dashed { DASHED } else { dash_of(at) }
    }
}

/// A chart to be drawn.
#[derive(Debug, Clone)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
    /// What reference points are, such as `paper`; empty when there are none.
    pub reference: String,
    /// What hollow points of curves are, such as `saturated`; empty when there are none.
    pub hollow: String,
    /// Width and height in pixels.
    pub size: (f64, f64),
}

/// What curves have at least upwards, and what stands below them.
const LEAST_HEIGHT: f64 = 200.0;
const BELOW: f64 = 56.0;

impl LineChart {
    /// A chart without curves, 720 by 440 pixels.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            reference: String::new(),
            hollow: String::new(),
            size: (720.0, 440.0),
        }
    }

    /// Draws it. Points that an axis cannot show interrupt their curve.
    pub fn draw(&self) -> Picture {
        let (width, height) = (self.size.0.clamp(320.0, 4096.0), self.size.1.clamp(240.0, 4096.0));
        // a long legend takes nothing from the curves
        let top = self.legend(&mut Scene::new(width, height), width) + 18.0;
        let height = height.max(top + LEAST_HEIGHT + BELOW);
        let mut scene = Scene::new(width, height);
        scene.title(20.0, 28.0, &font::fitted(&self.title, width - 40.0, TITLE, true));
        self.legend(&mut scene, width);
        let bottom = height - BELOW;

        let points = || self.series.iter().flat_map(|series| series.points.iter().chain(&series.reference));
        let shown = || points().filter(|(x, y)| self.x.shows(*x) && self.y.shows(*y));
        let y = Scale::fit(&self.y, shown().map(|point| point.1), ((bottom - top) / 55.0).max(2.0) as usize);
        let widest = y.ticks.iter().map(|(_, label)| font::room(label, SMALL, false)).fold(0.0, f64::max);
        let (left, right) = (48.0 + widest, width - 28.0);
        let x = Scale::fit(&self.x, shown().map(|point| point.0), ((right - left) / 85.0).max(2.0) as usize);
        let last = x.ticks.last().map_or(0.0, |(_, label)| font::room(label, SMALL, false) / 2.0);
        let right = right.min(width - 4.0 - last);
        let (x, y) = (x.over(left, right), y.over(bottom, top));

        let mut free_above = f64::INFINITY;
        for (value, label) in &y.ticks {
            let at = y.at(*value);
            // close values share the line and the space of one label
            if at < free_above {
                scene.line((left, at), (right, at), Paint::Grid);
                scene.text(left - 8.0, at + 4.0, Anchor::End, Paint::Muted, SMALL, label.as_str());
                free_above = at - 1.2 * SMALL;
            }
        }
        let mut free_from = f64::NEG_INFINITY;
        for (value, label) in &x.ticks {
            let (at, half) = (x.at(*value), font::room(label, SMALL, false) / 2.0);
            scene.line((at, bottom), (at, bottom + 4.0), Paint::Axis);
            // close values share the space of one label
            if at - half > free_from {
                scene.text(at, bottom + 18.0, Anchor::Middle, Paint::Muted, SMALL, label.as_str());
                free_from = at + half + 6.0;
            }
        }
        scene.line((left, bottom), (right, bottom), Paint::Axis);
        let title = font::fitted(&x.title, right - left, BODY, false);
        scene.text((left + right) / 2.0, bottom + 41.0, Anchor::Middle, Paint::Muted, BODY, title);
        scene.upward(
            20.0,
            (top + bottom) / 2.0,
            BODY,
            &font::fitted(&y.title, bottom - top + 40.0, BODY, false),
        );

        for (at, series) in self.series.iter().enumerate() {
            let paint = Paint::Series(at as u8);
            let place =
                |(px, py): (f64, f64)| (self.x.shows(px) && self.y.shows(py)).then(|| (x.at(px), y.at(py)));
            let placed: Vec<Option<(f64, f64)>> = series.points.iter().copied().map(place).collect();
            for run in placed.split(Option::is_none) {
                let points: Vec<(f64, f64)> = run.iter().copied().flatten().collect();
                if let ([(x, y)], true) = (points.as_slice(), series.dashed) {
                    // a line needs two of them
                    let (x, y, mark) = (*x, *y, Mark::of(at));
                    scene.shapes.push(Shape::Mark { mark, x, y, radius: 3.6, paint, hollow: true });
                }
                if points.len() > 1 {
                    scene.shapes.push(Shape::Line { points, paint, width: 2.0, dash: series.dash(at) });
                }
            }
            // the dot of an equal value stays visible inside of its reference
            for (x, y) in series.reference.iter().copied().filter_map(place) {
                scene.shapes.push(Shape::Mark { mark: Mark::of(at), x, y, radius: 5.4, paint, hollow: true });
            }
            let marked: Vec<Option<(f64, f64)>> = match series.marks.as_slice() {
                [] => placed,
                marks => marks.iter().copied().map(place).collect(),
            };
            for point in dots(marked.len(), !series.marks.is_empty()) {
                if let Some((x, y)) = marked[point].filter(|_| !series.dashed) {
                    let hollow = series.hollow.get(point).copied().unwrap_or_default();
                    let radius = if hollow { 4.2 } else { 3.6 };
                    scene.shapes.push(Shape::Mark { mark: Mark::of(at), x, y, radius, paint, hollow });
                }
            }
        }
        if shown().next().is_none() {
            let middle = ((left + right) / 2.0, (top + bottom) / 2.0);
            scene.text(middle.0, middle.1, Anchor::Middle, Paint::Muted, BODY, "nothing to show");
        }
        Picture::new(scene, self.title.as_str())
    }

    /// The legend below the title, in as many lines as it takes; returns the lowest baseline.
    fn legend(&self, scene: &mut Scene, width: f64) -> f64 {
        let (mut x, mut y) = (20.0, 52.0);
        let mut entry = |scene: &mut Scene, name: &str, sample: &dyn Fn(&mut Scene, f64, f64)| {
            let name = font::fitted(name, width - 70.0, BODY, false);
            let room = 30.0 + font::room(&name, BODY, false);
            if x > 20.0 && x + room > width - 20.0 {
                (x, y) = (20.0, y + 19.0);
            }
            sample(scene, x, y - 4.0);
            scene.text(x + 30.0, y, Anchor::Start, Paint::Ink, BODY, name);
            x += room + 18.0;
        };
        // a curve alone needs no name
        let named = self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty());
        for (at, series) in named {
            entry(scene, &series.name, &|scene, x, y| {
                let (paint, dashed) = (Paint::Series(at as u8), series.dashed);
                scene.shapes.push(Shape::Line {
                    points: vec![(x, y), (x + 23.0, y)],
                    paint,
                    width: 2.0,
                    dash: series.dash(at),
                });
                if !dashed {
                    let mark = Mark::of(at);
                    scene.shapes.push(Shape::Mark {
                        mark,
                        x: x + 11.5,
                        y,
                        radius: 3.6,
                        paint,
                        hollow: false,
                    });
                }
            });
        }
        if !self.hollow.is_empty() {
            entry(scene, &self.hollow, &|scene, x, y| {
                let (mark, paint) = (Mark::Circle, Paint::Muted);
                let points = vec![(x, y), (x + 23.0, y)];
                scene.shapes.push(Shape::Line { points, paint, width: 2.0, dash: SOLID });
                scene.shapes.push(Shape::Mark { mark, x: x + 11.5, y, radius: 4.2, paint, hollow: true });
            });
        }
        if !self.reference.is_empty() {
            entry(scene, &self.reference, &|scene, x, y| {
                let (mark, paint) = (Mark::Circle, Paint::Muted);
                scene.shapes.push(Shape::Mark { mark, x: x + 14.0, y, radius: 5.0, paint, hollow: true });
            });
        }
        // without any name there is no line of them
        if x > 20.0 { y } else { 33.0 }
    }
}

/// The points that have a dot: evenly many apart, or the first and the last among them.
fn dots(points: usize, with_last: bool) -> Vec<usize> {
    if with_last && points > MOST_DOTS {
        return (0..MOST_DOTS).map(|dot| dot * (points - 1) / (MOST_DOTS - 1)).collect();
    }
    (0..points).step_by(points.div_ceil(MOST_DOTS).max(1)).collect()
}
