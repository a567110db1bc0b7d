//! Widths and outlines of letters, from a font that travels with the program.
//!
//! The same metrics lay out SVG, where readers may have another font: layouts leave some space.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

static REGULAR: LazyLock<Face<'static>> =
    LazyLock::new(|| parse(include_bytes!("../../assets/inter-regular.otf")));
static BOLD: LazyLock<Face<'static>> =
    LazyLock::new(|| parse(include_bytes!("../../assets/inter-semibold.otf")));

/// What SVG asks readers to use.
pub(crate) const FAMILY: &str =
    "Inter,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

fn parse(bytes: &'static [u8]) -> Face<'static> {
    Face::parse(bytes, 0).expect("the built-in font is well formed")
}

fn face(bold: bool) -> &'static Face<'static> {
    if bold { &BOLD } else { &REGULAR }
}

/// Glyphs with their advances; a letter that the font lacks is none as wide as it is high, as most such letters are.
fn glyphs(text: &str, bold: bool) -> impl Iterator<Item = (Option<GlyphId>, f64)> {
    let face = face(bold);
    text.chars().map(move |c| match face.glyph_index(c) {
        Some(glyph) => (Some(glyph), f64::from(face.glyph_hor_advance(glyph).unwrap_or(0))),
        None => (None, f64::from(face.units_per_em())),
    })
}

/// Width of `text` at `size` pixels per em.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let units: f64 = glyphs(text, bold).map(|(_, advance)| advance).sum();
    units * size / f64::from(face(bold).units_per_em())
}

/// Room to leave for `text`: readers may have a font that is wider than ours, of which that of Debian is the widest.
pub(crate) fn room(text: &str, size: f64, bold: bool) -> f64 {
    let wider = if bold { 1.2 } else { 1.09 };
    wider * width(text, size, bold)
}

/// The longest form of `text` that needs at most `space`, with an ellipsis in its middle; empty when
/// not even three letters fit.
pub(crate) fn fitted(text: &str, space: f64, size: f64, bold: bool) -> String {
    if room(text, size, bold) <= space {
        return text.to_owned();
    }
    let shorter = (3..text.chars().count()).rev().map(|kept| crate::style::shorten(text, kept + 1, "…"));
    shorter.into_iter().find(|short| room(short, size, bold) <= space).unwrap_or_default()
}

/// The same of several, so that no two read the same that are not.
pub(crate) fn fitted_apart(texts: &[&str], space: f64, size: f64, bold: bool) -> Vec<String> {
    let plain: Vec<String> = texts.iter().map(|text| fitted(text, space, size, bold)).collect();
    let alike = |at: usize| (0..at).any(|other| plain[other] == plain[at] && texts[other] != texts[at]);
    if !(0..texts.len()).any(alike) {
        return plain;
    }
    let most = plain.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let shorter = (4..=most).rev().map(|columns| crate::style::shorten_apart(texts, columns, "…"));
    let fits = |short: &Vec<String>| short.iter().all(|text| room(text, size, bold) <= space);
    shorter.into_iter().find(fits).unwrap_or(plain)
}

/// Draws the outlines of `text`: the baseline begins at the origin, y points down, in pixels.
pub(crate) fn outline(text: &str, size: f64, bold: bool, pen: &mut impl OutlineBuilder) {
    let scale = size / f64::from(face(bold).units_per_em());
    let mut x = 0.0;
    for (glyph, advance) in glyphs(text, bold) {
        let mut pen = Placed { pen, x, scale };
        match glyph {
            Some(glyph) => _ = face(bold).outline_glyph(glyph, &mut pen),
            None => empty_box(advance as f32, &mut pen),
        }
        x += advance * scale;
    }
}

/// What stands for a letter that the font lacks.
fn empty_box(em: f32, pen: &mut impl OutlineBuilder) {
    for (edge, outside) in [(0.08, true), (0.15, false)] {
        let (low, high) = (edge * em, (0.86 - edge) * em);
        let mut corners = [(low, low), (high, low), (high, high), (low, high)];
        if !outside {
            corners.reverse();
        }
        pen.move_to(corners[0].0, corners[0].1);
        corners[1..].iter().for_each(|&(x, y)| pen.line_to(x, y));
        pen.close();
    }
}

/// Moves and scales what it passes on.
struct Placed<'a, P> {
    pen: &'a mut P,
    x: f64,
    scale: f64,
}

impl<P> Placed<'_, P> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        ((self.x + f64::from(x) * self.scale) as f32, (-f64::from(y) * self.scale) as f32)
    }
}

impl<P: OutlineBuilder> OutlineBuilder for Placed<'_, P> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.pen.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.pen.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.pen.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.pen.curve_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.pen.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up_and_scale() {
        let sum: f64 = ["s", "t", "e", "p"].map(|letter| width(letter, 10.0, false)).iter().sum();
        assert!((width("step", 10.0, false) - sum).abs() < 1e-9);
        assert!((width("step", 20.0, false) - 2.0 * sum).abs() < 1e-9);
        assert!(width("step", 10.0, true) > sum, "bold is wider");
    }

    #[test]
    fn the_font_has_every_character_that_reports_use() {
        let text = "0123456789 %µ×−–…→±≈≥√Δαβéüß()[]{}/.,:;-_+=<>|#'\"!?&*";
        for c in text.chars() {
            assert!(face(false).glyph_index(c).is_some() && face(true).glyph_index(c).is_some(), "{c}");
        }
    }

    #[test]
    fn text_is_shortened_until_it_fits() {
        let short = fitted("layer 12 backward attention", 60.0, 10.0, false);
        assert!(short.contains('…') && width(&short, 10.0, false) <= 60.0, "{short}");
        assert_eq!(fitted("abcdef", 3.0, 10.0, false), "");
        assert_eq!(fitted("abc", 100.0, 10.0, false), "abc");
    }
}
