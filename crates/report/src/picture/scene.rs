//! What a picture consists of, before it is SVG or pixels.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::palette::{Paint, SERIES};

/// Shapes in drawing order, in pixels from the upper left corner.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) shapes: Vec<Shape>,
}

/// Where a text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The form of a data point. Differs by series, so that colour is not needed to tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mark {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
}

/// Different marks; that and the number of colours have no common divisor, so that series share both as late as can be.
const MARKS: usize = 5;

impl Mark {
    /// The mark of a series.
    pub(crate) const fn of(series: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::TriangleDown][series % MARKS]
    }

    /// Its corners around the origin for a radius of one; none for a circle.
    pub(crate) const fn corners(self) -> &'static [(f64, f64)] {
        match self {
            Self::Circle => &[],
            Self::Square => &[(-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)],
            Self::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Self::Diamond => &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
            Self::TriangleDown => &[(0.0, 1.2), (-1.1, -0.8), (1.1, -0.8)],
        }
    }
}

/// Lengths in pixels of dashes and gaps of a line in turn; none where it has no gaps.
pub(crate) type Dash = Cow<'static, [f32]>;

/// A line without gaps.
pub(crate) const SOLID: Dash = Cow::Borrowed(&[]);
/// A line that is no curve of its own, such as a bound.
pub(crate) const DASHED: Dash = Cow::Borrowed(&[5.0, 4.0]);

/// The line of a series, which differs where colours and marks of series have all been there.
pub(crate) const fn dash_of(series: usize) -> Dash {
    const DASHES: [&[f32]; 4] = [&[], &[12.0, 5.0], &[1.0, 5.0], &[1.0, 4.0, 9.0, 4.0]];
    Cow::Borrowed(DASHES[series / (SERIES as usize * MARKS) % DASHES.len()])
}

/// One thing to draw.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// Filled rectangles `[x, y, width, height]` of one colour.
    Boxes { boxes: Vec<[f64; 4]>, paint: Paint, opacity: f64 },
    /// Connected lines.
    Line { points: Vec<(f64, f64)>, paint: Paint, width: f64, dash: Dash },
    /// A data point; a hollow one shows the background inside.
    Mark { mark: Mark, x: f64, y: f64, radius: f64, paint: Paint, hollow: bool },
    /// Text on a baseline, or turned by a quarter to the left.
    Text { x: f64, y: f64, size: f64, bold: bool, anchor: Anchor, paint: Paint, turned: bool, text: String },
}

impl Scene {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    pub(crate) fn fill(&mut self, x: f64, y: f64, width: f64, height: f64, paint: Paint) {
        self.boxes(vec![[x, y, width, height]], paint, 1.0);
    }

    pub(crate) fn boxes(&mut self, boxes: Vec<[f64; 4]>, paint: Paint, opacity: f64) {
        if !boxes.is_empty() {
            self.shapes.push(Shape::Boxes { boxes, paint, opacity });
        }
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), paint: Paint) {
        self.shapes.push(Shape::Line { points: vec![from, to], paint, width: 1.0, dash: SOLID });
    }

    pub(crate) fn text(
        &mut self,
        x: f64,
        y: f64,
        anchor: Anchor,
        paint: Paint,
        size: f64,
        text: impl Into<String>,
    ) {
        let text = text.into();
        if !text.is_empty() {
            self.shapes.push(Shape::Text { x, y, size, bold: false, anchor, paint, turned: false, text });
        }
    }

    pub(crate) fn title(&mut self, x: f64, y: f64, text: &str) {
        let (size, anchor, paint, text) = (TITLE, Anchor::Start, Paint::Ink, text.to_owned());
        self.shapes.push(Shape::Text { x, y, size, bold: true, anchor, paint, turned: false, text });
    }

    /// Text that reads upwards, centred on `(x, y)`.
    pub(crate) fn upward(&mut self, x: f64, y: f64, size: f64, text: &str) {
        let (anchor, paint, text) = (Anchor::Middle, Paint::Muted, text.to_owned());
        self.shapes.push(Shape::Text { x, y, size, bold: false, anchor, paint, turned: true, text });
    }
}

/// Size of titles.
pub(crate) const TITLE: f64 = 15.0;
/// Size of all other text.
pub(crate) const BODY: f64 = 12.0;
/// Size of tick labels.
pub(crate) const SMALL: f64 = 11.0;
