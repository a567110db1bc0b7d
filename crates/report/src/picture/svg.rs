//! A scene as SVG.
//!
//! Colours are classes of a style sheet inside the picture, which follows the reader's light or dark
//! scheme; nothing is drawn behind the picture. A fixed scheme is for programs that know neither.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::font::FAMILY;
use super::palette::{Paint, Scheme};
use super::scene::{Anchor, Scene, Shape};

/// Which colours the picture carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    /// Follows the reader.
    Reader,
    /// Always this scheme, with its background.
    Fixed(Scheme),
}

/// The picture as one `<svg>` element.
pub(crate) fn write(scene: &Scene, title: &str, colours: Colours) -> String {
    let mut out = String::new();
    let (width, height) = (number(scene.width), number(scene.height));
    let title = crate::page::escape_html(title);
    // what is behind a picture that stands alone follows the reader, too
    let scheme = if colours == Colours::Reader { " style=\"color-scheme:light dark\"" } else { "" };
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"{FAMILY}\"{scheme}>\n<title>{title}</title>"
    );
    let paints: BTreeSet<Paint> = scene.shapes.iter().flat_map(paints).collect();
    out.push_str("<style>");
    match colours {
        Colours::Reader => {
            out.push_str(&sheet(&paints, Scheme::Light));
            let _ = write!(out, "@media(prefers-color-scheme:dark){{{}}}", sheet(&paints, Scheme::Dark));
        }
        Colours::Fixed(scheme) => out.push_str(&sheet(&paints, scheme)),
    }
    out.push_str("</style>\n");
    if let Colours::Fixed(scheme) = colours {
        let _ =
            writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"{}\"/>", hex(Paint::Surface, scheme));
    }
    scene.shapes.iter().for_each(|shape| write_shape(&mut out, shape));
    out.push_str("</svg>\n");
    out
}

fn paints(shape: &Shape) -> Vec<Paint> {
    match shape {
        Shape::Boxes { paint, .. } | Shape::Line { paint, .. } | Shape::Text { paint, .. } => vec![*paint],
        Shape::Mark { paint, .. } => vec![*paint, Paint::Surface],
    }
}

/// Classes set the current colour, which shapes fill or stroke with.
fn sheet(paints: &BTreeSet<Paint>, scheme: Scheme) -> String {
    paints.iter().map(|&paint| format!("svg .{}{{color:{}}}", paint.class(), hex(paint, scheme))).collect()
}

fn hex(paint: Paint, scheme: Scheme) -> String {
    let [r, g, b] = paint.rgb(scheme);
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn write_shape(out: &mut String, shape: &Shape) {
    match shape {
        Shape::Boxes { boxes, paint, opacity } => {
            let _ = write!(out, "<path class=\"{}\" fill=\"currentColor\"", paint.class());
            if *opacity < 1.0 {
                let _ = write!(out, " opacity=\"{}\"", number(*opacity));
            }
            out.push_str(" d=\"");
            for [x, y, width, height] in boxes {
                let (x, y, width, height) = (number(*x), number(*y), number(*width), number(*height));
                let _ = write!(out, "M{x} {y}h{width}v{height}h-{width}z");
            }
            out.push_str("\"/>\n");
        }
        Shape::Line { points, paint, width, dash } => {
            let dash = match dash.iter().map(|&length| number(length.into())).collect::<Vec<_>>().join(" ") {
                solid if solid.is_empty() => solid,
                dash => format!(" stroke-dasharray=\"{dash}\""),
            };
            let _ = write!(
                out,
                "<path class=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"{}\" \
                 stroke-linejoin=\"round\" stroke-linecap=\"round\"{dash} d=\"",
                paint.class(),
                number(*width)
            );
            for (at, (x, y)) in points.iter().enumerate() {
                let _ = write!(out, "{}{} {}", if at == 0 { 'M' } else { 'L' }, number(*x), number(*y));
            }
            out.push_str("\"/>\n");
        }
        Shape::Mark { mark, x, y, radius, paint, hollow } => {
            // the background inside of a hollow mark hides the line behind it
            for (paint, extra) in [(Paint::Surface, *hollow), (*paint, true)] {
                if !extra {
                    continue;
                }
                let style = match (paint, *hollow) {
                    (Paint::Surface, _) | (_, false) => "fill=\"currentColor\"",
                    _ => "fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.6\"",
                };
                let class = paint.class();
                if mark.corners().is_empty() {
                    let (x, y, radius) = (number(*x), number(*y), number(*radius));
                    let _ = writeln!(
                        out,
                        "<circle class=\"{class}\" {style} cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
                    );
                } else {
                    let corners = mark.corners().iter().enumerate().map(|(at, (dx, dy))| {
                        let letter = if at == 0 { 'M' } else { 'L' };
                        format!("{letter}{} {}", number(x + dx * radius), number(y + dy * radius))
                    });
                    let path: String = corners.collect();
                    let _ = writeln!(out, "<path class=\"{class}\" {style} d=\"{path}z\"/>");
                }
            }
        }
        Shape::Text { x, y, size, bold, anchor, paint, turned, text } => {
            let (x, y) = (number(*x), number(*y));
            let place = if *turned {
                format!("transform=\"translate({x} {y}) rotate(-90)\"")
            } else {
                format!("x=\"{x}\" y=\"{y}\"")
            };
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let weight = if *bold { " font-weight=\"600\"" } else { "" };
            let _ = writeln!(
                out,
                "<text class=\"{}\" fill=\"currentColor\" {place} font-size=\"{}\"{anchor}{weight}>{}</text>",
                paint.class(),
                number(*size),
                crate::page::escape_html(text)
            );
        }
    }
}

/// At most two decimals, without zeros at the end.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([12.0, 0.5, 1.234_56, -0.001].map(number), ["12", "0.5", "1.23", "0"]);
    }

    #[test]
    fn the_sheet_has_what_is_used_in_both_schemes() {
        let mut scene = Scene::new(10.0, 10.0);
        scene.fill(0.0, 0.0, 5.0, 5.0, Paint::Compute);
        scene.text(1.0, 2.0, Anchor::End, Paint::Ink, 12.0, "a<b & c");
        let svg = write(&scene, "t", Colours::Reader);
        assert!(svg.contains("svg .compute{color:#1f6fb5}") && svg.contains("svg .compute{color:#5aa9ec}"));
        assert!(!svg.contains(".memory") && !svg.contains("<rect"));
        assert!(svg.contains(">a&lt;b &amp; c</text>"));
        let dark = write(&scene, "t", Colours::Fixed(Scheme::Dark));
        assert!(dark.contains("fill=\"#0d1117\"") && !dark.contains("prefers-color-scheme"));
    }
}
